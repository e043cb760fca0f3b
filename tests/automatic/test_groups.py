"""Rows that are held out together."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from fewlabels import FewLabelsClassifier, FewLabelsRegressor
from fewlabels.graphs import near_copies


@pytest.fixture
def copied(rng):
    """Noise with 12 random labels, each four times in nearly equal rows."""
    X = rng.normal(size=(120, 15))
    y = np.full(120, -1)
    y[:12] = np.arange(12) % 2
    for k in range(1, 4):
        X[12 * k : 12 * (k + 1)] = X[:12] + 0.02 * rng.normal(size=(12, 15))
        y[12 * k : 12 * (k + 1)] = y[:12]
    return X, y


def test_copies_of_labels_do_not_make_the_error_smaller(copied):
    """Labels of noise are guessed: half of the predictions are wrong."""
    X, y = copied
    naive = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
    assert naive.expected_error_.high < 0.3
    groups = near_copies(X)
    assert np.unique(groups[:48]).size == 12
    honest = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y, groups=groups)
    assert honest.expected_error_.value > 0.3
    assert honest.expected_error_.high > 0.5


def test_groups_are_kept_for_other_labels(copied):
    X, y = copied
    groups = np.where(np.arange(120) < 48, np.arange(120) % 12, np.arange(120))
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y, groups=groups)
    again = model.expected_error_
    model.refit_labels(y)
    assert model.expected_error_ == again


def test_a_group_counts_once(rng):
    """Equal rows in any number give the estimate of single ones."""
    X = np.vstack([rng.normal(size=(30, 4)), rng.normal(size=(30, 4)) + 1.5])
    y = np.repeat([0, 1], 30)
    y[rng.permutation(60)[:40]] = -1
    labeled = np.flatnonzero(y >= 0)
    many = np.concatenate([np.arange(60), np.repeat(labeled, 3)])
    single = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
    copied = FewLabelsClassifier(bank="fast", random_state=0).fit(X[many], y[many])
    width = [m.expected_error_.high - m.expected_error_.low for m in (single, copied)]
    assert width[1] > 0.7 * width[0]


def test_numbers(rng):
    X = rng.normal(size=(80, 10))
    y = np.full(80, np.nan)
    y[:15] = rng.normal(size=15)
    X[15:30], y[15:30] = X[:15] + 0.01 * rng.normal(size=(15, 10)), y[:15]
    groups = np.concatenate([np.arange(15), np.arange(15), np.arange(15, 65)])
    naive = FewLabelsRegressor(bank="fast", random_state=0).fit(X, y)
    honest = FewLabelsRegressor(bank="fast", random_state=0).fit(X, y, groups=groups)
    assert naive.expected_error_.value < 0.5 < honest.expected_error_.value


def test_groups_need_an_entry_per_row(copied):
    X, y = copied
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        FewLabelsClassifier(bank="fast").fit(X, y, groups=[1, 2])
