"""Detect what columns hold: numbers, categories, dates, text, or nothing."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fewlabels.preprocessing._description import ColumnDescription
from fewlabels.preprocessing._errors import TableError, unknown_column
from fewlabels.preprocessing._guessing import describe
from fewlabels.preprocessing._missing import decimal_signs, without_values
from fewlabels.preprocessing._pictures import find_pictures
from fewlabels.preprocessing._table import Table

# Kind of the columns that each parameter names.
_KINDS = {
    "numeric": "number",
    "date": "date",
    "categorical": "category",
    "text": "text",
    "ignore": "ignored",
}


def named_kinds(table: Table, **parameters: Any) -> dict[str, str]:
    """Find the columns whose kind is given.

    Parameters
    ----------
    table : Table
        The table.
    **parameters : dict
        Names by kind, as for :func:`describe_columns`; other parameters of
        :class:`TableTransformer` do not matter.

    Returns
    -------
    kinds : dict of str to str
        Kinds by name, with the format of dates: ``"date=%d.%m.%y"``.

    Raises
    ------
    UnknownColumnError
        If there is no such column.
    TableError
        If a column is given two kinds.

    Examples
    --------
    >>> from fewlabels.preprocessing import named_kinds
    >>> from fewlabels.tabular import Table
    >>> named_kinds(Table.from_frame({"born": ["1.2.99"]}), date=["born=%d.%m.%y"])
    {'born': 'date=%d.%m.%y'}
    """
    given: dict[str, str] = {}
    roles: dict[str, str] = {}
    for role, kind in _KINDS.items():
        for name in parameters.get(role, ()):
            form = ""
            if kind == "date" and name not in table.names and "=" in name:
                name, _, form = name.partition("=")
            if name not in table.names:
                raise unknown_column(name, table.names, role)
            if roles.setdefault(name, role) != role:
                raise TableError(
                    f"Column {name!r} can have only one kind (given as {roles[name]} "
                    f"and {role})."
                )
            given[name] = f"{kind}={form}" if form else kind
    return given


def describe_columns(
    X: Any,
    *,
    ignore: Sequence[str] = (),
    text: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    date: Sequence[str] = (),
    decimal: Any = (),
    missing: Any = (),
) -> list[ColumnDescription]:
    """Detect the kind of every column of a table.

    Columns of text are numbers or dates where nine in ten values read as such; the odd
    ones are taken as missing, with a note. Signs that people write where there is no
    number ("?", "-", "n.d.") do not count. Lists of numbers of one length are vectors,
    and names of existing files that are pictures, or data URIs, are pictures. Among the
    others, those with three words or more on average that hardly repeat are
    free text, and so are shorter ones that are nearly all different but share words;
    other values that are nearly all different name the rows, and the rest are
    categories. Whole numbers name the rows where they count them, where they never
    repeat though chance would repeat them, or where they are nearly all different in a
    column that is called an id. Digits of one length, five or more, with zeros in front
    are codes and no numbers.

    Parameters
    ----------
    X : Table, DataFrame of pandas or polars, dict or array-like
        The table.
    ignore, text, categorical, numeric : sequence of str, default=()
        Columns whose kind is known; everything else is guessed.
    date : sequence of str, default=()
        Columns of dates, each optionally with a format of :func:`time.strptime`, as in
        ``"born=%d.%m.%y"``.
    decimal : str or sequence of str, default=()
        The decimal sign, "," or "."; for a single column ``"rent=,"``. By default it is
        detected for every column, with the help of the others.
    missing : sequence of str or number, default=()
        Values that mean missing, in all columns or in one: ``"age=-1"``.

    Returns
    -------
    columns : list of ColumnDescription
        One per column, in order.

    Examples
    --------
    >>> from fewlabels.preprocessing import describe_columns
    >>> for column in describe_columns(
    ...     {"no": [1, 2, 3], "size": [1.5, 2.5, None], "colour": ["r", "g", "r"]}
    ... ):
    ...     print(column.name, column.kind)
    no identifier
    size number
    colour category
    """
    table = Table.from_frame(X)
    kinds = named_kinds(
        table,
        ignore=ignore,
        text=text,
        categorical=categorical,
        numeric=numeric,
        date=date,
    )
    signs = decimal_signs(decimal, table.names)
    likely, sure = table.decimal_sign()
    given = dict.fromkeys(table.categorical, "category")
    given |= dict.fromkeys(table.identifiers, "identifier")
    given |= dict.fromkeys(table.texts, "text") | kinds
    pictures, doubts = find_pictures(table, [n for n in table.names if n not in given])
    given |= dict.fromkeys(pictures, "picture")
    table = without_values(table, missing)
    columns = [
        describe(
            name,
            values,
            given.get(name),
            signs.get(name, signs.get(None, "")),
            likely,
            sure,
        )
        for name, values in zip(table.names, table.columns, strict=True)
    ]
    return [
        replace(c, note=" ".join(filter(None, [c.note, doubts.get(c.name)])))
        for c in columns
    ]
