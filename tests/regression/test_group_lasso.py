"""Group lasso."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from fewlabels._loops.regression import group_length
from fewlabels.regression import GroupLasso, group_lasso
from tests.reference.regression import group_descent, group_minimizer

GROUPS = [0, 0, 0, 1, 1, 2, 2, 2]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)) + 0.5 * rng.normal(size=(60, 1))
    y = X @ [1.0, -1.0, 0.5, 0, 0, 0.05, 0, 0] + rng.normal(size=60)
    return X, y


def violations(X, y, b, groups, lam):
    worst = 0.0
    for name in set(groups):
        inside = np.array(groups) == name
        g, bg = X[:, inside].T @ (y - X @ b), b[inside]
        weight = lam * np.sqrt(inside.sum())
        if bg.any():
            worst = max(worst, np.linalg.norm(g - weight * bg / np.linalg.norm(bg)))
        else:
            worst = max(worst, np.linalg.norm(g) - weight)
    return worst


@pytest.mark.parametrize("lam", [0.0, 2.0, 10.0, 30.0])
def test_optimality(problem, lam):
    X, y = problem
    b, _, violation = group_lasso(X, y, lam / len(y), GROUPS, tol=1e-10)
    assert violation <= 1e-10
    assert violations(X, y, b, GROUPS, lam) <= 1e-8 * np.abs(X.T @ y).max()


def test_groups_are_kept_or_dropped(problem):
    X, y = problem
    b = group_lasso(X, y, 10.0 / len(y), GROUPS).coef
    assert np.all(b[:3] != 0)
    assert_array_equal(b[3:], 0)


def test_slow_twin(problem):
    X, y = problem
    ours = group_lasso(X, y, 3.0 / len(y), GROUPS, tol=1e-12).coef
    assert_allclose(ours, group_descent(X, y, GROUPS, 3.0, 60), atol=1e-9)


def test_groups_of_one_are_the_lasso(problem):
    X, y = problem
    lasso = Lasso(4.0 / 60, fit_intercept=False, tol=1e-12).fit(X, y).coef_
    assert_allclose(group_lasso(X, y, 4.0 / len(y)).coef, lasso, atol=1e-6)
    assert_allclose(
        group_lasso(X, y, 4.0 / len(y), list("abcdefgh")).coef, lasso, atol=1e-6
    )


def test_orthonormal_groups_need_one_cycle(problem):
    Q = np.linalg.qr(problem[0])[0]
    y = problem[1]
    b = group_lasso(Q, y, 0.5 / len(y), GROUPS, tol=1e-12)
    for name in set(GROUPS):
        s = Q[:, np.array(GROUPS) == name].T @ y
        weight = 0.5 * np.sqrt(s.size)  # for 1/2 |y - X b|^2; without the 1/2, half
        expected = max(1 - weight / np.linalg.norm(s), 0) * s
        assert_allclose(b.coef[np.array(GROUPS) == name], expected, atol=1e-12)
    assert b.n_iter <= 2


def test_one_group_needs_one_cycle(problem):
    X, y = problem
    one = group_lasso(X * np.geomspace(1, 1e4, 8), y, 5.0 / len(y), [0] * 8, tol=1e-10)
    assert one.n_iter == 2  # the second one sees that nothing is left to do


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.floats(1e-3, 1e3), st.integers(0, 1000))
def test_length_of_a_group(size, lam, seed):
    rng = np.random.default_rng(seed)
    q, squares = rng.normal(size=size), rng.uniform(1e-3, 1e3, size=size)
    q *= lam * rng.uniform(1.001, 100) / np.linalg.norm(q)
    length = group_length(q, squares, lam)
    b = q * length / (squares * length + lam)
    assert_allclose(np.linalg.norm(b), length, rtol=1e-11)
    slow = group_minimizer(np.diag(squares), q, lam)
    assert_allclose(b, slow, rtol=1e-6, atol=1e-9 * np.abs(slow).max())


def test_order_of_the_features_does_not_matter(problem):
    X, y = problem
    order = np.random.default_rng(1).permutation(8)
    b = group_lasso(X, y, 3.0 / len(y), GROUPS, tol=1e-12).coef
    mixed = group_lasso(
        X[:, order], y, 3.0 / len(y), np.array(GROUPS)[order], tol=1e-12
    ).coef
    assert_allclose(mixed, b[order], atol=1e-9)


def test_degenerate(problem):
    X, y = problem
    X, y = X[:5].copy(), y[:5]  # fewer rows than features
    X[:, 3:5] = 0  # a group of zeros
    X[:, 1] = X[:, 0]
    b, _, violation = group_lasso(X, y, 0.1 / len(y), GROUPS)
    assert violation <= 1e-8
    assert_array_equal(b[3:5], 0)
    assert_array_equal(group_lasso(X, 0 * y, 0.1 / len(y), GROUPS).coef, 0)


def test_units_of_the_target(problem):
    X, y = problem
    plain = group_lasso(X, y, 10.0 / len(y), GROUPS).coef
    for unit in (1e-160, 1e160):
        assert_allclose(
            group_lasso(X, unit * y, unit * 10.0 / len(y), GROUPS).coef / unit, plain
        )


def test_estimator(problem):
    X, y = problem
    model = GroupLasso(0.1, groups=GROUPS, tol=1e-10).fit(X + 2, y - 1)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    assert_allclose(
        model.coef_, group_lasso(Xc, yc, 6.0 / len(y), GROUPS).coef, atol=1e-6
    )
    assert_allclose(model.predict(X + 2).mean(), y.mean() - 1)
    with pytest.raises(ValueError, match="each of the 8 features, got 3"):
        GroupLasso(groups=[0, 1, 2]).fit(X, y)


def test_no_convergence(problem):
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        group_lasso(*problem, 0.01, GROUPS, max_iter=1)


def test_convex_solver_agrees(problem):
    cvxpy = pytest.importorskip("cvxpy")
    X, y = problem
    b = cvxpy.Variable(8)
    names = np.array(GROUPS)
    lengths = [
        np.sqrt(np.sum(names == g)) * cvxpy.norm(b[np.flatnonzero(names == g)])
        for g in set(GROUPS)
    ]
    objective = 0.5 * cvxpy.sum_squares(y - X @ b) + 3.0 * cvxpy.sum(lengths)
    theirs = cvxpy.Problem(cvxpy.Minimize(objective)).solve("CLARABEL")
    b.value = group_lasso(X, y, 3.0 / len(y), GROUPS).coef
    assert_allclose(objective.value, theirs, rtol=1e-7)
