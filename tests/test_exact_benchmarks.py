"""Small versions of the benchmarks of the exact solvers run from start to end."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def load(path, name):
    if not path.exists():
        pytest.skip("the benchmarks are not part of this distribution")
    pytest.importorskip("tqdm")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def exact():
    return load(BENCHMARKS / "exact.py", "exact_benchmark")


@pytest.fixture
def peers():
    return load(BENCHMARKS / "peers" / "exact.py", "exact_peers_benchmark")


def lines_of(path):
    with path.open() as handle:
        return list(csv.DictReader(handle))


@pytest.mark.slow
def test_instances_are_of_all_kinds(exact):
    problems = [exact.instance(number)[2] for number in range(200)]
    assert {p.system.B.shape[1] for p in problems} == {1, 2, 3, 4, 5}
    assert {p.labeled.size for p in problems} == {0, 3}
    assert any(p.lower[1] > 0 for p in problems)
    assert max(p.codes.size for p in problems) == 14


@pytest.mark.slow
def test_solvers_agree_with_exhaustive_search(exact):
    lines = exact.agreement(10)
    assert [line[2] for line in lines[:3]] == ["10 of 10"] * 3
    assert exact.vertex_counts(6)[2] == "30 of 30"


def test_exhaustive_search_knows_the_objective(exact):
    Z, y, problem = exact.instance(28)  # with labels
    best = exact.exhaustive_optimum(Z, y, problem)
    assert_allclose(best, exact.solve_exact(problem).objective)


def test_wrong_results_are_noticed(exact):
    _, y, problem = exact.instance(7)
    result = exact.solve_exact(problem)
    optimum = result.objective
    assert exact.is_optimal(problem, y, result, optimum)
    assert not exact.is_optimal(problem, y, result, optimum - 1e-6)


def test_accuracy_matches_clusters_and_classes(exact):
    y = np.array([0, 0, 1, 1, 1])
    assert exact.accuracy(y, np.array([1, 1, 0, 0, 1])) == pytest.approx(0.8)
    assert exact.accuracy(y, np.zeros(5, int)) == pytest.approx(0.6)


@pytest.mark.slow
def test_clustering_tables(exact, monkeypatch, tmp_path):
    monkeypatch.setattr(exact, "DRAWS", 1)
    exact.main(["clustering", "--only", "Gaussian2C, 2", "--out", str(tmp_path)])
    rows = lines_of(tmp_path / "exact_clustering.csv")
    assert len(rows) == len(exact.METHODS)
    assert all(float(row["accuracy, %"]) > 95 for row in rows)
    (line,) = lines_of(tmp_path / "exact_clustering_accuracy.csv")
    assert line["set"] == "Gaussian2C, 2 features"
    assert float(line["RLSClustering"].split(" ")[0]) > 95
    gaps = lines_of(tmp_path / "exact_certificates.csv")
    assert [row["setting"] for row in gaps] == list(exact.CERTIFIED)
    assert all(float(row["lower bound"]) <= float(row["F"]) for row in gaps)


def test_missing_sets_are_named(exact, monkeypatch, tmp_path, capsys):
    def missing():
        raise FileNotFoundError("no such set")

    sets = {"gone": missing, "here": exact.SETS["Gaussian2C, 2 features"]}
    monkeypatch.setattr(exact, "SETS", sets)
    monkeypatch.setattr(exact, "DRAWS", 1)
    exact.main(["clustering", "--out", str(tmp_path)])
    assert "gone is left out: no such set" in capsys.readouterr().out


def test_the_general_solver_is_an_extra(peers, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    with pytest.raises(SystemExit, match=r"fewlabels\[peers\]"):
        peers.main([])


def test_both_solvers_have_the_same_problem(peers):
    Z = peers.features(12, 3)
    y, upper, _, _ = peers.by_us(Z, "exact", 1.0, 1)
    assert peers.gap(peers.factor(Z), y, upper) < 1e-9


def test_the_general_solver_agrees(peers):
    pytest.importorskip("pyscipopt")
    line = peers.compare(12, 3, "exact", 10.0, 1)
    assert line["SCIP's status"] == "optimal"
    assert float(line["S of SCIP / S of fewlabels"]) == pytest.approx(1, abs=1e-6)
    assert float(line["SCIP's gap, %"]) < 0.01
