"""File formats: a class each, whose instances are files as they were read.

A file keeps what it takes to be written again with columns added, so that what was
there is not touched.
"""

# SPDX-License-Identifier: BSD-3-Clause

import contextlib
import io
import json
import re
import warnings
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import listed, plural
from fewlabels.preprocessing import Table, TableError
from fewlabels.preprocessing.cells import arrow_values, object_array, unique_names
from fewlabels.tabular._headers import find_header, header_notes
from fewlabels.tabular._text import (
    DelimitedText,
    binary_file,
    chained,
    decode,
    guess_delimiter,
    looks_binary,
    mark_of,
    parse,
    parse_lines,
    text_lines,
)

EXTRA = 'Install it with: pip install "fewlabels[cli]".'
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

# Bytes by which the delimiter and the encoding of a large file are found.
_HEAD = 2**18

Values = Mapping[str, Sequence[Any]]
Cells = Mapping[int, Any]


@dataclass(frozen=True)
class Reading:
    """How to read a file.

    Attributes
    ----------
    name : str
        What to call it in messages.
    suffix : str
        Of its name.
    delimiter, encoding, sheet : str or None
        As given; None to find out.
    header_row : int or None
        Line of the names, 0 where there is none; None to find out.
    progress : callable or None
        Told the share that is read.
    """

    name: str = "table"
    suffix: str = ""
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    progress: Callable[[float], None] | None = None


