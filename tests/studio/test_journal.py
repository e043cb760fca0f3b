"""The file of labels, while other programs delete, cut and replace it."""

# SPDX-License-Identifier: BSD-3-Clause

import json
import multiprocessing
import os
import random
import shutil
import sys
import time
from contextlib import contextmanager, nullcontext, suppress

import pytest

from fewlabels.studio._journal import LockedError, StoreError
from fewlabels.studio._rows import RowKeys
from fewlabels.studio._store import LabelStore

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows lets nobody delete a file that is open"
)
ROWS = 30
LABELS = ("oak", "fir", "yew")


def opened(path, **kwargs):
    keys = RowKeys(["a"], [[str(row) for row in range(ROWS)]])
    return LabelStore(path, keys, "kind", ["a"], [None] * ROWS, **kwargs)


def on_disk(path):
    """Labels as the next start would find them."""
    store = opened(path, write=False)
    said = {row: store.label_of(row) for row in store.touched()}
    return {row: label for row, label in said.items() if label is not None}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.labels.jsonl"


@pytest.fixture
def store(path):
    store = opened(path)
    for row in range(3):
        store.act("label", [row], LABELS[row])
    yield store
    store.close()


# -- what other programs do -------------------------------------------------------


def delete(path, chance):
    path.unlink(missing_ok=True)


def rename_away(path, chance):
    if path.exists():
        path.rename(path.with_suffix(f".{chance.randrange(1000)}.bak"))


def empty(path, chance):
    path.write_bytes(b"")


def cut(path, chance):
    if path.exists():
        os.truncate(path, chance.randrange(path.stat().st_size + 1))


def put_in_place(path, data, chance):
    """Write as editors and sync tools do: over the file, or another one renamed."""
    if chance.random() < 0.5:
        path.write_bytes(data)
    else:
        other = path.with_suffix(".tmp")
        other.write_bytes(data)
        other.replace(path)


def overwrite(path, chance):
    """Leave nothing but the size."""
    size = path.stat().st_size if path.exists() else 1
    put_in_place(path, b"x" * (size - 1) + b"\n", chance)


def older_copy(path, chance):
    copies = sorted(path.parent.glob("copy-*"))
    data = chance.choice(copies).read_bytes() if copies else b""
    put_in_place(path, data, chance)


def edited_lines(path, chance, change):
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    change(lines)
    put_in_place(path, b"".join(lines), chance)


def drop_a_line(path, chance):
    edited_lines(path, chance, lambda x: x and x.pop(chance.randrange(len(x))))


def shuffle(path, chance):
    edited_lines(path, chance, chance.shuffle)


def line_ends_of_windows(path, chance):
    data = path.read_bytes() if path.exists() else b""
    put_in_place(path, data.replace(b"\n", b"\r\n"), chance)


def add_junk(path, chance):
    with path.open("ab") as file:
        file.write(chance.choice([b"\n", b"junk", b"junk\n", b'{"do": "label"}\n']))


HARMS = (
    *(delete, rename_away, empty, cut, older_copy, drop_a_line, shuffle),
    *(line_ends_of_windows, add_junk, overwrite),
)


# -- one at a time ----------------------------------------------------------------


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("then", ["label", "look", "close"])
@pytest.mark.parametrize("seed", [0, 1])
def test_what_was_confirmed_is_in_the_file_again(path, store, harm, then, seed):
    chance = random.Random(seed)
    harm(path, chance)
    expected = {row: LABELS[row] for row in range(3)}
    if then == "label":
        assert store.act("label", [3], "elm").rows == [3]
        expected[3] = "elm"
    elif then == "look":
        store.follow()
    else:
        store.close()
    assert on_disk(path) == expected
    assert {row: store.label_of(row) for row in expected} == expected
    assert store.last_words()[0] == f"{len(expected)} labels in {path}."
    told = store.journal.odd
    assert len(told) <= 1
    if harm in (delete, rename_away, empty):
        assert "deleted or emptied" in told[0]
    elif harm is drop_a_line:
        assert path.name in told[0]


