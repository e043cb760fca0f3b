"""Degenerate input is normal input."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression

from fewlabels.transfer import (
    ITML,
    ASOClassifier,
    CrossDomainMetric,
    EigenTransferClassifier,
    FeatureAugmentation,
    LpMKLClassifier,
    SelfTaughtClassifier,
    StructuralCorrespondenceLearning,
    TrAdaBoostClassifier,
    TransferComponentAnalysis,
    itml,
    lp_norm_mkl,
    mmde,
    tradaboost,
    transfer_components,
)

ESTIMATORS = [
    ASOClassifier(),
    CrossDomainMetric(n_pairs=10, max_iter=20, random_state=0),
    EigenTransferClassifier(3),
    EigenTransferClassifier(3, setting="cross_category"),
    EigenTransferClassifier(3, setting="self_taught"),
    FeatureAugmentation(),
    ITML(n_pairs=10, max_iter=20, random_state=0),
    LpMKLClassifier(["linear", "rbf"]),
    SelfTaughtClassifier(2, max_iter=1, random_state=0),
    StructuralCorrespondenceLearning(3, 2),
    TrAdaBoostClassifier(n_estimators=3, random_state=0),
    TransferComponentAnalysis(2),
]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda K: mmde(K, [1, -2], n_neighbors=0), "n_neighbors must be at least 1"),
        (lambda K: lp_norm_mkl([K], np.array([-1, 1]), p=0.5), "p must be at least 1"),
        (
            lambda K: tradaboost(LogisticRegression(), K, [0, 1], np.ones(2, bool)),
            "some must be of the target",
        ),
        (
            lambda K: transfer_components(K, np.array([True, False]), 1, alpha=0),
            "alpha must be positive",
        ),
        (
            lambda K: itml(K, np.ones(2, bool), np.zeros(2)),
            "all bounds must be positive",
        ),
    ],
)
def test_bad_input_of_the_functions(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.eye(2))


@st.composite
def tables(draw):
    """Few rows of whole numbers, so that copies, zeros and constants are common."""
    n_source = draw(st.integers(2, 6))
    n_target = draw(st.integers(2, 6))
    p = draw(st.integers(1, 8))
    entries = st.integers(-1, 1)
    X = [[draw(entries) for _ in range(p)] for _ in range(n_source + n_target)]
    y = [draw(st.sampled_from([0, 1, -1])) for _ in X]
    y[0], y[1], y[n_source], y[n_source + 1] = 0, 1, 0, 1
    domains = np.repeat([1, -2], [n_source, n_target])
    return np.array(X, dtype=float), np.array(y), domains


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@settings(max_examples=10)
@given(table=tables())
def test_few_odd_rows(estimator, table):
    X, y, domains = table
    model = clone(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is odd is told, and tested elsewhere
        if isinstance(model, ITML) and not isinstance(model, CrossDomainMetric):
            model.fit(X, y)
        else:
            model.fit(X, y, sample_domain=domains)
    if is_classifier(model):
        assert np.isin(model.predict(X), [0, 1]).all()
        assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
        assert np.isfinite(model.decision_function(X)).all()
    else:
        assert np.isfinite(model.transform(X)).all()
