"""Base of learners with a single classifier."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags, get_tags

from fewlabels._classifier import PartialLabelClassifier
from fewlabels._inner_model import InnerModelMixin


class InnerClassifier(InnerModelMixin, PartialLabelClassifier):
    """A learner that queries labels and predicts with its fitted classifier."""

    def _estimator(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._estimator()).input_tags.sparse
        return tags
