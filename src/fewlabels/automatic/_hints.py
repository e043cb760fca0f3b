r"""Combine true labels with the opinions of other sources.

Three things speak about a row: the average of the bank, learned from the true labels,
with outputs :math:`g_0`; the same bank taught by the sources, :math:`g_1`; and what the
sources say about this very row, as the logarithm :math:`h` of a likelihood ratio. The
logits of the classes are

.. math::
    a \left[ (1 - \rho) T_0 g_0 + \rho\, T_1 g_1 \right] + \beta h,

with temperatures T of each on its own, and with a, :math:`\rho` and :math:`\beta`
averaged over a grid by the likelihood of the held-out true labels.

A row that teaches must not confirm its own opinion. The rows that teach are therefore
dealt into halves, and each half is predicted by the model that the other one taught.
"""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from fewlabels._progress import ProgressLine
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._bank import KernelBank
from fewlabels.automatic._judge import Judgement, judge
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._losses import class_outputs
from fewlabels.automatic._model import BankModel, fit_model, joined_model
from fewlabels.automatic._probabilities import best_temperature, probabilities
from fewlabels.automatic._weights import bootstrap_draws
from fewlabels.opinions import Opinions, Reliability, learn_reliability

# True labels, and rows of each half, that the taught models learn from: a compromise of
# time and accuracy.
MAX_TRUE = 200
MAX_TAUGHT = 250


@dataclass(frozen=True)
class HintOutputs:
    """What opinions add to the outputs of a model.

    Attributes
    ----------
    sources : list of str
        Names of the sources.
    learned : Reliability
        How far to trust them.
    strength : float
        Factor of their log-ratios, in units of outputs.
    """

    sources: list[str]
    learned: Reliability
    strength: float

    def __call__(self, opinions: Opinions) -> NDArray[Any]:
        """Compute what opinions add to the outputs, of shape (n_rows, n_targets)."""
        return as_outputs(self.strength * self.learned.log_ratios(opinions))


def as_outputs(logits: NDArray[Any]) -> NDArray[Any]:
    """Turn logits of all classes into outputs: half the difference of two."""
    if logits.shape[1] != 2:
        return logits
    return (logits[:, 1:] - logits[:, :1]) / 2


class Mixture(NamedTuple):
    """Weights of the average, the taught average and the opinions."""

    own: float
    taught: float
    opinions: float


class Hinted(NamedTuple):
    """The model that uses opinions.

    Attributes
    ----------
    model : BankModel
        The average and what was taught to it.
    hints : HintOutputs
        What opinions add to its outputs.
    held_out : ndarray of shape (l, n_targets) or None
        Outputs with opinions for the labelled rows of the judgement, by models that
        have not seen their labels; None without any.
    n_taught : int
        Rows that taught.
    first_lesson : tuple of Judgement, Labeled
        How the bank did on what the first half of the rows taught; only without true
        labels.
    """

    model: BankModel
    hints: HintOutputs
    held_out: NDArray[Any] | None
    n_taught: int
    first_lesson: Any = None


class Context(NamedTuple):
    """What all steps need: the bank, classes of all rows and settings."""

    bank: KernelBank
    classes: NDArray[Any]
    memory_budget: float | None
    rng: np.random.RandomState
    line: ProgressLine
    estimate_error: bool = True


class Own(NamedTuple):
    """What the true labels alone say.

    Attributes
    ----------
    model : BankModel
        The average of the bank.
    temperature : float
        Its temperature.
    labeled : Labeled
        The rows that were judged, with the class shares of all rows.
    rows : ndarray of int
        Their numbers.
    held_out : ndarray of shape (l, n_targets) or None
        Their held-out outputs; None if nothing can be held out.
    """

    model: BankModel
    temperature: float
    labeled: Labeled
    rows: NDArray[np.intp]
    held_out: NDArray[Any] | None


def use_hints(
    context: Context,
    opinions: Opinions,
    codes: NDArray[np.intp],
    weights: NDArray[Any],
    own: Own | None,
) -> Hinted:
    """Learn how far to trust the sources, be taught by them, and weigh everything.

    Parameters
    ----------
    context : Context
        Bank, classes and settings.
    opinions : Opinions
        The opinions about all rows.
    codes : ndarray of shape (n_rows,)
        Classes of all rows, -1 where unknown.
    weights : ndarray of shape (n_rows,)
        Weights of the labels, with mean 1.
    own : Own or None
        What the true labels alone say; None if there are fewer than two classes.
    """
    index = context.bank.index
    known, most = None, np.inf
    if own is not None:
        known = probabilities(own.model.training_outputs[index], own.temperature)
        most = tuned.MOST_UNLABELED * max(1, own.rows.size)
    learned = learn_reliability(
        opinions, codes, weights, known=known, most_unlabeled=most
    )
    ratios, strength = learned.log_ratios(opinions), 1.0
    held_ratios = None
    if own is not None:
        held_ratios = learned.held_out_log_ratios(
            opinions.of(own.rows), own.labeled.codes, weights[own.rows]
        )
        strength = _best_strength(held_ratios, learned.shares, own.labeled)
    p = softmax(np.log(learned.shares) + strength * ratios, axis=1)
    lessons = _lessons(p, learned.shares, opinions, codes, index, context.rng)
    taught = _taught(context, lessons, p, codes, weights, own)
    if own is None:
        return _without_labels(context, opinions, learned, taught)
    mixture, held = _mixture(own, taught, held_ratios, context.rng)
    model, n_taught = own.model, 0
    if taught is not None and mixture.taught > 0:
        parts = taught.fit(context, mixture.taught / mixture.own)
        total = model.training_outputs + taught.crossed(parts)
        model, n_taught = joined_model([model, *parts], total), taught.n_rows
    hints = HintOutputs(opinions.names, learned, mixture.opinions / mixture.own)
    held = None if held is None else as_outputs(held / mixture.own)
    return Hinted(model, hints, held, n_taught)


