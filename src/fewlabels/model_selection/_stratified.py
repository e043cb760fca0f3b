"""Exact intervals for a share of rows, from samples of several strata."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

# Shares of every stratum at which the search for the worst case begins.
_GRID = 9
_STARTS = 3
# Entries of temporary arrays.
_ENTRIES = 2**22


@dataclass(frozen=True)
class ShareEstimate:
    """A share of rows, with an interval.

    Parameters
    ----------
    value : float
        The estimate; NaN where no row was drawn.
    low, high : float
        The interval.
    n_rows : int
        How many rows it is about.
    n_drawn : int
        How many of these were looked at.
    level : float
        Least probability that the interval contains the share.

    Examples
    --------
    >>> from fewlabels.model_selection import ShareEstimate
    >>> print(ShareEstimate(0.1, 0.05, 0.18, 2000, 60))
    10.0 % (5.0 to 18.0 %)
    """

    value: float
    low: float
    high: float
    n_rows: int
    n_drawn: int
    level: float = 0.9

    @property
    def width(self) -> float:
        """Length of the interval."""
        return self.high - self.low

    def __str__(self) -> str:
        low, high = 100 * self.low, 100 * self.high
        if np.isnan(self.value):
            return f"unknown ({low:.1f} to {high:.1f} %)"
        return f"{100 * self.value:.1f} % ({low:.1f} to {high:.1f} %)"


def stratified_interval(
    sizes: ArrayLike,
    drawn: ArrayLike,
    hits: ArrayLike,
    *,
    unknown: ArrayLike = 0,
    level: float = 0.9,
) -> ShareEstimate:
    r"""Estimate a share of rows from simple random samples of at most three strata.

    Of the :math:`N_h` rows of stratum h, :math:`n_h` are drawn without replacement, of
    which :math:`x_h` count. The estimate is :math:`T / N` with
    :math:`T = \sum_h N_h x_h / n_h`. The upper end is the largest share
    :math:`\sum_h K_h / N` for which a T as small as the one found has a probability
    above (1 - `level`) / 2, whatever the shares of the strata are: the worst of all
    :math:`K_1, K_2, K_3` with this sum counts, and T is a sum of independent
    hypergeometric variables [1]_. The lower end is its mirror image. So it contains the
    share with a probability of at least `level` for any table, any model and any number
    of rows. With one stratum it is the interval of Clopper and Pearson for rows drawn
    without replacement.

    Parameters
    ----------
    sizes : array-like of shape (n_strata,)
        Rows of the strata.
    drawn : array-like of shape (n_strata,)
        How many of them were drawn. Nothing is assumed about a stratum without any.
    hits : array-like of shape (n_strata,)
        How many of those count.
    unknown : array-like of shape (n_strata,), default=0
        How many more of those may count. They do so for the upper end only.
    level : float, default=0.9
        Least probability that the interval contains the share.

    Returns
    -------
    share : ShareEstimate
        The estimate and its interval.

    References
    ----------
    .. [1] J. P. Wendell, J. Schmee, "Exact inference for proportions from a stratified
       finite population", Journal of the American Statistical Association, 1996.

    Examples
    --------
    >>> from fewlabels.model_selection import stratified_interval
    >>> print(stratified_interval([600, 400, 200], [12, 10, 8], [0, 1, 3]))
    9.6 % (3.2 to 22.2 %)
    """
    N, n, x, more = (
        np.array(np.broadcast_to(a, np.shape(sizes)), dtype=np.intp)
        for a in (sizes, drawn, hits, unknown)
    )
    if N.ndim != 1 or N.size > 3:
        raise ValueError(
            f"sizes must have at most three strata, got shape {N.shape}: merge strata."
        )
    if (x < 0).any() or (more < 0).any() or (x + more > n).any() or (n > N).any():
        raise ValueError(
            "0 <= hits, hits + unknown <= drawn <= sizes must hold in every stratum, "
            f"got sizes={N.tolist()}, drawn={n.tolist()}, hits={x.tolist()}, "
            f"unknown={more.tolist()}."
        )
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
    total, tail = int(N.sum()), (1 - level) / 2
    if total == 0:
        return ShareEstimate(np.nan, 0.0, 1.0, 0, 0, level)
    low = (total - _largest(N, n, n - x, tail)) / total
    high = _largest(N, n, x + more, tail) / total
    seen = n > 0
    known = n[seen] - more[seen]
    value = np.nan
    if seen.any() and known.all():
        value = float(N[seen] @ (x[seen] / known) / N[seen].sum())
        value = min(max(value, low), high)
    return ShareEstimate(value, low, high, total, int(n.sum()), level)


def _largest(
    N: NDArray[np.intp], n: NDArray[np.intp], x: NDArray[np.intp], tail: float
) -> int:
    """Find the most rows that can count: the probability of so few exceeds the tail."""
    unseen = int(N[n == 0].sum())
    N, n, x = (a[n > 0] for a in (N, n, x))
    if N.size == 0:
        return unseen
    # The stratum with most rows comes last: of it, a distribution function is needed.
    order = np.argsort(n, kind="stable")
    tails = _Tails(*(a[order] for a in (N, n, x)))
    least, most = tails.least, tails.most
    axes = [
        np.unique(np.linspace(a, b, _GRID).round().astype(np.intp))
        for a, b in zip(least, most, strict=True)
    ]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, N.size)
    points = points[tails(points) > tail]
    best = points[np.argsort(-points.sum(axis=1), kind="stable")[:_STARTS]]
    # Where even the rows that were seen are too many for such a tail.
    largest = int(least.sum())
    for start in best:
        largest = max(largest, _climb(tails, start, tail))
    return unseen + largest


def _climb(tails: "_Tails", start: NDArray[np.intp], tail: float) -> int:
    """Go uphill from a vector of counts: more rows first, then a larger probability."""
    moves = np.array(list(product((-1, 0, 1), repeat=start.size)))
    at, reach = start, int(max(1, (tails.most - tails.least).max() // _GRID))
    value = float(tails(at[None])[0])
    while True:
        near = np.clip(at + reach * moves, tails.least, tails.most)
        found = tails(near)
        near, found = near[found > tail], found[found > tail]
        sums = near.sum(axis=1)
        k = np.lexsort((found, sums))[-1]
        if (sums[k], found[k]) > (at.sum(), value * (1 + 1e-9)):
            at, value = near[k], float(found[k])
        elif reach == 1:
            return int(at.sum())
        else:
            reach = max(1, reach // 2)


class _Tails:
    """Probabilities that the estimate is at most the one found.

    Parameters
    ----------
    N, n, x : ndarray of int of shape (n_strata,)
        Rows, rows drawn, and rows that count among them.
    """

    def __init__(
        self, N: NDArray[np.intp], n: NDArray[np.intp], x: NDArray[np.intp]
    ) -> None:
        # What was seen is certain.
        self.least, self.most = x, N - n + x
        self.N, self.n = N, n
        weights = N / n
        # How many of the last stratum may count, given those of the others.
        left = float(weights @ x)
        for weight, size in zip(weights[:-1], n[:-1], strict=True):
            left = np.subtract.outer(left, weight * np.arange(size + 1))
        last = np.floor(left / weights[-1] + 1e-9)
        self._allowed = np.clip(last, -1, n[-1]).astype(np.intp)

    def __call__(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Compute them for some counts of the strata, one vector per line."""
        step = max(1, _ENTRIES // self._allowed.size)
        parts = [
            self._of(points[k : k + step]) for k in range(0, points.shape[0], step)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def _of(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        masses = [
            _hypergeometric(int(N), int(n), points[:, h])
            for h, (N, n) in enumerate(zip(self.N, self.n, strict=True))
        ]
        below = np.cumsum(masses[-1], axis=1)
        below = np.column_stack([np.zeros(below.shape[0]), below])
        found = below[:, self._allowed + 1]
        for mass in masses[-2::-1]:
            found = np.einsum("p...k,pk->p...", found, mass)
        return found


def _hypergeometric(N: int, n: int, counts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Probabilities of 0, ..., n among n of N rows, for several counts of rows."""
    K, k = counts[:, None], np.arange(n + 1)
    possible = (k <= K) & (n - k <= N - K)
    a, b = np.where(possible, K - k, 0), np.where(possible, N - K - n + k, 0)
    logs = (
        gammaln(K + 1)
        - gammaln(k + 1)
        - gammaln(a + 1)
        + gammaln(N - K + 1)
        - gammaln(n - k + 1)
        - gammaln(b + 1)
        - (gammaln(N + 1) - gammaln(n + 1) - gammaln(N - n + 1))
    )
    return np.exp(np.where(possible, logs, -np.inf))
