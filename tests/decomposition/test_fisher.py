"""Fisher's discriminants, with equal weight for every class."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fewlabels.decomposition import (
    FisherDiscriminantAnalysis,
    class_scatter,
    subspace_distance,
)


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture
def unbalanced(iris):
    X, y = iris
    keep = np.r_[0:50, 50:70, 100:110]
    return X[keep], y[keep]


class TestScatter:
    def test_of_unbalanced_classes(self, unbalanced):
        X, y = unbalanced
        groups = [X[y == c] for c in range(3)]
        means = np.array([g.mean(axis=0) for g in groups])
        within = np.mean([np.cov(g, rowvar=False, bias=True) for g in groups], axis=0)
        between = np.cov(means, rowvar=False, bias=True)
        scatter = class_scatter(X, y)
        assert_allclose(scatter.within, within)
        assert_allclose(scatter.between, between)
        assert_allclose(scatter.means, means)

    def test_bad_labels(self, iris):
        X, y = iris
        with pytest.raises(ValueError, match="149 entries"):
            class_scatter(X, y[:-1])
        with (
            pytest.warns(UserWarning, match="single class"),
            pytest.raises(ValueError, match="1 class"),
        ):
            class_scatter(X, np.zeros(150, dtype=int))


class TestDiscriminants:
    def test_known_eigenvalues(self, iris):
        model = FisherDiscriminantAnalysis().fit(*iris)
        assert_allclose(model.eigenvalues_, [32.1919292, 0.28539104], rtol=1e-8)

    def test_optimality(self, unbalanced):
        X, y = unbalanced
        model = FisherDiscriminantAnalysis().fit(X, y)
        within, between, means = class_scatter(X, y)
        U = model.scalings_
        assert_allclose(U.T @ within @ U, np.eye(2), atol=1e-10)
        assert_allclose(between @ U, within @ U * model.eigenvalues_, atol=1e-9)
        expected = linalg.eigh(between, within, eigvals_only=True)[::-1]
        assert_allclose(model.eigenvalues_, expected[:2])
        assert_allclose(expected[2:], 0, atol=1e-10)  # rank: classes - 1
        differences = linalg.solve(within, (means[1:] - means[0]).T)
        assert subspace_distance(U, differences) < 1e-7

    def test_beside_scikit_learn(self, iris, unbalanced):
        """The same subspace for balanced classes, another one for others."""

        def distance(X, y):
            ours = FisherDiscriminantAnalysis().fit(X, y).scalings_
            theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
            return subspace_distance(ours, theirs.scalings_[:, :2])

        assert distance(*iris) < 1e-8
        assert distance(*unbalanced) > 0.05

    def test_affine_maps_make_no_difference(self, rng, unbalanced):
        X, y = unbalanced
        G = rng.normal(size=(4, 4)) + 3 * np.eye(4)
        one = FisherDiscriminantAnalysis().fit(X, y)
        other = FisherDiscriminantAnalysis().fit(X @ G + 5, y)
        assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-7)
        Z = np.abs(one.transform(X))  # up to signs
        assert_allclose(np.abs(other.transform(X @ G + 5)), Z, atol=1e-6)

    def test_units_make_no_difference(self, iris):
        X, y = iris
        units = np.array([1e9, 1.0, 1e-9, 1.0])
        model = FisherDiscriminantAnalysis().fit(X * units, y)
        assert_allclose(model.eigenvalues_, [32.1919292, 0.28539104], rtol=1e-8)

    def test_more_features_than_rows(self, rng):
        X, y = rng.normal(size=(9, 20)), np.arange(9) % 3
        with pytest.warns(UserWarning, match="shrinkage > 0"):
            model = FisherDiscriminantAnalysis().fit(X, y)
        assert_array_equal(model.eigenvalues_, np.inf)
        Z = model.transform(X)
        for c in range(3):  # rows of a class fall into one point
            assert_allclose(Z[y == c], Z[c] * np.ones((3, 1)), atol=1e-7)
        shrunk = FisherDiscriminantAnalysis(shrinkage=0.5).fit(X, y)
        assert np.isfinite(shrunk.eigenvalues_).all()

    def test_constant_and_copied_features(self, iris):
        X, y = iris
        plain = FisherDiscriminantAnalysis().fit(X, y)
        more = np.column_stack([X, X[:, 0], np.full(150, 0.1)])
        model = FisherDiscriminantAnalysis().fit(more, y)
        assert_allclose(model.eigenvalues_, plain.eigenvalues_, rtol=1e-6)
        assert_allclose(
            np.abs(model.transform(more)), np.abs(plain.transform(X)), atol=1e-5
        )

    def test_all_rows_alike(self):
        model = FisherDiscriminantAnalysis().fit(np.ones((6, 3)), [0, 1, 2] * 2)
        assert_array_equal(model.transform(np.ones((2, 3))), 0)
        assert_array_equal(model.eigenvalues_, 0)

    def test_unlabelled_rows_are_left_out(self, iris):
        X, y = iris
        some = np.arange(150) % 3 == 0
        holes = np.where(some, y, -1)
        one = FisherDiscriminantAnalysis().fit(X, holes)
        other = FisherDiscriminantAnalysis().fit(X[some], y[some])
        assert_allclose(one.scalings_, other.scalings_)

    def test_too_many_components(self, iris):
        with pytest.raises(ValueError, match="at most 2"):
            FisherDiscriminantAnalysis(3).fit(*iris)


def test_a_far_row_hides_no_other(rng):
    """Directions come from rows, not from squares, and follow their order no more."""
    X, y = rng.normal(size=(20, 5)), np.arange(20) % 3
    X[0] *= 2.0**28
    order = rng.permutation(20)
    one = FisherDiscriminantAnalysis().fit(X, y)
    two = FisherDiscriminantAnalysis().fit(X[order], y[order])
    assert_allclose(one.eigenvalues_, two.eigenvalues_, rtol=1e-6)
    # The far row is the only one along its direction: without it, the rest is seen.
    near = X[1:] - np.outer(X[1:] @ X[0], X[0]) / (X[0] @ X[0])
    rest = FisherDiscriminantAnalysis().fit(near, y[1:])
    assert one.eigenvalues_[0] > 0.1 * rest.eigenvalues_[0]
