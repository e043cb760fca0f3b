"""One case: a strange problem, an estimator, and predictions that must agree."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import LinAlgWarning
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from fewlabels import partition
from fewlabels.cluster import RLSClustering
from fewlabels.semi_supervised import S2RLSClassifier
from tests.partition.problems import dependent_rows, with_bounds
from tests.robustness.methods import (
    METHODS,
    agree,
    answers,
    equally_good,
    fit,
    has_unit,
    is_as_found,
    rows_of,
)
from tests.robustness.problems import (
    WAYS,
    contradicts_itself,
    falls_apart,
    scaled,
    strange_problem,
    ties,
    widened,
)
from tests.robustness.solvers import OTHERS

# Parameters that have a unit change along with the rows, but not beyond all numbers.
POWER_WITH_PARAMS = 40

FAR = {"far row", "far unlabelled row", "islands", "weak links"}

# Up to this many rows, all partitions of what these estimators see are tried.
MOST_ROWS = 12
CENTRED = {"RLSClustering linear", "RLSClustering exact"}

# What a case asks: rounds of all estimators, less the costly ones in most, and of other
# solvers, which are quick, some times each.
OTHER_TURNS = 4
ROUNDS = [
    name
    for turn in range(max(method.every for method in METHODS.values()))
    for name in (
        *(name for name, method in METHODS.items() if turn % method.every == 0),
        *OTHER_TURNS * tuple(OTHERS),
    )
]


@dataclass
class Report:
    """What came of one case."""

    name: str
    outcome: str  # "agree", "alone" (nothing to compare), "refused" or "disagree"
    detail: str = ""
    warnings: list[str] = field(default_factory=list)


def problem_for(method, rng, more=None):
    """A problem; for graphs one without ties among neighbours, if chance gives one."""
    for _ in range(8):
        problem = strange_problem(rng)
        if more is not None:
            problem = widened(problem, more)
        again = method.kind == "gram"  # of the rows of `fit`, too
        tied = method.graph and ties(problem.X, problem.X_new, again)
        if not (tied or (method.first and contradicts_itself(problem))):
            return problem, method.ways
    return problem, ()


def run_estimator(seed, name, *, wide=True):
    """One problem, one estimator, up to six fits."""
    rng = np.random.default_rng(seed)
    method = METHODS[name]
    more = np.random.default_rng([seed, 1]) if wide else None
    problem, ways = problem_for(method, rng, more)
    if method.wraps:
        X, X_new = problem.X.astype(np.float64), problem.X_new.astype(np.float64)
        problem = replace(problem, X=X, X_new=X_new)
    if "asked" in ways and rng.random() < 0.5:
        problem = replace(
            problem, X=csr_array(problem.X), X_new=csr_array(problem.X_new)
        )
    if problem.single or "decimal" in problem.kinds:  # no digits to spare
        ways = [way for way in ways if way != "shifted"]
    if FAR & problem.kinds:  # of few rows, several far ones are no exception
        ways = [way for way in ways if way != "beside"]
    if "beside" in ways and method.bridged and falls_apart(problem.X):
        ways = [way for way in ways if way != "beside"]
    if not has_unit(method, problem):
        ways = [way for way in ways if way != "scaled"]
    title = f"{name} ({', '.join(sorted(problem.kinds)) or 'plain'})"
    try:
        base, heard = ask(method, problem)
    except ValueError as error:
        return Report(name, "refused", str(error))
    holes = method.kind == "utilities"  # of rows that have a label
    if np.isinf(base).any() or np.isnan(base).any() > holes:
        return Report(name, "disagree", f"{title}: no number")
    compared = 0
    if seed % 3 == 0 and not is_as_found(method, problem, base):
        return Report(name, "disagree", f"{title}: seen")
    for way in ways if is_final(heard) else ():
        if way == "scaled" and method.units:
            other = scaled(problem, rng, POWER_WITH_PARAMS)
        else:
            other = WAYS[way](problem, rng)
        try:
            found, said = ask(method, other)
        except ValueError as error:
            return Report(name, "disagree", f"{title}: {way}: {error}")
        heard += said
        if is_final(said):
            compared += 1
            known = way in (*method.seen, "beside")
            n = problem.X.shape[0] if known else len(base)
            seen = (np.s_[:n], np.s_[:n])[: base.ndim]
            if not agree(
                method, base[seen], found[seen], problem.single, way
            ) and not equally_good(method, problem, other):
                return Report(name, "disagree", f"{title}: {way}")
    if name in CENTRED and problem.X.shape[0] <= MOST_ROWS:
        compared += 1
        if not is_honest(rows_of(method, problem.X), fit(method, problem).result_):
            return Report(name, "disagree", f"{title}: all partitions")
    for warning in heard:
        if warning.category is RuntimeWarning:  # NumPy's, which helps nobody
            return Report(name, "disagree", f"{title}: {warning.message}")
    messages = [str(w.message) for w in heard]
    return Report(name, "agree" if compared else "alone", warnings=messages)


def ask(method, problem):
    """The predictions of an estimator, and its warnings."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        return answers(method, problem), heard


