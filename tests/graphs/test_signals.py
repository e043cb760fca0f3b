# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, triu
from sklearn.exceptions import ConvergenceWarning

from fewlabels.graphs import (
    boundary_volume,
    connectivity,
    edge_derivative,
    graph_fourier,
    graph_gradient,
    graph_laplacian,
    graph_tikhonov,
    laplacian_power,
    local_variation,
    p_dirichlet,
    similarity_graph,
)
from tests.graphs.strategies import weights
from tests.helpers import assert_close
from tests.reference import graphs as reference

KINDS = ["unnormalized", "symmetric"]


@st.composite
def graph_and_signal(draw):
    W = draw(weights())
    f = draw(arrays(np.float64, len(W), elements=st.floats(-3, 3, width=16)))
    return W, f


def sample(rng, n=60):
    """A graph in two components, one vertex of which is alone."""
    X = rng.standard_normal((n, 2))
    W = similarity_graph(X, n_neighbors=6).tolil()
    W[-1, :] = W[:, -1] = 0
    return csr_array(W)


class TestDerivatives:
    @given(case=graph_and_signal(), kind=st.sampled_from(KINDS), sparse=st.booleans())
    def test_equals_twin(self, case, kind, sparse):
        W, f = case
        twin = reference.edge_derivatives(W, f, scaled=kind == "symmetric")
        given_W = csr_array(W) if sparse else W
        E = edge_derivative(given_W, f, laplacian=kind)
        assert_close(E.toarray(), twin, scale=10)
        assert_array_equal(E.toarray(), -E.toarray().T)
        assert E.nnz == np.count_nonzero(W)
        variation = local_variation(given_W, f, laplacian=kind)
        assert_close(variation, np.sqrt((twin**2).sum(axis=1)), scale=10)

    @given(case=graph_and_signal(), kind=st.sampled_from(KINDS))
    def test_half_the_squared_variations_are_the_quadratic_form(self, case, kind):
        W, f = case
        smoothness = 0.5 * (local_variation(W, f, laplacian=kind) ** 2).sum()
        form = laplacian_power(graph_laplacian(W, kind), 1).quadratic_form(f)
        assert_close(smoothness, form, scale=W.max(initial=1) * len(W) * 9)

    @given(case=graph_and_signal(), kind=st.sampled_from(KINDS))
    def test_gradient(self, case, kind):
        W, f = case
        G = graph_gradient(W, kind)
        assert G.shape == (np.count_nonzero(W) // 2, len(W))
        assert_close((G.T @ G).toarray(), graph_laplacian(W, kind), scale=10)
        E = edge_derivative(W, f, laplacian=kind)
        edges = triu(csr_array(W)).tocsr().tocoo()
        assert_close(G @ f, E.toarray()[edges.row, edges.col], scale=10)

    def test_several_signals(self, rng):
        W, F = sample(rng), rng.standard_normal((60, 3))
        for kind in KINDS:
            V = local_variation(W, F, laplacian=kind)
            assert V.shape == (60, 3)
            for k in range(3):
                assert_array_equal(V[:, k], local_variation(W, F[:, k], laplacian=kind))
            assert_array_equal(V[-1], 0)
        assert p_dirichlet(W, F).shape == (3,)
        with pytest.raises(ValueError, match="one signal of shape"):
            edge_derivative(W, F)
        with pytest.raises(ValueError, match="each of the 60 vertices"):
            local_variation(W, F[:50])


class TestDirichlet:
    @given(case=graph_and_signal(), p=st.sampled_from([1, 1.5, 2, 3.5]))
    def test_equals_twin(self, case, p):
        W, f = case
        twin = reference.p_dirichlet(W, f, p)
        assert_close(p_dirichlet(csr_array(W), f, p), twin, scale=1e3)

    @given(case=graph_and_signal())
    def test_two_is_the_quadratic_form(self, case):
        W, f = case
        form = laplacian_power(graph_laplacian(W), 1).quadratic_form(f)
        assert_close(p_dirichlet(W, f), form, scale=W.max(initial=1) * len(W) * 9)

    @given(case=graph_and_signal(), p=st.sampled_from([1, 2, 3]), c=st.floats(-4, 4))
    def test_homogeneous(self, case, p, c):
        W, f = case
        value = p_dirichlet(W, f, p)
        assert_close(p_dirichlet(W, c * f, p), abs(c) ** p * value, scale=value)

    @given(case=graph_and_signal())
    def test_zero_exactly_for_constants_on_components(self, case):
        W, f = case
        labels = connectivity(W).labels
        assert p_dirichlet(W, np.pi * (labels + 1), p=1) == 0
        differs = [f[i] != f[j] for i, j in zip(*np.nonzero(W), strict=True)]
        assert (p_dirichlet(W, f, p=1) > 0) == any(differs)

    def test_a_norm_needs_p_from_one_on(self):
        with pytest.raises(ValueError, match="'p' parameter"):
            p_dirichlet(np.eye(2), [0, 1], p=0.5)


class TestTikhonov:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("solver", ["auto", "direct", "cg"])
    @pytest.mark.parametrize("sparse", [True, False])
    def test_equals_spectral_solution(self, rng, kind, solver, sparse):
        W, Y = sample(rng), rng.standard_normal((60, 2))
        fourier = graph_fourier(W, laplacian=kind)
        expected = fourier.convolve(Y, lambda v: 1 / (1 + 3 * v))
        given_W = W if sparse else W.toarray()
        F = graph_tikhonov(given_W, Y, 3.0, laplacian=kind, solver=solver, tol=1e-12)
        assert_close(F, expected)
        dense = np.linalg.solve(np.eye(60) + 3 * graph_laplacian(W, kind).toarray(), Y)
        assert_close(F, dense)
        single = graph_tikhonov(given_W, Y[:, 0], 3.0, laplacian=kind, solver=solver)
        assert single.shape == (60,)
        assert_close(single, expected[:, 0], factor=10)

    @pytest.mark.parametrize("solver", ["direct", "cg"])
    def test_gradient_of_the_objective_vanishes(self, rng, solver):
        W, y = sample(rng), rng.standard_normal(60)
        f = graph_tikhonov(W, y, 7.0, solver=solver, tol=1e-12)
        gradient = (f - y) + 7 * graph_laplacian(W) @ f
        assert np.abs(gradient).max() < 1e-10

    @given(case=graph_and_signal(), gamma=st.sampled_from([0.0, 0.3, 50.0]))
    def test_means_of_components_are_kept(self, case, gamma):
        W, y = case
        f = graph_tikhonov(W, y, gamma)
        labels = connectivity(W).labels
        sizes = np.bincount(labels)
        means = np.bincount(labels, weights=y) / sizes
        assert_close(np.bincount(labels, weights=f) / sizes, means, scale=10)
        assert_close(graph_tikhonov(W, y, 1e9), means[labels], scale=30)
        assert_close(graph_tikhonov(W, y, 0.0), y, scale=10)
        # Smoothing smooths, and never beyond the largest and the smallest value.
        assert p_dirichlet(W, f) <= p_dirichlet(W, y) + 1e-9
        assert f.max() <= y.max() + 1e-9
        assert f.min() >= y.min() - 1e-9

    def test_large_graphs_take_the_solver_that_suits(self, rng):
        W = similarity_graph(rng.standard_normal((1500, 3)))
        y = rng.standard_normal(1500)
        for gamma in (1.0, 1e7):  # conjugate gradients, factor
            expected = graph_tikhonov(W, y, gamma, solver="direct")
            assert_close(graph_tikhonov(W, y, gamma), expected, factor=10)

    def test_no_convergence_is_said(self, rng):
        W = sample(rng)
        with pytest.warns(ConvergenceWarning, match="for 2 of 2 signals"):
            graph_tikhonov(
                W, rng.standard_normal((60, 2)), 1e3, solver="cg", max_iter=2
            )

    def test_bad_input(self):
        path = np.eye(3, k=1) + np.eye(3, k=-1)
        with pytest.raises(ValueError, match="'alpha' parameter"):
            graph_tikhonov(path, np.ones(3), -1.0)
        with pytest.raises(ValueError, match="y has shape"):
            graph_tikhonov(path, np.ones(4))
        with pytest.raises(ValueError, match="'laplacian' parameter"):
            graph_tikhonov(path, np.ones(3), laplacian="random_walk")
        with pytest.raises(ValueError, match="NaN"):
            graph_tikhonov(path, [np.nan, 1, 2])


class TestBoundaryVolume:
    def test_interval_uniform(self, rng):
        """Density 1 at the one point of the boundary, with noise."""
        X = rng.uniform(size=(3000, 1))
        values = [boundary_volume(X, X[:, 0] > s, 0.02) for s in (0.3, 0.4, 0.6)]
        assert np.mean(values) == pytest.approx(1, abs=0.12)

    def test_square_uniform(self, rng):
        """One row at random in each cell of a grid: uniform, with little noise."""
        cells = np.stack(np.meshgrid(np.arange(60), np.arange(60)), axis=-1)
        X = (cells.reshape(-1, 2) + rng.uniform(size=(3600, 2))) / 60
        x = X[:, 0]
        # The ends of the support on this side, of length 2 and 0.8, add 3.5 % of that.
        half = boundary_volume(X, x > 0.5, 0.04)
        assert half == pytest.approx(1 + 0.035 * 2, abs=0.05)
        strip = boundary_volume(X, (x > 0.3) & (x < 0.7), 0.04)
        assert strip == pytest.approx(2 + 0.035 * 0.8, abs=0.1)

    @pytest.mark.parametrize("bandwidth", [0.005, 0.01, 0.02])
    def test_interval_on_a_grid_does_not_depend_on_the_bandwidth(self, bandwidth):
        n = 3000
        x = (np.arange(n) + 0.5) / n
        inner = (x > 0.3) & (x < 0.7)  # two boundary points, no end of the support
        mean_degree = n * bandwidth * np.sqrt(2 * np.pi)
        expected = 2 * (1 + 1 / mean_degree)
        value = boundary_volume(x[:, None], inner, bandwidth)
        assert value == pytest.approx(expected, rel=1e-3)
        ends = boundary_volume(x[:, None], np.ones(n), bandwidth)
        assert ends == pytest.approx(2 * 0.035, abs=0.005)

    def test_density_counts(self, rng):
        """A normal density at its top and in its tail."""
        X = rng.standard_normal((2000, 1))
        at_top = boundary_volume(X, X[:, 0] > 0, 0.1)
        in_tail = boundary_volume(X, X[:, 0] > 2, 0.1)
        assert at_top == pytest.approx(1 / np.sqrt(2 * np.pi), rel=0.25)
        assert in_tail < 0.3 * at_top

    def test_bad_sides(self):
        X = np.arange(4.0)[:, None]
        for side in ([0, 1, 2, 1], [True, False]):
            with pytest.raises(ValueError, match="side must hold"):
                boundary_volume(X, side, 0.5)
        assert boundary_volume(X, [0, 0, 1, 1], 0.01) == 0  # no edges at all
