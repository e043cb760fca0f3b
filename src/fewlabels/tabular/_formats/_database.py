"""Tables of single-file databases: SQLite and DuckDB.

A source table is never changed. Its rows become a table without a file of its own,
written as delimited text, in another format, or as a new table.
"""

# SPDX-License-Identifier: BSD-3-Clause

import contextlib
import json
import os
import re
import sqlite3
import tempfile
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote
from uuid import UUID

from fewlabels._words import listed, nearest_name
from fewlabels.preprocessing import FileError, Table, TableError
from fewlabels.preprocessing.cells import unique_names
from fewlabels.tabular._formats._base import FileFormat, Reading, cells_of

# Seconds to wait for another program that is writing to the file.
LOCK_SECONDS = 3.0
# Rows that are inserted at a time.
_INSERTED = 10_000


class Query(NamedTuple):
    """What a table of a database holds."""

    names: list[str]
    rows: list[tuple[Any, ...]]


class Database(FileFormat):
    """A single-file database, of which one table or view is read."""

    is_binary = True
    has_sheets = True
    title: ClassVar[str]

    @classmethod
    def read(cls, data: bytes, how: Reading) -> Table:
        """Read a table from the bytes of the file."""
        with tempfile.TemporaryDirectory(prefix="fewlabels-") as folder:
            path = Path(folder, "database")
            path.write_bytes(data)
            return cls.read_path(str(path), how)

    @classmethod
    def read_path(cls, path: str, how: Reading) -> Table:
        """Read a table, without ever writing to the file.

        Parameters
        ----------
        path : str
            The file.
        how : Reading
            With the name of the table as `sheet`, unless there is only one.

        Returns
        -------
        table : Table
            Its rows; columns of binary data are left out, with a note.
        """
        with _said(how.name, cls.title), cls.connected(path) as connection:
            name = _chosen(cls.tables(connection), how)
            found = cls.query(connection, name, how)
        if not found.rows:
            raise TableError(f"{how.name}, table {name!r}, has no rows.")
        columns = [
            [_cell(value) for value in values]
            for values in zip(*found.rows, strict=True)
        ]
        binary = [k for k, cells in enumerate(columns) if bytes in map(type, cells)]
        kept = [k for k in range(len(columns)) if k not in binary]
        names = unique_names(found.names)
        table = Table(
            [names[k] for k in kept],
            [cells_of(columns[k]) for k in kept],
            how.name if how.name.endswith(f"::{name}") else f"{how.name}::{name}",
        )
        if binary:
            left = listed([names[k] for k in binary])
            table.notes.append(f"Columns of binary data are not read: {left}.")
        return table

    @classmethod
    @abstractmethod
    @contextmanager
    def connected(cls, path: str, *, write: bool = False) -> Iterator[Any]:
        """Open a file, only to be read unless told otherwise."""

    @classmethod
    @abstractmethod
    def tables(cls, connection: Any) -> list[str]:
        """Name the tables and views."""

    @classmethod
    @abstractmethod
    def query(cls, connection: Any, name: str, how: Reading) -> Query:
        """Read all rows of one of them."""

    @classmethod
    @abstractmethod
    def insert(cls, connection: Any, name: str, arrow: Any) -> None:
        """Make a new table, or nothing."""


class SqliteFile(Database):
    """A database of SQLite."""

    suffixes = (".sqlite", ".sqlite3", ".db")
    title = "SQLite"

    @classmethod
    @contextmanager
    def connected(cls, path: str, *, write: bool = False) -> Iterator[Any]:
        """Open a file, only to be read unless told otherwise."""
        address = f"file:{quote(os.path.abspath(path))}?mode={'rwc' if write else 'ro'}"
        connection = sqlite3.connect(
            address, uri=True, timeout=LOCK_SECONDS, isolation_level=None
        )
        with contextlib.closing(connection):
            yield connection

    @classmethod
    def tables(cls, connection: Any) -> list[str]:
        """Name the tables and views."""
        found = connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite@_%' ESCAPE '@' ORDER BY name"
        )
        return [name for (name,) in found]

    @classmethod
    def query(cls, connection: Any, name: str, how: Reading) -> Query:
        """Read all rows; text that is not UTF-8 needs the name of its encoding."""
        encoding = how.encoding or "utf-8"
        connection.text_factory = lambda raw: raw.decode(encoding)
        try:
            cursor = connection.execute(f"SELECT * FROM {_quoted(name)}")
            rows = cursor.fetchall()
        except UnicodeDecodeError:
            raise TableError(
                f"{how.name}, table {name!r}, holds text that is not {encoding}: pass "
                "encoding=NAME."
            ) from None
        return Query([column[0] for column in cursor.description], rows)

    @classmethod
    def insert(cls, connection: Any, name: str, arrow: Any) -> None:
        """Make a new table in one transaction."""
        import pyarrow as pa

        columns = []
        for field in arrow.schema:
            kind = "TEXT"
            if pa.types.is_integer(field.type) or pa.types.is_boolean(field.type):
                kind = "INTEGER"
            elif pa.types.is_floating(field.type):
                kind = "REAL"
            columns.append(f"{_quoted(field.name)} {kind}")
        connection.execute("BEGIN IMMEDIATE")
        with connection:  # rolls back if anything fails
            connection.execute(f"CREATE TABLE {_quoted(name)} ({', '.join(columns)})")
            places = ", ".join("?" * len(columns))
            for batch in arrow.to_batches(max_chunksize=_INSERTED):
                values = [map(_plain, column.to_pylist()) for column in batch.columns]
                connection.executemany(
                    f"INSERT INTO {_quoted(name)} VALUES ({places})",
                    zip(*values, strict=True),
                )


