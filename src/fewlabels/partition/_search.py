"""Heuristic solvers: local search, evolution, tabu search."""

# SPDX-License-Identifier: BSD-3-Clause

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._backend import Backend, get_backend
from fewlabels.exceptions import warn_ignored
from fewlabels.partition._partition_result import PartitionResult
from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._runs import (
    Gains,
    Run,
    best_of_runs,
    prepare_gains,
    random_start,
)
from fewlabels.partition._systems import Array
from fewlabels.partition._together import climb_together

# MiB that a dense matrix of gains may take unless the caller says otherwise.
MEMORY_BUDGET = 1024.0


def _limit(value: int | None, name: str) -> int:
    if value is None:
        return int(np.iinfo(np.int64).max)
    if value < 0:
        raise ValueError(f"{name} must not be negative, got {value}.")
    return value


def local_search(
    problem: PartitionProblem,
    start: str | ArrayLike = "supervised",
    n_init: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
    *,
    swaps: bool = True,
    max_trials: int | None = None,
    representation: str = "auto",
    memory_budget: float = MEMORY_BUDGET,
    device: str | Backend | None = None,
) -> PartitionResult:
    """Improve a partition by changing the class of one point at a time.

    The free points take turns: each moves to the class that lowers F most, if there is
    one and the class sizes stay within their bounds, until no point moves in a whole
    round [1]_. If bounds block moves that would help, pairs of points exchange their
    classes, and the rounds continue. From a random start this is also the (1+1)-EA with
    round-robin mutation of [2]_.

    Parameters
    ----------
    problem : PartitionProblem
        The problem.
    start : {"supervised", "random", "exact"} or array-like, default="supervised"
        The prediction of least squares on the labelled points (with two classes, the
        largest outputs become positive where the balance requires it), classes drawn by
        the class ratio, the exact optimum in the leading one to three dimensions (two
        classes; as many as take little time), or a partition.
    n_init : int, default=1
        Number of runs, all but the first from random partitions; the best one counts.
    random_state : None, int, RandomState or Generator, default=None
        Seed; results do not depend on `n_jobs`.
    n_jobs : int, default=None
        Threads for the runs; None means 1, -1 all cores.
    swaps : bool, default=True
        Whether to exchange pairs if bounds block single moves.
    max_trials : int, default=None
        Limit on the trials of one run.
    representation : {"auto", "dense", "factor"}, default="auto"
        Gains from a dense matrix (a trial costs O(1), a move O(n)) or from a factor
        (both cost O(rank)); the same moves are made either way.
    memory_budget : float, default=1024
        MiB that "auto" may take for the dense matrix.
    device : {"cpu", "cuda"} or None, default=None
        Where to search; None is the CPU. On a GPU all runs proceed in parallel, with
        the dense matrix, and make the same moves as on the CPU; exchanges are still
        searched on the CPU.

    Returns
    -------
    result : PartitionResult
        The best partition and how it was found.

    References
    ----------
    .. [1] F. Gieseke, O. Kramer, A. Airola, T. Pahikkala, "Speedy local search for
       semi-supervised regularized least-squares", KI (2011).
       :doi:`10.1007/978-3-642-24455-1_8`
    .. [2] F. Gieseke, O. Kramer, A. Airola, T. Pahikkala, "Efficient recurrent local
       search strategies for semi- and unsupervised regularized least-squares
       classification", Evolutionary Intelligence 5 (2012).
       :doi:`10.1007/s12065-012-0068-5`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.partition import PartitionProblem, local_search
    >>> X = np.array([[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0]])
    >>> problem = PartitionProblem.from_factor(X, [-1, 0, 0, 0, 0, 1], alpha=0.1)
    >>> result = local_search(problem, n_init=6, random_state=0)
    >>> result.y
    array([-1, -1, -1,  1,  1,  1])
    >>> bool(result.objective == problem.objective(result.y))
    True
    """
    limit = _limit(max_trials, "max_trials")

    def run(
        gains: Gains, codes: NDArray[np.intp], products: Array, rng: np.random.Generator
    ) -> Run:
        return _climb(problem, gains, codes, products, limit, swaps)

    backend, together = get_backend(device), None
    if not backend.is_numpy and _suits(backend, problem, representation):
        representation = "dense"
        together = partial(
            climb_together,
            problem=problem,
            backend=backend,
            max_trials=limit,
            swaps=swaps,
            n_jobs=n_jobs,
        )
    return best_of_runs(
        problem,
        run,
        solver="local_search",
        start=start,
        n_init=n_init,
        random_state=random_state,
        n_jobs=n_jobs,
        representation=representation,
        memory_budget=memory_budget,
        together=together,
    )


