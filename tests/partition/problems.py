"""Random partition problems for several test modules."""

# SPDX-License-Identifier: BSD-3-Clause

from copy import copy

import numpy as np
from hypothesis import strategies as st

from fewlabels.partition import PartitionProblem
from fewlabels.partition._balance import SizeBounds


def random_problem(
    seed,
    n=10,
    rank=3,
    n_classes=2,
    n_labeled=3,
    balanced=False,
    factor=True,
    ties=False,
    **params,
):
    """A problem in class indices on random features, with duplicates and zeros."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, rank))
    if ties:
        Z = Z.round()
    if n > 4:
        Z[1] = Z[2]
        Z[3] = 0
    y = np.full(n, -1)
    chosen = rng.permutation(n)[:n_labeled]
    y[chosen] = np.arange(n_labeled) % n_classes
    if balanced:
        params.setdefault("balance", np.full(n_classes, 1 / n_classes))
        params.setdefault("balance_tol", 0.0)
    make = PartitionProblem.from_factor if factor else PartitionProblem.from_kernel
    params = {"alpha": 0.1, "unlabeled_weight": 0.7, **params}
    return make(Z if factor else Z @ Z.T, y, n_classes=n_classes, **params)


@st.composite
def problems(draw, max_points=9, max_classes=3, factor=None):
    n = draw(st.integers(2, max_points))
    return random_problem(
        draw(st.integers(0, 1000)),
        n=n,
        rank=draw(st.integers(1, 4)),
        n_classes=draw(st.integers(2, max_classes)),
        n_labeled=draw(st.integers(0, n)),
        balanced=draw(st.booleans()),
        factor=draw(st.booleans()) if factor is None else factor,
        alpha=draw(st.sampled_from([1e-3, 0.1, 10.0])),
    )


def random_codes(problem, seed=0):
    """A partition within the bounds."""
    from fewlabels.partition._runs import random_start

    codes = problem.codes.copy()
    codes[problem.free] = random_start(problem, np.random.default_rng(seed))
    return codes


def odd_problem(seed, max_points=14, factor=True):
    """A problem of two classes in general or in special position, of rank 1 to 5."""
    rng = np.random.default_rng(seed)
    n, rank = rng.integers(2, max_points + 1), rng.integers(1, 6)
    Z = rng.normal(size=(n, rank))
    kind = ("general", "rounded", "grid", "duplicates")[seed % 4]
    if kind == "rounded":
        Z = Z.round()
    elif kind == "grid":
        Z = rng.integers(-1, 2, size=(n, rank)).astype(float)
    elif kind == "duplicates" and n > 4:
        Z[1], Z[3], Z[4] = Z[2], 0.0, -2 * Z[0]
    y = np.zeros(n, dtype=int)
    if seed % 3 == 1:
        n_labeled = rng.integers(1, max(2, n // 2))
        y[:n_labeled] = rng.choice([-1, 1], n_labeled)
    params = {"alpha": 10.0 ** rng.integers(-3, 1)}
    if seed % 5 in (1, 2, 3):
        params["balance"] = rng.random()
        params["balance_tol"] = float(rng.choice([0, 0.1, 0.3]))
    make = PartitionProblem.from_factor if factor else PartitionProblem.from_kernel
    return make(Z if factor else Z @ Z.T, y, **params)


def with_bounds(problem, lower, upper):
    """The problem with bounds on the number of positive free points."""
    u = problem.free.size
    bounded = copy(problem)
    bounded.bounds = SizeBounds(
        np.array([u - upper, lower]), np.array([u - lower, upper])
    )
    return bounded


def dependent_rows(rng, n, rank, n_dependent):
    """Rows whose last columns depend on the others, with copies and zeros among them.

    Integers alone would not do: their products have no rounding errors, and what is
    zero in exact arithmetic is zero on a computer, too.
    """
    Z = rng.integers(-9, 10, size=(n, rank)) * rng.choice([1.0, 0.1, 0.7, 0.01])
    if rng.random() < 0.2:
        Z = rng.normal(size=(n, rank))
    weights = rng.integers(-2, 3, size=(rank, n_dependent))
    dependent = Z @ (weights * rng.choice([1.0, 0.1, 1 / 3]))
    if rng.random() < 0.2:  # or nearly so
        noise = rng.normal(size=dependent.shape)
        dependent *= 1 + 10.0 ** rng.integers(-14, -3) * noise
    Z = np.hstack([Z, dependent])[:, rng.permutation(rank + n_dependent)]
    for i in np.flatnonzero(rng.random(n) < 0.15):
        Z[i] = Z[rng.integers(n)] * rng.choice([0.0, 1.0, 1.0, -1.0, 0.3, 1e-9])
    return Z
