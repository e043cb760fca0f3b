"""Manifold regularisation where digits are scarce."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from fewlabels.graphs import graph_laplacian, laplacian_power, similarity_graph
from fewlabels.kernels import DenseGram, Kernel
from fewlabels.semi_supervised import (
    LaplacianProblem,
    LaplacianRLSClassifier,
    LaplacianSVC,
    laplacian_dense,
)
from fewlabels.semi_supervised._box_qp import box_qp
from fewlabels.semi_supervised._laplacian_in_labels import hinge_in_labels


def few_labels(y):
    labels = np.full(y.size, -1)
    for c in np.unique(y):
        labels[np.flatnonzero(y == c)[:3]] = c
    return labels


@pytest.mark.parametrize("loss", ["squared_hinge", "squared", "hinge"])
def test_a_kernel_that_nearly_contains_the_constants(loss):
    """The objective is no larger than in the eigenvectors of the kernel."""
    X, y = make_moons(200, noise=0.1, random_state=0)
    labeled = np.flatnonzero(few_labels(y) >= 0)
    L = laplacian_power(graph_laplacian(similarity_graph(X)), 1)
    K = Kernel("rbf", {"gamma": 0.01})(X)
    targets = np.where(y[labeled] == 1, 1.0, -1.0)[:, None]
    problem = LaplacianProblem(DenseGram(K), L, labeled, targets, loss)
    solution = laplacian_dense(problem, 1e-6, 100.0)
    f, coef = solution.outputs[:, 0], solution.dual_coef[:, 0]
    at = solution.support
    norm = coef @ K[np.ix_(at, at)] @ coef
    rough = f - solution.intercept if loss == "hinge" else f
    value = (
        problem.losses(solution.outputs)[0] + 1e-6 * norm + 100.0 * rough @ L @ rough
    )
    assert value / 2 == pytest.approx(solution.objective[0], rel=1e-6)
    # Better than what any coefficients of the eigenvectors nearby would give.
    e, U = np.linalg.eigh(K)
    Z = U[:, e > 1e-13] * np.sqrt(e[e > 1e-13])
    w = np.linalg.lstsq(Z, f - solution.intercept, rcond=None)[0]
    rng = np.random.default_rng(0)
    for step in 10.0 ** np.arange(-6, 0):
        other = w + step * np.linalg.norm(w) * rng.normal(size=w.size) / w.size
        g = (Z @ other + solution.intercept)[:, None]
        rough = (Z @ other)[:, None] if loss == "hinge" else g
        moved = problem.losses(g)[0] + 1e-6 * other @ other
        moved += 100.0 * (rough.T @ (L @ rough)).item()
        assert moved / 2 >= solution.objective[0] * (1 - 1e-7)


@given(seed=st.integers(0, 999), bias=st.booleans(), size=st.sampled_from([1, 1e6]))
def test_box_programs_meet_their_conditions(seed, bias, size):
    rng = np.random.default_rng(seed)
    n, rank = int(rng.integers(2, 12)), int(rng.integers(1, 6))
    Z = rng.normal(size=(n, rank)) * np.sqrt(size)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    Q = (y[:, None] * Z) @ (y[:, None] * Z).T
    a, b, _, converged = box_qp(Q, 0.5, y if bias else None)
    assert converged
    assert a.min() >= 0
    assert a.max() <= 0.5
    margin = 1.0 - (Q @ a + b * y)  # what a row is short of
    primal = 0.5 * np.maximum(margin, 0.0).sum() + 0.5 * a @ Q @ a
    dual = a.sum() - 0.5 * a @ Q @ a
    assert primal - dual <= 1e-6 * max(primal, 1.0)
    if bias:
        assert abs(y @ a) < 1e-7


def test_the_dual_in_double_precision(rng):
    """Unscaled columns: the duality gap says how far the objective is off."""
    X = rng.normal(size=(40, 4)) * [1, 30, 300, 1]
    y = np.where(X[:, 0] + X[:, 3] > 0, 1.0, -1.0)
    H = (X @ X.T) / 1e-4
    c, b, n_iter, converged = hinge_in_labels(H, y, True)
    assert converged
    assert n_iter < 200
    primal = np.maximum(1 - y * (H @ c + b), 0).sum() + c @ H @ c
    dual = 2 * np.abs(c).sum() - c @ H @ c
    assert primal - dual <= 1e-5 * primal


def test_max_iter_of_the_dual_is_kept(rng):
    X = rng.normal(size=(40, 3))
    y = np.where(np.arange(40) < 20, (X[:, 0] > 0).astype(int), -1)
    with pytest.warns(ConvergenceWarning, match="of max_iter=2 steps"):
        model = LaplacianSVC(solver="dual", max_iter=2).fit(X, y)
    assert model.n_iter_ <= 2


@pytest.mark.parametrize("cls", [LaplacianSVC, LaplacianRLSClassifier])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    "size", [0.0, 1e-170, 1e-8, 1e6, 7e5, 1e9, 1e160], ids=lambda size: f"{size:g}"
)
def test_rows_of_any_size(cls, kernel, size, rng):
    """A prediction, or an error with the remedy; copies among labelled rows."""
    X = size * np.repeat(rng.normal(size=(20, 3)), 2, axis=0)
    y = np.where(np.arange(40) < 20, np.arange(40) // 2 % 2, -1)
    for solver in ("dense", "low_rank"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = cls(kernel=kernel, n_neighbors=5, solver=solver)
            if kernel == "linear" and size in (1e-170, 1e160):
                with pytest.raises(ValueError, match="scale X"):
                    model.fit(X, y)
                continue
            try:
                model.fit(X, y)
            except ValueError as error:  # copies, where 1 is lost to rounding
                if kernel == "linear" and "scale X" in str(error):
                    continue
                raise
        assert set(model.predict(X)) <= {0, 1}
        assert np.isfinite(model.decision_function(X)).all()
