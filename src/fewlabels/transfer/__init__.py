"""Textbook: transfer learning and domain adaptation, with labels from elsewhere.

Rows carry a domain, ``sample_domain``: positive for sources, negative for targets.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.transfer._augmentation import (
    FeatureAugmentation,
    HeterogeneousFeatureAugmentation,
    HFASolution,
    heterogeneous_augmentation,
)
from fewlabels.transfer._boosting import (
    TrAdaBoostClassifier,
    TrAdaBoostRounds,
    tradaboost,
)
from fewlabels.transfer._component_analysis import (
    TransferComponentAnalysis,
    TransferComponents,
    transfer_components,
)
from fewlabels.transfer._correspondence import (
    StructuralCorrespondenceLearning,
    frequent_pivots,
    pivot_predictors,
)
from fewlabels.transfer._discrepancy import MMDEmbedding, mmd_squared, mmde
from fewlabels.transfer._domains import (
    StackedDomains,
    check_sample_domain,
    stack_domains,
)
from fewlabels.transfer._eigen_transfer import (
    EigenRepresentation,
    EigenTransferClassifier,
    eigen_cluster,
    eigen_transfer_graph,
)
from fewlabels.transfer._huber import modified_huber_loss
from fewlabels.transfer._kernel_learning import (
    LpMKLClassifier,
    MKLSolution,
    lp_norm_mkl,
)
from fewlabels.transfer._metric import (
    ITML,
    CrossDomainMetric,
    ITMLSolution,
    Pairs,
    itml,
    label_pairs,
)
from fewlabels.transfer._self_taught import SelfTaughtClassifier
from fewlabels.transfer._structure import (
    ASOClassifier,
    ASOSolution,
    alternating_structure,
)

# In the order of sorted(), as everywhere; ruff would put names in capitals first.
__all__ = [  # noqa: RUF022
    "ASOClassifier",
    "ASOSolution",
    "CrossDomainMetric",
    "EigenRepresentation",
    "EigenTransferClassifier",
    "FeatureAugmentation",
    "HFASolution",
    "HeterogeneousFeatureAugmentation",
    "ITML",
    "ITMLSolution",
    "LpMKLClassifier",
    "MKLSolution",
    "MMDEmbedding",
    "Pairs",
    "SelfTaughtClassifier",
    "StackedDomains",
    "StructuralCorrespondenceLearning",
    "TrAdaBoostClassifier",
    "TrAdaBoostRounds",
    "TransferComponentAnalysis",
    "TransferComponents",
    "alternating_structure",
    "check_sample_domain",
    "eigen_cluster",
    "eigen_transfer_graph",
    "frequent_pivots",
    "heterogeneous_augmentation",
    "itml",
    "label_pairs",
    "lp_norm_mkl",
    "mmd_squared",
    "mmde",
    "modified_huber_loss",
    "pivot_predictors",
    "stack_domains",
    "tradaboost",
    "transfer_components",
]
