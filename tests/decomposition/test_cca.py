"""Canonical correlations by two SVDs and by the eigenproblem."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from sklearn.cross_decomposition import CCA, PLSSVD
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from fewlabels.decomposition import (
    SVDCCA,
    PowerPLS,
    cca_eigen,
    cca_svd,
    power_pls,
)

SOLVERS = [cca_svd, cca_eigen]


@pytest.fixture
def views(rng):
    shared = rng.normal(size=(80, 2))
    X = shared @ rng.normal(size=(2, 4)) + rng.normal(size=(80, 4))
    Y = shared @ rng.normal(size=(2, 3)) + rng.normal(size=(80, 3)) + 7
    return X, Y


@pytest.mark.parametrize("solver", SOLVERS)
class TestSolvers:
    def test_optimality(self, views, solver):
        X, Y = views
        A, B, correlations = solver(X, Y)
        Z_x, Z_y = (X - X.mean(axis=0)) @ A, (Y - Y.mean(axis=0)) @ B
        assert_allclose(Z_x.T @ Z_x, np.eye(3), atol=1e-10)
        assert_allclose(Z_y.T @ Z_y, np.eye(3), atol=1e-10)
        assert_allclose(Z_x.T @ Z_y, np.diag(correlations), atol=1e-10)

    def test_principal_angles(self, views, solver):
        X, Y = (V - V.mean(axis=0) for V in views)
        cosines = np.sort(np.cos(linalg.subspace_angles(X, Y)))[::-1]
        assert_allclose(solver(X, Y).correlations, cosines)

    @pytest.mark.parametrize("alpha", [0.0, 3.0])
    def test_generalised_eigenproblem(self, views, solver, alpha):
        """Eigenvalues of the symmetric pencil of both views: plus and minus."""
        X, Y = (V - V.mean(axis=0) for V in views)
        cross = np.zeros((7, 7))
        cross[:4, 4:] = X.T @ Y
        cross += cross.T
        within = linalg.block_diag(X.T @ X, Y.T @ Y) + alpha * np.eye(7)
        values, vectors = linalg.eigh(cross, within)
        A, B, correlations = solver(X, Y, alpha=alpha)
        assert_allclose(correlations, values[::-1][:3], rtol=1e-9)
        assert_allclose(values[:3], -correlations, rtol=1e-9)
        W = np.vstack([A, B])
        assert_allclose(cross @ W, within @ W * correlations, atol=1e-8)
        # Two generalised eigenvectors of a simple eigenvalue differ by a factor.
        first = vectors[:, -1]
        assert_allclose(np.abs(W[:, 0]) / np.sqrt(2), np.abs(first), rtol=1e-6)

    def test_squares_are_eigenvalues(self, views, solver):
        X, Y = (V - V.mean(axis=0) for V in views)
        C_yx = Y.T @ X
        M = C_yx.T @ linalg.solve(Y.T @ Y, C_yx)
        squares = linalg.eigh(M, X.T @ X, eigvals_only=True)[::-1][:3]
        assert_allclose(solver(X, Y).correlations ** 2, squares, rtol=1e-8)

    def test_invariance(self, rng, views, solver):
        X, Y = views
        G = rng.normal(size=(4, 4)) + 3 * np.eye(4)
        expected = solver(X, Y).correlations
        assert_allclose(solver(X @ G + 2, Y).correlations, expected, rtol=1e-8)

    def test_a_view_of_the_other(self, rng, solver):
        X = rng.normal(size=(30, 3))
        assert_allclose(solver(X, X @ rng.normal(size=(3, 2))).correlations, 1)

    def test_dependent_features(self, views, solver):
        X, Y = views
        more = np.column_stack([X, X[:, 0] - X[:, 1], np.ones(80), X[:, 2]])
        plain, found = solver(X, Y), solver(more, Y)
        assert_allclose(found.correlations, plain.correlations, rtol=1e-7)
        Z = (X - X.mean(axis=0)) @ plain.x_weights
        Z_more = (more - more.mean(axis=0)) @ found.x_weights
        assert_allclose(np.abs(Z_more), np.abs(Z), atol=1e-6)

    def test_dependent_features_of_low_precision(self, views, solver):
        """What float32 leaves of a sum is no direction of its own."""
        X, Y = (V.astype(np.float32) for V in views)
        more = np.column_stack([X, X @ np.float32([0.1, 0.2, 0.3, 0.4])])
        plain, found = solver(X, Y), solver(more, Y)
        assert found.x_weights.shape == (5, 3)
        assert_allclose(found.correlations, plain.correlations, atol=1e-4)
        assert np.abs(found.x_weights).max() < 10

    def test_a_constant_view_has_no_correlation(self, views, solver):
        X, _ = views
        constant = np.full((X.shape[0], 1), 0.1)  # whose mean is not exactly 0.1
        assert solver(X, constant).correlations.size == 0

    def test_bad_arguments(self, views, solver):
        X, Y = views
        with pytest.raises(ValueError, match="alpha"):
            solver(X, Y, alpha=-1.0)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            solver(X, Y[:-1])


@given(
    n=st.integers(2, 12),
    p=st.integers(1, 6),
    q=st.integers(1, 6),
    rank=st.integers(0, 3),
    seed=st.integers(0, 99),
)
@example(n=5, p=4, q=3, rank=2, seed=63)  # an eigenvalue of zero comes out as 6 eps
def test_both_solvers_on_any_shape(n, p, q, rank, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, rank)) @ rng.integers(-2, 3, size=(rank, p))
    Y = rng.normal(size=(n, q))
    one, other = cca_svd(X, Y), cca_eigen(X, Y)
    # The square root of rounding is what the squares leave of a zero correlation.
    assert_allclose(one.correlations, other.correlations, atol=1e-6)
    assert ((one.correlations >= 0) & (one.correlations <= 1)).all()
    assert one.x_weights.shape == (p, one.correlations.size)
    assert one.y_weights.shape == (q, one.correlations.size)


class TestEstimator:
    def test_beside_scikit_learn(self, views):
        X, Y = views
        ours = SVDCCA(3).fit(X, Y)
        theirs = CCA(3, tol=1e-14, max_iter=100_000).fit(X, Y)
        for a, b in zip(ours.transform(X, Y), theirs.transform(X, Y), strict=True):
            a, b = a / linalg.norm(a, axis=0), b / linalg.norm(b, axis=0)
            assert_allclose(np.abs((a * b).sum(axis=0)), 1, atol=1e-6)

    def test_beside_cca_zoo(self, views):
        linear = pytest.importorskip("cca_zoo.linear")
        X, Y = views
        theirs = linear.CCA(3).fit([X, Y]).transform([X, Y])
        expected = [
            np.corrcoef(a, b)[0, 1] for a, b in zip(*(t.T for t in theirs), strict=True)
        ]
        assert_allclose(SVDCCA(3).fit(X, Y).canonical_correlations_, expected)

    @pytest.mark.parametrize("solver", ["svd", "eigen"])
    def test_scores(self, views, global_dtype, solver):
        X, Y = (V.astype(global_dtype) for V in views)
        model = SVDCCA(2, solver=solver).fit(X, Y)
        x_scores, y_scores = model.transform(X, Y)
        assert x_scores.dtype == y_scores.dtype == global_dtype
        atol = 1e-3 if global_dtype == np.float32 else 1e-9
        for Z in (x_scores, y_scores):
            assert_allclose(np.cov(Z, rowvar=False), np.eye(2), atol=atol)
        correlation = np.corrcoef(x_scores[:, 0], y_scores[:, 0])[0, 1]
        assert_allclose(correlation, model.canonical_correlations_[0], atol=atol)
        assert_allclose(model.transform(X), x_scores)
        assert_allclose(model.fit_transform(X, Y), x_scores, atol=atol)

    def test_one_target(self, views):
        X, Y = views
        model = SVDCCA().fit(X, Y[:, 0])
        x_scores, y_scores = model.transform(X, Y[:, 0])
        # One target: the scores are its prediction by least squares, and itself.
        design = np.column_stack([np.ones(80), X])
        fitted = design @ linalg.lstsq(design, Y[:, 0])[0]
        for scores, expected in ((x_scores, fitted), (y_scores, Y[:, 0])):
            assert scores.shape == (80, 1)
            correlation = np.corrcoef(scores[:, 0], expected)[0, 1]
            assert_allclose(np.abs(correlation), 1)

    def test_in_a_pipeline(self, views):
        X, _ = views
        y = X @ np.ones(4) > 0
        model = make_pipeline(SVDCCA(), LogisticRegression()).fit(X, y)
        assert model.score(X, y) > 0.85

    def test_too_many_components(self, views):
        with pytest.raises(ValueError, match="at most 3"):
            SVDCCA(4).fit(*views)

    def test_missing_rank(self, views):
        X, Y = views
        X = X[:, :1] * [1.0, 2.0]
        with pytest.warns(UserWarning, match="leave only 1 pairs"):
            model = SVDCCA(2).fit(X, Y)
        assert_array_equal(model.transform(X)[:, 1], 0)
        assert model.canonical_correlations_[1] == 0

    def test_second_view_of_another_width(self, views):
        model = SVDCCA().fit(*views)
        with pytest.raises(ValueError, match="Y has 2 features, but SVDCCA"):
            model.transform(views[0], views[1][:, :2])


class TestPowers:
    """From canonical correlations over partial least squares to components."""

    def test_three_methods_of_the_family(self, views):
        X, Y = views
        k = 3
        cca, pls, far = (power_pls(X, Y, power=p) for p in (0, 1, 300))
        expected = cca_svd(X, Y)
        assert_allclose(cca.correlations, expected.correlations)
        for ours, theirs in zip(cca[:2], expected[:2], strict=True):
            assert_allclose(ours, theirs / np.linalg.norm(theirs, axis=0), atol=1e-10)
        sklearns = PLSSVD(k, scale=False).fit(X, Y)
        for ours, theirs in (
            (pls.x_weights, sklearns.x_weights_),
            (pls.y_weights, sklearns.y_weights_),
        ):
            assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-10)
        for weights, view in ((far.x_weights, X), (far.y_weights, Y)):
            first = PCA(1).fit(view).components_[0]
            assert_allclose(np.abs(weights[:, 0]), np.abs(first), atol=1e-6)

    def test_the_criterion_splits_into_variances_and_correlation(self, views):
        """(6.9.17) to (6.9.19): which of the three each method is best at."""
        X, Y = views
        found = {}
        for power in (0, 1, 300):
            model = PowerPLS(power=power).fit(X, Y)
            t, u = (scores[:, 0] for scores in model.transform(X, Y))
            r = np.corrcoef(t, u)[0, 1]
            assert_allclose(r, model.correlations_[0])
            assert_allclose(
                np.cov(t, u)[0, 1] ** 2, t.var(ddof=1) * r**2 * u.var(ddof=1)
            )
            found[power] = r**2, np.cov(t, u)[0, 1] ** 2, t.var() * u.var()
        for place, best in enumerate((0, 1, 300)):
            assert all(found[best][place] > found[p][place] for p in found if p != best)

    @pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
    def test_optimality(self, views, power, rng):
        """No other directions on the same two spheres have a larger product."""
        X, Y = (V - V.mean(axis=0) for V in views)
        roots = [
            linalg.fractional_matrix_power(V.T @ V, (1 - power) / 2) for V in (X, Y)
        ]
        pairs = power_pls(X, Y, power=power)

        def product(a, b):
            lengths = np.linalg.norm(roots[0] @ a) * np.linalg.norm(roots[1] @ b)
            return (X @ a) @ (Y @ b) / lengths

        best = product(pairs.x_weights[:, 0], pairs.y_weights[:, 0])
        inverses = [np.linalg.inv(root) for root in roots]
        largest = np.linalg.norm(inverses[0] @ X.T @ Y @ inverses[1], 2)
        assert_allclose(best, largest)
        for root, weights in zip(roots, pairs[:2], strict=True):
            inner = weights.T @ root @ root @ weights
            assert_allclose(inner, np.diag(np.diag(inner)), atol=1e-8 * inner.max())

    def test_a_view_with_itself_has_components_at_every_power(self, views):
        X, _ = views
        components = PCA().fit(X).components_
        for power in (0.5, 1, 3):
            weights = power_pls(X, X, power=power).x_weights
            assert_allclose(np.abs(weights.T), np.abs(components), atol=1e-8)

    def test_wrong_powers_and_constant_views(self, views):
        with pytest.raises(ValueError, match="power must be"):
            power_pls(*views, power=-1)
        with pytest.warns(UserWarning, match="leave only 0 pairs"):
            model = PowerPLS().fit(np.ones((5, 2)), np.arange(5.0))
        assert_array_equal(model.x_weights_, 0)
