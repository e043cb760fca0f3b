"""Loops of tabular reinforcement learning: an environment in tables, a table of values.

The environment. Row s * n_actions + a of a CSR matrix holds what follows action a in
state s: `indices` the next states, `cumulative` their probabilities summed up, and
`rewards` the mean reward of each transition. `noise` is the spread of the reward of a
row, normal or with two values.

The agent. `Q` and `counts` have shape (n_tables, n_states, n_actions): one table for
Sarsa and Q-learning, two for the double rules. `sign` is 1 where rewards are to be
maximised and -1 where penalties are to be minimised. `alpha` and `epsilon` are
schedules as four numbers, see `schedule_value`.

Both draw from generators of their own, and every draw is documented by the twin in
tests/reference: a run step by step and a run in one call use the same numbers.
"""

# SPDX-License-Identifier: BSD-3-Clause

import math

import numpy as np

from fewlabels._loops import njit

CONSTANT, POWER, LINEAR, EXPONENTIAL = 0, 1, 2, 3
SARSA, Q_LEARNING, DOUBLE = 0, 1, 2
NORMAL = 0  # kind of noise; any other is two-point

# Entries of `carry`, the state of a run between two calls.
STATE, ACTION, ELAPSED, TOTAL_STEPS = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def schedule_value(schedule, n):
    """Value of (kind, start, end, rate) at the n-th use, n = 1, 2, ..."""
    kind, start, end, rate = schedule[0], schedule[1], schedule[2], schedule[3]
    if kind == POWER:
        return max(end, start * math.pow(float(n), -rate))
    if kind == LINEAR:
        if n - 1 >= rate:
            return end
        return start + (end - start) * ((n - 1) / rate)
    if kind == EXPONENTIAL:
        return end + (start - end) * math.exp(-(n - 1) / rate)
    return start


@njit(cache=True, nogil=True)
def _preference(Q, state, action, sign):
    """Add up the tables, with a sign: what behaviour maximises."""
    total = Q[0, state, action]
    for i in range(1, Q.shape[0]):
        total += Q[i, state, action]
    return sign * total


@njit(cache=True, nogil=True)
def choose_action(Q, counts, available, state, sign, epsilon, by_visits, step, rng):
    """Epsilon-greedy: one draw whether to explore, one more to pick among several."""
    n_actions = Q.shape[2]
    if by_visits:
        step = 1
        for i in range(counts.shape[0]):
            for a in range(n_actions):
                step += counts[i, state, a]
    explore = rng.random() < schedule_value(epsilon, step)
    best = -np.inf
    ties = 0
    for a in range(n_actions):
        if not available[state, a]:
            continue
        value = 0.0 if explore else _preference(Q, state, a, sign)
        if value > best:
            best, ties = value, 1
        elif value == best:
            ties += 1
    skip = int(rng.random() * ties) if ties > 1 else 0
    for a in range(n_actions):
        if not available[state, a]:
            continue
        if explore or _preference(Q, state, a, sign) == best:
            if skip == 0:
                return a
            skip -= 1
    raise ValueError("No action is available: a mask must leave one.")


@njit(cache=True, nogil=True)
def _best_of_table(table, available, state, sign, rng):
    """Find an action of greatest value in one table; ties are broken at random."""
    best = -np.inf
    ties = 0
    for a in range(table.shape[1]):
        if not available[state, a]:
            continue
        value = sign * table[state, a]
        if value > best:
            best, ties = value, 1
        elif value == best:
            ties += 1
    skip = int(rng.random() * ties) if ties > 1 else 0
    for a in range(table.shape[1]):
        if available[state, a] and sign * table[state, a] == best:
            if skip == 0:
                return a
            skip -= 1
    return -1


@njit(cache=True, nogil=True)
def _worst_of_table(table, available, state, sign):
    """Find the first action of least value in one table."""
    worst, found = np.inf, -1
    for a in range(table.shape[1]):
        if available[state, a] and sign * table[state, a] < worst:
            worst, found = sign * table[state, a], a
    return found


@njit(cache=True, nogil=True)
def _weighted_value(own, other, available, state, sign, c, rng):
    """Estimate the best value of a state by the weighted double rule.

    c = inf is the double estimate, c = 0 the single one.
    """
    best = _best_of_table(own, available, state, sign, rng)
    if math.isinf(c):
        return other[state, best]
    worst = _worst_of_table(own, available, state, sign)
    spread = abs(other[state, best] - other[state, worst])
    # 0 / 0 at c = 0: the limit of the weight as c falls to 0 is not defined there, and
    # c = 0 stands for the single estimate.
    weight = 1.0 if c == 0.0 else spread / (c + spread)
    return weight * own[state, best] + (1.0 - weight) * other[state, best]


