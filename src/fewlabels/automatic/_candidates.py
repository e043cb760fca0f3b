"""Candidates: whatever can answer, be it a kernel or not."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.automatic._choice import Labeled
from fewlabels.automatic._scores import Blocks
from fewlabels.automatic._sources import View


class Outputs:
    """What fitting makes of a candidate: a function of rows."""

    def __call__(self, view: View) -> NDArray[Any]:
        """Compute outputs for the rows of a view."""
        raise NotImplementedError


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
    """

    name: str
    family: str
    ridges: NDArray[Any] = np.array([np.nan])

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

    A subclass has a name, a family, and `learn`.
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


class LearnedModels(NamedTuple):
    """Held-out outputs of a learner, by learning again."""

    learner: Learner
    labeled: Labeled

    def held_out(self, blocks: Blocks) -> NDArray[Any]:
        """See :meth:`fewlabels.automatic._scores.Models.held_out`."""
        outputs = np.full((1, *self.labeled.Y.shape), np.nan)
        for block in blocks:
            learned = self.learner.learn(self.labeled.without(block))
            outputs[0, block] = learned(View(batch=self.labeled.groups[block]))
        return outputs

    def without(self, block: NDArray[np.intp]) -> "LearnedModels":
        """See :meth:`fewlabels.automatic._scores.Models.without`."""
        return LearnedModels(self.learner, self.labeled.without(block))

    def kept(self) -> list[Any]:
        """Nothing that fitting could use."""
        return [None]


def total_outputs(functions: Sequence[Outputs], view: View) -> NDArray[Any]:
    """Sum of several functions on the rows of a view."""
    total = functions[0](view)
    for function in functions[1:]:
        total = total + function(view)
    return total
