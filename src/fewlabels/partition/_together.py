"""Many local searches in parallel, on a device.

Each run makes exactly the moves of the compiled loop `climb`: the points take turns,
and the first that gains moves. Nothing changes between two moves, so the next one is
found by evaluating all points at once, for all runs together. If bounds block moves,
the compiled search for exchanges follows.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from fewlabels._backend import Backend
from fewlabels._gpu_loops import fits
from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._runs import Gains, Run
from fewlabels.partition._systems import Array

# Moves between checks by the host of which runs are done; more if they are fused.
BURST = 16
LONG_BURST = 128
# Further arrays of the size of a run's products that are in memory.
_ALIVE = 8
# Share of active runs below which the others are set aside.
_FEW = 0.7
# More trials than any run makes; sums with it do not overflow.
_MANY = 2**62


class _Climbers:
    """Runs that are not done: partitions, sizes, products, and whose turn it is."""

    def __init__(
        self,
        gains: Gains,
        problem: PartitionProblem,
        starts: NDArray[np.intp],
        products: Array,
        backend: Backend,
        max_trials: int,
    ) -> None:
        b = self.backend = backend
        self.n_classes, self.n_points = products.shape[1:]
        sizes = [np.bincount(c, minlength=self.n_classes) for c in starts]
        self.Q, self.q = b.asarray(gains.Q), b.asarray(gains.q)
        self.points = b.asarray(np.arange(self.n_points))
        self.classes = b.asarray(np.arange(self.n_classes))
        self.lower, self.upper = b.asarray(problem.lower), b.asarray(problem.upper)
        self.tol, self.max_trials = gains.tol, min(max_trials, _MANY)
        self.state: dict[str, Any] = {
            "codes": b.asarray(starts),
            "sizes": b.asarray(np.stack(sizes), np.int64),
            "turn": b.asarray(np.zeros(len(starts), dtype=np.int64)),
            "trials": b.asarray(np.zeros(len(starts), dtype=np.int64)),
            # Active, waiting for an exchange, or out of trials.
            "busy": b.asarray(np.ones(len(starts), dtype=np.bool_)),
            "spent": b.asarray(np.zeros(len(starts), dtype=np.bool_)),
        }
        # Relative to the first class, which needs no products.
        self.state["H"] = b.asarray(products[:, 1:])

    def keep(self, runs: NDArray[np.intp]) -> None:
        """Set the other runs aside."""
        index = self.backend.asarray(runs)
        self.state = {name: A[index] for name, A in self.state.items()}

    def host(self, name: str) -> NDArray[Any]:
        return self.backend.to_numpy(self.state[name])

    def at_bounds(self) -> NDArray[np.bool_]:
        """Whether the size of a class is at a bound, so that moves may be blocked."""
        sizes = self.state["sizes"]
        inside = (sizes > self.lower) & (sizes < self.upper)
        return ~self.backend.to_numpy(self.backend.xp.all(inside, axis=1))

    def _product(self, c: int) -> Any:
        return self.state["H"][:, c - 1] if c else self.q * 0.0

    def _of_class(self, values: Any) -> Any:
        """Return, per run and point, the value for the current class of the point."""
        where, codes = self.backend.xp.where, self.state["codes"]
        found = values(0)
        for c in range(1, self.n_classes):
            found = where(codes == c, values(c), found)
        return found

    def burst(self) -> NDArray[Any]:
        """Make some moves of every active run; return their gains, or NaN."""
        if fits.climb(self.state["H"]):
            from fewlabels._gpu_loops.partition import climb

            problem = self.Q, self.q, self.lower, self.upper
            limits = self.tol, self.max_trials, LONG_BURST
            found = climb(self.state, *problem, *limits)
        else:
            steps = [self.step() for _ in range(BURST)]
            found = self.backend.xp.stack(steps, axis=1)
        return self.backend.to_numpy(found)

    def step(self) -> Any:
        """Make the next move of every active run; return its gain, or NaN."""
        xp, state, u = self.backend.xp, self.state, self.n_points
        codes, sizes, trials = state["codes"], state["sizes"], state["trials"]
        leave, enter = sizes > self.lower, sizes < self.upper
        own = self._of_class(self._product)
        stays = ~self._of_class(lambda c: leave[:, c : c + 1])
        improves = xp.zeros_like(stays)
        for c in range(self.n_classes):
            gain = 4.0 * (self._product(c) - own + self.q)
            improves |= (gain > self.tol) & (codes != c) & enter[:, c : c + 1]
        improves &= ~stays
        # Failed trials before the first success, from the point whose turn it is.
        wait = xp.where(improves, (self.points - state["turn"][:, None]) % u, u)
        wait = xp.min(wait, axis=1)
        found = wait < u
        needed = trials + xp.where(found, wait + 1, wait)
        spent = state["busy"] & (needed > self.max_trials)
        moves = state["busy"] & ~spent & found
        i = (state["turn"] + wait) % u
        runs = xp.arange(i.shape[0], device=i.device)
        a = codes[runs, i]
        best, b = self._target(runs, i, a, enter)
        b = xp.where(moves, b, a)
        row = self.Q[i]
        went = [self._went(c, a, b) for c in range(self.n_classes)]
        for c in range(1, self.n_classes):
            state["H"][:, c - 1] += (went[c] - went[0])[:, None] * row
        codes[runs, i] = b
        astype, name = self.backend.astype, np.int64
        state["sizes"] = (
            sizes
            + astype(self.classes == b[:, None], name)
            - astype(self.classes == a[:, None], name)
        )
        state["turn"] = xp.where(moves, (i + 1) % u, state["turn"])
        state["trials"] = xp.where(state["busy"] & ~spent, needed, trials)
        state["trials"] = xp.where(spent, self.max_trials, state["trials"])
        state["spent"] = state["spent"] | spent
        state["busy"] = moves
        return xp.where(moves, best, xp.nan)

    def _went(self, c: int, a: Any, b: Any) -> Any:
        """Return 1 for a run whose move enters the class, -1 if it leaves, else 0."""
        astype = self.backend.astype
        return astype(b == c, np.float64) - astype(a == c, np.float64)

    def _target(self, runs: Any, i: Any, a: Any, enter: Any) -> tuple[Any, Any]:
        """Return the best class for one point of every run, and the gain of moving."""
        xp = self.backend.xp
        here = [
            self._product(c)[runs, i] if c else 0.0 * self.q[i]
            for c in range(self.n_classes)
        ]
        own = here[0]
        for c in range(1, self.n_classes):
            own = xp.where(a == c, here[c], own)
        best, target = 0.0 * own, a
        for c in range(self.n_classes):
            gain = 4.0 * (here[c] - own + self.q[i])
            better = (gain > best + self.tol) & (a != c) & enter[:, c]
            best = xp.where(better, gain, best)
            target = xp.where(better, c, target)
        return best, target

    def exchange(
        self, waiting: NDArray[np.intp], problem: Any, n_jobs: int | None
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Exchange two points in runs without a move; return gains and completeness.

        The gain is NaN if no exchange helps.
        """
        from fewlabels._loops.partition import exchange  # compiled on first use

        b, index = self.backend, self.backend.asarray(waiting)
        codes, sizes, H = (
            np.array(b.to_numpy(self.state[name][index]))
            for name in ("codes", "sizes", "H")
        )
        products = np.concatenate([np.zeros_like(H[:, :1]), H], axis=1)
        states = zip(codes, sizes, products, strict=True)
        if effective_n_jobs(n_jobs) == 1:  # no need to set up any threads
            answers = [exchange(problem, *state) for state in states]
        else:
            # Points are exchanged in place.
            answers = Parallel(n_jobs=n_jobs, require="sharedmem")(
                delayed(exchange)(problem, *state) for state in states
            )
        gains, found, covered = (np.array(part) for part in zip(*answers, strict=True))
        self.state["codes"][index] = b.asarray(codes)
        self.state["sizes"][index] = b.asarray(sizes)
        self.state["H"][index] = b.asarray(products[:, 1:])
        self.state["busy"][index] = b.asarray(found)
        return np.where(found, gains, np.nan), covered


