"""Transductive support vector machines."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from fewlabels._loops.svm import kernel_sweep, rows_sweep
from fewlabels.datasets import hide_labels, make_gaussian2c
from fewlabels.semi_supervised import TransductiveSVC, transductive_svm
from tests.reference.svm import hinge_sweep, ramp_objective


def small_problem(seed, n=20, d=3, n_labeled=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 0] += 2 * rng.choice([-1, 1], n)
    signs = np.zeros(n, dtype=int)
    signs[:n_labeled] = np.resize([-1, 1], n_labeled)
    return X, signs


@pytest.mark.parametrize("seed", range(3))
def test_sweeps_are_those_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    X, mu, constant = rng.normal(size=(12, 4)), rng.normal(size=4), 0.7
    centered = X - mu
    Q = centered @ centered.T + constant
    kinks = rng.normal(size=12)
    lower, upper = kinks - rng.random(12), kinks + rng.random(12)
    lower[::3], upper[1::3] = kinks[::3], kinks[1::3]
    a = np.where(rng.random(12) < 0.5, kinks, rng.uniform(lower, upper))
    order = rng.permutation(12)
    expected = hinge_sweep(Q, 0.3, order, kinks, lower, upper, a)
    box = (order, kinks, lower, upper)

    found, f = a.copy(), Q @ a + 0.3
    kernel_sweep(Q, *box, found, f)
    assert_allclose(found, expected, atol=1e-12)
    assert_allclose(f, Q @ expected + 0.3, atol=1e-12)

    along = X @ mu
    for dense in (True, False):
        S = sparse.csr_array(X)
        none = np.empty(0, np.int32)
        matrix = (X.ravel(), none, none) if dense else (S.data, S.indices, S.indptr)
        found, w, sums = a.copy(), X.T @ a, np.array([a.sum(), a @ along])
        rows_sweep(
            *matrix, dense, along, mu @ mu + constant, 0.3, Q.diagonal().copy(), *box,
            found, w, sums,
        )  # fmt: skip
        assert_allclose(found, expected, atol=1e-12)
        assert_allclose(w, X.T @ expected, atol=1e-12)


@pytest.mark.parametrize("ramp", [-0.6, -0.3, 0.0])
@pytest.mark.parametrize("share", [0.5, 0.3])
def test_best_start_of_all_finds_the_optimum(share, ramp):
    """The ramp loss is the least of its tangents: some labelling has the optimum.

    With one feature the bias follows from the weight, so a scan shows the optimum.
    """
    for seed in range(2):
        X, signs = small_problem(seed, n=6, d=1, n_labeled=2)
        params = {"C": 2.0, "balance": share, "ramp": ramp, "tol": 1e-9}
        starts = [
            np.concatenate([[0, 0], sides]) for sides in product((-1, 0, 1), repeat=4)
        ]
        found = [transductive_svm(X, signs, start=s, **params) for s in starts]
        best = min(found, key=lambda solution: solution.objective)
        grid = np.linspace(-4, 4, 2001)
        weight = 2.0 * 2 / 4
        values = [
            ramp_objective(X, signs, np.array([w]), 2.0, weight, share, ramp)
            for w in grid
        ]
        assert best.objective <= min(values) + 1e-9
        assert best.objective == pytest.approx(min(values), abs=1e-2)
        assert best.objective == pytest.approx(
            ramp_objective(X, signs, best.coef, 2.0, weight, share, ramp), abs=1e-9
        )
        plain = transductive_svm(X, signs, **params)
        assert plain.objective >= best.objective - 1e-9


@pytest.mark.parametrize("share", [0.5, 0.25])
@pytest.mark.parametrize("seed", range(3))
def test_every_step_descends_to_a_fixed_point_without_duality_gap(seed, share):
    X, signs = small_problem(seed, n=40)
    C, ramp = 3.0, -0.3
    weight = C * 4 / 36
    solution = transductive_svm(X, signs, C=C, balance=share, ramp=ramp, tol=1e-10)
    assert solution.n_iter > 1
    assert (np.diff(solution.history) <= 1e-9).all()
    assert solution.stop_reason == "local optimum"
    free, a, f = signs == 0, solution.dual_coef, solution.outputs
    assert f[free].mean() == pytest.approx(2 * share - 1)
    assert_allclose(X @ solution.coef + solution.intercept, f, atol=1e-9)
    assert_array_equal(solution.sides[free], np.sign(f)[free] * (np.abs(f[free]) > 0.3))

    # The convex step that it is a solution of, and the dual of that.
    sides = solution.sides[free]
    at, sign = f[free], np.where(sides == 0, 1, sides)
    up = np.maximum(0, 1 - sign * at) + np.maximum(0, -1 - sign * at)
    losses = np.where(sides == 0, np.maximum(0, np.abs(at) - 1), up)
    hinges = np.maximum(0, 1 - signs[~free] * f[~free]).sum()
    primal = 0.5 * solution.coef @ solution.coef + C * hinges + weight * losses.sum()
    kinks = weight * sides
    assert np.all(np.abs(a[free] - kinks) <= weight + 1e-12)
    assert np.all((signs * a)[~free] >= 0)
    assert np.all((signs * a)[~free] <= C)
    dual = (
        -0.5 * solution.coef @ solution.coef
        + np.sum(signs[~free] * a[~free])
        + np.sum(np.abs(kinks) - np.abs(a[free] - kinks))
        - (2 * share - 1) * a.sum()
    )
    assert primal == pytest.approx(dual, abs=1e-8)


@pytest.mark.parametrize("balance", [0.5, 0.3, None])
def test_rows_sparse_rows_and_kernel_matrix_agree(balance):
    X, signs = small_problem(0, n=40, d=5)
    X = np.where(np.abs(X) > 0.3, X, 0) + np.array([3.0, 0, 0, 0, 0])
    params = {"balance": balance, "tol": 1e-9}
    dense = transductive_svm(X, signs, **params)
    thin = transductive_svm(sparse.csr_matrix(X), signs, **params)
    gram = transductive_svm(X @ X.T, signs, is_factor=False, **params)
    for other in (thin, gram):
        assert other.objective == pytest.approx(dense.objective)
        assert_allclose(other.outputs, dense.outputs, atol=1e-6)
        assert other.intercept == pytest.approx(dense.intercept, abs=1e-6)
    assert_allclose(thin.coef, dense.coef, atol=1e-6)
    assert_allclose(X.T @ gram.coef, dense.coef, atol=1e-6)


def test_unlabelled_rows_help():
    X, y_true = make_gaussian2c(300, 200, random_state=0)
    y = hide_labels(y_true, n_labeled=10, random_state=0)
    hidden = y == -1
    model = TransductiveSVC(kernel="linear").fit(X, y)
    supervised = SVC(kernel="linear").fit(X[~hidden], y[~hidden])
    assert model.score(X[hidden], y_true[hidden]) > 0.95
    assert supervised.score(X[hidden], y_true[hidden]) < 0.9
    X_new, y_new = make_gaussian2c(500, 200, random_state=1)
    assert model.score(X_new, y_new) > 0.95


def test_gaussian_kernel_divides_the_moons():
    X, y_true = make_moons(200, noise=0.05, random_state=0)
    y = hide_labels(y_true, per_class=4, random_state=0)
    model = TransductiveSVC(C=10, gamma=4.0).fit(X, y)
    assert model.score(X, y_true) > 0.95
    K = rbf_kernel(X, gamma=4.0)
    same = TransductiveSVC(C=10, kernel="precomputed").fit(K, y)
    assert_allclose(same.decision_function(K), model.decision_function(X), atol=1e-3)
    few = TransductiveSVC(C=10, gamma=4.0, n_components=60, random_state=0).fit(X, y)
    assert few.score(X, y_true) > 0.95
    assert few.coef_.shape == (60, 1)


def test_several_classes():
    X, y_true = make_blobs(90, centers=[[0, 0], [0, 8], [8, 0]], random_state=0)
    names = np.array(["a", "b", "c"], dtype=object)
    y = names[y_true]
    y[np.arange(90) % 10 > 0] = None
    model = TransductiveSVC(kernel="linear").fit(X, y)
    assert_array_equal(model.transduction_, names[y_true])
    assert model.decision_function(X).shape == (90, 3)
    assert len(model.solutions_) == 3
    assert model.objective_ == pytest.approx(sum(s.objective for s in model.solutions_))
    given = TransductiveSVC(balance={"a": 0.5, "b": 0.25, "c": 0.25}).fit(X, y)
    means = [s.outputs[y == None].mean() for s in given.solutions_]  # noqa: E711
    assert_allclose(means, [0.0, -0.5, -0.5], atol=1e-9)


def test_without_unlabelled_rows_it_is_the_supervised_machine():
    X, y = make_moons(60, noise=0.1, random_state=0)
    model = TransductiveSVC(C=5.0, gamma=1.0, tol=1e-8).fit(X, y)
    plain = SVC(C=5.0, gamma=1.0, tol=1e-8).fit(X, y)
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-6)
    assert model.solutions_[0].stop_reason == "no unlabelled rows"


def test_without_balance_the_constraint_is_gone():
    X, signs = small_problem(1, n=60)
    tied = transductive_svm(X, signs, balance=0.05)
    loose = transductive_svm(X, signs, balance=None)
    assert loose.objective < tied.objective


def test_equal_rows_and_a_single_class():
    X = np.ones((6, 2))
    model = TransductiveSVC(kernel="linear").fit(X, [0, 1, -1, -1, -1, -1])
    assert np.isfinite(model.decision_function(X)).all()
    with pytest.warns(UserWarning, match="single class"):
        model = TransductiveSVC().fit(X, ["a", None, None, None, None, None])
    assert set(model.predict(X)) == {"a"}


def test_linear_needs_nothing_of_size_n_x_n():
    """60,000 sparse rows: a kernel matrix would take 27 GiB."""
    n = 60_000
    rng = np.random.default_rng(0)
    side = rng.integers(2, size=n)
    X = sparse.csr_array(
        (np.ones(2 * n), (np.repeat(np.arange(n), 2), np.column_stack(
            [side, rng.integers(2, 100_000, size=n)]).ravel())),
        shape=(n, 100_000),
    )  # fmt: skip
    y = np.where(np.arange(n) < 20, side, -1)
    model = TransductiveSVC(kernel="linear", balance=0.5, tol=1e-2).fit(X, y)
    assert np.mean(model.transduction_ == side) > 0.99


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"signs": [1, 2, 0]}, "signs must hold"),
        ({"signs": [0, 0, 0]}, "no labelled row"),
        ({"ramp": -1.0}, "ramp="),
        ({"balance": 1.5}, "balance="),
        ({"balance": "all"}, "balance="),
        ({"start": [0.0]}, "start has shape"),
        ({"is_factor": False}, "square"),
    ],
)
def test_bad_input_is_named(params, message):
    params = {"signs": [1, -1, 0], **params}
    with pytest.raises(ValueError, match=message):
        transductive_svm([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], **params)


def test_too_few_steps_are_reported():
    X, signs = small_problem(0, n=40)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        transductive_svm(X, signs, max_iter=1)


@pytest.mark.parametrize("size", [1e160, 1e-170])
def test_rows_whose_products_overflow_or_vanish_are_refused(rng, size):
    X = size * rng.normal(size=(12, 3))
    with pytest.raises(ValueError, match=r"overflows or vanishes .* scale X"):
        TransductiveSVC(kernel="linear").fit(X, np.arange(12) % 3 - 1)
