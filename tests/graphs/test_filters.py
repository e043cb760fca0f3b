# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.linalg import expm
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from scipy.sparse.linalg import LinearOperator
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from fewlabels.graphs import (
    GraphFilter,
    graph_kernel,
    graph_kernel_operator,
    graph_laplacian,
    graph_tikhonov,
    similarity_graph,
)
from tests.graphs.strategies import weights
from tests.graphs.test_laplacian import path
from tests.helpers import assert_close
from tests.reference import graphs as reference

KINDS = ["unnormalized", "symmetric"]
METHODS = ["exact", "chebyshev"]
KERNELS = {
    "regularized_laplacian": ({"sigma": 1.5}, lambda v: 1 / (1 + 1.5**2 * v)),
    "diffusion": ({"sigma": 1.5}, lambda v: np.exp(-(1.5**2) * v / 2)),
    "random_walk": ({"a": 2.5, "n_steps": 3}, lambda v: (2.5 - v) ** 3),
    "inverse_cosine": ({}, lambda v: np.cos(np.pi * v / 4)),
}


@pytest.fixture
def graph(rng):
    return similarity_graph(rng.standard_normal((60, 2)), n_neighbors=5)


class TestFilter:
    @given(W=weights(), kind=st.sampled_from(KINDS), method=st.sampled_from(METHODS))
    def test_equals_twin(self, W, kind, method):
        def response(v):
            return np.exp(-0.5 * v) + 0.1 * v

        h = GraphFilter(csr_array(W), response, laplacian=kind, method=method)
        twin = reference.matrix_function(graph_laplacian(W, kind), response)
        assert_close(h.toarray(), twin, scale=10)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_known_filters(self, rng, graph, method, kind):
        L = graph_laplacian(graph, kind)
        f, F = rng.standard_normal(60), rng.standard_normal((60, 4))

        def filtered(response, g):
            return GraphFilter(graph, response, laplacian=kind, method=method) @ g

        assert_close(filtered(np.ones_like, f), f)
        assert_close(filtered(lambda v: v, f), L @ f)
        heat = expm(-0.7 * L.toarray())
        assert_close(filtered(lambda v: np.exp(-0.7 * v), F), heat @ F)
        assert_close(filtered(lambda v: np.exp(-0.7 * v), f), heat @ f)
        solved = graph_tikhonov(graph, F, 2.0, laplacian=kind)
        assert_close(filtered(lambda v: 1 / (1 + 2 * v), F), solved)

    @pytest.mark.parametrize("method", METHODS)
    def test_filters_commute(self, rng, graph, method):
        low = GraphFilter(graph, lambda v: np.exp(-v), method=method)
        band = GraphFilter(graph, lambda v: v * np.exp(-v), method=method)
        f = rng.standard_normal(60)
        assert_close(low @ (band @ f), band @ (low @ f))
        both = GraphFilter(graph, lambda v: v * np.exp(-2 * v), method=method)
        assert_close(low @ (band @ f), both @ f, factor=10)

    @pytest.mark.parametrize("degree", [0, 1, 2, 5])
    def test_a_polynomial_reaches_as_far_as_its_degree(self, graph, degree):
        h = GraphFilter(graph, lambda v: np.exp(-v), degree=degree)
        assert h.method == "chebyshev"
        assert h.degree == degree
        hops = shortest_path(graph, unweighted=True)
        matrix = h.toarray()
        assert_array_equal(matrix[hops > degree], 0)
        assert (matrix[hops == degree] != 0).all()

    def test_error_is_a_bound(self, rng, graph):
        exact = GraphFilter(graph, lambda v: 1 / (1 + v), method="exact").toarray()
        errors = []
        for degree in (2, 5, 10, 20):
            h = GraphFilter(graph, lambda v: 1 / (1 + v), degree=degree)
            off = np.linalg.norm(h.toarray() - exact, 2)
            assert off <= h.error + 1e-12
            errors.append(off)
        assert (np.diff(errors) < 0).all()

    @pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-12])
    def test_tolerance_is_kept(self, graph, tol):
        exact = GraphFilter(graph, lambda v: np.exp(-3 * v), method="exact")
        h = GraphFilter(graph, lambda v: np.exp(-3 * v), method="chebyshev", tol=tol)
        size = np.linalg.norm(h.toarray() - exact.toarray(), 2)
        assert size <= 3 * tol  # the coefficients sum up to less than 3
        assert h.degree < 60

    def test_polynomials_are_exact(self, graph):
        h = GraphFilter(graph, lambda v: 3 - v + v**3, method="chebyshev")
        assert h.degree == 3

    def test_a_jump_has_no_polynomial(self, rng, graph):
        def low_pass(v):
            return (v < 1).astype(float)

        with pytest.warns(ConvergenceWarning, match="Use method='exact'"):
            h = GraphFilter(graph, low_pass, method="chebyshev")
        assert h.error > 1e-3
        exact = GraphFilter(graph, low_pass)
        f = rng.standard_normal(60)
        assert_close(exact @ (exact @ f), exact @ f)  # a projection

    def test_is_an_operator(self, rng):
        W = similarity_graph(rng.standard_normal((1100, 3)))
        h = GraphFilter(W, lambda v: np.exp(-v))
        assert isinstance(h, LinearOperator)
        assert h.method == "chebyshev"
        f = rng.standard_normal(1100)
        assert (h @ f).shape == (1100,)
        assert_close(h.T @ f, h @ f)
        assert_close(h.H @ f, h @ f)
        exact = GraphFilter(W, lambda v: np.exp(-v), method="exact")
        assert_close(h @ f, exact @ f)

    @pytest.mark.parametrize("method", METHODS)
    def test_no_edges(self, method):
        h = GraphFilter(np.zeros((3, 3)), lambda v: 2 + v, method=method)
        assert_close(h.toarray(), 2 * np.eye(3))

    def test_errors(self):
        W = path(4)
        with pytest.raises(ValueError, match="degree=3 has no meaning"):
            GraphFilter(W, np.exp, method="exact", degree=3)
        with pytest.raises(ValueError, match="one value per frequency"):
            GraphFilter(W, lambda v: 1.0)
        with pytest.raises(ValueError, match="0 included"):
            GraphFilter(W, lambda v: np.divide(1, v, where=v > 0, out=v * 0 + np.inf))
        with pytest.raises(ValueError, match="'response' parameter"):
            GraphFilter(W, "low")
        with pytest.raises(ValueError, match="'laplacian' parameter"):
            GraphFilter(W, np.exp, laplacian="random_walk")


