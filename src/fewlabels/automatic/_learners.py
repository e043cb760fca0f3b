"""Candidates that are refitted whenever rows are held out."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels._backend import backend_of, to_host
from fewlabels.automatic._candidates import Candidate, Form, Outputs
from fewlabels.automatic._held_out import Blocks
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._sources import View

if TYPE_CHECKING:
    from fewlabels.automatic._compact import Compactor


@dataclass(frozen=True)
class WeightedOutputs(Outputs):
    """A function of rows times a weight, or one for each of several outputs."""

    function: Outputs
    weight: Any

    @classmethod
    def compact_all(
        cls, functions: "Sequence[WeightedOutputs]", compactor: "Compactor"
    ) -> list[list[Form]]:
        """Compact the functions of each kind together, and weight what comes out."""
        choices: list[list[Form]] = []
        for kind in dict.fromkeys(type(f.function) for f in functions):
            same = [f for f in functions if type(f.function) is kind]
            found = kind.compact_all([f.function for f in same], compactor)
            parts = [same] if len(found) == 1 else [[f] for f in same]
            for forms, part in zip(found, parts, strict=True):
                choices.append([partial(_weighted, form, part) for form in forms])
        return choices

    def __call__(self, view: View) -> Any:
        outputs = self.function(view)
        return outputs * backend_of(outputs).asarray(self.weight)


def _weighted(form: Form, functions: Sequence[WeightedOutputs]) -> list[Outputs]:
    """Weight the functions of a form as those it stands for."""
    return [
        replace(function, function=compact)
        for compact, function in zip(form(), functions, strict=True)
    ]


class Learner(Candidate):
    """A candidate that is refitted whenever rows are left out.

    A subclass has a name, a family, and `learn`. A constant added to all targets must
    be added to all outputs.
    """

    def learn(self, labeled: Labeled) -> Outputs:
        """Learn from labelled rows, numbered by ``labeled.distinct``."""
        raise NotImplementedError

    def fit(
        self,
        labeled: Labeled,
        weights: NDArray[Any],
        coefs: Any,
        rng: np.random.RandomState,
    ) -> Outputs:
        """Learn from all rows."""
        return WeightedOutputs(self.learn(labeled), weights.sum())


class LearnedModels:
    """Held-out outputs of a learner, by refitting.

    If there are many blocks, several are left out at a time. When the whole procedure
    is repeated without some rows, blocks of the other rows keep their first outputs:
    one learner among many has little influence on predictions of the rows left out, and
    would have to be refitted thousands of times.

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
        self.labeled = labeled
        # Outputs of each requested block, and of each set of rows left out together.
        self._asked: dict[bytes, tuple[NDArray[np.intp], NDArray[Any]]] = {}
        self._learned: dict[bytes, NDArray[Any]] = {}

    def held_out(self, blocks: Blocks) -> NDArray[Any]:
        """See :meth:`fewlabels.automatic._held_out.Models.held_out`."""
        outputs = np.full((1, *self.labeled.Y.shape), np.nan)
        n_joined = min(len(blocks), self.MAX_BLOCKS)
        for start in range(n_joined):
            block = np.concatenate(blocks[start::n_joined])
            outputs[0, block] = self.learned_without(block)
        if len(blocks) > 1:
            for block in blocks:
                self._asked[block.tobytes()] = block, outputs[0, block]
        return outputs

    def learned_without(self, block: NDArray[np.intp]) -> NDArray[Any]:
        """Learn from all rows but a block, and compute outputs for its rows."""
        key = block.tobytes()
        if key not in self._learned:
            rest = self.labeled.without(block)
            view = View(batch=self.labeled.distinct[block])
            self._learned[key] = to_host(self._learner.learn(rest)(view))
        return self._learned[key]

    def without(self, block: NDArray[np.intp]) -> "NestedModels":
        """See :meth:`fewlabels.automatic._held_out.Models.without`."""
        return NestedModels(self, block, self._asked.values())

    def shifted(self, by: NDArray[Any]) -> "ShiftedModels":
        """See :meth:`fewlabels.automatic._held_out.Models.shifted`."""
        return ShiftedModels(self, by)

    def coefficients(self) -> list[Any]:
        """Nothing that fitting could use."""
        return [None]


class NestedModels:
    """Held-out outputs of a learner for the rows outside one block.

    A block that was held out before keeps its outputs; any other is refitted, also
    without the outer block.

    Parameters
    ----------
    models : LearnedModels
        Outputs for all rows.
    outer : ndarray of int
        The rows left out throughout.
    asked : iterable of (ndarray, ndarray)
        Blocks that were held out before, and outputs for their rows.
    """

    def __init__(
        self, models: LearnedModels, outer: NDArray[np.intp], asked: Iterable[Any]
    ) -> None:
        self._models, self._outer = models, outer
        inside = np.ones(models.labeled.size, dtype=bool)
        inside[outer] = False
        self._rest = np.flatnonzero(inside)
        places = np.cumsum(inside) - 1
        self._known = {
            places[block[inside[block]]].tobytes(): outputs[inside[block]]
            for block, outputs in asked
        }

    def held_out(self, blocks: Blocks) -> NDArray[Any]:
        """See :meth:`fewlabels.automatic._held_out.Models.held_out`."""
        outputs = np.full((1, self._rest.size, self._models.labeled.Y.shape[1]), np.nan)
        for block in blocks:
            known = self._known.get(block.tobytes())
            if known is None:
                together = np.concatenate([self._rest[block], self._outer])
                known = self._models.learned_without(together)[: block.size]
            outputs[0, block] = known
        return outputs

    def coefficients(self) -> list[Any]:
        """Nothing that fitting could use."""
        return [None]


class ShiftedModels(NamedTuple):
    """A learner whose targets, and thus outputs, are reduced by a constant."""

    models: Any
    by: NDArray[Any]

    def held_out(self, blocks: Blocks) -> NDArray[Any]:
        """See :meth:`fewlabels.automatic._held_out.Models.held_out`."""
        return self.models.held_out(blocks) - self.by

    def without(self, block: NDArray[np.intp]) -> "ShiftedModels":
        """See :meth:`fewlabels.automatic._held_out.Models.without`."""
        return ShiftedModels(self.models.without(block), self.by)

    def coefficients(self) -> list[Any]:
        """Nothing that fitting could use."""
        return [None]
