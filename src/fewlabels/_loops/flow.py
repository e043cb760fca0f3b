"""Loops of the minimum cut: maximum flow between two sets of vertices.

The graph is in CSR form: the arcs of vertex v are at indptr[v], ..., indptr[v + 1] - 1,
`indices` holds their heads, and `reverse` where the opposite arc stands. A residual
capacity is an integer with two limbs, hi * LIMB + lo with 0 <= lo < LIMB, so that
nothing is ever rounded.

The flow is Dinic's, with distances to the sinks as levels: every phase sends flow along
arcs that lead one level down, until none of the shortest paths is left.
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels._loops import njit

LIMB_BITS = 60
LIMB = 1 << LIMB_BITS

SOURCE = 1
SINK = 2


@njit(cache=True, nogil=True)
def _levels(indptr, indices, reverse, hi, lo, terminal, level, queue):
    """Distance of every vertex to the sinks; -1 for those that cannot reach one.

    Return whether a source can.
    """
    level[:] = -1
    tail = 0
    for v in range(terminal.shape[0]):
        if terminal[v] == SINK:
            level[v] = 0
            queue[tail] = v
            tail += 1
    head = 0
    found = False
    while head < tail:
        v = queue[head]
        head += 1
        for p in range(indptr[v], indptr[v + 1]):
            u = indices[p]
            q = reverse[p]
            if level[u] < 0 and (hi[q] > 0 or lo[q] > 0):
                level[u] = level[v] + 1
                if terminal[u] == SOURCE:
                    found = True
                else:
                    queue[tail] = u
                    tail += 1
    return found


@njit(cache=True, nogil=True)
def _augment(path, length, hi, lo, reverse):
    """Send what the path can carry; return the place of its first saturated arc."""
    least_hi, least_lo = hi[path[0]], lo[path[0]]
    for i in range(1, length):
        p = path[i]
        if hi[p] < least_hi or (hi[p] == least_hi and lo[p] < least_lo):
            least_hi, least_lo = hi[p], lo[p]
    first = -1
    for i in range(length):
        p = path[i]
        q = reverse[p]
        hi[p] -= least_hi
        lo[p] -= least_lo
        if lo[p] < 0:
            lo[p] += LIMB
            hi[p] -= 1
        hi[q] += least_hi
        lo[q] += least_lo
        if lo[q] >= LIMB:
            lo[q] -= LIMB
            hi[q] += 1
        if first < 0 and hi[p] == 0 and lo[p] == 0:
            first = i
    return first


@njit(cache=True, nogil=True)
def _block(source, indptr, indices, reverse, hi, lo, terminal, level, arc, path):
    """Send flow from a source until none of its shortest paths is left."""
    length = 0
    v = source
    while True:
        if terminal[v] == SINK:
            length = _augment(path, length, hi, lo, reverse)
            v = indices[reverse[path[length]]]
            continue
        advanced = False
        while arc[v] < indptr[v + 1]:
            p = arc[v]
            w = indices[p]
            if level[w] == level[v] - 1 and (hi[p] > 0 or lo[p] > 0):
                path[length] = p
                length += 1
                v = w
                advanced = True
                break
            arc[v] += 1
        if advanced:
            continue
        if length == 0:
            return
        level[v] = -2  # nothing gets through here in this phase
        length -= 1
        v = indices[reverse[path[length]]]
        arc[v] += 1


@njit(cache=True, nogil=True)
def source_side(indptr, indices, reverse, hi, lo, terminal):
    """Saturate the graph, in place, and return what the sources can still reach.

    That is the smallest set which a minimum cut has on the side of the sources.
    """
    n = terminal.shape[0]
    level = np.empty(n, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    path = np.empty(n, dtype=np.int64)
    arc = np.empty(n, dtype=np.int64)
    while _levels(indptr, indices, reverse, hi, lo, terminal, level, queue):
        arc[:] = indptr[:-1]
        for v in range(n):
            if terminal[v] == SOURCE and level[v] > 0:
                _block(v, indptr, indices, reverse, hi, lo, terminal, level, arc, path)
    side = np.zeros(n, dtype=np.bool_)
    tail = 0
    for v in range(n):
        if terminal[v] == SOURCE:
            side[v] = True
            queue[tail] = v
            tail += 1
    head = 0
    while head < tail:
        v = queue[head]
        head += 1
        for p in range(indptr[v], indptr[v + 1]):
            w = indices[p]
            if not side[w] and (hi[p] > 0 or lo[p] > 0):
                side[w] = True
                queue[tail] = w
                tail += 1
    return side
