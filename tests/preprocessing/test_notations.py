"""Cells are read as their owner reads them, or a note says otherwise."""

# SPDX-License-Identifier: BSD-3-Clause

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import pytest

from fewlabels.preprocessing import (
    Table,
    TableError,
    TableSample,
    TableSummary,
    TableTransformer,
    describe_columns,
)
from fewlabels.preprocessing._dates import with_window
from fewlabels.preprocessing.cells import column_values, number_notation

HOUR, MINUTE = 3600.0, 60.0


def described(values, name="column", **options):
    (column,) = describe_columns({name: values}, **options)
    return column


def read(values, name="column", **options):
    """Kind of a column, and its values."""
    column = described(values, name, **options)
    return column.kind, column.read(column_values(values)).tolist()


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["702", "26.002", "1.018", "827"], [702, 26002, 1018, 827]),
        (["1,234", "999", "12,500"], [1234, 999, 12500]),
        (["1.234", "0.345", "3.456"], [1.234, 0.345, 3.456]),
        (["1.234", "2.345", "3.456"], [1.234, 2.345, 3.456]),
        (["1.065,00 €", "12,50 €", "999,99 €"], [1065, 12.5, 999.99]),
        (["1'234.50", "999.00", "12'000.10"], [1234.5, 999, 12000.1]),
        (["₹12,34,567.00", "₹5,000.50", "₹1,00,000"], [1234567, 5000.5, 100000]),
        (["45%", "0.45", "0.5", "12%", "7 %"], [45, 45, 50, 12, 7]),
        (["45%", 0.45, 0.5, "12%"], [45, 45, 50, 12]),
        (["45%", "30", "12%", "7 %"], [45, 30, 12, 7]),
        (["12.50-", "3.25", "7.00-"], [-12.5, 3.25, -7]),
        (["(12.5)", "3.4", "(5)"], [-12.5, 3.4, -5]),
        (["ca. 5", "7", "~8", "12", "about 9"], [5, 7, 8, 12, 9]),
        (["<5", "7", "8", "12", "<5", "9"], [5, 7, 8, 12, 5, 9]),
        (["5k", "1.2M", "300", "12k"], [5000, 1.2e6, 300, 12000]),
        (["3 Mio", "2,5 Mio", "1,25 Mio. €"], [3e6, 2.5e6, 1.25e6]),
        (["$1.2M", "$300k", "$5"], [1.2e6, 3e5, 5]),
        (["500 g", "0.5 kg", "250 g"], [500, 500, 250]),
        (["2,160 kg", "949 g", "1,625 kg"], [2.16, 0.949, 1.625]),
        (["90 min", "2 h", "45 min", "1 h"], [5400, 7200, 2700, 3600]),
        (["1,5", "2.5", "3,25", "4.75"], [1.5, 2.5, 3.25, 4.75]),
        (["5 €", "$7", "8 €", "£9"], [5, 7, 8, 9]),
        (["12,-", "15,50", "99,-"], [12, 15.5, 99]),
        (["4.191,-", "812,-", "1.050,-"], [4191, 812, 1050]),
        (["4.191,1*", "812,5", "7,3 **", "3,1†"], [4191.1, 812.5, 7.3, 3.1]),
        (["4,5", "#NV", "n. a.", "#WERT!", "7,5"], [4.5, *3 * [np.nan], 7.5]),
        (["7 Std. 31 Min.", "57 min", "0h23"], [27060, 3420, 1380]),
        (["2 Wochen", "1 Tag", "3 Tage"], [1209600, 86400, 259200]),
        (["3h 20m", "45m", "1h 5m", "2h"], [12000, 2700, 3900, 7200]),
        (["45:30", "59:59", "12:01"], [2730, 3599, 721]),
        (["26:30:00", "5:59:59", "12:01:00"], [95400, 21599, 43260]),
        (["PT3H20M", "PT45M", "P1DT2H"], [12000, 2700, 93600]),
        ([dt.timedelta(hours=1), dt.timedelta(hours=2.5)], [3600, 9000]),
        (pd.to_timedelta(["1h", None, "3h"]), [3600, np.nan, 10800]),
        ([3, 5, -999, 7, 9, -999, 4, 6], [3, 5, np.nan, 7, 9, np.nan, 4, 6]),
    ],
)
def test_numbers(cells, numbers):
    kind, found = read(cells)
    assert kind == "number"
    np.testing.assert_allclose(found, numbers, rtol=1e-12)


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["3. März 2024", "12. Januar 2023"], ["2024-03-03", "2023-01-12"]),
        (["1er janvier 2024", "3 févr. 2020"], ["2024-01-01", "2020-02-03"]),
        (["12 de enero de 2024", "3 de agosto de 2023"], ["2024-01-12", "2023-08-03"]),
        (["12 gennaio 2024", "3 luglio 2020"], ["2024-01-12", "2020-07-03"]),
        (["12 maart 2024", "3 mei 2020"], ["2024-03-12", "2020-05-03"]),
        (["12 de março de 2024", "3 de maio de 2020"], ["2024-03-12", "2020-05-03"]),
        (["Tuesday, 5 March 2024", "Mon, 1 May 2023"], ["2024-03-05", "2023-05-01"]),
        (
            ["01-02-07", "3/18/2009", "12/25/2008"],
            ["2007-01-02", "2009-03-18", "2008-12-25"],
        ),
    ],
)
def test_dates(cells, days):
    kind, found = read(cells)
    assert kind == "date"
    assert found == pd.to_datetime(days).map(pd.Timestamp.timestamp).tolist()


