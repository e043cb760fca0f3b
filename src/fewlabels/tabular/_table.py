"""Tables: columns by name, from files or from frames, and the way back."""

# SPDX-License-Identifier: BSD-3-Clause

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.tabular._errors import TableError, UnknownColumnError, unknown_column

# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass
class Table:
    """A table as columns of values.

    It is made by :func:`read_table` from a file or by :meth:`from_frame` from a frame,
    and remembers what it was made from, so that columns can be added to that.

    Attributes
    ----------
    names : list of str
        Names of the columns. Where a name occurs twice, the second is ``"name (2)"``.
    columns : list of ndarray of shape (n_rows,)
        The values. Text that stands for a missing value is still text.
    source : str
        Where it comes from.
    kind : str
        "delimited", "jsonl", "parquet", "excel" or "frame".
    origin : object
        What the reader kept in order to write the table again.
    notes : list of str
        What the owner of the table should know.
    categorical : frozenset of str
        Columns whose type in a frame says that they are categories.
    """

    names: list[str]
    columns: list[NDArray[Any]]
    source: str = "table"
    kind: str = "frame"
    origin: Any = None
    notes: list[str] = field(default_factory=list)
    categorical: frozenset[str] = frozenset()

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
        if isinstance(frame, dict):
            names, columns = list(frame), [_column(v) for v in frame.values()]
        elif hasattr(frame, "column_names") and hasattr(frame, "num_rows"):  # pyarrow
            names = list(frame.column_names)
            columns = [arrow_values(frame.column(k)) for k in range(frame.num_columns)]
        elif hasattr(frame, "iloc"):  # pandas
            names = list(frame.columns)
            columns = [_column(frame.iloc[:, k]) for k in range(frame.shape[1])]
        elif hasattr(frame, "get_columns"):  # polars
            names = list(frame.columns)
            columns = [_column(series) for series in frame.get_columns()]
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
            columns = [_column(values[:, k]) for k in range(values.shape[1])]
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
            raise unknown_column(name, self.names, role)
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
        part = Table(self.names, columns, self.source)
        match self.kind:
            case "delimited":
                part.kind, part.origin = self.kind, self.origin.take(rows)
            case "parquet":
                part.kind, part.origin = self.kind, self.origin.take(rows)
            case "jsonl":
                lines, encoding, bom = self.origin
                full = [line for line in lines if line.strip()]
                picked = [full[row].rstrip() + "\n" for row in rows]
                part.kind, part.origin = self.kind, (picked, encoding, bom)
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
                values = [None if v == "" else v for v in column]
                try:
                    data[name] = pd.to_numeric(pd.Series(values, dtype=object))
                except (TypeError, ValueError):
                    data[name] = pd.Series(values, dtype=object)
        return pd.DataFrame(data)


def unique_names(names: Sequence[str]) -> list[str]:
    """Make names unique, and name what has no name.

    Parameters
    ----------
    names : sequence of str
        Names as they stand in the table.

    Returns
    -------
    names : list of str
        The second "a" is called "a (2)", an empty one after its place.

    Examples
    --------
    >>> from fewlabels.tabular._table import unique_names
    >>> unique_names(["a", "b", "a", ""])
    ['a', 'b', 'a (2)', 'column 4']
    """
    given = {name.strip() for name in names}
    seen: Counter[str] = Counter()
    unique: list[str] = []
    for place, name in enumerate(names, start=1):
        name = name.strip() or f"column {place}"
        seen[name] += 1
        while seen[name] > 1 and f"{name} ({seen[name]})" in given:
            seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def object_array(values: Any) -> NDArray[Any]:
    """One-dimensional array of objects, whatever these are.

    Parameters
    ----------
    values : sequence
        The objects.

    Returns
    -------
    array : ndarray of object
        One entry per object.
    """
    return np.fromiter(values, dtype=object, count=len(values))


def _column(values: Any) -> NDArray[Any]:
    """One column as an array of numbers, booleans, datetimes or objects."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    array = np.asarray(values)
    if array.ndim != 1:
        array = object_array(list(values))
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        array = object_array(list(values))
    if array.dtype.kind not in "biufMO":
        array = array.astype(object)
    if array.dtype.kind == "O":
        array = _without_wrappers(array)
    return array


def _without_wrappers(array: NDArray[Any]) -> NDArray[Any]:
    """Turn pandas' NA and NaT into None; they have no truth value."""
    holes = [value is None or _differs_from_itself(value) for value in array]
    if any(holes):
        array = array.copy()
        array[holes] = None
    return array


def _differs_from_itself(value: Any) -> bool:
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ in ("NAType", "NaTType")


def arrow_values(column: Any) -> NDArray[Any]:
    """Values of a column of pyarrow, with integers that have holes as objects.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        The column.

    Returns
    -------
    values : ndarray of shape (n_rows,)
        Numbers, booleans, datetimes or objects.
    """
    if column.null_count and not str(column.type).startswith(
        ("float", "double", "timestamp", "date")
    ):
        return object_array(column.to_pylist())
    return _column(column.to_numpy())


def neutral(value: Any) -> str:
    """Write a value so that no spreadsheet takes it for a formula.

    Parameters
    ----------
    value : object
        What to write.

    Returns
    -------
    text : str
        The text, behind an apostrophe where it begins like a formula; numbers, which
        may begin with a sign, are left alone.

    Examples
    --------
    >>> from fewlabels.tabular._table import neutral
    >>> neutral("=1+1"), neutral("-1"), neutral(True)
    ("'=1+1", '-1', 'True')
    """
    text = "" if value is None else str(value)
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return "'" + text
    return text


def json_lines(
    lines: list[str], encoding: str, bom: bytes, added: Mapping[str, Sequence[Any]]
) -> Iterator[bytes]:
    """Put new members behind those of every object, whose text stays as it is.

    Parameters
    ----------
    lines : list of str
        Lines of the file; blank ones hold no row.
    encoding : str
        Of the file.
    bom : bytes
        Its byte-order mark.
    added : dict of str to sequence
        New members, one value per row.

    Yields
    ------
    chunk : bytes
        The next bytes of the file.
    """
    yield bom
    row = 0
    for line in lines:
        body = line.rstrip()
        if body:
            members = ", ".join(
                f"{json.dumps(name, ensure_ascii=False)}: "
                f"{json.dumps(values[row], ensure_ascii=False)}"
                for name, values in added.items()
            )
            inner = body[:-1].rstrip()
            comma = "" if inner.endswith("{") else ", "
            gap = body[len(inner) : -1]
            line = f"{inner}{comma}{members}{gap}}}{line[len(body) :]}"
            row += 1
        yield line.encode(encoding)
