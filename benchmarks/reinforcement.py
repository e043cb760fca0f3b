"""Measure reinforcement learning: CartPole, the maximisation bias, and speed.

CartPole-v1 by deep Q-learning with NumPy, from five seeds: the episodes until the mean
return of 100 consecutive episodes reached 475, exploration included. The bias: how
often agents go the wrong way in the process of Sutton and Barto, and what they believe
the start of van Hasselt's grid is worth; the same number of runs for all agents, with
95 % confidence intervals. Speed: seconds on a grid world, compiled and step by step, in
one process, so that the ratios count.

    python benchmarks/reinforcement.py            # all, into benchmarks/results
    python benchmarks/reinforcement.py cartpole   # or bias, or speed
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from fewlabels.reinforcement import (
    DoubleQLearningAgent,
    DQNAgent,
    GridWorld,
    QLearningAgent,
    SarsaAgent,
    Schedule,
    WeightedDoubleQLearningAgent,
    evaluate,
    make_maximization_bias,
    make_noisy_grid,
    train,
    value_iteration,
)

RESULTS = Path(__file__).parent / "results"
SOLVED = 475  # of 500, the registered threshold of CartPole-v1

CARTPOLE = {
    "hidden": (128,),
    "activation": "tanh",
    "double": True,
    "learning_rate": 5e-4,
    "capacity": 100_000,
    "learning_starts": 1000,
    "target_update": 200,
    "epsilon": Schedule("linear", 1.0, end=0.01, rate=5000),
}

AGENTS = {
    "Q-learning": (QLearningAgent, {}),
    "weighted double, c = 0.1": (WeightedDoubleQLearningAgent, {"c": 0.1}),
    "weighted double, c = 1": (WeightedDoubleQLearningAgent, {"c": 1.0}),
    "weighted double, c = 10": (WeightedDoubleQLearningAgent, {"c": 10.0}),
    "double Q-learning": (DoubleQLearningAgent, {}),
}


def cartpole(seeds=range(5), n_episodes=800, **changes):
    """One row per seed."""
    import gymnasium

    rows = []
    for seed in seeds:
        agent = DQNAgent(**CARTPOLE | changes, random_state=seed)
        env = gymnasium.make("CartPole-v1")
        history = train(
            agent,
            env,
            n_episodes=n_episodes,
            seed=seed,
            evaluate_every=5,
            evaluation_episodes=0,
            stop=lambda history: history.solved_at(SOLVED) is not None,
            progress=False,
        )
        greedy = evaluate(agent, env, n_episodes=20, seed=1000 + seed)
        row = {
            "seed": seed,
            "solved after episodes": history.solved_at(SOLVED) or "not",
            "steps": history.n_steps,
            "best mean of 100": round(float(history.moving_average()[99:].max()), 1)
            if history.n_episodes >= 100
            else "",
            "20 episodes without exploration": f"{greedy.mean():.0f}"
            f" (least {greedy.min():.0f})",
        }
        rows.append(show(row))
    return rows


def interval(values):
    """Mean and half of its 95 % interval."""
    half = student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1)
    return f"{np.mean(values):.3g} ± {half / np.sqrt(len(values)):.2g}"


def bias(n_runs=300):
    """One row per agent."""
    left, grid = make_maximization_bias(), make_noisy_grid()
    truth = value_iteration(grid.mdp(0.95)).values[6]
    rows = []
    for name, (Agent, more) in AGENTS.items():
        early, late, start_values, rewards = [], [], [], []
        for seed in range(n_runs):
            # Step size 0.1, 10 % exploration, no discount: as in the book.
            agent = Agent(gamma=1.0, random_state=seed, **more)
            lengths = train(agent, left, n_episodes=300, seed=seed).lengths
            early.append(100 * np.mean(lengths[:100] == 2))
            late.append(100 * np.mean(lengths[200:] == 2))
            # Step size 1 / n^0.8, exploration 1 / sqrt(n(s)): as in the paper.
            agent = Agent(
                alpha=Schedule("power", 1.0, rate=0.8),
                epsilon=Schedule("power", 1.0, rate=0.5),
                explore_by="visits",
                gamma=0.95,
                random_state=seed,
                **more,
            )
            history = train(agent, grid, n_steps=10_000, seed=seed)
            start_values.append(agent.q_values(6).max())
            rewards.append(history.returns.sum() / history.n_steps)
        row = {
            "agent": name,
            "runs": n_runs,
            "left, episodes 1-100 (%)": interval(early),
            "left, episodes 201-300 (%)": interval(late),
            f"grid: value of the start (true: {truth:.2f})": interval(start_values),
            "grid: reward per step (best: 0.2)": interval(rewards),
        }
        rows.append(show(row))
    return rows


class StepByStep:
    """Hides the tables of an environment."""

    def __init__(self, env):
        self.unwrapped = env
        self.observation_space, self.action_space = (
            env.observation_space,
            env.action_space,
        )
        self.reset, self.step = env.reset, env.step


def speed(n_steps=1_000_000):
    """One row per agent."""
    env = GridWorld("four-rooms")
    rows = []
    for Agent in (
        SarsaAgent,
        QLearningAgent,
        DoubleQLearningAgent,
        WeightedDoubleQLearningAgent,
    ):
        seconds = {}
        for way, where, count in (
            ("compiled", env, n_steps),
            ("step by step", StepByStep(env), max(n_steps // 100, 1000)),
        ):
            train(Agent(random_state=0), where, n_episodes=1, seed=0)  # warm up
            start = time.perf_counter()
            history = train(Agent(random_state=0), where, n_steps=count, seed=0)
            seconds[way] = (time.perf_counter() - start) / history.n_steps
        row = {
            "agent": Agent.__name__,
            "seconds for a million steps": round(1e6 * seconds["compiled"], 2),
            "step by step": round(1e6 * seconds["step by step"], 1),
            "times faster": round(seconds["step by step"] / seconds["compiled"]),
        }
        rows.append(show(row))
    return rows


def show(row):
    print(" | ".join(str(value) for value in row.values()), flush=True)
    return row


PARTS = {"cartpole": cartpole, "bias": bias, "speed": speed}


def main(*names):
    for name in names or PARTS:
        rows = PARTS[name]()
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"reinforcement_{name}.csv"
        with path.open("w", newline="") as handle:
            writer = csv.DictWriter(handle, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
