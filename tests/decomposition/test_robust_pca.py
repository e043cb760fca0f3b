"""Robust PCA: recovery, optimality, and the partial SVDs."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from fewlabels.decomposition import RobustPCA, robust_pca
from fewlabels.decomposition._robust_pca import _LeadingTriplets
from fewlabels.optimize import soft_threshold
from tests.reference.robust_pca import accelerated_iterates, objective


def planted(rng, m, n, rank, share, size=10.0):
    low_rank = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    wrong = rng.random((m, n)) < share
    return low_rank, np.where(wrong, rng.uniform(-size, size, (m, n)), 0.0)


def relative(actual, desired):
    return np.linalg.norm(actual - desired) / np.linalg.norm(desired)


@pytest.mark.parametrize("svd_solver", ["auto", "full", "partial"])
def test_recovery(rng, svd_solver):
    A, E = planted(rng, 60, 60, 3, 0.05)
    result = robust_pca(A + E, svd_solver=svd_solver, random_state=0)
    assert result.converged
    assert relative(result.low_rank, A) < 1e-6
    assert relative(result.sparse, E) < 1e-6
    assert result.components.shape == (3, 60)
    assert_allclose(result.components @ result.components.T, np.eye(3), atol=1e-10)
    s = linalg.svdvals(result.low_rank)[:3]
    assert_allclose(result.singular_values, s, rtol=1e-9)


def test_partial_svds_are_enough(rng):
    """Both ways end at the same point; only one of them computes all values."""
    A, E = planted(rng, 150, 80, 4, 0.1)
    full = robust_pca(A + E, svd_solver="full")
    partial = robust_pca(A + E, svd_solver="auto", random_state=0)
    assert full.n_full_svd == full.n_iter
    assert partial.n_full_svd < 0.1 * partial.n_iter
    # Each is as close to the optimum as tol = 1e-2 of mu, 1e-7 of the matrix, asks for.
    assert relative(partial.low_rank, full.low_rank) < 1e-8


def test_optimality(rng):
    """R = D - A - E lies in mu times the subdifferentials of both norms."""
    A, E = planted(rng, 40, 30, 2, 0.05)
    D = A + E + 0.1 * rng.normal(size=A.shape)
    mu, alpha = 1.0, 1 / np.sqrt(40)
    result = robust_pca(D, relaxation=mu, tol=1e-7, max_iter=20_000)
    assert result.relaxation == mu
    assert 0 < result.components.shape[0] < 30
    R = D - result.low_rank - result.sparse
    assert linalg.norm(R, 2) <= mu * (1 + 1e-5)
    assert np.abs(R).max() <= alpha * mu * (1 + 1e-5)
    on = np.abs(result.sparse) > 0
    assert 0 < on.mean() < 1
    assert_allclose(R[on], alpha * mu * np.sign(result.sparse[on]), rtol=1e-5)
    V = result.components.T
    U = result.low_rank @ V / result.singular_values
    assert_allclose(R @ V, mu * U, atol=1e-5)
    assert_allclose(U.T @ R, mu * V.T, atol=1e-5)


def test_without_errors_it_shrinks_singular_values(rng):
    D = rng.normal(size=(20, 12))
    result = robust_pca(D, alpha=100.0, relaxation=2.0, tol=1e-8, max_iter=5000)
    assert_array_equal(result.sparse, 0)
    U, s, Vt = linalg.svd(D, full_matrices=False)
    assert_allclose(result.low_rank, (U * soft_threshold(s, 2.0)) @ Vt, atol=1e-6)


def test_no_convergence_is_said(rng):
    D = rng.normal(size=(10, 8))
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        result = robust_pca(D, max_iter=5)
    assert not result.converged
    assert result.n_iter == 5


@pytest.mark.parametrize("D", [np.zeros((4, 3)), np.ones((4, 3)), np.eye(1)])
def test_simple_matrices(D):
    result = robust_pca(D)
    assert result.converged
    assert_allclose(result.low_rank + result.sparse, D, atol=1e-8)


@given(
    m=st.integers(1, 30),
    n=st.integers(1, 30),
    rank=st.integers(0, 5),
    seed=st.integers(0, 1000),
    level=st.floats(0.01, 3.0),
)
@example(m=9, n=11, rank=0, seed=3, level=0.01)  # a value hardly above the level
def test_leading_triplets(m, n, rank, seed, level):
    """A sequence of similar matrices, against LAPACK."""
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    triplets = _LeadingTriplets((m, n), "partial", np.random.RandomState(0))
    for _ in range(3):
        M = M + 1e-3 * rng.normal(size=(m, n))
        U, s, Vt, _ = triplets.above(M, level, 1e-9)
        expected = linalg.svdvals(M)
        expected = expected[expected > level]
        assert_allclose(s, expected, atol=1e-8)
        assert_allclose(M @ Vt.T, U * s, atol=1e-7)


def test_theorem_6_3():
    """What holds of the rate (6.8.29), and what does not.

    The weight comes down to mu in step k0. The printed bound,
    F(X_k) - F* <= 4 |X_k0 - X*|^2 / (k - k0 + 1)^2, forgets the momentum of the steps
    before; with the right k0, log(mu0 / mu) / log(1 / eta), it still fails. It holds if
    momentum is dropped at k0, and from X_0 = 0 if the weight is mu from the start. With
    momentum, t_k^2 (F(X_k) - F*) + |t_k X_k - (t_k - 1) X_{k-1} - X*|^2 never rises
    from k0 on, which bounds F by its value at k0 over t_k^2.
    """
    rng = np.random.default_rng(0)
    D = sum(planted(rng, 30, 30, 2, 0.05))
    lam, eta, start = 1 / np.sqrt(30), 0.9, 0.99 * np.linalg.norm(D, 2)
    mu = 1e-3 * start
    best = robust_pca(
        D, alpha=lam, relaxation=mu, tol=1e-10, max_iter=5000, svd_solver="full"
    )
    assert best.converged
    solution = np.stack([best.low_rank, best.sparse])
    k0 = int(np.ceil(np.log(start / mu) / np.log(1 / eta)))
    n_steps = k0 + 60
    falling = np.maximum(start * eta ** np.arange(n_steps), mu)
    assert falling[k0] == mu < falling[k0 - 1]

    def gap(step):
        found = objective(D, step[0], step[1], lam, mu)
        return found - objective(D, *solution, lam, mu)

    def excess(steps, first, squared):
        """Largest ratio of the gap to the bound that counts from step `first`."""
        return max(
            gap(steps[k - 1]) * (k - first + 1) ** 2 / (4 * squared)
            for k in range(first + 1, n_steps)
        )

    plain = list(accelerated_iterates(D, lam, falling))
    at_k0 = np.sum((np.stack(plain[k0 - 1][:2]) - solution) ** 2)
    assert excess(plain, k0, at_k0) > 3
    dropped = list(accelerated_iterates(D, lam, falling, restart=k0))
    assert excess(dropped, k0, at_k0) < 1
    constant = list(accelerated_iterates(D, lam, np.full(n_steps, mu)))
    assert excess(constant, 0, np.sum(solution**2)) < 1
    energies = []
    for step in plain[k0:]:
        (A, E, t, A_before, E_before), (A_best, E_best) = step, solution
        ahead_A = t * A - (t - 1) * A_before - A_best
        ahead_E = t * E - (t - 1) * E_before - E_best
        energies.append(t**2 * gap(step) + np.sum(ahead_A**2) + np.sum(ahead_E**2))
    assert (np.diff(energies) <= 1e-9 * energies[0]).all()


class TestEstimator:
    def test_errors_do_not_turn_the_components(self, rng):
        A, E = planted(rng, 100, 40, 2, 0.05, size=50.0)
        model = RobustPCA(random_state=0).fit(A + E)
        assert model.rank_ == 2
        truth = linalg.svd(A)[2][:2].T
        robust = linalg.subspace_angles(model.components_.T, truth)
        plain = PCA(2).fit(A + E)
        assert np.max(robust) < 1e-6
        assert np.max(linalg.subspace_angles(plain.components_.T, truth)) > 0.1

    def test_projection(self, rng):
        A, E = planted(rng, 50, 30, 2, 0.02)
        model = RobustPCA(random_state=0).fit(A + E)
        again = model.inverse_transform(model.transform(A))
        assert_allclose(again, A, atol=1e-6)
        assert_allclose(model.low_rank_ + model.sparse_, A + E, atol=1e-6)
        assert model.get_feature_names_out().tolist() == ["robustpca0", "robustpca1"]
