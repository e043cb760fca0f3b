"""A fitted bank for predictions alone: what they need of it, in few bytes.

Most candidates are linear functions of arrays that are linear, or a kernel, in others:
weights of all of them on one array are added up, and what lies between is multiplied
out. That is exact. Of more than a thousand rows, numbers that remain for every training
row (what neighbours are searched in, eigenvectors of graphs, path lengths) are also
rounded: a function is tried in several forms, the smallest first, on training rows as
if these were new, and the first that leaves the predictions as they were is taken.

Every source and every function of rows knows its own forms: `Source.compact`,
`Source.folded`, `Source.linear_forms` and `Outputs.compact_all`. The compactor holds
what they share.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._backend import to_host
from fewlabels.automatic._candidates import Form, Outputs, total_outputs
from fewlabels.automatic._linear import LinearPart, LinearSum, total
from fewlabels.automatic._packing import Plain
from fewlabels.automatic._sources import Compactable, Source, View

# Up to this many distinct rows nothing is rounded.
EXACT_ROWS = 1000
# Training rows on which a form is tried, and the share of their predictions that it may
# change; see `BankModel.changed` for numbers.
TRIAL_ROWS = 4000
MAX_CHANGED = 7.5e-4

# In what share of predictions two outputs differ.
Changed = Callable[[NDArray[Any], NDArray[Any]], float]


class Compactor:
    """Makes functions of new rows small.

    Parameters
    ----------
    functions : list of Outputs
        All functions of a bank that are to be kept.
    rows : Source
        The scaled rows.
    n_rows : int
        Distinct training rows.

    Attributes
    ----------
    rows : Source
        The scaled rows.
    rounds : bool
        Whether numbers may be rounded.
    """

    def __init__(self, functions: Sequence[Outputs], rows: Source, n_rows: int) -> None:
        self.rows = rows
        self.rounds = n_rows > EXACT_ROWS
        self._pack: Callable[[NDArray[Any]], Any] = Plain
        # What takes the place of a source, and of one whose form is being tried; what
        # several share; and how many leading columns of a source are read one by one.
        self._copies: dict[int, Any] = {}
        self._tried: dict[int, Any] = {}
        self._shared: dict[Any, Any] = {}
        self._columns: dict[int, int] = {}
        self._note_reads(functions, set())

    def _note_reads(self, users: Sequence[Any], seen: set[int]) -> None:
        for user in users:
            for source, n_columns in user.reads():
                most = max(n_columns, self._columns.get(id(source), 0))
                self._columns[id(source)] = most
                if id(source) not in seen:
                    seen.add(id(source))
                    self._note_reads([source], seen)

    def columns_of(self, source: Source) -> int:
        """How many leading columns of a source are read one by one."""
        return self._columns.get(id(source), 0)

    def single(self, A: Any) -> Any:
        """Round to single precision where that is allowed."""
        return A.astype(np.float32) if self.rounds else A

    def packed(self, A: NDArray[Any]) -> Any:
        """Pack an array over the training rows, in the form that is being tried."""
        return self._pack(A)

    def with_packing(self, pack: Callable[[NDArray[Any]], Any]) -> "Compactor":
        """Take another form for arrays over the training rows."""
        other = copy(self)
        other._pack, other._tried = pack, {}
        return other

    def shared(self, key: Any, make: Callable[[], Any]) -> Any:
        """Make something once for all who need it."""
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]

    def copy_of(self, thing: Any) -> Any:
        """Copy functions, candidates and sources, less what is for training."""
        if isinstance(thing, list | tuple):
            return type(thing)([self.copy_of(part) for part in thing])
        if not isinstance(thing, Compactable):
            return to_host(thing)
        copies = self._tried if thing.is_packed else self._copies
        if id(thing) not in copies:
            copies[id(thing)] = thing.compact(self)
        return copies[id(thing)]

    def lean_copy(self, thing: Any) -> Any:
        """Copy an object without the attributes that are for training."""
        lean, dropped = copy(thing), thing.for_training
        for name, value in vars(thing).items():
            lean.__dict__[name] = None if name in dropped else self.copy_of(value)
        return lean

    def compact(
        self, functions: Sequence[Outputs], changed: Changed | None
    ) -> list[Outputs]:
        """Make functions of one model small, and see that predictions stay the same."""
        choices: list[list[Form]] = []
        kinds: list[type[Outputs]] = list(dict.fromkeys(map(type, functions)))
        for kind in kinds:
            same = [f for f in functions if type(f) is kind]
            choices += kind.compact_all(same, self)
        return self._settled(choices, changed)

    def linear_sums(
        self, source: Source, parts: Sequence[LinearPart], *, exact: bool = False
    ) -> list[Outputs]:
        """Add up linear functions of a source, but not those of rows of length one."""
        linear = [part for part in parts if not part.unit_rows]
        sums: list[Outputs] = [
            LinearSum(source, p.scales, p.weights, p.offset)
            for p in parts
            if p.unit_rows
        ]
        if linear:
            weights, offset = total(linear)
            weights = weights if exact else self.single(weights)
            sums.append(LinearSum(source, None, weights, offset))
        return sums

    def set_neighbors(self, index: Source, known: tuple[NDArray[Any], ...]) -> None:
        """Tell what training rows would find if they were new."""
        self._shared["neighbors"] = index, known

    def trial(self, n_rows: int) -> View:
        """Look at training rows as if they were new: not their own neighbours."""
        n = self.rows.train.shape[0]
        sample = np.unique(np.linspace(0, n - 1, min(n, n_rows)).astype(np.intp))
        known = None
        if "neighbors" in self._shared:
            index, found = self._shared["neighbors"]
            known = {index: tuple(part[sample] for part in found)}
        return View(rows=to_host(self.rows.train[sample]), known=known)

    def _settled(
        self, choices: list[list[Form]], changed: Changed | None
    ) -> list[Outputs]:
        """Take the smallest forms that leave predictions as they are."""
        settled = [forms[-1]() for forms in choices]
        if changed is not None and any(len(forms) > 1 for forms in choices):
            view = self.trial(TRIAL_ROWS)
            parts = [total_outputs(form, view) for form in settled]
            before = np.sum(parts, axis=0)
            moved = np.zeros_like(before)
            for place, forms in enumerate(choices):
                for form in forms[:-1]:
                    tried = form()
                    step = total_outputs(tried, view) - parts[place]
                    if changed(before, before + moved + step) <= MAX_CHANGED:
                        settled[place], moved = tried, moved + step
                        break
        return [function for form in settled for function in form]
