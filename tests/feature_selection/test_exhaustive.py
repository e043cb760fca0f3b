"""All subsets of features."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score

from fewlabels.feature_selection import ExhaustiveFeatureSelector


@pytest.fixture
def trap():
    """Two features that help only together, and one that looks best alone."""
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, 80))
    X = np.c_[u, u + 0.3 * v, v + rng.normal(size=80), rng.normal(size=80)]
    return X, v


def test_never_worse_than_greedy(trap):
    X, y = trap
    cv = KFold(4)
    best = ExhaustiveFeatureSelector(Ridge(0.1), 2, cv=cv).fit(X, y)
    greedy = SequentialFeatureSelector(Ridge(0.1), n_features_to_select=2, cv=cv)
    chosen = greedy.fit(X, y).get_support()
    score = cross_val_score(Ridge(0.1), X[:, chosen], y, cv=cv).mean()
    assert best.score_ > score  # greedy falls into the trap
    assert_array_equal(best.get_support(indices=True), [0, 1])
    assert best.scores_[(0, 1)] == best.score_


def test_all_sizes(trap):
    X, y = trap
    selector = ExhaustiveFeatureSelector(Ridge(0.1), cv=3).fit(X, y)
    assert len(selector.scores_) == 2**4 - 1
    assert selector.score_ == max(selector.scores_.values())
    assert selector.transform(X).shape == (80, selector.support_.sum())


def test_without_targets(trap):
    X, _ = trap
    model = KMeans(2, n_init=1, random_state=0)
    selector = ExhaustiveFeatureSelector(model, 1, cv=2).fit(X)
    assert selector.support_.sum() == 1


def test_a_score_of_nan_is_never_the_best(trap):
    X, y = trap

    def without_the_first(model, X_test, y_test):
        return np.nan if X_test[0, 0] in X[:, 0] else model.score(X_test, y_test)

    selector = ExhaustiveFeatureSelector(Ridge(0.1), scoring=without_the_first, cv=3)
    assert not selector.fit(X, y).support_[0]
    assert np.isfinite(selector.score_)
    with pytest.raises(ValueError, match="the score nan"):
        selector.fit(X[:, [0]], y)


def test_refusals(trap):
    X, y = trap
    with pytest.raises(ValueError, match="15 subsets of 4 features"):
        ExhaustiveFeatureSelector(Ridge(), max_subsets=10).fit(X, y)
    with pytest.raises(ValueError, match="n_features_to_select=5 is more than"):
        ExhaustiveFeatureSelector(Ridge(), 5).fit(X, y)
