r"""Intervals for predicted numbers: CV+ with a scale for every row.

The whole procedure is repeated without each of K blocks of the l known targets. Fold k
predicts :math:`\mu_k(x)`, and how large its errors are there, :math:`\sigma_k(x)`, from
the targets outside its block only. In the fold k(i) that does not know it, a known
target has the score :math:`R_i = |y_i - \mu_{k(i)}(x_i)| / \sigma_{k(i)}(x_i)`. The
interval of a row at level p goes from the :math:`l + 1 - m`-th smallest of
:math:`\mu_{k(i)}(x) - R_i \sigma_{k(i)}(x)` to the m-th smallest of
:math:`\mu_{k(i)}(x) + R_i \sigma_{k(i)}(x)`, :math:`m = \lceil p (l + 1) \rceil`
[1]_ [2]_. A bad scale makes intervals wide, not wrong.

The logarithm of :math:`\sigma_k^2` is shrunk towards a constant: the held-out
squares of the fold, in logarithms, are the targets of a few supervised kernels and of a
line in the predicted number (large numbers often have large errors), all of them mixed
by their likelihoods.

.. [1] R. F. Barber, E. J. Candès, A. Ramdas, R. J. Tibshirani, "Predictive inference
   with the jackknife+", Annals of Statistics, 2021. :doi:`10.1214/20-AOS1965`
.. [2] C. Gupta, A. K. Kuchibhotla, A. Ramdas, "Nested conformal prediction and
   quantile out-of-bag ensemble methods", Pattern Recognition, 2022.
   :doi:`10.1016/j.patcog.2021.108496`
"""

# SPDX-License-Identifier: BSD-3-Clause

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils import gen_batches

from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._bank import KernelBank
from fewlabels.automatic._candidates import Outputs
from fewlabels.automatic._held_out import KernelModels, ridge_inverses
from fewlabels.automatic._judge import Judgement
from fewlabels.automatic._kernels import BankKernel
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._learners import WeightedOutputs
from fewlabels.automatic._losses import squared_losses
from fewlabels.automatic._model import NEGLIGIBLE, BankModel, batch_rows
from fewlabels.automatic._nested import Fold
from fewlabels.automatic._weights import normal_likelihoods

# Families of kernels that the scale may depend on.
SCALE_FAMILIES = ("linear", "rbf", "column")
# Entries of temporary arrays.
_ENTRIES = 2**22


