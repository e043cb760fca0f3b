"""Measure what more cores give the automatic classifier, phase by phase.

Every number of threads runs in a fresh process, after a small fit that compiles. The
file holds rows `X`, such as MNIST's, and labels `y`; 30 of them are kept. What a phase
does outside of the pool of threads, one thing after the other, is counted too: with
ever more cores, nothing else would be left.

    python benchmarks/cores.py mnist.npz 1 16        # lines of JSON, then a table
    python benchmarks/cores.py --sizes               # from which size threads pay
"""

# SPDX-License-Identifier: BSD-3-Clause

import inspect
import json
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial, wraps

# Phase: module and function. What a phase inside of another takes counts for itself.
PHASES = {
    "digests": ("automatic._bank", "distinct_rows"),
    "scaling, fit": ("automatic._scaling", "RowScaling.fit"),
    "scaling, transform": ("automatic._scaling", "RowScaling.transform"),
    "components": ("automatic._components", "Components.__init__"),
    "median distances": ("automatic._recipe", "Sources.median_square"),
    "neighbours": ("automatic._graphs", "Neighbors.__init__"),
    "k-means, runs": ("automatic._clusters", "lloyd_runs"),
    "k-means, rows": ("automatic._clusters", "Clusters._one_hot"),
    "graphs": ("automatic._recipe", "Sources.graph"),
    "graphs, Laplacian": ("automatic._graphs", "graph_laplacian"),
    "graphs, components": ("automatic._graphs", "connected_components"),
    "graphs, eigenvectors": ("automatic._graphs", "laplacian_eigenvectors"),
    "graphs, eigenvectors' order": ("graphs._chebyshev", "reverse_cuthill_mckee"),
    "graphs, filter": ("graphs._chebyshev", "_filtered"),
    "graphs, density": ("graphs._chebyshev", "_lanczos_quadrature"),
    "graphs, orthonormal": ("_backend._numpy", "NumpyBackend.orthonormal"),
    "small eigenproblems": ("_backend._numpy", "NumpyBackend.eigh"),
    "normal numbers": ("_backend._numpy", "NumpyBackend.standard_normal"),
    "Gaussian features": ("automatic._features", "Nystrom.__init__"),
    "Gaussian features, root": ("kernels._nystrom", "inverse_square_root"),
    "linear features": ("automatic._features", "LinearFeatures.__init__"),
    "path features": ("automatic._paths", "Geodesics.__init__"),
    "path features, root": ("automatic._paths", "inverse_square_root"),
    "path lengths": ("automatic._paths", "shortest_paths"),
    "products of features": ("automatic._recipe", "Sources.moments"),
    "deformed kernels": ("automatic._recipe", "Deformed.on_graph"),
    "features' moments": ("automatic._kernels", "FeatureKernel.prepare"),
    "anchors": ("automatic._kernels", "PairKernel.prepare"),
    "scores and expected error": ("automatic._classifier", "judge"),
    "outputs": ("automatic._answer", "fit_models"),
}
COUNTS = ("seconds", "processor", "outside")


class Clock:
    """Seconds of phases, without those of phases inside.

    Counted are seconds on the wall, those of all processors, and those of this thread
    outside of the pool.
    """

    def __init__(self):
        self.phases = {}
        self._inside = [[0.0] * len(COUNTS)]
        self._pooled = self._entered = 0.0
        self._depth = 0

    def _now(self):
        outside = self._entered if self._depth else time.thread_time()
        return time.perf_counter(), time.process_time(), outside - self._pooled

    @contextmanager
    def phase(self, name):
        """Count what happens inside for a phase."""
        start = self._now()
        self._inside.append([0.0] * len(COUNTS))
        yield
        spent = [b - a for a, b in zip(start, self._now(), strict=True)]
        inner = self._inside.pop()
        own = self.phases.setdefault(name, [0.0] * len(COUNTS))
        for i, seconds in enumerate(spent):
            own[i] += seconds - inner[i]
            self._inside[-1][i] += seconds

    @contextmanager
    def pool(self):
        """Count what happens inside as work of the pool."""
        if not self._depth:
            self._entered = time.thread_time()
        self._depth += 1
        yield
        self._depth -= 1
        if not self._depth:
            self._pooled += time.thread_time() - self._entered

    def watched(self, function, around):
        """Wrap a function; what threads call is within something counted already."""

        @wraps(function)
        def timed(*args, **kwargs):
            if threading.current_thread() is not threading.main_thread():
                return function(*args, **kwargs)
            with around():
                return function(*args, **kwargs)

        @wraps(function)
        def timed_steps(*args, **kwargs):
            steps = function(*args, **kwargs)
            while True:
                with around():
                    step = next(steps, None)
                if step is None:
                    return
                yield step

        return timed_steps if inspect.isgeneratorfunction(function) else timed

    def watch(self, module, path, name):
        """Count a function of a module for a phase, from now on."""
        *outer, attribute = path.split(".")
        owner = getattr(module, outer[0]) if outer else module
        original = getattr(owner, attribute)
        setattr(owner, attribute, self.watched(original, partial(self.phase, name)))

    def watch_pool(self):
        """Count what the pool, or that of faiss, does, from now on."""
        from fewlabels.graphs import _approximate_search

        for name, module in list(sys.modules.items()):
            if name.startswith("fewlabels.") and hasattr(module, "in_threads"):
                module.in_threads = self.watched(module.in_threads, self.pool)
        limit = _approximate_search._threads_of_faiss

        @contextmanager
        def counted():
            with self.pool(), limit():
                yield

        _approximate_search._threads_of_faiss = counted


