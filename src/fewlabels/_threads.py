"""One policy for threads: one pool, inside which libraries keep to one thread.

Libraries that bring threads of their own fight for cores with each other, and on small
arrays wait for work longer than they work. So within :func:`threads`, BLAS and OpenMP
have one thread each, and what is worth several is cut into tasks for
:func:`in_threads`, in a way that does not depend on their number where answers could:
these are the same whatever `n_jobs`.
"""

# SPDX-License-Identifier: BSD-3-Clause

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from fewlabels._sklearn import openmp_effective_n_threads

# NumPy does at least this many operations while a loop is compiled for the first time.
COMPILER_STARTS = 2**24

Task = TypeVar("Task")
Result = TypeVar("Result")


class _Libraries:
    """Libraries with threads of their own, looked for again after further imports."""

    def __init__(self) -> None:
        self._found: tuple[int, ThreadpoolController | None] = (0, None)

    def limited(self, n: int, kind: str) -> Any:
        """Limit the threads of BLAS or OpenMP, until the result is left."""
        n_modules, controller = self._found
        if controller is None or n_modules != len(sys.modules):
            controller = ThreadpoolController()
            self._found = len(sys.modules), controller
        return controller.limit(limits=n, user_api=kind)


class _SerialBlas:
    """One limit on BLAS threads, shared by all that ask for it at the same time.

    The limit belongs to the process: the first one in sets it, the last one out lifts
    it. Each setting its own would restore them in the wrong order.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limits = _LIBRARIES.limited(1, "blas")
            self._users += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limits.restore_original_limits()


_LIBRARIES = _Libraries()
_SERIAL_BLAS = _SerialBlas()
# None outside of `threads`.
_NUMBER: ContextVar[int | None] = ContextVar("number of threads", default=None)
_POOLS: dict[int, ThreadPoolExecutor] = {}
_LOCK = threading.Lock()
_HERE = threading.local()


def worth_compiling(n_operations: int) -> bool:
    """Whether a compiled loop pays, which the first use after installation waits for.

    Small tables then need no compiler, nor the import of one. Operations are counted
    roughly: where NumPy does as well as the loop, each multiplication once.
    """
    return n_operations > COMPILER_STARTS


def _in_pool() -> bool:
    return getattr(_HERE, "in_pool", False)


def _enter_pool() -> None:
    _HERE.in_pool = True
    _LIBRARIES.limited(1, "openmp")


def _pool(n: int) -> ThreadPoolExecutor:
    with _LOCK:
        if n not in _POOLS:
            # The thread that asks works too.
            _POOLS[n] = ThreadPoolExecutor(n - 1, "fewlabels", initializer=_enter_pool)
        return _POOLS[n]


# A process that was forked has the pools, but none of their threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOLS.clear)


def serial_blas(n_jobs: int | None) -> AbstractContextManager[Any]:
    """Keep BLAS to one thread while several Python threads call it."""
    return nullcontext() if effective_n_jobs(n_jobs) == 1 else _SERIAL_BLAS


def n_threads() -> int:
    """Tell how many tasks :func:`in_threads` would do at a time."""
    return 1 if _in_pool() else _NUMBER.get() or 1


def are_governed() -> bool:
    """Tell whether :func:`threads` is around, so that libraries have one thread."""
    return _NUMBER.get() is not None


@contextmanager
def threads(n_jobs: int | None, *, worth_it: bool = True) -> Iterator[int]:
    """Say how many threads there are for what is done inside, by the libraries too.

    Parameters
    ----------
    n_jobs : int or None
        In joblib's convention, but for None, which takes the number that was said
        around this, and else as many threads as OpenMP would: all cores, unless
        `OMP_NUM_THREADS` or a limit says less.
    worth_it : bool, default=True
        Whether the work is large enough. If not, None stands for one thread.

    Examples
    --------
    >>> from fewlabels._threads import in_threads, threads
    >>> with threads(2):
    ...     in_threads(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    if n_jobs is not None:
        n = effective_n_jobs(n_jobs)
    elif worth_it:
        n = _NUMBER.get() or openmp_effective_n_threads(only_physical_cores=False)
    else:
        n = 1
    before = _NUMBER.set(n)
    try:
        # Unlike that of BLAS, OpenMP's number belongs to the thread that sets it.
        with _SERIAL_BLAS, _LIBRARIES.limited(1, "openmp"):
            yield n_threads()
    finally:
        _NUMBER.reset(before)


def in_threads(
    function: Callable[[Task], Result], tasks: Iterable[Task]
) -> list[Result]:
    """Call a function on every task, in the threads that :func:`threads` gives.

    Parameters
    ----------
    function : callable
        What to do. Tasks of its own it does one after the other.
    tasks : iterable
        Its arguments.

    Returns
    -------
    results : list
        In the order of the tasks.
    """
    tasks, n = list(tasks), n_threads()
    if n == 1 or len(tasks) < 2:
        return [function(task) for task in tasks]
    results: list[Any] = [None] * len(tasks)
    todo, lock = iter(enumerate(tasks)), threading.Lock()

    def work() -> None:
        """Do what is left to do, which is far cheaper than to submit every task."""
        try:
            while True:
                with lock:
                    place, task = next(todo, (-1, None))
                if place < 0:
                    return
                results[place] = function(task)  # type: ignore[arg-type]
        except BaseException:
            with lock:
                list(todo)  # nothing more to do for others
            raise

    n_others = min(n, len(tasks)) - 1
    # What NumPy does about overflows, for one, is part of the context.
    others = [_pool(n).submit(copy_context().run, work) for _ in range(n_others)]
    _HERE.in_pool = True
    try:
        work()
    finally:
        _HERE.in_pool = False
        # Those that have not begun would find nothing to do, and perhaps no thread.
        others = [other for other in others if not other.cancel()]
        wait(others)
    for other in others:
        other.result()  # raises what it has raised
    return results


def side_by_side(
    function: Callable[[Task], Result], tasks: Iterable[Task]
) -> list[Result]:
    """Call a function on a few large tasks, whose own tasks are for all threads.

    While one of them does what cannot be cut, the others keep the threads busy. There
    are no more threads than :func:`threads` gives: a thread without a large task helps.

    Parameters
    ----------
    function : callable
        What to do.
    tasks : iterable
        Its arguments.

    Returns
    -------
    results : list
        In the order of the tasks.
    """

    def free(task: Task) -> Result:
        _HERE.in_pool = False
        try:
            return function(task)
        finally:
            _HERE.in_pool = True

    tasks = list(tasks)
    if n_threads() == 1 or len(tasks) < 2:
        return [function(task) for task in tasks]
    return in_threads(free, tasks)
