"""Which rows count as unlabelled, and how labels become numbers.

Every estimator reads its ``y`` through this module, so that the same rows count as
unlabelled everywhere:

=====================  ==========================================
``y`` holds            a row is unlabelled where ``y`` is
=====================  ==========================================
integers               -1 (nullable ones: missing too)
floats                 NaN
strings or objects     None, NaN (``pandas.NA``, ``NaT``) or empty
booleans, unsigned     never: there is no room for a marker
=====================  ==========================================

``_missing`` defines missing single values, and missing labels in columns of tables.
"""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from fewlabels._lazy import refuse_lazy
from fewlabels._missing import (
    UNLABELED,
    is_empty,
    is_na,
    minus_one_marks,
    seems_missing,
)
from fewlabels._sklearn import check_sample_weight, validate_data


class Labels(NamedTuple):
    """Labels encoded as numbers.

    Attributes
    ----------
    codes : ndarray of shape (n_samples,)
        Index into `classes`, or -1 where the row is unlabelled.
    classes : ndarray of shape (n_classes,)
        The classes in sorted order, without the marker.
    """

    codes: NDArray[np.intp]
    classes: NDArray[Any]

    @property
    def labeled(self) -> NDArray[np.intp]:
        """Indices of the labelled rows."""
        return np.flatnonzero(self.codes != UNLABELED)

    def completed(
        self, predict: Callable[[NDArray[np.intp]], NDArray[Any]]
    ) -> NDArray[Any]:
        """Label of every row: given, or predicted by `predict`."""
        y = self.classes[self.codes]
        free = np.flatnonzero(self.codes == UNLABELED)
        if free.size:
            y[free] = predict(free)
        return y


def _holds_nullable_integers(y: ArrayLike) -> bool:
    """Whether y has a pandas type of nullable integers (or categories of them)."""
    dtype = getattr(y, "dtype", None)
    categories = getattr(dtype, "categories", None)
    inner = dtype if categories is None else categories.dtype
    return not isinstance(dtype, np.dtype) and getattr(inner, "kind", "") in ("i", "u")


def label_array(y: ArrayLike) -> NDArray[Any]:
    """1-D array of labels in which a missing entry is still recognisable."""
    refuse_lazy(y, "y")
    values: NDArray[Any]
    if isinstance(y, np.ma.MaskedArray):
        values = np.array(y.data, dtype=object)
        values[np.ma.getmaskarray(y)] = None
        if y.dtype.kind in "iu":
            values = np.ma.filled(y.astype(np.int64), UNLABELED)
    elif _holds_nullable_integers(y):
        objects = np.array(y, dtype=object)
        holes = [is_empty(v) for v in objects]
        values = np.where(holes, UNLABELED, objects).astype(np.int64)
    elif hasattr(y, "to_numpy"):  # pandas and polars keep None, NaN and NA this way
        values = y.to_numpy()
    else:
        values = np.asarray(y)
        if values.dtype.kind in "US" and not isinstance(y, np.ndarray):
            # NumPy has just turned the NaN of ["a", NaN] into the text "nan".
            values = np.asarray(y, dtype=object)
    _refuse_dates(values, "pass their names as text, or numbers to a regressor")
    if values.dtype.kind not in "biufOUS":  # NumPy's and pandas' newer string types
        values = values.astype(object)
    if values.ndim == 2 and values.shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {values.shape} instead: "
            "pass one column of labels."
        )
    return column_or_1d(values, warn=True)


def _refuse_dates(values: NDArray[Any], remedy: str) -> None:
    """Raise where y holds dates, whose numbers depend on the unit they are kept in."""
    known = (v for v in values.flat if not is_empty(v))
    if values.dtype.kind in "mM" or (
        values.dtype.kind == "O" and isinstance(next(known, None), date | timedelta)
    ):
        raise ValueError(f"y holds dates or durations: {remedy}.")


