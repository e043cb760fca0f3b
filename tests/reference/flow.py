"""Slow twins of the minimum cut: rational arithmetic, and all labellings."""

# SPDX-License-Identifier: BSD-3-Clause

from collections import deque
from fractions import Fraction
from itertools import product


def cut_weight(W, side):
    """Weight between the two sides, as a fraction: nothing is rounded."""
    n = len(W)
    return sum(
        (
            Fraction(float(W[i][j]))
            for i in range(n)
            for j in range(i)
            if side[i] != side[j]
        ),
        Fraction(0),
    )


def minimum_cut(W, sources, sinks):
    """Maximum flow by shortest augmenting paths, and what the sources then reach."""
    n = len(W)
    residual = [[Fraction(float(w)) for w in row] for row in W]
    flow = Fraction(0)
    while True:
        before = {s: None for s in sources}
        queue = deque(sources)
        while queue:
            v = queue.popleft()
            for w in range(n):
                if w not in before and w != v and residual[v][w] > 0:
                    before[w] = v
                    queue.append(w)
        reached = [t for t in sinks if t in before]
        if not reached:
            return [v in before for v in range(n)], flow
        path = [reached[0]]
        while before[path[-1]] is not None:
            path.append(before[path[-1]])
        arcs = list(zip(path[1:], path[:-1], strict=True))
        least = min(residual[v][w] for v, w in arcs)
        for v, w in arcs:
            residual[v][w] -= least
            residual[w][v] += least
        flow += least


def all_minimum_cuts(W, sources, sinks):
    """Every minimum cut, by trying all labellings of the other vertices."""
    n = len(W)
    free = [v for v in range(n) if v not in sources and v not in sinks]
    best, found = None, []
    for choice in product([False, True], repeat=len(free)):
        side = [v in sources for v in range(n)]
        for v, inside in zip(free, choice, strict=True):
            side[v] = inside
        weight = cut_weight(W, side)
        if best is None or weight < best:
            best, found = weight, []
        if weight == best:
            found.append(side)
    return found, best


def multiway_cut_weight(W, codes):
    """Least weight between k classes, by trying all labellings."""
    k = max(codes) + 1
    free = [v for v, c in enumerate(codes) if c < 0]
    best = None
    for choice in product(range(k), repeat=len(free)):
        labels = list(codes)
        for v, c in zip(free, choice, strict=True):
            labels[v] = c
        weight = cut_weight(W, labels)
        best = weight if best is None or weight < best else best
    return best
