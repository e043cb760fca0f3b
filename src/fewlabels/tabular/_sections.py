"""Sections that several reports share: what was read, a map of the rows, warnings."""

# SPDX-License-Identifier: BSD-3-Clause

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import plural
from fewlabels.preprocessing import ColumnDescription, Table
from fewlabels.preprocessing.cells import text_of
from fewlabels.tabular._candidates import Method
from fewlabels.tabular._models import versions
from fewlabels.tabular._page import grid, section
from fewlabels.tabular._pictures import (
    REST,
    SHADES,
    intervals,
    legend,
    map_rows,
    positions,
    scatter,
    shade,
    shortened,
)
from fewlabels.tabular._thumbnails import thumbnail
from fewlabels.tabular.telling import examples_of, kind_of


def columns_section(columns: Sequence[ColumnDescription]) -> str:
    """Describe the columns that were read.

    Parameters
    ----------
    columns : sequence of ColumnDescription
        The columns.

    Returns
    -------
    html : str
        A section.
    """
    kinds = Counter(column.kind for column in columns)
    words = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    shown = sorted(columns, key=lambda column: not column.is_used)[:60]
    rows = [
        (
            shortened(column.name, 60),
            kind_of(column) if column.is_used else f"{column.kind}, left out",
            column.n_missing,
            column.n_distinct,
            "; ".join(examples_of(column)),
            column.reason,
        )
        for column in shown
    ]
    more = len(columns) - len(shown)
    rest = f'<p class="quiet">and {more:,} more</p>' if more else ""
    described = grid(
        ("column", "taken as", "missing", "different", "examples", "because"),
        rows,
        [not column.is_used for column in shown],
    )
    return section(
        "What was read",
        f"<p>{plural(len(columns), 'column')}: {escape(words)}.</p>{described}{rest}",
    )


def map_section(
    table: Table,
    features: Any,
    groups: Sequence[str],
    confidence: NDArray[Any] | None,
    given: NDArray[np.bool_] | None,
    colors: dict[str, str],
    random_state: int,
) -> str:
    """Draw the rows on a plane, by label and by confidence.

    Parameters
    ----------
    table : Table
        The table.
    features : {ndarray, csr_array} of shape (n_rows, n_features)
        The rows.
    groups : sequence of str
        Label or cluster of every row.
    confidence : ndarray of shape (n_rows,) or None
        Its confidence.
    given : ndarray of bool of shape (n_rows,) or None
        Which rows came with a label.
    colours : dict of str to str
        Of the labels.
    random_state : int
        Seed of the map.

    Returns
    -------
    html : str
        A section.
    """
    what = "cluster" if confidence is None else "label"
    n_rows = features.shape[0]
    if n_rows < 3:
        return ""
    rows = map_rows(n_rows, given, random_state)
    plane, method = positions(features[rows], random_state)
    names = [groups[row] for row in rows]
    rings = None if given is None else given[rows]
    titles = []
    for row, name in zip(rows, names, strict=True):
        sure = ""
        if given is not None and given[row]:
            sure = " (given)"
        elif confidence is not None:
            sure = f" ({confidence[row]:.2f})"
        titles.append(f"row {table.row_numbers[row]}: {name}{sure}")
    shown = f"{rows.size:,} of {n_rows:,} rows" if rows.size < n_rows else "all rows"
    ring_note = " Rings: labels that were given." if given is not None else ""
    entries = [(c, shortened(n, 40)) for n, c in colors.items() if c != REST]
    if REST in colors.values():
        entries.append((REST, "other"))
    first = (
        f"<figure><h3>by {what}</h3>"
        + scatter(
            plane,
            [colors.get(name, REST) for name in names],
            titles,
            rings,
            f"Map of the rows by {what}",
        )
        + legend(entries)
        + "</figure>"
    )
    second = ""
    if confidence is not None:
        width = 1 / len(SHADES)
        steps = [
            (c, f"{k * width:.1f} to {(k + 1) * width:.1f}")
            for k, c in enumerate(SHADES)
        ]
        second = (
            "<figure><h3>by confidence</h3>"
            + scatter(
                plane,
                [shade(confidence[row]) for row in rows],
                titles,
                rings,
                "Map of the rows by confidence",
            )
            + legend(steps)
            + "</figure>"
        )
    caption = f"Every dot is a row ({shown}), placed by {method}.{ring_note}"
    return section(
        "Map of the rows",
        f'<div class="pair">{first}{second}</div>'
        f'<p class="quiet">{escape(caption)} Point at a dot to see its row.</p>',
    )


