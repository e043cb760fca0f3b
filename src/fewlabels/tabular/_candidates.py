"""The candidate methods, each with its error on held-out rows."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass

import numpy as np

from fewlabels._labels import signed_targets
from fewlabels.automatic import ErrorEstimate, FewLabelsClassifier
from fewlabels.automatic._choice import binomial_interval, wrong
from fewlabels.automatic._engine import MAX_SCORED
from fewlabels.automatic._scores import candidates_of, held_out, ridge_inverses

IN_SHORT = {
    "linear": "linear",
    "rbf": "similarity of rows",
    "components": "principal components",
    "clusters": "clusters",
    "graph vectors": "neighbour graph",
    "graph filter": "neighbour graph",
    "deformed linear": "smooth on the graph",
    "deformed rbf": "smooth on the graph",
    "geodesic": "paths on the graph",
}


@dataclass(frozen=True)
class Method:
    """One way to label the rows, and what it is worth.

    Attributes
    ----------
    name : str
        What it is.
    error : ErrorEstimate
        Share of rows that it gets wrong.
    weight : float
        Its share in the answer; NaN where that makes no sense.
    measured : str
        How the error was measured.
    """

    name: str
    error: ErrorEstimate
    weight: float
    measured: str


def compared_methods(
    model: FewLabelsClassifier, codes: np.ndarray, random_state: int = 0
) -> list[Method]:
    """List the automatic classifier, the supervised baseline and the candidates.

    The first two have the error of the whole procedure, choice included, on held-out
    labels. A candidate is the heaviest kernel of its family, whose error is that of
    leaving one label out. It was chosen by the same labels, so that its error is a
    little too small.

    Parameters
    ----------
    model : FewLabelsClassifier
        The fitted classifier.
    codes : ndarray of int of shape (n_labeled,)
        Class of every labelled row.
    random_state : int, default=0
        Seed of the sample that is taken of more than 500 labels.

    Returns
    -------
    methods : list of Method
        The automatic one, the baseline, then candidates by their weight.
    """
    own = Method(
        "automatic: weighted average", model.expected_error_, np.nan, "nested held-out"
    )
    table = model.candidates_
    if not table["weight"].size:
        return [own]
    baseline = Method(
        f"supervised: {model.baseline_.name}",
        model.baseline_error_,
        np.nan,
        "nested held-out",
    )
    rows, codes = model.labeled_indices_, np.asarray(codes)
    if rows.size > MAX_SCORED:
        rng = np.random.default_rng(random_state)
        kept = np.sort(rng.choice(rows.size, MAX_SCORED, replace=False))
        rows, codes = rows[kept], codes[kept]
    groups = model._bank.index[rows]
    # Copies of a row are left out together.
    blocks = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    Y = signed_targets(codes, model.classes_.size)
    names = [kernel.name for kernel in model._bank.kernels]
    candidates = []
    for family in dict.fromkeys(table["family"]):
        within = np.flatnonzero(table["family"] == family)
        best = within[table["weight"][within].argmax()]
        kernel = model._bank.kernels[names.index(table["kernel"][best])]
        K = kernel.block(model._bank.sources, groups)
        inverses = ridge_inverses(K, np.array([table["ridge"][best]]))
        outputs = held_out(candidates_of(inverses, Y), Y, blocks)[0]
        candidates.append(
            Method(
                _named(family, table["kernel"][best]),
                _share_wrong(outputs, codes, len(blocks)),
                float(table["weight"][within].sum()),
                "leave-one-out",
            )
        )
    candidates.sort(key=lambda method: -method.weight)
    return [own, baseline, *candidates]


def _named(family: str, kernel: str) -> str:
    words = IN_SHORT.get(family, family)
    return kernel if kernel.startswith(words) else f"{words}: {kernel}"


def _share_wrong(
    outputs: np.ndarray, codes: np.ndarray, n_distinct: int
) -> ErrorEstimate:
    if np.unique(codes, return_counts=True)[1].min() < 2:
        return ErrorEstimate(np.nan, 0.0, 1.0, "a class has a single label")
    share = float(wrong(outputs, codes).mean())
    low, high = binomial_interval(share, n_distinct)
    return ErrorEstimate(share, low, high)
