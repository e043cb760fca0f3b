"""Search, classes, notes, accepted predictions and guidelines, as the page asks."""

# SPDX-License-Identifier: BSD-3-Clause

import json

import numpy as np
import pytest
from scipy.stats import beta

from fewlabels.studio import _run
from fewlabels.studio._desk import share_bounds
from fewlabels.studio._engine import Guesses
from tests.studio.served import Browser, Silent, until


@pytest.fixture
def guessed(studio, browser):
    """Predictions of row k: 'new' for the even ones, with 0.5 + 0.05 k."""
    codes = np.array([[k % 2, 1 - k % 2] for k in range(10)], dtype=np.int16)
    shares = np.array([[0.5 + 0.05 * k, 0.5 - 0.05 * k] for k in range(10)])
    worker = studio._worker
    worker.receive(("learned", 1, Guesses(["new", "old"], codes, shares), [3]))
    worker.receive(("near", np.arange(10, dtype=np.float32)[:, None] ** 2))
    assert until(lambda: browser.ask("api/card/0")[1]["guesses"])
    assert until(lambda: studio.session.near is not None)
    return browser


def rows(answer):
    return [card["row"] for card in answer[1]["cards"]]


def test_search_and_more_like_this(guessed):
    ask = guessed.ask
    assert rows(ask("api/search", {"text": "alert(3)"})) == [3]
    assert rows(ask("api/search", {"where": "labelled"})) == [9]
    assert rows(ask("api/search", {"text": "size>6", "where": "open"})) == [7, 8]
    assert rows(ask("api/search", {"low": 0.8, "order": "sure"})) == [9, 8, 7, 6]
    assert rows(ask("api/search", {"guess": "new", "high": 0.6})) == [0, 2]
    assert rows(ask("api/search", {"like": 5, "where": "open"}))[:3] == [5, 4, 6]
    answer = ask("api/search", {"start": 8, "ids": True})[1]
    assert (answer["total"], len(answer["cards"]), len(answer["rows"])) == (10, 2, 10)
    for wrong in ({"where": "x"}, {"order": "x"}, {"like": 10}, {"text": 3}):
        assert ask("api/search", wrong)[0] == 400


def test_similar_rows_take_a_moment(browser):
    assert browser.ask("api/search", {"like": 5})[0] == 409


# -- classes ----------------------------------------------------------------------


def named(browser):
    return {c["name"]: c["count"] for c in browser.ask("api/state")[1]["classes"]}


def test_classes_are_renamed_merged_described_and_undone(browser, studio, folder):
    browser.ask("api/label", {"rows": [0, 1], "label": "new"})
    browser.ask("api/label", {"rows": [2], "label": "newish"})
    listed = [
        {"name": "Old ones", "text": "before 1900", "colour": "#aa0000"},
        {"name": "new"},
        {"name": "none yet"},
    ]
    renames = {"old": "Old ones", "newish": "new"}
    body = {"classes": listed, "renames": renames, "key": "once"}
    for _ in range(2):  # a lost answer changes nothing
        status, answer, _ = browser.ask("api/classes", body)
        assert status == 200
    assert named(browser) == {"Old ones": 1, "new": 3, "none yet": 0}
    assert [*named(browser)] == ["Old ones", "new", "none yet"]
    first = answer["classes"][0]
    assert (first["text"], first["colour"]) == ("before 1900", "#aa0000")
    assert studio._worker.sent[-1][2] == {0: "new", 1: "new", 2: "new", 9: "Old ones"}
    # A label after the renaming is what it says.
    browser.ask("api/label", {"rows": [3], "label": "newish"})
    assert named(browser)["newish"] == 1
    browser.ask("api/undo", {})
    undone = browser.ask("api/undo", {"client": "a"})[1]
    assert undone["undone"]["do"] == "classes"
    assert undone["next"] is not None
    assert named(browser) == {"new": 2, "old": 1, "newish": 1}
    # All of it is in the journal.
    browser.ask("api/classes", {"classes": listed, "renames": renames})
    studio.stop()
    again = _run.Studio(folder / "t.csv", "kind").start()
    assert named(Browser(again)) == {"Old ones": 1, "new": 3, "none yet": 0}
    again.stop()


@pytest.mark.parametrize(
    ("classes", "renames", "status"),
    [
        ([{"name": "a"}, {"name": "a"}], {"old": "a"}, 400),
        ([{"name": "a"}], {}, 409),
        ([{"name": "a"}], {"old": "b"}, 400),
        ([{"name": "old"}], {"old": "old"}, 400),
        ([{"name": "old\0"}], {}, 400),
        ([{"name": "old", "colour": "red"}], {}, 400),
        ([{"name": "old", "colour": "#12345g"}], {}, 400),
        (["old"], {}, 400),
        ("old", {}, 400),
    ],
)
def test_classes_that_make_no_sense(browser, folder, classes, renames, status):
    body = {"classes": classes, "renames": renames}
    assert browser.ask("api/classes", body)[0] == status
    assert named(browser) == {"new": 0, "old": 1}


