"""The network as a candidate of the automatic classifier, for measurements."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from unittest.mock import patch

import numpy as np
from inference import Array, CellEncoder, Context, Network, fit_cells
from numpy.typing import NDArray
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
from fewlabels.automatic._scores import Blocks, Models, stratified_blocks
from fewlabels.automatic._sources import Source, View

# Share of the network as far as held-out rows do not speak against it.
SHARE = 0.5
# Rows without a label that are read: for the answer, and with some labels held out.
N_CONTEXT = 300
N_CONTEXT_HELD_OUT = 150
# Passes that hold out labels: each some of them, and then each a half.
N_BLOCKS = 8
N_HALVES = 2
# Tokens that are passed through the network at once: what they need stays in the cache.
BATCH_TOKENS = 4_000
# Labels that are read at most.
MAX_LABELS = 1_000


@dataclass(frozen=True)
class Answers(Outputs):
    """What the network says, having read some rows.

    Attributes
    ----------
    source : Source
        Dense rows.
    encoder : CellEncoder
        Makes cells of rows.
    cells : ndarray of shape (n_pairs, n_read, n_numbers)
        Cells of the rows that it reads.
    codes : ndarray of int of shape (n_read,)
        Their classes, -1 where unknown.
    n_classes : int
        Number of classes.
    network : Network
        The network.
    """

    source: Source
    encoder: CellEncoder
    cells: Array
    codes: NDArray[np.intp]
    n_classes: int
    network: Network

    @cached_property
    def context(self) -> Context:
        """The rows, read."""
        names = self.encoder.names
        return self.network.context(self.cells, names, self.codes, self.n_classes)

    def __call__(self, view: View) -> NDArray[Any]:
        X = to_host(view[self.source])
        n_tokens = self.cells.shape[0] + self.n_classes
        size = max(1, BATCH_TOKENS // n_tokens)
        parts = [
            self.context(self.encoder(X[start : start + size]))
            for start in range(0, X.shape[0], size)
        ]
        logits = np.concatenate([np.empty((0, self.n_classes)), *parts])
        logits[:, ~np.isin(np.arange(self.n_classes), self.codes)] = -np.inf
        shares = softmax(logits, axis=1)
        return 2 * (shares[:, 1:] if self.n_classes == 2 else shares) - 1


class InContext(Learner):
    """A network that reads labelled rows and others beside them.

    Parameters
    ----------
    source : Source
        Dense rows.
    columns : list of ndarray of int
        Features of every column.
    network : Network
        The network.
    seed : int
        Of codes of categories, of pairs of columns and of the rows that are read.
    """

    def __init__(
        self,
        source: Source,
        columns: list[NDArray[np.intp]],
        network: Network,
        seed: int,
    ) -> None:
        self.name = self.family = "network"
        self._source = source
        self._network = network
        rng = np.random.RandomState(seed)
        X = to_host(source.train)
        self._encoder = fit_cells(X, columns, rng)
        self._order = rng.permutation(X.shape[0])

    def prepare(self) -> bool:
        """Tell whether a column says anything."""
        return self._encoder.names.size > 0

    def learn(self, labeled: Labeled) -> Outputs:
        """Read labelled rows, and some without a label."""
        return self._read(labeled, N_CONTEXT_HELD_OUT)

    def fit(
        self,
        labeled: Labeled,
        weights: NDArray[Any],
        found: Any,
        rng: np.random.RandomState,
    ) -> Outputs:
        """Read labelled rows, and more of the others."""
        return Shared(self._read(labeled, N_CONTEXT), float(weights.sum()))

    def _read(self, labeled: Labeled, n_context: int) -> Answers:
        if labeled.size > MAX_LABELS:
            labeled = labeled.sample(MAX_LABELS, np.random.RandomState(labeled.size))
        n_classes = max(2, labeled.Y.shape[1])
        others = self._order[~np.isin(self._order, labeled.groups)][:n_context]
        rows = np.concatenate([labeled.groups, others])
        codes = np.concatenate([labeled.codes, np.full(others.size, -1)])
        cells = self._encoder(to_host(self._source.train[rows]))
        return Answers(
            self._source, self._encoder, cells, codes, n_classes, self._network
        )


class FewPasses:
    """Held-out outputs of a costly learner: every row is held out twice.

    Once with a few others, once with half of all; blocks that are asked for get the
    outputs of the one or the other.

    Parameters
    ----------
    learner : Learner
        The learner.
    labeled : Labeled
        The rows.
    """

    def __init__(self, learner: Learner, labeled: Labeled) -> None:
        self._learner = learner
        self._labeled = labeled

    @cached_property
    def _some(self) -> NDArray[Any]:
        return self._passes(N_BLOCKS)

    @cached_property
    def _half(self) -> NDArray[Any]:
        return self._passes(N_HALVES)

    def _passes(self, n_blocks: int) -> NDArray[Any]:
        labeled = self._labeled
        outputs = np.full((1, *labeled.Y.shape), np.nan)
        n_blocks = min(n_blocks, np.unique(labeled.groups).size)
        rng = np.random.RandomState(labeled.size)
        for block in stratified_blocks(labeled.codes, labeled.groups, n_blocks, rng):
            view = View(batch=labeled.groups[block])
            outputs[0, block] = self._learner.learn(labeled.without(block))(view)
        return outputs

    def held_out(self, blocks: Blocks) -> NDArray[Any]:
        """See :meth:`fewlabels.automatic._scores.Models.held_out`."""
        largest = max(len(block) for block in blocks)
        return self._half if 2 * largest >= self._labeled.size else self._some

    def without(self, block: NDArray[np.intp]) -> Models:
        """See :meth:`fewlabels.automatic._scores.Models.without`."""
        return Without(self, np.setdiff1d(np.arange(self._labeled.size), block))

    def kept(self) -> list[Any]:
        """Nothing that fitting could use."""
        return [None]


@dataclass(frozen=True)
class Without:
    """The outputs for some rows, whatever others there are."""

    models: FewPasses
    rows: NDArray[np.intp]

    def held_out(self, blocks: Blocks) -> NDArray[Any]:
        """See :meth:`fewlabels.automatic._scores.Models.held_out`."""
        return self.models.held_out(blocks)[:, self.rows]

    def without(self, block: NDArray[np.intp]) -> Models:
        """See :meth:`fewlabels.automatic._scores.Models.without`."""
        return Without(self.models, np.delete(self.rows, block))

    def kept(self) -> list[Any]:
        """Nothing that fitting could use."""
        return [None]


class PoolWithNetwork(Pool):
    """Candidates, one of which is the network."""

    place: int


def mixed(choice: Choice, labeled: Labeled, place: int) -> Choice:
    """Give the network its share, as far as held-out rows do not speak against it."""
    share = SHARE
    if choice.losses is not None and choice.losses.many_log is not None:
        means = choice.losses.many_log @ labeled.importance
        best = means.argmin(axis=1)
        held = choice.losses.many_log[np.arange(best.size), best]
        excess = held[place] + np.log(choice.weights @ np.exp(-held))
        share *= _choice._plausibility(excess, labeled.importance)
    weights = (1 - share) * choice.weights
    weights[place] += share
    return choice._replace(weights=weights)


@contextmanager
def in_banks(network: Network) -> Iterator[None]:
    """Let banks of tables have the network, too."""

    class Reader(_recipe.Step):
        def candidates(self, shop: Any) -> Iterator[Candidate]:
            if shop.columns is not None:
                seed = shop.rng.randint(2**31)
                yield InContext(shop.rows, shop.columns, network, seed)

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
