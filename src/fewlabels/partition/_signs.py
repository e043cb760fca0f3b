"""The two-class partition problem as a longest sum of signed vectors."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._systems import Array

# Dimensions in which no row extends farther than about this share of the longest are
# left out. The loops treat directions closer than a tenth of it as parallel, and could
# not find the cells of a thinner arrangement.
FLAT = 1e-8


@dataclass(frozen=True)
class SignForm:
    r"""Maximise :math:`\|p_0 + \sum_i y_i b_i\|^2` over signs.

    Attributes
    ----------
    B : ndarray of shape (n_free, rank)
        The vectors b.
    offset : ndarray of shape (rank,)
        The vector p0, the contribution of the labelled points.
    lower, upper : int
        Bounds on the number of positive signs.
    rest : float
        The most by which S can exceed the form, for any signs.
    """

    B: Array
    offset: Array
    lower: int
    upper: int
    rest: float = 0.0

    @property
    def n_free(self) -> int:
        """Number of signs."""
        return self.B.shape[0]

    @property
    def bounded(self) -> bool:
        """Whether the bounds exclude more than all signs being equal."""
        return (
            self.lower > 1 or self.upper < self.n_free - 1 or self.lower == self.upper
        )

    def without_bounds(self) -> "SignForm":
        """Return the form with any number of positive signs."""
        return replace(self, lower=0, upper=self.n_free)

    def admits(self, n_positive: int) -> bool:
        """Whether a number of positive signs is within the bounds."""
        return self.lower <= n_positive <= self.upper

    def value(self, y: Array) -> float:
        """Return the squared length of the sum with signs y."""
        p = self.offset + y @ self.B
        return float(p @ p)

    def top_signs(self, direction: Array, n_positive: int) -> Array:
        """Return signs with the given number of largest products positive."""
        y = np.full(self.n_free, -1.0)
        products = self.B @ direction
        if n_positive > 0:
            y[np.argpartition(-products, n_positive - 1)[:n_positive]] = 1.0
        return y

    def best_signs(self, direction: Array) -> Array:
        """Return the signs within the bounds whose sum goes farthest in a direction."""
        y = np.where(self.B @ direction >= 0, 1.0, -1.0)
        n_positive = int(np.count_nonzero(y > 0))
        if self.admits(n_positive):
            return y
        nearest = min(max(n_positive, self.lower), self.upper)
        return self.top_signs(direction, nearest)


def row_space(A: Array) -> tuple[Array, float]:
    """Split the space of rows into their span and directions they hardly reach.

    Parameters
    ----------
    A : ndarray of shape (n, d)
        The rows.

    Returns
    -------
    basis : ndarray of shape (d, rank)
        Orthonormal columns.
    left_out : float
        Root of the sum of squares of all components outside; 0 if there are none.
    """
    n, d = A.shape
    triangle = linalg.qr(A, mode="r", check_finite=False)[0][:d]
    _, s, Vt = linalg.svd(triangle, check_finite=False)
    longest = np.sqrt(np.einsum("ij,ij->i", A, A).max(initial=0.0))
    rank = int(np.count_nonzero(s > FLAT * np.sqrt(n) * longest))
    return Vt[:rank].T, float(np.linalg.norm(s[rank:]))


def sign_form(
    problem: PartitionProblem, rank: int | None = None, *, shift: bool = False
) -> SignForm:
    r"""Write a two-class problem as a sign form, possibly of lower rank.

    Parameters
    ----------
    problem : PartitionProblem
        The problem.
    rank : int, default=None
        Keep this many leading dimensions; all when None.
    shift : bool, default=False
        Subtract the largest eigenvalue that is cut off from those that are kept. The
        form is then not a truncation, but its maximum plus `rest` is a better bound:
        `rest` bounds the part that all dimensions share.

    Returns
    -------
    form : SignForm
        The form, in the dimensions that the free points span. If dimensions are cut
        off, `rest` includes the bound :math:`t_{r+1} \sum_i d_i^2` on their part of S,
        with the eigenvalues :math:`t = w / (w + \lambda)` of the problem in decreasing
        order, and the contribution of labelled points outside of that span.
    """
    if problem.n_classes != 2:
        raise ValueError(
            f"this is for two classes, the problem has {problem.n_classes}: use "
            "local_search, evolve or tabu_search, or method='dual' for a bound."
        )
    if rank is not None and rank < 1:
        raise ValueError(f"rank must be at least 1, got {rank}.")
    rest = 0.0
    if rank is None:
        B = whole_factor(problem)
    else:
        B, t = problem.system.spectrum(rank)
        cut = float(t[rank]) if rank < t.size else 0.0
        rest = cut * problem.constant
        if shift:
            kept = t[: B.shape[1]]
            B = B * np.sqrt((kept - cut) / np.maximum(kept, np.finfo(float).tiny))
    signs = 2.0 * problem.codes[problem.labeled] - 1.0
    offset = signs @ B[problem.labeled]
    if problem.labeled.size:
        B = B[problem.free]
    # The only place where a rank is decided; no conclusion depends on it, as all that
    # the sum can have outside of the kept dimensions goes into `rest`.
    basis, left_out = row_space(B)
    inside = offset @ basis
    outside = float(np.linalg.norm(offset - basis @ inside))
    return SignForm(
        np.ascontiguousarray(B @ basis),
        inside,
        int(problem.lower[1]),
        int(problem.upper[1]),
        rest + (outside + np.sqrt(B.shape[0]) * left_out) ** 2,
    )


def whole_factor(problem: PartitionProblem) -> Array:
    """Return a factor B of Q = B B' for all points."""
    system = problem.system
    if system.B is not None and system.weights.size == 0:
        return system.B
    return system.spectrum()[0]


def rounding(problem: PartitionProblem) -> float:
    """Bound the effect of rounding errors on F."""
    t = float(problem.system.spectrum(1)[1].max(initial=0.0))
    eps = float(np.finfo(np.float64).eps)
    # Even a single point takes a few operations, each with its own error.
    share = (problem.codes.size + 4) * eps
    return problem.constant * share / max(1.0 - t, eps)


def with_signs(problem: PartitionProblem, y: Array) -> NDArray[np.intp]:
    """Return the classes of all points, with the signs y for the free ones."""
    codes = problem.codes.copy()
    codes[problem.free] = y > 0
    return codes
