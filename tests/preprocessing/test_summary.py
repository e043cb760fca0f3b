"""Summaries of parts of a table, and what is learned from them."""

# SPDX-License-Identifier: BSD-3-Clause

from functools import reduce

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fewlabels import FewLabelsClassifier
from fewlabels.preprocessing import TableSample, TableSummary, TableTransformer
from fewlabels.preprocessing._summary import MAX_COUNTED


def mixed(n=600):
    rng = np.random.RandomState(0)
    size = rng.normal(5, 2, n)
    size[[3, 500]] = np.nan
    town = rng.choice(["Oslo", "Rome", "Bonn"], n).astype(object)
    town[400:404] = "Nice"
    town[17] = None
    days = pd.to_timedelta(rng.rand(n) * 900, "D")
    return pd.DataFrame(
        {
            "size": size,
            "count": rng.poisson(3, n),
            "town": town,
            "when": pd.Timestamp("2020-01-01") + days,
        }
    )


def parts_of(frame, ends):
    pieces = np.split(np.arange(len(frame)), ends)
    return [TableSummary.of(frame.iloc[piece]) for piece in pieces]


@pytest.mark.parametrize("ends", [[], [1], [200, 400], [0, 0, 599]])
def test_parts_add_up_to_the_whole(ends):
    frame = mixed()
    whole = reduce(TableSummary.merge, parts_of(frame, ends))
    assert whole.n_rows == len(frame)
    assert_array_equal(whole.n_missing, frame.isna().sum())
    assert whole.counts[2] == frame["town"].value_counts().to_dict()
    assert whole.counts[0] is None
    assert whole.counts[3] is None
    numbers = frame[["size", "count"]]
    assert_allclose(whole.moments.mean[:2], numbers.mean())
    assert_allclose(whole.moments.deviation[:2], numbers.std(ddof=0))
    assert_array_equal(whole.moments.low[:2], numbers.min())
    assert_array_equal(whole.moments.high[:2], numbers.max())


def test_columns_with_too_many_values_are_not_counted():
    names = pd.DataFrame({"name": [f"n{k}" for k in range(MAX_COUNTED + 2)]})
    first, second = parts_of(names, [MAX_COUNTED - 1])
    assert len(first.counts[0]) == MAX_COUNTED - 1
    assert first.merge(second).counts[0] is None
    assert second.merge(first).counts[0] is None


def test_a_sample_is_encoded_like_the_whole_table():
    frame = mixed()
    everything = TableTransformer().fit(frame)
    rows = frame.iloc[:300]  # no row of Nice, one hole of two
    sample = TableTransformer().fit(TableSample(rows, TableSummary.of(frame)))
    assert list(sample.get_feature_names_out()) == list(
        everything.get_feature_names_out()
    )
    by_name = zip(sample.columns_, everything.columns_, strict=True)
    for ours, theirs in by_name:
        assert (ours.name, ours.kind, ours.n_missing) == (
            theirs.name,
            theirs.kind,
            theirs.n_missing,
        )
    for k in (0, 1):
        assert_allclose(sample.encoders_[k].mean, everything.encoders_[k].mean)
        assert_allclose(sample.encoders_[k].unit, everything.encoders_[k].unit)
    assert sample.encoders_[2].levels == ["Bonn", "Nice", "Oslo", "Rome"]
    assert_allclose(sample.encoders_[2].unit, everything.encoders_[2].unit)
    assert sample.transform(frame).shape == everything.transform(frame).shape


def test_a_far_row_outside_the_sample_bends_the_column():
    frame = pd.DataFrame({"a": np.arange(100) % 7.0, "b": np.arange(100) % 2.0})
    far = pd.DataFrame({"a": [1e6], "b": [0.0]})
    summary = TableSummary.of(pd.concat([frame, far]))
    encoder = TableTransformer().fit(TableSample(frame, summary)).encoders_[0]
    assert encoder.compressed
    assert not TableTransformer().fit(frame).encoders_[0].compressed


def test_the_classifier_scales_by_all_rows():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 3)) * [1.0, 10.0, 0.1]
    X[300:, 1] *= 20
    y = np.r_[0, 1, 0, 1, np.full(96, -1)]
    sample = TableSample(X[:100], TableSummary.of(X))
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(sample, y)
    scaling = model._bank._views[0].scaling
    assert_allclose(scaling.factor_ * scaling.size_**-1, 1 / X.std(axis=0))
    assert model._bank._moments is None
    plain = FewLabelsClassifier(bank="fast", random_state=0).fit(X[:100], y)
    assert not np.allclose(plain._bank._views[0].scaling.factor_, scaling.factor_)


def test_holes_outside_the_sample_call_for_an_encoding():
    frame = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) ** 2})
    holed = frame.copy()
    holed.iloc[39, 0] = np.nan
    y = [0, 0, 1, 1] + [-1] * 26
    sample = TableSample(frame.iloc[:30], TableSummary.of(holed))
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(sample, y)
    assert model.transformer_ is not None
    assert model.predict(holed).shape == (40,)


def test_settled_summaries_do_not_depend_on_parts():
    frame = mixed()[["size", "count"]]
    whole = TableSummary.of(frame)
    for ends in ([1], [200, 400], [17, 300, 301]):
        other = reduce(TableSummary.merge, parts_of(frame, ends))
        for ours, theirs in zip(
            other.settled().moments, whole.settled().moments, strict=True
        ):
            assert_array_equal(ours, theirs)
    assert_allclose(whole.settled().moments.mean, frame.mean(), rtol=1e-7)
    assert_allclose(whole.settled().moments.deviation, frame.std(ddof=0), rtol=1e-7)
    constant = TableSummary.of(pd.DataFrame({"a": [0.1, 0.1], "b": [0.0, 0.0]}))
    assert_allclose(constant.settled().moments.mean, [0.1, 0.0], rtol=1e-7)
