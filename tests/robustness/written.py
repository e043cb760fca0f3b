"""Columns whose values are known, written as people of ten countries do."""

# SPDX-License-Identifier: BSD-3-Clause

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Country:
    """How people of a country write."""

    decimal: str
    group: str
    money: str
    dates: tuple[str, ...]
    months: tuple[str, ...]
    percent: str = "{}%"
    time: str = "%H:%M"
    holes: tuple[str, ...] = ("", "NA", "-")
    encodings: tuple[str, ...] = ("utf-8", "utf-8-sig")
    yes_no: tuple[str, str] = ("yes", "no")


def _months(text):
    return tuple(text.split())


ENGLISH = _months(
    "January February March April May June "
    "July August September October November December"
)
COUNTRIES = {
    "US": Country(
        ".",
        ",",
        "${}",
        ("%m/%d/%Y", "%B %d, %Y", "%b %d, %Y"),
        ENGLISH,
        time="%I:%M %p",
    ),
    "UK": Country(
        ".",
        ",",
        "£{}",
        ("%d/%m/%Y", "%d %B %Y", "%d-%b-%y"),
        ENGLISH,
        holes=("", "n/a", "?"),
    ),
    "DE": Country(
        ",",
        ".",
        "{} €",
        ("%d.%m.%Y", "%d. %B %Y", "%d.%m.%y"),
        _months(
            "Januar Februar März April Mai Juni "
            "Juli August September Oktober November Dezember"
        ),
        "{} %",
        holes=("", "k.A.", "-", "–"),
        encodings=("utf-8", "cp1252"),
        yes_no=("ja", "nein"),
    ),
    "FR": Country(
        ",",
        "\u202f",
        "{} €",
        ("%d/%m/%Y", "%d %B %Y"),
        _months(
            "janvier février mars avril mai juin "
            "juillet août septembre octobre novembre décembre"
        ),
        "{} %",
        time="%Hh%M",
        yes_no=("oui", "non"),
    ),
    "CH": Country(
        ".",
        "'",
        "CHF {}",
        ("%d.%m.%Y",),
        ENGLISH,
        encodings=("utf-8", "cp1252"),
        yes_no=("ja", "nein"),
    ),
    "IT": Country(
        ",",
        ".",
        "€ {}",
        ("%d/%m/%Y", "%d %B %Y"),
        _months(
            "gennaio febbraio marzo aprile maggio giugno "
            "luglio agosto settembre ottobre novembre dicembre"
        ),
        yes_no=("sì", "no"),
    ),
    "ES": Country(
        ",",
        ".",
        "{} €",
        ("%d/%m/%Y", "%d de %B de %Y"),
        _months(
            "enero febrero marzo abril mayo junio "
            "julio agosto septiembre octubre noviembre diciembre"
        ),
        "{} %",
        holes=("", "s/d", "-"),
        yes_no=("sí", "no"),
    ),
    "NL": Country(
        ",",
        ".",
        "€ {}",
        ("%d-%m-%Y", "%d %B %Y"),
        _months(
            "januari februari maart april mei juni "
            "juli augustus september oktober november december"
        ),
        holes=("", "n.v.t.", "-"),
        yes_no=("ja", "nee"),
    ),
    "BR": Country(
        ",",
        ".",
        "R$ {}",
        ("%d/%m/%Y", "%d de %B de %Y"),
        _months(
            "janeiro fevereiro março abril maio junho "
            "julho agosto setembro outubro novembro dezembro"
        ),
        yes_no=("sim", "não"),
    ),
    "SE": Country(
        ",", "\u00a0", "{} kr", ("%Y-%m-%d",), ENGLISH, "{} %", yes_no=("ja", "nej")
    ),
    "IN": Country(".", "lakh", "₹{}", ("%d-%m-%Y", "%d %b %Y"), ENGLISH),
}


@dataclass
class Column:
    """A column: its values, None where there is none, and its cells as written."""

    name: str
    kind: str
    values: list[Any]
    cells: list[Any] = field(default_factory=list)


def write_number(value, country, decimals, grouped):
    """A number in the notation of a country, with a fixed number of decimals."""
    whole, _, rest = f"{abs(value):.{decimals}f}".partition(".")
    if grouped and country.group == "lakh":
        head, tail = whole[:-3], whole[-3:]
        parts = []
        while len(head) > 2:
            parts.insert(0, head[-2:])
            head = head[:-2]
        whole = ",".join([*([head] if head else []), *parts, tail])
    elif grouped:
        whole = f"{int(whole):,}".replace(",", country.group)
    sign = "-" if value < 0 and (value <= -0.5 * 10**-decimals) else ""
    return sign + (f"{whole}{country.decimal}{rest}" if rest else whole)


