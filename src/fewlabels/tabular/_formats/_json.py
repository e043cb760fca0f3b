"""JSON objects."""

# SPDX-License-Identifier: BSD-3-Clause

import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import listed
from fewlabels.preprocessing import Table, TableError
from fewlabels.preprocessing.cells import object_array, unique_names
from fewlabels.tabular._decoding import (
    NoRowsError,
    chained,
    decode,
    mark_of,
    text_lines,
)
from fewlabels.tabular._formats._base import (
    HEAD,
    Appender,
    Cells,
    FileFormat,
    FixedPoint,
    Reading,
    Values,
    as_text,
    cells_of,
    columns_to_write,
    plain,
)


class JsonFile(FileFormat):
    """JSON objects, one per line or in an array, whose text is kept."""

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
            raise NoRowsError(f"{how.name} has no rows.")
        return table

    @classmethod
    def batches(cls, file: BinaryIO, how: Reading, n_rows: int) -> Iterator[Table]:
        """Read some lines at a time, with an object on each; a list is read at once."""
        head = file.read(HEAD)
        encoding, bom = mark_of(head, how.encoding)
        begin = head[len(bom) :].decode(encoding, errors="ignore").lstrip()
        first = begin.split("\n", 1)[0].strip()
        if begin.startswith("[") or not first.endswith("}"):
            yield cls.read(chained(head, file).read(), how)
            return
        lines = text_lines(chained(head[len(bom) :], file), encoding, how.name)
        # A member that a later object does not have is a missing value.
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
            raise NoRowsError(f"{how.name} has no rows.")

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

    def fits(self, suffix: str) -> bool:
        """Whether the layout, a list or lines, matches the suffix."""
        end = self.spans[-1][1] if self.spans else 0
        is_list = bool(self.text[end:].strip())  # something closes it
        return suffix not in self.suffixes or is_list == (suffix == ".json")

    def cells(self, table: Table) -> dict[str, list[Any]]:
        """Turn text in columns back into lists."""
        flat = [_flat(json.loads(self.text[start:end])) for start, end in self.spans]
        found = {name: [row.get(name) for row in flat] for name in table.names}
        return {n: v for n, v in found.items() if any(isinstance(x, list) for x in v)}

    def with_columns(self, added: Values) -> Iterator[bytes]:
        """Append new members to every object."""
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
        names = [json.dumps(n, ensure_ascii=False) for n in [*table.names, *added]]
        columns = [*columns_to_write(table), *added.values()]
        texts = [[_json_value(v) for v in values] for values in columns]
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
    """Return the objects of a file, with their positions."""
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
        raise TableError(f"{name}: the list of rows is not closed.")
    return rows, spans, notes


def _skip(text: str, place: int, signs: str) -> int:
    while place < len(text) and text[place] in signs:
        place += 1
    return place


def _inner_array(text: str, place: int) -> tuple[str, int] | None:
    """Find where rows begin in ``{"data": [{...}, ...]}``, an object around them."""
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
    """Flatten nested objects, naming members by path: ``{"a": {"b": 1}}`` is a.b."""
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


def _json_value(value: Any) -> str:
    value = plain(value)
    if isinstance(value, float) and not np.isfinite(value):
        return "null"
    if isinstance(value, FixedPoint | Decimal):
        return as_text(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _with_member(text: str, name: str, value: str) -> str:
    """Set a member of an object, keeping its other text."""
    decode_next = json.JSONDecoder().raw_decode
    blank = re.compile(r"\s*")

    def skip(place: int) -> int:
        found = blank.match(text, place)
        return place if found is None else found.end()

    place, span = skip(1), None
    while text[place] != "}":
        key, place = decode_next(text, place)
        start = skip(skip(place) + 1)  # after the colon
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
