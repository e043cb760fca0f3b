"""Answer: from weights to functions of rows, class shares and an honest error."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._params import budget_bytes
from fewlabels.automatic._bank import KernelBank
from fewlabels.automatic._candidates import Outputs
from fewlabels.automatic._judge import Scored
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._model import BankModel

# With more labels than that, so few candidates carry nearly all of the weight.
MANY_LABELS_CANDIDATES = 8
# Weights below this share of the largest are not worth a candidate's evaluation.
NEGLIGIBLE = 1e-3


def fit_models(
    bank: KernelBank,
    everything: Labeled,
    scored: Scored,
    *,
    classes: NDArray[Any] | None,
    memory_budget: float | None,
    rng: np.random.RandomState,
) -> tuple[BankModel, BankModel]:
    """Turn weights into functions of rows."""
    choice, pool = scored.choice, scored.pool
    batch = _batch(bank, everything.size, memory_budget)
    nothing = np.zeros(everything.Y.shape[1])
    mean = np.average(everything.Y, axis=0, weights=everything.importance)

    def model(weights: NDArray[Any], name: str) -> BankModel:
        functions = _fitted(bank, everything, scored, weights, rng)
        constant = nothing if functions else mean
        return BankModel(bank, functions, constant, classes, batch, name)

    only = np.zeros_like(choice.weights)
    name = "the mean of the labels"
    if choice.baseline >= 0:
        only[choice.baseline] = 1.0
        name = bank.candidates[pool.groups[choice.baseline]].name
        if np.isfinite(pool.ridges[choice.baseline]):
            name += f", ridge {pool.ridges[choice.baseline]:g}"
    return model(choice.weights, "average"), model(only, name)


def _fitted(
    bank: KernelBank,
    everything: Labeled,
    scored: Scored,
    weights: NDArray[Any],
    rng: np.random.RandomState,
) -> list[Outputs]:
    """Fit every candidate that has a weight worth its evaluation."""
    shares = scored.pool.shares(weights)
    if not shares.any():
        return []
    order = np.argsort(-shares, kind="stable")
    many = scored.labeled.size < everything.size
    if many:
        order = order[:MANY_LABELS_CANDIDATES]
    active = order[shares[order] > NEGLIGIBLE * shares.max()]
    weights = weights / shares[active].sum()
    functions = []
    for k in active:
        candidate, own = bank.candidates[k], weights[scored.pool.groups == k]
        found = None if many else scored.found[k]
        functions.append(candidate.fit(everything, own, found, rng))
    return functions


def _batch(bank: KernelBank, n_labeled: int, memory_budget: float | None) -> int:
    """Rows per batch: a dozen temporary arrays of anchors, labels and columns."""
    given = bank.settings
    width = given.anchors + n_labeled + given.n_components + given.rank
    return int(np.clip(budget_bytes(memory_budget) / (8 * 12 * width), 64, 16_384))


def candidate_table(bank: KernelBank, scored: Scored) -> dict[str, NDArray[Any]]:
    """Columns of a table with one line per candidate and ridge."""
    groups = scored.pool.groups
    names = np.array([c.name for c in bank.candidates], dtype=object)
    families = np.array([c.family for c in bank.candidates], dtype=object)
    table: dict[str, NDArray[Any]] = {
        "candidate": names[groups],
        "family": families[groups],
        "ridge": scored.pool.ridges.copy(),
    }
    losses = scored.choice.losses
    v = scored.labeled.importance / scored.labeled.importance.sum()
    for name, loss in zip(
        (
            "loo_squared_error",
            "many_squared_error",
            "loo_log_loss",
            "many_log_loss",
            "loo_error",
        ),
        (None,) * 5 if losses is None else losses[:5],
        strict=True,
    ):
        table[name] = np.full(table["ridge"].size, np.nan)
        if loss is not None:
            table[name] = loss @ v if loss.ndim == 2 else (loss @ v).min(axis=1)
    table["weight"] = scored.choice.weights
    return table
