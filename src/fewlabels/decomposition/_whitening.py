"""Rows without their mean, and features without correlation."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fewlabels._linalg import FLOATS, deviations, thin_svd
from fewlabels._sklearn import (
    Interval,
    check_array,
    fit_context,
    validate_data,
    validate_fitted,
)
from fewlabels.decomposition._projection import FloatTransformer


class RowCenterer(OneToOneFeatureMixin, FloatTransformer):
    r"""Subtract from every row its own mean: :math:`x_i - \frac1d \sum_j x_{ij}`.

    For rows that are signals or patches of an image, whose mean (the direct current,
    the brightness) carries no information. Nothing is learned in `fit`.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    StandardScaler : Centre and scale the features instead.
    Normalizer : Scale every row to unit length.

    Examples
    --------
    >>> from fewlabels.decomposition import RowCenterer
    >>> RowCenterer().fit_transform([[1.0, 3.0], [5.0, 5.0]])
    array([[-1.,  1.],
           [ 0.,  0.]])
    """

    def fit(self, X: Any, y: None = None) -> Self:
        """Check the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : RowCenterer
            The estimator.
        """
        validate_data(self, X, dtype=FLOATS)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Subtract its mean from every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows of mean zero.
        """
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        return X - X.mean(axis=1, keepdims=True)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class ZCAWhitening(OneToOneFeatureMixin, FloatTransformer):
    r"""Make features uncorrelated while changing them as little as possible.

    .. math:: z = W (x - \bar x), \qquad W = V (\Lambda + \epsilon I)^{-1/2} V^\top

    with the covariance :math:`V \Lambda V^\top` of the training rows. Of all matrices
    that whiten, the symmetric one moves the rows least: whitened patches of an image
    still look like patches. (Zero-phase component analysis.)

    Parameters
    ----------
    eps : float, default=0.0
        Added to the variances :math:`\Lambda`; about the variance of the noise, it
        keeps noise from being amplified. With 0 the whitened training rows have
        covariance I, on the directions in which they vary at all: others stay at zero.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Mean of the training rows.
    whitening_ : ndarray of shape (n_features, n_features)
        W, symmetric.
    coloring_ : ndarray of shape (n_features, n_features)
        The pseudo-inverse of W, for `inverse_transform`.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    PCA : With ``whiten=True``, uncorrelated coordinates in another basis.

    References
    ----------
    .. [1] A. J. Bell, T. J. Sejnowski, "The 'independent components' of natural scenes
       are edge filters", Vision Research 37 (1997).
       :doi:`10.1016/S0042-6989(97)00121-1`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import ZCAWhitening
    >>> X = np.array([[0.0, 0.0], [2.0, 1.0], [1.0, 2.0], [3.0, 3.0]])
    >>> Z = ZCAWhitening().fit_transform(X)
    >>> bool(np.allclose(np.cov(Z, rowvar=False), np.eye(2)))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "eps": [Interval(Real, 0, None, closed="left")]
    }

    def __init__(self, *, eps: float = 0.0) -> None:
        self.eps = eps

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Compute the whitening matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : None
            Ignored.

        Returns
        -------
        self : ZCAWhitening
            The fitted estimator.
        """
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        mean = X.mean(axis=0, dtype=np.float64)
        # Singular values of rows are more accurate than eigenvalues of a covariance.
        _, s, Vt = thin_svd(deviations(X, mean), float(np.finfo(X.dtype).eps))
        V, roots = Vt.T, np.sqrt(s**2 / (X.shape[0] - 1) + self.eps)
        # Directions without variance are scaled by 1 / sqrt(eps), or dropped.
        rest = np.eye(X.shape[1]) - V @ V.T if self.eps > 0 else 0.0
        whitening = (V / roots) @ V.T + rest / np.sqrt(self.eps or 1.0)
        coloring = (V * roots) @ V.T + rest * np.sqrt(self.eps)
        self.mean_ = mean.astype(X.dtype, copy=False)
        self.whitening_ = whitening.astype(X.dtype, copy=False)
        self.coloring_ = coloring.astype(X.dtype, copy=False)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Whiten rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features)
            The rows in the same basis, whitened.
        """
        X = validate_fitted(self, X, dtype=FLOATS)
        return (X - self.mean_) @ self.whitening_

    def inverse_transform(self, Z: Any) -> NDArray[Any]:
        """Undo the whitening.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_features)
            Whitened rows.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows.
        """
        check_is_fitted(self)
        return check_array(Z, dtype=FLOATS) @ self.coloring_ + self.mean_
