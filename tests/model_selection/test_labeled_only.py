"""Supervised estimators on the labelled rows alone."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from fewlabels.model_selection import LabeledOnly


@pytest.fixture
def data():
    X, y = make_blobs(60, centers=3, cluster_std=3.0, random_state=0)
    return X, y, np.where(np.arange(60) < 20, y, -1)


def test_is_the_estimator_on_the_labelled_rows(data):
    X, y, holes = data
    inner = LogisticRegression().fit(X[:20], y[:20])
    names = np.array(["x", "y", "z", None], dtype=object)
    for labels in (holes, np.where(holes < 0, np.nan, holes), names[holes]):
        model = LabeledOnly(LogisticRegression()).fit(X, labels)
        assert_array_equal(model.labeled_indices_, np.arange(20))
        assert_array_equal(model.predict_proba(X), inner.predict_proba(X))
        assert_array_equal(model.decision_function(X), inner.decision_function(X))
        assert model.score(X, labels) == inner.score(X[:20], y[:20])


def test_precomputed_kernel(data):
    X, _, holes = data
    K = rbf_kernel(X, gamma=0.1)
    direct = LabeledOnly(SVC(gamma=0.1)).fit(X, holes)
    by_kernel = LabeledOnly(SVC(kernel="precomputed")).fit(K, holes)
    assert_array_equal(by_kernel.predict(K), direct.predict(X))
    assert by_kernel.score(K, holes) == direct.score(X, holes)


def test_regression(data):
    X, _, _ = data
    y = np.where(np.arange(60) < 20, X[:, 0] + 1.0, np.nan)
    model = LabeledOnly(Ridge(alpha=1e-9)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), X[:, 0] + 1.0, rtol=1e-6)
    assert not hasattr(model, "predict_proba")


def test_no_label(data):
    X, _, _ = data
    with pytest.raises(ValueError, match="no labelled row"):
        LabeledOnly(SVC()).fit(X, np.full(60, -1))
    model = LabeledOnly(SVC()).fit(X, np.arange(60) % 2)
    with pytest.raises(ValueError, match="no labelled row to score"):
        model.score(X, np.full(60, -1))
