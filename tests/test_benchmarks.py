"""A small version of the paper benchmarks runs from start to end."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import gzip
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons

from fewlabels.partition import local_search

PAPERS = Path(__file__).parents[1] / "benchmarks" / "papers"
SCRIPT = PAPERS / "s2rlsc.py"

PUBLISHED = """\
source_file,table,scenario,dataset,class_a,class_b,n_labelled,n_unlabelled,n_test,\
method,error_mean,error_std
000.txt,2,non-realistic,Gaussian2C,,,25,225,250,RLSC,10.6,2.3
000.txt,2,non-realistic,Gaussian2C,,,25,225,250,LIBSVM,13.0,2.9
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
    from benchmarks.papers import s2rlsc_experiment

    monkeypatch.setattr(s2rlsc_experiment, "LAMS", np.array([1.0, 32.0]))
    (tmp_path / "s2rlsc_errors.csv").write_text(PUBLISHED)
    monkeypatch.setenv("FEWLABELS_PUBLISHED", str(tmp_path))
    return module


def lines_of(path):
    with path.open() as handle:
        return list(csv.DictReader(handle))


@pytest.mark.slow
def test_tables_run_and_resume(s2rlsc, tmp_path):
    out = tmp_path / "results"
    s2rlsc.main(["tables", "--repetitions", "1", "--out", str(out)])
    raw = lines_of(out / "s2rlsc_repetitions.csv")
    # The published rows, and the (1+1)-EA for two of them.
    assert len(raw) == 7 + 2
    errors = {
        m: [float(r["error"]) for r in raw if r["method"] == m] for m in s2rlsc.METHODS
    }
    for method in ("UniverSVM", "S2RLSC", "S2RLSC (1+1)"):
        assert np.mean(errors[method]) < min(*errors["RLSC"], *errors["LIBSVM"])
    table = lines_of(out / "s2rlsc_tables.csv")
    assert len(table) == len(raw)
    assert all(row["published"] and row["ours"] for row in table)
    # A second call finds everything done and changes nothing.
    s2rlsc.main(["tables", "--repetitions", "1", "--out", str(out)])
    assert lines_of(out / "s2rlsc_repetitions.csv") == raw


def test_missing_tables_are_named(s2rlsc, monkeypatch, tmp_path):
    monkeypatch.delenv("FEWLABELS_PUBLISHED")
    with pytest.raises(SystemExit, match="FEWLABELS_PUBLISHED"):
        s2rlsc.main(["tables", "--out", str(tmp_path)])


def test_naive_and_fast_search_agree(s2rlsc):
    """The comparison of speed compares the same search."""
    from benchmarks.papers.s2rlsc_claims import naive_climb, small_problem

    problem = small_problem(3, 4, balanced=True)
    start = local_search(problem, "random", random_state=0, max_trials=0).y
    slow, trials, stopped = naive_climb(problem, start.astype(float))
    fast = local_search(problem, start, swaps=False)
    assert not stopped
    assert trials == fast.n_trials
    np.testing.assert_array_equal(slow, fast.y)


