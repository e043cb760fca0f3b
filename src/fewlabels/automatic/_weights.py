"""From held-out losses to weights of candidates."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._losses import Losses
from fewlabels.automatic._pool import Pool


class Choice(NamedTuple):
    """Weights of candidates.

    Attributes
    ----------
    weights : ndarray of shape (n_variants,)
        Of sum 1, the insurance included.
    baseline : int
        The best supervised candidate, -1 if there is none.
    losses : Losses or None
        None where held-out rows say nothing.
    """

    weights: NDArray[Any]
    baseline: int
    losses: Losses | None

    @property
    def outputs(self) -> NDArray[Any] | None:
        """Outputs of the average, with many rows held out."""
        if self.losses is None:
            return None
        return np.tensordot(self.weights, self.losses.outputs, axes=1)


def choose(
    losses: Losses | None, labeled: Labeled, pool: Pool, rng: np.random.RandomState
) -> Choice:
    """Weigh candidates by their losses.

    Ranks under the Bayesian bootstrap give weights; with more than a few labels these
    are then stacked, and the best supervised candidate is mixed in.
    """
    if losses is None:
        # Without evidence the smoothest supervised candidate is as good as any.
        return Choice(pool.fixed, pool.smoothest, None)
    used = losses.used(labeled)
    draws = bootstrap_draws(tuned.N_DRAWS, labeled.size, rng) * labeled.importance
    sums = rank_sums(used, draws)
    if not labeled.few:
        sums += tuned.SMOOTHNESS * len(used) * sums.shape[1] * pool.decades_below
    weights = decayed_weights(sums, pool.groups, tuned.DECAY)
    if not labeled.few and losses.many_log is not None:
        means = losses.many_log @ labeled.importance
        best = means.argmin(axis=1)
        held = losses.many_log[np.arange(best.size), best]
        weights = stacked_weights(np.exp(-held), weights, labeled.importance)
    if pool.insurance.any():
        share = tuned.FEW_INSURANCE * min(1.0, tuned.FEW / labeled.size)
        weights = (1 - share) * weights + share * pool.insurance
    baseline = -1
    if pool.supervised.any():
        plain = rank_sums(used, labeled.importance[None])[0]
        baseline = int(np.where(pool.supervised, plain, np.inf).argmin())
        if not labeled.few:
            weights = (1 - tuned.INSURANCE) * weights
            weights[baseline] += tuned.INSURANCE
    return Choice(weights, baseline, losses)


def _ranks(values: NDArray[Any]) -> NDArray[np.intp]:
    """Rank along the last axis, 0 for the smallest; NaN comes last."""
    order = np.argsort(values, axis=-1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(values.shape[-1]), axis=-1)
    return ranks


def rank_sums(losses: list[NDArray[Any]], draws: NDArray[Any]) -> NDArray[Any]:
    """Sum, over several losses, the rank of every candidate."""
    total = np.zeros((draws.shape[0], losses[0].shape[0]))
    for loss in losses:
        means = draws @ (loss if loss.ndim == 2 else loss[:, 0]).T
        for temperature in range(1, loss.shape[1] if loss.ndim == 3 else 0):
            np.minimum(means, draws @ loss[:, temperature].T, out=means)
        total += _ranks(means)
    return total


def decayed_weights(
    sums: NDArray[Any], groups: NDArray[np.intp], decay: float
) -> NDArray[Any]:
    """Weights that decay with the rank of a candidate at its best variant."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    least = np.minimum.reduceat(sums, starts, axis=1)
    # The first variant of a candidate that is as good as its best one.
    places = np.where(sums == least[:, groups], np.arange(groups.size), groups.size)
    best = np.minimum.reduceat(places, starts, axis=1)
    ranks = _ranks(least)
    weights = float(decay) ** ranks
    weights /= weights.sum(axis=1, keepdims=True)
    placed = np.zeros_like(sums)
    np.put_along_axis(placed, best, weights, axis=1)
    return placed.mean(axis=0)


def bootstrap_draws(
    n_draws: int, n_rows: int, rng: np.random.RandomState
) -> NDArray[Any]:
    """Draw row weights of the Bayesian bootstrap: Exp(1), each line of mean 1."""
    draws = rng.standard_exponential((n_draws, n_rows))
    return draws / draws.mean(axis=1, keepdims=True)


def stacked_weights(
    likelihoods: NDArray[Any],
    prior: NDArray[Any],
    row_weights: NDArray[Any],
) -> NDArray[Any]:
    r"""Stack candidates by their held-out probabilities, with shrinkage.

    Steps of EM for the mixture :math:`\sum_k w_k p_k` under a Dirichlet prior around
    given weights:

    .. math::
        w_k \leftarrow \frac{s\, w^0_k + \sum_i v_i r_{ik}}{s + \sum_i v_i}, \qquad
        r_{ik} = \frac{w_k p_{ki}}{\sum_j w_j p_{ji}} .
    """
    active = np.flatnonzero(prior > 0)
    p = np.maximum(likelihoods[active], np.finfo(float).tiny)
    start = prior[active]
    w = start.copy()
    total = row_weights.sum()
    strength = tuned.STACKING_STRENGTH
    for _ in range(tuned.STACKING_STEPS):
        shares = w[:, None] * p
        shares /= shares.sum(axis=0)
        w = (strength * start + shares @ row_weights) / (strength + total)
    weights = np.zeros_like(prior)
    weights[active] = w
    return weights
