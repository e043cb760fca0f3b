"""The network as a candidate of the automatic classifier, for measurements."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from unittest.mock import patch

import numpy as np
from inference import (
    MAX_TOKENS,
    PAIR,
    Array,
    CellEncoder,
    Context,
    Network,
    fit_cells,
)
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import softmax

from fewlabels._backend import to_host
from fewlabels.automatic import _bank, _choice, _engine, _families, _recipe
from fewlabels.automatic._candidates import (
    Candidate,
    LearnedModels,
    Learner,
    Outputs,
    Shared,
)
from fewlabels.automatic._choice import Choice, Labeled, Pool
from fewlabels.automatic._scores import Blocks, stratified_blocks
from fewlabels.automatic._sources import Source, View

# Share of the network as far as held-out rows do not speak against it, and over how
# many standard errors of its excess of loss the share falls by a factor of e. Both were
# chosen on tables that are not in the benchmark (weigh.py).
SHARE = 0.7
DECAY = 8.0
# Rows without a label that are read; more of them change nothing on real tables.
N_CONTEXT = 150
# Tables are read twice, with other codes and pairs, if that takes no more tokens than
# this, some three seconds. They are not read at all if they have more pairs of cells.
TWICE_TOKENS = 40_000
MAX_PAIRS = 500_000
# Passes that hold out labels: each some of them, and then each a half.
N_BLOCKS = 8
N_HALVES = 2
# Tokens that are passed through the network at once: what they need stays in the cache.
BATCH_TOKENS = 4_000
# Labels that are read at most.
MAX_LABELS = 1_000


@dataclass(frozen=True)
class Reading:
    """Rows that were read, ready to answer for others.

    Attributes
    ----------
    encoder : CellEncoder
        Makes cells of rows.
    cells : ndarray of shape (n_pairs, n_read, n_numbers)
        Cells of the rows that were read.
    codes : ndarray of int of shape (n_read,)
        Their classes, -1 where unknown.
    n_classes : int
        Number of classes.
    network : Network
        The network.
    """

    encoder: CellEncoder
    cells: Array
    codes: NDArray[np.intp]
    n_classes: int
    network: Network

    @cached_property
    def context(self) -> Context:
        """What was made of the rows."""
        names = self.encoder.names
        return self.network.context(self.cells, names, self.codes, self.n_classes)

    def __call__(self, X: NDArray[Any]) -> NDArray[Any]:
        """Compute probabilities of the classes of rows."""
        n_tokens = self.cells.shape[0] + self.n_classes
        size = max(1, BATCH_TOKENS // n_tokens)
        parts = [
            self.context(self.encoder(X[start : start + size]))
            for start in range(0, X.shape[0], size)
        ]
        logits = np.concatenate([np.empty((0, self.n_classes)), *parts])
        logits[:, ~np.isin(np.arange(self.n_classes), self.codes)] = -np.inf
        return np.asarray(softmax(logits, axis=1))


@dataclass(frozen=True)
class Answers(Outputs):
    """What the network says, in the mean over readings.

    Attributes
    ----------
    source : Source
        Dense rows.
    readings : list of Reading
        Labelled rows and others, each time with other codes and pairs of columns.
    """

    source: Source
    readings: list[Reading]

    def __call__(self, view: View) -> NDArray[Any]:
        X = to_host(view[self.source])
        p = np.mean([reading(X) for reading in self.readings], axis=0)
        return 2 * (p[:, 1:] if p.shape[1] == 2 else p) - 1


class InContext(Learner):
    """A network that reads labelled rows and others beside them.

    Parameters
    ----------
    source : Source
        Dense rows.
    columns : list of ndarray of int
        Features of every column.
    seed : int
        Of codes of categories, of pairs of columns and of the rows that are read.
    network : Network
        The network.
    """

    def __init__(
        self,
        source: Source,
        columns: list[NDArray[np.intp]],
        seed: int,
        network: Network,
    ) -> None:
        self.name = self.family = "network"
        self._source = source
        rng = np.random.RandomState(seed)
        X = to_host(source.train)
        self._encoders = [fit_cells(X, columns, rng) for _ in range(2)]
        self._n_pairs = self._encoders[0].names.shape[0]
        self._network = network
        self._orders = [rng.permutation(X.shape[0]) for _ in self._encoders]

    def prepare(self) -> bool:
        """Tell whether training had such tables, and whether there is time to read."""
        if not 0 < self._n_pairs <= -(-MAX_TOKENS // PAIR):
            return False
        return self._n_pairs * self._orders[0].size <= MAX_PAIRS

    def learn(self, labeled: Labeled) -> Outputs:
        """Read labelled rows, and some without a label."""
        return Answers(self._source, [self._read(labeled, 0)])

    def fit(
        self,
        labeled: Labeled,
        weights: NDArray[Any],
        found: Any,
        rng: np.random.RandomState,
    ) -> Outputs:
        """Read them twice, if there is time."""
        readings = [self._read(labeled, 0)]
        n_tokens = self._n_pairs + readings[0].n_classes
        if 2 * n_tokens * self._orders[0].size <= TWICE_TOKENS:
            readings.append(self._read(labeled, 1))
        return Shared(Answers(self._source, readings), float(weights.sum()))

    def _read(self, labeled: Labeled, number: int) -> Reading:
        if labeled.size > MAX_LABELS:
            labeled = labeled.sample(MAX_LABELS, np.random.RandomState(labeled.size))
        n_classes = max(2, labeled.Y.shape[1])
        order, encoder = self._orders[number], self._encoders[number]
        others = order[~np.isin(order, labeled.groups)][:N_CONTEXT]
        rows = np.concatenate([labeled.groups, others])
        codes = np.concatenate([labeled.codes, np.full(others.size, -1)])
        cells = encoder(to_host(self._source.train[rows]))
        return Reading(encoder, cells, codes, n_classes, self._network)


class FewPasses(LearnedModels):
    """Held-out outputs of a costly learner: every row is held out twice.

    Once with a few others, once with half of all; whatever blocks are asked for get the
    outputs of the one or the other.
    """

    def held_out(self, blocks: Blocks) -> NDArray[Any]:
        """See :meth:`fewlabels.automatic._scores.Models.held_out`."""
        labeled = self._labeled
        halves = 2 * max(len(block) for block in blocks) >= labeled.size
        n_groups = np.unique(labeled.groups).size
        n_blocks = min(N_HALVES if halves else N_BLOCKS, n_groups)
        rng = np.random.RandomState(labeled.size)
        own = stratified_blocks(labeled.codes, labeled.groups, n_blocks, rng)
        return super().held_out(own)


class PoolWithNetwork(Pool):
    """Candidates, one of which is the network."""

    place: int


def excess_of(choice: Choice, labeled: Labeled, place: int) -> NDArray[Any] | None:
    """Loss of the network on held-out rows less that of the average, where known."""
    if choice.losses is None or choice.losses.many_log is None:
        return None
    means = choice.losses.many_log @ labeled.importance
    best = means.argmin(axis=1)
    held = choice.losses.many_log[np.arange(best.size), best]
    return np.asarray(held[place] + np.log(choice.weights @ np.exp(-held)))


def mixed(choice: Choice, labeled: Labeled, place: int) -> Choice:
    """Give the network its share, as far as held-out rows do not speak against it."""
    share, excess = SHARE, excess_of(choice, labeled, place)
    if excess is not None:
        plausibility = _choice._plausibility(excess, labeled.importance)
        share *= plausibility ** (_choice.INSURANCE_DECAY / DECAY)
    weights = (1 - share) * choice.weights
    weights[place] += share
    return choice._replace(weights=weights)


@contextmanager
def in_banks(network: Network) -> Iterator[None]:
    """Let banks of tables, and of other dense rows of few columns, have the network."""

    class Reader(_recipe.Step):
        def candidates(self, shop: Any) -> Iterator[Candidate]:
            columns, X = shop.columns, shop.rows.train
            if columns is None and X.shape[1] <= MAX_TOKENS and not issparse(X):
                columns = [np.array([place]) for place in range(X.shape[1])]
            if columns is not None and len(columns) <= MAX_TOKENS:
                seed = shop.rng.randint(2**31)
                yield InContext(shop.rows, columns, seed, network)

    def models(learner: Learner, labeled: Labeled) -> Any:
        passes = FewPasses if isinstance(learner, InContext) else LearnedModels
        return passes(learner, labeled)

    def pool_of(candidates: list[Candidate], *args: Any) -> Pool:
        pool = usual_pool(candidates, *args)
        if not isinstance(candidates[-1], InContext):
            return pool
        known = PoolWithNetwork(*pool)
        known.place = pool.groups.size - 1
        return known

    def choose(losses: Any, labeled: Labeled, pool: Pool, rng: Any) -> Choice:
        choice = usual_choice(losses, labeled, pool, rng)
        if isinstance(pool, PoolWithNetwork):
            return mixed(choice, labeled, pool.place)
        return choice

    family = _families.Family("network", "a network", "network")
    usual_recipe, usual_pool = _bank.recipe, _engine.pool_of
    usual_choice = _choice.choose
    with (
        patch.dict(_families.FAMILIES, {"network": family}),
        patch.object(_bank, "recipe", lambda given: [*usual_recipe(given), Reader(1)]),
        patch.object(_engine, "LearnedModels", models),
        patch.object(_engine, "pool_of", pool_of),
        patch.object(_engine, "choose", choose),
        patch.object(_choice, "choose", choose),
    ):
        yield
