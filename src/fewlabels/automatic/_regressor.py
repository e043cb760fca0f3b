"""The automatic regressor for few targets."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from fewlabels._distances import safe_unit
from fewlabels._labels import encode_targets, validate_partial_targets
from fewlabels._linalg import FLOATS
from fewlabels._progress import ProgressLine
from fewlabels._regressor import PartialTargetMixin
from fewlabels._sklearn import fit_context
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._answer import answer_numbers
from fewlabels.automatic._estimator import BankEstimator
from fewlabels.automatic._intervals import FoldScores, fit_folds
from fewlabels.automatic._judge import candidate_table, judge
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._sentences import choice_words, effect_words, no_better


class FewLabelsRegressor(PartialTargetMixin, BankEstimator):
    r"""Predict real targets from a few known ones without choosing a method.

    The bank, the closed-form scores and the average over ranks are those of
    :class:`FewLabelsClassifier`; candidates are ranked by their squared errors with one
    row and with many rows left out.

    Parameters
    ----------
    bank : {"auto", "fast", "default", "thorough"}, default="default"
        Size and precision of the bank, see :class:`FewLabelsClassifier`.
    scale : {"auto", "standard", "unit", "none"}, default="auto"
        How to scale rows, see :class:`FewLabelsClassifier`.
    feature_groups : array-like of shape (n_features,), default=None
        For each encoded feature, the table column it comes from, see
        :class:`FewLabelsClassifier`.
    feature_views : dict of str to array-like of shape (n_features,), default=None
        Weights of the features in several descriptions of the same rows, see
        :class:`FewLabelsClassifier`.
    neighbors : {"exact", "approximate", "auto"}, default="auto"
        How to search neighbours, see :func:`fewlabels.graphs.nearest_neighbors`.
    n_jobs : int, default=None
        Threads, in joblib's convention; predictions do not depend on it. None means
        one thread for up to half a million entries of X, and as many as OpenMP would
        use beyond that: all cores, or `OMP_NUM_THREADS`.
    device : {"cpu", "cuda"} or None, default=None
        Where to compute; "cuda" needs ``pip install "fewlabels[gpu]"``. None follows
        the rows: tensors stay on their device, everything else runs in NumPy.
    memory_budget : float, default=None
        MiB for temporary arrays over rows; scikit-learn's `working_memory` when None.
    progress : "auto", bool or callable, default=False
        How to report the share done so far, see :class:`FewLabelsClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of samples, k-means starts, blocks and bootstrap.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        A target for every training row: given or predicted.
    candidates_ : dict of str to ndarray
        A table with one line per kernel and ridge. Squared errors are in units of the
        variance of the known targets.
    baseline_ : BankModel
        The best supervised candidate, fitted to the same targets; has `predict`.
    expected_error_ : ErrorEstimate
        Expected root mean squared error, with a 90 % interval.
    baseline_error_ : ErrorEstimate
        The same for `baseline_`.
    labeled_indices_ : ndarray of shape (n_labeled,)
        The rows with a target.
    transformer_ : TableTransformer or None
        Transformer that encoded a frame with words, dates or missing values.
    n_features_in_ : int
        Number of columns seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where `X` had any.

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

    _scores: FoldScores | None

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Build the bank from all rows, and weight its candidates by the known targets.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Training rows, with and without a target. A
            :class:`~fewlabels.preprocessing.TableSample` is scaled by the table it was
            drawn from.
        y : array-like of shape (n_samples,)
            Targets; NaN or None marks a row without one.
        groups : array-like of shape (n_samples,), default=None
            Rows to be held out together, see :meth:`FewLabelsClassifier.fit`.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        given, X = X, self.encode_frame(X)
        X, targets = validate_partial_targets(
            self, X, y, given=given, accept_sparse="csr", dtype=FLOATS
        )
        self.name_columns()
        with self._built_bank(X, given, groups) as line:
            self._learn(targets, line)
        return self

    def refit_labels(self, y: ArrayLike, *, estimate_error: bool = True) -> Self:
        """Learn from other targets for the same rows, reusing the bank.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Targets, some of them missing, for the rows of `fit`.
        estimate_error : bool, default=True
            Whether to estimate errors, which takes most of the time. False leaves
            `expected_error_` and `baseline_error_` unknown; predictions are the same.

        Returns
        -------
        self : object
            The regressor, as after `fit` with these targets but in less time.
        """
        check_is_fitted(self)
        targets = encode_targets(y)
        with self._same_bank(targets.size) as line:
            self._learn(targets, line, estimate_error=estimate_error)
        return self

    def _learn(
        self, targets: NDArray[Any], line: ProgressLine, *, estimate_error: bool = True
    ) -> None:
        """Weight the candidates of the bank by the targets, and predict all rows."""
        rng = np.random.RandomState(self._label_seed)
        missing = np.isnan(targets)
        self.labeled_indices_ = rows = np.flatnonzero(~missing)
        known = targets[rows]
        # On the scale of the kernels, whose mean diagonal is one.
        size = safe_unit(known)
        mean = size * float((known / size).mean())
        self._unit = size * float((known / size).std()) or 1.0
        labeled = Labeled(
            Y=((known - mean) / self._unit)[:, None],
            codes=np.zeros(rows.size, dtype=np.intp),
            distinct=self._bank.index[rows],
            groups=self._bank.groups[self._bank.index[rows]],
            importance=np.ones(rows.size),
            few=rows.size <= tuned.FEW,
            regression=True,
        )
        judgement = judge(self._bank, labeled, rng, line, estimate_error=estimate_error)
        answer = answer_numbers(
            self._bank,
            labeled,
            judgement,
            unit=self._unit,
            mean=mean,
            memory_budget=self.memory_budget,
            rng=rng,
            estimate_error=estimate_error,
        )
        self._take_models(answer.model, answer.baseline)
        self.expected_error_ = answer.expected_error
        self.baseline_error_ = answer.baseline_error
        self._mean = mean
        self._folds, self._scores = fit_folds(self._bank, judgement, self.memory_budget)
        self.candidates_ = candidate_table(self._bank, judgement)
        self.transduction_ = targets.copy()
        outputs = self._model.training_outputs[self._bank.index, 0]
        self.transduction_[missing] = outputs[missing]
        line.update(1.0)

    def predict(self, X: Any, *, return_interval: float | None = None) -> Any:
        """Predict the target of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Rows. Training rows keep their outputs from `fit`; new rows join the graphs
            through their nearest neighbours.
        return_interval : float, default=None
            Coverage of an interval for every target, such as 0.9. It is infinite where
            too few targets are known for that coverage (fewer than 9 for 0.9), or where
            they were not judged. See Notes.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted targets.
        low, high : ndarray of shape (n_samples,)
            Ends of the intervals, if `return_interval` is given.

        Notes
        -----
        Intervals are those of CV+ [1]_ from the blocks of known targets that the whole
        procedure is repeated without, one target each with up to 20 of them and 20
        blocks otherwise. Their width follows the size of held-out errors. If the rows
        with a known target are drawn at random from those of `fit`, the interval of
        another row of `fit` contains its target with a probability of at least
        :math:`2 p - 1`, whatever the data and the model are, and with more than 20
        known targets at least :math:`2 p - 1 - (1 - 20 / l) / 21`; p is
        `return_interval`, and in practice the probability is close to it. Two
        shortcuts are outside of the theorem: inside a fold, forests are weighted by
        scores that were computed once for all folds, and with some hundred targets only
        candidates that do well with all of them are tried in every fold.

        References
        ----------
        .. [1] R. F. Barber, E. J. Candès, A. Ramdas, R. J. Tibshirani, "Predictive
           inference with the jackknife+", Annals of Statistics 49 (1), 2021.
           :doi:`10.1214/20-AOS1965`
        """
        if return_interval is None:
            return self._predictions(self._rows(X))
        if not 0 < return_interval < 1:
            raise ValueError(
                "return_interval must lie between 0 and 1, such as 0.9, got "
                f"{return_interval!r}."
            )
        rows = self._rows(X)
        y = self._predictions(rows)
        low, high = np.full((2, y.size), [[-np.inf], [np.inf]])
        if self._folds is not None and self._scores is not None:
            ends = self._scores.ends(self._folds.outputs(rows), return_interval)
            low, high = (self._mean + self._unit * end for end in ends)
        return y, np.minimum(low, y), np.maximum(high, y)

    def _predictions(self, rows: Any) -> NDArray[Any]:
        return self._model.outputs(rows)[:, 0]

    def explain(self, X: Any = None) -> str:
        """Explain in plain words what the predictions rest on and how good they are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows, such as those of `fit`. If given, the text also says which columns
            matter.

        Returns
        -------
        text : str
            A few lines to print.
        """
        check_is_fitted(self)
        n, n_labeled = self._bank.n_samples, self.labeled_indices_.size
        lines = [f"{n_labeled} known targets, {n - n_labeled} rows without one."]
        if n_labeled < 2 or not self.candidates_["weight"].size:
            return lines[0] + " There is nothing to choose."
        lines += choice_words(self.candidates_)
        error = self.expected_error_
        lines.append(f"Expected error (root mean square): {error}.")
        if no_better(error, self._unit):
            lines.append(
                "That may be no better than predicting the mean for every row: the "
                f"known targets deviate from theirs by {self._unit:.3g}."
            )
        lines.append(f"Supervised ({self.baseline_.name}): {self.baseline_error_}.")
        if X is not None:
            lines.append(effect_words(self.column_effects(X)))
        return "\n".join(line for line in lines if line)
