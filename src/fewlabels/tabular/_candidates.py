"""The candidate methods, each with its error on held-out rows."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass

import numpy as np

from fewlabels.automatic import ErrorEstimate, FewLabelsClassifier


@dataclass(frozen=True)
class Method:
    """One way to label the rows, with its error.

    Attributes
    ----------
    name : str
        Name of the method.
    error : ErrorEstimate
        Its error.
    weight : float
        Its weight in the prediction; NaN where it has none.
    measured : str
        How the error was measured.
    kind : {"own", "base", "other"}
        Automatic classifier, baseline or candidate; plots give each its own style.
    """

    name: str
    error: ErrorEstimate
    weight: float
    measured: str
    kind: str


def compared_methods(model: FewLabelsClassifier) -> list[Method]:
    """List the automatic classifier, the supervised baseline and the candidates.

    The first two have the error of the whole procedure, including the choice, on
    held-out labels. A candidate is the one of largest weight in its family, with its
    leave-one-out error.

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