LAPSVM = {
    "lapsvm_datasets.csv": """\
dataset,classes,size,attributes,n_labelled,n_unlabelled,n_validation,n_test
toy,2,200,2,4,126,20,50
FACEMIT,2,31022,361,2,23973,50,6997
elsewhere,2,200,2,4,126,20,50
""",
    "lapsvm_parameters.csv": """\
table,dataset,classifier,stopping,sigma,nn,p,gamma_A,gamma_I,notes,fragment_reading
9,toy,SVM,,0.2,,,1e-1,,,
9,toy,RLSC,,0.2,,,,,,gamma_A=1e-3 | leading | line 1
9,toy,LapRLSC,,0.2,6,1,1e-4,1,,
9,toy,LapSVM Dual (Original),,0.2,6,1,,1,,
9,toy,LapSVM Primal (Newton),,0.2,6,1,1e-4,1,,
10,toy,LapSVM Primal (Newton),,,,,1e-4,1,,
10,toy,LapSVM Primal (PCG),stability,,,,1e-4,1,,
10,toy,LapSVM Primal (PCG),validation,,,,1e-4,1,,
10,toy,LapSVM Primal (PCG),mixed,,,,1e-4,1,,
9,elsewhere,LapSVM Primal (Newton),,0.2,6,1,1e-4,1,,
9,FACEMIT,LapSVM Primal (PCG),,4.3,6,1,1e-6,1e-8,,
""",
    "lapsvm_errors.csv": """\
table,dataset,classifier,stopping,set,error_mean,error_std
4,toy,SVM,,U,20,5
4,toy,SVM,,T,20,5
4,toy,LapSVM Primal (Newton),,U,1,0.5
4,toy,LapSVM Primal (Newton),,T,1,0.5
7,toy,LapSVM Primal (Newton),,T,1,0.5
7,toy,LapSVM Primal (PCG),stability,T,1,0.5
12,toy,LapSVM Primal (PCG),stability,T,9,9
""",
    "lapsvm_times.csv": """\
table,dataset,classifier,stopping,train_time_mean_s,train_time_std_s,pcg_iters_mean,\
pcg_iters_std,ls_iters_mean,ls_iters_std,newton_steps_mean,newton_steps_std
5,toy,LapSVM Primal (Newton),,,,,,,,2,0
6,toy,LapSVM Primal (Newton),,8,0,,,,,,
6,toy,LapSVM Dual (Original),,6,0,,,,,,
6,toy,LapSVM Primal (PCG),stability,2,0,20,0,1,0,,
""",
}