class FileFormat(ABC):
    """A file that holds a table."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    is_binary: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def read(cls, data: bytes, how: Reading) -> Table:
        """Read a table whose `origin` is a file of this class."""

    @classmethod
    def batches(cls, file: BinaryIO, how: Reading, n_rows: int) -> Iterator[Table]:
        """Read a table some rows at a time, or at once where the format wants that.

        Tables of all parts, written one behind the other, are the file.
        """
        yield cls.read(file.read(), how)

    @classmethod
    def appender(cls, file: BinaryIO, suffix: str) -> "Appender":
        """Write a file of this class part by part."""
        return Appender(cls, file, suffix)

    @abstractmethod
    def with_columns(self, added: Values) -> Iterator[bytes]:
        """Write the file with columns added."""

    @abstractmethod
    def with_cells(self, place: int, name: str, cells: Cells) -> "FileFormat":
        """Put other values into some cells of a column; all else stays as it is."""

    @abstractmethod
    def take(self, rows: Sequence[int]) -> "FileFormat | None":
        """Pick some rows; None where these cannot be cut out of the file."""

    @classmethod
    @abstractmethod
    def write(
        cls, table: Table, added: Values, suffix: str, *, continued: bool = False
    ) -> Iterator[bytes]:
        """Write any table, with columns added, as a new file of this class.

        What is continued has parts before it, and no names of its own.
        """


class Appender:
    """Writes tables of one file, one behind the other.

    Parameters
    ----------
    kind : type
        The format.
    file : binary file
        Where to write.
    suffix : str
        Of its name.
    """

    def __init__(self, kind: type[FileFormat], file: BinaryIO, suffix: str) -> None:
        self._kind = kind
        self._file = file
        self._suffix = suffix
        self._n_parts = 0

    def add(self, table: Table, added: Values) -> None:
        """Write the next rows."""
        if isinstance(table.origin, self._kind):
            chunks = table.origin.with_columns(added)
        else:
            continued = self._n_parts > 0
            chunks = self._kind.write(table, added, self._suffix, continued=continued)
        for chunk in chunks:
            self._file.write(chunk)
        self._n_parts += 1

    def close(self) -> None:
        """Write what stands at the end."""


class DelimitedFile(FileFormat):
    """Delimited text, byte for byte."""

    suffixes = (".csv", ".tsv", ".tab", ".txt")

    def __init__(self, text: DelimitedText) -> None:
        self.text = text

    @classmethod
    def read(cls, data: bytes, how: Reading) -> Table:
        """Read a table from the text of its records."""
        text, codec, bom = decode(data, how.encoding, how.name)
        delimiter = how.delimiter
        if delimiter is None and how.suffix in (".tsv", ".tab"):
            delimiter = "\t"
        parsed = parse(
            text,
            delimiter=delimiter,
            encoding=codec,
            bom=bom,
            name=how.name,
            header_row=how.header_row,
            progress=how.progress,
        )
        return cls._table(parsed, how)

    @classmethod
    def batches(cls, file: BinaryIO, how: Reading, n_rows: int) -> Iterator[Table]:
        """Read some records at a time."""
        head = file.read(_HEAD)
        codec, bom = mark_of(head, how.encoding)
        if not bom and how.encoding is None and looks_binary(head):
            raise binary_file(how.name)
        # Lines that are cut at the end of the head do not matter for a guess.
        begin = head[len(bom) :].decode(codec, errors="ignore")
        delimiter = how.delimiter
        if delimiter is None:
            tabs = how.suffix in (".tsv", ".tab")
            delimiter = "\t" if tabs else guess_delimiter(begin)
        parts = parse_lines(
            text_lines(chained(head[len(bom) :], file), codec, how.name),
            delimiter=delimiter,
            encoding=codec,
            bom=bom,
            name=how.name,
            header_row=how.header_row,
            n_rows=n_rows,
        )
        for parsed in parts:
            yield cls._table(parsed, how)

    @classmethod
    def _table(cls, parsed: DelimitedText, how: Reading) -> Table:
        columns = [object_array(values) for values in zip(*parsed.rows, strict=True)]
        parsed.rows = []  # the columns hold the same strings
        names = unique_names(parsed.header)
        table = Table(names, columns, how.name, cls(parsed))
        if not parsed.continued:
            table.notes += header_notes(parsed.place, names)
        if parsed.short:
            first = min(parsed.short)
            n_short = plural(len(parsed.short), "row")
            table.notes.append(
                f"{n_short} had fewer fields than the line of names (row {first} is "
                "the first): the missing ones are taken as empty."
            )
        return table

    def with_columns(self, added: Values) -> Iterator[bytes]:
        """Repeat the records with fields behind them."""
        texts = [[neutral(v) for v in values] for values in added.values()]
        return self.text.with_columns([neutral(name) for name in added], texts)

    def with_cells(self, place: int, name: str, cells: Cells) -> "DelimitedFile":
        """Replace fields within the text of their records."""
        texts = {row: neutral(value) for row, value in cells.items()}
        return DelimitedFile(self.text.with_fields(place, texts))

    def take(self, rows: Sequence[int]) -> "DelimitedFile":
        """Pick some records."""
        return DelimitedFile(self.text.take(rows))

    @classmethod
    def write(
        cls, table: Table, added: Values, suffix: str, *, continued: bool = False
    ) -> Iterator[bytes]:
        """Write commas, or tabs where the suffix asks for them."""
        sign = "\t" if suffix in (".tsv", ".tab") else ","
        texts = {name: [neutral(v) for v in values] for name, values in added.items()}
        frame = frame_of(table, texts)
        yield frame.to_csv(index=False, sep=sign, header=not continued).encode()


class JsonFile(FileFormat):
    """Objects of JSON, one per line or in an array, whose text stays as it is."""

    suffixes = (".jsonl", ".ndjson", ".json")

    def __init__(
        self, text: str, spans: list[tuple[int, int]], encoding: str, bom: bytes
    ) -> None:
        self.text = text
        self.spans = spans  # where every object begins and ends
        self.encoding = encoding
        self.bom = bom

    @classmethod
    def read(cls, data: bytes, how: Reading) -> Table:
        """Read objects; members of objects within them become columns of their own."""
        text, encoding, bom = decode(data, how.encoding, how.name)
        table = cls._table(text, encoding, bom, {}, how.name)
        if not table.n_rows:
            raise TableError(f"{how.name} has no rows.")
        return table

    @classmethod
    def batches(cls, file: BinaryIO, how: Reading, n_rows: int) -> Iterator[Table]:
        """Read some lines at a time, with an object on each; a list is read at once."""
        head = file.read(_HEAD)
        encoding, bom = mark_of(head, how.encoding)
        begin = head[len(bom) :].decode(encoding, errors="ignore").lstrip()
        first = begin.split("\n", 1)[0].strip()
        if begin.startswith("[") or not first.endswith("}"):
            yield cls.read(chained(head, file).read(), how)
            return
        lines = text_lines(chained(head[len(bom) :], file), encoding, how.name)
        # Members that a later object lacks are missing there.
        names: dict[str, None] = {}
        line = 0
        while text := list(islice(lines, n_rows)):
            where = how.name if line == 0 else f"{how.name} (from line {line + 1:,})"
            table = cls._table("".join(text), encoding, bom, names, where)
            names |= dict.fromkeys(table.names)
            line += len(text)
            bom = b""
            if table.n_rows:
                yield table
        if not names:
            raise TableError(f"{how.name} has no rows.")

    @classmethod
    def _table(
        cls, text: str, encoding: str, bom: bytes, known: dict[str, None], name: str
    ) -> Table:
        rows, spans, notes = _json_rows(text, name)
        flat = [_flat(row) for row in rows]
        names = list(dict.fromkeys([*known, *(key for row in flat for key in row)]))
        columns = [_json_column([row.get(key) for row in flat]) for key in names]
        file = cls(text, spans, encoding, bom)
        nested = [n for n in names if not any(n in row for row in rows)]
        if nested and not known:
            notes.append(f"Nested values became columns: {listed(nested, 5)}.")
        return Table(unique_names(names), columns, name, file, notes)

    def with_columns(self, added: Values) -> Iterator[bytes]:
        """Put new members behind those of every object."""
        names = [json.dumps(name, ensure_ascii=False) for name in added]
        columns = [[_json_value(v) for v in values] for values in added.values()]
        yield self.bom
        done = 0
        for row, (start, end) in enumerate(self.spans):
            body = self.text[start : end - 1]
            inner = body.rstrip()
            members = ", ".join(
                f"{name}: {values[row]}"
                for name, values in zip(names, columns, strict=True)
            )
            comma = "" if inner.endswith("{") or not members else ", "
            pieces = (self.text[done:start], inner, comma, members, body[len(inner) :])
            yield ("".join(pieces) + "}").encode(self.encoding)
            done = end
        yield self.text[done:].encode(self.encoding)

    def with_cells(self, place: int, name: str, cells: Cells) -> "JsonFile":
        """Replace members within the text of their objects, or add them."""
        spans, pieces, done, length = [], [], 0, 0
        for row, (start, end) in enumerate(self.spans):
            body = self.text[start:end]
            if row in cells:
                body = _with_member(body, name, _json_value(cells[row]))
            pieces += [self.text[done:start], body]
            length += start - done
            spans.append((length, length + len(body)))
            length, done = length + len(body), end
        text = "".join([*pieces, self.text[done:]])
        return JsonFile(text, spans, self.encoding, self.bom)

    def take(self, rows: Sequence[int]) -> "JsonFile":
        """Pick some objects, one per line."""
        spans, pieces, place = [], [], 0
        for row in rows:
            start, end = self.spans[row]
            spans.append((place, place + end - start))
            pieces.append(self.text[start:end] + "\n")
            place += end - start + 1
        return JsonFile("".join(pieces), spans, self.encoding, self.bom)

    @classmethod
    def appender(cls, file: BinaryIO, suffix: str) -> Appender:
        """Write lines; a list is written at once or not at all."""
        return Appender(cls, file, ".jsonl")

    @classmethod
    def write(
        cls, table: Table, added: Values, suffix: str, *, continued: bool = False
    ) -> Iterator[bytes]:
        """Write one object per line; an array where the suffix is .json."""
        frame = frame_of(table, {})
        names = [json.dumps(n, ensure_ascii=False) for n in [*frame.columns, *added]]
        texts = [[_json_value(v, False) for v in frame[n].tolist()] for n in frame]
        texts += [[_json_value(v) for v in values] for values in added.values()]
        rows = [
            "{" + ", ".join(map(": ".join, zip(names, row, strict=True))) + "}"
            for row in zip(*texts, strict=True)
        ]
        array = suffix == ".json"
        text = "[\n" + ",\n".join(rows) + "\n]\n" if array else "\n".join(rows) + "\n"
        yield text.encode()


def _json_rows(
    text: str, name: str
) -> tuple[list[dict[str, Any]], list[tuple[int, int]], list[str]]:
    """Objects of a file, and where each of them stands."""
    decoder, notes = json.JSONDecoder(), []
    place = _skip(text, 0, " \t\r\n")
    if text.startswith("[", place):
        place = _skip(text, place + 1, " \t\r\n")
        closing = "]"
    else:
        found = _inner_array(text, place)
        closing = "]" if found else ""
        if found:
            key, place = found
            notes.append(f"The rows are those of {key!r} in {name}.")
            place = _skip(text, place, " \t\r\n")
    rows: list[dict[str, Any]] = []
    spans: list[tuple[int, int]] = []
    while place < len(text) and not (closing and text.startswith(closing, place)):
        line = text.count("\n", 0, place) + 1
        try:
            row, end = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise TableError(
                f"{name}, line {line}: not JSON ({error.msg}). A table in JSON is a "
                "list of objects, or has one object on every line."
            ) from None
        if not isinstance(row, dict):
            raise TableError(
                f"{name}, line {line}: not an object. A table in JSON is a list of "
                "objects, such as {...}, or has one object on every line."
            )
        rows.append(row)
        spans.append((place, end))
        place = _skip(text, end, " \t\r\n," if closing else " \t\r\n")
    if closing and place >= len(text):
        raise TableError(f"{name}: the list of rows is opened and not closed.")
    return rows, spans, notes


def _skip(text: str, place: int, signs: str) -> int:
    while place < len(text) and text[place] in signs:
        place += 1
    return place


def _inner_array(text: str, place: int) -> tuple[str, int] | None:
    """Where rows begin in ``{"data": [{...}, ...]}``: one object that wraps them."""
    head = re.compile(r'\{\s*"((?:[^"\\]|\\.)*)"\s*:\s*\[\s*(?=\{)').match(text, place)
    if head is None:
        return None
    try:
        whole, end = json.JSONDecoder().raw_decode(text, place)
    except json.JSONDecodeError:
        return None
    if text[end:].strip() or len(whole) != 1:
        return None
    return head[1], head.end()


def _flat(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Members of nested objects, named by their way: ``{"a": {"b": 1}}`` is a.b."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _json_column(values: list[Any]) -> NDArray[Any]:
    """Make a column; lists of numbers stay lists, others become text."""
    if any(isinstance(v, dict | list) for v in values):
        return object_array([_unlisted(v) for v in values])
    return cells_of(values)


def _unlisted(value: Any) -> Any:
    if isinstance(value, list):
        if value and all(type(v) in (int, float) or v is None for v in value):
            return value
        if all(isinstance(v, str | int | float) for v in value):
            return ", ".join(map(str, value))
    return json.dumps(value) if isinstance(value, dict | list) else value


def _json_value(value: Any, guarded: bool = True) -> str:
    value = plain(value)
    if isinstance(value, str):
        return json.dumps(neutral(value) if guarded else value, ensure_ascii=False)
    if isinstance(value, float) and not np.isfinite(value):
        return "null"
    return json.dumps(value, ensure_ascii=False, default=str)


def _with_member(text: str, name: str, value: str) -> str:
    """Set a member of an object, whose other text stays as it is."""
    decode_next = json.JSONDecoder().raw_decode
    blank = re.compile(r"\s*")

    def skip(place: int) -> int:
        found = blank.match(text, place)
        return place if found is None else found.end()

    place, span = skip(1), None
    while text[place] != "}":
        key, place = decode_next(text, place)
        start = skip(skip(place) + 1)  # behind the colon
        _, end = decode_next(text, start)
        if key == name:
            span = (start, end)
        place = skip(end)
        if text[place] == ",":
            place = skip(place + 1)
    if span is not None:
        return text[: span[0]] + value + text[span[1] :]
    inner = text[:-1].rstrip()
    comma = "" if inner.endswith("{") else ", "
    member = f"{json.dumps(name, ensure_ascii=False)}: {value}"
    return f"{inner}{comma}{member}{text[len(inner) : -1]}}}"


class ParquetFile(FileFormat):
    """Parquet, with its types."""

    suffixes = (".parquet", ".pq")
    is_binary = True

    def __init__(self, arrow: Any) -> None:
        self.arrow = arrow

    @classmethod
    def read(cls, data: bytes, how: Reading) -> Table:
        """Read all columns."""
        try:
            import pyarrow.parquet as pq
        except ImportError:
            raise TableError(f"Reading Parquet needs pyarrow. {EXTRA}") from None
        try:
            arrow = pq.read_table(io.BytesIO(data))
            columns = [arrow_values(arrow.column(k)) for k in range(arrow.num_columns)]
        except Exception as error:
            raise TableError(
                f"{how.name} is not a Parquet file, or it is damaged: {error}."
            ) from None
        if not arrow.num_columns or not arrow.num_rows:
            raise TableError(f"{how.name} has no rows or no columns.")
        return Table(unique_names(arrow.column_names), columns, how.name, cls(arrow))

    @classmethod
    def batches(cls, file: BinaryIO, how: Reading, n_rows: int) -> Iterator[Table]:
        """Read some rows at a time."""
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise TableError(f"Reading Parquet needs pyarrow. {EXTRA}") from None
        try:
            whole = pq.ParquetFile(file, pre_buffer=False)
            n_found = 0
            for batch in whole.iter_batches(batch_size=n_rows):
                arrow = pa.Table.from_batches([batch])
                columns = [arrow_values(column) for column in arrow.columns]
                n_found += arrow.num_rows
                names = unique_names(arrow.column_names)
                yield Table(names, columns, how.name, cls(arrow))
        except pa.ArrowException as error:
            raise TableError(
                f"{how.name} is not a Parquet file, or it is damaged: {error}."
            ) from None
        if not n_found:
            raise TableError(f"{how.name} has no rows or no columns.")

    @classmethod
    def appender(cls, file: BinaryIO, suffix: str) -> "Appender":
        """Write a group of rows for every part."""
        return ParquetAppender(cls, file, suffix)

    def with_arrays(self, added: Values) -> Any:
        """Append columns."""
        import pyarrow as pa

        arrow = self.arrow
        for name, values in added.items():
            cells = [neutral(v) if isinstance(v, str) else plain(v) for v in values]
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
        """Write columns of one type each; what is mixed becomes text."""
        return cls.of(table).with_columns(added)

    @classmethod
    def of(cls, table: Table) -> "ParquetFile":
        """Take any table."""
        import pyarrow as pa

        if isinstance(table.origin, cls):
            return table.origin
        frame = frame_of(table, {})
        columns = {}
        for name in frame.columns:
            columns[name] = arrow_array(pa, [plain(v) for v in frame[name].tolist()])
        return cls(pa.table(columns))


class ParquetAppender(Appender):
    """Writes Parquet; the first part decides on the types."""

    _writer: Any = None

    def add(self, table: Table, added: Values) -> None:
        """Write the next rows."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        arrow = ParquetFile.of(table).with_arrays(added)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._file, arrow.schema)
        try:
            arrow = arrow.cast(self._writer.schema)
        except (pa.ArrowException, ValueError) as error:
            raise TableError(
                f"{table.source}: rows further down do not have the types that the "
                f"first ones have ({error}): write a .csv file instead."
            ) from None
        self._writer.write_table(arrow)

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