def _climb(
    problem: PartitionProblem,
    gains: Gains,
    codes: NDArray[np.intp],
    products: Array,
    limit: int,
    swaps: bool,
) -> Run:
    """One run of the local search; the arrays are changed."""
    # Imported here; otherwise the loop would be sent to other processes and recompiled.
    from fewlabels._loops.partition import climb

    sizes = np.bincount(codes, minlength=problem.n_classes)
    raises, trials, moves, n_swaps, exhausted, covered = climb(
        gains.of(problem), codes, sizes, products, limit, swaps
    )
    reason = "local optimum"
    if exhausted:
        reason = "max_trials reached"
    elif not covered:
        reason = "local optimum, but not all pairs were tried for an exchange"
    return Run(codes, raises, trials, moves + 2 * n_swaps, n_swaps, reason)


def polish(problem: PartitionProblem, codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the classes of all points at the end of a local search.

    This is the local search without what only several runs need.
    """
    gains = prepare_gains(problem, "auto", MEMORY_BUDGET, 1)
    codes = codes.copy()
    free = codes[problem.free]
    products = gains.products(free[None])[0]
    codes[problem.free] = _climb(
        problem, gains, free, products, _limit(None, ""), True
    ).codes
    return codes


def _suits(backend: Backend, problem: PartitionProblem, representation: str) -> bool:
    """Whether runs fit on a device: it must hold the dense matrix."""
    if representation == "factor":
        why = "representation='factor' is searched on the CPU"
    elif 8 * problem.free.size**2 > backend.room():
        why = "the dense matrix of gains does not fit into its memory"
    else:
        return True
    warn_ignored(f"device={backend.device!r}", why)
    return False


def evolve(
    problem: PartitionProblem,
    n_parents: int = 5,
    n_children: int = 25,
    *,
    start: str | ArrayLike = "random",
    mutation: str = "flip",
    n_init: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
    patience: int | None = None,
    max_generations: int | None = None,
    representation: str = "auto",
    memory_budget: float = MEMORY_BUDGET,
) -> PartitionResult:
    """Evolve a population of partitions, the (mu + nu)-EA.

    In every generation, `n_children` times a random parent is copied and mutated, and
    the `n_parents` best of parents and children stay [1]_.

    Parameters
    ----------
    problem : PartitionProblem
        The problem.
    n_parents : int, default=5
        Size of the population.
    n_children : int, default=25
        Children per generation; ``n_parents=1, n_children=1`` is the (1+1)-EA.
    start : {"random", "supervised", "exact"} or array-like, default="random"
        The first member of the population; the others are random.
    mutation : {"flip", "uniform"}, default="flip"
        Move one random point to another class, or every point with probability 1/u.
        If the bounds on class sizes forbid all single moves, two points exchange their
        classes.
    n_init : int, default=1
        Number of runs; the best one counts.
    random_state : None, int, RandomState or Generator, default=None
        Seed; results do not depend on `n_jobs`.
    n_jobs : int, default=None
        Threads for the runs; None means 1, -1 all cores.
    patience : int, default=None
        Stop after this many generations without a survivor; n_samples when None.
    max_generations : int, default=None
        Limit on the generations of one run.
    representation : {"auto", "dense", "factor"}, default="auto"
        As in :func:`local_search`.
    memory_budget : float, default=1024
        MiB that "auto" may take for the dense matrix.

    Returns
    -------
    result : PartitionResult
        The best partition and how it was found.

    References
    ----------
    .. [1] F. Gieseke, O. Kramer, A. Airola, T. Pahikkala, "Efficient recurrent local
       search strategies for semi- and unsupervised regularized least-squares
       classification", Evolutionary Intelligence 5 (2012).
       :doi:`10.1007/s12065-012-0068-5`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.partition import PartitionProblem, evolve
    >>> X = np.array([[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0]])
    >>> problem = PartitionProblem.from_factor(X, [-1, 0, 0, 0, 0, 1], alpha=0.1)
    >>> evolve(problem, random_state=0).y
    array([-1, -1, -1,  1,  1,  1])
    """
    if n_parents < 1 or n_children < 1:
        raise ValueError(
            "n_parents and n_children must be at least 1, got "
            f"{n_parents} and {n_children}."
        )
    if mutation not in ("flip", "uniform"):
        raise ValueError(f"mutation={mutation!r} is unknown; use 'flip' or 'uniform'.")
    patience = problem.codes.size if patience is None else _limit(patience, "patience")
    limit = _limit(max_generations, "max_generations")

    def run(
        gains: Gains, codes: NDArray[np.intp], products: Array, rng: np.random.Generator
    ) -> Run:
        from fewlabels._loops.partition import evolve as evolve_loop

        if problem.free.size == 0:
            return Run(codes, np.empty(0), 0, 0, 0, "no free point")
        population = np.stack(
            [codes] + [random_start(problem, rng) for _ in range(n_parents - 1)]
        )
        sizes = np.stack(
            [np.bincount(c, minlength=problem.n_classes) for c in population]
        )
        products = gains.products(population)
        everything = np.stack([problem.codes] * n_parents)
        everything[:, problem.free] = population
        S = problem.fits_of(everything)
        history, children, flips, n_swaps, exhausted = evolve_loop(
            gains.of(problem),
            population,
            sizes,
            products,
            S,
            n_children,
            mutation == "flip",
            patience,
            limit,
            rng,
        )
        reason = (
            "max_generations reached"
            if exhausted
            else f"{patience} generations without a survivor"
        )
        return Run(
            population[np.argmax(S >= S.max() - gains.tol)],
            np.diff(history),
            children,
            flips,
            n_swaps,
            reason,
        )

    return best_of_runs(
        problem,
        run,
        solver="evolve",
        start=start,
        n_init=n_init,
        random_state=random_state,
        n_jobs=n_jobs,
        representation=representation,
        memory_budget=memory_budget,
    )


def tabu_search(
    problem: PartitionProblem,
    start: str | ArrayLike = "supervised",
    n_init: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
    *,
    tenure: int | None = None,
    patience: int | None = None,
    max_steps: int | None = None,
    representation: str = "auto",
    memory_budget: float = MEMORY_BUDGET,
) -> PartitionResult:
    """Escape local optima by the best move that is not tabu.

    Every step makes the best move, for better or worse, of a point that has not moved
    recently, or of any point if that beats the best partition so far [1]_. If class
    sizes are at their bounds, exchanges of two points count as moves.

    Parameters
    ----------
    problem : PartitionProblem
        The problem.
    start : {"supervised", "random", "exact"} or array-like, default="supervised"
        As in :func:`local_search`.
    n_init : int, default=1
        Number of runs, all but the first from random partitions; the best one counts.
    random_state : None, int, RandomState or Generator, default=None
        Seed; results do not depend on `n_jobs`.
    n_jobs : int, default=None
        Threads for the runs; None means 1, -1 all cores.
    tenure : int, default=None
        Steps for which a point must not move again, plus a random number below 10;
        the lesser of 20 and a quarter of the free points when None.
    patience : int, default=None
        Stop after this many steps without a new best; 10 times the number of free
        points when None.
    max_steps : int, default=None
        Limit on the steps of one run.
    representation : {"auto", "dense", "factor"}, default="auto"
        As in :func:`local_search`; a step costs O(n) with the dense matrix and
        O(n rank) with a factor.
    memory_budget : float, default=1024
        MiB that "auto" may take for the dense matrix.

    Returns
    -------
    result : PartitionResult
        The best partition and how it was found.

    References
    ----------
    .. [1] F. Glover, J.-K. Hao, "Efficient evaluations for solving large 0-1
       unconstrained quadratic optimisation problems", International Journal of
       Metaheuristics 1 (2010). :doi:`10.1504/IJMHEUR.2010.033120`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.partition import PartitionProblem, tabu_search
    >>> X = np.array([[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0]])
    >>> problem = PartitionProblem.from_factor(X, [-1, 0, 0, 0, 0, 1], alpha=0.1)
    >>> tabu_search(problem, random_state=0).y
    array([-1, -1, -1,  1,  1,  1])
    """
    u = problem.free.size
    tenure = min(20, u // 4) if tenure is None else tenure
    patience = 10 * u if patience is None else _limit(patience, "patience")
    limit = _limit(max_steps, "max_steps")

    def run(
        gains: Gains, codes: NDArray[np.intp], products: Array, rng: np.random.Generator
    ) -> Run:
        from fewlabels._loops.partition import walk

        sizes = np.bincount(codes, minlength=problem.n_classes)
        history, steps, moves, n_swaps, exhausted = walk(
            gains.of(problem), codes, sizes, products, 0.0, tenure, patience, limit, rng
        )
        reason = (
            "max_steps reached" if exhausted else f"{patience} steps without a new best"
        )
        return Run(codes, np.diff(history), steps, moves, n_swaps, reason)

    return best_of_runs(
        problem,
        run,
        solver="tabu_search",
        start=start,
        n_init=n_init,
        random_state=random_state,
        n_jobs=n_jobs,
        representation=representation,
        memory_budget=memory_budget,
    )
