# SPDX-License-Identifier: BSD-3-Clause

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import coo_array, csr_array, csr_matrix
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

from fewlabels._threads import threads
from fewlabels.graphs import _exact_search, _neighbors, make_search, nearest_neighbors
from tests.graphs.strategies import rows
from tests.helpers import assert_close
from tests.reference import graphs as reference


def assert_valid_search(X, distances, indices):
    """A search is right up to the order of ties."""
    n, k = indices.shape
    assert distances.shape == (n, k)
    assert (np.diff(distances, axis=1) >= 0).all()
    for i, found in enumerate(reference.neighbors(X, k)):
        assert i not in indices[i]
        assert len(set(indices[i])) == k
        assert_close(distances[i], [d for d, _ in found])
        assert_close(distances[i], [reference.distance(X[i], X[j]) for j in indices[i]])


@given(X=rows(), data=st.data())
def test_search_is_right_with_ties_and_copies(X, data):
    k = data.draw(st.integers(1, len(X) - 1))
    distances, indices = nearest_neighbors(X, k)
    assert distances.dtype == X.dtype
    assert_valid_search(X, distances, indices)


def test_search_equals_twin_without_ties(rng):
    X = rng.standard_normal((40, 3))
    _, indices = nearest_neighbors(X, 7)
    assert_array_equal(
        indices, [[j for _, j in row] for row in reference.neighbors(X, 7)]
    )