def _best_strength(
    ratios: NDArray[Any], shares: NDArray[Any], labeled: Labeled
) -> float:
    """Strength of all opinions together by held-out labels: alike sources repeat."""
    grid = tuned.HINT_STRENGTHS[1:]
    scores = []
    for strength in grid:
        logs = log_softmax(np.log(shares) + strength * ratios, axis=1)
        fit = labeled.importance @ logs[np.arange(labeled.size), labeled.codes]
        scores.append(fit - 2 * np.log(strength) ** 2)
    return float(grid[int(np.argmax(scores))])


class Lessons(NamedTuple):
    """Rows that teach, in two halves, and what each is worth in labels."""

    halves: list[NDArray[np.intp]]
    worth: NDArray[Any]

    @property
    def total(self) -> float:
        """What all of them are worth together."""
        return float(sum(self.worth[half].sum() for half in self.halves))


def _lessons(
    p: NDArray[Any],
    shares: NDArray[Any],
    opinions: Opinions,
    codes: NDArray[np.intp],
    index: NDArray[np.intp],
    rng: np.random.RandomState,
) -> Lessons | None:
    r"""Draw rows that teach, the more likely the more they are worth.

    A label that is right with probability q is worth :math:`(2 q - 1)^2` of a true one
    of two classes; this is its generalisation, zero where nothing is known.
    """
    least = np.sum(shares**2)
    worth = np.clip((np.sum(p**2, axis=1) - least) / (1 - least), 0.0, 1.0)
    labeled_rows = np.isin(index, index[codes >= 0])
    worth = np.where(opinions.speaks.any(axis=0) & ~labeled_rows, worth, 0.0)
    _, first = np.unique(index, return_index=True)  # copies would teach twice
    able = first[worth[first] > tuned.LEAST_WORTH]
    if able.size < 2 or np.unique(p[able].argmax(axis=1)).size < 2:
        return None
    keys = np.log(rng.random_sample(able.size)) / worth[able]
    chosen = able[np.argsort(-keys, kind="stable")[: 2 * MAX_TAUGHT]]
    return Lessons([chosen[::2], chosen[1::2]], worth)


@dataclass
class Taught:
    """The bank taught by each half of the rows.

    Attributes
    ----------
    lessons : Lessons
        The rows that teach.
    labeled : list of Labeled
        True labels and opinions, for each half.
    judgements : list of Judgement
        Of both halves.
    temperature : float
        Of their outputs.
    outputs : ndarray of shape (n_true, n_targets) or None
        Held-out outputs for the true labels, averaged; None without any.
    """

    lessons: Lessons
    labeled: list[Labeled]
    judgements: list[Judgement]
    temperature: float
    outputs: NDArray[Any] | None

    @property
    def n_rows(self) -> int:
        """Number of rows that taught."""
        return sum(half.size for half in self.lessons.halves)

    def fit(self, context: Context, scale: float) -> list[BankModel]:
        """Fit a model to each half; the sum of both is `scale` times their mean."""
        return [
            fit_model(
                context.bank,
                labeled,
                judgement,
                judgement.choice.weights,
                name="average",
                classes=context.classes,
                memory_budget=context.memory_budget,
                rng=context.rng,
                scale=scale / 2,
            )
            for labeled, judgement in zip(self.labeled, self.judgements, strict=True)
        ]

    def crossed(self, parts: list[BankModel]) -> NDArray[Any]:
        """Sum outputs for the training rows; a half is predicted by the other model."""
        total: NDArray[Any] = parts[0].training_outputs + parts[1].training_outputs
        for k, labeled in enumerate(self.labeled):
            half = labeled.distinct[-self.lessons.halves[k].size :]
            total[half] = 2 * parts[1 - k].training_outputs[half]
        return total