@pytest.mark.parametrize(
    ("cells", "seconds"),
    [
        (["08:30", "14:15", "-"], [8.5 * HOUR, 14.25 * HOUR, np.nan]),
        (["8:30 am", "2:15 PM", "12:05 am"], [8.5 * HOUR, 14.25 * HOUR, 5 * MINUTE]),
        (["14h30", "08h15", "23h00"], [14.5 * HOUR, 8.25 * HOUR, 23 * HOUR]),
        (["14.30 Uhr", "08:15 Uhr"], [14.5 * HOUR, 8.25 * HOUR]),
        ([dt.time(8, 30), None, dt.time(23)], [8.5 * HOUR, np.nan, 23 * HOUR]),
    ],
)
def test_times(cells, seconds):
    assert described(cells).kind == "time"
    np.testing.assert_array_equal(read(cells)[1], seconds)


def test_two_numbers_with_a_colon():
    assert read(["3:45", "4:10", "2:59"], "track length")[1] == [225, 250, 179]
    early = ["3:45", "4:10", "2:59", "1:00"]
    assert "times of the day" in described(early, "x").note
    assert read(early, "x", numeric=["x"])[1] == [225, 250, 179, 60]
    assert read(["45:00", "3:10"], "x", numeric=["x"])[0] == "number"
    assert read(["08:30", "9:10"], "x", date=["x"])[0] == "time"


def test_years_of_two_digits():
    def years(name, *cells):
        form, note = with_window(cells, "%d.%m.%y", name, dt.date(2026, 11, 17))
        seconds = describe_columns({name: cells}, date=[f"{name}={form}"])
        read = seconds[0].read(column_values(list(cells)))
        return [1970 + int(s // (365.2425 * 86400)) for s in read], note

    found, note = years("born", "01.06.68", "03.04.99", "05.05.12", "11.11.31")
    assert found == [1968, 1999, 2012, 1931]
    assert "1931 to 2012" in note
    assert years("due", "01.06.24", "03.04.26", "05.05.32") == ([2024, 2026, 2032], "")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["120/80", "130/85", "110/70"], "vector"),
        (["48.137, 11.575", "52.52, 13.405", "50.11, -8.68"], "vector"),
        (["10x20", "30 x 40", "15x25"], "vector"),
        (["1/2", "3/4", "1/4", "1/2"], "category"),
        (["<=50K", ">50K", "<=50K", ">50K"], "category"),
        (["AA", "Aa", "aa", "AA"], "category"),
        (["a;b", "b", "a;c;b", "c", "a;b", "c;a"], "tags"),
        ([["a", "b"], ["b"], ["a", "c"], ["c"]], "tags"),
        (['{"a": 1, "b": "x"}', '{"a": 2}', '{"a": 3.5}'], "fields"),
        ([{"a": 1}, {"a": 2}, None], "fields"),
        (["+49 30 1234567", "+49 171 7654321", "+43 1 234567"], "identifier"),
        (["DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819"] * 2, "category"),
        (["DE89370400440532013000", "GB29NWBK60161331926819", "NL91ABNA0417164300"],)
        + ("identifier",),
        (["01067", "80331", "10115", "80331"], "category"),
        ([f"{k * k:08d}" for k in range(7, 99)], "identifier"),
        (["07", "12", "01", "07"], "number"),
        (["dQw4w9WgXcQ", "aBc8eF9hIj0", "Zz1yX2wV3uT"], "identifier"),
    ],
)
def test_kinds(cells, kind):
    assert described(cells).kind == kind


