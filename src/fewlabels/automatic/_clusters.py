"""Cluster memberships from many runs of k-means."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels._backend import backend_of
from fewlabels._kmeans import lloyd_runs
from fewlabels._threads import worth_compiling
from fewlabels.automatic._components import Leading
from fewlabels.automatic._sources import LazySource, Source

if TYPE_CHECKING:
    from fewlabels.automatic._compact import Compactor


class Clusters(LazySource):
    """One-hot cluster memberships from many runs of k-means on the leading components.

    The product of two rows is the share of runs that put them in the same cluster.

    Parameters
    ----------
    leading : Leading
        Source of the leading components.
    k : int
        Clusters per run.
    n_runs : int
        Number of runs.
    n_rows : int
        Rows per run, freshly sampled for each.
    rng : RandomState
        Generator for samples and starts.
    """

    for_training = ("_known",)

    def __init__(
        self, leading: Leading, k: int, n_runs: int, n_rows: int, rng: Any
    ) -> None:
        self._leading = leading
        self._k = k
        components = leading.train
        n, b = components.shape[0], backend_of(components)
        self.n_rows = n
        samples = None
        if n > n_rows:
            # Arcs of one random circle, since a new draw costs as much as a run.
            places = rng.randint(n, size=(n_runs, 1)) + np.arange(n_rows)
            samples = b.asarray(rng.permutation(n)[places % n])
        starts = b.asarray(rng.random_sample((n_runs, k)))
        self._centres = lloyd_runs(components, samples, k, starts, xp=b.xp)
        # Sparse on the host; on a device, cheaper to recompute than to keep.
        self._known = self._one_hot(components) if b.is_numpy else None

    @property
    def train(self) -> Any:
        return super().train if self._known is None else self._known

    def compact(self, compactor: "Compactor") -> Source:
        """Keep centres in single precision."""
        lean = compactor.lean_copy(self)
        lean._centres = compactor.single(lean._centres)
        return lean

    def columns(self, of: Callable[[Source], Any]) -> Any:
        """Assign rows to clusters."""
        return self._one_hot(of(self._leading))

    def _one_hot(self, components: Any) -> Any:
        b, (n_runs, k, _) = backend_of(components), self._centres.shape
        height = n_runs**-0.5
        if b.is_numpy:
            halves = 0.5 * np.linalg.vecdot(self._centres, self._centres)
            if worth_compiling(4 * components.shape[0] * halves.size):
                from fewlabels._loops.means import nearest_in_runs
            else:
                nearest_in_runs = _nearest_in_runs
            flat = np.ascontiguousarray(self._centres.reshape(n_runs * k, -1).T)
            columns = np.empty((components.shape[0], n_runs), dtype=np.int32)

            def find(batch: slice) -> None:
                nearest_in_runs(components[batch] @ flat, halves, columns[batch])

            b.each_batch(find, components.shape[0])
            data = np.full(columns.size, height, dtype=components.dtype)
            indptr = n_runs * np.arange(columns.shape[0] + 1, dtype=np.int32)
            return b.sparse(data, columns.ravel(), indptr, n_runs * k)
        # All runs at once: a device is slow at many small operations.
        xp, flat = b.xp, b.xp.reshape(self._centres, (n_runs * k, -1))
        scores = components @ flat.T - 0.5 * xp.linalg.vecdot(flat, flat)
        places = xp.argmax(xp.reshape(scores, (-1, n_runs, k)), axis=2)
        own = places[:, :, None] == b.asarray(np.arange(k))
        own = b.astype(own, b.dtype(components)) * height
        return xp.reshape(own, (-1, n_runs * k))


def _nearest_in_runs(scores: Any, halves: Any, columns: Any) -> None:
    """NumPy version of the compiled loop of the same name."""
    n_runs, k = halves.shape
    nearest = np.argmax(scores.reshape(-1, n_runs, k) - halves, axis=2)
    columns[:] = nearest + k * np.arange(n_runs)
