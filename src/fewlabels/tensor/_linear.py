"""What linear classifiers of tensors share."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from fewlabels._classifier import SupervisedClassifier, as_decision
from fewlabels._labels import decide, signed_targets
from fewlabels._sklearn import fit_context
from fewlabels.tensor._validation import validate_labeled_tensors, validate_tensors


class LinearTensorClassifier(SupervisedClassifier):
    """One-vs-rest problems, each with a tensor of weights and a constant."""

    max_iter: int
    tol: float
    random_state: Any
    tensor_shape_: tuple[int, ...]

    def _solve(
        self, X: NDArray[np.float64], y: NDArray[np.float64], rng: Any
    ) -> tuple[Any, NDArray[np.float64], float]:
        """Return a record, weights and a constant for -1 and +1; for a subclass."""
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from the labelled tensors.

        Parameters
        ----------
        X : array-like of shape (n_samples, I_1, ..., I_M) or (n_samples, n_entries)
            Tensors, or their entries; see `shape`.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one, which are left out.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = validate_labeled_tensors(self, X, y)
        self.classes_ = labels.classes
        rows = labels.labeled
        rng = check_random_state(self.random_state)
        targets = signed_targets(labels.codes[rows], labels.classes.size)
        if labels.classes.size == 1:  # nothing is to be told apart
            targets = targets[:, :0]
        found = [self._solve(X[rows], target, rng) for target in targets.T]
        self.solutions_ = [solution for solution, _, _ in found]
        self.coef_ = np.array(
            [coef for _, coef, _ in found] or np.zeros((1, *self.tensor_shape_))
        )
        self.intercept_ = np.array([constant for _, _, constant in found] or [0.0])
        self.n_iter_ = max((s.n_iter for s in self.solutions_), default=1)
        if not all(solution.converged for solution in self.solutions_):
            warnings.warn(
                f"The vectors still turn after max_iter={self.max_iter} sweeps, or "
                "the rows are too large for the solver: scale them, allow more sweeps, "
                f"or a larger tol than {self.tol}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.transduction_ = self._transduction(X, labels)
        return self

    def _outputs(self, X: NDArray[Any]) -> NDArray[np.float64]:
        modes = range(1, len(self.tensor_shape_) + 1)
        return np.tensordot(X, self.coef_, axes=(modes, modes)) + self.intercept_

    def _predict_codes(self, X: Any) -> NDArray[np.intp]:
        return decide(as_decision(self._outputs(X)), np.arange(self.classes_.size))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute real outputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, I_1, ..., I_M) or (n_samples, n_entries)
            Tensors, or their entries.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one value per row, positive for `classes_[1]`.
        """
        check_is_fitted(self)
        return as_decision(self._outputs(validate_tensors(self, X, reset=False)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every tensor.

        Parameters
        ----------
        X : array-like of shape (n_samples, I_1, ..., I_M) or (n_samples, n_entries)
            Tensors, or their entries.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes.
        """
        check_is_fitted(self)
        X = validate_tensors(self, X, reset=False)
        return self.classes_[self._predict_codes(X)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
