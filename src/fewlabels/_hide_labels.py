"""Hide labels, to turn a labelled data set into an experiment."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from fewlabels._labels import UNLABELED, encode_labels, label_array, with_holes


def check_one_amount(n_labeled: float | None, per_class: int | None) -> None:
    """Raise unless exactly one of two ways to say how many labels stay is used."""
    if (n_labeled is None) == (per_class is None):
        raise ValueError(
            f"Give exactly one of n_labeled and per_class, got n_labeled={n_labeled!r} "
            f"and per_class={per_class!r}."
        )


def hide_labels(
    y: ArrayLike,
    *,
    n_labeled: float | None = None,
    per_class: int | None = None,
    random_state: int | RandomState | None = None,
) -> NDArray[Any]:
    """Replace all but a few labels by the marker for "unlabelled".

    The labels to keep are drawn at random, separately in each class. Rows that are
    already unlabelled stay so and are never drawn. Pass exactly one of `n_labeled` and
    `per_class`.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels, some of which may be missing; :func:`fewlabels.unlabeled_mask` says
        which. Note that -1 in integer `y` is a missing label, not a class.
    n_labeled : int or float, default=None
        Total number of labels to keep: a number of rows if an int, a share in (0, 1] of
        the given labels if a float. Every class keeps at least one label; beyond that,
        the classes keep their proportions as well as whole numbers allow.
    per_class : int, default=None
        Number of labels to keep in each class.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw; pass an int for the same labels on every call.

    Returns
    -------
    y_holes : ndarray of shape (n_samples,)
        A copy of `y` in which labels are missing, always a NumPy array (the index of a
        pandas Series is dropped). A missing label is -1 among integers, NaN among
        floats, and None among strings and objects, whose dtype becomes object. Booleans
        and unsigned integers have no marker and are returned as int64.

    Raises
    ------
    ValueError
        If there are fewer labels than requested, if fewer are requested than there are
        classes, or if integer `y` holds only -1 and one other value.

    See Also
    --------
    fewlabels.unlabeled_mask : Tell which rows are unlabelled.
    split_labels : The same for a data set that brings its own splits.

    Examples
    --------
    >>> from fewlabels.datasets import hide_labels
    >>> hide_labels([0, 0, 0, 0, 1, 1], n_labeled=3, random_state=0)
    array([ 0, -1,  0, -1,  1, -1])
    >>> hide_labels(["ham", "spam", "spam", "ham"], per_class=1, random_state=0)
    array([None, 'spam', None, 'ham'], dtype=object)
    """
    check_one_amount(n_labeled, per_class)
    values = label_array(y)
    with warnings.catch_warnings():  # a single class is no problem here
        warnings.simplefilter("ignore", UserWarning)
        codes, classes = encode_labels(values)
    counts = np.bincount(codes[codes != UNLABELED])
    rng = check_random_state(random_state)
    if per_class is not None:
        quota = _equal_quota(counts, per_class, classes)
    else:
        n_kept = _number_to_keep(n_labeled, counts)
        # A random order of the classes, so that ties favour none of them.
        order = rng.permutation(counts.size)
        quota = np.empty_like(counts)
        quota[order] = _proportional_quota(counts[order], n_kept)

    hidden = np.ones(values.shape, dtype=bool)
    for code, size in enumerate(quota):
        members = np.flatnonzero(codes == code)
        hidden[rng.choice(members, size=size, replace=False)] = False
    return with_holes(values, hidden)


def _equal_quota(
    counts: NDArray[np.intp], per_class: int, classes: NDArray[Any]
) -> NDArray[np.intp]:
    if not isinstance(per_class, Integral) or isinstance(per_class, bool):
        raise ValueError(f"per_class must be an int, got {per_class!r}.")
    if per_class < 1:
        raise ValueError(f"per_class must be at least 1, got {per_class}.")
    if counts.min() < per_class:
        raise ValueError(
            f"per_class={per_class}, but class {classes[counts.argmin()]} has only "
            f"{counts.min()} labelled: lower per_class or use n_labeled."
        )
    return np.full_like(counts, per_class)


def _number_to_keep(n_labeled: float | None, counts: NDArray[np.intp]) -> int:
    total = int(counts.sum())
    if isinstance(n_labeled, Integral) and not isinstance(n_labeled, bool):
        n_kept = int(n_labeled)
    elif isinstance(n_labeled, Real) and 0 < n_labeled <= 1 and n_labeled is not True:
        n_kept = round(float(n_labeled) * total)
    else:
        raise ValueError(
            "n_labeled must be an int (a number of rows) or a float in (0, 1] (a share "
            f"of the labels given), got {n_labeled!r}."
        )
    if n_kept < counts.size:
        raise ValueError(
            f"n_labeled={n_labeled} keeps {n_kept} labels, but y has {counts.size} "
            f"classes: keep at least {counts.size}, so that each class has one."
        )
    if n_kept > total:
        raise ValueError(
            f"n_labeled={n_labeled}, but y has only {total} labelled rows: lower it to "
            f"{total} or less."
        )
    return n_kept


def _proportional_quota(counts: NDArray[np.intp], n_kept: int) -> NDArray[np.intp]:
    """Allocate labels by largest remainders, at least one to each class."""
    total = counts.sum()
    due = n_kept * counts  # in units of 1 / total, to stay with exact integers
    quota = np.maximum(due // total, 1)
    while (missing := n_kept - quota.sum()) != 0:
        owed = due - total * quota
        if missing > 0:
            quota[owed.argmax()] += 1
        else:  # labels for small classes come from those with most to spare
            spare = np.flatnonzero(quota > 1)
            quota[spare[owed[spare].argmin()]] -= 1
    return quota
