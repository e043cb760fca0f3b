"""A small version of the paper benchmarks runs from start to end."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import importlib.util
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "papers" / "s2rlsc.py"

PUBLISHED = """\
source_file,table,scenario,dataset,class_a,class_b,n_labelled,n_unlabelled,n_test,\
method,error_mean,error_std
000.txt,2,non-realistic,Gaussian2C,,,25,225,250,RLSC,10.6,2.3
000.txt,2,non-realistic,Gaussian2C,,,25,225,250,S2RLSC,0.8,0.5
000.txt,3,realistic,Gaussian2C,,,25,225,250,S2RLSC,3.3,1.8
003.txt,1,non-realistic,Gaussian4C,,,50,200,250,S2RLSC,0.8,0.6
003.txt,1,realistic,Gaussian4C,,,50,200,250,S2RLSC,4.1,2.4
003.txt,1,non-realistic,Gaussian2C,,,50,200,250,UniverSVM,1.0,0.4
"""


@pytest.fixture
def s2rlsc(monkeypatch, tmp_path):
    if not SCRIPT.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    pytest.importorskip("tqdm")
    spec = importlib.util.spec_from_file_location("s2rlsc_benchmark", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "LAMS", np.array([1.0, 32.0]))
    (tmp_path / "s2rlsc_errors.csv").write_text(PUBLISHED)
    monkeypatch.setenv("FEWLABELS_PUBLISHED", str(tmp_path))
    return module


def lines_of(path):
    with path.open() as handle:
        return list(csv.DictReader(handle))


def test_tables_run_and_resume(s2rlsc, tmp_path):
    out = tmp_path / "results"
    s2rlsc.main(["tables", "--repetitions", "1", "--out", str(out)])
    raw = lines_of(out / "s2rlsc_repetitions.csv")
    assert len(raw) == 4 * 2  # four set-ups, RLSC and S2RLSC
    errors = {
        m: [float(r["error"]) for r in raw if r["method"] == m]
        for m in ("RLSC", "S2RLSC")
    }
    assert np.mean(errors["S2RLSC"]) < np.mean(errors["RLSC"])
    table = lines_of(out / "s2rlsc_tables.csv")
    assert len(table) == 5  # the published rows of the two methods
    assert all(row["published"] and row["ours"] for row in table)
    # A second call finds everything done and changes nothing.
    s2rlsc.main(["tables", "--repetitions", "1", "--out", str(out)])
    assert lines_of(out / "s2rlsc_repetitions.csv") == raw


def test_missing_tables_are_named(s2rlsc, monkeypatch):
    monkeypatch.delenv("FEWLABELS_PUBLISHED")
    with pytest.raises(SystemExit, match="FEWLABELS_PUBLISHED"):
        s2rlsc.published_rows()


def test_naive_and_fast_search_agree(s2rlsc):
    """The comparison of speed compares the same search."""
    problem = s2rlsc.small_problem(3, 4, balanced=True)
    start = s2rlsc.local_search(problem, "random", random_state=0, max_trials=0).y
    slow, trials, stopped = s2rlsc.naive_climb(problem, start.astype(float))
    fast = s2rlsc.local_search(problem, start, swaps=False)
    assert not stopped
    assert trials == fast.n_trials
    np.testing.assert_array_equal(slow, fast.y)


class TestChooser:
    """A tiny run of the comparison of the automatic classifier."""

    @pytest.fixture
    def chooser(self, monkeypatch):
        script = SCRIPT.parents[1] / "chooser.py"
        if not script.exists():
            pytest.skip("the benchmarks are not part of this distribution")
        pytest.importorskip("tqdm")
        spec = importlib.util.spec_from_file_location("chooser_benchmark", script)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        rng = np.random.default_rng(0)
        y = np.arange(120) % 2
        X = rng.normal(size=(120, 5)) + 4 * y[:, None]
        monkeypatch.setattr(module, "SETTINGS", [("toy", 10)])
        splits = [np.arange(10), np.arange(10, 20)]
        monkeypatch.setattr(module, "data_of", lambda name, n_labels: (X, y, splits))
        return module

    def test_run_resumes_and_prints_a_table(self, chooser, tmp_path, capsys):
        call = ["run", "--out", str(tmp_path), "--methods", "automatic,new_rows"]
        chooser.main(call)
        lines = lines_of(tmp_path / "chooser_splits.csv")
        assert len(lines) == 2 * 3  # automatic, its baseline, new rows
        own = [float(r["error"]) for r in lines if r["method"] == "automatic"]
        assert max(own) < 5
        assert "toy | 10 | 2" in capsys.readouterr().out
        chooser.main(call)
        assert lines_of(tmp_path / "chooser_splits.csv") == lines

    def test_families_are_dropped_one_by_one(self, chooser, capsys):
        chooser.main(["drop", "--sets", "toy", "--splits", "1"])
        header, line = capsys.readouterr().out.strip().split("\n")
        assert len(header.split(" | ")) == len(line.split(" | "))
