"""Near copies among rows: bursts, re-encoded pictures, edited texts."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components

from fewlabels._rows import check_rows, equal_rows
from fewlabels.graphs._neighbors import nearest_neighbors

# Distances of copies, over that of two rows at random: CLOSE is enough; NEAR is where
# the distance is also below APART times that to the K-th neighbours of both. With
# vectors of EfficientNet-Lite2 these find 88 to 100 % of pictures that were saved again
# at a quality of 50 or more, made lighter, mirrored or resized, and 71 % of those cut
# by 5 % on each side; of 1,500 different pictures each of CIFAR-10, Fashion-MNIST and
# digits they take 0.1 % for copies (2026-11-18, benchmarks/pictures.py copies).
CLOSE, NEAR, APART = 0.25, 0.45, 0.6
K = 10
# Pairs of rows by which the distance of two rows at random is measured.
_PAIRS = 5000


def near_copies(
    X: Any,
    *,
    limits: tuple[float, float, float] = (CLOSE, NEAR, APART),
    random_state: int = 0,
) -> NDArray[np.intp]:
    r"""Find rows that are nearly the same, where other rows are far apart.

    Two rows at a distance d are near copies if :math:`d \le a R`, or if
    :math:`d \le b R` and :math:`d \le c \min(d_i, d_j)`; R is the median distance of
    two rows at random, and :math:`d_i` that of row i to its tenth neighbour. Copies of
    copies are copies.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows that are near each other where things are alike: embeddings of pictures or
        texts, or their words. Scaled to length one before they are compared.
    limits : tuple of float, default=(0.25, 0.45, 0.6)
        The numbers a, b and c, for embeddings.
    random_state : int, default=0
        Seed of the pairs by which R is measured.

    Returns
    -------
    groups : ndarray of shape (n_samples,)
        Number of the group of each row; a row without copies is a group of its own.

    See Also
    --------
    fewlabels.automatic.FewLabelsClassifier.fit : Takes groups, and holds the rows of
        each out together.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.graphs import near_copies
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 20))
    >>> X[7] = X[3] + 0.05 * rng.normal(size=20)
    >>> groups = near_copies(X)
    >>> bool(groups[7] == groups[3]), np.unique(groups).size
    (True, 49)
    """
    rows = _unit_rows(check_rows(X))
    equal = equal_rows(rows)
    _, first = np.unique(equal, return_index=True)
    n = first.size
    if n < 4:
        return equal
    rows = rows[first]
    usual = _usual_distance(rows, random_state)
    distances, near = nearest_neighbors(rows, min(K, n - 1), neighbors="auto")
    reach = distances[:, -1]
    apart = np.minimum(reach[:, None], reach[near])
    close, near_enough, share = limits
    copies = (distances <= near_enough * usual) & (distances <= share * apart)
    copies |= distances <= close * usual
    left, place = np.nonzero(copies)
    pairs = csr_array((np.ones(left.size), (left, near[left, place])), shape=(n, n))
    return connected_components(pairs, directed=False)[1][equal]


def _unit_rows(X: Any) -> Any:
    """Scale rows to length one; rows of zeros stay."""
    squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
    lengths = np.sqrt(np.asarray(squares, dtype=np.float64).ravel())
    factors = 1 / np.where(lengths > 0, lengths, 1.0)
    if issparse(X):
        return csr_array(X.multiply(factors[:, None]))
    return X * factors[:, None].astype(X.dtype)


def _usual_distance(rows: Any, random_state: int) -> float:
    """Median distance of two different rows."""
    rng = np.random.default_rng(random_state)
    n = rows.shape[0]
    left = rng.integers(n, size=_PAIRS)
    right = (left + rng.integers(1, n, size=_PAIRS)) % n
    if issparse(rows):
        products = np.asarray(rows[left].multiply(rows[right]).sum(axis=1)).ravel()
    else:
        products = np.einsum("ij,ij->i", rows[left], rows[right])
    return float(np.sqrt(np.maximum(2 - 2 * np.median(products), 0)))
