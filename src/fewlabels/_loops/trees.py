"""Loops of extremely randomised trees on a handful of rows.

scikit-learn's trees take a millisecond each before they see a row; a forest that is
learned again whenever labels are left out, on twenty rows, needs thousands of them.

A tree is a list of nodes, each before its left subtree, which is before its right one:
the left child of node i is i + 1, the right child `right[i]`. Leaves have the feature
-1 and keep the place of their value in `right`.
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels._loops import njit

# Columns whose values lie closer together are constant, as in scikit-learn.
CONSTANT = 1e-7
# Gains that differ by less, as a share, are equal but for rounding.
TIE = 1e-10


# Somebody waits while these are compiled for the first time, and waits for every
# function and every array that is made inside: so the loop is one function, whose
# arrays come from outside. What is called from here alone needs no way in.
_called = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
_compiled = njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)


@_called
def _uniform(state):
    """Draw from [0, 1) by xorshift64*, whose state is a single number."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return ((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0


@_compiled
def _grow(
    X, target, amount, weights, max_features, seeds, feature, threshold, right, values,
    rows, columns, start, end, parent, varying, own, value, weight, share,
    total, left, state,
):  # fmt: skip
    """Grow the trees; the arrays of the last two lines are room to work in.

    Subtrees that wait have their rows from `start` to `end`, a `parent` whose right
    child they are, and only the first `varying` columns, as others are constant there.
    """
    n, n_targets = target.size, total.size
    for tree in range(seeds.size):
        state[0] = seeds[tree]
        for i in range(n):
            rows[i] = i
        for j in range(columns.size):
            columns[j] = j
        start[0], end[0], parent[0], varying[0] = 0, n, -1, columns.size
        waiting, node, n_leaves = 1, 0, 0
        while waiting > 0:
            waiting -= 1
            a, b, n_varying = start[waiting], end[waiting], varying[waiting]
            if parent[waiting] >= 0:
                right[tree, parent[waiting]] = node
            while True:  # down the left side
                pure, sum_weights, first = True, 0.0, rows[a]
                for t in range(n_targets):
                    total[t] = 0.0
                for place in range(a, b):
                    i = rows[place]
                    own[place], weight[place] = target[i], weights[i]
                    share[place] = weights[i] * amount[i]
                    sum_weights += weights[i]
                    total[target[i]] += share[place]
                    pure &= target[i] == target[first] and amount[i] == amount[first]
                # The best of some random splits. Columns are tried in random order
                # until `max_features` of them were not constant; those that are come
                # last, as they will be constant below too.
                best, column, cut = 0.0, -1, 0.0
                tried, n_left = 0, 0 if pure else n_varying
                while n_left > 0 and tried < max_features:
                    drawn = int(_uniform(state) * n_left)
                    n_left -= 1
                    j = columns[drawn]
                    columns[drawn] = columns[n_left]
                    columns[n_left] = j
                    low = high = X[j, rows[a]]
                    for place in range(a, b):
                        x = value[place] = X[j, rows[place]]
                        low, high = min(low, x), max(high, x)
                    if high - low <= CONSTANT:
                        n_varying -= 1
                        columns[n_left] = columns[n_varying]
                        columns[n_varying] = j
                        continue
                    tried += 1
                    between = low + _uniform(state) * (high - low)
                    if between >= high:
                        between = low
                    left_weight = 0.0
                    for t in range(n_targets):
                        left[t] = 0.0
                    # No branch, which could not be predicted.
                    for place in range(a, b):
                        below = 1.0 if value[place] <= between else 0.0
                        left_weight += below * weight[place]
                        left[own[place]] += below * share[place]
                    left_squares = right_squares = 0.0
                    for t in range(n_targets):
                        rest = total[t] - left[t]
                        left_squares += left[t] * left[t]
                        right_squares += rest * rest
                    gain = left_squares / left_weight
                    gain += right_squares / (sum_weights - left_weight)
                    # Of equal ones the first.
                    if column < 0 or gain > best * (1 + TIE):
                        best, column, cut = gain, j, between
                feature[tree, node] = column
                if column < 0:
                    break
                threshold[tree, node] = cut
                # The rows at or below the threshold come first.
                middle, last = a, b - 1
                while middle <= last:
                    i = rows[middle]
                    if X[column, i] <= cut:
                        middle += 1
                    else:
                        rows[middle] = rows[last]
                        rows[last] = i
                        last -= 1
                start[waiting], end[waiting], parent[waiting] = middle, b, node
                varying[waiting] = n_varying
                waiting += 1
                b = middle
                node += 1
            right[tree, node] = n_leaves
            for t in range(n_targets):
                values[tree, n_leaves, t] = total[t] / sum_weights
            n_leaves += 1
            node += 1


def grow_forest(X, target, amount, weights, n_targets, max_features, seeds):
    """Grow a tree for every seed, by squared error, until no leaf can be split.

    Of the targets of a row, one is not zero; for classes the criterion is then the Gini
    impurity.

    Parameters
    ----------
    X : ndarray of float64 of shape (n_columns, n)
        The rows, transposed.
    target : ndarray of intp of shape (n,)
        Which target of every row is not zero.
    amount : ndarray of float64 of shape (n,)
        And what it is.
    weights : ndarray of float64 of shape (n,)
        Positive weights of the rows.
    n_targets : int
        How many targets there are.
    max_features : int
        Columns that a split looks at.
    seeds : ndarray of uint64 of shape (n_trees,)
        Not zero.

    Returns
    -------
    feature : ndarray of int32 of shape (n_trees, 2 n - 1)
        Columns of the nodes.
    threshold : ndarray of float64 of shape (n_trees, 2 n - 1)
        Rows at or below it go left.
    right : ndarray of int32 of shape (n_trees, 2 n - 1)
        Right children.
    values : ndarray of float64 of shape (n_trees, n, n_targets)
        Mean targets of the leaves.
    """
    (n_columns, n), n_trees = X.shape, seeds.size
    feature = np.full((n_trees, 2 * n - 1), -1, dtype=np.int32)
    threshold, right = np.zeros(feature.shape), np.zeros_like(feature)
    values = np.zeros((n_trees, n, n_targets))
    _grow(
        X,
        target,
        amount,
        weights,
        max_features,
        seeds,
        feature,
        threshold,
        right,
        values,
        *(np.empty(size, dtype=np.intp) for size in (n, n_columns, *[n] * 5)),
        *(np.empty(size) for size in (n, n, n, n_targets, n_targets)),
        np.empty(1, dtype=np.uint64),
    )
    return feature, threshold, right, values


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
