"""Frames with words, categories, dates and holes go straight into the estimators."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fewlabels import FewLabelsClassifier
from fewlabels.automatic import FewLabelsRegressor

N = 40
KIND = np.arange(N) % 2


@pytest.fixture
def frame(rng):
    size = np.where(rng.random(N) < 0.1, np.nan, 3.0 * KIND + rng.normal(size=N))
    return pd.DataFrame(
        {
            "size": size,
            "colour": pd.Categorical(np.where(KIND, "red", "blue")),
            "when": pd.date_range("2020-01-01", periods=N, freq="9D"),
            "note": [
                f"{('good team', 'hot soup')[k]} of {j}" for j, k in enumerate(KIND)
            ],
        }
    )


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas])
def test_classes(frame, convert):
    X = convert(frame)
    y = np.where(np.arange(N) < 8, KIND, -1)
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
    assert_array_equal(model.predict(X), KIND)
    p = model.predict_proba(X[:5])
    assert_allclose(np.exp(model.predict_log_proba(X[:5])), p)
    assert model.transformer_ is not None


def test_numbers(frame):
    y = np.where(np.arange(N) < 12, 10.0 * KIND, np.nan)
    model = FewLabelsRegressor(bank="fast", random_state=0).fit(frame, y)
    assert np.abs(model.predict(frame) - 10 * KIND).mean() < 3
    assert "12 known targets, 28 rows without one" in model.explain()


def test_frames_of_numbers_are_left_alone(rng):
    X = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc"))
    y = np.where(np.arange(20) < 6, np.arange(20) % 2, -1)
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
    assert model.transformer_ is None
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
