"""Save what can be saved: damaged lines of a journal, journals of earlier versions."""

# SPDX-License-Identifier: BSD-3-Clause

import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewlabels._words import plural
from fewlabels.studio._rows import RowKeys, journal_path
from fewlabels.tabular.files import Home

_PAIR = re.compile(r'\[(\d{1,9}), ?"([0-9a-f]{16})"')
_LABEL = re.compile(r'"label": ?("(?:[^"\\]|\\.)*")')
_KEY = re.compile(r'"key": ?"([^"\\]{1,80})"')


@dataclass(frozen=True)
class Damaged:
    """A line that cannot be read as a whole.

    Attributes
    ----------
    raw : bytes
        The line.
    key : str
        Key of the action, where it can be read.
    label : str or None
        Its label.
    rows : list of (int, str)
        Numbers and digests of rows that can be read.
    """

    raw: bytes
    key: str
    label: str | None
    rows: list[tuple[int, str]]


def damaged_line(raw: bytes) -> Damaged:
    """Read what can be read of a line."""
    text = raw.decode("utf-8", "replace")
    label = None
    if '"do": "label"' in text and (found := _LABEL.search(text)):
        with suppress(ValueError):
            label = json.loads(found[1])
    key = _KEY.search(text)
    rows = [(int(place), digest) for place, digest in _PAIR.findall(text)]
    return Damaged(raw, key[1] if key else "", label, rows)


def set_aside(path: Path, lines: Sequence[Damaged]) -> str:
    """Keep damaged lines in a file of their own, and describe what they concern.

    Parameters
    ----------
    path : Path
        The journal.
    lines : sequence of Damaged
        Its damaged lines.

    Returns
    -------
    text : str
        What is affected; nothing if there are no damaged lines.
    """
    if not lines:
        return ""
    aside = path.with_name(path.name.removesuffix(".jsonl") + ".damaged.txt")
    kept = "could not be set aside"
    with suppress(OSError):
        known = aside.read_bytes().split(b"\n") if aside.exists() else []
        new = [line.raw for line in lines if line.raw not in known]
        if new:
            with aside.open("ab") as file:
                file.write(b"".join(raw + b"\n" for raw in new))
        kept = f"{'is' if len(lines) == 1 else 'are'} kept in {aside.name}"
    rows = sorted({place for line in lines for place, _ in line.rows})
    unknown = sum(not line.rows for line in lines)
    parts = [f"{plural(len(lines), 'line')} of {path.name} cannot be read and {kept}."]
    if rows:
        named = ", ".join(map(str, rows[:10])) + ("" if len(rows) <= 10 else ", ...")
        one = len(rows) == 1
        parts.append(f"Labels of {'row' if one else 'rows'} {named} may be missing.")
    if unknown:
        parts.append(f"Which rows {plural(unknown, 'line')} concerned is not known.")
    return " ".join(parts)


def find_journal(home: Home, keys: RowKeys) -> tuple[Path, str]:
    """Find the journal of a table, and take labels over from one of an earlier name.

    Earlier versions cut all that follows the first dot of a name: ``sales.2023.csv``
    and ``sales.2024.csv`` had one journal. Its sections go to the table that has their
    rows; the file itself stays.

    Parameters
    ----------
    home : Home
        Where the table is.
    keys : RowKeys
        Its rows.

    Returns
    -------
    path : Path
        The journal, which may not exist yet.
    note : str
        What was taken over.
    """
    path = journal_path(home.folder, home.stem)
    earlier = journal_path(home.folder, home.earlier)
    if earlier == path or path.exists() or not earlier.is_file():
        return path, ""
    try:
        lines = own_lines(earlier.read_bytes(), keys)
        if not lines:
            return path, ""
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        part.write_bytes(lines)
        part.replace(path)
    except OSError:
        return earlier, f"Labels stay in {earlier.name}: {path.name} cannot be written."
    return path, (
        f"Labels of this table were copied from {earlier.name} to {path.name}: each "
        "table has a file of its own now."
    )


def own_lines(data: bytes, keys: RowKeys) -> bytes:
    """Choose the sections of a journal whose rows are those of a table."""
    section, found = "", {}
    places: dict[str, set[tuple[int, str]]] = {}
    columns: dict[str, list[str]] = {}
    lines: list[tuple[str, bytes]] = []
    for raw in filter(None, map(bytes.strip, data.split(b"\n"))):
        try:
            entry: dict[str, Any] = json.loads(raw)
            if "opened" in entry:
                section = entry.get("key", "")
                columns.setdefault(section, entry["columns"])
            section = entry.get("in", section)
            rows = entry.get("rows", [])
            places.setdefault(section, set()).update((r[0], r[1]) for r in rows)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            pass  # a damaged line stays with those around it
        lines.append((section, raw))
    for name, pairs in places.items():
        now: list[str] | None = columns.get(name, [])
        if not keys.knows(now or []):
            now = keys.renamed(now or [], sorted(pairs)[:40])
        found[name] = sum(bool(now and keys.places(d, now)) for _, d in pairs)
    own = {name for name, pairs in places.items() if 2 * found[name] > len(pairs)}
    return b"".join(raw + b"\n" for name, raw in lines if name in own)
