"""Centring, scaling and whitening."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from numpy.testing import assert_allclose
from scipy import linalg
from sklearn.metrics.pairwise import linear_kernel
from sklearn.preprocessing import KernelCenterer, Normalizer, StandardScaler

from fewlabels.decomposition import RowCenterer, ZCAWhitening
from tests.helpers import assert_close


class TestCentring:
    """Which axis: features for PCA and regression, rows for signals."""

    def test_features(self, rng):
        X = rng.normal(size=(20, 3)) + 5
        assert_allclose(
            StandardScaler(with_std=False).fit_transform(X), X - X.mean(axis=0)
        )

    def test_rows(self, rng, global_dtype):
        X = (rng.normal(size=(20, 3)) + 5).astype(global_dtype)
        Z = RowCenterer().fit_transform(X)
        assert Z.dtype == global_dtype
        assert_close(Z.mean(axis=1), np.zeros(20), scale=100)
        assert_allclose(Z, RowCenterer().fit(X[:1]).transform(X))

    def test_lengths(self, rng):
        Z = Normalizer("l2").fit_transform(rng.normal(size=(20, 3)))
        assert_allclose(linalg.norm(Z, axis=1), 1)

    def test_kernels(self, rng):
        X = rng.normal(size=(10, 3))
        K = KernelCenterer().fit_transform(linear_kernel(X))
        H = np.eye(10) - 0.1
        assert_allclose(K, H @ linear_kernel(X) @ H, atol=1e-12)
        assert_allclose(K, linear_kernel(X - X.mean(axis=0)), atol=1e-12)


class TestZCA:
    def test_covariance_is_the_identity(self, rng, global_dtype):
        X = (rng.normal(size=(100, 4)) @ rng.normal(size=(4, 4))).astype(global_dtype)
        Z = ZCAWhitening().fit_transform(X)
        assert_close(np.cov(Z, rowvar=False, dtype=global_dtype), np.eye(4), factor=100)
        assert Z.dtype == global_dtype

    def test_units(self, rng):
        X = rng.normal(size=(100, 3)) * [1e9, 1.0, 1e-3]
        Z = ZCAWhitening().fit_transform(X)
        assert_allclose(np.cov(Z, rowvar=False), np.eye(3), atol=1e-6)

    def test_formula(self, rng):
        X = rng.normal(size=(50, 3))
        values, V = linalg.eigh(np.cov(X, rowvar=False))
        model = ZCAWhitening(eps=0.5).fit(X)
        assert_allclose(model.whitening_, V / np.sqrt(values + 0.5) @ V.T)

    def test_of_all_whitenings_it_moves_rows_least(self, rng):
        X = rng.normal(size=(100, 3)) @ rng.normal(size=(3, 3))
        X -= X.mean(axis=0)
        Z = ZCAWhitening().fit_transform(X)
        least = linalg.norm(Z - X)
        for _ in range(20):
            Q = linalg.qr(rng.normal(size=(3, 3)))[0]
            assert linalg.norm(Z @ Q - X) >= least

    def test_back_again(self, rng):
        X = rng.normal(size=(30, 4))
        for eps in (0.0, 0.3):
            model = ZCAWhitening(eps=eps).fit(X)
            assert_allclose(model.inverse_transform(model.transform(X)), X)

    def test_directions_without_variance(self, rng):
        X = np.column_stack([rng.normal(size=(20, 2)), np.ones(20)])
        Z = ZCAWhitening().fit_transform(X)
        assert_allclose(np.cov(Z, rowvar=False), np.diag([1.0, 1.0, 0.0]), atol=1e-10)
        # More features than rows: the identity on what there is.
        X = rng.normal(size=(5, 8))
        Z = ZCAWhitening().fit_transform(X)
        values = linalg.eigvalsh(np.cov(Z, rowvar=False))
        assert_allclose(values, [0, 0, 0, 0, 1, 1, 1, 1], atol=1e-8)
        # With eps, a direction without variance is worth 1 / sqrt(eps).
        model = ZCAWhitening(eps=0.25).fit(X)
        assert_allclose(linalg.eigvalsh(model.whitening_)[-1], 2.0)
