"""Tables that are read, learned from and written in batches."""

# SPDX-License-Identifier: BSD-3-Clause

import gzip
import io
import json
import re
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

from fewlabels.cli import commands
from fewlabels.preprocessing import FileError, Table, TableError
from fewlabels.tabular import (
    _batches,
    _rewriting,
    label_table,
    load_model,
    read_table,
    save_model,
)
from fewlabels.tabular.large import (
    RowSample,
    label_large,
    open_large,
    predict_large,
    rewrite,
    sample_of,
)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    kinds = np.arange(400) % 2
    return pd.DataFrame(
        {
            "size": (kinds * 3 + rng.normal(size=400)).round(3),
            "colour": rng.choice(["red", "green, dark", 'say "blue"'], 400),
            "kind": [("a", "b")[k] if i < 30 else None for i, k in enumerate(kinds)],
        }
    )


@pytest.fixture(scope="module")
def model(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "kind.fewlabels"
    labelled = label_table(frame, "kind", as_frame=False, bank="fast")
    save_model(labelled.model, path)
    return path


@pytest.fixture
def files(frame, tmp_path):
    """The same table in every format."""
    new = frame.drop(columns="kind")
    csv = new.to_csv(index=False).replace("\n", "\r\n", 7) + "\n\n"
    (tmp_path / "t.csv").write_text(csv, newline="")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(csv.encode()))
    new.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    new.to_parquet(tmp_path / "t.parquet", index=False, row_group_size=90)
    return tmp_path


def run(*arguments, **options):
    done = CliRunner().invoke(commands, [str(a) for a in arguments], **options)
    assert done.exit_code == 0, done.output
    return done


def folder_of(path, frame, n_parts=4):
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), n_parts)):
        part = path / f"year={2020 + k // 2}" / f"p{k}.parquet"
        part.parent.mkdir(parents=True, exist_ok=True)
        frame.iloc[rows].to_parquet(part, index=False)
    return path


