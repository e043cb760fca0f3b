"""Rows of eigenvectors to clusters."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from fewlabels.cluster import _assign
from fewlabels.cluster._assign import assign_rows


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch):
    monkeypatch.setattr(_assign, "SAMPLE_PER_CLUSTER", 50)


def _assigned(rows, n_clusters):
    rng = np.random.RandomState(0)
    return assign_rows(rows, n_clusters, method="kmeans", n_init=10, rng=rng).labels


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_sample_misses_no_small_cluster(rng, noise):
    """Nor is a warning about the sample handed on."""
    expected = np.repeat([0, 1, 2], [4000, 4000, 3])
    rows = np.eye(3)[expected] + noise * rng.normal(size=(expected.size, 3))
    assert_array_equal(_assigned(rows, 3), expected)


def test_fewer_distinct_rows_than_clusters():
    expected = np.repeat([0, 1], [2999, 1])
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)") as caught:
        labels = _assigned(np.eye(2)[expected], 3)
    assert len(caught) == 1
    assert_array_equal(labels, expected)
