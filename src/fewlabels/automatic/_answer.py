"""Turn weights into fitted models, class shares and held-out error estimates."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels._classifier import as_decision
from fewlabels._labels import decide
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._bank import KernelBank
from fewlabels.automatic._class_shares import shares_and_shift
from fewlabels.automatic._curve import LearningCurve, learning_curve
from fewlabels.automatic._diagnostics import HeldOut
from fewlabels.automatic._errors import (
    NOT_JUDGED,
    UNCHECKED,
    ErrorEstimate,
    estimate_of_rows,
    gain_over,
    guessed_error,
    mistakes,
    root_mean_square,
)
from fewlabels.automatic._hints import Context, HintOutputs, Own, use_hints
from fewlabels.automatic._judge import Judgement
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._model import BankModel, fit_models
from fewlabels.automatic._nested import Nested
from fewlabels.automatic._probabilities import best_temperature, probabilities
from fewlabels.opinions import Opinions


class Errors(NamedTuple):
    """The expected error of predicted classes, and the evidence for it.

    Attributes
    ----------
    temperature : float or None
        Probabilities are softmax(temperature * outputs); None where it is unknown.
    baseline_temperature : float or None
        The same for the supervised baseline.
    expected, baseline, gain : ErrorEstimate
        Error of the average, error of the supervised baseline, and the latter minus
        the former.
    curve : LearningCurve
        How the error should fall as labels are added.
    held_out : HeldOut or None
        Held-out predictions for the labelled rows; None where nothing can be held out.
    """

    temperature: float | None
    baseline_temperature: float | None
    expected: ErrorEstimate
    baseline: ErrorEstimate
    gain: ErrorEstimate
    curve: LearningCurve
    held_out: HeldOut | None


class ClassAnswer(NamedTuple):
    """Everything an automatic classifier derives from its labels.

    Attributes
    ----------
    model, baseline : BankModel
        The average, and the best supervised candidate.
    class_shares : ndarray of shape (n_classes,)
        Class shares assumed among the unlabelled rows.
    predicted : ndarray of shape (n_unlabeled,)
        Classes of the unlabelled rows.
    changed : float
        Share of unlabelled rows for which the baseline predicts another class.
    errors : Errors
        The expected errors.
    """

    model: BankModel
    baseline: BankModel
    class_shares: NDArray[Any]
    predicted: NDArray[Any]
    changed: float
    errors: Errors
    hints: HintOutputs | None = None
    n_taught: int = 0


def answer_classes(
    context: Context,
    labeled: Labeled,
    judgement: Judgement,
    *,
    rows: NDArray[np.intp],
    unlabeled: NDArray[np.intp],
    class_prior: Any,
) -> ClassAnswer:
    """Fit the average and the baseline, and estimate the errors of their predictions.

    Parameters
    ----------
    context : Context
        Bank, classes and settings.
    labeled : Labeled
        All labelled rows.
    judgement : Judgement
        What :func:`judge` found on them, or on a sample of them.
    rows : ndarray of shape (l,)
        Training rows with a label.
    unlabeled : ndarray of int
        Distinct-row numbers of the training rows without a label.
    class_prior : {"auto", "labels", "uniform"}, dict or array-like
        Shares of the classes among the unlabelled rows.
    """
    classes = context.classes
    model, baseline = fit_models(
        context.bank,
        labeled,
        judgement,
        classes=classes,
        memory_budget=context.memory_budget,
        rng=context.rng,
    )
    held = judgement.choice.outputs
    temperature = tuned.USUAL_TEMPERATURE
    if context.bank.kind != "table":
        temperature *= max(1.0, tuned.TEMPERATURE_PER_CLASS * classes.size)
    if held is not None:
        temperature = best_temperature(held, judgement.labeled)
    shares, shift = shares_and_shift(
        model.training_outputs[unlabeled], temperature, labeled, class_prior, classes
    )
    model.rescale(1.0, shift)
    own, supervised = (m.training_outputs[unlabeled] for m in (model, baseline))
    predicted, changed = _compared(own, supervised, classes)
    errors = _no_errors(rows.size)
    if context.estimate_error:
        sampled = np.isin(labeled.distinct, judgement.labeled.distinct)
        errors = _errors(
            judgement.nested,
            judgement.labeled.with_shares(shares),
            shift,
            own,
            supervised,
            rows[sampled],
            rows.size,
        )
    return ClassAnswer(model, baseline, shares, predicted, changed, errors)


def _compared(
    own: NDArray[Any], supervised: NDArray[Any], classes: NDArray[Any]
) -> tuple[NDArray[Any], float]:
    """Return predicted classes, and the share for which the baseline has another."""
    predicted, other = (decide(as_decision(f), classes) for f in (own, supervised))
    return predicted, float(np.mean(other != predicted)) if predicted.size else 0.0


def _no_errors(n_labels: int, note: str = NOT_JUDGED) -> Errors:
    unknown = ErrorEstimate(np.nan, 0.0, 1.0, note)
    gain = ErrorEstimate(np.nan, -1.0, 1.0, note)
    curve = learning_curve(n_labels, np.nan)
    return Errors(None, None, unknown, unknown, gain, curve, None)


def answer_hints(
    context: Context,
    opinions: Opinions,
    codes: NDArray[np.intp],
    labeled: Labeled,
    judgement: Judgement,
    answer: ClassAnswer,
) -> ClassAnswer:
    """Add the opinions of other sources to what the true labels say.

    Parameters
    ----------
    context : Context
        Bank, classes and settings.
    opinions : Opinions
        The opinions about all rows.
    codes : ndarray of shape (n_rows,)
        Classes of all rows, -1 where unknown.
    labeled : Labeled
        All labelled rows.
    judgement : Judgement
        What :func:`judge` found on them.
    answer : ClassAnswer
        What the true labels alone say.
    """
    rows = np.flatnonzero(codes >= 0)
    judged = np.isin(labeled.distinct, judgement.labeled.distinct)
    scored = judgement.labeled.with_shares(answer.class_shares)
    weights = np.zeros(codes.size)
    importance = labeled.with_shares(answer.class_shares).importance
    weights[rows] = importance / importance.mean()
    model, nested = answer.model, judgement.nested
    shift, held = model.shift, None
    if nested is not None:
        held = nested.outputs + shift
    temperature = tuned.UNTESTED_SHARPNESS * tuned.USUAL_TEMPERATURE
    if held is not None:
        temperature = best_temperature(held, scored)
    own = Own(model, temperature, scored, rows[judged], held)
    hinted = use_hints(context, opinions, codes, weights, own)
    unlabeled, index = codes < 0, context.bank.index
    total = hinted.model.training_outputs[index] + hinted.hints(opinions)
    supervised = answer.baseline.training_outputs[index][unlabeled]
    predicted, changed = _compared(total[unlabeled], supervised, context.classes)
    errors = _no_errors(rows.size)
    if context.estimate_error:
        together = nested
        if nested is not None and hinted.held_out is not None:
            held = hinted.held_out
            together = Nested(held, nested.baseline, held, None, [])
        size = scored.size if hinted.held_out is None else hinted.held_out.shape[0]
        errors = _errors(
            together if together is None else together.first(size),
            scored.first(size),
            np.zeros(1),
            total[unlabeled],
            supervised,
            rows[judged][:size],
            rows.size,
        )
    return ClassAnswer(
        hinted.model,
        answer.baseline,
        answer.class_shares,
        predicted,
        changed,
        errors,
        hinted.hints,
        hinted.n_taught,
    )


def answer_opinions(
    context: Context,
    opinions: Opinions,
    codes: NDArray[np.intp],
    weights: NDArray[Any],
) -> tuple[ClassAnswer, Judgement]:
    """Predict from the opinions of sources where fewer than two classes have labels.

    Parameters
    ----------
    context : Context
        Bank, classes and settings.
    opinions : Opinions
        The opinions about all rows.
    codes : ndarray of shape (n_rows,)
        Classes of all rows, -1 where unknown.
    weights : ndarray of shape (n_rows,)
        Weights of the labels.
    """
    hinted = use_hints(context, opinions, codes, weights, None)
    judgement, lesson = hinted.first_lesson
    _, baseline = fit_models(
        context.bank,
        lesson,
        judgement,
        classes=context.classes,
        memory_budget=context.memory_budget,
        rng=context.rng,
    )
    unlabeled, index = codes < 0, context.bank.index
    total = hinted.model.training_outputs[index] + hinted.hints(opinions)
    supervised = baseline.training_outputs[index][unlabeled]
    predicted, changed = _compared(total[unlabeled], supervised, context.classes)
    p = probabilities(total[unlabeled], 1 / hinted.hints.strength)
    doubt = float(1 - p.max(axis=1).mean()) if predicted.size else 0.0
    errors = _no_errors(int(np.sum(codes >= 0)), UNCHECKED)
    guess = ErrorEstimate(np.nan, doubt / 2, min(1.0, 2 * doubt + 0.1), UNCHECKED)
    errors = errors._replace(
        temperature=1 / hinted.hints.strength,
        baseline_temperature=tuned.USUAL_TEMPERATURE,
        expected=guess,
    )
    answer = ClassAnswer(
        hinted.model,
        baseline,
        hinted.hints.learned.shares,
        predicted,
        changed,
        errors,
        hinted.hints,
        hinted.n_taught,
    )
    return answer, judgement


def _errors(
    nested: Nested | None,
    labeled: Labeled,
    shift: NDArray[Any],
    own: NDArray[Any],
    supervised: NDArray[Any],
    rows: NDArray[np.intp],
    n_labels: int,
) -> Errors:
    """Estimate errors on unlabelled rows from held-out labelled rows.

    `own` and `supervised` are the outputs for the unlabelled rows: where they are
    close to a tie, errors are more likely.
    """
    codes = labeled.codes
    nothing = np.full(labeled.Y.shape, np.nan)
    held = nothing if nested is None else nested.outputs
    held_baseline = nothing if nested is None else nested.baseline
    held = held + shift
    temperature, other = (
        best_temperature(outputs, labeled, tuned.CAUTIOUS_TEMPERATURE, tuned.CAUTION)
        for outputs in (held, held_baseline)
    )
    expected = estimate_of_rows(held, labeled, own, temperature)
    baseline = estimate_of_rows(held_baseline, labeled, supervised, other)
    gain = gain_over(held, held_baseline, labeled, expected)
    expected = guessed_error(expected, own, supervised)
    curve, held_out = learning_curve(n_labels, expected.value), None
    if nested is not None and expected.is_known:
        if nested.halves is not None:
            pair = (mistakes(f, labeled) for f in (held, nested.halves + shift))
            curve = learning_curve(n_labels, expected.value, *pair)
        p, confirmed = (
            probabilities(outputs + shift, temperature)
            for outputs in (nested.outputs, nested.confirmed)
        )
        held_out = HeldOut(rows, codes, p, labeled.importance, confirmed)
    return Errors(temperature, other, expected, baseline, gain, curve, held_out)


class NumberAnswer(NamedTuple):
    """Everything an automatic regressor derives from its targets: models and errors."""

    model: BankModel
    baseline: BankModel
    expected_error: ErrorEstimate
    baseline_error: ErrorEstimate


def answer_numbers(
    bank: KernelBank,
    labeled: Labeled,
    judgement: Judgement,
    *,
    unit: float,
    mean: float,
    memory_budget: float | None,
    rng: np.random.RandomState,
    estimate_error: bool = True,
) -> NumberAnswer:
    """Fit the average and the baseline in the units of the targets.

    Parameters
    ----------
    bank : KernelBank
        The candidates.
    labeled : Labeled
        The rows with a target; targets have mean 0 and variance 1.
    judgement : Judgement
        What :func:`judge` found on them.
    unit, mean : float
        Standard deviation and mean of the original targets.
    memory_budget : float or None
        MiB for temporary arrays.
    rng : RandomState
        Generator for sampling the targets when there are many.
    estimate_error : bool, default=True
        Whether to estimate errors.
    """
    models = fit_models(
        bank, labeled, judgement, classes=None, memory_budget=memory_budget, rng=rng
    )
    for model in models:
        model.rescale(unit, mean)
    unknown = ErrorEstimate(np.nan, 0.0, np.inf, NOT_JUDGED, percent=False)
    expected = baseline = unknown
    if estimate_error:
        nested, choice = judgement.nested, judgement.choice
        held = [np.full(judgement.labeled.Y.shape, np.nan)] * 2
        if nested is not None:
            held = [nested.outputs, nested.baseline]
        least = [np.inf, np.inf]
        if choice.losses is not None:
            means = choice.losses.single_squared.mean(axis=1)
            least = [float(choice.weights @ means), float(means[choice.baseline])]
        n_unlabeled = bank.n_samples - labeled.size
        expected, baseline = (
            root_mean_square(outputs, judgement.labeled, unit, n_unlabeled, best)
            for outputs, best in zip(held, least, strict=True)
        )
    return NumberAnswer(*models, expected, baseline)
