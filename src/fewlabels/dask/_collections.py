"""Dask collections as parts with known numbers of rows."""

# SPDX-License-Identifier: BSD-3-Clause

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from fewlabels._lazy import is_lazy

# Results that one task joins.
FAN_IN = 16


class Labels(NamedTuple):
    """Labels of a collection.

    Attributes
    ----------
    rows : ndarray of shape (n_labeled,)
        Numbers of the labelled rows.
    values : ndarray of shape (n_labeled,)
        Their labels.
    n_rows : int
        Number of all rows.
    """

    rows: NDArray[np.int64]
    values: NDArray[Any]
    n_rows: int


def need_dask() -> Any:
    """Import Dask, or name the extra it is part of."""
    try:
        import dask
        import dask.array  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "fewlabels.dask needs Dask: pip install 'fewlabels[dask]'."
        ) from error
    return dask


def compute(client: Any, *values: Any) -> tuple[Any, ...]:
    """Compute lazy values together, by a client or Dask's current scheduler."""
    dask = need_dask()
    client = cluster_of(client)
    if client is None:
        return dask.compute(*values)
    lazy, packed = dask.base.unpack_collections(*values)
    futures = client.compute(lazy)
    try:
        return tuple(packed(client.gather(futures)))
    except BaseException as error:
        if lost_cluster(client, error):
            raise ConnectionError(
                "The Dask scheduler was lost, with all computed results: connect "
                "to a running one and call this again. Nothing was learned or "
                f"written ({type(error).__name__}: {error})."
            ) from error
        client.cancel(futures, force=True)  # stop work that nobody waits for
        raise


def cluster_of(client: Any) -> Any:
    """Return the client that Dask would use; None without a cluster."""
    dask = need_dask()
    if client is not None or dask.config.get("scheduler", None) is not None:
        return client
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.Client.current()
    except ValueError:
        return None


def lost_cluster(client: Any, error: BaseException) -> bool:
    """Whether an error means that the cluster was lost, not that a task failed."""
    from distributed.comm import CommClosedError

    # Futures are cancelled for many reasons.
    cut = "connection-lost" in str(getattr(error, "reason", ""))
    gone = isinstance(error, ConnectionError | CommClosedError)
    return cut or gone or client.status not in ("running", "connecting")


def is_frame(X: Any) -> bool:
    """Whether a collection is a data frame (or one of its columns)."""
    return is_lazy(X) and hasattr(X, "map_partitions")


def whole_rows(X: Any) -> Any:
    """Check a collection of rows; a block of an array holds all columns."""
    need_dask()
    if not is_lazy(X):
        raise TypeError(
            f"X must be a Dask array or a Dask DataFrame, got {type(X).__name__}: for "
            "rows that fit into memory, use FewLabelsClassifier or "
            "FewLabelsRegressor."
        )
    if getattr(X, "ndim", None) != 2:
        raise ValueError(
            f"X must have rows and columns, got {getattr(X, 'ndim', 'no')} dimensions."
        )
    return X if is_frame(X) else X.rechunk({1: -1})


def parts_of(X: Any) -> list[Any]:
    """Return the parts of a collection, not computed yet."""
    return list(np.ravel(X.to_delayed()))


def known_sizes(X: Any) -> NDArray[np.int64] | None:
    """Return the number of rows of every part, if the collection knows it."""
    if is_frame(X) or np.isnan(X.chunks[0]).any():
        return None
    return np.array(X.chunks[0], dtype=np.int64)


def lazy_sizes(X: Any) -> list[Any]:
    """Count rows of every part, not computed yet."""
    dask = need_dask()
    # From a columnar file, only one column is read.
    parts = parts_of(X[list(X.columns)[:1]] if is_frame(X) else X)
    return [dask.delayed(len if is_frame(X) else _length)(part) for part in parts]


def _length(block: Any) -> int:
    return block.shape[0]


def starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the rows before every part, and all of them at the end."""
    return np.concatenate([[0], np.cumsum(sizes)])


def measured(
    client: Any,
    X: Any,
    y: Any,
    read: Callable[[Any], NDArray[Any]],
    is_missing: Callable[[Any], NDArray[np.bool_]],
) -> tuple[NDArray[np.int64], Labels]:
    """Find the labels, and the number of rows of every part.

    Parameters
    ----------
    client : distributed.Client or None
        Who computes.
    X : Dask array or DataFrame
        Rows.
    y : Dask array or Series, or array-like
        Labels, some of them missing; parts need not be those of `X`.
    read : callable
        Turns a part of `y` into an array of labels.
    is_missing : callable
        Tells where such an array has no label.

    Returns
    -------
    sizes : ndarray of shape (n_parts,)
        Rows of every part of `X`.
    labels : Labels
        The labels.
    """
    dask = need_dask()
    parts = parts_of(y) if is_lazy(y) else [y]
    found = [dask.delayed(_found)(part, read, is_missing) for part in parts]
    sizes = known_sizes(X)
    counted = lazy_sizes(X) if sizes is None else []
    found, counted = compute(client, found, counted)
    if sizes is None:
        sizes = np.array(counted, dtype=np.int64)
    begin = starts(np.array([size for size, _, _ in found]))
    n_rows = int(begin[-1])
    if n_rows != sizes.sum():
        raise ValueError(
            f"y has {n_rows:,} entries but X has {sizes.sum():,} rows: pass one label "
            "per row, with -1, NaN or None for rows without a label."
        )
    rows = [places + first for (_, places, _), first in zip(found, begin, strict=False)]
    values = [given for _, _, given in found if given.size]
    if not values:
        raise ValueError(
            f"y has no labelled row ({n_rows:,} rows, all unlabelled): label at least "
            "one row of each class."
        )
    return sizes, Labels(np.concatenate(rows), np.concatenate(values), n_rows)


def _found(
    part: Any,
    read: Callable[[Any], NDArray[Any]],
    is_missing: Callable[[Any], NDArray[np.bool_]],
) -> tuple[int, NDArray[np.int64], NDArray[Any]]:
    """Return the size of a part, the positions of its labels, and the labels."""
    if getattr(part, "ndim", 1) == 2 and part.shape[1] == 1:
        part = part.iloc[:, 0] if hasattr(part, "iloc") else part[:, 0]
    values = read(part)
    places = np.flatnonzero(~is_missing(values)).astype(np.int64)
    return values.size, places, values[places]


def merged(parts: Sequence[Any], join: Callable[[list[Any]], Any]) -> Any:
    """Join lazy results, a few at a time, always in the same order."""
    dask = need_dask()
    parts = list(parts)
    while len(parts) > 1:
        groups = [parts[k : k + FAN_IN] for k in range(0, len(parts), FAN_IN)]
        parts = [dask.delayed(join)(group) for group in groups]
    return parts[0]


def take_rows(rows: Any, places: NDArray[Any]) -> Any:
    """Pick rows of a part, whatever it is made of."""
    if hasattr(rows, "iloc"):
        return rows.iloc[places]
    return rows.tocsr()[places] if issparse(rows) else np.asarray(rows)[places]


def join_rows(parts: Sequence[Any]) -> Any:
    """Concatenate the rows of parts."""
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    if issparse(parts[0]):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return np.concatenate(parts)
