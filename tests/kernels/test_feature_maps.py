"""Nyström and pivoted Cholesky features."""

# SPDX-License-Identifier: BSD-3-Clause

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from fewlabels.kernels import (
    DenseGram,
    NystromFeatures,
    PivotedCholeskyFeatures,
    TiledGram,
    pivoted_cholesky,
    ridge_leverage_scores,
)
from tests.helpers import assert_close
from tests.kernels.suite import rows
from tests.reference.kernels import pivoted_cholesky_by_loops

LANDMARKS = ["uniform", "kmeans", "leverage"]
FEATURE_MAPS = {
    **{
        f"Nyström {landmarks}": NystromFeatures(
            8, landmarks=landmarks, gamma=0.4, random_state=0
        )
        for landmarks in LANDMARKS
    },
    "pivoted Cholesky": PivotedCholeskyFeatures(tol=1e-3, gamma=0.4),
}


@pytest.mark.parametrize("name", FEATURE_MAPS)
class TestEveryFeatureMap:
    def test_approximates_from_below(self, name, rng):
        X = rows(rng, n=40)
        features = FEATURE_MAPS[name]
        Z = features.fit_transform(X)
        left = rbf_kernel(X, gamma=0.4) - Z @ Z.T
        # The rest of a Nyström approximation is a Schur complement: psd.
        assert np.linalg.eigvalsh(left)[0] >= -1e-9
        assert np.trace(left) < np.trace(rbf_kernel(X, gamma=0.4))

    def test_new_rows(self, name, rng):
        X = rows(rng, n=40)
        features = FEATURE_MAPS[name].fit(X)
        Z = features.transform(X)
        assert_close(features.fit_transform(X), Z, scale=1, factor=10)
        assert_close(features.transform(X[:3]), Z[:3], scale=1, factor=10)
        names = features.get_feature_names_out()
        assert len(names) == Z.shape[1]

    def test_exact_on_landmarks(self, name, rng):
        """k(x, landmark) is reproduced for any x, seen or not."""
        X, X_new = rows(rng, n=40), rng.normal(size=(6, 4))
        features = FEATURE_MAPS[name].fit(X)
        R = features.landmarks_
        inner = features.transform(X_new) @ features.transform(R).T
        assert_close(inner, features.kernel_(X_new, R), scale=1, factor=100)

    def test_duplicates_and_constants(self, name):
        """One distinct row: rank one, and no division by rounding errors."""
        X = np.ones((20, 3))
        Z = FEATURE_MAPS[name].fit_transform(X)
        assert Z.shape == (20, 1)
        assert_close(Z @ Z.T, np.ones((20, 20)))

    def test_a_kernel_of_zeros(self, name):
        features = FEATURE_MAPS[name]
        features = type(features)(kernel="linear").fit(np.zeros((5, 2)))
        assert features.transform(np.ones((2, 2))).shape == (2, 0)

    def test_float32(self, name, rng):
        X = rows(rng, n=40, dtype=np.float32)
        Z = FEATURE_MAPS[name].fit_transform(X)
        assert Z.dtype == np.float32
        left = rbf_kernel(X.astype(np.float64), gamma=0.4) - Z @ Z.T
        assert np.linalg.eigvalsh(left)[0] >= -1e-4

    def test_sparse_rows(self, name, rng):
        X = rows(rng, n=40)
        X[X < 0.5] = 0
        thin = FEATURE_MAPS[name].fit_transform(sparse.csr_array(X))
        dense = FEATURE_MAPS[name].fit_transform(X)
        assert_close(thin @ thin.T, dense @ dense.T, scale=1, factor=100)

    def test_precomputed(self, name, rng):
        if "kmeans" in name:
            pytest.skip("k-means needs the rows themselves")
        X, X_new = rows(rng, n=40), rows(rng, n=5)
        by_rows = FEATURE_MAPS[name].fit(X)
        params = {**by_rows.get_params(), "kernel": "precomputed", "gamma": "scale"}
        by_matrix = type(by_rows)(**params).fit(rbf_kernel(X, gamma=0.4))
        assert_array_equal(by_matrix.landmark_indices_, by_rows.landmark_indices_)
        assert_close(
            by_matrix.transform(rbf_kernel(X_new, X, gamma=0.4)),
            by_rows.transform(X_new),
            scale=1,
            factor=1000,
        )
        with pytest.raises(ValueError, match="square kernel matrix"):
            by_matrix.fit(rbf_kernel(X_new, X))


def test_nystrom_is_that_of_scikit_learn_when_nothing_is_truncated(rng):
    X = rng.normal(size=(50, 3))
    ours = NystromFeatures(10, gamma=2.0, random_state=3).fit(X)
    theirs = Nystroem(n_components=10, gamma=2.0, random_state=3).fit(
        X[ours.landmark_indices_]
    )
    Z, T = ours.transform(X), theirs.transform(X)
    assert_close(Z @ Z.T, T @ T.T, scale=1, factor=10)


