"""Measure the methods of one library on one case, each in a process of its own.

    python benchmarks/peers/worker.py '[{"task": ..., "method": ...}, ...]' CASE

The process imports the library and nothing of another one, and every method runs in a
fork of it, so that compiled code and peak memory are its own. Prints lines of JSON with
the number of the job: of a grid, one after every setting that is better than all
before, so that a run that is cut off still says what it found; and one at the end.
"""

# SPDX-License-Identifier: BSD-3-Clause

import importlib
import importlib.metadata
import json
import os
import resource
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.cases import load
from benchmarks.peers.methods import TASKS, quadratic_form

# The first fit of a process imports, and loads compiled code: not part of "seconds".
WARM_UP_ROWS = 80


def peak_mib():
    """Return the peak of resident memory of this process.

    Of a fork, that is what it has copied or touched: pages of libraries that it does
    not use are not part of it, and neither is a peak of its parent.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def standardised(X, X_test):
    """Scale columns to unit variance, and centre them unless that fills zeros."""
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=not hasattr(X, "toarray")).fit(X)
    return scaler.transform(X), scaler.transform(X_test)


def small(case):
    """Return a case with few rows of every class, half of the labels among them."""
    if "K" in case:
        rows = np.r_[
            np.flatnonzero(case["signs"])[:20], np.flatnonzero(case["signs"] == 0)[:60]
        ]
        return {
            **case,
            "K": case["K"][np.ix_(rows, rows)],
            "signs": case["signs"][rows],
        }
    rng = np.random.RandomState(0)
    labeled = np.flatnonzero(case["labels"] >= 0)
    others = rng.permutation(np.flatnonzero(case["labels"] < 0))[:WARM_UP_ROWS]
    rows = np.r_[labeled, others]
    return {**case, **{key: case[key][rows] for key in ("X", "labels", "y")}}


def matched(y, clusters):
    """Return a function that renames clusters to the classes they match best."""
    from scipy.optimize import linear_sum_assignment

    table = np.zeros((max(y.max(), clusters.max()) + 1,) * 2, dtype=int)
    np.add.at(table, (y, clusters), 1)
    return np.argsort(linear_sum_assignment(-table)[1])


def measure(run, case, params, limit):
    """Return what one setting of one method reaches, and what it costs."""
    params = dict(params)
    signal.setitimer(signal.ITIMER_REAL, limit)  # the default action ends the process
    before, started = peak_mib(), time.perf_counter()
    if params.pop("rows", "as given") == "standardised":
        X, X_test = standardised(case["X"], case["X_test"])
        case = {**case, "X": X, "X_test": X_test}
    answers, predict = run(case, params)
    seconds = time.perf_counter() - started
    signal.setitimer(signal.ITIMER_REAL, 0)
    found = {"seconds": seconds, "peak_mib": peak_mib(), "fit_mib": peak_mib() - before}
    if "K" in case:
        Q, d = quadratic_form(case["K"], case["signs"], float(case["lam"]))
        return {**found, "objective": float(np.sum(d**2) - answers @ Q @ answers)}
    unlabeled = case["labels"] < 0
    y, answers = case["y"][unlabeled], np.asarray(answers, dtype=int)
    clusters = not np.any(case["labels"] >= 0)
    names = matched(case["y"], answers) if clusters else None
    if clusters:
        answers = names[answers]
    found["error_unlabeled"] = 100 * float(np.mean(answers[unlabeled] != y))
    if predict is not None:
        signal.setitimer(signal.ITIMER_REAL, limit)
        new = np.asarray(predict(case["X_test"]), dtype=int)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if clusters:
            new = names[new]
        found["error_test"] = 100 * float(np.mean(new != case["y_test"]))
    return found


def run_job(number, job, case, line):
    """Run one job, in a fork, and report."""
    method = TASKS[job["task"]][job["method"]]
    memory = int(job["memory_gib"] * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if job["task"] == "growth" and not job["with_labels"]:
        case = {**case, "labels": np.full(case["y"].size, -1)}
    started = time.perf_counter()
    grid = [{}] if job["setting"] == "defaults" else method.grid
    best, began = None, time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        try:
            method.run(small(case), {})
        except Exception:
            pass  # a method that cannot do this says so on the case itself
        line["start_seconds"] += time.perf_counter() - started
        warnings.simplefilter("always")
        for tried, params in enumerate(grid, 1):
            caught.clear()
            try:
                found = measure(method.run, case, params, job["limit"])
            except MemoryError:
                found = {"status": f"over {job['memory_gib']:g} GiB"}
            except Exception as error:
                text = " ".join(str(error).split())[:120]
                found = {"status": f"error: {type(error).__name__}: {text}"}
            key = "objective" if job["task"] == "partition" else "error_unlabeled"
            score = found.get(key, np.inf)
            if best is None or score < best:
                best = score
                names = sorted({w.category.__name__ for w in caught})
                settings = json.dumps(params) if params else ""
                more = {"params": settings, "warnings": " ".join(names)}
                report(number, {**line, **found, "grid": len(grid), **more})
            report(number, {"tried": tried})
            if time.perf_counter() - began > job["grid_limit"]:
                break


def main(jobs, path):
    """Import the library of the jobs, and run each in a fork."""
    methods = [TASKS[job["task"]][job["method"]] for job in jobs]
    started = time.perf_counter()
    try:
        for name in methods[0].modules:
            module = importlib.import_module(name)
    except ImportError:
        for number in range(len(jobs)):
            missing = f"not installed: {methods[0].library}"
            report(number, {"status": missing, "exit": 0})
        return
    line = {
        "status": "ok",
        "version": version(methods[0], module),
        "start_seconds": time.perf_counter() - started,
    }
    case = load(path)
    for number, job in enumerate(jobs):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            try:
                run_job(number, job, case, dict(line))
            except BaseException as error:
                report(number, {"status": f"error: {error!r}"[:160]})
            finally:
                sys.stdout.flush()
                os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        report(number, {"exit": code})


def version(method, module):
    """Return the version of a library, also of one that is not installed by pip."""
    try:
        return importlib.metadata.version(method.library)
    except importlib.metadata.PackageNotFoundError:
        return getattr(module, "__version__", "")


def report(number, line):
    """Print a line that the parent reads."""
    print(json.dumps({"job": number, **line}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
