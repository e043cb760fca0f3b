"""
Along the cliff, or away from it
================================

A walker goes from one corner of a grid to another along a cliff. Every step costs
1, a fall costs 100 and leads back to the start. Q-learning and Sarsa explore 10 % of
the time. Q-learning learns what would be best without exploration, the way along the
edge, and falls. Sarsa learns what is best with it, a detour.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The best way
# ------------
# The map is known here, so value iteration finds the best way.
from fewlabels.reinforcement import GridWorld, value_iteration

env = GridWorld("cliff")
solution = value_iteration(env.mdp(gamma=0.999))
print(env.render_policy(solution.policy))

# %%
# Learning without the map
# ------------------------
# Twenty runs of each agent, 30,000 episodes altogether.
from fewlabels.reinforcement import QLearningAgent, SarsaAgent, train

histories, last = {}, {}
for name, Agent in [("Sarsa", SarsaAgent), ("Q-learning", QLearningAgent)]:
    histories[name] = []
    for k in range(20):
        agent = Agent(alpha=0.1, gamma=1.0, epsilon=0.1, random_state=k)
        histories[name].append(train(agent, env, n_episodes=750, seed=k))
    last[name] = agent

# %%
# A picture
# ---------
# The curves are returns while learning, with 95 % confidence bands. The maps show what
# the last agents believe the cells are worth, and where they go without exploration.
import matplotlib.pyplot as plt

from fewlabels.plotting import TrainingDisplay

figure = plt.figure(figsize=(12, 4.5), layout="constrained")
left, right = figure.subfigures(1, 2)
curves = left.subplots()
TrainingDisplay(histories).plot(window=20, ax=curves)
curves.set_ylim(-150, 0)

for ax, (name, agent) in zip(right.subplots(2, 1), last.items(), strict=True):
    values = env.render_values(agent.q_values_.max(axis=1))
    image = ax.imshow(values, cmap="viridis", vmin=-20, vmax=0)
    ax.set_title(f"{name}: value of the cells, and the way")
    ax.set_axis_off()
    state, _ = env.reset(seed=0)
    way, ended = [env.cells[state]], False
    while not ended and len(way) < 50:
        state, _, ended, _, _ = env.step(agent.act(state, explore=False))
        way.append(env.cells[state])
    rows, columns = zip(*way, strict=True)
    ax.plot(columns, rows, color="white", lw=2, marker="o", ms=3)
right.colorbar(image, ax=right.axes, shrink=0.8)
plt.show()
