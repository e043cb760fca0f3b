"""Tensor distances and k-means by them."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

from fewlabels.tensor import (
    TensorDistanceTransformer,
    TensorKMeans,
    fusion_tensor,
    tensor_distances,
)


@pytest.fixture(scope="module")
def digits():
    return load_digits(n_class=3).images[:120]


def gaussian_matrix(shape, sigma):
    """G in full, entry by entry."""
    places = np.argwhere(np.ones(shape))
    squares = ((places[:, None] - places) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * sigma**2))


class TestDistances:
    @pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 2)])
    @pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0])
    def test_without_the_full_matrix(self, shape, sigma, rng):
        X, Y = rng.normal(size=(5, *shape)), rng.normal(size=(3, *shape))
        G = gaussian_matrix(shape, sigma)
        d = X.reshape(5, 1, -1) - Y.reshape(1, 3, -1)
        expected = np.sqrt(np.einsum("abi,ij,abj->ab", d, G, d))
        assert_allclose(tensor_distances(X, Y, bandwidth=sigma), expected, atol=1e-6)

    def test_axioms(self, rng):
        X = rng.normal(size=(12, 3, 3))
        D = tensor_distances(X, bandwidth=2.0)
        assert_allclose(D, D.T)
        assert_array_equal(np.diagonal(D), 0)
        assert (D[~np.eye(12, dtype=bool)] > 0).all()
        assert (D[:, None] <= D[:, :, None] + D[None] + 1e-12).all()

    @pytest.mark.parametrize("sigma", [0, 1e-3])
    def test_narrow_is_euclidean(self, sigma, rng):
        X = rng.normal(size=(6, 3, 3))
        assert_allclose(
            tensor_distances(X, bandwidth=sigma),
            pairwise_distances(X.reshape(6, -1)),
            atol=1e-6,
        )

    def test_a_small_shift_is_a_small_distance(self):
        image = np.zeros((3, 12, 12))
        for k, shift in enumerate((0, 1, 5)):
            image[k, 3:6, 1 + shift : 4 + shift] = 1
        D = tensor_distances(image, bandwidth=2.0)[0]
        assert D[1] < 0.5 * D[2]

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="must be the same"):
            tensor_distances(np.zeros((2, 3, 3)), np.zeros((2, 3, 4)))
        with pytest.raises(ValueError, match="bandwidth must be at least 0"):
            tensor_distances(np.zeros((2, 3, 3)), bandwidth=-1)


class TestTransformer:
    def test_distances_of_vectors(self, rng):
        X = rng.normal(size=(8, 3, 4))
        Z = TensorDistanceTransformer(bandwidth=1.5).fit_transform(X)
        assert_allclose(
            pairwise_distances(Z), tensor_distances(X, bandwidth=1.5), atol=1e-6
        )

    def test_both_forms_of_x(self, rng):
        X = rng.normal(size=(8, 3, 4))
        rows = X.reshape(8, -1)
        model = TensorDistanceTransformer(shape=(3, 4)).fit(rows)
        assert_array_equal(model.transform(X), model.transform(rows))


class TestKMeans:
    @pytest.mark.parametrize("sigma", [0, 1e-3])
    def test_narrow_is_plain_kmeans(self, digits, sigma):
        ours = TensorKMeans(3, bandwidth=sigma, random_state=0).fit(digits)
        theirs = KMeans(3, n_init=10, random_state=0).fit(digits.reshape(120, -1))
        assert_array_equal(ours.labels_, theirs.labels_)
        assert_allclose(ours.inertia_, theirs.inertia_)
        assert_allclose(
            ours.cluster_centers_.reshape(3, -1), theirs.cluster_centers_, atol=1e-6
        )

    def test_centres_are_means_and_inertia_is_theirs(self, digits):
        model = TensorKMeans(3, bandwidth=1.5, random_state=0).fit(digits)
        for k in range(3):
            assert_allclose(
                model.cluster_centers_[k], digits[model.labels_ == k].mean(axis=0)
            )
        D = tensor_distances(digits, model.cluster_centers_, bandwidth=1.5)
        assert_array_equal(D.argmin(axis=1), model.labels_)
        assert_allclose((D.min(axis=1) ** 2).sum(), model.inertia_)
        assert_array_equal(model.predict(digits), model.labels_)

    def test_inertia_never_rises(self, digits):
        """More iterations from one start."""
        values = [
            TensorKMeans(3, n_init=1, max_iter=k, random_state=1).fit(digits).inertia_
            for k in (1, 2, 3, 5, 10)
        ]
        assert (np.diff(values) <= 1e-9 * values[0]).all()

    def test_shifted_spots(self, rng):
        """Spots that move by a pixel inside of a cluster have nothing in common."""
        X = np.zeros((60, 12, 12))
        y = np.arange(60) % 2
        row, column = rng.integers(3, size=(2, 60)) + 2 + 5 * y
        X[np.arange(60), row, column] = 1
        model = TensorKMeans(2, bandwidth=3.0, random_state=0).fit(X)
        same = np.mean(model.labels_ == y)
        assert max(same, 1 - same) == 1


class TestFusion:
    def test_outer_products(self, rng):
        a, b, c = (rng.normal(size=(5, k)) for k in (2, 3, 4))
        assert_allclose(fusion_tensor(a, b, c), np.einsum("ni,nj,nk->nijk", a, b, c))
        assert_array_equal(fusion_tensor(a), a)

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match=r"describe \[2, 3\] objects"):
            fusion_tensor(np.zeros((2, 2)), np.zeros((3, 2)))
        with pytest.raises(ValueError, match="matrices"):
            fusion_tensor(np.zeros(3))
        with pytest.raises(ValueError, match="matrices"):
            fusion_tensor()


def test_tiny_widths_are_the_euclidean_distance():
    """The square of the width may be zero up to rounding."""
    X = np.random.default_rng(0).normal(size=(5, 3, 4))
    assert_allclose(
        tensor_distances(X, bandwidth=1e-200),
        tensor_distances(X, bandwidth=0),
        atol=1e-12,
    )


def test_large_entries_in_single_precision(rng):
    X = (rng.normal(size=(9, 4)) + 9 * (np.arange(9) % 2)[:, None]).astype(np.float32)
    near, far = (TensorKMeans(2, random_state=0).fit(A) for A in (X, X * 2.0**70))
    assert_array_equal(far.labels_, near.labels_)
    assert_array_equal(far.predict(X * 2.0**70), near.predict(X))
