"""What is compared: how each method is called, and the grid it is given.

Libraries are imported inside the functions, so that a process has only the one that it
measures. A grid is a list of settings that differ from the defaults; "rows" is
"standardised" or "as given" and is on the grid of every method alike.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

ROWS = ("as given", "standardised")
NEIGHBORS = (5, 10, 20, 50)
WIDTHS = (0.1, 1.0, 10.0)  # gamma, as multiples of 1 / (n_features * variance)


MODULES = {
    "fewlabels": (
        "fewlabels.automatic",
        "fewlabels.cluster",
        "fewlabels.model_selection",
        "fewlabels.partition",
        "fewlabels.semi_supervised",
        "fewlabels",
    ),
    "scikit-learn": (
        "sklearn.cluster",
        "sklearn.ensemble",
        "sklearn.semi_supervised",
        "sklearn.svm",
        "sklearn",
    ),
    "graphlearning": ("graphlearning",),
    "dwave-samplers": ("dimod", "dwave.samplers"),
    "sslearn": ("sslearn.wrapper",),
    "cleanlab": ("sklearn.svm", "cleanlab.classification"),
}


@dataclass(frozen=True)
class Method:
    """A method of a library.

    `run(case, params)` returns answers for all training rows (or a partition), and a
    function that predicts new rows, or None where the library has none.
    """

    library: str
    run: Callable[..., Any]
    grid: Sequence[dict[str, Any]] = ()

    @property
    def modules(self) -> tuple[str, ...]:
        """What is imported before the methods of this library are measured."""
        return MODULES[self.library]


def points(**lists):
    """Return the product of some lists, as settings."""
    return [dict(zip(lists, p, strict=True)) for p in product(*lists.values())]


def width(X, times):
    """Turn a multiple of scikit-learn's gamma="scale" into a number."""
    mean = X.mean()
    square = X.multiply(X).mean() if hasattr(X, "multiply") else np.mean(X**2)
    return float(times / (X.shape[1] * (square - mean**2)))


def own_gamma(X, params):
    """Replace "width", which all methods understand alike, by gamma."""
    params = dict(params)
    if "width" in params:
        params["gamma"] = width(X, params.pop("width"))
    return params


# Few labels ---------------------------------------------------------------------------


def estimator(find, **fixed):
    """Fit an estimator of the semi-supervised kind to all rows."""

    def run(case, params):
        X = case["X"]
        model = find()(**fixed, **own_gamma(X, params)).fit(X, case["labels"])
        return model.transduction_, model.predict

    return run


def on_labels(find, dense=False, **fixed):
    """Fit a supervised estimator to the labelled rows."""

    def run(case, params):
        rows = case["labels"] >= 0
        form = (lambda X: X.toarray()) if dense and _is_sparse(case["X"]) else _as_is
        X = form(case["X"])
        model = find()(**fixed, **params).fit(X[rows], case["labels"][rows])
        return model.predict(X), lambda new: model.predict(form(new))

    return run


def self_training(case, params):
    """Fit scikit-learn's self-training, which has no default classifier, with SVC."""
    from sklearn.semi_supervised import SelfTrainingClassifier
    from sklearn.svm import SVC

    params = dict(params)
    own = {key: params.pop(key) for key in ("threshold",) if key in params}
    base = SVC(probability=True, random_state=0, **params)
    model = SelfTrainingClassifier(base, **own).fit(case["X"], case["labels"])
    return model.predict(case["X"]), model.predict


def graphlearning_ssl(name):
    """Fit a method of graphlearning; it answers for the rows of the graph only."""

    def run(case, params):
        import graphlearning

        params = dict(params)
        W = graphlearning_graph(case["X"], params.pop("k", 10))
        rows = np.flatnonzero(case["labels"] >= 0)
        model = getattr(graphlearning.ssl, name)(W, **params)
        return model.fit_predict(rows, case["labels"][rows]), None

    return run


