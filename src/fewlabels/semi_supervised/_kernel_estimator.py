"""Base classes of kernel estimators, and the class shares passed to them."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from fewlabels._backend import backend_at_hand
from fewlabels._classifier import DecisionClassifier
from fewlabels._labels import Labels
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import Interval, StrOptions, validate_fitted
from fewlabels.kernels import KernelRows, is_precomputed
from fewlabels.partition import check_balance

# Shares of the classes among the unlabelled rows, as `class_shares` reads them.
BALANCE_CONSTRAINT: list[Any] = [
    Interval(Real, 0, 1, closed="both"),
    "array-like",
    dict,
    StrOptions({"labels"}),
    None,
]

# Scores, and outputs of classes, tie if their relative difference is at most this.
TIE = 1e-6


def clearly_right(
    outputs: NDArray[Any], codes: NDArray[np.intp], n_classes: int
) -> NDArray[np.bool_]:
    """Tell which rows are classified correctly, counting ties as wrong.

    Parameters
    ----------
    outputs : ndarray of shape (n_samples, n_targets)
        One column per class; a single one for up to two classes.
    codes : ndarray of shape (n_samples,)
        The true classes.
    n_classes : int
        Number of classes.

    Returns
    -------
    right : ndarray of bool of shape (n_samples,)
        Whether the true class has the largest output; rounding errors would decide a
        tie, which therefore counts as wrong.
    """
    if n_classes == 1:
        return np.ones(codes.size, dtype=bool)
    if outputs.shape[1] == 1:
        outputs = np.hstack([-outputs, outputs])
    true = np.arange(n_classes) == codes[:, None]
    lead = outputs[true] - np.where(true, -np.inf, outputs).max(axis=1)
    return lead > TIE * np.abs(outputs).max(initial=1.0)


def best_of(scores: NDArray[Any], squared: NDArray[Any]) -> int:
    """Position of the best score; ties are broken by the least squared error."""
    # With a single label there is nothing to compare: any combination will do.
    scores = np.nan_to_num(scores, nan=-np.inf, posinf=np.inf)
    squared = np.nan_to_num(squared, nan=np.inf)
    best = np.flatnonzero(np.isclose(scores, scores.max(), rtol=TIE, atol=0))
    least = np.isclose(squared[best], squared[best].min(), rtol=TIE, atol=0)
    return int(best[least.argmax()])


class KernelEstimator(BaseEstimator):
    """A kernel estimator for dense or sparse rows."""

    kernel: Any

    def _validated(self, X: Any) -> Any:
        """Check new rows."""
        return validate_fitted(self, X, accept_sparse="csr", dtype=FLOATS)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = True
        return tags


class KernelClassifier(KernelEstimator, DecisionClassifier):
    """A kernel classifier with real outputs, for a `y` with missing labels."""


class RepresentedKernelClassifier(KernelClassifier):
    """A classifier with weights of features or coefficients of all rows."""

    device: str | None = None  # unless a subclass has the parameter

    def _keep_model(self, X: Any, rows: KernelRows, model: NDArray[Any]) -> None:
        """Keep the parts of the training rows and the model that predictions need."""
        self.kernel_, self.features_ = rows.kernel, rows.features
        self.coef_ = model if rows.is_factor else None
        self.dual_coef_ = None if rows.is_factor else model
        self.X_fit_ = X if rows.needs_rows else None

    def _outputs(self, X: Any) -> NDArray[Any]:
        """Evaluate the model at validated rows."""
        if self.features_ is not None:
            outputs = self.features_.transform(X) @ self.coef_
        elif self.coef_ is not None:
            outputs = X @ self.coef_
        else:
            dual: Any = self.dual_coef_
            outputs = self.kernel_.product(
                X, self.X_fit_, dual, device=backend_at_hand(self)
            )
        return np.asarray(outputs)


def class_shares(balance: Any, labels: Labels) -> NDArray[np.float64] | None:
    """Class shares among the unlabelled rows, in the order of the classes."""
    k = labels.classes.size
    if balance is None:
        return None
    if isinstance(balance, bool | np.bool_):  # else a share of 0 or 1
        raise ValueError(f"balance={balance} is unknown; use 'labels', None or shares.")
    if isinstance(balance, str) or k == 1:
        counts = np.bincount(labels.codes[labels.labeled], minlength=k)
        return counts / counts.sum()
    if hasattr(balance, "to_dict"):  # a pandas Series: its index names the classes
        balance = balance.to_dict()
    if isinstance(balance, dict):
        classes = labels.classes.tolist()
        if set(balance) != set(classes):
            raise ValueError(
                f"balance names the classes {sorted(balance, key=str)}, but the labels "
                f"hold {classes}: give the share of every class."
            )
        balance = [balance[c] for c in classes]
    return check_balance(balance, k)
