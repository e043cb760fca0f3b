"""Description of one column: its kind, its notation, and its odd cells."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.preprocessing._dates import read_seconds, to_seconds
from fewlabels.preprocessing._numbers import to_numbers
from fewlabels.preprocessing._parts import read_fields, read_tags, to_vectors
from fewlabels.preprocessing._values import object_array, text_of

KINDS = (
    "number",
    "category",
    "date",
    "time",
    "text",
    "vector",
    "picture",
    "tags",
    "fields",
)


@dataclass(frozen=True)
class ColumnDescription:
    """Description of what a column holds, and how it is used.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        "number", "category", "date", "time" (of the day), "text", "vector" (several
        numbers), "picture", "tags" or "fields" (of JSON); "identifier", "constant",
        "empty" or "ignored" for columns that are left out.
    n_missing : int
        Rows without a value, also where a cell was taken as missing.
    n_distinct : int
        Number of distinct values.
    reason : str
        Why it has this kind.
    notation : str
        How cells are written. Numbers: "plain", "comma" or "thousands" and perhaps
        units, or "duration"; dates: "iso" or formats of :func:`time.strptime`; vectors:
        their length and what separates numbers; pictures: the length of their vectors
        and the embedder, once they are embedded; tags: what separates them.
    note : str
        Remarks for its owner, such as cells taken as missing.
    unit : str
        Unit or currency of numbers; seconds ("s") for durations.
    n_odd : int
        Number of cells that hold something else and count as missing.
    odd : tuple of str
        Some of these.
    missing : tuple of str
        Values that mean missing, such as -999.
    examples : tuple of tuple of (str, str)
        Some cells, and the values they became.
    """

    name: str
    kind: str
    n_missing: int
    n_distinct: int
    reason: str
    notation: str = ""
    note: str = ""
    unit: str = ""
    n_odd: int = 0
    odd: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()

    @property
    def is_used(self) -> bool:
        """Whether the column becomes features."""
        return self.kind in KINDS

    @property
    def reading(self) -> str:
        """The first cell whose value looks different: ``1.065,00 € -> 1065``."""
        for cell, became in self.examples:
            if cell != became:
                return f"{cell} -> {became}"
        return self.examples[0][0] if self.examples else ""

    def as_dict(self) -> dict[str, Any]:
        """Return the description as plain values.

        Returns
        -------
        description : dict
            One entry per attribute.
        """
        return asdict(self)

    def read(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Read a column of numbers, dates or times.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            The column, in this table or another.

        Returns
        -------
        numbers : ndarray of shape (n_rows,)
            Numbers, or seconds; NaN for missing values.
        """
        if self.kind == "number":
            numbers = to_numbers(values, self.notation)
            gone = [float(text) for text in self.missing]
        else:
            numbers = to_seconds(values, self.notation)
            gone = [read_seconds(text, "iso") for text in self.missing]
        if gone:
            numbers[np.isin(numbers, gone)] = np.nan
        return numbers


def examples_of(
    values: Iterable[Any], kind: str, notation: str
) -> tuple[tuple[str, str], ...]:
    """Return some cells with the values they became."""
    return tuple((text_of(value), _became(value, kind, notation)) for value in values)


def _became(value: Any, kind: str, notation: str) -> str:
    cell = object_array([value])
    match kind:
        case "number":
            return shown_number(float(to_numbers(cell, notation)[0]))
        case "date" | "time":
            seconds = float(to_seconds(cell, notation)[0])
            return shown_date(seconds) if kind == "date" else shown_time(seconds)
        case "vector":
            return ", ".join(shown_number(v) for v in to_vectors(cell, notation)[0][:5])
        case "tags":
            return ", ".join(read_tags(value, notation) or ())
        case "fields":
            fields = read_fields(value) or {}
            return ", ".join(f"{name}: {text_of(v)}" for name, v in fields.items())
        case _:
            return text_of(value)


def shown_number(number: float) -> str:
    """Write a number with as many digits as it needs."""
    if np.isnan(number):
        return "missing"
    return text_of(number) if float(number).is_integer() else f"{number:.10g}"


def shown_date(seconds: float) -> str:
    """Write a date, with the time if there is one."""
    if np.isnan(seconds):
        return "missing"
    moment = datetime.fromtimestamp(seconds, UTC)
    day = moment.strftime("%Y-%m-%d")
    return day if not seconds % 86_400 else f"{day} {shown_time(seconds % 86_400)}"


def shown_time(seconds: float) -> str:
    """Write a time of the day, with seconds if there are any."""
    if np.isnan(seconds):
        return "missing"
    minutes, rest = divmod(seconds, 60)
    text = f"{int(minutes // 60):02d}:{int(minutes % 60):02d}"
    return f"{text}:{rest:02.0f}" if rest else text
