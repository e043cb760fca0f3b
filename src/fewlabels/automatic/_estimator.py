"""Base class of the automatic classifier and regressor."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from fewlabels._backend import TensorMixin
from fewlabels._linalg import FLOATS
from fewlabels._progress import Progress, ProgressLine
from fewlabels._sklearn import check_array, validate_data
from fewlabels.automatic._bank import BANK_CONSTRAINTS, KernelBank, build_bank
from fewlabels.automatic._effects import ColumnEffect, column_effects, columns_of
from fewlabels.automatic._model import BankModel, compact_models
from fewlabels.preprocessing import FrameEncoding


class BankEstimator(TensorMixin, FrameEncoding, BaseEstimator):
    """An estimator on a bank of candidates; saved files hold only what `predict` needs.

    A subclass learns from labels inside ``with self._built_bank(...)`` and, for other
    labels of the same rows, inside ``with self._same_bank(...)``.
    """

    _bank: KernelBank
    _model: BankModel
    baseline_: BankModel
    # Outputs of all folds, of which a regressor makes intervals.
    _folds: BankModel | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**BANK_CONSTRAINTS}

    def __init__(
        self,
        *,
        bank: str = "default",
        scale: str = "auto",
        feature_groups: ArrayLike | None = None,
        feature_views: Mapping[str, Any] | None = None,
        neighbors: str = "auto",
        n_jobs: int | None = None,
        device: str | None = None,
        memory_budget: float | None = None,
        progress: Progress = False,
        random_state: Any = None,
    ) -> None:
        self.bank = bank
        self.scale = scale
        self.feature_groups = feature_groups
        self.feature_views = feature_views
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.device = device
        self.memory_budget = memory_budget
        self.progress = progress
        self.random_state = random_state

    @contextmanager
    def _built_bank(
        self, X: Any, given: Any, groups: ArrayLike | None
    ) -> Iterator[ProgressLine]:
        """Build the bank from validated rows, and keep its threads for the labels."""
        rng = check_random_state(self.random_state)
        with ProgressLine(self.progress, type(self).__name__) as line:
            self._bank = build_bank(self, X, given, rng, line)
            self._bank.keep_together(groups)
            self._label_seed = rng.randint(2**31)
            with self._bank.threads():
                yield line

    @contextmanager
    def _same_bank(self, n_entries: int) -> Iterator[ProgressLine]:
        """Reuse the bank of `fit` with other labels for the same rows."""
        self._bank.check_whole()
        n_rows = self._bank.index.size
        if n_entries != n_rows:
            raise ValueError(
                f"y has {n_entries} entries but fit has seen {n_rows} rows: pass one "
                "entry per row, with the marker (NaN for numbers) for rows without a "
                "label."
            )
        with (
            self._bank.threads(),
            ProgressLine(self.progress, type(self).__name__) as line,
        ):
            yield line

    def _take_models(self, model: BankModel, baseline: BankModel) -> None:
        """Keep the models; the baseline takes the same rows as the estimator."""
        self._model, self.baseline_ = model, baseline
        baseline.transformer_ = self.transformer_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(baseline, name, getattr(self, name))

    def _rows(self, X: Any) -> Any:
        """Check that the estimator is fitted, and validate rows to predict."""
        check_is_fitted(self)
        if self.transformer_ is not None:
            X = self.transformer_.transform(X)
            return check_array(X, accept_sparse="csr", dtype=FLOATS)
        return validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)

    def _predictions(self, rows: Any) -> NDArray[Any]:
        """Predict probabilities or targets of validated rows."""
        raise NotImplementedError

    def column_effects(
        self,
        X: Any,
        groups: ArrayLike | None = None,
        *,
        n_rows: int = 100,
        random_state: Any = 0,
    ) -> list[ColumnEffect]:
        """Measure the importance of columns by shuffling their values among rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, such as those of `fit`.
        groups : array-like of shape (n_features,), default=None
            For each feature, its column. By default taken from the frame or from
            `feature_groups`; without either, every feature is a column.
        n_rows : int, default=100
            Number of rows to try.
        random_state : int, RandomState instance or None, default=0
            Seed of the sample and of the shuffling.

        Returns
        -------
        effects : list of ColumnEffect
            The most important column first.
        """
        return column_effects(
            self._predictions,
            self._rows(X),
            columns_of(self) if groups is None else groups,
            n_rows=n_rows,
            random_state=random_state,
        )

    def compact(self, *, transduction: bool = True) -> Self:
        """Copy the estimator, keeping only what predictions need.

        Weights of all candidates on one array are added up, and numbers kept for every
        training row are rounded if predictions for training rows, treated as new, do
        not change. Pickles and other files hold such copies.

        Parameters
        ----------
        transduction : bool, default=True
            Whether to keep `transduction_` and the predictions of training rows from
            `fit`. If False, the copy is smaller and treats every row as new.

        Returns
        -------
        model : object
            A copy that predicts but cannot learn from other labels.

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
            lean.progress = False  # a callable is not data
        if not self._bank.is_pruned:
            lean._bank, lean._model, lean.baseline_, lean._folds = compact_models(
                self._model, self.baseline_, self._folds, transduction=transduction
            )
        elif not transduction:
            lean._bank, lean._model = self._model.forget_rows()
        if not transduction:
            lean.__dict__.pop("transduction_", None)
        return lean

    def _require_rows(self) -> None:
        """Raise an error if the training rows were not kept."""
        if self._model.training_outputs is None:
            raise ValueError(
                "This copy was made by compact(transduction=False) and does not know "
                "the training rows: keep them, or ask the model it was made from."
            )

    def __getstate__(self) -> dict[str, Any]:
        whole = "_bank" in vars(self) and not self._bank.is_pruned
        lean = self.compact() if whole else self
        state: Any = super(BankEstimator, lean).__getstate__()
        return state

    def __copy__(self) -> Self:
        other = self.__class__.__new__(self.__class__)
        other.__dict__.update(vars(self))
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = self.__class__.__new__(self.__class__)
        memo[id(self)] = other
        other.__dict__.update(deepcopy(vars(self), memo))
        return other

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
