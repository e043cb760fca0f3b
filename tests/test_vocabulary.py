"""One name for each concept, in all public signatures."""

# SPDX-License-Identifier: BSD-3-Clause

import importlib
import inspect
import re
from pathlib import Path

import pytest

import fewlabels

MOST_PARAMETERS = 14

# Names that are synonyms of one in the table of docs/contributing.md, with that one.
SYNONYMS = {
    "gamma_A": "alpha",
    "lam1": "alpha",
    "lam2": "ridge_alpha",
    "gamma_I": "graph_alpha",
    "lams": "alphas",
    "lam_unlabeled": "unlabeled_weight",
    "n_restarts": "n_init",
    "n_starts": "n_init",
    "n_runs": "n_init",
    "max_rank": "n_components",
    "k_neighbors": "n_neighbors",
    "knn": "n_neighbors",
    "n_iter": "max_iter",
    "max_iterations": "max_iter",
    "tolerance": "tol",
    "normed": "laplacian",
    "norm": "laplacian",
    "coef0": "kernel_params",
}

# A function and the class that fits by it share parameters and their defaults.
PAIRS = [
    ("semi_supervised.LaplacianSVC", "semi_supervised.laplacian_dense"),
    ("semi_supervised.LaplacianRLSClassifier", "semi_supervised.laplacian_pcg"),
    ("semi_supervised.LaplacianRLSClassifier", "semi_supervised.laplacian_low_rank"),
    (
        "semi_supervised.HarmonicFunctionClassifier",
        "semi_supervised.harmonic_functions",
    ),
    (
        "semi_supervised.GraphRegularizationClassifier",
        "semi_supervised.graph_regularization",
    ),
    ("semi_supervised.TransductiveSVC", "semi_supervised.transductive_svm"),
    ("cluster.NormalizedSpectralClustering", "cluster.spectral_relaxation"),
    ("cluster.RecursiveNormalizedCut", "cluster.recursive_normalized_cut"),
    ("cluster.SphericalKMeans", "cluster.spherical_kmeans"),
    ("cluster.RLSClustering", "partition.solve"),
    ("decomposition.RobustPCA", "decomposition.robust_pca"),
    ("decomposition.SparseCCA", "decomposition.penalized_matrix_decomposition"),
    ("ensemble.LogitBoostClassifier", "ensemble.logit_boost"),
    ("ensemble.GentleAdaBoostClassifier", "ensemble.gentle_adaboost"),
    ("graphs.SimilarityGraphTransformer", "graphs.similarity_graph"),
    ("kernels.PivotedCholeskyFeatures", "kernels.pivoted_cholesky"),
    ("tensor.CPRidgeRegressor", "tensor.cp_ridge"),
    ("tensor.CPGroupSparseRegressor", "tensor.cp_group_sparse"),
    ("tensor.SupportTensorMachine", "tensor.support_tensor_machine"),
    ("tensor.TensorFisherDiscriminant", "tensor.tensor_fisher"),
    ("transfer.LpMKLClassifier", "transfer.lp_norm_mkl"),
    ("transfer.TrAdaBoostClassifier", "transfer.tradaboost"),
]

# What an estimator chooses for its users: the function leaves it to its caller.
DIFFERENT = {"solver", "random_state"}


def public():
    """Yield (dotted name, object) of all public classes and functions."""
    for package in fewlabels._SUBMODULES:
        module = importlib.import_module(f"fewlabels.{package}")
        for name in module.__all__:
            try:
                found = getattr(module, name)
            except ImportError:  # it needs an extra that is not installed
                continue
            if inspect.isclass(found) or inspect.isroutine(found):
                yield f"{package}.{name}", found


def parameters(found):
    """Parameters of a class or function; exceptions and the like have none."""
    try:
        return inspect.signature(found).parameters
    except ValueError:
        return {}


def look_up(dotted):
    package, name = dotted.split(".")
    return getattr(importlib.import_module(f"fewlabels.{package}"), name)


def test_no_synonyms():
    assert not [
        f"{where}({name}): use {SYNONYMS[name]}"
        for where, found in public()
        if inspect.isroutine(found) or hasattr(found, "get_params")
        for name in parameters(found)
        if name in SYNONYMS
    ]


def test_no_estimator_has_too_many_parameters():
    counts = {
        where: len(parameters(found))
        for where, found in public()
        if hasattr(found, "get_params")
    }
    assert len(counts) > 100
    assert not {where: n for where, n in counts.items() if n > MOST_PARAMETERS}


def test_no_name_is_borrowed():
    """What scikit-learn and SciPy have is imported from there."""
    assert not [
        where
        for where, found in public()
        if found.__module__.split(".")[0] != "fewlabels"
    ]


def test_names_are_american():
    """Identifiers say labeled and neighbor; prose says labelled and neighbour."""
    british = re.compile("labell|neighbour|colour|centre", re.IGNORECASE)
    assert not [
        where
        for where, found in public()
        if not where.startswith("tabular.")
        for name in (where, *parameters(found))
        if british.search(name)
    ]


@pytest.mark.parametrize(("estimator", "function"), PAIRS, ids=lambda name: name)
def test_class_and_function_agree(estimator, function):
    ours, theirs = (parameters(look_up(name)) for name in (estimator, function))
    common = [name for name in theirs if name in ours and name not in DIFFERENT]
    assert common
    assert not {
        name: (ours[name].default, theirs[name].default)
        for name in common
        if theirs[name].default is not inspect.Parameter.empty
        and ours[name].default != theirs[name].default
    }


def test_the_table_names_what_is_used():
    """Every name of the table in the guide is a parameter somewhere."""
    guide = Path(__file__).parents[1] / "docs" / "contributing.md"
    if not guide.exists():
        pytest.skip("the documentation is not part of this distribution")
    section = guide.read_text().split("## One vocabulary")[1].split("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)`", section, flags=re.MULTILINE)
    used = {name for _, found in public() for name in parameters(found)}
    assert len(listed) > 15
    assert set(listed) <= used
