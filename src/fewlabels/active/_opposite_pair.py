"""Find two rows of opposite classes near the boundary, by bisection in the pool."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.metrics import pairwise_distances_argmin

from fewlabels._labels import encode_labels, unlabeled_mask, with_holes
from fewlabels._linalg import FLOATS
from fewlabels._params import check_number
from fewlabels._sklearn import check_array
from fewlabels.active._query import make_pool


class OppositePair(NamedTuple):
    """Result of :func:`find_opposite_pair`.

    Attributes
    ----------
    negative, positive : ndarray of shape (n_features,)
        The two ends: queried rows, or the mean of the labelled rows of a class if no
        answer replaced it. The class of `negative` comes first.
    distance : float
        Distance between the two.
    indices : ndarray of shape (n_queries,)
        The rows that were asked about, in order.
    distances : ndarray of shape (n_queries + 1,)
        Distance of the ends at the start and after every answer.
    y : ndarray of shape (n_samples,)
        All labels, with the answers.
    stop_reason : {"max_queries", "converged", "no row left"}
        Why the search ended.
    """

    negative: NDArray[Any]
    positive: NDArray[Any]
    distance: float
    indices: NDArray[np.intp]
    distances: NDArray[np.float64]
    y: NDArray[Any]
    stop_reason: str


def find_opposite_pair(
    X: Any,
    y: ArrayLike,
    oracle: Callable[[NDArray[np.intp]], Any],
    *,
    max_queries: int = 10,
    tol: float = 0.0,
    candidates: ArrayLike | None = None,
) -> OppositePair:
    r"""Search for two rows of opposite classes close to the boundary.

    The ends start at the means of the labelled rows of two classes. The unlabelled row
    nearest to their midpoint is asked about and replaces the end of its class, which
    halves the distance where the pool is dense. The pair always has opposite classes,
    so a boundary lies between them, and the labels are where they are most informative.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All rows, labelled and unlabelled.
    y : array-like of shape (n_samples,)
        Labels of exactly two classes, with -1, NaN or None for rows without one.
    oracle : callable
        Given an array with one row number, returns a sequence with its label, or with
        the marker if it is unknown.
    max_queries : int, default=10
        Largest number of questions.
    tol : float, default=0.0
        Stop when an answer brings the ends closer by no more than this; such an answer
        is kept as a label, but not as an end.
    candidates : array-like of int, default=None
        Rows that may be asked about; when None, all rows without a label.

    Returns
    -------
    pair : OppositePair
        The ends, the questions and all labels.

    References
    ----------
    .. [1] L. Wang, X. Hu, B. Yuan, J. Lu, "Active learning via query synthesis and
       nearest neighbour search", Neurocomputing 147 (2015).
       :doi:`10.1016/j.neucom.2014.06.042`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.active import find_opposite_pair
    >>> X = np.linspace(0, 1, 101)[:, None]
    >>> y_true = (X[:, 0] > 0.3).astype(int)
    >>> y = np.full(101, -1)
    >>> y[[0, 100]] = 0, 1
    >>> pair = find_opposite_pair(X, y, lambda rows: y_true[rows], max_queries=5)
    >>> bool(pair.negative[0] <= 0.3 < pair.positive[0]), round(pair.distance, 2)
    (True, 0.03)
    """
    labels = encode_labels(y)
    if labels.classes.size != 2:
        raise ValueError(
            f"A pair has two classes, but y has {labels.classes.size}: hide the labels "
            "of all others."
        )
    check_number("max_queries", max_queries, 1)
    X = check_array(X, accept_sparse="csr", dtype=FLOATS)
    pool = make_pool(X, y, candidates)
    values = with_holes(y)
    ends = [
        np.asarray(X[labels.codes == c].mean(axis=0)).ravel().astype(np.float64)
        for c in (0, 1)
    ]
    distances = [float(np.linalg.norm(ends[1] - ends[0]))]
    asked: list[int] = []
    free = pool.candidates
    reason = "max_queries"
    while len(asked) < max_queries:
        if free.size == 0:
            reason = "no row left"
            break
        middle = ((ends[0] + ends[1]) / 2)[None].astype(X.dtype)
        place = int(pairwise_distances_argmin(middle, X[free])[0])
        row, free = free[place], np.delete(free, place)
        asked.append(int(row))
        answers = np.asarray(oracle(np.array([row])))
        if unlabeled_mask(answers).all():
            distances.append(distances[-1])
            continue
        (answer,) = answers
        found = np.flatnonzero(labels.classes == answer)
        if found.size == 0:
            raise ValueError(
                f"oracle answered {answer!r} for row {row}, which is not one of the "
                f"classes {labels.classes.tolist()}."
            )
        values[row] = answer
        new = X[[row]].toarray()[0] if issparse(X) else X[row]
        closer = list(ends)
        closer[found[0]] = new.astype(np.float64)
        distance = float(np.linalg.norm(closer[1] - closer[0]))
        if distance >= distances[-1] - tol:
            distances.append(distances[-1])
            reason = "converged"
            break
        ends = closer
        distances.append(distance)
    return OppositePair(
        negative=ends[0],
        positive=ends[1],
        distance=distances[-1],
        indices=np.array(asked, dtype=np.intp),
        distances=np.array(distances),
        y=values,
        stop_reason=reason,
    )