def with_true_sizes(name):
    """Fit a method of graphlearning that is told the true shares of the classes."""

    def run(case, params):
        import graphlearning

        params = dict(params)
        W = graphlearning_graph(case["X"], params.pop("k", 10))
        rows = np.flatnonzero(case["labels"] >= 0)
        shares = np.bincount(case["y"]) / case["y"].size
        model = getattr(graphlearning.ssl, name)(W, class_priors=shares, **params)
        return model.fit_predict(rows, case["labels"][rows]), None

    return run


def sslearn_wrapper(name):
    """Fit a wrapper of sslearn, which takes dense rows, with its own classifiers."""

    def run(case, params):
        import sslearn.wrapper

        form = (lambda X: X.toarray()) if _is_sparse(case["X"]) else _as_is
        model = getattr(sslearn.wrapper, name)(random_state=0, **params)
        model.fit(form(case["X"]), case["labels"])
        return model.predict(form(case["X"])), lambda new: model.predict(form(new))

    return run


def clean_learning(case, params):
    """Fit cleanlab around an SVC to the labelled rows; it leaves out doubtful ones."""
    from cleanlab.classification import CleanLearning
    from sklearn.svm import SVC

    params = dict(params)
    scale = params.pop("C", 1.0)
    rows = case["labels"] >= 0
    base = SVC(C=scale, probability=True, random_state=0)
    model = CleanLearning(base, seed=0, **params)
    model.fit(case["X"][rows], case["labels"][rows])
    return model.predict(case["X"]), model.predict


def graphlearning_graph(X, k):
    """Return the weights that its guide uses.

    Beyond five features its own search needs the package annoy; scikit-learn's exact
    neighbours are given to it instead.
    """
    import graphlearning

    if X.shape[1] <= 5:
        return graphlearning.weightmatrix.knn(X, k)
    from sklearn.neighbors import NearestNeighbors

    distances, indices = NearestNeighbors(n_neighbors=k + 1).fit(X).kneighbors(X)
    return graphlearning.weightmatrix.knn(X, k, knn_data=(indices, distances))


def _is_sparse(X):
    return hasattr(X, "toarray")


def _as_is(X):
    return X


def _few_labels():
    from fewlabels import FewLabelsClassifier

    return FewLabelsClassifier


def _s2rls():
    from fewlabels import S2RLSClassifier

    return S2RLSClassifier


def _semi_supervised(name):
    def find():
        import fewlabels.semi_supervised

        return getattr(fewlabels.semi_supervised, name)

    return find


def _sklearn_graph(name):
    def find():
        import sklearn.semi_supervised

        return getattr(sklearn.semi_supervised, name)

    return find


def _svc():
    from sklearn.svm import SVC

    return SVC


def _boosting():
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier


_SPREAD = points(kernel=["knn"], n_neighbors=NEIGHBORS, rows=ROWS) + points(
    kernel=["rbf"], width=WIDTHS, rows=ROWS
)
_MANIFOLD = points(graph_alpha=(0.01, 0.1, 1.0, 10.0), n_neighbors=(5, 10), rows=ROWS)

