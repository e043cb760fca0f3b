# SPDX-License-Identifier: BSD-3-Clause

import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

from fewlabels.exceptions import IgnoredParameterWarning
from fewlabels.graphs import (
    SimilarityGraphTransformer,
    auto_bandwidth,
    graph_from_neighbors,
    local_linear_weights,
    nearest_neighbors,
    similarity_graph,
)
from fewlabels.graphs import _similarity as module
from fewlabels.graphs._edge_weights import SCALED_WEIGHTS
from tests.graphs.strategies import rows
from tests.helpers import assert_close
from tests.reference import graphs as reference


# Per weight: the weight of one distance, for bandwidth 0.7 and threshold 1.
def scale_of(weight, threshold=1.0):
    """The parameters of scale that a weight takes."""
    params = {} if weight not in SCALED_WEIGHTS else {"bandwidth": 0.7}
    if weight == "gaussian_threshold":
        params["threshold"] = threshold
    return params


OF_DISTANCE = {
    "binary": lambda d: 1.0,
    "heat": lambda d: max(math.exp(-(d**2) / (2 * 0.7**2)), 1e-8),
    "gaussian_threshold": lambda d: (
        max(math.exp(-(d**2) / (2 * 0.7**2)), 1e-8) if d <= 1 else 0.0
    ),
    "inverse_distance": lambda d: 1 / max(d, 0.7e-3),
}
ALL_WEIGHTS = sorted(module.WEIGHT_CONSTRAINTS["weight"][0].options)


def assert_graph(W, n, dtype):
    assert isinstance(W, csr_array)
    assert W.shape == (n, n)
    assert W.dtype == dtype
    assert W.has_canonical_format
    dense = W.toarray()
    assert np.isfinite(dense).all()
    assert (W.data > 0).all()
    assert_array_equal(dense, dense.T)
    assert_array_equal(dense.diagonal(), 0)


@given(X=rows(), weight=st.sampled_from(sorted(OF_DISTANCE)), data=st.data())
def test_knn_graph_equals_twin(X, weight, data):
    k = data.draw(st.integers(1, len(X) - 1))
    symmetrize = data.draw(st.sampled_from(["union", "mutual", "mean"]))
    search = nearest_neighbors(X, k)
    W = similarity_graph(
        X, n_neighbors=k, symmetrize=symmetrize, weight=weight, **scale_of(weight)
    )
    assert_graph(W, len(X), X.dtype)
    twin = reference.graph_from_neighbors(*search, OF_DISTANCE[weight], symmetrize)
    assert_close(W.toarray(), twin)
    again = graph_from_neighbors(
        *search, symmetrize=symmetrize, weight=weight, **scale_of(weight)
    )
    assert_array_equal(again.toarray(), W.toarray())


@given(
    X=rows(min_rows=1),
    weight=st.sampled_from(sorted(OF_DISTANCE)),
    radius=st.sampled_from([0.0, 0.25, 0.5, 1.0, 100.0]),
)
def test_ball_graph_equals_twin(X, weight, radius):
    W = similarity_graph(
        X, kind="ball", radius=radius, weight=weight, **scale_of(weight)
    )
    assert_graph(W, len(X), X.dtype)
    assert_close(W.toarray(), reference.ball_graph(X, radius, OF_DISTANCE[weight]))


@given(X=rows(min_rows=1), weight=st.sampled_from(sorted(OF_DISTANCE)))
def test_complete_graph_is_the_largest_ball(X, weight):
    W = similarity_graph(X, kind="complete", weight=weight, **scale_of(weight))
    assert_graph(W, len(X), X.dtype)
    assert_close(W.toarray(), reference.ball_graph(X, np.inf, OF_DISTANCE[weight]))


@pytest.mark.filterwarnings("ignore:weight='dot'")
@given(X=rows(min_rows=4), weight=st.sampled_from(ALL_WEIGHTS), sparse=st.booleans())
def test_every_weight_makes_a_graph(X, weight, sparse):
    W = similarity_graph(
        csr_matrix(X) if sparse else X,
        n_neighbors=3,
        weight=weight,
        **scale_of(weight),
    )
    assert_graph(W, len(X), X.dtype)


