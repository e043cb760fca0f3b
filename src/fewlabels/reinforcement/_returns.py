"""What is optimised: returns, and estimates of a maximum of means."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from fewlabels._params import check_number


def _rewards(rewards: ArrayLike) -> NDArray[np.float64]:
    found = np.asarray(rewards, dtype=np.float64)
    if found.ndim == 0 or found.shape[-1] == 0:
        raise ValueError("rewards must hold at least one reward per sequence.")
    return found


def finite_horizon_return(
    rewards: ArrayLike, horizon: int
) -> np.float64 | NDArray[np.float64]:
    r"""Sum of the rewards up to a horizon.

    .. math:: G = \sum_{t=0}^{h} r_t

    Parameters
    ----------
    rewards : array-like of shape (..., n_steps)
        Rewards in the order in which they came; further axes hold further sequences.
    horizon : int
        The last time step that counts, h >= 0. Times beyond the end of the sequence
        count as zero: the episode is over.

    Returns
    -------
    value : float or ndarray of shape (...)
        The sums.

    See Also
    --------
    backward_induction : The policy that is optimal for this model.

    Examples
    --------
    >>> from fewlabels.reinforcement import finite_horizon_return
    >>> float(finite_horizon_return([1, 2, 3, 4], horizon=2))
    6.0
    """
    check_number("horizon", horizon, 0)
    return _rewards(rewards)[..., : horizon + 1].sum(axis=-1)


def discounted_return(
    rewards: ArrayLike, gamma: float
) -> np.float64 | NDArray[np.float64]:
    r"""Sum of the rewards, discounted.

    .. math:: G = \sum_{t} \gamma^t r_t

    Parameters
    ----------
    rewards : array-like of shape (..., n_steps)
        Rewards in the order in which they came; further axes hold further sequences.
    gamma : float
        The discount, in [0, 1]. A sequence without end needs gamma < 1.

    Returns
    -------
    value : float or ndarray of shape (...)
        The sums.

    See Also
    --------
    policy_evaluation : Its expectation under a policy of a known process.

    Examples
    --------
    >>> from fewlabels.reinforcement import discounted_return
    >>> float(discounted_return([1, 1, 1], gamma=0.5))
    1.75
    """
    check_number("gamma", gamma, 0, 1)
    found = _rewards(rewards)
    return found @ gamma ** np.arange(found.shape[-1], dtype=np.float64)


def average_reward(rewards: ArrayLike) -> np.float64 | NDArray[np.float64]:
    r"""Mean reward per step.

    .. math:: \bar r = \frac{1}{h} \sum_{t=0}^{h-1} r_t

    Parameters
    ----------
    rewards : array-like of shape (..., n_steps)
        Rewards in the order in which they came; further axes hold further sequences.

    Returns
    -------
    value : float or ndarray of shape (...)
        The means.

    See Also
    --------
    policy_gain : The limit of its expectation for many steps.

    Examples
    --------
    >>> from fewlabels.reinforcement import average_reward
    >>> float(average_reward([0, 1, 0, 1]))
    0.5
    """
    return _rewards(rewards).mean(axis=-1)


def _variables(samples: Sequence[ArrayLike], least: int) -> list[NDArray[np.float64]]:
    found = [np.asarray(x, dtype=np.float64) for x in samples]
    if not found:
        raise ValueError("samples must hold at least one variable.")
    for i, x in enumerate(found):
        if x.ndim != 1 or x.size < least:
            raise ValueError(
                f"samples[{i}] has shape {x.shape}; every variable needs a sequence of "
                f"at least {least} sample(s)."
            )
    return found


def single_estimator(samples: Sequence[ArrayLike]) -> float:
    r"""Estimate the largest mean of several variables by the largest sample mean.

    .. math:: \max_i \mu_i(S)

    Its bias is never negative: the largest of several unbiased estimates is too large
    on average. Q-learning estimates the value of the next state in this way.

    Parameters
    ----------
    samples : sequence of array-like of shape (n_samples_i,)
        The samples of each variable.

    Returns
    -------
    estimate : float
        The largest sample mean.

    See Also
    --------
    double_estimator : Its bias is never positive.

    Examples
    --------
    >>> from fewlabels.reinforcement import single_estimator
    >>> single_estimator([[1, 3], [0, 1, 2]])
    2.0
    """
    return float(max(x.mean() for x in _variables(samples, 1)))


def _split_estimate(
    samples: Sequence[ArrayLike],
    random_state: int | np.random.RandomState | None,
    estimate: Callable[[NDArray[np.float64], NDArray[np.float64]], float],
) -> float:
    """Split each sample at random into two halves and average over their roles."""
    rng = check_random_state(random_state)
    means = np.empty((2, len(samples)))
    for i, x in enumerate(_variables(samples, 2)):
        shuffled = rng.permutation(x)
        # The larger half of an odd number is drawn at random: neither role is favoured.
        cut = (x.size + rng.randint(2)) // 2
        means[:, i] = shuffled[:cut].mean(), shuffled[cut:].mean()
    return 0.5 * (estimate(means[0], means[1]) + estimate(means[1], means[0]))


def double_estimator(
    samples: Sequence[ArrayLike],
    *,
    random_state: int | np.random.RandomState | None = None,
) -> float:
    r"""Estimate the largest mean of several variables with two sets of samples.

    One half of the samples chooses the variable, the other one estimates its mean:

    .. math:: \mu^B_{a^*}(S_B), \quad a^* = \arg\max_i \mu^A_i(S_A)

    The result is the average of this and the same with the roles of the halves
    exchanged. It is unbiased where all means are equal, and its bias is never positive.

    Parameters
    ----------
    samples : sequence of array-like of shape (n_samples_i,)
        The samples of each variable, at least two.
    random_state : int, RandomState instance or None, default=None
        Determines the halves.

    Returns
    -------
    estimate : float
        The double estimate.

    See Also
    --------
    single_estimator : Its bias is never negative.
    weighted_double_estimator : Between the two.

    References
    ----------
    .. [1] H. van Hasselt, "Double Q-learning", Advances in Neural Information
           Processing Systems 23, 2010.

    Examples
    --------
    >>> from fewlabels.reinforcement import double_estimator
    >>> double_estimator([[3, 3, 3], [1, 1, 1]])
    3.0
    """
    return _split_estimate(samples, random_state, lambda a, b: float(b[np.argmax(a)]))


def weighted_double_estimator(
    samples: Sequence[ArrayLike],
    *,
    c: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> float:
    r"""Estimate the largest mean by a mixture of the single and the double estimate.

    .. math::

        \beta \mu^A_{a^*} + (1 - \beta) \mu^B_{a^*}, \quad
        \beta = \frac{|\mu^B_{a^*} - \mu^B_{a_L}|}{c + |\mu^B_{a^*} - \mu^B_{a_L}|}

    with :math:`a^*` and :math:`a_L` the greatest and the least of :math:`\mu^A`,
    averaged over both roles of the halves.

    Parameters
    ----------
    samples : sequence of array-like of shape (n_samples_i,)
        The samples of each variable, at least two.
    c : float, default=1.0
        0 uses only the half that chose, infinity is the double estimator.
    random_state : int, RandomState instance or None, default=None
        Determines the halves.

    Returns
    -------
    estimate : float
        The weighted estimate.

    References
    ----------
    .. [1] Z. Zhang, Z. Pan and M. J. Kochenderfer, "Weighted double Q-learning",
           IJCAI 2017. :doi:`10.24963/ijcai.2017/483`

    Examples
    --------
    >>> from fewlabels.reinforcement import weighted_double_estimator
    >>> weighted_double_estimator([[3, 3, 3], [1, 1, 1]], c=10)
    3.0
    """
    check_number("c", c, 0, np.inf)

    def estimate(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
        best, worst = np.argmax(a), np.argmin(a)
        spread = abs(b[best] - b[worst])
        weight = 1.0 if c == 0 else spread / (c + spread)
        return float(weight * a[best] + (1 - weight) * b[best])

    return _split_estimate(samples, random_state, estimate)
