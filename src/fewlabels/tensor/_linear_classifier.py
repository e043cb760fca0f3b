"""What linear classifiers of tensors share."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from fewlabels._classifier import DecisionClassifier, as_decision
from fewlabels._labels import signed_targets
from fewlabels._sklearn import fit_context
from fewlabels.exceptions import warn_not_converged
from fewlabels.tensor._tensor_rows import TensorEstimator, validate_labeled_tensors


class LinearTensorClassifier(TensorEstimator, DecisionClassifier):
    """One-vs-rest problems, each with a tensor of weights and a constant."""

    max_iter: int
    tol: float
    random_state: Any

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
        if labels.classes.size == 1:  # there is nothing to learn
            targets = targets[:, :0]
        found = [self._solve(X[rows], target, rng) for target in targets.T]
        self.solutions_ = [solution for solution, _, _ in found]
        self.coef_ = np.array(
            [coef for _, coef, _ in found] or np.zeros((1, *self.tensor_shape_))
        )
        self.intercept_ = np.array([constant for _, _, constant in found] or [0.0])
        self.n_iter_ = max((s.n_iter for s in self.solutions_), default=1)
        if not all(solution.converged for solution in self.solutions_):
            warn_not_converged(
                f"The vectors still turn after max_iter={self.max_iter} sweeps, or "
                "the rows are too large for the solver: scale them, allow more sweeps, "
                f"or a larger tol than {self.tol}."
            )
        self.transduction_ = self._transduction(X, labels)
        return self

    def _decision(self, X: Any) -> NDArray[np.float64]:
        modes = range(1, len(self.tensor_shape_) + 1)
        outputs = np.tensordot(X, self.coef_, axes=(modes, modes)) + self.intercept_
        return as_decision(outputs)