# Every maker takes a generator, a country and a number of rows, and makes a column of
# which all values are known.


def _holes(rng, values, cells, marks):
    share = rng.choice([0.0, 0.0, 0.1, 0.2])
    for row in range(len(values)):
        if rng.random() < share:
            values[row], cells[row] = None, str(rng.choice(marks))
    return values, cells


def number_column(name, rng, country, values, decimals, form="{}", grouped=None):
    grouped = bool(rng.random() < 0.6) if grouped is None else grouped
    values = [round(float(v), decimals) for v in values]
    cells = [form.format(write_number(v, country, decimals, grouped)) for v in values]
    return Column(name, "number", *_holes(rng, values, cells, country.holes))


def amounts(rng, country, n):
    return number_column(
        "amount", rng, country, rng.lognormal(7, 1.5, n), int(rng.integers(0, 3))
    )


def heights(rng, country, n):
    return number_column(
        "height", rng, country, rng.normal(1.7, 0.5, n), int(rng.integers(1, 5))
    )


def changes(rng, country, n):
    column = number_column("change", rng, country, rng.normal(0, 300, n), 2)
    style = rng.choice(["-", "(", "behind", "\u2212"])
    for row, cell in enumerate(column.cells):
        if column.values[row] is not None and cell.startswith("-"):
            column.cells[row] = {
                "-": cell,
                "(": f"({cell[1:]})",
                "behind": f"{cell[1:]}-",
                "\u2212": f"\u2212{cell[1:]}",
            }[str(style)]
    return column


def money(rng, country, n):
    return number_column(
        "price", rng, country, rng.lognormal(5, 1.5, n), 2, country.money
    )


