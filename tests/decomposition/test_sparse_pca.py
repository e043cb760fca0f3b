"""Sparse PCA by regression, and what it is made of."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from fewlabels.decomposition import (
    ElasticNetSparsePCA,
    elastic_net,
    sparse_loadings,
    subspace_distance,
)


@pytest.fixture
def X(rng):
    X = rng.normal(size=(50, 6)) * [3.0, 2.5, 2.0, 1.0, 0.8, 0.5]
    X = X @ linalg.qr(rng.normal(size=(6, 6)))[0]
    return X - X.mean(axis=0)


def subgradient_error(X, target, b, alpha, ridge_alpha):
    """How far b is from the conditions of its elastic net."""
    gradient = 2 * X.T @ (X @ b - target) + 2 * ridge_alpha * b
    on = b != 0
    error = np.max(np.abs(gradient[on] + alpha * np.sign(b[on])), initial=0.0)
    return max(error, np.max(np.abs(gradient[~on]) - alpha, initial=0.0))


class TestElasticNet:
    @pytest.mark.parametrize(
        ("alpha", "ridge_alpha"), [(5.0, 2.0), (5.0, 0.0), (0.0, 2.0)]
    )
    def test_conditions(self, rng, X, alpha, ridge_alpha):
        y = X @ rng.normal(size=6) + rng.normal(size=50)
        b = elastic_net(X, y, alpha=alpha, ridge_alpha=ridge_alpha)
        assert subgradient_error(X, y, b, alpha, ridge_alpha) < 1e-9
        assert_allclose(
            elastic_net(X, y, alpha=alpha, ridge_alpha=ridge_alpha, rescale=True),
            (1 + ridge_alpha) * b,
        )

    @pytest.mark.parametrize("noise", [0.0, 1e-4])
    def test_features_that_are_almost_copies(self, rng, noise):
        """Coordinate descent alone takes 100,000 cycles, and then gives up."""
        X = np.repeat(rng.normal(size=(50, 3)), 4, axis=1)
        X += noise * rng.normal(size=X.shape)
        y = X @ np.ones(12) + rng.normal(size=50)
        b = elastic_net(X, y, alpha=5.0, ridge_alpha=1e-3)
        assert subgradient_error(X, y, b, 5.0, 1e-3) < 1e-7
        if noise == 0:
            assert_allclose(b, np.repeat(b[::4], 4), rtol=1e-6)

    def test_copies_without_a_ridge(self, X):
        """There are many solutions, and the equations for given signs are singular."""
        copied = np.hstack([X, X])
        b = elastic_net(copied, X @ np.arange(6.0), alpha=5.0, ridge_alpha=0.0)
        assert subgradient_error(copied, X @ np.arange(6.0), b, 5.0, 0.0) < 1e-5

    def test_neither_penalty(self, X):
        """The shortest of the least-squares solutions."""
        copied = np.hstack([X, X[:, :1]])
        y = X @ np.arange(6.0)
        b = elastic_net(copied, y, alpha=0.0, ridge_alpha=0.0)
        assert_allclose(b, linalg.lstsq(copied, y)[0], atol=1e-8)

    def test_bad_arguments(self, X):
        with pytest.raises(ValueError, match="ridge_alpha"):
            elastic_net(X, X[:, 0], alpha=1.0, ridge_alpha=-1.0)


class TestPCAAsRegression:
    """What makes components out of regressions."""

    def test_ridge_of_a_score(self, X):
        _, d, Vt = linalg.svd(X, full_matrices=False)
        for i, lam in ((0, 1.0), (3, 20.0)):
            b = elastic_net(X, X @ Vt[i], alpha=0.0, ridge_alpha=lam)
            assert_allclose(b, Vt[i] * d[i] ** 2 / (d[i] ** 2 + lam), atol=1e-10)

    def test_a_common_rotation_changes_nothing(self, rng, X):
        loadings = sparse_loadings(X, 2, alpha=0.0, ridge_alpha=0.7)
        Q = linalg.qr(rng.normal(size=(2, 2)))[0]

        def objective(A, B):
            return linalg.norm(X - X @ B @ A.T) ** 2 + 0.7 * linalg.norm(B) ** 2

        value = objective(loadings.A, loadings.B)
        assert_allclose(value, objective(loadings.A @ Q, loadings.B @ Q))
        assert_allclose(value, loadings.objectives[-1])

    def test_the_part_that_does_not_depend_on_B(self, rng, X):
        """|X - X B A'|^2 = |X A - X B|^2 + |X|^2 - |X A|^2 for A'A = I."""
        A = linalg.qr(rng.normal(size=(6, 2)), mode="economic")[0]
        B = rng.normal(size=(6, 2))
        left = linalg.norm(X - X @ B @ A.T) ** 2
        right = linalg.norm(X @ A - X @ B) ** 2
        right += linalg.norm(X) ** 2 - linalg.norm(X @ A) ** 2
        assert_allclose(left, right)


class TestLoadings:
    @pytest.mark.parametrize("ridge_alpha", [1e-3, 5.0, np.inf])
    def test_without_l1_norm_they_are_principal(self, X, ridge_alpha):
        B = sparse_loadings(X, 3, alpha=0.0, ridge_alpha=ridge_alpha).B
        B = B / linalg.norm(B, axis=0)
        V = PCA(3).fit(X).components_
        assert_allclose(np.abs(V @ B), np.eye(3), atol=1e-6)

    @pytest.mark.parametrize("ridge_alpha", [0.1, np.inf])
    def test_objective_falls(self, X, ridge_alpha):
        loadings = sparse_loadings(
            X, 3, alpha=[30.0, 20.0, 10.0], ridge_alpha=ridge_alpha
        )
        scale = abs(loadings.objectives[0])
        assert (np.diff(loadings.objectives) <= 1e-9 * scale).all()
        assert_allclose(loadings.A.T @ loadings.A, np.eye(3), atol=1e-12)
        assert (loadings.B == 0).any()

    def test_conditions_of_both_steps(self, X):
        alpha = np.array([30.0, 20.0])
        loadings = sparse_loadings(
            X, 2, alpha=alpha, ridge_alpha=0.1, tol=1e-9, max_iter=5000
        )
        A, B = loadings.A, loadings.B
        for j in range(2):
            assert subgradient_error(X, X @ A[:, j], B[:, j], alpha[j], 0.1) < 1e-3
        # Procrustes: A' X'X B is symmetric and psd.
        T = A.T @ X.T @ X @ B
        assert_allclose(T, T.T, atol=1e-6 * np.abs(T).max())
        assert linalg.eigvalsh((T + T.T) / 2)[0] > 0

    def test_only_inner_products_matter(self, rng, X):
        Q = linalg.qr(rng.normal(size=(50, 50)))[0]
        one = sparse_loadings(X, 2, alpha=10.0)
        other = sparse_loadings(Q @ X, 2, alpha=10.0)
        assert_allclose(np.abs(one.B), np.abs(other.B), atol=1e-6)

    def test_more_components_than_rows(self, rng):
        X = rng.normal(size=(3, 6))
        loadings = sparse_loadings(X, 5, alpha=0.1, tol=1e-2)
        assert loadings.B.shape == (6, 5)
        assert_allclose(loadings.A.T @ loadings.A, np.eye(5), atol=1e-10)

    def test_no_convergence_is_said(self, X):
        with pytest.warns(ConvergenceWarning, match="max_iter=1"):
            sparse_loadings(X, 2, alpha=20.0, max_iter=1)

    def test_bad_arguments(self, X):
        with pytest.raises(ValueError, match="one number per component"):
            sparse_loadings(X, 2, alpha=[1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match="non-negative"):
            sparse_loadings(X, 2, alpha=-1.0)
        with pytest.raises(ValueError, match="ridge_alpha"):
            sparse_loadings(X, 2, ridge_alpha=-1.0)
        with pytest.raises(ValueError, match="n_features=6"):
            sparse_loadings(X, 7)


class TestEstimator:
    @pytest.mark.parametrize("ridge_alpha", [1e6, np.inf])
    def test_blocks_are_found(self, rng, ridge_alpha):
        """Ten features of two factors; the ridge keeps those of a factor together."""
        factors = rng.normal(size=(200, 2)) * np.sqrt([200.0, 400.0])
        X = factors[:, [0] * 4 + [1] * 6] + rng.normal(size=(200, 10))
        alpha = 0.5 * linalg.svdvals(X - X.mean(axis=0))[:2] ** 2
        model = ElasticNetSparsePCA(2, alpha=alpha, ridge_alpha=ridge_alpha).fit(X)
        first, second = (set(np.flatnonzero(c)) for c in model.components_)
        assert first == set(range(4, 10))
        assert second == set(range(4))
        assert model.explained_variance_ratio_.sum() > 0.95

    def test_adjusted_variance(self, X):
        """What a score varies beyond a regression on those before."""
        model = ElasticNetSparsePCA(2, alpha=30.0).fit(X)
        z1, z2 = model.transform(X).T
        residual = z2 - z1 * (z1 @ z2) / (z1 @ z1)
        assert_allclose(model.explained_variance_ * 49, [z1 @ z1, residual @ residual])
        plain = ElasticNetSparsePCA(2, alpha=0.0).fit(X)
        assert_allclose(plain.explained_variance_, PCA(2).fit(X).explained_variance_)

    def test_float32(self, X):
        model = ElasticNetSparsePCA(2, alpha=10.0).fit(X.astype(np.float32))
        assert model.transform(X.astype(np.float32)).dtype == np.float32
        expected = ElasticNetSparsePCA(2, alpha=10.0).fit(X).components_.T
        assert subspace_distance(model.components_.T, expected) < 1e-2

    def test_nothing_left(self, X):
        with pytest.warns(UserWarning, match="2 of 2 components: they are zero"):
            model = ElasticNetSparsePCA(2, alpha=1e9).fit(X)
        assert not model.transform(X).any()
