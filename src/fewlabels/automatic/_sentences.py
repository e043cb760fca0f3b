"""Sentences about errors, labels and columns."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import listed
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._curve import LearningCurve
from fewlabels.automatic._diagnostics import AcceptedRows, SuspiciousLabel
from fewlabels.automatic._effects import ColumnEffect
from fewlabels.automatic._errors import ErrorEstimate
from fewlabels.automatic._pool import FAMILIES
from fewlabels.opinions import SourceReport


def no_better(error: ErrorEstimate, guessing: float) -> bool:
    """Whether the error of guessing is well inside the interval, not at its far end."""
    return error.is_known and (error.value + error.high) / 2 >= guessing


def guess_words(error: ErrorEstimate, guessing: float) -> str:
    """Say whether predicting the largest class for every row may be as good."""
    if not no_better(error, guessing):
        return ""
    return (
        "The predictions may be no better than guessing: giving every row the largest "
        f"class would be wrong for about {100 * guessing:.0f} %."
    )


def steps_words(steps: ErrorEstimate | None) -> str:
    """Say how far off predictions of classes in an order are."""
    return f" On average they are {steps} steps off." if steps is not None else ""


def single_words(names: Sequence[Any]) -> str:
    """Name the classes that have one label only."""
    if not names:
        return ""
    return (
        f"Label a second row of {listed(names, 5)}: while a class has one label, its "
        "rows count as mistakes."
    )


def halving_words(curve: LearningCurve, n_rows: int) -> str:
    """Say how many labels would halve the error, as far as that can be known."""
    if not curve.error > 0:
        return ""
    twice = 2 * curve.n_labels
    if curve.n_labels <= tuned.FEW:
        if twice > n_rows:
            return ""
        return (
            "Label more rows: as a rule, twice as many lower the error by a fifth, and "
            "ten times as many halve it."
        )
    expected, least, most = curve.halving()
    then = f"would bring it to about {100 * curve.error_with(twice):.0f} %"
    if expected > n_rows:
        most_of = f"; twice as many {then}" if twice <= n_rows else ""
        return (
            "To halve the error would take more labels than there are rows "
            f"({n_rows:,}){most_of}."
        )
    up_to = f"to {most:,}" if most <= n_rows else "or more"
    return (
        f"To halve the error would take about {expected:,} labels in all ({least:,} "
        f"{up_to}); twice as many {then}."
    )


def suspicion_words(
    suspicious: Sequence[SuspiciousLabel],
    row_numbers: NDArray[np.intp] | None = None,
    limit: int = 5,
) -> str:
    """Name labels that the other labels contradict."""
    if not suspicious:
        return ""
    named = [
        f"row {s.row if row_numbers is None else row_numbers[s.row]:,} ({s.label}; "
        f"{s.likely} is more likely)"
        for s in suspicious[:limit]
    ]
    more = len(suspicious) - len(named)
    rest = f" and {more} more" if more else ""
    return (
        f"Labels that the others contradict: {', '.join(named)}{rest}. If they are "
        "wrong, the expected error counts them as mistakes, and is too large."
    )


def effect_words(effects: Sequence[ColumnEffect], limit: int = 5) -> str:
    """Name the columns that matter most."""
    telling = [e for e in effects if e.effect >= 0.005][:limit]
    if len(effects) < 2 or not telling:
        return ""
    named = [f"{e.column} ({100 * e.effect:.0f} %)" for e in telling]
    return (
        "Columns that matter most (how far predictions move when values are shuffled "
        f"among rows): {', '.join(named)}."
    )


def verdict(
    error: ErrorEstimate, guessing: float, accepted: Sequence[AcceptedRows]
) -> str:
    """Say in one sentence how good predicted labels are.

    Parameters
    ----------
    error : ErrorEstimate
        The expected error.
    guessing : float
        The error of predicting the largest class for every row.
    accepted : sequence of AcceptedRows
        Errors of the rows above confidence thresholds.

    Returns
    -------
    sentence : str
        A sentence.

    Examples
    --------
    >>> from fewlabels.automatic import ErrorEstimate, verdict
    >>> verdict(ErrorEstimate(0.04, 0.01, 0.09), 0.5, [])
    'Probably about 4 of 100 predicted labels are wrong (1 to 9).'
    """
    value, low, high = (_of_100(e) for e in (error.value, error.low, error.high))
    if error.is_guess:
        return (
            f"Perhaps {low} to {high} of 100 predicted labels are wrong: {error.note}."
        )
    if not error.is_known:
        return f"Nothing can be said yet about the predicted labels: {error.note}."
    about = f"about {value} of 100 predicted labels are wrong ({low} to {high})"
    if no_better(error, guessing):
        return (
            f"Probably {about}, which may be no better than giving every row the "
            "largest class: label more rows before you use them."
        )
    best = next(
        (
            a
            for a in accepted
            if a.confidence > 0
            and a.share < 0.995
            and a.error.value <= min(0.05, 0.7 * error.value)
        ),
        None,
    )
    if best is None or best.share < 0.05:
        return f"Probably {about}."
    return (
        f"Probably {about}; of the {100 * best.share:.0f} % with a confidence of "
        f"{best.confidence:g} or more, {_of_100(best.error.value)} of 100."
    )


def _of_100(share: float) -> str:
    if 0 < share < 0.005:
        return "less than 1"
    return f"{100 * share:.0f}"


def choice_words(table: dict[str, NDArray[Any]]) -> list[str]:
    """Say what the predictions rest on; families with equal shares keep their order."""
    lines = []
    if np.isnan(table["loo_squared_error"]).all():
        lines.append(
            "No class has two different labelled rows, so no method can be tested on "
            "held-out labels: a fixed average of several methods predicts."
        )
    words = np.array([FAMILIES[f].words for f in table["family"]])
    shares = {
        word: table["weight"][words == word].sum()
        for word in dict.fromkeys(family.words for family in FAMILIES.values())
    }
    ranked = sorted(shares.items(), key=lambda pair: -round(pair[1], 2))
    carried = [f"{w} {100 * share:.0f} %" for w, share in ranked if share >= 0.005]
    lines.append("What the predictions rest on: " + ", ".join(carried[:4]) + ".")
    best = int(np.argmax(table["weight"]))
    name, ridge = table["candidate"][best], table["ridge"][best]
    if np.isfinite(ridge):
        name += f" with ridge {ridge:g}"
    weight = 100 * table["weight"][best]
    lines.append(f"Largest single weight: {name}, {weight:.0f} %.")
    return lines


def hint_words(sources: Sequence[SourceReport], n_taught: int) -> list[str]:
    """Say how far each source of hints is trusted, and what they taught."""
    lines = []
    for source in sources:
        words = f"speaks for {100 * source.coverage:.0f} % of the rows"
        if len(sources) > 1:
            words += f" ({100 * source.conflicts:.0f} % contradicted by others)"
        checked = f"{source.n_right} of {source.n_judged} labels agree"
        if not source.n_judged:
            checked = "no label to check it against"
        lines.append(
            f"Hints {source.name!r}: {words}; probably {100 * source.accuracy:.0f} % "
            f"of its opinions are correct ({checked})."
        )
    if n_taught:
        lines.append(
            f"Hints for {n_taught:,} rows were learned from as uncertain labels."
        )
    return lines


def gain_words(gain: ErrorEstimate, n_labeled: int) -> str:
    """Say whether unlabelled rows helped."""
    if not gain.is_known:
        return "These labels cannot tell whether that helped."
    low, high = 100 * gain.low, 100 * gain.high
    interval = f"(gain {low:.0f} to {high:.0f} points)"
    if gain.low > 0:
        return f"That probably helped {interval}."
    if gain.high < 0:
        return f"That probably hurt {interval}: use baseline_."
    if n_labeled <= tuned.FEW:
        return f"There are too few labels to say whether that helped {interval}."
    return f"It is not clear whether that helped {interval}."