def _taught(
    context: Context,
    lessons: Lessons | None,
    p: NDArray[Any],
    codes: NDArray[np.intp],
    weights: NDArray[Any],
    own: Own | None,
) -> Taught | None:
    """Judge the bank on true labels and opinions together, for each half."""
    if lessons is None:
        return None
    true = np.flatnonzero(codes >= 0) if own is None else own.rows
    true = true[:MAX_TRUE]
    index = context.bank.index
    labeled, judgements, outputs = [], [], []
    for half in lessons.halves:
        rows = np.concatenate([true, half])
        soft = p[rows].copy()
        soft[: true.size] = np.eye(p.shape[1])[codes[true]]
        importance = np.concatenate([weights[true], lessons.worth[half]])
        own_codes = soft.argmax(axis=1)
        lesson = Labeled(
            as_outputs(2 * soft - 1),
            own_codes,
            index[rows],
            importance / importance.mean(),
            few=rows.size <= tuned.FEW,
            groups=context.bank.groups[index[rows]],
        )
        judgement = judge(
            context.bank, lesson, context.rng, context.line, estimate_error=False
        )
        labeled.append(lesson)
        judgements.append(judgement)
        if judgement.choice.outputs is None:
            return None
        outputs.append(judgement.choice.outputs)
    if own is None or own.held_out is None:
        T = float(
            np.mean(
                [best_temperature(*pair) for pair in zip(outputs, labeled, strict=True)]
            )
        )
        return Taught(lessons, labeled, judgements, T, None)
    held = np.mean([f[: true.size] for f in outputs], axis=0)
    # Rows that were never held out, the only ones of their classes, say nothing.
    held = np.where(np.isfinite(held), held, 0.0)
    T = best_temperature(held, own.labeled.first(true.size))
    return Taught(lessons, labeled, judgements, T, held)


def _mixture(
    own: Own,
    taught: Taught | None,
    ratios: Any,
    rng: np.random.RandomState,
) -> tuple[Mixture, NDArray[Any] | None]:
    """Weigh the average, the taught one and opinions by held-out labels.

    Returns the mixture, and held-out logits, each under the mixture that the other
    labels choose.
    """
    T, size = own.temperature, own.labeled.size
    if own.held_out is None or not np.isfinite(own.held_out).any():
        share = 0.0 if taught is None else tuned.TAUGHT_SHARE
        slope = 0.0 if taught is None else taught.temperature
        return Mixture(T * (1 - share), slope * share, 1.0), None
    size = size if taught is None else min(size, MAX_TRUE)
    labeled = own.labeled.first(size)
    held = np.nan_to_num(own.held_out[:size])
    parts = [T * class_outputs(held), np.zeros((size, ratios.shape[1])), ratios[:size]]
    shares, usual = np.array([0.0]), 0.0
    if taught is not None and taught.outputs is not None:
        parts[1] = taught.temperature * class_outputs(taught.outputs)
        shares, worth = tuned.TAUGHT_SHARES, taught.lessons.total
        usual = min(worth / (worth + tuned.LABEL_WORTH * size), shares[-1])
    a, share, b = (
        part.ravel()
        for part in np.meshgrid(tuned.HINT_SHARPNESS, shares, tuned.HINT_STRENGTHS)
    )
    grid = np.column_stack([a * (1 - share), a * share, b])
    priors = -0.5 * (
        (np.log(a) / tuned.SHARPNESS_SPREAD) ** 2
        + ((share - usual) / tuned.SHARE_SPREAD) ** 2
        + ((b - tuned.HINT_STRENGTH) / tuned.STRENGTH_SPREAD) ** 2
    )
    stack = np.array(parts)
    logits = np.tensordot(grid, stack, axes=1)
    logs = log_softmax(logits, axis=2)[:, np.arange(size), labeled.codes]
    evidence = labeled.evidence
    draws = bootstrap_draws(tuned.N_DRAWS, size, rng) * evidence
    mean = softmax(draws @ logs.T + priors, axis=1).mean(axis=0) @ grid
    total = logs @ evidence + priors
    alone = softmax(total[:, None] - logs * evidence, axis=0).T @ grid
    out = np.einsum("ip,pic->ic", alone, stack)
    units = np.array([T, 1.0 if taught is None else taught.temperature, 1.0])
    return Mixture(*(mean * units).tolist()), out


def _without_labels(
    context: Context, opinions: Opinions, learned: Reliability, taught: Taught | None
) -> Hinted:
    """Use opinions alone: Dawid and Skene's consensus, smoothed by the bank."""
    if taught is None:
        raise ValueError(
            "The hints speak of a single class, or of too few rows to learn from, and "
            "there are fewer than two classes with labels: label some rows."
        )
    T = taught.temperature
    parts = taught.fit(context, 1.0)
    model = joined_model(parts, taught.crossed(parts))
    hints = HintOutputs(opinions.names, learned, tuned.UNCHECKED_STRENGTH / T)
    lesson = taught.judgements[0], taught.labeled[0]
    return Hinted(model, hints, None, taught.n_rows, lesson)
