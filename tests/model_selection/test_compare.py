"""Several estimators on the same hidden labels."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.datasets import make_moons
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.svm import SVC

from fewlabels.model_selection import (
    Comparison,
    LabeledKFold,
    LabeledOnly,
    LabelShuffleSplit,
    compare,
    cross_validate_labels,
)
from fewlabels.semi_supervised import RLSClassifier

MODELS = {
    "linear": RLSClassifier(0.1, kernel="linear"),
    "rbf": RLSClassifier(0.01, gamma=1.0),
    "svc": LabeledOnly(SVC()),
}


@pytest.fixture(scope="module")
def moons():
    return make_moons(200, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def comparison(moons):
    cv = LabelShuffleSplit(8, n_labeled=12, random_state=0)
    return compare(MODELS, *moons, cv=cv)


def test_every_estimator_has_the_same_splits(moons, comparison):
    cv = LabelShuffleSplit(8, n_labeled=12, random_state=0)
    for name, scores in zip(comparison.names, comparison.scores.T, strict=True):
        alone = cross_validate_labels(MODELS[name], *moons, cv=cv)
        assert_array_equal(scores, alone["test_score"])
    assert_array_equal(comparison.n_labeled, 12)
    assert_array_equal(comparison.n_test, 188)
    assert comparison.fit_seconds.shape == (8, 3)
    assert comparison.metric == "accuracy"


def test_the_same_splits_without_a_seed(moons):
    """A random splitter is asked once, not once per estimator."""
    twins = [RLSClassifier(0.1, gamma=1.0), RLSClassifier(0.1, gamma=1.0)]
    found = compare(twins, *moons, cv=LabelShuffleSplit(4, n_labeled=6))
    assert found.names == ("RLSClassifier", "RLSClassifier 2")
    assert_array_equal(found.scores[:, 0], found.scores[:, 1])
    assert found.difference("RLSClassifier 2") == (0, 0, 0)


def test_plain_interval_is_the_paired_t_test(comparison):
    for confidence in (0.8, 0.95):
        found = comparison.difference(
            "rbf", "svc", confidence=confidence, corrected=False
        )
        test = stats.ttest_rel(comparison.scores[:, 1], comparison.scores[:, 2])
        assert_allclose(found[1:], test.confidence_interval(confidence))
        assert_allclose(found.mean, np.mean(np.diff(comparison.scores[:, [2, 1]])))


def test_corrected_interval_of_folds(moons):
    """The correction of Nadeau and Bengio: 1/J + n_test / n_train."""
    found = compare(MODELS, *moons, cv=LabeledKFold(5, n_repeats=2, random_state=0))
    d = found.scores[:, 1] - found.scores[:, 0]
    half = stats.t.ppf(0.975, 9) * np.sqrt((1 / 10 + 40 / 160) * d.var(ddof=1))
    gap = found.difference("rbf", "linear")
    assert_allclose(gap, [d.mean(), d.mean() - half, d.mean() + half])


def test_differences_have_a_sign(comparison):
    there, back = (
        comparison.difference("rbf", "svc"),
        comparison.difference("svc", "rbf"),
    )
    assert_allclose(there.mean, -back.mean)
    assert_allclose([there.low, there.high], [-back.high, -back.low])


def test_intervals_cover(rng):
    """Draws with a shared part, as splits that share rows have it, J = 10 of them."""
    truth, n_train, n_test = 0.3, 80, 20
    rho = n_test / (n_train + n_test)
    covered = {True: 0, False: 0}
    for _ in range(1000):
        noise = np.sqrt(rho) * rng.normal() + np.sqrt(1 - rho) * rng.normal(size=10)
        found = Comparison(
            names=("a", "b"),
            metric="accuracy",
            scores=np.column_stack([np.zeros(10), truth + noise]),
            fit_seconds=np.zeros((10, 2)),
            n_labeled=np.full(10, n_train),
            n_test=np.full(10, n_test),
            reference="a",
            confidence=0.9,
        )
        for corrected in covered:
            gap = found.difference("b", corrected=corrected)
            covered[corrected] += gap.low <= truth <= gap.high
    # Nominal 0.9; the standard error of 1000 trials is 0.01.
    assert 0.86 < covered[True] / 1000 < 0.94
    assert covered[False] / 1000 < 0.75


def test_table(comparison):
    rows = comparison.to_rows()
    frame = pd.DataFrame(rows).set_index("estimator")
    assert_allclose(frame["mean"], comparison.scores.mean(axis=0))
    assert_allclose(frame["std"], comparison.scores.std(axis=0, ddof=1))
    assert np.isnan(frame.loc["linear", "difference"])
    gap = comparison.difference("svc")
    assert_allclose(frame.loc["svc", ["difference", "low", "high"]].tolist(), gap)
    won = np.sum(comparison.scores[:, 1] > comparison.scores[:, 0])
    assert frame.loc["rbf", "wins"] == won
    text = str(comparison).splitlines()
    assert len(text) == 5
    assert len({len(line) for line in text[1:]}) == 1  # columns are aligned
    assert "differences from linear" in text[0]
    assert f"{gap.mean:+.3f}" in text[4]


def test_a_single_split(moons):
    found = compare(
        MODELS, *moons, cv=LabelShuffleSplit(1, per_class=3, random_state=0)
    )
    gap = found.difference("rbf")
    assert gap.mean == found.scores[0, 1] - found.scores[0, 0]
    assert np.isnan([gap.low, gap.high]).all()
    assert "nan" in str(found)


def test_reference_and_scoring(moons):
    X, y = moons
    cv = LabelShuffleSplit(3, per_class=3, random_state=0)
    scorer = make_scorer(accuracy_score)
    found = compare(MODELS, X, y, cv=cv, reference="rbf", scoring=scorer)
    assert found.reference == "rbf"
    plain = compare(MODELS, X, y, cv=cv)
    assert_array_equal(found.scores, plain.scores)
    assert_allclose(found.difference("svc"), plain.difference("svc", "rbf"))


def test_progress(moons):
    shares = []
    cv = LabelShuffleSplit(2, per_class=3, random_state=0)
    compare(MODELS, *moons, cv=cv, progress=shares.append)
    assert_allclose(shares, np.arange(1, 7) / 6)


@pytest.mark.parametrize(
    ("estimators", "params", "message"),
    [
        ({}, {}, "estimators is empty"),
        ({"a": 3}, {}, "'a' has no fit"),
        (MODELS, {"reference": "none"}, "reference='none' is not among"),
        (MODELS, {"confidence": 95}, "confidence must be positive and less"),
        (MODELS, {"scoring": ["accuracy"]}, "scoring must be one score"),
        ([*MODELS.values(), LabeledOnly(Ridge())], {}, "mixes classifiers and"),
    ],
)
def test_wrong_parameters(moons, estimators, params, message):
    with pytest.raises(ValueError, match=message):
        compare(estimators, *moons, **params)


def test_wrong_names(comparison):
    with pytest.raises(ValueError, match="'nobody' is not among"):
        comparison.difference("nobody")
    with pytest.raises(ValueError, match="confidence must be positive and less"):
        comparison.difference("rbf", confidence=0)
