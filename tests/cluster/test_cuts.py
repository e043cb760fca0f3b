"""Cut measures, two-way and recursive normalised cuts."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import block_diag
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from fewlabels.cluster import (
    RecursiveNormalizedCut,
    association,
    cut_value,
    minimum_normalized_cut,
    normalized_association,
    normalized_cut,
    ratio_cut,
    recursive_normalized_cut,
)
from fewlabels.cluster._recursive_cut import threshold_cuts
from fewlabels.graphs import graph_laplacian, image_graph
from tests.graphs.strategies import weights


def random_graph(rng, n):
    W = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.6), 1)
    W += 0.01 * np.eye(n, k=1)  # connected
    return W + W.T


def plain(W, labels):
    """The measures by their definitions, with sums over pairs."""
    n = len(labels)
    cut = sum(W[i, j] for i in range(n) for j in range(i) if labels[i] != labels[j])
    ratio = ncut = nassoc = 0.0
    for k in set(labels):
        inside = np.array([y == k for y in labels])
        across = W[inside][:, ~inside].sum()
        within, volume = W[inside][:, inside].sum(), W[inside].sum()
        ratio += across / inside.sum()
        ncut += across / volume if volume else 0
        nassoc += within / volume if volume else 1
    return cut, ratio, ncut, nassoc


@given(W=weights(), data=st.data())
def test_measures(W, data):
    n = W.shape[0]
    labels = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    expected = plain(W, labels)
    for form in (W, csr_array(W)):
        found = [
            measure(form, labels) for measure in (cut_value, ratio_cut, normalized_cut)
        ]
        assert_allclose([*found, normalized_association(form, labels)], expected)
    k = len(set(labels))
    assert_allclose(
        normalized_cut(W, labels) + normalized_association(W, labels), k, atol=1e-12
    )
    f = np.array(labels) == 0
    assert_allclose(cut_value(W, f), f @ graph_laplacian(W) @ f, atol=1e-12)
    assert_allclose(association(W, f, ~f), cut_value(W, f), atol=1e-12)
    assert_allclose(association(W, np.flatnonzero(f)), W[f].sum(), atol=1e-12)


def test_names_of_clusters_do_not_matter():
    W = [[0, 1, 0], [1, 0, 2], [0, 2, 0]]
    assert normalized_cut(W, ["b", "b", "a"]) == normalized_cut(W, [0, 0, 1]) == 1.5


def test_bad_arguments():
    W = np.ones((3, 3))
    with pytest.raises(ValueError, match="one cluster per vertex"):
        cut_value(W, [0, 1])
    with pytest.raises(ValueError, match="mask or a list of indices"):
        association(W, [0.5])
    with pytest.raises(ValueError, match="cannot be cut"):
        minimum_normalized_cut([[0.0]])


def test_every_threshold(rng):
    W = random_graph(rng, 12)
    vector = rng.normal(size=12)
    for form in (W, csr_array(W)):
        order, values = threshold_cuts(form, vector)
        assert_array_equal(order, np.argsort(vector))
        for k, value in enumerate(values):
            labels = np.zeros(12)
            labels[order[: k + 1]] = 1
            assert_allclose(value, normalized_cut(W, labels))


def all_bipartitions(n):
    for rest in product((0, 1), repeat=n - 1):
        if any(rest):
            yield np.array((0, *rest))


def test_bounds_by_exhaustive_search(rng):
    """lambda_2 <= best <= found <= 2 sqrt(2 lambda_2) over all bipartitions."""
    for n in (2, 4, 7, 10):
        W = random_graph(rng, n)
        cut = minimum_normalized_cut(W)
        assert_allclose(cut.value, normalized_cut(W, cut.labels))
        best = min(normalized_cut(W, labels) for labels in all_bipartitions(n))
        assert cut.lower_bound <= best + 1e-12
        assert best <= cut.value + 1e-12
        assert cut.value <= 2 * np.sqrt(2 * cut.lower_bound) + 1e-12
        assert cut.labels[0] == 0


def test_ideal_case_is_tight():
    """Two cliques of equal volume, all across edges equal: the bound is attained."""
    n = 6
    W = block_diag(np.ones((n, n)), np.ones((n, n))) + 0.05
    np.fill_diagonal(W, 0)
    cut = minimum_normalized_cut(W)
    assert_array_equal(cut.labels, np.repeat([0, 1], n))
    assert_allclose(cut.value, cut.lower_bound)


def test_components_are_cut_for_nothing():
    W = block_diag([[0, 1], [1, 0]], np.ones((3, 3)))
    cut = minimum_normalized_cut(W)
    assert_array_equal(cut.labels, [0, 0, 1, 1, 1])
    assert cut.value == cut.lower_bound == 0


@given(W=weights(), threshold=st.sampled_from([0.0, 0.3, 1.0, 2.0]))
def test_recursion_on_any_graph(W, threshold):
    labels, splits = recursive_normalized_cut(
        W, threshold=threshold, max_instability=None
    )
    assert_array_equal(np.unique(labels), np.arange(labels.max() + 1))
    assert all(s.lower_bound <= s.value + 1e-12 <= threshold + 2e-12 for s in splits)
    if threshold == 0:  # only components
        assert normalized_cut(W, labels) == 0
        assert not splits
    if threshold == 2:  # no cut costs more
        assert labels.max() + 1 == W.shape[0]


def test_limits(rng):
    X, y = make_blobs(
        [30, 30, 30, 30], centers=[[0, 0], [6, 0], [0, 6], [6, 6]], random_state=0
    )
    model = RecursiveNormalizedCut(affinity="rbf", gamma=0.25).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert model.n_clusters_ == 4
    assert len(model.splits_) == 3
    assert_array_equal(model.predict(X), model.labels_)
    for k in (1, 2, 3):
        few = RecursiveNormalizedCut(affinity="rbf", gamma=0.25, max_clusters=k).fit(X)
        assert few.n_clusters_ == k
        assert few.splits_ == model.splits_[: k - 1]
    large = RecursiveNormalizedCut(affinity="rbf", gamma=0.25, min_size=31).fit(X)
    assert np.bincount(large.labels_).min() >= 31


def test_stability_stops_where_all_thresholds_are_alike():
    """A long strip can be cut anywhere: cheap, but no cut is better than the next."""
    W = image_graph(np.ones((4, 150)), radius=1.5)
    labels, splits = recursive_normalized_cut(W, threshold=0.05)
    assert not splits
    assert labels.max() == 0
    free, _ = recursive_normalized_cut(W, threshold=0.05, max_instability=None)
    assert free.max() > 0


def test_image(global_random_seed):
    """Three regions and noise: every region is found."""
    rng = np.random.default_rng(global_random_seed)
    truth = np.zeros((24, 30), dtype=int)
    truth[6:18, 4:14], truth[4:20, 18:27] = 1, 2
    image = np.array([0.0, 0.5, 1.0])[truth] + 0.03 * rng.normal(size=truth.shape)
    W = image_graph(image, radius=4, intensity_width=0.1)
    model = RecursiveNormalizedCut(affinity="precomputed", random_state=0).fit(W)
    assert adjusted_rand_score(truth.ravel(), model.labels_) > 0.98
    assert model.n_clusters_ == 3


def test_degenerate_rows():
    for X in (np.ones((6, 2)), np.zeros((4, 1)), np.arange(3.0)[:, None]):
        model = RecursiveNormalizedCut(n_neighbors=2).fit(X)
        assert model.labels_.shape == (X.shape[0],)
    alone = RecursiveNormalizedCut(affinity="rbf").fit([[1.0]])
    assert_array_equal(alone.labels_, [0])
