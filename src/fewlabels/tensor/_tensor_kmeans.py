"""k-means for tensors, with a distance that respects the grid."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from functools import reduce
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.utils import Tags

from fewlabels._params import check_number, usual
from fewlabels._sklearn import Interval, fit_context
from fewlabels.tensor._algebra import mode_products
from fewlabels.tensor._tensor_rows import (
    SHAPE_CONSTRAINTS,
    TensorEstimator,
    validate_tensors,
)


def fusion_tensor(*features: ArrayLike) -> NDArray[np.float64]:
    r"""Fuse feature vectors of several modalities into one tensor per object.

    .. math:: \mathcal T_i = a_i \circ b_i \circ c_i

    Parameters
    ----------
    *features : array-likes of shape (n_samples, I_m)
        One matrix per modality, such as image, text and sound, with objects as rows.

    Returns
    -------
    T : ndarray of shape (n_samples, I_1, ..., I_M)
        Outer products of the rows.

    Examples
    --------
    >>> from fewlabels.tensor import fusion_tensor
    >>> fusion_tensor([[1.0, 2.0]], [[3.0, 4.0, 5.0]])
    array([[[ 3.,  4.,  5.],
            [ 6.,  8., 10.]]])
    """
    parts = [np.asarray(part, dtype=np.float64) for part in features]
    if not parts or any(part.ndim != 2 for part in parts):
        raise ValueError(
            "features must be matrices with objects as rows, at least one."
        )
    if len({len(part) for part in parts}) > 1:
        raise ValueError(
            f"features describe {[len(part) for part in parts]} objects: pass one row "
            "per object in every matrix."
        )
    return reduce(
        lambda T, part: T[..., None] * part.reshape(len(part), *[1] * (T.ndim - 1), -1),
        parts,
    )


def grid_roots(shape: Sequence[int], bandwidth: float) -> list[NDArray[np.float64]]:
    r"""Square roots of the Gaussian matrices :math:`e^{-(k-l)^2 / (2 \sigma^2)}`."""
    roots = []
    for size in shape:
        if bandwidth == 0:
            roots.append(np.eye(size))
            continue
        steps = np.subtract.outer(np.arange(size), np.arange(size))
        with np.errstate(over="ignore"):  # tiny widths: the identity again
            w, V = linalg.eigh(np.exp(-((steps / bandwidth) ** 2) / 2))
        # Wide Gaussians are singular up to rounding, which may be negative.
        roots.append((V * np.sqrt(np.maximum(w, 0))) @ V.T)
    return roots


def tensor_distances(
    X: ArrayLike, Y: ArrayLike | None = None, *, bandwidth: float = 1.0
) -> NDArray[np.float64]:
    r"""Distances between tensors that forgive small shifts.

    .. math:: d(X, Y)^2 = (x - y)^\top G (x - y), \qquad
       g_{kl} = \exp\Bigl(-\frac{\|p_k - p_l\|^2}{2 \sigma^2}\Bigr),

    where x and y hold the entries and :math:`p_k` is the place of entry k in the grid.
    G is a Kronecker product of one matrix per mode and so is its square root: tensors
    are multiplied mode by mode, and G is never formed.

    Parameters
    ----------
    X : array-like of shape (n_samples_X, I_1, ..., I_M)
        Tensors.
    Y : array-like of shape (n_samples_Y, I_1, ..., I_M), default=None
        Others; None for the same.
    bandwidth : float, default=1.0
        Width in steps of the grid; 0 for the Euclidean distance.

    Returns
    -------
    D : ndarray of shape (n_samples_X, n_samples_Y)
        The distances.

    See Also
    --------
    TensorKMeans : Clusters by this distance.

    Notes
    -----
    The published G has the factor :math:`1 / (2 \pi \sigma^2)`, which changes no
    comparison. Without it, the distance tends to the Euclidean one as the bandwidth
    goes to 0.

    References
    ----------
    .. [1] Y. Liu, Y. Liu, K. C. C. Chan, "Tensor distance based multilinear
       locality-preserved maximum information embedding", IEEE Transactions on Neural
       Networks 21 (2010). :doi:`10.1109/TNN.2010.2066574`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import tensor_distances
    >>> spots = np.zeros((3, 5, 5))
    >>> spots[0, 2, 1] = spots[1, 2, 2] = spots[2, 2, 4] = 1
    >>> tensor_distances(spots, bandwidth=1.0)[0].round(2)
    array([0.  , 0.89, 1.41])
    """
    X = np.asarray(X, dtype=np.float64)
    Y = X if Y is None else np.asarray(Y, dtype=np.float64)
    if X.ndim < 2 or X.shape[1:] != Y.shape[1:]:
        raise ValueError(
            f"X and Y hold tensors of shapes {X.shape[1:]} and {Y.shape[1:]}: they "
            "must be the same."
        )
    check_number("bandwidth", bandwidth, 0, np.inf)
    roots = grid_roots(X.shape[1:], bandwidth)
    return cdist(
        mode_products(X, roots, skip=1).reshape(len(X), -1),
        mode_products(Y, roots, skip=1).reshape(len(Y), -1),
    )


class TensorDistanceTransformer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, TensorEstimator
):
    """Map tensors so that Euclidean distances become tensor distances.

    Each mode is multiplied by the square root of a Gaussian matrix; see
    :func:`tensor_distances`. Any method for vectors that uses distances or inner
    products can follow in a pipeline. Only the shape is learned.

    Parameters
    ----------
    bandwidth : float, default=1.0
        Width in steps of the grid; 0 leaves tensors as they are.
    shape : tuple of int, default=None
        Shape of the tensors where `X` holds their entries as rows; None takes it from
        an `X` with more than two dimensions, and rows as tensors of one mode.

    Attributes
    ----------
    tensor_shape_ : tuple of int
        Shape of the tensors.
    n_features_in_ : int
        Number of entries of a tensor.
    feature_names_in_ : ndarray of shape (n_entries,)
        Names of the columns, where `X` had any.

    See Also
    --------
    TensorKMeans : With k-means behind it.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import TensorDistanceTransformer
    >>> X = np.random.default_rng(0).normal(size=(10, 4, 5))
    >>> TensorDistanceTransformer(bandwidth=2.0).fit_transform(X).shape
    (10, 20)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHAPE_CONSTRAINTS,
        "bandwidth": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, *, bandwidth: float = 1.0, shape: Any = None) -> None:
        self.bandwidth = bandwidth
        self.shape = shape

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the shape.

        Parameters
        ----------
        X : array-like of shape (n_samples, I_1, ..., I_M) or (n_samples, n_entries)
            Tensors, or their entries; see `shape`.
        y : None
            Not used.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        validate_tensors(self, X, reset=True)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Map tensors to vectors.

        Parameters
        ----------
        X : array-like of shape (n_samples, I_1, ..., I_M) or (n_samples, n_entries)
            Tensors, or their entries.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_entries)
            Vectors whose Euclidean distances are the tensor distances.
        """
        X = self._validated(X)
        roots = grid_roots(self.tensor_shape_, self.bandwidth)
        Z = mode_products(X, [root.astype(X.dtype) for root in roots], skip=1)
        return Z.reshape(X.shape[0], -1)

    @property
    def _n_features_out(self) -> int:
        return self.n_features_in_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class TensorKMeans(ClusterMixin, TensorEstimator):
    r"""k-means for tensors, with a distance that respects the grid.

    .. math:: \min \sum_i (x_i - m_{c(i)})^\top G \, (x_i - m_{c(i)})

    with the Gaussian matrix G of :func:`tensor_distances`. The best centres are plain
    means whatever G is, and with a square root of G the distance is Euclidean: tensors
    are transformed mode by mode, and :class:`sklearn.cluster.KMeans` does the rest.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    bandwidth : float, default=1.0
        Width in steps of the grid: shifts up to about this size cost little; 0 is plain
        k-means.
    shape : tuple of int, default=None
        Shape of the tensors where `X` holds their entries as rows; None takes it from
        an `X` with more than two dimensions, and rows as tensors of one mode.
    n_init : int, default=10
        Starts; the best counts.
    max_iter : int, default=300
        Largest number of iterations of a start.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every tensor.
    cluster_centers_ : ndarray of shape (n_clusters, I_1, ..., I_M)
        Means of the clusters.
    inertia_ : float
        Sum of the squared tensor distances to them.
    n_iter_ : int
        Iterations of the best start.
    kmeans_ : KMeans
        The model of the transformed tensors.
    transformer_ : TensorDistanceTransformer
        The transform.
    tensor_shape_ : tuple of int
        Shape of the tensors.
    n_features_in_ : int
        Number of entries of a tensor.
    feature_names_in_ : ndarray of shape (n_entries,)
        Names of the columns, where `X` had any.

    See Also
    --------
    fusion_tensor : From feature vectors of several modalities.

    References
    ----------
    .. [1] "A high-order clustering algorithm based on dropout deep learning for
       heterogeneous data in cyber-physical-social systems", IEEE Access 6 (2018),
       11687-11693.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import TensorKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.zeros((40, 8, 8))
    >>> place = np.where(np.arange(40) < 20, 1, 5)
    >>> X[np.arange(40), place + rng.integers(2, size=40), place] = 1
    >>> labels = TensorKMeans(2, bandwidth=2.0, random_state=0).fit_predict(X)
    >>> len(set(labels[:20])), len(set(labels[20:]))
    (1, 1)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TensorDistanceTransformer._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        **usual("n_init", "max_iter", "random_state"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        bandwidth: float = 1.0,
        shape: Any = None,
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.bandwidth = bandwidth
        self.shape = shape
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, I_1, ..., I_M) or (n_samples, n_entries)
            Tensors, or their entries; see `shape`.
        y : None
            Not used.

        Returns
        -------
        self : object
            The fitted model.
        """
        X = validate_tensors(self, X, reset=True)
        self.transformer_ = TensorDistanceTransformer(bandwidth=self.bandwidth)
        # Squares of large entries overflow in single precision.
        Z = self.transformer_.fit_transform(X).astype(np.float64, copy=False)
        self.kmeans_ = KMeans(
            self.n_clusters,
            n_init=self.n_init,
            max_iter=self.max_iter,
            random_state=self.random_state,
        ).fit(Z)
        self.labels_ = self.kmeans_.labels_
        self.inertia_ = self.kmeans_.inertia_
        self.n_iter_ = self.kmeans_.n_iter_
        members = self.labels_ == np.arange(self.n_clusters)[:, None]
        sizes = np.maximum(members.sum(axis=1), 1)
        means = (members / sizes[:, None]).astype(X.dtype)
        self.cluster_centers_ = np.tensordot(means, X, axes=1)
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Assign tensors to the nearest mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, I_1, ..., I_M) or (n_samples, n_entries)
            Tensors, or their entries.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The clusters.
        """
        X = self._validated(X)
        Z = self.transformer_.transform(X).astype(np.float64, copy=False)
        return self.kmeans_.predict(Z)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags = None
        return tags