def test_gaussian_density(rng):
    """(6.16.63): heat times the height of the density, whose integral is one."""
    X = rng.normal(size=(30, 3))
    options = {"n_neighbors": 4, "bandwidth": 0.7}
    heat = similarity_graph(X, weight="heat", **options)
    density = similarity_graph(X, weight="gaussian_density", **options)
    assert_close(density.toarray(), heat.toarray() / (2 * np.pi * 0.49) ** 1.5)
    steps = np.arange(-5, 5, 0.05)[:, None]
    row = similarity_graph(
        np.vstack([[[1e-9]], steps]),
        kind="complete",
        weight="gaussian_density",
        bandwidth=0.7,
    )[[0]]
    assert abs(row.sum() * 0.05 - 1) < 1e-5
    search = nearest_neighbors(X, 4)
    again = graph_from_neighbors(*search, weight="gaussian_density", bandwidth=0.7, X=X)
    assert_array_equal(again.toarray(), density.toarray())
    with pytest.raises(ValueError, match="computed from the rows"):
        graph_from_neighbors(*search, weight="gaussian_density")
    for scale in (1e-40, 1e40):
        with pytest.raises(ValueError, match="use weight='heat'"):
            similarity_graph(np.tile(X, 10), weight="gaussian_density", bandwidth=scale)


@pytest.mark.parametrize("weight", ALL_WEIGHTS)
def test_mutual_is_part_of_union(rng, weight):
    X = rng.random((60, 3))
    options = {"n_neighbors": 5, "weight": weight, **scale_of(weight, 0.4)}
    union = similarity_graph(X, symmetrize="union", **options).toarray()
    mutual = similarity_graph(X, symmetrize="mutual", **options).toarray()
    mean = similarity_graph(X, symmetrize="mean", **options).toarray()
    assert (mutual <= union).all()
    assert 0 < np.count_nonzero(mutual) < np.count_nonzero(union)
    assert_close(mean, (union + mutual) / 2)


def test_copies_are_joined(rng):
    X = np.repeat(rng.standard_normal((10, 20)), 2, axis=0)
    for options in ({"n_neighbors": 1}, {"kind": "ball", "radius": 1e-6}):
        W = similarity_graph(X, **options)
        assert_array_equal(W.toarray(), np.kron(np.eye(10), [[0, 1], [1, 0]]))


class TestHeat:
    def test_limits(self, rng, global_dtype):
        X = rng.standard_normal((30, 2)).astype(global_dtype)
        binary = similarity_graph(X, weight="binary")
        wide = similarity_graph(X, bandwidth=1e6)
        assert_close(wide.toarray(), binary.toarray())
        narrow = similarity_graph(X, bandwidth=1e-300)
        assert_array_equal(
            narrow.toarray(), (1e-8 * binary).astype(global_dtype).toarray()
        )

    @pytest.mark.parametrize(
        ("bandwidth", "other"),
        [
            (math.sqrt(0.3 / 2), lambda d: np.exp(-(d**2) / 0.3)),
            (math.sqrt(2 * 0.3), lambda d: np.exp(-(d**2) / (4 * 0.3))),
            (1 / math.sqrt(2 * 0.3), lambda d: np.exp(-0.3 * d**2)),
        ],
    )
    def test_conventions(self, rng, bandwidth, other):
        X = rng.random((30, 2))  # no edge so long that the floor counts
        W = similarity_graph(X, bandwidth=bandwidth)
        assert_close(W.toarray(), similarity_graph(X, weight=other).toarray())

    @pytest.mark.parametrize("scale", [1e-15, 1e15])
    def test_auto_follows_the_units(self, rng, scale, global_dtype):
        X = rng.standard_normal((30, 2)).astype(global_dtype)
        W = similarity_graph(global_dtype(scale) * X)
        assert_close(W.toarray(), similarity_graph(X).toarray(), factor=10)

    def test_auto_bandwidth(self):
        assert auto_bandwidth([[1.0, 3.0], [2.0, 2.0]]) == 2.0
        assert auto_bandwidth([1.0, 1.0, 1.0, 1000.0]) == 2.0  # 1000 counts as 5
        assert auto_bandwidth([0.0, 0.0, 0.0, 1.0, 3.0]) == 2.0  # copies left out
        assert auto_bandwidth([0.0, 0.0]) == 1.0
        assert auto_bandwidth([]) == 1.0

    @pytest.mark.parametrize("far", [2.0**8, 2.0**20])
    def test_a_far_row_leaves_the_weights_alone(self, rng, far):
        X = rng.standard_normal((9, 3))
        near = similarity_graph(X, n_neighbors=4).toarray()
        beside = similarity_graph(np.vstack([X, X[0] + far]), n_neighbors=4).toarray()
        assert_close(beside[:9, :9], near, factor=10)

    @pytest.mark.parametrize(("k", "share"), [(1, 1), (2, 1), (10, 0.5), (40, 0.25)])
    def test_auto_is_sharper_for_more_neighbors(self, rng, k, share):
        X = rng.random((50, 2))
        distances, _ = nearest_neighbors(X, k)
        for bandwidth, part in (("auto", share), ("mean", 1)):
            W = similarity_graph(X, n_neighbors=k, bandwidth=bandwidth)
            t = part * distances.mean()
            same = similarity_graph(X, n_neighbors=k, bandwidth=t)
            assert_close(W.toarray(), same.toarray())

    def test_auto_of_other_graphs_is_the_mean(self, rng):
        X = rng.random((30, 2))
        W = similarity_graph(X, kind="complete")
        mean = similarity_graph(X, kind="complete", bandwidth="mean")
        assert_close(W.toarray(), mean.toarray())


