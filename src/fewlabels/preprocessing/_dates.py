"""Read dates as seconds since 1970.

A notation is "iso" or a format of :func:`time.strptime`; several, separated by bars,
are tried in turn. The hundred years that two-digit years belong to follow in brackets:
``"%d.%m.%y (1927-2026)"``.
"""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.preprocessing._times import TIME, read_time
from fewlabels.preprocessing._values import UNREADABLE, read_all, text_of

_DATES = (
    *("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d"),
    *("%Y.%m.%d", "%Y-%m-%d", "%d %b %Y", "%b %d %Y", "%d-%b-%Y", "%d-%b-%y"),
    *("%d/%b/%Y", "%d/%b/%y", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%m-%y"),
    *("%m-%d-%y", "%d %b %y", "%d.%b.%Y", "%Y %b %d", "%Y-%b-%d"),
)
_TIMES = (
    *("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S %z"),
    *(" %H:%M:%S.%f", "T%H:%M:%S", ":%H:%M:%S %z", " %H:%M %z"),
)
_ALONE = ("%b %d %H:%M:%S %z %Y", "%Y%m%d", "%b %Y", "%b-%y", "%Y-%m", "%m/%Y", "%m.%Y")

# Months in English, German, French, Spanish, Italian, Dutch and Portuguese.
_MONTHS = {
    "Jan": "january januar jänner janvier enero gennaio januari janeiro jan janv "
    "ene gen",
    "Feb": "february februar feber février fevrier febrero febbraio februari fevereiro "
    "feb févr fevr fév fev febr",
    "Mar": "march märz maerz mars marzo maart março marco mar mär mrz mrt",
    "Apr": "april avril abril aprile apr avr abr",
    "May": "may mai mayo maggio mei maio mag",
    "Jun": "june juni juin junio giugno junho jun giu",
    "Jul": "july juli juillet julio luglio julho jul juil lug",
    "Aug": "august août aout agosto augustus aug aoû ago",
    "Sep": "september septembre septiembre setiembre settembre setembro sep sept set",
    "Oct": "october oktober octobre octubre ottobre outubro oct okt ott out",
    "Nov": "november novembre noviembre novembro nov",
    "Dec": "december dezember décembre decembre diciembre dicembre dezembro dec dez "
    "déc dic",
}
_MONTH_OF = {word: month for month, words in _MONTHS.items() for word in words.split()}
_ENGLISH = frozenset(
    "january february march april may june july august september october november "
    "december jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
_WEEKDAY = (
    r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*|mo|di|mi|do|fr|sa|so|"
    r"(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag)|"
    r"(?:lun|mer|jeu|ven|sam|dim)\.|lundi|mardi|mercredi|jeudi|vendredi|samedi|"
    r"dimanche|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo|"
    r"luned[iì]|marted[iì]|mercoled[iì]|gioved[iì]|venerd[iì]|sabato|domenica|"
    r"maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag|"
    r"(?:segunda|ter[cç]a|quarta|quinta|sexta)(?:-feira)?"
)
_NOISE = re.compile(
    rf"(?i)^(?:{_WEEKDAY})\.?,?(?=\s)|,|\b(?:at|um|de|del|of|den|le|el|uhr)\b"
)
_ORDINAL = re.compile(r"(?i)(?<=\d)(?:st|nd|rd|th|er|º|°|ª)\b|(?<=\d)\.(?=\s*[^\W\d_])")
_NAME = re.compile(r"[^\W\d_]{3,}\.?")
_FRACTION = re.compile(r"(?<=:\d\d)\.\d+")
_ZONE = re.compile(r"(?<=:\d\d)\s?[+-]\d\d:?\d\d\b")
_RUN = re.compile(r"\d+|[^\W\d_]+")
_WINDOW = re.compile(r"(.*) \((\d{4})-\d{4}\)")
_BIRTH = re.compile(r"(?i)born|birth|\bdob\b|geb|naiss|nacim|nascit|nascim|geboorte")
# Dates of contracts and forecasts are at most this many years ahead.
_AHEAD = 20


def _shape(text: str) -> str:
    """Return text with numbers and words replaced by their lengths: 00-0-0, 0 a 00."""
    text = _ZONE.sub(" z", _FRACTION.sub(".f", text))
    return _RUN.sub(
        lambda run: "0" * max(1, len(run[0]) // 2) if run[0].isdigit() else "a", text
    )


@lru_cache
def _formats_of() -> dict[str, tuple[str, ...]]:
    """Group formats by the shape of the dates they write."""
    found = defaultdict(list)
    example = datetime(2011, 12, 13, 14, 15, 16, 170000, tzinfo=UTC)
    for form in (*(d + t for d, t in product(_DATES, _TIMES)), *_ALONE):
        found[_shape(example.strftime(form))].append(form)
    return {shape: tuple(forms) for shape, forms in found.items()}


@lru_cache
def _known() -> frozenset[str]:
    return frozenset(form for forms in _formats_of().values() for form in forms)


@lru_cache(maxsize=65_536)
def _plain(text: str) -> str:
    """Return text without weekdays, ordinals and filler words, with English months."""
    text = text.strip()
    if not any(sign.isalpha() for sign in text) and "," not in text:
        return text
    text = _ORDINAL.sub("", _NOISE.sub(" ", text))
    return " ".join(_NAME.sub(_english, text).split())


def _english(name: re.Match[str]) -> str:
    return _MONTH_OF.get(name[0].rstrip(".").lower(), name[0])


def foreign_months(values: Sequence[Any]) -> bool:
    """Whether names of months are in a language with decimal commas."""
    words = {
        word.rstrip(".").lower()
        for value in values[:25]
        if isinstance(value, str) and may_be_date(value)
        for word in _NAME.findall(value)
    }
    return any(word in _MONTH_OF and word not in _ENGLISH for word in words)


def date_notation(values: Sequence[Any], share: float = 1.0) -> tuple[str, list[Any]]:
    """Find the notation of dates.

    Parameters
    ----------
    values : sequence of object
        Different values, none of them missing.
    share : float, default=1.0
        Share of the values that must be dates.

    Returns
    -------
    notation : str
        "iso", or formats of :func:`time.strptime`; empty if these are not dates.
    unread : list of object
        The values that are not such dates.
    """
    probe = values[:: max(1, len(values) // 25)][:25]
    allowed = max(0, int((1 - share) * len(values)))
    missed = sum(not may_be_date(v) for v in probe)
    if missed > min(allowed, 0.2 * len(probe)):
        return "", list(values)
    unread = [v for v in values if not _reads(v, "iso")]
    if len(unread) <= allowed and not (unread and any(may_be_date(v) for v in unread)):
        return "iso", unread
    groups = defaultdict(list)
    for value in values:
        if isinstance(value, str | int | float | np.number):
            groups[_shape(_plain(_text(value)))].append(value)
    notation = _formats_for(groups)
    if not notation:
        return "", list(values)
    unread = [v for v in values if not _reads(v, notation)]
    return (notation, unread) if len(unread) <= allowed else ("", list(values))


def may_be_date(value: Any) -> bool:
    """Whether a value has the shape of a date."""
    if isinstance(value, datetime | date | np.datetime64):
        return True
    text = _text(value)
    return _shape(_plain(text)) in _formats_of() or _reads(text, "iso")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return text_of(value.item() if isinstance(value, np.number) else value)


def _formats_for(groups: dict[str, list[Any]]) -> str:
    """Choose a format for every shape, with the same order of day and month."""
    chosen: dict[str, str] = {}
    by_size = sorted(groups, key=lambda shape: -len(groups[shape]))
    fits: dict[str, list[str]] = {}
    for shape in by_size:
        forms = _formats_of().get(shape, ())
        unread = {f: sum(not _reads(v, f) for v in groups[shape]) for f in forms}
        least = min(unread.values(), default=len(groups[shape]))
        if least < len(groups[shape]):
            fits[shape] = [f for f in forms if unread[f] == least]
    sure = {_month_first(f[0]) for f in fits.values() if len(f) == 1}
    for shape, fit in fits.items():
        alike = [f for f in fit if _month_first(f) in sure - {None}]
        chosen[shape] = alike[0] if len(sure - {None}) == 1 and alike else fit[0]
    return " | ".join(dict.fromkeys(chosen.values()))


def _month_first(form: str) -> bool | None:
    """Whether a numeric format has the month first; None if that cannot be."""
    if not re.match(r"%[dm][/.-]%[dm]", form):
        return None
    return form.startswith("%m")


def day_first_is_a_guess(values: Sequence[Any], notation: str) -> bool:
    """Whether day and month could be swapped in all dates."""
    notation = without_window(notation)
    if not notation.startswith(("%d/%m/", "%d-%m-")) or "|" in notation:
        return False
    other = f"%m{notation[2]}%d{notation[5:]}"
    return all(_reads(v, other) for v in values)


def without_window(notation: str) -> str:
    """Split off the range of two-digit years from formats."""
    window = _WINDOW.fullmatch(notation)
    return window[1] if window else notation


def with_window(
    values: Sequence[Any], notation: str, name: str, today: date | None = None
) -> tuple[str, str]:
    """Choose the hundred years that two-digit years belong to.

    Parameters
    ----------
    values : sequence of object
        Different values, none of them missing.
    notation : str
        Their formats.
    name : str
        Name of the column: nobody is born in the future.
    today : date, default=None
        For tests.

    Returns
    -------
    notation : str
        Followed by the range of years, if there are two-digit years.
    note : str
        What was chosen, if two choices make sense.
    """
    if "%y" not in notation or _WINDOW.fullmatch(notation):
        return notation, ""
    today = today or date.today()
    seconds = read_all(
        np.array(values, dtype=object), lambda v: read_seconds(v, notation)
    )
    days = seconds[~np.isnan(seconds)].astype("datetime64[s]").astype("datetime64[Y]")
    years = np.unique(days.astype(int) + 1970)
    windows = {}
    for last in (today.year, today.year + _AHEAD):
        read = last - (last - years) % 100
        windows[last] = (int(read.min()), int(read.max()))
    last = today.year
    (low, high), (early, late) = windows.values()
    born = bool(_BIRTH.search(name))
    doubtful = high - low > 50 or (born and years.max() > today.year)
    if not born and (low, high) != (early, late):
        doubtful = True
        # The shorter span, or what lies ahead rather than a century ago.
        if late - early < high - low - 50 or late - early == high - low:
            last, low, high = today.year + _AHEAD, early, late
            doubtful = high - low > 50 or early > today.year
    note = ""
    if doubtful:
        note = f"years of two digits are read as {low} to {high}"
    return f"{notation} ({last - 99}-{last})", note


def _reads(value: Any, notation: str) -> bool:
    try:
        read_seconds(value, notation)
    except UNREADABLE:
        return False
    return True


def read_seconds(value: Any, notation: str) -> float:
    """Return seconds since 1970; a time zone counts if given."""
    if notation == TIME:
        return read_time(value)
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[ms]").astype(np.int64)) / 1000
    if isinstance(value, int | float | np.number) and "%Y%m%d" in notation:
        value = _text(value)
    if isinstance(value, str):
        value = _read_text(value, notation)
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise TypeError(f"{value!r} is no date")
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return value.timestamp()


def _read_text(text: str, notation: str) -> datetime:
    if notation == "iso":
        text = text.strip()
        if len(text) < 8 or text.isdigit():  # such as a year, or 20240101
            raise ValueError(text)
        return datetime.fromisoformat(text)
    window = _WINDOW.fullmatch(notation)
    plain = _plain(text)
    for form in (window[1] if window else notation).split(" | "):
        try:
            found = _parsed(plain, text.strip(), form.replace("%B", "%b"))
        except ValueError:
            continue
        if window and "%y" in form:
            first = int(window[2])
            found = found.replace(year=first + (found.year - first) % 100)
        return found
    raise ValueError(text)


def _parsed(plain: str, text: str, form: str) -> datetime:
    """Read a date by a format, which may contain commas and words if it was given."""
    if form == "iso":
        return _read_text(text, "iso")
    try:
        found = datetime.strptime(plain, form)
    except ValueError:
        if form in _known():
            raise
        found = datetime.strptime(text, form)
    if form == "%Y%m%d" and not (len(plain) == 8 and 1900 <= found.year < 2100):
        raise ValueError(text)
    return found


def to_seconds(values: NDArray[Any], notation: str) -> NDArray[np.float64]:
    """Read a column of dates, or of times of the day.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        The column.
    notation : str
        See :func:`date_notation`; "time" for times of the day.

    Returns
    -------
    seconds : ndarray of shape (n_rows,)
        Since 1970, or since midnight; NaN for missing values.
    """
    if values.dtype.kind == "M":
        seconds = values.astype("datetime64[ms]").astype(np.int64) / 1000.0
        seconds[np.isnat(values)] = np.nan
        return seconds
    return read_all(values, lambda v: read_seconds(v, notation))