def arrow_array(pa: Any, cells: list[Any]) -> Any:
    """Cells as an array of Arrow; as text where they are of several types."""
    cells = [None if isinstance(v, float) and v != v else v for v in cells]
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.array([None if v is None else str(v) for v in cells])


class Workbook(FileFormat):
    """A sheet of a workbook of Excel, with formulas, formats and the other sheets."""

    suffixes = (".xlsx",)
    is_binary = True

    def __init__(self, data: bytes, sheet: str, width: int, first_row: int) -> None:
        self.data = data
        self.sheet = sheet
        self.width = width
        self.first_row = first_row  # of the names, or of the rows where there are none
        self.has_names = True

    @classmethod
    def read(cls, data: bytes, how: Reading) -> Table:
        """Read the values of one sheet."""
        try:
            from openpyxl import load_workbook
        except ImportError:
            raise TableError(f"Reading Excel needs openpyxl. {EXTRA}") from None
        try:
            # Values for reading; the workbook with its formulas is kept for writing.
            book = load_workbook(io.BytesIO(data), data_only=True, read_only=True)
            sheets = list(book.sheetnames)
            sheet = _chosen_sheet(sheets, how)
            cells = book[sheet]
            cells.reset_dimensions()  # some programs write a size that is too small
            rows = [list(row) for row in cells.iter_rows(values_only=True)]
            book.close()
        except TableError:
            raise
        except Exception as error:
            raise TableError(_broken_workbook(how.name, error)) from None
        others = [name for name in sheets if name != sheet]
        hint = f" It has other sheets: {listed(others)} (--sheet)." if others else ""
        while rows and all(value is None for value in rows[-1]):
            rows.pop()
        width = max(
            (k + 1 for row in rows for k, value in enumerate(row) if value is not None),
            default=0,
        )
        rows = [row[:width] + [None] * (width - len(row)) for row in rows]
        texts = [["" if v is None else str(v) for v in row] for row in rows[:200]]
        place = find_header(texts, how.header_row)
        below = rows[place.line if place.has_names else place.line - 1 :]
        if not below or not width:
            raise TableError(
                f"{how.name}, sheet {sheet!r}, has no rows below its names.{hint}"
            )
        header = texts[place.line - 1] if place.has_names else [""] * width
        columns = [cells_of(values) for values in zip(*below, strict=True)]
        file = cls(data, sheet, width, place.line)
        file.has_names = place.has_names
        names = unique_names(header)
        table = Table(names, columns, how.name, file)
        table.notes += header_notes(place, names)
        if others and how.sheet is None:
            table.notes.append(
                f"The workbook has {plural(len(sheets), 'sheet')} "
                f"({listed(sheets)}): {sheet!r} was read, --sheet names another."
            )
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if any(n.startswith(_LOST_PARTS) for n in archive.namelist()):
                table.notes.append(
                    f"Charts, pictures and macros of {how.name} do not come along when "
                    "it is written as a workbook: keep the original."
                )
        return table

    def with_columns(self, added: Values) -> Iterator[bytes]:
        """Put columns behind the last one of the sheet."""
        from openpyxl import load_workbook

        try:
            book = load_workbook(io.BytesIO(self.data), keep_vba=False)
            cells = book[self.sheet]
            for place, (name, values) in enumerate(added.items(), self.width + 1):
                head = [name] if self.has_names else []
                for row, value in enumerate([*head, *values], self.first_row):
                    guarded = neutral(value) if isinstance(value, str) else value
                    _set_cell(cells, row, place, guarded)
            buffer = io.BytesIO()
            book.save(buffer)
        except Exception as error:
            raise TableError(
                f"The workbook cannot be written again ({_said(error)}): write a .csv "
                "file instead (-o labelled.csv)."
            ) from None
        yield buffer.getvalue()

    def with_cells(self, place: int, name: str, cells: Cells) -> "Workbook":
        """Set cells of the sheet."""
        from openpyxl import load_workbook

        book = load_workbook(io.BytesIO(self.data), keep_vba=False)
        sheet = book[self.sheet]
        top = self.first_row + self.has_names
        for row, value in cells.items():
            guarded = neutral(value) if isinstance(value, str) else plain(value)
            _set_cell(sheet, top + row, place + 1, guarded)
        buffer = io.BytesIO()
        book.save(buffer)
        other = Workbook(buffer.getvalue(), self.sheet, self.width, self.first_row)
        other.has_names = self.has_names
        return other

    def take(self, rows: Sequence[int]) -> None:
        """Rows cannot be cut out of a workbook without breaking its formulas."""
        return None

    @classmethod
    def write(
        cls, table: Table, added: Values, suffix: str, *, continued: bool = False
    ) -> Iterator[bytes]:
        """Write a workbook of one sheet."""
        from openpyxl import Workbook as Book

        book = Book()
        sheet = book.active
        frame = frame_of(table, {})
        columns = [frame[name].tolist() for name in frame.columns]
        columns += [
            [neutral(v) if isinstance(v, str) else v for v in values]
            for values in added.values()
        ]
        changed = 0
        for place, name in enumerate([*frame.columns, *added], start=1):
            for row, value in enumerate([name, *columns[place - 1]], start=1):
                changed += _set_cell(sheet, row, place, value)
        if changed:
            warnings.warn(
                f"A workbook cannot hold {plural(changed, 'text')} of the table: "
                "control characters were replaced, and what is longer than 32,767 "
                "characters was cut. Write a .csv file to keep all.",
                UserWarning,
                stacklevel=2,
            )
        buffer = io.BytesIO()
        book.save(buffer)
        yield buffer.getvalue()


