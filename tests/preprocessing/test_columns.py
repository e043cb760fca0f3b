"""What a column holds is found out as a person would."""

# SPDX-License-Identifier: BSD-3-Clause

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fewlabels.preprocessing.cells import to_numbers, to_seconds
from fewlabels.tabular import TableError, describe_columns

WORDS = [
    f"the parcel number {k} came late and was {k % 7} days broken" for k in range(40)
]


def kind_of(values, name="column", **given):
    (column,) = describe_columns({name: values}, **given)
    return column.kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2.5", "", "-3e5"], "number"),
        (["1,5", "2,25", "3"], "number"),
        (["1,000", "12,500.5", "999"], "number"),
        (["$1.50", "$2", "$ 3"], "number"),
        (["7 %", "9%", "8 %"], "number"),
        ([3.5, np.nan, 1.0], "number"),
        (["1_000", "2_000", "3_000"], "category"),
        (["red", "green", "red", "NA"], "category"),
        ([True, False, None], "category"),
        (["x", "", "x", ""], "category"),
        (["2024-01-05", "2023-12-31T10:00", ""], "date"),
        (["31.12.2023", "01.02.2024"], "date"),
        (["12/31/2023", "01/02/2024"], "date"),
        ([datetime.date(2024, 1, 2), datetime.date(2024, 1, 3)], "date"),
        (np.array(["2024-01-01", "NaT", "2024-01-03"], dtype="datetime64[D]"), "date"),
        (WORDS, "text"),
        ([f"user{k}@example.org" for k in range(30)], "identifier"),
        (list(range(10, 40)), "identifier"),
        (["5", "5", "5"], "constant"),
        ([None, "", "n/a"], "empty"),
        ([2020, 2021, 2020, 2021], "number"),
        ([1.0, 2.0, 2.5, 3.0], "number"),
        ([[1], [2], [1]], "number"),
        ([["a"], ["b", "c"], ["a"]], "category"),
        ([[0.5, 1.0], [1.5, 2.0], None], "vector"),
    ],
)
def test_kinds(values, kind):
    assert kind_of(values) == kind


def test_an_identifier_by_its_name():
    rng = np.random.default_rng(0)
    values = rng.choice(10**6, 30, replace=False)
    assert kind_of(values, "population") == "number"
    for name in ("id", "customer_id", "CustomerID", "order key", "UUID"):
        assert kind_of(values, name) == "identifier", name
    assert kind_of(values, "paid") == "number"
    assert kind_of(values / 7, "id") == "number"


def test_kinds_can_be_given():
    codes = ["10", "20", "10", "30"]
    assert kind_of(codes) == "number"
    assert kind_of(codes, categorical=["column"]) == "category"
    assert kind_of(codes, text=["column"]) == "text"
    assert kind_of(codes, ignore=["column"]) == "ignored"
    assert kind_of(range(20), numeric=["column"]) == "number"
    with pytest.raises(TableError, match=r"no column 'columns' .* mean 'column'"):
        kind_of(codes, ignore=["columns"])


def test_frames_agree():
    data = {
        "n": [1.5, 2.5, None],
        "c": ["a", "b", None],
        "b": [True, False, True],
        "i": [4, 4, 5],
    }
    frame = pd.DataFrame(data)
    expected = ["number", "category", "category", "number"]
    for table in (
        data,
        frame,
        frame.convert_dtypes(),
        frame.convert_dtypes(dtype_backend="pyarrow"),
        pl.DataFrame(data),
        pl.DataFrame(data).to_arrow(),
    ):
        columns = describe_columns(table)
        assert [column.kind for column in columns] == expected
        assert [column.n_missing for column in columns] == [1, 1, 0, 0]


def test_the_type_of_a_column_counts():
    codes = pd.DataFrame({"i": pd.Categorical([10, 20, 10]), "n": [1.5, 2.5, 1.0]})
    words = pl.Series(["a", "b", "a"], dtype=pl.Enum(["a", "b"]))
    other = pl.DataFrame({"i": words, "n": [1.5, 2.5, 1.0]})
    for frame in (codes, other):
        assert [c.kind for c in describe_columns(frame)] == ["category", "number"]
    assert kind_of([10, 20, 10]) == "number"


def test_numbers_are_read():
    values = np.array(["1,5", "", "x", "2"], dtype=object)
    np.testing.assert_array_equal(to_numbers(values, "comma"), [1.5, np.nan, np.nan, 2])
    values = np.array(["1,000", "2"], dtype=object)
    np.testing.assert_array_equal(to_numbers(values, "thousands"), [1000, 2])
    values = np.array(["inf", "2"], dtype=object)
    np.testing.assert_array_equal(to_numbers(values, "plain"), [np.nan, 2])


def test_dates_are_read():
    values = np.array(["1970-01-02", None, "1970-01-01T01:00:00+01:00"], dtype=object)
    np.testing.assert_array_equal(to_seconds(values, "iso"), [86400, np.nan, 0])
    values = np.array(["1970-01-02", "NaT"], dtype="datetime64[s]")
    np.testing.assert_array_equal(to_seconds(values, ""), [86400, np.nan])
