"""Core: judge and compare models when labels are few."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.model_selection._agreement import (
    Agreement,
    PairAgreement,
    agreement,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    opinion_table,
)
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
    "Agreement",
    "AuditReport",
    "Comparison",
    "ErrorAudit",
    "LabelCurve",
    "LabelShuffleSplit",
    "LabeledKFold",
    "LabeledOnly",
    "LabeledSplit",
    "PairAgreement",
    "PairedDifference",
    "ShareEstimate",
    "TrainOnAll",
    "agreement",
    "cohen_kappa",
    "compare",
    "cross_validate_labels",
    "fleiss_kappa",
    "krippendorff_alpha",
    "learning_curve_labels",
    "log_evidence_score",
    "loo_accuracy_score",
    "loo_neg_squared_error",
    "opinion_table",
    "stratified_interval",
]
