"""Table 1 of 003 and tables 2 and 3 of 000 on S2RLSC, next to the published ones."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import os
from pathlib import Path

import numpy as np
from benchmarks.papers.s2rlsc_experiment import METHODS, ONE_PLUS_ONE, run_repetition
from tqdm import tqdm

REPETITIONS = 10
COLUMNS = (
    "source",
    "table",
    "scenario",
    "dataset",
    "class_a",
    "class_b",
    "n_labelled",
    "n_unlabelled",
    "n_test",
    "method",
    "repetition",
    "error",
)


def published_rows():
    """Return the published numbers, one dict per row and method."""
    folder = os.environ.get("FEWLABELS_PUBLISHED")
    if not folder or not Path(folder, "s2rlsc_errors.csv").is_file():
        raise SystemExit(
            "Set FEWLABELS_PUBLISHED to the folder that holds s2rlsc_errors.csv, the "
            "published tables."
        )
    with Path(folder, "s2rlsc_errors.csv").open(encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    for row in rows:
        row["source"] = row.pop("source_file")[:3]
    # What the (1+1)-EA is compared with.
    same = [
        {**row, "method": ONE_PLUS_ONE}
        for row in rows
        if (row["source"], row["method"]) == ("000", "S2RLSC")
    ]
    return rows + same


def key_of(row):
    return tuple(row[column] for column in COLUMNS[:9])


def tables(out, only=None, repetitions=REPETITIONS, methods=METHODS):
    """Run every method and repetition of every row that is not done yet."""
    raw = out / "s2rlsc_repetitions.csv"
    done = set()
    if raw.exists():
        with raw.open() as handle:
            for row in csv.DictReader(handle):
                done.add((*key_of(row), row["method"], int(row["repetition"])))
    tasks = {}
    for row in published_rows():
        if row["method"] in methods:
            tasks.setdefault(key_of(row), []).append(row)
    todo = []
    for repetition in range(repetitions):  # a part of the time gives whole tables
        for key, rows in tasks.items():
            names = [r["method"] for r in rows]
            left = [m for m in names if (*key, m, repetition) not in done]
            if left and (only is None or only in "/".join(key)):
                todo.append((key, rows[0], repetition, left))
    missing = set()
    new = not raw.exists()
    with raw.open("a", newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        for key, row, repetition, left in tqdm(todo, unit="repetition"):
            try:
                errors = run_repetition(row, repetition, left)
            except FileNotFoundError:
                missing.add(row["dataset"])
                continue
            for method, error in errors.items():
                writer.writerow(
                    {
                        **dict(zip(COLUMNS[:9], key, strict=True)),
                        "method": method,
                        "repetition": repetition,
                        "error": f"{error:.4f}",
                    }
                )
            handle.flush()
    for dataset in sorted(missing):
        print(f"left out, data not found: {dataset}")
    summarise(raw, out / "s2rlsc_tables.csv")


def summarise(raw, path):
    """Put our means next to the published ones."""
    with raw.open() as handle:
        found = {}
        for row in csv.DictReader(handle):
            found.setdefault((*key_of(row), row["method"]), []).append(
                float(row["error"])
            )
    lines = []
    for row in published_rows():
        ours = found.get((*key_of(row), row["method"]))
        if not ours:
            continue
        mean, std = np.mean(ours), np.std(ours)
        published = float(row["error_mean"])
        deviation = float(row["error_std"])
        difference = mean - published
        if difference:  # without a published deviation, any difference is infinite
            difference = difference / deviation if deviation else difference * np.inf
        lines.append(
            {
                "source": f"{row['source']} table {row['table']}",
                "scenario": row["scenario"],
                "data": row["dataset"]
                + (f" ({row['class_a']}, {row['class_b']})" if row["class_a"] else ""),
                "l": row["n_labelled"],
                "u": row["n_unlabelled"],
                "t": row["n_test"],
                "method": row["method"],
                "published": f"{published:.1f} ± {deviation:.1f}",
                "ours": f"{mean:.1f} ± {std:.1f}",
                "difference / published deviation": f"{difference:+.2f}",
                "runs": len(ours),
            }
        )
    with path.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return lines