@njit(cache=True, nogil=True)
def learn(
    Q,
    counts,
    available,
    state,
    action,
    reward,
    next_state,
    next_action,
    terminated,
    rule,
    sign,
    gamma,
    c,
    alpha,
    rng,
):
    """Move one value towards its target; `next_action` is used by Sarsa alone."""
    i = 0
    if rule == DOUBLE and rng.random() >= 0.5:
        i = 1
    future = 0.0
    if not terminated:
        if rule == SARSA:
            future = Q[0, next_state, next_action]
        elif rule == Q_LEARNING:
            # Equal values are equal: which of the best actions it is does not matter.
            best = -np.inf
            for a in range(Q.shape[2]):
                if available[next_state, a]:
                    best = max(best, sign * Q[0, next_state, a])
            future = sign * best
        else:
            future = _weighted_value(
                Q[i], Q[1 - i], available, next_state, sign, c, rng
            )
    counts[i, state, action] += 1
    step_size = schedule_value(alpha, counts[i, state, action])
    error = reward + gamma * future - Q[i, state, action]
    Q[i, state, action] += step_size * error
    if not math.isfinite(Q[i, state, action]):
        raise OverflowError("A value is not finite: scale rewards, or gamma < 1.")


@njit(cache=True, nogil=True)
def first_state(start, rng):
    """Draw where an episode begins; `start` are probabilities summed up."""
    u = rng.random()
    state = 0
    while state < start.shape[0] - 1 and u >= start[state]:
        state += 1
    return state


@njit(cache=True, nogil=True)
def environment_step(indptr, indices, cumulative, rewards, noise, kind, row, rng):
    """Draw the next state and the reward."""
    u = rng.random()
    p, last = indptr[row], indptr[row + 1] - 1
    while p < last and u >= cumulative[p]:
        p += 1
    reward = rewards[p]
    if noise[row] > 0:
        if kind == NORMAL:
            reward += noise[row] * rng.standard_normal()
        elif rng.random() < 0.5:
            reward += noise[row]
        else:
            reward -= noise[row]
    return indices[p], reward


@njit(cache=True, nogil=True)
def run_episodes(
    learner,
    tables,
    carry,
    carry_return,
    step_limit,
    stop_total,
    returns,
    lengths,
    agent_rng,
    env_rng,
):
    """Learn until `returns` is full or `step_limit` steps were made in this call.

    With `stop_total` steps altogether, the episode under way is the last one.
    `carry[STATE]` is -1 between episodes. Return the number of episodes that ended.
    The two records are unpacked here: inner functions are slower with them.
    """
    Q, counts, rule, sign, gamma, c, alpha, epsilon, by_visits = learner
    indptr, indices, cumulative, rewards, noise, noise_kind = tables[:6]
    available, terminal, start, max_steps = tables[6:]
    n_actions = Q.shape[2]
    state, action = carry[STATE], carry[ACTION]
    elapsed, total = carry[ELAPSED], carry[TOTAL_STEPS]
    gained = carry_return[0]
    done = 0
    steps = 0
    while done < returns.shape[0] and steps < step_limit:
        if state < 0:
            state = first_state(start, env_rng)
            action = -1
            elapsed = 0
            gained = 0.0
        if action < 0:
            action = choose_action(
                Q,
                counts,
                available,
                state,
                sign,
                epsilon,
                by_visits,
                total + 1,
                agent_rng,
            )
        following, reward = environment_step(
            indptr,
            indices,
            cumulative,
            rewards,
            noise,
            noise_kind,
            state * n_actions + action,
            env_rng,
        )
        elapsed += 1
        total += 1
        steps += 1
        gained += reward
        terminated = terminal[following]
        # Sarsa chooses before it learns, the others afterwards.
        next_action = -1
        if rule == SARSA and not terminated:
            next_action = choose_action(
                Q,
                counts,
                available,
                following,
                sign,
                epsilon,
                by_visits,
                total + 1,
                agent_rng,
            )
        learn(
            Q,
            counts,
            available,
            state,
            action,
            reward,
            following,
            next_action,
            terminated,
            rule,
            sign,
            gamma,
            c,
            alpha,
            agent_rng,
        )
        state, action = following, next_action
        if terminated or elapsed >= max_steps:
            returns[done] = gained
            lengths[done] = elapsed
            done += 1
            state = -1
            if total >= stop_total:
                break
    carry[STATE], carry[ACTION] = state, action
    carry[ELAPSED], carry[TOTAL_STEPS] = elapsed, total
    carry_return[0] = gained
    return done
