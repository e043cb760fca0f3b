"""A seeded generator of strange but legal problems, and other clothes for them."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

N_NEIGHBORS = 4

# Decisions closer to the boundary than this share of the largest may fall either way.
MARGIN = 1e-2

# What regressors learn of every class.
TARGETS = np.array([-1.0, 1.0, 0.5, -0.25, 0.0, 0.75])


@dataclass(frozen=True)
class Problem:
    """Rows, labels and domains to learn from, and rows to ask about."""

    X: Any
    y: Any
    domain: Any
    X_new: Any
    asked: tuple[Any, ...] = ()  # where they differ from X and X_new
    back: Any = None  # positions of the predictions, where rows were permuted
    scale: float = 1.0
    weight: float | None = None  # of every row, where one is given
    reach: int = 20  # the largest power of two that rows are moved by
    kinds: set[str] = field(default_factory=set)

    @property
    def questions(self):
        return self.asked or (self.X, self.X_new)

    @property
    def single(self):
        return self.X.dtype == np.float32


def strange_problem(rng):
    """Rows on a dyadic grid, so that powers of two move and scale them exactly."""
    n, p = int(rng.integers(8, 19)), int(rng.integers(1, 21))
    n_classes = int(rng.choice([2, 2, 3, 3, 4, 6]))
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p)) + 2.0 * rng.integers(0, 2) * y[:, None]
    kinds = set()
    if rng.random() < 0.2:
        X[rng.integers(n)] *= 2.0 ** rng.integers(10, 31)
        kinds.add("far row")
    X = np.round(X * 2.0**10) / 2.0**10
    if rng.random() < 0.2:
        X[rng.permutation(n)[: n // 4]] = X[0]
        kinds.add("copies")
    if rng.random() < 0.2:
        X[rng.permutation(n)[: n // 4]] = 0.0
        kinds.add("zero rows")
    if rng.random() < 0.2:
        X[:, rng.integers(p)] = 1.0
        kinds.add("constant column")
    if rng.random() < 0.1:
        X[:] = X[0]
        kinds.add("equal rows")
    if rng.random() < 0.15:  # too far apart for any neighbour across
        X[: n // 2] += 2.0**12
        kinds.add("islands")
    if rng.random() < 0.3:
        X[rng.random(X.shape) < 0.6] = 0.0
        kinds.add("mostly zeros")
    labels = np.full(n, -1)
    n_labeled = int(rng.integers(n_classes, n))
    labels[rng.permutation(n)[:n_labeled]] = 0
    labels = np.where(labels == 0, y, -1)
    for c in range(n_classes):  # every class has a label
        if not (labels == c).any():
            labels[np.flatnonzero(y == c)[0]] = c
    kinds |= _late_kinds(X, labels, rng.spawn(1)[0])
    X_new = X[rng.permutation(n)[:4]] + np.round(rng.normal(size=(4, p)) * 8) / 8
    if rng.random() < 0.2:
        X, X_new = X.astype(np.float32), X_new.astype(np.float32)
        kinds.add("float32")
    domain = np.where(np.arange(n) < n // 2, 1, -1)
    return Problem(X, labels, domain, X_new, kinds=kinds)


def _late_kinds(X, labels, rng):
    """Kinds that leave the draws of all others as they are."""
    kinds = set()
    if rng.random() < 0.1:  # fewer rows than neighbours, so that edges lead elsewhere
        X[: rng.integers(2, N_NEIGHBORS)] += 2.0 ** rng.integers(2, 6)
        kinds.add("weak links")
    free = np.flatnonzero(labels < 0)
    if rng.random() < 0.1 and free.size:
        X[rng.choice(free)] += 2.0 ** rng.integers(7, 21)
        kinds.add("far unlabelled row")
    return kinds


def widened(problem, rng):
    """Strangeness that came later, by draws of its own: earlier problems stay alike."""
    X, X_new, kinds = problem.X.copy(), problem.X_new.copy(), set(problem.kinds)
    p = X.shape[1]
    if p > 2 and rng.random() < 0.25:
        a, b, *others = rng.permutation(min(p, 4))  # among those that all see
        made = zip(others, (1.0, -1.0), strict=False)
        for column, factor in made:
            for rows in (X, X_new):
                rows[:, column] = rows[:, a] + rows.dtype.type(factor) * rows[:, b]
        kinds.add("dependent columns")
    if rng.random() < 0.1:
        chosen = rng.random(p) < rng.choice([0.5, 1.0])
        middle = np.median(X, axis=0)
        for rows in (X, X_new):
            rows[:, chosen] = rows[:, chosen] > middle[chosen]
        kinds.add("columns of 0 and 1")
    if rng.random() < 0.3:  # no numbers that adding leaves exact
        X, X_new = X * X.dtype.type(0.1), X_new * X.dtype.type(0.1)
        kinds.add("decimal")
    return replace(problem, X=X, X_new=X_new, kinds=kinds, reach=30)


def ties(X, X_new, again=False):
    """Whether the order of rows decides who is whose neighbour.

    Searched for again, as a new one, a row is the first of its own neighbours.
    """
    alike = 1 + (1e-6 if X.dtype == np.float32 else 1e-9)  # to the digits of rows
    X, X_new = X.astype(np.float64), X_new.astype(np.float64)
    others = (1, N_NEIGHBORS - 1, N_NEIGHBORS) if again else (1, N_NEIGHBORS)
    for A, skip, counts in ((X, 1, others), (X_new, 0, (1, N_NEIGHBORS))):
        d = np.sort(cdist(A, X), axis=1)[:, skip:]
        for k in counts:
            if d.shape[1] > k and np.any(d[:, k] <= d[:, k - 1] * alike):
                return True
    return False


def falls_apart(X):
    """Whether no path of neighbours leads from some rows to others."""
    order = np.argsort(cdist(X, X), axis=1)[:, : N_NEIGHBORS + 1]
    near = np.zeros((X.shape[0],) * 2)
    np.put_along_axis(near, order, 1.0, axis=1)
    return connected_components(near, directed=False)[0] > 1


def contradicts_itself(problem):
    """Whether copies of a row have different labels."""
    known = problem.y >= 0
    X, y = problem.X[known], problem.y[known]
    return bool((np.not_equal.outer(y, y) & (cdist(X, X) == 0)).any())


def other_kind(A):
    """Sparse rows of dense ones, dense ones of sparse."""
    return A.toarray() if issparse(A) else csr_array(A)


def asked_otherwise(problem, rng):
    """What was learnt, asked about rows of the other kind."""
    asked = tuple(other_kind(A) for A in (problem.X, problem.X_new))
    return replace(problem, asked=asked)


def made_sparse(problem, rng):
    """Rows of the other kind throughout, or only for learning, or only for asking."""
    choice = rng.integers(3)
    if choice == 2:
        return asked_otherwise(problem, rng)
    X, X_new = other_kind(problem.X), other_kind(problem.X_new)
    if choice == 0:
        return replace(problem, X=X, X_new=X_new)
    return replace(problem, X=X, asked=(problem.X, problem.X_new))


def shifted(problem, rng):
    """All rows moved by the same amount."""
    shift = problem.X.dtype.type(2.0 ** int(rng.integers(4, problem.reach + 1)))
    return replace(problem, X=problem.X + shift, X_new=problem.X_new + shift)


def scaled(problem, rng, power=480):
    """Rows in another unit."""
    if problem.single:
        power = min(power, 60)
    scale = problem.X.dtype.type(2.0 ** int(rng.integers(-power, power + 1)))
    return replace(
        problem, X=problem.X * scale, X_new=problem.X_new * scale, scale=float(scale)
    )


def beside(problem, rng):
    """One more row without a label, far from all others."""
    X, n = problem.X, problem.X.shape[0]
    far = np.median(X, axis=0) + X.dtype.type(2.0 ** int(rng.integers(8, 21)))
    back = np.append(np.arange(n), n + 1 + np.arange(problem.X_new.shape[0]))
    return replace(
        problem,
        X=np.vstack([X, far]),
        y=np.append(problem.y, -1),
        domain=np.append(problem.domain, -1),
        asked=(np.vstack([X, far]), problem.X_new),
        back=back,
    )


def weighted(problem, rng):
    """Every label counts as much as every other, but not one."""
    return replace(problem, weight=float(10.0 ** rng.uniform(-3, 3)))


def permuted(problem, rng):
    """Rows in another order."""
    n = problem.X.shape[0]
    order = rng.permutation(n)
    back = np.append(np.argsort(order), n + np.arange(problem.X_new.shape[0]))
    X, y, domain = (A[order] for A in (problem.X, problem.y, problem.domain))
    return replace(problem, X=X, y=y, domain=domain, back=back)


WAYS = {
    "asked": asked_otherwise,
    "sparse": made_sparse,
    "shifted": shifted,
    "scaled": scaled,
    "permuted": permuted,
    "weighted": weighted,
    "beside": beside,
}
