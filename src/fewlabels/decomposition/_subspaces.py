"""Minor components, and subspaces as projectors."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted

from fewlabels._linalg import FLOATS, deviations
from fewlabels._params import usual
from fewlabels._sklearn import check_array, fit_context, validate_data
from fewlabels.decomposition._projection import Projection


def _basis(W: Any, name: str) -> NDArray[Any]:
    """Orthonormal basis of the span of the columns."""
    return linalg.orth(check_array(W, dtype=FLOATS, input_name=name))


def subspace_projector(W: Any, *, complement: bool = False) -> NDArray[Any]:
    r"""Build the orthogonal projector on the span of the columns of a matrix.

    .. math:: P_S = V V^\top, \qquad P_N = I - P_S

    with an orthonormal basis V of the span; which vectors span it makes no difference.

    Parameters
    ----------
    W : array-like of shape (n_features, n_vectors)
        Vectors, as columns. They may depend on each other.
    complement : bool, default=False
        Whether to project on the orthogonal complement instead.

    Returns
    -------
    P : ndarray of shape (n_features, n_features)
        The projector.

    See Also
    --------
    subspace_distance : How far two subspaces are from each other.
    scipy.linalg.orth : The basis by itself.

    Examples
    --------
    >>> from fewlabels.decomposition import subspace_projector
    >>> subspace_projector([[1.0], [1.0]])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    >>> subspace_projector([[1.0], [1.0]], complement=True)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    V = _basis(W, "W")
    P = V @ V.T
    return np.eye(P.shape[0], dtype=P.dtype) - P if complement else P


def subspace_distance(W1: Any, W2: Any) -> float:
    r"""Measure how far the spans of the columns of two matrices are from each other.

    .. math:: \|P_1 - P_2\|_2 = \sin \theta_{\max}

    for subspaces of the same dimension, with the largest principal angle between them;
    1 for subspaces of different dimensions.

    Parameters
    ----------
    W1, W2 : array-like of shape (n_features, n_vectors)
        Vectors, as columns. They may depend on each other.

    Returns
    -------
    distance : float
        Between 0, for the same subspace, and 1.

    See Also
    --------
    scipy.linalg.subspace_angles : All principal angles.

    Examples
    --------
    >>> from fewlabels.decomposition import subspace_distance
    >>> round(subspace_distance([[1.0], [0.0]], [[1.0], [1.0]]), 4)
    0.7071
    >>> subspace_distance([[1.0], [0.0]], [[-2.0], [0.0]])
    0.0
    """
    V1, V2 = _basis(W1, "W1"), _basis(W2, "W2")
    if V1.shape[0] != V2.shape[0]:
        raise ValueError(
            f"W1 and W2 must have the same number of rows, got {V1.shape[0]} and "
            f"{V2.shape[0]}."
        )
    if V1.shape[1] != V2.shape[1]:
        return 1.0
    if V1.shape[1] == 0:
        return 0.0
    return float(np.sin(np.max(linalg.subspace_angles(V1, V2))))


class MinorComponentAnalysis(Projection):
    r"""Project rows on the directions in which they vary least.

    .. math::
        \min_{W^\top W = I} \; \operatorname{tr}\bigl(W^\top C W\bigr)

    with the covariance C: the last principal directions instead of the first. Rows
    close to a subspace have minor components close to zero, which makes them measures
    of how far a row is from it.

    Parameters
    ----------
    n_components : int, default=1
        Number of minor components.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions, that of the smallest variance last.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the training rows along them.
    contribution_ : ndarray of shape (n_components,)
        Singular value of each, relative to the root of the sum of all squared ones: the
        square root of the share of the variance.
    mean_ : ndarray of shape (n_features,)
        Mean of the training rows.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    PCA : The directions in which rows vary most.
    MinorSubspace : The span of the minor directions, from a stream.

    Notes
    -----
    With no more rows than features there are directions without any variance; which of
    them are returned is arbitrary.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import MinorComponentAnalysis
    >>> X = np.array([[0.0, 0.0], [1.0, 1.1], [2.0, 1.9], [3.0, 3.0]])  # near a line
    >>> model = MinorComponentAnalysis().fit(X)
    >>> bool(np.abs(model.transform(X)).max() < 0.1)
    True
    >>> float(model.transform([[0.0, 3.0]]).round(1)[0, 0])  # not on the line
    2.1
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = usual("n_components")

    def __init__(self, n_components: int = 1) -> None:
        self.n_components = n_components

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Find the minor directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : None
            Ignored.

        Returns
        -------
        self : MinorComponentAnalysis
            The fitted estimator.
        """
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        n, d = X.shape
        self._check_n_components(d)
        # In double precision: rounding errors of the others would swamp the minor
        # directions.
        rows = X.astype(np.float64, copy=False)
        mean = rows.mean(axis=0)
        # All directions are needed, those without any variance too.
        _, s, Vt = linalg.svd(
            deviations(rows, mean), full_matrices=n < d, check_finite=False
        )
        _, Vt = svd_flip(None, Vt, u_based_decision=False)
        deviation = np.zeros(d)
        deviation[: s.size] = s / np.sqrt(n - 1)
        least = deviation[-self.n_components :]
        self.mean_ = mean.astype(X.dtype, copy=False)
        self.components_ = Vt[-self.n_components :].astype(X.dtype, copy=False)
        self.explained_variance_ = least**2
        self.contribution_ = least / (float(linalg.norm(deviation)) or 1.0)
        return self

    def inverse_transform(self, Z: Any) -> NDArray[Any]:
        """Map minor components back to rows, without the other directions.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Minor components.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows.
        """
        check_is_fitted(self)
        return check_array(Z, dtype=FLOATS) @ self.components_ + self.mean_