def fit_phases(X, y, n_jobs):
    """Fit once, and report."""
    import importlib

    import numpy as np

    from fewlabels import FewLabelsClassifier
    from fewlabels.datasets import hide_labels

    given = hide_labels(y, per_class=max(1, 30 // len(np.unique(y))), random_state=0)
    some = np.r_[np.flatnonzero(given >= 0), np.arange(6000)]  # past double precision
    FewLabelsClassifier(n_jobs=n_jobs, random_state=0).fit(X[some], given[some])
    with suppress(ImportError):
        import faiss  # noqa: F401  # which so few rows do not need
    clock = Clock()
    for name, (module, path) in PHASES.items():
        clock.watch(importlib.import_module(f"fewlabels.{module}"), path, name)
    clock.watch_pool()
    with clock.phase("everything else"):
        model = FewLabelsClassifier(n_jobs=n_jobs, random_state=0).fit(X, given)
    total = [sum(phase) for phase in zip(*clock.phases.values(), strict=True)]
    hidden = given < 0
    return {
        "n_jobs": n_jobs,
        "rows": len(X),
        **{name: round(part, 2) for name, part in zip(COUNTS, total, strict=True)},
        "error": round(float(np.mean(model.transduction_[hidden] != y[hidden])), 4),
        "checksum": float(np.abs(model.decision_function(X[:1000])).sum()),
        "phases": {
            name: [round(part, 3) for part in phase]
            for name, phase in clock.phases.items()
        },
    }


def main(path, *jobs):
    results = []
    for n_jobs in map(int, jobs or ("1", "-1")):
        run = subprocess.run(
            [sys.executable, __file__, "--one", path, str(n_jobs)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        result = json.loads(run.stdout)
        if n_jobs > 0 and (first := [*results, result][0])["n_jobs"] == 1:
            ratio = first["seconds"] / result["seconds"]
            result["efficiency"] = round(ratio / n_jobs, 3)
        results.append(result)
        print(json.dumps(result), flush=True)
    print_table(results)


def print_table(results):
    """Seconds of every phase for every number of threads, and those not in the pool."""
    last = results[-1]
    print("threads".ljust(28), *(f"{r['n_jobs']:8d}" for r in results), "  outside")
    for name, (*_, outside) in last["phases"].items():
        seconds = (r["phases"].get(name, [0.0])[0] for r in results)
        print(name.ljust(28), *(f"{s:8.2f}" for s in seconds), f"{outside:9.2f}")
    totals = (f"{r['seconds']:8.2f}" for r in results)
    print("all".ljust(28), *totals, f"{last['outside']:9.2f}")


def sizes(repeat=3):
    """Fit tables of several sizes on one thread and on all, and compare seconds."""
    import numpy as np

    from fewlabels import FewLabelsClassifier
    from fewlabels.datasets import hide_labels

    rng = np.random.default_rng(0)
    print("    rows  columns   entries  one thread  all threads   ratio")
    for n, d in (
        *((n, 20) for n in (500, 1000, 2000, 4000, 6000, 10_000, 20_000)),
        *((n, 200) for n in (500, 1000, 2000, 4000, 6000)),
    ):
        truth = rng.integers(3, size=n)
        X = rng.normal(size=(3, d))[truth] + rng.normal(size=(n, d))
        y = hide_labels(truth, per_class=10, random_state=0)
        seconds = {1: [], -1: []}
        for _ in range(repeat):
            for n_jobs, taken in seconds.items():
                start = time.perf_counter()
                FewLabelsClassifier(n_jobs=n_jobs, random_state=0).fit(X, y)
                taken.append(time.perf_counter() - start)
        alone, together = (min(taken) for taken in seconds.values())
        print(
            f"{n:8,} {d:8} {n * d:9,} {alone:11.2f} {together:12.2f} "
            f"{together / alone:7.2f}",
            flush=True,
        )


def one(path, n_jobs):
    import numpy as np

    with np.load(path) as data:
        X, y = data["X"], data["y"].astype(int)
    X = X.reshape(len(X), -1).astype(np.float32)
    print(json.dumps(fit_phases(X, y, int(n_jobs))))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:])
    elif sys.argv[1:2] == ["--sizes"]:
        sizes()
    else:
        main(*sys.argv[1:])
