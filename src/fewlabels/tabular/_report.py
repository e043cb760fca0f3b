"""One page that tells what was done to a table, and what it is worth."""

# SPDX-License-Identifier: BSD-3-Clause

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import plural
from fewlabels.preprocessing import ColumnDescription, Table, TableError
from fewlabels.preprocessing.cells import text_of
from fewlabels.tabular._candidates import Method, compared_methods
from fewlabels.tabular._findings import (
    classes_section,
    doubts_section,
    effects_section,
    sure_section,
    table_effects,
)
from fewlabels.tabular._models import TableModel, versions
from fewlabels.tabular._page import grid, page, section, tile
from fewlabels.tabular._pictures import (
    REST,
    SHADES,
    bars,
    colors_of,
    histogram,
    intervals,
    legend,
    map_rows,
    positions,
    scatter,
    shade,
    shortened,
)
from fewlabels.tabular.asking import Suggestion, suggest_rows
from fewlabels.tabular.grouping import ClusteredTable
from fewlabels.tabular.labeling import EstimatedTable, LabeledTable

# Characters of a cell of rows that a person is to look at: any text, but no book.
WHOLE_TEXT = 5000


def columns_section(columns: Sequence[ColumnDescription]) -> str:
    """Say what was read.

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
            column.kind if column.is_used else f"{column.kind}, left out",
            column.n_missing,
            column.n_distinct,
            column.reason,
        )
        for column in shown
    ]
    more = len(columns) - len(shown)
    rest = f'<p class="quiet">and {more:,} more</p>' if more else ""
    described = grid(
        ("column", "taken as", "missing", "different", "because"),
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
        How sure it is.
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
        What the classifier says about itself.

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
        '<p class="quiet">The first two repeat the whole procedure, choice included, '
        "without some of the labels. The others are the heaviest kernel of each kind, "
        "with one label left out at a time; they were chosen by the same labels, "
        "which makes their figures a little too good.</p>",
    )


def rows_grid(
    table: Table,
    rows: NDArray[np.intp],
    before: Mapping[str, Sequence[Any]],
    columns: Sequence[str],
    length: int = 60,
) -> str:
    """Show some rows of a table.

    Parameters
    ----------
    table : Table
        The table.
    rows : ndarray of int
        Which rows.
    before : dict of str to sequence
        What stands before their values, one entry per row.
    columns : sequence of str
        Which columns.
    length : int, default=60
        Where to cut values.

    Returns
    -------
    html : str
        A table.
    """
    shown = list(columns)[:6]
    head = ["row", *before, *(shortened(name, 30) for name in shown)]
    lines = []
    for k, row in enumerate(rows.tolist()):
        cells = [shortened(text_of(table[name][row]), length) for name in shown]
        number = table.row_numbers[row]
        lines.append([number, *(values[k] for values in before.values()), *cells])
    return grid(head, lines, cards=True)


def _telling(columns: Sequence[ColumnDescription]) -> list[str]:
    """Columns by which a person knows a row: what names it, then what was used."""
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
    """Say how to get the same result again.

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


def _number_report(estimated: EstimatedTable, command: str, random_state: int) -> str:
    """Tell in one page which numbers were predicted, and what they are worth."""
    table, target, model = estimated.table, estimated.target, estimated.model.classifier
    given, error = estimated.given, model.expected_error_
    known = estimated.numbers[given]
    open_rows = np.flatnonzero(~given)
    order = np.argsort(estimated.numbers[open_rows], kind="stable")
    ends = np.unique(np.concatenate([order[:5], order[-5:]])) if order.size else order
    shown = open_rows[ends]
    guesses = {"predicted": [f"{v:.4g}" for v in estimated.numbers[shown]]}
    tiles = [
        _rows_tile(table),
        tile(f"{int(given.sum()):,}", f"numbers in {target.name!r}"),
        tile(f"{known.min():.4g} to {known.max():.4g}", "given"),
        tile(str(error), "expected error (root of the mean square)"),
    ]
    sections = [
        section("What the numbers rest on", f"<pre>{escape(model.explain())}</pre>"),
        effects_section(table_effects(estimated, random_state)),
        columns_section(estimated.columns),
    ]
    if shown.size:
        used = _telling(estimated.columns)
        examples = rows_grid(table, shown, guesses, used)
        sections.append(section("The smallest and the largest", examples))
    sections += [
        notes_section(estimated.notes),
        reproduce_section(command, random_state),
    ]
    return page(_heading(target.name, table), _made(), "".join(tiles), sections)


