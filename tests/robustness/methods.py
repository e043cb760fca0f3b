"""Every public estimator, and the changes that its predictions must not depend on."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse import vstack as sp_vstack
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

from fewlabels import (
    active,
    automatic,
    cluster,
    decomposition,
    ensemble,
    graphs,
    kernels,
    model_selection,
    optimize,
    regression,
    tensor,
    transfer,
)
from fewlabels import feature_selection as selection
from fewlabels import semi_supervised as semi
from tests.robustness.problems import MARGIN, N_NEIGHBORS, TARGETS

SPARSE, SHIFTED, SCALED, PERMUTED = "sparse", "shifted", "scaled", "permuted"
WEIGHTED, BESIDE = "weighted", "beside"
ALL = (SPARSE, SHIFTED, SCALED, PERMUTED)
LONE = (*ALL, BESIDE)
DENSE = (SHIFTED, SCALED, PERMUTED)


@dataclass(frozen=True)
class Method:
    """An estimator, what is compared, and in which ways."""

    make: partial[Any]
    ways: tuple[str, ...] = ALL
    kind: str = "decisions"
    learns: str = "labels"
    graph: bool = False  # predictions depend on which rows are neighbours
    units: dict[str, int] = field(default_factory=dict)  # powers of the rows' unit
    columns: int | None = None  # at most this many: more leave nothing to learn
    wraps: bool = False  # a model of scikit-learn, whose digits are its own affair
    unit: str = ""  # what sets it: the "spread" of rows, or the "size" of values
    seen: tuple[str, ...] = ()  # ways in which only rows learnt from are compared
    best: str = ""  # the optimised value, by which predictions are equally good
    free: str = ""  # an objective that no rule raises which costs and loses nothing
    first: bool = False  # of copies with different labels, the first decides
    divides: bool = False  # copies of a row, by class sizes: the first is predicted
    bridged: bool = False  # a weak link between components carries all their charge
    every: int = 1  # costly ones are tried once in this many rounds


def rows_of(method, X):
    """The columns that an estimator sees, of two views those of the first."""
    if method.learns == "views":  # a single column is in both
        return X[:, : (X.shape[1] + 1) // 2]
    return X if method.columns is None else X[:, : method.columns]


def has_unit(method, problem):
    """Whether the rows that an estimator learns from have the unit that it takes."""
    X = dense(rows_of(method, problem.X))
    if method.learns.startswith("known"):
        X = X[problem.y >= 0]
    if method.learns == "source":  # whose unit says nothing about the target's
        X = X[problem.domain != 1]
    return not method.unit or bool(
        (X != (X[0] if method.unit == "spread" else 0)).any()
    )


def fit(method, problem):
    """Fit an estimator to what it learns from."""
    model = method.make()
    if method.units:
        values = model.get_params()
        model.set_params(
            **{k: values[k] * problem.scale**p for k, p in method.units.items()}
        )
    X, y = rows_of(method, problem.X), problem.y
    if method.learns == "rows":
        return model.fit(X)
    if method.learns == "targets":
        return model.fit(X, np.where(y == -1, np.nan, TARGETS[y]))
    if method.learns == "known targets":
        return model.fit(X[y >= 0], TARGETS[y[y >= 0]])
    if method.learns == "domains":
        return model.fit(X, y, sample_domain=problem.domain)
    if method.learns == "views":
        return model.fit(X, problem.X[:, problem.X.shape[1] // 2 :])
    if method.learns == "two classes":
        return model.fit(X, np.minimum(y, 1))
    if method.learns == "known labels":
        return model.fit(X[y >= 0], y[y >= 0])
    if method.learns == "source":
        rows = problem.domain == 1
        return model.fit(X[~rows], y[~rows], X_source=X[rows], y_source=y[rows])
    if method.learns == "query":
        return model.query(X, y)
    if problem.weight is not None:
        return model.fit(X, y, sample_weight=np.full(y.size, problem.weight))
    return model.fit(X, y)


def read(method, model, problem):
    """What the fitted estimator says, as an array."""
    kind, _, name = method.kind.partition(":")
    if kind == "bracket":
        return np.array([model.result_.lower_bound, model.result_.objective])
    if kind == "value":
        return np.atleast_1d(getattr(model, name))
    if kind == "share":  # of what may be infinite
        return 1 - 1 / (1 + np.atleast_1d(getattr(model, name)))
    if kind == "utilities":
        return np.asarray(model.utilities)
    if kind == "support":
        return np.asarray(model.get_support(), dtype=np.float64)
    if kind == "groups":
        return np.equal.outer(model.labels_, model.labels_).astype(np.float64)
    stack = sp_vstack if issparse(problem.questions[0]) else np.vstack
    rows = rows_of(method, stack(problem.questions))
    if kind == "gram":
        T = model.transform(rows)
        T = np.asarray(T.toarray() if issparse(T) else T, dtype=np.float64)
        T = T / (np.abs(T).max(initial=0.0) or 1.0)  # whose squares are numbers
        gram = T @ T.T
        # The longest row has length one, also where features are turned: eigenvectors
        # of equal eigenvalues are any basis, whose entries say nothing.
        return gram / (gram.diagonal().max(initial=0.0) or 1.0)
    if kind == "outputs":
        return np.asarray(model.predict(rows), dtype=np.float64)
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(rows), dtype=np.float64)
        return np.column_stack([-values, values]) if values.ndim == 1 else values
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows), dtype=np.float64)
    return np.eye(TARGETS.size)[np.asarray(model.predict(rows))]


def answers(method, problem):
    """What an estimator says of a problem, rows in their first order."""
    found = read(method, fit(method, problem), problem)
    if problem.back is None:
        return found
    if method.kind in ("decisions", "outputs"):
        return found[problem.back]
    if method.kind == "gram":
        return found[np.ix_(problem.back, problem.back)]
    if method.kind in ("groups", "utilities"):
        back = problem.back[: problem.X.shape[0]]
        return found[np.ix_(*[back] * found.ndim)]
    return found


def agree(method, base, other, single, way=""):
    """Whether two sets of predictions agree where they are clear."""
    if base.shape != other.shape:
        return False
    finite = np.isfinite(base)
    if not np.array_equal(finite, np.isfinite(other)):
        return False
    if method.kind == "decisions":
        if base.shape[1] == 1:  # a single class
            return True
        ordered = np.sort(base, axis=1)
        lead = ordered[:, -1] - ordered[:, -2]
        margin = 10 * MARGIN if single else MARGIN
        if way == BESIDE:  # one more row is another problem, if not much
            margin = 40 * MARGIN
        if way == WEIGHTED:  # the same problem, digit by digit
            return bool(
                np.allclose(base, other, rtol=0, atol=1e-6 * np.abs(base).max())
            )
        clear = lead > margin * max(np.abs(base).max(), 1e-6)
        return bool((base.argmax(axis=1) == other.argmax(axis=1))[clear].all())
    base, other = base[finite], other[finite]
    size = max(1e-3, np.abs(base).max(initial=0.0))
    slack = (1e-3 if single else 1e-5) * size
    if method.kind == "bracket":  # the optimum lies between bound and objective
        return bool(max(base[0], other[0]) <= min(base[1], other[1]) + 1e-2 * slack)
    if method.kind == "outputs":  # of targets of size one, but perhaps far away
        slack = (1e-2 if single else 1e-4) * np.maximum(1.0, np.abs(base))
    return bool((np.abs(base - other) <= slack).all())


def is_as_found(method, problem, base):
    """Whether unlabelled rows of `fit` are predicted as they were labelled there."""
    if method.learns not in ("labels", "targets"):
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(method, problem)
    if not hasattr(model, "transduction_"):
        return True
    free = problem.y < 0
    X = rows_of(method, problem.X)
    found, expected = model.predict(X)[free], model.transduction_[free]
    if method.divides:
        _, first, copy_of = np.unique(
            dense(X)[free], axis=0, return_index=True, return_inverse=True
        )
        expected = expected[first[copy_of.ravel()]]
    if method.learns == "targets":
        slack = 1e-3 if problem.single else 1e-6
        return bool(np.allclose(found, expected, rtol=slack, atol=slack))
    if method.kind != "decisions" or base.shape[1] == 1:
        return True
    ordered = np.sort(base[: free.size][free], axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 1e-6 * max(np.abs(base).max(), 1e-6)
    return bool((found == expected)[clear].all())


def equally_good(method, problem, other):
    """Whether two predictions that differ reach the same value, to nine digits.

    An objective of which nothing is left to rounding is least for any rule that
    separates the rows at no cost: which one is found, nothing determines.
    """
    if method.free:
        courses = [getattr(fit(method, p), method.free) for p in (problem, other)]
        return all(course[-1] <= 1e-14 * course[0] for course in courses)
    if not method.best:
        return False
    one, two = (getattr(fit(method, p), method.best) for p in (problem, other))
    return bool(abs(one - two) <= 1e-9 * abs(one))


NEAR = {"n_neighbors": N_NEIGHBORS}
SEED = {"random_state": 0}

# L-BFGS stops somewhere where columns differ in size.
PRECISE = LogisticRegression(solver="newton-cholesky", tol=1e-8)


class DirectRidge(Ridge):
    """Ridge regression, the same for dense and sparse rows, also next to a far one."""

    def fit(self, X, y, sample_weight=None):
        self.solver = "svd"
        return super().fit(dense(X), y, sample_weight)

    def predict(self, X):
        return super().predict(dense(X))


def dense(X):
    return X.toarray() if issparse(X) else X


RIDGE = DirectRidge()


def _graph(make, **kwargs):
    """A method whose predictions depend on which rows are neighbours."""
    return Method(make, graph=True, **kwargs)


def _rows(make, kind="groups", **kwargs):
    """A method that learns from rows alone."""
    return Method(make, kind=kind, learns="rows", **kwargs)


def _targets(make, **kwargs):
    """A regressor."""
    return Method(make, kind="outputs", learns="targets", **kwargs)


def _views(make, kind, ways=DENSE):
    """A method that learns from two views."""
    return Method(make, kind=kind, learns="views", ways=ways)


def _domains(make, kind="decisions", **kwargs):
    """A method that learns from two domains."""
    return Method(make, kind=kind, learns="domains", **kwargs)


def _query(make, ways=(SPARSE, PERMUTED), **kwargs):
    """A strategy that says which labels would help."""
    return Method(make, kind="utilities", learns="query", ways=ways, **kwargs)


SEMI_SUPERVISED = {
    "RLSClassifier": Method(partial(semi.RLSClassifier), ways=(*LONE, WEIGHTED)),
    "RLSClassifier linear": Method(
        partial(semi.RLSClassifier, kernel="linear"), ways=(SPARSE, PERMUTED, WEIGHTED)
    ),
    "S2RLSClassifier exact": Method(
        partial(semi.S2RLSClassifier, kernel="linear", solver="exact"),
        kind="bracket",
        learns="two classes",
        ways=(SPARSE, PERMUTED),
        columns=4,
    ),
    "S2RLSClassifier": Method(
        partial(semi.S2RLSClassifier, solver="branch_and_bound", n_init=1),
        kind="bracket",
        learns="two classes",
    ),
    "S2RLSClassifierCV": Method(
        partial(
            semi.S2RLSClassifierCV,
            alphas=(0.01, 1.0),
            unlabeled_weights=(1.0,),
            solver_params={"n_init_search": 1},
            cv=2,
            n_init=2,
            **SEED,
        ),
        ways=(SPARSE, SCALED),
        unit="spread",
        divides=True,
    ),
    "LaplacianSVC dense": _graph(
        partial(semi.LaplacianSVC, solver="dense", **NEAR), ways=LONE
    ),
    "LaplacianSVC low rank": _graph(
        partial(semi.LaplacianSVC, solver="low_rank", **NEAR), ways=LONE
    ),
    "LaplacianSVC pcg": _graph(
        partial(semi.LaplacianSVC, solver="pcg", **NEAR), ways=LONE
    ),
    "LaplacianSVC dual": _graph(
        partial(semi.LaplacianSVC, solver="dual", alpha=1e-3, **NEAR),
        kind="value:objective_",
    ),
    "LaplacianRLSClassifier": _graph(
        partial(semi.LaplacianRLSClassifier, solver="dense", **NEAR), ways=LONE
    ),
    "LaplacianRLSClassifierCV": _graph(
        partial(
            semi.LaplacianRLSClassifierCV,
            n_neighbors=(N_NEIGHBORS,),
            alphas=(1e-6, 1e-2),
            graph_alphas=(1e-2, 1.0),
        )
    ),
    "LaplacianRLSRegressor": _graph(
        partial(semi.LaplacianRLSRegressor, **NEAR), kind="outputs", learns="targets"
    ),
    "HarmonicFunctionClassifier": _graph(
        partial(semi.HarmonicFunctionClassifier, **NEAR), ways=LONE
    ),
    "HarmonicFunctionRegressor": _graph(
        partial(semi.HarmonicFunctionRegressor, **NEAR),
        kind="outputs",
        learns="targets",
    ),
    "GraphRegularizationClassifier": _graph(
        partial(semi.GraphRegularizationClassifier, **NEAR), ways=LONE
    ),
    "GraphRegularizationClassifier poisson": _graph(
        partial(semi.GraphRegularizationClassifier, method="poisson", **NEAR),
        ways=LONE,
        bridged=True,
    ),
    "GraphRegularizationClassifier proper": _graph(
        partial(semi.GraphRegularizationClassifier, method="proper", **NEAR)
    ),
    "MinCutClassifier": _graph(
        partial(semi.MinCutClassifier, **NEAR), kind="value:cut_value_"
    ),
    "PropagatingNearestNeighborClassifier": _graph(
        partial(semi.PropagatingNearestNeighborClassifier), first=True, ways=LONE
    ),
    "KernelNaiveBayes": Method(partial(semi.KernelNaiveBayes), ways=(*DENSE, BESIDE)),
    "TransductiveSVC": Method(partial(semi.TransductiveSVC, **SEED)),
    # Of a few rows, many local optima are equally good.
    "TransductiveSVC linear": Method(
        partial(semi.TransductiveSVC, kernel="linear", tol=1e-6, **SEED),
        kind="value:objective_",
        ways=(SPARSE, SHIFTED),
        every=2,
    ),
    "SelfTrainingClassifier": Method(
        partial(semi.SelfTrainingClassifier, PRECISE),
        wraps=True,
        ways=(SPARSE, PERMUTED),
    ),
    "CoTrainingClassifier": Method(
        partial(semi.CoTrainingClassifier, **SEED), ways=(SPARSE, SCALED)
    ),
    "DemocraticCoLearningClassifier": Method(
        partial(semi.DemocraticCoLearningClassifier, **SEED), ways=(SPARSE,), every=2
    ),
    "TriTrainingClassifier": Method(
        partial(semi.TriTrainingClassifier, **SEED), ways=(SPARSE,)
    ),
    "ClusterThenLabelClassifier": Method(
        partial(semi.ClusterThenLabelClassifier, **SEED),
        ways=(SPARSE, SHIFTED, SCALED),
    ),
    "LabeledOnly": Method(
        partial(model_selection.LabeledOnly, PRECISE),
        wraps=True,
        ways=(SPARSE, PERMUTED),
    ),
    "FewLabelsClassifier": Method(
        partial(automatic.FewLabelsClassifier, bank="fast", **SEED),
        ways=("asked", SCALED, WEIGHTED),
    ),
    "FewLabelsClassifier whole bank": Method(
        partial(automatic.FewLabelsClassifier, **SEED),
        ways=("asked", SCALED),
        every=2,
    ),
    "FewLabelsClassifier standard": Method(
        partial(automatic.FewLabelsClassifier, bank="fast", scale="standard", **SEED),
        ways=(SPARSE, SCALED),
        every=2,
    ),
    "FewLabelsRegressor": _targets(
        partial(automatic.FewLabelsRegressor, bank="fast", **SEED),
        ways=("asked", SCALED),
    ),
    "FewLabelsRegressor unscaled": _targets(
        partial(automatic.FewLabelsRegressor, bank="fast", scale="none", **SEED),
        ways=(SPARSE, SCALED),
        every=2,
    ),
}

# Where clusters start at random, another order of rows is another start.
IN_ORDER = (SPARSE, SHIFTED, SCALED)
CLUSTERS = {
    "RLSClustering": _rows(
        partial(cluster.RLSClustering, solver="branch_and_bound"), kind="bracket"
    ),
    "RLSClustering linear": _rows(
        partial(cluster.RLSClustering, kernel="linear", solver="branch_and_bound"),
        kind="bracket",
        ways=(SPARSE, SHIFTED, PERMUTED),
    ),
    "RLSClustering exact": _rows(
        partial(cluster.RLSClustering, kernel="linear", solver="exact"),
        kind="bracket",
        ways=(SPARSE, SHIFTED, PERMUTED),
        columns=4,
    ),
    "NormalizedSpectralClustering": _rows(
        partial(cluster.NormalizedSpectralClustering, n_init=1, **NEAR, **SEED),
        graph=True,
        ways=IN_ORDER,
    ),
    "ConstrainedSpectralClustering": Method(
        partial(cluster.ConstrainedSpectralClustering, n_init=1, **NEAR, **SEED),
        kind="groups",
        graph=True,
        ways=IN_ORDER,
    ),
    "NystromSpectralClustering": _rows(
        partial(cluster.NystromSpectralClustering, n_init=1, **SEED),
        kind="value:eigenvalues_",
    ),
    "RecursiveNormalizedCut": _rows(
        partial(cluster.RecursiveNormalizedCut, **NEAR, **SEED), graph=True
    ),
    "LeaderClustering": _rows(
        partial(cluster.LeaderClustering, threshold=2.1),
        ways=IN_ORDER,
        units={"threshold": 1},
    ),
    "MacQueenKMeans": _rows(
        partial(cluster.MacQueenKMeans, 2, **SEED), ways=(SHIFTED, SCALED)
    ),
    # Of rows that span all columns, whitening makes corners of a simplex.
    "MahalanobisKMeans": _rows(
        partial(cluster.MahalanobisKMeans, 2, n_init=2, **SEED),
        best="inertia_",
        ways=(SHIFTED, SCALED),
        columns=3,
    ),
    "SphericalKMeans": _rows(
        partial(cluster.SphericalKMeans, 2, **SEED), ways=(SPARSE, SCALED)
    ),
    "TensorKMeans": _rows(
        partial(tensor.TensorKMeans, 2, n_init=1, **SEED), ways=(SCALED,)
    ),
}

REGRESSION = {
    "PrincipalComponentRegression": _targets(
        partial(regression.PrincipalComponentRegression, 1), ways=DENSE
    ),
    "TotalLeastSquares": _targets(
        partial(regression.TotalLeastSquares), ways=(SHIFTED, PERMUTED)
    ),
    "BridgeRegression": _targets(
        partial(regression.BridgeRegression, alpha=0.1),
        ways=DENSE,
        units={"alpha": 1.5},
    ),
    "BerhuRegressor": _targets(
        partial(regression.BerhuRegressor, alpha=0.1),
        ways=DENSE,
        units={"alpha": 1, "delta": -1},
    ),
    "NonNegativeGarrote": _targets(
        partial(regression.NonNegativeGarrote, alpha=0.1), ways=DENSE
    ),
    "GroupLasso": _targets(
        partial(regression.GroupLasso, alpha=0.1), ways=DENSE, units={"alpha": 1}
    ),
    "GPSR": _targets(
        # A relative gap of the default, 1e-6, leaves outputs three digits.
        partial(regression.GPSR, alpha=0.1, tol=1e-9, max_iter=1000),
        units={"alpha": 1},
    ),
    "FiniteSumRegressor": _targets(
        partial(optimize.FiniteSumRegressor, alpha=0.01, solver="cd"),
        ways=(SPARSE, PERMUTED),
    ),
    "CPRidgeRegressor": _targets(
        partial(tensor.CPRidgeRegressor, alpha=0.1),
        ways=DENSE,
        units={"alpha": 2},
    ),
    "CPGroupSparseRegressor": _targets(
        partial(tensor.CPGroupSparseRegressor, 2, alpha=0.1, max_iter=500),
        ways=(SHIFTED, PERMUTED),
    ),
    "ELMRegressor": Method(
        partial(active.ELMRegressor, 20, **SEED),
        kind="outputs",
        learns="known targets",
        ways=(SPARSE, SCALED, PERMUTED),
        unit="size",
    ),
}

CLASSIFIERS = {
    "FiniteSumClassifier": Method(
        partial(optimize.FiniteSumClassifier, alpha=0.01, solver="cd", max_iter=200),
        ways=(SPARSE, PERMUTED),
    ),
    # The trees of scikit-learn choose among equally good splits by rounding.
    "LogitBoostClassifier": Method(
        partial(ensemble.LogitBoostClassifier, RIDGE, n_estimators=5, **SEED),
        wraps=True,
        ways=(SPARSE, PERMUTED, WEIGHTED),
    ),
    "GentleAdaBoostClassifier": Method(
        partial(ensemble.GentleAdaBoostClassifier, RIDGE, n_estimators=5, **SEED),
        wraps=True,
        ways=(SPARSE, PERMUTED, WEIGHTED),
    ),
    "GentleAdaBoostClassifier stumps": Method(
        partial(ensemble.GentleAdaBoostClassifier, n_estimators=5, **SEED), ways=()
    ),
    "ThreeStageBoostClassifier": Method(
        partial(ensemble.ThreeStageBoostClassifier, **SEED), ways=(SPARSE,)
    ),
    "RejectVotingClassifier": Method(
        partial(
            ensemble.RejectVotingClassifier,
            [
                ("logistic", PRECISE),
                ("tree", DecisionTreeClassifier(**SEED)),
            ],
        ),
        wraps=True,
        ways=(SPARSE,),
    ),
    "FisherLinearClassifier": Method(
        partial(selection.FisherLinearClassifier), ways=DENSE
    ),
    "WeightedVotingClassifier": Method(
        partial(selection.WeightedVotingClassifier), ways=DENSE
    ),
    "SupportTensorMachine": Method(
        partial(tensor.SupportTensorMachine), ways=DENSE, units={"C": -2}
    ),
    "TensorFisherDiscriminant": Method(
        partial(tensor.TensorFisherDiscriminant), ways=DENSE
    ),
    "ELMClassifier": Method(
        partial(active.ELMClassifier, 20, **SEED),
        ways=(SPARSE, SCALED, PERMUTED),
        unit="size",
    ),
    "ActiveELMClassifier": Method(
        partial(active.ActiveELMClassifier, 20, **SEED),
        ways=(SPARSE, SCALED, PERMUTED),
        unit="size",
    ),
    "ActiveLearner": Method(
        partial(active.ActiveLearner, PRECISE, **SEED),
        wraps=True,
        ways=(SPARSE, PERMUTED),
    ),
    "CoActiveLearner": Method(
        partial(active.CoActiveLearner, PRECISE, **SEED),
        wraps=True,
        ways=(SPARSE, PERMUTED),
    ),
    "MembershipLearner": Method(
        partial(active.MembershipLearner, PRECISE, **SEED), wraps=True, ways=(PERMUTED,)
    ),
    "StreamLearner": Method(
        partial(active.StreamLearner, PRECISE, **SEED),
        wraps=True,
        ways=(SPARSE, PERMUTED),
    ),
}

FEATURES = {
    "ExhaustiveFeatureSelector": Method(
        partial(selection.ExhaustiveFeatureSelector, Ridge(), 1, cv=2),
        best="score_",
        kind="support",
        learns="known targets",
        ways=(SHIFTED,),
    ),
    "FeatureSimilaritySelector": _rows(
        partial(selection.FeatureSimilaritySelector), kind="support", ways=DENSE
    ),
    "KernelAlignmentSelector": Method(
        partial(selection.KernelAlignmentSelector, 1), kind="support", ways=DENSE
    ),
    "SimilarityGraphTransformer": _rows(
        partial(graphs.SimilarityGraphTransformer, **NEAR), kind="gram", graph=True
    ),
    "NystromFeatures": _rows(
        partial(kernels.NystromFeatures, **SEED), kind="gram", unit="spread"
    ),
    # The first of equally good pivots is taken, and rows not learnt from follow it.
    "PivotedCholeskyFeatures": _rows(
        partial(kernels.PivotedCholeskyFeatures, tol=1e-7),
        kind="gram",
        unit="spread",
        seen=(PERMUTED,),
    ),
    "PatchNormalizer": _rows(
        partial(cluster.PatchNormalizer), kind="gram", ways=(SHIFTED, PERMUTED)
    ),
    "RobustPCA": _rows(
        partial(decomposition.RobustPCA, **SEED), kind="gram", ways=(SCALED,), every=2
    ),
    "ElasticNetSparsePCA": _rows(
        partial(decomposition.ElasticNetSparsePCA, 1, max_iter=50),
        kind="gram",
        ways=(),
        every=4,
    ),
    "MinorComponentAnalysis": _rows(
        partial(decomposition.MinorComponentAnalysis),
        kind="value:contribution_",
        ways=DENSE,
    ),
    "OjaSubspace": _rows(
        partial(decomposition.OjaSubspace, 1, **SEED), kind="gram", ways=(SCALED,)
    ),
    "PAST": _rows(partial(decomposition.PAST, 1, **SEED), kind="gram", ways=(SCALED,)),
    "MinorSubspace": _rows(
        partial(decomposition.MinorSubspace, 1, **SEED), kind="gram", ways=(SCALED,)
    ),
    "RowCenterer": _rows(partial(decomposition.RowCenterer), kind="gram", ways=DENSE),
    "ZCAWhitening": _rows(partial(decomposition.ZCAWhitening), kind="gram", ways=DENSE),
    "TensorDistanceTransformer": _rows(
        partial(tensor.TensorDistanceTransformer), kind="gram", ways=(SCALED, PERMUTED)
    ),
    "FisherDiscriminantAnalysis": Method(
        partial(decomposition.FisherDiscriminantAnalysis, 1),
        kind="share:eigenvalues_",
        learns="known labels",
        ways=DENSE,
    ),
    "SVDCCA": _views(partial(decomposition.SVDCCA), "value:canonical_correlations_"),
    "PowerPLS": _views(partial(decomposition.PowerPLS), "value:correlations_"),
    "KernelCCA": _views(
        partial(decomposition.KernelCCA), "value:canonical_correlations_"
    ),
    "SparseCCA": _views(partial(decomposition.SparseCCA), "value:covariances_"),
    "OneLabelTwoView": _views(
        partial(decomposition.OneLabelTwoView, 1), "groups", ways=(SHIFTED, SCALED)
    ),
}

TRANSFER = {
    "ASOClassifier": _domains(
        partial(transfer.ASOClassifier), ways=(SPARSE, PERMUTED), free="objective_"
    ),
    "EigenTransferClassifier": _domains(
        partial(transfer.EigenTransferClassifier, 3), ways=(SPARSE, PERMUTED)
    ),
    "HeterogeneousFeatureAugmentation": Method(
        partial(transfer.HeterogeneousFeatureAugmentation),
        learns="source",
        unit="spread",
    ),
    "LpMKLClassifier": _domains(partial(transfer.LpMKLClassifier)),
    "SelfTaughtClassifier": _domains(
        partial(transfer.SelfTaughtClassifier, 3, max_iter=2, **SEED),
        ways=(SHIFTED, SCALED),
    ),
    "TrAdaBoostClassifier": _domains(
        partial(transfer.TrAdaBoostClassifier, n_estimators=5, **SEED), ways=(SPARSE,)
    ),
    "CrossDomainMetric": _domains(
        partial(transfer.CrossDomainMetric, n_pairs=20, **SEED), "gram", ways=(SCALED,)
    ),
    "ITML": Method(
        partial(transfer.ITML, n_pairs=20, **SEED),
        kind="gram",
        learns="known labels",
        ways=(SCALED,),
    ),
    "FeatureAugmentation": _domains(
        partial(transfer.FeatureAugmentation), "gram", ways=(SPARSE, SCALED, PERMUTED)
    ),
    "StructuralCorrespondenceLearning": _domains(
        partial(transfer.StructuralCorrespondenceLearning, 4, 2),
        "gram",
        ways=(SPARSE, PERMUTED),
    ),
    "TransferComponentAnalysis": _domains(
        partial(transfer.TransferComponentAnalysis, 2), "value:eigenvalues_"
    ),
}

QUERIES = {
    "ClusterCoverage": _query(
        partial(active.ClusterCoverage, **SEED), ways=(SPARSE, SCALED)
    ),
    "ExpectedGradientLength": _query(
        partial(active.ExpectedGradientLength, PRECISE, **SEED)
    ),
    "FewLabelsSampling": _query(
        partial(active.FewLabelsSampling, **SEED), ways=(SCALED,), every=4
    ),
    "QueryByCommittee": _query(
        partial(active.QueryByCommittee, PRECISE, **SEED), ways=(SPARSE,), wraps=True
    ),
    "UncertaintySampling": _query(
        partial(active.UncertaintySampling, PRECISE, **SEED), wraps=True
    ),
    "VarianceReduction": _query(partial(active.VarianceReduction, **SEED)),
}

METHODS = {
    **SEMI_SUPERVISED,
    **CLUSTERS,
    **REGRESSION,
    **CLASSIFIERS,
    **FEATURES,
    **TRANSFER,
    **QUERIES,
}

# Public estimators that no case asks, and why.
NO_ROWS = "learns from an environment, not from rows"
AT_RANDOM = "chooses at random"
LAZY = "takes Dask collections, and hands samples of them to the estimator asked here"
EXCEPTIONS = {
    "ActiveMLSampling": "hands everything over to scikit-activeml",
    "Agent": NO_ROWS,
    "ConnectionistQAgent": NO_ROWS,
    "DQNAgent": NO_ROWS,
    "DaskFewLabelsClassifier": LAZY,
    "DaskFewLabelsRegressor": LAZY,
    "DoubleQLearningAgent": NO_ROWS,
    "EGExploration": AT_RANDOM,
    "QLearningAgent": NO_ROWS,
    "QueryStrategy": "is what strategies have in common",
    "RandomSampling": AT_RANDOM,
    "SarsaAgent": NO_ROWS,
    "SoftmaxExploration": AT_RANDOM,
    "TableTransformer": "takes tables, which have tests of their own",
    "ThompsonExploration": AT_RANDOM,
    "WeightedDoubleQLearningAgent": NO_ROWS,
}
