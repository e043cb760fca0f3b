"""Frames with words, categories, dates and holes go straight into the estimators."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

from fewlabels import FewLabelsClassifier
from fewlabels.automatic import FewLabelsRegressor
from fewlabels.preprocessing import TableTransformer
from fewlabels.tabular import label_table

N = 40
KIND = np.arange(N) % 2


@pytest.fixture
def frame(rng):
    size = np.where(rng.random(N) < 0.1, np.nan, 3.0 * KIND + rng.normal(size=N))
    return pd.DataFrame(
        {
            "size": size,
            "colour": pd.Categorical(np.where(KIND, "red", "blue")),
            "when": pd.date_range("2020-01-01", periods=N, freq="9D"),
            "note": [
                f"{('good team', 'hot soup')[k]} of {j}" for j, k in enumerate(KIND)
            ],
        }
    )


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas])
def test_classes(frame, convert):
    X = convert(frame)
    y = np.where(np.arange(N) < 8, KIND, -1)
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
    assert_array_equal(model.predict(X), KIND)
    p = model.predict_proba(X[:5])
    assert_allclose(np.exp(model.predict_log_proba(X[:5])), p)
    assert model.transformer_ is not None


def test_numbers(frame):
    y = np.where(np.arange(N) < 12, 10.0 * KIND, np.nan)
    model = FewLabelsRegressor(bank="fast", random_state=0).fit(frame, y)
    assert np.abs(model.predict(frame) - 10 * KIND).mean() < 3
    assert "12 known targets, 28 rows without one" in model.explain()


def test_frames_of_numbers_are_left_alone(rng):
    X = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc"))
    y = np.where(np.arange(20) < 6, np.arange(20) % 2, -1)
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
    assert model.transformer_ is None
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])


def labels_of(frame):
    return np.where(np.arange(len(frame)) < 8, KIND, -1)


def classifier():
    return FewLabelsClassifier(bank="fast", random_state=0)


def test_columns_are_named_and_counted_as_given(frame):
    model = classifier().fit(frame, labels_of(frame))
    assert model.n_features_in_ == 4
    assert_array_equal(model.feature_names_in_, frame.columns)
    assert_array_equal(
        make_pipeline(classifier()).fit(frame, labels_of(frame)).feature_names_in_,
        frame.columns,
    )
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(frame.assign(more=1))
    model.fit(np.asarray(frame[["when"]]).astype(float), labels_of(frame))
    assert model.n_features_in_ == 1
    assert not hasattr(model, "feature_names_in_")


def test_baseline_takes_what_the_classifier_takes(frame):
    model = classifier().fit(frame, labels_of(frame))
    for one in (model, pickle.loads(pickle.dumps(model))):
        p = one.baseline_.predict_proba(frame)
        assert_allclose(p.sum(axis=1), 1)
        assert_array_equal(one.baseline_.predict(frame), p.argmax(axis=1))
    with pytest.raises(ValueError, match="same order"):
        model.baseline_.predict(frame[frame.columns[::-1]])
    before = model.baseline_.temperature_
    model.refit_labels(labels_of(frame), estimate_error=False)
    assert model.baseline_.temperature_ == before


def test_baseline_of_numbers(frame):
    y = np.where(np.arange(N) < 12, 10.0 * KIND, np.nan)
    model = FewLabelsRegressor(bank="fast", random_state=0).fit(frame, y)
    assert model.n_features_in_ == 4
    assert model.baseline_.predict(frame).shape == (N,)
    assert not hasattr(model.baseline_, "predict_proba")


def test_baseline_checks_the_features_of_numbers(rng):
    X = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc"))
    y = np.where(np.arange(20) < 6, np.arange(20) % 2, -1)
    baseline = classifier().fit(X, y).baseline_
    assert baseline.predict(X).shape == (20,)
    with pytest.raises(ValueError, match="same order"):
        baseline.predict(X[["b", "a", "c"]])
    with pytest.warns(UserWarning, match="valid feature names"):
        baseline.predict(X.to_numpy())
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        pytest.raises(ValueError, match="2 features, but BankModel is expecting 3"),
    ):
        baseline.predict(X.to_numpy()[:, :2])


@pytest.mark.parametrize(
    "convert",
    [
        list,
        tuple,
        np.array,
        lambda texts: np.array(texts, object),
        pd.Series,
        pl.Series,
    ],
)
def test_texts(frame, convert):
    texts = convert(list(frame["note"]))
    model = classifier().fit(texts, labels_of(frame))
    assert model.n_features_in_ == 1
    assert_array_equal(model.predict(texts), KIND)
    assert_array_equal(model.predict(["hot soup", "good team"]), [1, 0])
    y = np.where(np.arange(N) < 12, 10.0 * KIND, np.nan)
    numbers = FewLabelsRegressor(bank="fast", random_state=0).fit(texts, y)
    assert np.abs(numbers.predict(texts) - 10 * KIND).mean() < 3


@pytest.mark.parametrize("convert", [np.asarray, lambda rows: rows.tolist()])
def test_rows_with_words(frame, convert):
    rows = frame[["size", "colour", "note"]].astype(object).to_numpy()
    rows[3, 1] = None
    model = classifier().fit(convert(rows), labels_of(frame))
    assert [c.kind for c in model.transformer_.columns_] == [
        "number",
        "category",
        "text",
    ]
    assert_array_equal(model.predict(convert(rows)), KIND)


def test_objects_that_are_numbers_need_no_encoding(rng):
    X = rng.normal(size=(20, 3)).astype(object)
    y = np.where(np.arange(20) < 6, np.arange(20) % 2, -1)
    assert classifier().fit(X, y).transformer_ is None
    assert classifier().fit(X.astype(str), y).transformer_ is None


def test_columns_by_name(frame):
    model = classifier().fit(dict(frame), labels_of(frame))
    assert_array_equal(model.feature_names_in_, frame.columns)
    assert_array_equal(model.predict(dict(frame)), KIND)


@pytest.mark.parametrize("model", [classifier(), TableTransformer()])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda f: f.set_axis(list("abac"), axis=1),
            r"called 'a'.*'a', 'b', 'a \(2\)'",
        ),
        (lambda f: f[["size"]].fillna(0).iloc[:, [0, 0]], "several columns .* 'size'"),
        (lambda f: pl.from_pandas(f).lazy(), r"LazyFrame of polars.*X.collect\(\)"),
        (lambda f: f.to_dict("records"), r"pass pandas.DataFrame\(rows\)"),
        (lambda f: f[[]], "no columns: pass at least one"),
    ],
)
def test_refused_with_a_remedy(frame, model, change, message):
    with pytest.raises(ValueError, match=message):
        model.fit(change(frame), labels_of(frame))


def test_missing_numbers_are_refused_with_a_remedy(rng):
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    holed = np.where(np.arange(60).reshape(30, 2) == 7, np.nan, X)
    with pytest.raises(ValueError, match=r"NaN, .*pass pandas.DataFrame\(X\)"):
        classifier().fit(holed, y)
    with pytest.raises(ValueError, match=r"NaN, .*none when .* fitted.*SimpleImputer"):
        classifier().fit(X, y).predict(holed)


def test_whose_parameters_a_message_names():
    with pytest.raises(ValueError, match="to use one, pass numeric") as caught:
        classifier().fit(pd.DataFrame({"k": [f"k{i}" for i in range(30)]}), [0, 1] * 15)
    assert "TableTransformer" in caught.value.__notes__[0]


def test_a_lazy_frame_of_new_rows(frame):
    X = pl.from_pandas(frame)
    model = classifier().fit(X, labels_of(frame))
    with pytest.raises(ValueError, match=r"X.collect\(\)"):
        model.predict(X.lazy())
    numbers = classifier().fit(X[["size"]].fill_nan(0), labels_of(frame))
    with pytest.raises(ValueError, match=r"X.collect\(\)"):
        numbers.predict(X.lazy())


def test_a_frame_is_learned_like_a_table(frame):
    y = np.where(np.arange(N) < 8, np.array(["no", "yes"])[KIND], None)
    model = FewLabelsClassifier(random_state=0).fit(frame[["size", "colour"]], y)
    table = label_table(
        frame[["size", "colour"]].assign(kind=y), "kind", as_frame=False
    )
    other = table.model.classifier
    assert_array_equal(model.candidates_["candidate"], other.candidates_["candidate"])
    assert_array_equal(model.label_distributions_, other.label_distributions_)
