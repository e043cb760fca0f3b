"""Processes that several test modules use."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels.reinforcement import MDP, TabularEnv

TWO_STATES = (
    np.array([[[0.5, 0.5], [0, 1]], [[0.2, 0.8], [0.6, 0.4]]]),
    np.array([[5.0, 10.0], [-1.0, 2.0]]),
)
TWO_STATES_VALUES = np.array([103.18471338, 98.08917197])


def two_states(gamma=0.95):
    return MDP(*TWO_STATES, gamma)


def forest(gamma=0.96, fire=0.1):
    """Wait (0) or cut (1) a forest of three ages."""
    wait = np.array([[fire, 1 - fire, 0], [fire, 0, 1 - fire], [fire, 0, 1 - fire]])
    cut = np.array([[1.0, 0, 0]] * 3)
    transitions = np.stack([wait, cut], axis=1)
    return MDP(transitions, [[0, 0], [0, 1], [4, 2]], gamma)


def random_process(rng, n_states=4, n_actions=3, n_terminal=1, missing=True):
    """Arrays P, R[s, a, t], terminal states, available actions."""
    P = rng.dirichlet(np.full(n_states, 0.5), size=(n_states, n_actions))
    P[P < 0.05] = 0.0
    P /= P.sum(axis=2, keepdims=True)
    R = rng.normal(size=P.shape)
    terminal = np.arange(n_states) >= n_states - n_terminal
    available = np.ones((n_states, n_actions), dtype=bool)
    if missing:
        available[0, -1] = False
    return P, R, terminal, available


def multichain_process(rng, n_states=4, n_actions=2):
    """Arrays P, R[s, a], terminal states: few ways to go, and rewards with ties."""
    P = np.zeros((n_states, n_actions, n_states))
    for s, a in np.ndindex(n_states, n_actions):
        n_next = rng.integers(1, 3)
        ways = rng.choice(n_states, n_next, replace=False)
        P[s, a, ways] = [[1.0], [0.25, 0.75]][n_next - 1]
    R = rng.integers(-2, 3, size=(n_states, n_actions)).astype(float)
    return P, R, np.arange(n_states) < rng.integers(0, 2)


def random_env(rng, **kwargs):
    P, R, terminal, available = random_process(rng)
    start = np.where(terminal, 0.0, 1.0)
    return TabularEnv(
        P,
        R,
        terminal=terminal,
        available=available,
        start=start / start.sum(),
        max_steps=20,
        **kwargs,
    )