def test_nystrom_is_exact_at_full_rank(rng):
    """Exact recovery as soon as the landmarks span the features."""
    X = rng.normal(size=(60, 4))
    Z = NystromFeatures(10, kernel="linear", random_state=0).fit_transform(X)
    assert Z.shape[1] == 4
    assert_close(Z @ Z.T, X @ X.T, factor=10)


def test_nystrom_rank_keeps_the_leading_directions(rng):
    X = rng.normal(size=(60, 4)) * [10, 5, 1, 0.1]
    full = NystromFeatures(30, kernel="linear", random_state=0).fit_transform(X)
    cut = NystromFeatures(
        30, kernel="linear", n_components=2, random_state=0
    ).fit_transform(X)
    assert cut.shape == (60, 2)
    assert_close(cut, full[:, :2], scale=1)


def test_better_landmarks_approximate_better():
    """On clustered data of unequal size, k-means and leverage find the small one."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(950, 2)), rng.normal(20, 1, size=(50, 2))])
    K = rbf_kernel(X, gamma=0.5)

    def error(landmarks):
        residuals = []
        for seed in range(5):
            Z = NystromFeatures(
                100, landmarks=landmarks, gamma=0.5, random_state=seed
            ).fit_transform(X)
            residuals.append(np.trace(K - Z @ Z.T))
        return np.mean(residuals)

    uniform = error("uniform")
    assert error("leverage") < 0.5 * uniform
    assert error("kmeans") < 0.5 * uniform


def test_kmeans_needs_rows(rng):
    with pytest.raises(ValueError, match="landmarks='kmeans' needs the rows"):
        NystromFeatures(kernel="precomputed", landmarks="kmeans").fit(np.eye(5))


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 100.0])
def test_leverage_scores_from_all_rows_are_exact(rng, ridge):
    K = rbf_kernel(rng.normal(size=(200, 2)), gamma=0.5)
    exact = np.diag(K @ np.linalg.inv(K + ridge * np.eye(200)))
    scores = ridge_leverage_scores(K, np.arange(200), np.diag(K), ridge)
    assert_close(scores, exact, scale=1, factor=1e3)


def test_leverage_scores_from_some_rows(rng):
    K = rbf_kernel(rng.normal(size=(200, 2)), gamma=0.5)
    exact = np.diag(K @ np.linalg.inv(K + np.eye(200)))
    some = rng.choice(200, size=100, replace=False)
    estimate = ridge_leverage_scores(K[:, some], some, np.diag(K), 1.0)
    assert np.mean(np.abs(estimate - exact)) < 0.5 * np.mean(exact)
    with pytest.raises(ValueError, match="alpha must be positive"):
        ridge_leverage_scores(K[:, some], some, np.diag(K), 0.0)


@given(
    n=st.integers(1, 15),
    rank=st.integers(0, 5),
    copies=st.booleans(),
    seed=st.integers(0, 100),
)
def test_pivoted_cholesky_against_the_slow_twin(n, rank, copies, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, rank))
    if copies:
        X = X[rng.integers(n, size=n)]
    K = X @ X.T
    result = pivoted_cholesky(DenseGram(K), tol=0)
    assert result.converged
    assert result.factor.shape[1] <= min(rank, n)
    assert_close(result.factor @ result.factor.T, K, scale=n, factor=10)
    Z, pivots = pivoted_cholesky_by_loops(K, tol=1e-9)
    same = min(len(pivots), len(result.pivots))
    if not copies and len(set(np.diag(K))) == n:
        assert_array_equal(result.pivots[:same], pivots[:same])
        twin = np.reshape(Z, (-1, n)).T
        assert_close(result.factor[:, :same], twin[:, :same], scale=1, factor=1e3)


def test_pivoted_cholesky_is_that_of_lapack(rng):
    K = rbf_kernel(rng.normal(size=(80, 2)), gamma=2.0)
    result = pivoted_cholesky(DenseGram(K), n_components=20, tol=0)
    factor, pivots, _, _ = lapack.dpstrf(K, lower=1)
    assert_array_equal(result.pivots, pivots[:20] - 1)
    lower = np.tril(factor)[:, :20]
    assert_close(result.factor[pivots - 1], lower, scale=1, factor=10)


def test_pivot_rows_are_triangular(rng):
    result = pivoted_cholesky(TiledGram(rng.normal(size=(200, 2)), gamma=0.5))
    T = result.factor[result.pivots]
    assert_array_equal(T, np.tril(T))
    assert np.all(np.diag(T) > 0)
    assert np.all(np.diff(np.diag(T)) <= 1e-12)  # greedy: pivots never grow


@pytest.mark.parametrize("tol", [0.5, 1e-2, 1e-8])
def test_tolerance_is_kept(rng, tol):
    X = rng.normal(size=(300, 3))
    result = pivoted_cholesky(TiledGram(X, gamma=0.5), tol=tol)
    left = 300 - np.sum(result.factor**2)
    assert result.converged
    assert left <= tol * 300 * (1 + 1e-6)
    assert result.residual == pytest.approx(left / 300, abs=1e-12)
    # One pivot fewer would not have been enough.
    assert 300 - np.sum(result.factor[:, :-1] ** 2) > tol * 300


def test_more_pivots_than_one_block(rng):
    """The factor grows several times."""
    K = rbf_kernel(rng.normal(size=(200, 5)), gamma=1.0)
    result = pivoted_cholesky(DenseGram(K), tol=1e-12)
    assert result.factor.shape[1] > 128
    assert_close(result.factor @ result.factor.T, K, scale=1, factor=10)


def test_max_rank_before_the_tolerance_is_a_warning(rng):
    X = rng.normal(size=(50, 5))
    with pytest.warns(ConvergenceWarning, match="n_components=3 was reached"):
        PivotedCholeskyFeatures(3, gamma=1.0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PivotedCholeskyFeatures(50, gamma=1.0).fit(X)


@pytest.mark.parametrize(
    "K", [-np.eye(3), np.array([[1.0, 2], [2, 1]]), np.array([[1.0, 1], [1, 0]])]
)
def test_indefinite_matrices_are_refused(K):
    with pytest.raises(ValueError, match="not positive semidefinite"):
        pivoted_cholesky(DenseGram(K))


def test_a_matrix_from_lower_precision(rng):
    """Rounded to float32 and stored in float64, it is psd to the tolerance."""
    X = rng.normal(size=(200, 2)).astype(np.float32)
    K = (X @ X.T).astype(np.float64)
    assert np.linalg.eigvalsh(K)[0] < -1e-9
    result = pivoted_cholesky(DenseGram(K), tol=1e-5)
    assert result.pivots.size == 2
    assert_close(result.factor @ result.factor.T, K, scale=1e3 * K.max())


@pytest.mark.parametrize("n", [500, 20_000])
def test_float32_reaches_what_it_promises(n):
    """Rounding limits the accuracy by the precision, not by the number of rows."""
    X = np.random.default_rng(0).uniform(size=(n, 2)).astype(np.float32)
    result = pivoted_cholesky(TiledGram(X, gamma=1.0), tol=1e-5)
    assert result.converged
    assert result.residual <= 1e-5
    with pytest.warns(ConvergenceWarning, match="rounding errors of float32"):
        PivotedCholeskyFeatures(tol=1e-12, gamma=1.0).fit(X)


@pytest.mark.parametrize(
    ("params", "message"), [({"n_components": 0}, "n_components"), ({"tol": -1}, "tol")]
)
def test_bad_limits(params, message):
    with pytest.raises(ValueError, match=message):
        pivoted_cholesky(DenseGram(np.eye(3)), **params)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_leverage_of_low_rank_kernels(kernel, global_dtype):
    """K_RR is singular far below the number of landmarks."""
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(300, 2)).astype(global_dtype)
        features = NystromFeatures(
            50, kernel=kernel, landmarks="leverage", random_state=seed
        )
        Z = features.fit_transform(X)
        K = features.kernel_(X)
        assert_close(Z @ Z.T, K, scale=np.abs(K).max(), factor=1e3)


def test_leverage_needs_a_psd_kernel(rng):
    with pytest.raises(ValueError, match="needs a positive semidefinite kernel"):
        NystromFeatures(
            20,
            kernel="sigmoid",
            gamma=1.0,
            kernel_params={"coef0": -1},
            landmarks="leverage",
        ).fit(rng.normal(size=(60, 3)))


@pytest.mark.slow
def test_no_more_than_the_factor_is_held():
    """Peak memory of a process of its own, as the system counts it."""
    code = """
import resource
import numpy as np
from fewlabels.kernels import TiledGram, pivoted_cholesky

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

X = np.random.default_rng(0).normal(size=(40_000, 3))
pivoted_cholesky(TiledGram(X[:1000], gamma=0.3))
TiledGram(X, gamma=0.3).columns([0, 1, 2])
before = peak()
factor = pivoted_cholesky(TiledGram(X, gamma=0.3), tol=1e-5).factor
print((peak() - before) / factor.nbytes, factor.shape[1])
"""
    pytest.importorskip("resource")
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    share, rank = map(float, run.stdout.split())
    assert rank > 100
    assert share < 1.3  # the factor, 16 columns to grow by, and some columns of K


def test_operators_are_asked_for():
    with pytest.raises(TypeError, match="wrap a matrix as DenseGram"):
        pivoted_cholesky(np.eye(3))
