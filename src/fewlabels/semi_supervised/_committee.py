"""Base class of classifiers that teach each other."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from fewlabels._classifier import InductiveClassifier
from fewlabels._labels import Labels, validate_partially_labeled
from fewlabels._rows import dense_if_small
from fewlabels._sklearn import validate_fitted

MAX_SEED = np.iinfo(np.int32).max


class _UnitScaler(MaxAbsScaler):
    """Divide columns by their largest value, even if it is tiny."""

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        super().partial_fit(X, y)
        self.scale_ = np.where(self.max_abs_ > 0, self.max_abs_, 1.0)
        return self


def logistic() -> Pipeline:
    """Logistic regression that converges for columns in any units."""
    # Standard deviations alone would not rescale constant columns.
    return make_pipeline(
        _UnitScaler(),
        StandardScaler(with_mean=False),
        LogisticRegression(max_iter=1000),
    )


class Committee(InductiveClassifier):
    """A classifier made of several, which finally labels every training row."""

    def _validate(self, X: Any, y: ArrayLike) -> tuple[Any, Labels]:
        X, labels = validate_partially_labeled(
            self, X, y, accept_sparse="csr", dtype=np.float64
        )
        self.classes_ = labels.classes
        return dense_if_small(X), labels

    def _validated(self, X: Any) -> Any:
        X = validate_fitted(self, X, accept_sparse="csr", dtype=np.float64)
        return dense_if_small(X)

    def _codes(self, X: Any) -> NDArray[np.intp]:
        raise NotImplementedError

    def _predict(self, X: Any) -> NDArray[Any]:
        return self.classes_[self._codes(X)]
