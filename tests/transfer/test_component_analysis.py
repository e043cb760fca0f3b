"""Transfer component analysis."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from fewlabels.transfer import TransferComponentAnalysis, transfer_components
from fewlabels.transfer._discrepancy import mean_difference


def pencil(K, is_source, mu):
    """The two matrices of the eigenproblem, written out."""
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    e = mean_difference(is_source)
    return K @ H @ K, K @ np.outer(e, e) @ K + mu * np.eye(n)


@pytest.fixture
def sample(rng):
    X = rng.normal(size=(30, 3))
    X[18:] += [2.0, 0.0, 0.0]
    return X, np.arange(30) < 18


def test_eigenproblem(sample):
    X, is_source = sample
    K = rbf_kernel(X)
    A, B = pencil(K, is_source, 0.1)
    values, W = transfer_components(K, is_source, 4, alpha=0.1)
    assert_allclose(A @ W, B @ W * values, atol=1e-9)
    assert_allclose(W.T @ B @ W, np.eye(4), atol=1e-9)
    assert np.all(np.diff(values) <= 0)


def test_kernels_of_large_numbers(sample):
    """K L K + mu I is then singular to the computer, but the means can be equal."""
    X, is_source = sample
    K = 1e12 * X @ X.T
    values, W = transfer_components(K, is_source, 2)
    assert_allclose(
        values, transfer_components(X @ X.T, is_source, 2, alpha=1e-24).values
    )
    Z = K @ W
    assert np.abs(mean_difference(is_source) @ Z).max() < 1e-6 * Z.std()


def test_no_other_components_are_better(sample, rng):
    X, is_source = sample
    K = rbf_kernel(X)
    A, B = pencil(K, is_source, 0.1)
    values, W = transfer_components(K, is_source, 3, alpha=0.1)

    def J(V):
        return np.trace(np.linalg.solve(V.T @ B @ V, V.T @ A @ V))

    assert_allclose(J(W), values.sum())
    for _ in range(20):
        assert J(rng.normal(size=W.shape)) <= J(W)
        assert J(W + 0.01 * rng.normal(size=W.shape)) <= J(W) + 1e-12


def test_a_symmetric_solver_for_the_product_is_wrong(sample):
    """B^-1 A is not symmetric; eigh reads one triangle and misses the optimum."""
    X, is_source = sample
    K = rbf_kernel(X)
    A, B = pencil(K, is_source, 0.1)
    product = np.linalg.solve(B, A)
    assert np.abs(product - product.T).max() > 0.01 * np.abs(product).max()
    V = np.linalg.eigh(product)[1][:, -3:]
    reached = np.trace(np.linalg.solve(V.T @ B @ V, V.T @ A @ V))
    assert (
        reached < (1 - 1e-4) * transfer_components(K, is_source, 3, alpha=0.1)[0].sum()
    )


def test_skada_misses_the_optimum(sample):
    """Its mu multiplies K L K instead of I; with mu = 1 both problems are the same."""
    skada = pytest.importorskip("skada")
    X, is_source = sample
    K = rbf_kernel(X)
    A, B = pencil(K, is_source, 1.0)
    adapter = skada.TransferComponentAnalysisAdapter(
        kernel="rbf", n_components=3, mu=1.0
    )
    adapter.fit(X, sample_domain=np.where(is_source, 1, -2))
    V = adapter.eigvects_
    reached = np.trace(np.linalg.solve(V.T @ B @ V, V.T @ A @ V))
    best = transfer_components(K, is_source, 3, alpha=1.0)
    assert reached < best.values.sum()
    # Where it is right: the leading subspace is close.
    assert linalg.subspace_angles(V, best.vectors).min() < 0.2


def test_identical_samples_give_kernel_pca(rng):
    X = rng.normal(size=(20, 3))
    both = np.vstack([X, X])
    P = KernelPCA(3, kernel="rbf", gamma=0.4).fit_transform(both)
    # K H K has the directions of H K H only for a centred kernel.
    H = np.eye(40) - 1 / 40
    K = H @ rbf_kernel(both, gamma=0.4) @ H
    W = transfer_components(K, np.arange(40) < 20, 3, alpha=0.1).vectors
    exact = np.abs(np.sum(K @ W * P, axis=0)) / np.linalg.norm(K @ W, axis=0)
    assert_allclose(exact / np.linalg.norm(P, axis=0), 1, atol=1e-8)


def test_discrepancy_falls_with_mu(sample):
    """At equal variance of the components."""
    X, is_source = sample
    K = rbf_kernel(X)
    e = mean_difference(is_source)
    found = []
    for mu in (10.0, 0.1, 1e-3, 1e-6):
        values, W = transfer_components(K, is_source, 2, alpha=mu)
        Z = K @ W / np.sqrt(values)
        centred = Z - Z.mean(axis=0)
        assert_allclose(centred.T @ centred, np.eye(2), atol=1e-6)
        found.append(np.sum((e @ Z) ** 2))
    assert np.all(np.diff(found) < 0)
    assert found[-1] < 1e-4 * found[0]


def test_precomputed_and_new_rows(sample):
    X, is_source = sample
    domains = np.where(is_source, 1, -2)
    direct = TransferComponentAnalysis(2, gamma=0.3).fit(X, sample_domain=domains)
    matrix = TransferComponentAnalysis(2, kernel="precomputed")
    matrix.fit(rbf_kernel(X, gamma=0.3), sample_domain=domains)
    new = X[:4] + 0.1
    assert_allclose(
        matrix.transform(rbf_kernel(new, X, gamma=0.3)), direct.transform(new)
    )
    with pytest.raises(ValueError, match="square kernel matrix"):
        matrix.fit(X, sample_domain=domains)
