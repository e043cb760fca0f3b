"""The whole procedure repeated without some of the labels."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._held_out import Models
from fewlabels.automatic._labeled import Labeled, stratified_blocks
from fewlabels.automatic._losses import HeldOutBlocks, held_out_losses, wrong
from fewlabels.automatic._pool import Pool
from fewlabels.automatic._weights import choose


class Nested(NamedTuple):
    """Outputs for labelled rows by the whole procedure on other rows.

    Attributes
    ----------
    outputs : ndarray of shape (l, n_targets)
        Of the average.
    baseline : ndarray of shape (l, n_targets)
        Of the supervised candidate chosen; NaN where there is none.
    confirmed : ndarray of shape (l, n_targets)
        The outputs, but for rows that get another class than theirs those of the
        average learned without all such rows.
    halves : ndarray of shape (l, n_targets) or None
        Of the average learned from the half of the rows without the row; None where
        labels are too few for it to tell anything.
    """

    outputs: NDArray[Any]
    baseline: NDArray[Any]
    confirmed: NDArray[Any]
    halves: NDArray[Any] | None


def outer_blocks(
    labeled: Labeled, rng: np.random.RandomState
) -> list[NDArray[np.intp]]:
    """Blocks for judging the whole procedure."""
    n_groups = np.unique(labeled.groups).size
    n_blocks = n_groups if labeled.size <= tuned.FEW else min(tuned.N_OUTER, n_groups)
    if not labeled.regression and labeled.class_counts.size >= tuned.MANY_CLASSES:
        n_blocks = min(n_blocks, int(labeled.class_counts.max()))
    return stratified_blocks(labeled.codes, labeled.groups, max(2, n_blocks), rng)


def nested_outputs(
    models: Models,
    labeled: Labeled,
    pool: Pool,
    inner: HeldOutBlocks,
    rng: np.random.RandomState,
) -> Nested:
    """Leave blocks out and repeat scoring, weighting and averaging on the rest.

    The rest is scored by the `inner` blocks, those of all labelled rows, as far as they
    lie outside of the block left out.
    """
    outer = outer_blocks(labeled, rng)
    outputs, baseline = _left_out(models, labeled, pool, outer, inner, rng)
    if labeled.regression:
        return Nested(outputs, baseline, outputs, None)
    # A generator of its own: these checks must not change later draws.
    own = np.random.RandomState(labeled.size)
    halves = None
    if labeled.size > tuned.FEW:
        blocks = stratified_blocks(labeled.codes, labeled.groups, 2, own)
        halves, _ = _left_out(models, labeled, pool, blocks, inner, own)
    confirmed = outputs.copy()
    # Wrong labels hide behind each other, and are left out together.
    block = np.flatnonzero(wrong(outputs, labeled.codes))
    if 0 < 2 * block.size <= labeled.size and labeled.without(block).says_something:
        alone, _ = _left_out(models, labeled, pool, [block], inner, own)
        confirmed[block] = alone[block]
    return Nested(outputs, baseline, confirmed, halves)


def _left_out(
    models: Models,
    labeled: Labeled,
    pool: Pool,
    blocks: list[NDArray[np.intp]],
    inner: HeldOutBlocks,
    rng: np.random.RandomState,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Answers for blocks by the whole procedure without them, and by the baseline."""
    outputs = np.full(labeled.Y.shape, np.nan)
    baseline = np.full(labeled.Y.shape, np.nan)
    for block in blocks:
        rest, own = labeled.without(block), models
        centre = np.zeros(labeled.Y.shape[1])
        if labeled.regression:  # the mean of all targets knows those of the block
            centre = rest.Y.mean(axis=0)
            rest, own = replace(rest, Y=rest.Y - centre), models.shifted(centre)
        losses = None
        if rest.says_something:
            some = inner.without(block, rest, rng)
            losses = held_out_losses(own.without(block), rest, some)
        choice = choose(losses, rest, pool, rng)
        answers = own.held_out([block])[:, block] + centre
        outputs[block] = np.tensordot(choice.weights, answers, axes=1)
        if choice.baseline >= 0:
            baseline[block] = answers[choice.baseline]
    return outputs, baseline
