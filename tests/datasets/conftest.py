"""Small stand-ins for the benchmark files, and no way out to the network."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.utils import Bunch

from fewlabels.datasets import _data_files
from fewlabels.datasets._registry import REGISTRY, Entry

N_SAMPLES = 120


class FakeSet(NamedTuple):
    entry: Entry
    arrays: dict

    def save(self, folder, **changes):
        """Write the file into a folder, with some of the arrays replaced."""
        folder.mkdir(exist_ok=True)
        path = folder / self.entry.file
        np.savez(path, **(self.arrays | changes))
        return path

    def as_openml(self):
        """What fetch_openml returns for this set."""
        labels = self.arrays["y"].astype(int) + self.entry.openml.first_label
        return Bunch(
            data=self.arrays["X"].astype(np.float64),
            target=np.array([str(label) for label in labels], dtype=object),
        )


def _make_arrays(entry, rng):
    n, d = entry.n_samples, entry.n_features
    arrays = {}
    if entry.n_stored is None:
        X = rng.integers(0, 256, size=(n, d))
        arrays["X"] = (X / 1000 if entry.dtype == "float32" else X).astype(entry.dtype)
    else:
        arrays["X_data"] = np.arange(1, n + 1, dtype=np.float32)
        arrays["X_indices"] = rng.integers(0, d, size=n).astype(np.int32)
        arrays["X_indptr"] = np.arange(n + 1, dtype=np.int32)
        arrays["X_shape"] = np.array([n, d])
    if entry.labels:
        arrays["y"] = rng.permutation(np.resize(entry.labels, n)).astype(np.int8)
    for name, dtype in entry.row_arrays.items():
        arrays[name] = np.arange(n).astype(dtype)
    if entry.openml is not None:
        arrays["is_test"] = np.arange(n) >= entry.openml.n_train
    for size in entry.split_sizes:
        splits = [rng.choice(n, size, replace=False) for _ in range(entry.n_splits)]
        arrays[entry.split_array(size)] = np.array(splits, dtype=np.int16)
    return arrays


@pytest.fixture
def fake(monkeypatch):
    """Put a stand-in with few rows into the registry: ``fake("usps")``."""

    def make(key):
        entry = replace(
            REGISTRY[key],
            n_samples=N_SAMPLES,
            n_stored=REGISTRY[key].n_stored and N_SAMPLES,
        )
        if entry.openml is not None:
            entry = replace(entry, openml=replace(entry.openml, n_train=90))
        arrays = _make_arrays(entry, np.random.default_rng(0))
        entry = replace(entry, digest=_data_files.content_digest(arrays))
        monkeypatch.setitem(REGISTRY, key, entry)
        return FakeSet(entry, arrays)

    return make


@pytest.fixture
def isolated(monkeypatch, tmp_path):
    """No data folders but those of the test, and an OpenML that cannot be reached."""

    def unreachable(**kwargs):
        raise OSError("no route to OpenML")

    monkeypatch.delenv("FEWLABELS_DATA", raising=False)
    monkeypatch.setenv("FEWLABELS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(_data_files, "fetch_openml", unreachable)
    return tmp_path
