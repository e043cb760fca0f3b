"""Core: judge and compare models when labels are few."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.model_selection._audit import AuditReport, ErrorAudit
from fewlabels.model_selection._compare import Comparison, PairedDifference, compare
from fewlabels.model_selection._cross_validation import cross_validate_labels
from fewlabels.model_selection._curves import LabelCurve, learning_curve_labels
from fewlabels.model_selection._labeled_only import LabeledOnly
from fewlabels.model_selection._scorers import (
    log_evidence_score,
    loo_accuracy_score,
    loo_neg_squared_error,
)
from fewlabels.model_selection._splitters import (
    LabeledKFold,
    LabeledSplit,
    LabelShuffleSplit,
    TrainOnAll,
)
from fewlabels.model_selection._stratified import ShareEstimate, stratified_interval

__all__ = [
    "AuditReport",
    "Comparison",
    "ErrorAudit",
    "LabelCurve",
    "LabelShuffleSplit",
    "LabeledKFold",
    "LabeledOnly",
    "LabeledSplit",
    "PairedDifference",
    "ShareEstimate",
    "TrainOnAll",
    "compare",
    "cross_validate_labels",
    "learning_curve_labels",
    "log_evidence_score",
    "loo_accuracy_score",
    "loo_neg_squared_error",
    "stratified_interval",
]
