"""
Following a subspace that turns
===============================

Rows come one by one from a plane in a space of 20 dimensions, with noise. The plane
turns, and at one point jumps. Trackers see each row once and keep nothing but a frame.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The stream
# ----------
# The plane turns by a quarter of a circle out of the first two axes; after two thirds
# of the rows it jumps to two others. The rows of a second stream vary everywhere but in
# the plane, which is their minor subspace.
import numpy as np

rng = np.random.default_rng(0)
n, d, batch = 6000, 20, 50
jump = 4000


def plane(t):
    """Orthonormal basis of the plane at a time."""
    angle = 0.5 * np.pi * t / jump if t < jump else 0.0
    basis = np.zeros((d, 2))
    first = 0 if t < jump else 4
    for j in range(2):
        basis[first + j, j], basis[first + 2 + j, j] = np.cos(angle), np.sin(angle)
    return basis


X = np.array([plane(t) @ (2 * rng.normal(size=2)) for t in range(n)])
X += 0.3 * rng.normal(size=X.shape)
Z = rng.normal(size=(n, d))
for t in range(n):
    Z[t] -= 0.9 * plane(t) @ (plane(t).T @ Z[t])

# %%
# Tracking it
# -----------
# Each tracker is judged after every 50 rows by the sine of the largest angle between
# its plane and the true one. PCA of all rows so far cannot forget, and is left behind.
from sklearn.decomposition import PCA

from fewlabels.decomposition import PAST, MinorSubspace, OjaSubspace, subspace_distance

principal = {
    "PAST, forgetting 0.99": PAST(2, forgetting=0.99, random_state=0),
    "PAST, forgetting 0.999": PAST(2, forgetting=0.999, random_state=0),
    "Oja, rate 0.05": OjaSubspace(2, learning_rate=0.05, random_state=0),
    "PCA of all rows so far": PCA(2),
}
minor = {
    "Douglas, rate 0.1": MinorSubspace(2, learning_rate=0.1, random_state=0),
    "Douglas, rate 0.5": MinorSubspace(2, learning_rate=0.5, random_state=0),
    "Chen, rate 0.5": MinorSubspace(
        2, method="chen", learning_rate=0.5, random_state=0
    ),
}
times = np.arange(batch, n + 1, batch)


def follow(model, rows):
    """Errors of a model along a stream."""
    errors = []
    for t in times:
        if hasattr(model, "partial_fit"):
            model.partial_fit(rows[t - batch : t])
        else:
            model.fit(rows[:t])
        errors.append(subspace_distance(model.components_.T, plane(t - 1)))
    return errors


principal_errors = {name: follow(model, X) for name, model in principal.items()}
minor_errors = {name: follow(model, Z) for name, model in minor.items()}
for name, errors in {**principal_errors, **minor_errors}.items():
    turning = np.mean(np.array(errors)[(times > 1000) & (times < jump)])
    print(f"{name}: mean error {turning:.2f} while the plane turns")

# %%
# A picture
# ---------
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
for ax, all_errors, title in [
    (axes[0], principal_errors, "Where rows vary most"),
    (axes[1], minor_errors, "Where rows vary least"),
]:
    for name, errors in all_errors.items():
        ax.plot(times, errors, label=name)
    ax.axvline(jump, color="grey", linestyle=":")
    ax.set_xlabel("rows seen")
    ax.set_title(title)
    ax.legend(loc="upper left")
axes[0].set_ylabel("sine of the largest angle to the true plane")
axes[0].set_ylim(0, 1.35)
axes[0].set_yticks([0, 0.25, 0.5, 0.75, 1.0])
plt.show()
