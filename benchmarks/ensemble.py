"""Compare the boosters with those of scikit-learn.

Breast cancer (2 classes) and digits (10 classes), both part of scikit-learn. Training
rows are drawn at random, with every class among them; all other rows are the test set.
All methods get the same rows and 100 rounds of trees with two leaves, except
HistGradientBoostingClassifier, which keeps its defaults, and the booster of three
stages, which has three. Seconds are those of `fit`, as multiples of AdaBoost's in the
same process.

    python benchmarks/ensemble.py             # and benchmarks/results/ensemble.csv
    python benchmarks/ensemble.py 2           # fewer draws, nothing is written
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from fewlabels.ensemble import (
    GentleAdaBoostClassifier,
    LogitBoostClassifier,
    ThreeStageBoostClassifier,
)

RESULTS = Path(__file__).parent / "results" / "ensemble.csv"
REPETITIONS = 10
ROUNDS = 100
SETTINGS = [
    ("breast cancer", load_breast_cancer, 40),
    ("breast cancer", load_breast_cancer, 284),
    ("digits", load_digits, 100),
    ("digits", load_digits, 898),
]


def models(seed):
    """Name -> classifier; the first is the measure of time."""
    rounds = {"n_estimators": ROUNDS, "random_state": seed}
    return {
        "scikit-learn AdaBoost": AdaBoostClassifier(**rounds),
        "LogitBoost": LogitBoostClassifier(**rounds),
        "Gentle AdaBoost": GentleAdaBoostClassifier(**rounds),
        "three stages": ThreeStageBoostClassifier(random_state=seed),
        "scikit-learn HistGradientBoosting": HistGradientBoostingClassifier(
            random_state=seed
        ),
    }


def measure(load, n_labels, repetitions):
    """Name -> (errors in percent, seconds), one entry per draw."""
    X, y = load(return_X_y=True)
    found = {name: ([], []) for name in models(0)}
    for seed in range(repetitions):
        split = train_test_split(
            X, y, train_size=n_labels, stratify=y, random_state=seed
        )
        X_train, X_test, y_train, y_test = split
        for name, model in models(seed).items():
            start = time.perf_counter()
            model.fit(X_train, y_train)
            found[name][1].append(time.perf_counter() - start)
            found[name][0].append(100 * (1 - model.score(X_test, y_test)))
    return found


def main(repetitions=REPETITIONS):
    rows = []
    for data, load, n_labels in SETTINGS:
        found = measure(load, n_labels, repetitions)
        # Medians: one draw may wait for another process.
        unit = np.median(found["scikit-learn AdaBoost"][1])
        for name, (errors, seconds) in found.items():
            row = {
                "data": data,
                "labels": n_labels,
                "method": name,
                "error": f"{np.mean(errors):.1f} ± {np.std(errors):.1f} %",
                "time / AdaBoost": f"{np.median(seconds) / unit:.2f}",
            }
            rows.append(row)
            print(" | ".join(str(value) for value in row.values()), flush=True)
    if repetitions == REPETITIONS:
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("w", newline="") as handle:
            writer = csv.DictWriter(handle, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return rows


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
