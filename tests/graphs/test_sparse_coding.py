# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.linear_model import Lasso, OrthogonalMatchingPursuit

from fewlabels.exceptions import IgnoredParameterWarning
from fewlabels.graphs import graph_laplacian, l1_graph
from fewlabels.graphs._sparse_coding import basis_pursuit
from tests.graphs.strategies import rows
from tests.helpers import assert_close

METHODS = ["basis_pursuit", "lasso", "omp"]


def unit_rows(rng, n=15, p=5):
    X = rng.standard_normal((n, p))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


class TestBasisPursuit:
    def test_certificate(self, rng):
        """A dual solution proves the optimum: feasible, and without a gap."""
        X = unit_rows(rng)
        for i in range(15):
            atoms = np.delete(X, i, axis=0)
            a, dual = basis_pursuit(atoms, X[i])
            e = X[i] - atoms.T @ a
            assert np.abs(atoms @ dual).max() <= 1 + 1e-9
            assert np.abs(dual).max() <= 1 + 1e-9
            assert_close(dual @ X[i], np.abs(a).sum() + np.abs(e).sum())
            n_nonzero = np.count_nonzero(np.abs(a) > 1e-9)
            assert n_nonzero + np.count_nonzero(np.abs(e) > 1e-9) <= 5

    def test_graph_holds_the_coefficients(self, rng):
        """Every row is filled, the last column too, and nothing is shifted by one."""
        X = unit_rows(rng)
        W = l1_graph(X).toarray()
        assert_array_equal(W.diagonal(), 0)
        assert W[:, -1].any()
        for i in range(15):
            others = np.delete(np.arange(15), i)
            a, _ = basis_pursuit(X[others], X[i])
            assert_close(W[i, others], np.abs(a), scale=1)

    def test_copies(self, rng):
        X = unit_rows(rng)
        X[7] = 3 * X[2]
        X[9] = -X[4]
        W = l1_graph(X)
        expected = np.zeros((4, 15))
        expected[[0, 1, 2, 3], [7, 2, 9, 4]] = 1
        assert_close(W[[2, 7, 4, 9]].toarray(), expected, scale=1)


@pytest.mark.parametrize("method", METHODS)
class TestGraph:
    @settings(max_examples=20)
    @given(X=rows(max_rows=6), data=st.data())
    def test_degenerate_rows(self, method, X, data):
        n = len(X)
        n_candidates = data.draw(st.sampled_from([None, 1, n - 1]))
        W = l1_graph(X, method=method, n_candidates=n_candidates)
        assert W.shape == (n, n)
        assert W.dtype == X.dtype
        dense = W.toarray()
        assert np.isfinite(dense).all()
        assert (W.data > 0).all()
        assert_array_equal(dense.diagonal(), 0)
        zero = ~X.any(axis=1)
        assert_array_equal(dense[zero], 0)
        assert_array_equal(dense[:, zero], 0)
        if n_candidates == n - 1:
            assert_close(dense, l1_graph(X, method=method).toarray(), scale=1)

    def test_scale_of_rows_does_not_matter(self, rng, method):
        X = unit_rows(rng)
        scales = 10.0 ** rng.integers(-200, 100, size=(15, 1))
        W = l1_graph(X, method=method)
        assert_close(l1_graph(X * scales, method=method).toarray(), W.toarray())

    def test_candidates(self, rng, method):
        X = unit_rows(rng, 30)
        W = l1_graph(X, method=method, n_candidates=6).toarray()
        cosine = np.abs(X @ X.T)
        np.fill_diagonal(cosine, -1)
        for i in range(30):
            assert set(np.flatnonzero(W[i])) <= set(np.argsort(-cosine[i])[:6])
        W = l1_graph(X, method=method, n_candidates=29).toarray()
        assert_close(W, l1_graph(X, method=method).toarray(), scale=1)

    def test_two_jobs(self, rng, method):
        X = unit_rows(rng)
        with parallel_config(backend="threading"):  # processes would only be slower
            W = l1_graph(X, method=method, n_jobs=2)
        assert_array_equal(W.toarray(), l1_graph(X, method=method).toarray())

    def test_joins_rows_of_one_subspace(self, rng, method):
        """Two planes in ten dimensions."""
        bases = np.linalg.qr(rng.standard_normal((10, 4)))[0]
        plane = np.repeat([0, 1], 15)
        X = np.where(
            plane[:, None] == 0,
            rng.standard_normal((30, 2)) @ bases[:, :2].T,
            rng.standard_normal((30, 2)) @ bases[:, 2:].T,
        )
        parameters = {"omp": {"n_nonzero": 2}}.get(method, {})
        W = l1_graph(X, method=method, **parameters).toarray()
        across = plane[:, None] != plane
        assert W[across].sum() < 1e-6 * W.sum()
        graph_laplacian((W + W.T) / 2)


def test_lasso_solves_its_problem(rng):
    X = unit_rows(rng)
    W = l1_graph(X, method="lasso", alpha=0.05).toarray()
    for i in range(15):
        others = np.delete(np.arange(15), i)
        model = Lasso(alpha=0.05 / 5, fit_intercept=False, tol=1e-12, max_iter=10_000)
        a = model.fit(X[others].T, X[i]).coef_
        objective = 0.5 * np.sum((X[i] - X[others].T @ a) ** 2) + 0.05 * abs(a).sum()
        signs = np.sign(a)
        ours = signs * W[i, others]
        value = 0.5 * np.sum((X[i] - X[others].T @ ours) ** 2)
        assert value + 0.05 * abs(ours).sum() <= objective + 1e-4


def test_omp_is_that_of_scikit_learn(rng):
    X = unit_rows(rng)
    W = l1_graph(X, method="omp", n_nonzero=3).toarray()
    assert ((W > 0).sum(axis=1) <= 3).all()
    for i in range(15):
        others = np.delete(np.arange(15), i)
        model = OrthogonalMatchingPursuit(n_nonzero_coefs=3, fit_intercept=False)
        a = model.fit(X[others].T, X[i]).coef_
        assert_close(W[i, others], np.abs(a), scale=1)


def test_strong_lasso_leaves_no_edges(rng):
    assert l1_graph(unit_rows(rng), method="lasso", alpha=1.0).nnz == 0


def test_ignored_parameters_and_errors(rng):
    X = unit_rows(rng)
    with pytest.warns(IgnoredParameterWarning, match=r"alpha=0.5 is ignored"):
        l1_graph(X, alpha=0.5)
    with pytest.warns(IgnoredParameterWarning, match="n_nonzero=2 is ignored"):
        l1_graph(X, method="lasso", n_nonzero=2)
    with pytest.raises(ValueError, match="n_neighbors=15"):
        l1_graph(X, n_candidates=15)
    with pytest.raises(ValueError, match="'method' parameter"):
        l1_graph(X, method="ridge")
    with pytest.raises(ValueError, match="minimum of 2"):
        l1_graph(X[:1])
