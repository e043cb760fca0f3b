"""Explain the predicted class of one row."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state

from fewlabels._words import plural
from fewlabels.preprocessing import TableError
from fewlabels.preprocessing.cells import text_of
from fewlabels.tabular._models import replaced_features
from fewlabels.tabular.labeling import LabeledTable

__all__ = ["ExplainedRow", "explain_row"]

# Labelled rows and columns to name, and values of other rows to try.
_NEAREST, _COLUMNS, _DRAWS = 5, 5, 20
# A column that changes the probability by less is not named.
_LEAST = 0.01


@dataclass(frozen=True)
class ExplainedRow:
    """Explanation of the predicted class of one row.

    Attributes
    ----------
    number : int
        The row as people count it, from 1.
    is_given : bool
        Whether its label was given; the rest then ignores that label.
    classes : list of tuple of (str, float)
        The most probable classes.
    nearest : list of tuple of (int, str)
        Numbers and labels of the labelled rows that are most like it.
    columns : list of tuple of (str, str, float)
        Columns with the cell, and by how much it raises the probability of the first
        class compared with values of other rows; the largest effects first.
    families : list of tuple of (str, float, str)
        Families of candidates, their shares in the prediction, and what they predict.
    """

    number: int
    is_given: bool
    classes: list[tuple[str, float]]
    nearest: list[tuple[int, str]]
    columns: list[tuple[str, str, float]]
    families: list[tuple[str, float, str]]

    def lines(self) -> list[str]:
        """Write it for a terminal.

        Returns
        -------
        lines : list of str
            One for each kind of reason.
        """
        first = self.classes[0][0]
        guesses = ", ".join(f"{name} {p:.2f}" for name, p in self.classes)
        given = " (its label was given)" if self.is_given else ""
        lines = [f"Row {self.number:,}{given}: {guesses}."]
        if self.nearest:
            near = ", ".join(f"row {n:,} ({label})" for n, label in self.nearest)
            lines.append(f"  Labelled rows most like it: {near}.")
        signs = (("For", 1.0), ("Against", -1.0))
        for word, sign in signs:
            named = [
                f"{name} = {cell or 'missing'} ({plural(points, 'point')})"
                for name, cell, by in self.columns
                if by * sign > 0 and (points := round(100 * abs(by)))
            ]
            if named:
                lines.append(f"  {word} {first}: {', '.join(named)}.")
        if self.families:
            said = ", ".join(
                f"{words}: {label} ({100 * share:.0f} %)"
                for words, share, label in self.families
            )
            lines.append(f"  Methods, with their predictions and weights: {said}.")
        return lines


def explain_row(
    labeled: LabeledTable, number: int, random_state: Any = 0
) -> ExplainedRow:
    """Explain the predicted class of a row.

    The effect of a column is how far the probability of the class falls, on average,
    when the cell is replaced by those of other rows. Columns that repeat others have
    small effects.

    Parameters
    ----------
    labeled : LabeledTable
        What :func:`label_table` returned.
    number : int
        The row, counted from 1.
    random_state : int or RandomState instance, default=0
        Seed of the other rows.

    Returns
    -------
    explained : ExplainedRow
        The explanation.

    Examples
    --------
    >>> from fewlabels.tabular import label_table
    >>> from fewlabels.tabular.explaining import explain_row
    >>> data = {"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.2],
    ...         "kind": ["small", None, None, "large", None, None]}
    >>> explain_row(label_table(data, "kind"), 2).nearest
    [(1, 'small'), (4, 'large')]
    """
    if not isinstance(labeled, LabeledTable):
        raise TableError("Only classes can be explained, but these are numbers.")
    table, model = labeled.table, labeled.model
    found = np.flatnonzero(table.row_numbers == number)
    if not found.size:
        raise TableError(
            f"There is no row {number:,} to explain: there are {table.n_rows:,}, and "
            "row 1 is the first below the column names."
        )
    row = int(found[0])
    p = labeled.probabilities[row]
    order = np.argsort(-p, kind="stable")
    names = model.classifier.classes_
    families = [
        (c.words, c.weight, text_of(classes[0]))
        for c, classes in model.classifier.family_predictions(
            labeled.features[row : row + 1]
        )
    ]
    return ExplainedRow(
        number,
        bool(labeled.given[row]),
        [(text_of(names[k]), float(p[k])) for k in order[:3]],
        _nearest(labeled, row),
        _columns(labeled, row, int(order[0]), random_state),
        families[:_COLUMNS],
    )


def _nearest(labeled: LabeledTable, row: int) -> list[tuple[int, str]]:
    """Return the nearest labelled rows."""
    given = np.flatnonzero(labeled.given)
    given = given[given != row]
    features = labeled.features
    if not given.size:
        return []
    far = pairwise_distances(features[row : row + 1], features[given])[0]
    near = given[np.argsort(far, kind="stable")[:_NEAREST]]
    numbers = labeled.table.row_numbers
    return [(int(numbers[k]), text_of(labeled.labels[k])) for k in near]


def _columns(
    labeled: LabeledTable, row: int, place: int, random_state: Any
) -> list[tuple[str, str, float]]:
    """Return columns by how much their cell changes the probability of a class."""
    model, features = labeled.model, labeled.features
    owners = model.transformer.feature_columns_
    rng = check_random_state(random_state)
    others = features[rng.randint(features.shape[0], size=_DRAWS)]
    same = features[np.full(_DRAWS, row)]
    # As a new row: the known label of this one must not decide for the others.
    before = model.probabilities(same)[0, place]
    found = []
    for k in np.unique(owners):
        changed: NDArray[Any] = model.probabilities(
            replaced_features(same, owners == k, others)
        )
        by = float(before - changed[:, place].mean())
        name = model.columns[k].name
        cell = " ".join(text_of(labeled.table[name][row]).split())
        cell = cell if len(cell) <= 24 else cell[:23] + "…"
        if abs(by) >= _LEAST:
            found.append((name, cell, by))
    return sorted(found, key=lambda column: -abs(column[2]))[:_COLUMNS]
