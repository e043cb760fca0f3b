"""Core: learn from a few labels without choosing a method."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.automatic._advice import (
    AcceptedRows,
    ClassError,
    ColumnEffect,
    Confusion,
    HeldOut,
    LearningCurve,
    SuspiciousLabel,
    class_errors,
    column_effects,
    errors_above,
    expected_confusions,
    largest_confusions,
    learning_curve,
    suspicious_labels,
    verdict,
)
from fewlabels.automatic._choice import ErrorEstimate
from fewlabels.automatic._classifier import FewLabelsClassifier
from fewlabels.automatic._engine import BankModel
from fewlabels.automatic._members import Contribution, Member
from fewlabels.automatic._regressor import FewLabelsRegressor

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
    "class_errors",
    "column_effects",
    "errors_above",
    "expected_confusions",
    "largest_confusions",
    "learning_curve",
    "suspicious_labels",
    "verdict",
]