class TestKernel:
    @given(W=weights(), kind=st.sampled_from(sorted(KERNELS)))
    def test_equals_twin_and_is_a_kernel(self, W, kind):
        parameters, response = KERNELS[kind]
        K = graph_kernel(csr_array(W), kind, **parameters)
        L = graph_laplacian(W, "symmetric")
        assert_close(K, reference.matrix_function(L, response), scale=10)
        assert_array_equal(K, K.T)
        assert np.linalg.eigvalsh(K).min() > -1e-12
        assert_close(K @ L, L @ K, scale=10)

    @pytest.mark.parametrize("kind", KERNELS)
    def test_products(self, rng, graph, kind):
        parameters, _ = KERNELS[kind]
        K = graph_kernel(graph, kind, **parameters)
        operator = graph_kernel_operator(graph, kind, **parameters)
        F = rng.standard_normal((60, 3))
        assert_close(operator @ F, K @ F)
        assert operator.degree < 60
        if kind == "random_walk":
            assert operator.degree == 3

    def test_regularised_laplacian_is_tikhonov(self, rng, graph):
        f = rng.standard_normal(60)
        K = graph_kernel(graph, "regularized_laplacian", sigma=2.0)
        assert_close(K @ f, graph_tikhonov(graph, f, 4.0, laplacian="symmetric"))

    def test_random_walk_tends_to_diffusion(self, graph):
        diffusion = graph_kernel(graph, "diffusion", sigma=1.5)
        errors = []
        for p in (5, 30, 130):
            a = 2 * p / 1.5**2
            L = graph_laplacian(graph, "symmetric").toarray()
            walk = graph_kernel(graph, "random_walk", a=a, n_steps=p) / a**p
            expected = np.linalg.matrix_power(np.eye(60) - L / a, p)
            assert_close(walk, expected)
            errors.append(np.abs(walk - diffusion).max())
        assert errors[2] < errors[1] / 3 < errors[0] / 9
        assert errors[2] < 1e-2

    def test_diffusion_smooths(self, graph):
        """With the sign as printed, rough signals would grow."""
        values = np.linalg.eigvalsh(graph_kernel(graph, "diffusion", sigma=2.0))
        assert values.max() == pytest.approx(1)
        assert values.min() < 0.2

    def test_in_a_support_vector_machine(self):
        X, y = make_moons(200, noise=0.05, random_state=0)
        W = similarity_graph(X, n_neighbors=10)
        K = graph_kernel(W, "regularized_laplacian", sigma=10.0)
        labeled = np.r_[np.flatnonzero(y == 0)[:2], np.flatnonzero(y == 1)[:2]]
        model = SVC(kernel="precomputed").fit(K[np.ix_(labeled, labeled)], y[labeled])
        assert model.score(K[:, labeled], y) > 0.95

    def test_isolated_vertices(self):
        W = np.zeros((3, 3))
        W[0, 1] = W[1, 0] = 1
        for kind, (parameters, response) in KERNELS.items():
            K = graph_kernel(W, kind, **parameters)
            assert_close(K[2], [0, 0, response(0.0)])

    def test_errors(self, graph):
        with pytest.raises(ValueError, match="'a' parameter"):
            graph_kernel(graph, "random_walk", a=1.5)
        with pytest.raises(ValueError, match="too large for a number"):
            graph_kernel(graph, "random_walk", a=10.0, n_steps=400)
        with pytest.raises(ValueError, match="'kind' parameter"):
            graph_kernel(graph, "rbf")
        with pytest.raises(ValueError, match="'sigma' parameter"):
            graph_kernel_operator(graph, sigma=0.0)
