"""The automatic regressor."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.datasets import make_blobs, make_swiss_roll

from fewlabels.automatic import FewLabelsRegressor, _regressor
from fewlabels.automatic._errors import root_mean_square
from fewlabels.automatic._intervals import cross_ends
from fewlabels.automatic._judge import judge
from fewlabels.automatic._labeled import Labeled


def roll(n=500, n_known=30, seed=0):
    X, t = make_swiss_roll(n, noise=0.1, random_state=seed)
    return X, t, np.where(np.arange(n) < n_known, t, np.nan)


@pytest.fixture(scope="module")
def fitted():
    X, t, y = roll()
    return X, t, y, FewLabelsRegressor(random_state=0).fit(X, y)


def error(a, b):
    return np.sqrt(np.mean((a - b) ** 2))


def test_better_than_supervised_where_targets_follow_clusters():
    X, cluster = make_blobs(300, 30, centers=5, cluster_std=4.0, random_state=0)
    t = np.array([0.0, 3.0, -2.0, 7.0, 1.0])[cluster]
    y = np.where(np.arange(300) < 15, t, np.nan)
    model = FewLabelsRegressor(random_state=0).fit(X, y)
    holes = np.isnan(y)
    own = error(model.transduction_[holes], t[holes])
    assert own < 0.5 * error(model.baseline_.predict(X)[holes], t[holes])
    assert_array_equal(model.transduction_[~holes], y[~holes])
    families = model.candidates_["family"]
    assert model.candidates_["weight"][families == "linear"].sum() < 0.2


def test_expected_error(fitted):
    _, t, y, model = fitted
    holes = np.isnan(y)
    estimate = model.expected_error_
    assert estimate.low < error(model.transduction_[holes], t[holes]) < estimate.high
    assert model.baseline_error_.is_known
    assert str(estimate).startswith(f"{estimate.value:.3g} (")


def test_new_rows(fitted):
    *_, model = fitted
    X, t, _ = roll(seed=1)
    assert model.score(X, t) > 0.9


def test_holes_do_not_count_in_the_score(fitted):
    X, t, y, model = fitted
    known = ~np.isnan(y)
    assert_allclose(model.score(X, y), model.score(X[known], t[known]))


def test_units_do_not_matter(fitted):
    X, _, y, model = fitted
    other = FewLabelsRegressor(random_state=0).fit(X, 1e3 * y - 7)
    assert_allclose(other.predict(X), 1e3 * model.predict(X) - 7, rtol=1e-6)
    assert_allclose(
        other.expected_error_.value, 1e3 * model.expected_error_.value, rtol=1e-6
    )


def test_other_targets_on_the_same_bank(fitted):
    X, t, _, _ = fitted
    _, _, y = roll(n_known=40)
    fresh = FewLabelsRegressor(bank="fast", random_state=0).fit(X, y)
    other = np.where(np.arange(t.size) < 450, np.nan, t)
    model = FewLabelsRegressor(bank="fast", random_state=0).fit(X, other)
    model.refit_labels(y)
    assert_allclose(model.predict(X), fresh.predict(X))
    model.refit_labels(y, estimate_error=False)
    assert_allclose(model.predict(X), fresh.predict(X))
    assert not model.expected_error_.is_known
    assert not model.baseline_error_.is_known
    with pytest.raises(ValueError, match="fit has seen 500 rows"):
        model.refit_labels(y[1:])


@pytest.mark.parametrize(
    "known", [[3.0], [2.0, 2.0], [1.0, 2.0], [0.0, 1.0, 5.0]], ids=str
)
def test_hardly_any_targets(known):
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.full(30, np.nan)
    y[: len(known)] = known
    model = FewLabelsRegressor(random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X + 0.1)).all()
    assert model.expected_error_.is_known == (len(known) > 1)


def test_equal_rows_with_different_targets():
    X = np.zeros((6, 2))
    y = np.array([1.0, 2.0, 3.0, np.nan, np.nan, np.nan])
    model = FewLabelsRegressor(random_state=0).fit(X, y)
    assert_allclose(model.transduction_[3:], 2.0)


def labeled_targets(Y):
    n = len(Y)
    rows = np.arange(n)
    return Labeled(Y[:, None], 0 * rows, rows, np.ones(n), few=False, regression=True)


class TestInterval:
    """Of the root mean square error, from residuals alone."""

    @pytest.mark.parametrize("n_labeled", [8, 30])
    @pytest.mark.parametrize("tails", ["normal", "t3", "squares", "equal"])
    def test_coverage_for_independent_residuals(self, tails, n_labeled):
        rng = np.random.default_rng(0)
        make = {
            "normal": rng.standard_normal,
            "t3": lambda size: rng.standard_t(3, size),
            "squares": lambda size: rng.standard_normal(size) ** 2 - 1,
            "equal": lambda size: rng.choice([-1.0, 1.0], size),
        }[tails]
        n_inside = 0
        for _ in range(400):
            held, others = make(n_labeled), make(150)
            estimate = root_mean_square(
                np.zeros((n_labeled, 1)), labeled_targets(held), 1.0, 150
            )
            assert_allclose(estimate.value, np.sqrt(np.mean(held**2)))
            n_inside += estimate.low <= np.sqrt(np.mean(others**2)) <= estimate.high
        assert n_inside >= 0.88 * 400

    def test_widths(self):
        rng = np.random.default_rng(0)
        light, heavy = rng.choice([-1.0, 1.0], 30), rng.standard_t(2, 30)

        def width(residuals, n_rows=200):
            nothing = np.zeros((residuals.size, 1))
            given = labeled_targets(residuals)
            found = root_mean_square(nothing, given, 2.0, n_rows)
            return found.high / found.low

        assert width(light) < width(light[:10])
        assert width(light) < width(heavy)
        assert width(light, 0) < width(light, 200) < width(light, 5)
        assert_allclose(width(1e-200 * heavy), width(heavy))
        exact = root_mean_square(np.ones((4, 1)), labeled_targets(np.ones(4)), 1.0, 9)
        assert (exact.low, exact.value, exact.high) == (0.0, 0.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("design", [("linear", 10), ("heavy tails", 10)], ids=str)
def test_coverage_of_the_whole_regressor(design):
    """Of 30 draws that have been used for nothing else; 0.9 less two deviations."""
    from benchmarks.regression_intervals import one_draw

    draws = [one_draw((*design, 5000 + number)) for number in range(30)]
    inside = [draw["low"] <= draw["true"] <= draw["high"] for draw in draws]
    assert np.mean(inside) >= 0.8


def interval_coverage(n_draws, n_known, noise):
    """Share of the unknown targets inside intervals of 80 %, over draws of rows."""
    inside = []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(150, 3))
        t = X[:, 0] + np.sin(2 * X[:, 1]) + noise(rng, 150)
        y = np.where(np.arange(150) < n_known, t, np.nan)
        model = FewLabelsRegressor(bank="fast", random_state=0).fit(X, y)
        new = X[n_known:]
        value, low, high = model.predict(new, return_interval=0.8)
        assert_allclose(value, model.predict(new))
        inside.append(np.mean((low <= t[n_known:]) & (t[n_known:] <= high)))
    return np.mean(inside)


def test_intervals_cover():
    found = interval_coverage(6, 30, lambda rng, n: 0.3 * rng.normal(size=n))
    assert 0.7 <= found <= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("n_known", [12, 40])
@pytest.mark.parametrize(
    "noise",
    [
        lambda rng, n: 0 * rng.normal(size=n),
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: 0.3 * rng.standard_t(2, size=n),
    ],
)
def test_intervals_cover_at_their_level(n_known, noise):
    # Draws differ by about 0.1 with a dozen targets: 0.04 is two standard errors.
    assert interval_coverage(25, n_known, noise) >= 0.8 - 0.04


def test_ends_are_those_of_the_definition():
    """Every known target proposes an interval; few of them may lie beyond an end."""
    rng = np.random.default_rng(0)
    centers, scales = rng.normal(size=(7, 4)), rng.random((7, 4)) + 0.5
    scores, fold_of = rng.random(23), rng.integers(4, size=23)
    low, high = cross_ends(centers, scales, scores, fold_of, 0.8)
    for row in range(7):
        middle, reach = centers[row, fold_of], scores * scales[row, fold_of]
        # ceil(0.8 * 24) = 20 of 23 reach no further.
        assert high[row] == sorted(middle + reach)[19]
        assert low[row] == sorted(middle - reach, reverse=True)[19]


def noisy_column(n, n_known, seed):
    """Targets whose noise grows with a column that says nothing else about them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    noise = 0.3 * np.exp(X[:, 2])
    t = X[:, 0] + noise * rng.normal(size=n)
    return X, t, noise, np.where(np.arange(n) < n_known, t, np.nan)