def test_a_file_that_was_touched_or_copied_is_nothing_odd(path, store):
    os.utime(path, (1, 1))
    store.act("label", [3], "elm")
    other = path.with_suffix(".copy")
    shutil.copy(path, other)
    other.replace(path)
    store.act("label", [4], "elm")
    assert store.notice == ""
    assert len(on_disk(path)) == 5


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("last_end", [True, False])
def test_lines_of_the_other_side_are_kept(path, store, in_place, last_end):
    other = path.with_suffix(".other")
    shutil.copy(path, other)
    elsewhere = opened(other)
    elsewhere.act("label", [7], "elm")
    elsewhere.undo()
    elsewhere.act("label", [8], "elm")
    elsewhere.close()
    if not last_end:
        os.truncate(other, other.stat().st_size - 1)
    time.sleep(0.02)  # lines are in the order of their times, to the millisecond
    store.act("label", [3], "oak")
    if in_place:
        path.write_bytes(other.read_bytes())
    else:
        other.replace(path)
    store.act("label", [4], "oak")
    expected = {0: "oak", 1: "fir", 2: "yew", 3: "oak", 4: "oak", 8: "elm"}
    assert on_disk(path) == expected
    assert {r: store.label_of(r) for r in range(9) if store.label_of(r)} == expected
    assert "replaced or edited" in store.notice
    # An undo means the action that it meant, whatever stands before it by now.
    assert store.undo().rows == [4]
    assert store.undo().rows == [3]
    del expected[4], expected[3]
    assert on_disk(path) == expected


def test_lines_that_another_program_adds_count(path, store):
    other = path.with_suffix(".other")
    shutil.copy(path, other)
    elsewhere = opened(other)
    elsewhere.act("label", [7], "elm")
    added = other.read_bytes()[path.stat().st_size :]
    with path.open("ab") as file:
        file.write(added)
    assert store.follow()
    assert store.label_of(7) == "elm"
    assert "added lines" in store.notice


@pytest.mark.parametrize("when", ["before the write", "after it"])
@pytest.mark.parametrize("then", ["look", "close"])
@pytest.mark.parametrize("harm", HARMS)
def test_while_a_label_is_being_written(path, store, harm, then, when, monkeypatch):
    name = "write" if when == "before the write" else "fsync"
    plain, left = getattr(os, name), [1]

    def interrupted(*args):
        result = plain(*args) if name == "fsync" else None
        if left:
            left.pop()
            harm(path, random.Random(0))
        return result if name == "fsync" else plain(*args)

    monkeypatch.setattr(os, name, interrupted)
    store.act("label", [3], "elm")
    monkeypatch.undo()
    assert not left
    assert on_disk(path)[3] == "elm"
    store.follow() if then == "look" else store.close()
    assert on_disk(path) == {0: "oak", 1: "fir", 2: "yew", 3: "elm"}


def test_a_file_that_never_holds_still(path, store, monkeypatch):
    plain = os.fsync

    def gone(file):
        plain(file)
        path.unlink(missing_ok=True)

    monkeypatch.setattr(os, "fsync", gone)
    with pytest.raises(StoreError, match="another program keeps"):
        store.act("label", [3], "elm")
    monkeypatch.undo()
    assert store.label_of(3) is None
    store.follow()
    assert on_disk(path) == {0: "oak", 1: "fir", 2: "yew"}


def test_a_folder_of_that_name(path, store):
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreError, match=r"cannot be saved in .*directory"):
        store.act("label", [3], "elm")
    assert store.label_of(3) is None
    assert "directory" in store.notice
    store.follow()
    path.rmdir()
    store.follow()
    assert "deleted" in store.notice
    assert on_disk(path) == {0: "oak", 1: "fir", 2: "yew"}


def test_a_fifo_of_that_name(path, store):
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(StoreError, match="not a plain file"):
        store.act("label", [3], "elm")
    path.unlink()


def test_what_cannot_be_written_at_last_is_in_another_file(path, store):
    path.unlink()
    path.mkdir()
    store.close()
    (rescued,) = path.parent.glob("t.labels.*.jsonl")
    assert str(rescued) in store.journal.trouble
    assert on_disk(rescued) == {0: "oak", 1: "fir", 2: "yew"}
    assert store.last_words()[0] == f"0 labels in {path}."


