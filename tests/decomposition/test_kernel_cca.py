"""Kernel CCA, and labels from one label in two views."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from fewlabels.decomposition import (
    SVDCCA,
    KernelCCA,
    OneLabelTwoView,
    cca_svd,
    kernel_cca,
    two_view_similarity,
)
from fewlabels.kernels import Kernel


@pytest.fixture
def views(rng):
    shared = rng.normal(size=(40, 1))
    X = np.hstack([shared, rng.normal(size=(40, 2))])
    Y = np.hstack([rng.normal(size=(40, 1)), shared + 0.5 * rng.normal(size=(40, 1))])
    return X, Y


def centered(K):
    H = np.eye(K.shape[0]) - 1 / K.shape[0]
    return H @ K @ H


class TestSolver:
    @pytest.mark.parametrize("alpha", [1e-10, 0.1, 10.0])
    def test_linear_kernel(self, views, alpha):
        """CCA with a ridge; without one in the limit."""
        X, Y = views
        pairs = kernel_cca(linear_kernel(X), linear_kernel(Y), alpha=alpha)
        expected = cca_svd(X, Y, alpha=alpha)
        assert_allclose(pairs.correlations, expected.correlations, atol=1e-8)
        X = X - X.mean(axis=0)
        scores = X @ X.T @ pairs.x_weights
        assert_allclose(np.abs(scores), np.abs(X @ expected.x_weights), atol=1e-6)

    def test_optimality(self, views):
        K_x, K_y = (centered(rbf_kernel(V, gamma=0.3)) for V in views)
        alpha = 0.5
        a, b, values = kernel_cca(K_x, K_y, alpha=alpha)
        a, b, values = a[:, :5], b[:, :5], values[:5]
        eye = np.eye(5)
        for K, c in ((K_x, a), (K_y, b)):
            assert_allclose(c.T @ (K @ K + alpha * K) @ c, eye, atol=1e-9)
        assert_allclose(a.T @ K_x @ K_y @ b, np.diag(values), atol=1e-9)
        inverse = linalg.inv(K_y + alpha * np.eye(40))
        assert_allclose(
            K_y @ inverse @ K_x @ a,
            values**2 * ((K_x + alpha * np.eye(40)) @ a),
            atol=1e-8,
        )
        # As functions: coefficients may differ where a kernel matrix is zero.
        expected = inverse @ K_x @ a / values
        assert_allclose(K_y @ b, K_y @ expected, atol=1e-8)

    def test_more_regularisation_less_correlation(self, views):
        K_x, K_y = (rbf_kernel(V) for V in views)
        values = [
            kernel_cca(K_x, K_y, alpha=alpha).correlations[:5]
            for alpha in (1e-3, 1e-2, 0.1, 1.0, 10.0)
        ]
        assert (np.diff(values, axis=0) < 0).all()

    def test_without_regularisation_all_correlations_are_one(self, views):
        K_x, K_y = (rbf_kernel(V, gamma=5.0) for V in views)
        pairs = kernel_cca(K_x, K_y, alpha=0.0)
        assert_allclose(pairs.correlations, np.ones(39), atol=1e-8)

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="K_y must be square"):
            kernel_cca(np.eye(3), np.ones((3, 2)))
        with pytest.raises(ValueError, match="alpha"):
            kernel_cca(np.eye(3), np.eye(3), alpha=-1.0)
        with pytest.raises(ValueError, match="K_x is not positive semidefinite"):
            kernel_cca(-np.eye(3), np.eye(3))
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            kernel_cca(np.eye(3), np.eye(4))


class TestEstimator:
    def test_linear_kernel(self, rng, views):
        X, Y = views
        ours = KernelCCA(2, kernel="linear", alpha=0.3).fit(X, Y)
        linear = SVDCCA(2, alpha=0.3).fit(X, Y)
        new = rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
        for a, b in zip(ours.transform(*new), linear.transform(*new), strict=True):
            assert_allclose(np.abs(a), np.abs(b), atol=1e-8)

    def test_beside_cca_zoo(self, views):
        nonparametric = pytest.importorskip("cca_zoo.nonparametric")
        X, Y = views
        theirs = nonparametric.KCCA(2, kernel="linear", shrinkage=1e-7).fit([X, Y])
        a, b = (Z / linalg.norm(Z, axis=0) for Z in theirs.transform([X, Y]))
        ours = KernelCCA(2, kernel="linear", alpha=1e-8).fit(X, Y)
        expected = np.abs(((a - a.mean(axis=0)) * (b - b.mean(axis=0))).sum(axis=0))
        assert_allclose(ours.canonical_correlations_, expected, atol=1e-3)

    def test_precomputed(self, views):
        X, Y = views
        rows = KernelCCA(gamma=0.5).fit(X, Y)
        matrices = KernelCCA(kernel="precomputed").fit(
            rbf_kernel(X, gamma=0.5), rbf_kernel(Y, gamma=0.5)
        )
        expected = rows.transform(X[:5], Y[:5])
        found = matrices.transform(
            rbf_kernel(X[:5], X, gamma=0.5), rbf_kernel(Y[:5], Y, gamma=0.5)
        )
        for a, b in zip(found, expected, strict=True):
            assert_allclose(a, b, atol=1e-8)
        with pytest.raises(ValueError, match="square kernel matrix X"):
            KernelCCA(kernel="precomputed").fit(X, Y)

    def test_two_kernels(self, views):
        X, Y = views
        kernel_y = Kernel("rbf", {"gamma": 2.0})
        model = KernelCCA(kernel="linear", kernel_y=kernel_y, alpha=0.2).fit(X, Y)
        expected = kernel_cca(linear_kernel(X), rbf_kernel(Y, gamma=2.0), alpha=0.2)
        assert_allclose(model.canonical_correlations_, expected.correlations[:1])

    def test_new_rows_are_centred_alike(self, views):
        X, Y = views
        model = KernelCCA(2).fit(X, Y)
        x_scores, y_scores = model.transform(X, Y)
        assert_allclose(x_scores.mean(axis=0), 0, atol=1e-10)
        assert_allclose(y_scores.mean(axis=0), 0, atol=1e-10)
        assert (x_scores.var(axis=0, ddof=1) <= 1).all()

    def test_number_of_components(self, views):
        X, Y = views
        with pytest.raises(ValueError, match="n_samples=40"):
            KernelCCA(41).fit(X, Y)
        with pytest.warns(UserWarning, match="leave only 2 pairs"):
            KernelCCA(3, kernel="linear").fit(X, Y)


class TestOneLabel:
    @pytest.fixture
    def classes(self, rng):
        y = rng.permutation(np.repeat([0, 1], 40))
        X = rng.normal(size=(80, 2)) + 5.0 * y[:, None]
        Y = rng.normal(size=(80, 3)) - 5.0 * y[:, None]
        return X, Y, y

    def test_similarity(self, rng):
        P, Q = rng.normal(size=(2, 10, 3))
        similarity = two_view_similarity(P, Q, labeled=4)
        assert_array_equal(similarity[4], 2)
        assert ((similarity > 0) & (similarity <= 2)).all()
        assert_allclose(two_view_similarity(Q, P, labeled=4), similarity)
        expected = np.exp(-((P[7, 1] - P[4, 1]) ** 2))
        expected += np.exp(-((Q[7, 1] - Q[4, 1]) ** 2))
        assert_allclose(similarity[7, 1], expected)

    def test_labels_are_right(self, classes):
        X, Y, y = classes
        positive = int(np.flatnonzero(y == 1)[3])
        model = OneLabelTwoView(1, n_confident=15).fit(X, Y, labeled=positive)
        labels = model.labels_
        assert labels[positive] == 1
        assert np.count_nonzero(labels == 1) == 16
        assert np.count_nonzero(labels == 0) == 15
        known = labels != -1
        assert_array_equal(labels[known], y[known])

    def test_total(self, classes):
        X, Y, _ = classes
        model = OneLabelTwoView(2).fit(X, Y, labeled=-1)
        parts = two_view_similarity(*model.transform(X, Y), labeled=79)
        total = parts @ model.canonical_correlations_
        assert_allclose(model.similarity_, total)
        assert np.argmax(total) == 79
        assert model.labels_[79] == 1
        assert np.count_nonzero(model.labels_ == 1) == 6

    def test_few_rows(self, classes):
        X, Y, _ = classes
        with pytest.warns(UserWarning, match="2 are taken"):
            model = OneLabelTwoView(1).fit(X[:5], Y[:5])
        assert sorted(model.labels_) == [0, 0, 1, 1, 1]

    def test_bad_arguments(self, classes):
        X, Y, _ = classes
        with pytest.raises(ValueError, match="labeled=80 is not a row"):
            OneLabelTwoView().fit(X, Y, labeled=80)
        with pytest.raises(ValueError, match="same shape"):
            two_view_similarity(np.ones((3, 1)), np.ones((3, 2)))
