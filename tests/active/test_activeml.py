"""The bridge to scikit-activeml, with a stand-in and with the real one."""

# SPDX-License-Identifier: BSD-3-Clause

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons

from fewlabels.active import (
    ActiveLearner,
    ActiveMLSampling,
    QueryByCommittee,
    UncertaintySampling,
)
from fewlabels.datasets import hide_labels


class StandIn:
    """Has the signature of a pool strategy, and remembers what it was given."""

    def query(self, X, y, candidates=None, batch_size=1, return_utilities=False):
        self.given = X, y, candidates
        utilities = np.full((batch_size, len(X)), np.nan)
        utilities[0, candidates] = X[candidates, 0]
        return candidates[np.argsort(-X[candidates, 0])[:batch_size]], utilities


@pytest.fixture(scope="module")
def moons():
    X, y_true = make_moons(60, noise=0.2, random_state=0)
    return X, y_true, hide_labels(y_true, n_labeled=8, random_state=0)


def test_translation(moons):
    X, _, y = moons
    names = np.array(["no", "yes"], dtype=object)[y]
    names[y == -1] = None
    stand_in = StandIn()
    rows, utilities = ActiveMLSampling(stand_in).query(X, names, n_queries=3)
    free = np.flatnonzero(y == -1)
    assert_array_equal(stand_in.given[1], np.where(y == -1, np.nan, y))
    assert_array_equal(stand_in.given[2], free)
    assert_array_equal(rows, free[np.argsort(-X[free, 0])[:3]])
    assert_allclose(utilities[free], X[free, 0])
    assert np.isnan(utilities[y != -1]).all()
    assert ActiveMLSampling(stand_in).query(X, np.full(60, -1)).indices.size == 1
    with pytest.raises(ValueError, match="diversity has no meaning here"):
        ActiveMLSampling(stand_in).query(X, y, diversity=1.0)


def test_without_the_extra(moons, monkeypatch):
    class NeedsClassifier(StandIn):
        def query(self, X, y, clf, candidates=None, **rest):
            return None

    monkeypatch.setitem(sys.modules, "skactiveml.classifier", None)
    with pytest.raises(ImportError, match=r'pip install "fewlabels\[active\]"'):
        ActiveMLSampling(NeedsClassifier()).query(moons[0], moons[2])


@pytest.mark.filterwarnings("ignore")
class TestAgainstScikitActiveML:
    @pytest.fixture
    def theirs(self):
        return pytest.importorskip("skactiveml.pool")

    @pytest.mark.parametrize(
        ("method", "measure"),
        [
            ("least_confident", "least_confidence"),
            ("margin_sampling", "margin"),
            ("entropy", "entropy"),
        ],
    )
    def test_uncertainty(self, theirs, moons, method, measure):
        X, _, y = moons
        other = theirs.UncertaintySampling(method=method, random_state=0)
        found = ActiveMLSampling(other).query(X, y)
        ours = UncertaintySampling(measure=measure).query(X, y)
        assert_array_equal(found.indices, ours.indices)
        assert_array_equal(np.isnan(found.utilities), np.isnan(ours.utilities))
        assert_allclose(found.utilities, ours.utilities, rtol=1e-6)

    def test_committee(self, theirs, moons):
        from skactiveml.classifier import SklearnClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import GaussianNB

        X, _, y = moons
        members = [GaussianNB(), LogisticRegression(), LogisticRegression(C=100)]
        ensemble = [SklearnClassifier(m, classes=[0, 1]) for m in members]
        for method, measure in (
            ("KL_divergence", "consensus_kl"),
            ("vote_entropy", "vote_entropy"),
        ):
            other = theirs.QueryByCommittee(method=method, random_state=0)
            found = ActiveMLSampling(other, query_params={"ensemble": ensemble})
            ours = QueryByCommittee(members, measure=measure).query(X, y)
            # Theirs may be in other units; the order must be the same.
            theirs_u = found.query(X, y).utilities[y == -1]
            ratio = theirs_u.max() / ours.utilities[y == -1].max()
            assert_allclose(theirs_u, ratio * ours.utilities[y == -1], atol=1e-5)

    def test_in_the_loop(self, theirs, moons):
        X, y_true, y = moons
        strategy = ActiveMLSampling(
            theirs.ProbabilisticAL(random_state=0, metric="rbf")
        )
        learner = ActiveLearner(strategy=strategy, batch_size=2, budget=6)
        learner.fit(X, y, oracle=lambda rows: y_true[rows])
        assert learner.n_queries_ == 6
