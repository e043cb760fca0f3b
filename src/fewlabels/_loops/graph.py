"""Loops over the edges of a graph in compressed rows."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels._loops import njit

# An edge counts for a vertex if it has this share of the weight of its heaviest one.
STRONG = 0.1


@njit(cache=True, nogil=True)
def aggregate(indptr, indices, weights):
    """Divide the vertices of a graph into stars of neighbours.

    First every vertex without a strong edge to a star becomes the centre of one, with
    all neighbours that have a strong edge to it and no star yet. Then the others join
    the star that their heaviest edge to a star leads to; those that have no edge stay
    alone. So no vertex is torn from neighbours to which it is tied far more firmly.
    Entries without a positive weight are no edges.

    Returns the star of every vertex and the number of stars.
    """
    n = indptr.shape[0] - 1
    strong = np.zeros(n)
    for i in range(n):
        for s in range(indptr[i], indptr[i + 1]):
            strong[i] = max(strong[i], STRONG * weights[s])
    star = np.full(n, -1, np.int32)
    n_stars = 0
    for i in range(n):
        free = star[i] < 0
        for s in range(indptr[i], indptr[i + 1]):
            w = weights[s]
            if w > 0 and w >= strong[i] and star[indices[s]] >= 0:
                free = False
                break
        if free:
            star[i] = n_stars
            for s in range(indptr[i], indptr[i + 1]):
                j, w = indices[s], weights[s]
                if w > 0 and w >= strong[j] and star[j] < 0:
                    star[j] = n_stars
            n_stars += 1
    first = star.copy()
    for i in range(n):
        if first[i] >= 0:
            continue
        heaviest = 0.0
        for s in range(indptr[i], indptr[i + 1]):
            j = indices[s]
            if first[j] >= 0 and weights[s] > heaviest:
                heaviest = weights[s]
                star[i] = first[j]
    return star, n_stars