class TestReading:
    @pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.parquet"])
    @pytest.mark.parametrize("batch_rows", [1, 7, 100, 10_000])
    def test_batches_are_the_table(self, files, name, batch_rows):
        path = files / name
        whole = read_table(path)
        large = open_large(str(path), batch_rows=batch_rows)
        tables = [table for _, _, table in large.batches()]
        assert max(len(table) for table in tables) <= batch_rows
        assert large.n_rows == whole.n_rows
        for column in whole.names:
            found = np.concatenate([table[column] for table in tables])
            assert found.tolist() == whole[column].tolist()

    @pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl"])
    @pytest.mark.parametrize("batch_rows", [1, 99])
    def test_text_is_not_touched(self, files, name, batch_rows):
        large = open_large(str(files / name), batch_rows=batch_rows)
        out = files / f"out-{name}"
        rewrite(large, str(out), lambda table: {"n": ["1"] * table.n_rows})
        before, after = (
            gzip.decompress(p.read_bytes()) if name.endswith("gz") else p.read_bytes()
            for p in (files / name, out)
        )
        if "csv" in name:
            lines = before.split(b"\n")
            assert lines[0] == b"size,colour\r"
            expected = before.replace(b"size,colour", b"size,colour,n", 1)
            for line in dict.fromkeys(x.rstrip(b"\r") for x in lines[1:] if x.strip()):
                expected = expected.replace(b"\n" + line, b"\n" + line + b",1")
            assert after == expected
        else:
            assert after == before.replace(b"}\n", b', "n": "1"}\n')

    def test_quotes_across_lines_and_batches(self, tmp_path):
        text = '\ufeff"Title"\n\na;b\n1;"x\ny"\n\n2;"z"\n3;w'
        path = tmp_path / "t.csv"
        path.write_text(text, newline="")
        large = open_large(str(path), batch_rows=1)
        out = tmp_path / "o.csv"
        rewrite(large, str(out), lambda table: {"c": [str(len(table))]})
        expected = '\ufeff"Title"\n\na;b;c\n1;"x\ny";1\n\n2;"z";1\n3;w;1'
        assert out.read_bytes().decode() == expected

    def test_small_files_are_read_at_once(self, files, monkeypatch):
        assert open_large(str(files / "t.csv")) is None
        assert open_large(str(files / "t.csv"), batch_rows=0) is None
        monkeypatch.setattr(_batches, "LARGE_BYTES", 100)
        assert open_large(str(files / "t.csv")).batch_rows == _batches.BATCH_ROWS

    def test_a_folder_of_parts(self, frame, tmp_path):
        folder = folder_of(tmp_path / "parts", frame)
        (folder / "_SUCCESS").touch()
        (folder / ".hidden.parquet").touch()
        large = open_large(str(folder))
        tables = [table for _, _, table in large.batches()]
        assert [len(table) for table in tables] == [100] * 4
        years = [set(table["year"]) for table in tables]
        assert years == [{"2020"}, {"2020"}, {"2021"}, {"2021"}]

    def test_bad_files(self, files, tmp_path):
        (tmp_path / "empty").mkdir()
        with pytest.raises(FileError, match="has no table in it"):
            open_large(str(tmp_path / "empty"))
        with pytest.raises(FileError, match="several formats"):
            open_large(str(files))
        (tmp_path / "bad.csv").write_text("a,b\n1,2\n1,2,3\n")
        with pytest.raises(TableError, match=r"bad.csv, line 3: 3 fields"):
            list(open_large(str(tmp_path / "bad.csv"), batch_rows=1).batches())
        (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
        with pytest.raises(TableError, match="not a Parquet file"):
            list(open_large(str(tmp_path / "bad.parquet"), batch_rows=1).batches())
        (tmp_path / "bad.jsonl").write_text('{"a": 1}\n{"a": 2}\n{"a" 3}\n')
        with pytest.raises(TableError, match=r"from line 3\), line 1: not JSON"):
            list(open_large(str(tmp_path / "bad.jsonl"), batch_rows=2).batches())

    def test_members_that_come_and_go(self, tmp_path):
        path = tmp_path / "t.jsonl"
        path.write_text('{"a": 1}\n{"a": 2, "b": 3}\n{"b": 4}\n')
        large = open_large(str(path), batch_rows=1)
        assert [t.names for _, _, t in large.batches()] == [["a"], ["a", "b"]] + [
            ["a", "b"]
        ]
        sample = sample_of(large, None)
        assert sample.rows["b"].tolist() == [None, 3, 4]
        assert sample.summary is None


class TestSample:
    def test_it_does_not_depend_on_batches(self, frame, tmp_path):
        path = tmp_path / "t.parquet"
        frame.to_parquet(path, index=False)
        found = []
        for batch_rows in (13, 100, 1000):
            large = open_large(str(path), batch_rows=batch_rows)
            sample = sample_of(large, "kind", sample_rows=50, random_state=3)
            found.append((sample.rows.places, sample))
        numbers, sample = found[0]
        assert set(range(30)) <= set(numbers)  # all that have a label
        assert numbers.size == 80
        assert_array_equal(sample.rows["size"], frame["size"][numbers])
        for others, other in found[1:]:
            assert_array_equal(others, numbers)
            assert other.rows["colour"].tolist() == sample.rows["colour"].tolist()
            assert_array_equal(other.summary.moments.mean, sample.summary.moments.mean)
        assert sample.summary.n_rows == 400
        assert (
            "30 labelled rows and a sample of 50 of 370 others"
            in (sample.rows.notes[-1])
        )

    def test_many_labels_are_sampled_too(self):
        sample = RowSample(10, 20, seed=0)
        for start in range(0, 1000, 100):
            table = Table(["x"], [np.arange(start, start + 100)])
            sample.add(start, table, np.ones(100, dtype=bool))
        table = sample.table("x")
        assert table.n_rows == 20
        assert_array_equal(table["x"], table.places)


class TestPredicting:
    @pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
    def test_the_same_as_at_once(self, files, model, name):
        once, parts = files / f"once-{name}", files / f"parts-{name}"
        run("predict", model, files / name, "-o", once, "-q")
        done = run(
            "predict", model, files / name, "-o", parts, "--batch-rows", 70, "--json"
        )
        if name.endswith("parquet"):
            assert pq.read_table(parts).equals(pq.read_table(once))
        else:
            assert parts.read_bytes() == once.read_bytes()
        summary = json.loads(done.stdout)
        assert summary["rows"] == 400
        assert sum(summary["classes"].values()) == 400

    def test_from_one_format_to_another(self, files, model):
        out = files / "o.csv"
        run("predict", model, files / "t.parquet", "-o", out, "--batch-rows", 150)
        expected = files / "e.csv"
        run("predict", model, files / "t.parquet", "-o", expected)
        assert out.read_bytes() == expected.read_bytes()
        run("predict", model, files / "t.csv", "-o", out.with_suffix(".parquet"))
        batched = files / "b.parquet"
        run("predict", model, files / "t.csv", "-o", batched, "--batch-rows", 150)
        whole = pq.read_table(out.with_suffix(".parquet"))
        assert pq.read_table(batched).equals(whole)

    def test_standard_streams(self, files, model):
        text = (files / "t.csv").read_bytes()
        options = ("predict", model, "-", "-q")
        expected = run(*options, input=text).stdout_bytes
        found = run(*options, "--batch-rows", 64, input=text).stdout_bytes
        assert found == expected

    def test_a_folder_goes_on_where_it_stopped(self, frame, model, tmp_path):
        folder = folder_of(tmp_path / "parts", frame.drop(columns="kind"))
        out = tmp_path / "out"
        loaded = load_model(model)
        calls = []

        def broken(*args, **options):
            calls.append(args)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return loaded.__class__.predictions(loaded, *args, **options)

        loaded.predictions = broken
        with pytest.raises(KeyboardInterrupt):
            predict_large(loaded, open_large(str(folder)), f"{out}/")
        written = sorted(p.name for p in out.rglob("*") if p.is_file())
        assert written == ["_fewlabels.json", "p0.parquet", "p1.parquet"]
        del loaded.predictions
        done = predict_large(loaded, open_large(str(folder)), f"{out}/")
        assert done.n_skipped == 2
        assert done.n_rows == 200
        assert len(list(out.rglob("*.parquet"))) == 4
        whole = predict_large(
            loaded, open_large(str(folder)), str(tmp_path / "whole.parquet")
        )
        assert whole.n_rows == 400
        paths = sorted(out.rglob("*.parquet"))
        joined = pa.concat_tables(pq.read_table(p, partitioning=None) for p in paths)
        single = pq.read_table(tmp_path / "whole.parquet")
        assert joined.equals(single.drop_columns("file"))
        assert single["file"].unique().to_pylist() == [
            p.relative_to(folder).as_posix() for p in sorted(folder.rglob("*.parquet"))
        ]
        (folder / "year=2020" / "more.parquet").write_bytes(
            (folder / "year=2020" / "p0.parquet").read_bytes()
        )
        with pytest.raises(FileError, match="parts of another run"):
            predict_large(loaded, open_large(str(folder)), f"{out}/")
        again = predict_large(loaded, open_large(str(folder)), f"{out}/", force=True)
        assert again.n_rows == 500

    def test_one_file_becomes_parts(self, files, model, monkeypatch):
        monkeypatch.setattr(_rewriting, "PART_ROWS", 200)
        out = files / "out"
        out.mkdir()
        arguments = ("predict", model, files / "t.parquet", "-o", out)
        run(*arguments, "--batch-rows", 100)
        parts = sorted(p.name for p in out.glob("*.parquet"))
        assert parts == ["part-00000.parquet", "part-00001.parquet"]
        (out / parts[0]).unlink()
        done = run(*arguments, "--batch-rows", 100)
        assert "1 part of an earlier run" in done.stderr
        rows = sum(pq.read_metadata(p).num_rows for p in out.glob("*.parquet"))
        assert rows == 400

    def test_nothing_half_written_stays(self, files, model):
        loaded = load_model(model)
        loaded.predictions = lambda table, **options: 1 / 0
        large = open_large(str(files / "t.csv"), batch_rows=50)
        before = sorted(files.iterdir())
        with pytest.raises(ZeroDivisionError):
            predict_large(loaded, large, str(files / "o.csv"))
        assert sorted(files.iterdir()) == before

    def test_what_cannot_be(self, files, model):
        for arguments, message in (
            (["-o", files / "o.xlsx"], "cannot be written as a workbook"),
            (["-o", files / "t.csv"], "exists"),
            (["--features", files / "x.npy"], "needs all rows at once"),
        ):
            done = CliRunner().invoke(
                commands,
                ["predict", str(model), str(files / "t.csv"), "--batch-rows", "9"]
                + [str(a) for a in arguments],
            )
            assert done.exit_code == 2
            assert message in done.output

    def test_addresses(self, files, model):
        fsspec = pytest.importorskip("fsspec")
        memory = fsspec.filesystem("memory")
        memory.pipe("/in/t.parquet", (files / "t.parquet").read_bytes())
        run("predict", model, "memory://in/t.parquet", "-o", files / "o.parquet")
        run("predict", model, "memory://in", "-o", "memory://out/")
        run("predict", model, files / "t.parquet", "-o", files / "e.parquet")
        expected = pq.read_table(files / "e.parquet")
        assert pq.read_table(files / "o.parquet").equals(expected)
        (name,) = [n for n in memory.find("/out") if n.endswith(".parquet")]
        assert pq.read_table(io.BytesIO(memory.cat(name))).equals(expected)

    def test_addresses_without_fsspec(self, model, monkeypatch):
        monkeypatch.setitem(sys.modules, "fsspec", None)
        done = CliRunner().invoke(commands, ["predict", str(model), "s3://b/t.csv"])
        assert done.exit_code == 1
        assert "fewlabels[remote]" in done.output


class TestLabelling:
    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    def test_given_labels_stay_and_others_come(self, frame, tmp_path, suffix):
        path, out = tmp_path / f"t.{suffix}", tmp_path / f"o.{suffix}"
        getattr(frame, f"to_{suffix}")(path, index=False)
        done = run(
            *("label", path, "-t", "kind", "-o", out, "--json", "--bank", "fast"),
            *("--batch-rows", 90, "--sample-rows", 200),
        )
        summary = json.loads(done.stdout)
        assert (summary["rows"], summary["sampled_rows"]) == (400, 230)
        found = getattr(pd, f"read_{suffix}")(out)
        pd.testing.assert_frame_equal(found[list(frame)], frame, check_dtype=False)
        assert (found["kind_source"][:30] == "given").all()
        assert (found["kind_predicted"][:30] == frame["kind"][:30]).all()
        assert (found["kind_source"][30:] == "predicted").all()
        truth = np.array(["a", "b"])[np.arange(400) % 2]
        assert np.mean(found["kind_predicted"] == truth) > 0.85

    def test_numbers(self, tmp_path):
        rng = np.random.default_rng(0)
        x = rng.uniform(size=600)
        y = np.where(np.arange(600) < 60, (10 * x).round(3), np.nan)
        path, out = tmp_path / "t.csv", tmp_path / "o.csv"
        pd.DataFrame({"x": x, "z": rng.normal(size=600), "y": y}).to_csv(
            path, index=False
        )
        options = ("-o", out, "--batch-rows", 250, "--sample-rows", 300)
        run("label", path, "-t", "y", *options, "--bank", "fast", "-q")
        found = pd.read_csv(out)
        np.testing.assert_allclose(found["y_predicted"][:60], y[:60])
        assert np.abs(found["y_predicted"] - 10 * x).mean() < 0.5

    def test_marks_are_read_as_in_the_sample(self, frame, tmp_path):
        path, out = tmp_path / "t.csv", tmp_path / "o.csv"
        frame.assign(kind=frame["kind"].fillna("?")).to_csv(path, index=False)
        large = open_large(str(path), batch_rows=90)
        labeled, written = label_large(
            large, "kind", str(out), sample_rows=100, bank="fast"
        )
        assert labeled.given.sum() == 30
        assert (pd.read_csv(out)["kind_source"] == "given").sum() == 30
        assert written.n_rows == 400

    def test_the_standard_input_is_read_once(self):
        done = CliRunner().invoke(
            commands, ["label", "-", "-t", "k", "--batch-rows", "9"], input="a,k\n1,x\n"
        )
        assert done.exit_code == 2
        assert "reads the table twice" in done.output


# Every option of `label`, with what to pass.
LABEL_OPTIONS = {
    "table": [],
    "target": [],
    "markers": ["--marker", "b"],
    "merge_labels": ["--merge-labels"],
    "task": ["--task", "classes"],
    "class_shares": ["--class-shares", "uniform"],
    "min_confidence": ["--min-confidence", "0.9"],
    "top": ["--top", "2"],
    "explain": ["--explain", "3"],
    "interval": ["--interval", "0.8"],
    "ordinal": ["--ordinal", "A,a,b"],
    "hints": ["--hint", "colour"],
    "rules": ["--rule", 'contains(words, "plain") -> a'],
    "weight": ["--weight", "size"],
    "labels": ["--labels", "FEATURES"],
    "embed_with": ["--embed-with", "a:b"],
    "sort_into": ["--sort-into", "sorted"],
    "output": [],
    "report_path": ["--report", "REPORT"],
    "ignore": ["--ignore", "colour"],
    "text": ["--text", "words"],
    "categorical": ["--categorical", "colour"],
    "numeric": ["--numeric", "size"],
    "date": ["--date", "born=%Y-%m-%d"],
    "decimal": ["--decimal", "."],
    "missing": ["--missing", "colour=red"],
    "scale": ["--scale", "none"],
    "text_weight": ["--text-weight", "2"],
    "embed": ["--embed", "none"],
    "delimiter": ["--delimiter", ","],
    "encoding": ["--encoding", "utf-8"],
    "sheet": ["--sheet", "1"],
    "header_row": ["--header-row", "1"],
    "keep_rows": ["--keep-rows"],
    "features": ["--features", "FEATURES"],
    "bank": ["--bank", "fast"],
    "scheduler": ["--scheduler", "tcp://localhost:1"],
    "device": ["--device", "cpu"],
    "batch_rows": [],
    "sample_rows": ["--sample-rows", "100"],
    "seed": ["--seed", "3"],
    "quiet": ["--quiet"],
    "as_json": ["--json"],
    "force": ["--force"],
}
# Those that change nothing, of a table that is not in need of them.
NEUTRAL = {"table", "target", "task", "output", "report_path", "numeric", "delimiter"}
NEUTRAL |= {"encoding", "header_row", "keep_rows", "bank", "device", "batch_rows"}
NEUTRAL |= {"sample_rows", "quiet", "force", "decimal", "interval"}
NOT_IN_BATCHES = {
    "hints": "--hint needs all rows at once",
    "rules": "--rule needs all rows at once",
    "weight": "--weight needs all rows at once",
    "explain": "--explain needs all rows at once: pass --batch-rows 0",
    "features": "--features needs all rows at once: pass --batch-rows 0",
    "labels": "is no folder of pictures or texts (given as --labels)",
    "embed_with": "is no folder of pictures or texts (given as --embed-with)",
    "sort_into": "is no folder of pictures or texts: leave --sort-into out",
    "scheduler": "--batch-rows cannot be used with --scheduler",
    "sheet": "leave the name of the sheet out (given as --sheet)",
}


class TestEveryOption:
    """Batches and any other option of `label`: as without batches, or refused."""

    @pytest.fixture(scope="class")
    @classmethod
    def folder(cls, tmp_path_factory):
        folder = tmp_path_factory.mktemp("options")
        rng = np.random.default_rng(0)
        kinds = np.arange(40) % 2
        given = [("a", "b")[k] if i < 10 else None for i, k in enumerate(kinds)]
        days = pd.date_range("2020-01-01", periods=40).strftime("%Y-%m-%d")
        pd.DataFrame(
            {
                "size": (3 * kinds + rng.normal(size=40)).round(3),
                "colour": rng.choice(["red", "blue"], 40),
                "born": rng.permutation(days),
                "words": [f"{('plain', 'new')[k]} {rng.integers(9)}" for k in kinds],
                "kind": ["A", *given[1:-1], "-"],
            }
        ).to_csv(folder / "t.csv", index=False)
        np.save(folder / "f.npy", rng.normal(size=(40, 3)))
        cls.label(folder, folder / "plain.csv")
        return folder

    @staticmethod
    def label(folder, out, *options):
        places = {"FEATURES": folder / "f.npy", "REPORT": f"{out}.html"}
        arguments = [
            "label",
            folder / "t.csv",
            "-t",
            "kind",
            "-o",
            out,
            "--bank",
            "fast",
        ]
        arguments += [places.get(option, option) for option in options]
        return CliRunner().invoke(commands, [str(a) for a in arguments])

    def test_there_are_no_others(self):
        assert set(LABEL_OPTIONS) == {p.name for p in commands.commands["label"].params}

    @pytest.mark.parametrize("option", sorted(LABEL_OPTIONS))
    def test_it_goes_with_batches(self, folder, tmp_path, option):
        if option == "embed":
            pytest.importorskip("tokenizers")
        elif option == "scheduler":
            pytest.importorskip("distributed")
        given = LABEL_OPTIONS[option]
        out = tmp_path / "batches.csv"
        done = self.label(folder, out, *given, "--batch-rows", "25")
        if option in NOT_IN_BATCHES:
            assert done.exit_code == 2
            assert NOT_IN_BATCHES[option] in done.output
            assert list(tmp_path.iterdir()) == []
            return
        assert done.exit_code == 0, done.output
        once = folder / "plain.csv"
        if option not in NEUTRAL:
            once = tmp_path / "once.csv"
            whole = self.label(folder, once, *given)
            assert whole.exit_code == 0, whole.output
        # The sample is the whole table, and what is found is the same.
        found, expected = pd.read_csv(out), pd.read_csv(once)
        assert list(found) == list(expected)
        for name in expected:
            if expected[name].dtype.kind == "f":
                np.testing.assert_allclose(found[name], expected[name], atol=1e-5)
            else:
                assert found[name].equals(expected[name])
        if option == "report_path":
            assert "Least certain rows" in (tmp_path / "batches.csv.html").read_text()
        if option == "as_json":
            summary, other = json.loads(done.stdout), json.loads(whole.stdout)
            same = set(other) - {"notes", "output"}
            assert {k: summary[k] for k in same} == {k: other[k] for k in same}

    @pytest.mark.parametrize("suffix", [".xlsx", ".pdf", ".foo", ".csv.zip"])
    def test_formats_are_refused_before_the_work(self, folder, tmp_path, suffix):
        out = tmp_path / f"o{suffix}"
        done = self.label(
            folder, out, "--batch-rows", "25", "--report", tmp_path / "r.html"
        )
        assert done.exit_code == 2
        assert "cannot be written as" in done.output
        assert list(tmp_path.iterdir()) == []

    def test_rows_keep_their_numbers(self, tmp_path):
        """Row 351 of the file is called that wherever it is named."""
        rng = np.random.default_rng(0)
        kinds = np.arange(400) % 2
        labels = [None] * 320 + [("a", "b")[k] for k in kinds[320:]]
        labels[350] = "b"
        size = (20 * kinds + rng.normal(size=400)).round(3)
        path = tmp_path / "t.csv"
        pd.DataFrame({"size": size, "kind": labels}).to_csv(path, index=False)
        page = tmp_path / "r.html"
        done = run(
            *("label", path, "-t", "kind", "-o", tmp_path / "o.csv", "--json"),
            *("--report", page, "--batch-rows", 90, "--sample-rows", 100),
            *("--bank", "fast"),
        )
        assert json.loads(done.stdout)["suspicious_labels"][0]["row"] == 351
        assert "row 351 (b; a is more likely)" in done.stderr
        html = page.read_text()
        assert "row 351 (b; a is more likely)" in html
        assert html.count("row 351: a (given)") + html.count("row 351: b (given)") == 2
        assert "rows that were learned from" in html
        shown = {int(n) for n in re.findall(r"<title>row (\d+):", html)}
        assert len(shown) == 180
        assert shown >= set(range(321, 401))
        assert max(shown & set(range(1, 321))) > 180


def test_groups(tmp_path):
    rng = np.random.default_rng(0)
    group = np.arange(900) % 3
    centres = np.array([[0, 0], [9, 0], [0, 9]])
    X = centres[group] + rng.normal(size=(900, 2))
    path, out = tmp_path / "t.parquet", tmp_path / "o.parquet"
    pd.DataFrame(X, columns=["a", "b"]).to_parquet(path, index=False)
    options = ("-k", 3, "-o", out, "--batch-rows", 200, "--sample-rows", 300)
    done = run("cluster", path, *options, "--json")
    found = pd.read_parquet(out)["cluster"].to_numpy()
    assert len({(g, c) for g, c in zip(group, found, strict=True)}) == 3
    assert sum(json.loads(done.stdout)["clusters"].values()) == 900
