"""How much of a graph a partition cuts, and partitions that cut little."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

from fewlabels.graphs import check_weights


def _check_labels(labels: ArrayLike, n: int) -> NDArray[np.intp]:
    found = np.asarray(labels)
    if found.shape != (n,):
        raise ValueError(
            f"labels has shape {found.shape}, but the graph has {n} vertices: pass one "
            "cluster per vertex."
        )
    return np.unique(found, return_inverse=True)[1].astype(np.intp)


class _Parts(NamedTuple):
    """What is inside, around and in the clusters of a partition."""

    within: NDArray[Any]  # assoc(A, A)
    volumes: NDArray[Any]  # assoc(A, V)
    sizes: NDArray[np.intp]

    @property
    def cuts(self) -> NDArray[Any]:
        return np.maximum(self.volumes - self.within, 0)


def _parts(W: Any, labels: ArrayLike) -> _Parts:
    W = check_weights(W)
    codes = _check_labels(labels, W.shape[0])
    edges = coo_array(W)
    same = codes[edges.row] == codes[edges.col]
    k = int(codes.max(initial=-1)) + 1
    weights = edges.data.astype(np.float64)
    return _Parts(
        np.bincount(codes[edges.row[same]], weights[same], minlength=k),
        np.bincount(codes[edges.row], weights, minlength=k),
        np.bincount(codes, minlength=k),
    )


def association(W: Any, S: ArrayLike, T: ArrayLike | None = None) -> float:
    r"""Weight of all edges from one set of vertices to another.

    .. math:: \mathrm{assoc}(S, T) = \sum_{i \in S, \, j \in T} w_{ij}

    Edges inside both sets count twice, once from each end; assoc(S, V) is the volume of
    S, and for disjoint sets this is their cut.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    S : array-like
        Boolean mask of shape (n_vertices,), or indices of vertices.
    T : array-like, default=None
        Likewise; all vertices when None.

    Returns
    -------
    association : float
        The weight.

    See Also
    --------
    normalized_association : Sum over the clusters of a partition.

    Examples
    --------
    >>> from fewlabels.cluster import association
    >>> path = [[0, 1, 0], [1, 0, 2], [0, 2, 0]]
    >>> association(path, [0, 1]), association(path, [0, 1], [2])
    (4.0, 2.0)
    """
    W = csr_array(check_weights(W))
    n = W.shape[0]
    ends = np.zeros((2, n))
    for end, chosen in zip(ends, (S, slice(None) if T is None else T), strict=True):
        if not isinstance(chosen, slice):
            chosen = np.asarray(chosen)
            if chosen.size == 0:
                continue
            if chosen.dtype.kind not in "biu":
                raise ValueError(
                    "A set of vertices must be a boolean mask or a list of indices, "
                    f"got {chosen.dtype}."
                )
        end[chosen] = 1
    return float(ends[0] @ (W @ ends[1]))


def cut_value(W: Any, labels: ArrayLike) -> float:
    r"""Weight of all edges between different clusters.

    .. math:: \mathrm{cut} = \sum_{i < j, \; y_i \ne y_j} w_{ij}

    For two clusters with indicator f in {0, 1}, this is :math:`f^\top (D - W) f`.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    labels : array-like of shape (n_vertices,)
        The cluster of every vertex.

    Returns
    -------
    cut : float
        The weight.

    See Also
    --------
    normalized_cut, ratio_cut : Do not favour small clusters.

    Examples
    --------
    >>> from fewlabels.cluster import cut_value
    >>> cut_value([[0, 1, 0], [1, 0, 2], [0, 2, 0]], [0, 0, 1])
    2.0
    """
    return float(_parts(W, labels).cuts.sum() / 2)


def ratio_cut(W: Any, labels: ArrayLike) -> float:
    r"""Sum of the cut of every cluster divided by its number of vertices.

    .. math::
        \mathrm{RatioCut} = \sum_{k=1}^{K}
        \frac{\mathrm{cut}(A_k, V \setminus A_k)}{|A_k|}

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    labels : array-like of shape (n_vertices,)
        The cluster of every vertex.

    Returns
    -------
    ratio_cut : float
        The measure, which unnormalised spectral clustering relaxes.

    Examples
    --------
    >>> from fewlabels.cluster import ratio_cut
    >>> ratio_cut([[0, 1, 0], [1, 0, 2], [0, 2, 0]], [0, 0, 1])
    3.0
    """
    parts = _parts(W, labels)
    return float(np.sum(parts.cuts / parts.sizes))


def normalized_cut(W: Any, labels: ArrayLike) -> float:
    r"""Sum of the cut of every cluster divided by its volume.

    .. math::
        \mathrm{Ncut} = \sum_{k=1}^{K} \frac{\mathrm{cut}(A_k, V \setminus A_k)}
        {\mathrm{assoc}(A_k, V)} = K - \mathrm{Nassoc}

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    labels : array-like of shape (n_vertices,)
        The cluster of every vertex.

    Returns
    -------
    normalized_cut : float
        The measure, between 0 and K; clusters without any edge add 0.

    See Also
    --------
    minimum_normalized_cut : A bipartition of small normalised cut.

    References
    ----------
    .. [1] J. Shi, J. Malik, "Normalized cuts and image segmentation", IEEE Transactions
       on Pattern Analysis and Machine Intelligence 22 (2000). :doi:`10.1109/34.868688`

    Examples
    --------
    >>> from fewlabels.cluster import normalized_cut
    >>> normalized_cut([[0, 1, 0], [1, 0, 2], [0, 2, 0]], [0, 0, 1])
    1.5
    """
    parts = _parts(W, labels)
    volumes = np.where(parts.volumes > 0, parts.volumes, 1)
    return float(np.sum(parts.cuts / volumes))


def normalized_association(W: Any, labels: ArrayLike) -> float:
    r"""Sum of the weight inside every cluster divided by its volume.

    .. math::
        \mathrm{Nassoc} = \sum_{k=1}^{K} \frac{\mathrm{assoc}(A_k, A_k)}
        {\mathrm{assoc}(A_k, V)} = K - \mathrm{Ncut}

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    labels : array-like of shape (n_vertices,)
        The cluster of every vertex.

    Returns
    -------
    normalized_association : float
        The measure, between 0 and K; clusters without any edge add 1.

    Examples
    --------
    >>> from fewlabels.cluster import normalized_association
    >>> normalized_association([[0, 1, 0], [1, 0, 2], [0, 2, 0]], [0, 0, 1])
    0.5
    """
    parts = _parts(W, labels)
    volumes = np.where(parts.volumes > 0, parts.volumes, 1)
    return float(np.sum(np.where(parts.volumes > 0, parts.within / volumes, 1.0)))
