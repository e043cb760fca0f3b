"""The automatic classifier for few labels."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from fewlabels._classifier import PartialLabelClassifier
from fewlabels._labels import (
    UNLABELED,
    Labels,
    encode_labels,
    relative_weights,
    signed_targets,
    validate_partially_labeled,
    weighted_labels,
)
from fewlabels._linalg import FLOATS
from fewlabels._progress import Progress, ProgressLine
from fewlabels._sklearn import StrOptions, fit_context, validate_data
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._answer import (
    ClassAnswer,
    answer_classes,
    answer_hints,
    answer_opinions,
)
from fewlabels.automatic._bank import BANK_CONSTRAINTS, KernelBank
from fewlabels.automatic._compact import Plain, Rounded
from fewlabels.automatic._curve import LearningCurve
from fewlabels.automatic._diagnostics import HeldOut
from fewlabels.automatic._errors import ErrorEstimate
from fewlabels.automatic._hints import Context, HintOutputs
from fewlabels.automatic._intervals import FoldScores
from fewlabels.automatic._judge import candidate_table, judge
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._members import (
    Contribution,
    Member,
    contributions_of,
    members_of,
)
from fewlabels.automatic._model import BankModel
from fewlabels.automatic._predicting import PredictingClassifier
from fewlabels.automatic._recipe import BankSettings
from fewlabels.automatic._scaling import RowScaling
from fewlabels.automatic._sources import Compactable
from fewlabels.automatic._views import FeatureView
from fewlabels.opinions import (
    Reliability,
    SourceReport,
    labels_with_hints,
    source_reports,
)


class FewLabelsClassifier(PredictingClassifier, PartialLabelClassifier):
    r"""Classify from a few labels without choosing a method.

    A bank of several dozen kernels is built from all rows, without labels: linear and
    Gaussian kernels, leading components, clusters, neighbour graphs, kernels deformed
    by a graph, path lengths. On each of them, and for each of five ridges, least
    squares is scored on the labelled rows in closed form,

    .. math::
        f_B = Y_B - [(A^{-1})_{BB}]^{-1} (A^{-1} Y)_B, \qquad A = K_{JJ} + \rho I,

    where the rows B are left out. Weights follow the ranks of these scores, averaged
    over a Bayesian bootstrap of the labels, and the prediction is the weighted average
    of all outputs. Picking the single best instead is a lottery when labels are few.

    Parameters
    ----------
    bank : {"auto", "fast", "default", "thorough"}, default="default"
        Size and precision of the bank; "auto" follows the number of rows, see
        :func:`bank_for`. "fast" leaves out the most expensive kernels and is meant
        for up to a million rows; "thorough" has the kernels of "default" with more
        landmarks, eigenvectors and runs.
    scale : {"auto", "standard", "unit", "none"}, default="auto"
        How to scale rows before computing distances: columns of variance one, rows of
        length one, or not at all. "auto" treats sparse rows as text and scales them to
        length one, and standardises a dense table, recognised by few columns or by
        columns of different scales. Embeddings, codes of networks and principal
        components, recognised by rows near a sphere, keep their scale.
        Sparse rows count as text with "auto" and "unit"; with "standard" and "none"
        they are made dense if they then fit into `memory_budget`.
    class_weight : dict, "balanced" or None, default=None
        "balanced" gives each class the same total weight, for a small error in every
        class when class sizes differ. None is best for the overall error. Weights act
        on scores and, inversely, on the ridge of a row.
    class_prior : {"auto", "labels", "uniform"}, dict or array-like, default="auto"
        Class shares among the unlabelled rows. "labels" uses those of the labels, which
        is correct if the labels were drawn at random; "uniform" gives all classes the
        same share. A dictionary, or an array in the order of `classes_`, gives known
        shares or numbers of rows. "auto" estimates the shares cautiously from the
        unlabelled rows when the labels look as if drawn class by class (most classes
        have the same number of labels, and none has more), and otherwise uses those
        of the labels; with a `class_weight` it always does the latter.
    order : "sorted" or array-like of shape (n_classes,), default=None
        For classes in an order, such as 1 to 5 stars: their names, the least first, or
        "sorted". The median class is then predicted in place of the most probable
        one, so that predictions are few steps off.
    feature_groups : array-like of shape (n_features,), default=None
        For each encoded feature, the table column it comes from. Passing it also marks
        the rows as a table, for which kernels of single columns and decision trees are
        tried. Without it, dense rows count as a table if `scale` standardises them, or
        if they have more than 100 two-valued columns whose adjacent ones are not
        correlated as in a picture.
    feature_views : dict of str to array-like of shape (n_features,), default=None
        Several descriptions of the same rows, such as the words of a text and an
        embedding of its meaning: for each, the weights of the features, 0 for those
        outside of it. Every view is scaled on its own and gets a bank of its own;
        held-out labels decide which views count. For a frame with texts, the views
        are those of its transformer. None is one view of all features.
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
        Arrays kept after fitting need about 5 kB per row in addition.
    progress : "auto", bool or callable, default=False
        True writes a line to the standard error stream, "auto" does so on a terminal
        for work that takes a while, and a callable receives the share done so far.
    random_state : int, RandomState instance or None, default=None
        Seed of samples, k-means starts, blocks and bootstrap.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given or predicted.
    candidates_ : dict of str to ndarray
        A table with one line per candidate and ridge: "candidate", "family", "ridge",
        four scores ("loo_squared_error" and "loo_log_loss" with one row left out,
        "many_squared_error" and "many_log_loss" with many), the error "loo_error" with
        one row left out, and "weight". Lower scores and errors are better; they are
        NaN if no rows can be held out. Show it with
        ``pandas.DataFrame(model.candidates_)``.
    baseline_ : BankModel
        The best supervised candidate, fitted to the same labels; has `predict` and
        `predict_proba`.
    expected_error_ : ErrorEstimate
        Expected error on unlabelled rows, with a 90 % interval, from repeating the
        whole procedure without some of the labels. NaN, with the reason, if it cannot
        be estimated honestly.
    baseline_error_ : ErrorEstimate
        The same for `baseline_`.
    gain_ : ErrorEstimate
        Error of the baseline minus that of the classifier; an interval above zero
        means that the unlabelled rows helped.
    expected_steps_ : ErrorEstimate or None
        By how many steps predictions are off on average, with a 90 % interval, where
        classes have an `order`.
    temperature_ : float
        Probabilities are softmax(`temperature_` * outputs).
    class_shares_ : ndarray of shape (n_classes,)
        Class shares assumed among the unlabelled rows, see `class_prior`.
    labeled_indices_ : ndarray of shape (n_labeled,)
        The labelled rows.
    sources_ : list of SourceReport
        What was learned about every source of `hints`: coverage, conflicts, accuracy.
    transformer_ : TableTransformer or None
        Transformer that encoded a frame with words, dates or missing values.
    n_features_in_ : int
        Number of columns seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where `X` had any.

    See Also
    --------
    fewlabels.semi_supervised.RLSClassifier : Supervised least squares by itself.

    Notes
    -----
    Equal rows count once in the bank, and equal labelled rows are left out together.
    With more than 500 labels, candidates are weighted on a sample of 500, and only a
    few kernels are then fitted to all labels. With more than about 150, the expected
    error repeats the weighting only for the kernels that carry most of the weight. If
    no class has two labels, nothing can be held out, and predictions are a fixed
    average of kernels of graphs and clusters, with supervised kernels for text and
    tables and forests for tables.

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
        "order": [StrOptions({"sorted"}), "array-like", None],
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
        order: str | ArrayLike | None = None,
        feature_groups: ArrayLike | None = None,
        feature_views: Mapping[str, Any] | None = None,
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
            feature_views=feature_views,
            neighbors=neighbors,
            n_jobs=n_jobs,
            device=device,
            memory_budget=memory_budget,
            progress=progress,
            random_state=random_state,
        )
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.order = order

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        hints: Any = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Build the bank from all rows, and weight its candidates by the labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Training rows, labelled and unlabelled. A
            :class:`~fewlabels.preprocessing.TableSample` is scaled by the table it was
            drawn from.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, and None or NaN among objects
            mark unlabelled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labels; a label of weight zero does not count. Weights of
            unlabelled rows have no effect.
        hints : DataFrame, dict or array-like, default=None
            What other sources say about the rows: names of classes, probabilities, or
            nothing where they abstain, see :func:`fewlabels.opinions.read_opinions`.
            True labels tell how far to trust each source; without any true label, their
            agreement does, and the error is a guess.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are never held out without each other: photographs of one
            burst, rows of one patient, versions of one text. Otherwise some would
            predict the others, and errors would be estimated too small. Equal rows are
            always kept together; :func:`fewlabels.graphs.near_copies` finds others.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        given, X = X, self.encode_frame(X)
        if hints is None:
            self._opinions = None
            X, labels = validate_partially_labeled(
                self, X, y, given=given, accept_sparse="csr", dtype=FLOATS
            )
        else:
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
            labels, self._opinions = labels_with_hints(y, hints, n_rows=X.shape[0])
        self.name_columns()
        with self._built_bank(X, given, groups) as line:
            self._learn(labels, sample_weight, line)
        return self

    def refit_labels(
        self,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        hints: Any = None,
        *,
        estimate_error: bool = True,
    ) -> Self:
        """Learn from other labels for the same rows, reusing the bank and the hints.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels, some of them missing, for the rows of `fit`. Classes may differ.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labels, as in `fit`.
        hints : DataFrame, dict or array-like, default=None
            What other sources say about the rows of `fit`; None keeps its hints.
        estimate_error : bool, default=True
            Whether to repeat the whole procedure without some of the labels, which
            takes most of the time. False leaves `expected_error_`, `baseline_error_`
            and `gain_` unknown and `temperature_` unchanged; predictions are the same.

        Returns
        -------
        self : object
            The classifier, as after `fit` with these labels but in less time.
        """
        check_is_fitted(self)
        self._bank.check_whole()
        hints = self._opinions if hints is None else hints
        if hints is None:
            labels = encode_labels(y)
        else:
            n_rows = self._bank.index.size
            labels, self._opinions = labels_with_hints(y, hints, n_rows=n_rows)
        with self._same_bank(labels.codes.size) as line:
            self._learn(labels, sample_weight, line, estimate_error=estimate_error)
        return self

    def _learn(
        self,
        labels: Labels,
        sample_weight: ArrayLike | None,
        line: ProgressLine,
        *,
        estimate_error: bool = True,
    ) -> None:
        """Weight the candidates of the bank by the labels, and predict all rows."""
        rng = np.random.RandomState(self._label_seed)
        labels, row_weights = weighted_labels(labels, sample_weight)
        rows, unlabeled = labels.labeled, labels.codes == UNLABELED
        self.classes_, self.labeled_indices_ = labels.classes, rows
        self._row_weights = row_weights[rows]
        codes = labels.codes[rows]
        self._label_counts = np.bincount(codes, minlength=self.classes_.size)
        opinions, self._hints, self.sources_ = self._opinions, None, []
        context = Context(
            self._bank, self.classes_, self.memory_budget, rng, line, estimate_error
        )
        if opinions is not None and np.unique(codes).size < 2:
            answer, judgement = answer_opinions(
                context, opinions, labels.codes, row_weights
            )
        else:
            labeled = self._labeled(codes)
            judgement = judge(
                self._bank,
                labeled,
                rng,
                line,
                # Opinions are weighed by what held-out rows say.
                estimate_error=estimate_error or opinions is not None,
            )
            prior = self.class_prior
            if isinstance(prior, str) and prior == "auto" and self.class_weight:
                prior = "labels"
            answer = answer_classes(
                context,
                labeled,
                judgement,
                rows=rows,
                unlabeled=self._bank.index[unlabeled],
                class_prior=prior,
            )
            if opinions is not None:
                answer = answer_hints(
                    context, opinions, labels.codes, labeled, judgement, answer
                )
        if answer.hints is not None and opinions is not None:
            self._hints = answer.hints
            self._hinted = answer.hints(opinions)
            self._n_taught = answer.n_taught
            self.sources_ = source_reports(opinions, self._hints.learned, labels.codes)
        self.candidates_ = candidate_table(self._bank, judgement)
        self._contributions = contributions_of(self.candidates_, judgement.labeled)
        self.transduction_ = self.classes_[labels.codes]
        self.transduction_[unlabeled] = answer.predicted
        self._take(answer)
        self._take_order(unlabeled)
        line.update(1.0)

    def _labeled(self, codes: NDArray[np.intp]) -> Labeled:
        """Collect classes and weights of the labelled rows."""
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
        distinct = self._bank.index[self.labeled_indices_]
        return Labeled(
            Y,
            codes,
            distinct,
            importance,
            few=codes.size <= tuned.FEW,
            groups=self._bank.groups[distinct],
        )

    def _take(self, answer: ClassAnswer) -> None:
        """Set the attributes from the results of the last stage."""
        known = getattr(self, "baseline_", None)
        self._take_models(answer.model, answer.baseline)
        self.class_shares_, self._changed = answer.class_shares, answer.changed
        errors = answer.errors
        self.expected_error_, self.baseline_error_ = errors.expected, errors.baseline
        self.gain_, self._curve, self._held = errors.gain, errors.curve, errors.held_out
        if errors.temperature is not None and errors.baseline_temperature is not None:
            self.temperature_ = errors.temperature
            self.baseline_.temperature_ = errors.baseline_temperature
        elif known is not None:
            self.baseline_.temperature_ = known.temperature_

    @property
    def distinct_rows_(self) -> NDArray[np.intp]:
        """For each training row, the number of its distinct row."""
        self._require_rows()
        return self._bank.index

    def members(
        self,
        rows: NDArray[np.intp],
        places: NDArray[np.intp],
        *,
        n_members: int = 12,
        max_kept_rows: int = 0,
    ) -> list[Member]:
        r"""Return the kernels with the largest weights, and their uncertainty.

        Least squares with a kernel K and a ridge is the mean of a Gaussian process,
        whose posterior covariance given the labels of the rows J is known too,

        .. math:: P = K - K_{\cdot J} (K_{JJ} + \rho D)^{-1} K_{J \cdot} .

        Parameters
        ----------
        rows : ndarray of int
            Training rows to evaluate.
        places : ndarray of int
            Those that may be labelled next, as indices into `rows`.
        n_members : int, default=12
            Number of kernels.
        max_kept_rows : int, default=0
            With up to this many distinct training rows, kernel matrices are kept for
            the next call, even with other labels.

        Returns
        -------
        members : list of Member
            Their weights sum to 1; empty if the classifier has no kernels.

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
        """List the classes of this package that a compact classifier consists of.

        Returns
        -------
        names : list of str
            Dotted names, to check a file against before loading it.
        """
        found = {
            cls,
            BankModel,
            BankSettings,
            KernelBank,
            FeatureView,
            RowScaling,
            Plain,
            Rounded,
        }
        found |= {Contribution, ErrorEstimate, FoldScores, HeldOut, LearningCurve}
        found |= {HintOutputs, Reliability, SourceReport}
        open_ends: list[type] = [Compactable]
        while open_ends:
            found.add(last := open_ends.pop())
            open_ends += last.__subclasses__()
        names = (f"{known.__module__}.{known.__qualname__}" for known in found)
        return sorted(name for name in names if name.startswith("fewlabels."))
