"""Losses of all candidates on labelled rows that were held out."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._held_out import Models
from fewlabels.automatic._labeled import Labeled, stratified_blocks


class Losses(NamedTuple):
    """Losses of all candidates on every row, one held out and many held out."""

    single_squared: NDArray[Any]
    many_squared: NDArray[Any]
    single_log: NDArray[Any] | None
    many_log: NDArray[Any] | None
    single_wrong: NDArray[np.bool_] | None
    outputs: NDArray[Any]  # with many rows held out, averaged over repetitions

    def used(self, labeled: Labeled) -> list[NDArray[Any]]:
        """Those that rank candidates: with many labels and classes, log-loss only."""
        squared = [self.single_squared, self.many_squared]
        if self.single_log is None or self.many_log is None:
            return squared
        logs = [self.single_log, self.many_log]
        return squared + logs if labeled.few else logs


def held_out_losses(
    models: Models, labeled: Labeled, rng: np.random.RandomState
) -> Losses:
    """Losses of every candidate: each row left out, and many rows left out at once.

    Many are a half of the rows, 20 times, with few labels; else a fifth, twice.
    """
    Y, codes, groups = labeled.Y, labeled.codes, labeled.groups
    singles = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    repeats, n_blocks = (tuned.N_HALVES, 2) if labeled.few else (tuned.N_FIFTHS, 5)
    single = models.held_out(singles)
    grid = tuned.TEMPERATURES
    squared, logs = [], []
    total = np.zeros_like(single)
    for _ in range(repeats):
        blocks = stratified_blocks(codes, groups, n_blocks, rng)
        many = models.held_out(blocks)
        total += many
        squared.append(squared_losses(many, Y))
        if not labeled.regression:
            logs.append(log_losses(many, codes, grid))
    single_log = None if labeled.regression else log_losses(single, codes, grid)
    return Losses(
        squared_losses(single, Y),
        np.mean(squared, axis=0),
        single_log,
        np.mean(logs, axis=0) if logs else None,
        None if labeled.regression else wrong(single, codes),
        total / repeats,
    )


def wrong(outputs: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which rows the largest output puts into a wrong class."""
    return class_outputs(outputs).argmax(axis=-1) != codes


def class_outputs(outputs: NDArray[Any]) -> NDArray[Any]:
    """One output per class; of two classes the first is the negative of the second."""
    if outputs.shape[-1] > 1:
        return outputs
    return np.concatenate([-outputs, outputs], axis=-1)


def _leading(A: NDArray[Any]) -> NDArray[Any]:
    """Put the last axis first, also in memory: sums over a short last one are slow."""
    return np.ascontiguousarray(np.moveaxis(A, -1, 0))


def squared_losses(outputs: NDArray[Any], Y: NDArray[Any]) -> NDArray[Any]:
    """Squared error of every row, averaged over targets."""
    return _leading((outputs - Y) ** 2).mean(axis=0)


def log_losses(
    outputs: NDArray[Any], codes: NDArray[np.intp], temperatures: NDArray[Any]
) -> NDArray[Any]:
    r"""Compute minus the log-probability of the true class under softmax(T f)."""
    logits = _leading(class_outputs(outputs))
    largest = logits.max(axis=0)
    own = np.moveaxis(logits, -1, 0)[np.arange(codes.size), codes]
    behind = largest - np.moveaxis(own, 0, -1)
    powers, before = np.empty(0), 0.0
    losses = np.empty((*behind.shape[:-1], len(temperatures), behind.shape[-1]))
    for index, T in enumerate(temperatures):
        if before and T == 2 * before:
            np.square(powers, out=powers)  # exp(2 T f) from exp(T f)
        else:
            powers = np.exp(T * (logits - largest))
        before = T
        losses[..., index, :] = np.log(powers.sum(axis=0)) + T * behind
    return losses
