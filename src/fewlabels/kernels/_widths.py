"""Widths of the Gaussian kernel, by the rules of the papers."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

from fewlabels._distances import safe_unit, squared_distances
from fewlabels._linalg import FLOATS
from fewlabels._params import check_number
from fewlabels._rows import check_rows
from fewlabels._sklearn import check_array

# Shares of all pairs of rows that are closer than a width.
MEDIAN, LOCAL = 0.5, 0.05


def gamma_from_width(width: float) -> float:
    r"""Turn a width into `gamma`: :math:`\gamma = 1 / (2 \sigma^2)`.

    Parameters
    ----------
    width : float
        The width :math:`\sigma` of :math:`\exp(-\|x - z\|^2 / (2 \sigma^2))`.

    Returns
    -------
    gamma : float
        The same kernel's parameter in :math:`\exp(-\gamma \|x - z\|^2)`.

    Examples
    --------
    >>> from fewlabels.kernels import gamma_from_width
    >>> gamma_from_width(2.0)
    0.125
    """
    check_number("width", width, above=0, most=np.inf)
    square = float(width) * float(width)  # a power would raise OverflowError
    if not 0 < square < np.inf:
        raise ValueError(f"The square of width={width} is no number: scale the rows.")
    return float(0.5 / square)


def width_from_gamma(gamma: float) -> float:
    r"""Turn `gamma` into a width: :math:`\sigma = (2 \gamma)^{-1/2}`.

    Parameters
    ----------
    gamma : float
        Parameter of :math:`\exp(-\gamma \|x - z\|^2)`.

    Returns
    -------
    width : float
        The width :math:`\sigma`.

    Examples
    --------
    >>> from fewlabels.kernels import width_from_gamma
    >>> width_from_gamma(0.125)
    2.0
    """
    check_number("gamma", gamma, above=0, most=np.inf)
    return float((2.0 * gamma) ** -0.5)


def range_width(X: Any) -> float:
    r"""Estimate the largest distance between two rows from the feature ranges.

    .. math:: s = \sqrt{\sum_k (\max_i x_{ik} - \min_i x_{ik})^2}

    The papers on semi-supervised regularised least squares choose the width from
    {0.1 s, 0.5 s, s, 5 s, 10 s} [1]_.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.

    Returns
    -------
    width : float
        The range s; 1 if all rows are equal.

    References
    ----------
    .. [1] F. Gieseke, O. Kramer, A. Airola, T. Pahikkala, "Efficient recurrent local
       search strategies for semi- and unsupervised regularized least-squares
       classification", Evolutionary Intelligence 5 (2012).
       :doi:`10.1007/s12065-012-0068-5`

    Examples
    --------
    >>> from fewlabels.kernels import range_width
    >>> range_width([[0, 0], [3, 1], [1, 4]])
    5.0
    """
    return feature_range(check_array(X, accept_sparse=("csr", "csc"), dtype=FLOATS))


def feature_range(X: Any) -> float:
    """Length of the ranges of all features, of validated rows."""
    ranges = X.max(axis=0) - X.min(axis=0)
    ranges = ranges.toarray() if sparse.issparse(X) else ranges
    largest = float(ranges.max())
    return largest * float(np.linalg.norm(ranges / largest)) if largest > 0 else 1.0


def median_width(X: Any, *, max_samples: int = 2000, random_state: Any = 0) -> float:
    r"""Estimate the median distance between two rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    max_samples : int, default=2000
        Rows used; more are sampled down to this number.
    random_state : int, RandomState instance or None, default=0
        Seed of that sample.

    Returns
    -------
    width : float
        The median over pairs of distinct positions: distances of zero, from
        duplicate rows, do not count. 1 if all rows are equal.

    Examples
    --------
    >>> from fewlabels.kernels import median_width
    >>> median_width([[0.0], [1.0], [3.0], [3.0]])
    2.0
    """
    return distance_quantile(check_rows(X), MEDIAN, max_samples, random_state)


def local_width(X: Any, *, max_samples: int = 2000, random_state: Any = 0) -> float:
    r"""Estimate a distance within which rows are close: one pair in twenty is closer.

    Half of the pairs are closer than :func:`median_width`, which is as wide as the data
    and smooths over their shape; only one pair in twenty is closer than this width.
    Unlike distances to neighbours, it does not shrink as rows are added.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    max_samples : int, default=2000
        Rows used; more are sampled down to this number.
    random_state : int, RandomState instance or None, default=0
        Seed of that sample.

    Returns
    -------
    width : float
        The quantile 1/20 of the distances above zero; 1 if all rows are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import local_width
    >>> local_width(np.arange(41)[:, None])
    2.0
    """
    return distance_quantile(check_rows(X), LOCAL, max_samples, random_state)


def distance_quantile(
    X: Any, quantile: float, max_samples: int = 2000, random_state: Any = 0
) -> float:
    """Quantile of the distances between distinct validated rows."""
    check_number("max_samples", max_samples, 2)
    n_samples = X.shape[0]
    if n_samples > max_samples:
        rng = check_random_state(random_state)
        X = X[rng.choice(n_samples, size=max_samples, replace=False)]
    unit = safe_unit(X)
    X = X if unit == 1.0 else X / unit
    if sparse.issparse(X):
        upper = np.triu_indices(X.shape[0], k=1)
        distances = np.sqrt(squared_distances(X)[upper])
    else:
        distances = pdist(X)
    distances = distances[distances > 0]
    return unit * float(np.quantile(distances, quantile)) if distances.size else 1.0
