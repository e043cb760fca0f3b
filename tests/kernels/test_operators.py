"""Gram operators: every representation is the same matrix."""

# SPDX-License-Identifier: BSD-3-Clause

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer

from fewlabels.kernels import (
    CenteredGram,
    DenseGram,
    Kernel,
    LowRankGram,
    NystromFeatures,
    PivotedCholeskyFeatures,
    TiledGram,
    gram_operator,
)
from tests.helpers import assert_close
from tests.kernels.suite import GramSuite, SparseInputChecks, rows

GAMMA = 0.4
TINY_BUDGET = 3 * 8 * 25 / 2**20  # tiles of 5 x 5 in float64


class TestDense(GramSuite):
    def make(self, X):
        return DenseGram(rbf_kernel(X, gamma=GAMMA))

    def expected(self, X):
        return rbf_kernel(X, gamma=GAMMA)


class TestTiled(GramSuite, SparseInputChecks):
    def make(self, X):
        return TiledGram(X, "rbf", gamma=GAMMA, memory_budget=TINY_BUDGET)

    def expected(self, X):
        return rbf_kernel(X, gamma=GAMMA)


class TestTiledThreads(TestTiled):
    def make(self, X):
        return TiledGram(X, "rbf", gamma=GAMMA, memory_budget=TINY_BUDGET, n_jobs=2)


class TestTiledLinear(TestTiled):
    def make(self, X):
        return TiledGram(X, "linear", memory_budget=TINY_BUDGET)

    def expected(self, X):
        return X @ X.T


class TestTiledCallable(GramSuite):
    def make(self, X):
        kernel = Kernel(lambda x, z: float(np.minimum(x, z).sum()))
        return TiledGram(X, kernel, memory_budget=TINY_BUDGET)

    def expected(self, X):
        return np.minimum(X[:, None], X[None]).sum(axis=2)


class TestLowRank(GramSuite):
    def make(self, X):
        return LowRankGram(X)

    def expected(self, X):
        return X @ X.T


class TestNystromAllLandmarks(GramSuite, SparseInputChecks):
    """With every row as a landmark the Nyström kernel is the kernel."""

    def make(self, X):
        features = NystromFeatures(len_rows(X), kernel="linear", random_state=0)
        return LowRankGram(features.fit_transform(X))

    def expected(self, X):
        return X @ X.T


class TestPivotedCholesky(GramSuite, SparseInputChecks):
    def make(self, X):
        features = PivotedCholeskyFeatures(tol=0, gamma=GAMMA)
        return LowRankGram(features.fit_transform(X))

    def expected(self, X):
        return rbf_kernel(X, gamma=GAMMA)


class TestCentered(GramSuite):
    def make(self, X):
        return CenteredGram(TiledGram(X, "rbf", gamma=GAMMA))

    def expected(self, X):
        K = rbf_kernel(X.astype(np.float64), gamma=GAMMA)
        return KernelCenterer().fit_transform(K)


def len_rows(X):
    return X.shape[0]


@given(n=st.integers(1, 40), edge=st.integers(1, 45), m=st.integers(1, 3))
def test_tiles_of_any_size(n, edge, m):
    rng = np.random.default_rng(n)
    X, V = rng.normal(size=(n, 3)), rng.normal(size=(n, m))
    gram = TiledGram(X, "rbf", gamma=0.3)
    gram.tile_edge = edge
    assert_close(gram @ V, rbf_kernel(X, gamma=0.3) @ V, factor=10)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_do_not_change_a_bit(rng, n_jobs):
    X, v = rng.normal(size=(300, 3)), rng.normal(size=300)
    one, several = TiledGram(X, gamma=0.3), TiledGram(X, gamma=0.3, n_jobs=n_jobs)
    one.tile_edge = several.tile_edge = 64
    assert_array_equal(one @ v, several @ v)


def test_tiles_keep_to_the_memory_budget(rng):
    n, budget = 3000, 4
    X, v = rng.normal(size=(n, 5)), rng.normal(size=n)
    gram = TiledGram(X, gamma=0.3, memory_budget=budget)
    gram @ v  # what is allocated once (thread pools, caches) does not count
    tracemalloc.start()
    gram @ v
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    vectors = 8 * n * 8  # strips in flight and the result
    assert peak < budget * 2**20 + vectors
    assert peak < n * n * 8 / 10


@pytest.mark.parametrize(
    "kernel", [Kernel("rbf"), Kernel("laplacian"), Kernel(Matern()), Kernel("poly")]
)
def test_tiles_keep_to_the_memory_budget_whatever_the_kernel(rng, kernel, global_dtype):
    n, budget = 1200, 4
    X = rng.normal(size=(n, 5)).astype(global_dtype)
    v = np.ones(n, dtype=global_dtype)
    gram = TiledGram(X, kernel, memory_budget=budget)
    gram @ v
    tracemalloc.start()
    gram @ v
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < budget * 2**20 + 8 * n * 8


def test_no_columns_at_all(rng):
    X = rng.normal(size=(7, 2))
    for gram in (
        DenseGram(X @ X.T),
        TiledGram(X),
        LowRankGram(X),
        TiledGram(X).centered(),
    ):
        assert gram.columns([]).shape == (7, 0)
        np.testing.assert_allclose(gram.columns(3), gram.toarray()[:, [3]], atol=1e-12)


def test_memory_budget_decides_the_representation(rng):
    X = rng.normal(size=(200, 3))  # 200 x 200 float64 = 0.305 MiB
    assert isinstance(gram_operator(X, memory_budget=0.31), DenseGram)
    assert isinstance(gram_operator(X, memory_budget=0.30), TiledGram)
    assert isinstance(
        gram_operator(X.astype(np.float32), memory_budget=0.16), DenseGram
    )
    assert isinstance(gram_operator(X, representation="tiled"), TiledGram)
    K = rbf_kernel(X)
    assert isinstance(gram_operator(K, "precomputed"), DenseGram)


def test_all_representations_agree(rng):
    X = rows(rng, n=60)
    kernel = Kernel("rbf", {"gamma": GAMMA})
    V = rng.normal(size=(60, 2))
    exact = kernel(X) @ V
    for gram in [
        gram_operator(X, kernel, representation="dense"),
        gram_operator(X, kernel, representation="tiled", memory_budget=0.01),
        LowRankGram(
            PivotedCholeskyFeatures(kernel="rbf", gamma=GAMMA, tol=1e-14).fit_transform(
                X
            )
        ),
    ]:
        assert_close(gram @ V, exact, scale=60, factor=10)


def test_centring_of_new_rows_is_that_of_scikit_learn(rng):
    X, X_new = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    K, K_new = rbf_kernel(X), rbf_kernel(X_new, X)
    centerer = KernelCenterer().fit(K)
    centered = DenseGram(K).centered()
    assert_close(centered.center_new(K_new), centerer.transform(K_new), scale=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DenseGram(np.ones((2, 3))), "K must be square"),
        (lambda: TiledGram(np.eye(2), "precomputed"), "use DenseGram"),
        (
            lambda: TiledGram(np.eye(2), memory_budget=0),
            "memory_budget must be positive",
        ),
        (
            lambda: gram_operator(np.eye(2), representation="lazy"),
            "representation='lazy'",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
