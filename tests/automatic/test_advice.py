"""What is said about an expected error, and what to do about it."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris, load_wine, make_blobs

from fewlabels import FewLabelsClassifier, FewLabelsRegressor
from fewlabels.automatic import (
    ColumnEffect,
    ErrorEstimate,
    HeldOut,
    LearningCurve,
    _errors,
    _labeled,
    _tuned,
    column_effects,
    errors_above,
    expected_confusions,
    largest_confusions,
    learning_curve,
    suspicious_labels,
    verdict,
)
from fewlabels.automatic._sentences import effect_words, guess_words, halving_words
from fewlabels.datasets import hide_labels


def held_out(codes, p, weights=None):
    codes, p = np.asarray(codes), np.asarray(p, dtype=float)
    weights = np.ones(codes.size) if weights is None else np.asarray(weights)
    return HeldOut(np.arange(codes.size) + 100, codes, p, weights, p)


def wine(per_class=5, seed=0):
    X, y_true = load_wine(return_X_y=True)
    return X, y_true, hide_labels(y_true, per_class=per_class, random_state=seed)


@pytest.fixture(scope="module")
def fitted():
    X, y_true, y = wine()
    return X, y_true, y, FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)


class TestLearningCurve:
    def test_the_usual_power(self):
        curve = learning_curve(20, 0.2)
        assert curve.exponent == 0.3
        expected, least, most = curve.halving()
        assert expected == pytest.approx(20 * 2 ** (1 / 0.3), rel=0.05)  # two digits
        assert least < expected < most
        assert curve.error_with(20) == 0.2
        assert curve.labels_for(0.5) == 20  # there are enough already

    def test_answers_count_the_more_the_more_there_are(self):
        exponents = []
        for n in (40, 400, 40_000):
            wrong = np.arange(n) % 10 < 2
            half = np.arange(n) % 10 < 4  # half of the labels make twice the error
            exponents.append(learning_curve(n, 0.2, wrong, half).exponent)
        assert 0.3 < exponents[0] < exponents[1] < exponents[2]
        assert exponents[2] == pytest.approx(1.0, abs=0.01)

    def test_no_error_at_all(self):
        curve = learning_curve(30, 0.01, np.zeros(30, bool), np.zeros(30, bool))
        assert 0.15 <= curve.low <= curve.exponent <= curve.high <= 1

    def test_an_impossible_error(self):
        with pytest.raises(ValueError, match="error must be above 0, got 0"):
            LearningCurve(10, 0.1, 0.3, 0.1, 0.6).labels_for(0)

    def test_unknown_errors_say_nothing(self):
        assert halving_words(learning_curve(10, np.nan), 100) == ""

    def test_no_more_labels_than_rows_are_asked_for(self):
        curve = learning_curve(30, 0.2)
        assert "about 300 labels in all (90 or more); " in halving_words(curve, 300)
        assert "about 300 labels in all (90 to 3,000)" in halving_words(curve, 3000)
        said = halving_words(curve, 299)
        assert said.startswith("To halve the error would take more labels than there")
        assert said.endswith("(299); twice as many would bring it to about 16 %.")
        assert halving_words(curve, 59).endswith("than there are rows (59).")

    def test_few_labels_do_not_tell_how_many_more_are_needed(self):
        curve = learning_curve(20, 0.2)
        assert halving_words(curve, 39) == ""
        rule = halving_words(curve, 40)
        assert rule.startswith("Label more rows: as a rule, ")
        assert not any(letter.isdigit() for letter in rule)


class TestSureRows:
    def test_all_rows_have_the_expected_error(self, rng):
        """From confidence zero on, both are the same posterior."""
        p = rng.dirichlet([1, 1, 1], size=200)
        held = held_out(rng.integers(3, size=30), rng.dirichlet([1, 1, 1], size=30))
        weights = rng.random(30)
        held = HeldOut(held.rows, held.codes, held.p, weights, held.p)
        labeled = _labeled.Labeled(
            np.eye(3)[held.codes], held.codes, np.arange(30), weights, False
        )
        whole = _errors.expected_error(np.log(held.p), labeled, p.max(axis=1).mean())
        (accepted,) = errors_above(p, held, [0.0])
        assert accepted.n_rows == 200
        assert accepted.share == 1.0
        assert_allclose(
            [accepted.error.value, accepted.error.low, accepted.error.high],
            [whole.value, whole.low, whole.high],
        )

    def test_only_rows_that_are_as_sure_count(self):
        p = np.array([[0.95, 0.05]] * 3 + [[0.6, 0.4]] * 7)
        held = held_out([0, 0, 1], [[0.96, 0.04], [0.97, 0.03], [0.55, 0.45]])
        everything, sure = errors_above(p, held, [0.0, 0.9])
        assert (sure.n_rows, sure.share) == (3, 0.3)
        counts = _tuned.DOUBT_WORTH * 0.05 + _tuned.PRIOR_ERRORS
        total = 2 * _tuned.HELD_OUT_WORTH + _tuned.DOUBT_WORTH + 2 * _tuned.PRIOR_ERRORS
        assert_allclose(sure.error.value, counts / total)
        assert sure.error.value < everything.error.value
        assert errors_above(p, held, [0.99]) == []  # no row is

    def test_unknown_errors_have_shares(self):
        (row,) = errors_above(np.array([[0.9, 0.1]]), None, [0.5], "one label")
        assert (row.share, str(row.error)) == (1.0, "unknown (one label)")

    def test_a_fitted_model(self, fitted):
        *_, model = fitted
        rows = model.errors_above()
        assert rows[0].error.value == pytest.approx(model.expected_error_.value)
        shares = [row.share for row in rows]
        assert shares == sorted(shares, reverse=True)


class TestClasses:
    def test_confusions_add_up_to_the_doubts_and_mistakes(self):
        p = np.array([[0.8, 0.2, 0.0], [0.1, 0.9, 0.0]])
        held = held_out([0, 2], [[0.9, 0.1, 0.0], [0.1, 0.9, 0.0]])
        shares = expected_confusions(p, held)
        h, d = _tuned.HELD_OUT_WORTH, _tuned.DOUBT_WORTH
        by_hand = h * np.array([[1, 0, 0], [0, 0, 0], [0, 1, 0]])
        by_hand = by_hand + d * np.array([[0.4, 0.05, 0], [0.1, 0.45, 0], [0, 0, 0]])
        assert_allclose(shares, by_hand / (2 * h + d))
        first, *_ = largest_confusions(shares, np.array(["a", "b", "c"]))
        assert (first.label, first.truth) == ("a", "b")

    def test_without_unlabelled_rows(self):
        held = held_out([0, 1], [[0.9, 0.1], [0.2, 0.8]])
        shares = expected_confusions(np.empty((0, 2)), held)
        assert_allclose(shares, np.eye(2) / 2)
        assert largest_confusions(shares, np.array([0, 1])) == []

    def test_a_fitted_model(self, fitted):
        _, _, y, model = fitted
        shares = model.expected_confusions()
        assert_allclose(shares.sum(), 1)
        errors = model.class_errors()
        assert [e.label for e in errors] == [0, 1, 2]
        assert [e.n_given for e in errors] == [5, 5, 5]
        assert sum(e.n_predicted for e in errors) == (y < 0).sum()
        # The class in the middle is the one that is confused with both others.
        assert np.argmax([e.wrong + e.missed for e in errors]) == 1
        assert all(0 < e.wrong < 0.5 for e in errors)


class TestSuspiciousLabels:
    def test_by_hand(self):
        p = [[0.9, 0.1], [0.3, 0.7], [0.55, 0.45], *[[0.2, 0.8]] * 4]
        held = held_out([1, 0, 0, 1, 1, 1, 1], p)
        found = suspicious_labels(held, np.array(["a", "b"]), odds=2)
        assert [(s.row, s.label, s.likely) for s in found] == [
            (100, "b", "a"),
            (101, "a", "b"),
        ]
        assert_allclose([s.odds for s in found], [9, 7 / 3])
        (only,) = suspicious_labels(held, np.array(["a", "b"]))
        assert only.row == 100

    def test_a_model_that_contradicts_many_labels_names_none(self):
        p = [[0.9, 0.1]] * 5 + [[0.1, 0.9]] * 5
        held = held_out([1] * 10, p)
        assert suspicious_labels(held, np.array(["a", "b"])) == []

    @pytest.mark.parametrize("load", [load_iris, load_wine])
    def test_wrong_labels_among_fifteen_are_named(self, load):
        X, y_true = load(return_X_y=True)
        planted = named = alarms = 0
        for seed in range(2):
            y = hide_labels(y_true, per_class=5, random_state=seed)
            rows = np.flatnonzero(y >= 0)[[1, 7, 13]]  # one of each class
            y[rows] = (y[rows] + 1) % 3
            model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
            found = {s.row for s in model.suspicious_labels(odds=2)}
            planted += 3
            named += len(found & set(rows))
            alarms += len(found - set(rows))
        assert named >= planted - 1
        assert alarms <= 2

    def test_explained(self):
        X, _, y = wine(seed=1)
        row = int(np.flatnonzero(y == 0)[0])
        y[row] = 2
        model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        text = model.explain()
        assert f"row {row} (2; 0 is more likely)" in text
        assert "counts them as mistakes" in text


class TestColumns:
    def test_what_is_used_matters(self, fitted):
        X, *_, model = fitted
        noise = np.random.default_rng(0).normal(size=(len(X), 1))
        first = model.column_effects(X, n_rows=40)
        assert sorted(e.column for e in first) == list(range(13))
        effects = [e.effect for e in first]
        assert effects == sorted(effects, reverse=True)
        assert 0 < effects[0] < 1

        def by_first(rows):
            q = 1 / (1 + np.exp(-rows[:, 0]))
            return np.column_stack([q, 1 - q])

        wide = np.hstack([X[:, :1] - X[:, :1].mean(), noise])
        used, idle = column_effects(by_first, wide, ["proline", "noise"])
        assert (used.column, idle.column) == ("proline", "noise")
        assert (idle.effect, idle.changed) == (0, 0)
        assert used.changed > 0.2
        assert "proline" in effect_words([used, idle])
        assert "noise" not in effect_words([used, idle])

    def test_features_of_a_column_move_together(self):
        X = np.eye(4)[np.arange(40) % 4]
        seen = []

        def remember(rows):
            seen.append(rows)
            return rows[:, :2]

        column_effects(remember, X, [0, 0, 0, 0])
        assert_allclose(seen[1].sum(axis=1), 1)  # still one of four

    def test_sparse_rows(self):
        X = np.random.default_rng(0).random((30, 3))
        dense = column_effects(lambda rows: rows[:, 0], X, [0, 1, 2])
        thin = column_effects(
            lambda rows: rows.toarray()[:, 0], sparse.csr_array(X), [0, 1, 2]
        )
        assert_allclose([e.effect for e in dense], [e.effect for e in thin])
        assert np.isnan(dense[0].changed)

    def test_wrong_number_of_groups(self):
        with pytest.raises(ValueError, match="one entry per feature, 3 in all"):
            column_effects(lambda rows: rows[:, 0], np.zeros((4, 3)), [0, 1])

    def test_a_single_column_is_no_news(self):
        assert effect_words([ColumnEffect("x", 0.5, 0.5)]) == ""


class TestWords:
    def test_no_better_than_guessing(self):
        error = ErrorEstimate(0.4, 0.2, 0.6)
        assert "50 %" in guess_words(error, 0.5)
        assert guess_words(error, 0.55) == ""  # at the far end of the interval
        assert "no better than giving every row" in verdict(error, 0.5, [])

    def test_the_sure_part_is_named(self):
        p = np.array([[0.99, 0.01]] * 60 + [[0.6, 0.4]] * 40)
        held = held_out([0] * 60 + [1] * 20, [[0.99, 0.01]] * 60 + [[0.6, 0.4]] * 20)
        rows = errors_above(p, held)
        sentence = verdict(ErrorEstimate(0.2, 0.15, 0.3), 0.5, rows)
        assert sentence.startswith("Probably about 20 of 100 predicted labels are wr")
        assert "of the 60 % with a confidence of 0.7 or more, 2 of 100" in sentence

    def test_noise_is_not_told_from_guessing(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(80, 5))
        y = np.full(80, -1)
        y[:12] = np.arange(12) % 2
        model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        assert model.guessing_error_ == pytest.approx(0.5, abs=0.2)
        assert "no better than guessing" in model.explain()
        assert "label more rows" in model.verdict()

    def test_explanation(self, fitted):
        X, *_, model = fitted
        text = model.explain(X)
        assert "Label more rows: as a rule, twice as many" in text  # with 15 labels
        assert "Columns that matter most" in text
        carried = next(line for line in text.splitlines() if "rest on" in line)
        assert " 0 %" not in carried
        assert text == model.explain(X)

    def test_classes_with_a_single_label_are_named(self):
        X, y_true, y = wine(seed=1)
        y[np.flatnonzero(y == 2)[1:]] = -1
        model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        assert model.expected_error_.is_known
        error = np.mean(model.transduction_[y < 0] != y_true[y < 0])
        assert model.expected_error_.low <= error <= model.expected_error_.high
        said = next(line for line in model.advice() if "second row" in line)
        assert said.startswith("Label a second row of '2': ")

    def test_a_label_of_each_class_makes_a_guess(self):
        X, _, y = wine(per_class=1)
        model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        guess = model.expected_error_
        assert guess.is_guess
        assert not guess.is_known
        assert 0 <= guess.low < guess.high <= 1
        differ = np.mean(model.baseline_.predict(X) != model.predict(X))
        assert guess.low == pytest.approx(differ / 2, abs=0.02)
        assert "a guess from how far methods agree" in model.explain()
        assert model.verdict().startswith("Perhaps ")
        assert not any("second row" in line for line in model.advice())

    def test_without_a_judgement(self, fitted):
        X, _, y, _ = fitted
        model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        model.refit_labels(y, estimate_error=False)
        assert np.isnan(model.expected_confusions()).all()
        assert np.isnan(model.class_errors()[0].wrong)
        assert model.suspicious_labels() == []
        assert model.verdict().startswith("Nothing can be said yet")


def test_many_classes_may_be_better_than_held_out_rows_show():
    """Of two labels of each class one is held out: the truth is below that."""
    X, y_true = make_blobs(600, centers=60, n_features=8, random_state=0)
    y = hide_labels(y_true, per_class=2, random_state=0)
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
    error = np.mean(model.transduction_[y < 0] != y_true[y < 0])
    assert model.expected_error_.low <= error <= model.expected_error_.high


def test_regression_explains_itself():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = np.where(np.arange(100) < 30, 3 * X[:, 0], np.nan)
    model = FewLabelsRegressor(bank="fast", random_state=0).fit(X, y)
    text = model.explain(X)
    assert text.startswith("30 known targets, 70 rows without one.")
    assert str(model.expected_error_) in text
    assert model.column_effects(X)[0].column == 0
    noise = np.where(np.arange(100) < 30, rng.normal(size=100), np.nan)
    assert (
        "no better than predicting the mean for every row"
        in model.refit_labels(noise).explain()
    )
