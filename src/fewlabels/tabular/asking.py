"""Choose the rows of a table to label next."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from fewlabels.preprocessing import Table
from fewlabels.tabular.labeling import LabeledTable, learn_table
from fewlabels.tabular.setup import TableSetup, distinct_rows, noting, silent

# Uncertain rows among which the next ones to label are chosen.
_POOL = 1000


@dataclass
class Suggestion:
    """Rows to label next.

    It is made by :func:`suggest_rows`.

    Attributes
    ----------
    rows : ndarray of int
        The rows, the most useful first.
    guesses : list of object
        Predicted labels; None if there is no prediction.
    confidence : ndarray of float
        Their probabilities; NaN if there is no prediction.
    reason : str
        How they were chosen.
    notes : list of str
        What the owner of the table should know.
    labeled : LabeledTable or None
        The labelled table with its model; None with fewer than two classes.
    """

    rows: NDArray[np.intp]
    guesses: list[Any]
    confidence: NDArray[Any]
    reason: str
    notes: list[str] = field(default_factory=list)
    labeled: LabeledTable | None = None


def suggest_rows(
    X: Any,
    target: str,
    n_rows: int = 10,
    *,
    random_state: Any = 0,
    **options: Any,
) -> Suggestion:
    """Choose the rows to label next.

    With labels of two classes or more, these are the rows that the classifier would
    learn most from, see :class:`fewlabels.active.FewLabelsSampling`. Otherwise they are
    rows that are typical of many others.

    Parameters
    ----------
    X : LabeledTable, Table, DataFrame of pandas or polars, dict or array-like
        The table, or what :func:`label_table` made of it.
    target : str
        The column of labels.
    n_rows : int, default=10
        How many.
    random_state : int or RandomState instance, default=0
        Seed.
    **options : dict
        Further parameters of :func:`label_table`.

    Returns
    -------
    suggestion : Suggestion
        Distinct rows, the most useful first; fewer than asked for if there are no more.

    Examples
    --------
    >>> from fewlabels.tabular import suggest_rows
    >>> data = {"size": [1.0, 1.1, 1.2, 3.0, 5.0, 5.1, 5.2],
    ...         "kind": ["small", None, None, None, "large", None, None]}
    >>> suggest_rows(data, "kind", 1).rows
    array([3])
    """
    if isinstance(X, LabeledTable):
        return _suggest_uncertain(X, n_rows, random_state)
    table = Table.from_frame(X)
    tell = options.pop("progress", None) or silent
    setup = TableSetup.of(target, random_state=random_state, **options)
    labels = setup.read_labels(table)
    if len(labels.values) >= 2 and labels.numbers is None:
        labeled = learn_table(setup, table, labels, tell)
        return _suggest_uncertain(labeled, n_rows, random_state)
    tell(0.0, "reading columns")
    encoded = setup.encode(table, labels)
    tell(0.5, "comparing rows")
    open_rows = np.flatnonzero(~labels.given)
    with noting(encoded.notes):
        chosen = _typical(encoded.features[open_rows], n_rows, random_state)
    tell(1.0, "done")
    why = "rows that are typical of many others"
    if labels.numbers is None:
        why = f"fewer than two classes have a label: {why}"
    nothing = np.full(chosen.size, np.nan)
    rows = open_rows[chosen]
    return Suggestion(rows, [None] * rows.size, nothing, why, encoded.notes)


def _suggest_uncertain(labeled: Any, n_rows: int, random_state: Any) -> Suggestion:
    rows = _useful(labeled, n_rows, random_state)
    return Suggestion(
        rows,
        labeled.labels[rows].tolist(),
        labeled.confidence[rows],
        "rows whose labels tell most about the uncertain ones",
        labeled.notes,
        labeled,
    )


def _useful(labeled: LabeledTable, n_rows: int, random_state: Any) -> NDArray[np.intp]:
    """Return distinct rows whose labels would teach the classifier most."""
    # Imported here so that labelling and reading tables start sooner.
    from fewlabels.active import FewLabelsSampling, margin

    open_rows = np.flatnonzero(~labeled.given)
    if open_rows.size == 0:
        return open_rows
    # If there are very many rows, only the least certain are compared.
    doubt = margin(labeled.probabilities[open_rows])
    open_rows = open_rows[np.argsort(-doubt, kind="stable")]
    open_rows = open_rows[: max(_POOL, 2 * n_rows)]
    open_rows = open_rows[distinct_rows(labeled.features[open_rows])[0]]
    strategy = FewLabelsSampling(
        max_candidates=open_rows.size, random_state=random_state
    )
    return strategy.query(
        labeled.features,
        labeled.target.texts,
        n_queries=min(n_rows, open_rows.size),
        model=labeled.model.classifier,
        candidates=open_rows,
    ).indices


def _typical(features: Any, n_rows: int, random_state: Any) -> NDArray[np.intp]:
    """Return the rows nearest to k-means centres, those of large clusters first."""
    first, copy_of = distinct_rows(features)
    n_rows = min(n_rows, first.size)
    if n_rows == 0:
        return first
    rng = check_random_state(random_state)
    weights = np.bincount(copy_of).astype(float)
    model = KMeans(n_rows, n_init=3, random_state=rng.randint(2**31))
    distances = model.fit_transform(features[first], sample_weight=weights)
    sizes = np.bincount(model.labels_, weights=weights, minlength=n_rows)
    nearest = distances.argmin(axis=0)[np.argsort(-sizes, kind="stable")]
    return first[np.array(list(dict.fromkeys(nearest.tolist())), dtype=np.intp)]
