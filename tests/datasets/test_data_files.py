# SPDX-License-Identifier: BSD-3-Clause

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils import Bunch

from fewlabels.datasets import _data_files, load_g50c, load_mnist, load_usps
from fewlabels.datasets._data_files import cache_folder, content_digest
from fewlabels.datasets._registry import REGISTRY

pytestmark = pytest.mark.usefixtures("isolated")


def test_digest_ignores_storage_but_not_content():
    a, b = np.arange(6, dtype=np.int32).reshape(2, 3), np.array([True, False])
    digest = content_digest({"a": a, "b": b})
    assert len(digest) == 64
    for same in [
        {"b": b, "a": a},
        {"a": np.asfortranarray(a), "b": b},
        {"a": a.astype(">i4"), "b": b},
        {"a": np.repeat(a, 2, axis=1)[:, ::2], "b": b},
    ]:
        assert content_digest(same) == digest
    for other in [
        {"a": a},
        {"a": a, "c": b},
        {"a": a.reshape(3, 2), "b": b},
        {"a": a.astype(np.int64), "b": b},
        {"a": a + 1, "b": b},
    ]:
        assert content_digest(other) != digest


def test_search_order(fake, tmp_path, monkeypatch):
    g50c = fake("g50c")
    by_variable, argument = tmp_path / "variable", tmp_path / "argument"
    monkeypatch.setenv("FEWLABELS_DATA", str(by_variable))

    in_cache = g50c.save(tmp_path / "cache")
    assert load_g50c().filename == str(in_cache)
    # A folder without the file is no reason to stop.
    assert load_g50c(data_home=argument).filename == str(in_cache)
    in_variable = g50c.save(by_variable)
    assert load_g50c(data_home=argument).filename == str(in_variable)
    in_argument = g50c.save(argument)
    assert load_g50c(data_home=argument).filename == str(in_argument)
    assert load_g50c(data_home=str(argument)).filename == str(in_argument)


