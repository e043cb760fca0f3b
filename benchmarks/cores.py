"""Measure what more cores give the automatic classifier, phase by phase.

Every number of threads runs in a fresh process, after a small fit that compiles. The
file holds rows `X`, such as MNIST's, and labels `y`; 30 of them are kept.

    python benchmarks/cores.py mnist.npz 1 16        # a line of JSON for each
"""

# SPDX-License-Identifier: BSD-3-Clause

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import wraps

PHASES = {
    "digests": ("_bank", "distinct_rows"),
    "scaling, fit": ("_sources", "RowScaling.fit"),
    "scaling, transform": ("_sources", "RowScaling.transform"),
    "components": ("_sources", "Components.__init__"),
    "neighbours": ("_sources", "Neighbors.__init__"),
    "k-means": ("_sources", "Clusters.__init__"),
    "eigenvectors of graphs": ("_sources", "GraphVectors.__init__"),
    "Gaussian features": ("_sources", "Nystrom.__init__"),
    "linear features": ("_sources", "LinearFeatures.__init__"),
    "path lengths": ("_sources", "Geodesics.__init__"),
    "products of features": ("_recipe", "Workshop.moments"),
    "features' moments": ("_kernels", "FeatureKernel.prepare"),
    "anchors": ("_kernels", "ColumnKernel.prepare"),
    "scores and expected error": ("_classifier", "score_candidates"),
    "outputs": ("_classifier", "fit_models"),
}


class Clock:
    """Seconds and processor seconds of phases, without those of phases inside."""

    def __init__(self):
        self.phases = {}
        self._inside = [[0.0, 0.0]]

    @contextmanager
    def phase(self, name):
        """Count what happens inside for a phase."""
        start = time.perf_counter(), time.process_time()
        self._inside.append([0.0, 0.0])
        yield
        spent = time.perf_counter() - start[0], time.process_time() - start[1]
        inner = self._inside.pop()
        for i in range(2):
            self.phases.setdefault(name, [0.0, 0.0])[i] += spent[i] - inner[i]
            self._inside[-1][i] += spent[i]

    def watch(self, module, path, name):
        """Count a function of a module for a phase, from now on."""
        *outer, attribute = path.split(".")
        owner = getattr(module, outer[0]) if outer else module
        original = getattr(owner, attribute)

        @wraps(original)
        def timed(*args, **kwargs):
            with self.phase(name):
                return original(*args, **kwargs)

        setattr(owner, attribute, timed)


def fit_phases(X, y, n_jobs):
    """Fit once, and report."""
    import importlib

    import numpy as np

    from fewlabels import FewLabelsClassifier
    from fewlabels.datasets import hide_labels

    given = hide_labels(y, per_class=max(1, 30 // len(np.unique(y))), random_state=0)
    some = np.r_[np.flatnonzero(given >= 0), np.arange(6000)]  # past double precision
    FewLabelsClassifier(n_jobs=n_jobs, random_state=0).fit(X[some], given[some])
    clock = Clock()
    for name, (module, path) in PHASES.items():
        clock.watch(
            importlib.import_module(f"fewlabels.automatic.{module}"), path, name
        )
    with clock.phase("everything else"):
        model = FewLabelsClassifier(n_jobs=n_jobs, random_state=0).fit(X, given)
    seconds, processor = (sum(p[i] for p in clock.phases.values()) for i in range(2))
    hidden = given < 0
    return {
        "n_jobs": n_jobs,
        "rows": len(X),
        "seconds": round(seconds, 2),
        "processor seconds": round(processor, 2),
        "error": round(float(np.mean(model.transduction_[hidden] != y[hidden])), 4),
        "checksum": float(np.abs(model.decision_function(X[:1000])).sum()),
        "phases": {
            name: [round(s, 2), round(p, 2)] for name, (s, p) in clock.phases.items()
        },
    }


def main(path, *jobs):
    single = None
    for n_jobs in map(int, jobs or ("1", "-1")):
        run = subprocess.run(
            [sys.executable, __file__, "--one", path, str(n_jobs)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        result = json.loads(run.stdout)
        single = result["seconds"] if n_jobs == 1 else single
        if single and n_jobs > 0:
            result["efficiency"] = round(single / result["seconds"] / n_jobs, 3)
        print(json.dumps(result), flush=True)


def one(path, n_jobs):
    import numpy as np

    with np.load(path) as data:
        X, y = data["X"], data["y"].astype(int)
    X = X.reshape(len(X), -1).astype(np.float32)
    print(json.dumps(fit_phases(X, y, int(n_jobs))))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
