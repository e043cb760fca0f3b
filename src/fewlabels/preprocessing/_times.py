"""Read times of day and durations as seconds.

Notations: "time"; "duration", in words or hours:minutes:seconds; "duration m:s", where
two numbers are minutes and seconds, and "duration h:m", where they are hours and
minutes.
"""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections.abc import Sequence
from datetime import time, timedelta
from typing import Any

import numpy as np

from fewlabels.preprocessing._values import UNREADABLE

TIME = "time"
DURATION = "duration"

_CLOCK = re.compile(
    r"(?i)(?P<h>\d{1,2})(?::(?P<m>\d{2})(?::(?P<s>\d{2}(?:[.,]\d+)?))?)?\s*"
    r"(?:(?P<half>[ap])\.?\s?m\.?|(?:uhr|h))?|(?P<hh>\d{1,2})(?:h|\.)(?P<mm>\d{2})(?P<uhr>\s*uhr)?"
)
_SPAN = re.compile(
    r"(?i)(?P<sign>-)?(?:(?P<d>\d+)\s*(?:d|days?),?\s+)?"
    r"(?P<a>\d+):(?P<b>\d{2})(?::(?P<c>\d{2}(?:[.,]\d+)?))?"
)
_ISO = re.compile(
    r"P(?:(?P<d>\d+)D)?(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?"
)
_LENGTHS = {
    604800.0: "week weeks woche wochen semaine semaines semana semanas settimana "
    "settimane weken",
    86400.0: "d day days tag tage tagen jour jours dia dias día días giorno "
    "giorni dagen",
    3600.0: "h hr hrs hour hours std stunde stunden heure heures hora horas "
    "ora ore uur u",
    60.0: "m min mins minute minutes minuten minuto minutos minuti",
    1.0: "s sec secs second seconds sek sekunde sekunden seconde secondes segundo "
    "segundos secondi",
}
_LENGTH_OF = {word: size for size, words in _LENGTHS.items() for word in words.split()}
_PART = re.compile(r"(\d+(?:[.,]\d+)?)\s*([^\W\d_]+)\.?,?\s*(?:and|und|et|y|e|en)?\s*")
_MINUTES = re.compile(r"[0-5]\d")
_CALLED_DURATION = re.compile(
    r"(?i)durat|dauer|durée|duree|durac|durata|l[aä]nge|length|runtime|laufzeit|"
    r"elapsed|pace|lap|split|took"
)


def find_times(values: Sequence[Any], name: str) -> tuple[str, list[str]]:
    """Detect whether values are times of day or durations.

    Parameters
    ----------
    values : sequence of object
        Distinct values of a sample, without missing ones.
    name : str
        What the column is called.

    Returns
    -------
    notation : str
        See this module; empty if most are neither.
    notes : list of str
        What could be read otherwise, without the name of the column.
    """
    if not values:
        return "", []
    if any(isinstance(v, timedelta | np.timedelta64) for v in values):
        return DURATION, []
    texts = [v.strip() for v in values if isinstance(v, str)]
    clocks = [c for t in texts if (c := _clock(t)) is not None]
    n_times = sum(isinstance(v, time) for v in values)
    spans = [s for t in texts if (s := _SPAN.fullmatch(t))]
    enough = 0.8 * len(values)
    if len(spans) >= enough and (
        any(int(s["a"]) > 23 or s["d"] or s["sign"] for s in spans)
        or _CALLED_DURATION.search(name)
    ):
        short = any(s["c"] is None for s in spans)
        return f"{DURATION} m:s" if short else DURATION, (
            ["two numbers are read as minutes and seconds"] if short else []
        )
    if len(clocks) + n_times >= enough:
        unpadded = [s for s in spans if len(s["a"]) == 1 and s["c"] is None]
        early = all(int(s["a"]) < 13 for s in spans) and not n_times
        if len(unpadded) > 2 and early:
            return TIME, [
                f"{unpadded[0][0]!r} and the like are read as times of the day; if "
                "they are durations, name the column as numeric"
            ]
        return TIME, []
    parts = [found for t in texts if (found := _parts(t))]
    if len(parts) >= enough:
        sizes = {size for found in parts for _, size in found}
        if len(sizes) > 1:
            return DURATION, []
    return "", []


def _clock(text: str) -> re.Match[str] | None:
    """Match a time of day, which needs more than a number."""
    found = _CLOCK.fullmatch(text)
    if found is None or text.replace(".", "").isdigit():
        return None
    if found["hh"] is not None and "." in text and not found["uhr"]:
        return None
    hours, minutes = int(found["h"] or found["hh"]), int(found["m"] or found["mm"] or 0)
    if found["m"] is None and found["hh"] is None and not found["half"]:
        return None  # 14h is a duration, if anything
    return found if hours < 24 and minutes < 60 else None


def _parts(text: str) -> list[tuple[float, float]]:
    """Numbers with the lengths of their units; empty for anything else."""
    found: list[tuple[float, float]] = []
    place = 0
    while place < len(text):
        if found and found[-1][1] == 3600 and _MINUTES.fullmatch(text, place):
            found.append((float(text[place:]), 60.0))  # 1h30
            return found
        part = _PART.match(text, place)
        size = part and _LENGTH_OF.get(part[2].lower())
        if not part or not size:
            break
        found.append((float(part[1].replace(",", ".")), size))
        place = part.end()
    else:
        return found
    iso = _ISO.fullmatch(text)
    if iso is None or len(text) < 3:
        return []
    sizes = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
    return [(float(iso[k]), size) for k, size in sizes.items() if iso[k]]


def read_time(value: Any) -> float:
    """Return seconds since midnight."""
    if isinstance(value, time):
        fraction = value.microsecond / 1e6
        return value.hour * 3600 + value.minute * 60 + value.second + fraction
    found = _clock(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"{value!r} is no time of the day")
    hours = int(found["h"] or found["hh"])
    if found["half"]:
        hours = hours % 12 + 12 * (found["half"].lower() == "p")
    minutes = int(found["m"] or found["mm"] or 0)
    return hours * 3600 + minutes * 60 + float((found["s"] or "0").replace(",", "."))


def read_duration(value: Any, notation: str) -> float:
    """Return the length of a duration in seconds."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "ms")) / 1000
    if isinstance(value, time):
        return read_time(value)
    if not isinstance(value, str):
        return float(value)
    text = value.strip()
    if span := _SPAN.fullmatch(text):
        a, b = int(span["a"]), int(span["b"])
        c = float((span["c"] or "0").replace(",", "."))
        if span["c"] is None and notation.endswith("m:s"):
            a, b, c = 0, a, b
        seconds = int(span["d"] or 0) * 86400 + a * 3600 + b * 60 + c
        return -seconds if span["sign"] else seconds
    parts = _parts(text)
    if not parts:
        raise ValueError(f"{value!r} is no duration")
    return sum(number * size for number, size in parts)


def reads_duration(value: Any, notation: str) -> bool:
    """Whether a value is a duration."""
    try:
        read_duration(value, notation)
    except UNREADABLE:
        return False
    return True
