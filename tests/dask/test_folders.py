"""Folders of Parquet parts, whole or not there."""

# SPDX-License-Identifier: BSD-3-Clause

from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from fewlabels.dask import lazy_table, sample_frame, write_parts
from fewlabels.preprocessing import FileError


def frame(n=40):
    return pd.DataFrame({"a": np.arange(n), "kind": ["x", "y"] + [None] * (n - 2)})


class CountParts:
    """Double a column, and leave a trace of every call."""

    def __init__(self, folder, break_at=None):
        self.trace, self.break_at = Path(folder) / "trace", break_at

    def __call__(self, part, factor=2):
        with self.trace.open("a") as file:
            file.write(".")
        if self.break_at is not None and self.break_at in set(part["a"]):
            raise KeyboardInterrupt
        return part.assign(a=factor * part["a"])

    @property
    def n_calls(self):
        return self.trace.stat().st_size if self.trace.exists() else 0


def test_an_interrupted_job_goes_on_with_missing_parts(tmp_path):
    lazy = dd.from_pandas(frame(), npartitions=4)
    folder = tmp_path / "parts"
    broken = CountParts(tmp_path, break_at=25)
    with pytest.raises(KeyboardInterrupt):
        write_parts(lazy, folder, broken, 3, job={"what": "tripled"})
    assert sorted(p.name for p in folder.glob("part*")) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    shares = []
    whole = CountParts(tmp_path)
    before = whole.n_calls
    written = write_parts(
        lazy, folder, whole, 3, job={"what": "tripled"}, progress=shares.append
    )
    assert (written.n_parts, written.n_kept) == (4, 2)
    assert whole.n_calls == before + 2
    assert shares == [0.75, 1.0]
    assert_array_equal(pd.read_parquet(folder)["a"], 3 * np.arange(40))
    assert write_parts(lazy, folder, whole, 3, job={"what": "tripled"}).n_kept == 4


def test_jobs_do_not_mix(tmp_path):
    lazy = dd.from_pandas(frame(), npartitions=2)
    double = CountParts(tmp_path)
    folder = tmp_path / "parts"
    write_parts(lazy, folder, double, job={"factor": 2})
    with pytest.raises(FileError, match="parts of another job"):
        write_parts(lazy, folder, double, 5, job={"factor": 5})
    write_parts(lazy, folder, double, 5, job={"factor": 5}, force=True)
    assert pd.read_parquet(folder)["a"].max() == 5 * 39
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("do not lose me")
    with pytest.raises(FileError, match="is not empty"):
        write_parts(lazy, other, double)
    assert (other / "mine.txt").read_text() == "do not lose me"
    with pytest.raises(TypeError, match="must be a Dask DataFrame"):
        write_parts(frame(), folder, double)


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "jsonl", "folder"])
def test_tables_are_opened_by_their_suffix(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    rows = frame()
    match ending:
        case "parquet":
            rows.to_parquet(path)
        case "jsonl":
            rows.to_json(path, orient="records", lines=True)
        case "folder":
            path = tmp_path / "many"
            path.mkdir()
            for k in range(3):
                rows.iloc[k::3].to_parquet(path / f"{k}.parquet")
        case _:
            rows.to_csv(path, index=False, sep="," if ending == "csv" else "\t")
    read = lazy_table(str(path)).compute()
    assert list(read.columns) == ["a", "kind"]
    assert_array_equal(np.sort(read["a"].astype(int)), np.arange(40))
    with pytest.raises(ValueError, match="is not Parquet"):
        lazy_table("t.xlsx")


def test_a_sample_holds_all_labels_whatever_the_parts():
    samples = [
        sample_frame(
            dd.from_pandas(frame(), npartitions=n),
            lambda cells: cells.notna().to_numpy(),
            "kind",
            sample_size=10,
            random_state=1,
        )
        for n in (1, 5)
    ]
    assert samples[0][1] == samples[1][1] == 40
    assert_array_equal(samples[0][0]["a"], samples[1][0]["a"])
    assert len(samples[0][0]) == 12
    assert_array_equal(samples[0][0]["a"][:2], [0, 1])
