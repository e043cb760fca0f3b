"""Unfoldings and the higher-order SVD."""

# SPDX-License-Identifier: BSD-3-Clause

import builtins
from functools import reduce
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import khatri_rao

import fewlabels.tensor
from fewlabels.tensor import fold, hosvd, is_supersymmetric, unfold, vec
from fewlabels.tensor._algebra import cp_tensor, mode_products, rank_one

ORDERS = ["kolda", "kiers", "lmv"]
SHAPE = (2, 3, 4, 5)


@pytest.fixture
def tensor(rng):
    return rng.normal(size=SHAPE)


def printed_column(index, mode, order, shape):
    """Column of an entry by the index formulas of the text, all from 0."""
    N = len(shape)
    if order == "kolda":
        axes = [k for k in range(N) if k != mode]
    elif order == "kiers":
        axes = [(mode + k) % N for k in range(1, N)]
    else:
        axes = [(mode - k) % N for k in range(1, N)]
    # The first of the axes is fastest.
    steps = np.cumprod([1, *[shape[a] for a in axes[:-1]]])
    return sum(index[a] * step for a, step in zip(axes, steps, strict=True))


class TestUnfold:
    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("mode", range(4))
    def test_places_of_entries(self, tensor, mode, order):
        A = unfold(tensor, mode, order=order)
        for index in product(*map(range, SHAPE)):
            column = printed_column(index, mode, order, SHAPE)
            assert A[index[mode], column] == tensor[index]

    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("mode", [0, 1, 2, 3, -1])
    def test_fold_is_the_inverse(self, tensor, mode, order):
        A = unfold(tensor, mode, order=order)
        assert_array_equal(fold(A, mode, SHAPE, order=order), tensor)

    @pytest.mark.parametrize("mode", range(4))
    def test_conventions_permute_columns(self, tensor, mode):
        found = [unfold(tensor, mode, order=order) for order in ORDERS]
        for A in found[1:]:
            assert {tuple(c) for c in A.T} == {tuple(c) for c in found[0].T}
            assert_allclose(np.linalg.svd(A)[1], np.linalg.svd(found[0])[1], atol=1e-12)

    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("mode", range(4))
    def test_a_mode_product_is_a_matrix_product(self, tensor, mode, order, rng):
        matrices = [np.eye(size) for size in SHAPE]
        matrices[mode] = rng.normal(size=(7, SHAPE[mode]))
        Y = mode_products(tensor, matrices)
        assert_allclose(
            unfold(Y, mode, order=order),
            matrices[mode] @ unfold(tensor, mode, order=order),
        )

    def test_only_kolda_goes_with_khatri_rao(self, rng):
        factors = [rng.normal(size=(size, 2)) for size in (3, 4, 5)]
        T = cp_tensor(factors)
        fits = {}
        for mode, order in product(range(3), ORDERS):
            rest = [factors[k] for k in (2, 1, 0) if k != mode]
            expected = factors[mode] @ khatri_rao(*rest).T
            fits[mode, order] = np.allclose(unfold(T, mode, order=order), expected)
        assert all(fits[mode, "kolda"] for mode in range(3))
        assert not fits[1, "kiers"]
        assert not fits[0, "lmv"]
        assert not fits[2, "lmv"]

    def test_bad_arguments(self, tensor):
        with pytest.raises(ValueError, match="order='tucker'"):
            unfold(tensor, 0, order="tucker")
        with pytest.raises(ValueError, match="mode=4 is none of the 4"):
            unfold(tensor, 4)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.sampled_from(ORDERS),
    st.data(),
)
def test_any_shape_folds_back(shape, order, data):
    mode = data.draw(st.integers(0, len(shape) - 1))
    T = np.arange(np.prod(shape)).reshape(shape)
    A = unfold(T, mode, order=order)
    assert A.shape == (shape[mode], T.size // shape[mode])
    assert_array_equal(fold(A, mode, shape, order=order), T)


class TestAlgebra:
    def test_vec_of_a_tucker_product(self, rng):
        G = rng.normal(size=(2, 3, 2))
        U = [rng.normal(size=(4, 2)), rng.normal(size=(2, 3)), rng.normal(size=(3, 2))]
        K = reduce(np.kron, U[::-1])
        assert_allclose(vec(mode_products(G, U)), K @ vec(G))

    def test_modes_commute(self, tensor, rng):
        A, B = rng.normal(size=(6, 3)), rng.normal(size=(6, 5))
        ones = [np.eye(size) for size in SHAPE]
        first = mode_products(tensor, [ones[0], A, ones[2], ones[3]])
        second = mode_products(tensor, [ones[0], ones[1], ones[2], B])
        both = mode_products(tensor, [ones[0], A, ones[2], B])
        assert_allclose(mode_products(first, [np.eye(2), np.eye(6), ones[2], B]), both)
        assert_allclose(mode_products(second, [np.eye(2), A, ones[2], np.eye(6)]), both)

    def test_rank_one(self, rng):
        a, b, c = (rng.normal(size=k) for k in (2, 3, 4))
        assert_allclose(rank_one([a, b, c]), np.einsum("i,j,k->ijk", a, b, c))

    def test_cp_is_a_single_sum(self, rng):
        U = [rng.normal(size=(k, 3)) for k in (2, 3, 4)]
        assert_allclose(cp_tensor(U), np.einsum("ir,jr,kr->ijk", *U))
        assert_array_equal(cp_tensor([u[:, :0] for u in U]), np.zeros((2, 3, 4)))

    def test_supersymmetry_needs_every_permutation(self, rng):
        T = rng.normal(size=(3, 3, 3))
        symmetric = sum(T.transpose(axes) for axes in permutations(range(3)))
        assert is_supersymmetric(symmetric)
        assert not is_supersymmetric(T)
        # Invariant under cyclic shifts, but not under exchanges.
        cyclic = T + T.transpose(1, 2, 0) + T.transpose(2, 0, 1)
        assert not is_supersymmetric(cyclic)
        assert not is_supersymmetric(np.zeros((2, 3)))


class TestHOSVD:
    def test_exact_at_full_rank(self, tensor):
        found = hosvd(tensor)
        assert_allclose(found.reconstruct(), tensor, atol=1e-12)
        for U in found.factors:
            assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-12)

    def test_slices_are_orthogonal_with_falling_norms(self, tensor):
        found = hosvd(tensor)
        for mode, values in enumerate(found.singular_values):
            slices = unfold(found.core, mode)
            assert_allclose(slices @ slices.T, np.diag(values**2), atol=1e-10)
            assert (np.diff(values) <= 0).all()

    def test_error_of_a_truncation(self, tensor):
        tensorly = pytest.importorskip("tensorly.decomposition")
        ranks = (1, 2, 2, 3)
        found = hosvd(tensor, ranks)
        error = np.sum((found.reconstruct() - tensor) ** 2)
        dropped = sum(
            np.sum(values[rank:] ** 2)
            for values, rank in zip(found.singular_values, ranks, strict=True)
        )
        core, factors = tensorly.tucker(tensor, rank=ranks, n_iter_max=200)
        best = np.sum((mode_products(core, factors) - tensor) ** 2)
        assert best <= error + 1e-10
        assert error <= dropped
        assert error <= 4 * best

    def test_long_modes(self, rng):
        T = rng.normal(size=(10, 2, 2))
        found = hosvd(T)
        assert found.core.shape == (4, 2, 2)
        assert_allclose(found.reconstruct(), T, atol=1e-12)

    @pytest.mark.parametrize("ranks", [(1, 2), (0, 1, 1, 1), (3, 1, 1, 1)])
    def test_bad_ranks(self, tensor, ranks):
        with pytest.raises(ValueError, match="n_components"):
            hosvd(tensor, ranks)


