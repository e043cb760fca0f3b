"""Excel workbooks."""

# SPDX-License-Identifier: BSD-3-Clause

import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fewlabels._words import listed, plural
from fewlabels.preprocessing import FileError, Table, TableError
from fewlabels.preprocessing.cells import unique_names
from fewlabels.tabular._formats._base import (
    EXTRA,
    Cells,
    FileFormat,
    FixedPoint,
    Reading,
    Values,
    as_text,
    cells_of,
    columns_to_write,
    dates_of,
    plain,
    python_values,
)
from fewlabels.tabular._headers import find_header, header_notes

# Parts of a workbook that openpyxl does not write again.
_LOST_PARTS = ("xl/charts/", "xl/media/", "xl/vbaProject")
# Merged cells and formulas, for which a sheet is read a second time.
_STRUCTURE = re.compile(rb"<mergeCell |<f[ >/]")
# Characters that the format forbids.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def check_sheet(kind: type[FileFormat], sheet: str | None, name: str) -> None:
    """Refuse the name of a sheet for a file without sheets."""
    if sheet is not None and not kind.has_sheets:
        raise FileError(
            f"{name} is not a workbook, so it has no sheets: leave the name of the "
            "sheet out (given as sheet)."
        )


class Workbook(FileFormat):
    """A sheet of an Excel workbook, with formulas, formats and the other sheets."""

    suffixes = (".xlsx",)
    is_binary = True
    has_sheets = True

    def __init__(
        self, data: bytes, sheet: str, width: int, first_row: int, has_names: bool
    ) -> None:
        self.data = data
        self.sheet = sheet
        self.width = width
        self.first_row = first_row  # of the header, or of the rows without one
        self.has_names = has_names
        self.headings: dict[int, str] = {}  # rows that are one cell across columns

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
        hint = (
            f" It has other sheets: {listed(others)} (pass sheet=NAME)."
            if others
            else ""
        )
        while rows and all(value is None for value in rows[-1]):
            rows.pop()
        width = max(
            (k + 1 for row in rows for k, value in enumerate(row) if value is not None),
            default=0,
        )
        rows = [row[:width] + [None] * (width - len(row)) for row in rows]
        texts = [["" if v is None else str(v) for v in row] for row in rows[:200]]
        merged, uncomputed = _merged_and_uncomputed(data, sheet, rows)
        _spread_groups(texts, merged)
        place = find_header(texts, how.header_row, spread=not merged)
        top = place.line if place.has_names else place.line - 1
        carried = _carry_down(rows, merged, top)
        below = rows[top:]
        if not below or not width:
            raise TableError(
                f"{how.name}, sheet {sheet!r}, has no rows below its header.{hint}"
            )
        header = texts[place.line - 1] if place.has_names else [""] * width
        header = list(place.joined) or header
        columns = [cells_of(values) for values in zip(*below, strict=True)]
        file = cls(data, sheet, width, place.line, place.has_names)
        names = unique_names(header)
        table = Table(names, columns, how.name, file)
        table.notes += header_notes(place, names)
        file.headings = _headings(rows, merged, top)
        if carried:
            table.notes.append(
                f"Merged cells of {listed([names[k] for k in carried])} hold for all "
                "their rows."
            )
        if uncomputed:
            table.notes.append(
                f"Formulas in {listed([names[k] for k in uncomputed])} have no stored "
                "values, so their cells are empty: open the workbook in a "
                "spreadsheet program and save it again."
            )
        if others and how.sheet is None:
            table.notes.append(
                f"The workbook has {plural(len(sheets), 'sheet')} "
                f"({listed(sheets)}): {sheet!r} was read; pass sheet=NAME for another."
            )
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if any(n.startswith(_LOST_PARTS) for n in archive.namelist()):
                table.notes.append(
                    f"Charts, pictures and macros of {how.name} are lost when it is "
                    "written as a workbook: keep the original."
                )
        return table

    def cells(self, table: Table) -> dict[str, list[Any]]:
        """Turn days, which are times in a sheet, into dates."""
        columns = [dates_of(python_values(column)) for column in table.columns]
        return dict(zip(table.names, columns, strict=True))

    def with_columns(self, added: Values) -> Iterator[bytes]:
        """Append columns to the sheet."""
        from openpyxl import load_workbook

        try:
            book = load_workbook(io.BytesIO(self.data), keep_vba=False)
            cells = book[self.sheet]
            for place, (name, values) in enumerate(added.items(), self.width + 1):
                head = [name] if self.has_names else []
                for row, value in enumerate([*head, *values], self.first_row):
                    _set_cell(cells, row, place, value)
            data = _saved(book)
        except Exception as error:
            raise TableError(
                f"The workbook cannot be written again ({_said(error)}): write a .csv "
                "file instead."
            ) from None
        yield data

    def with_cells(self, place: int, name: str, cells: Cells) -> "Workbook":
        """Set cells of the sheet."""
        from openpyxl import load_workbook

        book = load_workbook(io.BytesIO(self.data), keep_vba=False)
        sheet = book[self.sheet]
        top = self.first_row + self.has_names
        for row, value in cells.items():
            _set_cell(sheet, top + row, place + 1, value)
        file = Workbook(
            _saved(book), self.sheet, self.width, self.first_row, self.has_names
        )
        file.headings = self.headings
        return file

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
        columns = [*columns_to_write(table), *added.values()]
        changed = 0
        for place, name in enumerate([*table.names, *added], start=1):
            for row, value in enumerate([name, *columns[place - 1]], start=1):
                changed += _set_cell(sheet, row, place, value)
        if changed:
            warnings.warn(
                f"A workbook cannot hold {plural(changed, 'text')} of the table: "
                "control characters were replaced, and texts longer than 32,767 "
                "characters were cut. Write a .csv file to keep them.",
                UserWarning,
                stacklevel=2,
            )
        yield _saved(book)


