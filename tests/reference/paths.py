"""Slow twin of shortest paths: every edge again, until nothing is shorter."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np


def shortest_paths(graph, source):
    """Bellman's equations by repetition; a stored zero is an edge too."""
    n = graph.shape[0]
    distances = np.full(n, np.inf)
    distances[source] = 0.0
    for _ in range(n):
        for i in range(n):
            for s in range(graph.indptr[i], graph.indptr[i + 1]):
                j = graph.indices[s]
                distances[j] = min(distances[j], distances[i] + graph.data[s])
    return distances