def test_no_file_can_be_written_at_last(path, store, monkeypatch):
    path.unlink()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(path.parent / "nowhere"))
    shutil.rmtree(path.parent)
    store.close()
    assert "labels are lost" in store.journal.trouble


def test_a_read_only_file_that_holds_everything_is_no_trouble(path, store, monkeypatch):
    path.rename(path.with_suffix(".away"))
    shutil.copy(path.with_suffix(".away"), path)
    plain = os.open

    def read_only(name, *args, **kwargs):
        if name == path:
            raise PermissionError(13, "Permission denied")
        return plain(name, *args, **kwargs)

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(StoreError, match="Permission denied"):
        store.act("label", [3], "elm")
    assert "Permission denied" in store.notice
    store.close()
    assert store.notice == ""
    assert on_disk(path) == {0: "oak", 1: "fir", 2: "yew"}


@pytest.mark.parametrize("gone", [False, True])
def test_a_disk_that_is_really_full(path, store, gone):
    import resource

    size = path.stat().st_size
    if gone:
        path.unlink()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size - 10 if gone else size + 10, hard))
    try:
        for _ in range(2):
            with pytest.raises(StoreError, match="too large"):
                store.act("label", [3], "elm")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.label_of(3) is None
    assert path.stat().st_size == (0 if gone else size)
    assert store.notice
    store.follow()
    assert on_disk(path) == {0: "oak", 1: "fir", 2: "yew"}


def test_a_process_that_begins_a_new_file(path, store):
    path.unlink()
    second = opened(path)
    second.act("label", [7], "elm")
    with pytest.raises(StoreError, match="started a new"):
        store.act("label", [3], "oak")
    # The first watches now; what it has saved is owed to the file.
    assert not store.writes
    assert "started a new" in store.notice
    store.follow()
    assert (store.label_of(0), store.label_of(3), store.label_of(7)) == (
        *("oak", None),
        "elm",
    )
    with pytest.raises(LockedError):
        store.take_over()
    second.close()
    store.take_over()
    assert f"Another program truncated {path.name}" in store.notice
    store.act("label", [3], "oak")
    expected = {0: "oak", 1: "fir", 2: "yew", 3: "oak", 7: "elm"}
    assert on_disk(path) == expected


def test_journals_of_the_first_format_are_read(path):
    digests = [opened(path, write=False)._keys.digest(row, ["a"]) for row in range(2)]
    when = "2026-01-01T10:00:00.000+00:00"
    entries = [
        {"studio": 1, "opened": when, "pid": 1, "target": "kind", "columns": ["a"]},
        {"n": 1, "do": "label", "label": "oak", "rows": [[1, digests[0]]], "key": "k"},
        {"n": 2, "do": "label", "label": "fir", "rows": [[2, digests[1]]], "key": ""},
        {"n": 3, "do": "undo", "of": 1, "key": ""},
    ]
    lines = [json.dumps({"at": when, **entry}) + "\n" for entry in entries]
    path.write_text("".join(lines))
    store = opened(path)
    assert on_disk(path) == {1: "fir"}
    store.undo()
    assert (on_disk(path), store.damaged) == ({}, [])
    store.close()


# -- long random stories ----------------------------------------------------------


class Side:
    """A process that labels, here in this process."""

    def __init__(self, path):
        self.path = path
        self.start()

    def start(self):
        try:
            self.store = opened(self.path)
        except LockedError:
            self.store = opened(self.path, write=False)

    def do(self, what, seed, *content):
        """Do something, perhaps while something goes wrong."""
        with interrupted(self.path, random.Random(seed)) if seed else nullcontext():
            return getattr(self, what)(*content)

    def act(self, row, label, key):
        before = self.store.label_of(row)
        try:
            self.store.act("label", [row], label, key=key)
        except StoreError:
            assert self.store.label_of(row) == before
            assert not self.store.writes or self.store.notice
            return False
        return True

    def undo(self):
        with suppress(StoreError):
            action = self.store.undo()
            return None if action is None else action.key
        return None

    def look(self):
        """Say whether this side can answer for what it knows, and what it knows."""
        self.store.follow()
        known = [action.key for action in self.store.actions]
        return self.store.writes, self.store.journal.trouble, known

    def take_over(self):
        with suppress(LockedError, StoreError):
            self.store.take_over()

    def close(self):
        self.store.close()

    def kill(self):
        """Leave as with kill -9: the file is closed by the system."""
        self.store.journal._release()


