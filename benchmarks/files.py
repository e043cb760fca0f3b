"""Measure the memory of the command line on tables that are read in batches.

    python benchmarks/files.py                       # both commands
    python benchmarks/files.py predict 4e6 20e6      # numbers of rows of one
    python benchmarks/files.py label 1e6 5e6

Tables of 20 columns are made in a folder for temporary files, and removed. Every line
is a process of its own, whose largest resident size is told, and goes to
benchmarks/results/files.csv.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RESULTS = Path(__file__).parent / "results" / "files.csv"
COLUMNS = 20
N_LABELS = 60
CHUNK = 500_000
ROWS = {"predict": (4_000_000, 20_000_000), "label": (1_000_000, 5_000_000)}


def write_rows(path, n_rows, n_labels=0, seed=0):
    """Write four classes of Gaussian rows, some of which have a label."""
    rng = np.random.default_rng(seed)
    centres = 1.2 * np.random.default_rng(0).normal(size=(4, COLUMNS))
    chosen = rng.choice(n_rows, n_labels, replace=False)
    writer = None
    for start in range(0, n_rows, CHUNK):
        kinds = rng.integers(0, 4, min(CHUNK, n_rows - start))
        rows = centres[kinds] + rng.normal(size=(kinds.size, COLUMNS))
        columns = {f"x{k}": rows[:, k].astype(np.float32) for k in range(COLUMNS)}
        if n_labels:
            state = np.full(kinds.size, None, dtype=object)
            here = chosen[(chosen >= start) & (chosen < start + kinds.size)] - start
            state[here] = [f"class {k}" for k in kinds[here]]
            columns["state"] = pa.array(state.tolist(), pa.string())
        table = pa.table(columns)
        if writer is None:
            writer = pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def measured(*arguments):
    """Run the command line; seconds, processor seconds, MB of its largest size."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "fewlabels", *arguments])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"fewlabels {' '.join(arguments)} failed.")
    processor = usage.ru_utime + usage.ru_stime
    return time.perf_counter() - started, processor, usage.ru_maxrss / 1024


def main(command=None, *sizes):
    """Measure one command, or both."""
    for name in [command] if command else ROWS:
        for n_rows in [int(float(size)) for size in sizes] or ROWS[name]:
            with tempfile.TemporaryDirectory() as folder:
                table, out = f"{folder}/table.parquet", f"{folder}/out.parquet"
                write_rows(table, n_rows, N_LABELS if name == "label" else 0, seed=1)
                options = (table, "-o", out, "-q", "--batch-rows", "50000")
                if name == "label":
                    found = measured("label", *options, "-t", "state")
                else:
                    write_rows(f"{folder}/few.parquet", 20_000, N_LABELS)
                    model = f"{folder}/state.fewlabels"
                    learned = ("-t", "state", "--bank", "fast", "-o", model, "-q")
                    measured("fit", f"{folder}/few.parquet", *learned)
                    found = measured("predict", model, *options)
            line = [name, n_rows, *(f"{part:.0f}" for part in found)]
            print(*line, flush=True)
            is_new = not RESULTS.exists()
            with RESULTS.open("a", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                if is_new:
                    names = ["command", "rows", "seconds", "processor_seconds"]
                    writer.writerow([*names, "peak_mb"])
                writer.writerow(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
