"""Pictures of learning curves and comparisons."""

# SPDX-License-Identifier: BSD-3-Clause

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose, assert_array_equal

from fewlabels.model_selection import Comparison, LabelCurve
from fewlabels.plotting import ComparisonDisplay, LabelCurveDisplay

mpl.use("agg")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def make_curve(rng, n_unlabeled=(0, 10, 1000), n_repeats=4, metric="accuracy"):
    shape = (2, 3, len(n_unlabeled), n_repeats)
    return LabelCurve(
        names=("one", "two"),
        metric=metric,
        n_labels=np.array([2, 10, 50]),
        n_unlabeled=np.array(n_unlabeled),
        scores=rng.uniform(0.5, 1, size=shape),
        fit_seconds=np.ones(shape),
        n_test=30,
    )


def make_comparison(rng, n_splits=6, names=("one", "two", "three")):
    return Comparison(
        names=names,
        metric="accuracy",
        scores=rng.uniform(0.5, 1, size=(n_splits, len(names))),
        fit_seconds=np.ones((n_splits, len(names))),
        n_labeled=np.full(n_splits, 10),
        n_test=np.full(n_splits, 90),
        reference="two" if len(names) > 1 else names[0],
        confidence=0.9,
    )


class TestLabelCurve:
    def test_against_labels(self, rng):
        curve = make_curve(rng)
        display = LabelCurveDisplay(curve).plot()
        assert len(display.lines_) == len(display.bands_) == 2
        x, y = display.lines_[1].get_data()
        assert_array_equal(x, curve.n_labels)
        assert_allclose(y, 1 - curve.scores[1, :, -1].mean(axis=1))
        assert display.ax_.get_ylabel() == "error"
        labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert labels == ["one", "two"]
        ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
        assert ticks == ["2", "10", "50"]

    def test_against_unlabelled_rows(self, rng):
        curve = make_curve(rng)
        ax = plt.figure().add_subplot()
        display = LabelCurveDisplay(curve).plot("unlabeled", ax=ax, as_error=False)
        assert display.ax_ is ax
        assert display.figure_ is ax.figure
        assert len(display.lines_) == 6
        x, y = display.lines_[4].get_data()
        assert_array_equal(x, curve.n_unlabeled)
        assert_allclose(y, curve.scores[1, 1].mean(axis=1))
        assert display.lines_[4].get_label() == "two, 10 labels"
        assert ax.get_ylabel() == "accuracy"
        display.figure_.canvas.draw()  # zero has its place on the axis
        assert ax.transData.transform((0, 0))[0] < ax.transData.transform((10, 0))[0]

    def test_bands_are_standard_errors(self, rng):
        curve = make_curve(rng)
        display = LabelCurveDisplay(curve).plot()
        values = 1 - curve.scores[0, 0, -1]
        at_first = display.bands_[0].get_paths()[0].vertices
        heights = np.unique(at_first[at_first[:, 0] == 2, 1])
        error = values.std(ddof=1) / 2
        assert_allclose(heights, [values.mean() - error, values.mean() + error])

    def test_a_single_point_and_repetition(self, rng):
        curve = make_curve(rng, n_unlabeled=(0,), n_repeats=1)
        display = LabelCurveDisplay(curve).plot("unlabeled")
        display.figure_.canvas.draw()
        assert display.bands_ == []
        assert len(display.lines_) == 6

    @pytest.mark.parametrize(
        ("metric", "name"),
        [
            ("accuracy", "error"),
            ("neg_log_loss", "log_loss"),
            ("roc_auc", "1 - roc_auc"),
        ],
    )
    def test_what_the_axis_says(self, rng, metric, name):
        display = LabelCurveDisplay(make_curve(rng, metric=metric)).plot()
        assert display.ax_.get_ylabel() == name

    def test_labels_that_others_need(self, rng):
        curve = make_curve(rng)
        curve.scores[0] = 0.8
        curve.scores[1] = np.array([0.7, 0.9, 0.95])[:, None, None]
        display = LabelCurveDisplay(curve).plot(reference="one")
        assert_allclose(display.goal_.get_ydata(), 0.2)
        (mark,) = display.marks_
        assert_allclose(mark.get_data(), ([6], [0.2]), rtol=1e-6)
        assert mark.get_color() == display.lines_[1].get_color()
        with pytest.raises(ValueError, match="reference='three' is not among"):
            LabelCurveDisplay(curve).plot(reference="three")
        with pytest.raises(ValueError, match="reference needs against='labels'"):
            LabelCurveDisplay(curve).plot("unlabeled", reference="one")

    def test_wrong_axis(self, rng):
        with pytest.raises(ValueError, match="against must be"):
            LabelCurveDisplay(make_curve(rng)).plot("time")


class TestComparison:
    def test_differences(self, rng):
        found = make_comparison(rng)
        display = ComparisonDisplay(found).plot()
        names = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert names == ["one", "three"]
        dots = display.ax_.collections[0].get_offsets()
        assert_allclose(dots[:, 0], found.scores[:, 0] - found.scores[:, 1])
        gap = found.difference("one")
        bars = display.ax_.containers[0].lines[2][0].get_segments()[0]
        assert_allclose(bars[:, 0], [gap.low, gap.high])
        assert "90 % interval" in display.ax_.get_xlabel()

    def test_scores(self, rng):
        found = make_comparison(rng)
        ax = plt.figure().add_subplot()
        display = ComparisonDisplay(found).plot("scores", ax=ax)
        assert display.ax_ is ax
        names = [text.get_text() for text in ax.get_yticklabels()]
        assert names == ["one", "two", "three"]
        assert_allclose(ax.collections[2].get_offsets()[:, 0], found.scores[:, 2])

    def test_a_single_split(self, rng):
        display = ComparisonDisplay(make_comparison(rng, n_splits=1)).plot()
        display.figure_.canvas.draw()
        assert len(display.ax_.containers) == 2

    def test_only_the_reference(self, rng):
        display = ComparisonDisplay(make_comparison(rng, names=("one",)))
        with pytest.raises(ValueError, match="only the reference"):
            display.plot()
        assert display.plot("scores").ax_.get_xlabel().startswith("accuracy")

    def test_wrong_kind(self, rng):
        with pytest.raises(ValueError, match="kind must be"):
            ComparisonDisplay(make_comparison(rng)).plot("bars")
