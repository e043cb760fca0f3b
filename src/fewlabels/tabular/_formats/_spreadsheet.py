"""Spreadsheets of old Excel and LibreOffice, which can be read but not written."""

# SPDX-License-Identifier: BSD-3-Clause

import io
from collections.abc import Iterator
from typing import Any

from fewlabels.preprocessing import Table, TableError
from fewlabels.tabular._formats._base import FileFormat, Reading
from fewlabels.tabular._formats._workbook import Workbook


class Spreadsheet(FileFormat):
    """A spreadsheet, converted to a workbook so that it can be written."""

    suffixes = (".xls", ".xlsb", ".ods")
    is_binary = True
    has_sheets = True

    @classmethod
    def read(cls, data: bytes, how: Reading) -> Table:
        """Read one sheet, and keep the values of all sheets in a workbook."""
        table = Workbook.read(_workbook(data, how), how)
        table.notes.append(
            f"Only the values of {how.name} are kept, not its formulas and formats: "
            "it can be written as .xlsx, .csv or another format, but not as it was."
        )
        return table


def _workbook(data: bytes, how: Reading) -> bytes:
    """Put the values of all sheets into a workbook."""
    try:
        from openpyxl import Workbook as Book
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise TableError(
            f"Reading {how.name} needs python-calamine: pip install "
            '"fewlabels[formats]", or save it as .xlsx or .csv.'
        ) from None
    try:
        sheets = CalamineWorkbook.from_filelike(io.BytesIO(data))
        names = list(sheets.sheet_names)
        book = Book()
        book.remove(book.active)
        for name in names:
            _copy(sheets.get_sheet_by_name(name), book.create_sheet(name))
    except Exception as error:
        raise TableError(
            f"{how.name} is not a spreadsheet, or it is damaged or has a password "
            f"({str(error).rstrip('.')}): save it as .xlsx or .csv."
        ) from None
    if not names:
        raise TableError(f"{how.name} has no sheet.")
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _copy(cells: Any, sheet: Any) -> None:
    for row, column, value in _filled(cells):
        cell = sheet.cell(row=row, column=column, value=value)
        if isinstance(value, str):
            cell.data_type = "s"  # never a formula
    for first, last in getattr(cells, "merged_cell_ranges", None) or ():
        sheet.merge_cells(
            start_row=first[0] + 1,
            start_column=first[1] + 1,
            end_row=last[0] + 1,
            end_column=last[1] + 1,
        )


def _filled(cells: Any) -> Iterator[tuple[int, int, Any]]:
    """Yield cells that are not empty, with their positions from 1."""
    for row, values in enumerate(cells.to_python(skip_empty_area=False), start=1):
        for column, value in enumerate(values, start=1):
            if value != "":
                yield row, column, value
