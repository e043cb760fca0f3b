"""Spherical k-means."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from fewlabels.cluster import PatchNormalizer, SphericalKMeans, spherical_kmeans


def rows(rng, n=120, d=6):
    return rng.normal(size=(n, d)) * rng.uniform(0.5, 3, size=d)


def test_the_objective_never_falls(rng):
    X = rows(rng)
    result = spherical_kmeans(X, rng.normal(size=(10, 6)), tol=0)
    assert (np.diff(result.objectives) >= -1e-10 * result.objectives[-1]).all()
    by_hand = (np.abs(X @ result.directions.T).max(axis=1) ** 2).sum()
    assert_allclose(result.objectives[-1], by_hand)
    assert_allclose(np.linalg.norm(result.directions, axis=1), 1)


def test_one_direction_is_the_leading_one(rng):
    X = rows(rng)
    result = spherical_kmeans(X, rng.normal(size=(1, 6)), tol=1e-15, max_iter=5000)
    values, vectors = np.linalg.eigh(X.T @ X)
    assert_allclose(abs(result.directions[0] @ vectors[:, -1]), 1, atol=1e-8)
    assert_allclose(result.objectives[-1], values[-1])


def test_signs_of_rows_do_not_matter(rng):
    X = rows(rng)
    start = rng.normal(size=(5, 6))
    flipped = X * rng.choice([-1, 1], size=(120, 1))
    assert_allclose(
        spherical_kmeans(flipped, start).directions,
        spherical_kmeans(X, start).directions,
    )


def test_each_direction_leads_its_own_cluster(rng):
    """At rest, every direction is the leading one of the rows that chose it."""
    X = rows(rng)
    model = SphericalKMeans(4, tol=1e-14, max_iter=10_000, random_state=0).fit(X)
    for k in range(4):
        own = X[model.labels_ == k]
        values = np.linalg.eigvalsh(own.T @ own)
        scores = own @ model.cluster_centers_[k]
        assert_allclose(scores @ scores, values[-1], rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_scale_of_rows_does_not_matter(scale, rng):
    X = rng.normal(size=(200, 1)) * np.eye(3)[np.arange(200) % 3]
    X += 0.05 * rng.normal(size=X.shape)
    one = SphericalKMeans(3, random_state=0).fit(X)
    other = SphericalKMeans(3, random_state=0).fit(scale * X)
    assert_array_equal(other.labels_, one.labels_)
    assert_allclose(other.objective_, scale**2 * one.objective_)


def test_codes(rng):
    X = rows(rng)
    model = SphericalKMeans(4, random_state=0).fit(X)
    codes = model.transform(X)
    assert ((codes != 0).sum(axis=1) == 1).all()
    assert_array_equal(np.abs(codes).argmax(axis=1), model.labels_)
    assert_allclose((codes**2).sum(), model.objective_)
    assert_array_equal(model.predict(-X), model.labels_)


def test_sparse_rows(rng):
    X = sparse.random_array((80, 20), density=0.2, rng=rng).tocsr()
    a = SphericalKMeans(3, random_state=0).fit(X)
    b = SphericalKMeans(3, random_state=0).fit(X.toarray())
    assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-10)
    assert_allclose(a.transform(X), b.transform(X.toarray()), atol=1e-10)


def test_more_starts_are_no_worse(rng):
    X = rows(rng)
    one = SphericalKMeans(5, random_state=0).fit(X).objective_
    assert SphericalKMeans(5, n_init=5, random_state=0).fit(X).objective_ >= one


def test_rows_of_zeros():
    X = np.zeros((5, 3))
    model = SphericalKMeans(2, random_state=0).fit(X)
    assert model.objective_ == 0
    assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1)


def test_too_few_steps_are_reported(rng):
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        SphericalKMeans(5, max_iter=1, tol=0, random_state=0).fit(rows(rng))


class TestPatchNormalizer:
    def test_rows_have_unit_variance(self):
        X = load_digits().data[:50]
        Z = PatchNormalizer(eps=1e-12).fit_transform(X)
        assert_allclose(Z.mean(axis=1), 0, atol=1e-12)
        assert_allclose(Z.var(axis=1), 1)

    def test_the_square_root_is_not_forgotten(self):
        X = load_digits().data[:50]
        var = X.var(axis=1)
        Z = PatchNormalizer(eps=10.0).fit_transform(X)
        assert_allclose(Z.var(axis=1), var / (var + 10))

    def test_constant_rows(self):
        assert_array_equal(PatchNormalizer().fit_transform(np.ones((2, 3))), 0)


@pytest.mark.parametrize("unit", [2.0**-70, 2.0**70])
def test_unit_of_rows_in_single_precision(unit, rng):
    X = rng.normal(size=(20, 4)).astype(np.float32)
    near, far = (
        SphericalKMeans(3, random_state=0).fit(A) for A in (X, X * np.float32(unit))
    )
    assert_array_equal(far.labels_, near.labels_)
    assert far.objective_ == pytest.approx(near.objective_ * unit**2)
