"""A seeded generator of strange but legal problems, and the ways to answer them."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist
from sklearn.tree import DecisionTreeClassifier

from fewlabels import automatic, cluster, partition, regression
from fewlabels import semi_supervised as semi
from fewlabels.partition._signs import rounding
from tests.reference import rational

# Decisions closer to the boundary than this share of the largest may fall either way.
MARGIN = 1e-2

N_NEIGHBORS = 4

# What regressors learn of every class, and those that take no unlabelled rows.
TARGETS = np.array([-1.0, 1.0, 0.5, -0.25, 0.0, 0.75])
REGRESSORS = (regression.PrincipalComponentRegression,)


@dataclass(frozen=True)
class Method:
    """An estimator and the ways in which its answers must not change."""

    make: Callable[[], Any]
    graph: bool = False
    kind: str = "classifier"
    ways: tuple[str, ...] = ("sparse", "shifted", "scaled", "permuted")
    every: int = 1  # costly ones are asked in one of so many rounds


def _semi(name: str, **params: Any) -> Callable[[], Any]:
    return lambda: getattr(semi, name)(**params)


NEAR = {"n_neighbors": N_NEIGHBORS}

METHODS = {
    "RLSClassifier": Method(_semi("RLSClassifier")),
    "RLSClassifier linear": Method(
        _semi("RLSClassifier", kernel="linear"), ways=("sparse", "permuted")
    ),
    "S2RLSClassifier": Method(
        _semi("S2RLSClassifier", solver="branch_and_bound", n_init=1),
        kind="objective",
    ),
    "LaplacianSVC dense": Method(
        _semi("LaplacianSVC", solver="dense", **NEAR), graph=True
    ),
    "LaplacianSVC dual": Method(
        _semi("LaplacianSVC", solver="dual", alpha=1e-3, **NEAR),
        graph=True,
        kind="value",
    ),
    "LaplacianSVC low rank": Method(
        _semi("LaplacianSVC", solver="low_rank", **NEAR), graph=True
    ),
    "LaplacianRLSClassifier": Method(
        _semi("LaplacianRLSClassifier", solver="dense", **NEAR), graph=True
    ),
    "HarmonicFunctionClassifier": Method(
        _semi("HarmonicFunctionClassifier", **NEAR), graph=True
    ),
    "GraphRegularizationClassifier": Method(
        _semi("GraphRegularizationClassifier", **NEAR), graph=True
    ),
    "PropagatingNearestNeighborClassifier": Method(
        _semi("PropagatingNearestNeighborClassifier"), graph=True
    ),
    "RLSClustering": Method(
        lambda: cluster.RLSClustering(solver="branch_and_bound"), kind="clusters"
    ),
    "RLSClustering linear": Method(
        lambda: cluster.RLSClustering(kernel="linear", solver="branch_and_bound"),
        kind="clusters",
        ways=("sparse", "shifted", "permuted"),
    ),
    "MinCutClassifier": Method(
        _semi("MinCutClassifier", **NEAR), graph=True, kind="cut"
    ),
    "KernelNaiveBayes": Method(
        _semi("KernelNaiveBayes"), ways=("shifted", "scaled", "permuted")
    ),
    "TransductiveSVC": Method(
        _semi("TransductiveSVC", random_state=0), ways=("sparse", "scaled")
    ),
    "HarmonicFunctionRegressor": Method(
        _semi("HarmonicFunctionRegressor", **NEAR), graph=True, kind="regressor"
    ),
    "LaplacianRLSRegressor": Method(
        _semi("LaplacianRLSRegressor", **NEAR), graph=True, kind="regressor"
    ),
    "LaplacianRLSClassifierCV": Method(
        _semi("LaplacianRLSClassifierCV", n_neighbors=(N_NEIGHBORS,)),
        graph=True,
        ways=("sparse", "scaled"),
        every=4,
    ),
    "S2RLSClassifierCV": Method(
        _semi("S2RLSClassifierCV", n_init=2, random_state=0),
        ways=("sparse", "scaled"),
        every=4,
    ),
    "SelfTrainingClassifier": Method(
        _semi(
            "SelfTrainingClassifier", estimator=DecisionTreeClassifier(random_state=0)
        ),
        ways=("sparse",),
        every=4,
    ),
    "CoTrainingClassifier": Method(
        _semi("CoTrainingClassifier", random_state=0), ways=("sparse",), every=4
    ),
    "TriTrainingClassifier": Method(
        _semi("TriTrainingClassifier", random_state=0), ways=("sparse",), every=4
    ),
    "ClusterThenLabelClassifier": Method(
        _semi("ClusterThenLabelClassifier", random_state=0), ways=("sparse",), every=4
    ),
    "NormalizedSpectralClustering": Method(
        lambda: cluster.NormalizedSpectralClustering(
            2, random_state=0, n_init=1, **NEAR
        ),
        graph=True,
        kind="groups",
        ways=("sparse", "shifted", "scaled"),
    ),
    "MacQueenKMeans": Method(
        lambda: cluster.MacQueenKMeans(2, random_state=0),
        kind="groups",
        ways=("scaled",),
    ),
    "PrincipalComponentRegression": Method(
        lambda: regression.PrincipalComponentRegression(1),
        kind="regressor",
        ways=("shifted", "scaled", "permuted"),
    ),
    "FewLabelsClassifier": Method(
        lambda: automatic.FewLabelsClassifier(bank="fast", random_state=0),
        ways=("asked", "scaled"),
        every=8,
    ),
    "FewLabelsRegressor": Method(
        lambda: automatic.FewLabelsRegressor(bank="fast", random_state=0),
        kind="regressor",
        ways=("asked", "scaled"),
        every=8,
    ),
}

# Which estimator a case asks: rounds of all, less the costly ones in most.
ROUNDS = [
    name
    for turn in range(max(method.every for method in METHODS.values()))
    for name, method in METHODS.items()
    if turn % method.every == 0
]


@dataclass
class Report:
    """What came of one case."""

    name: str
    outcome: str  # "agree", "refused" or "disagree"
    detail: str = ""
    warnings: list[str] = field(default_factory=list)


def rows_and_labels(rng):
    """Rows on a dyadic grid, so that powers of two move and scale them exactly."""
    n, p = int(rng.integers(8, 19)), int(rng.integers(1, 21))
    n_classes = int(rng.choice([2, 2, 3, 3, 4, 6]))
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p)) + 2.0 * rng.integers(0, 2) * y[:, None]
    kinds = set()
    if rng.random() < 0.2:
        X[rng.integers(n)] *= 2.0 ** rng.integers(10, 31)
        kinds.add("far row")
    X = np.round(X * 2.0**10) / 2.0**10
    if rng.random() < 0.2:
        X[rng.permutation(n)[: n // 4]] = X[0]
        kinds.add("copies")
    if rng.random() < 0.2:
        X[rng.permutation(n)[: n // 4]] = 0.0
        kinds.add("zero rows")
    if rng.random() < 0.2:
        X[:, rng.integers(p)] = 1.0
        kinds.add("constant column")
    if rng.random() < 0.1:
        X[:] = X[0]
        kinds.add("equal rows")
    if rng.random() < 0.15:  # too far apart for any neighbour across
        X[: n // 2] += 2.0**12
        kinds.add("islands")
    if rng.random() < 0.3:
        X[rng.random(X.shape) < 0.6] = 0.0
        kinds.add("mostly zeros")
    labels = np.full(n, -1)
    n_labeled = int(rng.integers(n_classes, n))
    labels[rng.permutation(n)[:n_labeled]] = 0
    labels = np.where(labels == 0, y, -1)
    for c in range(n_classes):  # every class has a label
        if not (labels == c).any():
            labels[np.flatnonzero(y == c)[0]] = c
    X_new = X[rng.permutation(n)[:4]] + np.round(rng.normal(size=(4, p)) * 8) / 8
    if rng.random() < 0.2:
        X, X_new = X.astype(np.float32), X_new.astype(np.float32)
        kinds.add("float32")
    return X, labels, X_new, kinds


def ties(X, X_new):
    """Whether the order of rows decides who is whose neighbour."""
    X, X_new = X.astype(np.float64), X_new.astype(np.float64)
    for A, skip in ((X, 1), (X_new, 0)):
        d = np.sort(cdist(A, X), axis=1)[:, skip:]
        for k in (1, N_NEIGHBORS):
            if d.shape[1] > k and np.any(d[:, k] <= d[:, k - 1] * (1 + 1e-9)):
                return True
    return False


def answers(method, X, y, X_new, asked=None):
    """Decisions on training rows and new ones, or an objective."""
    model = method.make()
    if method.kind in ("clusters", "groups"):
        model.fit(X)
    elif method.kind == "regressor" and not isinstance(model, REGRESSORS):
        model.fit(X, np.where(y == -1, np.nan, TARGETS[y]))
    elif method.kind == "regressor":
        model.fit(X[y >= 0], TARGETS[y[y >= 0]])
    else:
        model.fit(X, y)
    if method.kind in ("clusters", "objective"):
        return np.array([[model.result_.lower_bound, model.result_.objective]])
    if method.kind == "value":
        return np.array([[model.objective_]])
    if method.kind == "cut":
        return np.array([[model.cut_value_]])
    if method.kind == "groups":
        return np.asarray(model.labels_)[:, None] == np.asarray(model.labels_)
    found = []
    for rows in asked or (X, X_new):
        if method.kind == "regressor":
            values = np.asarray(model.predict(rows), dtype=np.float64).reshape(-1, 1)
        elif hasattr(model, "decision_function"):
            values = np.asarray(model.decision_function(rows), dtype=np.float64)
            if values.ndim == 1:
                values = np.column_stack([-values, values])
        elif hasattr(model, "predict_proba"):
            values = np.asarray(model.predict_proba(rows), dtype=np.float64)
        else:
            values = np.eye(6)[np.asarray(model.predict(rows))]
        found.append(values)
    return np.vstack(found)


def agree(method, base, other, single):
    """Whether two answers say the same where they say anything clearly."""
    if base.shape != other.shape or not np.isfinite(other).all():
        return False
    slack = (1e-3 if single else 1e-5) * max(1e-3, np.abs(base).max())
    if method.kind == "groups":
        return bool((base == other).all())
    if method.kind == "regressor":
        return bool(np.abs(base - other).max() <= (100 if single else 1) * 1e-4)
    if method.kind in ("value", "cut"):  # of a minimum that need not be unique
        return bool(np.abs(base - other).max() <= slack)
    if method.kind in (
        "clusters",
        "objective",
    ):  # the optimum lies between bound and objective
        low = max(base[0, 0], other[0, 0])
        return bool(low <= min(base[0, 1], other[0, 1]) + 1e-2 * slack)
    ordered = np.sort(base, axis=1)
    lead = ordered[:, -1] - ordered[:, -2]
    clear = lead > (10 * MARGIN if single else MARGIN) * max(np.abs(base).max(), 1e-6)
    return bool((base.argmax(axis=1) == other.argmax(axis=1))[clear].all())


def in_another_way(way, rng, X, y, X_new):
    """The same problem in other clothes, and how to read its answers."""
    n = X.shape[0]
    if way == "asked":  # what was learnt from rows of the other kind
        other = [A.toarray() if issparse(A) else csr_array(A) for A in (X, X_new)]
        return X, y, X_new, None, other
    if way == "sparse":  # throughout, or only for learning, or only for asking
        S, S_new = csr_array(X), csr_array(X_new)
        choice = rng.integers(3)
        if choice == 0:
            return S, y, S_new, None, (S, S_new)
        return (
            (S, y, X_new, None, (X, X_new))
            if choice == 1
            else (X, y, S_new, None, (S, S_new))
        )
    if way == "shifted":
        shift = X.dtype.type(2.0 ** int(rng.integers(4, 21)))
        return X + shift, y, X_new + shift, None, None
    if way == "scaled":
        power = 60 if X.dtype == np.float32 else 480
        scale = X.dtype.type(2.0 ** int(rng.integers(-power, power + 1)))
        return X * scale, y, X_new * scale, None, None
    order = rng.permutation(n)
    back = np.argsort(order)
    positions = np.append(back, n + np.arange(X_new.shape[0]))
    return X[order], y[order], X_new, positions, None


def run_estimator(seed):
    """One problem, one estimator, five answers."""
    rng = np.random.default_rng(seed)
    name = ROUNDS[seed % len(ROUNDS)]
    method = METHODS[name]
    X, y, X_new, kinds = rows_and_labels(rng)
    if method.kind == "objective":
        y = np.minimum(y, 1)
    if "asked" in method.ways and rng.random() < 0.5:
        X, X_new = csr_array(X), csr_array(X_new)
    title = f"{name} ({', '.join(sorted(kinds)) or 'plain'})"
    heard = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            base = answers(method, X, y, X_new)
        except ValueError as error:
            return Report(name, "refused", str(error))
        single = X.dtype == np.float32
        for way in method.ways:
            if single and way == "shifted":
                continue  # single precision has no digits to spare
            if method.graph and ties(X, X_new):
                continue
            other = in_another_way(way, rng, X, y, X_new)
            try:
                found = answers(method, *other[:3], asked=other[4])
            except ValueError as error:
                return Report(name, "disagree", f"seed {seed}, {title}, {way}: {error}")
            if other[3] is not None and method.kind in ("classifier", "regressor"):
                found = found[other[3]]
            if not agree(method, base, found, single):
                return Report(name, "disagree", f"seed {seed}, {title}: {way}")
        heard = [str(w.message) for w in caught]
    return Report(name, "agree", warnings=heard)


def run_certificate(seed):
    """One small problem whose certificates exact arithmetic judges."""
    rng = np.random.default_rng(seed)
    n, rank = int(rng.integers(2, 7)), int(rng.integers(1, 6))
    Z = rng.integers(-4, 5, size=(n, rank)).astype(float)
    y = np.zeros(n)
    if rng.random() < 0.4:
        y[0] = rng.choice([-1.0, 1.0])
    params = {"alpha": 10.0 ** rng.integers(-13, 2)}
    if rng.random() < 0.5:
        params |= {"balance": rng.random(), "balance_tol": rng.choice([0.0, 0.2, 0.6])}
    factor = rng.random() < 0.5
    make = partition.PartitionProblem.from_factor
    if not factor:
        make = partition.PartitionProblem.from_kernel
    problem = make(Z if factor else Z @ Z.T, y, **params)
    codes = rational.partitions(problem)
    values = rational.objectives(rational.gram(Z), problem, codes)
    best = min(values)
    results = {
        "exact": partition.solve_exact(problem),
        "auto": partition.solve(problem, "auto", n_init=2, random_state=0),
        "rank 1": partition.solve_exact(problem, n_components=1),
        "branch and bound": partition.branch_and_bound(problem, n_init=1),
        "certify": partition.certify(
            problem, partition.local_search(problem, "random", random_state=0)
        ),
    }
    for method in ("dual", "truncated", "spectral", "best"):
        if partition.lower_bound(problem, method) > best:
            return Report("certificates", "disagree", f"seed {seed}: {method} bound")
    for name, result in results.items():
        at = np.flatnonzero((codes == problem.check_partition(result.y)).all(axis=1))
        if not at.size:
            return Report("certificates", "disagree", f"seed {seed}, {name}: sizes")
        if result.lower_bound > best:
            return Report("certificates", "disagree", f"seed {seed}, {name}: bound")
        if abs(float(values[at[0]]) - result.objective) > rounding(problem):
            return Report("certificates", "disagree", f"seed {seed}, {name}: objective")
        if result.gap <= 1e-6 * result.objective and values[at[0]] > best * (1 + 2e-6):
            return Report("certificates", "disagree", f"seed {seed}, {name}: proof")
    return Report("certificates", "agree")


def run_case(seed):
    """One case of any kind; every fifth is about certificates."""
    if seed % 5 == 4:
        return run_certificate(seed)
    return run_estimator(seed - seed // 5)
