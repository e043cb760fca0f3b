"""From held-out losses to weights of candidates."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray

# How many candidates share the weight in one draw of the bootstrap. Weights fall by 0.7
# or 0.75 with every rank, so that the next would have 2e-4 of the first.
N_KEPT = 30


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
    sums: NDArray[Any], groups: NDArray[np.intp], decay: float, n_kept: int = N_KEPT
) -> NDArray[Any]:
    """Weights that decay with the rank of a candidate at its best variant."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    least = np.minimum.reduceat(sums, starts, axis=1)
    # The first variant of a candidate that is as good as its best one.
    places = np.where(sums == least[:, groups], np.arange(groups.size), groups.size)
    best = np.minimum.reduceat(places, starts, axis=1)
    ranks = _ranks(least)
    weights = np.where(ranks < n_kept, float(decay) ** ranks, 0.0)
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
    *,
    strength: float = 20.0,
    n_steps: int = 60,
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
    for _ in range(n_steps):
        shares = w[:, None] * p
        shares /= shares.sum(axis=0)
        w = (strength * start + shares @ row_weights) / (strength + total)
    weights = np.zeros_like(prior)
    weights[active] = w
    return weights
