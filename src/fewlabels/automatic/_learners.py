"""Candidates that are learned anew whenever rows are held out."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._backend import to_host
from fewlabels.automatic._candidates import Candidate, Outputs
from fewlabels.automatic._held_out import Blocks
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._sources import View


@dataclass(frozen=True)
class WeightedOutputs(Outputs):
    """A function of rows times a weight."""

    function: Outputs
    weight: float

    def __call__(self, view: View) -> NDArray[Any]:
        return self.weight * self.function(view)


class Learner(Candidate):
    """A candidate that is learned anew whenever rows are left out.

    A subclass has a name, a family, and `learn`. A constant added to all targets must
    be added to all outputs.
    """

    def learn(self, labeled: Labeled) -> Outputs:
        """Learn from labelled rows, the numbers of which are ``labeled.groups``."""
        raise NotImplementedError

    def fit(
        self,
        labeled: Labeled,
        weights: NDArray[Any],
        coefs: Any,
        rng: np.random.RandomState,
    ) -> Outputs:
        """Learn from all rows."""
        return WeightedOutputs(self.learn(labeled), float(weights.sum()))


class LearnedModels:
    """Held-out outputs of a learner, by learning again.

    Blocks that are many are left out several at a time. Where the whole procedure is
    repeated without some rows, the others keep the outputs of the first time: a learner
    that is one of many has little say in what the rows left out get, and would have to
    be learned thousands of times.

    Parameters
    ----------
    learner : Learner
        The learner.
    labeled : Labeled
        The rows.
    """

    MAX_BLOCKS = 24

    def __init__(self, learner: Learner, labeled: Labeled) -> None:
        self._learner = learner
        self._labeled = labeled
        self._outputs: list[NDArray[Any]] = []
        self._of_block: dict[bytes, NDArray[Any]] = {}

    def held_out(self, blocks: Blocks) -> NDArray[Any]:
        """See :meth:`fewlabels.automatic._scores.Models.held_out`."""
        outputs = np.full((1, *self._labeled.Y.shape), np.nan)
        n_joined = min(len(blocks), self.MAX_BLOCKS)
        for start in range(n_joined):
            block = np.concatenate(blocks[start::n_joined])
            outputs[0, block] = self._learned_without(block)
        if len(blocks) > 1:
            self._outputs.append(outputs)
        return outputs

    def _learned_without(self, block: NDArray[np.intp]) -> NDArray[Any]:
        key = block.tobytes()
        if key not in self._of_block:
            rest = self._labeled.without(block)
            view = View(batch=self._labeled.groups[block])
            self._of_block[key] = to_host(self._learner.learn(rest)(view))
        return self._of_block[key]

    def without(self, block: NDArray[np.intp]) -> "Replayed":
        """See :meth:`fewlabels.automatic._scores.Models.without`."""
        rest = np.setdiff1d(np.arange(self._labeled.size), block)
        return Replayed([outputs[:, rest] for outputs in self._outputs])

    def coefficients(self) -> list[Any]:
        """Nothing that fitting could use."""
        return [None]


class Replayed:
    """Outputs that were computed before, in the order in which they are asked for."""

    def __init__(self, outputs: list[NDArray[Any]]) -> None:
        self._outputs = iter(outputs)

    def held_out(self, blocks: Blocks) -> NDArray[Any]:
        """See :meth:`fewlabels.automatic._scores.Models.held_out`."""
        return next(self._outputs)

    def without(self, block: NDArray[np.intp]) -> "Replayed":
        """See :meth:`fewlabels.automatic._scores.Models.without`."""
        raise NotImplementedError

    def coefficients(self) -> list[Any]:
        """Nothing that fitting could use."""
        return [None]