class TestDot:
    def test_equals_products(self, rng, global_dtype):
        X = rng.random((20, 6)).astype(global_dtype)
        W = similarity_graph(X, kind="complete", weight="dot")
        assert_close(W.toarray(), X @ X.T - np.diag((X**2).sum(axis=1)), factor=10)
        sparse = similarity_graph(csr_array(X), kind="complete", weight="dot")
        assert_close(sparse.toarray(), W.toarray(), factor=10)

    def test_negative_products_are_dropped_with_a_warning(self):
        X = [[-1.0], [1.0], [2.0]]
        with pytest.warns(UserWarning, match="4 of 6 inner products are negative"):
            W = similarity_graph(X, kind="complete", weight="dot")
        assert_array_equal(W.toarray(), [[0, 0, 0], [0, 0, 2], [0, 2, 0]])


class TestLocalLinear:
    def test_equals_twin(self, rng, global_dtype):
        X = rng.standard_normal((25, 3)).astype(global_dtype)
        B = local_linear_weights(X, 5, alpha=1e-2)
        assert B.dtype == global_dtype
        for i, found in enumerate(reference.neighbors(X, 5)):
            chosen = [j for _, j in found]
            twin = reference.barycenter(X[i], X[chosen], 1e-2)
            assert_close(B.toarray()[i, chosen], twin)

    @given(X=rows(min_rows=5))
    def test_rows_sum_to_one(self, X):
        B = local_linear_weights(X, 4).toarray()
        assert_close(B.sum(axis=1), np.ones(len(X)), scale=np.abs(B).max())
        assert_array_equal(B.diagonal(), 0)

    def test_invariances(self, rng):
        X = rng.standard_normal((40, 4))
        rotation, _ = np.linalg.qr(rng.standard_normal((4, 4)))
        B = local_linear_weights(X, 6).toarray()
        for moved in (X + 10, X @ rotation, 1e-5 * X, 1e5 * X[:, ::-1]):
            assert_close(local_linear_weights(moved, 6).toarray(), B, factor=10)

    def test_sparse_rows(self, rng):
        X = rng.random((20, 4)) * (rng.random((20, 4)) < 0.6)
        X[:, 0] = rng.random(20)  # no copies: which of them is nearest is open
        dense = local_linear_weights(X, 3)
        assert_close(local_linear_weights(csr_array(X), 3).toarray(), dense.toarray())

    def test_graph_joins_the_clipped_shares_of_both_ends(self, rng):
        X = rng.standard_normal((30, 3))
        B = np.maximum(local_linear_weights(X, 5).toarray(), 0)
        B /= B.sum(axis=1, keepdims=True)
        of_two = {"union": np.maximum(B, B.T), "mutual": np.minimum(B, B.T)}
        for symmetrize, expected in {**of_two, "mean": (B + B.T) / 2}.items():
            W = similarity_graph(
                X, n_neighbors=5, weight="local_linear", symmetrize=symmetrize
            )
            assert_close(W.toarray(), expected)


