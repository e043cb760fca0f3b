"""What the automatic estimators keep when they are saved."""

# SPDX-License-Identifier: BSD-3-Clause

from copy import deepcopy
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from fewlabels.automatic._bank import KernelBank
from fewlabels.automatic._model import BankModel, compact_models


class CompactSaving:
    """An estimator on a bank, of which files hold what predictions need."""

    progress: Any
    _bank: KernelBank
    _model: BankModel
    baseline_: BankModel

    def compact(self, *, transduction: bool = True) -> Self:
        """Copy the estimator with nothing but what predictions need.

        Weights of all candidates on one array are added up, and what remains for every
        training row is rounded where that leaves the answers for training rows, seen
        as if they were new, as they are. Pickles and other files hold such copies.

        Parameters
        ----------
        transduction : bool, default=True
            Whether to keep `transduction_`, and to give training rows the answers that
            they got in `fit`. Without, the copy is smaller and treats every row as
            new.

        Returns
        -------
        model : object
            It predicts, but cannot learn from other labels.

        Examples
        --------
        >>> import pickle
        >>> from sklearn.datasets import load_digits
        >>> from fewlabels import FewLabelsClassifier
        >>> from fewlabels.datasets import hide_labels
        >>> X, y = load_digits(return_X_y=True)
        >>> holes = hide_labels(y[:1400], per_class=5, random_state=0)
        >>> model = FewLabelsClassifier(bank="fast", random_state=0)
        >>> small = model.fit(X[:1400], holes).compact(transduction=False)
        >>> bool((small.predict(X[1400:]) == model.predict(X[1400:])).mean() > 0.99)
        True
        >>> len(pickle.dumps(small)) < len(pickle.dumps(model)) < 2e6
        True
        """
        check_is_fitted(self)
        lean = self.__copy__()
        if callable(self.progress):
            lean.progress = False  # it is no data
        if not self._bank.is_pruned:
            lean._bank, lean._model, lean.baseline_ = compact_models(
                self._model, self.baseline_, transduction=transduction
            )
        elif not transduction:
            lean._bank, lean._model = self._model.forget_rows()
        if not transduction:
            vars(lean).pop("transduction_", None)
        return lean

    def _require_rows(self) -> None:
        """Raise an error if nothing is known of the training rows any more."""
        if self._model.training_outputs is None:
            raise ValueError(
                "This copy was made by compact(transduction=False) and does not know "
                "the training rows: keep them, or ask the model it was made from."
            )

    def __getstate__(self) -> dict[str, Any]:
        whole = "_bank" in vars(self) and not self._bank.is_pruned
        lean = self.compact() if whole else self
        state: Any = super(CompactSaving, lean).__getstate__()
        return state

    def __copy__(self) -> Self:
        other = self.__class__.__new__(self.__class__)
        vars(other).update(vars(self))
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = self.__class__.__new__(self.__class__)
        memo[id(self)] = other
        vars(other).update(deepcopy(vars(self), memo))
        return other
