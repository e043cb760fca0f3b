"""Every command, on the tables that people have."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import gzip
import io
import json
import os
import shlex
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris, make_blobs

from fewlabels.cli import commands
from fewlabels.datasets import hide_labels

IRIS = load_iris()
SPECIES = IRIS.target_names[IRIS.target]


def fewlabels(*arguments, data=None, code=0):
    """Run a command; the result has stdout, stderr and their bytes."""
    result = CliRunner().invoke(
        commands, [str(a) for a in arguments], input=data, prog_name="fewlabels"
    )
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.stderr
    assert "Traceback" not in result.stderr
    return result


def text_of(rows):
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def iris_rows(per_class=4):
    labels = hide_labels(SPECIES, per_class=per_class, random_state=0)
    head = ["sepal length", "sepal width", "petal length", "petal width", "species"]
    rows = [
        [*(f"{v:g}" for v in row), label or ""]
        for row, label in zip(IRIS.data, labels, strict=True)
    ]
    return [head, *rows]


@pytest.fixture
def iris(tmp_path):
    path = tmp_path / "iris.csv"
    path.write_text(text_of(iris_rows()))
    return path


def blob_rows(labels, n=40, **columns):
    X, y = make_blobs(n, centers=2, random_state=0)
    names = np.array(labels, dtype=object)[y]
    rows = [["x", "y", *columns, "kind"]]
    for k in range(n):
        extra = [values[k] for values in columns.values()]
        rows.append([f"{X[k, 0]:.3f}", f"{X[k, 1]:.3f}", *extra, names[k]])
    return rows, names


def hidden(rows, kept=10):
    return [rows[0], *rows[1 : kept + 1], *([*r[:-1], ""] for r in rows[kept + 1 :])]


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class TestLabel:
    def test_clean_data(self, iris, tmp_path):
        out = tmp_path / "out.csv"
        result = fewlabels("label", iris, "--target", "species", "-o", out)
        rows = read(out)
        assert len(rows) == 150
        predicted = np.array([row["species_predicted"] for row in rows])
        assert np.mean(predicted == SPECIES) > 0.85
        for row in rows:
            given = row["species"] != ""
            assert row["species_source"] == ("given" if given else "predicted")
            assert not given or row["species_predicted"] == row["species"]
            assert 1 / 3 < float(row["species_confidence"]) <= 1
        # What was there is there, byte for byte.
        before, after = iris.read_bytes().splitlines(), out.read_bytes().splitlines()
        for old, new in zip(before, after, strict=True):
            assert new.startswith(old + b",")
        assert result.stdout == ""
        assert "150 rows, 12 labels of 3 classes" in result.stderr
        assert "Expected error: " in result.stderr
        assert "Next: label more rows: as a rule, twice as many " in result.stderr
        *summary, written = result.stderr.splitlines()
        about_columns = ("How the columns were read", "  ")
        assert sum(not line.startswith(about_columns) for line in summary) <= 5
        assert written.startswith("Written: ")
        assert "%]" not in result.stderr  # no bar where there is no terminal

    @pytest.mark.parametrize("command", ["label", "ask", "cluster", "fit", "report"])
    def test_a_device_that_is_missing(self, iris, tmp_path, monkeypatch, command):
        def missing(device):
            raise ValueError(f"no {device} here: pass device='cpu'")

        monkeypatch.setattr("fewlabels._backend.get_backend", missing)
        target = () if command == "cluster" else ("-t", "species")
        out = tmp_path / "out"
        options = (iris, *target, "-o", out, "--device", "cuda")
        error = fewlabels(command, *options, code=2).stderr
        assert "no cuda here: pass --device cpu" in error
        assert not out.exists()

    def test_quiet(self, iris, tmp_path):
        out = tmp_path / "out.csv"
        options = ("--bank", "fast", "--quiet")
        result = fewlabels("label", iris, "-t", "species", "-o", out, *options)
        assert result.output == ""
        assert out.exists()

    def test_summary_as_json(self, iris, tmp_path):
        out, page = tmp_path / "out.csv", tmp_path / "r.html"
        result = fewlabels(
            *("label", iris, "-t", "species", "-o", out, "--report", page),
            *("--json", "-q", "--bank", "fast", "--ignore", "sepal width,sepal length"),
        )
        summary = json.loads(result.stdout)
        assert summary["rows"] == 150
        assert summary["classes"] == {"setosa": 4, "versicolor": 4, "virginica": 4}
        assert 0 <= summary["expected_error"]["value"] <= 1
        assert summary["verdict"].startswith("Probably about ")
        assert summary["labels_to_halve_error"] > 12
        shares = [row["rows"] for row in summary["errors_above_confidence"]]
        assert shares[0] == 138
        assert shares == sorted(shares, reverse=True)
        assert {s["label"] for s in summary["suspicious_labels"]} <= {
            *summary["classes"]
        }
        kinds = {c["name"]: c["kind"] for c in summary["columns"]}
        assert kinds["sepal width"] == kinds["sepal length"] == "ignored"
        assert summary["new_columns"][0] == "species_predicted"
        assert summary["report"] == str(page)
        assert page.read_text().startswith("<!DOCTYPE html>")
        result = fewlabels("label", iris, "-t", "species", "--json", code=2)
        assert "Name a file with -o" in result.stderr

    def test_class_shares(self, iris, tmp_path):
        out, start = tmp_path / "out.csv", ("-t", "species", "--bank", "fast", "--json")
        wanted = {"setosa": 20, "versicolor": 20, "virginica": 60}
        given = ", ".join(f"{name}={n}" for name, n in wanted.items())
        model = tmp_path / "m.fewlabels"
        result = fewlabels("fit", iris, *start, "-o", model, "--class-shares", given)
        assert "virginica 60 %, setosa 20 %, versicolor 20 %." in result.stderr
        shares = json.loads(result.stdout)["class_shares"]
        assert shares == {name: n / 100 for name, n in wanted.items()}
        fewlabels("predict", model, iris, "-o", out)
        predicted = [row["species_predicted"] for row in read(out)]
        assert predicted.count("virginica") > 60
        result = fewlabels(
            *("label", iris, *start, "-f", "-o", out, "--class-shares", "labels")
        )
        assert "Class shares" not in result.stderr  # they are those of the labels
        shares = json.loads(result.stdout)["class_shares"]
        assert shares == pytest.approx(dict.fromkeys(wanted, 1 / 3))

    @pytest.mark.parametrize(
        ("shares", "code", "message"),
        [
            ("setosa=1,versicolor=1,virginia=1", 1, "Did you mean 'virginica'?"),
            ("setosa=1,versicolor=1", 1, "missing for 'virginica'"),
            ("setosa=0,versicolor=1,virginica=1", 2, "a positive number"),
            ("setosa=1,setosa=1", 2, "a positive number"),
            ("setosa=1,virginica", 2, "a positive number"),
            ("setosa=x", 2, "a positive number"),
            ("even", 2, "a positive number"),
        ],
    )
    def test_wrong_class_shares(self, iris, shares, code, message):
        options = ("-t", "species", "--class-shares", shares)
        assert message in fewlabels("report", iris, *options, code=code).stderr

    def test_the_same_seed_gives_the_same_file(self, iris):
        options = ("label", iris, "-t", "species", "-q", "--bank", "fast", "--seed")
        first = fewlabels(*options, 1).stdout_bytes
        assert fewlabels(*options, 1).stdout_bytes == first
        assert first.count(b"predicted") > 100

    def test_from_the_standard_input(self):
        text = text_of(iris_rows())
        result = fewlabels("label", "-", "-t", "species", "--bank", "fast", data=text)
        assert result.stdout.startswith(text.splitlines()[0] + ",species_predicted,")
        assert "standard input: 150 rows" in result.stderr

    def test_all_labels_missing(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text(text_of(hidden(blob_rows(["a", "b"])[0], 0)))
        result = fewlabels("label", path, "-t", "kind", code=1)
        assert "No row has a label in 'kind'" in result.stderr
        assert "fewlabels cluster" in result.stderr

    def test_one_class_labelled(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text(text_of(hidden(blob_rows(["a", "a"])[0])))
        result = fewlabels("label", path, "-t", "kind", code=1)
        assert "Each of the 10 labels in 'kind' is 'a'" in result.stderr

    def test_one_label_per_class(self, tmp_path):
        path = tmp_path / "iris.csv"
        path.write_text(text_of(iris_rows(per_class=1)))
        out = tmp_path / "out.csv"
        result = fewlabels("label", path, "-t", "species", "-o", out)
        assert "Expected error: unknown, perhaps " in result.stderr
        assert "no class has two labelled rows" in result.stderr
        predicted = [row["species_predicted"] for row in read(out)]
        assert np.mean(predicted == SPECIES) > 0.6

    @pytest.mark.parametrize(
        "labels", [["cat", "dög ☃"], [3, 7], [True, False], ["-1", "1"]], ids=str
    )
    def test_kinds_of_labels(self, tmp_path, labels):
        rows, names = blob_rows(labels)
        path, out = tmp_path / "t.csv", tmp_path / "out.csv"
        path.write_text(text_of(hidden(rows)), encoding="utf-8")
        fewlabels("label", path, "-t", "kind", "-o", out, "--bank", "fast")
        assert [row["kind_predicted"] for row in read(out)] == [str(v) for v in names]

    def test_two_hundred_columns(self, tmp_path):
        rng = np.random.default_rng(0)
        y = np.arange(60) % 2
        X = rng.normal(size=(60, 200)) + y[:, None]
        head = [f"c{k}" for k in range(200)] + ["kind"]
        body = [
            [*(f"{v:.2f}" for v in row), "ab"[k] if i < 12 else ""]
            for i, (row, k) in enumerate(zip(X, y, strict=True))
        ]
        path, out = tmp_path / "t.csv", tmp_path / "out.csv"
        path.write_text(text_of([head, *body]))
        fewlabels("label", path, "-t", "kind", "-o", out, "--bank", "fast")
        predicted = [row["kind_predicted"] for row in read(out)]
        assert predicted == ["ab"[k] for k in y]

    def test_free_text(self, tmp_path):
        rng = np.random.default_rng(0)
        words = {
            "sport": "match goal team player league ball coach season".split(),
            "food": "soup bread cheese oven salt dinner recipe spoon".split(),
        }
        kinds = ["sport", "food"] * 40
        body = [
            [f"m{k}", " ".join(rng.choice(words[kind], 6)) + ",\nend", kind]
            for k, kind in enumerate(kinds)
        ]
        rows = hidden([["id", "message", "topic"], *body])
        path, out = tmp_path / "t.tsv", tmp_path / "out.tsv"
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t").writerows(rows)
        result = fewlabels("label", path, "-t", "topic", "-o", out, "--bank", "fast")
        with open(out, encoding="utf-8", newline="") as file:
            found = list(csv.DictReader(file, delimiter="\t"))
        right = np.mean([row["topic_predicted"] for row in found] == np.array(kinds))
        assert right > 0.95
        assert [row["message"] for row in found] == [row[1] for row in rows[1:]]
        assert "left out    id (identifier)" in result.stderr

    def test_mixed_types(self, tmp_path):
        rng = np.random.default_rng(0)
        rows, names = blob_rows(
            ["yes", "no"],
            constant=["k"] * 40,
            when=[f"2024-0{1 + k % 9}-11" for k in range(40)],
            town=rng.choice(["Rome", "Oslo", ""], 40),
            note=[f"some words about order {k} and so on" for k in range(40)],
            price=[f"{k % 7},50" if k % 5 else "NA" for k in range(40)],
        )
        path, out = tmp_path / "t.csv", tmp_path / "out.csv"
        path.write_text(text_of(hidden(rows)))
        fewlabels("label", path, "-t", "kind", "-o", out, "--categorical", "town")
        predicted = [row["kind_predicted"] for row in read(out)]
        assert np.mean(np.array(predicted) == names) > 0.9

    def test_duplicate_names(self, tmp_path):
        rows = hidden(blob_rows(["a", "b"])[0])
        rows[0] = ["x", "x", "kind"]
        path, out = tmp_path / "t.csv", tmp_path / "out.csv"
        path.write_text(text_of(rows))
        fewlabels("label", path, "-t", "kind", "-o", out, "--bank", "fast")
        assert out.read_text().startswith("x,x,kind,kind_predicted,")
        result = fewlabels("label", path, "-t", "x", code=2)
        assert "Several columns are called 'x'" in result.stderr

    def test_formulas(self, tmp_path):
        rows, _ = blob_rows(["=HYPERLINK(1)", "@b"])
        path, out = tmp_path / "t.csv", tmp_path / "out.csv"
        path.write_text(text_of(hidden(rows)))
        fewlabels("label", path, "-t", "kind", "-o", out, "--bank", "fast")
        assert {row["kind_predicted"] for row in read(out)} == {"'=HYPERLINK(1)", "'@b"}
        assert "=HYPERLINK(1)" in {row["kind"] for row in read(out)}  # untouched
        rows[0][-1] = "=kind"
        path.write_text(text_of(hidden(rows)))
        result = fewlabels("label", path, "-t", "=kind", "--bank", "fast", "-q")
        assert result.stdout.startswith("x,y,=kind,'=kind_predicted,")

    def test_a_second_run(self, iris, tmp_path):
        once, twice = tmp_path / "1.csv", tmp_path / "2.csv"
        options = ("-t", "species", "--bank", "fast")
        fewlabels("label", iris, *options, "-o", once)
        result = fewlabels("label", once, *options, "-o", twice)
        assert "'species_predicted' is left out" in result.stderr
        (first, second) = read(once)[7], read(twice)[7]
        assert second["species_predicted_2"] == first["species_predicted"]

    def test_other_formats(self, tmp_path):
        rows, names = blob_rows(["a", "b"])
        rows = hidden(rows)
        columns = {
            name: [
                None if v == "" else float(v) if name != "kind" else v for v in values
            ]
            for name, values in zip(rows[0], zip(*rows[1:], strict=True), strict=True)
        }
        pq.write_table(pa.table(columns), tmp_path / "t.parquet")
        book = openpyxl.Workbook()
        for row in [list(columns), *zip(*columns.values(), strict=True)]:
            book.active.append(row)
        book.save(tmp_path / "t.xlsx")
        lines = [
            dict(zip(columns, v, strict=True))
            for v in zip(*columns.values(), strict=True)
        ]
        (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
        (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text_of(rows).encode()))
        expected = names.tolist()
        options = ("-t", "kind", "--bank", "fast", "-q", "-o")
        for name in ("t.parquet", "t.xlsx", "t.jsonl", "t.csv.gz"):
            fewlabels("label", tmp_path / name, *options, tmp_path / f"out-{name}")
        arrow = pq.read_table(tmp_path / "out-t.parquet")
        assert arrow["kind_predicted"].to_pylist() == expected
        sheet = openpyxl.load_workbook(tmp_path / "out-t.xlsx").active
        assert [row[3].value for row in sheet.iter_rows(min_row=2)] == expected
        found = (tmp_path / "out-t.jsonl").read_text().splitlines()
        assert [json.loads(line)["kind_predicted"] for line in found] == expected
        text = gzip.decompress((tmp_path / "out-t.csv.gz").read_bytes()).decode()
        assert [
            r["kind_predicted"] for r in csv.DictReader(io.StringIO(text))
        ] == expected


class TestWrongUse:
    def test_wrong_target(self, iris):
        result = fewlabels("label", iris, "--target", "Specis", code=2)
        assert "no column 'Specis'" in result.stderr
        assert "Did you mean 'species'?" in result.stderr

    def test_wrong_column(self, iris):
        result = fewlabels(
            "label", iris, "-t", "species", "--ignore", "petal lengths", code=2
        )
        assert "Did you mean 'petal length'?" in result.stderr

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is empty"),
            (b"a,b\n", "no row"),
            (os.urandom(2000) + b"\0", "is a binary file"),
            (b"\x89PNG\r\n\x1a\n" + bytes(100), "is a binary file"),
            (b"PAR1 but nothing more", "is not a Parquet file"),
            (b"x,kind\n1,a\n1,b\n1,\n", "No column can be used"),
        ],
    )
    def test_files_that_are_no_tables(self, tmp_path, content, message):
        path = tmp_path / "t.csv"
        path.write_bytes(content)
        result = fewlabels("label", path, "-t", "kind", code=1)
        assert message in result.stderr

    def test_no_such_file(self, tmp_path):
        result = fewlabels("label", tmp_path / "no.csv", "-t", "kind", code=2)
        assert "No such file" in result.stderr

    def test_an_output_that_exists(self, iris, tmp_path):
        out = tmp_path / "out.csv"
        out.write_text("precious")
        options = ("label", iris, "-t", "species", "-o", out, "--bank", "fast")
        result = fewlabels(*options, code=2)
        assert "exists: pass --force" in result.stderr
        assert out.read_text() == "precious"
        fewlabels(*options, "--force")
        assert out.read_text().startswith("sepal length")

    def test_an_output_that_cannot_be_written(self, iris, tmp_path):
        out = tmp_path / "nowhere" / "out.csv"
        result = fewlabels("label", iris, "-t", "species", "-o", out, code=2)
        assert "There is no folder" in result.stderr

    def test_a_format_that_cannot_be_written(self, tmp_path):
        path = tmp_path / "t.jsonl"
        path.write_text('{"x": 1.5, "kind": "a"}\n{"x": 2.5, "kind": "b"}\n')
        out = tmp_path / "out.doc"
        result = fewlabels("label", path, "-t", "kind", "-o", out, code=2)
        assert "cannot be written as .doc: use .csv" in result.stderr
        assert "Expected error" not in result.stderr  # said before the work

    @pytest.mark.parametrize("suffix", [".foo", ".v2", ".foo.gz"])
    def test_an_unknown_suffix(self, iris, tmp_path, suffix):
        out = tmp_path / f"out{suffix}"
        result = fewlabels("label", iris, "-t", "species", "-o", out, code=2)
        known = ".csv, .json, .jsonl"
        assert f"cannot be written as {suffix[:4]}: use {known}" in result.stderr
        assert not out.exists()

    @pytest.mark.parametrize(
        ("options", "code", "messages"),
        [
            (
                ["--date", "born=%m/%d/%y"],
                1,
                ["'born' cannot be read as dates", "'%m/%d/%y' (given as --date)"]
                + ["40 cells of 40", "such as '2020-01-01'"],
            ),
            (
                ["--task", "numbers"],
                1,
                ["cannot be read as numbers: to predict classes, pass --task classes."],
            ),
            (
                ["--text", "kind"],
                1,
                ["never used as a feature", "pass --task classes or --task numbers."],
            ),
            (
                ["--numeric", "x", "--categorical", "x"],
                1,
                ["only one kind (given as --numeric and --categorical)"],
            ),
            (["--numeric", "note"], 1, ["as numbers (given as --numeric)"]),
            (
                ["--ignore", "x,y,note,born"],
                1,
                ["leave fewer out (given as --ignore)."],
            ),
            (["--sheet", "first"], 2, ["not a workbook", "(given as --sheet)"]),
            (["--sample-rows", "200"], 2, ["pass --batch-rows NUMBER"]),
        ],
        ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
    )
    def test_options_that_do_not_suit_the_table(
        self, tmp_path, options, code, messages
    ):
        path = self.dated(tmp_path)
        error = fewlabels("label", path, "-t", "kind", *options, code=code).stderr
        for message in messages:
            assert message in error

    @staticmethod
    def dated(folder):
        rows, _ = blob_rows(
            ["a", "b"],
            note=["red", "green"] * 20,
            born=[f"2020-{1 + k % 12:02}-{1 + k % 28:02}" for k in range(40)],
        )
        path = folder / "t.csv"
        path.write_text(text_of(hidden(rows)))
        return path

    def test_dates_of_which_some_have_another_format(self, tmp_path):
        path = self.dated(tmp_path)
        path.write_text(path.read_text().replace("2020-01-01", "soon", 1))
        options = ("-t", "kind", "--date", "born=%Y-%m-%d", "--bank", "fast")
        result = fewlabels("label", path, *options)
        assert "1 cell with something else ('soon') taken as missing" in result.stderr

    def test_ignoring_the_target(self, iris):
        options = ("-t", "species", "--ignore", "species", "--bank", "fast")
        result = fewlabels("label", iris, *options)
        assert (
            "'species' holds the labels and is never used as a feature" in result.stderr
        )

    def test_no_column_to_use(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("x,kind\n1,a\n1,b\n1,\n")
        error = fewlabels("label", path, "-t", "kind", code=1).stderr
        assert "pass --numeric NAME, --categorical NAME, --text NAME or --date" in error

    def test_a_studio_that_cannot_read_its_dates(self, tmp_path):
        path = self.dated(tmp_path)
        options = ("-t", "kind", "--no-browser", "--date", "born=%m/%d/%y")
        error = fewlabels("studio", path, *options, code=1).stderr
        assert "'born' cannot be read as dates of the format '%m/%d/%y'" in error

    def test_batches_have_one_heading(self, iris, tmp_path):
        options = ("-t", "species", "--bank", "fast", "--batch-rows", "60")
        error = fewlabels("label", iris, *options, "-o", tmp_path / "o.csv").stderr
        assert error.count(f"{iris}: ") == 1
        assert f"{iris}: 150 rows in all; learned from 150 rows, 12 labels" in error

    def test_a_folder_that_is_closed(self, iris, tmp_path):
        closed = Path("/proc/self")  # closed even to those who may write anywhere
        if not closed.is_dir():
            closed = tmp_path / "closed"
            closed.mkdir(mode=0o500)
        out = closed / "out.csv"
        result = fewlabels("label", iris, "-t", "species", "-o", out, code=2)
        assert "Cannot write" in result.stderr
        assert not out.exists()

    @pytest.mark.parametrize(
        "arguments",
        [
            ["label", "-"],
            ["nothing"],
            ["label", "t.csv", "-t", "k", "--delimiter", "long"],
            ["cluster", "t.csv", "--clusters", "1"],
            ["ask", "t.csv", "-t", "k", "-n", "0"],
            ["fit", "t.csv", "-t", "k"],
            ["label", "t.csv", "-t", "k", "--seed", "-4"],
        ],
        ids=" ".join,
    )
    def test_usage(self, arguments):
        result = fewlabels(*arguments, code=2)
        assert "Usage: fewlabels" in result.stderr


class TestCluster:
    def test_clusters(self, iris, tmp_path):
        out, page = tmp_path / "out.csv", tmp_path / "r.html"
        options = ("--clusters", 3, "--ignore", "species", "--report", page)
        result = fewlabels("cluster", iris, *options, "-o", out)
        assert {row["cluster"] for row in read(out)} == {"1", "2", "3"}
        assert "150 rows in 3 clusters" in result.stderr
        assert "Typical rows" in page.read_text()

    def test_a_guessed_number(self, iris):
        result = fewlabels("cluster", iris, "--ignore", "species")
        assert "2 groups: the number from 2 to 10 that" in result.stderr
        assert result.stdout.startswith("sepal length")


class TestAsk:
    def test_rows(self, iris, tmp_path):
        result = fewlabels("ask", iris, "-t", "species", "-n", 4, "--bank", "fast")
        lines = result.stdout.splitlines()
        assert lines[0].split()[:4] == ["rank", "row", "guess", "confidence"]
        assert len(lines) == 5
        rows = [int(line.split()[1]) for line in lines[1:]]
        assert len(set(rows)) == 4
        table = read(iris)
        assert all(table[row - 1]["species"] == "" for row in rows)
        out = tmp_path / "ask.csv"
        fewlabels(*("ask", iris, "-t", "species", "-n", 4, "--bank", "fast", "-o", out))
        found = read(out)
        assert [int(row["row"]) for row in found] == rows
        assert found[0]["petal width"] == table[rows[0] - 1]["petal width"]

    def test_as_json(self, iris, tmp_path):
        page = tmp_path / "r.html"
        result = fewlabels(
            *("ask", iris, "-t", "species", "-n", 2, "--bank", "fast"),
            *("--json", "--quiet", "--report", page),
        )
        answer = json.loads(result.stdout)
        assert [row["rank"] for row in answer["rows"]] == [1, 2]
        assert set(answer["rows"][0]["values"]) >= {"petal width", "species"}
        assert "What to label next" in page.read_text()

    def test_without_labels(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text(text_of(hidden(blob_rows(["a", "b"])[0], 0)))
        result = fewlabels("ask", path, "-t", "kind", "-n", 3)
        assert len(result.stdout.splitlines()) == 4
        assert "typical of many others" in result.stderr
        page = tmp_path / "r.html"
        result = fewlabels("ask", path, "-t", "kind", "--report", page, code=2)
        assert "needs labels of two classes" in result.stderr


class TestModels:
    def test_fit_and_predict(self, iris, tmp_path):
        model, new, out = (tmp_path / n for n in ("m.fewlabels", "new.csv", "out.csv"))
        fewlabels("fit", iris, "-t", "species", "-o", model, "--bank", "fast")
        rows = [[row[3], row[2], "x", row[1], row[0]] for row in iris_rows()[::3]]
        rows[0][2] = "remark"
        new.write_text(text_of(rows))
        page = tmp_path / "r.html"
        result = fewlabels("predict", model, new, "-o", out, "--report", page)
        predicted = np.array([row["species_predicted"] for row in read(out)])
        assert np.mean(predicted == SPECIES[2::3]) > 0.8
        # These are rows of the table, whatever the order of the columns.
        labeled = tmp_path / "labelled.csv"
        fewlabels("label", iris, "-t", "species", "-o", labeled, "--bank", "fast")
        same = np.array([row["species_predicted"] for row in read(labeled)])[2::3]
        assert np.mean(predicted == same) > 0.95
        assert f"{new}: 50 rows labelled" in result.stderr
        assert "new rows" in page.read_text()
        new.write_text(text_of([["sepal length", "petal width"], [1, 2]]))
        result = fewlabels("predict", model, new, code=1)
        assert "does not fit the model: it has no 'sepal width'" in result.stderr
        result = fewlabels("predict", iris, new, code=1)
        assert "not a model of fewlabels" in result.stderr

    def test_vectors(self, iris, tmp_path):
        """They are asked for where the model has them, and only there."""
        vectors, model = tmp_path / "v.npy", tmp_path / "m.fewlabels"
        np.save(vectors, IRIS.data)
        given = ("-t", "species", "--bank", "fast", "-o", model)
        fewlabels("fit", iris, *given, "--features", vectors)
        error = fewlabels("predict", model, iris, code=1).stderr
        assert "it has no 'features'" in error
        assert "pass --features FILE" in error
        fewlabels("predict", model, iris, "--features", vectors)
        fewlabels("fit", iris, *given, "--force")
        result = fewlabels("predict", model, iris, "--features", vectors, code=2)
        assert "was fitted without --features" in result.stderr


class TestReport:
    def test_page(self, iris, tmp_path):
        page = tmp_path / "r.html"
        result = fewlabels(
            "report", iris, "-t", "species", "-o", page, "--bank", "fast"
        )
        assert f"Written: {page}" in result.stderr
        assert "species in iris.csv" in page.read_text()


@pytest.mark.parametrize("command", ["", *sorted(commands.commands)])
def test_help_has_examples(command):
    result = fewlabels(*([command] if command else []), "--help")
    shown = commands.commands[command] if command else commands
    examples = "".join(f"  {example}\n" for example in shown.examples)
    assert result.stdout.endswith(f"Examples:\n{examples}")
    assert all(e.count(f"fewlabels {command}".strip()) for e in shown.examples[:1])


def test_examples_can_be_parsed():
    """Every example of the help is accepted by the options as they are."""
    for command in (commands, *commands.commands.values()):
        for example in command.examples:
            words = shlex.split(example.split("fewlabels ", 1)[1])
            words = words[: next((k for k, w in enumerate(words) if w in "<>"), None)]
            name, *arguments = words
            shown = commands.commands[name]
            with shown.make_context(name, arguments) as context:
                assert "quiet" in context.params
                # The studio only adds to its file of labels, columns writes none.
                assert ("force" in context.params) == (
                    name not in ("agree", "columns", "studio")
                )


def test_intervals_of_numbers(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2)).round(3)
    price = (20 + 3 * x[:, 0] + rng.normal(size=120)).round(2)
    path = tmp_path / "prices.csv"

    def label(n_known, *options):
        cells = ["" if k >= n_known else f"{v:g}" for k, v in enumerate(price)]
        rows = [[a, b, c] for (a, b), c in zip(x, cells, strict=True)]
        path.write_text(text_of([["a", "b", "price"], *rows]))
        result = fewlabels(
            "label",
            path,
            "-t",
            "price",
            "--task",
            "numbers",
            "--bank",
            "fast",
            *options,
        )
        return result, list(csv.DictReader(io.StringIO(result.stdout)))

    widths = []
    for level in (0.5, 0.9):
        _, rows = label(40, "--interval", level)
        low, high = (
            np.array([float(r[f"price_{end}"]) for r in rows[40:]])
            for end in ("low", "high")
        )
        widths.append((high - low).mean())
        assert abs(np.mean((low <= price[40:]) & (price[40:] <= high)) - level) < 0.2
        assert float(rows[0]["price_low"]) == float(rows[0]["price_high"]) == price[0]
    assert widths[0] < widths[1]
    result, rows = label(6)
    assert "too few labels for intervals of 90 %" in result.stderr
    assert "price_low" not in rows[0]