def methods_section(methods: Sequence[Method], explanation: str) -> str:
    """Compare the method with the baseline and the candidates.

    Parameters
    ----------
    methods : sequence of Method
        See :func:`compared_methods`.
    explanation : str
        The classifier's own description.

    Returns
    -------
    html : str
        A section.
    """
    rows = [
        (
            method.name,
            str(method.error),
            method.measured,
            "" if np.isnan(method.weight) else f"{100 * method.weight:.0f} %",
        )
        for method in methods
    ]
    figures = grid(
        ("method", "error (90 % interval)", "measured by", "weight"), rows, cards=True
    )
    words = "".join(f"<p>{escape(line)}</p>" for line in explanation.splitlines())
    return section(
        "How the labels were found, and how good they are",
        f"{words}{intervals(methods)}{figures}"
        '<p class="quiet">The errors of the first two are cross-validated, including '
        "the choice of kernels. The others are the kernel of largest weight of each "
        "kind, with one label left out at a time; as they were chosen by the same "
        "labels, their errors are a little too low.</p>",
    )


def rows_grid(
    table: Table,
    rows: NDArray[np.intp],
    before: Mapping[str, Sequence[Any]],
    columns: Sequence[str],
    length: int = 60,
    picture: str | None = None,
) -> str:
    """Show some rows of a table.

    Parameters
    ----------
    table : Table
        The table.
    rows : ndarray of int
        Which rows.
    before : dict of str to sequence
        Columns before their values, one entry per row.
    columns : sequence of str
        Which columns.
    length : int, default=60
        Where to cut values.
    picture : str, default=None
        Column of pictures, which are shown.

    Returns
    -------
    html : str
        A table.
    """
    shown = [name for name in columns if name not in table.derived][:6]
    head = ["row", *before, *(shortened(name, 30) for name in shown)]
    lines = []
    for k, row in enumerate(rows.tolist()):
        cells = [
            thumbnail(table, name, row)
            if name == picture
            else shortened(text_of(table[name][row]), length)
            for name in shown
        ]
        number = table.row_numbers[row]
        lines.append([number, *(values[k] for values in before.values()), *cells])
    return grid(head, lines, cards=True)


def telling(columns: Sequence[ColumnDescription]) -> list[str]:
    """Return the columns that help a person recognise a row: names, then features."""
    names = [column.name for column in columns if column.kind == "identifier"]
    return names[:1] + [column.name for column in columns if column.is_used]


def notes_section(notes: Sequence[str]) -> str:
    """List warnings.

    Parameters
    ----------
    notes : sequence of str
        Sentences.

    Returns
    -------
    html : str
        A section.
    """
    if not notes:
        return section("Warnings", "<p>None.</p>")
    lines = "".join(f'<p class="note">{escape(note)}</p>' for note in notes)
    return section("Warnings", lines)


def reproduce_section(command: str, random_state: Any) -> str:
    """Show how to get the same result again.

    Parameters
    ----------
    command : str
        The command line, or the call.
    random_state : object
        The seed.

    Returns
    -------
    html : str
        A section.
    """
    made = ", ".join(f"{name} {version}" for name, version in versions().items())
    return section(
        "How to reproduce this",
        f"<pre>{escape(command)}</pre><p class='quiet'>Seed {escape(str(random_state))}"
        f"; {escape(made)}.</p>",
    )