def _merged_and_uncomputed(
    data: bytes, sheet: str, rows: list[list[Any]]
) -> tuple[list[Any], list[int]]:
    """Return merged ranges, and columns with formulas that have no values."""
    from openpyxl import load_workbook

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sheets = [n for n in archive.namelist() if n.startswith("xl/worksheets/sheet")]
        if not any(_STRUCTURE.search(archive.read(name)) for name in sheets):
            return [], []  # most sheets: do not read the workbook twice
    cells = load_workbook(io.BytesIO(data))[sheet]
    merged = sorted(cells.merged_cells.ranges, key=lambda r: (r.min_row, r.min_col))
    uncomputed = {
        cell.column - 1
        for row, values in zip(cells.iter_rows(max_row=len(rows)), rows, strict=False)
        for cell, value in zip(row, values, strict=False)
        if value is None and cell.data_type == "f"
    }
    return merged, sorted(uncomputed)


def _spread_groups(texts: list[list[str]], merged: list[Any]) -> None:
    """Repeat a name that is merged across some columns, unless it is a title."""
    for area in merged:
        row, start, stop = area.min_row - 1, area.min_col - 1, area.max_col
        if area.max_row - 1 > row or row >= len(texts) or stop - start < 2:
            continue
        line = texts[row]
        if start == 0 and not any(line[stop:]):
            continue
        line[start:stop] = [line[start]] * len(line[start:stop])


def _carry_down(rows: list[list[Any]], merged: list[Any], top: int) -> list[int]:
    """Give all rows of a merged cell its value; return the columns with such cells."""
    carried = set()
    for area in merged:
        row, place = area.min_row - 1, area.min_col - 1
        if row < top or area.max_row == area.min_row or row >= len(rows):
            continue
        for other in range(row + 1, min(area.max_row, len(rows))):
            rows[other][place] = rows[row][place]
        carried.add(place)
    return sorted(carried)


def _headings(rows: list[list[Any]], merged: list[Any], top: int) -> dict[int, str]:
    """Return rows that are a single cell across most columns."""
    found = {}
    for area in merged:
        row, width = area.min_row - 1, area.max_col - area.min_col + 1
        if row < top or row >= len(rows) or 2 * width < max(3, len(rows[row])):
            continue
        if sum(value is not None for value in rows[row]) <= 1:
            found[row - top] = "one cell across columns"
    return found


def _saved(book: Any) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


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
    """Write a value, perhaps as text; return whether part of a text was lost."""
    value = plain(value)
    if isinstance(value, float) and not np.isfinite(value):
        value = None if value != value else str(value)
    if isinstance(value, list | tuple | dict | bytes):
        value = as_text(value)
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
        cell.value = as_text(value)
    if isinstance(value, FixedPoint):
        cell.number_format = "0." + "0" * value.n_decimals
    if isinstance(value, str):
        cell.data_type = "s"  # never a formula, even after somebody edits it
        if value.startswith("="):
            cell.quotePrefix = 1
    return isinstance(given, str) and value != given
