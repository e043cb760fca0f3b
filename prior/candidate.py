"""The network as a candidate of the automatic classifier, for measurements."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from inference import CellEncoder, Context, Network, fit_cells
from numpy.typing import NDArray
from scipy.special import softmax

from fewlabels._backend import to_host
from fewlabels.automatic import _bank, _families, _recipe
from fewlabels.automatic._candidates import Candidate, Learner, Outputs, Shared
from fewlabels.automatic._choice import Labeled
from fewlabels.automatic._sources import Source, View

# Rows without a label that are looked at: for the answer, and by each held-out pass.
N_CONTEXT = 300
N_CONTEXT_HELD_OUT = 150
BATCH_TOKENS = 8_000


@dataclass(frozen=True)
class Answers(Outputs):
    """What the network says, having read labelled rows and some others."""

    source: Source
    encoder: CellEncoder
    context: Context
    known: NDArray[np.bool_]

    def __call__(self, view: View) -> NDArray[Any]:
        X = to_host(view[self.source])
        size = max(1, BATCH_TOKENS // (self.encoder.is_number.size + self.known.size))
        parts = [
            self.context(self.encoder(X[start : start + size]))
            for start in range(0, X.shape[0], size)
        ]
        logits = np.where(self.known, np.concatenate(parts), -np.inf).astype(np.float64)
        shares = softmax(logits, axis=1)
        return 2 * (shares[:, 1:] if shares.shape[1] == 2 else shares) - 1


class InContext(Learner):
    """The network as a candidate of a bank.

    Parameters
    ----------
    source : Source
        Dense rows.
    columns : list of ndarray of int
        Features of every column.
    network : Network
        The network.
    seed : int
        Of the codes of categories and of the rows that are looked at.
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
        n_classes = max(2, labeled.Y.shape[1])
        others = self._order[~np.isin(self._order, labeled.groups)][:n_context]
        rows = np.concatenate([labeled.groups, others])
        codes = np.concatenate([labeled.codes, np.full(others.size, -1)])
        cells = self._encoder(to_host(self._source.train)[rows])
        context = self._network.context(cells, self._encoder.names, codes, n_classes)
        known = np.isin(np.arange(n_classes), labeled.codes)
        return Answers(self._source, self._encoder, context, known)


@contextmanager
def in_banks(network: Network) -> Iterator[None]:
    """Let banks of tables have the network, too."""

    class Networks(_recipe.Step):
        def candidates(self, shop: Any) -> Iterator[Candidate]:
            if shop.columns is not None:
                seed = shop.rng.randint(2**31)
                yield InContext(shop.rows, shop.columns, network, seed)

    family = _families.Family("network", "a network", "network", insures=True)
    usual = _recipe.recipe
    with (
        patch.dict(_families.FAMILIES, {"network": family}),
        patch.object(_bank, "recipe", lambda given: [*usual(given), Networks(5)]),
    ):
        yield