@contextmanager
def interrupted(path, chance):
    """Let one call to the system fail, or another program come between."""
    name = chance.choice(["write", "write", "fsync", "open"])
    fails = chance.random() < 0.5
    plain, left, harm = getattr(os, name), [1], chance.choice(HARMS)

    def call(*args, **kwargs):
        if not left or (name == "open" and args[0] != path):
            return plain(*args, **kwargs)
        left.pop()
        if not fails:
            if chance.random() < 0.5:
                harm(path, chance)
                return plain(*args, **kwargs)
            result = plain(*args, **kwargs)
            harm(path, chance)
            return result
        if name == "write":
            plain(args[0], bytes(args[1])[: chance.randrange(40)])
        raise OSError(
            *chance.choice([(28, "No space left"), (30, "Read-only"), (5, "")])
        )

    setattr(os, name, call)
    try:
        yield
    finally:
        setattr(os, name, plain)


class ProcessSide:
    """The same in another process."""

    def __init__(self, path):
        # Forks of a small process: a new interpreter would take a second each time.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        self._end, end = context.Pipe()
        self._process = context.Process(target=serve, args=(path, end), daemon=True)
        self._process.start()
        end.close()
        assert self._end.recv() == "ready"

    def do(self, *message):
        self._end.send(message)
        result = self._end.recv()
        if isinstance(result, Exception):
            raise result
        return result

    def close(self):
        self.do("close", 0)
        self.kill()

    def kill(self, after=None, *message):
        """Kill it, while it is busy if there is a message; whether it confirmed."""
        if message:
            self._end.send(message)
            time.sleep(after)
        self._process.kill()
        self._process.join()
        said = False
        with suppress(EOFError, OSError):
            said = self._end.poll() and self._end.recv() is True
        self._end.close()
        return said


def serve(path, end):
    os.fsync = lambda file: None
    side = Side(path)
    end.send("ready")
    while True:
        try:
            end.send(side.do(*end.recv()))
        except EOFError:
            os._exit(0)
        except Exception as error:
            end.send(error)


