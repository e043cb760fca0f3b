"""Nyström approximation of a matrix."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from fewlabels.kernels import TiledGram, nystrom_approximation


def test_exact_where_the_rank_is_reached(rng):
    Z = rng.normal(size=(40, 4))
    M = Z @ Z.T
    for rank in (None, 4, 6):
        result = nystrom_approximation(M, 8, rank, random_state=0)
        assert result.eigenvalues.size == 4
        assert_allclose(result.toarray(), M, atol=1e-11)


def test_what_is_missing_is_psd(rng):
    M = rbf_kernel(rng.normal(size=(40, 2)))
    result = nystrom_approximation(M, 10, random_state=0)
    assert linalg.eigvalsh(M - result.toarray())[0] > -1e-10


def test_the_formula_and_the_scale(rng):
    """C W_r^+ C', eigenvalues n/l Sigma, vectors sqrt(l/n) C U Sigma^-1."""
    M = rbf_kernel(rng.normal(size=(30, 2)))
    result = nystrom_approximation(M, 9, 5, random_state=1)
    C, block = M[:, result.indices], M[np.ix_(result.indices, result.indices)]
    sigma, U = linalg.eigh(block)
    sigma, U = sigma[::-1][:5], U[:, ::-1][:, :5]
    assert_allclose(result.toarray(), C @ (U / sigma) @ U.T @ C.T, atol=1e-10)
    assert_allclose(result.eigenvalues, sigma * 30 / 9)
    expected = np.sqrt(9 / 30) * C @ U / sigma
    assert_allclose(np.abs(result.eigenvectors), np.abs(expected), atol=1e-9)
    assert_allclose(C @ result.mapping, result.eigenvectors)


def test_equals_the_features_of_scikit_learn(rng):
    X = rng.normal(size=(30, 2))
    features = Nystroem(gamma=0.5, n_components=8, random_state=0).fit(X)
    Z = features.transform(X)
    result = nystrom_approximation(
        rbf_kernel(X, gamma=0.5), 8, indices=features.component_indices_
    )
    assert_allclose(result.toarray(), Z @ Z.T, atol=1e-9)


def test_operators_give_only_their_columns(rng):
    X = rng.normal(size=(30, 2))
    gram = TiledGram(X, gamma=0.5)
    by_operator = nystrom_approximation(gram, 6, random_state=0)
    by_matrix = nystrom_approximation(rbf_kernel(X, gamma=0.5), 6, random_state=0)
    assert_array_equal(by_operator.indices, by_matrix.indices)
    assert_allclose(by_operator.toarray(), by_matrix.toarray(), atol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_columns": 0}, "n_columns=0"),
        ({"n_columns": 5}, "n_columns=5"),
        ({"n_columns": 2, "n_components": 3}, "n_components=3"),
        ({"n_columns": 2, "indices": [0, 0]}, "different integers"),
        ({"n_columns": 2, "indices": [0, 7]}, "different integers"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        nystrom_approximation(np.eye(4), **arguments)


def test_not_square():
    with pytest.raises(ValueError, match="square"):
        nystrom_approximation(np.ones((3, 2)), 1)


def test_zero_matrix():
    result = nystrom_approximation(np.zeros((4, 4)), 2, random_state=0)
    assert result.eigenvalues.size == 0
    assert_array_equal(result.toarray(), np.zeros((4, 4)))
