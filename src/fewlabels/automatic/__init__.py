"""Learn from a few labels without choosing a method."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.automatic._choice import ErrorEstimate
from fewlabels.automatic._classifier import FewLabelsClassifier
from fewlabels.automatic._engine import BankModel
from fewlabels.automatic._members import Contribution, Member
from fewlabels.automatic._regressor import FewLabelsRegressor

__all__ = [
    "BankModel",
    "Contribution",
    "ErrorEstimate",
    "FewLabelsClassifier",
    "FewLabelsRegressor",
    "Member",
]
