"""Textbook: boosting and voting, which make one strong classifier of many."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.ensemble._additive import (
    AdditiveModel,
    expit2,
    gentle_adaboost,
    half_logit,
    logit_boost,
)
from fewlabels.ensemble._additive_classifiers import (
    GentleAdaBoostClassifier,
    LogitBoostClassifier,
)
from fewlabels.ensemble._theory import pac_sample_size
from fewlabels.ensemble._three_stage import (
    ThreeStageBoostClassifier,
    ThreeStageModel,
    half_wrong_sample,
    three_stage_boost,
)
from fewlabels.ensemble._voting import RejectVotingClassifier, Vote, majority_vote

__all__ = [
    "AdditiveModel",
    "GentleAdaBoostClassifier",
    "LogitBoostClassifier",
    "RejectVotingClassifier",
    "ThreeStageBoostClassifier",
    "ThreeStageModel",
    "Vote",
    "expit2",
    "gentle_adaboost",
    "half_logit",
    "half_wrong_sample",
    "logit_boost",
    "majority_vote",
    "pac_sample_size",
    "three_stage_boost",
]