@pytest.mark.parametrize("neighbors", ["exact", "approximate"])
@pytest.mark.parametrize("n_features", [3, 30])
def test_copies_far_from_the_origin_are_at_distance_zero(rng, n_features, neighbors):
    # Expanding ||x - z||^2 into products would put copies about 1e-5 apart here.
    if neighbors == "approximate":
        pytest.importorskip("faiss")
    X = np.repeat(rng.standard_normal((20, n_features)) + 1e3, 3, axis=0)
    distances, indices = nearest_neighbors(X, 4, neighbors=neighbors)
    assert_array_equal(distances[:, :2], 0)
    assert_array_equal(indices[:, :2] // 3, np.arange(60)[:, None] // 3 * np.ones(2))
    assert (distances[:, 2:] > 0).all()


@pytest.mark.parametrize("neighbors", ["exact", "approximate"])
def test_more_copies_than_neighbors(neighbors):
    if neighbors == "approximate":
        pytest.importorskip("faiss")
    distances, indices = nearest_neighbors(np.ones((50, 3)), 5, neighbors=neighbors)
    assert_array_equal(distances, 0)
    assert (indices != np.arange(50)[:, None]).all()
    assert all(len(set(row)) == 5 for row in indices)


@pytest.mark.parametrize("container", [csr_array, csr_matrix, coo_array])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_sparse_rows(rng, container, metric, global_dtype):
    X = rng.random((30, 8)) * (rng.random((30, 8)) < 0.5)
    X[:, 0] += 0.1  # the cosine distance of a zero row means nothing
    X = X.astype(global_dtype)
    dense = nearest_neighbors(X, 4, metric=metric)
    sparse = nearest_neighbors(container(X), 4, metric=metric)
    assert sparse[0].dtype == global_dtype
    assert_close(sparse[0], dense[0], factor=10)
    assert_array_equal(sparse[1], dense[1])


def test_metric_params(rng):
    X = rng.standard_normal((25, 4))
    by_name = nearest_neighbors(X, 3, metric="manhattan")
    by_power = nearest_neighbors(X, 3, metric="minkowski", metric_params={"p": 1})
    assert_close(by_power[0], by_name[0])
    by_call = nearest_neighbors(X, 3, metric=lambda x, z: np.abs(x - z).sum())
    assert_close(by_call[0], by_name[0])


@pytest.mark.parametrize(
    "precomputed",
    [
        lambda X: pairwise_distances(X),
        lambda X: csr_array(pairwise_distances(X)),
        # With and without the row itself, sorted and unsorted, with stored zeros.
        lambda X: KNeighborsTransformer(n_neighbors=6).fit_transform(X),
        lambda X: kneighbors_graph(X, 5, mode="distance"),
        lambda X: kneighbors_graph(X, 6, mode="distance").tocoo(),
    ],
)
def test_precomputed_distances(rng, precomputed):
    X = rng.standard_normal((30, 3))
    expected = nearest_neighbors(X, 5)
    found = nearest_neighbors(precomputed(X), 5, metric="precomputed")
    assert_close(found[0], expected[0])
    assert_array_equal(found[1], expected[1])


def test_stored_zeros_of_a_precomputed_graph_are_neighbors():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    graph = KNeighborsTransformer(n_neighbors=2).fit_transform(X)
    distances, indices = nearest_neighbors(graph, 1, metric="precomputed")
    assert_array_equal(distances, 0)
    assert_array_equal(indices.ravel(), [1, 0, 3, 2])


def test_transformer_as_search(rng, global_dtype):
    X = rng.standard_normal((30, 3)).astype(global_dtype)
    expected = nearest_neighbors(X, 5)
    transformer = KNeighborsTransformer(n_neighbors=5)
    found = nearest_neighbors(X, 5, neighbors=transformer)
    assert found[0].dtype == global_dtype
    assert_close(found[0], expected[0])
    assert_array_equal(found[1], expected[1])
    assert not hasattr(transformer, "n_features_in_")  # a clone was fitted


class DenseTransformer(KNeighborsTransformer):
    def fit_transform(self, X, y=None):
        return super().fit_transform(X).toarray()


@pytest.mark.parametrize(
    ("X", "k", "options", "message"),
    [
        (np.ones((3, 2)), 3, {}, "n_neighbors=3 must be smaller.*n_samples=3"),
        (np.ones((1, 2)), 1, {}, "n_samples=1"),
        (np.ones((3, 2)), 0, {}, "n_neighbors"),
        ([[1.0], [np.nan]], 1, {}, "NaN"),
        (np.eye(4), 1, {"neighbors": "nearly"}, "'neighbors' parameter"),
        (
            csr_array(np.eye(4)),
            1,
            {"neighbors": "approximate"},
            "Euclidean distance between dense rows.*sparse X",
        ),
        (
            np.eye(4),
            1,
            {"neighbors": "approximate", "metric": "cosine"},
            "metric='cosine'.*neighbors='exact'",
        ),
        (
            np.arange(8.0)[:, None],
            4,
            {"neighbors": KNeighborsTransformer(n_neighbors=3)},
            "only 3 neighbours",
        ),
        (
            np.arange(8.0)[:, None],
            2,
            {"neighbors": DenseTransformer(n_neighbors=3)},
            "gave no sparse graph",
        ),
        (csr_array(np.ones((4, 3))), 1, {"metric": "precomputed"}, "shape"),
        (csr_array(-np.ones((4, 4))), 1, {"metric": "precomputed"}, "negative"),
    ],
)
def test_errors(X, k, options, message):
    with pytest.raises(ValueError, match=message):
        nearest_neighbors(X, k, **options)


class TestApproximate:
    @pytest.fixture(autouse=True)
    def _faiss(self):
        pytest.importorskip("faiss")

    @pytest.mark.parametrize("clusters", [1, 30])
    def test_recall(self, rng, clusters, global_dtype):
        # One cluster in 25 dimensions is the hard case for cells.
        centres = 4 * rng.standard_normal((clusters, 25))
        X = centres[rng.integers(clusters, size=3000)] + rng.standard_normal((3000, 25))
        X = X.astype(global_dtype)
        exact_distances, exact = nearest_neighbors(X, 10)
        distances, found = nearest_neighbors(X, 10, neighbors="approximate")
        shared = [np.isin(f, e).mean() for f, e in zip(found, exact, strict=True)]
        assert np.mean(shared) > 0.97
        assert distances.dtype == global_dtype
        hit = (found == exact).all(axis=1)
        assert_close(distances[hit], exact_distances[hit])

    def test_deterministic(self, rng):
        X = rng.standard_normal((2000, 10))
        first = nearest_neighbors(X, 5, neighbors="approximate")
        second = nearest_neighbors(X, 5, neighbors="approximate")
        assert_array_equal(first[1], second[1])

    @settings(max_examples=20)  # threads of faiss are slow to start
    @given(X=rows(), data=st.data())
    def test_exact_on_few_rows(self, X, data):
        k = data.draw(st.integers(1, len(X) - 1))
        search = nearest_neighbors(X, k, neighbors="approximate")
        assert_valid_search(X, *search)

    def test_neighbors_beyond_the_cells_visited(self, rng, monkeypatch):
        # 16 of 34 cells hold fewer than 290 of 300 rows: the others are visited too.
        monkeypatch.setattr(_neighbors.ApproximateSearch, "RECALL", 0)
        X = rng.standard_normal((300, 2))
        search = nearest_neighbors(X, 290, neighbors="approximate")
        assert_valid_search(X, *search)

    @pytest.mark.parametrize("scale", [1e-30, 1e30])
    def test_units_do_not_matter(self, rng, scale):
        X = rng.standard_normal((500, 5))
        expected = nearest_neighbors(X, 3, neighbors="approximate")
        found = nearest_neighbors(scale * X, 3, neighbors="approximate")
        assert_array_equal(found[1], expected[1])

    def test_auto(self, rng, monkeypatch):
        def chosen(X, **options):
            return type(_neighbors.make_search(X, neighbors="auto", **options))

        X = rng.standard_normal((60, 6))
        assert chosen(X) is _neighbors.ExactSearch
        monkeypatch.setattr(_neighbors, "AUTO_EXACT_ROWS", 50)
        assert chosen(X) is _neighbors.ApproximateSearch
        assert chosen(X[:, :3]) is _neighbors.ExactSearch
        assert chosen(csr_array(X)) is _neighbors.ExactSearch
        assert chosen(X, metric="cosine") is _neighbors.ExactSearch
        assert chosen(X, kind="ball") is _neighbors.ExactSearch
        monkeypatch.setattr(_neighbors, "_has_faiss", lambda: False)
        assert chosen(X) is _neighbors.ExactSearch


def test_missing_faiss_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"fewlabels\[ann\]"):
        nearest_neighbors(np.eye(4), 1, neighbors="approximate")


