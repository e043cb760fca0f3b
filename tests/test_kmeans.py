"""Many runs of k-means."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from fewlabels import _threads
from fewlabels._kmeans import lloyd_runs
from fewlabels._loops.means import nearest_in_runs
from fewlabels._threads import threads
from fewlabels.automatic._clusters import _nearest_in_runs
from tests.helpers import assert_close
from tests.reference import kmeans as reference


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("k", [1, 2, 5])
def test_runs_equal_those_of_the_slow_twin(rng, global_dtype, k):
    X = rng.normal(size=(40, 3)) + 3 * rng.integers(0, 2, size=(40, 1))
    X = X.astype(global_dtype)
    samples = np.array([rng.permutation(40)[:30] for _ in range(6)])
    starts = rng.uniform(size=(6, k))
    found = lloyd_runs(X, samples, k, starts, max_iter=20)
    assert found.dtype == global_dtype
    for centers, sample, u in zip(found, samples, starts, strict=True):
        rows = X[sample].astype(float)
        expected = reference.lloyd(rows, reference.plus_plus(rows, k, u), 20, 1e-4)
        assert_close(centers, expected.astype(global_dtype), factor=100)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("sampled", [True, False])
def test_answers_do_not_depend_on_threads(rng, sampled):
    X = rng.normal(size=(300, 5)).astype(np.float32)
    samples = rng.integers(0, 300, (9, 100)) if sampled else None
    starts = rng.uniform(size=(9, 4))
    with threads(1):
        one = lloyd_runs(X, samples, 4, starts)
    with threads(3):
        assert_array_equal(lloyd_runs(X, samples, 4, starts), one)


@pytest.mark.usefixtures("compiled")
def test_more_centres_than_distinct_rows():
    X = np.repeat(np.array([[-1.0, 0.0], [1.0, 0.0]]), 5, axis=0)
    centers = lloyd_runs(X, None, 4, np.array([[0.1, 0.9, 0.5, 0.999]]))[0]
    assert {tuple(c) for c in centers} == {(-1.0, 0.0), (1.0, 0.0)}
    one = lloyd_runs(np.zeros((3, 2)), None, 3, np.full((2, 3), 0.5))
    assert_array_equal(one, np.zeros((2, 3, 2)))


@pytest.mark.usefixtures("compiled")
def test_a_row_between_two_centres_counts_for_the_first():
    X = np.array([[-1.0], [0.0], [1.0]])
    centers = lloyd_runs(X, None, 2, np.array([[0.0, 0.999]]), max_iter=1)[0]
    assert_array_equal(centers, [[-0.5], [1.0]])


@pytest.mark.parametrize("sampled", [True, False])
def test_runs_at_once_are_those_one_by_one(rng, sampled, monkeypatch):
    X = rng.normal(size=(200, 4))
    samples = rng.integers(0, 200, (12, 80)) if sampled else None
    starts = rng.uniform(size=(12, 6))
    at_once = lloyd_runs(X, samples, 6, starts)
    monkeypatch.setattr(_threads, "COMPILER_STARTS", -1)
    assert_close(at_once, lloyd_runs(X, samples, 6, starts), factor=10)


def test_as_good_as_scikit_learn(rng):
    X = load_digits().data
    X = (X - X.mean(axis=0)).astype(np.float32)
    centers = lloyd_runs(X, None, 10, rng.uniform(size=(20, 10)))
    squares = (X**2).sum(axis=1)
    found = [
        np.sum(squares + ((c**2).sum(axis=1)[:, None] - 2 * c @ X.T).min(axis=0))
        for c in centers
    ]
    other = [KMeans(10, n_init=1, random_state=i).fit(X).inertia_ for i in range(20)]
    assert np.mean(found) < 1.01 * np.mean(other)
    assert np.min(found) < 1.003 * np.min(other)


def test_nearest_centres_with_and_without_a_compiler(rng):
    """Ties go to the first centre of a run."""
    scores = rng.integers(0, 4, size=(60, 3 * 5)).astype(float)
    halves = rng.integers(0, 3, size=(3, 5)) / 2
    loop, plain = np.empty((2, 60, 3), dtype=np.int32)
    nearest_in_runs(scores, halves, loop)
    _nearest_in_runs(scores, halves, plain)
    assert_array_equal(loop, plain)
    best = (scores.reshape(60, 3, 5) - halves).max(axis=2)
    taken = np.take_along_axis(scores, loop.astype(int), axis=1) - halves.ravel()[loop]
    assert_array_equal(taken, best)
