"""One case: a strange problem, an estimator, and answers that must agree."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import LinAlgWarning
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from fewlabels import partition
from fewlabels.partition._signs import rounding
from tests.reference import rational
from tests.robustness.methods import (
    METHODS,
    agree,
    answers,
    equally_good,
    fit,
    has_unit,
)
from tests.robustness.problems import (
    WAYS,
    contradicts_itself,
    scaled,
    strange_problem,
    ties,
)

# Parameters that have a unit change along with the rows, but not beyond all numbers.
POWER_WITH_PARAMS = 40

# Up to so many rows, all partitions are tried.
MOST_ROWS = 12

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
    outcome: str  # "agree", "alone" (nothing to compare), "refused" or "disagree"
    detail: str = ""
    warnings: list[str] = field(default_factory=list)


def problem_for(method, rng):
    """A problem; for graphs one without ties among neighbours, if chance gives one."""
    for _ in range(8):
        problem = strange_problem(rng)
        tied = method.graph and ties(problem.X, problem.X_new)
        if not (tied or (method.first and contradicts_itself(problem))):
            return problem, method.ways
    return problem, ()


def run_estimator(seed, name):
    """One problem, one estimator, up to five answers."""
    rng = np.random.default_rng(seed)
    method = METHODS[name]
    problem, ways = problem_for(method, rng)
    if method.wraps:
        X, X_new = problem.X.astype(np.float64), problem.X_new.astype(np.float64)
        problem = replace(problem, X=X, X_new=X_new)
    if "asked" in ways and rng.random() < 0.5:
        problem = replace(
            problem, X=csr_array(problem.X), X_new=csr_array(problem.X_new)
        )
    if problem.single:  # single precision has no digits to spare
        ways = [way for way in ways if way != "shifted"]
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
            n = problem.X.shape[0] if way in method.seen else len(base)
            seen = (np.s_[:n], np.s_[:n])[: base.ndim]
            if not agree(
                method, base[seen], found[seen], problem.single
            ) and not equally_good(method, problem, other):
                return Report(name, "disagree", f"{title}: {way}")
    if name == "RLSClustering linear" and problem.X.shape[0] <= MOST_ROWS:
        compared += 1
        if not is_honest(problem, fit(method, problem).result_):
            return Report(name, "disagree", f"{title}: all partitions")
    for warning in heard:
        if warning.category is RuntimeWarning:  # NumPy's, which helps nobody
            return Report(name, "disagree", f"{title}: {warning.message}")
    messages = [str(w.message) for w in heard]
    return Report(name, "agree" if compared else "alone", warnings=messages)


def ask(method, problem):
    """The answers of an estimator, and its warnings."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        return answers(method, problem), heard


def is_final(heard):
    """Whether no solver has said that it stopped too early, or lost its digits."""
    unfinished = (ConvergenceWarning, LinAlgWarning)
    return not any(issubclass(w.category, unfinished) for w in heard)


def is_honest(problem, result):
    """Whether all partitions of centred rows, in exact arithmetic, bear a result out.

    Between its bound and its objective it leaves a doubt, which may be all there is.
    """
    n = problem.X.shape[0]
    K = rational.gram(problem.X)
    means = [sum(row) / n for row in K]
    mean = sum(means) / n
    K = [[K[i][j] - means[i] - means[j] + mean for j in range(n)] for i in range(n)]
    for i in range(n):
        K[i][i] += n  # alpha is 1
    G = np.array(rational.inverse(K), dtype=np.float64)
    bits = np.arange(1, 2 ** (n - 1))[:, None] >> np.arange(n) & 1
    # Two classes, each with one half.
    values = np.einsum("ij,jk,ik->i", 1 - 2.0 * bits, G, 1 - 2.0 * bits)
    y = np.where(result.y == result.y[0], 1.0, -1.0)
    best, found, digits = values.min(), y @ G @ y, 1e-12 * values.max()
    doubt = result.objective - result.lower_bound
    return (
        result.lower_bound <= best + digits
        and abs(found - result.objective) <= doubt + 1e-9 * found + digits
        and (doubt > 1e-6 * result.objective or found <= best * (1 + 2e-6) + digits)
    )


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
            return Report("certificates", "disagree", f"{method} bound")
    for name, result in results.items():
        at = np.flatnonzero((codes == problem.check_partition(result.y)).all(axis=1))
        if not at.size:
            return Report("certificates", "disagree", f"{name}: sizes")
        if result.lower_bound > best:
            return Report("certificates", "disagree", f"{name}: bound")
        if abs(float(values[at[0]]) - result.objective) > rounding(problem):
            return Report("certificates", "disagree", f"{name}: objective")
        if result.gap <= 1e-6 * result.objective and values[at[0]] > best * (1 + 2e-6):
            return Report("certificates", "disagree", f"{name}: proof")
    return Report("certificates", "agree")


def method_of(seed):
    """What a case is about; every fifth is about certificates."""
    return "certificates" if seed % 5 == 4 else ROUNDS[(seed - seed // 5) % len(ROUNDS)]


def run_case(seed):
    """One case of any kind."""
    name = method_of(seed)
    if name == "certificates":
        return run_certificate(seed)
    return run_estimator(seed - seed // 5, name)
