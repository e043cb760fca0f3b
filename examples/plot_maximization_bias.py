"""
Why the best of many noisy values is too good
=============================================

Q-learning trusts the largest of its own values. With noise, the largest value is often
large by luck, and that optimism is passed on from state to state. Double Q-learning
lets one table choose and another one evaluate. Two small processes from the literature
show what that changes, and that it has a price.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The largest of several means
# ----------------------------
# Ten variables of mean 0, of which 20 samples each are known. The largest sample mean
# is far from 0 on average. If half of the samples choose the variable and the other
# half estimate its mean, the error is 0 on average.
import numpy as np

from fewlabels.reinforcement import double_estimator, single_estimator

rng = np.random.default_rng(0)
samples = rng.normal(size=(500, 10, 20))
single = [single_estimator(s) for s in samples]
double = [double_estimator(s, random_state=0) for s in samples]
for name, values in [("single", single), ("double", double)]:
    error = np.std(values) / np.sqrt(len(values))
    print(f"{name}: {np.mean(values):.3f} ± {1.96 * error:.3f}")

# %%
# Left or right
# -------------
# In the process of Sutton and Barto (example 6.7), going right ends the episode with
# reward 0; going left leads to ten actions with rewards of mean -0.1 and deviation 1.
# Left is wrong. An agent that explores 10 % of the time should go left 5 % of the time.
from fewlabels.reinforcement import (
    DoubleQLearningAgent,
    QLearningAgent,
    Schedule,
    WeightedDoubleQLearningAgent,
    make_maximization_bias,
    make_noisy_grid,
    train,
    value_iteration,
)

agents = {
    "Q-learning": (QLearningAgent, {}),
    "weighted double, c = 0.1": (WeightedDoubleQLearningAgent, {"c": 0.1}),
    "weighted double, c = 10": (WeightedDoubleQLearningAgent, {"c": 10.0}),
    "double Q-learning": (DoubleQLearningAgent, {}),
}
env = make_maximization_bias()
went_left = {}
for name, (Agent, more) in agents.items():
    runs = [
        train(Agent(gamma=1.0, random_state=k, **more), env, n_episodes=300, seed=k)
        for k in range(300)
    ]
    # Two steps are a visit of the wrong state.
    went_left[name] = np.array([100.0 * (run.lengths == 2) for run in runs])

# %%
# What the start is worth
# -----------------------
# In the grid of van Hasselt every step brings -12 or +10, and the goal 5. We look at
# the value that agents give to the start, and compare with value iteration.
grid = make_noisy_grid()
start = int(np.argmax(grid.start))
truth = value_iteration(grid.mdp(gamma=0.95)).values[start]
believed, steps = {}, {}
for name, (Agent, more) in agents.items():
    runs = [
        train(
            Agent(
                alpha=Schedule("power", 1.0, rate=0.8),
                epsilon=Schedule("power", 1.0, rate=0.5),
                explore_by="visits",
                gamma=0.95,
                random_state=k,
                **more,
            ),
            grid,
            n_episodes=1000,
            seed=k,
            evaluate_every=25,
            evaluation_episodes=0,
            monitor=lambda agent: agent.q_values(start).max(),
        )
        for k in range(50)
    ]
    believed[name] = np.array([run.monitored for run in runs])
    # Who believes that the way is worth more than the goal walks about.
    steps[name] = np.mean([run.n_steps for run in runs])
    print(f"{name}: {steps[name]:,.0f} steps in 1000 episodes")

# %%
# A picture
# ---------
# Bands are 95 % confidence intervals of the means over runs. With a small c, the
# weighted rule is Q-learning with half of the data for each table; with a large one it
# is close to double Q-learning. Double Q-learning is too pessimistic rather than too
# optimistic, which does less harm here. On the right, agents whose values are too large
# also needed many more steps for the same number of episodes.
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")


def draw(ax, at, runs, name, color):
    """Draw a mean with its confidence band."""
    mean = runs.mean(axis=0)
    half = 1.96 * runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    ax.plot(at, mean, label=name, color=color)
    ax.fill_between(at, mean - half, mean + half, color=color, alpha=0.2, lw=0)


for i, name in enumerate(agents):
    # The mean of ten episodes each, for the eye.
    smooth = went_left[name].reshape(300, 30, 10).mean(axis=2)
    draw(left, np.arange(5, 300, 10), smooth, name, f"C{i}")
    label = f"{steps[name] / 1000:.0f} thousand steps"
    draw(right, np.arange(25, 1001, 25), believed[name], label, f"C{i}")
left.axhline(5, color="black", lw=1, ls="--")
left.annotate("best possible", (300, 4), ha="right", va="top")
left.set(xlabel="episodes", ylabel="went left (%)", ylim=(0, 100))
left.set_title("Left is wrong")
left.legend(frameon=False)
right.axhline(truth, color="black", lw=1, ls="--")
right.annotate("the truth", (1000, truth - 0.2), ha="right", va="top")
right.set(xlabel="episodes", ylabel="value of the start")
right.set_title("What agents believe the start is worth")
right.legend(frameon=False, title="in 1000 episodes", loc="upper right")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.3)
plt.show()
