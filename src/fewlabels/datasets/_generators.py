"""Synthetic data sets from the papers on learning with few labels."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral, Real

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils import shuffle as shuffle_rows

# The clock shows ten past ten; its ring has radius 1.
_HOUR_HAND, _MINUTE_HAND = 0.45, 0.7
_HOUR_ANGLE, _MINUTE_ANGLE = np.deg2rad([305.0, 60.0])  # clockwise from twelve


def make_gaussian2c(
    n_samples: int = 500,
    n_features: int = 500,
    *,
    shuffle: bool = True,
    random_state: int | RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw two classes, each from one Gaussian.

    The classes are normal with unit covariance around ``(-2.5, 0, ..., 0)`` and
    ``(+2.5, 0, ..., 0)``: easy with many labels, hard for a supervised method with few
    labels in many dimensions. This is Gaussian2C of [1]_.

    Parameters
    ----------
    n_samples : int, default=500
        Number of rows, half of them in each class; the first class gets the odd one.
    n_features : int, default=500
        Number of columns, at least 1; all but the first hold noise only.
    shuffle : bool, default=True
        Whether to shuffle the rows. Otherwise the classes follow one another.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw; pass an int for the same rows on every call.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    y : ndarray of shape (n_samples,)
        The class of each row, 0 or 1.

    See Also
    --------
    make_gaussian4c : Two Gaussians in each class.
    hide_labels : Take most of the labels away.

    References
    ----------
    .. [1] F. Gieseke, O. Kramer, A. Airola and T. Pahikkala, "Efficient recurrent local
       search strategies for semi- and unsupervised regularized least-squares
       classification", Evolutionary Intelligence 5(3), 2012.
       :doi:`10.1007/s12065-012-0068-5`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.datasets import make_gaussian2c
    >>> X, y = make_gaussian2c(n_samples=200, n_features=10, random_state=0)
    >>> X.shape
    (200, 10)
    >>> np.bincount(y)
    array([100, 100])
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=2)
    check_scalar(n_features, "n_features", Integral, min_val=1)
    means = [[-2.5], [2.5]]
    sizes = _share_out(n_samples, 2)
    return _draw_gaussians(means, sizes, [0, 1], n_features, shuffle, random_state)


def make_gaussian4c(
    n_samples: int = 500,
    n_features: int = 500,
    *,
    shuffle: bool = True,
    random_state: int | RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw two classes of two Gaussians each, with a misleading structure.

    The Gaussians have unit covariance and the means ``(±2.5, ±5, 0, ..., 0)``. The
    sign of the first coordinate is the class, whereas the widest gap in the data lies
    across the second one, which tempts a method that looks for gaps. This is
    Gaussian4C of [1]_.

    Parameters
    ----------
    n_samples : int, default=500
        Number of rows, at least 4, a quarter from each Gaussian; a remainder is spread
        so that neither Gaussians nor classes differ by more than one row.
    n_features : int, default=500
        Number of columns, at least 2; all but the first two hold noise only.
    shuffle : bool, default=True
        Whether to shuffle the rows. Otherwise the Gaussians follow one another, in the
        order (-, -), (-, +), (+, -), (+, +) of the signs of their means.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw; pass an int for the same rows on every call.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    y : ndarray of shape (n_samples,)
        The class of each row, 0 or 1.

    See Also
    --------
    make_gaussian2c : One Gaussian in each class.
    hide_labels : Take most of the labels away.

    References
    ----------
    .. [1] F. Gieseke, O. Kramer, A. Airola and T. Pahikkala, "Efficient recurrent local
       search strategies for semi- and unsupervised regularized least-squares
       classification", Evolutionary Intelligence 5(3), 2012.
       :doi:`10.1007/s12065-012-0068-5`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.datasets import make_gaussian4c
    >>> X, y = make_gaussian4c(n_samples=200, n_features=10, random_state=0)
    >>> np.mean((X[:, 0] > 0) == y) > 0.95
    np.True_
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=4)
    check_scalar(n_features, "n_features", Integral, min_val=2)
    means = [[-2.5, -5.0], [-2.5, 5.0], [2.5, -5.0], [2.5, 5.0]]
    # First between the classes, then within them: both come out as even as can be.
    sizes = [n for part in _share_out(n_samples, 2) for n in _share_out(part, 2)]
    return _draw_gaussians(
        means, sizes, [0, 0, 1, 1], n_features, shuffle, random_state
    )


def make_clock(
    n_samples: int = 500,
    *,
    noise: float = 0.02,
    shuffle: bool = True,
    random_state: int | RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw the face of a clock: its ring is one class, its hands are the other.

    One label on the ring and one on a hand are enough for a method that follows the
    shape of the data, while the margin between the two labels is uninformative. The
    figure is the first one of [1]_.

    Parameters
    ----------
    n_samples : int, default=500
        Number of rows, at least 2. Ring and hands share them in proportion to their
        lengths, so that the density along the lines is the same everywhere.
    noise : float, default=0.02
        Standard deviation of the Gaussian noise added to the points. The ring has
        radius 1 and the longer hand ends at a distance of 0.3 from it.
    shuffle : bool, default=True
        Whether to shuffle the rows. Otherwise the hands follow the ring.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw; pass an int for the same rows on every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points.
    y : ndarray of shape (n_samples,)
        0 on the ring, 1 on the hands.

    See Also
    --------
    make_moons : Two interleaving half circles.
    hide_labels : Take most of the labels away.

    References
    ----------
    .. [1] S. Melacci and M. Belkin, "Laplacian Support Vector Machines Trained in the
       Primal", Journal of Machine Learning Research 12, pp. 1149-1184, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.datasets import hide_labels, make_clock
    >>> X, y = make_clock(n_samples=300, random_state=0)
    >>> np.bincount(y)
    array([254,  46])
    >>> np.bincount(hide_labels(y, per_class=1, random_state=0) + 1)
    array([298,   1,   1])
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=2)
    check_scalar(noise, "noise", Real, min_val=0)
    rng = check_random_state(random_state)

    hands = _HOUR_HAND + _MINUTE_HAND
    n_hands = max(1, round(n_samples * hands / (hands + 2 * np.pi)))
    ring = rng.uniform(0, 2 * np.pi, size=n_samples - n_hands)
    # Walk along the hour hand first, then along the minute hand.
    walk = rng.uniform(0, hands, size=n_hands)
    on_hour = walk < _HOUR_HAND
    angle = np.concatenate([ring, np.where(on_hour, _HOUR_ANGLE, _MINUTE_ANGLE)])
    radius = np.concatenate(
        [np.ones_like(ring), np.where(on_hour, walk, walk - _HOUR_HAND)]
    )
    X = radius[:, None] * np.column_stack([np.sin(angle), np.cos(angle)])
    X += noise * rng.standard_normal(size=X.shape)
    y = np.repeat([0, 1], [n_samples - n_hands, n_hands]).astype(np.int64)
    return shuffle_rows(X, y, random_state=rng) if shuffle else (X, y)


def _share_out(n: int, parts: int) -> list[int]:
    """Split n into parts that differ by one at most, larger ones first."""
    return [n // parts + (i < n % parts) for i in range(parts)]


def _draw_gaussians(
    means: ArrayLike,
    sizes: list[int],
    classes: list[int],
    n_features: int,
    shuffle: bool,
    random_state: int | RandomState | None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw rows from unit Gaussians whose means are zero beyond the given columns."""
    rng = check_random_state(random_state)
    shift = np.repeat(np.asarray(means), sizes, axis=0)
    X = rng.standard_normal(size=(len(shift), n_features))
    X[:, : shift.shape[1]] += shift
    y = np.repeat(classes, sizes).astype(np.int64)
    return shuffle_rows(X, y, random_state=rng) if shuffle else (X, y)
