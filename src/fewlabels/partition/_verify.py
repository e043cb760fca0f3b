"""Check certificates of small problems in exact arithmetic."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.partition._branch import PROVEN, PROVEN_TOL
from fewlabels.partition._partition_result import PartitionResult
from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._signs import rounding
from fewlabels.partition._systems import FactorSystem, PathSystem

# Partitions, and points, that take about a second.
MAX_PARTITIONS = 2**16
MAX_POINTS = 40

# Matrices of Python integers, which have arbitrary precision.
Integers = NDArray[np.object_]


@dataclass(frozen=True, eq=False, kw_only=True)
class Verification:
    """Result of checking a solution in exact arithmetic.

    Attributes
    ----------
    optimum : fractions.Fraction
        The smallest F over all partitions within the bounds.
    objective : fractions.Fraction
        F of the partition in the result.
    y : ndarray of shape (n_samples,)
        A partition with that optimum.
    refuted : tuple of str
        Claims of the result that are false: "sizes", if its partition violates the
        bounds; "objective", if F of its partition differs beyond rounding errors;
        "lower_bound", if the optimum is below it; and "optimum", if there is a better
        partition, although the gap is below a millionth of F or `stop_reason` claims a
        proof.
    """

    optimum: Fraction
    objective: Fraction
    y: NDArray[Any]
    refuted: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether no claim is refuted."""
        return not self.refuted


def verify(problem: PartitionProblem, result: PartitionResult) -> Verification:
    """Check a solver's result for a small problem in exact arithmetic.

    F is computed for all partitions within the bounds, in rational numbers, from the
    given kernel or features. Nothing that the solvers compute is used, except for the
    rounding errors that the objective may have.

    Parameters
    ----------
    problem : PartitionProblem
        A problem of up to 40 points and 65,536 partitions (16 free points and two
        classes).
    result : PartitionResult
        Result of any solver for it.

    Returns
    -------
    verification : Verification
        The optimum, and which claims it refutes.

    See Also
    --------
    certify : Add a bound to a result, for problems of any size.

    Examples
    --------
    >>> from fewlabels.partition import PartitionProblem, solve_exact, verify
    >>> X = [[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0]]
    >>> problem = PartitionProblem.from_factor(X, [-1, 0, 0, 0, 0, 1], alpha=0.5)
    >>> verification = verify(problem, solve_exact(problem))
    >>> verification.holds
    True
    >>> verification.optimum
    Fraction(27, 98)
    """
    n, u, k = problem.codes.size, problem.free.size, problem.n_classes
    if n > MAX_POINTS or k**u > MAX_PARTITIONS:
        raise ValueError(
            f"{n} points, {u} of them free, in {k} classes are too many for exact "
            f"arithmetic, which is for up to {MAX_POINTS} points and {MAX_PARTITIONS} "
            "partitions: use certify for a bound."
        )
    codes = problem.check_partition(result.y)
    everything, values, unit = _objectives(problem)
    within = _within(problem, everything)
    best = min(np.flatnonzero(within), key=values.__getitem__)
    at = int(np.flatnonzero((everything == codes).all(axis=1))[0])
    optimum, objective = unit * values[best], unit * values[at]
    refuted = []
    if not within[at]:
        refuted.append("sizes")
    if abs(objective - Fraction(result.objective)) > rounding(problem):
        refuted.append("objective")
    if result.lower_bound is not None and result.lower_bound > optimum:
        refuted.append("lower_bound")
    claimed = result.stop_reason == PROVEN or (
        result.gap is not None and result.gap <= PROVEN_TOL * result.objective
    )
    if claimed and objective > optimum * (1 + 2 * Fraction(PROVEN_TOL)):
        refuted.append("optimum")
    return Verification(
        optimum=optimum,
        objective=objective,
        y=problem.decode(everything[best]),
        refuted=tuple(refuted),
    )


