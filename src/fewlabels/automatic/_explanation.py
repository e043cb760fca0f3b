"""Explanations of an automatic classifier's predictions and labels."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fewlabels._classifier import as_decision
from fewlabels._labels import decide
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._curve import LearningCurve
from fewlabels.automatic._diagnostics import (
    CONFIDENCES,
    AcceptedRows,
    ClassError,
    HeldOut,
    SuspiciousLabel,
    class_errors,
    errors_above,
    expected_confusions,
    suspicious_labels,
)
from fewlabels.automatic._errors import ErrorEstimate
from fewlabels.automatic._estimator import BankEstimator
from fewlabels.automatic._members import Contribution
from fewlabels.automatic._sentences import (
    choice_words,
    effect_words,
    gain_words,
    guess_words,
    halving_words,
    hint_words,
    single_words,
    steps_words,
    suspicion_words,
    verdict,
)
from fewlabels.opinions import SourceReport


class ExplainedClassifier(BankEstimator):
    """Diagnostics of a classifier whose errors were estimated on held-out rows."""

    classes_: NDArray[Any]
    class_shares_: NDArray[Any]
    candidates_: dict[str, NDArray[Any]]
    labeled_indices_: NDArray[np.intp]
    transduction_: NDArray[Any]
    expected_error_: ErrorEstimate
    expected_steps_: ErrorEstimate | None
    baseline_error_: ErrorEstimate
    gain_: ErrorEstimate
    _held: HeldOut | None
    _curve: LearningCurve
    _contributions: list[Contribution]
    _changed: float
    _label_counts: NDArray[np.intp]
    sources_: list[SourceReport]
    _n_taught: int

    def _probabilities(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """Class probabilities from outputs."""
        raise NotImplementedError

    def contributions(self) -> list[Contribution]:
        """List what each family of candidates contributes to the predictions.

        Returns
        -------
        contributions : list of Contribution
            Families with their share and the leave-one-out error of their heaviest
            candidate; the heaviest first.
        """
        check_is_fitted(self)
        return self._contributions

    def family_predictions(self, X: Any) -> list[tuple[Contribution, NDArray[Any]]]:
        """Predict with each family of candidates on its own.

        Parameters
        ----------
        X : {ndarray, csr_matrix} of shape (n_samples, n_features)
            Rows with the columns of `fit`.

        Returns
        -------
        predictions : list of tuple of (Contribution, ndarray of shape (n_samples,))
            Families with the classes they predict, the heaviest first; empty for a
            model from a file.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from fewlabels import FewLabelsClassifier
        >>> from fewlabels.datasets import hide_labels
        >>> X, y_true = load_iris(return_X_y=True)
        >>> y = hide_labels(y_true, per_class=3, random_state=0)
        >>> model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        >>> all(classes[0] == 0 for _, classes in model.family_predictions(X[:1]))
        True
        """
        check_is_fitted(self)
        found = self._model.family_outputs(self._rows(X))
        return [
            (c, decide(as_decision(found[c.family]), self.classes_))
            for c in self._contributions
            if c.family in found
        ]

    @property
    def guessing_error_(self) -> float:
        """Error of predicting the largest class for every unlabelled row."""
        return float(1 - self.class_shares_.max())

    def verdict(self) -> str:
        """Say in one sentence how good the predicted labels are.

        Returns
        -------
        sentence : str
            For the head of a report.
        """
        said = verdict(self.expected_error_, self.guessing_error_, self.errors_above())
        return f"{said}{steps_words(self.expected_steps_)}"

    def learning_curve(self) -> LearningCurve:
        """Estimate how the error should fall as labels are added.

        Returns
        -------
        curve : LearningCurve
            A power law; its exponent is shrunk towards the usual one, and equals it
            with up to 20 labels.
        """
        check_is_fitted(self)
        return self._curve

    def errors_above(
        self, confidences: Sequence[float] = CONFIDENCES
    ) -> list[AcceptedRows]:
        """Estimate the error among rows above each confidence threshold.

        Parameters
        ----------
        confidences : sequence of float
            The thresholds; the confidence of a row is its largest probability.

        Returns
        -------
        accepted : list of AcceptedRows
            One for each threshold that any unlabelled row reaches, with the number and
            share of such rows and their expected error.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from fewlabels import FewLabelsClassifier
        >>> from fewlabels.datasets import hide_labels
        >>> X, y_true = load_iris(return_X_y=True)
        >>> y = hide_labels(y_true, per_class=5, random_state=0)
        >>> model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        >>> everything, sure = model.errors_above([0.0, 0.9])
        >>> sure.share < everything.share, sure.error.value < everything.error.value
        (True, True)
        """
        note = self.expected_error_.note
        return errors_above(self._open(), self._held, confidences, note)

    def expected_confusions(self) -> NDArray[np.float64]:
        """Estimate the confusion matrix.

        Returns
        -------
        shares : ndarray of shape (n_classes, n_classes)
            Shares of all rows: true classes in rows, predicted ones in columns, both in
            the order of `classes_`; NaN if the expected error is unknown.
        """
        p = self._open()
        if self._held is None:
            return np.full((self.classes_.size,) * 2, np.nan)
        return expected_confusions(p, self._held)

    def class_errors(self) -> list[ClassError]:
        """Estimate the errors of every class.

        Returns
        -------
        errors : list of ClassError
            In the order of `classes_`; NaN if the expected error is unknown.
        """
        p = self._open()
        n_classes = self.classes_.size
        return class_errors(
            self.expected_confusions(),
            self.classes_,
            self._label_counts,
            np.bincount(p.argmax(axis=1), minlength=n_classes),
            int(self._label_counts.sum()),
            len(p) > 0,
        )

    def suspicious_labels(
        self, odds: float = tuned.SUSPICIOUS_ODDS
    ) -> list[SuspiciousLabel]:
        """Find given labels that the other labels strongly contradict.

        Parameters
        ----------
        odds : float
            A label is returned if another class has at least these odds without it.

        Returns
        -------
        suspicious : list of SuspiciousLabel
            The most doubtful first; empty if the expected error is unknown.
        """
        check_is_fitted(self)
        if self._held is None:
            return []
        return suspicious_labels(self._held, self.classes_, odds)

    def _open(self) -> NDArray[Any]:
        """Probabilities of the unlabelled rows."""
        check_is_fitted(self)
        self._require_rows()
        unlabeled = np.ones(self._bank.index.size, dtype=bool)
        unlabeled[self.labeled_indices_] = False
        return self._probabilities(self._training_outputs()[unlabeled])

    def _training_outputs(self) -> NDArray[Any]:
        """Return the outputs of all training rows."""
        raise NotImplementedError

    def explain(
        self, X: Any = None, *, row_numbers: NDArray[np.intp] | None = None
    ) -> str:
        """Explain in plain words what the predictions rest on and how good they are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows, such as those of `fit`. If given, the text also says which columns
            matter.
        row_numbers : ndarray of int of shape (n_samples,), default=None
            Numbers by which to call the rows of `fit`; their positions when None.

        Returns
        -------
        text : str
            A few lines to print.
        """
        check_is_fitted(self)
        n, n_labeled = self._bank.n_samples, self.labeled_indices_.size
        lines = [
            f"{n_labeled} labels of {self.classes_.size} classes, {n - n_labeled} rows "
            "without a label."
        ]
        if self.classes_.size == 1 or not self.candidates_["weight"].size:
            return lines[0] + " There is nothing to choose."
        lines += choice_words(self.candidates_)
        lines += self.source_words()
        steps = steps_words(self.expected_steps_)
        lines.append(f"Expected error: {self.expected_error_}.{steps}")
        lines.append(f"Supervised ({self.baseline_.name}): {self.baseline_error_}.")
        if n_labeled < n:
            lines.append(
                f"The unlabelled rows{' and the hints' * bool(self.sources_)} changed "
                f"{100 * self._changed:.0f} % of the "
                "answers. " + gain_words(self.gain_, n_labeled)
            )
        lines += self.advice(row_numbers=row_numbers)
        if X is not None:
            lines.append(effect_words(self.column_effects(X)))
        return "\n".join(line for line in lines if line)

    def source_words(self) -> list[str]:
        """Say how far each source of hints is trusted, and what they taught.

        Returns
        -------
        sentences : list of str
            Empty without hints.
        """
        check_is_fitted(self)
        return hint_words(self.sources_, self._n_taught) if self.sources_ else []

    def advice(self, *, row_numbers: NDArray[np.intp] | None = None) -> list[str]:
        """Say what the expected error means, and what to do about it.

        Parameters
        ----------
        row_numbers : ndarray of int of shape (n_samples,), default=None
            Numbers by which to call the rows of `fit`; their positions when None.

        Returns
        -------
        sentences : list of str
            The most urgent first: which given labels the others contradict, which
            classes need a second label, whether predictions beat guessing, and how far
            more labels would lower the error.
        """
        check_is_fitted(self)
        single = self.classes_[self._label_counts == 1].tolist()
        known = self.expected_error_.is_known
        words = (
            suspicion_words(self.suspicious_labels(), row_numbers),
            single_words(single if known else []),
            guess_words(self.expected_error_, self.guessing_error_),
            halving_words(self._curve, self._bank.n_samples),
        )
        return [sentence for sentence in words if sentence]