@pytest.fixture
def lapsvm(monkeypatch, tmp_path):
    path = PAPERS / "lapsvm.py"
    if not path.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    pytest.importorskip("tqdm")
    spec = importlib.util.spec_from_file_location("lapsvm_benchmark", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    # The script has made its parts importable.
    parts = {
        name: importlib.import_module(f"benchmarks.papers.lapsvm_{name}")
        for name in ("experiment", "tables", "figures", "claims")
    }
    for name, text in LAPSVM.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("FEWLABELS_PUBLISHED", str(tmp_path))

    def load(dataset):
        if dataset != "toy":
            raise FileNotFoundError(dataset)
        return *make_moons(200, noise=0.05, random_state=0), None

    monkeypatch.setattr(parts["experiment"], "load", load)
    return SimpleNamespace(main=script.main, **parts)


class TestLapSVM:
    def test_tables_run_and_resume(self, lapsvm, tmp_path, capsys):
        out = tmp_path / "results"
        lapsvm.main(["tables", "--repetitions", "2", "--out", str(out)])
        assert "data not found: elsewhere" in capsys.readouterr().out
        raw = lines_of(out / "lapsvm_repetitions.csv")
        assert len(raw) == 2 * 11  # five classifiers, three checks of PCG, two weights
        by_name = {}
        for row in raw:
            by_name.setdefault(row["classifier"], []).append(float(row["error_T"]))
        assert np.mean(by_name[lapsvm.experiment.NEWTON]) < 2 < np.mean(by_name["SVM"])
        errors = lines_of(out / "lapsvm_errors.csv")
        assert [(row["table"], row["classifier"]) for row in errors] == [
            ("4", "SVM"),
            ("4", lapsvm.experiment.NEWTON),
            ("7", lapsvm.experiment.PCG),
            ("12", lapsvm.experiment.PCG_NEWTON),
        ]
        assert all(row["T published"] and row["T ours"] for row in errors)
        times = lines_of(out / "lapsvm_times.csv")
        (pcg,) = [
            row
            for row in times
            if row["stopping"] == "stability"
            and row["classifier"] == lapsvm.experiment.PCG
        ]
        assert pcg["Newton time / this, published"] == "4.0"
        assert pcg["Newton time / this"]
        assert pcg["iterations, published"] == "20"
        # A second call finds everything done and changes nothing.
        lapsvm.main(["tables", "--repetitions", "2", "--out", str(out)])
        assert lines_of(out / "lapsvm_repetitions.csv") == raw

    def test_doubtful_weights_are_selected_by_validation(self, lapsvm, tmp_path):
        lapsvm.main(["select", "--repetitions", "1", "--out", str(tmp_path)])
        (line,) = lines_of(tmp_path / "lapsvm_selection.csv")
        assert (line["dataset"], line["classifier"]) == ("toy", lapsvm.experiment.DUAL)
        chosen = float(line["gamma_A"]), float(line["gamma_I"])
        weights = lapsvm.experiment.parameters_of(
            "toy", lapsvm.tables.selection(tmp_path)
        )[1]
        assert weights[lapsvm.experiment.DUAL, ""] == chosen
        # No other pair of the grid has a smaller error on V.
        shared, _ = lapsvm.experiment.parameters_of("toy")
        split = lapsvm.experiment.Split("toy", (4, 20), shared, 0)
        errors = [
            lapsvm.experiment.solve(split, lapsvm.experiment.DUAL, "", (a, b))[
                "error_V"
            ]
            for a in lapsvm.tables.GRID
            for b in lapsvm.tables.GRID
        ]
        assert lapsvm.experiment.solve(split, lapsvm.experiment.DUAL, "", chosen)[
            "error_V"
        ] == min(errors)

    def test_blank_parameters_are_filled(self, lapsvm):
        shared, weights = lapsvm.experiment.parameters_of("toy")
        assert shared == {"sigma": 0.2, "nn": 6, "p": 1}
        assert weights["RLSC", ""] == (1e-3, 0.0)
        assert weights[lapsvm.experiment.DUAL, ""] == (1e-4, 1.0)

    def test_splits(self, lapsvm):
        shared, _ = lapsvm.experiment.parameters_of("toy")
        tests = []
        for repetition in range(4):
            split = lapsvm.experiment.Split("toy", (4, 20), shared, repetition)
            tests.append(split.test)
            parts = np.concatenate([split.rows, split.validation, split.test])
            np.testing.assert_array_equal(np.sort(parts), np.arange(200))
            for rows in (split.rows[split.labeled], split.validation):
                assert set(split.y[rows]) == {0, 1}
        # The four folds of one draw are a partition, with equal classes.
        np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(200))
        assert all(np.mean(split.y[test]) == 0.5 for test in tests)

    def test_agreement(self, lapsvm):
        lines = list(lapsvm.claims.agreement(seeds=1))
        assert float(lines[0][2]) < 1e-8
        assert all(float(value) < 1e-5 for _, _, value in lines[1:])

    def test_the_stand_in_solves_the_same_problem(self, lapsvm):
        X, y, truth = lapsvm.claims.moons(300, 0)
        assert np.mean(lapsvm.claims.fit_plain(X, y) != truth) < 0.02
        assert np.mean(lapsvm.claims.fit_svc(X, y) != truth) < 0.02

    @pytest.mark.slow
    def test_figures_of_the_moons(self, lapsvm):
        pytest.importorskip("matplotlib").use("Agg")
        figures = lapsvm.figures
        assert len(figures.moons_by_iteration().axes) == 6
        assert len(figures.moons_norms().axes) == 1
        assert len(figures.details({"toy": 10}).axes) == 1
        ring, hands = (ax.get_title() for ax in figures.clock().axes[1:])
        assert hands == "Laplacian SVM: error 0.0 %" != ring
        (ax,) = figures.step_length().axes
        (root,) = [line for line in ax.lines if "root" in line.get_label()]
        assert abs(root.get_ydata()[0]) < 1e-9


