"""Shared parts of the search methods: starts, state, restarts, and the best run."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from fewlabels.partition._balance import repair
from fewlabels.partition._partition_result import PartitionResult
from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._systems import Array, weigh_rows
from fewlabels.partition._zonotope import exact_start

# Changes of S up to this share of the trace of Q are rounding errors.
RELATIVE_TOL = 1e-12

_NONE = np.empty((0, 0))
# Array flags that the loops are compiled for: arrays from another process may be
# read-only, and at any offset in a message.
_WRITABLE: Any = ["C", "A", "W"]


@dataclass(frozen=True)
class Gains:
    """Arrays from which the loops compute gains, for the free points.

    Attributes
    ----------
    dense : bool
        Whether Q and its products are used, or B and its products.
    q : ndarray of shape (n_free,)
        Diagonal of Q.
    Q : ndarray of shape (n_free, n_free) or (n_free, rank)
        Change of the products when a point moves: the matrix, or B W; empty if rows of
        B W are computed when needed.
    B : ndarray of shape (n_free, rank)
        The outer part of Q = B W B'; empty if the matrix is used.
    weights : ndarray of shape (3, rank)
        W as the loops take it.
    offset : ndarray of shape (n_classes - 1, n_free) or (n_classes - 1, rank)
        Contribution of the labelled points to the products, relative to class 0.
    tol : float
        Gains up to this are rounding errors.
    """

    dense: bool
    q: Array
    Q: Array
    B: Array
    weights: Array
    offset: Array
    tol: float

    def of(self, problem: PartitionProblem) -> Any:
        """Return the record that the loops take."""
        from fewlabels._loops.partition import Problem  # compiled on first use

        return Problem(
            self.dense,
            self.q,
            self.Q,
            self.B,
            self.weights,
            np.require(problem.lower, requirements=_WRITABLE),
            np.require(problem.upper, requirements=_WRITABLE),
            self.tol,
        )

    def products(self, codes: NDArray[np.intp]) -> Array:
        """Products H = E'Q or P = E'B W of partitions of the free points.

        One matrix product serves many partitions: for a single one, reading Q would
        take most of the time.

        Parameters
        ----------
        codes : ndarray of shape (n_partitions, n_free)
            Classes of the free points.

        Returns
        -------
        products : ndarray of shape (n_partitions, n_classes, n_free or rank)
            The products, relative to those of class 0.
        """
        n_partitions, k = codes.shape[0], self.offset.shape[0] + 1
        relative = _relative_to_first(codes, k).reshape(n_partitions * (k - 1), -1)
        if self.Q.size or self.dense:
            products = relative @ self.Q
        else:
            products = weigh_rows(relative @ self.B, self.weights)
        all_classes = np.zeros((n_partitions, k, self.offset.shape[1]))
        all_classes[:, 1:] = products.reshape(n_partitions, k - 1, -1) + self.offset
        return all_classes


def _run_anywhere(
    run: Callable[..., Any],
    gains: Gains,
    codes: NDArray[np.intp],
    products: Array,
    rng: np.random.Generator,
) -> Any:
    """Make a run on arrays that may have come from another process."""
    arrays: dict[str, Any] = {
        name: np.require(value, requirements=_WRITABLE)
        for name, value in vars(gains).items()
        if isinstance(value, np.ndarray)
    }
    codes = np.require(codes, requirements=_WRITABLE)
    products = np.require(products, requirements=_WRITABLE)
    return run(replace(gains, **arrays), codes, products, rng)


def _relative_to_first(codes: NDArray[np.intp], k: int) -> Array:
    """Subtract the indicators of the first class from those of the others."""
    indicators = codes[..., None, :] == np.arange(1, k)[:, None]
    return indicators.astype(np.float64) - (codes[..., None, :] == 0)


def prepare_gains(
    problem: PartitionProblem, representation: str, memory_budget: float, n_runs: int
) -> Gains:
    """Choose how gains are computed, and prepare the arrays.

    Parameters
    ----------
    problem : PartitionProblem
        The problem.
    representation : {"auto", "dense", "factor"}
        "auto" takes the dense matrix if it fits in the budget and enough runs share the
        cost of computing it.
    memory_budget : float
        MiB that the dense matrix may take.
    n_runs : int
        Number of runs.

    Returns
    -------
    gains : Gains
        The arrays.
    """
    if representation not in ("auto", "dense", "factor"):
        raise ValueError(
            f"representation={representation!r} is unknown; use 'auto', 'dense' or "
            "'factor'."
        )
    system, free, labeled = problem.system, problem.free, problem.labeled
    B = system.B if representation != "dense" else None
    if representation == "factor" and B is None:
        raise ValueError(
            "representation='factor' needs a problem made from a factor, or from "
            "path(); this one holds a kernel matrix."
        )
    dense = B is None
    if representation == "auto" and B is not None:
        fits = free.size**2 * 8 <= memory_budget * 2**20
        dense = fits and _dense_pays(free.size, B.shape[1], n_runs)
    E = _relative_to_first(problem.codes, problem.n_classes)  # zero where free
    q = system.diagonal()[free]
    tol = RELATIVE_TOL * float(np.sum(np.abs(q)))
    if system.by_difference:
        tol += 100 * np.finfo(np.float64).eps * float(np.max(problem.d**2, initial=0))
    if dense or B is None:
        offset = np.ascontiguousarray(system.products(E.T)[free].T)
        return Gains(
            True, q, system.dense(free), _NONE, system.weights[:, :0], offset, tol
        )
    offset = system.weigh(E[:, labeled] @ B[labeled])
    B = system.factor(free)
    # A single run makes too few moves to be worth computing the rows of all points.
    at_hand = system.weights.size == 0 or n_runs > 1
    rows = system.weigh(B) if at_hand else _NONE
    return Gains(False, q, rows, B, system.weights, offset, tol)


def _dense_pays(u: int, r: int, n_runs: int) -> bool:
    """Whether computing the matrix Q saves time over all runs."""
    # Nanoseconds per free point, measured: a run takes about 8 trials and 0.8 moves per
    # point; each reads r numbers with a factor, and one or u of them with Q.
    with_factor = 2.2 * r
    with_matrix = 0.12 * u + 63
    preparation = 0.04 * u * r
    return n_runs * (with_factor - with_matrix) > preparation


def spawn_generators(random_state: Any, n: int) -> list[np.random.Generator]:
    """Make n independent generators from one seed."""
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**63))
    elif isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    seeds = np.random.SeedSequence(random_state).spawn(n)
    return [np.random.Generator(np.random.PCG64(seed)) for seed in seeds]


def supervised_start(problem: PartitionProblem) -> NDArray[np.intp]:
    """Return the classes of the free points predicted from the labelled ones."""
    if problem.labeled.size == 0:
        raise ValueError(
            "start='supervised' needs labelled points: use start='random' or give a "
            "partition."
        )
    Y = problem.targets_of(problem.codes[None, problem.labeled])[0].T
    scores = problem.system.supervised_outputs(problem.labeled, Y)[problem.free]
    if problem.n_classes == 2:
        scores = np.hstack([-scores, scores])
    return repair(scores.argmax(axis=1), scores, problem.bounds)


def random_start(
    problem: PartitionProblem, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw the classes of the free points by the class ratio."""
    k, u = problem.n_classes, problem.free.size
    codes = rng.choice(k, size=u, p=problem.ratio)
    if problem.bounds.admit(np.bincount(codes, minlength=k)):
        return codes
    return repair(codes, rng.random((u, k)), problem.bounds)


