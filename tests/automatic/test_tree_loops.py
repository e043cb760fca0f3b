"""Forests of compiled trees against the slow twin."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from fewlabels._loops.trees import grow_forest
from fewlabels.automatic import _tree_outputs
from tests.reference import trees as reference


def forest_outputs(X, Y, w, max_features, seeds, Z):
    target = np.abs(Y).argmax(axis=1)
    amount = Y[np.arange(len(Y)), target]
    columns = np.ascontiguousarray(X.T)
    trees = grow_forest(columns, target, amount, w, Y.shape[1], max_features, seeds)
    return _tree_outputs.forest_outputs(Z, *trees)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("max_features", [1, 2, 5])
def test_the_slow_twin_grows_the_same_trees(n_targets, max_features):
    rng = np.random.default_rng(n_targets)
    for size in (1, 2, 7, 12):
        X = rng.normal(size=(size, 5))
        X[:, 1] = rng.integers(0, 2, size)  # ties
        X[:, 2] = 1.0  # and a constant column
        Y = np.zeros((size, n_targets))
        Y[np.arange(size), rng.integers(0, n_targets, size)] = rng.choice([-1, 2], size)
        w = rng.uniform(0.5, 2, size)
        seeds = rng.integers(1, 2**63, 6).astype(np.uint64)
        Z = rng.normal(size=(9, 5))
        np.testing.assert_allclose(
            forest_outputs(X, Y, w, max_features, seeds, Z),
            reference.forest_outputs(X, Y, w, max_features, seeds, Z),
            atol=1e-12,
        )


@pytest.mark.usefixtures("compiled")
def test_trees_fit_what_can_be_told_apart():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 1))
    seeds = np.arange(1, 4, dtype=np.uint64)
    np.testing.assert_allclose(forest_outputs(X, y, np.ones(40), 2, seeds, X), y)
    X[1] = X[0]  # copies share a leaf, and its mean by weight
    w = np.ones(40)
    w[1] = 3.0
    outputs = forest_outputs(X, y, w, 2, seeds, X[:2])
    np.testing.assert_allclose(outputs, (y[0] + 3 * y[1]) / 4 * np.ones((2, 1)))
