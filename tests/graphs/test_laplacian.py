# SPDX-License-Identifier: BSD-3-Clause

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix, issparse
from scipy.sparse.linalg import LinearOperator, cg

from fewlabels.graphs import graph_laplacian, laplacian_power, similarity_graph
from tests.graphs.strategies import weights
from tests.helpers import assert_close
from tests.reference import graphs as reference

KINDS = ["unnormalized", "symmetric", "random_walk"]


def path(n):
    W = np.zeros((n, n))
    W[np.arange(n - 1), np.arange(1, n)] = 1
    return W + W.T


def ring(n):
    W = path(n)
    W[0, -1] = W[-1, 0] = 1
    return W


@given(W=weights(), kind=st.sampled_from(KINDS), sparse=st.booleans())
def test_equals_twin(W, kind, sparse):
    L = graph_laplacian(csr_array(W) if sparse else W, kind)
    assert issparse(L) == sparse
    assert_close(L.toarray() if sparse else L, reference.laplacian(W, kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("container", [csr_matrix, csc_array, coo_array, csr_array])
def test_sparse_in_sparse_out(rng, kind, container, global_dtype):
    W = similarity_graph(rng.standard_normal((30, 2)).astype(global_dtype))
    L = graph_laplacian(container(W), kind)
    assert isinstance(L, csr_array)
    assert L.dtype == global_dtype
    dense = graph_laplacian(W.toarray(), kind)
    assert dense.dtype == global_dtype
    assert_close(L.toarray(), dense)
    assert_close(L.toarray(), reference.laplacian(W.toarray(), kind))


@pytest.mark.parametrize("kind", ["unnormalized", "random_walk"])
def test_rows_sum_to_zero(rng, kind, global_dtype):
    W = similarity_graph(rng.standard_normal((200, 3)).astype(global_dtype))
    L = graph_laplacian(W, kind)
    assert_close(L @ np.ones(200, global_dtype), np.zeros(200), scale=abs(L).max())


def test_null_vector_of_the_symmetric_one_is_the_root_of_the_degrees(rng):
    W = similarity_graph(rng.standard_normal((50, 3)))
    L = graph_laplacian(W, "symmetric")
    assert_close(L @ np.sqrt(W.sum(axis=1)), np.zeros(50), scale=1)
    assert np.abs(L @ np.ones(50)).max() > 1e-3


@given(W=weights(), data=st.data())
def test_quadratic_forms(W, data):
    f = np.array(
        data.draw(st.lists(st.floats(-3, 3), min_size=len(W), max_size=len(W)))
    )
    for kind in ("unnormalized", "symmetric"):
        value = laplacian_power(graph_laplacian(W, kind), 1).quadratic_form(f)
        twin = reference.quadratic_form(W, f, scaled=kind == "symmetric")
        assert_close(value, twin, scale=W.max(initial=1) * len(W) * 9)


@given(W=weights())
def test_spectrum(W):
    components = reference.components(W)
    for kind in KINDS:
        values = np.linalg.eigvals(graph_laplacian(W, kind))
        assert np.count_nonzero(np.abs(values) < 1e-9) == len(components)
    values = np.linalg.eigvalsh(graph_laplacian(W, "symmetric"))
    assert values.min() > -1e-12
    assert values.max() < 2 + 1e-12
    # 2 is an eigenvalue once for every bipartite component that has an edge.
    n_bipartite = sum(is_bipartite(W, c) for c in components if len(c) > 1)
    assert np.count_nonzero(values > 2 - 1e-9) == n_bipartite


def is_bipartite(W, component):
    color = {min(component): 0}
    front = [min(component)]
    while front:
        i = front.pop()
        for j in component:
            if W[i, j] and j not in color:
                color[j] = 1 - color[i]
                front.append(j)
    return all(color[i] != color[j] for i in component for j in component if W[i, j])


@pytest.mark.parametrize("n", [3, 4, 9])
@pytest.mark.parametrize(
    ("graph", "eigenvalues"),
    [
        (path, lambda n: 2 - 2 * np.cos(np.pi * np.arange(n) / n)),
        (ring, lambda n: 2 - 2 * np.cos(2 * np.pi * np.arange(n) / n)),
        (lambda n: np.ones((n, n)), lambda n: np.r_[0, np.full(n - 1, n)]),
    ],
    ids=["path", "ring", "complete"],
)
def test_known_spectra(graph, eigenvalues, n):
    values = np.linalg.eigvalsh(graph_laplacian(graph(n)))
    assert_close(values, np.sort(eigenvalues(n)))


def test_random_walk_is_not_symmetric_but_similar():
    W = path(5)
    L = graph_laplacian(W, "random_walk")
    assert np.abs(L - L.T).max() > 0.1
    root = np.sqrt(W.sum(axis=1))
    symmetric = graph_laplacian(W, "symmetric")
    assert_close(root[:, None] * L / root, symmetric)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_isolated_vertices_have_zero_rows(kind, container):
    W = np.pad(path(3), ((0, 2), (0, 2)))
    L = graph_laplacian(container(W), kind)
    L = L.toarray() if issparse(L) else L
    assert_array_equal(L[3:], 0)
    assert_array_equal(L[:, 3:], 0)
    assert_close(L[:3, :3], graph_laplacian(path(3), kind))
    assert_array_equal(graph_laplacian(container(np.zeros((1, 1))), kind).sum(), 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_self_loops_do_not_count(kind, container):
    W = ring(5)
    with_loops = graph_laplacian(container(W + np.diag([1.0, 0, 2, 0, 5])), kind)
    assert_array_equal(
        with_loops.toarray() if issparse(with_loops) else with_loops,
        graph_laplacian(W, kind),
    )


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_rounding_is_forgiven_and_more_is_not(container):
    W = ring(5)
    W[0, 1] += 1e-12
    W[0, 3] = W[3, 0] = -1e-14
    L = graph_laplacian(container(W))
    assert_array_equal((L - L.T).sum(), 0)
    W[0, 1] += 1e-3
    with pytest.raises(ValueError, match="W is not symmetric"):
        graph_laplacian(container(W))
    with pytest.raises(ValueError, match=r"W holds negative weights \(down to -1\)"):
        graph_laplacian(container(-ring(5)))
    with pytest.raises(ValueError, match="W must be square"):
        graph_laplacian(container(np.ones((2, 3))))
    with pytest.raises(ValueError, match="NaN"):
        graph_laplacian(container(np.full((2, 2), np.nan)))
    with pytest.raises(ValueError, match="laplacian='plain' is unknown; use one of"):
        graph_laplacian(container(ring(5)), "plain")


def test_weights_are_left_alone(rng):
    W = similarity_graph(rng.standard_normal((20, 2)))
    before = W.toarray()
    for kind in KINDS:
        graph_laplacian(W, kind)
    assert_array_equal(W.toarray(), before)


class TestPower:
    @pytest.mark.parametrize("power", range(6))
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("sparse", [True, False])
    def test_equals_dense_power(self, rng, kind, power, sparse, global_dtype):
        W = similarity_graph(rng.standard_normal((25, 2)).astype(global_dtype))
        L = graph_laplacian(W if sparse else W.toarray(), kind)
        operator = laplacian_power(L, power)
        dense = L.toarray() if sparse else L
        expected = np.linalg.matrix_power(dense.astype(np.float64), power)
        assert isinstance(operator, LinearOperator)
        assert operator.dtype == global_dtype
        assert operator.toarray().dtype == global_dtype
        scale = np.abs(expected).max() * 1e2
        assert_close(operator.toarray(), expected, scale=scale)
        assert_close(
            operator.H @ np.eye(25, dtype=global_dtype), expected.T, scale=scale
        )
        f = rng.standard_normal(25).astype(global_dtype)
        assert_close(operator @ f, expected @ f, scale=scale)
        assert (operator @ f).shape == (25,)
        assert (operator @ f[:, None]).shape == (25, 1)

    @pytest.mark.parametrize("power", range(6))
    @pytest.mark.parametrize("kind", ["unnormalized", "symmetric"])
    def test_quadratic_form(self, rng, kind, power):
        L = graph_laplacian(similarity_graph(rng.standard_normal((25, 2))), kind)
        operator = laplacian_power(L, power)
        F = rng.standard_normal((25, 3))
        expected = np.diag(F.T @ np.linalg.matrix_power(L.toarray(), power) @ F)
        assert_close(operator.quadratic_form(F), expected)
        assert operator.quadratic_form(F[:, 0]) == pytest.approx(expected[0])
        assert isinstance(operator.quadratic_form(F[:, 0]), float)

    @pytest.mark.parametrize("power", range(1, 6))
    def test_quadratic_form_is_never_negative(self, power):
        L = graph_laplacian(ring(50) / 3)
        assert laplacian_power(L, power).quadratic_form(np.full(50, 1e8 / 7)) >= 0

    def test_solves_like_any_operator(self, rng):
        L = graph_laplacian(ring(30))
        L[np.arange(30), np.arange(30)] += 1
        b = rng.standard_normal(30)
        x, failed = cg(laplacian_power(L, 2), b, rtol=1e-12)
        assert not failed
        assert_close(x, np.linalg.solve(L @ L, b), factor=100)

    def test_never_fills_in(self, rng):
        n = 3000
        hub = csr_array(
            (np.ones(n - 1), (np.zeros(n - 1, int), np.arange(1, n))), (n, n)
        )
        L = graph_laplacian(hub + hub.T)  # a star: L @ L is a full matrix
        tracemalloc.start()
        laplacian_power(L, 3) @ np.ones(n)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2e6

    @pytest.mark.parametrize("power", [-1, 0.5, 2.0, "2", True])
    def test_bad_power(self, power):
        with pytest.raises(ValueError, match=r"power=.* must be an integer"):
            laplacian_power(np.eye(2), power)

    def test_other_errors(self):
        with pytest.raises(ValueError, match="L must be square"):
            laplacian_power(np.ones((2, 3)), 1)
        random_walk = laplacian_power(graph_laplacian(path(3), "random_walk"), 2)
        with pytest.raises(ValueError, match="needs a symmetric Laplacian"):
            random_walk.quadratic_form(np.ones(3))
        with pytest.raises(ValueError, match="each of the 3 vertices"):
            laplacian_power(graph_laplacian(path(3)), 2).quadratic_form(np.ones(4))


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_a_large_weight_does_not_excuse_the_others(container):
    """Symmetry and sign are judged entry by entry."""
    W = np.array([[0, 1e4, 0], [1e4, 0, 0.5], [0, 0, 0]], dtype=np.float32)
    with pytest.raises(ValueError, match="not symmetric"):
        graph_laplacian(container(W))
    W = np.array([[0, 1e4, 0], [1e4, 0, -1], [0, -1, 0]], dtype=np.float32)
    with pytest.raises(ValueError, match="negative weights"):
        graph_laplacian(container(W))


def test_power_zero_returns_a_copy():
    f = np.ones(3)
    g = laplacian_power(np.zeros((3, 3)), 0) @ f
    g += 1
    assert_array_equal(f, 1)
