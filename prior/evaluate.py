"""Measure the network on real tables: alone, and as a candidate.

    python prior/evaluate.py weights.pt             # alone, beside extra trees
    python prior/evaluate.py weights.pt --automatic # the automatic classifier with it

Tables, rows and labels are those of benchmarks/tables.py. Tables at even places of the
sorted names are for validation; `--half 1` takes the others, once, at the end.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from candidate import in_banks
from inference import Network, fit_cells
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesClassifier

from fewlabels import FewLabelsClassifier

sys.path.append(str(Path(__file__).resolve().parents[1]))

from benchmarks import tables

SETTINGS = ("3 per class", "10 per class")
N_CONTEXT = 300
BATCH = 250


def main():
    """Print a line per table, draw and setting, and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--automatic", action="store_true")
    parser.add_argument("--half", type=int, choices=[0, 1], default=0)
    parser.add_argument("--draws", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    network = load(given.weights)
    found = {setting: [] for setting in SETTINGS}
    for draw in range(given.draws):
        for name in tables.names()[given.half :: 2]:
            X, groups, codes = tables.load(name, draw)
            if groups is None or issparse(X):
                continue
            for setting in SETTINGS:
                rng = np.random.RandomState(1000 + draw)
                kept = tables.labelled_rows(codes, setting, rng)
                if given.automatic:
                    pair = automatic(network, X, groups, codes, kept, draw)
                else:
                    pair = alone(network, X, groups, codes, kept, draw)
                found[setting].append(pair)
                print(name, draw, setting, *(f"{e:.2f}" for e in pair), flush=True)
    for setting, pairs in found.items():
        print(setting, np.mean(pairs, axis=0).round(2), len(pairs))


def load(path):
    """Weights of a training, as a network in NumPy."""
    saved = torch.load(path, map_location="cpu", weights_only=True)
    weights = {name: value.numpy() for name, value in saved["average"].items()}
    return Network(weights, saved["settings"]["n_heads"])


def alone(network, X, groups, codes, kept, draw):
    """Errors of the network and of extra trees on rows without a label, in percent."""
    rng = np.random.RandomState(draw)
    columns = [np.flatnonzero(groups == k) for k in np.unique(groups)]
    encoder = fit_cells(X, columns, rng)
    rest = np.setdiff1d(np.arange(codes.size), kept)
    seen = np.concatenate([kept, rng.permutation(rest)[:N_CONTEXT]])
    known = np.full(codes.size, -1)
    known[kept] = codes[kept]
    context = network.context(
        encoder(X[seen]), encoder.names, known[seen], codes.max() + 1
    )
    logits = np.concatenate(
        [
            context(encoder(X[rest[start : start + BATCH]]))
            for start in range(0, rest.size, BATCH)
        ]
    )
    trees = ExtraTreesClassifier(random_state=draw).fit(X[kept], codes[kept])
    answers = logits.argmax(1), trees.predict(X[rest])
    return [100 * np.mean(answer != codes[rest]) for answer in answers]


def automatic(network, X, groups, codes, kept, draw):
    """Errors of the automatic classifier with the network and without, in percent."""
    y = np.full(codes.size, -1)
    y[kept] = codes[kept]
    rest, errors = np.flatnonzero(y < 0), []
    for context in (in_banks(network), nullcontext()):
        with context:
            model = FewLabelsClassifier(
                scale="none", feature_groups=groups, random_state=draw
            ).fit(X, y)
        errors.append(100 * np.mean(model.transduction_[rest] != codes[rest]))
    return errors


if __name__ == "__main__":
    main()
