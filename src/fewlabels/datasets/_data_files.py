"""Find the file of a data set, check it and read it.

The content is checked rather than the file: the same arrays give the same digest
whether they come from a file, however compressed, or from OpenML.
"""

# SPDX-License-Identifier: BSD-3-Clause

import contextlib
import hashlib
import importlib.util
import os
import warnings
import zipfile
import zlib
from http.client import HTTPException
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

from fewlabels.datasets._registry import Entry, OpenML

Arrays = dict[str, NDArray[Any]]

# Errors of NumPy and zipfile on truncated or garbled files, or other formats.
_CORRUPT = (
    EOFError,
    KeyError,
    RuntimeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


def content_digest(arrays: Arrays) -> str:
    """Return the SHA-256 of names, types, shapes and values of arrays."""
    sha = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        little = array.dtype.newbyteorder("<")
        sha.update(f"{name} {little.str} {array.shape}\n".encode())
        sha.update(np.ascontiguousarray(array, dtype=little).reshape(-1).data)
    return sha.hexdigest()


def cache_folder() -> Path:
    """Folder in which data fetched from OpenML are kept."""
    if own := os.environ.get("FEWLABELS_CACHE"):
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore relative paths.
    folder = shared if os.path.isabs(shared) else os.path.expanduser("~/.cache")
    return Path(folder, "fewlabels")


def get_arrays(
    entry: Entry,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> tuple[Arrays, Path | None]:
    """Find, check and read the arrays of a data set."""
    folders = {
        "data_home": data_home,
        "FEWLABELS_DATA": os.environ.get("FEWLABELS_DATA") or None,
        "cache": cache_folder(),
    }
    looked_at = []
    for place, folder in folders.items():
        if folder is None:
            looked_at.append(f"{place}: not given")
            continue
        path = Path(folder).expanduser() / entry.file
        if path.is_file():
            return _read(entry, path), path
        looked_at.append(f"{place}: {path}")

    failure = None
    if entry.openml is None:
        looked_at.append("OpenML: no copy known")
    elif not download_if_missing:
        looked_at.append("OpenML: not asked, as download_if_missing=False")
    else:
        try:
            fetched = _fetch(entry.openml)
        except (OSError, HTTPException, ValueError) as error:
            looked_at.append(f"OpenML, data set {entry.openml.data_id}: {error}")
            failure = error
        else:
            arrays = _from_openml(entry, entry.openml, fetched)
            return arrays, _store(entry, arrays)
    raise FileNotFoundError(_missing_message(entry, looked_at)) from failure


def _missing_message(entry: Entry, looked_at: list[str]) -> str:
    places = "\n".join(f"  - {place}" for place in looked_at)
    arrays = "\n".join(f"  - {name}: {what}" for name, what in entry.arrays.items())
    return (
        f"{entry.title}: no file {entry.file} found. Looked at\n{places}\n"
        f"Put a file named {entry.file} into one of these folders, or name its "
        "folder by data_home or the environment variable FEWLABELS_DATA. It is "
        f"an archive written by numpy.savez with the arrays\n{arrays}\n"
        f"Source: {entry.source}."
    )


def _read(entry: Entry, path: Path) -> Arrays:
    try:
        with zipfile.ZipFile(path):
            pass  # np.load reads other formats too, with less helpful errors
        with np.load(path, allow_pickle=False) as npz:
            arrays = {name: npz[name] for name in entry.arrays if name in npz}
    except _CORRUPT as error:
        raise ValueError(
            f"{path} is corrupt, it cannot be read as an archive of arrays ({error}): "
            "replace or delete it."
        ) from error
    _verify(entry, arrays, str(path), "replace or delete it")
    return arrays


def _verify(entry: Entry, arrays: Arrays, what: str, remedy: str) -> None:
    digest = content_digest(arrays)
    if digest == entry.digest:
        return
    found = {name: f"{array.dtype} {array.shape}" for name, array in arrays.items()}
    details = [f"sha256 of the content {digest}, expected {entry.digest}"]
    details += [
        f"{name} is {found.get(name, 'missing')}, expected {expected}"
        for name, expected in entry.arrays.items()
        if found.get(name) != expected
    ]
    raise ValueError(
        f"{what} is corrupt or another version of {entry.title} "
        f"({'; '.join(details)}): {remedy}."
    )


def _fetch(openml: OpenML) -> Any:
    # The fast parser needs pandas, which is not a dependency of fewlabels.
    parser = "pandas" if importlib.util.find_spec("pandas") else "liac-arff"
    return fetch_openml(
        data_id=openml.data_id, as_frame=False, parser=parser, cache=False
    )


def _from_openml(entry: Entry, openml: OpenML, fetched: Any) -> Arrays:
    """Convert data from OpenML to the form of our files, and check them."""
    X = np.asarray(fetched.data)
    if openml.decimals is not None:
        X = X.round(openml.decimals) + 0.0  # the sum turns -0.0 into 0.0
    y = np.asarray(fetched.target).astype(np.int64) - openml.first_label
    arrays = {
        "X": X.astype(entry.dtype),
        "y": y.astype(np.int8),
        "is_test": np.arange(len(X)) >= openml.n_train,
    }
    _verify(
        entry,
        arrays,
        f"OpenML data set {openml.data_id}",
        f"get {entry.file} from another source and name its folder by data_home or "
        f"FEWLABELS_DATA (source: {entry.source})",
    )
    return arrays


def _store(entry: Entry, arrays: dict[str, Any]) -> Path | None:
    """Write a cache file, complete or not at all."""
    path = cache_folder() / entry.file
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(part, "wb") as handle:
            np.savez_compressed(handle, **arrays)
        part.replace(path)
    except OSError as error:
        warnings.warn(
            f"{entry.title} was fetched but could not be stored as {path} ({error}): "
            "it will be fetched again. Set FEWLABELS_CACHE to a writable folder.",
            stacklevel=5,  # the caller of the loader
        )
        return None
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
    return path
