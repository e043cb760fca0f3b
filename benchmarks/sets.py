"""The settings of the literature, shared by the benchmarks.

The sets of the book *Semi-Supervised Learning* with 10 and 100 labels on their own
splits, G50C, PCMAC and USPST with 50 on theirs, other numbers of labels on random ones,
pairs of USPS digits, COIL20, USPS and MNIST as a whole, and generated sets. Files come
from the folder that FEWLABELS_DATA names.
"""

# SPDX-License-Identifier: BSD-3-Clause

from functools import cache

import numpy as np
from sklearn.datasets import make_moons

from fewlabels.datasets import (
    load_coil20,
    load_g50c,
    load_mnist,
    load_pcmac,
    load_ssl_book,
    load_usps,
    load_uspst,
    make_gaussian2c,
    make_gaussian4c,
)

BOOK = ("g241c", "g241d", "digit1", "usps", "bci", "text", "coil", "coil2")
PAIRS = {"USPS 2v5": (2, 5), "USPS 3v8": (3, 8), "USPS 2v7": (2, 7), "USPS 8v0": (8, 0)}
OWN_SPLITS = {"g50c": load_g50c, "pcmac": load_pcmac, "uspst": load_uspst}
GENERATED = {
    "moons": lambda: make_moons(1000, noise=0.1, random_state=0),
    "Gaussian2C": lambda: make_gaussian2c(random_state=0),
    "Gaussian4C": lambda: make_gaussian4c(random_state=0),
}
BOOK_LABELS = (10, 100)
OWN_LABELS = 50
# All methods train on this many leading rows.
TRAINING_PART = {"USPS": 7291, "MNIST": 60_000}
N_RANDOM_SPLITS = 10
N_DRAWN_SPLITS = 12


@cache
def data_of(name, n_labels):
    """Rows, classes, and the labelled rows of every split."""
    if name in BOOK:
        given = n_labels in BOOK_LABELS
        bunch = load_ssl_book(name, n_labels if given else BOOK_LABELS[0])
    elif name in OWN_SPLITS:
        given = n_labels == OWN_LABELS
        bunch = OWN_SPLITS[name]()
    if name in BOOK or name in OWN_SPLITS:
        y = bunch.target
        return bunch.data, y, bunch.splits if given else drawn_splits(y, n_labels)
    if name in GENERATED:
        X, y = GENERATED[name]()
        return X, y, random_splits(y, n_labels)
    if name in PAIRS:
        X, y = load_usps(classes=PAIRS[name], return_X_y=True)
    elif name == "COIL20":
        X, y = load_coil20(return_X_y=True)
    elif name == "USPS":
        X, y = load_usps(return_X_y=True)
    elif name == "MNIST":
        X, y = load_mnist(return_X_y=True)
    else:
        raise ValueError(f"there is no set {name!r}.")
    return np.asarray(X, dtype=np.float32), y, random_splits(y, n_labels)


def random_splits(y, n_labels, n_splits=N_RANDOM_SPLITS):
    """Draw the same number of labels of every class."""
    classes = np.unique(y)
    splits = []
    for seed in range(n_splits):
        rng = np.random.RandomState(seed)
        per_class = n_labels // classes.size
        splits.append(
            np.concatenate(
                [rng.permutation(np.flatnonzero(y == c))[:per_class] for c in classes]
            )
        )
    return splits


def drawn_splits(y, n_labels):
    """Draw labels whatever their class, but at least two of each, as the book does."""
    splits = []
    for seed in range(N_DRAWN_SPLITS):
        rng = np.random.RandomState(1000 + seed)
        while True:
            labeled = rng.permutation(y.size)[:n_labels]
            if np.min([np.sum(y[labeled] == c) for c in np.unique(y)]) >= 2:
                break
        splits.append(labeled)
    return splits


def holes(y, labeled):
    """Hide all labels but those of some rows."""
    labels = np.full(y.size, -1)
    labels[labeled] = y[labeled]
    return labels
