"""Plots of results: Display classes that take an axis, in scikit-learn's style."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.plotting._model_selection import ComparisonDisplay, LabelCurveDisplay
from fewlabels.plotting._reinforcement import TrainingDisplay

__all__ = ["ComparisonDisplay", "LabelCurveDisplay", "TrainingDisplay"]
