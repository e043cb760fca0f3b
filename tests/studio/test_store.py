"""The journal: nothing that was confirmed is lost, whatever happens."""

# SPDX-License-Identifier: BSD-3-Clause

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabels.studio._journal import LockedError, StoreError
from fewlabels.studio._rows import RowKeys, row_digest
from fewlabels.studio._store import LabelStore

CELLS = [["1", "2", "3", "4"], ["x", "y", "z", "w"]]
NAMES = ["a", "b"]


def opened(path, cells=CELLS, names=NAMES, given=None, **kwargs):
    keys = RowKeys(names, cells)
    given = [None] * keys.n_rows if given is None else given
    return LabelStore(path, keys, "kind", names, given, **kwargs)


def labels(store):
    return [store.label_of(row) for row in range(len(store.given))]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.labels.jsonl"


def test_labels_come_back_after_closing(path):
    store = opened(path)
    store.act("label", [0], "oak")
    store.act("label", [1, 2], "fir", how="grid")
    store.act("skip", [3])
    store.close()
    store = opened(path)
    assert labels(store) == ["oak", "fir", "fir", None]
    assert store.current(3).do == "skip"
    assert [a.how for a in store.actions] == ["card", "grid", "card"]


def test_undo_takes_one_action_back_at_a_time(path):
    store = opened(path)
    store.act("label", [0], "oak")
    store.act("label", [0], "fir")
    store.act("label", [1, 2], "yew")
    assert store.undo().rows == [1, 2]
    assert labels(store) == ["fir", None, None, None]
    store.undo()
    assert labels(store) == ["oak", None, None, None]
    store.close()
    store = opened(path)
    assert labels(store) == ["oak", None, None, None]
    store.undo()
    assert labels(store) == [None] * 4
    assert store.undo() is None


def test_clearing_a_label_of_the_table(path):
    store = opened(path, given=["oak", None, None, None])
    assert store.label_of(0) == "oak"
    store.act("clear", [0])
    assert store.label_of(0) is None
    store.undo()
    assert store.label_of(0) == "oak"


def test_the_same_request_twice_is_done_once(path):
    store = opened(path)
    first = store.act("label", [0], "oak", key="k")
    assert store.act("label", [0], "oak", key="k") is first
    store.undo(key="u")
    store.undo(key="u")
    store.close()
    store = opened(path)
    assert store.act("label", [0], "oak", key="k").key == first.key
    assert len(store.actions) == 1


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_a_line_cut_short_is_passed_over(path, cut):
    store = opened(path)
    store.act("label", [0], "oak")
    store.act("label", [1], "fir")
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    store = opened(path)
    assert len(store.damaged) == (cut > 1)
    assert labels(store) == ["oak", None if cut > 1 else "fir", None, None]
    store.act("label", [2], "yew")
    store.close()
    assert labels(opened(path)) == ["oak", None if cut > 1 else "fir", "yew", None]


