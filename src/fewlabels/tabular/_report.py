"""Reports: one page on how a table was labelled, and how good the labels are."""

# SPDX-License-Identifier: BSD-3-Clause

from collections import Counter
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.preprocessing import Table, TableError
from fewlabels.tabular._candidates import compared_methods
from fewlabels.tabular._findings import (
    classes_section,
    doubts_section,
    effects_section,
    hints_section,
    sure_section,
    table_effects,
)
from fewlabels.tabular._models import TableModel
from fewlabels.tabular._near_copies import picture_column
from fewlabels.tabular._page import page, section, tile
from fewlabels.tabular._pictures import bars, colors_of, histogram
from fewlabels.tabular._sections import (
    columns_section,
    map_section,
    methods_section,
    notes_section,
    reproduce_section,
    rows_grid,
    telling,
)
from fewlabels.tabular._targets import class_text
from fewlabels.tabular._thumbnails import pictures_section
from fewlabels.tabular.asking import Suggestion, suggest_rows
from fewlabels.tabular.grouping import ClusteredTable
from fewlabels.tabular.labeling import EstimatedTable, LabeledTable
from fewlabels.tabular.setup import noting

# Characters shown of a cell in rows to be checked: enough for any text but a book.
WHOLE_TEXT = 5000


def _number_report(estimated: EstimatedTable, command: str, random_state: int) -> str:
    """Write one page on the predicted numbers, and how good they are."""
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
        section("How the numbers were found", f"<pre>{escape(model.explain())}</pre>"),
        effects_section(table_effects(estimated, random_state)),
        columns_section(estimated.columns),
    ]
    if shown.size:
        used = telling(estimated.columns)
        examples = rows_grid(table, shown, guesses, used)
        sections.append(section("Smallest and largest numbers", examples))
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
    """Write one page on how a table was labelled, and how good the labels are.

    Parameters
    ----------
    labeled : LabeledTable or EstimatedTable
        What :func:`label_table` returned.
    command : str, default="fewlabels.tabular.label_table(...)"
        How it was made.
    random_state : int, default=0
        Seed of samples and of the map.
    suggestion : Suggestion, default=None
        Which rows to label next; computed when None.

    Returns
    -------
    html : str
        A self-contained page, with its plots and without scripts.

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
    texts = [class_text(value) for value in labeled.labels]
    counted = Counter(t for t, g in zip(texts, given, strict=True) if not g)
    rows = [(c, target.class_counts[c], counted[c]) for c in classes[:30]]
    if suggestion is None:
        suggestion = suggest_rows(labeled, target.name, random_state=random_state)
    used = telling(labeled.columns)
    methods = compared_methods(model.classifier)
    unsure = labeled.least_sure()
    picture = picture_column(table, labeled.columns)
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
        hints_section(labeled),
        pictures_section(labeled, picture, colors) if picture else "",
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
                + rows_grid(
                    table, unsure, _guesses(labeled, unsure), used, WHOLE_TEXT, picture
                ),
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
                    picture,
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
        "label": [class_text(v) for v in labeled.labels[rows]],
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
    """Write one page on how the rows of a table were grouped.

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
    used = telling(clustered.columns)
    picture = picture_column(clustered.table, clustered.columns)
    rows = [(names[number], size, 0) for number, size in sizes.items()]
    examples = []
    for number in list(sizes)[:10]:
        members = np.flatnonzero(clustered.clusters == number)
        near = _central(clustered.features, members)
        rows_shown = rows_grid(clustered.table, near, {}, used, picture=picture)
        examples.append(f"<h3>cluster {number}</h3>{rows_shown}")
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
    """Write one page on the predictions of a saved model for another table.

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
            "A report on predictions needs classes, but these are numbers."
        )
    table = Table.from_frame(X)
    features = model.transformer.transform(model.aligned(table))
    notes = [*table.notes, *model.about.get("notes", [])]
    with noting(notes):
        labels, confidence, _ = model.predictions(table)
    texts = [class_text(value) for value in labels]
    counted = Counter(texts)
    colors = colors_of(model.classifier.classes_.tolist())
    error = model.classifier.expected_error_
    unsure = np.argsort(confidence, kind="stable")[:10]
    used = [name for name in telling(model.columns) if name in table.names]
    about = model.about
    tiles = [
        tile(f"{table.n_rows:,}", "new rows"),
        tile(f"{about.get('n_labels', 0):,}", "labels the model was trained on"),
        tile(f"{len(model.values):,}", "classes"),
        tile(
            f"{100 * error.value:.1f} %" if error.is_known else "unknown",
            "expected error on rows like the training rows",
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
                picture=picture_column(table, model.columns),
            ),
        ),
        columns_section(model.columns),
        notes_section(notes),
        reproduce_section(command, random_state),
    ]
    return page(_heading(model.target, table), _made(), "".join(tiles), sections)