def test_one_search_serves_several_graphs(rng):
    X = rng.standard_normal((40, 3))
    search = nearest_neighbors(X, 15)
    for k in (3, 5, 15):
        for weight in ("heat", "local_linear"):
            W = graph_from_neighbors(*search, n_neighbors=k, weight=weight, X=X)
            direct = similarity_graph(X, n_neighbors=k, weight=weight)
            assert_array_equal(W.toarray(), direct.toarray())


@pytest.mark.parametrize("kind", ["knn", "ball", "complete"])
def test_precomputed_distances(rng, kind):
    X = rng.standard_normal((20, 3))
    options = {"kind": kind, "n_neighbors": 4}
    if kind == "ball":
        options["radius"] = 1.0
    D = pairwise_distances(X)
    expected = similarity_graph(X, **options).toarray()
    W = similarity_graph(D, metric="precomputed", **options)
    assert_close(W.toarray(), expected)
    if kind != "complete":
        W = similarity_graph(csr_array(D), metric="precomputed", **options)
        assert_close(W.toarray(), expected)


def test_transformers_as_search(rng):
    X = rng.standard_normal((30, 3))
    knn = similarity_graph(
        X, n_neighbors=5, neighbors=KNeighborsTransformer(n_neighbors=5)
    )
    assert_close(knn.toarray(), similarity_graph(X, n_neighbors=5).toarray())
    options = {"kind": "ball", "radius": 0.8}
    neighbors = RadiusNeighborsTransformer(radius=1.0)
    ball = similarity_graph(X, neighbors=neighbors, **options)
    assert_close(ball.toarray(), similarity_graph(X, **options).toarray())


def test_approximate_graph(rng):
    pytest.importorskip("faiss")
    X = rng.standard_normal((1500, 8))
    union = {"weight": "binary", "symmetrize": "union"}
    exact = similarity_graph(X, **union)
    found = similarity_graph(X, neighbors="approximate", **union)
    assert_graph(found, 1500, np.float64)
    assert exact.multiply(found).sum() > 0.97 * exact.sum()


def test_no_dense_matrix(rng):
    X = rng.standard_normal((5000, 20))
    similarity_graph(X[:100])  # imports
    tracemalloc.start()
    W = similarity_graph(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert W.nnz >= 5000 * 10
    # 4 MB of edges, at most a batch of 34 MB of rows; 200 MB if dense.
    assert peak < 60e6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 4}, "n_neighbors=4 must be smaller.*n_samples=4"),
        ({"kind": "ball"}, "kind='ball' needs a radius"),
        ({"kind": "star"}, "'kind' parameter"),
        ({"symmetrize": "both"}, "'symmetrize' parameter"),
        ({"weight": "heavy"}, "'weight' parameter"),
        ({"weight": "gaussian_threshold"}, "needs a threshold"),
        ({"bandwidth": 0.0}, "'bandwidth' parameter"),
        ({"weight": lambda d: -d}, "negative or non-finite"),
        ({"weight": lambda d: d[:-1]}, "one weight per distance"),
        ({"kind": "complete", "weight": "local_linear"}, "use kind='knn'"),
        ({"metric": "precomputed", "weight": "dot"}, "computed from the rows"),
        ({"kind": "ball", "radius": 1.0, "neighbors": "approximate"}, "kind='ball'"),
        ({"kind": "complete", "neighbors": "approximate"}, "kind='complete'"),
    ],
)
def test_errors(options, message):
    if options.get("neighbors") == "approximate":
        pytest.importorskip("faiss")
    X = 1 - np.eye(4)
    with pytest.raises(ValueError, match=message):
        similarity_graph(X, **{"n_neighbors": 2, **options})


