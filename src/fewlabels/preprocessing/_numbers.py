"""Read numbers in cells, and find how they are written.

A notation is text: the style of the digits and, after spaces, the units next to them,
with a factor if they are converted. ``"comma €"`` reads 1.065,00 €,
``"plain g kg=1000"`` reads 0.5 kg as 500, and ``"plain % =100"`` reads 0.45 as 45 if
other cells say 45%. Two styles, separated by a bar, are tried in turn.
"""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.preprocessing._dates import foreign_months
from fewlabels.preprocessing._times import DURATION, read_duration
from fewlabels.preprocessing._values import (
    LARGEST,
    UNREADABLE,
    missing_mask,
    object_array,
    read_all,
)

_SIGNS = "$€£¥₹₽₩₺₴₦₫฿"
_NAMED = (
    "USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|RUB|"
    "TRY|KRW|SGD|HKD|ILS"
)
_CURRENCIES = rf"[A-Z]{{1,2}}\$|[{_SIGNS}]|kr\.?|Rs\.?|zł|Kč|Fr\.?|Euro|{_NAMED}"
_CURRENCY = re.compile(_CURRENCIES)
_GAP = r"['\u2019 \u00a0\u2009\u202f]"  # between groups of three digits
# A bound or a guess is read as its number, with a note.
_BOUND = r"<=|>=|[<>≤≥]"
_ABOUT = r"(?:ca|circa|approx|about|around|etwa|env|aprox)\b\.?|c\.|[~≈±]"
_CELL = re.compile(
    rf"(?P<open>\()?\s*(?:(?P<bound>{_BOUND})|(?P<about>{_ABOUT}))?\s*"
    rf"(?P<sign>[+-])?\s*(?P<before>{_CURRENCIES})?\s*(?P<inner>[+-])?"
    rf"(?P<digits>[.,]?\d(?:[\d.,]|{_GAP}(?=\d))*)(?P<power>[eE][+-]?\d+)?"
    r"(?P<whole>(?<=,)--?)?(?P<gap>\s*)"
    rf"(?P<after>[^\W\d_]+(?:[/·.^][^\W\d_]+)*[²³]?\.?(?:\s?(?:[{_SIGNS}%]|{_NAMED}|Euro))?|"
    rf"[%‰°{_SIGNS}][^\W\d_]*(?:/[^\W\d_]+)?)?\s*(?P<behind>[+-])?"
    r"(?P<close>\))?(?P<footnote>\s?(?:\*{1,3}|[†‡]))?"
)
# How digits are grouped. If a column fits several, the first one wins.
_STYLES = {
    "plain": re.compile(rf"\d+(?:\.\d*)?|\.\d+|\d{{1,3}}(?:{_GAP}\d{{3}})+(?:\.\d+)?"),
    "thousands": re.compile(
        r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d+)?"
        r"|\d+(?:\.\d+)?|\.\d+"
    ),
    "comma": re.compile(
        rf"\d+(?:,\d*)?|,\d+|[1-9]\d{{0,2}}(?:(?:\.|{_GAP})\d{{3}})+(?:,\d*)?"
    ),
}
# One group of three digits after a sign: 26.002 is 26 and a bit, or 26 thousand.
_ONE_GROUP = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
_GROUPS = re.compile(r"\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:,\d{2,3})+,\d{3}")

