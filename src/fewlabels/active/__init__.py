"""Core: active learning, query strategies and learners that use them."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.active._active_elm import ActiveELMClassifier
from fewlabels.active._activeml import ActiveMLSampling
from fewlabels.active._co_active import CoActiveLearner
from fewlabels.active._elm import (
    ELMClassifier,
    ELMRegressor,
    ELMState,
    HiddenLayer,
    elm_start,
    elm_update,
    elm_weights,
)
from fewlabels.active._exploration import (
    EGExploration,
    SoftmaxExploration,
    ThompsonExploration,
)
from fewlabels.active._few_labels import FewLabelsSampling
from fewlabels.active._learner import ActiveLearner
from fewlabels.active._loop import QueryRound
from fewlabels.active._membership import (
    Boundary,
    MadeRows,
    MembershipLearner,
    bisect_boundary,
    make_queries,
)
from fewlabels.active._opposite_pair import OppositePair, find_opposite_pair
from fewlabels.active._query import Query, QueryStrategy
from fewlabels.active._strategies import (
    ClusterCoverage,
    ExpectedGradientLength,
    QueryByCommittee,
    RandomSampling,
    UncertaintySampling,
    VarianceReduction,
)
from fewlabels.active._stream import StreamLearner, StreamThreshold
from fewlabels.active._utilities import (
    consensus_kl,
    entropy,
    expected_gradient_length,
    least_confidence,
    margin,
    middle_certainty,
    select_batch,
    variance_reduction,
    vote_entropy,
)

__all__ = [
    "ActiveELMClassifier",
    "ActiveLearner",
    "ActiveMLSampling",
    "Boundary",
    "ClusterCoverage",
    "CoActiveLearner",
    "EGExploration",
    "ELMClassifier",
    "ELMRegressor",
    "ELMState",
    "ExpectedGradientLength",
    "FewLabelsSampling",
    "HiddenLayer",
    "MadeRows",
    "MembershipLearner",
    "OppositePair",
    "Query",
    "QueryByCommittee",
    "QueryRound",
    "QueryStrategy",
    "RandomSampling",
    "SoftmaxExploration",
    "StreamLearner",
    "StreamThreshold",
    "ThompsonExploration",
    "UncertaintySampling",
    "VarianceReduction",
    "bisect_boundary",
    "consensus_kl",
    "elm_start",
    "elm_update",
    "elm_weights",
    "entropy",
    "expected_gradient_length",
    "find_opposite_pair",
    "least_confidence",
    "make_queries",
    "margin",
    "middle_certainty",
    "select_batch",
    "variance_reduction",
    "vote_entropy",
]
