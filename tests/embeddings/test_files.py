"""From files to vectors: batches, what is kept, what cannot be read."""

# SPDX-License-Identifier: BSD-3-Clause

import hashlib
import importlib.metadata
import sys

import numpy as np
import pytest

from fewlabels.embeddings import (
    EmbeddingCache,
    UnreadableError,
    _protocol,
    embed_files,
    embedder_names,
    load_embedder,
)


class Counted:
    """An embedder that counts what it computes."""

    name, version, takes, n_dimensions = "counted", "1", "text", 2

    def __init__(self):
        self.n_computed = 0

    def read(self, data):
        if data.startswith(b"bad"):
            raise UnreadableError("it is bad")
        return data

    def embed(self, items):
        self.n_computed += len(items)
        return np.array([[len(i), i[0]] for i in items], dtype=np.float32)


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{k}.txt" for k in range(70)]
    for k, path in enumerate(paths):
        path.write_bytes(b"a" * (k + 1))
    return paths


def test_each_file_is_computed_once(files, tmp_path):
    embedder = Counted()
    first = embed_files(files, embedder, cache=tmp_path, n_jobs=2)
    assert first.vectors[:, 0].tolist() == list(range(1, 71))
    assert embedder.n_computed == 70
    files[0].rename(tmp_path / "moved.txt")
    files[1].write_bytes(b"changed")
    (tmp_path / "copy.txt").write_bytes(files[2].read_bytes())
    paths = [tmp_path / "moved.txt", *files[1:], tmp_path / "copy.txt"]
    again = embed_files(paths, embedder, cache=tmp_path)
    assert embedder.n_computed == 71
    np.testing.assert_array_equal(again.vectors[2:-1], first.vectors[2:])
    assert again.vectors[[0, 1, -1], 0].tolist() == [1, 7, 3]


def test_another_version_is_computed_anew(files, tmp_path):
    embedder = Counted()
    embed_files(files[:3], embedder, cache=tmp_path)
    embedder.version = "2"
    embed_files(files[:3], embedder, cache=tmp_path)
    assert embedder.n_computed == 6


def test_unreadable_files_are_named_and_the_others_embedded(files, tmp_path):
    files[1].write_bytes(b"bad")
    paths = [*files[:3], tmp_path / "absent.txt"]
    found = embed_files(paths, Counted())
    assert found.unread == {1: "it is bad", 3: "No such file or directory"}
    assert np.isnan(found.vectors[[1, 3]]).all()
    assert found.vectors[[0, 2], 0].tolist() == [1, 3]


def test_an_interrupted_run_loses_one_batch_at_most(files, tmp_path):
    class Interrupted(Counted):
        def embed(self, items):
            if self.n_computed:
                raise KeyboardInterrupt
            return super().embed(items)

    with pytest.raises(KeyboardInterrupt):
        embed_files(files, Interrupted(), cache=tmp_path)
    embedder = Counted()
    embed_files(files, embedder, cache=tmp_path)
    assert embedder.n_computed == 70 - 32


def test_damaged_records_are_computed_again(files, tmp_path):
    whole = embed_files(files[:4], Counted(), cache=tmp_path).vectors
    (kept,) = tmp_path.rglob("*.vectors")
    data = bytearray(kept.read_bytes())
    data[40] ^= 1  # a bit of the first record; the last one is cut
    kept.write_bytes(data[:-5])
    embedder = Counted()
    found = embed_files(files[:4], embedder, cache=tmp_path)
    assert embedder.n_computed == 2
    np.testing.assert_array_equal(found.vectors, whole)


def test_two_runs_at_the_same_time_keep_both(tmp_path):
    embedder = Counted()
    digests = [hashlib.sha256(bytes([k])).digest() for k in range(2)]
    with (
        EmbeddingCache(tmp_path, embedder) as one,
        EmbeddingCache(tmp_path, embedder) as two,
    ):
        one.add({digests[0]: np.array([1.0, 2.0])})
        two.add({digests[1]: np.array([3.0, 4.0])})
    later = EmbeddingCache(tmp_path, embedder)
    assert later.get(digests[0]).tolist() == [1, 2]
    assert later.get(digests[1]).tolist() == [3, 4]
    assert later.get(b"0" * 32) is None


def test_a_folder_that_cannot_be_written_is_noted(files, tmp_path):
    (tmp_path / ".fewlabels").write_text("in the way")
    found = embed_files(files[:3], Counted(), cache=tmp_path)
    assert found.vectors[:, 0].tolist() == [1, 2, 3]
    assert "computes them again" in found.note


def test_progress_is_told(files):
    shares = []
    embed_files(files, Counted(), progress=shares.append)
    assert shares == [32 / 70, 64 / 70, 1.0]


def test_no_file_at_all():
    found = embed_files([], Counted())
    assert found.vectors.shape == (0, 2)
    assert not found.unread


def test_packages_can_add_embedders(monkeypatch):
    point = importlib.metadata.EntryPoint(
        "mine", f"{__name__}:Counted", _protocol.GROUP
    )
    points = importlib.metadata.EntryPoints([point])
    monkeypatch.setattr(_protocol, "entry_points", lambda **kind: points.select(**kind))
    assert "mine" in embedder_names()
    monkeypatch.setattr(
        importlib.metadata.EntryPoint, "load", lambda self: globals()["Counted"]
    )
    _protocol._loaded.cache_clear()
    assert load_embedder("mine").name == "counted"
    _protocol._loaded.cache_clear()


def test_unknown_embedders_are_refused():
    with pytest.raises(ValueError, match="did you mean 'efficientnet-lite1'"):
        load_embedder("efficientnet-lite-1")


def test_networks_of_users_are_loaded_by_module_and_name(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "brought_net.py").write_text(
        "import numpy as np\n"
        "def means(pictures):\n"
        "    return [np.asarray(p).mean(axis=(0, 1)) for p in pictures]\n"
        "def wrong(pictures):\n"
        "    return [1.0]\n"
        "class Net:\n"
        "    name, version, takes, n_dimensions = 'net', '1', 'picture', 1\n"
        "    def read(self, data): return len(data)\n"
        "    def embed(self, items): return np.array(items, dtype=float)[:, None]\n"
        "number = 3\n"
    )
    image.new("RGB", (5, 3), (10, 20, 30)).save(tmp_path / "a.png")
    found = embed_files([tmp_path / "a.png"], "brought_net:means")
    assert found.vectors.tolist() == [[10, 20, 30]]
    data = (tmp_path / "a.png").read_bytes()
    assert embed_files([data], "brought_net:Net").vectors.tolist() == [[len(data)]]
    for name, message in (
        ("brought_net:wrong", "return a row for each"),
        ("brought_net:number", "is no function"),
        ("brought_net:absent", "cannot be loaded"),
        ("no_such_module:f", "cannot be loaded"),
    ):
        with pytest.raises(ValueError, match=message):
            load_embedder(name)


def test_names_in_saved_models_import_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trap_net.py").write_text("raise SystemExit('imported')\n")
    with pytest.raises(ValueError, match="embed_with='trap_net:f'"):
        load_embedder("trap_net:f", known=True)


@pytest.mark.parametrize("library", ["timm", "open_clip", "transformers"])
def test_absent_libraries_are_named(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setitem(sys.modules, "torch", None)
    package = library.replace("open_clip", "open-clip-torch")
    with pytest.raises(ImportError, match=f"pip install {package}"):
        load_embedder(f"{library}:anything")
