"""Answer: from weights to functions of rows, class shares and honest errors."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels._classifier import as_decision
from fewlabels._labels import decide
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._bank import KernelBank
from fewlabels.automatic._curve import LearningCurve, learning_curve
from fewlabels.automatic._diagnostics import HeldOut
from fewlabels.automatic._errors import (
    NOT_JUDGED,
    ErrorEstimate,
    estimate_of_rows,
    gain_over,
    root_mean_square,
)
from fewlabels.automatic._judge import Judgement
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._losses import wrong
from fewlabels.automatic._model import BankModel, fit_models
from fewlabels.automatic._nested import Nested
from fewlabels.automatic._probabilities import best_temperature, probabilities
from fewlabels.automatic._shares import shares_and_shift


class Errors(NamedTuple):
    """What error to expect of predicted classes, and what that rests on.

    Attributes
    ----------
    temperature : float or None
        Probabilities are softmax(temperature * outputs); None where it is unknown.
    expected, baseline, gain : ErrorEstimate
        Error of the average, that of the supervised baseline, and by how much the
        latter is larger.
    curve : LearningCurve
        How the error should fall as labels are added.
    held_out : HeldOut or None
        Labelled rows without their labels; None where these say nothing.
    """

    temperature: float | None
    expected: ErrorEstimate
    baseline: ErrorEstimate
    gain: ErrorEstimate
    curve: LearningCurve
    held_out: HeldOut | None


class ClassAnswer(NamedTuple):
    """What an automatic classifier makes of its labels.

    Attributes
    ----------
    model, baseline : BankModel
        The average, and the best supervised candidate.
    class_shares : ndarray of shape (n_classes,)
        Shares of the classes that were assumed among unlabelled rows.
    predicted : ndarray of shape (n_unlabeled,)
        Classes of the unlabelled rows.
    changed : float
        Share of them to which the baseline gives another class.
    errors : Errors
        What error to expect.
    """

    model: BankModel
    baseline: BankModel
    class_shares: NDArray[Any]
    predicted: NDArray[Any]
    changed: float
    errors: Errors


def answer_classes(
    bank: KernelBank,
    labeled: Labeled,
    judgement: Judgement,
    *,
    rows: NDArray[np.intp],
    unlabeled: NDArray[np.intp],
    classes: NDArray[Any],
    class_prior: Any,
    memory_budget: float | None,
    rng: np.random.RandomState,
    judged: bool = True,
) -> ClassAnswer:
    """Fit the average and the baseline, and expect errors of their predictions.

    Parameters
    ----------
    bank : KernelBank
        The candidates.
    labeled : Labeled
        All labelled rows.
    judgement : Judgement
        What :func:`judge` found on them, or on a sample of them.
    rows : ndarray of shape (l,)
        Which training rows have a label.
    unlabeled : ndarray of int
        Numbers of the distinct rows of those without one.
    classes : ndarray of shape (n_classes,)
        The classes.
    class_prior : {"auto", "labels", "uniform"}, dict or array-like
        Shares of the classes among the unlabelled rows.
    memory_budget : float or None
        MiB for temporary arrays.
    rng : RandomState
        Of samples of many labels.
    judged : bool, default=True
        Whether errors are to be estimated.
    """
    model, baseline = fit_models(
        bank, labeled, judgement, classes=classes, memory_budget=memory_budget, rng=rng
    )
    held, temperature = judgement.choice.outputs, tuned.USUAL_TEMPERATURE
    if held is not None:
        temperature = best_temperature(held, judgement.labeled)
    shares, shift = shares_and_shift(
        model.training_outputs[unlabeled], temperature, labeled, class_prior, classes
    )
    model.rescale(1.0, shift)
    own, supervised = (m.training_outputs[unlabeled] for m in (model, baseline))
    predicted, other = (decide(as_decision(f), classes) for f in (own, supervised))
    changed = float(np.mean(other != predicted)) if unlabeled.size else 0.0
    if judged:
        sampled = np.isin(labeled.groups, judgement.labeled.groups)
        errors = _errors(
            judgement.nested,
            judgement.labeled.with_shares(shares),
            shift,
            own,
            supervised,
            rows[sampled],
            rows.size,
        )
    else:
        unknown = ErrorEstimate(np.nan, 0.0, 1.0, NOT_JUDGED)
        gain = ErrorEstimate(np.nan, -1.0, 1.0, NOT_JUDGED)
        curve = learning_curve(rows.size, np.nan)
        errors = Errors(None, unknown, unknown, gain, curve, None)
    return ClassAnswer(model, baseline, shares, predicted, changed, errors)


def _errors(
    nested: Nested | None,
    labeled: Labeled,
    shift: NDArray[Any],
    own: NDArray[Any],
    supervised: NDArray[Any],
    rows: NDArray[np.intp],
    n_labels: int,
) -> Errors:
    """Expect errors on unlabelled rows from labelled ones that were held out.

    `own` and `supervised` are the outputs for the unlabelled rows: where they are
    close to a tie, errors are more likely.
    """
    codes = labeled.codes
    nothing = np.full(labeled.Y.shape, np.nan)
    held, held_baseline = (nothing, nothing) if nested is None else nested[:2]
    held = held + shift
    temperature, other = (
        best_temperature(outputs, labeled, tuned.CAUTIOUS_TEMPERATURE, tuned.CAUTION)
        for outputs in (held, held_baseline)
    )
    expected = estimate_of_rows(held, labeled, own, temperature)
    baseline = estimate_of_rows(held_baseline, labeled, supervised, other)
    gain = gain_over(held, held_baseline, labeled, expected)
    curve, held_out = learning_curve(n_labels, expected.value), None
    if nested is not None and expected.is_known:
        if nested.halves is not None:
            with_half = wrong(nested.halves + shift, codes)
            curve = learning_curve(
                n_labels, expected.value, wrong(held, codes), with_half
            )
        p, confirmed = (
            probabilities(outputs + shift, temperature)
            for outputs in (nested.outputs, nested.confirmed)
        )
        held_out = HeldOut(rows, codes, p, labeled.importance, confirmed)
    return Errors(temperature, expected, baseline, gain, curve, held_out)


class NumberAnswer(NamedTuple):
    """What an automatic regressor makes of its targets: models, and their errors."""

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
    judged: bool = True,
) -> NumberAnswer:
    """Fit the average and the baseline in the unit of the targets.

    Parameters
    ----------
    bank : KernelBank
        The candidates.
    labeled : Labeled
        The rows with a target; targets have mean 0 and variance 1.
    judgement : Judgement
        What :func:`judge` found on them.
    unit, mean : float
        What a target of 1 stands for, and one of 0.
    memory_budget : float or None
        MiB for temporary arrays.
    rng : RandomState
        Of samples of many targets.
    judged : bool, default=True
        Whether errors are to be estimated.
    """
    models = fit_models(
        bank, labeled, judgement, classes=None, memory_budget=memory_budget, rng=rng
    )
    for model in models:
        model.rescale(unit, mean)
    unknown = ErrorEstimate(np.nan, 0.0, np.inf, NOT_JUDGED, percent=False)
    expected = baseline = unknown
    if judged:
        nothing = np.full(judgement.labeled.Y.shape, np.nan)
        expected, baseline = (
            root_mean_square(
                held, judgement.labeled, unit, bank.n_samples - labeled.size
            )
            for held in (judgement.nested or (nothing, nothing))[:2]
        )
    return NumberAnswer(*models, expected, baseline)
