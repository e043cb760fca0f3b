"""Workbooks of Excel."""

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
    Reading,
    Values,
    cells_of,
    frame_of,
    guarded,
    plain,
)
from fewlabels.tabular._headers import find_header, header_notes

# Parts of a workbook that openpyxl does not write again.
_LOST_PARTS = ("xl/charts/", "xl/media/", "xl/vbaProject")
# Signs that the format forbids.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def check_sheet(kind: type[FileFormat], sheet: str | None, name: str) -> None:
    """Refuse the name of a sheet where there are none."""
    if sheet is not None and kind is not Workbook:
        raise FileError(
            f"{name} is not a workbook, so it has no sheets: leave the name of the "
            "sheet out (given as sheet)."
        )


class Workbook(FileFormat):
    """A sheet of a workbook of Excel, with formulas, formats and the other sheets."""

    suffixes = (".xlsx",)
    is_binary = True

    def __init__(
        self, data: bytes, sheet: str, width: int, first_row: int, has_names: bool
    ) -> None:
        self.data = data
        self.sheet = sheet
        self.width = width
        self.first_row = first_row  # of the names, or of the rows where there are none
        self.has_names = has_names

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
        place = find_header(texts, how.header_row)
        below = rows[place.line if place.has_names else place.line - 1 :]
        if not below or not width:
            raise TableError(
                f"{how.name}, sheet {sheet!r}, has no rows below its names.{hint}"
            )
        header = texts[place.line - 1] if place.has_names else [""] * width
        columns = [cells_of(values) for values in zip(*below, strict=True)]
        file = cls(data, sheet, width, place.line, place.has_names)
        names = unique_names(header)
        table = Table(names, columns, how.name, file)
        table.notes += header_notes(place, names)
        if others and how.sheet is None:
            table.notes.append(
                f"The workbook has {plural(len(sheets), 'sheet')} "
                f"({listed(sheets)}): {sheet!r} was read; pass sheet=NAME for another."
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
                    _set_cell(cells, row, place, guarded(value))
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
            _set_cell(sheet, top + row, place + 1, guarded(value))
        return Workbook(
            _saved(book), self.sheet, self.width, self.first_row, self.has_names
        )

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
        columns += [[guarded(v) for v in values] for values in added.values()]
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
        yield _saved(book)


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
