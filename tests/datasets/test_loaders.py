# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import issparse
from sklearn.utils import Bunch

from fewlabels import datasets
from fewlabels.datasets import (
    load_coil20,
    load_g50c,
    load_mnist,
    load_old_faithful,
    load_ssl_book,
    load_usps,
    split_labels,
)
from fewlabels.datasets._registry import REGISTRY, SSL_BOOK

pytestmark = pytest.mark.usefixtures("isolated")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FEWLABELS_DATA", str(tmp_path))
    return tmp_path


def call_loader(entry):
    """Run the call that the registry, and so the documentation, gives."""
    return eval(entry.loader, vars(datasets))


@pytest.mark.parametrize("key", REGISTRY)
def test_bunch(fake, home, key):
    entry, arrays = stand_in = fake(key)
    path = stand_in.save(home)
    dataset = call_loader(entry)
    assert isinstance(dataset, Bunch)
    assert dataset.data.shape == (entry.n_samples, entry.n_features)
    assert dataset.data.dtype == entry.dtype
    assert issparse(dataset.data) == (entry.n_stored is not None)
    assert dataset.filename == str(path)
    assert dataset.source == entry.source
    assert dataset.DESCR.startswith(entry.title)
    assert entry.notes in dataset.DESCR
    for name in entry.row_arrays:
        assert_array_equal(dataset[name], arrays[name])
    if entry.labels:
        # 0, 1, ... whatever the labels were: -1 is no class in this library.
        assert dataset.target.dtype == np.int64
        assert_array_equal(np.unique(dataset.target), np.arange(len(entry.labels)))
        assert_array_equal(dataset.target_names, entry.labels)
        assert_array_equal(dataset.target_names[dataset.target], arrays["y"])
    else:
        assert dataset.target is None
    if entry.split_sizes:
        assert dataset.splits.dtype == np.intp
        assert dataset.splits.shape == (entry.n_splits, entry.split_sizes[0])
    else:
        assert "splits" not in dataset


@pytest.mark.parametrize("name", SSL_BOOK)
@pytest.mark.parametrize("n_labeled", [10, 100])
def test_ssl_book_splits(fake, home, name, n_labeled):
    stand_in = fake(SSL_BOOK[name])
    stand_in.save(home)
    dataset = load_ssl_book(name, n_labeled=n_labeled)
    assert_array_equal(dataset.splits, stand_in.arrays[f"idx_lab_{n_labeled}"])


def test_sparse_data(fake, home):
    stand_in = fake("pcmac")
    stand_in.save(home)
    X = datasets.load_pcmac().data
    assert X.format == "csr"
    rows = np.arange(X.shape[0])
    assert_array_equal(
        np.asarray(X[rows, stand_in.arrays["X_indices"]]).ravel(),
        stand_in.arrays["X_data"],
    )


@pytest.mark.parametrize("loader", [load_g50c, load_old_faithful])
def test_return_X_y(fake, home, loader):
    for key in ("g50c", "faithful"):
        fake(key).save(home)
    dataset = loader()
    X, y = loader(return_X_y=True)
    assert_array_equal(X, dataset.data)
    assert_array_equal(y, dataset.target)


@pytest.mark.parametrize(
    ("loader", "key", "classes"),
    [
        (load_usps, "usps", (2, 5)),
        (load_usps, "usps", (8, 0)),
        (load_mnist, "mnist", [3, 8]),
        (load_coil20, "coil20", np.array([18, 19, 1])),
    ],
)
def test_classes(fake, home, loader, key, classes):
    entry, arrays = stand_in = fake(key)
    stand_in.save(home)
    dataset = loader(classes=classes)
    rows = np.isin(arrays["y"], classes)
    assert_array_equal(dataset.data, arrays["X"][rows])
    assert_array_equal(dataset.target_names, classes)
    assert_array_equal(dataset.target_names[dataset.target], arrays["y"][rows])
    assert_array_equal(np.unique(dataset.target), np.arange(len(classes)))
    for name in entry.row_arrays:
        assert_array_equal(dataset[name], arrays[name][rows])
    assert len(dataset.images) == rows.sum()
    X, y = loader(classes=classes, return_X_y=True)
    assert_array_equal(X, dataset.data)
    assert_array_equal(y, dataset.target)


@pytest.mark.parametrize("classes", [(), (2,), (2, 2), (2, 10), (2, -1), "25"])
def test_classes_out_of_range(classes):
    # Before any file is looked for.
    with pytest.raises(ValueError, match=r"classes must name .* out of 0, 1, 2, 3"):
        load_usps(classes=classes)


def test_images(fake, home):
    for key in ("usps", "coil20"):
        fake(key).save(home)
    usps, coil20 = load_usps(), load_coil20()
    assert_array_equal(usps.images[7], usps.data[7].reshape(16, 16))
    assert_array_equal(coil20.images[7], coil20.data[7].reshape(32, 32).T)


def test_smoothed_usps_is_a_file_of_its_own(fake, home):
    fake("usps").save(home)
    smoothed = fake("usps_smoothed")
    with pytest.raises(FileNotFoundError, match=r"usps_smoothed\.npz"):
        load_usps(smoothed=True)
    smoothed.save(home)
    assert_array_equal(load_usps(smoothed=True).data, smoothed.arrays["X"])


def test_ssl_book_errors():
    with pytest.raises(
        ValueError, match=r"name='mnist' is unknown; use one of 'digit1'"
    ):
        load_ssl_book("mnist")
    with pytest.raises(ValueError, match=r"n_labeled must be one of \(10, 100\).*50"):
        load_ssl_book("usps", n_labeled=50)


def test_split_labels(fake, home):
    fake("g50c").save(home)
    dataset = load_g50c()
    for split, labeled in enumerate(dataset.splits):
        y = split_labels(dataset, split)
        assert_array_equal(np.flatnonzero(y != -1), np.sort(labeled))
        assert_array_equal(y[labeled], dataset.target[labeled])
    assert dataset.target.min() == 0


def test_split_labels_errors(fake, home):
    for key in ("g50c", "usps"):
        fake(key).save(home)
    for split in (-1, 10):
        with pytest.raises(ValueError, match="split must be at least 0 and at most 9"):
            split_labels(load_g50c(), split)
    with pytest.raises(ValueError, match="has no splits: use hide_labels"):
        split_labels(load_usps(), 0)
