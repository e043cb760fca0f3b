"""Hints: opinions of other sources besides a few labels."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification

from fewlabels import FewLabelsClassifier

NAMES = np.array(["a", "b"], dtype=object)


@pytest.fixture(scope="module")
def problem():
    X, y = make_classification(
        400, 8, n_informative=3, flip_y=0.05, class_sep=0.7, random_state=0
    )
    rng = np.random.default_rng(0)
    labels = NAMES[y]
    labels[rng.permutation(400)[20:]] = None
    good = NAMES[np.where(rng.random(400) < 0.85, y, 1 - y)]
    return X, NAMES[y], labels, good


def model():
    return FewLabelsClassifier(bank="fast", random_state=0)


def error(found, truth, labels):
    free = labels == None  # noqa: E711
    return np.mean(found[free] != truth[free])


@pytest.fixture(scope="module")
def alone(problem):
    X, truth, labels, _ = problem
    return error(model().fit(X, labels).transduction_, truth, labels)


@pytest.fixture(scope="module")
def hinted(problem):
    X, _, labels, good = problem
    return model().fit(X, labels, hints={"llm": good})


def test_a_good_source_is_used(problem, alone, hinted):
    _, truth, labels, good = problem
    own = error(hinted.transduction_, truth, labels)
    assert own < alone
    assert own <= error(good, truth, labels) + 0.02
    assert hinted.expected_error_.low <= own <= hinted.expected_error_.high
    (source,) = hinted.sources_
    assert source.accuracy == pytest.approx(0.85, abs=0.1)


def test_predictions_with_and_without_hints(problem, hinted):
    X, _, labels, good = problem
    free = labels == None  # noqa: E711
    with_hints = hinted.predict(X, hints=good)
    np.testing.assert_array_equal(with_hints[free], hinted.transduction_[free])
    np.testing.assert_allclose(
        hinted.predict_proba(X, {"llm": good}), hinted.label_distributions_
    )
    silent = np.full(400, None)
    np.testing.assert_allclose(
        hinted.decision_function(X, silent), hinted.decision_function(X)
    )
    assert np.mean(with_hints != hinted.predict(X)) > 0.02


def test_new_rows_profit_from_what_was_taught(problem, hinted):
    X, truth, labels, _ = problem
    before = model().fit(X, labels)
    Z = X + 1e-3  # not the rows of fit, so nothing is looked up
    assert np.mean(hinted.predict(Z) != truth) < np.mean(before.predict(Z) != truth)


@pytest.mark.parametrize("kind", ["useless", "adversarial"])
def test_a_bad_source_costs_little(problem, alone, kind):
    X, truth, labels, good = problem
    rng = np.random.default_rng(3)
    bad = (
        rng.permutation(good) if kind == "useless" else np.where(good == "a", "b", "a")
    )
    fitted = model().fit(X, labels, hints={kind: bad})
    assert error(fitted.transduction_, truth, labels) < alone + 0.02


def test_no_labels_at_all(problem):
    X, truth, _, good = problem
    rng = np.random.default_rng(4)
    other = NAMES[
        np.where(rng.random(400) < 0.75, truth == "b", truth == "a").astype(int)
    ]
    nothing = np.full(400, None)
    fitted = model().fit(X, nothing, hints={"llm": good, "rule": other})
    assert np.mean(fitted.transduction_ != truth) < np.mean(good != truth)
    assert fitted.expected_error_.is_guess
    assert "no labels of two classes" in str(fitted.expected_error_)
    assert "no label to check it against" in fitted.explain()
    one = nothing.copy()
    one[0] = truth[0]
    assert model().fit(X, one, hints={"llm": good}).classes_.tolist() == ["a", "b"]


def test_names_that_match_no_class_are_said(problem):
    X, _, labels, good = problem
    odd = np.where(np.arange(400) < 30, "refund", good)
    with pytest.warns(UserWarning, match="'refund' \\(30 rows\\) is not the name"):
        fitted = model().fit(X, labels, hints={"llm": odd})
    assert fitted.sources_[0].coverage == pytest.approx(370 / 400, abs=1e-3)


def test_probabilities_and_abstentions(problem, alone):
    X, truth, labels, _ = problem
    rng = np.random.default_rng(5)
    p = np.clip((truth == "b") * 0.6 + rng.normal(0.2, 0.2, 400), 0.02, 0.98)
    P = np.column_stack([1 - p, p])
    P[::3] = np.nan
    fitted = model().fit(X, labels, hints=P)
    assert fitted.sources_[0].coverage == pytest.approx(2 / 3, abs=0.01)
    assert error(fitted.transduction_, truth, labels) < alone


def test_other_labels_keep_the_hints(problem, hinted):
    X, truth, labels, good = problem
    more = labels.copy()
    more[:40] = truth[:40]
    refitted = pickle.loads(pickle.dumps(hinted))  # cannot learn
    with pytest.raises(ValueError, match="call fit"):
        refitted.refit_labels(more)
    own = model().fit(X, labels, hints={"llm": good}).refit_labels(more)
    whole = model().fit(X, more, hints={"llm": good})
    np.testing.assert_array_equal(own.transduction_, whole.transduction_)
    quick = own.refit_labels(labels, estimate_error=False)
    np.testing.assert_array_equal(quick.transduction_, hinted.transduction_)
    assert not quick.expected_error_.is_known


def test_files_keep_what_predictions_need(problem, hinted):
    X, _, _, good = problem
    loaded = pickle.loads(pickle.dumps(hinted))
    np.testing.assert_array_equal(
        loaded.predict(X, hints=good), hinted.predict(X, hints=good)
    )
    small = hinted.compact(transduction=False)
    assert np.mean(small.predict(X, good) != hinted.predict(X + 1e-9, good)) < 0.02
    assert small.sources_ == hinted.sources_


def test_hints_need_hints_in_fit(problem):
    X, _, labels, good = problem
    with pytest.raises(ValueError, match="pass hints to fit too"):
        model().fit(X, labels).predict(X, hints=good)
    with pytest.raises(ValueError, match="hints has 3 rows but X has 400"):
        model().fit(X, labels, hints=["a", "b", "a"])


def test_the_text_names_every_source(hinted):
    text = hinted.explain()
    assert "Hints 'llm': speaks for 100 % of the rows; probably" in text
    assert "were learned from as uncertain labels" in text


def test_one_label_of_each_class(problem):
    X, truth, _, good = problem
    labels = np.full(400, None)
    for name in NAMES:
        labels[np.flatnonzero(truth == name)[0]] = name
    fitted = model().fit(X, labels, hints={"llm": good})
    alone = model().fit(X, labels).transduction_
    assert error(fitted.transduction_, truth, labels) < error(alone, truth, labels)
    assert not fitted.expected_error_.is_known