def test_the_file_helps():
    rents = ["1.234", "2.500", "3.456"]
    other = {"rent": rents, "size": ["45,5", "60", "33,25"]}
    rent, _ = describe_columns(other)
    assert (rent.notation, rent.note) == ("comma", "")
    rent, _ = describe_columns({"rent": rents, "size": ["45.5", "60", "33.25"]})
    assert (rent.notation, rent.note) == ("plain", "")
    rent, _ = describe_columns(
        {"rent": rents, "date": ["3. März 2024", "1. Mai 2020", ""]}
    )
    assert rent.notation == "comma"
    assert "decimal=['rent=.']" in rent.note
    # Words that are months elsewhere are none in a sentence.
    rent, _ = describe_columns(
        {"rent": rents, "text": ["3 days ago", "set out", "out"]}
    )
    assert rent.notation == "plain"
    # The notation is that of the whole table, even if columns are left out.
    assert Table.from_frame(other).without(["size"]).decimal_sign() == (",", True)


def test_the_decimal_sign_can_be_given():
    rents = ["702", "26.002", "1.018"]
    assert read(rents, decimal=",")[1] == [702, 26002, 1018]
    assert read(rents, decimal=".")[1] == [702, 26.002, 1.018]
    assert read(rents, decimal=["column=."])[1] == [702, 26.002, 1.018]
    assert not described(rents, decimal=",").note
    assert number_notation(["1,234"], ",") == ("comma", [])
    with pytest.raises(TableError, match="not a decimal sign"):
        described(rents, decimal="x")
    with pytest.raises(TableError, match="no column 'rents'"):
        described(rents, decimal=["rents=,"])


def test_sentinels():
    column = described(
        ["12000", "35000", "999999", "41000", "22000", "999999", "18000"]
    )
    assert column.missing == ("999999",)
    assert column.n_missing == 2
    assert described(["1,5", "2,5", "3,5", "k.A.", "?", None]).n_missing == 3
    assert "numeric=['column']" in column.note
    # The top of a scale, a code, and a single large price are values.
    assert not described([0, 0, 5000, 41310, 99999, 99999, 300, 20]).missing
    assert not described([996, 997, 998, 999, 999, 995, 990]).missing
    assert not described([3, 5, 8, 9, 7, 6, 999]).missing
    assert not described([3, 5, -999, 7, 9, -999, 4, 6], numeric=["column"]).missing
    days = ["2020-01-05", "2021-03-04", "1900-01-01", "2022-02-03", "1900-01-01"]
    column = described([*days, "9999-12-31"])
    assert set(column.missing) == {"1900-01-01", "9999-12-31"}
    assert np.isnan(column.read(column_values(days))).sum() == 2
    assert not described([f"1900-01-{k:02d}" for k in (1, 1, 2, 3, 4, 5, 9)]).missing