def _mask_of(values: NDArray[Any]) -> NDArray[np.bool_]:
    match values.dtype.kind:
        case "i":
            return values == UNLABELED
        case "f":
            return np.isnan(values)
        case "O":
            return np.array([is_empty(v) for v in values], dtype=bool)
        case "U":
            # How NumPy writes NaN into an array of text: np.array(["a", np.nan]).
            return np.char.isspace(values) | (values == "") | (values == "nan")
        case _:
            return np.zeros(values.shape, dtype=bool)


def unlabeled_mask(y: ArrayLike) -> NDArray[np.bool_]:
    """Tell which entries of y are unlabelled.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels. A missing one is -1 among integers, NaN among floats, None, NaN or an
        empty text among strings and objects (NumPy, pandas and plain lists alike).

    Returns
    -------
    mask : ndarray of bool of shape (n_samples,)
        True where the row has no label.

    See Also
    --------
    fewlabels.datasets.hide_labels : Hide labels, for experiments.

    Examples
    --------
    >>> from fewlabels import unlabeled_mask
    >>> unlabeled_mask([0, -1, 1])
    array([False,  True, False])
    >>> unlabeled_mask(["cat", None, "dog", float("nan")])
    array([False,  True, False,  True])
    """
    return _mask_of(label_array(y))


def with_holes(y: ArrayLike, hidden: NDArray[np.bool_] | None = None) -> NDArray[Any]:
    """Replace some labels by the marker for "unlabelled".

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels._labels import with_holes
    >>> with_holes(["a", "b"], np.array([True, False]))
    array([None, 'b'], dtype=object)
    """
    values = label_array(y)
    marker: float | None
    match values.dtype.kind:
        case "i":
            holed, marker = values.copy(), UNLABELED
        case "b" | "u":
            if values.max() > np.iinfo(np.int64).max:
                raise ValueError("y holds labels beyond int64: pass them as strings.")
            holed, marker = values.astype(np.int64), UNLABELED
        case "f":
            holed, marker = values.copy(), np.nan
        case _:
            holed, marker = values.astype(object), None
            # The text NumPy writes for a missing value is not a label among objects.
            holed[_mask_of(values)] = None
    if hidden is not None:
        holed[hidden] = marker
    return holed


def encode_labels(y: ArrayLike) -> Labels:
    """Encode labels, some of them missing, as class indices.

    Examples
    --------
    >>> from fewlabels._labels import encode_labels
    >>> codes, classes = encode_labels(["b", None, "a"])
    >>> codes
    array([ 1, -1,  0])
    >>> classes
    array(['a', 'b'], dtype=object)
    """
    values = label_array(y)
    mask = _mask_of(values)
    given = values[~mask]
    if given.size == 0:
        raise ValueError(
            f"y has no labelled row ({values.size} rows, all unlabelled): label at "
            "least one row of each class, or use a clustering estimator."
        )
    if given.dtype.kind == "O":
        if not any(isinstance(v, str) for v in given):
            given = np.asarray(
                given.tolist()
            )  # integers that became floats because of a missing value
        elif not all(isinstance(v, str) for v in given):
            kinds = sorted({type(v).__name__ for v in given})
            raise ValueError(
                f"y mixes labels of different kinds ({', '.join(kinds)}): convert all "
                "labels to strings or all to integers."
            )
    assert_all_finite(given, input_name="y")
    check_classification_targets(given)
    classes, codes_given = np.unique(given, return_inverse=True)
    if values.dtype.kind == "i" and mask.any() and classes.size == 1:
        raise ValueError(
            f"y holds only -1 and {classes[0]}. In integer y, -1 marks a row without "
            "a label, which leaves a single class. If -1 is a class, pass the labels "
            "as 0/1 or as strings; unlabelled rows are then -1 or None."
        )
    if classes.size == 1:
        warnings.warn(
            f"y holds a single class ({classes[0]}): every prediction will be that "
            "class.",
            UserWarning,
            stacklevel=3,
        )
    if (
        values.dtype.kind in "fO"
        and classes.size > 2
        and classes.dtype.kind in "if"
        and UNLABELED in classes
    ):
        warnings.warn(
            f"y has dtype {values.dtype}, so its -1 is taken as a class; if it marks "
            "rows without a label, pass integers or use NaN.",
            UserWarning,
            stacklevel=3,
        )
    if not mask.any():
        _warn_of_marks(classes, np.bincount(codes_given))
    codes = np.full(values.shape, UNLABELED, dtype=np.intp)
    codes[~mask] = codes_given
    return Labels(codes, classes)


