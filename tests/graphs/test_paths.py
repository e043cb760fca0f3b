"""Loop of shortest paths."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, random_array
from scipy.sparse.csgraph import dijkstra

from fewlabels._loops.paths import shortest_paths
from tests.reference import paths as reference


@pytest.mark.parametrize("n", [1, 2, 30])
@pytest.mark.parametrize("density", [0.0, 0.05, 0.5])
def test_paths_are_those_of_the_slow_twin(rng, n, density):
    graph = csr_array(random_array((n, n), density=density, rng=rng))
    graph.data[::3] = 0.25  # ties
    graph.data[::7] = 0.0  # which are edges
    found = np.empty(n)
    for source in range(n):
        shortest_paths(graph.indptr, graph.indices, graph.data, source, found)
        assert_array_equal(found, reference.shortest_paths(graph, source))


def test_paths_are_those_of_scipy(rng):
    graph = csr_array(random_array((2000, 2000), density=0.002, rng=rng))
    expected = dijkstra(graph, indices=range(5))
    found = np.empty_like(expected)
    for source in range(5):
        shortest_paths(graph.indptr, graph.indices, graph.data, source, found[source])
    assert_array_equal(found, expected)
