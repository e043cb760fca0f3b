"""Candidates: models that learn from labelled rows, with a kernel or without."""

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


# Builds, on demand, functions of rows whose sum is one form of the fitted model.
Form = Callable[[], "list[Outputs]"]


class Outputs(Compactable):
    """A fitted candidate: a function of rows.

    It holds the parts of the training rows that it needs, since pruned sources no
    longer have them.
    """

    def __call__(self, view: View) -> Any:
        """Compute outputs for the rows of a view, on whichever device they are."""
        raise NotImplementedError

    @classmethod
    def compact_all(
        cls, functions: "Sequence[Any]", compactor: "Compactor"
    ) -> "list[list[Form]]":
        """List the possible forms of a sum of functions of this kind.

        Returns
        -------
        choices : list of list of Form
            Take one form from each list; forms go from the smallest to the most exact.
        """

        def copied(function: Outputs) -> list[Form]:
            return [lambda: [compactor.copy_of(function)]]

        return [copied(function) for function in functions]


class Candidate(Compactable):
    """A model that learns from labelled rows of a bank.

    Attributes
    ----------
    name : str
        Unique in the bank.
    family : str
        A name of :data:`fewlabels.automatic._pool.FAMILIES`.
    ridges : ndarray of shape (n_variants,)
        Ridge of each variant; a single NaN for a candidate without a ridge.
    n_groups : int or None
        Number of groups it is built to separate, if there is such a number.
    view : int
        Number of the view of the rows it is built on.
    """

    name: str
    family: str
    ridges: NDArray[Any] = np.array([np.nan])
    n_groups: int | None = None
    view: int = 0

    def prepare(self) -> bool:
        """Prepare without labels; return whether there is anything to learn from."""
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
    # One transfer for all functions on the same device.
    totals: dict[int, Any] = {}
    for function in functions:
        values = function(view)
        place = id(backend_of(values))
        totals[place] = totals[place] + values if place in totals else values
    return sum(to_host(list(totals.values())))
