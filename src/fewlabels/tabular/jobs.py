"""What labelling, grouping and asking have in common."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from fewlabels._rows import equal_rows
from fewlabels._words import listed, plural
from fewlabels.preprocessing import (
    ColumnDescription,
    Table,
    TableError,
    TableSample,
    TableSummary,
    TableTransformer,
)
from fewlabels.tabular._targets import TargetColumn, revealing_columns

# Beyond so many rows the smaller bank is used, unless another is asked for, for
# the time and memory it takes (docs/command_line.md).
FAST_ROWS = 20_000

Progress = Callable[[float, str], None]


def silent(share: float, what: str) -> None:
    """Tell nobody."""


@contextmanager
def noting(notes: list[str]) -> Iterator[None]:
    """Collect warnings as notes.

    Parameters
    ----------
    notes : list of str
        Gets every warning once.

    Yields
    ------
    None
        Within the block nothing is shown.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield
    for message in dict.fromkeys(str(w.message) for w in caught):
        notes.append(message)


def encode(
    table: Table,
    encoding: Mapping[str, Any],
    random_state: Any,
    summary: TableSummary | None = None,
) -> tuple[TableTransformer, Any]:
    """Turn the columns of a table into features, in single precision if many."""
    transformer = TableTransformer(**encoding, random_state=random_state)
    features = transformer.fit_transform(TableSample(table, summary))
    if not issparse(features) and table.n_rows > FAST_ROWS:
        features = features.astype(np.float32)
    return transformer, features


def without_secrets(
    table: Table, labels: TargetColumn, encoding: dict[str, Any], notes: list[str]
) -> dict[str, Any]:
    """Leave columns out that give labels away, unless somebody names their kind."""
    kinds = ("ignore", "text", "categorical", "numeric", "date")
    named = {name for kind in kinds for name in encoding.get(kind, ())}
    if labels.name in named:
        raise TableError(
            f"{labels.name!r} is the target: it cannot be a column to learn from."
        )
    left_out = list(encoding.get("ignore", ()))
    for name, why in revealing_columns(table, labels).items():
        if name not in named:
            left_out.append(name)
            notes.append(f"Column {name!r} is left out: {why}.")
    return {**encoding, "ignore": left_out}


def name_left_out(columns: list[ColumnDescription], notes: list[str]) -> None:
    """Note which columns are not used."""
    for kind in ("identifier", "constant", "empty"):
        names = [column.name for column in columns if column.kind == kind]
        if names:
            what = plural(len(names), f"{kind} column").removeprefix("1 ")
            notes.append(f"Left out, {what}: {listed(names)}.")


def distinct_rows(features: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First of every set of equal rows, and for every row the number of its set."""
    copy_of = equal_rows(features)
    _, first = np.unique(copy_of, return_index=True)
    return first, copy_of
