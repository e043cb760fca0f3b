"""Threads: how many, what libraries may do inside, and that results are in order."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import threading
import time

import numpy as np
import pytest
from joblib import cpu_count
from threadpoolctl import threadpool_info, threadpool_limits

from fewlabels._threads import (
    in_threads,
    n_threads,
    serial_blas,
    side_by_side,
    threads,
)


def library_threads(kind):
    """Numbers of threads, but for libraries that never have more than one."""
    found = [info for info in threadpool_info() if info["user_api"] == kind]
    return {
        info["num_threads"]
        for info in found
        if info.get("threading_layer") != "disabled"
    }


def test_serial_blas():
    before = library_threads("blas")
    with serial_blas(1):
        assert library_threads("blas") == before
    with serial_blas(2):
        assert library_threads("blas") == {1}
    assert library_threads("blas") == before


def test_serial_blas_in_two_threads_at_once():
    before = library_threads("blas")
    first, second = serial_blas(2), serial_blas(2)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # out of order, as threads may
    assert library_threads("blas") == {1}
    second.__exit__(None, None, None)
    assert library_threads("blas") == before


def test_tasks_run_at_the_same_time_and_answer_in_order():
    meeting = threading.Barrier(3)

    def task(number):
        meeting.wait(timeout=10)  # which passes only if three are there
        time.sleep(0.01 * (3 - number))
        return number

    with threads(3) as n:
        assert n == n_threads() == 3
        assert in_threads(task, range(3)) == [0, 1, 2]
    assert n_threads() == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_libraries_keep_to_one_thread(n_jobs):
    before = library_threads("blas"), library_threads("openmp")
    with threads(n_jobs):
        inside = in_threads(lambda kind: library_threads(kind), ["blas", "openmp"])
        assert inside == [library_threads("blas"), library_threads("openmp")]
        assert inside == [{1}, {1}]
    assert before == (library_threads("blas"), library_threads("openmp"))


def test_tasks_of_tasks_are_done_in_turn():
    def outer(_):
        with threads(2) as n:
            names = in_threads(lambda _: threading.current_thread().name, range(4))
        return n, {threading.current_thread().name} == set(names)

    with threads(2):
        assert in_threads(outer, range(3)) == [(1, True)] * 3


def test_errors_and_the_state_of_numpy_cross_threads():
    def overflow(_):
        with pytest.raises(FloatingPointError):
            np.float64(1e300) * np.float64(1e300)

    with threads(2), np.errstate(over="raise"):
        in_threads(overflow, range(2))
    with threads(2), pytest.raises(ZeroDivisionError):
        in_threads(lambda x: 1 / x, [1, 0, 2])


def in_another_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_blas_is_serial_in_a_thread_though_another_one_has_set_its_number():
    def inside():
        with threads(1):
            return library_threads("blas")

    with threadpool_limits(3, user_api="blas"):
        assert in_another_thread(inside) == {1}
        assert library_threads("blas") == {3}
        inside()
        assert in_another_thread(inside) == {1}
        assert library_threads("blas") == {3}


def test_a_limit_that_another_thread_lifts_is_set_again():
    entered, leave = threading.Event(), threading.Event()

    def limit_for_a_while():  # as scikit-learn's k-means does
        with threadpool_limits(1, user_api="blas"):
            entered.set()
            leave.wait()

    other = threading.Thread(target=limit_for_a_while)
    with threadpool_limits(3, user_api="blas"):
        other.start()
        entered.wait()
        with threads(1):
            leave.set()
            other.join()
            with threads(1):
                assert library_threads("blas") == {1}
        assert library_threads("blas") == {3}


def test_default_number_of_threads():
    with threadpool_limits(3, user_api="openmp"):
        most = min(3, cpu_count())
        with threads(None) as n:
            assert n in (most, 3)  # 3 where OMP_NUM_THREADS has more than the cores
            with threads(None) as inner:  # which sees a limit of one
                assert inner == n
            with threads(1) as inner:
                assert inner == 1
        with threads(None, worth_it=False) as n:
            assert n == 1
        with threads(2, worth_it=False) as n:
            assert n == 2


def _doubled():
    with threads(2):
        return in_threads(lambda x: 2 * x, [1, 2])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_forked_processes_have_pools_of_their_own():
    assert _doubled() == [2, 4]
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, bytes(_doubled()))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 10) == bytes([2, 4])


def test_large_tasks_share_the_threads_and_keep_their_order():
    at_work, most = set(), 0
    lock = threading.Lock()

    def small(number):
        nonlocal most
        with lock:
            at_work.add((threading.get_ident(), number))
            most = max(most, len(at_work))
        time.sleep(0.002)
        with lock:
            at_work.discard((threading.get_ident(), number))
        return number

    def large(number):
        assert n_threads() == 3
        return sum(in_threads(small, range(number, number + 20)))

    with threads(3):
        found = side_by_side(large, range(5))
        assert n_threads() == 3
    assert found == [sum(range(i, i + 20)) for i in range(5)]
    assert 1 < most <= 3  # no more threads than were asked for


def test_what_a_large_task_raises_is_raised():
    def fail(number):
        in_threads(abs, range(8))
        if number == 2:
            raise KeyError("large")

    with threads(4):
        with pytest.raises(KeyError, match="large"):
            side_by_side(fail, range(4))
        assert in_threads(abs, [-1, 2]) == [1, 2]