def test_outliers_do_not_spoil_approximate_neighbours(rng):
    """A few rows far away leave faiss too few digits for the others."""
    pytest.importorskip("faiss")
    X = rng.normal(size=(3000, 8))
    X[:3] *= 1e12
    exact = nearest_neighbors(X, 5)[1]
    with pytest.warns(UserWarning, match="searching exactly"):
        found = nearest_neighbors(X, 5, neighbors="approximate")[1]
    assert np.mean(found == exact) > 0.99


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["one far row", "two places", "shifted"])
def test_far_rows_do_not_hide_neighbors(kind, sparse, rng):
    """Among more than 15 features distances come from products, whose digits end."""
    X = rng.normal(size=(60, 20))
    if kind == "one far row":
        X[7] = 1e12
    elif kind == "two places":
        X[30:] += 1e9
    else:
        X += 1e9
    truth = cdist(X, X)
    np.fill_diagonal(truth, np.inf)
    distances, _ = nearest_neighbors(csr_array(X) if sparse else X, 5)
    assert_close(distances, np.sort(truth, axis=1)[:, :5])


@pytest.mark.parametrize("neighbors", ["exact", "approximate"])
def test_threads_find_the_same_neighbors(rng, neighbors):
    X = rng.integers(0, 3, size=(5000, 6)).astype(np.float32)  # with many ties
    expected, _ = make_search(X).kneighbors(4)
    found = []
    for n_jobs in (1, 2):
        with threads(n_jobs):
            search = make_search(X, neighbors=neighbors)
            found.append([*search.kneighbors(4), *search.kneighbors(3, X[:50] + 0.1)])
    for one, two in zip(*found, strict=True):
        assert_array_equal(one, two)
    if neighbors == "exact":
        assert_array_equal(found[0][0], expected)
    own = found[0][1] == np.arange(5000)[:, None]
    assert not own.any()


@pytest.fixture
def scan(monkeypatch):
    """Compare all rows, however few there are."""
    monkeypatch.setattr(_exact_search, "SCAN_ROWS", 1)
    monkeypatch.setattr(_exact_search, "SCAN_FEATURES", 0)
    monkeypatch.setattr(_exact_search, "_TILE", 70)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(X=rows(), data=st.data())
def test_scanned_neighbors_equal_the_twin(scan, X, data):
    k = data.draw(st.integers(1, len(X) - 1))
    distances, indices = nearest_neighbors(X, k)
    found = reference.neighbors(X, k)
    assert distances.dtype == X.dtype
    assert_close(distances, [[d for d, _ in row] for row in found])
    # Of rows that are equally near, the first.
    exact = cdist(X.astype(float), X.astype(float), "sqeuclidean")
    np.fill_diagonal(exact, np.inf)
    expected = np.argsort(exact, axis=1, kind="stable")[:, :k]
    assert_array_equal(
        np.take_along_axis(exact, indices, 1), np.take_along_axis(exact, expected, 1)
    )


@pytest.mark.parametrize("kind", ["plain", "copies", "one far row", "shifted", "tiny"])
def test_scanned_neighbors_of_many_rows(scan, kind, rng, global_dtype):
    X = rng.standard_normal((700, 9))
    if kind == "copies":
        X[::2] = X[0]
    elif kind == "one far row":
        X[3] = 1e9
    elif kind == "shifted":
        X += 1e4
    elif kind == "tiny":
        X *= 1e-30
    X = X.astype(global_dtype)
    queries = np.vstack([X[:90], X[:90] * global_dtype(1.25)])
    distances, indices = make_search(X).kneighbors(6, queries)
    exact = cdist(queries.astype(float), X.astype(float))
    assert_close(distances, np.sort(exact, axis=1)[:, :6])
    assert_close(np.take_along_axis(exact, indices, axis=1), distances)
    assert all(len(set(row)) == 6 for row in indices)


def test_scanned_neighbors_of_queries_beyond_all_squares(scan, rng):
    X = rng.standard_normal((200, 9)).astype(np.float32)
    far = np.full((2, 9), [[1e30], [1e38]], dtype=np.float32)
    distances, indices = make_search(X).kneighbors(200, far)
    assert_array_equal(np.sort(indices, axis=1), np.tile(np.arange(200), (2, 1)))
    assert_close(distances[0], np.full(200, 3e30))


def test_threads_scan_for_the_same_neighbors(scan, rng):
    X = rng.standard_normal((500, 8))
    with threads(1):
        expected = nearest_neighbors(X, 5)
    with threads(2):
        for one, two in zip(expected, nearest_neighbors(X, 5), strict=True):
            assert_array_equal(one, two)
