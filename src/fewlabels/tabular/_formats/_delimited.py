"""Delimited text."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from fewlabels._words import plural
from fewlabels.preprocessing import Table
from fewlabels.preprocessing.cells import object_array, unique_names
from fewlabels.tabular._decoding import (
    binary_file,
    chained,
    decode,
    looks_binary,
    mark_of,
    text_lines,
)
from fewlabels.tabular._formats._base import (
    HEAD,
    Cells,
    FileFormat,
    Reading,
    Values,
    as_meant,
    as_text,
    columns_to_write,
    neutral,
    typed,
)
from fewlabels.tabular._headers import header_notes
from fewlabels.tabular._notation import decimal_sign
from fewlabels.tabular._text import (
    DelimitedText,
    guess_delimiter,
    parse,
    parse_lines,
    quoted,
)

_TABS = (".tsv", ".tab")


class DelimitedFile(FileFormat):
    """Delimited text, kept byte for byte."""

    suffixes = (".csv", ".tsv", ".tab", ".txt")

    def __init__(self, text: DelimitedText) -> None:
        self.text = text

    @classmethod
    def read(cls, data: bytes, how: Reading) -> Table:
        """Read a table and keep the text of its records."""
        text, codec, bom = decode(data, how.encoding, how.name)
        delimiter = how.delimiter
        if delimiter is None and how.suffix in _TABS:
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
        head = file.read(HEAD)
        codec, bom = mark_of(head, how.encoding)
        if not bom and how.encoding is None and looks_binary(head):
            raise binary_file(how.name)
        # A last line cut short does not matter for a guess.
        begin = head[len(bom) :].decode(codec, errors="ignore")
        delimiter = how.delimiter
        if delimiter is None:
            delimiter = "\t" if how.suffix in _TABS else guess_delimiter(begin)
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
        columns = [
            object_array([as_meant(v) if v.startswith("'") else v for v in values])
            for values in zip(*parsed.rows, strict=True)
        ]
        parsed.rows = []  # the columns hold the same strings
        names = unique_names(list(map(as_meant, parsed.header)))
        table = Table(names, columns, how.name, cls(parsed))
        if not parsed.continued:
            table.notes += header_notes(parsed.place, names)
        short = [row for row in parsed.short if row > 0]
        if short:
            first = min(short)
            n_short = plural(len(short), "row")
            table.notes.append(
                f"{n_short} had fewer fields than the header (row {first} is "
                "the first): the missing fields are taken as empty."
            )
        return table

    def fits(self, suffix: str) -> bool:
        """Whether the delimiter matches the suffix."""
        return suffix not in _TABS or self.text.delimiter == "\t"

    def in_notation(self, table: Table, added: Values) -> Values:
        """Write decimal commas if the predicted column has them."""
        return {
            name: [_with_comma(value) for value in values]
            if any(isinstance(v, float) for v in values)
            and decimal_sign(table, name) == ","
            else values
            for name, values in added.items()
        }

    def cells(self, table: Table) -> dict[str, list[Any]]:
        """Turn columns of numbers into numbers, and empty fields into missing ones."""
        return {
            name: typed(column.tolist())
            for name, column in zip(table.names, table.columns, strict=True)
            if all(isinstance(value, str) for value in column)
        }

    def with_columns(self, added: Values) -> Iterator[bytes]:
        """Write the records again with new fields appended."""
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
        sign = "\t" if suffix in _TABS else ","
        own = isinstance(table.origin, cls)  # text that is text already
        columns: list[Any] = table.columns if own else columns_to_write(table)
        columns = [*columns, *added.values()]
        lines = zip(*columns, strict=True)
        names = [] if continued else [(*table.names, *added)]
        for line in (*names, *lines):
            fields = [_field(value, sign, own) for value in line]
            yield (sign.join(fields) + "\n").encode()


def _with_comma(value: Any) -> Any:
    return as_text(value).replace(".", ",") if isinstance(value, float) else value


def _field(value: Any, delimiter: str, own: bool) -> str:
    """Write a cell; an empty text in quotes, unlike a missing one."""
    if isinstance(value, str) and not value and not own:
        return '""'
    return quoted(neutral(value), delimiter)