def test_a_complete_graph_has_a_limit(monkeypatch):
    monkeypatch.setattr(module, "MAX_COMPLETE", 15)
    with pytest.raises(ValueError, match="4 x 4 weights; the limit is 15"):
        similarity_graph(np.eye(4), kind="complete")


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e300, 1e-300])
@pytest.mark.parametrize("kind", ["knn", "ball", "complete"])
def test_scales_whose_squares_overflow_or_vanish(scale, kind, rng):
    X = rng.normal(size=(30, 20))
    params = {"kind": kind, "n_neighbors": 4}
    W = similarity_graph(X, radius=6.0 if kind == "ball" else None, **params)
    radius = 6.0 * scale if kind == "ball" else None
    assert_close(
        similarity_graph(scale * X, radius=radius, **params).toarray(), W.toarray()
    )


GOOD = (np.array([[1.0, 2.0], [1.0, 1.0], [1.0, 2.0]]), [[1, 2], [0, 2], [1, 0]])


@pytest.mark.parametrize(
    ("distances", "indices", "options", "message"),
    [
        (*GOOD, {"n_neighbors": 3}, "more than the 2 neighbours"),
        (*GOOD, {"X": np.eye(4)}, "X has 4 rows but distances has 3"),
        (*GOOD, {"weight": "dot"}, "computed from the rows"),
        (GOOD[0][:, ::-1], GOOD[1], {}, "increase along every row"),
        (-GOOD[0], GOOD[1], {}, "non-negative"),
        (GOOD[0], [[1], [0], [1]], {}, "of the shape of distances"),
        (GOOD[0], np.array(GOOD[1], float), {}, "must be integers"),
        (GOOD[0], [[1, 3], [0, 2], [1, 0]], {}, "lie in 0, ..., 2"),
        (GOOD[0], [[1, 1], [0, 2], [1, 0]], {}, "same neighbour twice"),
        (GOOD[0], [[0, 1], [0, 2], [1, 0]], {}, "its own neighbour"),
    ],
)
def test_errors_of_a_given_search(distances, indices, options, message):
    with pytest.raises(ValueError, match=message):
        graph_from_neighbors(distances, indices, **options)


