"""What more labels would do, by the errors so far."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np

from fewlabels.studio._actions import Action


def seconds_per_label(actions: Sequence[Action]) -> float | None:
    """Return the usual time between labels given lately; None if there are too few."""
    times = [
        datetime.fromisoformat(a.time).timestamp()
        for a in actions[-40:]
        if a.do == "label" and a.how == "card" and a.time
    ]
    gaps = [b - a for a, b in pairwise(times) if b - a < 120]
    return float(np.median(gaps)) if len(gaps) >= 3 else None


def outlook(curve: Sequence[dict[str, Any]], n_open: int) -> dict[str, Any]:
    r"""Predict the effect of more labels from the errors so far.

    Fits a line to :math:`\log e` over :math:`\log n`, the usual power law of learning
    curves, :math:`e = a n^{-b}`.

    Parameters
    ----------
    curve : sequence of dict
        Points with "labels", "value", "low" and "high".
    n_open : int
        Rows without a label.

    Returns
    -------
    outlook : dict
        "halve": labels until the error has halved, or None; "stop": a reason to stop,
        or nothing; "next": by how much ten more labels would lower the error, or None.
    """
    found: dict[str, Any] = {"halve": None, "stop": "", "next": None}
    if not curve:
        return found
    last = curve[-1]
    n, value = last["labels"], last["value"]
    if n_open == 0:
        return {**found, "stop": "Every row has a label."}
    if last["high"] <= 0.02 and n >= 10:
        found["stop"] = "The expected error on the other rows is at most 2 %."
    points = [p for p in curve if p["labels"] >= max(6, n / 4)]
    x = np.log([p["labels"] for p in points])
    y = np.log([max(p["value"], 1e-3) for p in points])
    if len(points) < 5 or np.ptp(x) < math.log(1.5):
        return found
    slope, _ = np.polyfit(x, y, 1)
    power = -float(slope)
    if power > 0.1:
        more = n * (2 ** (1 / power) - 1)
        found["halve"] = round(more) if more <= min(20 * n, n_open) else None
    drop = value * (1 - (1 + 10 / n) ** -max(power, 0.0))
    found["next"] = drop
    settled = n >= 30 and last["high"] - last["low"] < 0.2
    if not found["stop"] and drop < 0.002 and settled:
        found["stop"] = "Ten more labels would hardly lower the error."
    return found
