# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest
from sklearn.datasets import make_moons
from sklearn.neighbors import NearestNeighbors

from fewlabels.datasets import make_clock, make_gaussian2c, make_gaussian4c

GENERATORS = [make_gaussian2c, make_gaussian4c, make_clock]
MEANS = {
    make_gaussian2c: [[-2.5, 0, 0], [2.5, 0, 0]],
    make_gaussian4c: [[-2.5, -5, 0], [-2.5, 5, 0], [2.5, -5, 0], [2.5, 5, 0]],
}
# Chance of a false alarm below one in a million, whatever the seed.
SIGMAS, P_VALUE = 6, 1e-6


@pytest.mark.parametrize("generator", GENERATORS)
def test_reproducible(generator, global_random_seed):
    X, y = generator(50, random_state=global_random_seed)
    X_again, y_again = generator(50, random_state=global_random_seed)
    X_other, _ = generator(50, random_state=global_random_seed + 1)
    assert_array_equal(X, X_again)
    assert_array_equal(y, y_again)
    assert not np.array_equal(X, X_other)


@pytest.mark.parametrize("generator", GENERATORS)
def test_shuffle_only_reorders(generator, global_random_seed):
    X, y = generator(101, random_state=global_random_seed)
    X_sorted, y_sorted = generator(101, shuffle=False, random_state=global_random_seed)
    assert_array_equal(y_sorted, np.sort(y))
    assert not np.array_equal(y, y_sorted)
    order, order_sorted = np.argsort(X[:, 0]), np.argsort(X_sorted[:, 0])
    assert_array_equal(X[order], X_sorted[order_sorted])
    assert_array_equal(y[order], y_sorted[order_sorted])


@pytest.mark.parametrize("generator", GENERATORS)
def test_labels_are_integers_without_marker(generator):
    _, y = generator(30, random_state=0)
    assert y.dtype == np.int64
    assert_array_equal(np.unique(y), [0, 1])


@pytest.mark.parametrize("generator", [make_gaussian2c, make_gaussian4c])
def test_gaussian_defaults_are_those_of_the_paper(generator):
    X, y = generator(random_state=0)
    assert X.shape == (500, 500)
    assert_array_equal(np.bincount(y), [250, 250])


@pytest.mark.parametrize("generator", [make_gaussian2c, make_gaussian4c])
def test_gaussian_moments(generator, global_random_seed):
    means = MEANS[generator]
    n = 1000
    X, y = generator(n * len(means), 3, shuffle=False, random_state=global_random_seed)
    parts = X.reshape(len(means), n, 3)
    assert_allclose(parts.mean(axis=1), means, atol=SIGMAS / np.sqrt(n))
    for part in parts:
        assert_allclose(np.cov(part.T), np.eye(3), atol=SIGMAS * np.sqrt(2 / n))
    # The first half of the Gaussians is class 0, the other half class 1.
    assert_array_equal(y, np.repeat([0, 1], len(y) // 2))


@pytest.mark.parametrize("n_samples", range(4, 12))
def test_gaussian_remainder_is_spread(n_samples):
    _, y = make_gaussian2c(n_samples, 1, random_state=0)
    assert_array_equal(np.bincount(y), [(n_samples + 1) // 2, n_samples // 2])

    X, y = make_gaussian4c(n_samples, 2, random_state=0)
    assert len(X) == n_samples
    assert_array_equal(np.bincount(y), [(n_samples + 1) // 2, n_samples // 2])
    # The second coordinate tells the Gaussians of a class apart beyond doubt.
    sizes = np.bincount(2 * y + (X[:, 1] > 0), minlength=4)
    assert np.ptp(sizes) <= 1


@pytest.mark.parametrize(
    ("generator", "params", "message"),
    [
        (make_gaussian2c, {"n_samples": 1}, "n_samples == 1, must be >= 2"),
        (make_gaussian2c, {"n_features": 0}, "n_features == 0, must be >= 1"),
        (make_gaussian4c, {"n_samples": 3}, "n_samples == 3, must be >= 4"),
        (make_gaussian4c, {"n_features": 1}, "n_features == 1, must be >= 2"),
        (make_clock, {"n_samples": 1}, "n_samples == 1, must be >= 2"),
        (make_clock, {"noise": -0.1}, "noise == -0.1, must be >= 0"),
    ],
)
def test_parameters_out_of_range(generator, params, message):
    with pytest.raises(ValueError, match=message):
        generator(**params)


@pytest.mark.parametrize("generator", GENERATORS)
def test_parameters_of_wrong_type(generator):
    with pytest.raises(TypeError, match="n_samples must be an instance of int"):
        generator(10.5)


def test_clock_geometry(global_random_seed):
    X, y = make_clock(5000, noise=0, random_state=global_random_seed)
    radius = np.hypot(*X.T)
    assert_allclose(radius[y == 0], 1)
    assert radius[y == 1].max() <= 0.7

    hands = X[y == 1]
    angle = np.rad2deg(np.arctan2(hands[:, 0], hands[:, 1])) % 360  # from twelve
    hour, minute = np.isclose(angle, 305), np.isclose(angle, 60)
    assert np.all(hour ^ minute)
    # Uniform along all the lines, so that each holds its share of the points.
    ring_angle = np.arctan2(*X[y == 0].T)
    assert kstest(ring_angle, "uniform", (-np.pi, 2 * np.pi)).pvalue > P_VALUE
    assert kstest(radius[y == 1][hour], "uniform", (0, 0.45)).pvalue > P_VALUE
    assert kstest(radius[y == 1][minute], "uniform", (0, 0.7)).pvalue > P_VALUE
    share = 0.7 / 1.15
    spread = np.sqrt(share * (1 - share) / len(hands))
    assert_allclose(minute.mean(), share, atol=SIGMAS * spread)
    assert_allclose(y.mean(), 1.15 / (1.15 + 2 * np.pi), atol=1 / len(y))


def test_clock_noise(global_random_seed):
    X, y = make_clock(5000, noise=0.02, shuffle=False, random_state=global_random_seed)
    off_ring = np.hypot(*X[y == 0].T) - 1
    assert_allclose(off_ring.std(), 0.02, rtol=0.1)


def test_clock_neighbours_are_of_the_same_class(global_random_seed):
    X, y = make_clock(random_state=global_random_seed)
    neighbours = (
        NearestNeighbors(n_neighbors=5).fit(X).kneighbors(return_distance=False)
    )
    assert np.all(y[neighbours] == y[:, None])


def test_smallest_clock_has_both_classes():
    _, y = make_clock(2, random_state=0)
    assert_array_equal(np.sort(y), [0, 1])


def test_moons_are_those_of_scikit_learn():
    assert make_moons is sklearn.datasets.make_moons