LABELS = {
    "FewLabelsClassifier": Method(
        "fewlabels",
        estimator(_few_labels, random_state=0),
        points(scale=("auto", "standard", "unit", "none")),
    ),
    "S2RLSClassifier": Method(
        "fewlabels",
        estimator(_s2rls, random_state=0),
        points(kernel=("linear", "rbf"), alpha=(0.001, 0.03, 1.0, 30.0), rows=ROWS),
    ),
    "LaplacianSVC": Method(
        "fewlabels", estimator(_semi_supervised("LaplacianSVC")), _MANIFOLD
    ),
    "LaplacianRLSClassifier": Method(
        "fewlabels",
        estimator(_semi_supervised("LaplacianRLSClassifier")),
        _MANIFOLD,
    ),
    "HarmonicFunctionClassifier": Method(
        "fewlabels",
        estimator(_semi_supervised("HarmonicFunctionClassifier")),
        points(n_neighbors=NEIGHBORS, balance=(None, "labels"), rows=ROWS),
    ),
    "SVC": Method(
        "scikit-learn",
        on_labels(_svc),
        points(kernel=("linear", "rbf"), C=(0.1, 1.0, 10.0, 100.0), rows=ROWS),
    ),
    "SelfTraining(SVC)": Method(
        "scikit-learn",
        self_training,
        points(
            kernel=("linear", "rbf"), C=(1.0, 10.0), threshold=(0.75, 0.9), rows=ROWS
        ),
    ),
    "LabelPropagation": Method(
        "scikit-learn",
        estimator(_sklearn_graph("LabelPropagation")),
        _SPREAD,
    ),
    "LabelSpreading": Method(
        "scikit-learn", estimator(_sklearn_graph("LabelSpreading")), _SPREAD
    ),
    "HistGradientBoosting": Method(
        "scikit-learn",
        on_labels(_boosting, dense=True, random_state=0),
        points(learning_rate=(0.03, 0.1), min_samples_leaf=(1, 3, 10)),
    ),
    "laplace": Method(
        "graphlearning",
        graphlearning_ssl("laplace"),
        points(k=NEIGHBORS, reweighting=("none", "poisson"), rows=ROWS),
    ),
    "poisson": Method(
        "graphlearning",
        graphlearning_ssl("poisson"),
        points(k=NEIGHBORS, rows=ROWS),
    ),
    "poisson (true sizes)": Method(
        "graphlearning",
        with_true_sizes("poisson"),
        points(k=NEIGHBORS, rows=ROWS),
    ),
    "PoissonMBO (true sizes)": Method(
        "graphlearning",
        with_true_sizes("poisson_mbo"),
        points(k=NEIGHBORS, rows=ROWS),
    ),
    "TriTraining": Method("sslearn", sslearn_wrapper("TriTraining"), points(rows=ROWS)),
    "DemocraticCoLearning": Method(
        "sslearn", sslearn_wrapper("DemocraticCoLearning"), points(rows=ROWS)
    ),
    "CleanLearning(SVC)": Method(
        "cleanlab", clean_learning, points(C=(1.0, 10.0, 100.0), rows=ROWS)
    ),
}


# No labels ----------------------------------------------------------------------------


def clustering(find, **fixed):
    """Fit a clustering of as many clusters as there are classes."""

    def run(case, params):
        X, k = case["X"], np.unique(case["y"]).size
        model = find()(n_clusters=k, **fixed, **own_gamma(X, params)).fit(X)
        return model.labels_, getattr(model, "predict", None)

    return run


def graphlearning_spectral(case, params):
    """Spectral clustering of graphlearning."""
    import graphlearning

    W = graphlearning_graph(case["X"], params.get("k", 10))
    k = np.unique(case["y"]).size
    return graphlearning.clustering.spectral(W, k).fit_predict(), None


def _cluster(name):
    def find():
        import fewlabels.cluster

        return getattr(fewlabels.cluster, name)

    return find


def _sklearn_cluster(name):
    def find():
        import sklearn.cluster

        return getattr(sklearn.cluster, name)

    return find


