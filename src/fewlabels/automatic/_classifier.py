"""The automatic classifier for few labels."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.utils import Tags, check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from fewlabels._backend import accepts_tensors
from fewlabels._classifier import PartialLabelClassifier, as_decision
from fewlabels._labels import (
    UNLABELED,
    Labels,
    decide,
    encode_labels,
    signed_targets,
    validate_partially_labeled,
    weighted_labels,
)
from fewlabels._linalg import FLOATS
from fewlabels._progress import Progress, ProgressLine
from fewlabels._sklearn import StrOptions, fit_context, validate_data
from fewlabels.automatic._advice import (
    CONFIDENCES,
    SUSPICIOUS_ODDS,
    AcceptedRows,
    ClassError,
    ColumnEffect,
    HeldOut,
    LearningCurve,
    SuspiciousLabel,
    class_errors,
    column_effects,
    columns_of,
    effect_words,
    errors_above,
    expected_confusions,
    guess_words,
    halving_words,
    learning_curve,
    suspicion_words,
    suspicious_labels,
    verdict,
)
from fewlabels.automatic._bank import BANK_CONSTRAINTS, KernelBank, build_bank
from fewlabels.automatic._candidates import Candidate, Outputs
from fewlabels.automatic._choice import (
    CAUTION,
    CAUTIOUS_TEMPERATURE,
    FEW,
    NOT_JUDGED,
    USUAL_TEMPERATURE,
    ErrorEstimate,
    Labeled,
    Nested,
    best_temperature,
    estimate_of_rows,
    gain_over,
    probabilities,
    wrong,
)
from fewlabels.automatic._engine import (
    BankModel,
    Scored,
    candidate_table,
    fit_models,
    score_candidates,
)
from fewlabels.automatic._kept import Plain, Rounded
from fewlabels.automatic._members import (
    Contribution,
    Member,
    choice_words,
    contributions_of,
    members_of,
)
from fewlabels.automatic._recipe import BankSettings
from fewlabels.automatic._saving import CompactSaving
from fewlabels.automatic._scaling import RowScaling
from fewlabels.automatic._scores import class_outputs
from fewlabels.automatic._shares import (
    drawn_by_class,
    estimated_shares,
    known_shares,
    matching_offsets,
)
from fewlabels.automatic._sources import Source
from fewlabels.preprocessing import FrameEncoding


class FewLabelsClassifier(CompactSaving, FrameEncoding, PartialLabelClassifier):
    r"""Classify from a few labels without choosing a method.

    A bank of several dozen kernels is built from all rows, without labels: linear and
    Gaussian kernels, leading components, clusters, neighbour graphs, kernels deformed
    by a graph, path lengths. On each of them, and for each of five ridges, least
    squares is scored on the labelled rows in closed form,

    .. math::
        f_B = Y_B - [(A^{-1})_{BB}]^{-1} (A^{-1} Y)_B, \qquad A = K_{JJ} + \rho I,

    where the rows B are left out. Ranks of these scores, averaged over a Bayesian
    bootstrap of the labels, give weights, and the answer is the weighted average of
    all outputs. Picking the single best instead is a lottery when labels are few.

    Parameters
    ----------
    bank : {"fast", "default", "thorough"}, default="default"
        How many kernels, and how exactly. "fast" leaves out what costs the most and is
        meant for up to a million rows; "thorough" has the kernels of "default" with
        more landmarks, eigenvectors and runs.
    scale : {"auto", "standard", "unit", "none"}, default="auto"
        How to scale rows before distances are taken: columns of variance one, rows of
        length one, or not at all. "auto" treats sparse rows as text and scales them to
        length one, and standardises a dense table, recognised by few columns or by
        columns of different scales.
        Sparse rows are text with "auto" and "unit"; with "standard" and "none" they are
        made dense, if they then fit into `memory_budget`.
    class_weight : dict, "balanced" or None, default=None
        "balanced" gives each class the same say, for a small error in every class where
        class sizes differ. None is best for the plain error. Weights act on scores and,
        inversely, on the ridge of a row.
    class_prior : {"auto", "labels", "uniform"}, dict or array-like, default="auto"
        Shares of the classes among the rows without a label. "labels" takes those of
        the labels, which is right where these were drawn at random; "uniform" takes
        the same for each. A dictionary, or an array in the order of `classes_`, gives
        shares or numbers of rows that you know. "auto" lets the unlabelled rows speak,
        with caution, where the labels look as if drawn class by class (most classes
        have the same number of labels, and none has more), and otherwise takes those
        of the labels; with a `class_weight` it always does the latter.
    feature_groups : array-like of shape (n_features,), default=None
        Which column of a table every feature comes from, for features that were
        encoded. It also says that the rows are those of a table, on which single
        columns and decision trees are tried; without it, dense rows are taken for one
        that `scale` standardises, or that have more than 100 columns of two values each
        of which those side by side are not correlated as in a picture.
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
        Arrays that are kept grow with the number of rows: some 5 kB a row.
    progress : "auto", bool or callable, default=False
        True writes a line to the standard error stream, "auto" does so on a terminal
        for work that takes a while, and a callable is given the share that is done.
    random_state : int, RandomState instance or None, default=None
        Seed of samples, k-means starts, blocks and bootstrap.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    candidates_ : dict of str to ndarray
        A table with one line per candidate and ridge: "candidate", "family", "ridge",
        four scores ("loo_squared_error" and "loo_log_loss" with one row left out,
        "many_squared_error" and "many_log_loss" with many), the error "loo_error" with
        one row left out, and "weight". Of scores and errors, lower is better; they are
        NaN where held-out rows say nothing. ``pandas.DataFrame(model.candidates_)``
        shows it.
    baseline_ : BankModel
        The best supervised candidate, fitted to the same labels; has `predict`.
    expected_error_ : ErrorEstimate
        The error to expect on unlabelled rows, with an interval of 90 %. The whole
        procedure is repeated without some of the labels. NaN, with the reason, where
        nothing honest can be said.
    baseline_error_ : ErrorEstimate
        The same for `baseline_`.
    gain_ : ErrorEstimate
        By how much the error of the baseline is larger; an interval above zero means
        that the unlabelled rows helped.
    temperature_ : float
        Probabilities are softmax(`temperature_` * outputs).
    class_shares_ : ndarray of shape (n_classes,)
        Shares of the classes that were assumed among unlabelled rows, see
        `class_prior`.
    labeled_indices_ : ndarray of shape (n_labeled,)
        The labelled rows.
    transformer_ : TableTransformer or None
        What turned a frame with words, dates or holes into numbers.
    n_features_in_ : int
        Number of features seen during fit, those of `transformer_` where there is one.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    fewlabels.semi_supervised.RLSClassifier : Supervised least squares by itself.

    Notes
    -----
    Equal rows count once in the bank, and equal labelled rows are left out together.
    With more than 500 labels, the choice is made on a sample of 500, and few kernels
    are then fitted to all labels. With more than some 150, the expected error repeats
    the choice among the kernels that carry most of the weight. Where no class has two
    labels, held-out rows say nothing, and a fixed average answers: kernels of graphs
    and clusters, for text and tables supervised ones and, on tables, forests.

    Examples
    --------
    >>> from fewlabels import FewLabelsClassifier
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> X, y_true = make_moons(300, noise=0.08, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=10, random_state=0)  # -1 = unlabelled
    >>> model = FewLabelsClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, y_true) > 0.95)
    True
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    >>> model.expected_error_.is_known
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BANK_CONSTRAINTS,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "class_prior": [
            StrOptions({"auto", "labels", "uniform"}),
            dict,
            "array-like",
        ],
    }

    def __init__(
        self,
        *,
        bank: str = "default",
        scale: str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        class_prior: str | dict[Any, float] | ArrayLike = "auto",
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
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.feature_groups = feature_groups
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.device = device
        self.memory_budget = memory_budget
        self.progress = progress
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    @accepts_tensors
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Build the bank from all rows, and choose by the labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Training rows, labelled and unlabelled. A
            :class:`~fewlabels.preprocessing.TableSample` is scaled by the table that
            it was drawn from.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labels; a label of weight zero does not count. Those of rows
            without a label have no effect.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        given, X = X, self.encode_frame(X)
        X, labels = validate_partially_labeled(
            self, X, y, accept_sparse="csr", dtype=FLOATS
        )
        rng = check_random_state(self.random_state)
        with ProgressLine(self.progress, type(self).__name__) as line:
            self._bank = build_bank(self, X, given, rng, line)
            self._label_seed = rng.randint(2**31)
            with self._bank.threads():
                self._fit_labels(labels, sample_weight, line)
        return self

    def refit_labels(
        self,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        judge: bool = True,
    ) -> Self:
        """Learn from other labels for the same rows; the bank stays.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels, some of them missing, for the rows of `fit`. Classes may differ.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labels, as in `fit`.
        judge : bool, default=True
            Whether to repeat the whole procedure without some of the labels, which
            takes most of the time. False leaves `expected_error_`, `baseline_error_`
            and `gain_` unknown, and `temperature_` as it was; predictions are the same.

        Returns
        -------
        self : object
            The same as after `fit` on these labels, but in less time.
        """
        check_is_fitted(self)
        labels = encode_labels(y)
        self._bank.check_whole()
        if labels.codes.size != self._bank.index.size:
            raise ValueError(
                f"y has {labels.codes.size} entries but fit has seen "
                f"{self._bank.index.size} rows: pass one label per row, with the "
                "marker for rows without a label."
            )
        with (
            self._bank.threads(),
            ProgressLine(self.progress, type(self).__name__) as line,
        ):
            self._fit_labels(labels, sample_weight, line, judge=judge)
        return self

    def _fit_labels(
        self,
        labels: Labels,
        sample_weight: ArrayLike | None,
        line: ProgressLine,
        *,
        judge: bool = True,
    ) -> None:
        rng = np.random.RandomState(self._label_seed)
        labels, row_weights = weighted_labels(labels, sample_weight)
        rows = labels.labeled
        self.classes_ = labels.classes
        self.labeled_indices_ = rows
        self._row_weights = row_weights[rows]
        labeled = self._labeled(labels.codes[rows], self._bank.index[rows])
        scored = score_candidates(self._bank, labeled, rng, line, judge=judge)
        self._model, self.baseline_ = fit_models(
            self._bank,
            labeled,
            scored,
            classes=self.classes_,
            memory_budget=self.memory_budget,
            rng=rng,
        )
        self._keep_shares(labels, labeled, scored)
        self.candidates_ = candidate_table(self._bank, scored)
        self._contributions = contributions_of(self.candidates_, scored.labeled)
        self._keep_answers(labels)
        self._held: HeldOut | None = None
        self._curve = learning_curve(rows.size, np.nan)
        if judge:
            self._keep_judgement(scored, labels)
        else:
            unknown = ErrorEstimate(np.nan, 0.0, 1.0, NOT_JUDGED)
            self.expected_error_ = self.baseline_error_ = unknown
            self.gain_ = ErrorEstimate(np.nan, -1.0, 1.0, NOT_JUDGED)
        line.update(1.0)

    def _labeled(self, codes: NDArray[np.intp], groups: NDArray[np.intp]) -> Labeled:
        n_classes = self.classes_.size
        weights = compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_[codes]
        )
        if not (weights > 0).all():
            raise ValueError(
                f"class_weight={self.class_weight!r} must be positive for every class: "
                "to leave a class out, remove its labels."
            )
        importance = weights[codes] * self._row_weights
        importance /= importance.mean()
        Y = signed_targets(codes, n_classes)
        return Labeled(Y, codes, groups, importance, codes.size <= FEW)

    def _keep_shares(self, labels: Labels, labeled: Labeled, scored: Scored) -> None:
        """Shift outputs to the shares that classes have among unlabelled rows."""
        n_classes = self.classes_.size
        sums = np.bincount(labeled.codes, labeled.importance, minlength=n_classes)
        given = sums / sums.sum()
        rows = self._bank.index[labels.codes == UNLABELED]
        outputs = scored.choice.outputs
        self.class_shares_, self._shift = given, np.zeros(1)
        if n_classes < 2 or not rows.size:
            return
        temperature = USUAL_TEMPERATURE
        if outputs is not None:
            temperature = best_temperature(outputs, scored.labeled)
        logits = temperature * class_outputs(self._model.training_outputs[rows])
        if isinstance(self.class_prior, str) and self.class_prior != "uniform":
            unknown = self.class_prior == "auto" and self.class_weight is None
            if not unknown or not drawn_by_class(np.bincount(labeled.codes)):
                return
            p = softmax(logits, axis=1)
            self.class_shares_ = estimated_shares(p, given, labeled.size)
            offsets = np.log(self.class_shares_ / given)
        else:
            self.class_shares_ = known_shares(self.class_prior, self.classes_)
            offsets = matching_offsets(logits, self.class_shares_)
        shift = offsets / temperature
        self._shift = (shift[1:] - shift[0]) / 2 if n_classes == 2 else shift
        self._model.rescale(1.0, self._shift)

    def _as_unlabeled(self, labeled: Labeled) -> Labeled:
        """Weigh labelled rows so that classes have their shares of unlabelled ones."""
        sums = np.bincount(labeled.codes, labeled.importance)
        ratio = self.class_shares_ * sums.sum() / sums
        return replace(labeled, importance=labeled.importance * ratio[labeled.codes])

    def _keep_answers(self, labels: Labels) -> None:
        """Labels for all rows."""
        unlabeled = np.flatnonzero(labels.codes == UNLABELED)
        own = self._model.training_outputs[self._bank.index[unlabeled]]
        self.transduction_ = self.classes_[labels.codes]
        answers = decide(as_decision(own), self.classes_)
        self.transduction_[unlabeled] = answers
        supervised = self.baseline_.training_outputs[self._bank.index[unlabeled]]
        other = decide(as_decision(supervised), self.classes_)
        self._changed = float(np.mean(other != answers)) if unlabeled.size else 0.0

    def _keep_judgement(self, scored: Scored, labels: Labels) -> None:
        """How good these labels are."""
        unlabeled = self._bank.index[labels.codes == UNLABELED]
        own = self._model.training_outputs[unlabeled]
        supervised = self.baseline_.training_outputs[unlabeled]
        labeled, nested = scored.labeled, scored.nested
        nothing = np.full(labeled.Y.shape, np.nan)
        held, held_baseline = (nothing, nothing) if nested is None else nested[:2]
        held = held + self._shift
        labeled = self._as_unlabeled(labeled)
        self.temperature_, other = (
            best_temperature(outputs, labeled, CAUTIOUS_TEMPERATURE, CAUTION)
            for outputs in (held, held_baseline)
        )
        self.expected_error_ = estimate_of_rows(held, labeled, own, self.temperature_)
        self.baseline_error_ = estimate_of_rows(
            held_baseline, labeled, supervised, other
        )
        self.gain_ = gain_over(held, held_baseline, labeled, self.expected_error_)
        self._keep_held_out(nested, labeled)

    def _keep_held_out(self, nested: Nested | None, labeled: Labeled) -> None:
        """Keep what advice is drawn from."""
        rows, codes = self.labeled_indices_, labeled.codes
        error = self.expected_error_.value
        if nested is None or np.isnan(error):
            return
        self._curve = learning_curve(rows.size, error)
        if nested.halves is not None:
            own, half = (
                wrong(held + self._shift, codes)
                for held in (nested.outputs, nested.halves)
            )
            self._curve = learning_curve(rows.size, error, own, half)
        p, confirmed = (
            probabilities(held + self._shift, self.temperature_)
            for held in (nested.outputs, nested.confirmed)
        )
        # Of many labels a sample was held out: all rows of some groups.
        sampled = np.isin(self._bank.index[rows], labeled.groups)
        self._held = HeldOut(rows[sampled], codes, p, labeled.importance, confirmed)

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        if self.transformer_ is not None:
            X = self.transformer_.transform(X)
        return validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)

    def _outputs(self, X: Any) -> NDArray[Any]:
        rows = self._rows(X)  # which asks first whether there is a model
        return self._model.outputs(rows)

    @accepts_tensors
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Compute the averaged outputs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows. Those of the training set get the outputs they got there; others are
            joined to the graphs by their neighbours.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For up to two classes one value per row, positive for `classes_[1]`.
        """
        return as_decision(self._outputs(X))

    @accepts_tensors
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes.
        """
        return decide(self.decision_function(X), self.classes_)

    @accepts_tensors
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Predict probabilities of classes, calibrated on held-out labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Rows sum to 1, and no probability is 0 or 1 (unless there is a single
            class).
        """
        return self._probabilities(self._outputs(X))

    @property
    def label_distributions_(self) -> NDArray[Any]:
        """Probabilities of classes for all training rows."""
        self._require_rows()
        return self._probabilities(self._model.training_outputs[self._bank.index])

    @property
    def distinct_rows_(self) -> NDArray[np.intp]:
        """Number of the distinct row that every training row is a copy of."""
        self._require_rows()
        return self._bank.index

    def contributions(self) -> list[Contribution]:
        """Tell what every family of candidates adds to the answer.

        Returns
        -------
        contributions : list of Contribution
            Families with their share and the error of their heaviest candidate when
            one labelled row is left out; the heaviest first.
        """
        check_is_fitted(self)
        return self._contributions

    @property
    def guessing_error_(self) -> float:
        """Error of giving every row without a label the largest class."""
        return float(1 - self.class_shares_.max())

    def verdict(self) -> str:
        """Say in one sentence what the predicted labels are worth.

        Returns
        -------
        sentence : str
            For the head of a report.
        """
        return verdict(self.expected_error_, self.guessing_error_, self.errors_above())

    def learning_curve(self) -> LearningCurve:
        """Tell how the error should fall as labels are added.

        Returns
        -------
        curve : LearningCurve
            A power law; its exponent is drawn towards the usual one, and is the usual
            one with up to 20 labels.
        """
        check_is_fitted(self)
        return self._curve

    def errors_above(
        self, confidences: Sequence[float] = CONFIDENCES
    ) -> list[AcceptedRows]:
        """Tell what error to expect among the rows that are sure.

        Parameters
        ----------
        confidences : sequence of float
            From which confidences on; the largest probability of a row is its
            confidence.

        Returns
        -------
        accepted : list of AcceptedRows
            One for each that any row without a label has, with the number and share of
            such rows and their expected error.

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
        """Estimate which classes get which labels.

        Returns
        -------
        shares : ndarray of shape (n_classes, n_classes)
            Shares of all rows: true classes in rows, labels in columns, both in the
            order of `classes_`; NaN where the expected error is unknown.
        """
        p = self._open()
        if self._held is None:
            return np.full((self.classes_.size,) * 2, np.nan)
        return expected_confusions(p, self._held)

    def class_errors(self) -> list[ClassError]:
        """Tell what error to expect in every class.

        Returns
        -------
        errors : list of ClassError
            In the order of `classes_`; NaN where the expected error is unknown.
        """
        p = self._open()
        n_classes = self.classes_.size
        given = self.transduction_[self.labeled_indices_]
        codes = np.searchsorted(self.classes_, given)
        return class_errors(
            self.expected_confusions(),
            self.classes_,
            np.bincount(codes, minlength=n_classes),
            np.bincount(p.argmax(axis=1), minlength=n_classes),
            codes.size,
            len(p) > 0,
        )

    def suspicious_labels(self, odds: float = SUSPICIOUS_ODDS) -> list[SuspiciousLabel]:
        """Find given labels that the others contradict strongly.

        Parameters
        ----------
        odds : float
            A label is named if, without it, another class has at least these odds.

        Returns
        -------
        suspicious : list of SuspiciousLabel
            The most doubtful first; none where the expected error is unknown.
        """
        check_is_fitted(self)
        if self._held is None:
            return []
        return suspicious_labels(self._held, self.classes_, odds)

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
            The column that every feature belongs to; by default that of the frame, or
            else `feature_groups`, or else every feature is one.
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
            lambda rows: self._probabilities(self._model.outputs(rows)),
            self._rows(X),
            columns_of(self) if groups is None else groups,
            n_rows=n_rows,
            random_state=random_state,
        )

    def _open(self) -> NDArray[Any]:
        """Probabilities of the rows without a label."""
        check_is_fitted(self)
        self._require_rows()
        unlabeled = np.ones(self._bank.index.size, dtype=bool)
        unlabeled[self.labeled_indices_] = False
        rows = self._bank.index[unlabeled]
        return self._probabilities(self._model.training_outputs[rows])

    def _probabilities(self, outputs: NDArray[Any]) -> NDArray[Any]:
        if self.classes_.size == 1:
            return np.ones((outputs.shape[0], 1))
        return probabilities(outputs, self.temperature_)

    def members(
        self,
        rows: NDArray[np.intp],
        places: NDArray[np.intp],
        *,
        n_members: int = 12,
        max_kept_rows: int = 0,
    ) -> list[Member]:
        r"""Take the heaviest kernels, with their uncertainty.

        Least squares with a kernel K and a ridge is the mean of a Gaussian process, of
        which the covariance after the labels of the rows J is known too,

        .. math:: P = K - K_{\cdot J} (K_{JJ} + \rho D)^{-1} K_{J \cdot} .

        Parameters
        ----------
        rows : ndarray of int
            Training rows to look at.
        places : ndarray of int
            Which of them may get a label: indices into `rows`.
        n_members : int, default=12
            Number of kernels.
        max_kept_rows : int, default=0
            Where there are no more distinct training rows than that, kernel matrices
            are kept for the next call, also after other labels.

        Returns
        -------
        members : list of Member
            Of weights with sum 1; none where the classifier has no kernels.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_moons
        >>> from fewlabels import FewLabelsClassifier
        >>> from fewlabels.datasets import hide_labels
        >>> X, y_true = make_moons(100, noise=0.1, random_state=0)
        >>> y = hide_labels(y_true, n_labeled=10, random_state=0)
        >>> model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        >>> members = model.members(np.arange(100), np.arange(5))
        >>> members[0].covariance.shape, round(sum(m.weight for m in members), 6)
        ((100, 5), 1.0)
        """
        check_is_fitted(self)
        self._bank.check_whole()
        labeled, index = self.labeled_indices_, self._bank.index
        codes = np.searchsorted(self.classes_, self.transduction_[labeled])
        return members_of(
            self._bank,
            self.candidates_,
            self._labeled(codes, index[labeled]),
            index[rows],
            np.asarray(places),
            n_members=n_members,
            max_kept_rows=max_kept_rows,
        )

    @classmethod
    def saved_types(cls) -> list[str]:
        """Name the classes of this package that a compact classifier is made of.

        Returns
        -------
        names : list of str
            Dotted names, for those who check what a file asks for.
        """
        found = {cls, BankModel, BankSettings, KernelBank, RowScaling, Plain, Rounded}
        found |= {Contribution, ErrorEstimate, HeldOut, LearningCurve}
        open_ends: list[type] = [Source, Candidate, Outputs]
        while open_ends:
            found.add(last := open_ends.pop())
            open_ends += last.__subclasses__()
        names = (f"{known.__module__}.{known.__qualname__}" for known in found)
        return sorted(name for name in names if name.startswith("fewlabels."))

    @accepts_tensors
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """Predict logarithms of probabilities of classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            The logarithms of :meth:`predict_proba`.
        """
        return np.log(self.predict_proba(X))

    def explain(self, X: Any = None, *, first_row: int = 0) -> str:
        """Say in plain words what the answers rest on and how good they are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows, such as those of `fit`. With them it also says which columns matter.
        first_row : int, default=0
            What to call the first row.

        Returns
        -------
        text : str
            A few lines, to be printed.
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
        lines.append(f"Expected error: {self.expected_error_}.")
        lines.append(f"Supervised ({self.baseline_.name}): {self.baseline_error_}.")
        if n_labeled < n:
            lines.append(
                f"The unlabelled rows changed {100 * self._changed:.0f} % of the "
                "answers. " + _helped(self.gain_, n_labeled)
            )
        lines += self.advice(first_row=first_row)
        if X is not None:
            lines.append(effect_words(self.column_effects(X)))
        return "\n".join(line for line in lines if line)

    def advice(self, *, first_row: int = 0) -> list[str]:
        """Say what the expected error means, and what to do about it.

        Parameters
        ----------
        first_row : int, default=0
            What to call the first row.

        Returns
        -------
        sentences : list of str
            Whether answers can be told from guessing, how many labels would halve the
            error, and which given labels the others contradict.
        """
        check_is_fitted(self)
        words = (
            guess_words(self.expected_error_, self.guessing_error_),
            halving_words(self._curve),
            suspicion_words(self.suspicious_labels(), first_row),
        )
        return [sentence for sentence in words if sentence]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _helped(gain: ErrorEstimate, n_labeled: int) -> str:
    if not gain.is_known:
        return "These labels cannot tell whether that helped."
    low, high = 100 * gain.low, 100 * gain.high
    interval = f"(gain {low:.0f} to {high:.0f} points)"
    if gain.low > 0:
        return f"That probably helped {interval}."
    if gain.high < 0:
        return f"That probably hurt {interval}: use baseline_."
    if n_labeled <= FEW:
        return f"There are too few labels to say whether that helped {interval}."
    return f"It is not clear whether that helped {interval}."
