"""Compact copies of a fitted bank, with only what predictions need.

Most candidates are linear functions of an array that is itself linear, or a kernel, in
another. All weights on one array are added up, and the maps in between are multiplied
out, which is exact. With more than a thousand rows, the numbers that remain for every
training row (coordinates for the neighbour search, eigenvectors of graphs, path
lengths) are also rounded. Each function is tried in several forms, smallest first, on
training rows treated as new; the first form that leaves the predictions unchanged is
kept.

Every source and every function of rows defines its own forms: `Source.compact`,
`Source.folded`, `Source.linear_forms` and `Outputs.compact_all`. The compactor holds
the state they share.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._backend import to_host
from fewlabels.automatic._candidates import Form, Outputs, total_outputs
from fewlabels.automatic._sources import Compactable, Source, View

# Up to this many distinct rows nothing is rounded.
EXACT_ROWS = 1000
# Training rows on which a form is tried, and the share of their predictions that it may
# change; see `BankModel.changed` for regression.
TRIAL_ROWS = 4000
MAX_CHANGED = 7.5e-4

# Computes the share of predictions in which two arrays of outputs differ.
Changed = Callable[[NDArray[Any], NDArray[Any]], float]


@dataclass(frozen=True)
class LinearPart:
    """A linear function of the columns of a source, as fitted."""

    scales: NDArray[Any]
    unit_rows: bool
    weights: NDArray[Any]
    offset: NDArray[Any]

    @classmethod
    def plain(cls, weights: NDArray[Any], offset: NDArray[Any]) -> "LinearPart":
        """Return the columns unchanged."""
        return cls(np.ones(weights.shape[0]), False, weights, offset)


def summed_weights(parts: Sequence[LinearPart]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sum weights of unscaled columns, and offsets, over several functions."""
    weights = np.zeros((max(p.scales.size for p in parts), parts[0].offset.size))
    for part in parts:
        weights[: part.scales.size] += part.scales[:, None] * part.weights
    return weights, np.sum([p.offset for p in parts], axis=0)


@dataclass(frozen=True)
class LinearSum(Outputs):
    """A linear function of the columns of a source, perhaps scaled to length one."""

    source: Source
    scales: NDArray[Any] | None  # None where rows are not scaled to length one
    weights: NDArray[Any]
    offset: NDArray[Any]

    def __call__(self, view: View) -> NDArray[Any]:
        Z = view[self.source]
        if self.scales is None:
            # Often only a prefix of the columns carries weight.
            if Z.shape[1] > self.weights.shape[0]:
                Z = Z[:, : self.weights.shape[0]]
        else:
            Z = Z[:, : self.scales.size] * self.scales.astype(Z.dtype)
            norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))
            Z = Z / np.where(norms > 1e-12, norms, 1)[:, None]
        return Z @ self.weights.astype(Z.dtype, copy=False) + self.offset


class Rounded:
    """An array stored as small numbers: ``(codes * per_row + low) * per_column``.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_columns)
        Integers, or numbers in half precision.
    low, per_row, per_column : ndarray
        Arrays that broadcast against the codes.
    dtype : dtype
        Type of the decoded numbers.
    """

    def __init__(
        self,
        codes: NDArray[Any],
        low: NDArray[Any],
        per_row: NDArray[Any],
        per_column: NDArray[Any],
        dtype: Any,
    ) -> None:
        self._codes = codes
        self._low, self._per_row, self._per_column = low, per_row, per_column
        self._dtype = np.dtype(dtype).str

    @classmethod
    def by_column(cls, A: NDArray[Any], integer: Any) -> "Rounded":
        """Quantise each column into equal steps over its range."""
        low, high = A.min(axis=0), A.max(axis=0)
        step = (high - low).astype(np.float64) / np.iinfo(integer).max
        step = np.where(step > 0, step, 1.0)
        codes = np.rint((A - low) / step).astype(integer)
        return cls(codes, low / step, np.ones(1), step, A.dtype)

    @classmethod
    def by_row(cls, A: NDArray[Any], per_column: NDArray[Any]) -> "Rounded":
        """Quantise each row, in units of the columns, into 254 steps over its range."""
        scaled = A / per_column
        largest = np.abs(scaled).max(axis=1, keepdims=True, initial=0.0)
        per_row = (np.where(largest > 0, largest, 1.0) / 127).astype(np.float32)
        codes = np.rint(scaled / per_row).astype(np.int8)
        return cls(codes, np.zeros(1), per_row, per_column, A.dtype)

    @classmethod
    def half(cls, A: NDArray[Any]) -> "Rounded":
        """Store in half precision, in units of each column's largest number."""
        largest = np.abs(A).max(axis=0, initial=0.0).astype(np.float64)
        largest = np.where(largest > 0, largest, 1.0)
        codes = (A / largest).astype(np.float16)
        return cls(codes, np.zeros(1), np.ones(1), largest, A.dtype)

    @cached_property
    def array(self) -> NDArray[Any]:
        """The numbers."""
        array = self._codes.astype(np.dtype(self._dtype))
        array *= self._per_row.astype(array.dtype)
        array += self._low.astype(array.dtype)
        array *= self._per_column.astype(array.dtype)
        return array

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "array"}


