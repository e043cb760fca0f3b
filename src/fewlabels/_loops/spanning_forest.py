"""Loops of the minimum spanning forest: Borůvka's algorithm on a k-d tree.

Edges are compared by (squared length, smaller end, larger end). No two are equal then,
so that the forest is unique and does not depend on the order of the search.

The tree is a complete binary one, the children of node i at 2 i + 1 and 2 i + 2; node i
holds the points order[start[i]:end[i]] in the box lower[i] <= x <= upper[i].
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels._loops import njit

ROOT = 0  # the component of all roots
MIXED = -1  # a node with points of several components


@njit(cache=True, nogil=True)
def _squared_distance(x, z):
    total = 0.0
    for t in range(x.shape[0]):
        total += (x[t] - z[t]) ** 2
    return total


@njit(cache=True, nogil=True)
def _squared_distance_to_box(x, lower, upper):
    """Return a bound on the distance to all points of the box, also after rounding."""
    total = 0.0
    for t in range(x.shape[0]):
        if x[t] < lower[t]:
            total += (x[t] - lower[t]) ** 2
        elif x[t] > upper[t]:
            total += (x[t] - upper[t]) ** 2
    return total


@njit(cache=True, nogil=True)
def _mark_nodes(order, start, end, is_leaf, component, of_node):
    """Component of the points in every node, or MIXED."""
    for node in range(start.shape[0] - 1, -1, -1):
        if is_leaf[node]:
            common = component[order[start[node]]]
            for s in range(start[node] + 1, end[node]):
                if component[order[s]] != common:
                    common = MIXED
                    break
        else:
            common = of_node[2 * node + 1]
            if of_node[2 * node + 2] != common:
                common = MIXED
        of_node[node] = common


@njit(cache=True, nogil=True)
def _search(
    i, X, order, start, end, is_leaf, lower, upper, component, of_node, best, a, b
):
    """Improve the shortest edge that leaves the component of i, starting from i."""
    c = component[i]
    stack = np.empty(128, dtype=np.int64)
    bounds = np.empty(128)
    stack[0], bounds[0] = 0, 0.0
    size = 1
    while size > 0:
        size -= 1
        node = stack[size]
        if of_node[node] == c or bounds[size] > best[c]:
            continue
        if is_leaf[node]:
            for s in range(start[node], end[node]):
                j = order[s]
                if component[j] == c:
                    continue
                d = _squared_distance(X[i], X[j])
                p, q = min(i, j), max(i, j)
                if d < best[c] or (
                    d == best[c] and (p < a[c] or (p == a[c] and q < b[c]))
                ):
                    best[c], a[c], b[c] = d, p, q
            continue
        near, far = 2 * node + 1, 2 * node + 2
        d_near = _squared_distance_to_box(X[i], lower[near], upper[near])
        d_far = _squared_distance_to_box(X[i], lower[far], upper[far])
        if d_far < d_near:
            near, far = far, near
            d_near, d_far = d_far, d_near
        stack[size], bounds[size] = far, d_far
        stack[size + 1], bounds[size + 1] = near, d_near
        size += 2


@njit(cache=True, nogil=True)
def _find(parent, c):
    while parent[c] != c:
        parent[c] = parent[parent[c]]
        c = parent[c]
    return c


@njit(cache=True, nogil=True)
def spanning_forest(X, order, start, end, is_leaf, lower, upper, component):
    """Join all points to the roots by the shortest edges; `component` is overwritten.

    At first the roots are in component ROOT and every other point i in i + 1.
    """
    n = X.shape[0]
    edges = np.empty((n, 2), dtype=np.int64)
    n_edges = 0
    of_node = np.empty(start.shape[0], dtype=np.int64)
    parent = np.arange(n + 1)
    best = np.empty(n + 1)
    a = np.empty(n + 1, dtype=np.int64)
    b = np.empty(n + 1, dtype=np.int64)
    while True:
        _mark_nodes(order, start, end, is_leaf, component, of_node)
        if of_node[0] == ROOT:
            return edges[:n_edges]
        best[:] = np.inf
        a[:] = n
        b[:] = n
        for s in range(n):
            i = order[s]
            if component[i] != ROOT:
                _search(
                    i, X, order, start, end, is_leaf, lower, upper,
                    component, of_node, best, a, b,
                )  # fmt: skip
        for c in range(1, n + 1):
            if a[c] == n:
                continue
            p, q = _find(parent, component[a[c]]), _find(parent, component[b[c]])
            if p != q:
                # The smaller name stays, so that ROOT does.
                parent[max(p, q)] = min(p, q)
                edges[n_edges, 0], edges[n_edges, 1] = a[c], b[c]
                n_edges += 1
        for i in range(n):
            component[i] = _find(parent, component[i])
