"""Exact line search for squared and squared hinge losses."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray


def line_search(
    margins: NDArray[Any],
    rates: NDArray[Any],
    slope: NDArray[Any],
    curvature: NDArray[Any],
    *,
    hinge: bool = True,
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    r"""Minimise a piecewise quadratic function along a ray, column by column.

    .. math::
        s^* = \arg\min_{s \ge 0} \; \tfrac12 \sum_i \max(m_i - s v_i, 0)^2
        + q_0 s + \tfrac12 q_1 s^2

    The derivative is piecewise linear and increasing. Its breakpoints are sorted once,
    and cumulative sums give its two coefficients on every interval, so that the root
    costs O(l log l).

    Parameters
    ----------
    margins : ndarray of shape (n_labeled, n_targets)
        How far every row falls short of its margin, m; with the squared loss, its
        residual.
    rates : ndarray of shape (n_labeled, n_targets)
        How fast that shrinks along the ray, v.
    slope : ndarray of shape (n_targets,)
        Derivative of the other terms at s = 0, :math:`q_0`.
    curvature : ndarray of shape (n_targets,)
        Their second derivative, :math:`q_1 \ge 0`.
    hinge : bool, default=True
        Whether to take the maximum; without it the loss is the squared loss.

    Returns
    -------
    steps : ndarray of shape (n_targets,)
        The minimisers; 0 if the function does not decrease.
    n_intervals : ndarray of shape (n_targets,)
        Intervals visited up to the one of the minimiser.

    References
    ----------
    .. [1] S. Keerthi, D. DeCoste, "A modified finite Newton method for fast solution of
       large scale linear SVMs", Journal of Machine Learning Research 6 (2005).
    """
    n_labeled, k = margins.shape
    counts = (margins > 0) | ((margins == 0) & (rates < 0)) if hinge else True
    # The derivative is constant + linear * s on every interval, rows in order of s.
    constant = np.empty((n_labeled + 1 if hinge else 1, k))
    linear = np.empty_like(constant)
    constant[0] = slope - np.sum(np.where(counts, rates * margins, 0.0), axis=0)
    linear[0] = curvature + np.sum(np.where(counts, rates**2, 0.0), axis=0)
    ends = np.full_like(constant, np.inf)
    if hinge:
        moving = rates != 0
        breaks = np.full((n_labeled, k), np.inf)
        np.divide(margins, rates, out=breaks, where=moving)
        # A row switches ahead if it leaves the error set (v > 0) or enters it.
        ahead = moving & np.where(counts, rates > 0, rates < 0)
        breaks[~ahead] = np.inf
        order = np.argsort(breaks, axis=0, kind="stable")
        ends[:-1] = np.take_along_axis(breaks, order, axis=0)
        sign = np.where(counts, -1.0, 1.0) * ahead
        steps_c = np.take_along_axis(-sign * rates * margins, order, axis=0)
        steps_l = np.take_along_axis(sign * rates**2, order, axis=0)
        constant[1:] = constant[0] + np.cumsum(steps_c, axis=0)
        linear[1:] = linear[0] + np.cumsum(steps_l, axis=0)
    # Rounding in cumulative sums may fall below the curvature that is always there.
    linear = np.maximum(linear, curvature)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reached = constant + linear * ends >= 0
        reached[~np.isfinite(ends)] = True
        roots = -constant / linear
    first = np.argmax(reached, axis=0)
    columns = np.arange(k)
    begins = np.where(first > 0, ends[first - 1, columns], 0.0)
    root = roots[first, columns]
    falls = (constant[0] < 0) & np.isfinite(root)
    steps = np.where(falls, np.clip(root, begins, ends[first, columns]), 0.0)
    return steps, np.where(falls, first + 1, 0).astype(np.intp)
