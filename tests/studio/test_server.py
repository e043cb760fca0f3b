"""The server: who is let in, what is answered, and two tabs at once."""

# SPDX-License-Identifier: BSD-3-Clause

import http.client
import json
import time

import numpy as np
import pytest

from fewlabels.studio import _run
from fewlabels.studio._engine import Guesses
from fewlabels.studio._guard import Access, Guard
from tests.studio.served import (
    PNG,
    TABLE,
    Browser,
    Silent,
    posix,
    until,
)


def test_every_answer_forbids_what_the_page_does_not_need(browser):
    for path in ("", "main.js", "api/state", "nothing"):
        headers = browser.ask(path)[2]
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    page = browser.ask("")[1].decode()
    assert "<script>" not in page
    assert "style=" not in page
    assert " on" + "click" not in page


@pytest.mark.parametrize("token", ["", "wrong", "..", "%2e%2e"])
def test_nobody_gets_in_without_the_token(browser, token):
    for path in ("", "api/state", "main.js"):
        assert browser.ask(path, token=token)[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Host": "evil.example"},
        {"Host": "evil.example:80", "Origin": "http://evil.example:80"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_requests_of_other_sites_are_refused(browser, studio, headers):
    body = {"rows": [0], "label": "new"}
    assert browser.ask("api/label", body, headers=headers)[0] == 403
    assert studio.store.label_of(0) is None


def test_names_of_others_are_refused_for_reading_too(browser):
    assert browser.ask("api/state", headers={"Host": "evil.example"})[0] == 403
    port = browser.host.split(":")[1]
    assert browser.ask("api/state", headers={"Host": f"localhost:{port}"})[0] == 200


def test_a_server_for_others_answers_to_addresses_not_to_names():
    guard = Guard(None, "t", Access("0.0.0.0"))

    def allowed(host):
        headers = [(b"host", host.encode())]
        scope = {"headers": headers, "path": "/t/", "method": "GET"}
        return not guard.refusal(scope)

    assert allowed("192.168.1.7:8000")
    assert allowed("[fe80::1]:8000")
    assert not allowed("evil.example:8000")


def test_a_label_is_on_the_disk_before_it_is_confirmed(browser, folder):
    status, answer, _ = browser.ask("api/label", {"rows": [0], "label": " new "})
    assert status == 200
    assert answer["labels"] == 2
    last = json.loads((folder / "t.labels.jsonl").read_text().splitlines()[-1])
    assert (last["label"], last["rows"][0][0]) == ("new", 1)
    assert answer["next"]["row"] != 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"rows": []},
        {"rows": [10], "label": "new"},
        {"rows": [-1], "label": "new"},
        {"rows": ["0"], "label": "new"},
        {"rows": [True], "label": "new"},
        {"rows": [0], "label": "  "},
        {"rows": [0], "label": "x" * 501},
        {"rows": [0], "label": 3},
        {"rows": [0], "label": "new", "do": "drop"},
        {"rows": {"a": 1}, "label": "new"},
    ],
)
def test_nonsense_is_refused(browser, folder, body):
    before = (folder / "t.labels.jsonl").read_bytes()
    assert browser.ask("api/label", body)[0] == 400
    assert browser.ask("api/label", raw=b"no json")[0] == 400
    assert (folder / "t.labels.jsonl").read_bytes() == before


def test_two_tabs_get_different_rows_and_hear_of_each_other(browser):
    first = browser.ask("api/next?client=a")[1]["next"]
    second = browser.ask("api/next?client=b")[1]["next"]
    assert first["row"] != second["row"]
    body = {"rows": [first["row"]], "label": "new", "seen": None, "client": "b"}
    assert browser.ask("api/label", {**body, "key": "1"})[0] == 200
    status, answer, _ = browser.ask("api/label", {**body, "client": "a", "key": "2"})
    assert status == 409
    assert "'new'" in answer["error"]
    assert answer["next"]["row"] not in (first["row"], second["row"])
    # The same request again, as after a lost answer, is no conflict.
    assert browser.ask("api/label", {**body, "key": "1"})[0] == 200