@pytest.mark.parametrize(
    "values", [["3", "-1", "5", "8"], [3, -1, 5, 8], [3.0, -1.0, 5.0, 8.0]]
)
def test_missing_values_can_be_given(values):
    frame = {"age": values, "other": values}
    for given in (["-1"], [-1], -1):
        assert [c.n_missing for c in describe_columns(frame, missing=given)] == [1, 1]
    assert [c.n_missing for c in describe_columns(frame, missing=["age=-1"])] == [1, 0]
    transformer = TableTransformer(missing=["age=-1"]).fit(frame)
    assert "age missing" in transformer.get_feature_names_out()
    np.testing.assert_array_equal(transformer.transform(frame)[:, 1], [0, 1, 0, 0])
    # A summary of a larger table counts such values, and is not used.
    sample = TableSample(Table.from_frame(frame), TableSummary.of(frame))
    np.testing.assert_array_equal(
        TableTransformer(missing=["age=-1"]).fit_transform(sample),
        transformer.transform(frame),
    )


def test_sentinels_in_new_rows():
    ages = {"age": [3, 5, -999, 7, 9, -999, 4, 6]}
    with pytest.warns(UserWarning, match="-999"):
        transformer = TableTransformer().fit(ages)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = transformer.transform({"age": [-999, -999, 4]})
    np.testing.assert_array_equal(found[:, 1], [1, 1, 0])


def test_spellings_are_one_category():
    column = described(["Yes", "yes", "YES", "no", "No"])
    assert column.n_distinct == 2
    assert "'Yes', 'yes', 'YES' are one category" in column.note
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        transformer = TableTransformer().fit({"a": ["Yes", "yes", "yes", "no", "No"]})
    assert transformer.get_feature_names_out().tolist() == ["a=No", "a=yes"]
    features = transformer.transform({"a": ["YES", "yes", "nO"]})
    np.testing.assert_array_equal(features[0], features[1])
    assert features[2, 0] > 0


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([f"{k}-{k + 9}" for k in range(30)], "'0-9', '1-10' and the like were not"),
        (
            [f"{k},5" for k in range(30)] + [f"{k}±1" for k in range(9)],
            "60 of 73 cells",
        ),
    ],
)
def test_cells_that_are_not_understood_are_named(cells, said):
    column = described([*cells, *cells[:-5]])
    assert column.kind == "category"
    assert said in column.note


def test_the_record_of_a_column():
    column = described(["1.065,00 €", "12,50 €", "abc", "9,99 €", "8 €", "7 €", "-"])
    assert column.reading == "1.065,00 € -> 1065"
    assert column.unit == "€"
    assert (column.n_odd, column.odd) == (2, ("-", "abc"))
    assert column.examples[1] == ("12,50 €", "12.5")
    assert described(["3h 20m", "45m", "2h"]).reading == "3h 20m -> 12000"
    assert described(["31.12.2023", "01.02.2024"]).reading == "31.12.2023 -> 2023-12-31"
    assert described(["a", "b", "a"]).reading == "a"
    assert described(["-999", "3", "4", "-999", "5", "6", "7"]).examples[0][0] == "3"


def test_the_reason_for_a_column_left_out_is_true():
    names = [f"word{'x' * (k % 7)}{chr(97 + k % 26)}{k}q" for k in range(184)]
    column = described([*names, *names[:10]])
    assert column.kind == "identifier"
    assert column.reason == "184 of 194 values are different"


def test_several_values_in_a_cell_become_features():
    frame = {
        "pressure": ["120/80", "130/85", "110/70", None],
        "tags": ["a;b", "b", "a;c", "c;b"],
        "more": ['{"n": 1, "c": "x"}', '{"n": 2}', '{"n": 4, "c": "y"}', None],
        "at": ["08:00", "14:00", "20:00", None],
    }
    transformer = TableTransformer()
    features = transformer.fit_transform(frame)
    names = transformer.get_feature_names_out().tolist()
    assert ["pressure[0]", "pressure[1]", "tags=b", "more.n"] == [
        n for n in names if n in ("pressure[0]", "pressure[1]", "tags=b", "more.n")
    ]
    assert np.isfinite(features).all()
    np.testing.assert_allclose(transformer.transform(frame), features)
    tags = features[:, [names.index(f"tags={t}") for t in "abc"]]
    np.testing.assert_array_equal(
        tags > 0, [[1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1]]
    )
    other = {
        "pressure": ["100/60"],
        "tags": ["d"],
        "more": ['{"z": 1}'],
        "at": ["9:00"],
    }
    assert np.isfinite(transformer.transform(other)).all()
