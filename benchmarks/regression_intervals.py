"""How often the interval of a regression's expected error holds the true error.

Twelve designs, six functions with fewer and with more labels: rows are normal, and the
truth is the root mean square error on the rows without a label. Every draw has rows,
noise and labels of its own. The constants of the interval were chosen on the draws
below 100; the table has those from 1,000 on.

    python benchmarks/regression_intervals.py   # results/regression_intervals.csv
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from fewlabels import FewLabelsRegressor

RESULTS = Path(__file__).parent / "results" / "regression_intervals.csv"
FIRST = 1000


def _linear(X: Any, rng: np.random.Generator) -> Any:
    return X @ np.linspace(1, 2, X.shape[1]) + 0.1 * rng.normal(size=len(X))


def _sine(X: Any, rng: np.random.Generator) -> Any:
    return np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=len(X))


def _products(X: Any, rng: np.random.Generator) -> Any:
    return X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + 0.1 * rng.normal(size=len(X))


def _squares(X: Any, rng: np.random.Generator) -> Any:
    return (X**2).sum(axis=1) + 0.1 * rng.normal(size=len(X))


def _heavy_tails(X: Any, rng: np.random.Generator) -> Any:
    return X[:, 0] + rng.standard_t(3, size=len(X))


def _noise(X: Any, rng: np.random.Generator) -> Any:
    return rng.normal(size=len(X))


FUNCTIONS: dict[str, Callable[[Any, np.random.Generator], Any]] = {
    "linear": _linear,
    "sine": _sine,
    "products": _products,
    "squares": _squares,
    "heavy tails": _heavy_tails,
    "noise": _noise,
}
DESIGNS = [
    *(("linear", 10), ("linear", 40), ("sine", 8), ("sine", 30)),
    *(("products", 15), ("products", 60), ("squares", 10), ("squares", 30)),
    *(("heavy tails", 10), ("heavy tails", 40), ("noise", 8), ("noise", 30)),
]


def problem(function: str, seed: int) -> tuple[Any, Any]:
    """Make 150 to 200 rows with 4 to 6 columns, and their targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(150, 201), rng.integers(4, 7)))
    return X, FUNCTIONS[function](X, rng)


def one_draw(task: tuple[str, int, int]) -> dict[str, Any]:
    """Fit one draw, and compare the interval with the truth."""
    function, n_labeled, seed = task
    X, t = problem(function, seed)
    y = np.where(np.arange(t.size) < n_labeled, t, np.nan)
    model = FewLabelsRegressor(bank="fast", random_state=0).fit(X, y)
    holes = np.isnan(y)
    true = float(np.sqrt(np.mean((model.transduction_ - t)[holes] ** 2)))
    found = model.expected_error_
    return {
        "function": function,
        "labels": n_labeled,
        "draw": seed,
        "expected": found.value,
        "low": found.low,
        "high": found.high,
        "true": true,
    }


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Summarise the draws of every design."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["function"], int(row["labels"])].append(row)
    table = []
    for (function, n_labeled), draws in groups.items():
        expected, low, high, true = (
            np.array([float(row[name]) for row in draws])
            for name in ("expected", "low", "high", "true")
        )
        table.append(
            {
                "function": function,
                "labels": n_labeled,
                "draws": len(draws),
                "inside": f"{np.mean((low <= true) & (true <= high)):.2f}",
                "above": f"{np.mean(true > high):.2f}",
                "expected / true": f"{np.median(expected / true):.2f}",
                "low / true": f"{np.median(low / true):.2f}",
                "high / true": f"{np.median(high / true):.2f}",
            }
        )
    return table


def main(arguments: list[str] | None = None) -> None:
    """Run all draws, write the table and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=100, help="of every design")
    parser.add_argument("--first", type=int, default=FIRST, help="number of the first")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    seeds = range(given.first, given.first + given.draws)
    tasks = [(*design, seed) for design, seed in product(DESIGNS, seeds)]
    with ProcessPoolExecutor(given.jobs) as pool:
        table = summary(list(pool.map(one_draw, tasks, chunksize=10)))
    with given.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, table[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    for line in [list(table[0]), *(list(row.values()) for row in table)]:
        print("".join(str(value).rjust(16) for value in line))


if __name__ == "__main__":
    main()
