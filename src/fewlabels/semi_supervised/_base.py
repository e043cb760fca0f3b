"""What the classifiers for few labels share."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fewlabels._classifier import PartialLabelClassifier
from fewlabels._labels import Labels, decide
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import validate_data
from fewlabels.kernels import is_precomputed
from fewlabels.partition import check_balance


class KernelClassifier(PartialLabelClassifier):
    """A classifier with a kernel, real outputs and a `y` that may have holes."""

    kernel: Any

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Compute the real outputs of the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with all training rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For up to two classes one value per row, positive for `classes_[1]`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return self._decision(X)

    def _decision(self, X: Any) -> NDArray[Any]:
        """Compute the outputs of validated rows, as a subclass defines them."""
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with all training rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes.
        """
        decision = self.decision_function(X)
        return decide(decision, self.classes_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = True
        return tags


def class_shares(balance: Any, labels: Labels) -> NDArray[np.float64] | None:
    """Shares of the classes among the unlabelled rows, in the order of the classes."""
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