# Words that multiply. With a space before it, a single letter is a unit (300 K).
_SCALES = {
    **dict.fromkeys(("k", "K", "tsd", "Tsd", "thousand", "mil", "mille"), 1e3),
    **dict.fromkeys(
        ("M", "mio", "Mio", "mn", "mln", "Mln", "million", "millones"), 1e6
    ),
    **dict.fromkeys(("MM", "millions", "Millionen", "milhões", "milioni"), 1e6),
    **dict.fromkeys(("B", "bn", "Mrd", "mrd", "mld", "Mld", "Md", "billion"), 1e9),
}
# Units of one quantity, by their size.
_QUANTITIES: tuple[dict[str, float], ...] = (
    {"mg": 1e-3, "g": 1, "kg": 1e3, "t": 1e6, "oz": 28.349523125, "lb": 453.59237}
    | {"lbs": 453.59237},
    {"mm": 1e-3, "cm": 1e-2, "dm": 0.1, "m": 1, "km": 1e3, "in": 0.0254, "ft": 0.3048}
    | {"mi": 1609.344, "yd": 0.9144},
    {"ml": 1e-3, "cl": 1e-2, "dl": 0.1, "l": 1, "hl": 100}
    | {"mL": 1e-3, "cL": 1e-2, "dL": 0.1, "L": 1},
    {"ms": 1e-3, "s": 1, "sec": 1, "sek": 1, "min": 60, "h": 3600, "hr": 3600}
    | {"hrs": 3600, "Std": 3600, "Min": 60, "Sek": 1, "d": 86400},
    {"B": 1, "KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
    {"W": 1, "kW": 1e3, "MW": 1e6, "GW": 1e9},
    {"Wh": 1, "kWh": 1e3, "MWh": 1e6, "GWh": 1e9},
    {"Hz": 1, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    {"Pa": 1, "hPa": 100, "kPa": 1e3, "mbar": 100, "bar": 1e5},
    {"%": 1, "‰": 0.1},
    {"m²": 1, "cm²": 1e-4, "km²": 1e6, "ha": 1e4},
)
_QUANTITY_OF = {unit: sizes for sizes in _QUANTITIES for unit in sizes}


@dataclass
class Numbers:
    """Notation of the numbers of a column.

    Attributes
    ----------
    notation : str
        See this module.
    unread : list of object
        The values that are not such numbers.
    notes : list of str
        What could be read otherwise, without the name of the column.
    """

    notation: str
    unread: list[Any]
    notes: list[str] = field(default_factory=list)


def number_notation(
    values: Sequence[Any], decimal: str = "", likely: str = ""
) -> tuple[str, list[Any]]:
    """Find out how numbers are written.

    Parameters
    ----------
    values : sequence of object
        Different values, none of them missing.
    decimal : {"", ".", ","}, default=""
        The decimal sign, if known.
    likely : {"", ".", ","}, default=""
        The sign that the rest of the file suggests, see :func:`decimal_sign`.

    Returns
    -------
    notation : str
        "plain", "comma" (1.065,5) or "thousands" (1,065.5), and after a space the unit
        or currency next to them.
    unread : list of object
        The values that are no such numbers.
    """
    found = find_numbers(values, decimal, likely)
    return found.notation, found.unread


def find_numbers(
    values: Sequence[Any],
    decimal: str = "",
    likely: str = "",
    sure: bool = False,
    name: str = "",
) -> Numbers:
    """Find the notation of numbers, and what could be read differently.

    Parameters
    ----------
    values : sequence of object
        Different values, none of them missing.
    decimal, likely : {"", ".", ","}, default=""
        See :func:`number_notation`.
    sure : bool, default=False
        Whether other columns prove `likely`, so that no note is needed.
    name : str, default=""
        Name of the column.

    Returns
    -------
    numbers : Numbers
        The notation.
    """
    texts = [v for v in values if isinstance(v, str)]
    python = _plain_numbers(object_array(values)) is not None
    if python and decimal != "," and not _may_be_groups(texts):
        return Numbers("plain", [])
    if python and decimal == ".":
        return Numbers("plain", [])
    cells = {v: _CELL.fullmatch(upright(v)) for v in texts}
    found = {value: cell for value, cell in cells.items() if cell}
    if not found and len(texts) == len(values):
        return Numbers("plain", list(values))
    # If most are bounds (<5, >5), they are classes, not numbers.
    bounds = [v for v, cell in found.items() if cell["bound"] or cell["behind"] == "+"]
    if 2 * len(bounds) > len(values):
        for value in bounds:
            del found[value]
    digits = _digits(found.values())
    style = _style(digits, decimal, likely, sure)
    units, notes = _units(found, values, style)
    if "=" in units and not decimal:
        style = _nearer(style, units, found)
    notation = f"{style} {units}".rstrip() if units.strip() else style
    unread = [v for v in values if not _reads(v, notation)]
    unread += [v for v in bounds if v not in found and v not in unread]
    if not decimal:
        proven = likely if sure else ""
        notes = [*_style_notes(digits, style, proven, name), *notes]
    rough = [v for v, cell in found.items() if _is_rough(cell) and _reads(v, notation)]
    if rough:
        number = f"{read_number(rough[0], notation):g}"
        notes.append(f"{rough[0]!r} and the like are read as {number}")
    return Numbers(notation, unread, notes)


def _digits(cells: Iterable[re.Match[str]]) -> list[str]:
    """Take different digits; whole numbers only with a unit that others have too."""
    found: dict[str, set[str]] = {}
    for cell in cells:
        unit = _scale_and_unit(*_beside(cell))[1]
        found.setdefault(re.sub(_GAP, " ", cell["digits"]), set()).add(unit)
    signed = {u for d, units in found.items() if not d.isdigit() for u in units}
    return [d for d, units in found.items() if not d.isdigit() or units & signed]


def _nearer(style: str, units: str, found: dict[Any, re.Match[str]]) -> str:
    """Group digits so that cells with different units are of similar size."""
    if not all(
        cell["digits"].isdigit() or _ONE_GROUP.fullmatch(cell["digits"])
        for cell in found.values()
    ):
        return style
    point = "thousands" if any("," in cell["digits"] for cell in found.values()) else ""
    spreads = {}
    for one in ("comma", point or "plain"):
        notation = f"{one} {units}"
        numbers = [read_number(v, notation) for v in found if _reads(v, notation)]
        sizes = np.log(np.abs([number for number in numbers if number]))
        spreads[one] = float(np.ptp(sizes)) if sizes.size else np.inf
    return min(spreads, key=lambda one: (spreads[one], one != style))


def _is_rough(cell: re.Match[str]) -> bool:
    marks = cell["about"] or cell["bound"] or cell["footnote"]
    return bool(marks or cell["behind"] == "+")


def _may_be_groups(texts: Iterable[str]) -> bool:
    """Whether every point is followed by a single group of three digits."""
    some = False
    for text in texts:
        if "." in text:
            if not _ONE_GROUP.fullmatch(text.strip()):
                return False
            some = True
    return some


def _style(digits: list[str], decimal: str, likely: str, sure: bool) -> str:
    """Choose how digits are grouped: the style that reads most, or two of them."""
    read = {
        style: {d for d in digits if form.fullmatch(d)}
        for style, form in _STYLES.items()
    }
    allowed = {",": ["comma"], ".": ["plain", "thousands"]}.get(decimal, list(_STYLES))
    best = max(allowed, key=lambda style: len(read[style]))
    if "comma" in allowed and len(allowed) > 1:
        if len(read["comma"]) == len(read[best]) and _prefer_comma(
            digits, likely, sure
        ):
            best = "comma"
    if decimal or len(read[best]) == len(digits):
        return best
    # Half comma, half point: what one style cannot read, the other may.
    other = "thousands" if best == "comma" else "comma"
    if best == "plain" and len(read["thousands"]) == len(read["plain"]):
        best = "thousands"
    return f"{best}|{other}" if read[other] - read[best] else best


def _prefer_comma(digits: list[str], likely: str, sure: bool) -> bool:
    """Whether a column that can be read either way has decimal commas."""
    points = any("." in d for d in digits)
    commas = any("," in d for d in digits)
    if not points and not commas:
        return False
    whole = [d for d in digits if d.isdigit()]
    if sure or not whole or any(len(d) > 3 for d in whole):
        return likely == ","
    # 702 next to 26.002: with decimals, some would have one or two.
    return points


def _style_notes(digits: list[str], style: str, proven: str, name: str) -> list[str]:
    """Note if digits could be grouped differently."""
    if "|" in style:
        return ["some numbers have a decimal comma and others a decimal point"]
    signed = [d for d in digits if not d.isdigit() and not re.search(r"\s", d)]
    if not signed or not all(_ONE_GROUP.fullmatch(d) for d in signed):
        return []
    comma = style == "comma"
    if proven == ("," if comma else "."):
        return []
    example = signed[0]
    groups = ("." in example) == comma
    number = example.replace("." if comma else ",", "").replace(",", ".")
    what = "thousands" if groups else "decimals"
    other = f"{name}={'.' if comma else ','}" if name else "." if comma else ","
    return [
        f"{example!r} and the like are read as {number} ({what}); if that is wrong, "
        f"pass decimal={[other]!r}"
    ]


def _units(
    found: dict[Any, re.Match[str]], values: Sequence[Any], style: str
) -> tuple[str, list[str]]:
    """Choose the units to read, as written in a notation."""
    parts = [_scale_and_unit(*_beside(cell)) for cell in found.values()]
    named = Counter(unit for _, unit in parts if unit)
    if not named:
        return "", []
    unit, _ = named.most_common(1)[0]
    n_values = len(values)
    sizes = _QUANTITY_OF.get(unit)
    if sizes is not None:
        alike = [u for u in named if u in sizes]
        if unit[:1].isalpha() and sum(named[u] for u in alike) < n_values / 2:
            return "", []
        bare = [v for v in values if not isinstance(v, str)]
        bare += [v for v, (_, u) in zip(found, parts, strict=True) if not u]
        return _sized(unit, alike, sizes, bare, style)
    if _CURRENCY.fullmatch(unit):
        money = [u for u in named if _CURRENCY.fullmatch(u)]
        if len(money) > 1 and len({_MONEY.get(u, u) for u in money}) > 1:
            names = ", ".join(money)
            return " ".join(money), [f"amounts in {names} are not converted"]
        return " ".join(money), []
    if unit[:1].isalpha() and named[unit] < n_values / 2:
        return "", []  # 2, 3, 4 and 5more have no unit
    return unit, []


_MONEY = {"€": "EUR", "Euro": "EUR", "$": "USD", "US$": "USD", "£": "GBP", "¥": "JPY"}


def _sized(
    unit: str,
    alike: list[str],
    sizes: dict[str, float],
    bare: list[Any],
    style: str,
) -> tuple[str, list[str]]:
    """Convert units of one quantity to the most frequent one."""
    others = [u for u in alike if u != unit]
    units = [unit, *(f"{u}={sizes[u] / sizes[unit]:.12g}" for u in others)]
    if not bare:
        return " ".join(units), []
    if unit != "%":
        if others:
            return " ".join(units), [f"{bare[0]!r} and the like are taken as {unit}"]
        return " ".join(units), []
    readable = [v for v in bare if _reads(v, style)]
    fractions = all(abs(read_number(v, style)) <= 1 for v in readable)
    if readable and fractions:
        units.append("=100")
        number = f"{100 * read_number(readable[0], style):g}%"
        return " ".join(units), [f"{readable[0]!r} and the like are read as {number}"]
    return " ".join(units), [f"{bare[0]!r} and the like are read as percent"]


def _beside(cell: re.Match[str]) -> tuple[str, str, bool]:
    return cell["before"] or "", cell["after"] or "", bool(cell["gap"])


@lru_cache(maxsize=4096)
def _scale_and_unit(before: str, after: str, spaced: bool) -> tuple[float, str]:
    """Return factor and unit of the text next to a number: $ and M, Mio. €, kg."""
    before, after = before.strip(), after.strip()
    if after in _QUANTITY_OF and not (after == "B" and before):
        return 1.0, before or after
    name = after.rstrip(".")
    money = re.fullmatch(rf"(.*?)\.?\s?([{_SIGNS}]|Euro|{_NAMED})", after)
    if money and money[1] in _SCALES:
        return _SCALES[money[1]], money[2]
    if name in _SCALES and (len(name) > 1 or before or not spaced):
        return _SCALES[name], before
    return 1.0, before or (name if name in _QUANTITY_OF else after)


def upright(text: str) -> str:
    """Replace typographic minus signs by hyphens."""
    return text.strip().translate({0x2212: "-", 0x2012: "-", 0x2013: "-"})


def _plain_numbers(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """Read numbers as Python does, all at once; None if some are not numbers."""
    try:
        numbers = values.astype(np.float64)
    except UNREADABLE:
        return None
    if any(isinstance(v, str) and "_" in v for v in values):
        return None  # Python reads 1_000, nobody else does
    if any(isinstance(v, _NO_NUMBERS) for v in values[:1]):
        return None
    return numbers


_NO_NUMBERS = (np.datetime64, np.timedelta64, datetime, date, time, timedelta)


def _reads(value: Any, notation: str) -> bool:
    try:
        read_number(value, notation)
    except UNREADABLE:
        return False
    return True


@lru_cache(maxsize=1024)
def _parsed(notation: str) -> tuple[tuple[str, ...], dict[str, float]]:
    """Return the styles and units of a notation."""
    style, _, rest = notation.partition(" ")
    units = {"": 1.0}
    for word in rest.split():
        unit, _, factor = word.rpartition("=") if "=" in word else (word, "", "1")
        units[unit] = float(factor)
    return tuple(style.split("|")), units


def unit_of(notation: str) -> str:
    """Name the unit of the numbers that a notation reads; seconds for durations."""
    if notation.startswith(DURATION):
        return "s"
    units = [word for word in notation.split()[1:] if "=" not in word]
    return " ".join(units)


def read_number(value: Any, notation: str) -> float:
    """Read one number; raise an error if there is none."""
    if isinstance(value, _NO_NUMBERS):
        raise TypeError("a date is not a number")
    styles, units = _parsed(notation)
    if not isinstance(value, str):
        return float(value) * units[""]
    if styles[0] == "plain" and "_" not in value and units[""] == 1:
        try:
            return float(value)
        except ValueError:
            pass
    cell = _CELL.fullmatch(upright(value))
    if cell is None or bool(cell["open"]) != bool(cell["close"]):
        raise ValueError(value)
    scale, unit = _scale_and_unit(*_beside(cell))
    digits = cell["digits"]
    style = next((s for s in styles if _STYLES[s].fullmatch(digits)), None)
    if style is None or unit not in units:
        raise ValueError(value)
    digits = re.sub(_GAP, "", digits)
    if style == "thousands":
        digits = digits.replace(",", "")
    elif style == "comma":
        digits = digits.replace(".", "").replace(",", ".")
    number = float(digits + (cell["power"] or "")) * scale * units[unit]
    signs = (cell["sign"] or "") + (cell["inner"] or "") + (cell["behind"] or "")
    return -number if "-" in signs or cell["open"] else number


def to_numbers(values: NDArray[Any], notation: str) -> NDArray[np.float64]:
    """Read a column of numbers.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        The column.
    notation : str
        See :func:`number_notation`.

    Returns
    -------
    numbers : ndarray of shape (n_rows,)
        NaN for missing and unreadable cells, and for infinities and numbers whose
        squares would overflow.
    """
    if notation.startswith(DURATION):
        return read_all(values, lambda v: read_duration(v, notation))
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
    else:
        present = ~missing_mask(values)
        quick = _plain_numbers(values[present]) if notation == "plain" else None
        if quick is None:
            numbers = read_all(values, lambda v: read_number(v, notation))
        else:
            numbers = np.full(values.size, np.nan)
            numbers[present] = quick
    with np.errstate(invalid="ignore"):
        numbers[~(np.abs(numbers) <= LARGEST)] = np.nan
    return numbers


# Cells per column checked to find the decimal sign of a file.
_LOOKED_AT = 200
_MIXED = 0.1
_COMMA_MONEY = frozenset({"€", "EUR", "Euro", "kr", "kr.", "zł", "Kč", "R$", "₽", "₺"})
_POINT_MONEY = frozenset({"$", "£", "₹", "USD", "GBP", "US$", "A$", "C$"})


def decimal_sign(
    columns: Iterable[NDArray[Any]], delimiter: str = ""
) -> tuple[str, bool]:
    """Find the decimal sign that a whole file suggests.

    Parameters
    ----------
    columns : iterable of ndarray
        The columns.
    delimiter : str, default=""
        What separates the fields of the file.

    Returns
    -------
    sign : {"", ".", ","}
        The sign of most columns; if none shows one, the sign that goes with the
        delimiter and the currencies.
    sure : bool
        Whether a column proves it, such as one with 0,5.
    """
    proofs: Counter[str] = Counter()
    hints: Counter[str] = Counter({{";": ",", ",": "."}.get(delimiter, ""): 1})
    for values in columns:
        if values.dtype.kind != "O":
            continue
        seen: Counter[str] = Counter()
        step = max(1, values.size // _LOOKED_AT)
        looked_at = values[::step][:_LOOKED_AT]
        hints[","] += foreign_months(list(looked_at[:25]))
        for value in looked_at:
            if not isinstance(value, str) or not (
                cell := _CELL.fullmatch(upright(value))
            ):
                continue
            if any(form.fullmatch(cell["digits"]) for form in _STYLES.values()):
                seen[_proof(cell["digits"])] += 1
            money = (cell["before"] or cell["after"] or "").strip()
            hints[","] += money in _COMMA_MONEY
            hints["."] += money in _POINT_MONEY
        few, many = sorted((seen[","], seen["."]))
        if few < _MIXED * many:  # a column with both signs proves nothing
            proofs["," if seen[","] > seen["."] else "."] += 1
    for votes in (proofs, hints):
        if votes[","] != votes["."]:
            return "," if votes[","] > votes["."] else ".", votes is proofs
    return "", False


def _proof(digits: str) -> str:
    """Return the decimal sign that a number shows; empty if none."""
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma < 0 and point < 0:
        return ""
    if comma >= 0 and point >= 0:
        return "," if comma > point else "."
    if _GROUPS.fullmatch(digits):
        return "," if point >= 0 else "."
    sign = "," if comma >= 0 else "."
    if digits.count(sign) > 1 or _ONE_GROUP.fullmatch(digits):
        return ""
    return sign