class TestTransformer:
    @pytest.mark.parametrize("weight", ALL_WEIGHTS)
    def test_fit_transform_is_the_function(self, rng, weight, global_dtype):
        X = rng.random((30, 4)).astype(global_dtype)
        options = {"n_neighbors": 4, "weight": weight, **scale_of(weight, 0.5)}
        transformer = SimilarityGraphTransformer(**options)
        W = transformer.fit_transform(X)
        assert_array_equal(W.toarray(), similarity_graph(X, **options).toarray())
        assert W is transformer.graph_

    @pytest.mark.parametrize("weight", sorted(OF_DISTANCE))
    @pytest.mark.parametrize("kind", ["knn", "ball", "complete"])
    def test_weights_of_new_rows(self, rng, kind, weight, global_dtype):
        X, new = rng.random((2, 20, 3)).astype(global_dtype)
        transformer = SimilarityGraphTransformer(
            kind=kind,
            n_neighbors=4,
            radius=0.3 if kind == "ball" else None,
            weight=weight,
            **scale_of(weight),
        ).fit(X)
        W = transformer.transform(new[:7])
        assert W.shape == (7, 20)
        assert W.dtype == global_dtype
        for x, row in zip(new[:7], W.toarray(), strict=True):
            d = np.array([reference.distance(x, z) for z in X])
            keep = {
                "knn": d <= np.sort(d)[3],
                "ball": d <= 0.3,
                "complete": d >= 0,
            }[kind]
            expected = [
                k * OF_DISTANCE[weight](v) for k, v in zip(keep, d, strict=True)
            ]
            assert_close(row, expected, factor=10)

    def test_new_rows_of_other_weights(self, rng):
        X, new = rng.random((2, 20, 3))
        dot = SimilarityGraphTransformer(kind="complete", weight="dot").fit(X)
        assert_close(dot.transform(new).toarray(), new @ X.T)
        linear = SimilarityGraphTransformer(n_neighbors=6, weight="local_linear").fit(X)
        W = linear.transform(new).toarray()
        assert_close(W.sum(axis=1), np.ones(20))

    def test_bandwidth_is_that_of_the_training_rows(self, rng):
        X = rng.random((20, 3))
        transformer = SimilarityGraphTransformer(n_neighbors=3, bandwidth="mean").fit(X)
        assert transformer.bandwidth_ == auto_bandwidth(nearest_neighbors(X, 3)[0])
        W = transformer.transform(X)  # each row next to its copy
        assert_array_equal(W.diagonal(), 1)

    @pytest.mark.parametrize(
        "neighbors", ["approximate", KNeighborsTransformer(n_neighbors=5)]
    )
    def test_other_searches(self, rng, neighbors):
        if neighbors == "approximate":
            pytest.importorskip("faiss")
        X, new = rng.random((2, 50, 3))
        exact = SimilarityGraphTransformer(n_neighbors=5).fit(X)
        other = SimilarityGraphTransformer(n_neighbors=5, neighbors=neighbors).fit(X)
        other = pickle.loads(pickle.dumps(other))
        assert_close(other.transform(new).toarray(), exact.transform(new).toarray())

    @pytest.mark.parametrize("container", [np.asarray, csr_array])
    def test_precomputed(self, rng, container):
        X, new = rng.random((2, 20, 3))
        exact = SimilarityGraphTransformer(n_neighbors=5).fit(X)
        given_ = SimilarityGraphTransformer(n_neighbors=5, metric="precomputed")
        W = given_.fit_transform(container(pairwise_distances(X)))
        assert_close(W.toarray(), exact.graph_.toarray())
        W = given_.transform(container(pairwise_distances(new, X)))
        assert_close(W.toarray(), exact.transform(new).toarray())

    def test_feature_names_out(self, rng):
        transformer = SimilarityGraphTransformer(n_neighbors=2).fit(rng.random((5, 2)))
        names = transformer.get_feature_names_out()
        assert names[-1] == "similaritygraphtransformer4"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"radius": 1.0}, "radius=1.0 is ignored: kind='knn'"),
        ({"kind": "complete", "symmetrize": "mutual"}, "symmetrize='mutual'"),
        ({"weight": "binary", "bandwidth": 2.0}, "bandwidth=2.0 is ignored"),
        ({"threshold": 2.0}, "threshold=2.0 is ignored: weight='heat'"),
    ],
)
def test_ignored_parameters_are_named(rng, params, message):
    with pytest.warns(IgnoredParameterWarning, match=message):
        similarity_graph(rng.normal(size=(15, 2)), **params)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8])
@pytest.mark.parametrize("options", [{"n_neighbors": 10}, {"kind": "complete"}])
def test_rows_far_from_the_origin(rng, offset, options):
    """Moving all rows by the same amount changes neither neighbours nor weights."""
    X = rng.normal(size=(150, 20)).round(3)  # exact sums up to 1e8
    W = similarity_graph(X, **options).toarray()
    moved = similarity_graph(X + offset, **options).toarray()
    assert np.abs(W - moved).max() < 1e-5


@pytest.mark.parametrize("radius", [0.0, 1e-9, 1e-6])
def test_copies_are_joined_in_any_ball(rng, radius):
    X = np.repeat(rng.normal(size=(10, 20)), 2, axis=0)
    W = similarity_graph(X, kind="ball", radius=radius)
    assert_array_equal(W.toarray(), np.kron(np.eye(10), [[0, 1], [1, 0]]))


@pytest.mark.parametrize("weight", ["heat", "dot", "local_linear"])
def test_new_rows_may_come_in_another_container(rng, weight):
    X, new = rng.random((2, 20, 3))
    transformer = SimilarityGraphTransformer(n_neighbors=4, weight=weight)
    expected = transformer.fit(X).transform(new).toarray()
    assert_close(transformer.transform(csr_array(new)).toarray(), expected)
    transformer.fit(csr_array(X))
    assert_close(transformer.transform(new).toarray(), expected)
