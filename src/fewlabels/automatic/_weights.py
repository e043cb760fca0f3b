"""Weights of candidates from held-out losses."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._losses import Losses, log_losses, squared_losses
from fewlabels.automatic._pool import Pool


class Choice(NamedTuple):
    """Weights of candidates.

    Attributes
    ----------
    weights : ndarray of shape (n_variants,)
        Weights that sum to 1, insurance included.
    baseline : int
        The best supervised candidate, -1 if there is none.
    losses : Losses or None
        Held-out losses; None if no rows can be held out.
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
    """Weight candidates by their losses, and find the best supervised one.

    With several views of the rows, those of the first also keep a share that does not
    depend on how the others perform.
    """
    choice = _choose_among(losses, labeled, pool, rng)
    first = pool.in_first
    if losses is None or first.all() or not first.any():
        return choice
    own = _choose_among(
        losses.of(first), labeled, pool.of(pool.candidate_of[first]), rng
    )
    weights = (1 - tuned.FIRST_VIEW) * choice.weights
    weights[first] += tuned.FIRST_VIEW * own.weights
    return choice._replace(weights=weights)


def _choose_among(
    losses: Losses | None, labeled: Labeled, pool: Pool, rng: np.random.RandomState
) -> Choice:
    """Weight candidates as if they all were of one view.

    For tables and numbers, three parts are then mixed by their likelihoods on held-out
    labels: the average of all candidates, the best supervised candidate and, for
    classes, the insurance.
    """
    if losses is None:
        # Without evidence, the smoothest supervised candidate is as good as any other.
        return Choice(pool.fixed, pool.smoothest, None)
    evidence = labeled.evidence
    draws = bootstrap_draws(tuned.N_DRAWS, labeled.size, rng) * evidence
    regression = losses.many_log is None
    if regression:
        powers = normal_likelihoods([losses.single_squared, losses.many_squared], draws)
        parts = [softmax(powers, axis=1).mean(axis=0)]
    else:
        parts = [_class_weights(losses, labeled, pool, draws)]
    baseline = -1
    if pool.supervised.any():
        fit = _total_likelihoods(losses, evidence)
        baseline = int(np.where(pool.supervised, fit, -np.inf).argmax())
        parts.append(np.eye(1, parts[0].size, baseline)[0])
    if regression or pool.insurance.any():
        if not regression:
            parts.append(pool.insurance)
        weights = _mixed(parts, losses, labeled, draws)
    else:
        share = 0.0 if labeled.few or baseline < 0 else tuned.INSURANCE
        weights = (1 - share) * parts[0] + share * parts[-1]
    return Choice(weights, baseline, losses)


def normal_likelihoods(
    squared: list[NDArray[Any]], draws: NDArray[Any]
) -> NDArray[np.float64]:
    """Log-likelihood of held-out targets under every candidate, for every draw.

    For l normal residuals of unknown variance, it is -l/2 times the logarithm of their
    mean square. Several ways of holding out count as one.
    """
    tiny = np.finfo(float).tiny
    logs = [np.log(np.maximum(draws @ loss.T, tiny)) for loss in squared]
    return -draws.shape[1] / 2 * np.mean(logs, axis=0)


def _total_likelihoods(losses: Losses, evidence: NDArray[Any]) -> NDArray[Any]:
    """Log-likelihood of held-out labels by each candidate at its best temperature."""
    if losses.single_log is None or losses.many_log is None:
        squared = [losses.single_squared, losses.many_squared]
        return normal_likelihoods(squared, evidence[None])[0]
    return -sum((log @ evidence).min(axis=1) for log in losses[2:4])


