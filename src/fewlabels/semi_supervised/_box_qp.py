"""A quadratic program between two bounds, the dual of the hinge loss."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

_EPS = 4 * float(np.finfo(np.float64).eps)

# Share of the way to the nearest bound that a step may go, as usual in interior-point
# methods.
_STEP = 0.995


@dataclass
class _Point:
    """Values strictly between the bounds, their upper slacks, and multipliers."""

    a: NDArray[Any]
    room: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    b: float = 0.0

    @property
    def gap(self) -> float:
        """The duality gap, provided that all other conditions hold."""
        return float(self.a @ self.low + self.room @ self.high)

    def moved(self, d: "_Point", share: float) -> "_Point":
        """Return the point after a share of a step."""
        return _Point(
            self.a + share * d.a,
            self.room + share * d.room,
            self.low + share * d.low,
            self.high + share * d.high,
            self.b + share * d.b,
        )

    def longest(self, d: "_Point") -> float:
        """Return the share of a step up to the nearest bound, at most 1."""
        values = np.concatenate([self.a, self.room, self.low, self.high])
        changes = np.concatenate([d.a, d.room, d.low, d.high])
        falling = changes < 0
        return float(np.min(-values[falling] / changes[falling], initial=1.0))

    def step(
        self,
        factor: NDArray[Any],
        sign: NDArray[Any],
        dual: NDArray[Any],
        primal: float,
        low_target: Any,
        high_target: Any,
    ) -> "_Point":
        """Return the step towards given products of values and multipliers."""
        low, high = low_target / self.a, high_target / self.room
        rhs = -dual + low - self.low - high + self.high
        columns = np.column_stack([rhs, sign])
        P = linalg.cho_solve((factor, True), columns, check_finite=False)
        d_b = 0.0
        if sign.any():
            d_b = (primal + float(sign @ P[:, 0])) / float(sign @ P[:, 1])
        d_a = P[:, 0] - d_b * P[:, 1]
        d_low = low - self.low - self.low / self.a * d_a
        d_high = high - self.high + self.high / self.room * d_a
        return _Point(d_a, -d_a, d_low, d_high, d_b)


def box_qp(
    Q: NDArray[Any],
    upper: float,
    y: NDArray[Any] | None,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> tuple[NDArray[Any], float, int, bool]:
    r"""Minimise :math:`\tfrac12 a'Qa - 1'a` with bounds 0 and u, and y'a = 0 if given.

    By Mehrotra's primal-dual interior-point method, in double precision throughout.
    Returns a, the multiplier of y'a, the number of steps and whether the optimality
    conditions and the relative duality gap are within `tol`.
    """
    n = Q.shape[0]
    sign = np.zeros(n) if y is None else y
    half = np.full(n, 0.5 * upper)
    size_of = np.abs(Q)
    size = max(1.0, float(size_of.max(initial=0.0)) * upper)
    at = _Point(half, half.copy(), np.full(n, size), np.full(n, size))
    for n_iter in range(max_iter + 1):
        Qa = Q @ at.a
        dual = Qa - 1.0 + at.b * sign - at.low + at.high
        primal = float(sign @ at.a)
        value = 0.5 * float(at.a @ Qa) - float(at.a.sum())
        rounding = _EPS * (size_of @ at.a)  # of the products in Qa
        if (
            at.gap <= max(tol * max(abs(value), upper), float(at.a @ rounding))
            and (np.abs(dual) <= np.maximum(tol, rounding)).all()
            and abs(primal) <= tol * upper * n
        ):
            return *_polished(Q, upper, sign, at), n_iter, True
        A = Q.copy()
        A.flat[:: n + 1] += at.low / at.a + at.high / at.room
        factor, info = linalg.lapack.dpotrf(A, lower=1, overwrite_a=1)
        if info or n_iter == max_iter:
            break
        conditions = factor, sign, dual, primal
        d = at.step(*conditions, 0.0, 0.0)
        ahead = at.moved(d, at.longest(d)).gap
        mu = at.gap / (2 * n) * (max(ahead, 0.0) / at.gap) ** 3
        d = at.step(*conditions, mu - d.a * d.low, mu - d.room * d.high)
        at = at.moved(d, _STEP * at.longest(d))
    return at.a, at.b, n_iter, False


def _polished(
    Q: NDArray[Any], upper: float, sign: NDArray[Any], at: _Point
) -> tuple[NDArray[Any], float]:
    """Fix values at active bounds, and solve for the others if that is feasible."""
    at_top = at.high > at.room
    inside = ~at_top & (at.low <= at.a)
    a = np.where(at_top, upper, 0.0)
    rows = np.flatnonzero(inside)
    bias = bool(sign.any())
    A = np.zeros((rows.size + bias, rows.size + bias))
    A[: rows.size, : rows.size] = Q[np.ix_(rows, rows)]
    rhs = np.append(1.0 - Q[rows] @ a, [-sign @ a] * bias)
    if bias:
        A[-1, :-1] = A[:-1, -1] = sign[rows]
    if not rows.size:
        return at.a, at.b
    solved = np.linalg.lstsq(A, rhs, rcond=None)[0]
    a[rows], b = solved[: rows.size], float(solved[-1]) if bias else 0.0
    slope = Q @ a - 1.0 + b * sign
    size = 1e-8 * max(1.0, np.abs(Q @ a).max())
    fits = (
        (a >= 0).all()
        and (a <= upper).all()
        and np.abs(slope[rows]).max() <= size
        and abs(sign @ a) <= 1e-12 * upper * a.size
        and (slope[at_top] <= size).all()
        and (slope[~at_top & ~inside] >= -size).all()
    )
    return (a, b) if fits else (at.a, at.b)
