"""The automatic classifier for few labels."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from fewlabels._classifier import PartialLabelClassifier, as_decision
from fewlabels._labels import (
    UNLABELED,
    Labels,
    decide,
    encode_labels,
    relative_weights,
    signed_targets,
    validate_partially_labeled,
    weighted_labels,
)
from fewlabels._linalg import FLOATS
from fewlabels._progress import Progress, ProgressLine
from fewlabels._sklearn import StrOptions, fit_context
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._answer import ClassAnswer, answer_classes
from fewlabels.automatic._bank import BANK_CONSTRAINTS, KernelBank
from fewlabels.automatic._curve import LearningCurve
from fewlabels.automatic._diagnostics import HeldOut
from fewlabels.automatic._errors import ErrorEstimate
from fewlabels.automatic._explanation import ExplainedClassifier
from fewlabels.automatic._judge import candidate_table, judge
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._members import (
    Contribution,
    Member,
    contributions_of,
    members_of,
)
from fewlabels.automatic._model import BankModel
from fewlabels.automatic._packing import Plain, Rounded
from fewlabels.automatic._probabilities import probabilities
from fewlabels.automatic._recipe import BankSettings
from fewlabels.automatic._scaling import RowScaling
from fewlabels.automatic._sources import Compactable


class FewLabelsClassifier(ExplainedClassifier, PartialLabelClassifier):
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
        super().__init__(
            bank=bank,
            scale=scale,
            feature_groups=feature_groups,
            neighbors=neighbors,
            n_jobs=n_jobs,
            device=device,
            memory_budget=memory_budget,
            progress=progress,
            random_state=random_state,
        )
        self.class_weight = class_weight
        self.class_prior = class_prior

    @fit_context(prefer_skip_nested_validation=True)
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
        with self._built_bank(X, given) as line:
            self._learn(labels, sample_weight, line)
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
        with self._same_bank(labels.codes.size) as line:
            self._learn(labels, sample_weight, line, judged=judge)
        return self

    def _learn(
        self,
        labels: Labels,
        sample_weight: ArrayLike | None,
        line: ProgressLine,
        *,
        judged: bool = True,
    ) -> None:
        """Judge the candidates of the bank by labels, and answer for all rows."""
        rng = np.random.RandomState(self._label_seed)
        labels, row_weights = weighted_labels(labels, sample_weight)
        rows, unlabeled = labels.labeled, labels.codes == UNLABELED
        self.classes_, self.labeled_indices_ = labels.classes, rows
        self._row_weights = row_weights[rows]
        labeled = self._labeled(labels.codes[rows])
        judgement = judge(self._bank, labeled, rng, line, repeat=judged)
        prior = self.class_prior
        if isinstance(prior, str) and prior == "auto" and self.class_weight is not None:
            prior = "labels"
        answer = answer_classes(
            self._bank,
            labeled,
            judgement,
            rows=rows,
            unlabeled=self._bank.index[unlabeled],
            classes=self.classes_,
            class_prior=prior,
            memory_budget=self.memory_budget,
            rng=rng,
            judged=judged,
        )
        self.candidates_ = candidate_table(self._bank, judgement)
        self._contributions = contributions_of(self.candidates_, judgement.labeled)
        self.transduction_ = self.classes_[labels.codes]
        self.transduction_[unlabeled] = answer.predicted
        self._take(answer)
        line.update(1.0)

    def _labeled(self, codes: NDArray[np.intp]) -> Labeled:
        """Describe the labelled rows by their classes and weights."""
        weights = compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_[codes]
        )
        if not (weights > 0).all():
            raise ValueError(
                f"class_weight={self.class_weight!r} must be positive for every class: "
                "to leave a class out, remove its labels."
            )
        importance = relative_weights(weights[codes] * self._row_weights)
        importance /= importance.mean()
        Y = signed_targets(codes, self.classes_.size)
        groups = self._bank.index[self.labeled_indices_]
        return Labeled(Y, codes, groups, importance, codes.size <= tuned.FEW)

    def _take(self, answer: ClassAnswer) -> None:
        """Take over what the last stage has found as attributes."""
        self._model, self.baseline_ = answer.model, answer.baseline
        self.class_shares_, self._changed = answer.class_shares, answer.changed
        errors = answer.errors
        self.expected_error_, self.baseline_error_ = errors.expected, errors.baseline
        self.gain_, self._curve, self._held = errors.gain, errors.curve, errors.held_out
        if errors.temperature is not None:
            self.temperature_ = errors.temperature

    def _outputs(self, X: Any) -> NDArray[Any]:
        rows = self._rows(X)
        return self._model.outputs(rows)

    def _predictions(self, rows: Any) -> NDArray[Any]:
        return self._probabilities(self._model.outputs(rows))

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
        index = self._bank.index
        given = self.transduction_[self.labeled_indices_]
        codes = np.searchsorted(self.classes_, given)
        return members_of(
            self._bank,
            self.candidates_,
            self._labeled(codes),
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
        open_ends: list[type] = [Compactable]
        while open_ends:
            found.add(last := open_ends.pop())
            open_ends += last.__subclasses__()
        names = (f"{known.__module__}.{known.__qualname__}" for known in found)
        return sorted(name for name in names if name.startswith("fewlabels."))

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
