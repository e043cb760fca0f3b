"""Requests that are malformed, too large or meant badly; imports as one action."""

# SPDX-License-Identifier: BSD-3-Clause

import io
import itertools
import json
import random
import zipfile

import pytest

from fewlabels.studio import _requests
from fewlabels.tabular import read_table

PATHS = [
    *("label", "undo", "settle", "export", "import/apply", "take_over"),
    *("classes", "note", "accept", "sample", "guidelines", "decide", "search"),
]
VALUES = [
    *(None, True, 0, -1, 1.5, 10**30, 1e308, "", "x", "x" * 600, "0", "\0"),
    *([], [0], [[0]], ["0"], {}, {"rows": [0]}, [None], [10**30], [{"name": 3}]),
]
FIELDS = [
    *("rows", "row", "label", "do", "how", "key", "seen", "client", "next", "action"),
    *("place", "keep", "what", "plan", "overwrite", "classes", "renames", "text"),
    *("flag", "by", "above", "sure", "order", "where", "like", "start", "version"),
]
QUERIES = ["after=x", "after=-1", "after=1e9", "client=%00", "after=1.5", "by=%ff"]
RAW = [b"", b"no json", b"[1]", b"\xff\xfe", b'{"rows":', b"[" * 5000, b"NaN", b"3"]


def test_nothing_makes_the_server_fail(browser, studio):
    """Random requests: each is refused with a reason, or makes sense."""
    chance = random.Random(0)
    for path, raw in itertools.product(PATHS, RAW):
        assert browser.ask(f"api/{path}", raw=raw)[0] < 500, (path, raw)
    for _ in range(400):
        path = chance.choice(PATHS)
        fields = chance.sample(FIELDS, chance.randrange(1, 6))
        body = {name: chance.choice(VALUES) for name in fields}
        status, answer, _ = browser.ask(f"api/{path}", body)
        assert status < 500, (path, body, answer)
        if status == 400:
            assert answer["error"]
    for query in QUERIES:
        for path in ("next", "grid", "card/0", "history", "people"):
            assert browser.ask(f"api/{path}?{query}")[0] < 500, (path, query)
    for path in ("api/card/99999999999999999999", "picture/1/99999999999999999999"):
        assert browser.ask(path)[0] == 404


@pytest.mark.parametrize(
    "raw", [b"no json", b"[]", b'"undo"', b'{"key": 3}', b'{"key": "' + b"k" * 99]
)
def test_a_malformed_request_undoes_nothing(browser, studio, raw):
    browser.ask("api/label", {"rows": [0], "label": "new"})
    status, answer, _ = browser.ask("api/undo", raw=raw)
    assert status == 400
    assert answer["error"]
    assert studio.session.labels[0] == "new"


def test_what_is_too_large_is_told(browser, monkeypatch):
    large = b'{"rows": [' + b"0," * 2**19 + b"0]}"
    status, answer, _ = browser.ask("api/label", raw=large)
    assert (status, "1 MB" in answer["error"]) == (413, True)
    monkeypatch.setattr(_requests.read, "__defaults__", (1000,))
    status, answer, _ = browser.ask("api/import?name=x.csv", raw=b"x" * 1001)
    assert (status, "MB" in answer["error"]) == (413, True)


@pytest.mark.parametrize(
    "label",
    ["\0", "a\0b", "\u200b", "a\u200bb", "\u202eoak", "a\nb", "\ufeff", "\u200d"],
)
def test_classes_that_cannot_be_seen_are_refused(browser, studio, label):
    assert browser.ask("api/label", {"rows": [0], "label": label})[0] == 400
    assert studio.session.labels == {9: "old"}


@pytest.mark.parametrize(
    "label", ["می\u200cخواهم", "👩\u200d🔬", "e\u0301", "+", "a b"]
)
def test_classes_of_any_script_are_taken(browser, studio, label):
    assert browser.ask("api/label", {"rows": [0], "label": label})[0] == 200
    assert studio.session.labels[0] == label


# -- imports ----------------------------------------------------------------------

ELSEWHERE = "size,kind\n0,new\n1,fresh\n2,=HYPERLINK(1)\n9,new\n77,lost\n"


def test_an_import_is_shown_before_it_is_done(browser, studio):
    browser.ask("api/label", {"rows": [0], "label": "new"})
    browser.ask("api/label", {"rows": [1], "label": "old"})
    before = dict(studio.session.labels)
    status, plan, _ = browser.ask("api/import?name=l.csv", raw=ELSEWHERE.encode())
    assert status == 200
    assert studio.session.labels == before
    counts = [plan[k] for k in ("new", "same", "changed", "by_hand", "n_problems")]
    assert counts == [1, 1, 2, 1, 1]
    assert plan["examples"] == [
        {"row": 1, "now": "old", "then": "fresh", "by_hand": True},
        {"row": 9, "now": "old", "then": "new", "by_hand": False},
    ]
    unknown = {c["name"] for c in plan["classes"] if not c["known"]}
    assert unknown == {"fresh", "=HYPERLINK(1)"}
    # Labels that are there stay, unless it is said otherwise.
    body = {"plan": plan["plan"], "key": "once"}
    assert browser.ask("api/import/apply", body)[1]["imported"] == 1
    assert studio.session.labels == before | {2: "=HYPERLINK(1)"}
    body = {"plan": plan["plan"], "overwrite": True}
    assert browser.ask("api/import/apply", body)[1]["imported"] == 2
    after = {0: "new", 1: "fresh", 2: "=HYPERLINK(1)", 9: "new"}
    assert studio.session.labels == after
    # All of its classes are undone at once.
    undone = browser.ask("api/undo", {})[1]["undone"]
    assert (undone["rows"], undone["how"]) == ([1, 9], "import")
    browser.ask("api/undo", {})
    assert studio.session.labels == before
    assert browser.ask("api/import/apply", {"plan": "gone"})[0] == 409


def test_formulas_are_defused_and_come_back(browser, studio):
    browser.ask("api/label", {"rows": [0], "label": '=HYPERLINK("http://x")'})
    for what in ("labels", "label-studio-csv"):
        data = browser.ask("api/export", {"what": what})[1]
        assert b"'=HYPERLINK(" in data
        assert b",=HYPERLINK" not in data
        assert b',"=HYPERLINK' not in data
        browser.ask("api/label", {"rows": [0], "do": "clear"})
        plan = browser.ask("api/import?name=l.csv", raw=data)[1]
        browser.ask("api/import/apply", {"plan": plan["plan"]})
        assert studio.session.labels[0] == '=HYPERLINK("http://x")'


def test_a_dataset_for_hugging_face(browser):
    browser.ask("api/label", {"rows": [0, 2], "label": "new"})
    status, data, headers = browser.ask("api/export", {"what": "huggingface"})
    assert (status, json.loads(headers["x-file-name"])) == (200, "t_dataset.zip")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert set(archive.namelist()) == {"README.md", "data/train.parquet"}
        readme = archive.read("README.md").decode()
        assert readme.startswith("---\nconfigs:\n")
        assert "path: data/train.parquet" in readme
        file = io.BytesIO(archive.read("data/train.parquet"))
        file.name = "train.parquet"
        table = read_table(file)
    assert table["kind"].tolist() == ["new", "new", "old"]
    assert table["row"].tolist() == [1, 3, 10]
