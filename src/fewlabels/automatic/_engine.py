"""From labels and a bank to an averaged model: score, weigh, judge, fit."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils import check_array

from fewlabels._classifier import as_decision
from fewlabels._labels import decide
from fewlabels._linalg import FLOATS
from fewlabels._progress import ProgressLine
from fewlabels.automatic._bank import SUPERVISED, KernelBank, total_outputs
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
from fewlabels.automatic._kernels import (
    BankKernel,
    FeatureKernel,
    Outputs,
)
from fewlabels.automatic._scores import (
    Candidates,
    candidates_of,
    ridge_inverses,
    stratified_blocks,
)
from fewlabels.kernels._functions import budget_bytes

RIDGES = np.array([1e-3, 1e-2, 0.1, 1.0, 10.0])
# Families averaged where held-out rows say nothing, and their ridge.
FALLBACK = ("graph filter", "geodesic", "deformed rbf")
FALLBACK_RIDGE = 0.1
# More labels than this are sampled for the choice; all of them then fit the model.
MAX_SCORED = 500
# With more labels than that, so few kernels carry nearly all of the weight.
MANY_LABELS_KERNELS = 8
# Systems with more labels than that are not solved; a sample is.
MAX_SOLVED = 5000
# Weights below this share of the largest are not worth a kernel's evaluation.
NEGLIGIBLE = 1e-3
# Bytes of inverses held while scoring, and while judging the whole procedure.
CHUNK_BYTES = 2**26
NESTED_BYTES = 2**26


class BankModel:
    """A sum of kernel expansions on a bank, such as the supervised baseline.

    It is made by the automatic estimators.

    Attributes
    ----------
    name : str
        Kernel and ridge, or what else it is.
    classes_ : ndarray of shape (n_classes,)
        The classes; None for a regression.
    training_outputs : ndarray of shape (n_distinct_rows, n_targets)
        Outputs for the distinct training rows.

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
        self._unit, self._shift = 1.0, 0.0
        self.training_outputs = self._of(bank.training_views(batch), bank.n_rows)

    def rescale(self, unit: float, shift: float) -> None:
        """Bring outputs to the scale of given targets.

        Parameters
        ----------
        unit : float
            What an output of one stands for.
        shift : float
            What an output of zero stands for.
        """
        self._unit, self._shift = unit, shift
        self.training_outputs = unit * self.training_outputs + shift

    def _of(self, views: Iterable[Any], n_rows: int) -> NDArray[Any]:
        outputs = np.tile(self._constant, (n_rows, 1))
        if self._functions:
            parts = [total_outputs(self._functions, view) for view in views]
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
        known = self._bank.known_rows(X)
        outputs = self.training_outputs[known]
        new = np.flatnonzero(known < 0)
        if new.size:
            outputs[new] = self._of(self._bank.new_views(X[new], self._batch), new.size)
        return outputs

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


class Scored(NamedTuple):
    """What was found on the labelled rows.

    Attributes
    ----------
    labeled : Labeled
        The rows that were scored, perhaps a sample of all.
    choice : Choice
        Weights of candidates.
    coefs : ndarray of shape (n_candidates, l, n_targets)
        Coefficients of every candidate.
    nested : Nested or None
        Outputs of the whole procedure; None where held-out rows say nothing, or where
        it was not judged.
    """

    labeled: Labeled
    choice: Choice
    coefs: NDArray[Any]
    nested: Nested | None