def test_home_is_expanded(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    path = fake("g50c").save(tmp_path / "data")
    assert load_g50c(data_home="~/data").filename == str(path)


def test_cache_folder(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("FEWLABELS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "fewlabels"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path("~/.cache/fewlabels").expanduser()
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path("~/.cache/fewlabels").expanduser()


def test_missing_file_says_where_and_what(fake, tmp_path, monkeypatch):
    entry = fake("g50c").entry
    monkeypatch.setenv("FEWLABELS_DATA", str(tmp_path / "variable"))
    with pytest.raises(FileNotFoundError) as info:
        load_g50c(data_home=tmp_path / "argument")
    message = str(info.value)
    for folder in ("argument", "variable", "cache"):
        assert str(tmp_path / folder / "g50c.npz") in message
    assert "OpenML: no copy known" in message
    assert "Put a file named g50c.npz into one of these folders" in message
    assert "X: float32 (120, 50)" in message
    assert "idx_lab: int16 (10, 50)" in message
    assert entry.source in message


def test_missing_file_without_folders(fake):
    fake("usps")
    with pytest.raises(FileNotFoundError) as info:
        load_usps(download_if_missing=False)
    message = str(info.value)
    assert "data_home: not given" in message
    assert "FEWLABELS_DATA: not given" in message
    assert "not asked, as download_if_missing=False" in message


def test_other_content(fake, tmp_path):
    g50c = fake("g50c")
    path = g50c.save(tmp_path, y=-g50c.arrays["y"])
    with pytest.raises(ValueError, match="corrupt or another version") as info:
        load_g50c(data_home=tmp_path)
    message = str(info.value)
    assert str(path) in message
    assert g50c.entry.digest in message
    assert "replace or delete it" in message


def test_other_shape_and_missing_array(fake, tmp_path):
    g50c = fake("g50c")
    arrays = g50c.arrays | {"X": g50c.arrays["X"][:100]}
    del arrays["idx_lab"]
    np.savez(tmp_path / "g50c.npz", **arrays)
    with pytest.raises(ValueError, match="another version") as info:
        load_g50c(data_home=tmp_path)
    message = str(info.value)
    assert "X is float32 (100, 50), expected float32 (120, 50)" in message
    assert "idx_lab is missing, expected int16 (10, 50)" in message


def test_further_arrays_do_no_harm(fake, tmp_path):
    g50c = fake("g50c")
    g50c.save(tmp_path, comment=np.array("mine"))
    np.testing.assert_array_equal(load_g50c(data_home=tmp_path).data, g50c.arrays["X"])


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-200])


def _garble(path):
    content = bytearray(path.read_bytes())
    content[1000:1100] = bytes(100)
    path.write_bytes(content)


def _write_one_array(path):
    with open(path, "wb") as handle:
        np.save(handle, np.zeros(3))


def _write_pickle(path):
    np.savez(path, X=np.array([{}], dtype=object))


@pytest.mark.parametrize(
    "spoil",
    [
        _truncate,
        _garble,
        _write_one_array,
        _write_pickle,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_text("<html>404</html>"),
    ],
)
def test_corrupt_file(fake, tmp_path, spoil):
    path = fake("g50c").save(tmp_path)
    spoil(path)
    with pytest.raises(ValueError, match=r"g50c\.npz is corrupt"):
        load_g50c(data_home=tmp_path)


@pytest.mark.parametrize(
    ("loader", "key"), [(load_usps, "usps"), (load_mnist, "mnist")]
)
def test_openml_then_cache(fake, tmp_path, monkeypatch, loader, key):
    stand_in = fake(key)
    asked = []

    def fetch_openml(**kwargs):
        asked.append(kwargs["data_id"])
        return stand_in.as_openml()

    monkeypatch.setattr(_data_files, "fetch_openml", fetch_openml)
    first = loader()
    assert asked == [REGISTRY[key].openml.data_id]
    assert_array_equal(first.data, stand_in.arrays["X"])
    assert_array_equal(first.target, stand_in.arrays["y"])
    assert_array_equal(first.is_test, stand_in.arrays["is_test"])
    cached = tmp_path / "cache" / stand_in.entry.file
    assert first.filename == str(cached)
    assert os.listdir(cached.parent) == [cached.name]

    second = loader()  # offline from now on
    assert asked == [REGISTRY[key].openml.data_id]
    assert second.filename == str(cached)
    assert_array_equal(second.data, first.data)


def test_openml_is_asked_for_arrays_and_keeps_no_copy(fake, monkeypatch):
    usps = fake("usps")
    wishes = {}

    def fetch_openml(**kwargs):
        wishes.update(kwargs)
        return usps.as_openml()

    monkeypatch.setattr(_data_files, "fetch_openml", fetch_openml)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    load_usps()
    assert wishes == {
        "data_id": 41082,
        "as_frame": False,
        "parser": "liac-arff",  # as pandas is not there
        "cache": False,
    }


def test_openml_values_are_rounded_to_the_published_precision(fake, monkeypatch):
    usps = fake("usps")
    fetched = usps.as_openml()
    fetched.data -= 2e-6  # makes zeros negative, too
    monkeypatch.setattr(_data_files, "fetch_openml", lambda **kwargs: fetched)
    assert_array_equal(load_usps().data, usps.arrays["X"])


def test_openml_with_other_content_is_refused(fake, tmp_path, monkeypatch):
    usps = fake("usps")
    fetched = usps.as_openml()
    other = Bunch(data=(fetched.data + 1) / 2, target=fetched.target)
    monkeypatch.setattr(_data_files, "fetch_openml", lambda **kwargs: other)
    with pytest.raises(ValueError, match="OpenML data set 41082 is corrupt or another"):
        load_usps()
    assert not (tmp_path / "cache").exists()


def test_openml_out_of_reach(fake):
    fake("mnist")
    with pytest.raises(FileNotFoundError, match="554: no route to OpenML") as info:
        load_mnist()
    assert isinstance(info.value.__cause__, OSError)


def test_cache_that_cannot_be_written(fake, tmp_path, monkeypatch):
    usps = fake("usps")
    (tmp_path / "cache").write_text("a file in the place of the folder")
    monkeypatch.setattr(_data_files, "fetch_openml", lambda **kwargs: usps.as_openml())
    with pytest.warns(UserWarning, match="could not be stored") as record:
        dataset = load_usps()
    assert record[0].filename == __file__
    assert dataset.filename is None
    assert_array_equal(dataset.data, usps.arrays["X"])


def test_interrupted_write_leaves_nothing(fake, tmp_path, monkeypatch):
    def interrupted(handle, **arrays):
        handle.write(b"half")
        raise OSError("disk full")

    usps = fake("usps")
    monkeypatch.setattr(_data_files, "fetch_openml", lambda **kwargs: usps.as_openml())
    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.warns(UserWarning, match="disk full"):
        load_usps()
    assert os.listdir(tmp_path / "cache") == []
