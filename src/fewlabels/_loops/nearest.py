"""Loop of the search for nearest rows among products that were computed before."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels._loops import njit

# Products that are compared at a time, without a branch, so that they become vectors.
_WIDTH = 64


@njit(cache=True, nogil=True)
def _replace_last(d2, index, heap, near):
    """Put a row in the place of the last one of a heap, whose root is the last."""
    k = heap.shape[0]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= k:
            break
        other = child + 1
        if other < k and (
            heap[other] > heap[child]
            or (heap[other] == heap[child] and near[other] > near[child])
        ):
            child = other
        if d2 > heap[child] or (d2 == heap[child] and index > near[child]):
            break
        heap[place], near[place] = heap[child], near[child]
        place = child
    heap[place], near[place] = d2, index


@njit(cache=True, nogil=True)
def scan_products(S, Q, X, first, own, squares, slack, heap, near):
    """Take the rows of a tile that are nearer than those found so far.

    Products tell which rows may be; their distances are then computed, digit by digit.

    Parameters
    ----------
    S : ndarray of shape (n_queries, n_tile)
        Half the squared length of a row of the tile, less what it may be wrong by,
        minus its product with the query.
    Q : ndarray of shape (n_queries, n_columns)
        The queries.
    X : ndarray of shape (n_rows, n_columns)
        All rows.
    first : int
        Row that the tile begins with.
    own : int
        Row that is the first query, and so on: these are not their own neighbours.
    squares : ndarray of float64 of shape (n_queries,)
        Squared lengths of the queries, on the scale of `S`.
    slack : ndarray of float64 of shape (n_queries,)
        What `S` may be wrong by for their sake.
    heap : ndarray of float64 of shape (n_queries, n_neighbors)
        Squared distances found so far, the farthest first; infinite at first.
    near : ndarray of intp of shape (n_queries, n_neighbors)
        Their rows. Of equally near rows the first count.
    """
    n_tile, n_columns = S.shape[1], X.shape[1]
    n_whole = n_tile // _WIDTH
    for i in range(S.shape[0]):
        products = S[i]
        limit = S.dtype.type((heap[i, 0] - squares[i]) * 0.5 + slack[i])
        for block in range(n_whole + 1):
            start = block * _WIDTH
            hits = np.int32(0)
            if block < n_whole:
                end = start + _WIDTH
                for j in range(_WIDTH):
                    # What overflowed is no number, and may be anything.
                    hits += np.int32(not products[start + j] > limit)
            else:
                end = n_tile
                hits += np.int32(1)
            if hits == 0:
                continue
            for j in range(start, end):
                if products[j] > limit or first + j == own + i:
                    continue
                d2 = 0.0
                for t in range(n_columns):
                    gap = np.float64(Q[i, t]) - np.float64(X[first + j, t])
                    d2 += gap * gap
                if d2 < heap[i, 0] or (d2 == heap[i, 0] and first + j < near[i, 0]):
                    _replace_last(d2, first + j, heap[i], near[i])
                    limit = S.dtype.type((heap[i, 0] - squares[i]) * 0.5 + slack[i])
