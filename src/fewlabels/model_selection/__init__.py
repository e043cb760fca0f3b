"""Choosing with few labels."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.model_selection._choice import ErrorEstimate
from fewlabels.model_selection._chooser import FewLabelsClassifier
from fewlabels.model_selection._engine import BankModel
from fewlabels.model_selection._regressor import FewLabelsRegressor

__all__ = ["BankModel", "ErrorEstimate", "FewLabelsClassifier", "FewLabelsRegressor"]
