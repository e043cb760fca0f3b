"""Pictures of training."""

# SPDX-License-Identifier: BSD-3-Clause

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t as student

from fewlabels.plotting import TrainingDisplay
from fewlabels.reinforcement import TrainingHistory

mpl.use("agg")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def make_history(rng, n=40):
    return TrainingHistory(
        returns=rng.normal(size=n),
        lengths=rng.integers(1, 9, size=n),
        evaluated_at=np.array([10, 20]),
        evaluation_returns=rng.normal(size=(2, 3)),
    )


def test_mean_and_band(rng):
    runs = [make_history(rng) for _ in range(5)]
    display = TrainingDisplay({"one": runs, "two": runs[0]}).plot(window=10)
    assert (len(display.lines_), len(display.bands_)) == (2, 1)
    x, y = display.lines_[0].get_data()
    assert_array_equal(x, np.arange(1, 41))
    averages = np.array([run.moving_average(10) for run in runs])
    assert_allclose(y, averages.mean(axis=0), atol=1e-12)
    vertices = display.bands_[0].get_paths()[0].vertices
    heights = np.unique(vertices[vertices[:, 0] == 30, 1])
    half = student.ppf(0.975, 4) * averages[:, 29].std(ddof=1) / np.sqrt(5)
    middle = averages[:, 29].mean()
    assert_allclose(heights, [middle - half, middle + half])
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["one", "two"]


def test_kinds_and_axes(rng):
    run, shorter = make_history(rng), make_history(rng, n=25)
    ax = plt.figure().add_subplot()
    display = TrainingDisplay([run, shorter]).plot("lengths", ax=ax)
    assert display.ax_ is ax
    assert len(display.lines_[0].get_xdata()) == 25  # what both have
    assert ax.get_legend() is None
    display = TrainingDisplay(run).plot("evaluation")
    assert_array_equal(display.lines_[0].get_xdata(), [10, 20])
    assert_allclose(display.lines_[0].get_ydata(), run.evaluation_returns.mean(axis=1))
    assert display.ax_.get_ylabel() == "return without exploration"


def test_wrong_input(rng):
    display = TrainingDisplay(make_history(rng))
    with pytest.raises(ValueError, match="kind"):
        display.plot("loss")
    with pytest.raises(ValueError, match="window"):
        display.plot(window=0)
    with pytest.raises(ValueError, match="confidence"):
        display.plot(confidence=1.0)
    with pytest.raises(ValueError, match="nothing to draw"):
        TrainingDisplay(TrainingHistory()).plot()