class Plain:
    """An array stored unchanged.

    Parameters
    ----------
    array : ndarray
        The array.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = np.ascontiguousarray(array)

    @classmethod
    def single(cls, array: NDArray[Any]) -> "Plain":
        """Store in single precision."""
        return cls(array.astype(np.float32, copy=False))


def half(A: NDArray[Any]) -> NDArray[Any]:
    """Round to half precision, unless the numbers are too large for it."""
    return A.astype(np.float16 if np.abs(A).max(initial=0.0) < 6e4 else np.float32)


def small_integers(A: NDArray[Any]) -> NDArray[Any]:
    """Convert an array to the smallest integer type that holds it."""
    low, high = A.min(initial=0), A.max(initial=0)
    return A.astype(np.promote_types(np.min_scalar_type(low), np.min_scalar_type(high)))


class Compactor:
    """Shrink functions of new rows.

    Parameters
    ----------
    functions : list of Outputs
        All functions of a bank to keep.
    rows : sequence of Source
        The scaled rows, in every view.
    n_rows : int
        Number of distinct training rows.

    Attributes
    ----------
    rounds : bool
        Whether numbers may be rounded.
    """

    def __init__(
        self, functions: Sequence[Outputs], rows: Sequence[Source], n_rows: int
    ) -> None:
        self._rows = rows
        self._neighbors: dict[Source, tuple[NDArray[Any], ...]] = {}
        self.rounds = n_rows > EXACT_ROWS
        self._pack: Callable[[NDArray[Any]], Any] = Plain
        # Replacements of sources, and of those whose form is being tried; results that
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
        """Build an object once and share it."""
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]

    def copy_of(self, thing: Any) -> Any:
        """Copy functions, candidates and sources, without what only training needs."""
        if isinstance(thing, list | tuple):
            return type(thing)([self.copy_of(part) for part in thing])
        if not isinstance(thing, Compactable):
            return to_host(thing)
        copies = self._tried if thing.is_packed else self._copies
        if id(thing) not in copies:
            copies[id(thing)] = thing.compact(self)
        return copies[id(thing)]

    def lean_copy(self, thing: Any) -> Any:
        """Copy an object without the attributes that only training needs."""
        lean, dropped = copy(thing), thing.for_training
        for name, value in vars(thing).items():
            lean.__dict__[name] = None if name in dropped else self.copy_of(value)
        return lean

    def compact(
        self, functions: Sequence[Outputs], changed: Changed | None
    ) -> list[Outputs]:
        """Shrink the functions of one model without changing its predictions."""
        choices: list[list[Form]] = []
        kinds: list[type[Outputs]] = list(dict.fromkeys(map(type, functions)))
        for kind in kinds:
            same = [f for f in functions if type(f) is kind]
            choices += kind.compact_all(same, self)
        return self._settled(choices, changed)

    def linear_sums(
        self, source: Source, parts: Sequence[LinearPart], *, exact: bool = False
    ) -> list[Outputs]:
        """Add up linear functions of a source, except those on rows of length one."""
        linear = [part for part in parts if not part.unit_rows]
        sums: list[Outputs] = [
            LinearSum(source, p.scales, p.weights, p.offset)
            for p in parts
            if p.unit_rows
        ]
        if linear:
            weights, offset = summed_weights(linear)
            weights = weights if exact else self.single(weights)
            sums.append(LinearSum(source, None, weights, offset))
        return sums

    def set_neighbors(self, index: Source, known: tuple[NDArray[Any], ...]) -> None:
        """Set the neighbours that training rows would find if they were new."""
        self._neighbors[index] = known

    def trial(self, n_rows: int) -> View:
        """View training rows as new, so that they are not their own neighbours."""
        n = self._rows[0].train.shape[0]
        sample = np.unique(np.linspace(0, n - 1, min(n, n_rows)).astype(np.intp))
        known: dict[Source, Any] = {
            index: tuple(part[sample] for part in found)
            for index, found in self._neighbors.items()
        }
        for rows in self._rows:
            known[self.copy_of(rows)] = to_host(rows.train[sample])
        return View(rows=sample, known=known)

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
