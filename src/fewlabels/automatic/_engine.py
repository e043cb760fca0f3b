"""From a bank and labels to weights, outputs and an honest error."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterable
from copy import copy
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels._classifier import as_decision
from fewlabels._labels import decide
from fewlabels._linalg import FLOATS
from fewlabels._params import budget_bytes
from fewlabels._progress import ProgressLine
from fewlabels._sklearn import check_array
from fewlabels._threads import in_threads, n_threads
from fewlabels.automatic._bank import KernelBank
from fewlabels.automatic._candidates import (
    Candidate,
    LearnedModels,
    Learner,
    Outputs,
    total_outputs,
)
from fewlabels.automatic._choice import (
    Choice,
    Labeled,
    Losses,
    Nested,
    Pool,
    choose,
    held_out_losses,
    nested_outputs,
)
from fewlabels.automatic._compact import EXACT_ROWS, Compactor
from fewlabels.automatic._families import FAMILIES
from fewlabels.automatic._kernels import models_of
from fewlabels.automatic._scores import JoinedModels, Models

# Shares, where held-out rows say nothing, of the families that are made for it, of the
# supervised ones, and of forests with the linear kernel. Chosen, together with the
# families and ridges, on one half of the sets in docs/automatic_measured.md.
FALLBACK_SHARES = {
    "table": (1 / 3, 1 / 3, 1 / 3),
    "text": (0.5, 0.5, 0.0),
    "pixels": (1.0, 0.0, 0.0),
}
# Ridge of supervised kernels there, and of all else that has a share whatever the
# labels say: so large that every label has about the same strength, wherever it lies,
# as in Poisson learning.
SUPERVISED_RIDGE = 0.1
FIXED_RIDGE = 1.0
# More labels than this are sampled for the choice; all of them then fit the model.
MAX_SCORED = 500
# With more labels than that, so few candidates carry nearly all of the weight.
MANY_LABELS_CANDIDATES = 8
# Weights below this share of the largest are not worth a candidate's evaluation.
NEGLIGIBLE = 1e-3
# Bytes of inverses held while scoring, and while judging the whole procedure.
CHUNK_BYTES = 2**26
NESTED_BYTES = 2**26


class BankModel:
    """A weighted sum of fitted candidates of a bank, such as the supervised baseline.

    It is made by the automatic estimators.

    Attributes
    ----------
    name : str
        Kernel and ridge, or what else it is.
    classes_ : ndarray of shape (n_classes,)
        The classes; None for a regression.
    training_outputs : ndarray of shape (n_distinct_rows, n_targets) or None
        Outputs for the distinct training rows; None where these are not kept.

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
    """

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
        self.training_outputs: Any = self._of(
            bank.training_views(bank.room_for(batch)), bank.n_rows
        )

    def changed(self, before: NDArray[Any], after: NDArray[Any]) -> float:
        """Share of answers that differ between two arrays of outputs of functions.

        Parameters
        ----------
        before, after : ndarray of shape (n_rows, n_targets)
            What the functions of the model give, without its constant.

        Returns
        -------
        share : float
            For numbers, the root of the mean squared difference over 20, in standard
            deviations of the known ones.
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

    def rescale(self, unit: float, shift: float | NDArray[Any]) -> None:
        """Bring outputs to the scale of given targets.

        Parameters
        ----------
        unit : float
            What an output of one stands for.
        shift : float or ndarray of shape (n_targets,)
            What an output of zero stands for.
        """
        self._unit, self._shift = unit, shift
        self.training_outputs = unit * self.training_outputs + shift

    def _of(self, views: Iterable[Any], n_rows: int) -> NDArray[Any]:
        outputs = np.tile(self._constant, (n_rows, 1))
        if self._functions:
            parts, rest = [], iter(views)
            # Some at a time: views of new rows hold these. A device takes one.
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
            One column per class, a single one for two classes and for a regression.
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

    def forget_rows(self) -> "tuple[KernelBank, BankModel]":
        """Copy the model without what it knows of the training rows.

        Returns
        -------
        bank : KernelBank
            Its bank.
        model : BankModel
            It treats every row as new.
        """
        lean = copy(self)
        lean._bank = self._bank.compact(transduction=False)
        lean.training_outputs = None
        return lean._bank, lean

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class, or the target, of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predictions.
        """
        X = check_array(X, accept_sparse="csr", dtype=FLOATS)
        outputs = as_decision(self.outputs(X))
        return outputs if self.classes_ is None else decide(outputs, self.classes_)

    def __repr__(self) -> str:
        return f"BankModel({self.name!r})"


def compact_models(
    model: BankModel, baseline: BankModel, *, transduction: bool
) -> tuple[KernelBank, BankModel, BankModel]:
    """Copy models of one bank, with nothing but what they need for predictions."""
    bank = model._bank
    compactor = Compactor([*model._functions, *baseline._functions], bank.n_rows)
    lean = [copy(model), copy(baseline)]
    for one, changed in zip(lean, (model.changed, None), strict=True):
        one._functions = compactor.compact(one._functions, changed)
        one._bank = bank.compact(transduction=transduction)
        one.training_outputs = None
    if transduction:
        exact = bank.n_rows <= EXACT_ROWS
        outputs = model.training_outputs
        lean[0].training_outputs = outputs if exact else outputs.astype(np.float32)
    lean[1]._bank = lean[0]._bank
    return lean[0]._bank, lean[0], lean[1]


class Scored(NamedTuple):
    """What was found on the labelled rows.

    Attributes
    ----------
    labeled : Labeled
        The rows that were scored, perhaps a sample of all.
    pool : Pool
        The candidates.
    choice : Choice
        Their weights.
    found : list
        What scoring found for every candidate that fitting it can use.
    nested : Nested or None
        Outputs of the whole procedure; None where held-out rows say nothing, or where
        it was not judged.
    """

    labeled: Labeled
    pool: Pool
    choice: Choice
    found: list[Any]
    nested: Nested | None


def score_candidates(
    bank: KernelBank,
    everything: Labeled,
    rng: np.random.RandomState,
    line: ProgressLine,
    *,
    judge: bool = True,
) -> Scored:
    """Score every candidate, weigh them, and judge the whole procedure."""
    bank.check_whole()
    labeled = everything
    if everything.size > MAX_SCORED:
        labeled = everything.sample(MAX_SCORED, rng)
    candidates = bank.candidates
    pool = pool_of(candidates, bank.kind, np.unique(labeled.codes).size)
    useful = labeled.says_something and len(candidates) > 0
    seed = rng.randint(2**31)  # all candidates meet the same blocks
    n_variants = max((c.ridges.size for c in candidates), default=1)
    size = 8 * n_variants * labeled.size**2  # bytes of the inverses of a kernel
    per_chunk = max(1, CHUNK_BYTES // size)
    keep_all = judge and size * len(candidates) <= NESTED_BYTES
    learned: dict[Candidate, LearnedModels] = {
        c: LearnedModels(c, labeled) for c in candidates if isinstance(c, Learner)
    }
    losses: list[Losses] = []
    found: list[Any] = []
    kept: list[Models] = []
    for start in range(0, len(candidates), per_chunk):
        models = models_of(candidates[start : start + per_chunk], labeled, learned)
        found += models.kept()
        if useful:
            fresh = np.random.RandomState(seed)
            losses.append(held_out_losses(models, labeled, fresh))
        if keep_all:
            kept.append(models)
        line.update(0.7 + 0.1 * start / len(candidates), "scores")
    choice = choose(_joined(losses) if useful else None, labeled, pool, rng)
    nested = None
    if useful and judge:
        line.update(0.8, "expected error")
        judged = pool
        if not keep_all:
            chosen = _heaviest(choice, pool, NESTED_BYTES // size)
            judged = pool.of(chosen)
            kept = [models_of([candidates[k] for k in chosen], labeled, learned)]
        models = kept[0] if len(kept) == 1 else JoinedModels(kept)
        nested = nested_outputs(models, labeled, judged, rng)
    line.update(0.95, "outputs")
    return Scored(labeled, pool, choice, found, nested)


def pool_of(
    candidates: list[Candidate], kind: str = "pixels", n_classes: int = 2
) -> Pool:
    """Collect what is known of candidates beforehand."""
    sizes = np.array([c.ridges.size for c in candidates], dtype=np.intp)
    groups = np.repeat(np.arange(sizes.size), sizes)
    ridges = np.concatenate([np.empty(0), *(c.ridges for c in candidates)])
    usual, smooth = (
        np.isnan(ridges) | (ridges == ridge)
        for ridge in (SUPERVISED_RIDGE, FIXED_RIDGE)
    )
    families = [FAMILIES[c.family] for c in candidates]
    supervised = np.array([f.supervised for f in families], dtype=bool)[groups]
    insurance = np.zeros(groups.size)
    if kind == "table":
        names = np.array([f.name if f.insures else "" for f in families])[groups]
        insuring = [_even((names == name) & smooth) for name in set(names) - {""}]
        insurance = np.mean(insuring, axis=0) if insuring else insurance
    fallback = _fallback(candidates, n_classes)[groups] * smooth
    parts = np.array([fallback, _even(supervised & usual), insurance])
    fixed = np.array(FALLBACK_SHARES[kind]) @ parts
    if not fixed.any():
        fixed = _even(usual)
    return Pool(groups, ridges, supervised, fixed / (fixed.sum() or 1.0), insurance)


def _fallback(candidates: list[Candidate], n_classes: int) -> NDArray[np.float64]:
    """Weights, of sum 1 or 0, of candidates that suit classes with a label each.

    Of those made for a number of groups, these have as many as there are classes, up to
    twice as many; or else the next larger number, or the largest.
    """
    weights = np.zeros(len(candidates))
    for family in FAMILIES.values():
        places = [k for k, c in enumerate(candidates) if c.family == family.name]
        if family.fallback is None or not places:
            continue
        groups = np.array([candidates[k].n_groups or n_classes for k in places])
        enough = groups[groups >= n_classes]
        least = enough.min() if enough.size else groups.max()
        suited = (least <= groups) & (groups <= max(least, 2 * n_classes))
        weights[places] = _even(suited) * (2 / n_classes) ** family.fallback
    return weights / (weights.sum() or 1.0)


def _even(chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    return chosen / max(chosen.sum(), 1)


def _joined(parts: list[Losses]) -> Losses:
    columns: list[Any] = [
        None if column[0] is None else np.concatenate(column)
        for column in zip(*parts, strict=True)
    ]
    return Losses(*columns)


def _heaviest(choice: Choice, pool: Pool, n_kept: int) -> NDArray[np.intp]:
    """Candidates whose inverses fit into memory: the heaviest, and the baseline."""
    shares = pool.shares(choice.weights)
    chosen = np.argsort(-shares, kind="stable")[: max(2, n_kept)]
    if choice.baseline >= 0:
        chosen = np.union1d(chosen, pool.groups[choice.baseline])
    return np.sort(chosen)


def fit_models(
    bank: KernelBank,
    everything: Labeled,
    scored: Scored,
    *,
    classes: NDArray[Any] | None,
    memory_budget: float | None,
    rng: np.random.RandomState,
) -> tuple[BankModel, BankModel]:
    """Turn weights into functions of rows."""
    choice, pool = scored.choice, scored.pool
    batch = _batch(bank, everything.size, memory_budget)
    nothing = np.zeros(everything.Y.shape[1])
    mean = np.average(everything.Y, axis=0, weights=everything.importance)

    def model(weights: NDArray[Any], name: str) -> BankModel:
        functions = _fitted(bank, everything, scored, weights, rng)
        constant = nothing if functions else mean
        return BankModel(bank, functions, constant, classes, batch, name)

    only = np.zeros_like(choice.weights)
    name = "the mean of the labels"
    if choice.baseline >= 0:
        only[choice.baseline] = 1.0
        name = bank.candidates[pool.groups[choice.baseline]].name
        if np.isfinite(pool.ridges[choice.baseline]):
            name += f", ridge {pool.ridges[choice.baseline]:g}"
    return model(choice.weights, "average"), model(only, name)


def _fitted(
    bank: KernelBank,
    everything: Labeled,
    scored: Scored,
    weights: NDArray[Any],
    rng: np.random.RandomState,
) -> list[Outputs]:
    """Fit every candidate that has a weight worth its evaluation."""
    shares = scored.pool.shares(weights)
    if not shares.any():
        return []
    order = np.argsort(-shares, kind="stable")
    many = scored.labeled.size < everything.size
    if many:
        order = order[:MANY_LABELS_CANDIDATES]
    active = order[shares[order] > NEGLIGIBLE * shares.max()]
    weights = weights / shares[active].sum()
    functions = []
    for k in active:
        candidate, own = bank.candidates[k], weights[scored.pool.groups == k]
        found = None if many else scored.found[k]
        functions.append(candidate.fit(everything, own, found, rng))
    return functions


def _batch(bank: KernelBank, n_labeled: int, memory_budget: float | None) -> int:
    """Rows per batch: a dozen temporary arrays of anchors, labels and columns."""
    given = bank.settings
    width = given.anchors + n_labeled + given.n_components + given.rank
    return int(np.clip(budget_bytes(memory_budget) / (8 * 12 * width), 64, 16_384))


def candidate_table(bank: KernelBank, scored: Scored) -> dict[str, NDArray[Any]]:
    """Columns of a table with one line per candidate and ridge."""
    groups = scored.pool.groups
    names = np.array([c.name for c in bank.candidates], dtype=object)
    families = np.array([c.family for c in bank.candidates], dtype=object)
    table: dict[str, NDArray[Any]] = {
        "candidate": names[groups],
        "family": families[groups],
        "ridge": scored.pool.ridges.copy(),
    }
    losses = scored.choice.losses
    v = scored.labeled.importance / scored.labeled.importance.sum()
    for name, loss in zip(
        (
            "loo_squared_error",
            "many_squared_error",
            "loo_log_loss",
            "many_log_loss",
            "loo_error",
        ),
        (None,) * 5 if losses is None else losses[:5],
        strict=True,
    ):
        table[name] = np.full(table["ridge"].size, np.nan)
        if loss is not None:
            table[name] = loss @ v if loss.ndim == 2 else (loss @ v).min(axis=1)
    table["weight"] = scored.choice.weights
    return table
