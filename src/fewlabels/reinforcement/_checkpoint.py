"""Checkpoints: arrays and JSON in one npz file; loading it never runs code."""

# SPDX-License-Identifier: BSD-3-Clause

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = 1
_META = "json"


def write_checkpoint(
    path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]], meta: dict[str, Any]
) -> None:
    """Write a file that is either there as a whole or not at all."""
    target = Path(path)
    text = json.dumps({"format": FORMAT, **meta}).encode()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            entries: dict[str, Any] = {_META: np.frombuffer(text, np.uint8), **arrays}
            np.savez(file, **entries)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_checkpoint(
    path: str | os.PathLike[str],
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read what `write_checkpoint` wrote; pickled objects are refused."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(arrays.pop(_META).tobytes())
    except (KeyError, ValueError, EOFError, AttributeError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path} is not a checkpoint of fewlabels.") from error
    if meta.get("format") != FORMAT:
        raise ValueError(
            f"{path} has format {meta.get('format')!r}; this version reads {FORMAT}."
        )
    return arrays, meta