def _warn_of_marks(classes: NDArray[Any], sizes: NDArray[np.intp]) -> None:
    """Point out a class that seems to stand for "no label", as no row lacks one."""
    for name, size in zip(classes, sizes, strict=True):
        most = 2 * size > sizes.sum() and classes.size > 2
        if is_na(name) or (most and seems_missing(name)):
            warnings.warn(
                f"y holds {str(name)!r} as a class; if it marks rows without a label, "
                "use None.",
                UserWarning,
                stacklevel=4,
            )


def _warn_of_frames(X: Any, y: Any) -> None:
    """Point out what the names of rows and columns say against taking y as it is."""
    name = getattr(y, "name", None)
    if isinstance(name, str) and name and name in getattr(X, "columns", ()):
        warnings.warn(
            f"X has a column {name!r}, which is the name of y: if it holds the "
            "answers, leave it out of X.",
            UserWarning,
            stacklevel=4,
        )
    if not (hasattr(X, "iloc") and hasattr(y, "iloc")) or X.index.equals(y.index):
        return
    if len(X) == len(y) and set(X.index) == set(y.index):
        warnings.warn(
            "y has the index of X in another order, and is matched to its rows by "
            "position: to match by the index, pass y.loc[X.index], else y.to_numpy().",
            UserWarning,
            stacklevel=4,
        )


def validate_partially_labeled(
    estimator: Any, X: Any, y: ArrayLike, *, given: Any = None, **check_params: Any
) -> tuple[Any, Labels]:
    """Validate X and labels, some missing; the first line of every `fit`.

    Where X was encoded, `given` is what it was made from.
    """
    if y is None:
        validate_data(estimator, X, y=None, **check_params)  # raises, naming y
    given = X if given is None else given
    X = validate_data(estimator, X, **check_params)
    labels = encode_labels(y)
    check_length(labels.codes.size, X)
    _warn_of_frames(given, y)
    return X, labels


def check_length(n_entries: int, X: Any) -> None:
    """Raise an error if y and X differ in length."""
    if n_entries != X.shape[0]:
        raise ValueError(
            f"y has {n_entries} entries but X has {X.shape[0]} rows: pass one label "
            "per row, with -1, NaN or None for rows without a label."
        )


def target_array(y: ArrayLike) -> NDArray[np.float64]:
    """1-D array of real targets, NaN where missing; possibly all missing."""
    refuse_lazy(y, "y")
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.ma.asarray(y)
    if isinstance(values, np.ma.MaskedArray):
        holes = np.ma.getmaskarray(values)
        values = np.asarray(values.data)
        if holes.any():
            values = np.where(holes, np.nan, values.astype(np.float64))
    if values.ndim == 2 and values.shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {values.shape} instead: "
            "fit one model per column."
        )
    values = column_or_1d(values, warn=True)
    _refuse_dates(values, "pass numbers, such as the days since the first one")
    if values.dtype.kind not in "biuf":
        values = np.array([np.nan if is_empty(v) else v for v in values], object)
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y holds something that is no number ({error}): pass numbers, with NaN "
            "or None for rows without a target, or use a classifier."
        ) from error