def label_report(
    labeled: LabeledTable | EstimatedTable,
    *,
    command: str = "fewlabels.tabular.label_table(...)",
    random_state: int = 0,
    suggestion: Suggestion | None = None,
) -> str:
    """Tell in one page how a table was labelled, and what that is worth.

    Parameters
    ----------
    labeled : LabeledTable or EstimatedTable
        What :func:`label_table` returned.
    command : str, default="fewlabels.tabular.label_table(...)"
        How it was made.
    random_state : int, default=0
        Seed of samples and of the map.
    suggestion : Suggestion, default=None
        Which rows to label next; found out when None.

    Returns
    -------
    html : str
        A page that needs nothing from elsewhere: pictures are in it, and it runs no
        script.

    Examples
    --------
    >>> from fewlabels.tabular import label_report, label_table
    >>> data = {"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.2],
    ...         "kind": ["small", None, None, "large", None, None]}
    >>> page = label_report(label_table(data, "kind"))
    >>> page.count("<svg") >= 3
    True
    """
    if isinstance(labeled, EstimatedTable):
        return _number_report(labeled, command, random_state)
    table, target, model = labeled.table, labeled.target, labeled.model
    given = labeled.given
    classes = list(target.class_counts)
    colors = colors_of(model.classifier.classes_.tolist())
    error = model.classifier.expected_error_
    texts = [text_of(value) for value in labeled.labels]
    counted = Counter(t for t, g in zip(texts, given, strict=True) if not g)
    rows = [(c, target.class_counts[c], counted[c]) for c in classes[:30]]
    if suggestion is None:
        suggestion = suggest_rows(labeled, target.name, random_state=random_state)
    used = _telling(labeled.columns)
    methods = compared_methods(model.classifier)
    unsure = labeled.least_sure()
    tiles = [
        _rows_tile(table),
        tile(f"{int(given.sum()):,}", f"labels in {target.name!r}"),
        tile(f"{len(classes):,}", "classes"),
        tile(
            f"{100 * error.value:.1f} %" if error.is_known else "unknown",
            f"expected error ({100 * error.low:.0f} to {100 * error.high:.0f} %)"
            if error.is_known
            else "expected error: " + error.note,
        ),
    ]
    sections = [
        section(
            "Labels",
            bars(rows, colors, ("given", "predicted"))
            + (histogram(labeled.confidence[~given]) if not given.all() else ""),
        ),
        map_section(
            table,
            labeled.features,
            texts,
            labeled.confidence,
            given,
            colors,
            random_state,
        ),
        sure_section(labeled),
        classes_section(labeled, colors),
        doubts_section(labeled, colors),
        effects_section(table_effects(labeled, random_state)),
        methods_section(
            methods, model.classifier.explain(row_numbers=table.row_numbers)
        ),
        columns_section(labeled.columns),
    ]
    if unsure.size:
        sections += [
            section(
                "Least certain rows",
                "<p>Look at these before you trust the rest.</p>"
                + rows_grid(table, unsure, _guesses(labeled, unsure), used, WHOLE_TEXT),
            ),
            section(
                "What to label next",
                "<p>Uncertain rows that differ from each other, the most useful first."
                "</p>"
                + rows_grid(
                    table,
                    suggestion.rows,
                    _guesses(labeled, suggestion.rows),
                    used,
                    WHOLE_TEXT,
                ),
            ),
        ]
    sections += [
        notes_section(labeled.notes),
        reproduce_section(command, random_state),
    ]
    said = model.classifier.verdict() if not given.all() else ""
    return page(_heading(target.name, table), _made(), "".join(tiles), sections, said)


def _guesses(labeled: LabeledTable, rows: NDArray[np.intp]) -> dict[str, list[Any]]:
    p = np.sort(labeled.probabilities[rows], axis=1)
    order = np.argsort(labeled.probabilities[rows], axis=1)
    classes = labeled.model.classifier.classes_
    second = [str(classes[k]) for k in order[:, -2]]
    return {
        "label": [text_of(v) for v in labeled.labels[rows]],
        "confidence": p[:, -1].tolist(),
        "or else": second,
    }


def _rows_tile(table: Table) -> str:
    what = "rows" if table.places is None else "rows that were learned from"
    return tile(f"{table.n_rows:,}", what)


def _heading(what: str, table: Table) -> str:
    return f"{what} in {Path(table.source).name}"


def _made() -> str:
    return f"made by fewlabels on {datetime.now(UTC):%d %B %Y, %H:%M} UTC"


