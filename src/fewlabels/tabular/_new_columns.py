"""The columns that predictions add to a table."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.preprocessing import Table, TableError
from fewlabels.preprocessing.cells import object_array
from fewlabels.tabular._models import TableModel


@dataclass(frozen=True)
class Shown:
    """Which predictions to write.

    Attributes
    ----------
    min_confidence : float
        Rows with a lower confidence get no label.
    top : int
        How many classes to write for a row, the most probable first.
    """

    min_confidence: float = 0.0
    top: int = 1

    def check(self, *, numbers: bool) -> None:
        """Refuse options that do not apply to numbers.

        Parameters
        ----------
        numbers : bool
            Whether numbers are predicted.
        """
        if numbers and self != PLAIN:
            asked = {"min_confidence": self.min_confidence > 0, "top": self.top > 1}
            named = " and ".join(name for name in asked if asked[name])
            raise TableError(
                "Predicted numbers have an interval, but no confidence and no second "
                f"guess (given as {named}): ask for neither, or, if the numbers are "
                "classes, pass task='classes'."
            )


PLAIN = Shown()


def result_columns(
    table: Table,
    target: str,
    labels: NDArray[Any],
    confidence: NDArray[Any],
    given: NDArray[np.bool_],
    others: NDArray[Any] | None = None,
    shown: Shown = PLAIN,
) -> dict[str, list[Any]]:
    """Name and round the columns of predicted labels: label, confidence, source.

    Parameters
    ----------
    table : Table
        The table.
    target : str
        The label column.
    labels, confidence : ndarray of shape (n_rows,)
        Predictions.
    given : ndarray of bool of shape (n_rows,)
        Rows whose label was given.
    others : ndarray of shape (n_rows, 2 * n_others), default=None
        Further guesses, each followed by its probability.
    shown : Shown
        What to write.

    Returns
    -------
    columns : dict of str to list
        The new columns.
    """
    unsure = ~given & (confidence < shown.min_confidence)
    sources = np.where(given, "given", np.where(unsure, "unsure", "predicted"))
    written = labels.copy()
    written[unsure] = None
    more: dict[str, list[Any] | None] = {}
    if others is not None:
        shown_too = others.copy()
        shown_too[given] = None
        for k in range(others.shape[1] // 2):
            more[f"predicted_{k + 2}"] = shown_too[:, 2 * k].tolist()
            more[f"confidence_{k + 2}"] = [
                None if p is None else round(float(p), 4)
                for p in shown_too[:, 2 * k + 1]
            ]
    return _named(
        table,
        target,
        predicted=written.tolist(),
        confidence=confidence.round(4).tolist(),
        source=sources.tolist(),
        **more,
    )


def next_guesses(
    model: TableModel, p: NDArray[Any], labels: NDArray[Any], top: int
) -> NDArray[Any] | None:
    """Find the next most probable classes, each followed by its probability.

    Parameters
    ----------
    model : TableModel
        The model.
    p : ndarray of shape (n_rows, n_classes)
        Probabilities.
    labels : ndarray of object of shape (n_rows,)
        The labels, which are not repeated.
    top : int
        How many classes to return, including the labels.

    Returns
    -------
    others : ndarray of object of shape (n_rows, 2 * (top - 1)) or None
        None where there are no others.
    """
    n_others = min(top, p.shape[1]) - 1
    if n_others < 1:
        return None
    classes = object_array([model.values[c] for c in model.classifier.classes_])
    own = classes[None, :] == labels[:, None]
    order = np.argsort(np.where(own, 2.0, -p), axis=1, kind="stable")[:, :n_others]
    found = np.empty((p.shape[0], 2 * n_others), dtype=object)
    found[:, ::2] = classes[order]
    found[:, 1::2] = np.take_along_axis(p, order, axis=1)
    return found


def number_columns(
    table: Table,
    target: str,
    numbers: NDArray[Any],
    low: NDArray[Any],
    high: NDArray[Any],
    given: NDArray[np.bool_],
) -> dict[str, list[Any]]:
    """Name the columns of predicted numbers: the number, its interval, its source."""
    known = not (np.isnan(low).any() or np.isnan(high).any())
    return _named(
        table,
        target,
        predicted=[float(f"{v:.6g}") for v in numbers],
        low=[float(f"{v:.6g}") for v in low] if known else None,
        high=[float(f"{v:.6g}") for v in high] if known else None,
        source=np.where(given, "given", "predicted").tolist(),
    )


def predicted_columns(
    model: TableModel,
    table: Table,
    given: Mapping[int, Any] | None = None,
    *,
    shown: Shown = PLAIN,
    **comparing: Any,
) -> dict[str, list[Any]]:
    """Make the columns that a model adds to further rows; given labels stay.

    Parameters
    ----------
    model : TableModel
        The model.
    table : Table
        The rows.
    given : dict of int to object, default=None
        Classes or numbers of rows that have one.
    shown : Shown
        What to write.
    **comparing : dict
        Further parameters of :meth:`TableModel.predictions`.

    Returns
    -------
    columns : dict of str to list
        As those of :class:`LabeledTable` or :class:`EstimatedTable`.
    """
    shown.check(numbers=model.predicts_numbers)
    labels, sure = np.empty(0, dtype=object), np.empty(0)
    more = np.empty((0, 2))
    if table.n_rows:
        labels, sure, more = model.predictions(table, **comparing)
    has = np.zeros(table.n_rows, dtype=bool)
    for row, value in (given or {}).items():
        labels[row], sure[row] = value, 1.0
        has[row] = True
    if model.predicts_numbers:
        more[has] = labels[has, None]
        low, high = more.T
        return number_columns(table, model.target, labels, low, high, has)
    others = next_guesses(model, more, labels, shown.top) if table.n_rows else None
    return result_columns(table, model.target, labels, sure, has, others, shown)


def _named(
    table: Table, target: str, **columns: list[Any] | None
) -> dict[str, list[Any]]:
    """Name new columns after the target, with a number where names are taken."""
    made = {end: values for end, values in columns.items() if values is not None}
    names = table.free_names([f"{target}_{ending}" for ending in made])
    return dict(zip(names, made.values(), strict=True))
