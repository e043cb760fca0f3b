"""Rows as the page shows them: cells, image files, and images made of pixel columns."""

# SPDX-License-Identifier: BSD-3-Clause

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.studio._rows import cell_text

# First bytes and type of each image format. SVG is left out: it can contain scripts.
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)
_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".avif", ".jfif"}
)
_DATA_URI = re.compile(r"data:image/[a-z0-9.+-]+;base64,", re.IGNORECASE)
# Cells checked to find whether a column names images.
_SAMPLE = 50
MIN_SIDE, MAX_SIDE = 2, 64


def image_type(data: bytes) -> str | None:
    """Return the image type of some bytes; None for anything else."""
    for magic, name in _MAGIC:
        if data.startswith(magic):
            return name
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp" and data[8:12] in (b"avif", b"avis"):
        return "image/avif"
    return None


@dataclass(frozen=True)
class Pixels:
    """Columns that hold the pixels of an image, row by row."""

    columns: list[int]
    height: int
    width: int
    low: float
    high: float


def parse_size(text: str) -> tuple[int, int]:
    """Read a size such as 28x28: height and width."""
    found = re.fullmatch(r"\s*(\d+)\s*[x,]\s*(\d+)\s*", text, re.IGNORECASE)
    if found is None:
        raise ValueError(f"{text!r} is not the size of an image: pass image='28x28'.")
    height, width = int(found[1]), int(found[2])
    if not all(MIN_SIDE <= side <= MAX_SIDE for side in (height, width)):
        raise ValueError(
            f"An image of {text} is too small or too large: sides must be between "
            f"{MIN_SIDE} and {MAX_SIDE} pixels."
        )
    return height, width


def pixel_columns(
    names: Sequence[str], numeric: Sequence[bool], height: int, width: int
) -> list[int]:
    """Find the columns of pixels: all numeric ones, or numbered ones of one name."""
    wanted = height * width
    places = [k for k, number in enumerate(numeric) if number]
    if len(places) == wanted:
        return places
    families: dict[str, list[int]] = {}
    for k in places:
        families.setdefault(re.sub(r"\d+", "#", names[k]), []).append(k)
    for family in families.values():
        if len(family) == wanted:
            return family
    raise ValueError(
        f"An image of {height}x{width} needs {wanted:,} columns of numbers; the table "
        f"has {len(places):,}. Give the size as rows x columns of the "
        "picture, or leave other numeric columns out of the table."
    )


class Cards:
    """All rows of a table, ready to be shown one by one.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    columns : sequence of ndarray
        Their cells.
    hidden : set of str
        Columns that are not shown: the target, and predictions of earlier runs.
    folder : Path or None
        Where image files may be.
    image : tuple of (int, int) or None
        Height and width of the images that columns of pixels form.
    """

    def __init__(
        self,
        names: Sequence[str],
        columns: Sequence[NDArray[Any]],
        *,
        hidden: set[str],
        folder: Path | None = None,
        image: tuple[int, int] | None = None,
    ) -> None:
        self._names, self._columns = list(names), list(columns)
        self._folder = None if folder is None else folder.resolve()
        shown = [k for k, name in enumerate(names) if name not in hidden]
        self.pixels = None if image is None else self._find_pixels(shown, *image)
        if self.pixels is not None:
            shown = [k for k in shown if k not in set(self.pixels.columns)]
        self._pictures = [k for k in shown if self._holds_pictures(k)]
        self._shown = [k for k in shown if k not in self._pictures]

    @property
    def names(self) -> list[str]:
        """Names of the columns that are shown as text."""
        return [self._names[k] for k in self._shown]

    @property
    def searched(self) -> dict[str, NDArray[Any]]:
        """The columns that are shown, pictures by their names too."""
        places = sorted([*self._shown, *self._pictures])
        return {self._names[k]: self._columns[k] for k in places}

    def cells(self, row: int) -> list[str]:
        """Return the texts of the shown columns."""
        return [cell_text(self._columns[k][row]) for k in self._shown]

    def pictures(self, row: int) -> list[dict[str, Any]]:
        """List the images of a row: index and name of the column."""
        return [
            {"place": k, "name": self._names[k]}
            for k in self._pictures
            if cell_text(self._columns[k][row])
        ]

    def picture(self, row: int, place: int) -> tuple[bytes, str] | None:
        """Read an image of a row; None if there is none that may be read."""
        if place not in self._pictures or not 0 <= row < self._columns[place].size:
            return None
        data = self._picture_bytes(cell_text(self._columns[place][row]).strip())
        kind = None if data is None else image_type(data)
        return None if data is None or kind is None else (data, kind)

    def _picture_bytes(self, text: str) -> bytes | None:
        found = _DATA_URI.match(text)
        if found:
            try:
                return base64.b64decode(text[found.end() :], validate=True)
            except binascii.Error:
                return None
        path = self._inside(text)
        try:
            return None if path is None else path.read_bytes()
        except OSError:
            return None

    def _inside(self, text: str) -> Path | None:
        """Find a file in the folder of the table, refusing links that leave it."""
        suffix = text[text.rfind(".") :].lower() if "." in text[-6:] else ""
        if self._folder is None or suffix not in _SUFFIXES or "\0" in text:
            return None
        try:
            path = (self._folder / text.replace("\\", "/")).resolve()
            inside = path.is_relative_to(self._folder) and path.is_file()
        except (OSError, ValueError):
            return None
        return path if inside and path.suffix.lower() in _SUFFIXES else None

    def _holds_pictures(self, place: int) -> bool:
        column = self._columns[place]
        if column.dtype.kind != "O":
            return False
        texts = [t for v in column[: 10 * _SAMPLE] if (t := cell_text(v).strip())]
        sample = texts[:_SAMPLE]
        fine = sum(
            bool(_DATA_URI.match(t)) or self._inside(t) is not None for t in sample
        )
        return bool(sample) and fine > len(sample) / 2

    def _find_pixels(self, shown: Sequence[int], height: int, width: int) -> Pixels:
        numeric = [
            k in set(shown) and _is_numeric(c) for k, c in enumerate(self._columns)
        ]
        places = pixel_columns(self._names, numeric, height, width)
        values = np.array([_numbers(self._columns[k][:2000]) for k in places])
        low = float(np.nanmin(values)) if np.isfinite(values).any() else 0.0
        high = float(np.nanmax(values)) if np.isfinite(values).any() else 1.0
        return Pixels(places, height, width, low, high)

    def drawn(self, row: int) -> dict[str, Any] | None:
        """Return the grey values of a row's image, between 0 and 255."""
        if self.pixels is None:
            return None
        p = self.pixels
        cells = np.array([self._columns[k][row] for k in p.columns], dtype=object)
        values = np.nan_to_num(_numbers(cells), nan=p.low)
        scaled = 255 * (values - p.low) / ((p.high - p.low) or 1.0)
        grey = np.clip(np.round(scaled), 0, 255).astype(np.uint8)
        data = base64.b64encode(grey.tobytes()).decode()
        return {"height": p.height, "width": p.width, "grey": data}


def _is_numeric(column: NDArray[Any]) -> bool:
    if column.dtype.kind in "iuf":
        return True
    sample = [v for v in column[:200] if cell_text(v).strip()]
    return bool(sample) and bool(
        np.isfinite(_numbers(np.array(sample, dtype=object))).all()
    )


def _numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    def number(value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            return np.nan

    return np.array([number(v) for v in values], dtype=float)
