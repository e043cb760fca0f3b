"""Lengths of shortest paths through a neighbour graph, on the host or a device."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from fewlabels._backend import NUMPY, backend_of
from fewlabels._gpu_loops import fits
from fewlabels._threads import in_threads, worth_compiling


def shortest_paths(lengths: Any, indices: Any, sources: NDArray[np.intp]) -> Any:
    """Lengths of shortest paths from every row to some of them, (n, n_sources).

    Row i has edges to ``indices[i]`` with lengths ``lengths[i]``, usable in both
    directions; if both ends list the edge, the larger length counts. Lengths are
    infinite where there is no path.
    """
    if not backend_of(lengths).is_numpy:
        return _on_device(lengths, indices, sources)
    n, k = indices.shape
    steps = NUMPY.sparse(lengths.ravel(), indices.ravel(), np.arange(n + 1) * k, n)
    steps = csr_array(steps.maximum(steps.T))
    if not worth_compiling(len(sources) * steps.nnz):
        return np.ascontiguousarray(dijkstra(steps, indices=sources).T)
    from fewlabels._loops.paths import shortest_paths

    costs = np.empty((len(sources), n))

    def search(number: int) -> None:
        graph = steps.indptr, steps.indices, steps.data
        shortest_paths(*graph, sources[number], costs[number])

    in_threads(search, range(len(sources)))
    return NUMPY.over_rows(lambda rows: np.ascontiguousarray(costs[:, rows].T), n)


def _on_device(lengths: Any, indices: Any, sources: NDArray[np.intp]) -> Any:
    """Relax all edges in rounds until no path gets shorter."""
    import torch

    n, k = indices.shape
    rows = torch.arange(n, device=indices.device).repeat_interleave(k)
    keys = torch.cat([rows * n + indices.ravel(), indices.ravel() * n + rows])
    keys, order = torch.sort(keys)
    keys, place = torch.unique_consecutive(keys, return_inverse=True)
    steps = lengths.new_zeros(keys.shape[0])
    steps.scatter_reduce_(0, place, lengths.ravel().repeat(2)[order], "amax")
    rows, columns = keys // n, keys % n
    counts = torch.bincount(rows, minlength=n)
    starts = torch.as_tensor(sources, device=indices.device)
    costs = steps.new_full((n, starts.shape[0]), torch.inf)
    costs[starts, torch.arange(starts.shape[0], device=costs.device)] = 0.0
    if fits.paths(steps, costs):
        from fewlabels._gpu_loops.paths import relaxed

        indptr = torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0)])
        return relaxed(indptr, columns, steps, costs)
    while True:
        through = costs[columns] + steps[:, None]
        shorter = torch.segment_reduce(through, "min", lengths=counts, unsafe=True)
        shorter = torch.minimum(shorter, costs)
        if torch.equal(shorter, costs):
            return costs
        costs = shorter