class DuckdbFile(Database):
    """A database of DuckDB."""

    suffixes = (".duckdb", ".ddb")
    title = "DuckDB"

    @classmethod
    @contextmanager
    def connected(cls, path: str, *, write: bool = False) -> Iterator[Any]:
        """Open a file, only to be read unless told otherwise."""
        try:
            import duckdb
        except ImportError:
            raise TableError(
                'Tables of DuckDB need duckdb: pip install "fewlabels[formats]".'
            ) from None
        with contextlib.closing(duckdb.connect(path, read_only=not write)) as found:
            yield found

    @classmethod
    def tables(cls, connection: Any) -> list[str]:
        """Name the tables and views; those of other schemas with these."""
        found = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE "
            "table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY ALL"
        ).fetchall()
        return [n if schema == "main" else f"{schema}.{n}" for schema, n in found]

    @classmethod
    def query(cls, connection: Any, name: str, how: Reading) -> Query:
        """Read all rows."""
        found = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE "
            "table_name = $1 AND table_schema = 'main' OR "
            "concat(table_schema, '.', table_name) = $1 ORDER BY table_schema = 'main'",
            [name],
        ).fetchall()
        place = ".".join(map(_quoted, found[-1]))
        cursor = connection.execute(f"SELECT * FROM {place}")
        return Query([c[0] for c in cursor.description], cursor.fetchall())

    @classmethod
    def insert(cls, connection: Any, name: str, arrow: Any) -> None:
        """Make a new table, with the types of the columns."""
        connection.register("fewlabels_rows", arrow)
        connection.execute(
            f"CREATE TABLE {_quoted(name)} AS SELECT * FROM fewlabels_rows"
        )


DATABASES: dict[str, type[Database]] = {
    kind.title.lower(): kind for kind in (SqliteFile, DuckdbFile)
}
_PLACE = re.compile(rf"({'|'.join(DATABASES)}):(?:///?)?(.+)", re.IGNORECASE)


class DatabasePlace(NamedTuple):
    """A table of a database, as in ``sqlite:file.db::table``.

    Attributes
    ----------
    kind : type
        Of the database.
    path : str
        The file.
    table : str or None
        The table.
    """

    kind: type[Database]
    path: str
    table: str | None


def database_place(text: str) -> DatabasePlace | None:
    """Read where a table of a database is; None for anything else.

    Examples
    --------
    >>> from fewlabels.tabular._formats._database import database_place
    >>> database_place("sqlite:shop.db::new orders")[1:]
    ('shop.db', 'new orders')
    """
    found = _PLACE.fullmatch(text)
    if found is None:
        return None
    path, _, table = found[2].partition("::")
    return DatabasePlace(DATABASES[found[1].lower()], path, table or None)


def check_new_table(place: DatabasePlace, text: str) -> None:
    """Raise if a table cannot be made, or exists already.

    Tables are never replaced: one of them may be the source.
    """
    if not place.table:
        raise FileError(f"Name the new table: {text}::NAME.")
    if not Path(place.path).exists():
        return
    with _said(text, place.kind.title), place.kind.connected(place.path) as connection:
        known = [name.casefold() for name in place.kind.tables(connection)]
    if place.table.casefold() in known:
        raise FileError(
            f"{place.path} has a table {place.table!r} already, and tables of a "
            "database are never replaced: name another one."
        )


def insert_table(place: DatabasePlace, text: str, arrow: Any) -> None:
    """Make a new table of a database that exists."""
    check_new_table(place, text)
    with (
        _said(text, place.kind.title, "write"),
        place.kind.connected(place.path, write=True) as connection,
    ):
        place.kind.insert(connection, str(place.table), arrow)


@contextmanager
def _said(name: str, title: str, verb: str = "read") -> Iterator[None]:
    """Turn errors of the database into messages."""
    try:
        yield
    except TableError:
        raise
    except Exception as error:
        known = isinstance(error, sqlite3.Error | OSError)
        if not known and not type(error).__module__.startswith(("duckdb", "_duckdb")):
            raise
        text = str(error).split("\n")[0].rstrip(".")
        if "locked" in text or "set lock" in text:
            raise FileError(
                f"Cannot {verb} {name}: another program holds it locked. Close that "
                "program, or pass a copy of the file."
            ) from None
        raise TableError(
            f"Cannot {verb} {name} as a database of {title}: {text}."
        ) from None


def _chosen(names: Sequence[str], how: Reading) -> str:
    if not names:
        raise TableError(f"{how.name} has no table.")
    if how.sheet is None:
        if len(names) > 1:
            raise TableError(
                f"{how.name} has several tables, {listed(list(names))}: pass "
                "sheet=NAME, or append ::NAME to the file."
            )
        return names[0]
    same = [n for n in names if n == how.sheet] or [
        n for n in names if n.casefold() == how.sheet.casefold()
    ]
    if same:
        return same[0]
    near = nearest_name(how.sheet, list(names))
    hint = f" Did you mean {near!r}?" if near else ""
    raise TableError(
        f"{how.name} has no table {how.sheet!r}.{hint} It has {listed(list(names))}."
    )


def _quoted(name: str) -> str:
    """Write a name so that nothing in it is taken for SQL."""
    if "\x00" in name:
        raise FileError(f"A table of a database cannot be called {name!r}.")
    return '"' + name.replace('"', '""') + '"'


def _cell(value: Any) -> Any:
    """Turn a database value into one that every format can hold."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


def _plain(value: Any) -> Any:
    """Turn a value into one that SQLite can hold."""
    if value is None or isinstance(value, int | float | str | bytes):
        return value
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