@dataclass(frozen=True)
class FoldScores:
    """How to make intervals of the outputs of all folds.

    The outputs are two per fold: predictions of all folds, in standard deviations of
    the known targets, then the part of their log-squares that kernels predict.

    Attributes
    ----------
    lines : ndarray of shape (4, n_folds)
        The part that depends on the predicted number: where it is 0, its slope, the
        least and the largest number it was seen at.
    scores : ndarray of shape (l,)
        Scores of the known targets.
    fold_of : ndarray of int of shape (l,)
        The fold that does not know each of them.
    """

    lines: NDArray[Any]
    scores: NDArray[Any]
    fold_of: NDArray[np.intp]

    def centers(self, outputs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Split outputs of the model into predictions and scales of all folds."""
        centers, logs = np.split(outputs, 2, axis=1)
        middle, slope, least, most = self.lines
        logs = logs + slope * (np.clip(centers, least, most) - middle)
        return centers, np.exp(np.clip(logs, -tuned.SCALE_LIMIT, tuned.SCALE_LIMIT) / 2)

    def ends(
        self, outputs: NDArray[Any], level: float
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Compute the ends of the intervals of rows, in standard deviations."""
        centers, scales = self.centers(outputs)
        return cross_ends(centers, scales, self.scores, self.fold_of, level)


def fit_folds(
    bank: KernelBank, judgement: Judgement, memory_budget: float | None
) -> tuple[BankModel | None, FoldScores | None]:
    """Make one model of all folds: each kernel is evaluated once for all of them."""
    nested, labeled = judgement.nested, judgement.labeled
    if nested is None or not nested.folds:
        return None, None
    n_folds, candidates = len(nested.folds), cast("list[Any]", bank.candidates)
    coefs, functions, constant = _predicting(bank, judgement, nested.folds)
    lines = np.empty((4, n_folds))
    kernels = [
        k
        for k, candidate in enumerate(candidates)
        if isinstance(candidate, BankKernel) and candidate.family in SCALE_FAMILIES
    ]
    blocks = [candidates[k].block(labeled.distinct) for k in kernels]
    inverses = np.empty((0, labeled.size, labeled.size))
    if blocks:
        ridges = tuned.SCALE_RIDGES
        inverses = np.concatenate([ridge_inverses(K, ridges) for K in blocks])
    for f, fold in enumerate(nested.folds):
        lines[:, f], found = _scale(fold, labeled, inverses)
        for k, coef in zip(kernels, found, strict=True):
            empty = np.zeros((labeled.size, 2 * n_folds))
            coefs.setdefault(k, empty)[fold.rest, n_folds + f] = coef
    for k, coef in coefs.items():
        if coef.any():
            functions.append(candidates[k].outputs(labeled.distinct, coef))
    batch = batch_rows(bank, labeled.size, memory_budget)
    model = BankModel(bank, functions, constant, None, batch, "folds")
    fold_of = np.empty(labeled.size, dtype=np.intp)
    for f, fold in enumerate(nested.folds):
        fold_of[fold.block] = f
    made = FoldScores(lines, np.empty(0), fold_of)
    own = np.arange(labeled.size), fold_of
    centers, scales = made.centers(model.training_outputs[labeled.distinct])
    scores = np.abs(labeled.Y[:, 0] - centers[own]) / scales[own]
    model.training_outputs = model.training_outputs.astype(np.float32)
    return model, replace(made, scores=scores)


def _predicting(
    bank: KernelBank, judgement: Judgement, folds: list[Fold]
) -> tuple[dict[int, NDArray[Any]], list[Outputs], NDArray[Any]]:
    """Coefficients of kernels for the predictions of all folds, and other functions."""
    labeled, n_folds = judgement.labeled, len(folds)
    pool = judgement.pool.of(judgement.repeated)
    shares = np.array([pool.per_candidate(fold.choice.weights) for fold in folds])
    shares[shares <= NEGLIGIBLE * shares.max(axis=1, keepdims=True)] = 0
    shares /= shares.sum(axis=1, keepdims=True)
    coefs: dict[int, NDArray[Any]] = {}
    functions: list[Outputs] = []
    constant = np.zeros(2 * n_folds)
    constant[:n_folds] = [fold.centre[0] for fold in folds]
    for f, k in zip(*np.nonzero(shares), strict=True):
        fold, number, share = folds[f], int(judgement.repeated[k]), shares[f, k]
        candidate: Any = bank.candidates[number]
        if fold.coefs[k] is None:
            weight = share * np.eye(2 * n_folds)[f]
            learned = candidate.learn(labeled.without(fold.block))
            functions.append(WeightedOutputs(learned, weight))
            constant[f] -= share * fold.centre[0]
            continue
        own = fold.choice.weights[pool.candidate_of == k]
        coef = np.tensordot(share * own / own.sum(), fold.coefs[k], axes=1)[:, 0]
        empty = np.zeros((labeled.size, 2 * n_folds))
        coefs.setdefault(number, empty)[fold.rest, f] = coef
    return coefs, functions, constant


def _scale(
    fold: Fold, labeled: Labeled, inverses: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Learn log-squares of held-out errors: a line, and coefficients of kernels."""
    choice, n = fold.choice, fold.rest.size
    n_ridges = tuned.SCALE_RIDGES.size
    nothing = np.zeros((inverses.shape[0] // n_ridges, n))
    if choice.losses is None or choice.outputs is None or n < 3:
        return np.zeros(4), nothing
    squares = choice.weights @ choice.losses.single_squared
    mean = float(squares.mean())
    if not mean > 0:
        return np.zeros(4), nothing
    z = np.log(squares / mean + tuned.SCALE_FLOOR)
    z -= z.mean()
    level = choice.outputs[:, 0] + fold.centre[0]
    middle = level.mean()
    x = (level - middle) / (level.std() or 1.0)
    # The variance of the logarithm of a squared normal number is pi^2 / 2.
    total = x @ x + np.pi**2 / 2
    slope = (x @ z) / total
    line = (z - slope * x) / (1 - 1 / n - x**2 / total)
    pad = np.zeros((labeled.size, 1))
    pad[fold.rest, 0] = z
    models = KernelModels(inverses, inverses @ pad, pad, n_ridges).without(fold.block)
    left = models.held_out(list(np.arange(n)[:, None]))
    errors = [
        (z * n / (n - 1))[None] ** 2,
        line[None] ** 2,
        squared_losses(left, models.Y),
    ]
    fits = normal_likelihoods([np.concatenate(errors)], np.ones((1, n)))[0]
    prior = np.full(fits.size, 1.0 / max(1, fits.size - 1))
    prior[0] = 1.0
    weights = softmax(fits + np.log(prior))
    coefs = (weights[2:, None, None] * models.coefs)[:, :, 0]
    slope *= weights[1] / (level.std() or 1.0)
    found = np.array([middle, slope, level.min(), level.max()])
    return found, coefs.reshape(nothing.shape[0], n_ridges, n).sum(axis=1)


def cross_ends(
    centers: NDArray[Any],
    scales: NDArray[Any],
    scores: NDArray[Any],
    fold_of: NDArray[np.intp],
    level: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the ends of intervals from the predictions of all folds.

    Parameters
    ----------
    centers, scales : ndarray of shape (n, n_folds)
        Predictions of the folds for n rows, and the size of their errors.
    scores : ndarray of shape (l,)
        Errors of known targets when held out, in units of their scales.
    fold_of : ndarray of int of shape (l,)
        The fold that does not know each of them.
    level : float
        Nominal coverage.

    Returns
    -------
    low, high : ndarray of shape (n,)
        The ends; infinite if there are too few known targets.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.automatic._intervals import cross_ends
    >>> one = np.ones((1, 19))
    >>> cross_ends(5 * one, one, np.arange(1.0, 20.0), np.arange(19), 0.9)
    (array([-13.]), array([23.]))
    """
    n = centers.shape[0]
    place = math.ceil(level * (scores.size + 1) - 1e-9)
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    if place > scores.size:
        return low, high
    for rows in gen_batches(n, max(1, _ENTRIES // scores.size)) if n else ():
        middle = centers[rows][:, fold_of]
        reach = scores * scales[rows][:, fold_of]
        high[rows] = np.partition(middle + reach, place - 1, axis=1)[:, place - 1]
        first = scores.size - place
        low[rows] = np.partition(middle - reach, first, axis=1)[:, first]
    return low, high
