"""Predictions of the automatic classifier, with the opinions of others or without."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fewlabels._classifier import as_decision
from fewlabels._labels import decide
from fewlabels.automatic._explanation import ExplainedClassifier
from fewlabels.automatic._hints import HintOutputs
from fewlabels.automatic._ordinal import medians, ordinal_errors, ranks_of
from fewlabels.automatic._probabilities import probabilities
from fewlabels.opinions import Opinions, named_sources, read_opinions


class PredictingClassifier(ExplainedClassifier):
    """Predictions from outputs of a bank and, where there are any, of hints."""

    temperature_: float
    _hints: HintOutputs | None
    _hinted: NDArray[Any]
    _opinions: Opinions | None
    _n_taught: int
    _ranks: NDArray[np.intp] | None
    order: Any

    def _take_order(self, unlabeled: NDArray[np.bool_]) -> None:
        """Predict medians where classes have an order, and estimate their errors."""
        self._ranks = self.expected_steps_ = None
        if self.order is None or self.classes_.size < 2:
            return
        self._ranks = ranks_of(self.order, self.classes_)
        p = self._open()
        self.transduction_[unlabeled] = self.classes_[self.chosen(p)]
        if self._held is not None:
            found = ordinal_errors(self._held, p, self._ranks)
            self.expected_error_, self.expected_steps_ = found

    def chosen(self, p: NDArray[Any]) -> NDArray[np.intp]:
        """Choose a class for every row of probabilities.

        Parameters
        ----------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities.

        Returns
        -------
        codes : ndarray of int of shape (n_samples,)
            Places in `classes_`: of the most probable class or, where classes have an
            order, of the median.
        """
        return p.argmax(axis=1) if self._ranks is None else medians(p, self._ranks)

    def _outputs(self, X: Any, hints: Any = None) -> NDArray[Any]:
        rows = self._rows(X)
        outputs = self._model.outputs(rows)
        if hints is None:
            return outputs
        return outputs + self._hint_outputs(hints, outputs.shape[0])

    def _training_outputs(self) -> NDArray[Any]:
        """Return the outputs of all training rows, hints included."""
        outputs: NDArray[Any] = self._model.training_outputs[self._bank.index]
        return outputs if self._hints is None else outputs + self._hinted

    def compact(self, *, transduction: bool = True) -> Self:
        lean = super().compact(transduction=transduction)
        lean._opinions = None  # only needed to learn from other labels
        if not transduction:
            lean.__dict__.pop("_hinted", None)
        return lean

    compact.__doc__ = ExplainedClassifier.compact.__doc__

    def _hint_outputs(self, hints: Any, n_rows: int) -> NDArray[Any]:
        """Compute what hints add to the outputs of rows."""
        if self._hints is None:
            raise ValueError(
                "hints were passed, but fit had none to learn how far to trust them: "
                "pass hints to fit too."
            )
        if not isinstance(hints, Opinions):
            hints = named_sources(hints, self._hints.sources)
        opinions = read_opinions(hints, self.classes_, n_rows=n_rows)
        for note in opinions.notes:
            warnings.warn(note, UserWarning, stacklevel=4)
        return self._hints(opinions)

    def _predictions(self, rows: Any) -> NDArray[Any]:
        return self._probabilities(self._model.outputs(rows))

    def decision_function(self, X: Any, hints: Any = None) -> NDArray[Any]:
        """Compute the averaged outputs.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Rows. Training rows keep their outputs from `fit`; new rows join the graphs
            through their nearest neighbours.
        hints : DataFrame, dict or array-like, default=None
            Opinions of the sources of `fit` about these rows; without, only the columns
            speak, and what the sources taught.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With up to two classes, one value per row, positive for `classes_[1]`.
        """
        return as_decision(self._outputs(X, hints))

    def predict(self, X: Any, hints: Any = None) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Rows.
        hints : DataFrame, dict or array-like, default=None
            Opinions of the sources of `fit` about these rows; without, only the columns
            speak, and what the sources taught.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes.
        """
        outputs = self._outputs(X, hints)
        if self._ranks is not None:
            return self.classes_[self.chosen(self._probabilities(outputs))]
        return decide(as_decision(outputs), self.classes_)

    def predict_proba(self, X: Any, hints: Any = None) -> NDArray[Any]:
        """Predict class probabilities, calibrated on held-out labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Rows.
        hints : DataFrame, dict or array-like, default=None
            Opinions of the sources of `fit` about these rows; without, only the columns
            speak, and what the sources taught.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Each row sums to 1, and no probability is 0 or 1 (unless there is only one
            class).
        """
        return self._probabilities(self._outputs(X, hints))

    @property
    def label_distributions_(self) -> NDArray[Any]:
        """Class probabilities of all training rows, hints included."""
        self._require_rows()
        return self._probabilities(self._training_outputs())

    def _probabilities(self, outputs: NDArray[Any]) -> NDArray[Any]:
        if self.classes_.size == 1:
            return np.ones((outputs.shape[0], 1))
        return probabilities(outputs, self.temperature_)

    def predict_log_proba(self, X: Any, hints: Any = None) -> NDArray[Any]:
        """Predict logarithms of class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Rows.
        hints : DataFrame, dict or array-like, default=None
            Opinions of the sources of `fit` about these rows; without, only the columns
            speak, and what the sources taught.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            The logarithms of :meth:`predict_proba`.
        """
        return np.log(self.predict_proba(X, hints))
