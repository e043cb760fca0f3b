"""The automatic estimators on Dask collections."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.ensemble import VotingClassifier

from fewlabels import FewLabelsClassifier, FewLabelsRegressor
from fewlabels.dask import DaskFewLabelsClassifier, DaskFewLabelsRegressor
from fewlabels.datasets import hide_labels
from fewlabels.preprocessing import TableSample, TableSummary


def moons(n=900, n_labeled=12):
    X, y_true = make_moons(n, noise=0.08, random_state=0)
    return X, y_true, hide_labels(y_true, n_labeled=n_labeled, random_state=0)


def classifier(**params):
    params = {"sample_size": 200, "bank": "fast", "random_state": 0, **params}
    return DaskFewLabelsClassifier(**params)


def people(n=400):
    rng = np.random.RandomState(1)
    kind = rng.randint(2, size=n)
    frame = pd.DataFrame(
        {
            "age": 30 + 20 * kind + rng.normal(0, 3, n),
            "town": np.where(rng.rand(n) < 0.9, kind, 1 - kind),
            "born": pd.Timestamp("1980-01-01")
            + pd.to_timedelta(rng.rand(n) * 9999, "D"),
        },
        index=pd.Index(np.arange(n) * 10, name="no"),
    )
    frame["town"] = frame["town"].map({0: "Oslo", 1: "Rome"})
    frame.loc[frame.index[5], "age"] = np.nan
    truth = np.array(["old", "young"], dtype=object)[1 - kind]
    y = pd.Series(hide_labels(truth, per_class=6, random_state=0), index=frame.index)
    return frame, truth, y.rename("group")


def test_arrays_in_arrays_out():
    X, y_true, y = moons()
    lazy = da.from_array(X, chunks=(250, 1))  # columns come in blocks too
    model = classifier().fit(lazy, da.from_array(y, chunks=400))
    predicted = model.predict(lazy)
    assert isinstance(predicted, da.Array)
    assert predicted.chunks == ((250, 250, 250, 150),)
    assert predicted.dtype == model.classes_.dtype
    assert predicted.compute().dtype == predicted.dtype
    # A tenth of the rows is wrong with the labels alone, which have a share in this.
    assert np.mean(predicted.compute() == y_true) > 0.93
    p = model.predict_proba(lazy)
    assert p.chunks == (predicted.chunks[0], (2,))
    assert p.dtype == np.float64
    assert_allclose(p.sum(axis=1).compute(), 1)
    assert_array_equal(p.argmax(axis=1).compute(), predicted.compute())
    assert model.score(lazy, da.from_array(y_true)) == model.score(lazy, y_true)
    some = np.where(np.arange(y_true.size) < 10, y_true, -1)
    wrong = predicted.compute()[:10] != y_true[:10]
    weights = np.where(np.arange(y_true.size) == 0, 2.0, 1.0)  # of all rows
    expected = 1 - np.average(wrong, weights=weights[:10])
    assert model.score(lazy, some, sample_weight=weights) == pytest.approx(expected)
    assert model.n_features_in_ == 2


def test_nothing_is_computed_before_it_is_asked_for():
    X, _, y = moons()
    model = classifier().fit(da.from_array(X, chunks=300), y)

    def refuse(block):
        raise AssertionError("computed")

    broken = da.map_blocks(
        refuse, da.from_array(X, chunks=300), dtype=float, meta=X[:0]
    )
    predicted = model.predict(broken)
    assert predicted.shape == (900,)
    with pytest.raises(AssertionError, match="computed"):
        predicted.compute()


def test_the_answer_does_not_depend_on_parts():
    X, _, y = moons()
    first, *others = (
        classifier().fit(da.from_array(X, chunks=size), da.from_array(y, chunks=other))
        for size, other in ((900, 900), (100, 450), (7, 13))
    )
    for model in others:
        assert_allclose(model.predict_proba(X), first.predict_proba(X), atol=1e-8)
        assert model.sample_cost_ == first.sample_cost_


def test_the_local_model_is_the_plain_one_on_the_sample():
    X, _, y = moons()
    model = classifier().fit(da.from_array(X, chunks=300), y)
    local = model.to_local()
    assert isinstance(local, FewLabelsClassifier)
    assert_array_equal(local.predict(X), model.predict(da.from_array(X)).compute())
    assert_array_equal(local.predict(X), model.predict(X))
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), local.predict(X))


def test_all_rows_give_the_plain_answer():
    X, _, y = moons(300)
    model = classifier(sample_size=1000).fit(da.from_array(X, chunks=100), y)
    seed = model.models_[0].random_state
    plain = FewLabelsClassifier(bank="fast", random_state=seed)
    # Deviations are rounded to eight digits, so that parts do not matter.
    sample = TableSample(X, TableSummary.of(X).settled())
    rounded = clone(plain).fit(sample, y)
    assert_allclose(model.expected_error_.value, rounded.expected_error_.value)
    # Every row is asked as a new one would be.
    rounded = rounded.compact(transduction=False)
    assert_allclose(model.predict_proba(X), rounded.predict_proba(X), atol=1e-9)
    assert np.mean(plain.fit(X, y).predict(X) == model.predict(X)) > 0.98
    assert model.sample_cost_.half_error is None
    assert "learned from 12 labels and all of 288 other rows" in str(
        model.expected_error_
    )


def test_the_expected_error_says_what_fewer_rows_cost():
    X, _, y = moons()
    model = classifier().fit(da.from_array(X, chunks=300), y)
    cost = model.sample_cost_
    assert (cost.n_rows, cost.n_labeled, cost.n_sampled) == (900, 12, 200)
    assert cost.half_error.is_known
    assert 0 <= cost.changed <= 0.2
    text = str(model.expected_error_)
    assert (
        "learned from 12 labels and 200 of 888 other rows; from half of these" in text
    )
    assert text.endswith("% of the predictions changed")


def test_several_models_are_averaged():
    X, _, y = moons()
    model = classifier(n_models=3).fit(da.from_array(X, chunks=300), y)
    assert len(model.models_) == 3
    each = [one.predict_proba(X) for one in model.models_]
    assert not np.allclose(each[0], each[1])
    assert_allclose(model.predict_proba(X), np.mean(each, axis=0))
    predicted = model.predict(da.from_array(X, chunks=200)).compute()
    assert_array_equal(predicted, np.mean(each, axis=0).argmax(axis=1))
    local = model.to_local()
    assert isinstance(local, VotingClassifier)
    assert_array_equal(local.predict(X), predicted)
    assert_allclose(local.predict_proba(X), model.predict_proba(X))


def test_frames_keep_index_and_names():
    frame, truth, y = people()
    lazy = dd.from_pandas(frame, npartitions=3)
    model = classifier(sample_size=150).fit(lazy, dd.from_pandas(y, npartitions=2))
    predicted = model.predict(lazy)
    assert predicted.name == predicted._meta.name == "group"
    assert predicted._meta.dtype == object
    assert predicted.divisions == lazy.divisions
    computed = predicted.compute()
    assert computed.dtype == predicted._meta.dtype
    assert_array_equal(computed.index, frame.index)
    assert computed.index.name == "no"
    assert np.mean(computed == truth) > 0.9
    p = model.predict_proba(lazy)
    assert list(p.columns) == ["old", "young"]
    assert_allclose(p.compute().sum(axis=1), 1)
    assert_array_equal(p.compute().index, frame.index)
    assert list(model.feature_names_in_) == ["age", "town", "born"]
    assert model.transformer_ is not None
    # Holes and counts are those of all rows, though few of them were learned from.
    assert [c.n_missing for c in model.transformer_.columns_] == [1, 0, 0]
    assert_allclose(model.transformer_.encoders_[0].mean, frame["age"].mean())
    assert model.score(lazy, pd.Series(truth)) > 0.9


def test_the_meta_of_dask_is_what_comes(recwarn):
    frame, _, y = people()
    lazy = dd.from_pandas(frame, npartitions=3)
    model = classifier(sample_size=100).fit(lazy, y)
    dd.utils.assert_eq(model.predict(lazy), model.predict(lazy).compute())
    dd.utils.assert_eq(model.predict_proba(lazy), model.predict_proba(lazy).compute())
    X, _, codes = moons()
    model = classifier(sample_size=100).fit(da.from_array(X, chunks=300), codes)
    da.utils.assert_eq(model.predict(da.from_array(X, chunks=200)), model.predict(X))
    assert model.predict(da.from_array(X)).name  # it has a place in a graph


def test_unknown_chunks_and_empty_parts():
    X, _, y = moons()
    frame = pd.DataFrame(X, columns=["a", "b"])
    lazy = dd.from_pandas(frame, npartitions=4)
    empty = lazy[lazy["a"] > lazy["a"].max() + 1].to_dask_array()
    unknown = da.concatenate(
        [empty, lazy.to_dask_array()], allow_unknown_chunksizes=True
    )
    assert np.isnan(unknown.shape[0])
    model = classifier().fit(unknown, y)
    known = classifier().fit(da.from_array(X, chunks=200), y)
    predicted = model.predict(unknown)
    assert np.isnan(predicted.shape[0])
    assert_array_equal(predicted.compute(), known.predict(X))
    assert model.predict_proba(unknown).compute().shape == (900, 2)
    filtered = lazy[lazy["a"] > 1.5]  # some parts may have no row
    named = classifier().fit(lazy, y)
    expected = named.predict(frame[frame["a"] > 1.5])
    assert_array_equal(named.predict(filtered).compute(), expected)
    none = named.predict(lazy[lazy["a"] > 100])
    assert none.compute().shape == (0,)
    assert none.compute().dtype == known.classes_.dtype


def test_sparse_blocks():
    X, _, y = moons(400)
    blocks = da.from_array(X, chunks=(100, 2)).map_blocks(csr_array)
    model = classifier(scale="standard").fit(blocks, y)
    assert model.predict(blocks).compute().shape == (400,)
    assert_array_equal(model.predict(blocks).compute(), model.predict(csr_array(X)))


def test_regression():
    rng = np.random.RandomState(0)
    X = rng.uniform(-2, 2, (800, 2))
    t = np.sin(2 * X[:, 0]) + 0.1 * X[:, 1]
    y = np.where(np.arange(800) % 20 == 0, t, np.nan)
    lazy = da.from_array(X, chunks=300)
    params = {"sample_size": 150, "bank": "fast", "random_state": 0}
    model = DaskFewLabelsRegressor(**params).fit(lazy, da.from_array(y, chunks=100))
    assert model.score(lazy, t) > 0.8
    assert model.predict(lazy).dtype == np.float64
    assert isinstance(model.to_local(), FewLabelsRegressor)
    assert "predictions 0." in str(model.expected_error_)
    several = clone(model).set_params(n_models=2).fit(lazy, y)
    assert_allclose(several.to_local().predict(X), several.predict(lazy).compute())
    with pytest.raises(ValueError, match="y contains infinity"):
        clone(model).fit(lazy, np.where(np.isnan(y), np.nan, np.inf))


def test_cover_sampling_learns_too():
    X, y_true, y = moons()
    model = classifier(sampling="cover", sample_size=100)
    model.fit(da.from_array(X, chunks=300), y)
    assert model.sample_cost_.n_sampled == 100
    assert model.score(X, y_true) > 0.93
    frame, truth, y = people()
    lazy = dd.from_pandas(frame, npartitions=3)
    assert (
        classifier(sampling="cover", sample_size=50).fit(lazy, y).score(lazy, truth)
        > 0.8
    )


def test_bad_input_is_told():
    X, _, y = moons(120)
    lazy = da.from_array(X, chunks=50)
    with pytest.raises(TypeError, match="X must be a Dask array or a Dask DataFrame"):
        classifier().fit(X, y)
    with pytest.raises(ValueError, match="y has 100 entries but X has 120 rows"):
        classifier().fit(lazy, y[:100])
    with pytest.raises(ValueError, match=r"no labelled row \(120 rows"):
        classifier().fit(lazy, da.full(120, -1, chunks=50))
    with pytest.raises(ValueError, match="y holds only -1 and 1"):
        classifier().fit(lazy, np.where(y == 1, 1, -1))
    with pytest.raises(ValueError, match="X must have rows and columns"):
        classifier().fit(lazy[:, 0], y)
    with pytest.raises(ValueError, match="sample_size"):
        classifier(sample_size=0).fit(lazy, y)
    holed = X.copy()
    holed[77, 1] = np.nan
    with pytest.raises(ValueError, match="too large values in 1 cells"):
        classifier(sample_size=20).fit(da.from_array(holed, chunks=50), y)
    model = classifier(sample_size=50).fit(lazy, y)
    with pytest.raises(ValueError, match="X has 1 features"):
        model.predict(lazy[:, :1])
    with pytest.raises(ValueError, match="no labelled row to score"):
        model.score(lazy, np.full(120, -1))


def test_labels_are_checked_before_rows_are_read():
    def refuse(block):
        raise AssertionError("read")

    rows = da.zeros((60, 2), chunks=20).map_blocks(
        refuse, dtype=float, meta=np.empty((0, 2))
    )
    y = np.array(["a"] + [1] + [None] * 58, dtype=object)
    with pytest.raises(ValueError, match="y mixes labels of different kinds"):
        classifier().fit(rows, y)


def test_dask_is_named_where_it_is_missing(monkeypatch):
    import builtins

    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "dask":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    lazy = dask.array.zeros((4, 1))
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'fewlabels\[dask\]'"):
        classifier().fit(lazy, [0, 1, -1, -1])


@pytest.mark.parametrize(("limit", "bank"), [(211, "fast"), (212, "default")])
def test_the_bank_follows_the_rows_learned_from(monkeypatch, limit, bank):
    monkeypatch.setattr("fewlabels.automatic._recipe.FAST_ROWS", limit)
    X, _, y = moons(300)
    model = classifier(bank="auto").fit(da.from_array(X, chunks=100), y)
    (learned,) = model.models_  # from 12 labels and 200 of the other rows
    assert learned.bank == bank
    plain = FewLabelsClassifier(bank="auto", random_state=0).fit(X[:212], y[:212])
    other = FewLabelsClassifier(bank=bank, random_state=0).fit(X[:212], y[:212])
    assert_array_equal(plain.predict_proba(X), other.predict_proba(X))
