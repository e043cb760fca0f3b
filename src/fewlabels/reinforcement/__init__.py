"""Textbook: reinforcement learning, with rewards instead of labels."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.reinforcement._agent import Agent
from fewlabels.reinforcement._checkpoint import load_checkpoint
from fewlabels.reinforcement._connectionist import ConnectionistQAgent
from fewlabels.reinforcement._deep import DQNAgent, ReplayBuffer, Transitions
from fewlabels.reinforcement._dynamic_programming import (
    MDPSolution,
    backward_induction,
    policy_evaluation,
    policy_iteration,
    value_iteration,
)
from fewlabels.reinforcement._environments import DiscreteSpace, TabularEnv
from fewlabels.reinforcement._grid_worlds import (
    GridWorld,
    make_maximization_bias,
    make_noisy_grid,
)
from fewlabels.reinforcement._history import TrainingHistory
from fewlabels.reinforcement._mdp import (
    MDP,
    GainSolution,
    gain_policy_iteration,
    policy_gain,
)
from fewlabels.reinforcement._returns import (
    average_reward,
    discounted_return,
    double_estimator,
    finite_horizon_return,
    single_estimator,
    weighted_double_estimator,
)
from fewlabels.reinforcement._schedules import Schedule
from fewlabels.reinforcement._tabular import (
    DoubleQLearningAgent,
    QLearningAgent,
    SarsaAgent,
    WeightedDoubleQLearningAgent,
)
from fewlabels.reinforcement._training import evaluate, train

__all__ = [  # noqa: RUF022
    "Agent",
    "ConnectionistQAgent",
    "DQNAgent",
    "DiscreteSpace",
    "DoubleQLearningAgent",
    "GainSolution",
    "GridWorld",
    "MDP",
    "MDPSolution",
    "QLearningAgent",
    "ReplayBuffer",
    "SarsaAgent",
    "Schedule",
    "TabularEnv",
    "TrainingHistory",
    "Transitions",
    "WeightedDoubleQLearningAgent",
    "average_reward",
    "backward_induction",
    "discounted_return",
    "double_estimator",
    "evaluate",
    "finite_horizon_return",
    "gain_policy_iteration",
    "load_checkpoint",
    "make_maximization_bias",
    "make_noisy_grid",
    "policy_evaluation",
    "policy_gain",
    "policy_iteration",
    "single_estimator",
    "train",
    "value_iteration",
    "weighted_double_estimator",
]
