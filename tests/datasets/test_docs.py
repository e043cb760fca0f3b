# SPDX-License-Identifier: BSD-3-Clause

import re
from pathlib import Path

import pytest

from fewlabels import datasets
from fewlabels.datasets._registry import REGISTRY

PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"


@pytest.fixture(scope="module")
def text():
    if not PAGE.exists():
        pytest.skip("the documentation is not part of the source distribution")
    return PAGE.read_text(encoding="utf-8")


def expected_row(entry):
    cells = [
        f"`{entry.loader}`",
        entry.title,
        entry.n_samples,
        entry.n_features,
        len(entry.labels) or "none",
        entry.splits_text,
        entry.source,
        "no" if entry.openml is None else f"data set {entry.openml.data_id}",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def test_table_agrees_with_the_registry(text):
    rows = re.findall(r"^\| `load_.*$", text, flags=re.MULTILINE)
    assert rows == [expected_row(entry) for entry in REGISTRY.values()]


def test_every_public_name_is_mentioned(text):
    assert [name for name in datasets.__all__ if name not in text] == []


def test_public_names_have_examples():
    for name in datasets.__all__:
        assert "Examples\n" in getattr(datasets, name).__doc__, name


def test_registry_is_consistent():
    digests = {entry.digest for entry in REGISTRY.values()}
    assert len(digests) == len(REGISTRY)
    for key, entry in REGISTRY.items():
        assert entry.file == f"{key}.npz"
        assert re.fullmatch("[0-9a-f]{64}", entry.digest)
        assert list(entry.labels) == sorted(entry.labels)
        assert bool(entry.n_splits) == bool(entry.split_sizes)
        if entry.image_shape is not None:
            height, width = entry.image_shape
            assert height * width == entry.n_features
