"""Core: learn from a few labels without choosing a method."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.automatic._classifier import FewLabelsClassifier
from fewlabels.automatic._curve import LearningCurve, learning_curve
from fewlabels.automatic._diagnostics import (
    AcceptedRows,
    ClassError,
    Confusion,
    HeldOut,
    SuspiciousLabel,
    class_errors,
    errors_above,
    expected_confusions,
    largest_confusions,
    suspicious_labels,
)
from fewlabels.automatic._effects import ColumnEffect, column_effects
from fewlabels.automatic._errors import ErrorEstimate
from fewlabels.automatic._members import Contribution, Member
from fewlabels.automatic._model import BankModel
from fewlabels.automatic._recipe import bank_for
from fewlabels.automatic._regressor import FewLabelsRegressor
from fewlabels.automatic._sentences import verdict

__all__ = [
    "AcceptedRows",
    "BankModel",
    "ClassError",
    "ColumnEffect",
    "Confusion",
    "Contribution",
    "ErrorEstimate",
    "FewLabelsClassifier",
    "FewLabelsRegressor",
    "HeldOut",
    "LearningCurve",
    "Member",
    "SuspiciousLabel",
    "bank_for",
    "class_errors",
    "column_effects",
    "errors_above",
    "expected_confusions",
    "largest_confusions",
    "learning_curve",
    "suspicious_labels",
    "verdict",
]
