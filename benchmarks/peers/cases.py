"""Write the cases of the comparison to files, so that workers import nothing for them.

    python benchmarks/peers/cases.py '{"task": "labels", "set": "moons", ...}' FILE

A case is a training set (rows, labels with -1 where there is none, true classes) and
rows that were held out, or a partition problem (kernel matrix, signs, regularisation).
"""

# SPDX-License-Identifier: BSD-3-Clause

import json
import sys
from pathlib import Path

import numpy as np
from scipy import sparse

sys.path.append(str(Path(__file__).resolve().parents[2]))

# Of the unlabelled rows, this share is held out: new rows, unseen in training.
TEST_SHARE = 0.25
GROWTH_LABELS = 10
GROWTH_NOISE = 0.1


def labels_case(name, n_labels, split):
    """Hold out a share of the unlabelled rows; the training set has the others."""
    from benchmarks.sets import data_of, holes  # workers read cases without them

    X, y, splits = data_of(name, n_labels)
    y = np.asarray(y)
    labeled = np.asarray(splits[split])
    unlabeled = np.setdiff1d(np.arange(y.size), labeled)
    rng = np.random.RandomState(split)
    test = np.sort(rng.permutation(unlabeled)[: int(TEST_SHARE * unlabeled.size)])
    train = np.setdiff1d(np.arange(y.size), test)
    if sparse.issparse(X):
        X = X.tocsr()
    return {
        "X": X[train],
        "labels": holes(y, labeled)[train],
        "y": y[train],
        "X_test": X[test],
        "y_test": y[test],
    }


def clusters_case(name, n_labels, split):
    """Return the same rows without any label."""
    case = labels_case(name, n_labels, split)
    return {**case, "labels": np.full(case["y"].size, -1)}


def growth_case(n):
    """Two moons with ten labels; a thousand further rows are held out."""
    from benchmarks.sets import holes
    from sklearn.datasets import make_moons

    X, y = make_moons(n + 1000, noise=GROWTH_NOISE, random_state=0)
    labeled = np.concatenate(
        [np.flatnonzero(y[:n] == c)[: GROWTH_LABELS // 2] for c in (0, 1)]
    )
    return {
        "X": X[:n],
        "labels": holes(y[:n], labeled),
        "y": y[:n],
        "X_test": X[n:],
        "y_test": y[n:],
    }


def partition_case(name, n_labels, alpha):
    """Return the binary problem under S2RLSClassifier(alpha=alpha), on all rows."""
    from benchmarks.sets import data_of
    from sklearn.metrics.pairwise import rbf_kernel

    X, y, splits = data_of(name, n_labels)
    signs = np.zeros(len(y))
    labeled = np.asarray(splits[0])
    signs[labeled] = 2 * np.asarray(y)[labeled] - 1
    X = np.asarray(X, dtype=float)
    K = rbf_kernel(X, gamma=1 / (X.shape[1] * X.var()))
    return {"K": (K + K.T) / 2, "signs": signs, "lam": alpha}


def make(job):
    """Return the case that a job is about."""
    if job["task"] == "growth":
        return growth_case(job["n"])
    if job["task"] == "partition":
        return partition_case(job["set"], job["n_labels"], job["lam"])
    maker = {"labels": labels_case, "clusters": clusters_case}[job["task"]]
    return maker(job["set"], job["n_labels"], job["split"])


def save(case, path):
    """Write a case; a sparse matrix as its three arrays."""
    arrays = {}
    for key, value in case.items():
        if sparse.issparse(value):
            for part in ("data", "indices", "indptr", "shape"):
                arrays[f"{key}.{part}"] = getattr(value, part)
        else:
            arrays[key] = value
    np.savez(path, **arrays)


def load(path):
    """Read a case."""
    with np.load(path) as arrays:
        found = {key: arrays[key] for key in arrays.files}
    for key in ("X", "X_test"):
        if f"{key}.data" in found:
            parts = [found.pop(f"{key}.{p}") for p in ("data", "indices", "indptr")]
            shape = tuple(found.pop(f"{key}.shape"))
            found[key] = sparse.csr_matrix(tuple(parts), shape=shape)
    return found


if __name__ == "__main__":
    save(make(json.loads(sys.argv[1])), sys.argv[2])
