"""Strategies that wrap others: how much to explore, and which one to use."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fewlabels._params import check_number
from fewlabels.active._query import Pool, Query, QueryStrategy


def _checked_reward(reward: float) -> float:
    if not 0 <= reward <= 1:
        raise ValueError(f"reward must lie between 0 and 1, got {reward}.")
    return float(reward)


class EGExploration(QueryStrategy):
    r"""Mix any strategy with random queries, at a learned rate.

    Each query draws one of several rates :math:`\varepsilon_k` with probability

    .. math:: p_k = (1 - \kappa) \frac{w_k}{\sum_j w_j} + \frac{\kappa}{T}

    and queries a random row with probability :math:`\varepsilon_k`, otherwise the
    strategy's choice. A reward r in [0, 1] for the rate m that was used then updates
    the weights by an exponentiated gradient,

    .. math:: w_k \leftarrow w_k \exp\!\left(
        \tau \, \frac{r \, 1[k = m] + \beta}{p_k} \right) .

    A single rate makes this the epsilon-greedy rule.

    Parameters
    ----------
    strategy : QueryStrategy
        What to do when not exploring.
    rates : sequence of float, default=(0.0, 0.1, 0.2, 0.4)
        The T rates to choose from, each between 0 and 1.
    learning_rate : float, default=0.1
        Step of the gradient.
    beta : float, default=0.01
        Added to all rewards; it keeps rarely drawn rates alive.
    kappa : float, default=0.1
        Share of draws in which all rates are equally probable, larger than 0.
    random_state : int, RandomState instance or None, default=None
        Seed; with an int the draws go on from query to query.

    Attributes
    ----------
    weights_ : ndarray of shape (n_rates,)
        The weights w, of sum 1.
    rate_ : float
        The rate of the last query.

    Notes
    -----
    :class:`ActiveLearner` uses the share of answers that the model had mispredicted as
    the reward. In your own loop, call :meth:`update` yourself.

    References
    ----------
    .. [1] D. Bouneffouf, "Exponentiated gradient exploration for active learning",
       Computers 5 (2016). :doi:`10.3390/computers5010001`

    Examples
    --------
    >>> from fewlabels.active import EGExploration, UncertaintySampling
    >>> strategy = EGExploration(UncertaintySampling(), rates=[0, 0.5], random_state=0)
    >>> X, y = [[0.0], [0.2], [0.55], [0.8], [1.0]], [0, -1, -1, -1, 1]
    >>> strategy.query(X, y).indices.shape
    (1,)
    >>> strategy.update(1.0)
    >>> bool(strategy.weights_[strategy.rates.index(strategy.rate_)] > 0.5)
    True
    """

    def __init__(
        self,
        strategy: Any,
        *,
        rates: Sequence[float] = (0.0, 0.1, 0.2, 0.4),
        learning_rate: float = 0.1,
        beta: float = 0.01,
        kappa: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.strategy = strategy
        self.rates = rates
        self.learning_rate = learning_rate
        self.beta = beta
        self.kappa = kappa
        self.random_state = random_state

    @property
    def probabilities_(self) -> NDArray[np.float64]:
        """Probabilities with which rates are drawn."""
        return (1 - self.kappa) * self.weights_ + self.kappa / self.weights_.size

    def _start(self) -> NDArray[np.float64]:
        rates = np.asarray(self.rates, dtype=np.float64)
        if rates.ndim != 1 or not rates.size or rates.min() < 0 or rates.max() > 1:
            raise ValueError(f"rates must lie between 0 and 1, got {self.rates!r}.")
        if not 0 < self.kappa <= 1:  # without it, a weight of zero divides by zero
            raise ValueError(
                f"kappa must lie above 0 and be at most 1, got {self.kappa}."
            )
        if getattr(self, "weights_", np.empty(0)).size != rates.size:
            self.weights_ = np.full(rates.size, 1 / rates.size)
            self._rng = check_random_state(self.random_state)
        return rates

    def _choose(
        self, pool: Pool, n_queries: int, model: Any, diversity: float
    ) -> Query:
        rates = self._start()
        self._drawn = int(self._rng.choice(rates.size, p=self.probabilities_))
        self.rate_ = float(rates[self._drawn])
        found = self.strategy.query(
            pool.X,
            pool.y,
            n_queries=n_queries,
            model=model,
            candidates=pool.candidates,
            diversity=diversity,
        )
        explored = self._rng.uniform(size=n_queries) < self.rate_
        kept = found.indices[~explored]
        others = np.setdiff1d(pool.candidates, kept)
        drawn = self._rng.choice(others, int(explored.sum()), replace=False)
        rows = found.indices.copy()
        rows[explored] = drawn
        return Query(rows, found.utilities)

    def update(self, reward: float) -> None:
        """Learn from the last query.

        Parameters
        ----------
        reward : float
            What it was worth, between 0 and 1.
        """
        if not hasattr(self, "_drawn"):
            raise ValueError("There is nothing to reward yet: call query first.")
        gain = np.full(self.weights_.size, self.beta)
        gain[self._drawn] += _checked_reward(reward)
        exponents = self.learning_rate * gain / self.probabilities_
        weights = self.weights_ * np.exp(exponents - exponents.max())
        self.weights_ = weights / weights.sum()


class SoftmaxExploration(QueryStrategy):
    r"""Draw rows with probabilities that grow with their utility.

    Rows are drawn one after another, without replacement, with probabilities

    .. math:: p_i \propto \exp(u_i / T)

    for the utilities u of a strategy, scaled to [0, 1]: T near 0 is the strategy
    itself, a large T is random sampling.

    Parameters
    ----------
    strategy : QueryStrategy
        Where utilities come from.
    temperature : float, default=0.1
        The temperature T.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Examples
    --------
    >>> from fewlabels.active import SoftmaxExploration, UncertaintySampling
    >>> X, y = [[0.0], [0.2], [0.55], [0.8], [1.0]], [0, -1, -1, -1, 1]
    >>> cold = SoftmaxExploration(UncertaintySampling(), temperature=1e-6)
    >>> cold.query(X, y).indices
    array([2])
    """

    def __init__(
        self, strategy: Any, *, temperature: float = 0.1, random_state: Any = None
    ) -> None:
        self.strategy = strategy
        self.temperature = temperature
        self.random_state = random_state

    def _utilities(self, pool: Pool, model: Any) -> NDArray[np.float64]:
        found = self.strategy.query(
            pool.X, pool.y, model=model, candidates=pool.candidates
        )
        utilities = found.utilities[pool.candidates]
        # A row that the strategy did not evaluate counts as the worst it did.
        return np.where(np.isnan(utilities), np.nanmin(utilities), utilities)

    def _select(
        self,
        pool: Pool,
        utilities: NDArray[np.float64],
        n_queries: int,
        diversity: float,
    ) -> NDArray[np.intp]:
        check_number("temperature", self.temperature, above=0)
        spread = np.ptp(utilities)
        scaled = (utilities - utilities.min()) / (spread if spread > 0 else 1.0)
        # The largest of u / T plus Gumbel noise are such draws.
        noise = check_random_state(self.random_state).gumbel(size=scaled.size)
        return super()._select(
            pool, scaled / self.temperature + noise, n_queries, diversity
        )


class ThompsonExploration(QueryStrategy):
    r"""Choose among several strategies by their past rewards (Thompson sampling).

    Every strategy has a beta distribution for its reward, at first the uniform one.
    Each query draws a value from every distribution and follows the strategy with the
    largest; a reward r in [0, 1] then adds r to the first parameter of its distribution
    and 1 - r to the second.

    Parameters
    ----------
    strategies : list of QueryStrategy
        The strategies.
    random_state : int, RandomState instance or None, default=None
        Seed; with an int the draws go on from query to query.

    Attributes
    ----------
    rewards_ : ndarray of shape (n_strategies, 2)
        Parameters of the distributions.
    choice_ : int
        The strategy of the last query.

    References
    ----------
    .. [1] D. Bouneffouf, R. Laroche, T. Urvoy, R. Féraud, R. Allesiardo, "Contextual
       bandit for active learning: active Thompson sampling", ICONIP 2014.
       :doi:`10.1007/978-3-319-12637-1_51`

    Examples
    --------
    >>> from fewlabels.active import (
    ...     RandomSampling,
    ...     ThompsonExploration,
    ...     UncertaintySampling,
    ... )
    >>> several = [RandomSampling(random_state=0), UncertaintySampling()]
    >>> strategy = ThompsonExploration(several, random_state=0)
    >>> X, y = [[0.0], [0.2], [0.55], [0.8], [1.0]], [0, -1, -1, -1, 1]
    >>> strategy.query(X, y).indices.shape
    (1,)
    >>> strategy.update(1.0)
    >>> float(strategy.rewards_.sum())
    5.0
    """

    def __init__(self, strategies: Any, *, random_state: Any = None) -> None:
        self.strategies = strategies
        self.random_state = random_state

    def _choose(
        self, pool: Pool, n_queries: int, model: Any, diversity: float
    ) -> Query:
        if not self.strategies:
            raise ValueError("strategies is empty: give at least one.")
        if getattr(self, "rewards_", np.empty((0, 2))).shape[0] != len(self.strategies):
            self.rewards_ = np.ones((len(self.strategies), 2))
            self._rng = check_random_state(self.random_state)
        draws = self._rng.beta(self.rewards_[:, 0], self.rewards_[:, 1])
        self.choice_ = int(draws.argmax())
        return self.strategies[self.choice_].query(
            pool.X,
            pool.y,
            n_queries=n_queries,
            model=model,
            candidates=pool.candidates,
            diversity=diversity,
        )

    def update(self, reward: float) -> None:
        """Learn from the last query.

        Parameters
        ----------
        reward : float
            What it was worth, between 0 and 1.
        """
        if not hasattr(self, "choice_"):
            raise ValueError("There is nothing to reward yet: call query first.")
        r = _checked_reward(reward)
        self.rewards_[self.choice_] += (r, 1 - r)