def _within(problem: PartitionProblem, codes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether partitions satisfy the bounds on the class sizes."""
    free = codes[:, problem.free]
    sizes = (free[:, :, None] == np.arange(problem.n_classes)).sum(axis=1)
    return ((problem.lower <= sizes) & (sizes <= problem.upper)).all(axis=1)


def _objectives(
    problem: PartitionProblem,
) -> tuple[NDArray[np.intp], Integers, Fraction]:
    r"""Return all partitions, and F as integer multiples of a unit.

    :math:`F = \frac\lambda2 \sum_c y^{(c)\top} A^{-1} y^{(c)}` with :math:`A = K +
    \lambda D^{-2}`; as the targets are :math:`2 e_c - 1` with indicators e, that is
    :math:`\frac\lambda2 (4 \sum_c e_c^\top A^{-1} e_c + (k - 4) 1^\top A^{-1} 1)`.
    """
    A, unit = _system_matrix(problem)
    G, determinant = _adjugate(A)
    k, free, labeled = problem.n_classes, problem.free, problem.labeled
    # Points are added one by one: all partitions of the points so far, and the sum over
    # their classes.
    placed = labeled.tolist()
    codes = problem.codes[None, labeled]
    known = codes[0, :, None] == codes[0]
    sums = np.array([(G[np.ix_(labeled, labeled)] * known).sum()], dtype=object)
    for i in free:
        links = np.stack(
            [(codes == c).astype(object).dot(G[i, placed]) for c in range(k)]
        )
        sums = np.concatenate([sums + 2 * links[c] + G[i, i] for c in range(k)])
        codes = np.concatenate(
            [np.insert(codes, codes.shape[1], c, axis=1) for c in range(k)]
        )
        placed.append(int(i))
    everything = np.empty((len(codes), problem.codes.size), dtype=np.intp)
    everything[:, placed] = codes
    values = 4 * sums + (k - 4) * G.sum()
    return everything, values, Fraction(problem.alpha) * unit / (2 * determinant)


def _system_matrix(problem: PartitionProblem) -> tuple[Integers, int]:
    """Return the integers A * unit, with A = K + alpha / D^2, and their unit."""
    system = problem.system
    base: Any = system.shared.base if isinstance(system, PathSystem) else system
    if isinstance(base, FactorSystem):
        Z, unit = _integers(base.Z)
        K, unit = Z.dot(Z.T), unit**2
    else:
        K, unit = _integers(np.tril(base.K) + np.tril(base.K, -1).T)
    alpha, n_labeled = Fraction(problem.alpha), problem.labeled.size
    n_free = problem.free.size
    weight = Fraction(problem.unlabeled_weight if n_labeled else 1.0)
    ridge = [
        alpha * (n_labeled if code >= 0 else n_free / weight) for code in problem.codes
    ]
    common = math.lcm(unit, *(share.denominator for share in ridge))
    A = K * (common // unit)
    for i, share in enumerate(ridge):
        A[i, i] += int(share * common)
    return A, common


def _integers(A: NDArray[np.float64]) -> tuple[Integers, int]:
    """Return the integers A * unit, without rounding, and their unit."""
    ratios = [value.as_integer_ratio() for value in A.ravel().tolist()]
    unit = max((below for _, below in ratios), default=1)  # all are powers of two
    whole = np.array([above * (unit // below) for above, below in ratios], dtype=object)
    return whole.reshape(A.shape), unit


def _adjugate(A: Integers) -> tuple[Integers, int]:
    """Return the adjugate and the determinant of a positive definite matrix.

    This is fraction-free elimination (Bareiss), in which every division is exact.
    """
    n = A.shape[0]
    rows = np.concatenate([A, np.identity(n, dtype=object)], axis=1)
    before = 1
    for i in range(n):
        pivot, row = rows[i, i], rows[i].copy()
        if pivot <= 0:
            raise ValueError(
                "K is not positive semidefinite, so it is not a kernel matrix: use "
                "another kernel or a larger alpha."
            )
        rows = (pivot * rows - np.outer(rows[:, i], row)) // before
        rows[i] = row
        before = pivot
    return rows[:, n:], before
