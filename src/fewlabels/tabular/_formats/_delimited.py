"""Delimited text."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator, Sequence
from typing import BinaryIO

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
    frame_of,
    neutral,
)
from fewlabels.tabular._headers import header_notes
from fewlabels.tabular._text import DelimitedText, guess_delimiter, parse, parse_lines

_TABS = (".tsv", ".tab")


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
        # Lines that are cut at the end of the head do not matter for a guess.
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
        sign = "\t" if suffix in _TABS else ","
        texts = {name: [neutral(v) for v in values] for name, values in added.items()}
        frame = frame_of(table, texts)
        yield frame.to_csv(index=False, sep=sign, header=not continued).encode()
