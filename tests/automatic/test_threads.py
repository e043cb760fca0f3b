"""Automatic estimators give the same predictions whatever the number of threads."""

# SPDX-License-Identifier: BSD-3-Clause

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_info, threadpool_limits

from fewlabels import FewLabelsClassifier, FewLabelsRegressor
from fewlabels._backend import NUMPY
from fewlabels._threads import n_threads
from fewlabels.automatic import _bank as bank_module
from fewlabels.datasets import hide_labels
from fewlabels.graphs import _eigen


@pytest.fixture
def many_batches(monkeypatch):
    """What else takes thousands of rows: several batches, and Chebyshev filters."""
    monkeypatch.setattr(NUMPY.__class__, "batch_rows", 64)
    monkeypatch.setattr(_eigen, "DENSE_VERTICES", 100)


def table(rng):
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200, :4], y[:200]


def pixels(rng):
    X, y = load_digits(n_class=3, return_X_y=True)
    return X[:200].astype(np.float32), y[:200]


def text(rng):
    y = np.arange(200) % 2
    words = np.array([f"word{i}" for i in range(60)])
    texts = [" ".join(rng.choice(words[20 * c : 20 * c + 40], 12)) for c in y]
    return TfidfVectorizer().fit_transform(texts).tocsr(), y


@pytest.mark.parametrize("make", [table, pixels, text])
def test_answers_do_not_depend_on_threads(rng, many_batches, make):
    X, y = make(rng)
    train, new = X[:170], X[170:]
    y = hide_labels(y[:170], per_class=3, random_state=0)
    one, two = (
        FewLabelsClassifier(n_jobs=n_jobs, random_state=0).fit(train, y)
        for n_jobs in (1, 2)
    )
    assert_array_equal(one.predict_proba(new), two.predict_proba(new))
    assert_array_equal(one.predict_proba(train), two.predict_proba(train))
    assert one.expected_error_ == two.expected_error_
    for column, values in one.candidates_.items():
        assert_array_equal(values, two.candidates_[column])


def test_answers_do_not_depend_on_threads_of_libraries_nor_on_who_fits(rng):
    X, y = pixels(rng)
    y = hide_labels(y, per_class=3, random_state=0)

    def fitted(_=None):
        model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        return model.predict_proba(X)

    with threadpool_limits(1):
        one = fitted()
    with threadpool_limits(3):
        assert_array_equal(fitted(), one)
        # As the command line and the page do, in a thread that did not set the limit.
        with ThreadPoolExecutor(1) as pool:
            (three,) = pool.map(fitted, [None])
    assert_array_equal(three, one)


def test_regression_does_not_depend_on_threads(rng):
    X = rng.normal(size=(120, 4))
    y = np.sin(X[:, 0]) + X[:, 1]
    y[15:] = np.nan
    one, two = (
        FewLabelsRegressor(bank="fast", n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert_array_equal(one.predict(X + 0.1), two.predict(X + 0.1))


@pytest.mark.parametrize("limit", [1, 10**9])
def test_small_problems_get_one_thread(rng, monkeypatch, limit):
    monkeypatch.setattr(bank_module, "MANY_ENTRIES", limit)
    monkeypatch.setattr("fewlabels._threads.openmp_effective_n_threads", lambda **_: 3)
    seen = []

    def look(share):
        libraries = {i["num_threads"] for i in threadpool_info()}
        seen.append((n_threads(), libraries))

    X = rng.normal(size=(40, 3))
    y = np.where(np.arange(40) < 6, np.arange(40) % 2, -1)
    FewLabelsClassifier(bank="fast", progress=look, random_state=0).fit(X, y)
    inside = [pair for pair in seen if pair[1] == {1}]
    assert len(inside) > 5
    assert {n for n, _ in inside} == {3 if limit == 1 else 1}
