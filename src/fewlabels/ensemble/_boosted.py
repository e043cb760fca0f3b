"""What classifiers that fit copies of another estimator share."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Tags

from fewlabels._classifier import InductiveClassifier, accepts_sparse
from fewlabels._labels import Labels, validate_partially_labeled
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import validate_fitted


def seeded(estimator: Any, rng: np.random.RandomState) -> Any:
    """Copy an estimator, with a random seed of its own if it takes one."""
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=rng.randint(np.iinfo(np.int32).max))
    return model


class BoostedClassifier(InductiveClassifier):
    """A classifier made of copies of `estimator`; takes sparse rows if that does."""

    estimator: Any

    def _checks(self) -> dict[str, Any]:
        sparse = accepts_sparse(self.estimator)
        return {"accept_sparse": sparse and "csr", "dtype": FLOATS}

    def _begin(self, X: Any, y: ArrayLike) -> tuple[Any, Labels]:
        X, labels = validate_partially_labeled(self, X, y, **self._checks())
        self.classes_ = labels.classes
        return X, labels

    def _validated(self, X: Any) -> Any:
        return validate_fitted(self, X, **self._checks())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = accepts_sparse(self.estimator)
        return tags