def _mixed(
    parts: list[NDArray[Any]], losses: Losses, labeled: Labeled, draws: NDArray[Any]
) -> NDArray[Any]:
    """Mix parts by the likelihood of held-out labels, averaged over draws.

    (Pseudo-BMA+; Yao, Vehtari, Simpson and Gelman, 2018.) If one is far ahead, it gets
    all the weight. For classes, outputs are first scaled to the same size: those of a
    large ridge are small, and would otherwise not count.
    """
    weights = np.array(parts)
    known = labeled.evidence > 0
    outputs = np.tensordot(weights, losses.outputs[:, known], axes=1)
    draws = draws[:, known]
    if losses.many_log is None:
        squared = squared_losses(outputs, labeled.Y[known])
        return softmax(normal_likelihoods([squared], draws), axis=1).mean(0) @ weights
    sizes = np.sqrt((outputs**2).mean(axis=(1, 2)))[:, None]
    sizes = np.where(sizes > 0, sizes, 1.0)  # all-zero outputs stay as they are
    weights, outputs = weights / sizes, outputs / sizes[:, :, None]
    logs = log_losses(outputs, labeled.codes[known], tuned.FINAL_TEMPERATURES)
    best = (logs @ labeled.evidence[known]).argmin(axis=1)
    likelihoods = -draws @ logs[np.arange(best.size), best].T
    total = softmax(likelihoods, axis=1).mean(axis=0) @ weights
    return total / total.sum()


def _class_weights(
    losses: Losses, labeled: Labeled, pool: Pool, draws: NDArray[Any]
) -> NDArray[Any]:
    """Weight by ranks, stack if labels are not few, and add the share of insurance."""
    used, evidence = losses.used(labeled), labeled.evidence
    sums = rank_sums(used, draws)
    if not labeled.few:
        sums += tuned.SMOOTHNESS * len(used) * sums.shape[1] * pool.decades_below
    weights = decayed_weights(sums, pool.candidate_of, tuned.DECAY)
    if not labeled.few and losses.many_log is not None:
        means = losses.many_log @ evidence
        best = means.argmin(axis=1)
        held = losses.many_log[np.arange(best.size), best]
        weights = stacked_weights(np.exp(-held), weights, evidence)
    if pool.insurance.any():
        share = tuned.FEW_INSURANCE * min(1.0, tuned.FEW / labeled.size)
        weights = (1 - share) * weights + share * pool.insurance
    return weights


def _ranks(values: NDArray[Any]) -> NDArray[np.intp]:
    """Rank along the last axis, 0 for the smallest; NaN comes last."""
    order = np.argsort(values, axis=-1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(values.shape[-1]), axis=-1)
    return ranks


def rank_sums(losses: list[NDArray[Any]], draws: NDArray[Any]) -> NDArray[Any]:
    """Sum the ranks of every candidate over several losses."""
    total = np.zeros((draws.shape[0], losses[0].shape[0]))
    for loss in losses:
        means = draws @ (loss if loss.ndim == 2 else loss[:, 0]).T
        for temperature in range(1, loss.shape[1] if loss.ndim == 3 else 0):
            np.minimum(means, draws @ loss[:, temperature].T, out=means)
        total += _ranks(means)
    return total


def decayed_weights(
    sums: NDArray[Any], candidate_of: NDArray[np.intp], decay: float
) -> NDArray[Any]:
    """Weights that decay with the rank of each candidate's best variant."""
    starts = np.flatnonzero(np.diff(candidate_of, prepend=-1))
    least = np.minimum.reduceat(sums, starts, axis=1)
    # The first of a candidate's variants that ties with its best.
    places = np.where(
        sums == least[:, candidate_of], np.arange(candidate_of.size), candidate_of.size
    )
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
    """Draw row weights of the Bayesian bootstrap: Exp(1), each draw with mean 1."""
    draws = rng.standard_exponential((n_draws, n_rows))
    return draws / draws.mean(axis=1, keepdims=True)


def stacked_weights(
    likelihoods: NDArray[Any],
    prior: NDArray[Any],
    row_weights: NDArray[Any],
) -> NDArray[Any]:
    r"""Stack candidates by their held-out probabilities, with shrinkage.

    EM steps for the mixture :math:`\sum_k w_k p_k` with a Dirichlet prior around given
    weights:

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
