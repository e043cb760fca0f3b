"""Slow twins of tabular learning: plain lists, one line of the algorithms at a time."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from itertools import product

import numpy as np


def scheduled(schedule, n):
    """The value of a Schedule, by the table in its docstring."""
    if schedule.kind == "power":
        return max(schedule.end, schedule.start * math.pow(n, -schedule.rate))
    if schedule.kind == "linear":
        share = (n - 1) / schedule.rate
        way = schedule.end - schedule.start
        return schedule.start + way * share if share < 1 else schedule.end
    if schedule.kind == "exponential":
        way = schedule.start - schedule.end
        return schedule.end + way * math.exp(-(n - 1) / schedule.rate)
    return schedule.start


def pick(candidates, rng):
    """One of several, all alike; nothing is drawn where there is no choice."""
    return candidates[int(rng.random() * len(candidates)) if candidates[1:] else 0]


class SlowLearner:
    """Sarsa ("sarsa"), Q-learning ("q") and the weighted double rule ("double")."""

    def __init__(
        self, rule, available, alpha, epsilon, gamma, c, sign, by_visits, initial, rng
    ):
        self.rule, self.gamma, self.c, self.sign = rule, gamma, c, sign
        self.alpha, self.epsilon, self.by_visits = alpha, epsilon, by_visits
        self.rng = rng
        self.actions = [
            [a for a, there in enumerate(row) if there] for row in available
        ]
        n_tables = 2 if rule == "double" else 1
        pairs = list(product(range(len(available)), range(len(available[0]))))
        self.tables = [dict.fromkeys(pairs, initial) for _ in range(n_tables)]
        self.counts = [dict.fromkeys(pairs, 0) for _ in range(n_tables)]
        self.steps = 0

    def choose(self, s):
        """Epsilon-greedy in the sum of the tables."""
        n = self.steps + 1
        if self.by_visits:
            n = 1 + sum(N[s, a] for N in self.counts for a in self.actions[s])
        if self.rng.random() < scheduled(self.epsilon, n):
            return pick(self.actions[s], self.rng)
        worth = {
            a: self.sign * sum(Q[s, a] for Q in self.tables) for a in self.actions[s]
        }
        return pick([a for a in worth if worth[a] == max(worth.values())], self.rng)

    def learn(self, s, a, r, t, following, terminated):
        i = 0
        if self.rule == "double":
            i = 0 if self.rng.random() < 0.5 else 1
        Q = self.tables[i]
        if terminated:
            target = r
        elif self.rule == "sarsa":
            target = r + self.gamma * Q[t, following]
        elif self.rule == "q":
            values = [self.sign * Q[t, b] for b in self.actions[t]]
            target = r + self.gamma * self.sign * max(values)
        else:
            other = self.tables[1 - i]
            worth = {b: self.sign * Q[t, b] for b in self.actions[t]}
            greatest, least = max(worth.values()), min(worth.values())
            best = pick([b for b in worth if worth[b] == greatest], self.rng)
            worst = min(b for b in worth if worth[b] == least)
            if self.c == math.inf:
                future = other[t, best]
            else:
                spread = abs(other[t, best] - other[t, worst])
                beta = 1.0 if self.c == 0 else spread / (self.c + spread)
                future = beta * Q[t, best] + (1 - beta) * other[t, best]
            target = r + self.gamma * future
        self.counts[i][s, a] += 1
        step_size = scheduled(self.alpha, self.counts[i][s, a])
        Q[s, a] += step_size * (target - Q[s, a])


def draw(probabilities, rng):
    """A state with the given probabilities."""
    u, total = rng.random(), 0.0
    possible = [t for t, p in enumerate(probabilities) if p > 0]
    for t in possible:
        total += probabilities[t]
        if u < total:
            return t
    return possible[-1]


def run(
    learner, P, R, noise, two_point, terminal, start, max_steps, n_episodes, env_rng
):
    """Episodes of a process with P[s, a, t] and R[s, a, t]; returns and lengths."""
    returns, lengths = [], []
    for _ in range(n_episodes):
        s = draw(start, env_rng)
        a = learner.choose(s)
        gained, length = 0.0, 0
        while a is not None:
            t = draw(P[s, a], env_rng)
            r = R[s, a, t]
            if noise[s, a] > 0:
                if two_point:
                    r += noise[s, a] if env_rng.random() < 0.5 else -noise[s, a]
                else:
                    r += noise[s, a] * env_rng.standard_normal()
            gained, length = gained + r, length + 1
            learner.steps += 1
            following = None
            if learner.rule == "sarsa" and not terminal[t]:
                following = learner.choose(t)
            learner.learn(s, a, r, t, following, terminal[t])
            if terminal[t] or length >= max_steps:
                a = None
            else:
                if learner.rule != "sarsa":
                    following = learner.choose(t)
                s, a = t, following
        returns.append(gained)
        lengths.append(length)
    return returns, lengths


def table(entries, shape):
    """A dictionary with keys (s, a) as an array."""
    return np.array([entries[key] for key in np.ndindex(*shape)]).reshape(shape)


def best_policy(P, R, gamma, terminal):
    """The best of all deterministic policies, each evaluated by a dense inverse."""
    n_states, n_actions = R.shape
    best, found = None, None
    for policy in product(range(n_actions), repeat=n_states):
        chosen = np.arange(n_states), np.array(policy)
        live = ~np.asarray(terminal)
        chain = P[chosen] * live[:, None]
        V = np.linalg.inv(np.eye(n_states) - gamma * chain) @ (R[chosen] * live)
        if best is None or ((V >= best - 1e-12).all() and V.sum() > best.sum()):
            best, found = V, policy
    return best, np.array(found)


def long_run(chain):
    """What the mean of the powers of chains approaches, by squaring lazy ones."""
    limit = (np.eye(chain.shape[-1]) + chain) / 2
    for _ in range(60):
        limit = limit @ limit
        limit /= limit.sum(axis=-1, keepdims=True)
    return limit


def best_gains(P, R, terminal):
    """The largest average reward from every state, over all deterministic policies."""
    n_states, n_actions = R.shape
    policies = np.array(list(product(range(n_actions), repeat=n_states)))
    chains = P[np.arange(n_states), policies]
    rewards = np.where(terminal, 0.0, R[np.arange(n_states), policies])
    chains[:, terminal] = np.eye(n_states)[terminal]
    return (long_run(chains) @ rewards[..., None]).max(axis=0)[:, 0]