def test_widths_follow_the_noise():
    X, t, noise, y = noisy_column(300, 100, 0)
    model = FewLabelsRegressor(bank="fast", random_state=0).fit(X, y)
    holes = np.isnan(y)
    _, low, high = model.predict(X[holes], return_interval=0.8)
    assert spearmanr(high - low, noise[holes]).statistic > 0.7
    assert 0.7 < np.mean((low <= t[holes]) & (t[holes] <= high)) < 0.9
    # They are narrower, on average, than those of one width for all.
    off = np.abs(model.predict(X[holes]) - t[holes])
    assert np.mean(high - low) < 0.9 * 2 * np.quantile(off, 0.8)


def test_folds_are_what_held_out_rows_were_predicted_by(monkeypatch):
    found = []

    def noted(*args, **options):
        found.append(judge(*args, **options))
        return found[-1]

    monkeypatch.setattr(_regressor, "judge", noted)
    X, _, _, y = noisy_column(120, 30, 0)
    model = FewLabelsRegressor(bank="fast", random_state=0).fit(X, y)
    (judgement,) = found
    rows, fold_of = judgement.labeled.distinct, model._scores.fold_of
    own = model._folds.training_outputs[rows, fold_of]
    # Candidates of next to no weight are left out.
    assert_allclose(own, judgement.nested.outputs[:, 0], atol=0.02)


