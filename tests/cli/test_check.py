"""fewlabels check: rows drawn, labels filled in, and the error with its interval."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import json

import pytest

from fewlabels.studio._rows import RowKeys
from fewlabels.studio._store import LabelStore
from fewlabels.tabular import read_table
from tests.cli.test_commands import SPECIES, fewlabels, iris_rows, text_of

OPTIONS = ("-t", "species", "--bank", "fast")


@pytest.fixture
def iris(tmp_path):
    path = tmp_path / "iris.csv"
    path.write_text(text_of(iris_rows(per_class=2)))
    return path


def check(path, *more, code=0):
    return fewlabels("check", path, *OPTIONS, *more, code=code)


def questions(path):
    with path.with_suffix(".check.csv").open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def fill_in(path, answer=lambda row: SPECIES[row]):
    """Label the rows of the file like a person; empty answers stay empty."""
    rows = questions(path)
    for cells in rows:
        cells["species"] = answer(int(cells["row"]) - 1)
    with path.with_suffix(".check.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return rows


def journal(path):
    table = read_table(path)
    columns = [n for n in table.names if n != "species"]
    given = [v or None for v in table["species"].tolist()]
    keys = RowKeys(table.names, table.columns)
    file = path.with_suffix(".labels.jsonl")
    return LabelStore(file, keys, "species", columns, given, write=False)


def test_the_whole_way(iris):
    before = iris.read_bytes()
    first = check(iris, "-n", "20")
    assert "20 rows drawn at random from the 144 without a label" in first.stderr
    rows = questions(iris)
    assert len(rows) == 20
    assert {r["species"] for r in rows} == {""}
    assert not any("predicted" in name or "guess" in name for name in rows[0])
    assert "No label is filled in yet (20 rows to check)" in check(iris).stderr

    fill_in(iris)
    found = json.loads(check(iris, "--json").stdout)
    error = found["error"]
    assert 0 <= error["low"] <= error["value"] <= error["high"] < 0.5
    assert error["rows"] == 144
    assert error["checked"] == 20
    assert set(found["class_shares"]) == set(SPECIES)
    for name, share in found["class_shares"].items():
        assert share["low"] <= 1 / 3 <= share["high"], name
        assert share["rows"] == 150
    assert sum(e["checked"] for e in found["by_confidence"]) == 20
    said = check(iris).stderr
    assert "from 20 rows checked of 144" in said
    assert "Class shares in the whole table:" in said
    assert iris.read_bytes() == before


def test_nothing_learns_from_the_rows_unless_told(iris, tmp_path):
    check(iris, "-n", "12")
    rows = [int(r["row"]) - 1 for r in fill_in(iris)]
    check(iris)
    store = journal(iris)
    assert {store.current(row).do for row in rows} == {"check"}
    assert all(store.label_of(row) is None for row in rows)
    merge = ("merge", iris, tmp_path / "iris.labels.jsonl", "-t", "species")
    merged = fewlabels(*merge, "-o", tmp_path / "merged.csv")
    assert "0 labels merged" in merged.stderr

    assert "12 labels may be learned from now on" in check(iris, "--learn").stderr
    merged = fewlabels(*merge, "-o", tmp_path / "merged.csv", "-f")
    assert "12 labels merged" in merged.stderr
    assert "0 labels may be learned" in check(iris, "--learn").stderr


def test_more_rows_until_the_interval_is_narrow(iris):
    options = ("-n", "12", "--until", "0.1")
    check(iris, *options)
    widths, sizes = [], []
    while True:
        sizes.append(len(fill_in(iris)))
        found = json.loads(check(iris, *options, "--json").stdout)
        widths.append(found["error"]["high"] - found["error"]["low"])
        if widths[-1] <= 0.1:
            break
    assert sizes == [12, 24, 48, 96, 144][: len(sizes)]
    assert len(sizes) > 1
    assert widths == sorted(widths, reverse=True)
    # Having reached it, nothing more is asked for.
    check(iris, *options)
    assert len(questions(iris)) == sizes[-1]


def test_a_check_of_one_look_is_not_continued(iris):
    check(iris, "-n", "12")
    fill_in(iris)
    said = check(iris, "--until", "0.01").stderr
    assert "begun without --until" in said
    assert "--new" in said
    assert len(questions(iris)) == 12


def test_a_new_check_keeps_the_answers_of_the_last(iris):
    check(iris, "-n", "100")
    fill_in(iris)  # and no second call before
    said = check(iris, "-n", "100", "--new", "--seed", "1").stderr
    assert "known from before" in said
    filled = [r["species"] for r in questions(iris)]
    assert 50 < sum(map(bool, filled)) < 100


def test_empty_answers_widen_the_interval(iris):
    check(iris, "-n", "20")
    fill_in(iris)
    whole = json.loads(check(iris, "--json").stdout)["error"]
    fill_in(iris, lambda row: "?" if row % 4 == 0 else SPECIES[row])
    result = check(iris, "--json")
    part = json.loads(result.stdout)
    assert part["missing"] > 0
    assert part["error"]["high"] > whole["high"]
    assert part["error"]["low"] <= whole["low"]
    assert "count as right for the lower end" in result.stderr


@pytest.mark.parametrize("answer", ["always right", "always wrong"])
def test_more_rows_than_there_are(tmp_path, answer):
    path = tmp_path / "two.csv"
    path.write_text("x,kind\n1,a\n2,\n3,\n7,\n8,b\n9,\n")
    options = ("-t", "kind", "--bank", "fast", "-n", "500")
    said = fewlabels("check", path, *options).stderr
    assert "All 4 rows without a label are to be checked" in said
    file = tmp_path / "two.check.csv"
    right = {"2": "a", "3": "a", "4": "b", "6": "b"}
    names = {"a": "b", "b": "a"} if answer == "always wrong" else {"a": "a", "b": "b"}
    lines = file.read_text(encoding="utf-8-sig").splitlines()
    filled = [lines[0]]
    for line in lines[1:]:
        row, _, *rest = line.split(",")
        filled.append(",".join([row, names[right[row]], *rest]))
    file.write_text("\n".join(filled))
    error = json.loads(fewlabels("check", path, *options, "--json").stdout)["error"]
    expected = 1.0 if answer == "always wrong" else 0.0
    assert error["low"] == error["value"] == error["high"] == expected


def test_misspelt_labels_are_named(iris):
    check(iris, "-n", "12")
    first = int(questions(iris)[0]["row"]) - 1
    fill_in(iris, lambda r: "setsoa" if r == first else f" {SPECIES[r].upper()} ")
    said = check(iris).stderr
    assert "'setsoa'" in said
    assert "Did you mean 'setosa'?" in said
    assert "VIRGINICA" not in said
    fill_in(iris)  # corrected
    found = check(iris, "--json")
    assert "setsoa" not in found.stderr + found.stdout


def test_a_file_edited_in_the_wrong_place(iris):
    check(iris, "-n", "12")
    file = iris.with_suffix(".check.csv")
    rows = fill_in(iris)
    drawn = {int(r["row"]) - 1 for r in rows}
    # A row of the person's choice, one with other cells, and sorted by something else.
    table = iris_rows(per_class=2)[1:]
    other = next(r for r in range(150) if r not in drawn and table.count(table[r]) == 1)
    strange = {**rows[0], "sepal length": "99"}
    stranger = dict(zip(rows[0], [other + 1, "setosa", *table[other][:4]], strict=True))
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows([stranger, *reversed(rows[1:]), strange])
    result = check(iris, "--json")
    assert "were not drawn" in result.stderr
    assert "the table has no such row" in result.stderr
    assert json.loads(result.stdout)["missing"] == 1


def test_labels_in_the_table_itself_are_pointed_at(iris):
    check(iris, "-n", "12")
    drawn = {int(r["row"]) - 1 for r in questions(iris)}
    rows = iris_rows(per_class=2)
    for k in drawn:
        rows[k + 1][4] = SPECIES[k]
    iris.write_text(text_of(rows))
    said = check(iris).stderr
    assert "12 rows of the check have a label in" in said


def test_rows_that_are_gone_count_as_unknown(iris):
    check(iris, "-n", "12")
    rows = fill_in(iris)
    check(iris)
    table = iris_rows(per_class=2)
    del table[int(rows[3]["row"])]
    iris.write_text(text_of(table))
    found = check(iris, "--json")
    assert json.loads(found.stdout)["missing"] == 1
    assert "no longer in the table" in found.stderr


def test_a_class_that_is_never_predicted(tmp_path):
    path = tmp_path / "iris.csv"
    rows = iris_rows(per_class=2)
    for row in rows[1:]:
        row[4] = "" if row[4] == "virginica" else row[4]
    path.write_text(text_of(rows))
    check(path, "-n", "24")
    fill_in(path)
    result = check(path, "--json")
    assert "'virginica'" in result.stderr
    assert "no class of" in result.stderr
    found = json.loads(result.stdout)
    assert found["error"]["low"] <= 50 / 146 <= found["error"]["high"]
    share = found["class_shares"]["virginica"]
    assert share["low"] <= 1 / 3 <= share["high"]


def test_numbers_and_streams_are_refused(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("x,price\n" + "".join(f"{k},{k * 1.37}\n" for k in range(40)))
    said = fewlabels("check", path, "-t", "price", "--bank", "fast", code=2).stderr
    assert "holds numbers" in said
    assert "needs a file" in fewlabels("check", "-", "-t", "y", data="", code=2).stderr


def test_every_row_labelled(tmp_path):
    path = tmp_path / "all.csv"
    path.write_text("x,kind\n1,a\n2,a\n8,b\n9,b\n")
    said = fewlabels("check", path, "-t", "kind", "--bank", "fast", code=1).stderr
    assert "Every row has a label already" in said
