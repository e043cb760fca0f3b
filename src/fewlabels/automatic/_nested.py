"""The whole procedure repeated without some of the labels."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._held_out import Models, OuterModels
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._losses import HeldOutBlocks, held_out_losses, wrong
from fewlabels.automatic._pool import Pool
from fewlabels.automatic._weights import Choice, choose


class Fold(NamedTuple):
    """What the whole procedure learned from all labelled rows but a block.

    Attributes
    ----------
    block, rest : ndarray of int
        The rows left out, and the others.
    choice : Choice
        Weights of candidates, and their losses on the others.
    coefs : list
        Coefficients of every kernel, of shape (n_ridges, n_rest, n_targets); None for
        other candidates.
    centre : ndarray of shape (n_targets,)
        Mean of the others' targets, which the kernels do not see.
    """

    block: NDArray[np.intp]
    rest: NDArray[np.intp]
    choice: Choice
    coefs: list[Any]
    centre: NDArray[Any]


class Nested(NamedTuple):
    """Held-out outputs of the whole procedure for the labelled rows.

    Attributes
    ----------
    outputs : ndarray of shape (l, n_targets)
        Outputs of the average.
    baseline : ndarray of shape (l, n_targets)
        Outputs of the chosen supervised candidate; NaN if there is none.
    confirmed : ndarray of shape (l, n_targets)
        As `outputs`, except for misclassified rows: their outputs come from the average
        fitted without any misclassified row.
    halves : ndarray of shape (l, n_targets) or None
        Outputs of the average fitted to the half of the labels that excludes the row;
        None if there are too few labels for halves to be informative.
    folds : list of Fold
        What `outputs` were computed by; for regression only.
    """

    outputs: NDArray[Any]
    baseline: NDArray[Any]
    confirmed: NDArray[Any]
    halves: NDArray[Any] | None
    folds: list[Fold]

    def first(self, size: int) -> "Nested":
        """Keep the first rows."""
        return self._replace(
            outputs=self.outputs[:size],
            baseline=self.baseline[:size],
            confirmed=self.confirmed[:size],
            halves=None if self.halves is None else self.halves[:size],
        )


def outer_blocks(
    labeled: Labeled, rng: np.random.RandomState
) -> list[NDArray[np.intp]]:
    """Blocks for cross-validating the whole procedure."""
    n_groups = labeled.n_groups
    n_blocks = n_groups if labeled.size <= tuned.FEW else min(tuned.N_OUTER, n_groups)
    if not labeled.regression and labeled.class_counts.size >= tuned.MANY_CLASSES:
        n_blocks = min(n_blocks, int(labeled.class_counts.max()))
    blocks = labeled.blocks(max(2, n_blocks), rng)
    # Hold out the only rows of their classes together: they always train the others.
    alone = np.setdiff1d(np.arange(labeled.size), np.concatenate(blocks))
    return [*blocks, alone] if alone.size else blocks


def nested_outputs(
    models: Models,
    labeled: Labeled,
    pool: Pool,
    inner: HeldOutBlocks,
    rng: np.random.RandomState,
) -> Nested:
    """Leave blocks out and repeat scoring, weighting and averaging on the rest.

    The rest is scored on the `inner` blocks of all labelled rows, restricted to rows
    outside the block left out.
    """
    outer = outer_blocks(labeled, rng)
    outputs, baseline, folds = _left_out(models, labeled, pool, outer, inner, rng)
    if labeled.regression:
        return Nested(outputs, baseline, outputs, None, folds)
    # A generator of its own: these checks must not change later draws.
    own = np.random.RandomState(labeled.size)
    halves = None
    if labeled.size > tuned.FEW:
        blocks = labeled.blocks(2, own)
        halves, *_ = _left_out(models, labeled, pool, blocks, inner, own)
    confirmed = outputs.copy()
    # Wrong labels support each other, so they are left out together.
    block = np.flatnonzero(wrong(outputs, labeled.codes) & labeled.testable)
    if 0 < 2 * block.size <= labeled.size and labeled.without(block).says_something:
        alone, *_ = _left_out(models, labeled, pool, [block], inner, own)
        confirmed[block] = alone[block]
    return Nested(outputs, baseline, confirmed, halves, [])


def _left_out(
    models: Models,
    labeled: Labeled,
    pool: Pool,
    blocks: list[NDArray[np.intp]],
    inner: HeldOutBlocks,
    rng: np.random.RandomState,
) -> tuple[NDArray[Any], NDArray[Any], list[Fold]]:
    """Predict blocks by the whole procedure without them, and by the baseline."""
    outputs = np.full(labeled.Y.shape, np.nan)
    baseline = np.full(labeled.Y.shape, np.nan)
    folds = []
    for block in blocks:
        rest = labeled.without(block)
        own: OuterModels = models
        centre = np.zeros(labeled.Y.shape[1])
        if labeled.regression:  # the mean of all targets would leak those of the block
            centre = rest.Y.mean(axis=0)
            rest, own = replace(rest, Y=rest.Y - centre), models.shifted(centre)
        losses, reduced = None, own.without(block)
        if rest.says_something:
            some = inner.without(block, rest, rng)
            losses = held_out_losses(reduced, rest, some)
        choice = choose(losses, rest, pool, rng)
        answers = own.held_out([block])[:, block] + centre
        outputs[block] = np.tensordot(choice.weights, answers, axes=1)
        if choice.baseline >= 0:
            baseline[block] = answers[choice.baseline]
        if labeled.regression:
            places = np.setdiff1d(np.arange(labeled.size), block)
            coefs = reduced.coefficients()
            folds.append(Fold(block, places, choice, coefs, centre))
    return outputs, baseline, folds
