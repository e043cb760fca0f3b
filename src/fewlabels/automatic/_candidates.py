"""Candidates: whatever can answer, be it a kernel or not."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._backend import backend_of, to_host
from fewlabels.automatic._labeled import Labeled
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
        coefs: Any,
        rng: np.random.RandomState,
    ) -> Outputs:
        """Learn a weighted sum of the variants."""
        raise NotImplementedError


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