# Parts of a workbook that openpyxl does not write again.
_LOST_PARTS = ("xl/charts/", "xl/media/", "xl/vbaProject")
# Signs that the format forbids.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def _chosen_sheet(sheets: list[str], how: Reading) -> str:
    if not sheets:
        raise TableError(f"{how.name} has no sheet.")
    if how.sheet is not None and how.sheet not in sheets:
        raise TableError(
            f"{how.name} has no sheet {how.sheet!r}; it has {listed(sheets)}."
        )
    return how.sheet or sheets[0]


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".strip().rstrip(".:")


def _broken_workbook(name: str, error: Exception) -> str:
    return (
        f"{name} is not an Excel workbook, or it is damaged ({_said(error)}): open it "
        "in a spreadsheet program and save it again, or save it as CSV."
    )


def _set_cell(sheet: Any, row: int, column: int, value: Any) -> bool:
    """Write a value, perhaps as text; tell whether part of a text was lost."""
    value = plain(value)
    if isinstance(value, float) and not np.isfinite(value):
        value = None if value != value else str(value)
    if isinstance(value, list | tuple | dict | np.ndarray | bytes):
        value = str(value)
    if isinstance(value, int) and abs(value) >= 2**53:
        value = str(value)  # a workbook has 15 digits
    if getattr(value, "tzinfo", None) is not None:
        value = value.isoformat()
    given = value
    if isinstance(value, str):
        value = _FORBIDDEN.sub("\ufffd", value)[:32_767]
    cell = sheet.cell(row=row, column=column)
    try:
        cell.value = value
    except ValueError:
        cell.value = str(value)
    if isinstance(value, str):
        cell.data_type = "s"  # never a formula
    return isinstance(given, str) and value != given


