"""The automatic regressor for few targets."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from fewlabels._backend import TensorMixin
from fewlabels._distances import safe_unit
from fewlabels._labels import encode_targets, validate_partial_targets
from fewlabels._linalg import FLOATS
from fewlabels._progress import Progress, ProgressLine
from fewlabels._regressor import PartialTargetMixin
from fewlabels._sklearn import fit_context, validate_data
from fewlabels.automatic._advice import (
    ColumnEffect,
    column_effects,
    columns_of,
    effect_words,
)
from fewlabels.automatic._bank import BANK_CONSTRAINTS, build_bank
from fewlabels.automatic._choice import (
    FEW,
    NOT_JUDGED,
    ErrorEstimate,
    Labeled,
    root_mean_square,
)
from fewlabels.automatic._engine import (
    candidate_table,
    fit_models,
    score_candidates,
)
from fewlabels.automatic._members import choice_words
from fewlabels.automatic._saving import CompactSaving
from fewlabels.preprocessing import FrameEncoding


class FewLabelsRegressor(
    TensorMixin, CompactSaving, FrameEncoding, PartialTargetMixin, BaseEstimator
):
    r"""Predict real targets from a few known ones without choosing a method.

    The bank, the closed-form scores and the average over ranks are those of
    :class:`FewLabelsClassifier`; candidates are ranked by their squared errors with one
    row and with many rows left out.

    Parameters
    ----------
    bank : {"fast", "default", "thorough"}, default="default"
        How many kernels, and how exactly, see :class:`FewLabelsClassifier`.
    scale : {"auto", "standard", "unit", "none"}, default="auto"
        How to scale rows, see :class:`FewLabelsClassifier`.
    feature_groups : array-like of shape (n_features,), default=None
        Which column of a table every feature comes from, see
        :class:`FewLabelsClassifier`.
    neighbors : {"exact", "approximate", "auto"}, default="auto"
        How to search neighbours, see :func:`fewlabels.graphs.nearest_neighbors`.
    n_jobs : int, default=None
        Threads, in joblib's convention; answers are the same whatever it is. None is
        one thread for up to half a million entries of X, and beyond as many as OpenMP
        would take: all cores, or `OMP_NUM_THREADS`.
    device : {"cpu", "cuda"} or None, default=None
        Where to compute; "cuda" needs ``pip install "fewlabels[gpu]"``. None follows
        the rows: tensors stay where they are, everything else is NumPy's.
    memory_budget : float, default=None
        MiB for temporary arrays over rows; scikit-learn's `working_memory` when None.
    progress : "auto", bool or callable, default=False
        Whether to show or tell the share of the work that is done.
    random_state : int, RandomState instance or None, default=None
        Seed of samples, k-means starts, blocks and bootstrap.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        A target for every training row: the given one, or else the predicted one.
    candidates_ : dict of str to ndarray
        A table with one line per kernel and ridge. Squared errors are in units of the
        variance of the known targets.
    baseline_ : BankModel
        The best supervised candidate, fitted to the same targets; has `predict`.
    expected_error_ : ErrorEstimate
        Root of the mean squared error to expect, with an interval of 90 %.
    baseline_error_ : ErrorEstimate
        The same for `baseline_`.
    labeled_indices_ : ndarray of shape (n_labeled,)
        The rows with a target.
    transformer_ : TableTransformer or None
        What turned a frame with words, dates or holes into numbers.
    n_features_in_ : int
        Number of features seen during fit, those of `transformer_` where there is one.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    FewLabelsClassifier : The same for classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_swiss_roll
    >>> from fewlabels import FewLabelsRegressor
    >>> X, t = make_swiss_roll(400, noise=0.1, random_state=0)
    >>> y = np.where(np.arange(400) < 30, t, np.nan)  # NaN = unknown
    >>> model = FewLabelsRegressor(random_state=0).fit(X, y)
    >>> bool(model.score(X, t) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**BANK_CONSTRAINTS}

    def __init__(
        self,
        *,
        bank: str = "default",
        scale: str = "auto",
        feature_groups: ArrayLike | None = None,
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
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.device = device
        self.memory_budget = memory_budget
        self.progress = progress
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Build the bank from all rows, and choose by the known targets.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Training rows, with and without a target. A
            :class:`~fewlabels.preprocessing.TableSample` is scaled by the table that
            it was drawn from.
        y : array-like of shape (n_samples,)
            Targets; NaN or None marks a row without one.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        given, X = X, self.encode_frame(X)
        X, targets = validate_partial_targets(
            self, X, y, accept_sparse="csr", dtype=FLOATS
        )
        rng = check_random_state(self.random_state)
        with ProgressLine(self.progress, type(self).__name__) as line:
            self._bank = build_bank(self, X, given, rng, line)
            self._label_seed = rng.randint(2**31)
            with self._bank.threads():
                self._fit_targets(targets, line)
        return self

    def refit_labels(self, y: ArrayLike, *, judge: bool = True) -> Self:
        """Learn from other targets for the same rows; the bank stays.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Targets, some of them missing, for the rows of `fit`.
        judge : bool, default=True
            Whether to estimate errors, which takes most of the time. Without it
            predictions are the same, and `expected_error_` and `baseline_error_` are
            unknown.

        Returns
        -------
        self : object
            The same as after `fit` on these targets, but in less time.
        """
        check_is_fitted(self)
        targets = encode_targets(y)
        self._bank.check_whole()
        if targets.size != self._bank.index.size:
            raise ValueError(
                f"y has {targets.size} entries but fit has seen "
                f"{self._bank.index.size} rows: pass one target per row, NaN for rows "
                "without one."
            )
        with (
            self._bank.threads(),
            ProgressLine(self.progress, type(self).__name__) as line,
        ):
            self._fit_targets(targets, line, judge=judge)
        return self

    def _fit_targets(
        self, targets: NDArray[Any], line: ProgressLine, *, judge: bool = True
    ) -> None:
        rng = np.random.RandomState(self._label_seed)
        rows = np.flatnonzero(~np.isnan(targets))
        self.labeled_indices_ = rows
        known = targets[rows]
        # On the scale of the kernels, whose mean diagonal is one.
        size = safe_unit(known)
        self._mean = size * float((known / size).mean())
        self._unit = size * float((known / size).std()) or 1.0
        labeled = Labeled(
            Y=((known - self._mean) / self._unit)[:, None],
            codes=np.zeros(rows.size, dtype=np.intp),
            groups=self._bank.index[rows],
            importance=np.ones(rows.size),
            few=rows.size <= FEW,
            regression=True,
        )
        scored = score_candidates(self._bank, labeled, rng, line, judge=judge)
        self._model, self.baseline_ = fit_models(
            self._bank,
            labeled,
            scored,
            classes=None,
            memory_budget=self.memory_budget,
            rng=rng,
        )
        for model in (self._model, self.baseline_):
            model.rescale(self._unit, self._mean)
        self.candidates_ = candidate_table(self._bank, scored)
        if judge:
            nothing = np.full(scored.labeled.Y.shape, np.nan)
            held, held_baseline = (scored.nested or (nothing, nothing))[:2]
            self.expected_error_ = root_mean_square(held, scored.labeled, self._unit)
            self.baseline_error_ = root_mean_square(
                held_baseline, scored.labeled, self._unit
            )
        else:
            unknown = ErrorEstimate(np.nan, 0.0, np.inf, NOT_JUDGED, percent=False)
            self.expected_error_ = self.baseline_error_ = unknown
        self.transduction_ = targets.copy()
        holes = np.isnan(targets)
        outputs = self._model.training_outputs[self._bank.index, 0]
        self.transduction_[holes] = outputs[holes]
        line.update(1.0)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the target of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows. Those of the training set get the outputs they got there; others are
            joined to the graphs by their neighbours.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted targets.
        """
        rows = self._rows(X)  # which asks first whether there is a model
        return self._model.outputs(rows)[:, 0]

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        if self.transformer_ is not None:
            X = self.transformer_.transform(X)
        return validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)

    def column_effects(
        self,
        X: Any,
        groups: ArrayLike | None = None,
        *,
        n_rows: int = 100,
        random_state: Any = 0,
    ) -> list[ColumnEffect]:
        """Find out which columns matter, by exchanging their values among rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, such as those of `fit`.
        groups : array-like of shape (n_features,), default=None
            The column that every feature belongs to, see
            :meth:`FewLabelsClassifier.column_effects`.
        n_rows : int, default=100
            How many of the rows to try.
        random_state : int, RandomState instance or None, default=0
            Seed of the sample and of the exchange.

        Returns
        -------
        effects : list of ColumnEffect
            The column that matters most first.
        """
        return column_effects(
            lambda rows: self._model.outputs(rows)[:, 0],
            self._rows(X),
            columns_of(self) if groups is None else groups,
            n_rows=n_rows,
            random_state=random_state,
        )

    def explain(self, X: Any = None) -> str:
        """Say in plain words what the predictions rest on and how good they are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows, such as those of `fit`. With them it also says which columns matter.

        Returns
        -------
        text : str
            A few lines, to be printed.
        """
        check_is_fitted(self)
        n, n_labeled = self._bank.n_samples, self.labeled_indices_.size
        lines = [f"{n_labeled} known targets, {n - n_labeled} rows without one."]
        if n_labeled < 2 or not self.candidates_["weight"].size:
            return lines[0] + " There is nothing to choose."
        lines += choice_words(self.candidates_)
        error = self.expected_error_
        lines.append(f"Expected error (root mean square): {error}.")
        if error.is_known and error.high >= self._unit:
            lines.append(
                "That may be no better than answering every row with the mean: the "
                f"known targets deviate from theirs by {self._unit:.3g}."
            )
        lines.append(f"Supervised ({self.baseline_.name}): {self.baseline_error_}.")
        if X is not None:
            lines.append(effect_words(self.column_effects(X)))
        return "\n".join(line for line in lines if line)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