def is_final(heard):
    """Whether no solver has said that it stopped too early, or lost its digits."""
    unfinished = (ConvergenceWarning, LinAlgWarning)
    return not any(issubclass(w.category, unfinished) for w in heard)


def is_honest(X, result):
    """Whether all partitions of centred rows, in exact arithmetic, bear a result out.

    Between its bound and its objective it leaves a doubt, which may be all there is.
    The rows are on a dyadic grid, so that n times the centred ones have no error; with
    alpha = n^2 they make the problem of the centred rows and alpha = 1.
    """
    n = X.shape[0]
    X = X.astype(np.float64)
    centered = n * X - X.sum(axis=0)
    problem = partition.PartitionProblem.from_factor(
        centered, np.full(n, -1), alpha=n**2, n_classes=2, min_size=1
    )
    truth = partition.verify(problem, result)
    best, found = float(truth.optimum), float(truth.objective)
    if result.lower_bound is None:
        return False
    doubt = result.objective - result.lower_bound
    return (
        result.lower_bound <= best * (1 + 1e-12)
        and abs(found - result.objective) <= doubt + 1e-9 * found
        and (doubt > 1e-6 * result.objective or found <= best * (1 + 2e-6))
    )


def certificate_problem(rng):
    """A problem of up to eight free points with any bounds and labels."""
    n_free, n_labeled = int(rng.integers(1, 9)), int(rng.choice([0, 0, 1, 2, 3]))
    n = n_free + n_labeled
    rank, n_dependent = int(rng.integers(1, 6)), int(rng.choice([0, 0, 1, 1, 2, 3]))
    Z = dependent_rows(rng, n, rank, n_dependent)
    if rng.random() < 0.2:
        Z[:, rng.integers(Z.shape[1])] *= 10.0 ** rng.integers(-8, 4)
    Z *= 10.0 ** rng.choice([0, 0, 0, -3, 3, 6])
    y = np.zeros(n)
    y[rng.permutation(n)[:n_labeled]] = rng.choice([-1.0, 1.0], size=n_labeled)
    size = np.abs(Z).max() or 1.0
    params = {
        "alpha": float(size**2 * 10.0 ** rng.integers(-13, 2)),
        "unlabeled_weight": float(rng.choice([1.0, 1.0, 0.1, 3.0])),
    }
    make = partition.PartitionProblem.from_factor
    if rng.random() < 0.3:
        make, Z = partition.PartitionProblem.from_kernel, Z @ Z.T
    problem = make(Z, y, **params)
    lower, upper = np.sort(rng.integers(0, n_free + 1, size=2))
    kind = rng.choice(["none", "none", "lower", "upper", "both", "size", "no empty"])
    if kind == "none":
        return problem
    if kind == "no empty":
        lower, upper = min(1, n_free - 1), max(1, n_free - 1)
    elif kind == "lower":
        upper = n_free
    elif kind == "upper":
        lower = 0
    elif kind == "size":
        upper = lower
    return with_bounds(problem, int(lower), int(upper))


