"""Delimited text that is written back byte for byte.

The reader keeps the text of every record. Writing repeats that text and appends new
fields, so that quotes, spaces, line ends and numbers of existing columns never change.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from fewlabels._words import plural
from fewlabels.preprocessing import TableError
from fewlabels.tabular._decoding import NoRowsError
from fewlabels.tabular._headers import Header, find_header

DELIMITERS = (",", ";", "\t", "|")
# A quoted field that begins inside another: what separates them is another sign.
_TORN = re.compile(r'[,;\t|]"')
# Records looked at to guess the delimiter, and characters of them.
_SAMPLE_RECORDS = 200
_SAMPLE_CHARACTERS = 2**18
# Records between two reports of progress.
_STRIDE = 20_000


@dataclass
class DelimitedText:
    """A parsed file of delimited text, with the text of its records.

    Attributes
    ----------
    header : list of str
        Fields of the first record.
    rows : list of list of str
        Fields of every further record, as many as the header has.
    records : list of str
        Text of the header and of every record, without the end of its line.
    ends : list of str
        What ended every record: a line end, and empty lines after it.
    lead : str
        Blank lines and titles before the header.
    delimiter : str
        What separates fields.
    encoding : str
        Of the file.
    bom : bytes
        Its byte-order mark, or nothing.
    short : dict of int to int
        Records with fewer fields than the header, and how many these have.
    place : Header
        Where the names stand. Without names, the first record is empty.
    continued : bool
        Whether this is a later part of a file, which does not repeat the names.
    """

    header: list[str]
    rows: list[list[str]]
    records: list[str]
    ends: list[str]
    lead: str
    delimiter: str
    encoding: str
    bom: bytes
    short: dict[int, int]
    place: Header = field(default_factory=Header)
    continued: bool = False

    def with_columns(
        self, names: Sequence[str], columns: Sequence[Sequence[str]]
    ) -> Iterator[bytes]:
        """Encode the file with columns added, some records at a time.

        Parameters
        ----------
        names : sequence of str
            Header fields of the new columns.
        columns : sequence of sequence of str
            For each of them one field per row.

        Yields
        ------
        chunk : bytes
            The next bytes of the file.
        """
        mark = b"" if self.continued else self.bom
        yield mark + self.lead.encode(self.encoding)
        chunk: list[str] = []
        n_rows = len(self.records) - 1
        rows = zip(*columns, strict=True) if columns else [()] * n_rows
        added: list[Sequence[str]] = [names, *rows]
        for k, fields in enumerate(added):
            if k == 0 and (self.continued or not self.place.has_names):
                continue
            chunk.append(self.records[k])
            missing = len(self.header) - self.short.get(k, len(self.header))
            chunk.append(self.delimiter * missing)
            for cell in fields:
                chunk.append(self.delimiter)
                chunk.append(quoted(cell, self.delimiter))
            chunk.append(self.ends[k])
            if len(chunk) > 2**14 or k == len(added) - 1:
                yield "".join(chunk).encode(self.encoding)
                chunk.clear()

    def with_fields(self, place: int, texts: Mapping[int, str]) -> "DelimitedText":
        """Replace some fields of a column.

        Parameters
        ----------
        place : int
            The column.
        texts : dict of int to str
            New fields by row, counted from 0.

        Returns
        -------
        text : DelimitedText
            The same records but for these fields.
        """
        records, short = list(self.records), dict(self.short)
        for row, text in texts.items():
            record = records[row + 1]
            missing = len(self.header) - short.pop(row + 1, len(self.header))
            record += self.delimiter * missing
            start, end = field_spans(record, self.delimiter)[place]
            new = quoted(text, self.delimiter)
            records[row + 1] = record[:start] + new + record[end:]
        return replace(self, records=records, short=short)

    def take(self, rows: Sequence[int]) -> "DelimitedText":
        """Pick some records.

        Parameters
        ----------
        rows : sequence of int
            Which rows, in their new order.

        Returns
        -------
        part : DelimitedText
            The header and these records.
        """
        places = [0, *(int(row) + 1 for row in rows)]
        newline = next((end for end in self.ends if end), "\n")
        first = newline[:2] if newline.startswith("\r\n") else newline[:1]
        return replace(
            self,
            records=[self.records[k] for k in places],
            ends=[first] * len(places),
            short={
                new: self.short[k] for new, k in enumerate(places) if k in self.short
            },
        )


def field_spans(record: str, delimiter: str) -> list[tuple[int, int]]:
    """Find where the fields of a record begin and end, including quotes.

    Parameters
    ----------
    record : str
        Text of the record.
    delimiter : str
        What separates fields.

    Returns
    -------
    spans : list of tuple of (int, int)
        One per field.

    Examples
    --------
    >>> from fewlabels.tabular._text import field_spans
    >>> record = 'a,"b,""c",'
    >>> [record[start:end] for start, end in field_spans(record, ",")]
    ['a', '"b,""c"', '']
    """
    spans, start, place = [], 0, 0
    while True:
        if record.startswith('"', place):
            place = record.find('"', place + 1)
            while record.startswith('""', place):
                place = record.find('"', place + 2)
        while place < len(record) and record[place] != delimiter:
            place += 1
        spans.append((start, place))
        if place >= len(record):
            return spans
        start = place = place + 1


def quoted(field: str, delimiter: str) -> str:
    """Write a field, in quotes where it needs them.

    Parameters
    ----------
    field : str
        The field.
    delimiter : str
        What separates fields.

    Returns
    -------
    text : str
        What stands in the file.
    """
    if any(sign in field for sign in (delimiter, '"', "\n", "\r")):
        return '"' + field.replace('"', '""') + '"'
    return field


def guess_delimiter(text: str) -> str:
    """Guess what separates fields.

    The delimiter is the character that splits most records, and the first line, into
    the same number of fields, more than one, without splitting quoted fields; ties go
    to more fields.

    Parameters
    ----------
    text : str
        The file.

    Returns
    -------
    delimiter : str
        One of comma, semicolon, tab and bar.
    """
    sample = text[:_SAMPLE_CHARACTERS]
    if len(sample) < len(text):  # the last line may be cut
        sample = sample[: sample.rfind("\n") + 1] or sample
    best, delimiter = (False, 0.0, 0.0, 0, 0.0), ","
    for sign in DELIMITERS:
        widths: Counter[int] = Counter()
        header = torn = 0
        try:
            for fields in csv.reader(io.StringIO(sample, newline=""), delimiter=sign):
                if fields:
                    header = header or len(fields)
                    widths[len(fields)] += 1
                    torn += any(map(_TORN.search, fields))
                if widths.total() == _SAMPLE_RECORDS:
                    break
        except csv.Error:
            continue
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        whole, regular = ((n / widths.total()) for n in (widths.total() - torn, count))
        score = (header == width, round(whole, 1), round(regular, 1), width, regular)
        if width > 1 and score > best:
            best, delimiter = score, sign
    return delimiter


def parse(
    text: str,
    *,
    delimiter: str | None,
    encoding: str,
    bom: bytes,
    name: str,
    header_row: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> DelimitedText:
    """Parse delimited text and keep the text of every record.

    Parameters
    ----------
    text : str
        The file.
    delimiter : str or None
        What separates fields; None to guess.
    encoding : str
        Of the file.
    bom : bytes
        Its byte-order mark.
    name : str
        What to call it in messages.
    header_row : int, default=None
        Line of the names, 0 where there is none; None to find out.
    progress : callable, default=None
        Called with the share read so far.

    Returns
    -------
    parsed : DelimitedText
        Fields and texts.
    """
    lines = list(io.StringIO(text, newline=""))

    def tell(line: int) -> None:
        if progress is not None:
            progress(line / len(lines))

    (parsed,) = parse_lines(
        lines,
        delimiter=guess_delimiter(text) if delimiter is None else delimiter,
        encoding=encoding,
        bom=bom,
        name=name,
        header_row=header_row,
        progress=tell,
    )
    return parsed


def parse_lines(
    lines: Iterable[str],
    *,
    delimiter: str,
    encoding: str,
    bom: bytes,
    name: str,
    header_row: int | None = None,
    n_rows: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[DelimitedText]:
    """Parse lines of delimited text in batches.

    Parameters
    ----------
    lines : iterable of str
        The file, with the ends of its lines.
    delimiter : str
        What separates fields.
    encoding, bom, name, header_row : object
        See :func:`parse`.
    n_rows : int, default=None
        Rows per part; None for one part.
    progress : callable, default=None
        Called with the number of lines read so far.

    Yields
    ------
    parsed : DelimitedText
        The parts, written one after another, give the file.
    """
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    lines = iter(lines)
    first = list(islice(lines, 4 * max(_SAMPLE_RECORDS, header_row or 0)))
    place = find_header(_first_lines(first, delimiter, header_row), header_row)
    start = place.line - 1  # lines above the names are not rows
    parsed = DelimitedText([], [], [], [], "", delimiter, encoding, bom, {}, place)
    parsed.lead = "".join(first[:start])
    above, any_rows = start, False
    taken: list[str] = []
    reader = csv.reader(_noted(chain(first[start:], lines), taken), delimiter=delimiter)
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            line = above + reader.line_num
            raise TableError(f"{name}, line {line}: {error}.") from None
        if fields is None:
            break
        stop = above + reader.line_num
        raw = taken[0] if len(taken) == 1 else "".join(taken)
        taken.clear()
        if is_blank(fields, parsed.header):  # it belongs to the record above
            if parsed.records:
                parsed.ends[-1] += raw
            else:
                parsed.lead += raw
            start = stop
            continue
        if len(parsed.rows) == n_rows:
            yield parsed
            parsed = _next_part(parsed)
        if not parsed.records and not place.has_names:
            parsed.header = [""] * len(fields)
            parsed.records.append("")
            parsed.ends.append("")
        _append(parsed, fields, raw, start, stop, name)
        any_rows = any_rows or bool(parsed.rows)
        start = stop
        if progress is not None and len(parsed.records) % _STRIDE == 0:
            progress(stop)
    if parsed.records and _is_open(parsed.records[-1], delimiter):
        raise TableError(f"{name}: the last quote is opened but not closed.")
    if not parsed.records:
        raise NoRowsError(f"{name} is empty: a table needs column names and rows.")
    if not any_rows:
        raise NoRowsError(
            f"{name} has {plural(len(parsed.header), 'column')} but no row: the line "
            f"of names begins with {parsed.header[0][:20]!r}. If that is not what the "
            "file says, pass encoding=NAME or delimiter=CHARACTER."
        )
    yield parsed


def _noted(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    """Pass lines on, and record them."""
    for line in lines:
        taken.append(line)
        yield line


def _next_part(parsed: DelimitedText) -> DelimitedText:
    """Begin another part of the same file, with an empty record for the names."""
    return replace(
        parsed, rows=[], records=[""], ends=[""], lead="", short={}, continued=True
    )


def _first_lines(
    lines: list[str], delimiter: str, header_row: int | None
) -> list[list[str]]:
    """Return the fields of the first records, each at the index of its first line."""
    wanted = max(_SAMPLE_RECORDS, header_row or 0)
    found: list[list[str]] = []
    reader = csv.reader(iter(lines[: 4 * wanted]), delimiter=delimiter)
    try:
        while len(found) < wanted:
            fields = next(reader, None)
            if fields is None:
                break
            found.append(fields)
            found += [[]] * (reader.line_num - len(found))
    except csv.Error:
        pass  # reading all lines will say where
    return found


def is_blank(fields: list[str], header: list[str]) -> bool:
    """Whether a line is empty or holds only spaces.

    Parameters
    ----------
    fields : list of str
        Of the line.
    header : list of str
        Names of the columns, as far as they are known.

    Returns
    -------
    blank : bool
        In a table of one column, spaces are a field.
    """
    return not fields or (
        len(fields) == 1 and len(header) != 1 and not fields[0].strip()
    )


def _is_open(record: str, delimiter: str) -> bool:
    """Whether a record ends within quotes, which the reader tolerates."""
    if '"' not in record:
        return False
    lines = io.StringIO(record, newline="")
    try:
        for _ in csv.reader(lines, delimiter=delimiter, strict=True):
            pass
    except csv.Error as error:
        return "end of data" in str(error)
    return False


def _append(
    parsed: DelimitedText,
    fields: list[str],
    raw: str,
    start: int,
    stop: int,
    name: str,
) -> None:
    record = raw.rstrip("\r\n") if raw[-1:] in "\r\n" else raw
    end = raw[len(record) :]
    if not parsed.records:
        parsed.header = list(parsed.place.joined) or fields
        if len(fields) < len(parsed.header):
            parsed.short[0] = len(fields)
    else:
        missing = len(parsed.header) - len(fields)
        if missing < 0:
            raise TableError(
                f"{name}, line {start + 1}: {len(fields)} fields, but there are "
                f"{plural(len(parsed.header), 'column')}. Put quotes around "
                "fields that hold the delimiter "
                f"{parsed.delimiter!r}, or pass delimiter=CHARACTER."
            )
        if missing > 0:
            if stop - start > 1:
                raise TableError(
                    f"{name}, line {start + 1}: a quote is opened but not closed "
                    f"before line {stop}."
                )
            parsed.short[len(parsed.records)] = len(fields)
            fields = fields + [""] * missing
        parsed.rows.append(fields)
    parsed.records.append(record)
    parsed.ends.append(end)
