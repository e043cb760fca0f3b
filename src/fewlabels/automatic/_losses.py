"""Losses of all candidates on held-out labelled rows."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._held_out import Blocks, HeldOutModels
from fewlabels.automatic._labeled import Labeled


class Losses(NamedTuple):
    """Losses of all candidates on every row, with one and with many rows held out."""

    single_squared: NDArray[Any]
    many_squared: NDArray[Any]
    single_log: NDArray[Any] | None
    many_log: NDArray[Any] | None
    single_wrong: NDArray[np.bool_] | None
    outputs: NDArray[Any]  # with many rows held out, averaged over repetitions

    def of(self, variants: NDArray[np.bool_]) -> "Losses":
        """Select some variants."""
        parts: Any = (None if part is None else part[variants] for part in self)
        return Losses(*parts)

    def used(self, labeled: Labeled) -> list[NDArray[Any]]:
        """Losses that rank candidates: with many labels and classes, log-loss only."""
        squared = [self.single_squared, self.many_squared]
        if self.single_log is None or self.many_log is None:
            return squared
        logs = [self.single_log, self.many_log]
        return squared + logs if labeled.few else logs


class HeldOutBlocks(NamedTuple):
    """Which labelled rows are held out: each alone, and many at once, several times."""

    singles: Blocks
    many: Sequence[Blocks]

    @classmethod
    def draw(cls, labeled: Labeled, rng: np.random.RandomState) -> "HeldOutBlocks":
        """Hold out half of few labels, 20 times, or else a fifth, twice."""
        group = labeled.group
        testable = np.unique(group[labeled.testable])
        singles = [np.flatnonzero(group == g) for g in testable]
        repeats, n_blocks = (tuned.N_HALVES, 2) if labeled.few else (tuned.N_FIFTHS, 5)
        many = [labeled.blocks(n_blocks, rng) for _ in range(repeats)]
        return cls(singles, many)

    def without(
        self, block: NDArray[np.intp], rest: Labeled, rng: np.random.RandomState
    ) -> "HeldOutBlocks":
        """Reuse the blocks for the rows outside one block; redraw if few are left.

        Learners remember blocks and need not be refitted for these.
        """
        inside = np.ones(rest.size + block.size, dtype=bool)
        inside[block] = False
        places = np.cumsum(inside) - 1

        def outside(blocks: Blocks) -> list[NDArray[np.intp]]:
            kept = (places[b[inside[b]]] for b in blocks)
            return [b for b in kept if b.size]

        many = [blocks for blocks in map(outside, self.many) if len(blocks) > 1]
        if not many:
            return self.draw(rest, rng)
        return HeldOutBlocks(outside(self.singles), many)


def held_out_losses(
    models: HeldOutModels, labeled: Labeled, blocks: HeldOutBlocks
) -> Losses:
    """Compute losses of every candidate on held-out rows."""
    Y, codes = labeled.Y, labeled.codes
    single = models.held_out(blocks.singles)
    squared, logs = [], []
    total = np.zeros_like(single)
    for some in blocks.many:
        many = models.held_out(some)
        total += many
        squared.append(squared_losses(many, Y))
        if not labeled.regression:
            logs.append(log_losses(many, codes, tuned.TEMPERATURES))
    found: list[Any] = [
        squared_losses(single, Y),
        np.mean(squared, axis=0),
        log_losses(single, codes, tuned.TEMPERATURES) if logs else None,
        np.mean(logs, axis=0) if logs else None,
        wrong(single, codes) if logs else None,
    ]
    for loss in found:
        if loss is not None:
            loss[..., ~labeled.testable] = 0
    found.append(total / len(blocks.many))
    return Losses(*found)


def wrong(outputs: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which rows are misclassified by their largest output."""
    return class_outputs(outputs).argmax(axis=-1) != codes


def class_outputs(outputs: NDArray[Any]) -> NDArray[Any]:
    """One output per class; with two classes, the first is minus the second."""
    if outputs.shape[-1] > 1:
        return outputs
    return np.concatenate([-outputs, outputs], axis=-1)


def _leading(A: NDArray[Any]) -> NDArray[Any]:
    """Put the last axis first, in memory too: sums over a short last axis are slow."""
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