def cells_of(values: Sequence[Any]) -> NDArray[Any]:
    """Cells of a sheet: numbers where all are, else objects."""
    given = [v for v in values if v is not None]
    if given and all(type(v) in (int, float) for v in given):
        if len(given) == len(values) and all(type(v) is int for v in given):
            with contextlib.suppress(OverflowError):
                return np.array(values, dtype=np.int64)
        if any(type(v) is float for v in given):
            with contextlib.suppress(OverflowError):
                filled = [np.nan if v is None else v for v in values]
                return np.array(filled, dtype=float)
    return object_array(values)


def frame_of(table: Table, added: Values) -> Any:
    """Make a frame of pandas with columns added; lists are lists of Python."""
    frame = table.to_pandas().assign(**{k: list(v) for k, v in added.items()})
    for name in frame.columns:
        if frame[name].dtype == object:
            frame[name] = object_array(
                [v.tolist() if isinstance(v, np.ndarray) else v for v in frame[name]]
            )
    return frame


def plain(value: Any) -> Any:
    """Turn a value of NumPy into one of Python."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if hasattr(value, "item") else value


def neutral(value: Any) -> str:
    """Write a value so that no spreadsheet takes it for a formula.

    It is put behind an apostrophe where it begins like one; numbers, which may begin
    with a sign, are left alone.

    Examples
    --------
    >>> from fewlabels.tabular._formats import neutral
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


FORMATS: tuple[type[FileFormat], ...] = (DelimitedFile, JsonFile, ParquetFile, Workbook)
BY_SUFFIX = {suffix: kind for kind in FORMATS for suffix in kind.suffixes}
