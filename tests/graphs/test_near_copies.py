"""Near copies among rows."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer

from fewlabels.graphs import near_copies


def joined(groups):
    """Sets of more than one row."""
    sets = [set(np.flatnonzero(groups == g)) for g in np.unique(groups)]
    return [s for s in sets if len(s) > 1]


def test_different_rows_are_no_copies(rng):
    centers = rng.normal(size=(5, 30))
    X = centers[rng.integers(5, size=300)] + 0.7 * rng.normal(size=(300, 30))
    assert joined(near_copies(X)) == []


@pytest.mark.parametrize("size", [2, 5, 30])
def test_bursts_are_found_whatever_their_size(rng, size):
    X = rng.normal(size=(100, 40))
    X[:size] = X[0] + 0.08 * rng.normal(size=(size, 40))
    assert joined(near_copies(X)) == [set(range(size))]


def test_each_row_may_have_a_copy(rng):
    X = rng.normal(size=(80, 40))
    both = np.vstack([X, X + 0.1 * rng.normal(size=X.shape)])
    groups = near_copies(both)
    np.testing.assert_array_equal(groups[:80], groups[80:])
    assert np.unique(groups).size == 80


def test_length_does_not_matter_and_equal_rows_are_copies(rng):
    X = rng.normal(size=(20, 10))
    X[3], X[5] = 7 * X[4], 0.0
    X[6] = 0.0
    assert {3, 4} in joined(near_copies(X))
    assert {5, 6} in joined(near_copies(X))
    np.testing.assert_array_equal(near_copies(X), near_copies(csr_array(X)))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_rows_are_copies_only_if_equal(n):
    assert np.unique(near_copies(np.eye(3)[:n])).size == n
    assert np.unique(near_copies(np.ones((n, 2)))).size == 1


def test_edited_texts_are_found():
    words = [f"w{k}" for k in range(60)]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, 25)) for _ in range(40)]
    texts[20] = texts[10] + " really"
    groups = near_copies(TfidfVectorizer().fit_transform(texts))
    assert joined(groups) == [{10, 20}]
