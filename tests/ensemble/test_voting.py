"""Majority vote with rejection."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from fewlabels import unlabeled_mask
from fewlabels.ensemble import RejectVotingClassifier, majority_vote

VOTERS = [
    ("logistic", LogisticRegression(C=0.01, max_iter=1000)),
    ("bayes", GaussianNB()),
    ("tree", DecisionTreeClassifier(max_depth=2, random_state=0)),
    ("neighbours", KNeighborsClassifier(1)),
]


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    noise = np.random.default_rng(0).normal(size=X.shape)
    return X + noise, y


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5, 1.0]])
def test_without_rejection_it_is_the_vote_of_scikit_learn(iris, weights):
    X, y = iris
    theirs = VotingClassifier(VOTERS, weights=weights).fit(X[::2], y[::2])
    for alpha in (0.0, 0.2, 1 / 3):
        ours = RejectVotingClassifier(VOTERS, alpha=alpha, weights=weights)
        ours.fit(X[::2], y[::2])
        assert_array_equal(ours.predict(X), theirs.predict(X))


def test_only_unanimous_votes(iris):
    X, y = iris
    model = RejectVotingClassifier(VOTERS, alpha=1.0).fit(X[::2], y[::2])
    votes = np.array([voter.predict(X) for voter in model.estimators_])
    unanimous = (votes == votes[0]).all(axis=0)
    assert 0 < unanimous.sum() < 150
    assert_array_equal(model.predict(X), np.where(unanimous, votes[0], -1))


def test_rejections_grow_with_alpha(iris):
    X, y = iris
    counts = []
    for alpha in np.linspace(0, 1, 11):
        model = RejectVotingClassifier(VOTERS, alpha=alpha).fit(X[::2], y[::2])
        counts.append(int(unlabeled_mask(model.predict(X)).sum()))
    assert counts == sorted(counts)
    assert counts[0] == 0 < counts[-1]


def test_ties_go_to_the_lowest_class():
    vote = majority_vote(np.array([[2, 1], [1, 2]]), n_classes=3)
    assert_array_equal(vote.winners, [1, 1])
    assert_allclose(vote.shares, [[0, 0.5, 0.5]] * 2)


@pytest.mark.parametrize("n_voters", range(1, 30))
def test_a_share_is_counted_without_rounding_errors(n_voters):
    votes = np.zeros((n_voters + 1, n_voters), dtype=int)
    for k in range(n_voters + 1):
        votes[k, k:] = 1 + np.arange(n_voters - k)  # k votes for 0, the rest scattered
    for k in range(1, n_voters + 1):
        alpha = 1 - (n_voters - k) / n_voters
        found = majority_vote(votes, n_classes=n_voters + 1, alpha=alpha).winners
        assert_array_equal(found[k:], 0)
        assert (found[2:k] == -1).all()


@pytest.mark.parametrize("weights", [[1.0], [-1.0, 2.0], [0.0, 0.0]])
def test_bad_weights(weights):
    with pytest.raises(ValueError, match="weights must be 2 non-negative"):
        majority_vote(np.zeros((3, 2), dtype=int), n_classes=2, weights=weights)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (np.array(["a", "b", "c"]), "O"),
        (np.array(["a", "b", "c"], dtype=object), "O"),
        (np.array([0.0, 1.0, 2.0]), "f"),
        (np.array([3, 4, 5]), "i"),
    ],
)
def test_rejected_rows_have_no_label_of_their_type(iris, names, kind):
    X, y = iris
    model = RejectVotingClassifier(VOTERS, alpha=1.0).fit(X[::2], names[y][::2])
    answer = model.predict(X)
    assert answer.dtype.kind == kind
    plain = RejectVotingClassifier(VOTERS, alpha=1.0).fit(X[::2], y[::2]).predict(X)
    assert_array_equal(unlabeled_mask(answer), plain == -1)
    assert_array_equal(answer[plain >= 0], names[plain[plain >= 0]])


@pytest.mark.parametrize("names", [[0, 1, 2], ["a", "b", "c"], [0.0, 1.0, 2.0]])
def test_rejected_rows_count_as_wrong(iris, names):
    X, y = iris
    plain = RejectVotingClassifier(VOTERS, alpha=1.0).fit(X[::2], y[::2])
    right = plain.predict(X) == y
    named = np.array(names)[y]
    model = RejectVotingClassifier(VOTERS, alpha=1.0).fit(X[::2], named[::2])
    assert_allclose(model.score(X, named), right.mean())
    weights = np.linspace(1, 2, 150)
    assert_allclose(model.score(X, named, weights), np.average(right, weights=weights))


def test_rows_without_a_true_label_are_not_scored(iris):
    X, y = iris
    model = RejectVotingClassifier(VOTERS).fit(X[::2], y[::2])
    holes = np.where(np.arange(150) < 50, y, -1)
    assert_allclose(model.score(X, holes), model.score(X[:50], y[:50]))
    with pytest.raises(ValueError, match="no labelled row to score"):
        model.score(X, np.full(150, -1))


def test_unlabelled_rows_and_weights(iris):
    X, y = iris
    voters = [v for v in VOTERS if v[0] != "neighbours"]
    holes = np.where(np.arange(150) % 2 == 0, y, -1)
    weights = np.linspace(1, 2, 150)
    a = RejectVotingClassifier(voters).fit(X, holes, sample_weight=weights)
    b = RejectVotingClassifier(voters, alpha=0).fit(
        X[::2], y[::2], sample_weight=weights[::2]
    )
    assert_array_equal(a.vote_shares(X), b.vote_shares(X))
    assert_array_equal(a.transduction_[1::2], b.predict(X[1::2]))


def test_parameters_of_voters_can_be_searched():
    """A stump cannot tell three classes apart, two levels can."""
    X, y = load_iris(return_X_y=True)
    tree = ("tree", DecisionTreeClassifier(random_state=0))
    search = GridSearchCV(
        RejectVotingClassifier([tree]), {"tree__max_depth": [1, 2]}, cv=2
    ).fit(X, y)
    assert search.best_params_ == {"tree__max_depth": 2}
    assert search.best_estimator_.estimators_[0].get_depth() == 2
    stump, two_levels = search.cv_results_["mean_test_score"]
    assert stump < 0.7
    assert two_levels > 0.9


def test_no_y(iris):
    with pytest.raises(ValueError, match="requires y to be passed"):
        RejectVotingClassifier(VOTERS).fit(iris[0], None)


@pytest.mark.parametrize("votes", [[[0, 2]], [[0, -1]]])
def test_votes_for_no_class(votes):
    """A vote of -1 must not count for the last class."""
    with pytest.raises(ValueError, match="votes must be indices of classes"):
        majority_vote(np.array(votes), n_classes=2)


def test_a_share_above_one():
    with pytest.raises(ValueError, match=r"alpha must be at least 0 and at most 1"):
        majority_vote(np.array([[0, 1]]), n_classes=2, alpha=1.5)
