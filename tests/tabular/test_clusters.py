"""Large tables on a cluster: part by part, and by the commands."""

# SPDX-License-Identifier: BSD-3-Clause

import json

import dask
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

from fewlabels.cli import commands
from fewlabels.tabular import Table, TableError, label_table
from fewlabels.tabular.clusters import (
    label_on_cluster,
    labeled_cells,
    predict_on_cluster,
)


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def plants(tmp_path):
    rng = np.random.RandomState(0)
    kind = rng.randint(2, size=300)
    rows = pd.DataFrame(
        {
            "height": 3 * kind + rng.normal(0, 0.4, 300),
            "colour": np.where(rng.rand(300) < 0.8, kind, 1 - kind),
            "kind": np.where(np.arange(300) < 20, kind, -1),
        }
    )
    rows["colour"] = rows["colour"].map({0: "red", 1: "blue"})
    rows["kind"] = rows["kind"].map({0: "moss", 1: "fern", -1: None})
    folder = tmp_path / "plants"
    folder.mkdir()
    for k in range(3):
        rows.iloc[100 * k : 100 * (k + 1)].to_parquet(folder / f"{k}.parquet")
    return folder, rows, np.array(["moss", "fern"])[kind]


def test_labelling_in_parts(plants, tmp_path):
    folder, rows, truth = plants
    labeled, written, n_rows = label_on_cluster(
        None, str(folder), str(tmp_path / "out"), "kind", sample_size=80, bank="fast"
    )
    assert (n_rows, written.n_parts, labeled.table.n_rows) == (300, 3, 100)
    made = pd.read_parquet(tmp_path / "out")
    assert list(made.columns) == [
        *rows.columns,
        "kind_predicted",
        "kind_confidence",
        "kind_source",
    ]
    assert_array_equal(made["height"], rows["height"])
    assert_array_equal(made["kind_source"] == "given", np.arange(300) < 20)
    assert_array_equal(made["kind_predicted"][:20], truth[:20])
    assert (made["kind_confidence"][:20] == 1).all()
    assert np.mean(made["kind_predicted"] == truth) > 0.95


def test_predicting_in_parts(plants, tmp_path):
    folder, rows, _ = plants
    model = label_table(
        Table.from_frame(rows), "kind", bank="fast", random_state=0
    ).model
    written = predict_on_cluster(
        model=model, client=None, path=str(folder), folder=str(tmp_path / "out")
    )
    assert written.n_parts == 3
    made = pd.read_parquet(tmp_path / "out")
    assert_array_equal(made["kind_predicted"], model.predict(rows)[0])
    assert (made["kind_source"] == "predicted").all()
    rows.drop(columns="height").to_parquet(tmp_path / "less.parquet")
    with pytest.raises(TableError, match="it has no 'height'"):
        predict_on_cluster(None, model, str(tmp_path / "less.parquet"), "nowhere")


def test_numbers_are_estimated_in_parts(tmp_path):
    rng = np.random.RandomState(0)
    rows = pd.DataFrame({"x": rng.uniform(size=200), "z": rng.uniform(size=200)})
    rows["price"] = np.where(np.arange(200) < 40, 10 + 5 * rows["x"], np.nan)
    rows.to_parquet(tmp_path / "t.parquet")
    out = str(tmp_path / "out")
    label_on_cluster(
        None, str(tmp_path / "t.parquet"), out, "price", sample_size=60, bank="fast"
    )
    made = pd.read_parquet(out)
    assert np.abs(made["price_predicted"] - 10 - 5 * rows["x"]).mean() < 0.5
    assert (made["price_low"] <= made["price_high"]).all()


def test_what_counts_as_a_label():
    assert_array_equal(labeled_cells(np.array([0, -1, 2])), [True, False, True])
    cells = pd.Series(["a", None, "?", "NA", "b "])
    assert_array_equal(labeled_cells(cells), [True, False, False, False, True])
    given = labeled_cells(cells, ["b"])
    assert_array_equal(given, [True, False, True, False, False])


def test_a_missing_target_is_told(plants, tmp_path):
    with pytest.raises(TableError, match=r"no column 'sort'.*height, colour, kind"):
        label_on_cluster(None, str(plants[0]), str(tmp_path / "out"), "sort")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_commands_on_a_cluster(plants, tmp_path):
    from distributed import LocalCluster

    folder, rows, truth = plants
    call = CliRunner().invoke
    with (
        dask.config.set(scheduler=None),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            protocol="tcp://",
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
    ):
        there = ["--scheduler", cluster.scheduler_address, "-q"]
        out = str(tmp_path / "out")
        label = ["label", str(folder), "-t", "kind", "--bank", "fast", *there]
        run = call(commands, [*label, "-o", out, "--json"])
        assert run.exit_code == 0, run.output
        summary = json.loads(run.stdout)
        assert (summary["rows"], summary["parts"], summary["parts_kept"]) == (300, 3, 0)
        made = pd.read_parquet(out)
        assert np.mean(made["kind_predicted"] == truth) > 0.95
        again = call(commands, [*label, "-o", out, "--json"])
        assert json.loads(again.stdout)["parts_kept"] == 3
        other = call(commands, [*label, "-o", out, "--seed", "5"])
        assert other.exit_code == 2
        assert "another job" in other.stderr
        run = call(commands, [*label, "-o", out, "--report", "r.html"])
        assert "--report cannot be used with --scheduler" in run.stderr
        assert "name it with -o" in call(commands, label).stderr
        rows.to_csv(tmp_path / "t.csv", index=False)
        model = str(tmp_path / "m.fewlabels")
        fit = ["fit", str(tmp_path / "t.csv"), "-t", "kind", "--bank", "fast", "-q"]
        assert call(commands, [*fit, "-o", model]).exit_code == 0
        second = str(tmp_path / "second")
        run = call(commands, ["predict", model, str(folder), "-o", second, *there])
        assert run.exit_code == 0, run.output
        assert len(pd.read_parquet(second)) == 300
    run = call(commands, [*label, "-o", str(tmp_path / "third")])
    assert run.exit_code == 2
    assert "There is no Dask scheduler at" in run.stderr
