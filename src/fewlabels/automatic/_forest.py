"""Forests of extremely randomised trees as candidates of a bank."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._backend import to_host
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._candidates import Form, Outputs
from fewlabels.automatic._compact import Compactor, Plain, Rounded, small_integers
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._learners import Learner
from fewlabels.automatic._sources import Source, View
from fewlabels.automatic._tree_outputs import forest_outputs

# Limit on the nodes of all trees: forests on thousands of labels have fewer trees.
MAX_NODES = 500_000


@dataclass(frozen=True)
class GrownForest(Outputs):
    """A grown forest, see :mod:`fewlabels._loops.trees`."""

    source: Source
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    right: NDArray[np.int32]
    values: NDArray[np.float64]
    weight: float

    @classmethod
    def compact_all(
        cls, functions: "Sequence[GrownForest]", compactor: Compactor
    ) -> list[list[Form]]:
        """Pack all forests, and the graph vectors they read, in one of several ways."""

        def packed(pack: Callable[[NDArray[Any]], Any]) -> list[Outputs]:
            tried = compactor.with_packing(pack)
            return [
                PackedForest(f, tried.copy_of(f.source), compactor.rounds)
                for f in functions
            ]

        if not compactor.rounds:
            return [[lambda: packed(Plain)]]
        return [
            [
                lambda: packed(partial(Rounded.by_column, integer=np.uint8)),
                lambda: packed(Rounded.half),
                lambda: packed(Plain.single),
            ]
        ]

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
        Columns considered at a split.
    seed : int
        Seed of the trees.
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
        return self._grown(labeled, tuned.N_TREES_HELD_OUT, 1.0)

    def fit(
        self,
        labeled: Labeled,
        weights: NDArray[Any],
        coefs: Any,
        rng: np.random.RandomState,
    ) -> Outputs:
        """Grow a large forest on all rows."""
        n_trees = max(
            tuned.N_TREES_HELD_OUT, min(tuned.N_TREES, MAX_NODES // (2 * labeled.size))
        )
        return self._grown(labeled, n_trees, float(weights.sum()))

    def _grown(self, labeled: Labeled, n_trees: int, weight: float) -> GrownForest:
        from fewlabels._loops.trees import grow_forest

        rows = to_host(self._source.train[labeled.distinct])
        X = np.ascontiguousarray(rows.T, dtype=np.float64)
        n, n_targets = labeled.Y.shape
        # Targets of several classes are -1 except for one: shift them to 0 and 2.
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


class PackedForest(Outputs):
    """A forest in few bytes: small integers, and each distinct leaf once.

    Parameters
    ----------
    forest : GrownForest
        The forest.
    source : Source
        The array it splits.
    rounded : bool
        Whether thresholds may be rounded to single precision.
    """

    def __init__(self, forest: GrownForest, source: Source, rounded: bool) -> None:
        self._source = source
        # In preorder, a tree ends where leaves outnumber splits for the first time.
        balance = np.cumsum(np.where(forest.feature >= 0, 1, -1), axis=1)
        n_nodes = int(np.argmax(balance < 0, axis=1).max()) + 1
        values = forest.values[:, : (n_nodes + 1) // 2]
        self._leaves, codes = np.unique(
            values.reshape(-1, values.shape[2]), axis=0, return_inverse=True
        )
        self._codes = small_integers(codes.reshape(values.shape[:2]))
        self._feature = small_integers(forest.feature[:, :n_nodes])
        self._right = small_integers(forest.right[:, :n_nodes])
        self._threshold = forest.threshold[:, :n_nodes]
        if rounded:
            self._threshold = self._threshold.astype(np.float32)
        self._weight = forest.weight

    @cached_property
    def _grown(self) -> GrownForest:
        return GrownForest(
            self._source,
            self._feature.astype(np.int32),
            self._threshold.astype(np.float64),
            self._right.astype(np.int32),
            self._leaves[self._codes],
            self._weight,
        )

    def __call__(self, view: View) -> NDArray[Any]:
        return self._grown(view)

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "_grown"}