def test_a_fold_does_not_know_its_block():
    X, _, _, y = noisy_column(80, 12, 1)
    model = FewLabelsRegressor(bank="fast", random_state=0).fit(X, y)
    (fold,) = model._scores.fold_of[:1]

    def outputs():
        return model._mean + model._unit * model._folds.training_outputs[:, fold]

    before = outputs()
    y[0] += 100.0
    model.refit_labels(y)
    # Forests are weighted by what they were worth with this target.
    assert_allclose(outputs(), before, atol=0.05)


def test_intervals_of_too_few_targets_are_infinite():
    X = np.arange(12.0)[:, None]
    y = np.where(np.arange(12) < 5, X[:, 0], np.nan)
    model = FewLabelsRegressor(bank="fast", random_state=0).fit(X, y)
    _, low, high = model.predict(X, return_interval=0.9)
    assert np.isinf(low).all()
    assert np.isinf(high).all()
    _, low, high = model.predict(X, return_interval=0.5)
    assert np.isfinite(low).all()
    assert (low <= high).all()
    for level in (0, 1, 90):
        with pytest.raises(ValueError, match="return_interval"):
            model.predict(X, return_interval=level)


def test_intervals_in_another_unit():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(np.arange(60) < 30, X[:, 0], np.nan)
    low = [
        FewLabelsRegressor(bank="fast", random_state=0)
        .fit(X, unit * y)
        .predict(X, return_interval=0.9)[1]
        / unit
        for unit in (1.0, 1e6)
    ]
    assert_allclose(low[0], low[1], atol=1e-6)
