"""Pictures in a report: typical ones, and doubtful ones with what they resemble."""

# SPDX-License-Identifier: BSD-3-Clause

import base64
import io
from collections.abc import Mapping
from html import escape

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from fewlabels.embeddings import UnreadableError, open_picture, picture_source
from fewlabels.preprocessing import Table
from fewlabels.preprocessing.cells import folder_of, text_of
from fewlabels.tabular._page import Html, chip, section
from fewlabels.tabular._pictures import REST, shortened
from fewlabels.tabular._targets import class_text
from fewlabels.tabular.labeling import LabeledTable

# Pixels of a thumbnail's longer side, classes shown, pictures of each, doubtful ones,
# and neighbours of each of those.
SIDE = 192
CLASSES, TYPICAL, DOUBTFUL, NEIGHBORS = 12, 7, 8, 5


def thumbnail(table: Table, name: str, row: int) -> Html:
    """Show the picture of a row as a small image; its name if it cannot be read."""
    cell = table[name][row]
    said = _name(table, name, row)
    try:
        source = picture_source(cell, folder_of(table))
        if source is None:
            return Html(escape(said))
        data = source if isinstance(source, bytes) else source.read_bytes()
        picture = open_picture(data, SIDE)
    except (OSError, UnreadableError):
        return Html(escape(said))
    picture.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=80)
    code = base64.b64encode(file.getvalue()).decode()
    named = escape(said, quote=True)
    return Html(
        f'<img class="shot" src="data:image/jpeg;base64,{code}" alt="{named}" '
        f'title="{named}">'
    )


def pictures_section(
    labeled: LabeledTable, name: str, colors: Mapping[str, str]
) -> str:
    """Show pictures of every class, and doubtful ones with what they resemble.

    Parameters
    ----------
    labeled : LabeledTable
        The table.
    name : str
        Its column of pictures.
    colors : dict of str to str
        Of the labels.

    Returns
    -------
    html : str
        A section.
    """
    content = _typical(labeled, name, colors)
    content += _doubtful(labeled, name, colors)
    content += _contradicted(labeled, name, colors)
    return section("Pictures", content)


def _name(table: Table, name: str, row: int) -> str:
    """Name a picture by its file, or else by its row."""
    text = text_of(table[name][row]).strip()
    if not text or text.startswith("data:"):
        return f"row {table.row_numbers[row]:,}"
    return shortened(text.replace("\\", "/").rpartition("/")[2], 60)


def _figure(labeled: LabeledTable, name: str, row: int, caption: str) -> str:
    image = thumbnail(labeled.table, name, row)
    said = f"{caption}<br>{escape(_name(labeled.table, name, row))}"
    return f"<figure>{image}<figcaption>{said}</figcaption></figure>"


def _label(label: object, colors: Mapping[str, str]) -> str:
    text = class_text(label)
    return chip(shortened(text, 30), colors.get(text, REST))


def _typical(labeled: LabeledTable, name: str, colors: Mapping[str, str]) -> str:
    """Show the most certain pictures of every class."""
    labels = np.array([class_text(v) for v in labeled.labels], dtype=object)
    found = []
    for label in list(labeled.target.class_counts)[:CLASSES]:
        rows = np.flatnonzero((labels == label) & ~labeled.given)
        if not rows.size:
            continue
        order = rows[np.argsort(-labeled.confidence[rows], kind="stable")[:TYPICAL]]
        shots = [
            _figure(labeled, name, row, f"{labeled.confidence[row]:.2f}")
            for row in order.tolist()
        ]
        found.append(
            f"<h3>{_label(label, colors)}</h3><div class='shots'>{''.join(shots)}</div>"
        )
    if not found:
        return ""
    return "<p>The most certain pictures of every class.</p>" + "".join(found)


def _doubtful(labeled: LabeledTable, name: str, colors: Mapping[str, str]) -> str:
    """Show the least certain pictures, each with the nearest labelled ones."""
    rows = labeled.least_sure(DOUBTFUL)
    if not rows.size:
        return ""
    lines = []
    for row in rows.tolist():
        guess = f"{_label(labeled.labels[row], colors)}? {labeled.confidence[row]:.2f}"
        lines.append(_followed(labeled, name, row, guess, colors))
    return (
        "<h3>Least certain, each followed by the nearest labelled pictures</h3>"
        + "".join(lines)
    )


def _followed(
    labeled: LabeledTable, name: str, row: int, caption: str, colors: Mapping[str, str]
) -> str:
    """Show a picture, and the labelled ones nearest to it."""
    shots = [_figure(labeled, name, row, caption)]
    for other in _nearest(labeled, row).tolist():
        label = _label(labeled.labels[other], colors)
        shots.append(_figure(labeled, name, other, label))
    return f"<div class='shots first'>{''.join(shots)}</div>"


def _nearest(labeled: LabeledTable, row: int) -> NDArray[np.intp]:
    """Find the labelled rows nearest to a row."""
    given = np.flatnonzero(labeled.given)
    given = given[given != row]
    distances = pairwise_distances(labeled.features[[row]], labeled.features[given])[0]
    return given[np.argsort(distances, kind="stable")[:NEIGHBORS]]


def _contradicted(labeled: LabeledTable, name: str, colors: Mapping[str, str]) -> str:
    """Show given labels that look wrong, each with the nearest labelled pictures."""
    found = labeled.model.classifier.suspicious_labels()[:DOUBTFUL]
    lines = []
    for doubt in found:
        caption = f"given {_label(doubt.label, colors)}"
        caption += f"<br>rather {_label(doubt.likely, colors)}"
        lines.append(_followed(labeled, name, doubt.row, caption, colors))
    if not lines:
        return ""
    return "<h3>Given labels that look wrong</h3>" + "".join(lines)