CLUSTERS = {
    "RLSClustering": Method(
        "fewlabels",
        clustering(_cluster("RLSClustering"), random_state=0),
        points(kernel=("linear", "rbf"), alpha=(0.01, 0.1, 1.0), rows=ROWS),
    ),
    "NormalizedSpectralClustering": Method(
        "fewlabels",
        clustering(_cluster("NormalizedSpectralClustering"), random_state=0),
        points(n_neighbors=NEIGHBORS, rows=ROWS),
    ),
    "NormalizedSpectralClustering, multilevel": Method(
        "fewlabels",
        clustering(
            _cluster("NormalizedSpectralClustering"),
            eigen_solver="multilevel",
            random_state=0,
        ),
        points(n_neighbors=NEIGHBORS, rows=ROWS),
    ),
    "NystromSpectralClustering": Method(
        "fewlabels",
        clustering(_cluster("NystromSpectralClustering"), random_state=0),
        points(width=WIDTHS, rows=ROWS),
    ),
    "KMeans": Method(
        "scikit-learn",
        clustering(_sklearn_cluster("KMeans"), random_state=0),
        points(n_init=(1, 10), rows=ROWS),
    ),
    "SpectralClustering": Method(
        "scikit-learn",
        clustering(_sklearn_cluster("SpectralClustering"), random_state=0),
        points(affinity=["nearest_neighbors"], n_neighbors=NEIGHBORS, rows=ROWS)
        + points(width=WIDTHS, rows=ROWS),
    ),
    "spectral": Method(
        "graphlearning",
        graphlearning_spectral,
        points(k=NEIGHBORS, rows=ROWS),
    ),
}


# One binary problem -------------------------------------------------------------------


def by_us(solver):
    """Solve the partition problem by a heuristic of fewlabels."""

    def run(case, params):
        from fewlabels import partition

        problem = partition.PartitionProblem.from_kernel(
            case["K"], case["signs"], alpha=float(case["lam"])
        )
        solve = getattr(partition, solver)
        return solve(problem, random_state=0, **params).y, None

    return run


def quadratic_form(K, signs, alpha):
    """Return Q and d with F(y) = sum(d^2) - y'Qy, from the formula."""
    labeled = signs != 0
    d = np.where(labeled, 1 / np.sqrt(max(labeled.sum(), 1)), 1.0)
    d[~labeled] /= np.sqrt(max((~labeled).sum(), 1))
    A = d[:, None] * K * d
    # A and (A + alpha I)^-1 commute: the product is symmetric but for rounding.
    Q = d[:, None] * np.linalg.solve(A + alpha * np.eye(len(K)), A) * d
    return (Q + Q.T) / 2, d


def by_dwave(sampler):
    """Give the same problem to a sampler of dwave-samplers, as an Ising model."""

    def run(case, params):
        import dimod
        import dwave.samplers

        signs = case["signs"]
        Q, d = quadratic_form(case["K"], signs, float(case["lam"]))
        free, labeled = np.flatnonzero(signs == 0), np.flatnonzero(signs)
        given = signs[labeled]
        J = Q[np.ix_(free, free)]
        i, j = np.triu_indices(free.size, 1)
        offset = np.sum(d**2) - given @ Q[np.ix_(labeled, labeled)] @ given
        model = dimod.BinaryQuadraticModel.from_numpy_vectors(
            -2 * Q[np.ix_(free, labeled)] @ given,
            (i, j, -2 * J[i, j]),
            offset - np.trace(J),
            dimod.SPIN,
        )
        found = getattr(dwave.samplers, sampler)().sample(model, seed=0, **params)
        best = found.first.sample
        y = signs.copy()
        y[free] = [best[v] for v in range(free.size)]
        return y, None

    return run


# Each with its defaults, and with about ten times the effort.
PARTITION = {
    "local_search": Method("fewlabels", by_us("local_search"), [{"n_init": 11}]),
    "tabu_search": Method("fewlabels", by_us("tabu_search"), [{"n_init": 11}]),
    "evolve": Method("fewlabels", by_us("evolve"), [{"n_init": 11}]),
    "SteepestDescentSampler": Method(
        "dwave-samplers",
        by_dwave("SteepestDescentSampler"),
        [{"num_reads": 10}],
    ),
    "TabuSampler": Method(
        "dwave-samplers", by_dwave("TabuSampler"), [{"timeout": 1000}]
    ),
    "SimulatedAnnealingSampler": Method(
        "dwave-samplers",
        by_dwave("SimulatedAnnealingSampler"),
        [{"num_reads": 10}],
    ),
}

TASKS = {
    "labels": LABELS,
    "clusters": CLUSTERS,
    "partition": PARTITION,
    "growth": {**LABELS, **CLUSTERS},
}
