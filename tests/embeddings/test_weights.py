"""Files of weights are data: nothing in them is run."""

# SPDX-License-Identifier: BSD-3-Clause

import io
import os
import pickle
import struct
import sys
import types

import numpy as np
import pytest

from fewlabels.embeddings._weights import _MAGIC, packaged_file, read_arrays


class _Stored:
    """An array as PyTorch saves it: a call, with the numbers kept elsewhere."""

    def __init__(self, key, offset, shape, strides):
        self.parts = (key, offset, shape, strides)

    def __reduce__(self):
        from torch._utils import _rebuild_tensor_v2

        key, *where = self.parts
        return _rebuild_tensor_v2, (_Key(key), *where, False, {})


class _Key(str):
    pass


class _Saver(pickle.Pickler):
    def persistent_id(self, found):
        if isinstance(found, _Key):
            return (
                "storage",
                sys.modules["torch"].FloatStorage,
                str(found),
                "cpu",
                6,
                None,
            )
        return None


@pytest.fixture
def save(monkeypatch):
    """Write a file as PyTorch 1.5 does, without PyTorch."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})

    def _rebuild_tensor_v2(*parts):
        return parts

    _rebuild_tensor_v2.__module__ = "torch._utils"
    _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2, torch._utils = _rebuild_tensor_v2, utils
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)

    def saved(named, storages):
        file = io.BytesIO()
        about = {"little_endian": True}
        for part in (_MAGIC, 1001, about, named, list(storages)):
            _Saver(file, protocol=2).dump(part)
        for numbers in storages.values():
            file.write(struct.pack("<q", len(numbers)))
            file.write(np.asarray(numbers, dtype="<f4").tobytes())
        return file.getvalue()

    return saved


NUMBERS = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_arrays_come_back_with_their_strides(save):
    named = {
        "rows": _Stored("7", 0, (2, 3), (3, 1)),
        "columns": _Stored("7", 0, (2, 3), (1, 2)),
        "end": _Stored("7", 4, (2,), (1,)),
    }
    found = read_arrays(save(named, {"7": NUMBERS}))
    assert found["rows"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["columns"].tolist() == [[0, 2, 4], [1, 3, 5]]
    assert found["end"].tolist() == [4, 5]


@pytest.mark.parametrize(
    "where", [(3, (4,), (1,)), (0, (2, 3), (4, 1)), (0, (2,), (-1,)), (-1, (2,), (1,))]
)
def test_arrays_beyond_the_file_are_refused(save, where):
    with pytest.raises(ValueError, match="reaches beyond"):
        read_arrays(save({"x": _Stored("7", *where)}, {"7": NUMBERS}))


class _Attack:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_code_in_a_file_is_not_run(save, tmp_path):
    data = save({"x": _Attack(tmp_path / "attacked")}, {})
    with pytest.raises(ValueError, match=r"asks for .*mkdir"):
        read_arrays(data)
    assert not (tmp_path / "attacked").exists()


def test_damaged_files_are_refused(save):
    data = save({"x": _Stored("7", 0, (6,), (1,))}, {"7": NUMBERS})
    for length in range(0, len(data), 7):
        with pytest.raises(ValueError):
            read_arrays(data[:length])


def test_other_bytes_than_expected_are_refused(tmp_path, monkeypatch):
    folder = tmp_path / "some_weights"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "w.pth").write_bytes(b"abc")
    monkeypatch.syspath_prepend(tmp_path)
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert packaged_file("some_weights", "w.pth", digest, "pictures") == b"abc"
    with pytest.raises(ValueError, match="install some-weights again"):
        packaged_file("some_weights", "w.pth", "0" * 64, "pictures")
    with pytest.raises(ImportError, match=r"fewlabels\[pictures\]"):
        packaged_file("no_such_weights", "w.pth", digest, "pictures")