# -- notes ------------------------------------------------------------------------


def test_notes_and_flags(browser, studio, folder):
    body = {"row": 4, "text": " ask Ann <b> ", "flag": True}
    answer = browser.ask("api/note", body)[1]
    assert answer["card"]["note"] == {"text": "ask Ann <b>", "flag": True}
    assert answer["flagged"] == 1
    browser.ask("api/note", {"row": 5, "flag": True})
    browser.ask("api/label", {"rows": [6], "do": "skip"})
    assert rows(browser.ask("api/search", {"where": "flagged"})) == [4, 5]
    assert rows(browser.ask("api/search", {"where": "notes"})) == [4]
    assert rows(browser.ask("api/search", {"where": "skipped"})) == [6]
    studio.stop()
    again = _run.Studio(folder / "t.csv", "kind").start()
    ask = Browser(again).ask
    assert ask("api/card/4")[1]["note"] == {"text": "ask Ann <b>", "flag": True}
    ask("api/note", {"row": 4, "text": "", "flag": False})
    assert rows(ask("api/search", {"where": "flagged"})) == [5]
    for wrong in ({"row": 10}, {"row": 1, "text": "x" * 5001}, {"row": 1, "flag": 1}):
        assert ask("api/note", wrong)[0] == 400
    again.stop()


# -- accepting --------------------------------------------------------------------


def test_certain_predictions_are_accepted_as_one(guessed, studio):
    ask = guessed.ask
    ask("api/label", {"rows": [8], "do": "skip"})
    sample = ask("api/sample", {"above": 0.7, "size": 2})[1]
    assert (sample["total"], len(sample["cards"])) == (4, 2)  # 4, 5, 6, 7
    assert sample["expected"] == pytest.approx(np.mean([0.3, 0.25, 0.2, 0.15]))
    assert sample["bounds"][0] == [0.0, pytest.approx(1 - 0.05**0.5, abs=1e-4)]
    assert {c["name"]: c["count"] for c in sample["classes"]} == {"new": 2, "old": 2}
    body = {"above": 0.7, "version": sample["version"], "wrong": [5], "key": "k"}
    assert ask("api/accept", body | {"version": 99})[0] == 409
    status, answer, _ = ask("api/accept", body)
    assert (status, answer["accepted"]) == (200, 3)
    after = {4: "new", 6: "new", 7: "old", 9: "old"}
    assert studio.session.labels == after
    assert rows(ask("api/search", {"where": "accepted"})) == [4, 6, 7]
    # Nothing is learned from what the model said itself, and it is not asked again.
    _, _, learned, banned = studio._worker.sent[-1]
    assert learned == {9: "old"}
    assert {4, 6, 7} <= banned
    undone = ask("api/undo", {})[1]["undone"]
    assert undone["rows"] == [4, 6, 7]
    assert studio.session.labels == {9: "old"}


def test_nothing_is_that_certain(guessed):
    version = guessed.ask("api/state")[1]["version"]
    assert guessed.ask("api/accept", {"above": 1, "version": version})[0] == 409
    assert guessed.ask("api/sample", {"above": 2})[0] == 400


def test_there_is_nothing_to_accept_without_predictions(browser):
    assert browser.ask("api/sample", {})[0] == 409


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 20), (1, 20), (7, 20), (20, 20)])
def test_bounds_are_those_of_clopper_and_pearson(k, n):
    low = beta.ppf(0.05, k, n - k + 1) if k else 0
    high = beta.ppf(0.95, k + 1, n - k) if k < n else 1
    assert share_bounds(k, n) == pytest.approx((low, high), abs=1e-9)


# -- guidelines -------------------------------------------------------------------


def test_guidelines_are_a_file_beside_the_table(browser, folder):
    found = browser.ask("api/guidelines")[1]
    assert (found["text"], found["name"]) == ("", "t.guidelines.md")
    body = {"text": "# Rules\n\nçéλ", "seen": found["seen"]}
    assert browser.ask("api/guidelines", body)[0] == 200
    path = folder / "t.guidelines.md"
    assert path.read_text(encoding="utf-8") == body["text"]
    # Another program has edited it since: nothing is overwritten.
    path.write_text("mine")
    assert browser.ask("api/guidelines", body)[0] == 409
    assert path.read_text() == "mine"
    assert browser.ask("api/guidelines")[1]["text"] == "mine"
    path.unlink()
    path.mkdir()
    seen = browser.ask("api/guidelines")[1]["seen"]
    status, answer, _ = browser.ask("api/guidelines", {"text": "x", "seen": seen})
    assert (status, "cannot be saved" in answer["error"]) == (507, True)