def score_candidates(
    bank: KernelBank,
    everything: Labeled,
    rng: np.random.RandomState,
    line: ProgressLine,
    *,
    judge: bool = True,
) -> Scored:
    """Score every kernel at every ridge, weigh them, and judge the whole procedure.

    Parameters
    ----------
    bank : KernelBank
        The kernels.
    everything : Labeled
        All labelled rows; their groups are numbers of distinct rows.
    rng : RandomState
        Of samples, blocks and bootstrap.
    line : ProgressLine
        Told the share of the work that is done.
    judge : bool, default=True
        Whether to judge the procedure, which takes most of the time.

    Returns
    -------
    scored : Scored
        Weights, coefficients and nested outputs.
    """
    labeled = everything
    if everything.size > MAX_SCORED:
        labeled = _sampled(everything, MAX_SCORED, rng)
    kernels, n_labeled = bank.kernels, labeled.size
    pool = _pool_of(kernels)
    useful = labeled.says_something and len(kernels) > 0
    seed = rng.randint(2**31)  # all candidates meet the same blocks
    bytes_per_kernel = 8 * RIDGES.size * n_labeled**2
    per_chunk = max(1, CHUNK_BYTES // bytes_per_kernel)
    keep_all = judge and bytes_per_kernel * len(kernels) <= NESTED_BYTES
    losses: list[Losses] = []
    coefs = [np.empty((0, n_labeled, labeled.Y.shape[1]))]
    kept: list[NDArray[Any]] = []
    for start in range(0, len(kernels), per_chunk):
        models = _candidates(bank, kernels[start : start + per_chunk], labeled)
        coefs.append(models.coefs)
        if useful:
            fresh = np.random.RandomState(seed)
            losses.append(held_out_losses(models, labeled, fresh))
        if keep_all:
            kept.append(models.inverses)
        line.update(0.7 + 0.1 * start / len(kernels), "scores")
    choice = choose(_joined(losses) if useful else None, labeled, pool, rng)
    nested = None
    if useful and judge:
        line.update(0.8, "expected error")
        if keep_all:
            models = candidates_of(np.concatenate(kept), labeled.Y)
        else:
            chosen = _heaviest(choice, NESTED_BYTES // bytes_per_kernel)
            pool = pool.of_kernels(chosen)
            models = _candidates(bank, [kernels[k] for k in chosen], labeled)
        nested = nested_outputs(models, labeled, pool, rng)
    line.update(0.95, "outputs")
    return Scored(labeled, choice, np.concatenate(coefs), nested)


def _sampled(labeled: Labeled, size: int, rng: np.random.RandomState) -> Labeled:
    """About so many of the rows, with all classes in their shares."""
    n_blocks = -(-labeled.size // size)
    sample = stratified_blocks(labeled.codes, labeled.groups, n_blocks, rng)[0]
    return labeled.without(np.setdiff1d(np.arange(labeled.size), sample))


def _candidates(
    bank: KernelBank, kernels: list[BankKernel], labeled: Labeled
) -> Candidates:
    inverses = [
        ridge_inverses(
            kernel.block(bank.sources, labeled.groups), RIDGES, 1 / labeled.importance
        )
        for kernel in kernels
    ]
    return candidates_of(np.concatenate(inverses), labeled.Y)


def _pool_of(kernels: list[BankKernel]) -> Pool:
    families = np.array([kernel.family for kernel in kernels], dtype=object)
    trusted = np.isin(families, FALLBACK)
    if not trusted.any():
        trusted[:] = True
    fixed = np.outer(trusted, RIDGES == FALLBACK_RIDGE).ravel().astype(float)
    supervised = np.repeat(np.isin(families, SUPERVISED), RIDGES.size)
    return Pool(RIDGES, supervised, fixed / max(fixed.sum(), 1.0))


def _joined(parts: list[Losses]) -> Losses:
    columns: list[Any] = [
        None if column[0] is None else np.concatenate(column)
        for column in zip(*parts, strict=True)
    ]
    return Losses(*columns)


def _heaviest(choice: Choice, n_kept: int) -> NDArray[np.intp]:
    """Kernels whose inverses fit into memory: the heaviest, and the baseline."""
    shares = choice.weights.reshape(-1, RIDGES.size).sum(axis=1)
    chosen = np.argsort(-shares, kind="stable")[: max(2, n_kept)]
    if choice.baseline >= 0:
        chosen = np.union1d(chosen, choice.baseline // RIDGES.size)
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
    """Turn weights into functions of rows.

    Parameters
    ----------
    bank : KernelBank
        The kernels.
    everything : Labeled
        All labelled rows.
    scored : Scored
        See :func:`score_candidates`.
    classes : ndarray or None
        The classes; None for a regression.
    memory_budget : float or None
        MiB for temporary arrays over rows.
    rng : RandomState
        Of samples.

    Returns
    -------
    average, baseline : BankModel
        The weighted average, and the supervised candidate.
    """
    choice = scored.choice
    batch = _batch(bank, everything.size, memory_budget)
    nothing = np.zeros(everything.Y.shape[1])
    mean = np.average(everything.Y, axis=0, weights=everything.importance)

    def model(weights: NDArray[Any], name: str) -> BankModel:
        functions = _functions(bank, everything, scored, weights, rng)
        constant = nothing if functions else mean
        return BankModel(bank, functions, constant, classes, batch, name)

    only = np.zeros_like(choice.weights)
    name = "the mean of the labels"
    if choice.baseline >= 0:
        only[choice.baseline] = 1.0
        kernel, ridge = divmod(choice.baseline, RIDGES.size)
        name = f"{bank.kernels[kernel].name}, ridge {RIDGES[ridge]:g}"
    return model(choice.weights, "average"), model(only, name)


def _functions(
    bank: KernelBank,
    everything: Labeled,
    scored: Scored,
    weights: NDArray[Any],
    rng: np.random.RandomState,
) -> list[Outputs]:
    """One function for every kernel that has a weight worth its evaluation."""
    table = weights.reshape(-1, RIDGES.size)
    shares = table.sum(axis=1)
    if not shares.any():
        return []
    order = np.argsort(-shares, kind="stable")
    many = scored.labeled.size < everything.size
    if many:
        order = order[:MANY_LABELS_KERNELS]
    active = order[shares[order] > NEGLIGIBLE * shares.max()]
    table = table / shares[active].sum()
    if many:
        return [_refitted(bank, k, table[k], everything, rng) for k in active]
    coefs = scored.coefs.reshape(*table.shape, *scored.coefs.shape[1:])
    return [
        bank.kernels[k].outputs(
            bank.sources, everything.groups, np.tensordot(table[k], coefs[k], axes=1)
        )
        for k in active
    ]


def _refitted(
    bank: KernelBank,
    k: int,
    weights: NDArray[Any],
    labeled: Labeled,
    rng: np.random.RandomState,
) -> Outputs:
    """Fit a kernel, at its heaviest ridge, to many labels."""
    kernel, ridge, share = bank.kernels[k], RIDGES[weights.argmax()], weights.sum()
    if isinstance(kernel, FeatureKernel) and kernel.n_features < labeled.size:
        return kernel.primal_outputs(
            bank.sources,
            labeled.groups,
            share * labeled.Y,
            ridge,
            1 / labeled.importance,
        )
    if labeled.size > MAX_SOLVED:
        labeled = _sampled(labeled, MAX_SOLVED, rng)
    A = kernel.block(bank.sources, labeled.groups)
    A[np.diag_indices_from(A)] += ridge / labeled.importance
    coef = linalg.solve(A, share * labeled.Y, assume_a="pos", overwrite_a=True)
    return kernel.outputs(bank.sources, labeled.groups, coef)


def _batch(bank: KernelBank, n_labeled: int, memory_budget: float | None) -> int:
    """Rows per batch: a dozen temporary arrays of anchors, labels and columns."""
    given = bank.settings
    width = given.anchors + n_labeled + given.n_components + given.rank
    return int(np.clip(budget_bytes(memory_budget) / (8 * 12 * width), 64, 16_384))


def candidate_table(bank: KernelBank, scored: Scored) -> dict[str, NDArray[Any]]:
    """Columns of a table with one line per kernel and ridge.

    Parameters
    ----------
    bank : KernelBank
        The kernels.
    scored : Scored
        See :func:`score_candidates`.

    Returns
    -------
    table : dict of str to ndarray
        Names, ridges, mean losses and weights.
    """
    kernels = bank.kernels
    names = np.array([kernel.name for kernel in kernels], dtype=object)
    families = np.array([kernel.family for kernel in kernels], dtype=object)
    table: dict[str, NDArray[Any]] = {
        "kernel": np.repeat(names, RIDGES.size),
        "family": np.repeat(families, RIDGES.size),
        "ridge": np.tile(RIDGES, len(kernels)),
    }
    losses = scored.choice.losses
    v = scored.labeled.importance / scored.labeled.importance.sum()
    for name, loss in zip(
        ("loo_squared_error", "many_squared_error", "loo_log_loss", "many_log_loss"),
        (None,) * 4 if losses is None else losses,
        strict=True,
    ):
        table[name] = np.full(table["ridge"].size, np.nan)
        if loss is not None:
            table[name] = loss @ v if loss.ndim == 2 else (loss @ v).min(axis=1)
    table["weight"] = scored.choice.weights
    return table
