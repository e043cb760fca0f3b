"""Tables: columns by name, from files or from frames, and the way back."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._lazy import refuse_lazy
from fewlabels.preprocessing._errors import (
    TableError,
    UnknownColumnError,
    unknown_column,
)
from fewlabels.preprocessing.cells import arrow_values, column_values, unique_names


@dataclass
class Table:
    """A table as columns of values.

    It is made by :func:`fewlabels.tabular.read_table` from a file or by
    :meth:`from_frame` from a frame, and remembers what it was made from, so that
    columns can be added to that.

    Attributes
    ----------
    names : list of str
        Names of the columns. Where a name occurs twice, the second is ``"name (2)"``.
    columns : list of ndarray of shape (n_rows,)
        The values. Text that stands for a missing value is still text.
    source : str
        Where it comes from.
    origin : object
        The file as its reader kept it, in order to write it again, or the frame.
    notes : list of str
        What the owner of the table should know.
    categorical : frozenset of str
        Columns whose type in a frame says that they are categories.
    places : ndarray of int, or None
        Where the rows stand in the file that they are a sample of, from 0.
    """

    names: list[str]
    columns: list[NDArray[Any]]
    source: str = "table"
    origin: Any = None
    notes: list[str] = field(default_factory=list)
    categorical: frozenset[str] = frozenset()
    places: NDArray[np.intp] | None = None

    @classmethod
    def from_frame(cls, frame: Any, source: str = "table") -> "Table":
        """Take the columns of a frame.

        Parameters
        ----------
        frame : Table, DataFrame of pandas or polars, pyarrow table, dict or array-like
            The table. Columns of an array are named x0, x1, and so on.
        source : str, default="table"
            What to call it in messages.

        Returns
        -------
        table : Table
            The same values, by column.
        """
        if isinstance(frame, Table):
            return frame
        refuse_lazy(frame, "X")
        if isinstance(frame, dict):
            names, columns = list(frame), [column_values(v) for v in frame.values()]
        elif hasattr(frame, "column_names") and hasattr(frame, "num_rows"):  # pyarrow
            names = list(frame.column_names)
            columns = [arrow_values(frame.column(k)) for k in range(frame.num_columns)]
        elif hasattr(frame, "iloc"):  # pandas
            names = list(frame.columns)
            columns = [column_values(frame.iloc[:, k]) for k in range(frame.shape[1])]
        elif hasattr(frame, "get_columns"):  # polars
            names = list(frame.columns)
            columns = [column_values(series) for series in frame.get_columns()]
        else:
            values = np.asarray(frame)
            if values.dtype.kind in "US":  # a NaN among strings is text by now
                values = np.asarray(frame, dtype=object)
            if values.ndim != 2:
                raise TableError(
                    f"Expected 2D array, got {values.ndim}D array instead: pass rows "
                    "and columns. Reshape your data with reshape(-1, 1) if it has a "
                    "single column."
                )
            names = [f"x{k}" for k in range(values.shape[1])]
            columns = [column_values(values[:, k]) for k in range(values.shape[1])]
        lengths = {column.size for column in columns}
        if len(lengths) > 1:
            raise TableError(f"Columns have different lengths: {sorted(lengths)}.")
        table = cls(unique_names([str(n) for n in names]), columns, source)
        table.origin = frame
        types = getattr(frame, "dtypes", [])
        table.categorical = frozenset(
            name
            for name, dtype in zip(table.names, types, strict=False)
            if str(dtype).lower().startswith(("category", "categorical", "enum"))
        )
        return table

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.columns[0].size if self.columns else 0

    @property
    def row_numbers(self) -> NDArray[np.intp]:
        """What to call the rows: their numbers in the file, from 1."""
        return 1 + (np.arange(self.n_rows) if self.places is None else self.places)

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.names:
            raise unknown_column(name, self.names, "column")
        return self.columns[self.names.index(name)]

    def index(self, name: str, role: str) -> int:
        """Find a column that somebody named.

        Parameters
        ----------
        name : str
            Its name.
        role : str
            What it is to be, for the message.

        Returns
        -------
        place : int
            Its place.

        Raises
        ------
        UnknownColumnError
            If there is none, or several that share the name.
        """
        if name not in self.names:
            raise unknown_column(name, self.names, role, self.notes)
        if f"{name} (2)" in self.names:
            raise UnknownColumnError(
                f"Several columns are called {name!r} (given as {role}): rename all "
                "but one of them."
            )
        return self.names.index(name)

    def without(self, names: Sequence[str]) -> "Table":
        """Leave columns out.

        Parameters
        ----------
        names : sequence of str
            The columns to leave out.

        Returns
        -------
        table : Table
            The other columns.
        """
        kept = [k for k, name in enumerate(self.names) if name not in names]
        return Table(
            [self.names[k] for k in kept],
            [self.columns[k] for k in kept],
            self.source,
            notes=self.notes,
            categorical=self.categorical - set(names),
            places=self.places,
        )

    def take(self, rows: NDArray[np.intp]) -> "Table":
        """Pick some rows.

        Parameters
        ----------
        rows : ndarray of int
            Which rows, in their new order.

        Returns
        -------
        table : Table
            These rows; text of a delimited file stays as it is.
        """
        columns = [column[rows] for column in self.columns]
        part = Table(self.names, columns, self.source, categorical=self.categorical)
        part.places = self.row_numbers[rows] - 1
        if hasattr(self.origin, "with_columns"):  # a file, not a frame
            part.origin = self.origin.take(rows)
        return part

    def free_names(self, names: Sequence[str]) -> list[str]:
        """Choose names for new columns that the table does not have yet.

        Parameters
        ----------
        names : sequence of str
            The names wanted.

        Returns
        -------
        names : list of str
            These, or all of them with a number behind.
        """
        taken = set(self.names)
        ending, number = "", 1
        while any(name + ending in taken for name in names):
            number += 1
            ending = f"_{number}"
        return [name + ending for name in names]

    def to_pandas(self) -> Any:
        """Make a frame of pandas; columns of text that are numbers become numbers.

        Returns
        -------
        frame : pandas.DataFrame
            The table.
        """
        import pandas as pd

        data: dict[str, Any] = {}
        for name, column in zip(self.names, self.columns, strict=True):
            data[name] = column
            if column.dtype.kind == "O":
                values = [None if isinstance(v, str) and v == "" else v for v in column]
                try:
                    data[name] = pd.to_numeric(pd.Series(values, dtype=object))
                except (TypeError, ValueError):
                    data[name] = pd.Series(values, dtype=object)
        return pd.DataFrame(data)
