"""One policy for threads: one pool, inside which libraries use a single thread.

Libraries with threads of their own compete for cores, and on small arrays they wait for
work longer than they work. So within :func:`threads`, BLAS and OpenMP have one thread
each, and work that benefits from several is split into tasks for :func:`in_threads`.
The split does not depend on the number of threads if results could change with it, so
that results are the same for any `n_jobs`.
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

import threadpoolctl
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from fewlabels._sklearn import openmp_effective_n_threads

# NumPy can do at least this many operations in the time it takes to compile a loop.
COMPILER_STARTS = 2**24

Task = TypeVar("Task")
Result = TypeVar("Result")


class _Libraries:
    """Libraries with threads of their own, searched again after further imports."""

    def __init__(self) -> None:
        self._found: tuple[int, ThreadpoolController | None] = (0, None)

    def _controller(self) -> ThreadpoolController:
        n_modules, controller = self._found
        if controller is None or n_modules != len(sys.modules):
            controller = ThreadpoolController()
            self._found = len(sys.modules), controller
        return controller

    def limited(self, n: int, kind: str) -> Any:
        """Limit the threads of BLAS or OpenMP until the returned context ends."""
        return self._controller().limit(limits=n, user_api=kind)

    def n_blas(self) -> int:
        """Return the number of BLAS threads."""
        found = self._controller().info()
        return max(
            (i["num_threads"] for i in found if i["user_api"] == "blas"), default=1
        )


def _release_blas() -> None:
    """Let any thread set the number of BLAS threads.

    Newer versions of threadpoolctl obey the first thread to set it, as long as that
    thread lives, and silently ignore all others.
    """
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    release = getattr(openblas, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


class _SerialBlas:
    """One limit on BLAS threads, shared by all concurrent callers.

    The limit belongs to the process: the first caller in sets it, the last one out
    lifts it. Separate limits would be restored in the wrong order.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limits: list[Any] = []

    def __enter__(self) -> None:
        with self._lock:
            # Set it even if nested: libraries load late, and others lift the limit.
            if _LIBRARIES.n_blas() > 1:
                _release_blas()
                self._limits.append(_LIBRARIES.limited(1, "blas"))
            self._users += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                _release_blas()
                while self._limits:
                    self._limits.pop().restore_original_limits()
                _release_blas()


_LIBRARIES = _Libraries()
_SERIAL_BLAS = _SerialBlas()
# None outside of `threads`.
_NUMBER: ContextVar[int | None] = ContextVar("number of threads", default=None)
_POOLS: dict[int, ThreadPoolExecutor] = {}
_LOCK = threading.Lock()
_HERE = threading.local()


def worth_compiling(n_operations: int) -> bool:
    """Whether a compiled loop pays off, since its first use waits for the compiler.

    Small tables then need neither a compiler nor its import. Operations are counted
    roughly: each multiplication once if NumPy is as fast as the loop.
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
            # The calling thread works too.
            _POOLS[n] = ThreadPoolExecutor(n - 1, "fewlabels", initializer=_enter_pool)
        return _POOLS[n]


# A forked process has the pools, but none of their threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOLS.clear)


def serial_blas(n_jobs: int | None) -> AbstractContextManager[Any]:
    """Keep BLAS to one thread while several Python threads call it."""
    return nullcontext() if effective_n_jobs(n_jobs) == 1 else _SERIAL_BLAS


def n_threads() -> int:
    """Return how many tasks :func:`in_threads` would run at a time."""
    return 1 if _in_pool() else _NUMBER.get() or 1


def are_governed() -> bool:
    """Tell whether we are inside :func:`threads`, where libraries have one thread."""
    return _NUMBER.get() is not None


@contextmanager
def threads(n_jobs: int | None, *, worth_it: bool = True) -> Iterator[int]:
    """Set the number of threads for the work inside, also for libraries.

    Parameters
    ----------
    n_jobs : int or None
        In joblib's convention, except for None, which uses the number of an enclosing
        call, or else as many threads as OpenMP would: all cores, unless
        `OMP_NUM_THREADS` or a limit says less.
    worth_it : bool, default=True
        Whether the work is large enough. If not, None means one thread.

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
        # Unlike BLAS's, OpenMP's number belongs to the thread that sets it.
        with _SERIAL_BLAS, _LIBRARIES.limited(1, "openmp"):
            yield n_threads()
    finally:
        _NUMBER.reset(before)


def in_threads(
    function: Callable[[Task], Result], tasks: Iterable[Task]
) -> list[Result]:
    """Call a function on every task, in the threads set by :func:`threads`.

    Parameters
    ----------
    function : callable
        The function. Tasks it starts itself run one after the other.
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
        """Work through the remaining tasks, far cheaper than submitting each."""
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
    # The context includes, for example, how NumPy handles overflows.
    others = [_pool(n).submit(copy_context().run, work) for _ in range(n_others)]
    _HERE.in_pool = True
    try:
        work()
    finally:
        _HERE.in_pool = False
        # Workers that have not begun would find nothing to do, and perhaps no thread.
        others = [other for other in others if not other.cancel()]
        wait(others)
    for other in others:
        other.result()  # re-raises its exception
    return results


def side_by_side(
    function: Callable[[Task], Result], tasks: Iterable[Task]
) -> list[Result]:
    """Call a function on a few large tasks, whose own tasks share all threads.

    While one of them does work that cannot be split, the others keep the threads busy.
    No more threads are used than :func:`threads` sets: threads without a large task
    help.

    Parameters
    ----------
    function : callable
        The function.
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
