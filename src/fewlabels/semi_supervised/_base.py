"""What the classifiers for few labels share."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from fewlabels._classifier import PartialLabelClassifier, as_decision
from fewlabels._labels import decide
from fewlabels._linalg import FLOATS
from fewlabels.kernels._functions import is_precomputed

__all__ = ["KernelClassifier", "PartialLabelClassifier", "as_decision"]


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