def cluster_report(
    clustered: ClusteredTable,
    *,
    command: str = "fewlabels.tabular.cluster_table(...)",
    random_state: int = 0,
) -> str:
    """Tell in one page how the rows of a table were grouped.

    Parameters
    ----------
    clustered : ClusteredTable
        What :func:`cluster_table` returned.
    command : str, default="fewlabels.tabular.cluster_table(...)"
        How it was made.
    random_state : int, default=0
        Seed of the map.

    Returns
    -------
    html : str
        A page that needs nothing from elsewhere.

    Examples
    --------
    >>> from fewlabels.tabular import cluster_report, cluster_table
    >>> clustered = cluster_table({"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.2, 5.3]}, 2)
    >>> cluster_report(clustered).startswith("<!DOCTYPE html>")
    True
    """
    sizes = clustered.sizes
    names = {number: f"cluster {number}" for number in sizes}
    colors = colors_of(list(names.values()))
    tiles = _rows_tile(clustered.table)
    tiles += tile(f"{len(sizes):,}", "clusters")
    used = _telling(clustered.columns)
    rows = [(names[number], size, 0) for number, size in sizes.items()]
    examples = []
    for number in list(sizes)[:10]:
        members = np.flatnonzero(clustered.clusters == number)
        near = _central(clustered.features, members)
        examples.append(
            f"<h3>cluster {number}</h3>" + rows_grid(clustered.table, near, {}, used)
        )
    sections = [
        section("Clusters", bars(rows, colors, ("rows", "rows"))),
        map_section(
            clustered.table,
            clustered.features,
            [names[number] for number in clustered.clusters.tolist()],
            None,
            None,
            colors,
            random_state,
        ),
        section("Typical rows", "".join(examples)),
        columns_section(clustered.columns),
        notes_section(clustered.notes),
        reproduce_section(command, random_state),
    ]
    return page(_heading("Clusters", clustered.table), _made(), tiles, sections)


def _central(features: Any, members: NDArray[np.intp]) -> NDArray[np.intp]:
    """Find the three rows nearest to the mean of a cluster."""
    Z = features[members]
    mean = np.asarray(Z.mean(axis=0)).ravel()
    square = Z.multiply(Z).sum(axis=1) if hasattr(Z, "multiply") else (Z * Z).sum(1)
    distance = np.asarray(square).ravel() - 2 * np.asarray(Z @ mean).ravel()
    return members[np.argsort(distance, kind="stable")[:3]]


def prediction_report(
    model: TableModel,
    X: Any,
    *,
    command: str = "model.predict(...)",
    random_state: int = 0,
) -> str:
    """Tell in one page what a saved model says about the rows of another table.

    Parameters
    ----------
    model : TableModel
        The model.
    X : Table, DataFrame of pandas or polars, dict or array-like
        The table.
    command : str, default="model.predict(...)"
        How it was made.
    random_state : int, default=0
        Seed of the map.

    Returns
    -------
    html : str
        A page that needs nothing from elsewhere.

    Examples
    --------
    >>> from fewlabels.tabular import label_table, prediction_report
    >>> data = {"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.2],
    ...         "kind": ["small", None, None, "large", None, None]}
    >>> model = label_table(data, "kind").model
    >>> "small" in prediction_report(model, {"size": [1.3, 4.9, 5.5]})
    True
    """
    if model.predicts_numbers:
        raise TableError(
            "A report on predictions shows classes, and these are numbers."
        )
    table = Table.from_frame(X)
    features = model.transformer.transform(model.aligned(table))
    labels, confidence = model.decide(model.probabilities(features))
    texts = [text_of(value) for value in labels]
    counted = Counter(texts)
    colors = colors_of(model.classifier.classes_.tolist())
    error = model.classifier.expected_error_
    unsure = np.argsort(confidence, kind="stable")[:10]
    used = [name for name in _telling(model.columns) if name in table.names]
    about = model.about
    tiles = [
        tile(f"{table.n_rows:,}", "new rows"),
        tile(f"{about.get('n_labels', 0):,}", "labels the model has seen"),
        tile(f"{len(model.values):,}", "classes"),
        tile(
            f"{100 * error.value:.1f} %" if error.is_known else "unknown",
            "error expected on rows like those of the training table",
        ),
    ]
    sections = [
        section(
            "Labels",
            bars(
                [(c, 0, counted[c]) for c in list(colors)[:30]],
                colors,
                ("given", "predicted"),
            )
            + histogram(confidence),
        ),
        map_section(table, features, texts, confidence, None, colors, random_state),
        section(
            "Least certain rows",
            rows_grid(
                table,
                unsure,
                {
                    "label": [texts[k] for k in unsure],
                    "confidence": confidence[unsure].tolist(),
                },
                used,
            ),
        ),
        columns_section(model.columns),
        notes_section([*table.notes, *about.get("notes", [])]),
        reproduce_section(command, random_state),
    ]
    return page(_heading(model.target, table), _made(), "".join(tiles), sections)