@pytest.mark.slow
def test_spectral_benchmark_runs():
    script = SCRIPT.parents[1] / "spectral.py"
    if not script.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    spec = importlib.util.spec_from_file_location("spectral_benchmark", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = module.main(1000)
    assert len(rows) == 4 * len(module.SETS)
    found = {(r["data"], r["estimator"][:7]): float(r["accuracy"][:-2]) for r in rows}
    assert found["blobs", "Nystrom"] > found["blobs", "scikit-"] - 1
    assert found["moons, noise 0.05", "Nystrom"] > 99


def test_decomposition_benchmark_runs(monkeypatch):
    path = SCRIPT.parents[1] / "decomposition.py"
    if not path.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    spec = importlib.util.spec_from_file_location("decomposition_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "CASES", [(0.05, 0.05)])
    (row,), loops = module.main(100, 60)
    assert row["converged"]
    assert row["full SVDs"] < 10
    assert row["rank found"] == row["rank"] == 3
    assert float(row["error of A"]) < 1e-6
    for row in loops:
        assert float(row["largest difference"]) < 1e-9


def test_optimizers_benchmark_runs():
    script = SCRIPT.parents[1] / "optimize.py"
    if not script.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    spec = importlib.util.spec_from_file_location("optimize_benchmark", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    X, z = module.dense(80, 5, 3.0)
    for case in (module.logistic((X, z), 0.1, 0.0), module.lasso((X, z), 0.1)):
        problem, solvers = case
        solutions = [module.solve(problem, function) for function in solvers.values()]
        for x, _, violation, _ in solutions:
            assert violation <= module.TARGET
            np.testing.assert_allclose(x, solutions[0][0], atol=1e-7)


def test_ensemble_benchmark_runs(monkeypatch):
    script = SCRIPT.parents[1] / "ensemble.py"
    if not script.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    spec = importlib.util.spec_from_file_location("ensemble_benchmark", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROUNDS", 10)
    monkeypatch.setattr(module, "SETTINGS", module.SETTINGS[:1])
    rows = module.main(1)
    assert [row["method"] for row in rows] == list(module.models(0))
    assert rows[0]["time / AdaBoost"] == "1.00"
    assert all(float(row["error"].split()[0]) < 20 for row in rows)


def test_harmonic_functions_beside_label_spreading():
    path = SCRIPT.parents[1] / "graph_labels.py"
    if not path.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    spec = importlib.util.spec_from_file_location("graph_labels_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    theirs, ours = module.compare(2000, 2, 1.0, 1)
    assert (theirs["method"], theirs["time ratio"]) == ("LabelSpreading", 1)
    assert ours["accuracy"] > theirs["accuracy"]
    for row in module.deviations(200):
        assert float(row["largest difference"]) < 1e-4
        assert row["different labels"] == 0


def test_weights_of_graphs_run_and_resume(monkeypatch, tmp_path):
    if not SCRIPT.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    pytest.importorskip("tqdm")
    from benchmarks import graph_weights

    chosen = {n: graph_weights.GRAPHS[n] for n in ("binary, union", "local, 4")}
    monkeypatch.setattr(graph_weights, "GRAPHS", chosen)
    call = ["--sets", "moons", "--splits", "2", "--out", str(tmp_path)]
    graph_weights.main(call)
    runs = lines_of(tmp_path / "graph_weights_runs.csv")
    assert len(runs) == 2 * len(graph_weights.METHODS)
    assert all(float(row["error"]) < 20 for row in runs)
    graph_weights.main(call)
    assert lines_of(tmp_path / "graph_weights_runs.csv") == runs
    table = lines_of(tmp_path / "graph_weights.csv")
    assert [row["ten neighbours"] for row in table] == list(chosen)


def test_sparse_recovery_beside_coordinate_descent():
    path = SCRIPT.parents[1] / "regression.py"
    if not path.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    spec = importlib.util.spec_from_file_location("regression_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.RUNS = 1
    rows = module.main(100, 400)
    assert len(rows) == len(module.SHARES) * len(module.solvers())
    assert all(float(row["above the least"]) < 1e-6 for row in rows)
    assert {row["times faster"] for row in rows if "Lasso" in row["solver"]} >= {"1.00"}


def test_intervals_of_regressions(monkeypatch, tmp_path, capsys):
    if not SCRIPT.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    from benchmarks import regression_intervals as module

    monkeypatch.setattr(module, "DESIGNS", [("noise", 8)])
    out = tmp_path / "table.csv"
    module.main(["--draws", "2", "--jobs", "1", "--out", str(out)])
    (line,) = lines_of(out)
    assert (line["function"], line["labels"], line["draws"]) == ("noise", "8", "2")
    assert "expected / true" in capsys.readouterr().out
    draw = {"function": "noise", "labels": "8", "expected": 2, "low": 1, "high": 3}
    truths = ({"true": true} for true in (0.5, 1.0, 2.0, 4.0))
    (line,) = module.summary([draw | truth for truth in truths])
    assert (line["inside"], line["above"]) == ("0.50", "0.25")


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

    @pytest.mark.slow
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

    @pytest.mark.slow
    def test_families_are_dropped_one_by_one(self, chooser, tmp_path, capsys):
        call = ["drop", "--sets", "toy", "--splits", "1", "--out", str(tmp_path)]
        chooser.main(call)
        header, line = capsys.readouterr().out.strip().split("\n")
        assert len(header.split(" | ")) == len(line.split(" | "))
        lines = lines_of(tmp_path / "chooser_drop.csv")
        assert list(lines[0].values()) == line.split(" | ")
        chooser.main(call)
        assert lines_of(tmp_path / "chooser_drop.csv") == lines

    @pytest.mark.slow
    def test_one_label_of_each_class(self, chooser, tmp_path, capsys):
        call = ["single", "--sets", "toy", "--out", str(tmp_path)]
        chooser.main(call)
        (line,) = lines_of(tmp_path / "chooser_single.csv")
        assert capsys.readouterr().out.strip() == " | ".join(line.values())
        assert (line["classes"], line["draws"]) == ("2", "20")
        assert float(line["automatic"]) < 5
        chooser.main(call)
        assert lines_of(tmp_path / "chooser_single.csv") == [line]

    @pytest.mark.slow
    def test_many_rows(self, chooser, capsys):
        chooser.million(2000, 500)
        *_, own, new = capsys.readouterr().out.strip().split("\n")
        for line in (own, new):
            assert float(line.split(": ")[1].split()[0]) < 3

    @pytest.mark.slow
    def test_a_bank_without_landmarks(self, chooser, tmp_path, capsys):
        call = ["dense", "--sets", "toy", "--splits", "1", "--out", str(tmp_path)]
        chooser.main(call)
        (line,) = lines_of(tmp_path / "chooser_dense.csv")
        assert capsys.readouterr().out.strip() == " | ".join(line.values())
        assert max(float(line["bank"]), float(line["dense"])) < 5
        chooser.main(call)
        assert lines_of(tmp_path / "chooser_dense.csv") == [line]


@pytest.mark.slow
def test_transfer_benchmark_runs(tmp_path):
    script = SCRIPT.parents[1] / "transfer.py"
    if not script.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location("transfer_benchmark", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    table = module.main(1, 60)
    assert len(table) == len(module.NO_LABELS) + len(module.FEW_LABELS)
    assert all(0 <= float(row["error %"]) <= 100 for row in table)
    module.picture(
        [{**row, "data": name} for name in ("a", "b") for row in table],
        tmp_path / "transfer.png",
    )
    assert (tmp_path / "transfer.png").stat().st_size > 1000


class TestReinforcement:
    """A few runs of what the guide reports."""

    @pytest.fixture
    def module(self):
        script = SCRIPT.parents[1] / "reinforcement.py"
        if not script.exists():
            pytest.skip("the benchmarks are not part of this distribution")
        spec = importlib.util.spec_from_file_location("reinforcement_benchmark", script)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    @pytest.mark.slow
    def test_the_bias_and_the_speed(self, module):
        rows = {row["agent"]: list(row.values()) for row in module.bias(20)}
        mean = {name: float(row[2].split()[0]) for name, row in rows.items()}
        assert mean["double Q-learning"] < mean["Q-learning"]
        assert len(module.speed(20_000)) == 4

    @pytest.mark.slow
    def test_cartpole_gets_better(self, module):
        """Not solved in so few episodes, but far from the 20 of random behaviour."""
        pytest.importorskip("gymnasium")
        row = module.cartpole(
            [0],
            n_episodes=80,
            hidden=(32,),
            learning_rate=2e-3,
            epsilon=module.Schedule("linear", 1.0, end=0.01, rate=1000),
            learning_starts=200,
        )[0]
        assert float(row["20 episodes without exploration"].split()[0]) > 100


@pytest.mark.slow
def test_active_benchmark_runs_and_resumes(monkeypatch, tmp_path, capsys):
    path = SCRIPT.parents[1] / "active.py"
    if not path.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    spec = importlib.util.spec_from_file_location("active_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pytest.importorskip("matplotlib").use("Agg")
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + 2 * y[:, None]
    monkeypatch.setattr(module, "data_of", lambda name: (X, y))
    monkeypatch.setattr(module, "COUNTS", np.array([4, 8, 20]))
    call = ["run", "--sets", "toy", "--repetitions", "1", "--out", str(tmp_path)]
    call += ["--strategies", "random;FewLabelsSampling;committee, votes"]
    module.main(call)
    lines = lines_of(tmp_path / "active_curves.csv")
    assert len(lines) == 4 * 3  # two strategies for each model
    needed = lines_of(tmp_path / "active_labels.csv")
    assert [line["strategy"] for line in needed] == [
        *("random", "FewLabelsSampling"),
        *("random", "committee, votes"),
    ]
    assert 4 <= float(needed[0]["labels needed"]) <= 20
    assert "FewLabelsClassifier | FewLabelsSampling | 1" in capsys.readouterr().out
    module.main(call)  # finds everything done
    assert lines_of(tmp_path / "active_curves.csv") == lines
    module.main(["figure", "--out", str(tmp_path)])
    assert (tmp_path / "active.png").exists()


@pytest.mark.slow
def test_tables_beside_what_is_done_by_hand():
    path = SCRIPT.parents[1] / "command_line.py"
    if not path.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    spec = importlib.util.spec_from_file_location("command_line_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    row = module.compare("wine", False, 1, bank="fast")
    assert float(row["table"]) < 20
    row = module.compare("wine", True, 1, bank="fast")
    assert (row["set"], row["array"]) == ("wine, mixed", "")
    assert float(row["table"]) < 30
    assert float(row["by hand"]) < 30


@pytest.mark.slow
def test_real_tables_beside_simple_methods(monkeypatch, tmp_path):
    """Two small tables, resumed after the first, and the tables of the report."""
    path = SCRIPT.parents[1] / "tables.py"
    if not path.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    spec = importlib.util.spec_from_file_location("tables_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        lines = ["size,colour,target"]
        for _ in range(80):
            kind = int(rng.integers(2))
            colour = "red" if rng.random() < 0.2 + 0.6 * kind else "blue"
            answer = "yes" if kind else "no"
            lines.append(f"{rng.normal() + 3 * kind:.3f},{colour},{answer}")
        text = "\n".join(lines).encode()
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "index.csv").write_text("name\na\nb\n")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    monkeypatch.setattr(module, "DRAWS", 1)
    monkeypatch.setattr(module, "SETTINGS", {"3 per class": (3, True)})
    monkeypatch.setattr(module, "Parallel", lambda **_: list)
    monkeypatch.setattr(module, "delayed", lambda function: function)
    module.main(["run", "a"])
    module.main(["run"])
    runs = module.read_runs()
    assert [line["table"] for line in runs] == ["a", "b"]
    assert all(float(line[module.OURS]) < 40 for line in runs)
    monkeypatch.setattr(module, "DRAWS", 2)
    module.main(["run", "b"])
    runs = module.read_runs()
    assert [(v["table"], v["draw"]) for v in runs] == [
        ("a", "0"),
        ("b", "0"),
        ("b", "1"),
    ]
    module.main(["report"])
    for name in ("means", "intervals", "errors"):
        assert (tmp_path / f"{tmp_path.name}_{name}.csv").exists()


def drawn_rows(y, per_class, rng):
    """Draw rows of every class."""
    members = [rng.permutation(np.flatnonzero(y == c)) for c in np.unique(y)]
    return np.concatenate([rows[:per_class] for rows in members])


class TestPeers:
    """A tiny run of the comparison with other libraries, scikit-learn only."""

    @pytest.fixture
    def peers(self, monkeypatch):
        script = SCRIPT.parents[1] / "peers" / "run.py"
        if not script.exists():
            pytest.skip("the benchmarks are not part of this distribution")
        pytest.importorskip("tqdm")
        pytest.importorskip("matplotlib")
        spec = importlib.util.spec_from_file_location("peers_benchmark", script)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    @pytest.mark.slow
    def test_run_resumes_and_writes_a_page(self, peers, tmp_path):
        page = tmp_path / "peers.md"
        call = ["labels", "page", "--sets", "moons", "--splits", "1"]
        call += ["--methods", "HarmonicFunctionClassifier,SVC"]
        call += ["--settings", "defaults", "--out", str(tmp_path), "--page", str(page)]
        peers.main(call)
        path = tmp_path / "peers_labels.csv"
        lines = {line["method"]: line for line in lines_of(path)}
        assert {line["status"] for line in lines.values()} == {"ok"}
        for line in lines.values():
            assert float(line["seconds"]) > 0
            assert 20 < float(line["peak_mib"]) < 2000
        ours, svc = lines["HarmonicFunctionClassifier"], lines["SVC"]
        for column in ("error_unlabeled", "error_test"):
            assert float(ours[column]) < 2 < float(svc[column])
        assert "Where to use something else" in page.read_text()
        assert (tmp_path / "peers_growth.png").exists()
        text = path.read_text()
        peers.main(call)
        assert path.read_text() == text

    @pytest.mark.slow
    def test_what_is_missing_says_so_and_is_run_again(self, peers, tmp_path):
        line = {"status": "not installed: graphlearning"}
        assert not peers.is_final(line)
        job = {"task": "labels", "set": "no such set", "n_labels": 10, "split": 0}
        cases = peers.Cases(tmp_path)
        (found,) = peers.measure([{**job, "method": "SVC"}], cases, 8, 10, 10)
        assert found["status"].startswith("no data: ValueError: there is no set")
        assert not peers.is_final(found)

    @pytest.mark.slow
    def test_mnist_on_published_draws(self, peers, monkeypatch, tmp_path):
        """Runs on other digits, resumes, and compares means with published ones."""
        from benchmarks.peers import mnist

        X, y = load_digits(return_X_y=True)
        X, y = X[:300], y[:300]
        rng = np.random.default_rng(0)
        draws = {
            f"labels_{size}": np.stack(
                [drawn_rows(y, size // 10, rng) for _ in range(2)]
            )
            for size in mnist.SIZES
        }
        np.savez(tmp_path / "poisson_mnist_draws.npz", **draws)
        (tmp_path / "poisson.csv").write_text(
            "# means\ndataset,method,10,20,30,50\nMNIST,Poisson,90,91,92,93\n"
            "MNIST,PoissonMBO,94,95,96,97\nFashionMNIST,Poisson,1,1,1,1\n"
        )
        monkeypatch.setenv("FEWLABELS_PUBLISHED", str(tmp_path))
        monkeypatch.setattr(mnist, "load_mnist", lambda return_X_y: (X, y))
        mnist.main(["run", "--draws", "1", "--out", str(tmp_path)])
        first = lines_of(tmp_path / "peers_mnist.csv")
        two = ["--draws", "2"]
        mnist.main(["run", "--out", str(tmp_path), *two])
        lines = lines_of(tmp_path / "peers_mnist.csv")
        assert lines[: len(first)] == first
        assert len(lines) == 2 * len(first) == 2 * 4 * 2
        with_five = [float(r["accuracy"]) for r in lines if r["labels"] == "50"]
        assert min(with_five) > 80
        mnist.main(["run", "--methods", "unscaled", "--out", str(tmp_path), *two])
        mnist.main(["report", "--out", str(tmp_path)])
        table = {r["method"]: r for r in lines_of(tmp_path / "peers_mnist_means.csv")}
        assert list(table) == [
            mnist.OURS,
            mnist.TOLD,
            mnist.UNSCALED,
            "Poisson, published",
            "PoissonMBO (true sizes), published",
        ]
        assert table["Poisson, published"]["30 labels"] == "92"
        assert table[mnist.OURS]["draws"] == "2"

    def test_the_ising_model_is_the_partition_problem(self, peers):
        from benchmarks.peers.methods import quadratic_form

        from fewlabels.partition import PartitionProblem

        rng = np.random.default_rng(0)
        Z = rng.normal(size=(30, 3))
        signs = np.where(np.arange(30) < 6, rng.choice([-1.0, 1.0], 30), 0.0)
        problem = PartitionProblem.from_kernel(Z @ Z.T, signs, alpha=0.3)
        Q, d = quadratic_form(Z @ Z.T, signs, 0.3)
        for _ in range(5):
            y = np.where(signs == 0, rng.choice([-1.0, 1.0], 30), signs)
            F = np.sum(d**2) - y @ Q @ y
            assert F == pytest.approx(problem.objective(y), rel=1e-10)

    def test_rows_in_which_a_peer_wins_are_listed(self, peers):
        def line(library, method, error, seconds):
            return {
                "set": "toy",
                "n_labels": "10",
                "library": library,
                "method": method,
                "status": "ok",
                "error_unlabeled": str(error),
                "seconds": str(seconds),
            }

        lines = [
            line("fewlabels", "FewLabelsClassifier", 5.0, 1.0),
            line("fewlabels", "LaplacianSVC", 4.0, 0.5),
            line("scikit-learn", "SVC", 4.2, 0.01),
            line("scikit-learn", "LabelSpreading", 9.0, 0.01),
        ]
        page, case = peers.page, peers.page.label_of
        (row,) = page.peer_wins(lines, case, "FewLabelsClassifier")
        assert row == ["toy, 10", "SVC (scikit-learn) 4.2", "5.0", "LaplacianSVC 4.0"]
        assert list(page.peer_wins(lines, case)) == []
        ((name, peer, *_, ours, _, _),) = page.faster_peers(lines, case)
        assert (name, peer, ours) == ("toy, 10", "SVC (scikit-learn)", "LaplacianSVC")

    def test_every_method_has_a_grid_and_a_library(self, peers):
        for task, methods in peers.TASKS.items():
            for method in methods.values():
                assert method.grid, task
                assert len(method.grid) <= 16
                keys = {peers.key_of(task, job) for job in peers.plan(task, 2)}
                assert len(keys) == len(peers.plan(task, 2))


def test_every_phase_of_the_benchmark_of_cores_exists():
    script = PAPERS.parent / "cores.py"
    if not script.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    spec = importlib.util.spec_from_file_location("cores_benchmark", script)
    cores = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cores)
    for module, path in cores.PHASES.values():
        found = importlib.import_module(f"fewlabels.{module}")
        for name in path.split("."):
            found = getattr(found, name)
        assert callable(found)


def test_the_tables_of_reports_are_those_of_the_results():
    reports = Path(__file__).parents[1] / "benchmarks" / "reports"
    if not reports.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    from benchmarks.reports.fill import TABLE, filled

    texts = [path.read_text(encoding="utf-8") for path in reports.glob("*.md")]
    assert sum(len(TABLE.findall(text)) for text in texts) > 10
    for text in texts:
        assert filled(text) == text, "run: python benchmarks/reports/fill.py"
