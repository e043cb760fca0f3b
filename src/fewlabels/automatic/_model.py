"""A weighted sum of fitted candidates as a function of rows."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterable
from copy import copy
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from fewlabels._classifier import as_decision
from fewlabels._labels import decide
from fewlabels._linalg import FLOATS
from fewlabels._params import budget_bytes
from fewlabels._sklearn import check_array, check_columns
from fewlabels._threads import in_threads, n_threads
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._bank import KernelBank
from fewlabels.automatic._candidates import Outputs, total_outputs
from fewlabels.automatic._compact import EXACT_ROWS, Compactor
from fewlabels.automatic._judge import Judgement
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._probabilities import probabilities

# If weights were chosen on a sample of the labels, only this many candidates are fitted
# to all of them.
MANY_LABELS_CANDIDATES = 8
# Candidates with weights below this share of the largest are not worth evaluating.
NEGLIGIBLE = 1e-3


def _has_classes(model: "BankModel") -> bool:
    """Whether a model predicts classes."""
    return model.classes_ is not None


class BankModel:
    """A weighted sum of fitted candidates of a bank, such as the supervised baseline.

    It is made by the automatic estimators.

    Attributes
    ----------
    name : str
        Kernel and ridge, or another description.
    classes_ : ndarray of shape (n_classes,)
        The classes; None for a regression.
    training_outputs : ndarray of shape (n_distinct_rows, n_targets) or None
        Outputs for the distinct training rows; None if not kept.
    temperature_ : float
        Probabilities are softmax(`temperature_` * outputs).
    transformer_ : TableTransformer or None
        Transformer that encodes frames, that of the estimator it belongs to.
    n_features_in_ : int
        Number of columns seen during fit.
    feature_names_in_ : ndarray of shape (n_columns,)
        Their names, where the rows had any.

    Examples
    --------
    >>> from fewlabels import FewLabelsClassifier
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> X, y = make_moons(60, random_state=0)
    >>> y = hide_labels(y, per_class=3, random_state=0)
    >>> model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
    >>> model.baseline_  # doctest: +ELLIPSIS
    BankModel('...')
    >>> model.baseline_.predict(X).shape
    (60,)
    >>> model.baseline_.predict_proba(X).shape
    (60, 2)
    """

    transformer_: Any = None
    n_features_in_: int

    def __init__(
        self,
        bank: KernelBank,
        functions: list[Outputs],
        constant: NDArray[Any],
        classes: NDArray[Any] | None,
        batch: int,
        name: str,
    ) -> None:
        self._bank = bank
        self._functions = functions
        self._constant = constant
        self._batch = batch
        self.classes_ = classes
        self.name = name
        self._unit = 1.0
        self._shift: Any = 0.0
        self.temperature_ = tuned.USUAL_TEMPERATURE
        # Family of each function; empty if functions were merged.
        self._families: list[str] = []
        self.training_outputs: Any = self._of(
            bank.training_views(bank.room_for(batch)), bank.n_rows
        )

    def changed(self, before: NDArray[Any], after: NDArray[Any]) -> float:
        """Compute the share of predictions that differ between two arrays of outputs.

        Parameters
        ----------
        before, after : ndarray of shape (n_rows, n_targets)
            Outputs of the functions of the model, without its constant.

        Returns
        -------
        share : float
            For regression, the root mean squared difference divided by 20, in standard
            deviations of the known targets.
        """
        if self.classes_ is None:
            return float(np.sqrt(np.mean((after - before) ** 2))) / 20
        first, second = (
            decide(
                as_decision(self._unit * (part + self._constant) + self._shift),
                self.classes_,
            )
            for part in (before, after)
        )
        return float(np.mean(first != second))

    @property
    def shift(self) -> Any:
        """Offset of the outputs in the units of the targets."""
        return self._shift

    def rescale(self, unit: float, shift: float | NDArray[Any]) -> None:
        """Rescale outputs to the units of the targets.

        Parameters
        ----------
        unit : float
            Factor of the outputs.
        shift : float or ndarray of shape (n_targets,)
            Added after scaling.
        """
        self._unit, self._shift = unit, shift
        self.training_outputs = unit * self.training_outputs + shift

    def _of(self, views: Iterable[Any], n_rows: int) -> NDArray[Any]:
        outputs = np.tile(self._constant, (n_rows, 1))
        if self._functions:
            parts, rest = [], iter(views)
            # A few views at a time, since they hold arrays of new rows; a device takes
            # one.
            size = 4 * n_threads() if self._bank.is_on_host else 1
            while some := list(islice(rest, size)):
                parts += in_threads(
                    lambda view: total_outputs(self._functions, view), some
                )
            outputs += np.concatenate(parts)
        return self._unit * outputs + self._shift

    def outputs(self, X: Any) -> NDArray[Any]:
        """Compute outputs for rows; those of training rows are looked up.

        Parameters
        ----------
        X : {ndarray, csr_matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        outputs : ndarray of shape (n_samples, n_targets)
            One column per class; a single one for two classes and for regression.
        """
        with self._bank.threads(X.shape):
            size = self._bank.room_for(self._batch)
            if self.training_outputs is None:
                return self._of(self._bank.new_views(X, size), X.shape[0])
            known = self._bank.known_rows(X)
            outputs = self.training_outputs[known].astype(np.float64)
            new = np.flatnonzero(known < 0)
            if new.size:
                views = self._bank.new_views(X[new], size)
                outputs[new] = self._of(views, new.size)
        return outputs

    def family_outputs(self, X: Any) -> dict[str, NDArray[Any]]:
        """Compute the contribution of every family of candidates to the outputs.

        Parameters
        ----------
        X : {ndarray, csr_matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        outputs : dict of str to ndarray of shape (n_samples, n_targets)
            By family; empty for a model from a file, in which families are merged.
        """
        found = {}
        for family in dict.fromkeys(self._families):
            part = copy(self)
            places = [k for k, own in enumerate(self._families) if own == family]
            part._functions = [self._functions[k] for k in places]
            part.training_outputs = None
            found[family] = part.outputs(X)
        return found

    def forget_rows(self) -> "tuple[KernelBank, BankModel]":
        """Copy the model without the outputs of its training rows.

        Returns
        -------
        bank : KernelBank
            Its bank.
        model : BankModel
            A copy that treats every row as new.
        """
        lean = copy(self)
        lean._bank = self._bank.compact(transduction=False)
        lean.training_outputs = None
        return lean._bank, lean

    def rows(self, X: Any) -> Any:
        """Encode rows in the form passed to `fit` as numbers.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Rows with the columns of `fit`.

        Returns
        -------
        X : {ndarray, csr_matrix} of shape (n_samples, n_numbers)
            Input for :meth:`outputs`.
        """
        given = X if self.transformer_ is None else self.transformer_.transform(X)
        rows = check_array(given, accept_sparse="csr", dtype=FLOATS)
        if self.transformer_ is None:
            check_columns(self, X if hasattr(X, "columns") else rows)
        return rows

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class, or the target, of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predictions.
        """
        outputs = as_decision(self.outputs(self.rows(X)))
        return outputs if self.classes_ is None else decide(outputs, self.classes_)

    @available_if(_has_classes)
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Predict class probabilities; not available for regression.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        outputs = self.outputs(self.rows(X))
        if self.classes_ is not None and self.classes_.size == 1:
            return np.ones((outputs.shape[0], 1))
        return probabilities(outputs, self.temperature_)

    def __repr__(self) -> str:
        return f"BankModel({self.name!r})"


def compact_models(
    model: BankModel,
    baseline: BankModel,
    folds: BankModel | None,
    *,
    transduction: bool,
) -> tuple[KernelBank, BankModel, BankModel, BankModel | None]:
    """Copy models of one bank, keeping only what predictions need.

    Folds, of which only intervals are made, take the smallest form.
    """
    bank = model._bank
    given = [one for one in (model, baseline, folds) if one is not None]
    functions = [function for one in given for function in one._functions]
    compactor = Compactor(functions, bank.rows, bank.n_rows)
    lean, pruned = [copy(one) for one in given], bank.compact(transduction=transduction)
    forms = (model.changed, None, lambda before, after: 0.0)
    for one, changed in zip(lean, forms, strict=False):
        one._functions = compactor.compact(one._functions, changed)
        one._families = []
        one._bank = pruned
        one.training_outputs = None
    if transduction:
        exact = bank.n_rows <= EXACT_ROWS
        outputs = model.training_outputs
        lean[0].training_outputs = outputs if exact else outputs.astype(np.float32)
    return pruned, lean[0], lean[1], lean[2] if len(lean) > 2 else None


def fit_models(
    bank: KernelBank,
    everything: Labeled,
    judgement: Judgement,
    *,
    classes: NDArray[Any] | None,
    memory_budget: float | None,
    rng: np.random.RandomState,
) -> tuple[BankModel, BankModel]:
    """Turn weights into functions of rows: the average, and the baseline."""
    choice, pool = judgement.choice, judgement.pool
    only = np.zeros_like(choice.weights)
    name = "the mean of the labels"
    if choice.baseline >= 0:
        only[choice.baseline] = 1.0
        name = bank.candidates[pool.candidate_of[choice.baseline]].name
        if np.isfinite(pool.ridges[choice.baseline]):
            name += f", ridge {pool.ridges[choice.baseline]:g}"
    first, second = (
        fit_model(
            bank,
            everything,
            judgement,
            weights,
            name=title,
            classes=classes,
            memory_budget=memory_budget,
            rng=rng,
        )
        for weights, title in ((choice.weights, "average"), (only, name))
    )
    return first, second


def fit_model(
    bank: KernelBank,
    everything: Labeled,
    judgement: Judgement,
    weights: NDArray[Any],
    *,
    name: str,
    classes: NDArray[Any] | None,
    memory_budget: float | None,
    rng: np.random.RandomState,
    scale: float = 1.0,
) -> BankModel:
    """Fit candidates to all labels, and add them up, times a factor."""
    batch = batch_rows(bank, everything.size, memory_budget)
    functions, families = _fitted(bank, everything, judgement, weights, rng, scale)
    constant = np.zeros(everything.Y.shape[1])
    if not functions:
        mean = np.average(everything.Y, axis=0, weights=everything.importance)
        constant = scale * mean
    made = BankModel(bank, functions, constant, classes, batch, name)
    made._families = families
    return made


def joined_model(parts: list[BankModel], outputs: NDArray[Any]) -> BankModel:
    """Add up models of one bank; `outputs` are those of its training rows."""
    first = copy(parts[0])
    first._functions = [f for part in parts for f in part._functions]
    first._families = [f for part in parts for f in part._families]
    first._constant = np.sum([part._constant for part in parts], axis=0)
    first.training_outputs = outputs
    return first


def _fitted(
    bank: KernelBank,
    everything: Labeled,
    judgement: Judgement,
    weights: NDArray[Any],
    rng: np.random.RandomState,
    scale: float,
) -> tuple[list[Outputs], list[str]]:
    """Fit every candidate whose weight is worth evaluating; return families too."""
    shares = judgement.pool.per_candidate(weights)
    if not shares.any():
        return [], []
    order = np.argsort(-shares, kind="stable")
    many = judgement.labeled.size < everything.size
    if many:
        order = order[:MANY_LABELS_CANDIDATES]
    active = order[shares[order] > NEGLIGIBLE * shares.max()]
    weights = scale * weights / shares[active].sum()
    functions = []
    for k in active:
        candidate, own = bank.candidates[k], weights[judgement.pool.candidate_of == k]
        coefs = None if many else judgement.coefs[k]
        functions.append(candidate.fit(everything, own, coefs, rng))
    return functions, [bank.candidates[k].family for k in active]


def batch_rows(bank: KernelBank, n_labeled: int, memory_budget: float | None) -> int:
    """Rows per batch: a dozen temporary arrays of anchors, labels and columns."""
    given = bank.settings
    width = given.anchors + n_labeled + given.n_components + given.rank
    return int(np.clip(budget_bytes(memory_budget) / (8 * 12 * width), 64, 16_384))
