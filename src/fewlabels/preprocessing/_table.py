"""Tables: columns by name, from files or frames, and back to them."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._lazy import refuse_lazy
from fewlabels.preprocessing._errors import (
    TableError,
    UnknownColumnError,
    unknown_column,
)
from fewlabels.preprocessing._numbers import decimal_sign
from fewlabels.preprocessing._values import (
    arrow_values,
    column_values,
    is_missing,
    unique_names,
)


def holds_texts(rows: Any) -> bool:
    """Whether rows are a list, array or series of texts instead of columns.

    Parameters
    ----------
    rows : object
        What was passed as a table.

    Returns
    -------
    texts : bool
        True where each row is a text, or missing, and at least one is a text.
    """
    if not isinstance(rows, list | tuple) and len(getattr(rows, "shape", ())) != 1:
        return False
    return any(isinstance(cell, str) for cell in rows) and all(
        isinstance(cell, str) or is_missing(cell) for cell in rows
    )


def refuse_records(rows: NDArray[Any]) -> None:
    """Refuse rows that are dictionaries.

    Parameters
    ----------
    rows : ndarray
        What was passed as a table.

    Raises
    ------
    TableError
        If so: they may have different keys.
    """
    if rows.ndim == 1 and rows.size and isinstance(rows[0], Mapping):
        raise TableError(
            "The rows are dictionaries, which may have different keys: pass "
            "pandas.DataFrame(rows)."
        )


def check_names(frame: Any) -> None:
    """Refuse frames with several columns of one name, or with none.

    Parameters
    ----------
    frame : DataFrame of pandas or polars, or pyarrow table
        The frame.

    Raises
    ------
    TableError
        If names of columns are not unique.
    """
    names = list(getattr(frame, "column_names", frame.columns))
    if not names:
        raise TableError("X has no columns: pass at least one.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        better = unique_names([str(name) for name in names])
        raise TableError(
            f"X has several columns called {twice!r}: give every column a unique "
            f"name, such as X.columns = {better[:8]}"
            + (" and so on." if len(better) > 8 else ".")
        )


@dataclass
class Table:
    """A table as columns of values.

    It is made by :func:`fewlabels.tabular.read_table` from a file or by
    :meth:`from_frame` from a frame, and remembers its source, so that columns can be
    added to it.

    Attributes
    ----------
    names : list of str
        Names of the columns. If a name occurs twice, the second is ``"name (2)"``.
    columns : list of ndarray of shape (n_rows,)
        The values. Text that means missing is still text.
    source : str
        Where it comes from.
    origin : object
        The frame, or the file as kept by its reader, to be written again.
    notes : list of str
        What the owner of the table should know.
    categorical : frozenset of str
        Columns whose type in a frame says that they are categories.
    identifiers : frozenset of str
        Columns that are known to name the rows.
    texts : frozenset of str
        Columns that are known to be free text.
    derived : frozenset of str
        Columns that were computed to learn from, and are not written.
    places : ndarray of int, or None
        Positions of the rows in the file that they were sampled from, from 0.
    files : ndarray of str objects, or None
        The files of a folder that rows come from, by the number of the row.
    whole : Table or None
        The table with all rows of the file, where some, such as totals, are left out.
    embed_with : str or None
        The network for columns of pictures, see
        :func:`fewlabels.embeddings.load_embedder`; None for the default.
    """

    names: list[str]
    columns: list[NDArray[Any]]
    source: str = "table"
    origin: Any = None
    notes: list[str] = field(default_factory=list)
    categorical: frozenset[str] = frozenset()
    identifiers: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    derived: frozenset[str] = frozenset()
    places: NDArray[np.intp] | None = None
    files: NDArray[Any] | None = None
    whole: "Table | None" = None
    embed_with: str | None = None
    _decimal: tuple[str, bool] | None = None

    @classmethod
    def from_frame(cls, frame: Any, source: str = "table") -> "Table":
        """Take the columns of a frame.

        Parameters
        ----------
        frame : Table, DataFrame of pandas or polars, pyarrow table, dict or array-like
            The table. Columns of an array are named x0, x1, and so on; texts in a list
            are a column.
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
            if holds_texts(frame):
                values = values.reshape(-1, 1)
            refuse_records(values)
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
    def folder(self) -> Path | None:
        """Folder of the file, or the one that the table is; None for others."""
        source = Path(self.source)
        try:
            if source.is_dir():
                return source
            return source.parent if source.is_file() else None
        except (OSError, ValueError):  # no path at all
            return None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.columns[0].size if self.columns else 0

    @property
    def row_numbers(self) -> NDArray[np.intp]:
        """Numbers of the rows in the file, from 1."""
        return 1 + (np.arange(self.n_rows) if self.places is None else self.places)

    @property
    def rows_in_whole(self) -> NDArray[np.intp]:
        """Return the positions of the rows among all rows of the file or part."""
        if self.whole is None or self.places is None:
            return np.arange(self.n_rows)
        return np.searchsorted(self.whole.row_numbers, self.row_numbers)

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.names:
            raise unknown_column(name, self.names, "column")
        return self.columns[self.names.index(name)]

    def decimal_sign(self) -> tuple[str, bool]:
        """Find the decimal sign that the whole table suggests.

        Returns
        -------
        sign : {"", ".", ","}
            The sign of most columns of numbers in text; if none shows one, the sign
            that goes with the delimiter of the file, currencies, and names of months.
        sure : bool
            Whether a column proves it.
        """
        if self._decimal is None:
            text = getattr(self.origin, "text", None)
            delimiter = str(getattr(text, "delimiter", ""))
            self._decimal = decimal_sign(self.columns, delimiter)
        return self._decimal

    def index(self, name: str, role: str) -> int:
        """Find a column by name.

        Parameters
        ----------
        name : str
            Its name.
        role : str
            The parameter that names it, for the message.

        Returns
        -------
        place : int
            Its place.

        Raises
        ------
        UnknownColumnError
            If no column, or more than one, has this name.
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
            identifiers=self.identifiers - set(names),
            texts=self.texts - set(names),
            derived=self.derived - set(names),
            places=self.places,
            embed_with=self.embed_with,
            _decimal=self.decimal_sign(),
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
        part._decimal = self.decimal_sign()
        part.identifiers, part.derived = self.identifiers, self.derived
        part.texts = self.texts
        part.places = self.row_numbers[rows] - 1
        part.files, part.embed_with = self.files, self.embed_with
        if hasattr(self.origin, "with_columns"):  # a file, not a frame
            inside = rows if self.whole is None else self.rows_in_whole[rows]
            part.origin = self.origin.take(inside)
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

    @property
    def row_files(self) -> list[str] | None:
        """Return the file of every row, if there are several."""
        return None if self.files is None else self.files[self.row_numbers - 1].tolist()

    def to_pandas(self) -> Any:
        """Make a pandas frame; columns of numbers in text become numbers.

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