def encode_targets(y: ArrayLike) -> NDArray[np.float64]:
    """Read real targets, some of them missing.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Numbers; NaN, None or a masked entry marks a row without a target. Among
        integers -1 does, with a warning, unless others are masked or negative.

    Returns
    -------
    targets : ndarray of shape (n_samples,)
        The targets, NaN where missing.

    Raises
    ------
    ValueError
        If no row has a target, or if one is infinite or not a number.

    Examples
    --------
    >>> from fewlabels._labels import encode_targets
    >>> encode_targets([1, None, -1])
    array([ 1., nan, -1.])
    """
    targets = target_array(y)
    kind = getattr(getattr(y, "dtype", np.asarray(y).dtype), "kind", "O")
    if kind == "i" and not np.isnan(targets).any() and minus_one_marks(targets):
        targets[targets == UNLABELED] = np.nan
        warnings.warn(
            "y holds integers, so its -1 is taken as the mark of rows without a "
            "target; if it is a value, pass floats.",
            UserWarning,
            stacklevel=3,
        )
    elif kind == "i" and 2 * np.sum(targets == UNLABELED) > targets.size > 2:
        warnings.warn(
            "y is -1 in most rows, which is taken as a value; if it marks rows without "
            "a target, use NaN.",
            UserWarning,
            stacklevel=3,
        )
    known = ~np.isnan(targets)
    if not known.any():
        raise ValueError(
            f"y has no labelled row ({targets.size} rows, all unlabelled): give at "
            "least one row a target."
        )
    assert_all_finite(targets[known], input_name="y")
    return targets


def validate_partial_targets(
    estimator: Any, X: Any, y: ArrayLike, *, given: Any = None, **check_params: Any
) -> tuple[Any, NDArray[np.float64]]:
    """Validate X and targets, some missing; the first line of a regressor's `fit`.

    Where X was encoded, `given` is what it was made from.
    """
    if y is None:
        validate_data(estimator, X, y=None, **check_params)  # raises, naming y
    given = X if given is None else given
    X = validate_data(estimator, X, **check_params)
    targets = encode_targets(y)
    check_length(targets.size, X)
    _warn_of_frames(given, y)
    return X, targets


def signed_targets(
    codes: NDArray[np.intp], n_classes: int, dtype: Any = np.float64
) -> NDArray[Any]:
    """One-vs-rest targets in {-1, +1}, and 0 for unlabelled rows.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Class indices, -1 = unlabelled.
    n_classes : int
        Number of classes.
    dtype : dtype, default=float64
        Type of the result.

    Returns
    -------
    Y : ndarray of shape (n_samples, n_columns)
        One column per class; for up to two classes a single column, positive for the
        second class.
    """
    positive = np.arange(n_classes) if n_classes > 2 else np.array([1])
    Y = np.where(codes[:, None] == positive, 1, -1).astype(dtype)
    Y[codes == UNLABELED] = 0
    return Y


def decide(decision: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Classes from decision values: the inverse of :func:`signed_targets`."""
    if classes.size == 1:
        return np.repeat(classes, decision.shape[0])
    winner = (
        (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(1)
    )
    return classes[winner]


def by_first_row(labels: NDArray[Any]) -> NDArray[np.intp]:
    """Renumber clusters by their first row; empty ones come last."""
    order = np.unique(labels, return_index=True)[1]
    first = np.full(labels.max() + 1, labels.size)
    first[labels[order]] = order
    number = np.empty(first.size, dtype=np.intp)
    number[np.argsort(first, kind="stable")] = np.arange(first.size)
    return number[labels]


def relative_weights(weights: NDArray[Any]) -> NDArray[np.float64]:
    """Weights in units of the largest, rounded to 40 bits.

    If only ratios count, a common factor then changes nothing, not even the last
    digits, which could break ties between splits or candidates.
    """
    digits, powers = np.frexp(weights / weights.max())
    return np.ldexp(np.round(np.ldexp(digits, 40)), powers - 40)


def weighted_labels(
    labels: Labels, sample_weight: ArrayLike | None
) -> tuple[Labels, NDArray[Any]]:
    """Check weights of labels, and remove labels of weight zero."""
    n = labels.codes.size
    if sample_weight is None:
        return labels, np.ones(n)
    weights = check_sample_weight(
        sample_weight, np.empty((n, 0)), ensure_non_negative=True
    )
    gone = (labels.codes != UNLABELED) & (weights == 0)
    if not gone.any():
        return labels, weights
    if gone[labels.labeled].all():
        raise ValueError(
            "sample_weight is zero for every label: give at least one a weight."
        )
    kept, places = np.unique(labels.codes[~gone], return_inverse=True)
    codes = np.full(n, UNLABELED)
    codes[~gone] = places - (kept[0] == UNLABELED)
    return Labels(codes, labels.classes[kept[kept != UNLABELED]]), weights
