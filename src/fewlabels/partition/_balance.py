"""Bounds on class sizes, and partitions that satisfy them."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

# |share - balance| < 0.1, the tolerance of the papers.
DEFAULT_TOL = 0.1


class SizeBounds(NamedTuple):
    """Minimum and maximum number of free points in every class.

    Attributes
    ----------
    lower, upper : ndarray of int of shape (n_classes,)
        The bounds, both included.
    """

    lower: NDArray[np.intp]
    upper: NDArray[np.intp]

    def admit(self, sizes: NDArray[np.intp]) -> bool:
        """Whether class sizes are within the bounds."""
        return bool(np.all((self.lower <= sizes) & (sizes <= self.upper)))


def check_balance(balance: ArrayLike, n_classes: int) -> NDArray[np.float64]:
    """Class shares as an array that sums to one.

    Parameters
    ----------
    balance : float or array-like of shape (n_classes,)
        Shares of all classes, or for two classes that of the second (positive) one.
    n_classes : int
        Number of classes.

    Returns
    -------
    shares : ndarray of shape (n_classes,)
        The shares.

    Examples
    --------
    >>> from fewlabels.partition import check_balance
    >>> check_balance(0.25, 2)
    array([0.75, 0.25])
    """
    shares = np.asarray(balance, dtype=np.float64)
    if shares.ndim == 0:
        if n_classes != 2:
            raise ValueError(
                f"balance={balance!r} is a single share, but there are {n_classes} "
                "classes: give one share per class."
            )
        shares = np.array([1.0 - shares, shares])
    if shares.shape != (n_classes,):
        raise ValueError(
            f"balance has shape {shares.shape}, but there are {n_classes} classes: "
            "give one share per class."
        )
    if not np.all((shares >= 0) & (shares <= 1)) or abs(shares.sum() - 1) > 1e-6:
        raise ValueError(
            f"balance must hold shares between 0 and 1 that sum to 1, got {balance!r}."
        )
    return shares / shares.sum()


def size_bounds(
    shares: NDArray[np.float64] | None,
    tol: float | None,
    n_free: int,
    n_classes: int,
    min_size: int = 0,
) -> SizeBounds:
    r"""Integer bounds on class sizes from class shares.

    The papers ask for :math:`|m_c / u - b_c| < \varepsilon`, with m_c of u free points
    in class c. The sizes that come closest to the shares are always admitted, so a
    tolerance of zero fixes them.

    Parameters
    ----------
    shares : ndarray of shape (n_classes,) or None
        The shares :math:`b_c`; None means no bounds.
    tol : float or None
        The tolerance :math:`\varepsilon`; 0.1 when None.
    n_free : int
        Number of free points.
    n_classes : int
        Number of classes.
    min_size : int, default=0
        Least number of free points in every class, whatever the shares.

    Returns
    -------
    bounds : SizeBounds
        The bounds.
    """
    if min_size < 0 or min_size * n_classes > n_free:
        raise ValueError(
            f"min_size={min_size} asks for {min_size * n_classes} free points in "
            f"{n_classes} classes, but there are {n_free}."
        )
    if shares is None:
        if tol is not None:
            raise ValueError("balance_tol has no effect without balance: give both.")
        most = n_free - (n_classes - 1) * min_size
        return SizeBounds(
            np.full(n_classes, min_size, np.intp), np.full(n_classes, most, np.intp)
        )
    tol = DEFAULT_TOL if tol is None else tol
    if not tol >= 0:
        raise ValueError(f"balance_tol must not be negative, got {tol}.")
    tol = min(tol, 2.0)  # no deviation is larger than 1
    nearest = nearest_sizes(shares, n_free)
    if nearest.min() < min_size:
        raise ValueError(
            f"balance leaves {nearest.min()} of {n_free} points to a class, fewer than "
            f"min_size={min_size}."
        )
    fuzz = 1e-9  # of the products below, which are often meant to be integers
    lower = np.floor((shares - tol) * n_free + fuzz).astype(np.intp) + 1
    upper = np.ceil((shares + tol) * n_free - fuzz).astype(np.intp) - 1
    lower = np.clip(np.minimum(lower, nearest), min_size, n_free)
    upper = np.clip(np.maximum(upper, nearest), 0, n_free)
    # The bounds of the other classes also bound a class.
    least, most = n_free - (upper.sum() - upper), n_free - (lower.sum() - lower)
    return SizeBounds(np.maximum(lower, least), np.minimum(upper, most))


def nearest_sizes(shares: NDArray[np.float64], n_free: int) -> NDArray[np.intp]:
    """Return the integers closest to the shares that sum to n_free."""
    exact = shares * n_free
    sizes = np.floor(exact).astype(np.intp)
    remainders = np.argsort(-(exact - sizes), kind="stable")
    sizes[remainders[: n_free - sizes.sum()]] += 1
    return sizes


def repair(
    codes: NDArray[np.intp], scores: NDArray[np.float64], bounds: SizeBounds
) -> NDArray[np.intp]:
    """Move points between classes until all sizes are within their bounds.

    The points whose scores fall least are moved: with two classes, the largest scores
    become positive, as in the papers.
    """
    codes = codes.copy()
    n_classes = scores.shape[1]
    while True:
        sizes = np.bincount(codes, minlength=n_classes)
        over, under = sizes - bounds.upper, bounds.lower - sizes
        if (over > 0).any():  # out of the fullest class, first to classes with too few
            spare = np.where(np.arange(n_classes) == over.argmax(), over, 0)
            room = np.maximum(under if (under > 0).any() else -over, 0)
        elif (under > 0).any():  # into the emptiest class, from classes with enough
            spare = np.maximum(-under, 0)
            room = np.where(np.arange(n_classes) == under.argmax(), under, 0)
        else:
            return codes
        rows = np.flatnonzero(spare[codes] > 0)
        targets = np.flatnonzero(room > 0)
        best = targets[scores[np.ix_(rows, targets)].argmax(axis=1)]
        loss = scores[rows, codes[rows]] - scores[rows, best]
        for at in np.argsort(loss, kind="stable"):
            source, target = codes[rows[at]], best[at]
            if spare[source] == 0 or room[target] == 0:
                break  # the best moves of the others have changed
            codes[rows[at]] = target
            spare[source] -= 1
            room[target] -= 1
            if not spare.any() or not room.any():
                break