def shares(rng, country, n):
    column = number_column(
        "share", rng, country, rng.uniform(1.5, 99, n), 1, country.percent
    )
    if rng.random() < 0.3:
        for row in rng.choice(n, n // 4, replace=False):
            value = column.values[row]
            if value is not None:
                column.cells[row] = write_number(value / 100, country, 3, False)
    return column


def weights(rng, country, n):
    grams = np.round(rng.uniform(20, 3000, n))
    cells = []
    for g in grams:
        kilos = g >= 1000
        cells.append(
            write_number(g / 1000, country, 3, False) + " kg"
            if kilos
            else f"{int(g)} g"
        )
    if np.mean(grams >= 1000) > 0.5:
        grams = grams / 1000
    if np.mean(grams >= 1000) == 0.5:
        return amounts(rng, country, n)
    values, cells = _holes(rng, list(map(float, grams)), cells, country.holes)
    n_kilos = sum(
        c.endswith("kg") for c, v in zip(cells, values, strict=True) if v is not None
    )
    n_grams = sum(
        c.endswith(" g") for c, v in zip(cells, values, strict=True) if v is not None
    )
    base = 1000 if (grams.max() <= 3) == (n_kilos < n_grams) else 1
    if n_kilos == n_grams:
        return amounts(rng, country, n)
    if base == 1000:  # holes changed the most frequent unit
        values = [
            None if v is None else v * (1000 if grams.max() <= 3 else 0.001)
            for v in values
        ]
    return Column("weight", "number", values, cells)


def sentinel(rng, country, n):
    mark = str(rng.choice(["-999", "-99", "999999"]))
    column = number_column("score", rng, country, rng.integers(0, 90, n), 0)
    column.cells = [
        c if v is not None else ""
        for c, v in zip(column.cells, column.values, strict=True)
    ]
    for row in rng.choice(n, max(2, n // 8), replace=False):
        column.values[row], column.cells[row] = None, mark
    return column


def roughly(rng, country, n):
    column = number_column("guests", rng, country, rng.integers(3, 400, n), 0)
    for row in rng.choice(n, n // 6, replace=False):
        if column.values[row] is not None:
            column.cells[row] = str(rng.choice(["ca. ", "~", "<"])) + column.cells[row]
    return column


def scaled(rng, country, n):
    values = rng.lognormal(10, 2, n)
    known, cells = [], []
    for v in values:
        size, word = (1e6, "M") if v >= 1e6 else (1e3, "k") if v >= 1e3 else (1, "")
        part = round(v / size, 1)
        known.append(round(part * size, 3))
        cells.append(write_number(part, country, 1, False) + word)
    return Column("views", "number", *_holes(rng, known, cells, country.holes))


def _day(rng, low, high):
    return low + dt.timedelta(days=int(rng.integers(0, (high - low).days)))


def _written(day, form, country):
    month = country.months[day.month - 1]
    text = form.replace("%B", month).replace(
        "%b", month[:3] if country.months is ENGLISH else month
    )
    return day.strftime(text)


def dates(rng, country, n):
    form = str(rng.choice(country.dates))
    days = [_day(rng, dt.date(1995, 1, 1), dt.date(2024, 12, 31)) for _ in range(n)]
    cells = [_written(day, form, country) for day in days]
    return Column(
        "date", "date", *_holes(rng, [_seconds(d) for d in days], cells, country.holes)
    )


def births(rng, country, n):
    form = (
        str(rng.choice(country.dates)).replace("%Y", "%y")
        if country.decimal == ","
        else country.dates[0]
    )
    days = [_day(rng, dt.date(1935, 1, 1), dt.date(2010, 12, 31)) for _ in range(n)]
    if "%y" in form and ("%B" in form or form.startswith("%y")):
        form = country.dates[0]
    cells = [_written(day, form, country) for day in days]
    return Column(
        "birthday",
        "date",
        *_holes(rng, [_seconds(d) for d in days], cells, country.holes),
    )


def moments(rng, country, n):
    form = country.dates[0] + " %H:%M"
    when = [
        dt.datetime(2015, 1, 1) + dt.timedelta(minutes=int(m))
        for m in rng.integers(0, 4_000_000, n)
    ]
    return Column(
        "moment",
        "date",
        *_holes(
            rng,
            [_seconds(w) for w in when],
            [w.strftime(form) for w in when],
            country.holes,
        ),
    )


def _seconds(day):
    if not isinstance(day, dt.datetime):
        day = dt.datetime(day.year, day.month, day.day)
    return day.replace(tzinfo=dt.UTC).timestamp()


def times(rng, country, n):
    minutes = rng.integers(6 * 60, 24 * 60, n)
    cells = [dt.time(int(m) // 60, int(m) % 60).strftime(country.time) for m in minutes]
    return Column(
        "start",
        "time",
        *_holes(rng, [60.0 * int(m) for m in minutes], cells, country.holes),
    )


def durations(rng, country, n):
    minutes = [int(m) for m in rng.integers(5, 400, n)]
    minutes[0], minutes[1] = 45, 125
    cells = [f"{m // 60}h {m % 60}m" if m >= 60 else f"{m}m" for m in minutes]
    if rng.random() < 0.5:
        cells = [f"{m // 60}:{m % 60:02d}:00" for m in minutes]
    return Column(
        "duration",
        "number",
        *_holes(rng, [60.0 * m for m in minutes], cells, country.holes),
    )


def answers(rng, country, n):
    words = [str(w) for w in rng.choice(country.yes_no, n)]
    words[:2] = country.yes_no
    values = list(words)
    cells = [str(rng.choice([w, w.capitalize(), w.upper()])) for w in words]
    return Column("answer", "category", *_holes(rng, values, cells, ("", "NA")))


TOWNS = ("Zürich", "Malmö", "São Paulo", "Orléans", "Köln", "León", "Utrecht", "Leeds")


def towns(rng, country, n):
    words = [str(w) for w in rng.choice(TOWNS, n)]
    return Column("town", "category", *_holes(rng, list(words), words, ("", "NA")))


def tags(rng, country, n):
    pool = ("red", "round", "new", "cheap", "large")
    values = [
        sorted(map(str, rng.choice(pool, int(rng.integers(1, 4)), replace=False)))
        for _ in range(n)
    ]
    sign = str(rng.choice([";", "|"]))
    return Column("tags", "tags", values, [sign.join(v) for v in values])


def pressures(rng, country, n):
    values = [
        (float(a), float(b))
        for a, b in zip(rng.integers(95, 190, n), rng.integers(50, 95, n), strict=True)
    ]
    return Column("pressure", "vector", values, [f"{a:.0f}/{b:.0f}" for a, b in values])


def places(rng, country, n):
    values = [
        (round(float(a), 4), round(float(b), 4))
        for a, b in zip(rng.uniform(35, 60, n), rng.uniform(-9, 25, n), strict=True)
    ]
    return Column("place", "vector", values, [f"{a:.4f}, {b:.4f}" for a, b in values])


def phones(rng, country, n):
    cells = [
        f"+{rng.integers(30, 50)} {rng.integers(10, 999)} {rng.integers(10**5, 10**7)}"
        for _ in range(n)
    ]
    return Column("phone", "identifier", cells, list(cells))


def remarks(rng, country, n):
    pool = "the parcel came late and was broken, we like another one; Grüße".split()
    cells = [
        " ".join(map(str, rng.choice(pool, int(rng.integers(6, 15))))) + f" {k}"
        for k in range(n)
    ]
    return Column("remark", "text", list(cells), cells)


def trimmed(rng, country, n):
    """Decimals without zeros at their end, as spreadsheets show them."""
    values = [round(float(v), 2) for v in rng.uniform(0, 400, n)]
    cells = [
        write_number(v, country, len(f"{v:g}".partition(".")[2]), False) for v in values
    ]
    return Column("ratio", "number", *_holes(rng, values, cells, country.holes))


def halves(rng, country, n):
    """Some with a decimal comma and some with a point."""
    values = [round(float(v), 2) for v in rng.uniform(0, 40, n)]
    cells = [f"{v:.2f}".replace(".", str(rng.choice([",", "."]))) for v in values]
    return Column("hours", "number", values, cells)


def millions(rng, country, n):
    values = [round(float(v), 1) for v in rng.lognormal(2, 1, n)]
    word = str(rng.choice(["Mio", "Mio.", "mln", "million"]))
    cells = [f"{write_number(v, country, 1, False)} {word}" for v in values]
    return Column("budget", "number", [round(v * 1e6, 1) for v in values], cells)


def several_dates(rng, country, n):
    """Two ways to write dates, of one order of day and month."""
    days = [_day(rng, dt.date(1999, 1, 1), dt.date(2023, 12, 31)) for _ in range(n)]
    first = "%m/%d/%Y" if country.dates[0].startswith("%m") else "%d/%m/%Y"
    forms = [first, first.replace("/", "-").replace("%Y", "%y")]
    cells = [day.strftime(forms[k % 3 == 0]) for k, day in enumerate(days)]
    return Column("visited", "date", [_seconds(d) for d in days], cells)


def weekdays(rng, country, n):
    days = [_day(rng, dt.date(2010, 1, 1), dt.date(2024, 12, 31)) for _ in range(n)]
    cells = [day.strftime("%A, %d %B %Y") for day in days]
    return Column(
        "weekday",
        "date",
        *_holes(rng, [_seconds(d) for d in days], cells, country.holes),
    )


def due(rng, country, n):
    days = [_day(rng, dt.date(2022, 1, 1), dt.date(2035, 12, 31)) for _ in range(n)]
    form = "%m/%d/%y" if country.dates[0].startswith("%m") else "%d.%m.%y"
    return Column(
        "due", "date", [_seconds(d) for d in days], [d.strftime(form) for d in days]
    )


def no_dates(rng, country, n):
    """Dates of which some are the ends of a calendar."""
    column = dates(rng, country, n)
    form = country.dates[0]
    days = [_day(rng, dt.date(2001, 1, 1), dt.date(2024, 12, 31)) for _ in range(n)]
    column.name, column.values = "left on", [_seconds(d) for d in days]
    column.cells = [d.strftime(form) for d in days]
    mark = dt.date(1900, 1, 1) if rng.random() < 0.5 else dt.date(9999, 12, 31)
    for row in rng.choice(n, 3, replace=False):
        column.values[row], column.cells[row] = None, mark.strftime(form)
    return column


def songs(rng, country, n):
    seconds = [int(s) for s in rng.integers(61, 3500, n)]
    seconds[0] = 59 * 60 + 59
    cells = [f"{s // 60}:{s % 60:02d}" for s in seconds]
    return Column("track length", "number", [float(s) for s in seconds], cells)


def objects(rng, country, n):
    values = [
        {"a": int(a), "b": str(b)}
        for a, b in zip(rng.integers(0, 9, n), rng.choice(["x", "y"], n), strict=True)
    ]
    return Column("details", "fields", values, [json.dumps(v) for v in values])


def keys(rng, country, n):
    signs = list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
    cells = ["".join(rng.choice(signs, 34)) for _ in range(n)]
    return Column("comment", "identifier", cells, list(cells))


def accounts(rng, country, n):
    cells = [
        f"DE{rng.integers(10, 99)} {rng.integers(10**17, 10**18)}" for _ in range(n)
    ]
    return Column("account", "identifier", cells, list(cells))


def currencies(rng, country, n):
    values = [round(float(v), 2) for v in rng.lognormal(5, 1, n)]
    forms = rng.choice(["{} €", "${}", "£{}"], n)
    cells = [
        str(f).format(write_number(v, country, 2, False))
        for f, v in zip(forms, values, strict=True)
    ]
    return Column("paid", "number", values, cells)


MAKERS = (
    *(amounts, amounts, heights, changes, money, shares, weights, sentinel, roughly),
    *(scaled, dates, dates, births, moments, times, durations, answers, towns, tags),
    *(pressures, places, phones, remarks, trimmed, halves, millions, several_dates),
    *(weekdays, due, no_dates, songs, objects, keys, accounts, currencies),
)