def test_undo_and_history(browser):
    browser.ask("api/label", {"rows": [0], "label": "new"})
    browser.ask("api/label", {"rows": [1, 2], "label": "other", "how": "grid"})
    browser.ask("api/label", {"rows": [3], "do": "skip"})
    entries = browser.ask("api/history")[1]
    assert [(e["row"], e["do"], e["label"]) for e in entries] == [
        (3, "skip", None),
        (1, "label", "other"),
        (2, "label", "other"),
        (0, "label", "new"),
    ]
    assert browser.ask("api/undo", {})[1]["next"]["row"] == 3
    answer = browser.ask("api/undo", {})[1]
    assert answer["undone"]["rows"] == [1, 2]
    assert [c["name"] for c in answer["classes"]] == ["new", "old"]
    browser.ask("api/undo", {})
    assert browser.ask("api/undo", {})[0] == 409


def test_cells_are_sent_as_data(browser):
    card = browser.ask("api/card/3")[1]
    assert card["cells"] == ["3", "<script>alert(3)</script>"]
    assert browser.ask("api/card/99")[0] == 404


def test_pictures(browser):
    card = browser.ask("api/card/0")[1]
    place = card["pictures"][0]["place"]
    status, data, headers = browser.ask(f"picture/0/{place}")
    assert (status, data, headers["content-type"]) == (200, PNG, "image/png")
    for path in (f"picture/99/{place}", "picture/0/0", "picture/0/77"):
        assert browser.ask(path)[0] == 404


@pytest.mark.parametrize("name", ["_server.py", "../_server.py", "..%2f_server.py"])
def test_only_files_of_the_page_are_given(browser, name):
    assert browser.ask(name)[0] in (403, 404)


