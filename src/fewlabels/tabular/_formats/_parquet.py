"""Parquet."""

# SPDX-License-Identifier: BSD-3-Clause

import io
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from fewlabels.preprocessing import Table, TableError
from fewlabels.preprocessing.cells import arrow_values, unique_names
from fewlabels.tabular._decoding import NoRowsError
from fewlabels.tabular._formats._base import (
    EXTRA,
    Appender,
    Cells,
    FileFormat,
    Reading,
    Values,
    as_text,
    columns_to_write,
    plain,
    with_all_rows,
)


class ParquetFile(FileFormat):
    """Parquet, with its types."""

    suffixes = (".parquet", ".pq")
    is_binary = True

    def __init__(self, arrow: Any) -> None:
        self.arrow = arrow

    @classmethod
    def read(cls, data: bytes, how: Reading) -> Table:
        """Read all columns."""
        _, pq = _pyarrow()
        try:
            table = cls._table(pq.read_table(io.BytesIO(data)), how)
        except Exception as error:
            raise _damaged(how, error) from None
        if not table.n_rows:
            raise _empty(how)
        return table

    @classmethod
    def batches(cls, file: BinaryIO, how: Reading, n_rows: int) -> Iterator[Table]:
        """Read some rows at a time."""
        pa, pq = _pyarrow()
        n_found = 0
        try:
            whole = pq.ParquetFile(file, pre_buffer=False)
            for batch in whole.iter_batches(batch_size=n_rows):
                n_found += batch.num_rows
                yield cls._table(pa.Table.from_batches([batch]), how)
        except pa.ArrowException as error:
            raise _damaged(how, error) from None
        if not n_found:
            raise _empty(how)

    @classmethod
    def _table(cls, arrow: Any, how: Reading) -> Table:
        columns = [arrow_values(column) for column in arrow.columns]
        return Table(unique_names(arrow.column_names), columns, how.name, cls(arrow))

    @classmethod
    def appender(cls, file: BinaryIO, suffix: str) -> "Appender":
        """Write a group of rows for every part."""
        return ParquetAppender(cls, file, suffix)

    def cells(self, table: Table) -> dict[str, list[Any]]:
        """Take the values of Arrow, with time zones and decimal numbers."""
        values = [column.to_pylist() for column in self.arrow.columns]
        return dict(zip(table.names, values, strict=False))

    def with_arrays(self, added: Values) -> Any:
        """Append columns."""
        import pyarrow as pa

        arrow = self.arrow
        for name, values in added.items():
            cells = [plain(v) for v in values]
            arrow = arrow.append_column(name, arrow_array(pa, cells))
        return arrow

    def with_columns(self, added: Values) -> Iterator[bytes]:
        """Write all columns."""
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        pq.write_table(self.with_arrays(added), buffer)
        yield buffer.getvalue()

    def with_cells(self, place: int, name: str, cells: Cells) -> "ParquetFile":
        """Make the column anew."""
        import pyarrow as pa

        values = self.arrow.column(place).to_pylist()
        for row, value in cells.items():
            values[row] = plain(value)
        column = arrow_array(pa, values)
        named = self.arrow.column_names[place]
        return ParquetFile(self.arrow.set_column(place, named, column))

    def take(self, rows: Sequence[int]) -> "ParquetFile":
        """Pick some rows."""
        return ParquetFile(self.arrow.take(list(map(int, rows))))

    @classmethod
    def write(
        cls, table: Table, added: Values, suffix: str, *, continued: bool = False
    ) -> Iterator[bytes]:
        """Write columns of one type each; mixed columns become text."""
        return cls.of(table).with_columns(added)

    @classmethod
    def of(cls, table: Table) -> "ParquetFile":
        """Take any table."""
        import pyarrow as pa

        if isinstance(table.origin, cls):
            return table.origin
        columns = [arrow_array(pa, cells) for cells in columns_to_write(table)]
        return cls(pa.table(columns, names=table.names))


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise TableError(f"Reading Parquet needs pyarrow. {EXTRA}") from None
    return pa, pq


def _damaged(how: Reading, error: Exception) -> TableError:
    return TableError(f"{how.name} is not a Parquet file, or it is damaged: {error}.")


def _empty(how: Reading) -> TableError:
    return NoRowsError(f"{how.name} has no rows or no columns.")


class ParquetAppender(Appender):
    """Writes Parquet; the first part decides on the types."""

    _writer: Any = None

    def add(self, table: Table, added: Values) -> None:
        """Write the next rows."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table, added = with_all_rows(table, added)
        arrow = ParquetFile.of(table).with_arrays(added)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._file, arrow.schema)
        try:
            arrow = arrow.cast(self._writer.schema)
        except (pa.ArrowException, ValueError) as error:
            raise TableError(
                f"{table.source}: later rows have other types than the first ones "
                f"({error}): write a .csv file instead."
            ) from None
        self._writer.write_table(arrow)

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


def arrow_array(pa: Any, cells: list[Any]) -> Any:
    """Return cells as an Arrow array; as text if they have several types."""
    cells = [None if isinstance(v, float) and v != v else v for v in cells]
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.array([None if v is None else as_text(v) for v in cells])
