"""Pairs of rows that must, or must not, be in one cluster."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from fewlabels._labels import encode_labels
from fewlabels._linalg import is_symmetric
from fewlabels._sklearn import check_array


def _pairs(pairs: Any, n_samples: int, name: str) -> NDArray[np.intp]:
    found = np.asarray(pairs if pairs is not None else np.empty((0, 2), dtype=np.intp))
    if found.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be pairs of row indices, got {found.dtype} of shape "
            f"{found.shape}: pass an array of integers of shape (n_pairs, 2)."
        )
    if found.min() < 0 or found.max() >= n_samples:
        raise ValueError(f"{name} must hold row indices in 0, ..., {n_samples - 1}.")
    if (found[:, 0] == found[:, 1]).any():
        raise ValueError(f"{name} pairs a row with itself: leave such pairs out.")
    return found.astype(np.intp)


def constraint_matrix(
    n_samples: int, must_link: ArrayLike | None = None, cannot_link: Any = None
) -> csr_array:
    """Write pairs that must or cannot be together as a matrix.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    must_link : array-like of shape (n_pairs, 2), default=None
        Pairs of rows of the same cluster.
    cannot_link : array-like of shape (n_pairs, 2), default=None
        Pairs of rows of different clusters.

    Returns
    -------
    Q : csr_array of shape (n_samples, n_samples)
        Symmetric: +1 must be together, -1 cannot be, 0 unknown.

    Raises
    ------
    ValueError
        If a pair is in both lists.

    Warns
    -----
    UserWarning
        If pairs contradict each other through other rows.

    See Also
    --------
    constraints_from_labels : The matrix of some known labels.

    Examples
    --------
    >>> from fewlabels.cluster import constraint_matrix
    >>> constraint_matrix(3, must_link=[(0, 1)], cannot_link=[(1, 2)]).toarray()
    array([[ 0.,  1.,  0.],
           [ 1.,  0., -1.],
           [ 0., -1.,  0.]])
    """
    must = _pairs(must_link, n_samples, "must_link")
    cannot = _pairs(cannot_link, n_samples, "cannot_link")
    together, apart = (
        {tuple(pair) for pair in np.sort(pairs, axis=1).tolist()}
        for pairs in (must, cannot)
    )
    if together & apart:
        pair = min(together & apart)
        raise ValueError(
            f"The pair {pair} is in must_link and in cannot_link: leave out one."
        )
    i, j = np.array(sorted(together) + sorted(apart), dtype=np.intp).reshape(-1, 2).T
    signs = np.repeat([1.0, -1.0], [len(together), len(apart)])
    half = coo_array((signs, (i, j)), shape=(n_samples, n_samples)).tocsr()
    Q = csr_array(half + half.T)
    _warn_contradictions(Q)
    return Q


def _warn_contradictions(Q: csr_array) -> None:
    """Warn about rows that are joined by must-links and separated by a cannot-link."""
    groups = connected_components(Q > 0, directed=False)[1]
    apart = (Q < 0).tocoo()
    n_wrong = np.count_nonzero(groups[apart.row] == groups[apart.col]) // 2
    if n_wrong:
        warnings.warn(
            f"{n_wrong} cannot-links separate rows that must-links join: the "
            "constraints cannot all hold.",
            UserWarning,
            stacklevel=3,
        )


def constraints_from_labels(y: ArrayLike) -> csr_array:
    """Constraints between all rows whose label is known.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels, some of them missing, see :func:`fewlabels.unlabeled_mask`.

    Returns
    -------
    Q : csr_array of shape (n_samples, n_samples)
        +1 between labelled rows of the same class, -1 between those of different
        classes, 0 elsewhere and on the diagonal.

    See Also
    --------
    constraint_matrix : The matrix of pairs.

    Examples
    --------
    >>> from fewlabels.cluster import constraints_from_labels
    >>> constraints_from_labels([0, -1, 0, 1]).toarray()
    array([[ 0.,  0.,  1., -1.],
           [ 0.,  0.,  0.,  0.],
           [ 1.,  0.,  0., -1.],
           [-1.,  0., -1.,  0.]])
    """
    labels = encode_labels(y)
    known, codes = labels.labeled, labels.codes[labels.labeled]
    block = np.where(codes[:, None] == codes, 1.0, -1.0)
    np.fill_diagonal(block, 0)
    i, j = np.nonzero(block)
    n = labels.codes.size
    return csr_array((block[i, j], (known[i], known[j])), shape=(n, n))


def check_constraints(Q: Any, n: int) -> csr_array:
    Q = check_array(Q, accept_sparse="csr", dtype=np.float64, input_name="constraints")
    if Q.shape != (n, n):
        raise ValueError(
            f"constraints has shape {Q.shape}, but there are {n} rows: pass a matrix "
            f"of shape {(n, n)}, see constraint_matrix."
        )
    if not is_symmetric(Q):
        raise ValueError(
            "constraints is not symmetric: say the same of a pair in both orders."
        )
    return csr_array(Q)


def satisfied(Q: csr_array, labels: NDArray[Any]) -> float:
    known = Q.tocoo()
    off = known.row != known.col
    together = labels[known.row[off]] == labels[known.col[off]]
    confidence = np.abs(known.data[off])
    kept = together == (known.data[off] > 0)
    total = confidence.sum()
    return float(confidence[kept].sum() / total) if total > 0 else float("nan")
