"""EigenTransfer: graphs of rows, features and classes."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, sparse

from fewlabels.transfer import (
    EigenTransferClassifier,
    eigen_cluster,
    eigen_transfer_graph,
    stack_domains,
)
from fewlabels.transfer import _eigen_transfer as module


def full_graph(B):
    n, m = B.shape
    W = np.block([[np.zeros((n, n)), B], [B.T, np.zeros((m, m))]])
    D = np.diag(W.sum(axis=1))
    return D - W, D


@pytest.fixture
def B(rng):
    X = rng.random((20, 6)) * (rng.random((20, 6)) < 0.6) + 0.01
    classes = np.where(np.arange(20) < 8, np.arange(20) % 2, -1)
    return eigen_transfer_graph(X, classes, 2).toarray()[:, [*range(6), 12, 13]]


def test_eigenvectors_of_the_whole_graph(B):
    L, D = full_graph(B)
    result = eigen_cluster(B, 5)
    values, vectors = linalg.eigh(L, D)
    assert abs(values[0]) < 1e-12  # the constant one, which is left out
    assert_allclose(result.values, values[1:6], atol=1e-12)
    v = np.vstack([result.rows, result.others])
    assert_allclose(L @ v, D @ v * result.values, atol=1e-10)
    assert_allclose(v.T @ D @ v, D.sum() * np.eye(5), atol=1e-9)
    overlap = np.abs(vectors[:, 1:6].T @ D @ v) / np.sqrt(D.sum())
    assert_allclose(overlap, np.eye(5), atol=1e-8)


def test_without_classes_these_are_singular_vectors(rng):
    X = rng.random((15, 4))
    B = eigen_transfer_graph(X, np.full(15, -1), 0).toarray()
    assert_array_equal(B[:, :4], X)
    d1, d2 = X.sum(axis=1), X.sum(axis=0)
    U, sigma, _ = linalg.svd(X / np.sqrt(np.outer(d1, d2)), full_matrices=False)
    result = eigen_cluster(B, 3)
    assert_allclose(result.values, 1 - sigma[1:], atol=1e-12)
    rows = result.rows * np.sqrt(d1)[:, None]
    rows /= np.linalg.norm(rows, axis=0)
    assert_allclose(np.abs(rows.T @ U[:, 1:]), np.eye(3), atol=1e-8)


def test_as_many_zeros_as_components():
    B = linalg.block_diag(np.ones((3, 2)), np.ones((2, 2)), np.ones((2, 1)))
    values = eigen_cluster(B, 6).values
    assert np.count_nonzero(values < 1e-10) == 3


def test_iteration_finds_the_same(B, monkeypatch):
    dense = eigen_cluster(B, 3)
    monkeypatch.setattr(module, "DENSE_NODES", 1)
    sparse_result = eigen_cluster(sparse.csr_array(B), 3)
    for a, b in zip(dense, sparse_result, strict=True):
        assert_allclose(b, a, atol=1e-8)


def test_new_rows_are_placed_as_training_rows(rng):
    """An unlabelled training row has no class edge, and is put where it was."""
    X, y = rng.normal(size=(40, 5)), np.arange(40) % 2
    X[y == 1, 0] += 3
    holes = np.where(np.arange(40) < 20, y, -1)
    model = EigenTransferClassifier(4).fit(X, holes)
    assert_array_equal(model.predict(X[20:]), model.transduction_[20:])
    outputs = model.estimator_.decision_function(model.embedding_[20:])
    assert_allclose(model.decision_function(X[20:]), outputs, atol=1e-8)


class TestSettings:
    @pytest.fixture
    def domains(self, rng):
        X_target = rng.random((60, 8))
        y_target = np.arange(60) % 2
        X_target[y_target == 0, :2] += 1
        X_target[y_target == 1, 2:4] += 1
        X_source, y_source = X_target[::-1] + 0.1, y_target[::-1]
        few = np.where(np.arange(60) < 10, y_target, -1)
        return X_source, y_source, X_target, few, y_target

    def test_without_a_source_all_are_the_same(self, domains):
        X, few = domains[2], domains[3]
        plain = EigenTransferClassifier(3).fit(X, few)
        for setting in ("cross_category", "self_taught"):
            model = EigenTransferClassifier(3, setting=setting).fit(X, few)
            assert_allclose(model.embedding_, plain.embedding_, atol=1e-10)

    def test_class_nodes(self, domains):
        X_source, y_source, X_target, few, y_target = domains
        X, y, sample_domain = stack_domains(X_source, y_source + 5, X_target, few)
        for setting in ("cross_category", "self_taught"):
            model = EigenTransferClassifier(3, setting=setting)
            model.fit(X, y, sample_domain=sample_domain)
            assert_array_equal(model.classes_, [0, 1])
            assert model.score(X_target, y_target) > 0.9
        nodes = model._class_nodes(np.array([0, 1, -1]), 2, np.array([True, False, 0]))
        assert_array_equal(nodes, [-1, 1, -1])
        model.set_params(setting="cross_category")
        nodes = model._class_nodes(np.array([0, 1, -1]), 2, np.array([True, False, 0]))
        assert_array_equal(nodes, [2, 1, -1])

    def test_source_labels_alone(self, domains):
        X_source, y_source, X_target, _, y_target = domains
        X, y, sample_domain = stack_domains(X_source, y_source, X_target)
        model = EigenTransferClassifier(3).fit(X, y, sample_domain=sample_domain)
        assert model.score(X_target, y_target) > 0.9


def test_rows_of_zeros_are_named(rng):
    X, y = rng.random((12, 3)), np.array([0, 1] * 3 + [-1] * 6)
    X[-2:] = 0
    with pytest.warns(UserWarning, match="2 unlabelled rows hold only zeros"):
        model = EigenTransferClassifier(2).fit(X, y)
    assert_array_equal(model.embedding_[-2:], 0)
