"""Many local searches side by side, on a device.

Each run makes the very moves of the compiled loop `climb`: the points take turns, and
the first that gains moves. Between two moves nothing changes, so that the next one is
found at a single glance at all points; and one glance serves all runs. The search for
exchanges, which follows where bounds block moves, is the compiled one.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from fewlabels._backend import Backend
from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._runs import Gains, Run
from fewlabels.partition._systems import Array

# Moves that runs make before the host looks who is done.
BURST = 16
# Arrays of the size of a run's products that are alive beside them.
_ALIVE = 8
# Share of runs at work below which the others are put aside.
_FEW = 0.7
# No run makes as many trials, and sums with it do not overflow.
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
            # At work, waiting for an exchange, or out of trials.
            "busy": b.asarray(np.ones(len(starts), dtype=np.bool_)),
            "spent": b.asarray(np.zeros(len(starts), dtype=np.bool_)),
        }
        # Relative to the first class, as everywhere: it needs no products.
        for c in range(1, self.n_classes):
            self.state[f"H{c}"] = b.asarray(products[:, c])

    def keep(self, runs: NDArray[np.intp]) -> None:
        """Put the other runs aside."""
        index = self.backend.asarray(runs)
        self.state = {name: A[index] for name, A in self.state.items()}

    def host(self, name: str) -> NDArray[Any]:
        return self.backend.to_numpy(self.state[name])

    def _product(self, c: int) -> Any:
        return self.state[f"H{c}"] if c else self.q * 0.0

    def _of_class(self, values: Any) -> Any:
        """Per run and point, the value of the class that the point is in."""
        where, codes = self.backend.xp.where, self.state["codes"]
        found = values(0)
        for c in range(1, self.n_classes):
            found = where(codes == c, values(c), found)
        return found

    def step(self) -> Any:
        """Make the next move of every run at work; return what they gain, or NaN."""
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
        # Trials in vain before the first that is not, from the point whose turn it is.
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
            state[f"H{c}"] += (went[c] - went[0])[:, None] * row
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
        """1 for a run whose move enters the class, -1 where it leaves, else 0."""
        astype = self.backend.astype
        return astype(b == c, np.float64) - astype(a == c, np.float64)

    def _target(self, runs: Any, i: Any, a: Any, enter: Any) -> tuple[Any, Any]:
        """Best class for one point of every run, and what moving there gains."""
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
        """Exchange two points in runs without a move; what they gain, and if covered.

        The gain is NaN where no exchange helps.
        """
        from fewlabels._loops.partition import exchange  # compiled on first use

        b, index = self.backend, self.backend.asarray(waiting)
        names = [f"H{c}" for c in range(1, self.n_classes)]
        codes, sizes, *H = (
            np.array(b.to_numpy(self.state[name][index]))
            for name in ("codes", "sizes", *names)
        )
        products = np.stack([np.zeros(codes.shape), *H], axis=1)
        answers = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(exchange)(problem, *state)
            for state in zip(codes, sizes, products, strict=True)
        )
        gains, found, covered = (np.array(part) for part in zip(*answers, strict=True))
        self.state["codes"][index] = b.asarray(codes)
        self.state["sizes"][index] = b.asarray(sizes)
        for c, name in enumerate(names, start=1):
            self.state[name][index] = b.asarray(np.ascontiguousarray(products[:, c]))
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
    """Climb from many partitions at once, as many as fit into the memory of a device.

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
    """Yield the number and the result of every run, in the order in which they end."""
    numbers = np.arange(climbers.state["codes"].shape[0])
    raises: list[list[Array]] = [[] for _ in numbers]
    n_swaps = np.zeros(numbers.size, dtype=np.intp)
    done = np.zeros(numbers.size, dtype=np.bool_)
    covered = np.ones(numbers.size, dtype=np.bool_)
    xp = climbers.backend.xp
    while True:
        steps = [climbers.step() for _ in range(BURST)]
        table = climbers.backend.to_numpy(xp.stack(steps, axis=1))
        for number, line in zip(numbers[~done], table[~done], strict=True):
            raises[number].append(line[~np.isnan(line)])
        spent = climbers.host("spent")
        waiting = np.flatnonzero(~climbers.host("busy") & ~spent & ~done)
        ended = spent & ~done
        if swaps and waiting.size:
            gained, covered[waiting] = climbers.exchange(waiting, record, n_jobs)
            helped = ~np.isnan(gained)
            for place, gain in zip(waiting[helped], gained[helped], strict=True):
                raises[numbers[place]].append(np.array([gain]))
            n_swaps[waiting[helped]] += 1
            waiting = waiting[~helped]
        ended[waiting] = True
        if ended.any():
            codes, trials = climbers.host("codes"), climbers.host("trials")
            for place in np.flatnonzero(ended):
                steps_up = np.concatenate(raises[numbers[place]])
                count = int(n_swaps[place])
                reason = "local optimum"
                if spent[place]:
                    reason = "max_trials reached"
                elif not covered[place]:
                    reason += ", but not all pairs were tried for an exchange"
                yield (
                    int(numbers[place]),
                    Run(
                        codes[place].copy(),
                        steps_up,
                        int(trials[place]),
                        steps_up.size + count,
                        count,
                        reason,
                    ),
                )
            done |= ended
            if done.all():
                return
            if np.count_nonzero(~done) < _FEW * done.size:
                left = np.flatnonzero(~done)
                climbers.keep(left)
                numbers, n_swaps, covered = numbers[left], n_swaps[left], covered[left]
                done = np.zeros(left.size, dtype=np.bool_)
