"""Candidates: whatever can answer, be it a kernel or not."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels._backend import backend_of, to_host
from fewlabels.automatic._choice import Labeled
from fewlabels.automatic._scores import Blocks, Models
from fewlabels.automatic._sources import Source, View


class Outputs:
    """What fitting makes of a candidate: a function of rows.

    It holds what it needs of the training rows, which pruned sources no longer have.
    """

    def __call__(self, view: View) -> Any:
        """Compute outputs for the rows of a view, wherever these are."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return to_host(self.__dict__)


class Candidate:
    """Something that learns from labelled rows of a bank.

    Attributes
    ----------
    name : str
        Unique in the bank.
    family : str
        A name of :data:`fewlabels.automatic._families.FAMILIES`.
    ridges : ndarray of shape (n_variants,)
        Its variants, each with a ridge; a single NaN where there is no such choice.
    n_groups : int or None
        How many groups of rows it is made to tell apart, if there is such a number.
    """

    name: str
    family: str
    ridges: NDArray[Any] = np.array([np.nan])
    n_groups: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return to_host(self.__dict__)

    def prepare(self) -> bool:
        """Do what needs no labels; tell whether there is anything to learn from."""
        return True

    def fit(
        self,
        labeled: Labeled,
        weights: NDArray[Any],
        found: Any,
        rng: np.random.RandomState,
    ) -> Outputs:
        """Learn a weighted sum of the variants."""
        raise NotImplementedError


@dataclass(frozen=True)
class Shared(Outputs):
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
        found: Any,
        rng: np.random.RandomState,
    ) -> Outputs:
        """Learn from all rows."""
        return Shared(self.learn(labeled), float(weights.sum()))


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

    def shifted(self, by: NDArray[Any]) -> "ShiftedModels":
        """See :meth:`fewlabels.automatic._scores.Models.shifted`."""
        return ShiftedModels(self, by)

    def kept(self) -> list[Any]:
        """Nothing that fitting could use."""
        return [None]


class ShiftedModels(NamedTuple):
    """A learner on targets less a constant, by which its outputs are less."""

    models: Models
    by: NDArray[Any]

    def held_out(self, blocks: Blocks) -> NDArray[Any]:
        """See :meth:`fewlabels.automatic._scores.Models.held_out`."""
        return self.models.held_out(blocks) - self.by

    def without(self, block: NDArray[np.intp]) -> "ShiftedModels":
        """See :meth:`fewlabels.automatic._scores.Models.without`."""
        return ShiftedModels(self.models.without(block), self.by)

    def shifted(self, by: NDArray[Any]) -> "ShiftedModels":
        """See :meth:`fewlabels.automatic._scores.Models.shifted`."""
        raise NotImplementedError

    def kept(self) -> list[Any]:
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

    def shifted(self, by: NDArray[Any]) -> Models:
        """See :meth:`fewlabels.automatic._scores.Models.shifted`."""
        raise NotImplementedError

    def kept(self) -> list[Any]:
        """Nothing that fitting could use."""
        return [None]


def lean_copy(thing: Any, copies: dict[int, Any]) -> Any:
    """Copy functions of rows and all they are made of, less what is for training."""
    if isinstance(thing, list | tuple):
        return type(thing)([lean_copy(part, copies) for part in thing])
    if not isinstance(thing, Candidate | Outputs | Source):
        return to_host(thing)
    if id(thing) not in copies:
        copies[id(thing)] = lean = copy(thing)
        dropped = thing.for_training if isinstance(thing, Source) else ()
        for name, value in vars(thing).items():
            kept = None if name in dropped else lean_copy(value, copies)
            lean.__dict__[name] = kept
    return copies[id(thing)]


def total_outputs(functions: Sequence[Outputs], view: View) -> NDArray[Any]:
    """Sum of several functions on the rows of a view."""
    # One transfer for all functions of one place.
    totals: dict[int, Any] = {}
    for function in functions:
        values = function(view)
        place = id(backend_of(values))
        totals[place] = totals[place] + values if place in totals else values
    return sum(to_host(list(totals.values())))
