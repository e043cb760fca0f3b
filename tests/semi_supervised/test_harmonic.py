"""Harmonic functions: against dense algebra, networks and random walks."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.semi_supervised import LabelPropagation

from fewlabels.exceptions import DisconnectedGraphWarning, IgnoredParameterWarning
from fewlabels.graphs import (
    SimilarityGraphTransformer,
    graph_laplacian,
    similarity_graph,
)
from fewlabels.semi_supervised import (
    HarmonicFunctionClassifier,
    HarmonicFunctionRegressor,
    harmonic_functions,
)
from fewlabels.semi_supervised._graph_system import front_width

SOLVERS = ["direct", "cg"]


def random_graph(rng, n=40, density=0.2):
    """Connected: a path through all vertices, and more."""
    W = np.where(rng.random((n, n)) < density, rng.random((n, n)), 0)
    W = np.triu(W, 1)
    W[np.arange(n - 1), np.arange(1, n)] = rng.uniform(0.1, 1, n - 1)
    return W + W.T


def dense_solution(W, labeled, Y):
    free = np.setdiff1d(np.arange(len(W)), labeled)
    L = np.diag(W.sum(axis=1)) - W
    F = np.empty((len(W), Y.shape[1]))
    F[labeled] = Y
    F[free] = np.linalg.solve(L[np.ix_(free, free)], W[np.ix_(free, labeled)] @ Y)
    return F


@pytest.mark.parametrize("solver", SOLVERS)
class TestHarmonicFunctions:
    def test_equals_the_dense_solution(self, solver, rng):
        W = random_graph(rng)
        labeled = rng.permutation(40)[:7]
        Y = rng.normal(size=(7, 3))
        F = harmonic_functions(W, labeled, Y, solver=solver, tol=1e-12).values
        assert_allclose(F, dense_solution(W, labeled, Y), atol=1e-9)

    def test_every_value_is_the_mean_of_its_neighbours(self, solver, rng):
        W = random_graph(rng)
        labeled = [3, 17, 20]
        f = harmonic_functions(
            W, labeled, [1.0, -2.0, 5.0], solver=solver, tol=1e-12
        ).values[:, 0]
        means = W @ f / W.sum(axis=1)
        free = np.setdiff1d(np.arange(40), labeled)
        assert_allclose(f[free], means[free], atol=1e-9)
        # On labelled vertices it is not harmonic: the errata of the book.
        assert np.abs(f - means)[labeled].max() > 0.1

    def test_maximum_principle(self, solver, rng):
        W = random_graph(rng)
        y = rng.normal(size=5)
        f = harmonic_functions(W, np.arange(5), y, solver=solver).values
        assert y.min() <= f.min()
        assert f.max() <= y.max()

    def test_path_interpolates_linearly(self, solver):
        n = 30
        W = np.diag(np.ones(n - 1), 1)
        f = harmonic_functions(
            W + W.T, [0, n - 1], [2.0, 31.0], solver=solver, tol=1e-12
        ).values
        assert_allclose(f[:, 0], np.arange(2.0, 32.0), atol=1e-8)

    def test_electrical_network(self, solver, rng):
        """One unit of voltage drives the current 1 / (effective resistance)."""
        W = random_graph(rng)
        f = harmonic_functions(W, [4, 30], [1.0, 0.0], solver=solver, tol=1e-12).values[
            :, 0
        ]
        current = W[4] @ (f[4] - f)
        inverse = np.linalg.pinv(np.diag(W.sum(axis=1)) - W)
        resistance = inverse[4, 4] + inverse[30, 30] - 2 * inverse[4, 30]
        assert_allclose(current, 1 / resistance, rtol=1e-8)

    def test_random_walk_meets_label_first(self, solver, rng):
        W = random_graph(rng, n=8, density=0.4)
        f = harmonic_functions(W, [0, 7], [1.0, 0.0], solver=solver).values[:, 0]
        steps = np.cumsum(W / W.sum(axis=1, keepdims=True), axis=1)
        walkers = np.full(20_000, 4)
        for _ in range(2000):
            moving = ~np.isin(walkers, (0, 7))
            if not moving.any():
                break
            draws = rng.random((moving.sum(), 1))
            walkers[moving] = (draws > steps[walkers[moving]]).sum(axis=1)
        # Five standard deviations of the share.
        assert abs(np.mean(walkers == 0) - f[4]) < 5 * 0.5 / np.sqrt(20_000)

    def test_soft_labels_minimise_the_objective(self, solver, rng):
        W = random_graph(rng)
        labeled, y, c = np.array([1, 8, 30]), np.array([0.0, 3.0, -1.0]), 0.7
        f = harmonic_functions(
            W, labeled, y, label_weight=c, solver=solver, tol=1e-12
        ).values[:, 0]
        gradient = graph_laplacian(W) @ f
        gradient[labeled] += c * (f[labeled] - y)
        assert_allclose(gradient, 0, atol=1e-8)

    def test_soft_labels_become_clamped(self, solver, rng):
        W = random_graph(rng)
        clamped = harmonic_functions(W, [0, 39], [0.0, 1.0], solver="direct").values
        soft = harmonic_functions(
            W, [0, 39], [0.0, 1.0], label_weight=1e9, solver=solver, tol=1e-12
        ).values
        assert_allclose(soft, clamped, atol=1e-6)

    def test_component_without_label_is_nan(self, solver):
        W = np.zeros((5, 5))
        W[0, 1] = W[1, 0] = W[3, 4] = W[4, 3] = 1
        f = harmonic_functions(W, [0], [2.0], solver=solver).values[:, 0]
        assert_array_equal(f, [2, 2, np.nan, np.nan, np.nan])

    def test_weak_bridges(self, solver, rng):
        """Two groups that hang on edges of weight 1e-8 get the right values."""
        W = np.kron(np.eye(3), np.ones((6, 6))) * rng.uniform(0.5, 1)
        np.fill_diagonal(W, 0)
        for i, j, w in ((0, 6, 1e-8), (6, 12, 3e-8)):
            W[i, j] = W[j, i] = w
        f = harmonic_functions(W, [0, 17], [0.0, 1.0], solver=solver).values[:, 0]
        assert_allclose(f[6:12], 0.75, atol=1e-3)

    def test_everything_is_labelled(self, solver):
        f = harmonic_functions([[0, 1], [1, 0]], [1, 0], [3.0, 4.0], solver=solver)
        assert_array_equal(f.values[:, 0], [4, 3])


def test_large_sparse_graph_is_solved_alike_by_both():
    X, y = make_blobs(6000, centers=4, n_features=5, cluster_std=3, random_state=0)
    W = similarity_graph(X)
    labeled = np.arange(0, 6000, 60)
    Y = np.eye(4)[y[labeled]]
    direct = harmonic_functions(W, labeled, Y, solver="direct")
    cg = harmonic_functions(W, labeled, Y, solver="cg", tol=1e-10)
    assert (direct.solver, direct.n_iter, cg.solver) == ("direct", 0, "cg")
    assert cg.n_iter > 0
    assert_allclose(cg.values, direct.values, atol=1e-6)


def test_front_is_narrow_on_a_grid_and_wide_in_many_dimensions(rng):
    plane = similarity_graph(rng.random((2000, 2)), n_neighbors=5)
    cloud = similarity_graph(rng.normal(size=(2000, 20)), n_neighbors=5)
    assert front_width(plane) < 400 < front_width(cloud)


def test_no_convergence_warns(rng):
    W = random_graph(rng, n=60, density=0.05)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 steps"):
        harmonic_functions(W, [0, 59], [0.0, 1.0], solver="cg", max_iter=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labeled": [0, 0], "values": [1.0, 2.0]}, "names a vertex twice"),
        ({"labeled": [0], "values": [1.0, 2.0]}, "one row per labelled vertex"),
        ({"labeled": [0], "values": [1.0], "label_weight": 0}, "must be positive"),
    ],
)
def test_bad_input_of_the_solver(arguments, message):
    with pytest.raises(ValueError, match=message):
        harmonic_functions([[0, 1], [1, 0]], **arguments)


@given(
    n=st.integers(2, 12),
    k=st.integers(1, 3),
    seed=st.integers(0, 2**16),
    copies=st.booleans(),
)
def test_any_shape(n, k, seed, copies):
    rng = np.random.default_rng(seed)
    X = (
        rng.integers(2, size=(n, 2)).astype(float)
        if copies
        else rng.normal(size=(n, 2))
    )
    y = rng.integers(k, size=n)
    y[rng.random(n) < 0.5] = -1
    y[0] = 0
    names = np.where(y < 0, None, np.array(["a", "b", "c"], dtype=object)[y])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = HarmonicFunctionClassifier(n_neighbors=2).fit(X, names)
        assert set(model.predict(X)) <= set(model.classes_)
    assert_allclose(model.label_distributions_.sum(axis=1), 1)
    assert_array_equal(model.transduction_[y >= 0], names[y >= 0])


class TestClassifier:
    @pytest.fixture
    def moons(self):
        X, y = make_moons(300, noise=0.06, random_state=0)
        return X, y, np.where(np.arange(300) < 8, y, -1)

    def test_equals_label_propagation(self, moons):
        """scikit-learn's iterations converge to the same functions."""
        X, _, y = moons
        ours = HarmonicFunctionClassifier(
            affinity=SimilarityGraphTransformer(kind="complete", bandwidth=0.2)
        ).fit(X, y)
        theirs = LabelPropagation(gamma=1 / (2 * 0.2**2), max_iter=20_000, tol=1e-9)
        theirs.fit(X, y)
        # Weights below 1e-8 are raised to it here.
        assert_allclose(
            ours.label_distributions_, theirs.label_distributions_, atol=2e-3
        )
        assert_array_equal(ours.transduction_, theirs.transduction_)

    def test_precomputed_graph_is_the_same(self, moons):
        X, _, y = moons
        built = HarmonicFunctionClassifier().fit(X, y)
        given = HarmonicFunctionClassifier(affinity="precomputed").fit(built.graph_, y)
        assert_array_equal(given.transduction_, built.transduction_)
        new = built.transformer_.transform(X[:20] + 0.01)
        assert_array_equal(given.predict(new), built.predict(X[:20] + 0.01))

    def test_new_rows_take_the_harmonic_value(self, moons):
        X, _, y = moons
        model = HarmonicFunctionClassifier().fit(X, y)
        new = X[[50]] + 0.02
        w = model.transformer_.transform(new).toarray()[0]
        assert_allclose(
            model.predict_proba(new)[0], w @ model.harmonic_functions_ / w.sum()
        )

    def test_class_mass_normalisation(self):
        X, y = make_moons(300, noise=0.4, random_state=0)
        y = np.where(np.arange(300) < 8, y, -1)
        q = np.array([0.2, 0.8])
        plain = HarmonicFunctionClassifier().fit(X, y)
        model = HarmonicFunctionClassifier(balance=q).fit(X, y)
        by_labels = HarmonicFunctionClassifier(balance="labels").fit(X, y)
        shares = np.bincount(y[y >= 0]) / np.sum(y >= 0)
        given = HarmonicFunctionClassifier(balance=shares).fit(X, y)
        assert_allclose(by_labels.predict_proba(X), given.predict_proba(X))
        F = plain.harmonic_functions_
        assert_allclose(model.harmonic_functions_, F)
        masses = F[y < 0].sum(axis=0)
        unlabeled = np.flatnonzero(y < 0)
        expected = (q * F[unlabeled] / masses).argmax(axis=1)
        assert_array_equal(model.transduction_[unlabeled], expected)
        assert (model.transduction_ == 1).sum() > (plain.transduction_ == 1).sum()

    def test_row_out_of_reach(self):
        X = np.r_[np.arange(5.0), 100 + np.arange(5.0)][:, None]
        y = ["a", None, "b", None, "b"] + 5 * [None]
        model = HarmonicFunctionClassifier(n_neighbors=1)
        with pytest.warns(DisconnectedGraphWarning, match="hold no seed"):
            model.fit(X, np.array(y, dtype=object))
        assert_array_equal(np.flatnonzero(model.unreached_), np.arange(5, 10))
        assert_array_equal(model.transduction_[5:], ["b"] * 5)
        assert_allclose(model.harmonic_functions_[7], [1 / 3, 2 / 3])

    def test_new_row_without_edge(self, moons):
        X, _, y = moons
        ball = SimilarityGraphTransformer(kind="ball", radius=0.5)
        model = HarmonicFunctionClassifier(affinity=ball).fit(X, y)
        with pytest.warns(DisconnectedGraphWarning, match="1 of 2 new rows"):
            P = model.predict_proba(np.array([X[0] + 1e-9, [50.0, 50.0]]))
        assert_allclose(P[1], model.class_prior_)

    def test_ignored_parameters_warn(self, moons):
        X, _, y = moons
        graph = SimilarityGraphTransformer(n_neighbors=5)
        with pytest.warns(IgnoredParameterWarning, match="n_neighbors=3"):
            HarmonicFunctionClassifier(affinity=graph, n_neighbors=3).fit(X, y)

    def test_grid_search_over_the_graph(self, moons):
        X, y_true, _ = moons
        search = GridSearchCV(
            HarmonicFunctionClassifier(affinity=SimilarityGraphTransformer()),
            {"affinity__n_neighbors": [3, 8]},
            cv=2,
        ).fit(X, y_true)
        assert search.best_score_ > 0.95

    def test_not_square(self):
        with pytest.raises(ValueError, match="square weight matrix"):
            HarmonicFunctionClassifier(affinity="precomputed").fit(
                np.ones((3, 2)), [0, 1, -1]
            )


