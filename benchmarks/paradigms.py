"""Compare pools, streams and made-up rows under the same budget of questions.

    python benchmarks/paradigms.py

Every repetition draws 400 rows to ask about and 1000 to test on. Two rows of each class
have a label from the start, and 40 questions may be asked: of any row in the pool, of
rows as they come (rate 40 / 400), or of rows that are made up, where the truth is a
formula that can answer. Errors are means over 20 repetitions.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fewlabels.active import (
    ActiveLearner,
    MembershipLearner,
    RandomSampling,
    StreamLearner,
)

RESULTS = Path(__file__).parent / "results" / "paradigms.csv"
REPETITIONS, N_POOL, N_TEST, BUDGET = 20, 400, 1000, 40


def plane(rows):
    """Two classes on the sides of a plane in ten dimensions."""
    return (rows @ np.linspace(-1, 1, 10) > 0.5).astype(int)


def rings(rows):
    """Three rings around the origin."""
    return np.digitize(np.hypot(*rows.T), [0.7, 1.3])


def logistic():
    return make_pipeline(StandardScaler(), LogisticRegression(C=10.0, max_iter=500))


class SureSVC(SVC):
    """A support vector machine whose probabilities are a softmax of its outputs."""

    def predict_proba(self, X):
        """Softmax of the outputs."""
        outputs = np.asarray(self.decision_function(X))
        if outputs.ndim == 1:
            outputs = np.column_stack([-outputs, outputs])
        powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


def problem(name, rng):
    """Rows, their labels, the oracle for made-up rows or None, and a model."""
    n = N_POOL + N_TEST
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        rows = rng.permutation(len(y))[:n]
        return X[rows] / 16, y[rows], None, logistic()
    if name == "plane":
        X = rng.normal(size=(n, 10))
        return X, plane(X), plane, logistic()
    X = rng.uniform(-1.5, 1.5, size=(n, 2))
    return X, rings(X), rings, SureSVC(gamma=1.0, C=100.0)


def errors(name, seed):
    rng = np.random.default_rng(seed)
    X, y_true, truth, model = problem(name, rng)
    pool, test = slice(N_POOL), slice(N_POOL, None)
    y = np.full(N_POOL, -1)
    for c in np.unique(y_true):
        y[np.flatnonzero(y_true[pool] == c)[:2]] = c
    learners = {
        "pool, random": ActiveLearner(
            model, RandomSampling(random_state=seed), budget=BUDGET
        ),
        "pool, margin": ActiveLearner(model, budget=BUDGET, random_state=seed),
    }
    for rule in ("quantile", "variable"):
        learners[f"stream, {rule}"] = StreamLearner(
            model,
            threshold=rule,
            rate=BUDGET / N_POOL,
            budget=BUDGET,
            n_start=1,
            random_state=seed,
        )
    if truth is not None:
        for method in ("segment", "ascent"):
            learners[f"made up, {method}"] = MembershipLearner(
                model, method=method, budget=BUDGET, random_state=seed
            )
    found = {}
    for kind, learner in learners.items():
        oracle = truth if kind.startswith("made") else lambda rows: y_true[rows]
        learner.fit(X[pool], y, oracle=oracle)
        found[kind] = 100 * (1 - learner.score(X[test], y_true[test]))
    return found


def main():
    table = {}
    for name in ("plane", "rings", "digits"):
        runs = [errors(name, seed) for seed in range(REPETITIONS)]
        for kind in runs[0]:
            values = [run[kind] for run in runs]
            spread = np.std(values, ddof=1) / np.sqrt(REPETITIONS)
            table.setdefault(kind, {})[name] = f"{np.mean(values):.1f} ± {spread:.1f}"
        print(name, {kind: row.get(name) for kind, row in table.items()}, flush=True)
    with RESULTS.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["questions", "plane", "rings", "digits"])
        for kind, row in table.items():
            writer.writerow(
                [kind, *(row.get(n, "-") for n in ("plane", "rings", "digits"))]
            )


if __name__ == "__main__":
    main()
