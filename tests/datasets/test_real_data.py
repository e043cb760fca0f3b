"""The benchmark files themselves, where the environment says they are."""

# SPDX-License-Identifier: BSD-3-Clause

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils import Bunch

from fewlabels.datasets import (
    load_coil20,
    load_facemit,
    load_g10n,
    load_g50c,
    load_mnist,
    load_old_faithful,
    load_pcmac,
    load_ssl_book,
    load_usps,
    load_uspst,
    split_labels,
)
from fewlabels.datasets._data_files import _from_openml, get_arrays
from fewlabels.datasets._registry import REGISTRY, SSL_BOOK

pytestmark = pytest.mark.skipif(
    not os.environ.get("FEWLABELS_DATA"),
    reason="FEWLABELS_DATA does not name the folder with the benchmark files",
)

USPS_COUNTS = [1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821]


def load(loader, *args, **kwargs):
    return loader(*args, download_if_missing=False, **kwargs)


@pytest.mark.parametrize(
    ("loader", "params", "shape", "counts"),
    [
        (load_usps, {}, (9298, 256), USPS_COUNTS),
        (load_usps, {"smoothed": True}, (9298, 256), USPS_COUNTS),
        (
            load_uspst,
            {},
            (2007, 256),
            [327, 273, 206, 178, 196, 140, 174, 173, 160, 180],
        ),
        (load_coil20, {}, (1440, 1024), [72] * 20),
        (
            load_mnist,
            {},
            (70000, 784),
            [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958],
        ),
        (load_g50c, {}, (550, 50), [275, 275]),
        (load_g10n, {}, (550, 10), [276, 274]),
        (load_pcmac, {}, (1946, 7511), [961, 985]),
        (load_ssl_book, {"name": "digit1"}, (1500, 241), [766, 734]),
        (load_ssl_book, {"name": "usps"}, (1500, 241), [1200, 300]),
        (load_ssl_book, {"name": "coil2"}, (1500, 241), [750, 750]),
        (load_ssl_book, {"name": "bci"}, (400, 117), [200, 200]),
        (load_ssl_book, {"name": "g241c"}, (1500, 241), [750, 750]),
        (load_ssl_book, {"name": "coil"}, (1500, 241), [250] * 6),
        (load_ssl_book, {"name": "g241d"}, (1500, 241), [752, 748]),
        (load_ssl_book, {"name": "text"}, (1500, 11960), [750, 750]),
        (load_facemit, {}, (6977, 361), [4548, 2429]),
    ],
)
def test_shapes_and_counts(loader, params, shape, counts):
    dataset = load(loader, **params)
    assert dataset.data.shape == shape
    assert_array_equal(np.bincount(dataset.target), counts)


def test_old_faithful():
    dataset = load(load_old_faithful)
    assert dataset.data.shape == (272, 2)
    assert dataset.feature_names == ["eruptions", "waiting"]
    assert dataset.data[:, 0].max() < dataset.data[:, 1].min()


@pytest.mark.parametrize(
    ("loader", "params"),
    [(load_uspst, {}), (load_g50c, {}), (load_g10n, {}), (load_pcmac, {})]
    + [
        (load_ssl_book, {"name": name, "n_labeled": n_labeled})
        for name in SSL_BOOK
        for n_labeled in (10, 100)
    ],
)
def test_splits(loader, params):
    dataset = load(loader, **params)
    n_labeled = params.get("n_labeled", 10 if "name" in params else 50)
    for split, labeled in enumerate(dataset.splits):
        assert np.unique(labeled).size == n_labeled
        y = split_labels(dataset, split)
        assert np.sum(y != -1) == n_labeled
        assert_array_equal(np.unique(y), np.arange(-1, len(dataset.target_names)))


@pytest.mark.parametrize(
    ("pair", "n_samples"),
    [((2, 5), 1645), ((2, 7), 1721), ((3, 8), 1532), ((8, 0), 2261)],
)
def test_pairs_of_usps_have_the_published_sizes(pair, n_samples):
    for smoothed in (False, True):
        X, y = load(load_usps, smoothed=smoothed, classes=pair, return_X_y=True)
        assert len(X) == len(y) == n_samples


def test_parts():
    assert load(load_usps).is_test.nonzero()[0][0] == 7291
    assert load(load_mnist).is_test.nonzero()[0][0] == 60000


def test_uspst_rows_are_those_of_usps():
    uspst, smoothed = load(load_uspst), load(load_usps, smoothed=True)
    assert np.unique(uspst.usps_row).size == 2007
    assert_array_equal(uspst.target, smoothed.target[uspst.usps_row])
    assert smoothed.is_test[uspst.usps_row].sum() == 439


def test_coil20_views():
    dataset = load(load_coil20)
    assert_array_equal(dataset.view, np.tile(np.arange(72), 20))


@pytest.mark.parametrize("key", ["usps", "mnist"])
def test_form_on_openml_has_our_digest(key):
    # OpenML has the same values with other labels; the digest must see through that.
    entry = REGISTRY[key]
    arrays, _ = get_arrays(entry, download_if_missing=False)
    X = arrays["X"]
    fetched = Bunch(
        data=X.astype(np.float64) if key == "usps" else X,
        target=(arrays["y"] + entry.openml.first_label).astype(str).astype(object),
    )
    converted = _from_openml(entry, entry.openml, fetched)
    assert sorted(converted) == sorted(entry.arrays)
