"""Candidates: whatever can answer, be it a kernel or not."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._backend import backend_of, to_host
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._sources import Compactable, View

if TYPE_CHECKING:
    from fewlabels.automatic._compact import Compactor


# Functions of rows whose sum is one form of what was fitted, made when asked for.
Form = Callable[[], "list[Outputs]"]


class Outputs(Compactable):
    """What fitting makes of a candidate: a function of rows.

    It holds what it needs of the training rows, which pruned sources no longer have.
    """

    def __call__(self, view: View) -> Any:
        """Compute outputs for the rows of a view, wherever these are."""
        raise NotImplementedError

    @classmethod
    def compact_all(
        cls, functions: "Sequence[Any]", compactor: "Compactor"
    ) -> "list[list[Form]]":
        """List the forms of functions of this kind that are added up.

        Returns
        -------
        choices : list of list of Form
            One form is to be taken of each; the last one is the most exact, and the
            smallest one is first.
        """

        def copied(function: Outputs) -> list[Form]:
            return [lambda: [compactor.copy_of(function)]]

        return [copied(function) for function in functions]


class Candidate(Compactable):
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


def total_outputs(functions: Sequence[Outputs], view: View) -> NDArray[Any]:
    """Sum of several functions on the rows of a view."""
    # One transfer for all functions of one place.
    totals: dict[int, Any] = {}
    for function in functions:
        values = function(view)
        place = id(backend_of(values))
        totals[place] = totals[place] + values if place in totals else values
    return sum(to_host(list(totals.values())))
