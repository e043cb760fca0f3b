"""Harmonic functions on Dask arrays against those of one machine."""

# SPDX-License-Identifier: BSD-3-Clause

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import block_array
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fewlabels.dask import _harmonic, dask_harmonic_functions
from fewlabels.dask._draw import draw_unlabeled
from fewlabels.dask._harmonic import landmarks_of
from fewlabels.datasets import hide_labels
from fewlabels.exceptions import DisconnectedGraphWarning
from fewlabels.graphs import auto_bandwidth, heat_weights, make_search
from fewlabels.semi_supervised import HarmonicFunctionClassifier, harmonic_functions


@pytest.fixture
def in_parts(monkeypatch):
    """Conjugate gradients on Dask arrays, however small the graph."""
    monkeypatch.setattr(_harmonic, "GATHERED_EDGES", 0)


def problem(n=300, n_classes=3):
    X, y = make_blobs(n, centers=n_classes, cluster_std=3.0, random_state=0)
    return X, hide_labels(y, per_class=3, random_state=0)


@pytest.mark.parametrize("gathered", [2**22, 0])
@pytest.mark.parametrize("chunks", [300, 100, (1, 149, 0, 150), 83])
def test_the_answer_is_that_of_one_machine(chunks, gathered, monkeypatch):
    monkeypatch.setattr(_harmonic, "GATHERED_EDGES", gathered)
    X, y = problem()
    plain = HarmonicFunctionClassifier(n_neighbors=7, solver="direct").fit(X, y)
    lazy = da.from_array(X, chunks=(chunks, 2))
    solution = dask_harmonic_functions(lazy, y, n_neighbors=7, tol=1e-9)
    assert_allclose(
        solution.values.compute(), plain.harmonic_functions_, atol=1e-6, rtol=0
    )
    assert_array_equal(solution.labels.compute(), plain.transduction_)
    assert solution.values.chunks[0] == tuple(n for n in lazy.chunks[0] if n)
    assert solution.labels.dtype == plain.classes_.dtype
    assert solution.bandwidth == pytest.approx(plain.transformer_.bandwidth_)
    assert (solution.n_iter > 0) == (gathered == 0)


def test_columns_of_different_scale():
    """A graph like a thread: conjugate gradients take thousands of steps along it."""
    X, y = problem(600)
    X = X * [1.0, 1e6]
    plain = HarmonicFunctionClassifier().fit(X, y)
    solution = dask_harmonic_functions(da.from_array(X, chunks=200), y)
    assert_allclose(solution.values.compute(), plain.harmonic_functions_, atol=1e-9)
    assert_array_equal(solution.labels.compute(), plain.transduction_)


@pytest.mark.usefixtures("in_parts")
def test_binary_and_own_weights():
    X, y = problem(150)
    lazy = da.from_array(X, chunks=60)
    for weight in ("binary", lambda d: 1 / (1 + d)):
        plain = HarmonicFunctionClassifier(weight=weight, solver="direct").fit(X, y)
        solution = dask_harmonic_functions(lazy, y, weight=weight, tol=1e-9)
        assert_allclose(
            solution.values.compute(), plain.harmonic_functions_, atol=1e-6, rtol=0
        )


def test_landmarks_are_the_harmonic_functions_of_a_graph_of_two_kinds():
    X, y = problem(200)
    solution = dask_harmonic_functions(
        da.from_array(X, chunks=70), y, n_landmarks=30, n_neighbors=4, random_state=0
    )
    other = dask_harmonic_functions(
        da.from_array(X, chunks=200), y, n_landmarks=30, n_neighbors=4, random_state=0
    )
    assert_allclose(solution.values.compute(), other.values.compute(), atol=1e-9)
    # The same by brute force: rows and landmarks are vertices of one graph.
    seed = int(check_random_state(0).randint(2**31))
    draw = draw_unlabeled(200, np.empty(0, dtype=np.int64), 30, seed)
    landmarks = landmarks_of(X, 0, seed, draw.threshold)
    distances, places = make_search(landmarks).kneighbors(4, X)
    Z = np.zeros((200, 30))
    t = auto_bandwidth(distances, n_neighbors=4)
    np.put_along_axis(Z, places, heat_weights(distances, t), axis=1)
    W = block_array([[None, Z], [Z.T, None]]).toarray()
    labeled = np.flatnonzero(y >= 0)
    expected = harmonic_functions(W, labeled, np.eye(3)[y[labeled]]).values[:200]
    assert_allclose(solution.values.compute(), expected, atol=1e-6, rtol=0)
    assert solution.n_iter == 0


def test_landmarks_classify():
    X, y_true = make_moons(1000, noise=0.05, random_state=0)
    y = hide_labels(y_true, n_labeled=6, random_state=0)
    solution = dask_harmonic_functions(
        da.from_array(X, chunks=300), y, n_landmarks=200, n_neighbors=3, random_state=0
    )
    assert np.mean(solution.labels.compute() == y_true) > 0.97


@pytest.mark.parametrize("gathered", [2**22, 0])
def test_parts_without_a_label_are_told(gathered, monkeypatch):
    monkeypatch.setattr(_harmonic, "GATHERED_EDGES", gathered)
    X, y = problem(60, 2)
    far = np.concatenate([X, X + 1000])
    y = np.concatenate([y, np.full(60, -1)])
    for landmarks in (None, 40):
        with pytest.warns(DisconnectedGraphWarning, match="60 of 120 rows"):
            solution = dask_harmonic_functions(
                da.from_array(far, chunks=50),
                y,
                n_neighbors=3,
                n_landmarks=landmarks,
                random_state=0,
            )
        assert_allclose(solution.values.compute()[60:], 0.5)


@pytest.mark.usefixtures("in_parts")
def test_too_few_steps_are_told():
    X, y = problem(100)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 steps"):
        dask_harmonic_functions(da.from_array(X, chunks=50), y, max_iter=2)


def test_bad_input_is_told():
    X, y = problem(30)
    lazy = da.from_array(X, chunks=10)
    with pytest.raises(ValueError, match="n_neighbors=30 must be less"):
        dask_harmonic_functions(lazy, y, n_neighbors=30)
    with pytest.raises(ValueError, match="n_landmarks"):
        dask_harmonic_functions(lazy, y, n_landmarks=0)
    with pytest.raises(TypeError, match="to_dask_array"):
        dask_harmonic_functions(dd.from_pandas(pd.DataFrame(X), npartitions=2), y)
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        dask_harmonic_functions(da.from_array(X, chunks=10), y)
