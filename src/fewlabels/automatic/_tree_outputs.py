"""Outputs of forests for rows on the host or a device."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from fewlabels._backend import Backend, backend_of
from fewlabels._threads import in_threads, worth_compiling

# Rows per thread at a time.
BATCH_ROWS = 1024
# Bytes per row and tree while rows go down the trees together.
STEP_BYTES = 48


def forest_outputs(
    Z: Any, feature: Any, threshold: Any, right: Any, values: Any
) -> Any:
    """Mean leaf value over trees for each row of Z, in float64.

    The trees are those of :mod:`fewlabels._loops.trees`, as NumPy arrays.
    """
    trees, b = (feature, threshold, right, values), backend_of(Z)
    if not (b.is_numpy and worth_compiling(4 * Z.shape[0] * feature.size)):
        size = max(1, int(b.room() // (STEP_BYTES * feature.shape[0])))
        tiles = gen_batches(max(1, Z.shape[0]), size)
        return b.xp.concat([_stepped(b, Z[tile], *trees) for tile in tiles])
    from fewlabels._loops.trees import add_forest_outputs

    outputs = np.zeros((Z.shape[0], values.shape[2]))

    def add(batch: slice) -> None:
        columns = np.ascontiguousarray(Z[batch].T, dtype=np.float64)
        add_forest_outputs(columns, *trees, outputs[batch])

    in_threads(add, gen_batches(Z.shape[0], BATCH_ROWS))
    return outputs


def _stepped(
    b: Backend, Z: Any, feature: Any, threshold: Any, right: Any, values: Any
) -> Any:
    """Pass all rows down all trees step by step, with the sums of the loop."""
    xp, (n_trees, n_nodes) = b.xp, feature.shape
    features, rights = (b.asarray(A.ravel(), np.int64) for A in (feature, right))
    thresholds = b.asarray(threshold.ravel())
    Z, rows = b.astype(Z, np.float64), b.asarray(np.arange(Z.shape[0]))[:, None]
    roots = b.asarray(np.arange(n_trees) * n_nodes)
    node = roots + 0 * rows
    while xp.any((column := features[node]) >= 0):
        below = Z[rows, column] <= thresholds[node]
        on = xp.where(below, node + 1, roots + rights[node])
        node = xp.where(column >= 0, on, node)
    leaf, leaves = rights[node], b.asarray(values)
    outputs = leaves[0][leaf[:, 0]] / n_trees
    for tree in range(1, n_trees):
        outputs = outputs + leaves[tree][leaf[:, tree]] / n_trees
    return outputs