class TestTensorly:
    def test_names_are_passed_on(self):
        decomposition = pytest.importorskip("tensorly.decomposition")
        assert fewlabels.tensor.CP is decomposition.CP
        assert fewlabels.tensor.tucker is decomposition.tucker
        for name in fewlabels.tensor._TENSORLY:
            assert callable(getattr(fewlabels.tensor, name))
        assert "mode_dot" in dir(fewlabels.tensor)

    def test_its_helpers_agree_with_ours(self, tensor, rng):
        pytest.importorskip("tensorly")
        U = rng.normal(size=(6, 4))
        ours = mode_products(tensor, [np.eye(2), np.eye(3), U, np.eye(5)])
        assert_allclose(fewlabels.tensor.mode_dot(tensor, U, 2), ours)

    def test_its_unfolding_is_another_one(self, tensor):
        tl = pytest.importorskip("tensorly")
        for mode in range(4):
            theirs = tl.unfold(tensor, mode)
            assert not np.array_equal(theirs, unfold(tensor, mode))
            same = np.array_equal(theirs, unfold(tensor, mode, order="lmv"))
            assert same == (mode in (0, 3))

    def test_the_extra_is_named(self, monkeypatch):
        import importlib

        def refuse(name):
            raise ImportError(name)

        monkeypatch.setattr(importlib, "import_module", refuse)
        with pytest.raises(ImportError, match=r"fewlabels\[tensor\]"):
            fewlabels.tensor.CP  # noqa: B018
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            fewlabels.tensor.nothing  # noqa: B018
        assert builtins.hasattr(fewlabels.tensor, "hosvd")
