"""Graph regularisation: the closed form, scikit-learn's iteration, optimality."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons
from sklearn.semi_supervised import LabelSpreading

from fewlabels.exceptions import DisconnectedGraphWarning
from fewlabels.graphs import SimilarityGraphTransformer, graph_laplacian
from fewlabels.semi_supervised import (
    GraphRegularizationClassifier,
    graph_regularization,
)


@pytest.fixture
def graph(rng):
    W = np.triu(rng.random((25, 25)) * (rng.random((25, 25)) < 0.4), 1)
    return W + W.T


@pytest.mark.parametrize("solver", ["direct", "cg"])
@pytest.mark.parametrize("mu", [0.02, 1.0, 50.0])
def test_closed_forms_and_gradient(solver, mu, graph, rng):
    Y = rng.normal(size=(25, 3))
    F = graph_regularization(graph, Y, mu, solver=solver, tol=1e-13).values
    L = graph_laplacian(graph, "symmetric")
    assert_allclose(2 * L @ F + mu * (F - Y), 0, atol=1e-9)
    root = 1 / np.sqrt(graph.sum(axis=1))
    S = root[:, None] * graph * root
    a = 2 / (2 + mu)
    assert_allclose(F, (1 - a) * np.linalg.solve(np.eye(25) - a * S, Y), atol=1e-9)


def test_vertex_without_edges_stays(graph):
    W = np.zeros((26, 26))
    W[:25, :25] = graph
    Y = np.arange(26.0)[:, None]
    assert_allclose(graph_regularization(W, Y, 0.5).values[25], 25)


def test_equals_label_spreading():
    X, y_true = make_moons(200, noise=0.1, random_state=0)
    y = np.where(np.arange(200) < 10, y_true, -1)
    mu, bandwidth = 0.5, 0.5
    ours = GraphRegularizationClassifier(
        mu=mu, graph=SimilarityGraphTransformer(kind="complete", bandwidth=bandwidth)
    ).fit(X, y)
    theirs = LabelSpreading(
        gamma=1 / (2 * bandwidth**2), alpha=2 / (2 + mu), max_iter=5000, tol=1e-12
    ).fit(X, y)
    assert ours.alpha_ == theirs.alpha
    # Weights below 1e-8 are raised to it here.
    assert_allclose(ours.label_distributions_, theirs.label_distributions_, atol=1e-6)
    assert_array_equal(ours.transduction_, theirs.transduction_)


def test_new_row_minimises_the_objective_with_the_others_fixed():
    X, y_true = make_moons(200, noise=0.1, random_state=0)
    y = np.where(np.arange(200) < 10, y_true, -1)
    model = GraphRegularizationClassifier().fit(X, y)
    new = X[[30]] + 0.01
    w = model.transformer_.transform(new).toarray()[0]
    direction = w @ (model.values_ / np.sqrt(model.graph_.sum(axis=1))[:, None])
    assert_allclose(model.predict_proba(new)[0], direction / direction.sum())


def test_component_without_label():
    X = np.r_[np.arange(4.0), 100 + np.arange(4.0)][:, None]
    y = [0, -1, 1, 1, -1, -1, -1, -1]
    with pytest.warns(DisconnectedGraphWarning):
        model = GraphRegularizationClassifier(n_neighbors=1).fit(X, y)
    assert_array_equal(model.transduction_[4:], 1)
    assert_allclose(model.label_distributions_[4:], [[1 / 3, 2 / 3]] * 4)


@pytest.mark.parametrize(
    ("Y", "mu", "message"),
    [([[1.0]], 1.0, "one row per vertex"), ([[1.0], [2.0]], 0.0, "mu=0.0 must be")],
)
def test_bad_input(Y, mu, message):
    with pytest.raises(ValueError, match=message):
        graph_regularization([[0, 1], [1, 0]], Y, mu)