def first_start(
    problem: PartitionProblem, start: str | ArrayLike, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the classes of the free points at the start of the first run."""
    if isinstance(start, str):
        if start == "supervised":
            return supervised_start(problem)
        if start == "random":
            return random_start(problem, rng)
        if start == "exact":
            return exact_start(problem)
        raise ValueError(
            f"start={start!r} is unknown; use 'supervised', 'random', 'exact' or a "
            "partition."
        )
    codes = problem.check_partition(start)[problem.free]
    sizes = np.bincount(codes, minlength=problem.n_classes)
    if not problem.bounds.admit(sizes):
        raise ValueError(
            f"start has class sizes {sizes.tolist()}, but the balance requires between "
            f"{problem.lower.tolist()} and {problem.upper.tolist()}."
        )
    return codes


@dataclass(frozen=True)
class Run:
    """One run of a search.

    Attributes
    ----------
    codes : ndarray of shape (n_free,)
        The best partition of the free points.
    raises : ndarray
        Increase of S with every improvement.
    n_trials, n_flips, n_swaps : int
        Counts of its steps.
    stop_reason : str
        Why it ended.
    """

    codes: NDArray[np.intp]
    raises: Array
    n_trials: int
    n_flips: int
    n_swaps: int
    stop_reason: str


def best_of_runs(
    problem: PartitionProblem,
    run: Callable[[Gains, NDArray[np.intp], Array, np.random.Generator], Run],
    *,
    solver: str,
    start: str | ArrayLike,
    n_init: int,
    random_state: Any,
    n_jobs: int | None,
    representation: str,
    memory_budget: float,
    together: Callable[[Gains, NDArray[np.intp], Array], list[Run]] | None = None,
) -> PartitionResult:
    """Run a search from the start and from random partitions; return the best.

    Parameters
    ----------
    problem : PartitionProblem
        The problem.
    run : callable
        Takes the gains, the start, its products and a generator, and returns a
        :class:`Run`. It may change the arrays.
    solver : str
        Name for the result.
    start : {"supervised", "random", "exact"} or array-like of shape (n_samples,)
        Where the first run starts.
    n_init : int
        Number of runs, all but the first from random partitions.
    random_state : None, int, RandomState or Generator
        Seed.
    n_jobs : int or None
        Threads.
    representation : {"auto", "dense", "factor"}
        How gains are computed.
    memory_budget : float
        MiB for the dense representation.
    together : callable, default=None
        Takes the gains, all starts and all products, and makes all runs at once,
        instead of `run`.

    Returns
    -------
    result : PartitionResult
        The best run, with the counts of all.
    """
    if n_init < 1:
        raise ValueError(f"n_init must be at least 1, got {n_init}.")
    clock = perf_counter()
    gains = prepare_gains(problem, representation, memory_budget, n_init)
    prepared = perf_counter()
    generators = spawn_generators(random_state, n_init)
    first = first_start(problem, start, generators[0])
    starts = np.stack([first] + [random_start(problem, rng) for rng in generators[1:]])
    products = gains.products(starts)
    started = perf_counter()
    states = list(zip(starts, products, generators, strict=True))
    if together is not None:
        runs = together(gains, starts, products)
    elif len(states) == 1:  # no need to set up any threads
        runs = [run(gains, *states[0])]
    else:
        runs = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_run_anywhere)(run, gains, *state) for state in states
        )
    codes = np.stack([problem.codes] * len(runs))
    codes[:, problem.free] = [r.codes for r in runs]
    # F = constant - S may not have enough digits to distinguish the runs.
    fits = problem.fits_of(codes)
    objectives = problem.constant - fits
    best = int(np.argmax(fits >= fits.max() - gains.tol))  # of equals, the first
    if len(runs) > 1:  # the same as from this run alone, to the last digit
        objectives[best] = problem.objectives_of(codes[best : best + 1])[0]
    found = runs[best]
    # Counted back from the end, whose objective is recomputed.
    later = np.concatenate([np.cumsum(found.raises[::-1])[::-1], [0.0]])
    return PartitionResult(
        y=problem.decode(codes[best]),
        objective=float(objectives[best]),
        history=objectives[best] + later,
        solver=solver,
        n_trials=sum(r.n_trials for r in runs),
        n_flips=sum(r.n_flips for r in runs),
        n_swaps=sum(r.n_swaps for r in runs),
        objectives=objectives,
        seconds={
            "prepare": prepared - clock,
            "start": started - prepared,
            "search": perf_counter() - started,
        },
        stop_reason=found.stop_reason,
        representation="dense" if gains.dense else "factor",
    )
