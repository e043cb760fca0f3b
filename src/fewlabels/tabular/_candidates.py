"""The candidate methods, each with its error on held-out rows."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass

import numpy as np

from fewlabels.automatic import ErrorEstimate, FewLabelsClassifier


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
        Its weight in the prediction; NaN where it has none.
    measured : str
        How the error was measured.
    kind : {"own", "base", "other"}
        Whether it is the automatic classifier, the baseline or a candidate, which
        pictures show alike wherever it stands.
    """

    name: str
    error: ErrorEstimate
    weight: float
    measured: str
    kind: str


def compared_methods(model: FewLabelsClassifier) -> list[Method]:
    """List the automatic classifier, the supervised baseline and the candidates.

    The first two have the error of the whole procedure, choice included, on held-out
    labels. A candidate is the heaviest one of its family, whose error is that of
    leaving one label out.

    Parameters
    ----------
    model : FewLabelsClassifier
        The fitted classifier.

    Returns
    -------
    methods : list of Method
        The automatic one, the baseline, then candidates by their weight.
    """
    nested = "nested held-out"
    name = "automatic: weighted average"
    own = Method(name, model.expected_error_, np.nan, nested, "own")
    contributions = model.contributions()
    if not contributions:
        return [own]
    name = f"supervised: {model.baseline_.name}"
    baseline = Method(name, model.baseline_error_, np.nan, nested, "base")
    candidates = [
        Method(
            c.name if c.name.startswith(c.words) else f"{c.words}: {c.name}",
            c.error,
            c.weight,
            "leave-one-out",
            "other",
        )
        for c in contributions
    ]
    return [own, baseline, *candidates]
