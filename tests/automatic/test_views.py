"""Several views of the same rows, weighed by held-out labels."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, hstack

from fewlabels import FewLabelsClassifier, FewLabelsRegressor
from fewlabels.automatic._bank import KernelBank
from fewlabels.datasets import hide_labels
from fewlabels.preprocessing import Moments

N_TRAIN = 240


@pytest.fixture(scope="module")
def two_views():
    """Blobs in three columns, and three wider columns of noise."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 120)
    rng.shuffle(y)
    blobs = rng.normal(size=(360, 3)) + 5 * np.eye(3)[y]
    return np.hstack([blobs, 20 * rng.normal(size=(360, 3))]), y


VIEWS = {"blobs": [1, 1, 1, 0, 0, 0], "noise": [0, 0, 0, 1, 1, 1], "both": [1] * 6}


def fitted(X, y, **parameters):
    holes = hide_labels(y[:N_TRAIN], per_class=6, random_state=0)
    model = FewLabelsClassifier(bank="fast", scale="none", random_state=0, **parameters)
    return model.fit(X[:N_TRAIN], holes)


@pytest.fixture(scope="module")
def model(two_views):
    return fitted(*two_views, feature_views=VIEWS)


def test_labels_tell_which_view_counts(two_views, model):
    X, y = two_views
    assert np.mean(model.predict(X[N_TRAIN:]) != y[N_TRAIN:]) < 0.05
    table = model.candidates_
    views = np.array([name.partition(":")[0] for name in table["candidate"]])
    shares = {view: table["weight"][views == view].sum() for view in VIEWS}
    assert shares["blobs"] > 0.9
    assert len(set(table["candidate"])) == len(model._bank.candidates)


def test_one_view_of_everything_changes_nothing(two_views):
    X, y = two_views
    plain, viewed = fitted(X, y), fitted(X, y, feature_views={"all": np.ones(6)})
    assert_allclose(plain.predict_proba(X), viewed.predict_proba(X), atol=1e-10)


def test_small_copies_predict_the_same(two_views, model):
    new = two_views[0][N_TRAIN:]
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict_proba(new), model.predict_proba(new), atol=1e-8)
    lean = model.compact(transduction=False)
    assert_array_equal(lean.predict(new), model.predict(new))


def test_other_labels_of_the_same_rows(two_views, model):
    X, y = two_views
    again = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="only predict"):
        again.refit_labels(y[:N_TRAIN])
    other = fitted(X, y, feature_views=VIEWS)
    other.refit_labels(hide_labels(y[:N_TRAIN], per_class=8, random_state=1))
    assert np.mean(other.predict(X[N_TRAIN:]) != y[N_TRAIN:]) < 0.05


def test_a_dense_part_of_sparse_rows_is_computed_as_dense():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    rng.shuffle(y)
    words = csr_array(rng.random((120, 200)) < 0.03, dtype=float)
    meaning = rng.normal(size=(120, 5)) + 4 * (2 * y - 1)[:, None]
    X = csr_array(hstack([words, csr_array(meaning)]))
    views = {
        "words": np.repeat([1, 0], [200, 5]),
        "meaning": np.repeat([0, 1], [200, 5]),
    }
    holes = hide_labels(y[:90], per_class=4, random_state=0)
    model = FewLabelsClassifier(
        bank="fast", scale="unit", feature_views=views, random_state=0
    ).fit(X[:90], holes)
    bank = model._bank
    assert [v.is_made_dense for v in bank._views] == [False, True]
    assert bank.kind == "text"
    again = pickle.loads(pickle.dumps(model))
    assert np.mean(again.predict(X[90:]) != y[90:]) < 0.1


def test_rows_that_are_equal_in_one_view():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = np.column_stack(
        [np.zeros((100, 3)), rng.normal(size=(100, 3)) + 5 * y[:, None]]
    )
    X[:10, :3] = rng.normal(size=(10, 3))
    holes = hide_labels(y, per_class=5, random_state=0)
    views = {"same": [1, 1, 1, 0, 0, 0], "own": [0, 0, 0, 1, 1, 1]}
    model = FewLabelsClassifier(scale="none", feature_views=views, random_state=0).fit(
        X, holes
    )
    assert np.mean(model.transduction_ != y) < 0.05


def test_moments_of_a_larger_table_follow_the_views():
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 2, 3]
    views = {"two": np.array([0.0, 2.0, 1.0])}
    given = KernelBank("fast", scale="standard", feature_views=views, random_state=0)
    own = KernelBank("fast", scale="standard", random_state=0)
    given._moments = Moments.of(X)
    given.build(X)
    own.build(X[:, 1:] * [2, 1])
    assert_allclose(given.rows[0].train, own.rows[0].train)


def test_numbers_are_predicted_from_views():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)) * [1, 1, 9, 9]
    y = X[:, 0] + X[:, 1]
    holes = np.where(np.arange(120) < 30, y, np.nan)
    views = {"telling": [1, 1, 0, 0], "other": [0, 0, 1, 1]}
    model = FewLabelsRegressor(
        bank="fast", scale="none", feature_views=views, random_state=0
    ).fit(X, holes)
    assert np.std(model.predict(X) - y) < 0.3 * np.std(y)


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ({"a": [1, 1]}, "each of the 6 features"),
        ({"a": [1, 1, 1, 1, 1, -1]}, "at least 0"),
        ({"a": [0] * 6}, "no view with a feature"),
        ({}, "no view with a feature"),
    ],
)
def test_views_that_do_not_fit_are_refused(two_views, views, message):
    with pytest.raises(ValueError, match=message):
        fitted(*two_views, feature_views=views)
