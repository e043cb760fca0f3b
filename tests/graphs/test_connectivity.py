# SPDX-License-Identifier: BSD-3-Clause

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import block_diag, csc_array, csr_array, csr_matrix
from sklearn.linear_model import LogisticRegression

from fewlabels.exceptions import DisconnectedGraphWarning
from fewlabels.graphs import (
    connectivity,
    graph_laplacian,
    similarity_graph,
    warn_unreached,
)
from tests.graphs.strategies import weights
from tests.reference import graphs as reference

# A pair, a triangle and a lone vertex.
BLOCKS = [csr_array(np.ones((n, n))) for n in (2, 3)] + [csr_array((1, 1))]
W = block_diag(BLOCKS, format="csr")


@given(W=weights(), container=st.sampled_from([np.asarray, csr_matrix, csc_array]))
def test_components_equal_twin(W, container):
    report = connectivity(container(W))
    twin = reference.components(W)
    found = [
        set(np.flatnonzero(report.labels == c)) for c in range(report.n_components)
    ]
    assert sorted(map(sorted, found)) == sorted(map(sorted, twin))
    assert_array_equal(report.sizes, [len(c) for c in found])
    assert (np.diff(report.sizes) <= 0).all()
    assert report.n_isolated == sum(len(c) == 1 for c in twin)
    assert report.is_connected == (len(twin) == 1)


def test_report():
    report = connectivity(W)
    assert_array_equal(report.labels, [1, 1, 0, 0, 0, 2])
    assert_array_equal(report.sizes, [3, 2, 1])
    assert "6 vertices has 3 components, the largest with 3" in str(report)
    assert "is connected" in str(connectivity(np.ones((3, 3))))
    with pytest.raises(AttributeError):
        report.sizes = None


def test_directions_are_ignored_and_stored_zeros_are_no_edges():
    assert connectivity([[0, 1, 0], [0, 0, 0], [0, 1, 0]]).is_connected
    graph = csr_array(([0.0, 0.0], ([0, 1], [1, 0])), shape=(2, 2))
    assert connectivity(graph).n_components == 2
    assert graph.nnz == 2  # left as it was


def test_number_of_components_is_the_nullity_of_the_laplacian(rng):
    X = rng.standard_normal((60, 2))
    graph = similarity_graph(X, n_neighbors=3, symmetrize="mutual")
    values = np.linalg.eigvalsh(graph_laplacian(graph).toarray())
    assert connectivity(graph).n_components == np.count_nonzero(values < 1e-10)


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [
        ([0], [0, 2]),
        ([5, 2], [1]),
        ([], [0, 1, 2]),
        ([0, 2, 5, 2], []),
        ([False, True, True, False, False, False], [2]),
        ([False] * 6, [0, 1, 2]),
    ],
)
def test_components_without(seeds, expected):
    assert_array_equal(connectivity(W).components_without(seeds), expected)


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ([True, False], "mask of shape"),
        ([6], "indices in 0, ..., 5"),
        ([-1], "indices in 0, ..., 5"),
        ([0.5], "boolean mask or a list of indices"),
        ([[0]], "boolean mask or a list of indices"),
    ],
)
def test_bad_seeds(seeds, message):
    with pytest.raises(ValueError, match=message):
        connectivity(W).components_without(seeds)


def test_graph_must_be_square():
    with pytest.raises(ValueError, match="W must be square"):
        connectivity(np.ones((2, 3)))


@pytest.mark.parametrize("graph", [W, W.toarray(), connectivity(W)])
def test_warning_in_plain_words(graph):
    with pytest.warns(DisconnectedGraphWarning) as caught:
        unreached = warn_unreached(graph, [0], estimator=LogisticRegression())
    assert_array_equal(unreached, [False, False, True, True, True, True])
    message = str(caught[0].message)
    assert message.startswith("LogisticRegression: the graph is disconnected")
    assert "2 of its 3 components, with 4 of the 6 rows" in message
    for remedy in ("n_neighbors", "symmetrize='union'", "label a row in each"):
        assert remedy in message
    assert issubclass(DisconnectedGraphWarning, UserWarning)


def test_silence_where_all_is_reached():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(warn_unreached(W, [0, 2, 5]), np.zeros(6, bool))


def test_warning_points_at_the_caller_of_fit():
    def fit():
        return warn_unreached(W, [0])

    with pytest.warns(DisconnectedGraphWarning) as caught:
        fit()
    assert caught[0].filename == __file__
