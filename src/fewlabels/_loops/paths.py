"""Loop of shortest paths through a graph in compressed rows."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels._loops import njit


@njit(cache=True, nogil=True)
def shortest_paths(indptr, indices, lengths, source, distances):
    """Write the lengths of the shortest paths from one vertex, infinite where none is.

    Dijkstra with a heap of vertices, four below each, that knows the place of every
    vertex: one whose distance falls moves up instead of entering again.
    """
    n = indptr.shape[0] - 1
    heap, keys = np.empty(n, np.int32), np.empty(n)
    place = np.full(n, -1, np.int32)
    distances[:] = np.inf
    distances[source] = 0
    heap[0] = source
    keys[0] = 0
    size = 1
    while size:
        vertex = heap[0]
        size -= 1
        if size:  # the last one fills the gap at the top, or further down
            last, key, at = heap[size], keys[size], 0
            while True:
                first = (at << 2) + 1
                if first >= size:
                    break
                below = first
                for c in range(first + 1, min(first + 4, size)):
                    if keys[c] < keys[below]:
                        below = c
                if keys[below] >= key:
                    break
                heap[at], keys[at] = heap[below], keys[below]
                place[heap[at]] = at
                at = below
            heap[at], keys[at] = last, key
            place[last] = at
        here = distances[vertex]
        for s in range(indptr[vertex], indptr[vertex + 1]):
            other = indices[s]
            key = here + lengths[s]
            if key < distances[other]:
                distances[other] = key
                at = place[other]
                if at < 0:
                    at = size
                    size += 1
                while at > 0:
                    above = (at - 1) >> 2
                    if keys[above] <= key:
                        break
                    heap[at], keys[at] = heap[above], keys[above]
                    place[heap[at]] = at
                    at = above
                heap[at], keys[at] = other, key
                place[other] = at
