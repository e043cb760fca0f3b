"""Graph regularisation: the closed form, scikit-learn's iteration, optimality."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons
from sklearn.semi_supervised import LabelSpreading

from fewlabels.exceptions import DisconnectedGraphWarning, IgnoredParameterWarning
from fewlabels.graphs import SimilarityGraphTransformer, graph_laplacian
from fewlabels.semi_supervised import (
    GraphRegularizationClassifier,
    HarmonicFunctionClassifier,
    graph_regularization,
    poisson_functions,
    reweighted_graph,
)


@pytest.fixture
def graph(rng):
    W = np.triu(rng.random((25, 25)) * (rng.random((25, 25)) < 0.4), 1)
    return W + W.T


@pytest.mark.parametrize("solver", ["direct", "cg"])
@pytest.mark.parametrize("alpha", [100.0, 2.0, 0.04])
def test_closed_forms_and_gradient(solver, alpha, graph, rng):
    Y = rng.normal(size=(25, 3))
    F = graph_regularization(graph, Y, alpha, solver=solver, tol=1e-13).values
    L = graph_laplacian(graph, "symmetric")
    assert_allclose(alpha * L @ F + F - Y, 0, atol=1e-9)
    root = 1 / np.sqrt(graph.sum(axis=1))
    S = root[:, None] * graph * root
    a = alpha / (1 + alpha)
    assert_allclose(F, (1 - a) * np.linalg.solve(np.eye(25) - a * S, Y), atol=1e-9)


def test_vertex_without_edges_stays(graph):
    W = np.zeros((26, 26))
    W[:25, :25] = graph
    Y = np.arange(26.0)[:, None]
    assert_allclose(graph_regularization(W, Y, 4.0).values[25], 25)


def test_equals_label_spreading():
    X, y_true = make_moons(200, noise=0.1, random_state=0)
    y = np.where(np.arange(200) < 10, y_true, -1)
    alpha, bandwidth = 4.0, 0.5
    ours = GraphRegularizationClassifier(
        alpha=alpha,
        affinity=SimilarityGraphTransformer(kind="complete", bandwidth=bandwidth),
    ).fit(X, y)
    theirs = LabelSpreading(
        gamma=1 / (2 * bandwidth**2),
        alpha=alpha / (1 + alpha),
        max_iter=5000,
        tol=1e-12,
    ).fit(X, y)
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
    ("Y", "alpha", "message"),
    [([[1.0]], 1.0, "one row per vertex"), ([[1.0], [2.0]], 0.0, "alpha=0.0 must be")],
)
def test_bad_input(Y, alpha, message):
    with pytest.raises(ValueError, match=message):
        graph_regularization([[0, 1], [1, 0]], Y, alpha)


@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_poisson_functions_solve_the_equation(solver, graph, rng):
    Y = rng.normal(size=(3, 2))
    u = poisson_functions(graph, [4, 9, 20], Y, solver=solver, tol=1e-12).values
    sources = np.zeros((25, 2))
    sources[[4, 9, 20]] = Y - Y.mean(axis=0)
    degrees = graph.sum(axis=1)
    assert_allclose((np.diag(degrees) - graph) @ u, sources, atol=1e-6)
    assert_allclose(degrees @ u, 0, atol=1e-9)


def test_poisson_in_components():
    """Each component has its own mean; one without a label has no prediction."""
    W = np.zeros((9, 9))
    for start in (0, 3, 6):
        for i in (start, start + 1):
            W[i, i + 1] = W[i + 1, i] = 1
    u = poisson_functions(W, [0, 2, 3], np.eye(2)[[0, 1, 1]]).values
    assert_allclose(u[:3, 0], [0.5, 0, -0.5], atol=1e-6)
    assert_allclose(u[3:6], 0, atol=1e-9)
    assert np.isnan(u[6:]).all()
    y = np.array([0, -1, 1, 1, -1, -1, -1, -1, -1])
    model = GraphRegularizationClassifier(method="poisson", affinity="precomputed")
    with pytest.warns(DisconnectedGraphWarning):
        model.fit(W, y)
    assert_array_equal(model.transduction_[3:6], 1)
    assert_allclose(model.label_distributions_[6:], [[1 / 3, 2 / 3]] * 3)


def test_weights_at_labels(graph):
    labeled = [3, 8]
    a = np.where(np.isin(np.arange(25), labeled), 25 / 2, 1.0)
    assert_allclose(
        reweighted_graph(graph, labeled, "non_local").toarray(),
        graph * (a[:, None] + a) / 2,
    )
    proper = reweighted_graph(graph, labeled, "proper").toarray()
    degrees = graph.sum(axis=1)
    sources = np.isin(np.arange(25), labeled) - 2 * degrees / degrees.sum()
    gamma = np.linalg.pinv(np.diag(degrees) - graph) @ sources
    gamma = (gamma - gamma.min()) / np.ptp(gamma) + 1e-5
    assert_allclose(proper, gamma[:, None] * graph * gamma, rtol=1e-4)


@pytest.mark.parametrize("method", ["poisson", "proper", "non_local"])
def test_cures_for_few_labels(method):
    """Few labels in two blobs: harmonic functions are flat, with spikes at labels."""
    rng = np.random.default_rng(0)
    X, y_true = rng.normal(size=(2000, 3)), np.repeat([0, 1], 1000)
    X[y_true == 1, 0] += 3.5

    def error(model, *labeled):
        y = np.full(2000, -1)
        y[list(labeled)] = y_true[list(labeled)]
        model.fit(X, y)
        assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
        return np.mean(model.transduction_ != y_true)

    plain, cured = HarmonicFunctionClassifier(), GraphRegularizationClassifier()
    cured.set_params(method=method)
    assert error(cured, 0, 1, 1000, 1001) < error(plain, 0, 1, 1000, 1001)
    assert_allclose(cured.predict_proba(X[:50]).sum(axis=1), 1)
    if method != "proper":  # its weights do not know about classes
        assert error(cured, 0, 1, 2, 1000) < 0.1 < 0.4 < error(plain, 0, 1, 2, 1000)


def test_a_weight_that_does_nothing_is_reported(graph):
    y = np.where(np.arange(25) < 6, np.arange(25) % 2, -1)
    model = GraphRegularizationClassifier(
        method="poisson", alpha=1.0, affinity="precomputed"
    )
    with pytest.warns(IgnoredParameterWarning, match="alpha="):
        model.fit(graph, y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda W: poisson_functions(W, [], np.zeros((0, 2))), "at least one"),
        (lambda W: poisson_functions(W, [1, 2], [1.0]), "one entry per labelled"),
        (lambda W: reweighted_graph(W, []), "at least one"),
        (lambda W: reweighted_graph(W, [1], "other"), "method="),
    ],
)
def test_bad_cures_are_named(call, message, graph):
    with pytest.raises(ValueError, match=message):
        call(graph)
