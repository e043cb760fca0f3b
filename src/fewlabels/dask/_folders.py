"""Large tables in files, and folders of Parquet parts."""

# SPDX-License-Identifier: BSD-3-Clause

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fewlabels._lazy import is_lazy
from fewlabels.dask._collections import (
    cluster_of,
    compute,
    is_frame,
    lost_cluster,
    measured,
    merged,
    need_dask,
    parts_of,
    starts,
)
from fewlabels.dask._draw import draw_unlabeled, drawn_from
from fewlabels.dask._learn import join_drawn
from fewlabels.preprocessing import FileError

# Parquet readers skip names with this prefix.
JOB = "_job.json"


class WrittenParts(NamedTuple):
    """Result of :func:`write_parts`.

    Attributes
    ----------
    folder : str
        Where the parts are.
    n_parts : int
        Number of parts.
    n_kept : int
        Number of parts that had been written before.
    """

    folder: str
    n_parts: int
    n_kept: int


def lazy_table(
    path: str, *, delimiter: str | None = None, block_size: str = "64MB"
) -> Any:
    r"""Open a large table without reading it.

    Parameters
    ----------
    path : str
        A Parquet file, a folder of such files, or a text file (.csv, .tsv, .jsonl),
        with ``*`` for several; all workers must be able to read it. Cells of .csv and
        .tsv files stay text.
    delimiter : str, default=None
        What separates the fields of a text file; by default a comma or a tab, according
        to its suffix.
    block_size : str, default="64MB"
        Size of the parts of text files.

    Returns
    -------
    table : Dask DataFrame
        The table.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fewlabels.dask import lazy_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("a,b\n1,x\n2,y\n")
    ...     table = lazy_table(str(path)).compute()
    >>> list(table["a"])
    ['1', '2']
    """
    need_dask()
    import dask.dataframe as dd

    suffix = Path(path).suffix.lower()
    if suffix in (".csv", ".tsv", ".txt"):
        separator = delimiter or ("\t" if suffix == ".tsv" else ",")
        return dd.read_csv(path, sep=separator, dtype=str, blocksize=block_size)
    if suffix in (".jsonl", ".ndjson"):
        return dd.read_json(path, lines=True, blocksize=block_size)
    if suffix in (".parquet", ".pq", ""):
        return dd.read_parquet(path)
    raise ValueError(
        f"{path} is not Parquet, .csv, .tsv or .jsonl, so it cannot be read in "
        "parts: convert it first."
    )


def sample_frame(
    frame: Any,
    labeled: Callable[[Any], NDArray[np.bool_]],
    column: str,
    *,
    sample_size: int = 100_000,
    random_state: Any = None,
    client: Any = None,
) -> tuple[Any, int]:
    """Collect the labelled rows of a large frame, and a sample of the others.

    Parameters
    ----------
    frame : Dask DataFrame
        The frame.
    labeled : callable
        Tells which cells of a part of the label column hold a label.
    column : str
        The label column.
    sample_size : int, default=100_000
        Number of unlabelled rows.
    random_state : int, RandomState instance or None, default=None
        Seed; how the frame is partitioned does not matter.
    client : distributed.Client, default=None
        Who computes; by default whatever Dask is set to.

    Returns
    -------
    sample : DataFrame
        In the order of the frame.
    n_rows : int
        Rows of the frame.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from fewlabels.dask import sample_frame
    >>> rows = pd.DataFrame({"size": range(100), "kind": ["a", "b"] + 98 * [None]})
    >>> sample, n_rows = sample_frame(
    ...     dd.from_pandas(rows, npartitions=3),
    ...     lambda cells: cells.notna().to_numpy(),
    ...     "kind",
    ...     sample_size=10,
    ...     random_state=0,
    ... )
    >>> len(sample), n_rows
    (12, 100)
    """
    dask = need_dask()
    sizes, labels = measured(
        client, frame, frame[column], labeled, lambda known: ~np.asarray(known)
    )
    seed = int(check_random_state(random_state).randint(2**31))
    draw = draw_unlabeled(labels.n_rows, labels.rows, sample_size, seed)
    begin = starts(sizes)
    cuts = np.searchsorted(labels.rows, begin)
    drawn = [
        dask.delayed(drawn_from, nout=2)(
            part, int(first), int(size), labels.rows[low:high], [draw]
        )[0][0]
        for part, first, size, low, high in zip(
            parts_of(frame), begin, sizes, cuts, cuts[1:], strict=False
        )
    ]
    (sample,) = compute(client, merged(drawn, join_drawn))
    return sample.rows, labels.n_rows