class TestRegressor:
    def test_sine_with_few_targets(self, rng):
        X = rng.uniform(0, 6, size=(400, 1))
        truth = np.sin(X[:, 0])
        y = np.where(np.arange(400) < 40, truth, np.nan)
        model = HarmonicFunctionRegressor(n_neighbors=5).fit(X, y)
        assert np.abs(model.transduction_ - truth).mean() < 0.1
        assert model.score(X, truth) > 0.9
        assert model.score(X, y) > 0.9  # rows without a target do not count

    def test_soft_targets_smooth_noise(self, rng):
        X = np.linspace(0, 6, 300)[:, None]
        truth = np.sin(X[:, 0])
        y = truth + 0.3 * rng.normal(size=300)
        hard = HarmonicFunctionRegressor().fit(X, y)
        soft = clone(hard).set_params(label_weight=0.1).fit(X, y)
        assert_array_equal(hard.transduction_, y)
        errors = [np.mean((m.transduction_ - truth) ** 2) for m in (hard, soft)]
        assert errors[1] < 0.3 * errors[0]

    def test_minus_one_is_a_number(self):
        X = np.arange(4.0)[:, None]
        model = HarmonicFunctionRegressor(n_neighbors=1).fit(X, [-1, -1, 1, 1])
        assert_array_equal(model.transduction_, [-1, -1, 1, 1])

    def test_out_of_reach(self):
        X = np.r_[np.arange(3.0), 100 + np.arange(3.0)][:, None]
        y = [0.0, np.nan, 4.0, np.nan, np.nan, np.nan]
        with pytest.warns(DisconnectedGraphWarning):
            model = HarmonicFunctionRegressor(n_neighbors=1).fit(X, y)
        assert_allclose(model.transduction_[3:], 2.0)
