r"""Classes that have an order: medians in place of the most probable class.

With probabilities :math:`p_c` of classes in order, :math:`P(y > c)` falls with c, and
the K - 1 thresholds at which it passes one half cut the classes monotonely: the class
between them is the median, of all classes the one with the least expected number of
steps to the true one.
"""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._words import listed
from fewlabels.automatic._diagnostics import HeldOut
from fewlabels.automatic._errors import ErrorEstimate, error_posterior


def ranks_of(order: str | ArrayLike, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Find the places of classes in their order."""
    if isinstance(order, str):  # "sorted"
        return np.arange(classes.size)
    places = {name: place for place, name in enumerate(np.asarray(order).tolist())}
    missing = [name for name in classes.tolist() if name not in places]
    if missing or len(places) < np.size(order):
        wrong = f"lacks {listed(missing, 5)}" if missing else "names a class twice"
        raise ValueError(f"order {wrong}: name every class once, the least first.")
    return np.array([places[name] for name in classes.tolist()], dtype=np.intp)


def medians(p: NDArray[Any], ranks: NDArray[np.intp]) -> NDArray[np.intp]:
    """Find the median class of every row of probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.automatic._ordinal import medians
    >>> medians(np.array([[0.4, 0.25, 0.35]]), np.arange(3))
    array([1])
    """
    by_rank = np.argsort(ranks)
    below = np.cumsum(p[:, by_rank], axis=1)[:, :-1]
    return by_rank[np.sum(below < 0.5, axis=1)]


def ordinal_errors(
    held: HeldOut, p: NDArray[Any], ranks: NDArray[np.intp]
) -> tuple[ErrorEstimate, ErrorEstimate]:
    """Estimate the share of wrong medians, and how many steps they are off on average.

    Both are estimated like the error of classes. Steps count in units of the largest
    possible number, as shares of a mistake: their variance is no larger than that of
    whole mistakes with the same mean, so their interval is cautious.
    """
    span = int(np.ptp(ranks))
    codes = held.codes
    v = codes.size * held.weights / held.weights.sum()
    off = np.abs(ranks[medians(held.p, ranks)] - ranks[codes])
    counts = np.bincount(codes, minlength=ranks.size)
    # Of the only row of a class nothing is known: the worst is assumed.
    farthest = np.maximum(ranks - ranks.min(), ranks.max() - ranks)
    off = np.where(counts[codes] > 1, off, farthest[codes])
    chosen = medians(p, ranks)
    doubts: list[float | None] = [None, None]
    if len(p):
        steps = np.abs(ranks[chosen][:, None] - ranks)
        doubts = [1 - float(p[np.arange(len(p)), chosen].mean())]
        doubts.append(float((p * steps).sum(axis=1).mean()) / span)
    mean = codes.size / np.count_nonzero(counts)
    wrong, far = (
        error_posterior(float(v @ part), float(v @ (1 - part)), doubt, mean)
        for part, doubt in zip((off > 0, off / span), doubts, strict=True)
    )
    value, low, high = (span * x for x in (far.value, far.low, far.high))
    return wrong, replace(far, value=value, low=low, high=high, percent=False)