def write_parts(
    frame: Any,
    folder: str,
    answer: Callable[..., Any],
    *args: Any,
    job: dict[str, Any] | None = None,
    client: Any = None,
    force: bool = False,
    progress: Callable[[float], None] | None = None,
) -> WrittenParts:
    """Write the result for every part of a frame as one Parquet file.

    A part appears under its name when it is complete. Called again after an
    interruption, only the missing parts are computed.

    Parameters
    ----------
    frame : Dask DataFrame
        The frame.
    folder : str
        Where to write; all workers must be able to.
    answer : callable
        Turns a part, a pandas DataFrame, into the one to be written.
    *args : object
        Further arguments of `answer`, such as a model; sent to every worker once.
    job : dict, default=None
        Description of the job, as plain values. Parts of different jobs are not mixed.
    client : distributed.Client, default=None
        Who computes; by default whatever Dask is set to.
    force : bool, default=False
        Whether to overwrite the parts of another job.
    progress : callable, default=None
        Called with the share of parts that are written.

    Returns
    -------
    written : WrittenParts
        The summary.

    Examples
    --------
    >>> import tempfile
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from fewlabels.dask import write_parts
    >>> frame = dd.from_pandas(pd.DataFrame({"a": range(9)}), npartitions=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_parts(frame, folder, lambda part: 2 * part)
    ...     again = write_parts(frame, folder, lambda part: 2 * part)
    ...     total = int(pd.read_parquet(folder)["a"].sum())
    >>> written.n_parts, again.n_kept, total
    (3, 3, 72)
    """
    if not is_lazy(frame) or not is_frame(frame):
        raise TypeError(f"frame must be a Dask DataFrame, got {type(frame).__name__}.")
    dask = need_dask()
    parts = parts_of(frame)
    _claim(folder, {"parts": len(parts), **(job or {})}, force)
    paths = [Path(folder) / f"part-{k:05d}.parquet" for k in range(len(parts))]
    missing = [k for k, path in enumerate(paths) if not path.exists()]
    # Once for all parts, not in every task.
    shared = [
        dask.delayed(arg, name=f"shared-{_digest([folder, k])}", traverse=False)
        for k, arg in enumerate(args)
    ]
    tasks = [
        dask.delayed(write_part)(parts[k], str(paths[k]), answer, *shared)
        for k in missing
    ]
    n_kept = len(parts) - len(tasks)
    for n_done, _ in enumerate(_as_computed(client, tasks), start=n_kept + 1):
        if progress is not None:
            progress(n_done / len(parts))
    return WrittenParts(str(folder), len(parts), n_kept)


def write_part(part: Any, path: str, answer: Callable[..., Any], *args: Any) -> None:
    """Write one part, complete or not at all."""
    made = answer(part, *args)
    name = f"_{os.path.basename(path)}.{os.getpid()}.tmp"
    whole = os.path.join(os.path.dirname(path), name)
    try:
        made.to_parquet(whole)
        os.replace(whole, path)
    finally:
        if os.path.exists(whole):
            os.remove(whole)


def _claim(folder: str, job: dict[str, Any], force: bool) -> None:
    """Record the job of a folder, and refuse to mix jobs."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    note = json.dumps(job, sort_keys=True, default=str, indent=1)
    known = place / JOB
    others = [p.name for p in place.iterdir() if p.name != JOB]
    if known.exists() and known.read_text() != note:
        if not force:
            raise FileError(
                f"{folder} contains parts of another job (see {JOB} there): name "
                "another folder, or pass force=True to replace it."
            )
        for part in place.glob("part-*.parquet"):
            part.unlink()
    elif not known.exists() and others and not force:
        raise FileError(
            f"{folder} is not empty: name another folder, or pass force=True to "
            "replace files in it."
        )
    for left in place.glob("_part-*.tmp"):
        left.unlink()
    known.write_text(note)


def _digest(value: Any) -> str:
    return hashlib.sha256(repr((value, os.getpid())).encode()).hexdigest()[:16]


def _as_computed(client: Any, tasks: list[Any]) -> Iterable[Any]:
    """Compute tasks, and yield as they finish."""
    client = cluster_of(client)
    if client is None:
        for task in tasks:
            yield task.compute()
        return
    from distributed import as_completed

    futures = client.compute(tasks)
    try:
        for future in as_completed(futures, loop=client.loop):
            yield future.result()
    except BaseException as error:
        if lost_cluster(client, error):
            raise ConnectionError(
                "The Dask scheduler was lost. Written parts are complete: connect "
                "to a running one and call this again for the missing parts "
                f"({type(error).__name__}: {error})."
            ) from error
        client.cancel(futures, force=True)
        raise