def climb_together(
    gains: Gains,
    starts: NDArray[np.intp],
    products: Array,
    *,
    problem: PartitionProblem,
    backend: Backend,
    max_trials: int,
    swaps: bool,
    n_jobs: int | None,
) -> list[Run]:
    """Run the local search from many partitions, as many at once as fit on a device.

    Parameters
    ----------
    gains : Gains
        With the dense matrix.
    starts : ndarray of shape (n_runs, n_free)
        Classes of the free points.
    products : ndarray of shape (n_runs, n_classes, n_free)
        Their products.
    problem : PartitionProblem
        The problem.
    backend : Backend
        The device.
    max_trials : int
        Limit on the trials of one run.
    swaps : bool
        Whether to exchange pairs where bounds block single moves.
    n_jobs : int or None
        Threads for the search for exchanges.

    Returns
    -------
    runs : list of Run
        One for every start.
    """
    _, k, u = products.shape
    if u == 0:
        return [Run(codes, np.empty(0), 0, 0, 0, "local optimum") for codes in starts]
    size = max(1, int(backend.room() // (8 * u * (k + _ALIVE))))
    runs: list[Run] = []
    for start in range(0, len(starts), size):
        some = slice(start, start + size)
        climbers = _Climbers(
            gains, problem, starts[some], products[some], backend, max_trials
        )
        found = dict(_finished(climbers, gains.of(problem), swaps, n_jobs))
        runs += [found[number] for number in range(len(found))]
    return runs


def _finished(
    climbers: _Climbers, record: Any, swaps: bool, n_jobs: int | None
) -> Iterator[tuple[int, Run]]:
    """Yield the number and the result of every run, in the order they end."""
    numbers = np.arange(climbers.state["codes"].shape[0])
    tables: list[Array] = []  # gains, one line per run
    n_swaps = np.zeros(numbers.size, dtype=np.intp)
    done = np.zeros(numbers.size, dtype=np.bool_)
    covered = np.ones(numbers.size, dtype=np.bool_)
    while True:
        tables.append(climbers.burst())
        spent = climbers.host("spent")
        waiting = ~climbers.host("busy") & ~spent & ~done
        ended = spent & ~done | waiting
        blocked = np.flatnonzero(waiting & climbers.at_bounds())
        if swaps and blocked.size:
            gained, covered[blocked] = climbers.exchange(blocked, record, n_jobs)
            helped = ~np.isnan(gained)
            tables.append(np.full((numbers.size, 1), np.nan))
            tables[-1][blocked, 0] = gained
            n_swaps[blocked[helped]] += 1
            ended[blocked[helped]] = False
        if not ended.any():
            continue
        codes, trials = climbers.host("codes"), climbers.host("trials")
        lines = np.hstack([table[ended] for table in tables])
        for place, line in zip(np.flatnonzero(ended), lines, strict=True):
            raises, count = line[~np.isnan(line)], int(n_swaps[place])
            reason = "local optimum"
            if spent[place]:
                reason = "max_trials reached"
            elif not covered[place]:
                reason += ", but not all pairs were tried for an exchange"
            yield (
                int(numbers[place]),
                Run(
                    codes[place].copy(),
                    raises,
                    int(trials[place]),
                    raises.size + count,
                    count,
                    reason,
                ),
            )
        done |= ended
        left = np.flatnonzero(~done)
        if left.size == 0:
            return
        if left.size < _FEW * done.size:
            climbers.keep(left)
            numbers, n_swaps, covered = numbers[left], n_swaps[left], covered[left]
            tables = [np.hstack([table[left] for table in tables])]
            done = np.zeros(left.size, dtype=np.bool_)
