"""Forests of extremely randomised trees as candidates of a bank."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._backend import to_host
from fewlabels.automatic._candidates import Learner, Outputs
from fewlabels.automatic._choice import Labeled
from fewlabels.automatic._sources import Source, View
from fewlabels.automatic._tree_outputs import forest_outputs

# Trees of a forest that is learned again for every block, and of one that answers.
N_TREES_HELD_OUT = 30
N_TREES = 240
# Nodes of all trees together: forests on thousands of labels have fewer trees.
MAX_NODES = 500_000


@dataclass(frozen=True)
class GrownForest(Outputs):
    """Trees that were grown, see :mod:`fewlabels._loops.trees`."""

    source: Source
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    right: NDArray[np.int32]
    values: NDArray[np.float64]
    weight: float

    def __call__(self, view: View) -> Any:
        """Compute outputs for the rows of a view."""
        Z = view[self.source]
        trees = self.feature, self.threshold, self.right, self.values
        return self.weight * forest_outputs(Z, *trees)


class Forest(Learner):
    """A forest of extremely randomised trees.

    Parameters
    ----------
    name, family : str
        See :class:`fewlabels.automatic._candidates.Candidate`.
    source : Source
        A dense array.
    max_features : int
        Columns that a split looks at.
    seed : int
        Of the trees.
    """

    def __init__(
        self, name: str, family: str, source: Source, max_features: int, seed: int
    ) -> None:
        self.name = name
        self.family = family
        self._source = source
        self._max_features = max_features
        self._seed = seed

    def learn(self, labeled: Labeled) -> Outputs:
        """Grow a small forest."""
        return self._grown(labeled, N_TREES_HELD_OUT, 1.0)

    def fit(
        self,
        labeled: Labeled,
        weights: NDArray[Any],
        found: Any,
        rng: np.random.RandomState,
    ) -> Outputs:
        """Grow a large forest on all rows."""
        n_trees = max(N_TREES_HELD_OUT, min(N_TREES, MAX_NODES // (2 * labeled.size)))
        return self._grown(labeled, n_trees, float(weights.sum()))

    def _grown(self, labeled: Labeled, n_trees: int, weight: float) -> GrownForest:
        from fewlabels._loops.trees import grow_forest

        rows = to_host(self._source.train[labeled.groups])
        X = np.ascontiguousarray(rows.T, dtype=np.float64)
        n, n_targets = labeled.Y.shape
        # Targets of several classes are -1 but for one: all are shifted to 0 and 2.
        base = 0.0 if n_targets == 1 else -1.0
        own = labeled.codes if n_targets > 1 else np.zeros(n, dtype=np.intp)
        seeds = np.random.RandomState(self._seed).randint(1, 2**62, n_trees)
        feature, threshold, right, values = grow_forest(
            X,
            own,
            labeled.Y[np.arange(n), own] - base,
            np.ascontiguousarray(labeled.importance, dtype=np.float64),
            n_targets,
            self._max_features,
            seeds.astype(np.uint64),
        )
        values += base
        return GrownForest(self._source, feature, threshold, right, values, weight)
