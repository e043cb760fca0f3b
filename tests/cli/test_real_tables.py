"""Tables as people have them, through the commands."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import io
import json
import os
import time
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris

from tests.cli.test_commands import fewlabels, text_of

N = 40
KIND = np.array(["oak", "elm"])[np.arange(N) % 2]
RNG = np.random.default_rng(0)
SIZE = 3.0 * (np.arange(N) % 2) + RNG.normal(scale=0.3, size=N) + 10
VECTORS = np.column_stack([SIZE, RNG.normal(size=(N, 4))])


def labels(n_given=8, mark=""):
    return [str(kind) if k < n_given else mark for k, kind in enumerate(KIND)]


def write(path, cells, kinds=None, name="x", head=()):
    """A table with one column besides the labels."""
    rows = [*head, [name, "kind"]]
    rows += [list(row) for row in zip(cells, kinds or labels(), strict=True)]
    path.write_text(text_of(rows), encoding="utf-8")
    return path


def label(path, *options, target="kind", code=0, output="out.csv"):
    out = path.parent / output
    result = fewlabels(
        *("label", path, "-t", target, "-o", out, "--bank", "fast", "--json", "-f"),
        *options,
        code=code,
    )
    if code:
        return None, result.stderr
    with open(out, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    return rows, json.loads(result.stdout)


def right(rows, target="kind"):
    return np.mean([row[f"{target}_predicted"] for row in rows] == KIND)


def kind_of(summary, name="x"):
    return next(c["kind"] for c in summary["columns"] if c["name"] == name)


def said(summary):
    return " ".join(summary["notes"])


class TestVectors:
    @pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
    def test_lists_of_numbers(self, tmp_path, suffix):
        path = tmp_path / f"t{suffix}"
        vectors = VECTORS.round(4).tolist()
        if suffix == ".parquet":
            pq.write_table(pa.table({"x": vectors, "kind": labels()}), path)
        elif suffix == ".jsonl":
            rows = [{"x": v, "kind": k} for v, k in zip(vectors, labels(), strict=True)]
            path.write_text("\n".join(map(json.dumps, rows)))
        else:
            write(path, [str(v) for v in vectors])
        rows, summary = label(path)
        assert kind_of(summary) == "vector"
        assert right(rows) > 0.9
        asked = fewlabels("ask", path, "-t", "kind", "-n", "2", "--bank", "fast")
        assert "rank" in asked.stdout

    def test_an_array_beside_the_table(self, tmp_path):
        path = write(tmp_path / "t.csv", ["same"] * N)
        np.save(tmp_path / "x.npy", VECTORS)
        rows, _ = label(path, "--features", tmp_path / "x.npy")
        assert right(rows) > 0.9
        assert list(rows[0])[:2] == ["x", "kind"]
        np.save(tmp_path / "short.npy", VECTORS[:-1])
        _, error = label(path, "--features", tmp_path / "short.npy", code=1)
        assert "has 39 rows, the table has 40" in error
        model = tmp_path / "m.fewlabels"
        options = ("-t", "kind", "--bank", "fast", "--features", tmp_path / "x.npy")
        fewlabels("fit", path, "-o", model, *options)
        found = fewlabels("predict", model, path, "--features", tmp_path / "x.npy")
        assert found.stdout.startswith("x,kind,kind_predicted")
        refused = fewlabels("predict", model, path, code=1)
        assert "has no 'features'" in refused.stderr


class TestNumbers:
    @pytest.mark.parametrize(
        "odd", ["?", "-", "n.d.", "<5", "#REF!", "5.1*", "unknown"]
    )
    def test_an_odd_cell(self, tmp_path, odd):
        cells = [f"{v:.2f}" for v in SIZE]
        cells[12] = odd
        rows, summary = label(write(tmp_path / "t.csv", cells))
        assert kind_of(summary) == "number"
        assert right(rows) > 0.9
        if odd != "#REF!":  # a spreadsheet's own mark of nothing
            assert odd in said(summary)
            kept = "are read as 5" if odd in ("<5", "5.1*") else "taken as missing"
            assert kept in said(summary)

    @pytest.mark.parametrize(
        "written",
        [
            lambda v: f"{v * 100:,.2f} €".translate(str.maketrans(",.", ".,")),
            lambda v: f"{v * 100:,.2f}".replace(",", "'"),
            lambda v: f"USD {v:.2f}",
            lambda v: f"({30 - v:.2f})",
            lambda v: f"{v:.2f} mg/L",
            lambda v: f"\N{MINUS SIGN}{v:.2f}",
            lambda v: f"{v * 1000:,.0f}",
        ],
    )
    def test_notations(self, tmp_path, written):
        rows, summary = label(write(tmp_path / "t.csv", map(written, SIZE)))
        assert kind_of(summary) == "number"
        assert right(rows) > 0.9

    def test_numbers_that_are_none(self, tmp_path):
        path = write(tmp_path / "t.csv", ["red", "green"] * (N // 2))
        _, error = label(path, "--numeric", "x", code=1)
        assert "cannot be read as numbers" in error
        assert "'red'" in error

    def test_proportions_can_be_kept(self, tmp_path):
        noise = np.random.default_rng(1).normal(size=(N, 12)) * 0.05
        values = np.column_stack([SIZE, noise]).round(5)
        names = [*(f"x{k}" for k in range(13)), "kind"]
        rows = [[*v, k] for v, k in zip(values, labels(4), strict=True)]
        path = tmp_path / "t.csv"
        path.write_text(text_of([names, *rows]))
        assert right(label(path, "--scale", "none")[0]) > 0.95


class TestMarks:
    @pytest.mark.parametrize("mark", ["?", "-", "TBD", "todo", "n/a", "unknown"])
    def test_marks_are_recognised(self, tmp_path, mark):
        cells = [f"{v:.2f}" for v in SIZE]
        path = write(tmp_path / "t.csv", cells, labels(mark=mark))
        rows, summary = label(path)
        assert summary["classes"] == {"elm": 4, "oak": 4}
        assert right(rows) > 0.9
        if mark != "n/a":
            assert f"{mark!r} (32 rows) is taken as the mark" in said(summary)

    def test_marks_where_told(self, tmp_path):
        cells = [f"{v:.2f}" for v in SIZE]
        path = write(tmp_path / "t.csv", cells, labels(mark="99"))
        assert "99" in label(path)[1]["classes"]
        rows, summary = label(path, "--marker", "99")
        assert summary["classes"] == {"elm": 4, "oak": 4}
        assert right(rows) > 0.9

    def test_a_class_that_may_be_a_mark(self, tmp_path):
        kinds = labels(12)
        kinds[3] = kinds[5] = "unknown"
        path = write(tmp_path / "t.csv", [f"{v:.2f}" for v in SIZE], kinds)
        _, summary = label(path)
        assert summary["classes"]["unknown"] == 2
        assert "pass --marker unknown" in said(summary)

    def test_plus_and_minus_are_classes(self, tmp_path):
        kinds = ["+-"[k % 2] if k < 8 else "" for k in range(N)]
        path = write(tmp_path / "t.csv", [f"{v:.2f}" for v in SIZE], kinds)
        assert label(path)[1]["classes"] == {"+": 4, "-": 4}

    def test_spellings(self, tmp_path):
        kinds = labels(12)
        kinds[2], kinds[4] = "Oak", " oak "
        path = write(tmp_path / "t.csv", [f"{v:.2f}" for v in SIZE], kinds)
        _, summary = label(path)
        assert summary["classes"] == {"elm": 6, "oak": 5, "Oak": 1}
        assert "pass --merge-labels" in said(summary)
        _, summary = label(path, "--merge-labels")
        assert summary["classes"] == {"elm": 6, "oak": 6}
        assert "'Oak' became 'oak'" in said(summary)

    def test_tags(self, tmp_path):
        kinds = ["a;b", "b;c", "a", "b;a"] * 3 + [""] * (N - 12)
        path = write(tmp_path / "t.csv", [f"{v:.2f}" for v in SIZE], kinds)
        assert "several tags in one cell" in said(label(path)[1])

    def test_labelled_copies(self, tmp_path):
        cells = [f"{k % 2}.5" for k in range(8)] + [f"{v:.2f}" for v in SIZE[8:]]
        _, summary = label(write(tmp_path / "t.csv", cells))
        assert "copies of each other: only 2 are distinct" in said(summary)
        assert "not counting copies" in summary["expected_error"]["note"]


class TestText:
    def test_short_different_texts(self, tmp_path):
        places = {"oak": "src/lib", "elm": "tests/unit"}
        files = np.random.default_rng(0).choice(list("abcdefgh"), (N, 6))
        cells = [
            f"{places[kind]}/{''.join(file)}.py"
            for kind, file in zip(KIND, files, strict=True)
        ]
        rows, summary = label(write(tmp_path / "t.csv", cells))
        assert kind_of(summary) == "text"
        assert right(rows) > 0.9

    def test_a_script_without_blanks(self, tmp_path):
        words = {"oak": "今日は天気がいいですね", "elm": "試合に勝ちました選手"}
        cells = [f"{words[kind]}{chr(0x4E00 + 7 * k)}" for k, kind in enumerate(KIND)]
        rows, summary = label(write(tmp_path / "t.csv", cells))
        assert kind_of(summary) == "text"
        assert right(rows) > 0.9

    def test_many_names(self, tmp_path):
        makes = {"oak": "Volvo V", "elm": "Fiat Punto "}
        cells = [f"{makes[kind]}{k // 2}" for k, kind in enumerate(KIND)] * 2
        path = tmp_path / "t.csv"
        kinds = labels() + [""] * N
        rows, summary = label(write(path, cells, kinds), "--categorical", "x")
        assert kind_of(summary) == "category"
        assert right(rows[:N]) > 0.9

    def test_the_weight_of_text(self, tmp_path):
        path = write(tmp_path / "t.csv", [f"word{k % 2} and more" for k in range(N)])
        assert label(path, "--text", "x", "--text-weight", "0.5")[1]["rows"] == N
        _, error = label(path, "--text-weight", "0", code=2)
        assert "give a positive number" in error


class TestIdentifiersAndDates:
    def test_counters_are_left_out(self, tmp_path):
        rng = np.random.default_rng(2)
        numbers = rng.permutation(60)[:N] + 1000
        rows = [
            [n, f"{v:.2f}", k] for n, v, k in zip(numbers, SIZE, labels(), strict=True)
        ]
        path = tmp_path / "t.csv"
        path.write_text(text_of([["no", "x", "kind"], *rows]))
        _, summary = label(path)
        assert kind_of(summary, "no") == "identifier"
        assert "'no'" in said(summary)

    @pytest.mark.parametrize(
        "form",
        [
            "%m/%d/%Y %I:%M:%S %p",
            "%d-%b-%y",
            "%B %d, %Y",
            "%a, %d %b %Y %H:%M:%S +0000",
            "%Y%m%d",
            "%d.%m.%Y",
        ],
    )
    def test_dates(self, tmp_path, form):
        days = np.datetime64("2021-01-05") + np.array(
            [int(300 * (v - 8)) for v in SIZE], dtype="timedelta64[D]"
        )
        cells = [day.item().strftime(form) for day in days]
        rows, summary = label(write(tmp_path / "t.csv", cells))
        assert kind_of(summary) == "date"
        assert right(rows) > 0.9

    def test_a_format_can_be_given(self, tmp_path):
        cells = [f"{1 + k % 12:02d}/{1 + k % 9:02d}/2021" for k in range(N)]
        path = write(tmp_path / "t.csv", cells)
        _, summary = label(path)
        assert "with the day first" in said(summary)
        _, summary = label(path, "--date", "x=%m/%d/%Y")
        assert "day first" not in said(summary)
        _, error = label(write(path, ["red", "blue"] * 20), "--date", "x", code=1)
        assert "cannot be read as dates" in error


class TestFiles:
    def test_an_archive_of_a_mac(self, tmp_path):
        inner = write(tmp_path / "t.csv", [f"{v:.2f}" for v in SIZE]).read_bytes()
        path = tmp_path / "t.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("t.csv", inner)
            archive.writestr("__MACOSX/._t.csv", b"litter")
            archive.writestr(".DS_Store", b"litter")
        assert right(label(path)[0]) > 0.9

    @pytest.mark.parametrize("wrap", ["{}", '{{"data": {}}}'])
    def test_a_list_of_json(self, tmp_path, wrap):
        rows = [
            {"x": {"size": v, "unit": "m"}, "kind": k or None}
            for v, k in zip(SIZE.round(3), labels(), strict=True)
        ]
        path = tmp_path / "t.json"
        path.write_text(wrap.format(json.dumps(rows, indent=1)))
        found, summary = label(path)
        assert "Nested values became columns: 'x.size', 'x.unit'" in said(summary)
        assert right(found) > 0.9
        fewlabels(
            *("label", path, "-t", "kind", "--bank", "fast"),
            *("-o", tmp_path / "again.json"),
        )
        again = json.loads((tmp_path / "again.json").read_text())
        again = again if isinstance(again, list) else again["data"]
        assert [{k: r[k] for k in ("x", "kind")} for r in again] == rows
        assert again[0]["kind_predicted"] == "oak"

    def test_several_sheets(self, tmp_path):
        book = openpyxl.Workbook()
        book.active.title = "about"
        book.active.append(["written", "by"])
        book.active.append(["someone", "else"])
        sheet = book.create_sheet("trees")
        for row in [["x", "kind"], *zip(SIZE.tolist(), labels(), strict=True)]:
            sheet.append(row)
        path = tmp_path / "t.xlsx"
        book.save(path)
        _, error = label(path, code=2)
        assert "There is no column 'kind'" in error
        assert "('about', 'trees')" in error
        assert "--sheet" in error
        assert right(label(path, "--sheet", "trees")[0]) > 0.9

    @pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
    def test_titles(self, tmp_path, suffix):
        rows = [["Trees of 2024"], [], ["x", "y", "kind"]]
        rows += [
            [v, 1 + k % 3, n]
            for k, (v, n) in enumerate(zip(SIZE, labels(), strict=True))
        ]
        path = tmp_path / f"t{suffix}"
        if suffix == ".csv":
            path.write_text(text_of(rows))
        else:
            book = openpyxl.Workbook()
            for row in rows:
                book.active.append(row)
            book.save(path)
        out = f"out{suffix}"
        result = fewlabels(
            *("label", path, "-t", "kind", "--bank", "fast", "-o", tmp_path / out)
        )
        assert "found in line 3, below a title" in result.stderr
        if suffix == ".csv":
            before = path.read_text().splitlines()
            after = (tmp_path / out).read_text().splitlines()
            assert after[:2] == before[:2]
            assert after[2].endswith("kind,kind_predicted,kind_confidence,kind_source")
        else:
            cells = openpyxl.load_workbook(tmp_path / out).active
            assert cells["D3"].value == "kind_predicted"
            assert cells["D4"].value == "oak"
        code, problem = {
            ".csv": (1, "line 3: 3 fields, but there are 1 column"),
            ".xlsx": (2, "The columns are 'Trees of 2024', 'column 2', 'column 3'"),
        }[suffix]
        _, error = label(path, "--header-row", "1", code=code)
        assert problem in error

    def test_no_names(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text(text_of(zip(SIZE.round(3), labels(), strict=True)))
        _, error = label(path, code=2)
        assert "'column 1', 'column 2'" in error
        assert "holds values, not names" in error
        fewlabels(
            *("label", path, "-t", "column 2", "--bank", "fast"),
            *("-o", tmp_path / "out.csv"),
        )
        first = (tmp_path / "out.csv").read_text().splitlines()[0]
        assert first == f"{SIZE[0]:.3f}".rstrip("0") + ",oak,oak,1.0,given"

    def test_an_output_that_is_no_table(self, tmp_path):
        path = write(tmp_path / "t.csv", [f"{v:.2f}" for v in SIZE])
        _, error = label(path, code=2, output="out.pdf")
        assert "cannot be written as .pdf" in error
        assert not (tmp_path / "out.pdf").exists()

    @pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
    def test_an_encoding_with_a_mark(self, tmp_path, mark):
        text = write(tmp_path / "t.csv", [f"{v:.2f}" for v in SIZE]).read_bytes()
        (tmp_path / "t.csv").write_bytes(mark + text)
        rows, _ = label(tmp_path / "t.csv", "--encoding", "utf-8-sig")
        data = (tmp_path / "out.csv").read_bytes()
        assert data.startswith(mark + b"x,kind,")
        assert data.count(b"\xef\xbb\xbf") == bool(mark)
        assert next(iter(rows[0])) == "x"

    @pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/worksheets/sheet1.xml"])
    def test_broken_workbooks(self, tmp_path, part):
        book = openpyxl.Workbook()
        book.active.append(["x", "kind"])
        for row in zip(SIZE.tolist(), labels(), strict=True):
            book.active.append(row)
        buffer = io.BytesIO()
        book.save(buffer)
        path = tmp_path / "t.xlsx"
        with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(path, "w") as new:
            for name in old.namelist():
                data = old.read(name)
                new.writestr(name, data[: len(data) // 2] if name == part else data)
        _, error = label(path, code=1)
        assert "or it is damaged" in error
        assert "save it again" in error

    def test_values_that_a_format_cannot_hold(self, tmp_path):
        texts = ["a\x07", *(["b", "c"] * N)][:N]
        rows = [["note", "big", "x", "kind"]]
        rows += [
            [t, 2**70 + k, f"{v:.2f}", n]
            for k, (t, v, n) in enumerate(zip(texts, SIZE, labels(), strict=True))
        ]
        path = tmp_path / "t.csv"
        path.write_text(text_of(rows))
        for suffix in (".xlsx", ".parquet"):
            out = tmp_path / f"out{suffix}"
            fewlabels("label", path, "-t", "kind", "-o", out, "--bank", "fast")
        cells = openpyxl.load_workbook(tmp_path / "out.xlsx").active
        assert cells["A2"].value == "a\N{REPLACEMENT CHARACTER}"
        assert cells["B2"].value == str(2**70)
        columns = pq.read_table(tmp_path / "out.parquet")
        assert columns["big"].to_pylist()[0] == str(2**70)
        assert columns["note"].to_pylist() == texts

    def test_a_model_takes_its_own_table(self, tmp_path):
        cells = [f"{v:.2f}" for v in SIZE]
        cells[::3] = ["inf"] * len(cells[::3])
        path = write(tmp_path / "t.csv", cells)
        model = tmp_path / "m.fewlabels"
        fitted = fewlabels("fit", path, "-t", "kind", "-o", model, "--bank", "fast")
        assert "too large to compute with taken as missing" in fitted.stderr
        found = fewlabels("predict", model, path)
        assert found.stdout.count("predicted") == N + 1

    def test_names_that_are_near(self, tmp_path):
        path = write(tmp_path / "t.csv", [f"{v:.2f}" for v in SIZE], name="height")
        model = tmp_path / "m.fewlabels"
        fewlabels("fit", path, "-t", "kind", "-o", model, "--bank", "fast")
        other = write(tmp_path / "u.csv", [f"{v:.2f}" for v in SIZE], name="Heigth")
        refused = fewlabels("predict", model, other, code=1)
        assert "Perhaps 'Heigth' for 'height'" in refused.stderr

    def test_what_killed_runs_left_is_cleared(self, tmp_path):
        path = write(tmp_path / "t.csv", [f"{v:.2f}" for v in SIZE])
        old, fresh = (tmp_path / f".out.csv.abcdefg{k}.part" for k in range(2))
        other = tmp_path / ".else.csv.abcdefgh.part"
        for file in (old, fresh, other):
            file.write_text("half")
        for file in (old, other):
            os.utime(file, (time.time() - 10_000,) * 2)
        label(path)
        assert [file.exists() for file in (old, fresh, other)] == [False, True, True]

    @pytest.mark.parametrize("cells", [[""] * N, ["same"] * N])
    def test_messages_speak_of_tables(self, tmp_path, cells):
        _, error = label(write(tmp_path / "t.csv", cells), code=1)
        assert "No column can be used" in error
        for word in ("sample", "NaN", "FewLabelsClassifier"):
            assert word not in error


class TestQuantities:
    def test_numbers_with_intervals(self, tmp_path):
        rng = np.random.default_rng(3)
        x = rng.uniform(0, 10, 230)  # of few rows, chance decides how many are covered
        truth = 5 * x + rng.normal(size=230)
        rows = [["x", "price"]]
        rows += [
            [f"{a:.4f}", f"{b:.3f}" if k < 30 else ""]
            for k, (a, b) in enumerate(zip(x, truth, strict=True))
        ]
        path = tmp_path / "t.csv"
        path.write_text(text_of(rows))
        found, summary = label(path, "--report", tmp_path / "r.html", target="price")
        assert "is taken as a quantity" in said(summary)
        assert summary["expected_error"]["value"] < 5
        predicted, low, high = (
            np.array([float(row[f"price_{end}"]) for row in found])
            for end in ("predicted", "low", "high")
        )
        assert np.mean(((low <= truth) & (truth <= high))[30:]) > 0.8
        assert np.abs(predicted - truth)[30:].mean() < 4
        assert "price" in (tmp_path / "r.html").read_text()
        model = tmp_path / "m.fewlabels"
        fewlabels("fit", path, "-t", "price", "-o", model, "--bank", "fast")
        again = fewlabels("predict", model, path, "--json", "-o", tmp_path / "p.csv")
        assert json.loads(again.stdout)["rows"] == 230
        asked = fewlabels("ask", path, "-t", "price", "-n", "2")
        assert "typical of many others" in asked.stderr
        _, summary = label(path, "--task", "classes", target="price")
        assert len(summary["classes"]) == 30


def test_the_number_of_clusters_is_found(tmp_path):
    path = tmp_path / "iris.csv"
    rows = [["a", "b", "c", "d"], *load_iris().data.tolist()]
    path.write_text(text_of(rows))
    result = fewlabels("cluster", path, "--json", "-o", tmp_path / "out.csv")
    assert json.loads(result.stdout)["clusters"] == {"1": 100, "2": 50}


def test_many_classes_are_cut_visibly(tmp_path):
    names = [f"class{k}" for k in range(10)]
    rows = [["x", "y", "kind"]]
    rows += [[k % 10 * 5 + k / 100, k % 7, names[k % 10]] for k in range(60)]
    path = tmp_path / "t.csv"
    path.write_text(text_of(rows))
    model = tmp_path / "m.fewlabels"
    fewlabels("fit", path, "-t", "kind", "-o", model, "--bank", "fast")
    result = fewlabels("predict", model, path, "-o", tmp_path / "out.csv")
    assert ", ...)" in result.stderr


@pytest.mark.parametrize(
    ("command", "option"), [("studio", "--class-shares"), ("merge", "--task")]
)
def test_commands_know_no_options_without_effect(tmp_path, command, option):
    path = write(tmp_path / "t.csv", [f"{v:.2f}" for v in SIZE])
    refused = fewlabels(command, path, "-t", "kind", option, "auto", code=2)
    # Versions of click differ in what stands between.
    assert "No such option" in refused.stderr
    assert option in refused.stderr
