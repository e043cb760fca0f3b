"""Loops of extremely randomised trees on a handful of rows.

scikit-learn's trees take a millisecond each before they see a row; a forest that is
learned again whenever labels are left out, on twenty rows, needs thousands of them.

A tree is a list of nodes, each before its left subtree, which is before its right one:
the left child of node i is i + 1, the right child `right[i]`. Leaves have the feature
-1 and keep the place of their value in `right`.
"""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np

from fewlabels._loops import njit

# Columns whose values lie closer together are constant, as in scikit-learn.
CONSTANT = 1e-7
# Gains that differ by less, as a share, are equal but for rounding.
TIE = 1e-10


# Somebody waits while these are compiled for the first time. What is called from here
# alone needs no way in from Python, rows are a range of places instead of a slice, and
# small loops are written out: together three quarters of the time.
_NO_WAY_IN: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_called = njit(error_model="numpy", **_NO_WAY_IN)
_compiled = njit(cache=True, nogil=True, error_model="numpy")


@_called
def _uniform(state):
    """Draw from [0, 1) by xorshift64*, whose state is a single number."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return ((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0


@_called
def _best_split(X, Y, weights, rows, a, b, columns, max_features, state, total, left):
    """Find the best of some random splits: its column (-1 if none) and its threshold.

    Columns are tried in random order until `max_features` of them were not constant.
    """
    n_targets = Y.shape[1]
    best, best_column, best_threshold = 0.0, -1, 0.0
    tried, n_left = 0, columns.size
    sum_weights = 0.0
    for place in range(a, b):
        sum_weights += weights[rows[place]]
    while n_left > 0 and tried < max_features:
        drawn = int(_uniform(state) * n_left)
        n_left -= 1
        column = columns[drawn]
        columns[drawn] = columns[n_left]
        columns[n_left] = column
        low = high = X[rows[a], column]
        for place in range(a, b):
            value = X[rows[place], column]
            if value < low:
                low = value
            if value > high:
                high = value
        if high - low <= CONSTANT:
            continue
        tried += 1
        threshold = low + _uniform(state) * (high - low)
        if threshold >= high:
            threshold = low
        for t in range(n_targets):
            left[t] = 0.0
        left_weight = 0.0
        for place in range(a, b):
            i = rows[place]
            if X[i, column] <= threshold:
                left_weight += weights[i]
                for t in range(n_targets):
                    left[t] += weights[i] * Y[i, t]
        gain = 0.0
        for t in range(n_targets):
            rest = total[t] - left[t]
            gain += left[t] * left[t] / left_weight
            gain += rest * rest / (sum_weights - left_weight)
        # Of equal ones the first.
        if best_column < 0 or gain > best * (1 + TIE):
            best, best_column, best_threshold = gain, column, threshold
    return best_column, best_threshold


@_called
def _is_pure(Y, rows, a, b):
    for place in range(a + 1, b):
        for t in range(Y.shape[1]):
            if Y[rows[place], t] != Y[rows[a], t]:
                return False
    return True


@_called
def _partition(X, rows, a, b, column, threshold):
    """Put the rows at or below the threshold first; return where the others begin."""
    b -= 1
    while a <= b:
        if X[rows[a], column] <= threshold:
            a += 1
        else:
            rows[a], rows[b] = rows[b], rows[a]
            b -= 1
    return a


@_called
def _grow_tree(
    X, Y, weights, max_features, state, tree, feature, threshold, right, values
):
    n, n_targets = Y.shape
    rows, columns = np.empty(n, np.intp), np.empty(X.shape[1], np.intp)
    for i in range(n):
        rows[i] = i
    for j in range(columns.size):
        columns[j] = j
    total, left = np.empty(n_targets), np.empty(n_targets)
    # Subtrees that wait: their rows, and the parent whose right child they are.
    start, end = np.empty(n, np.intp), np.empty(n, np.intp)
    parent = np.empty(n, np.intp)
    start[0], end[0], parent[0] = 0, n, -1
    waiting, node, n_leaves = 1, 0, 0
    while waiting > 0:
        waiting -= 1
        a, b = start[waiting], end[waiting]
        if parent[waiting] >= 0:
            right[tree, parent[waiting]] = node
        while True:  # down the left side
            for t in range(n_targets):
                total[t] = 0.0
            for place in range(a, b):
                i = rows[place]
                for t in range(n_targets):
                    total[t] += weights[i] * Y[i, t]
            column, cut = -1, 0.0
            if not _is_pure(Y, rows, a, b):
                column, cut = _best_split(
                    X, Y, weights, rows, a, b, columns, max_features, state, total, left
                )
            feature[tree, node] = column
            if column < 0:
                break
            threshold[tree, node] = cut
            middle = _partition(X, rows, a, b, column, cut)
            start[waiting], end[waiting], parent[waiting] = middle, b, node
            waiting += 1
            b = middle
            node += 1
        right[tree, node] = n_leaves
        sum_weights = 0.0
        for place in range(a, b):
            sum_weights += weights[rows[place]]
        for t in range(n_targets):
            values[tree, n_leaves, t] = total[t] / sum_weights
        n_leaves += 1
        node += 1


@_compiled
def grow_forest(X, Y, weights, max_features, seeds, feature, threshold, right, values):
    """Grow a tree for every seed, by squared error, until no leaf can be split.

    Parameters
    ----------
    X : ndarray of float64 of shape (n, n_columns)
        Rows.
    Y : ndarray of float64 of shape (n, n_targets)
        Targets. For classes coded as -1 and 1 the criterion is the Gini impurity.
    weights : ndarray of float64 of shape (n,)
        Positive weights of the rows.
    max_features : int
        Columns that a split looks at.
    seeds : ndarray of uint64 of shape (n_trees,)
        Not zero.
    feature, right : ndarray of int32 of shape (n_trees, 2 n - 1)
        The nodes, written here.
    threshold : ndarray of float64 of shape (n_trees, 2 n - 1)
        Rows at or below it go left.
    values : ndarray of float64 of shape (n_trees, n, n_targets)
        Mean targets of the leaves.
    """
    state = np.empty(1, dtype=np.uint64)
    for tree in range(seeds.size):
        state[0] = seeds[tree]
        _grow_tree(
            X, Y, weights, max_features, state, tree, feature, threshold, right, values
        )


@_called
def _children(tree, feature, right, children):
    """Write both children of every node, and return the depth of the tree.

    Leaves are their own children: a row that has arrived at one stays there.
    """
    depth = np.zeros(feature.shape[1], np.intp)
    node, n_open, deepest = 0, 1, 0
    while n_open > 0:
        n_open -= 1
        low = high = node
        if feature[tree, node] >= 0:
            n_open += 2
            low, high = node + 1, right[tree, node]
            depth[low] = depth[high] = depth[node] + 1
            deepest = max(deepest, depth[low])
        children[2 * node], children[2 * node + 1] = low, high
        node += 1
    return deepest


@_compiled
def add_forest_outputs(columns, feature, threshold, right, values, outputs):
    """Add the mean over the trees of what their leaves say of every row.

    All rows go down a tree side by side, with no branch that a processor could not
    foresee, until the last has arrived.

    Parameters
    ----------
    columns : ndarray of float64 of shape (n_columns, n_rows)
        The rows, transposed.
    feature, threshold, right, values : ndarray
        The trees, see :func:`grow_forest`.
    outputs : ndarray of float64 of shape (n_rows, n_targets)
        What is added to.
    """
    n_trees, n_nodes = feature.shape
    n_rows, n_targets = outputs.shape
    # Unsigned, so that nothing is counted from the end.
    children, column = np.empty(2 * n_nodes, np.uint32), np.empty(n_nodes, np.uint32)
    place = np.empty(n_rows, np.uint32)
    for tree in range(n_trees):
        depth = _children(tree, feature, right, children)
        for node in range(n_nodes):
            column[node] = max(feature[tree, node], 0)
        limit = threshold[tree]
        for row in range(n_rows):
            place[row] = 0
        for _ in range(depth):
            for row in range(n_rows):
                node = place[row]
                above = not columns[column[node], row] <= limit[node]
                place[row] = children[2 * node + above]
        for row in range(n_rows):
            leaf = right[tree, place[row]]
            for t in range(n_targets):
                outputs[row, t] += values[tree, leaf, t] / n_trees
