"""Features of mixed columns are on one scale."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from fewlabels import FewLabelsClassifier
from fewlabels.tabular import TableError, TableTransformer

TOPICS = {
    "sport": "match goal team player league ball".split(),
    "food": "soup bread cheese oven salt dinner".split(),
}


@pytest.fixture
def mixed(rng):
    n = 80
    kinds = np.array(["sport", "food"] * (n // 2))
    return pd.DataFrame(
        {
            "id": [f"row-{k}" for k in range(n)],
            "size": rng.normal(100, 20, n),
            "income": np.exp(3 * rng.normal(size=n)),
            "colour": rng.choice(["red", "green", "blue"], n),
            "when": pd.date_range("2020-01-01", periods=n, freq="37D"),
            "note": [" ".join(rng.choice(TOPICS[k], 5)) for k in kinds],
            "kind": kinds,
        }
    )


def blocks(transformer, Z):
    """Features of each column."""
    widths = [len(encoder.names()) for encoder in transformer.encoders_]
    parts = np.split(Z, np.cumsum(widths)[:-1], axis=1)
    names = [encoder.column.name for encoder in transformer.encoders_]
    return dict(zip(names, parts, strict=True))


def test_every_column_counts_once(mixed):
    transformer = TableTransformer()
    Z = transformer.fit_transform(mixed.drop(columns="kind"))
    by_column = blocks(transformer, Z)
    assert list(by_column) == ["size", "income", "colour", "when", "note"]
    for name in ("size", "income", "colour", "when"):
        assert_allclose(by_column[name].var(axis=0).sum(), 1.0)
    # Text weighs as the square root of the number of other columns.
    assert_allclose(by_column["note"].var(axis=0).sum(), 2.0)
    assert transformer.get_feature_names_out().shape == (Z.shape[1],)
    assert_allclose(transformer.transform(mixed.drop(columns="kind")), Z)


def test_long_tails_are_compressed(mixed):
    transformer = TableTransformer().fit(mixed[["size", "income"]])
    size, income = transformer.encoders_
    assert income.compressed
    assert not size.compressed
    Z = transformer.transform(mixed[["size", "income"]])
    assert np.abs(Z).max() < 6
    order = np.argsort(mixed["income"].to_numpy())
    assert (np.diff(Z[order, 1]) >= 0).all()  # the order stays


def test_frames_of_two_libraries(mixed):
    Z = TableTransformer().fit_transform(mixed)
    other = pl.from_pandas(mixed)
    transformer = TableTransformer().fit(other)
    assert_allclose(transformer.transform(other), Z)
    assert_array_equal(transformer.feature_names_in_, mixed.columns)
    framed = TableTransformer().set_output(transform="pandas").fit_transform(mixed)
    assert isinstance(framed, pd.DataFrame)
    assert_allclose(framed, Z)


def test_text_alone_is_sparse(mixed):
    Z = TableTransformer().fit_transform(mixed[["note"]])
    assert issparse(Z)
    settings = {"strip_accents": "unicode", "sublinear_tf": True}
    words, pieces = (
        TfidfVectorizer(**settings, min_df=2, max_df=0.6, **kind).fit_transform(
            mixed["note"]
        )
        for kind in ({}, {"analyzer": "char_wb", "ngram_range": (2, 4)})
    )
    # All words occur in several texts, so that pieces add nothing.
    expected = np.hstack([words.toarray(), 0 * pieces.toarray()])
    assert_allclose(Z.toarray(), expected)


@pytest.mark.parametrize("text", ["!!! ??? ...", "same words on every row"])
def test_text_without_information(text):
    frame = {"t": [text] * 59 + [text + " !"], "x": np.arange(60.0) ** 2}
    Z = TableTransformer(text=["t"]).fit_transform(frame)
    assert np.isfinite(Z).all()
    assert Z[:, :-1].var(axis=0).sum() < 1e-12  # rounding is not blown up
    alone = TableTransformer(text=["t"]).fit_transform({"t": frame["t"]})
    assert alone.shape[0] == 60


def test_features_do_not_depend_on_threads(rng):
    words = [f"word{k}" for k in range(300)]
    texts = [" ".join(rng.choice(words, 8)) for _ in range(600)]
    frame = {"note": texts, "size": rng.normal(size=600)}
    made = []
    for n in (1, 2, 3):
        with threadpool_limits(n, "blas"):
            transformer = TableTransformer(text=["note"]).fit(frame)
            made.append(transformer.transform(frame))
    assert_array_equal(made[0], made[1])
    assert_array_equal(made[0], made[2])


def test_missing_values(mixed):
    frame = pd.DataFrame({"x": [1.0, None, 3.0, 8.0], "c": ["a", "b", None, "a"]})
    transformer = TableTransformer().fit(frame)
    assert_array_equal(
        transformer.get_feature_names_out(),
        ["x", "x missing", "c=a", "c=b", "c=(missing)"],
    )
    Z = transformer.transform(frame)
    assert_array_equal(Z[:, 1], [0, 1, 0, 0])
    # Where nothing was missing in training, a hole later is the median, unmarked.
    full = TableTransformer().fit(pd.DataFrame({"x": [1.0, 2.0, 9.0, 2.5, 2.2]}))
    late = full.transform(pd.DataFrame({"x": [None, 2.2]}, dtype=float))
    assert_allclose(late[0], late[1])


def test_categories_never_seen():
    values = ["a"] * 5 + ["b"] * 5 + ["rare", "seldom"]
    transformer = TableTransformer().fit({"c": values})
    assert_array_equal(transformer.get_feature_names_out(), ["c=a", "c=b", "c=(other)"])
    new, rare = transformer.transform({"c": ["unheard", "rare"]})
    assert_array_equal(new, rare)
    few = TableTransformer(max_categories=1).fit({"c": values})
    names = few.get_feature_names_out()
    assert_array_equal(names[:2], ["c=a", "c=(other)"])
    assert all("topic" in name for name in names[2:])


def test_pixels_share_a_unit(rng):
    X = rng.normal(size=(50, 30)) * np.linspace(1, 2, 30)
    Z = TableTransformer().fit_transform(X)
    ratio = Z.std(axis=0) / X.std(axis=0)
    assert_allclose(ratio, ratio[0])
    table = TableTransformer().fit_transform(X[:, :5])
    assert_allclose(table.std(axis=0), 1)


def test_a_column_that_changes_its_kind():
    transformer = TableTransformer().fit({"x": np.arange(9.0) ** 2, "d": days(9)})
    with pytest.raises(TableError, match=r"'x' held numbers .* but 2 of 2 values"):
        transformer.transform({"x": ["a", "b"], "d": days(2)})
    with pytest.raises(TableError, match="'d' held dates"):
        transformer.transform({"x": ["1", "2"], "d": ["soon", "later"]})
    with pytest.warns(UserWarning, match="'x': 1 of 20 values are not numbers"):
        Z = transformer.transform({"x": ["1"] * 19 + ["?!"], "d": days(20)})
    assert np.isfinite(Z).all()
    with pytest.raises(TableError, match="'d' missing"):
        transformer.transform({"x": [1.0, 2.0]})


def days(n):
    return [f"2024-01-{k + 1:02d}" for k in range(n)]


def test_dates_have_cycles():
    hours = pd.date_range("2024-01-01", periods=500, freq="7h")
    transformer = TableTransformer().fit(pd.DataFrame({"t": hours}))
    names = list(transformer.get_feature_names_out())
    assert names[:3] == ["t", "t sine of week", "t cosine of week"]
    Z = transformer.transform(pd.DataFrame({"t": pd.to_datetime(["2024-02-05 10:00"])}))
    week_later = pd.DataFrame({"t": pd.to_datetime(["2024-02-12 10:00"])})
    assert_allclose(transformer.transform(week_later)[0, 1:], Z[0, 1:], atol=1e-9)


def test_periods_are_dates():
    months = pd.period_range("2020-01", periods=30, freq="M")
    transformer = TableTransformer().fit(pd.DataFrame({"t": months}))
    assert transformer.columns_[0].kind == "date"
    later = pd.DataFrame({"t": pd.PeriodIndex(["2021-05", None], freq="M")})
    assert np.isfinite(transformer.transform(later)).all()


def test_nothing_to_use():
    with pytest.raises(TableError, match=r"No column can be used .* \(constant"):
        TableTransformer().fit({"x": [1, 1, 1], "id": ["a", "b", "c"]})
    with pytest.raises(TableError, match=r"1 sample \(row\).*; pass more rows"):
        TableTransformer().fit({"x": [1]})
    with pytest.raises(TableError, match="no column to learn from"):
        TableTransformer().fit({})
    with pytest.raises(TypeError, match="Sparse data"):
        TableTransformer().fit(__import__("scipy.sparse").sparse.eye_array(3).tocsr())


def test_in_a_pipeline(mixed):
    y = mixed["kind"].to_numpy(dtype=object).copy()
    y[10:] = None
    model = make_pipeline(
        TableTransformer(ignore=["kind"]),
        FewLabelsClassifier(bank="fast", scale="none", random_state=0),
    )
    predicted = clone(model).fit(mixed, y).predict(mixed)
    assert np.mean(predicted == mixed["kind"]) > 0.95