def test_a_full_disk_is_told(browser, studio, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    status, answer, _ = browser.ask("api/label", {"rows": [0], "label": "new"})
    monkeypatch.undo()
    assert (status, "No space left" in answer["error"]) == (507, True)
    state = browser.ask("api/state")[1]
    assert (state["labels"], answer["error"] in state["notice"]) == (1, True)
    assert browser.ask("api/label", {"rows": [0], "label": "new"})[1]["notice"] == ""


@posix
def test_a_journal_that_is_taken_away_is_written_again(browser, studio, folder):
    path = folder / "t.labels.jsonl"
    browser.ask("api/label", {"rows": [0], "label": "new"})
    path.unlink()
    status, answer, _ = browser.ask("api/label", {"rows": [1], "label": "new"})
    assert (status, answer["labels"]) == (200, 3)
    assert "deleted or emptied" in answer["notice"]
    assert answer["next"]["row"] not in (0, 1)
    path.write_bytes(b"")  # and without an answer, soon
    assert until(lambda: len(studio.store.journal.odd) == 2)
    assert path.stat().st_size > 0
    path.unlink()
    studio.stop()
    # What the table itself says is not in the journal.
    assert studio.store.last_words()[0] == f"2 labels in {path}."
    assert len(studio.store.last_words()) == 4


@posix
def test_labels_that_a_sync_tool_brings_reach_the_page(browser, studio, folder):
    path, other = folder / "t.labels.jsonl", folder / "other.jsonl"
    other.write_bytes(path.read_bytes())
    elsewhere = _run.Studio(folder / "t.csv", "kind", store=other)
    elsewhere.session.act("label", [5], "new", how="card", key="there")
    elsewhere.store.close()
    elsewhere.server.socket.close()
    card = browser.ask("api/card/5")[1]
    browser.ask("api/label", {"rows": [0], "label": "new"})
    other.replace(path)
    assert until(lambda: browser.ask("api/state")[1]["labels"] == 3)
    assert studio._worker.sent[-1][2] == {0: "new", 5: "new", 9: "old"}
    body = {"rows": [5], "label": "old", "seen": card["seen"]}
    assert browser.ask("api/label", body)[0] == 409


@posix
@pytest.mark.filterwarnings("ignore:Labels cannot be saved:RuntimeWarning")
def test_a_journal_that_cannot_be_written_refuses_answers(browser, studio, folder):
    path = folder / "t.labels.jsonl"
    path.unlink()
    path.mkdir()
    status, answer, _ = browser.ask("api/label", {"rows": [0], "label": "new"})
    assert (status, "directory" in answer["error"]) == (507, True)
    worker = studio._worker
    error = {"value": 0.1, "low": 0.0, "high": 0.3, "note": ""}
    judged = {"labels": 5, "error": error, "baseline": error, "gain": error}
    worker.receive(("judged", 1, {**judged, "classes": []}))
    state = browser.ask("api/state")[1]
    assert (state["labels"], answer["error"] in state["notice"]) == (1, True)
    with pytest.warns(RuntimeWarning, match="All labels are in"):
        studio.stop()


def test_what_the_model_says_reaches_the_page(browser, studio):
    codes = np.zeros((10, 2), dtype=np.int16)
    codes[:, 1] = 1
    shares = np.tile(np.float32([0.75, 0.25]), (10, 1))
    worker = studio._worker
    worker.receive(("learned", 1, Guesses(["new", "old"], codes, shares), [7, 3]))
    error = {"value": 0.1, "low": 0.0, "high": 0.3, "note": ""}
    judged = {"labels": 5, "error": error, "baseline": error, "gain": error}
    worker.receive(("judged", 1, {**judged, "classes": []}))
    worker.receive(("layout", np.zeros((10, 2), np.float32)))
    groups = np.zeros(10, np.int32)
    worker.receive(("groups", groups, np.arange(10, dtype=np.float32)))
    assert until(lambda: browser.ask("api/state")[1]["map"])
    assert browser.ask("api/next?client=a")[1]["next"]["row"] == 7
    guesses = browser.ask("api/card/7")[1]["guesses"]
    assert guesses[0] == {"label": "new", "share": 0.75}
    assert len(browser.ask("api/map")[1]) == 80
    colors = browser.ask("api/colours")[1]
    assert np.frombuffer(colors[:20], "<u2").tolist() == [0] * 9 + [1]
    grid = browser.ask("api/grid")[1]
    assert [c["row"] for c in grid["cards"]] == list(range(9))
    curve = browser.ask("api/state")[1]["quality"]["curve"]
    assert [p["labels"] for p in curve] == [5]
    worker.receive(("failed", "no column can be used", ""))
    assert until(lambda: browser.ask("api/state")[1]["failure"])
    assert browser.ask("api/export", {"what": "table"})[0] == 409


def test_labels_are_sent_to_the_model(browser, studio):
    browser.ask("api/label", {"rows": [0], "label": "new"})
    browser.ask("api/label", {"rows": [1], "do": "skip"})
    kind, version, labels, banned = studio._worker.sent[-1]
    assert (kind, version) == ("labels", 2)
    assert labels == {0: "new", 9: "old"}
    assert banned == {1}
    start = studio._worker.sent[0]
    assert start[0] == "start"
    assert start[3] == {
        "target": "kind",
        "task": "classes",
        "markers": (),
        "bank": "auto",
        "device": None,
        "random_state": 0,
    }


def test_labels_go_to_label_studio_and_back(browser, studio, folder):
    browser.ask("api/label", {"rows": [0, 4], "label": "new"})
    formats = ("labels", "labels-parquet", "labels-jsonl")
    for what in (*formats, "label-studio", "label-studio-csv"):
        status, data, headers = browser.ask("api/export", {"what": what})
        assert status == 200
        name = json.loads(headers["x-file-name"])
        browser.ask("api/label", {"rows": [0, 4, 9], "do": "clear"})
        status, plan, _ = browser.ask(f"api/import?name={name}", raw=data)
        assert (status, plan["new"], plan["n_problems"]) == (200, 3, 0)
        answer = browser.ask("api/import/apply", {"plan": plan["plan"]})[1]
        assert answer["imported"] == 3
        assert studio.session.labels == {0: "new", 4: "new", 9: "old"}
    assert browser.ask("api/import?name=x.csv", raw=b"a,b\n1,2\n")[0] == 400
    assert browser.ask("api/export", {"what": "everything"})[0] == 400


def test_a_second_process_watches_and_takes_over(browser, studio, folder, monkeypatch):
    second = _run.Studio(folder / "t.csv", "kind").start()
    watcher = Browser(second)
    state = watcher.ask("api/state")[1]
    assert state["writes"] is False
    assert watcher.ask("api/label", {"rows": [0], "label": "new"})[0] == 507
    assert watcher.ask("api/take_over", {})[0] == 409
    browser.ask("api/label", {"rows": [0], "label": "new"})
    assert until(lambda: watcher.ask("api/state")[1]["labels"] == 2)
    studio.stop()
    assert watcher.ask("api/take_over", {})[1]["writes"] is True
    assert watcher.ask("api/label", {"rows": [1], "label": "new"})[0] == 200
    second.stop()


def test_pages_hear_what_happens(browser, studio):
    connection = http.client.HTTPConnection(browser.host, timeout=10)
    connection.request("GET", f"/{browser.token}/api/events?client=a")
    answer = connection.getresponse()

    def event():
        while not (line := answer.readline()).startswith(b"data:"):
            pass
        return json.loads(line[5:])

    assert event()["kind"] == "state"
    browser.ask("api/label", {"rows": [0], "label": "new"})
    heard = event()
    assert (heard["kind"], heard["content"]["labels"]) == ("labels", 2)
    studio.path.write_text(TABLE + "11,x,,p.png\n")
    # Two classes have labels: there may be a first guess.
    assert next(k for _ in range(2) if (k := event()["kind"]) != "learned") == "changed"
    connection.close()


def test_conflicts_are_shown_and_settled(folder, monkeypatch):
    monkeypatch.setattr(_run, "Worker", Silent)
    studio = _run.Studio(folder / "t.csv", "kind").start()
    Browser(studio).ask("api/label", {"rows": [2, 3], "label": "new"})
    studio.stop()
    (folder / "t.csv").write_text(TABLE.replace("3,<script>", "33,<script>"))
    studio = _run.Studio(folder / "t.csv", "kind").start()
    browser = Browser(studio)
    assert browser.ask("api/state")[1]["conflicts"] == 1
    (conflict,) = browser.ask("api/conflicts")[1]
    assert (conflict["place"], conflict["label"]) == (4, "new")
    assert conflict["card"]["cells"][0] == "33"
    body = {"action": conflict["action"], "place": 4, "keep": True}
    assert browser.ask("api/settle", body)[1] == []
    assert studio.session.labels == {2: "new", 3: "new", 9: "old"}
    studio.stop()


def test_the_process_that_learns(tmp_path):
    """From the first label to guesses, errors, a map and a labelled table."""
    sizes = [1.0, 1.1, 1.2, 1.3, 9.0, 9.1, 9.2, 9.3]
    table = {"size": sizes, "kind": ["small", "small", *[None] * 6]}
    with _run.Studio(table, "kind", store=tmp_path / "s.labels.jsonl") as studio:
        browser = Browser(studio)
        browser.ask("api/label", {"rows": [4, 5], "label": "large"})

        def learned():
            state = browser.ask("api/state")[1]
            assert not state["failure"]
            return state["map"] and state["quality"]["judgement"]

        deadline = time.monotonic() + 60
        while not learned():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        guesses = [browser.ask(f"api/card/{r}")[1]["guesses"][0] for r in (2, 7)]
        assert [g["label"] for g in guesses] == ["small", "large"]
        assert browser.ask("api/next?client=a")[1]["next"]["row"] in (2, 3, 6, 7)
        status, data, _ = browser.ask("api/export", {"what": "table"})
        assert status == 200
        assert data.decode().splitlines()[8].endswith(",predicted")


def test_a_target_that_is_new(folder, monkeypatch):
    monkeypatch.setattr(_run, "Worker", Silent)
    studio = _run.Studio(folder / "t.csv", "colour")
    assert studio.is_new
    assert studio.session.labels == {}
    studio.server.socket.close()
    studio.store.close()