class Story:
    """Two sides label their rows while other programs meddle; all is accounted for."""

    def __init__(self, folder, seed, kind):
        self.chance = random.Random(seed)
        self.path = folder / "t.labels.jsonl"
        self.kind = kind
        self.sides = {}
        self.said = []  # (row, label, key, certain)
        self.undone = set()
        self.n_copies = self.n_kept = 0

    def run(self, length):
        for _ in range(length):
            place = self.chance.randrange(2)
            if place not in self.sides:
                if len(self.sides) == 0 or self.chance.random() < 0.3:
                    self.sides[place] = self.kind(self.path)
                continue
            names = ("label", "undo", "harm", "copy", "elsewhere", "folder", "leave")
            weights = (8, 1, 4, 1, 1, 0.3, 0.6)
            getattr(self, self.chance.choices(names, weights)[0])(place)
        for place in list(self.sides):
            self.sides.pop(place).close()
        return self.lost()

    def label(self, place):
        side, key = self.sides[place], f"k{len(self.said)}"
        row = 10 * place + self.chance.randrange(10)
        label = self.chance.choice(LABELS)
        seed = self.chance.randrange(1, 2**31) if self.chance.random() < 0.3 else 0
        if seed:
            self.look()  # another program may come between
        if side.do("act", seed, row, label, key):
            self.said.append((row, label, key, True))
            assert key.encode() in self.path.read_bytes()
        elif self.chance.random() < 0.5:
            side.do("take_over", 0)

    def undo(self, place):
        self.undone.add(self.sides[place].do("undo", 0))

    def look(self):
        """Let half a second pass."""
        return {place: side.do("look", 0) for place, side in self.sides.items()}

    def harm(self, place):
        # What nobody who is there has ever read cannot be written again.
        if self.answered_for(self.look()):
            self.chance.choice(HARMS)(self.path, self.chance)

    def answered_for(self, looks):
        known = {key for writes, _, keys in looks.values() if writes for key in keys}
        return {key for _, _, key, _ in self.said} <= known

    def copy(self, place):
        if self.path.is_file():
            self.n_copies += 1
            shutil.copy(self.path, self.path.parent / f"copy-{self.n_copies}")

    def elsewhere(self, place):
        """Label on another computer, and let a sync tool bring that file."""
        if not self.path.is_file() or not self.answered_for(self.look()):
            return
        other = self.path.parent / "elsewhere.jsonl"
        copies = [self.path, *sorted(self.path.parent.glob("copy-*"))]
        shutil.copy(self.chance.choice(copies), other)
        store = opened(other)
        row, key = 20 + self.chance.randrange(10), f"k{len(self.said)}"
        label = self.chance.choice(LABELS)
        store.act("label", [row], label, key=key)
        store.close()
        put_in_place(self.path, other.read_bytes(), self.chance)
        if any(w and key in keys for w, _, keys in self.look().values()):
            self.said.append((row, label, key, True))
            self.n_kept += 1

    def folder(self, place):
        """Put a folder in its place for a while."""
        if not self.answered_for(self.look()):
            return
        self.path.unlink(missing_ok=True)
        self.path.mkdir()
        for side in self.sides.values():
            assert not side.do("act", 0, 0, "elm", "never")
        self.path.rmdir()
        self.look()

    def leave(self, place):
        looks = self.look()
        side = self.sides.pop(place)
        writes, trouble, _ = looks[place]
        if trouble or self.chance.random() < 0.4:
            side.close()  # and tells, if anything is wrong
        elif writes and self.kind is ProcessSide and self.chance.random() < 0.7:
            key, row = f"k{len(self.said)}", 10 * place + self.chance.randrange(10)
            after = self.chance.random() * 0.002
            sure = side.kill(after, "act", 0, row, "oak", key)
            self.said.append((row, "oak", key, sure))
        else:
            side.kill()

    def lost(self):
        """List what was confirmed and is in no file."""
        files = [self.path, *self.path.parent.glob("t.labels.[0-9]*.jsonl")]
        found = [on_disk(file) for file in files]
        missing = []
        for row in range(ROWS):
            allowed = []
            for at, label, key, sure in reversed(self.said):
                if at == row and key not in self.undone:
                    allowed.append(label)
                    if sure:
                        break
            else:
                allowed.append(None)
            if not any(labels.get(row) in allowed for labels in found):
                missing.append((row, allowed, [labels.get(row) for labels in found]))
        return missing


def told(folder, seeds, kind, length):
    n_said = n_kept = 0
    for seed in seeds:
        here = folder / str(seed)
        here.mkdir()
        story = Story(here, seed, kind)
        assert not story.run(length), f"seed {seed}"
        n_said += len(story.said)
        n_kept += story.n_kept
    return n_said, n_kept


@pytest.fixture
def no_sync(monkeypatch):
    """Save time: what was not synced is lost in a power cut only."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


def test_stories(tmp_path, no_sync):
    """Whatever is confirmed is in the file at the end, in 200 random stories."""
    n_said, n_kept = told(tmp_path, range(200), Side, 20)
    assert n_said > 800
    assert n_kept > 50


@pytest.mark.slow
def test_a_thousand_stories(tmp_path, no_sync):
    """The same for 1,000, of which 250 are of processes that may be killed."""
    assert told(tmp_path, range(1000, 1750), Side, 25)[0] > 3000
    n_said, n_kept = told(tmp_path, range(1750, 2000), ProcessSide, 25)
    assert n_said > 1000
    assert n_kept > 50
