"""Textbook: scores and selectors of features, with labels and without.

`RFE`, `SelectKBest`, `SequentialFeatureSelector` and `r_regression` are those of
scikit-learn.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.feature_selection._alignment import (
    KernelAlignmentSelector,
    align_features,
    kernel_alignment,
)
from fewlabels.feature_selection._discriminant import (
    FisherLinearClassifier,
    WeightedVotingClassifier,
)
from fewlabels.feature_selection._exhaustive import ExhaustiveFeatureSelector
from fewlabels.feature_selection._feature_scores import (
    fisher_score,
    pearson_score,
    signal_to_noise,
)
from fewlabels.feature_selection._feature_similarity import (
    FeatureClusters,
    FeatureSimilaritySelector,
    cluster_features,
    correlation_dissimilarity,
    mici,
    regression_error,
)
from fewlabels.feature_selection._projected_gradient import (
    ProjectedGradientResult,
    spectral_projected_gradient,
)

__all__ = [
    "ExhaustiveFeatureSelector",
    "FeatureClusters",
    "FeatureSimilaritySelector",
    "FisherLinearClassifier",
    "KernelAlignmentSelector",
    "ProjectedGradientResult",
    "WeightedVotingClassifier",
    "align_features",
    "cluster_features",
    "correlation_dissimilarity",
    "fisher_score",
    "kernel_alignment",
    "mici",
    "pearson_score",
    "regression_error",
    "signal_to_noise",
    "spectral_projected_gradient",
]