# -- people -----------------------------------------------------------------------


@pytest.fixture
def team(folder, monkeypatch):
    monkeypatch.setattr(_run, "Worker", Silent)
    studio = _run.Studio(folder / "t.csv", "kind", ask_name=True, overlap=1.0).start()
    yield Browser(studio), studio
    studio.stop()


def test_people_disagree_and_settle(team):
    browser, studio = team

    def says(who, row, label):
        body = {"rows": [row], "label": label, "by": who, "next": False}
        assert browser.ask("api/label", body)[0] == 200

    for row, first, second in ((0, "a", "a"), (1, "a", "b"), (2, "b", "b")):
        says("Ann", row, first)
        says("Ben", row, second)
    says("Ann", 3, "a")
    assert studio.session.labels == {0: "a", 2: "b", 3: "a", 9: "old"}
    assert studio.session.disputed == {1}
    # Neither sees what the other said.
    assert browser.ask("api/card/1?by=Ann")[1]["label"] == "a"
    assert browser.ask("api/card/1?by=Ben")[1]["label"] == "b"
    assert browser.ask("api/card/3?by=Ben")[1]["label"] is None
    found = browser.ask("api/people?by=Ann")[1]
    assert found["names"] == [
        {"name": "Ann", "labels": 4},
        {"name": "Ben", "labels": 3},
    ]
    measured = found["agreement"]
    assert (measured["n_shared"], found["me"]) == (3, "Ann")
    assert measured["share"] == pytest.approx(2 / 3)
    assert measured["pairs"][0]["kappa"] == pytest.approx(0.4)
    (case,) = found["disputed"]
    assert case["card"]["row"] == 1
    assert {s["by"]: s["label"] for s in case["said"]} == {"Ann": "a", "Ben": "b"}
    # A third opinion makes a majority, which is used; a decision ends the dispute.
    says("Cy", 1, "b")
    assert (studio.session.labels[1], studio.session.disputed) == ("b", {1})
    browser.ask("api/decide", {"row": 1, "label": "a", "by": "Cy"})
    assert (studio.session.labels[1], studio.session.disputed) == ("a", set())
    # What they had said still counts for how far they agree.
    assert browser.ask("api/people")[1]["agreement"]["n_shared"] == 3
    # Everybody undoes their own.
    assert browser.ask("api/undo", {"by": "Ben"})[1]["undone"]["rows"] == [2]
    assert studio.session.labels[2] == "b"


def test_rows_are_shared_and_never_shown_twice_at_once(team):
    browser, _ = team
    seen = {"Ann": [], "Ben": []}
    for _ in range(40):
        for who in seen:
            path = f"api/next?client={who}&by={who}"
            card = browser.ask(path)[1]["next"]
            if card is None:
                continue
            assert card["row"] not in seen[who]
            assert card["label"] is None
            seen[who].append(card["row"])
            body = {"rows": [card["row"]], "label": "a", "by": who, "next": False}
            assert browser.ask("api/label", body | {"client": who})[0] == 200
    assert sorted(seen["Ann"]) == sorted(seen["Ben"]) == list(range(9))


def test_the_last_row_is_shown_in_one_tab_only(browser, studio):
    body = {"rows": list(range(8)), "label": "new", "next": False}
    browser.ask("api/label", body)
    assert browser.ask("api/next?client=a")[1]["next"]["row"] == 8
    assert browser.ask("api/next?client=b")[1] == {"next": None, "held": 1}


def test_names_are_kept_and_journals_merge(folder, monkeypatch):
    monkeypatch.setattr(_run, "Worker", Silent)
    files = []
    for who, label in (("Ann", "a"), ("Ben", "b")):
        path = folder / f"{who}.labels.jsonl"
        studio = _run.Studio(folder / "t.csv", "kind", store=path, annotator=who)
        with studio:
            body = {"rows": [0, 1], "label": label, "by": "somebody else"}
            assert Browser(studio).ask("api/label", body)[0] == 200
        files.append(path)
    lines = b"".join(path.read_bytes() for path in files)
    (folder / "t.labels.jsonl").write_bytes(lines)
    with _run.Studio(folder / "t.csv", "kind") as studio:
        assert studio.session.disputed == {0, 1}
        names = Browser(studio).ask("api/people")[1]["names"]
        assert [n["name"] for n in names] == ["Ann", "Ben"]
    opened = [json.loads(line) for line in files[0].read_text().splitlines()]
    assert opened[0]["by"] == "Ann"
