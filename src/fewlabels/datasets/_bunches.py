"""Assemble the results of loaders from the arrays of a data set."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch

from fewlabels._labels import UNLABELED
from fewlabels._params import check_number
from fewlabels.datasets._data_files import Arrays, get_arrays
from fewlabels.datasets._registry import REGISTRY, Entry

Folder = str | PathLike[str] | None


def load(
    key: str,
    data_home: Folder,
    return_X_y: bool,
    download_if_missing: bool,
    *,
    classes: Sequence[int] | None = None,
    n_labeled: int | None = None,
) -> Any:
    """Assemble what a loader returns: a Bunch, or rows and targets."""
    entry = REGISTRY[key]
    names = _class_names(entry, classes)
    arrays, path = get_arrays(entry, data_home, download_if_missing)
    dataset = Bunch(data=_data(entry, arrays), target=None)
    dataset.update({name: arrays[name] for name in entry.row_arrays})
    if entry.labels:
        # One column per class; targets are 0, 1, ... because -1 means unlabelled here.
        is_class = arrays["y"][:, None] == names
        dataset.target = is_class.argmax(axis=1).astype(np.int64)
        if classes is not None:
            rows = is_class.any(axis=1)
            for name in ("data", "target", *entry.row_arrays):
                dataset[name] = dataset[name][rows]
        dataset.target_names = names
    if return_X_y:
        return dataset.data, dataset.target

    if entry.image_shape is not None:
        images = dataset.data.reshape(-1, *entry.image_shape)
        dataset.images = images.swapaxes(1, 2) if entry.column_major else images
    if entry.feature_names:
        dataset.feature_names = list(entry.feature_names)
    if entry.split_sizes:
        splits = arrays[entry.split_array(n_labeled or entry.split_sizes[0])]
        dataset.splits = splits.astype(np.intp)
    dataset.update(DESCR=entry.descr, source=entry.source, filename=path and str(path))
    return dataset


def _class_names(entry: Entry, classes: Sequence[int] | None) -> NDArray[Any]:
    if classes is None:
        return np.array(entry.labels)
    names = list(classes) if isinstance(classes, Iterable) else [classes]
    if len(names) < 2 or len(set(names)) < len(names) or set(names) - {*entry.labels}:
        raise ValueError(
            "classes must name at least two different classes out of "
            f"{', '.join(map(str, entry.labels))}; got {classes!r}."
        )
    return np.array(names)


def _data(entry: Entry, arrays: Arrays) -> Any:
    if entry.n_stored is None:
        return arrays["X"]
    parts = arrays["X_data"], arrays["X_indices"], arrays["X_indptr"]
    return csr_matrix(parts, shape=tuple(arrays["X_shape"]))


def split_labels(dataset: Bunch, split: int) -> NDArray[np.int64]:
    """Return the labels of one of the given splits, with all others missing.

    Parameters
    ----------
    dataset : :class:`~sklearn.utils.Bunch`
        A data set with the attributes `target` and `splits`.
    split : int
        Number of the split, counted from 0.

    Returns
    -------
    y_holes : ndarray of shape (n_samples,)
        A copy of the target in which every row outside the split is -1.

    See Also
    --------
    hide_labels : Hide labels at random.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.utils import Bunch
    >>> from fewlabels.datasets import split_labels
    >>> dataset = Bunch(target=np.array([0, 1, 1]), splits=np.array([[0, 2], [0, 1]]))
    >>> split_labels(dataset, 1)
    array([ 0,  1, -1])
    """
    splits = dataset.get("splits")
    if splits is None:
        raise ValueError("dataset has no splits: use hide_labels on its target.")
    check_number("split", split, 0, len(splits) - 1)
    y = np.full_like(dataset.target, UNLABELED)
    y[splits[split]] = dataset.target[splits[split]]
    return y