@given(st.data())
@settings(max_examples=30)
def test_any_prefix_of_the_file_holds_whole_actions(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("store") / "t.labels.jsonl"
    store = opened(path)
    states, sizes = [labels(store)], [path.stat().st_size]
    for _ in range(4):
        rows = data.draw(st.lists(st.integers(0, 3), min_size=1, unique=True))
        if data.draw(st.booleans()):
            store.act("label", rows, data.draw(st.text(min_size=1)))
        else:
            store.undo()
        states.append(labels(store))
        sizes.append(path.stat().st_size)
    store.close()
    whole = path.read_bytes()
    cut = data.draw(st.integers(sizes[0], len(whole)))
    path.write_bytes(whole[:cut])
    last = max(k for k, size in enumerate(sizes) if size <= cut + 1)
    store = opened(path)
    # The line end itself may be missing: then the line is whole, and counts.
    assert labels(store) in (states[last], states[max(last - 1, 0)])
    assert labels(store) == states[last] or cut == sizes[last] - 1
    store.close()


def test_a_second_process_is_told_and_may_watch(path):
    store = opened(path)
    with pytest.raises(LockedError):
        opened(path)
    watcher = opened(path, write=False)
    store.act("label", [0], "oak")
    assert watcher.label_of(0) is None
    assert watcher.follow()
    assert watcher.label_of(0) == "oak"
    assert watcher.holder["pid"] == os.getpid()
    with pytest.raises(StoreError, match="Another process"):
        watcher.act("label", [1], "fir")
    with pytest.raises(LockedError):
        watcher.take_over()
    store.close()
    watcher.take_over()
    watcher.act("label", [1], "fir")
    assert labels(watcher)[:2] == ["oak", "fir"]


def test_the_lock_goes_with_a_killed_process(path):
    code = (
        "import sys\n"
        "from fewlabels.studio._rows import RowKeys\n"
        "from fewlabels.studio._store import LabelStore\n"
        "keys = RowKeys(['a'], [['1', '2']])\n"
        f"s = LabelStore({str(path)!r}, keys, 'kind', ['a'], [None, None])\n"
        "s.act('label', [0], 'oak')\n"
        "print('saved', flush=True)\n"
        "sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"saved\n"
    with pytest.raises(LockedError):
        opened(path, [["1", "2"]], ["a"])
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    assert labels(opened(path, [["1", "2"]], ["a"])) == ["oak", None]


def test_rows_are_found_again_where_the_table_has_changed(path):
    store = opened(path)
    store.act("label", [0], "oak")
    store.act("label", [1], "fir")
    store.act("label", [2], "yew")
    store.close()
    # A row on top, another cell in the third, a new column, another order of columns.
    cells = [["m", "n", "o", "p", "q"], ["v", "x", "y", "Z", "w"], list("01234")]
    store = opened(path, [cells[0], cells[1], cells[2]], ["new", "b", "a"])
    assert labels(store) == [None, "oak", "fir", None, None]
    assert store.moved == 2
    (conflict,) = store.conflicts
    assert (conflict.kind, conflict.place, conflict.label) == ("row", 3, "yew")
    assert conflict.row == 2
    store.settle([conflict], keep=False)
    assert not store.conflicts
    store.close()
    store = opened(path, [cells[0], cells[1], cells[2]], ["new", "b", "a"])
    assert not store.conflicts
    assert labels(store) == [None, "oak", "fir", None, None]


def test_a_conflict_can_be_kept(path):
    store = opened(path)
    store.act("label", [3], "oak")
    store.close()
    cells = [CELLS[0], ["x", "y", "z", "changed"]]
    store = opened(path, cells)
    assert store.label_of(3) is None
    store.settle(store.conflicts, keep=True)
    assert labels(store) == [None, None, None, "oak"]
    store.close()
    assert labels(opened(path, cells)) == [None, None, None, "oak"]


def test_undone_labels_are_no_conflict(path):
    store = opened(path)
    store.act("label", [3], "oak")
    store.undo()
    store.close()
    assert not opened(path, [CELLS[0], ["x", "y", "z", "changed"]]).conflicts


def test_the_table_says_something_else_by_now(path):
    store = opened(path)
    store.act("label", [0], "oak")
    store.act("label", [1], "fir")
    store.close()
    later = ["yew", "fir", None, None]
    store = opened(path, given=later)
    (conflict,) = store.conflicts
    assert (conflict.kind, conflict.table_label) == ("label", "yew")
    assert store.label_of(0) == "oak"
    store.settle([conflict], keep=False)
    assert store.label_of(0) == "yew"
    store.close()
    store = opened(path, given=later)
    assert labels(store) == later
    assert not store.conflicts
    # Said again in full knowledge of the table, it is no conflict.
    store.act("label", [0], "oak")
    store.close()
    assert not opened(path, given=later).conflicts


def test_equal_rows_keep_their_own_labels(path):
    cells = [["1", "1", "2"]]
    store = opened(path, cells, ["a"])
    store.act("label", [0], "oak")
    store.act("label", [1], "fir")
    store.close()
    store = opened(path, [["0", "1", "1", "2"]], ["a"])
    assert sorted(map(str, labels(store))) == ["None", "None", "fir", "oak"]
    assert {store.label_of(1), store.label_of(2)} == {"oak", "fir"}


def test_labels_of_another_target_stay_apart(path):
    store = opened(path)
    store.act("label", [0], "oak")
    store.close()
    keys = RowKeys(NAMES, CELLS)
    other = LabelStore(path, keys, "height", NAMES, [None] * 4)
    assert labels(other) == [None] * 4
    other.act("label", [0], "tall")
    other.close()
    assert labels(opened(path)) == ["oak", None, None, None]


@pytest.mark.parametrize(
    "label", ["木", "naïve", "a\nb", '"', "\u2028", "\udc80", "🌲"]
)
def test_any_script(path, label):
    store = opened(path, [["ß", "ü\r", "\0", "ж"]], ["列"])
    store.act("label", [1], label)
    store.close()
    assert labels(opened(path, [["ß", "ü\r", "\0", "ж"]], ["列"]))[1] == label
    assert path.read_bytes().count(b"\n") == 3


def test_a_disk_that_is_full_leaves_the_file_as_it_was(path, monkeypatch):
    store = opened(path)
    store.act("label", [0], "oak")
    before = path.read_bytes()
    write = os.write

    def full(file, data):
        write(file, bytes(data)[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreError, match="No space left"):
        store.act("label", [1], "fir")
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert labels(store) == ["oak", None, None, None]
    store.act("label", [1], "fir")
    assert labels(store) == ["oak", "fir", None, None]


def test_a_folder_that_cannot_be_written_to(tmp_path):
    with pytest.raises(StoreError, match="cannot be saved"):
        opened(tmp_path / "nowhere" / "t.labels.jsonl")


def test_every_line_is_synced_before_it_counts(path, monkeypatch):
    store = opened(path)
    synced = []
    sync = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda f: (synced.append(path.stat().st_size), sync(f))
    )
    store.act("label", [0], "oak")
    assert synced == [path.stat().st_size]


def test_the_file_can_be_read_by_people_and_programs(path):
    store = opened(path)
    store.act("label", [1], "fir", how="map", key="k")
    entry = json.loads(path.read_text().splitlines()[-1])
    assert entry["do"] == "label"
    assert entry["label"] == "fir"
    assert entry["rows"] == [[2, row_digest(["2", "y"])]]


def test_digests_tell_cells_apart():
    assert row_digest(["a", "bc"]) != row_digest(["ab", "c"])
    assert row_digest(["", "a"]) != row_digest(["a", ""])
