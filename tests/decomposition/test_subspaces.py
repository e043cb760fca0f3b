"""Minor components, projectors, and PCA as the book has it."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import linalg
from sklearn.decomposition import PCA

from fewlabels.decomposition import (
    MinorComponentAnalysis,
    subspace_distance,
    subspace_projector,
)
from tests.helpers import assert_close


class TestPCA:
    """Scores, variances and the best approximation; scikit-learn's class."""

    def test_scores(self, rng):
        X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
        model = PCA().fit(X)
        scores = model.transform(X)
        s = linalg.svdvals(X - X.mean(axis=0))
        covariance = np.cov(scores, rowvar=False)
        assert_allclose(covariance, np.diag(s**2 / 49), atol=1e-10)

    def test_best_approximation(self, rng):
        X = rng.normal(size=(30, 5))
        X -= X.mean(axis=0)
        model = PCA(2).fit(X)
        approximation = model.inverse_transform(model.transform(X))
        s = linalg.svdvals(X)
        assert_allclose(linalg.norm(X - approximation), linalg.norm(s[2:]))
        assert_allclose(linalg.norm(X - approximation, 2), s[2])


class TestMinorComponents:
    def test_principal_and_minor_parts_add_up(self, rng, global_dtype):
        X = rng.normal(size=(40, 5)).astype(global_dtype)
        principal, minor = PCA(2).fit(X), MinorComponentAnalysis(3).fit(X)
        parts = principal.inverse_transform(principal.transform(X))
        parts = parts + minor.inverse_transform(minor.transform(X)) - X.mean(axis=0)
        assert_close(parts, X, factor=100)
        assert minor.transform(X).dtype == global_dtype

    def test_no_frame_has_less_variance(self, rng):
        X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5))
        model = MinorComponentAnalysis(2).fit(X)
        least = model.transform(X).var(axis=0, ddof=1).sum()
        assert_allclose(least, model.explained_variance_.sum())
        for _ in range(50):
            W = linalg.qr(rng.normal(size=(5, 2)), mode="economic")[0]
            assert (X @ W).var(axis=0, ddof=1).sum() >= least * (1 - 1e-12)

    def test_contribution(self, rng):
        X = rng.normal(size=(30, 4))
        s = linalg.svdvals(X - X.mean(axis=0))
        model = MinorComponentAnalysis(4).fit(X)
        assert_allclose(model.contribution_, s / linalg.norm(s))

    def test_fewer_rows_than_features(self, rng):
        X = rng.normal(size=(4, 7))
        model = MinorComponentAnalysis(5).fit(X)
        # Four centred rows span three dimensions: one variance is left of them.
        assert_allclose(model.explained_variance_[1:], 0, atol=1e-12)
        assert model.explained_variance_[0] > 1e-6
        assert_allclose(model.components_ @ model.components_.T, np.eye(5), atol=1e-10)
        assert_allclose(model.transform(X)[:, 1:], 0, atol=1e-10)

    def test_constant_rows(self):
        model = MinorComponentAnalysis(2).fit(np.ones((5, 3)))
        assert_allclose(model.contribution_, 0)

    def test_too_many(self):
        with pytest.raises(ValueError, match="n_features=2"):
            MinorComponentAnalysis(3).fit(np.eye(2))


@given(
    d=st.integers(1, 6),
    k=st.integers(1, 6),
    l=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_projectors(d, k, l, seed):  # noqa: E741
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(d, k)) @ rng.normal(size=(k, l))
    P, N = subspace_projector(W), subspace_projector(W, complement=True)
    assert_allclose(P @ P, P, atol=1e-10)
    assert_allclose(P, P.T, atol=1e-12)
    assert_allclose(P @ N, 0, atol=1e-10)
    assert_allclose(P + N, np.eye(d), atol=1e-12)
    assert_allclose(P @ W, W, atol=1e-8)
    # Another basis of the same span.
    Q = linalg.qr(rng.normal(size=(l, l)))[0]
    assert_allclose(subspace_projector(W @ Q), P, atol=1e-8)
    assert subspace_distance(W, W @ Q) < 1e-7


class TestDistance:
    def test_is_the_norm_of_the_difference(self, rng):
        W1, W2 = rng.normal(size=(2, 6, 3))
        difference = subspace_projector(W1) - subspace_projector(W2)
        assert_allclose(subspace_distance(W1, W2), linalg.norm(difference, 2))

    def test_dimensions(self):
        assert subspace_distance(np.eye(3)[:, :1], np.eye(3)[:, :2]) == 1
        assert subspace_distance(np.zeros((3, 1)), np.zeros((3, 2))) == 0
        with pytest.raises(ValueError, match="same number of rows"):
            subspace_distance(np.eye(2), np.eye(3))


def test_single_precision_overflows_nowhere(rng):
    X = rng.normal(size=(10, 3))
    large = MinorComponentAnalysis().fit((X * 2.0**70).astype(np.float32))
    assert_allclose(
        large.contribution_, MinorComponentAnalysis().fit(X).contribution_, rtol=1e-5
    )
    assert large.components_.dtype == np.float32