def run_certificate(seed):
    """One small problem whose certificates exact arithmetic judges."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # as for internal errors
        try:
            wrong = CERTIFICATES[rng.integers(len(CERTIFICATES))](rng)
        except ValueError as error:
            return Report("certificates", "refused", str(error))
    return Report("certificates", "disagree" if wrong else "agree", wrong)


def check_solvers(rng):
    """Every solver, and every bound, on a problem by itself."""
    problem = certificate_problem(rng)
    found = partition.local_search(problem, "random", random_state=0)
    results = {
        "exact": partition.solve_exact(problem),
        "auto": partition.solve(problem, "auto", n_init=2, random_state=0),
        "rank 1": partition.solve_exact(problem, n_components=1),
        "rank 2": partition.solve_exact(problem, n_components=2),
        "branch and bound": partition.branch_and_bound(problem, n_init=1),
        "certify": partition.certify(problem, found),
    }
    for method in ("dual", "truncated", "spectral"):
        bound = partition.lower_bound(problem, method)
        results[f"{method} bound"] = replace(found, lower_bound=bound)
    for name, result in results.items():
        if result.lower_bound is None:
            return f"{name}: no bound"
        refuted = partition.verify(problem, result).refuted
        if refuted:
            return f"{name}: {', '.join(refuted)}"
    return ""


def sums_and_differences(rng, n):
    """Rows of two columns, and of their sum and difference."""
    a, b = rng.normal(size=(2, n))
    if rng.random() < 0.5:
        a, b = a.round(1), b.round(1)
    return np.column_stack([a, b, a + b, a - b])


def check_clusters(rng):
    """The clusters of rows whose columns depend on each other."""
    n = int(rng.integers(3, 9))
    X = sums_and_differences(rng, n) * rng.choice([1.0, 30.0, 1e3, 3e4])
    X = np.round(X * 2.0**30) / 2.0**30
    model = RLSClustering(2, kernel="linear", solver=str(rng.choice(["auto", "exact"])))
    return "" if is_honest(X, model.fit(X).result_) else "clusters"


def check_labels(rng):
    """The labels that least squares finds on such rows."""
    n = int(rng.integers(3, 9))
    X = sums_and_differences(rng, n)
    y = np.full(n, -1)
    y[:2] = 0, 1
    model = S2RLSClassifier(
        kernel="linear",
        solver="exact",
        alpha=10.0 ** rng.integers(-9, 2),
        balance=[None, "labels", 0.3][int(rng.integers(3))],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a model that contradicts it
        model.fit(X, y)
    problem = partition.PartitionProblem.from_factor(
        X,
        y,
        alpha=model.alpha_,
        unlabeled_weight=model.unlabeled_weight,
        balance=model.balance_,
        balance_tol=None if model.balance_ is None else model.balance_tol,
        n_classes=2,
    )
    refuted = partition.verify(problem, model.result_).refuted
    return f"labels: {', '.join(refuted)}" if refuted else ""


# What a certificate belongs to, the first being the rule.
CERTIFICATES = (*4 * (check_solvers,), check_clusters, check_labels)


def run_solver(seed, name):
    """One small problem of a solver that is no estimator."""
    judge, _ = OTHERS[name]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        wrong = judge(np.random.default_rng(seed))
    if wrong and is_final(heard):
        return Report(name, "disagree", f"{name}: {wrong}")
    messages = [str(w.message) for w in heard]
    return Report(name, "alone" if wrong else "agree", warnings=messages)


def method_of(seed):
    """What a case is about; every fifth is about certificates."""
    return "certificates" if seed % 5 == 4 else ROUNDS[(seed - seed // 5) % len(ROUNDS)]


def run_case(seed):
    """One case of any kind."""
    name = method_of(seed)
    if name == "certificates":
        return run_certificate(seed)
    if name in OTHERS:
        return run_solver(seed, name)
    return run_estimator(seed - seed // 5, name)
