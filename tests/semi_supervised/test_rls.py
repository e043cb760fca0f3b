"""Kernel regularised least squares, the supervised baseline."""

# SPDX-License-Identifier: BSD-3-Clause

from fractions import Fraction
from operator import mul

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel, sigmoid_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels.kernels import check_semidefinite
from fewlabels.semi_supervised import RLSClassifier, rls_path
from tests.helpers import assert_close
from tests.reference import rational
from tests.reference.rls import leave_one_out_by_refitting, rls_by_lstsq


def problem(rng, n, k=1):
    X = rng.normal(size=(n, 2))
    return rbf_kernel(X, gamma=0.5), np.sign(rng.normal(size=(n, k)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_optimality_conditions(rng, fit_intercept, weighted):
    """The gradient of the objective in c and b is zero."""
    K, Y = problem(rng, 15, k=3)
    w = rng.uniform(0.5, 2, size=15) if weighted else np.ones(15)
    for s in rls_path(
        K, Y, [1e-3, 0.1, 10], fit_intercept=fit_intercept, sample_weight=w
    ):
        residual = Y - K @ s.dual_coef - s.intercept
        gradient = K @ (s.alpha * s.dual_coef - w[:, None] * residual / w.sum())
        assert_close(gradient, np.zeros((15, 3)), scale=100)
        if fit_intercept:
            assert_close(w @ residual, np.zeros(3), scale=100)
        else:
            assert_array_equal(s.intercept, 0)


@given(
    n=st.integers(1, 9),
    fit_intercept=st.booleans(),
    weighted=st.booleans(),
    copies=st.booleans(),
    alpha=st.sampled_from([1e-2, 1.0, 50.0]),
    seed=st.integers(0, 50),
)
def test_against_the_slow_twin(n, fit_intercept, weighted, copies, alpha, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    if copies:
        X = X[rng.integers(n, size=n)]
    K, Y = rbf_kernel(X, gamma=0.5), rng.normal(size=(n, 2))
    w = rng.uniform(0.5, 2, size=n) if weighted else None
    (s,) = rls_path(K, Y, [alpha], fit_intercept=fit_intercept, sample_weight=w)
    weights = np.ones(n) if w is None else w
    expected = rls_by_lstsq(K, Y, alpha, fit_intercept, weights)
    assert_close(K @ s.dual_coef + s.intercept, expected, scale=10, factor=10)
    loo = leave_one_out_by_refitting(K, Y, alpha, fit_intercept, weights)
    assert_close(s.loo_outputs, loo, scale=100, factor=10)


def test_the_path_is_the_single_solutions(rng):
    K, Y = problem(rng, 20)
    alphas = [1.0, 1e-3, 30.0]
    for alpha, solution in zip(
        alphas, rls_path(K, Y, alphas, fit_intercept=False), strict=True
    ):
        assert solution.alpha == alpha
        (alone,) = rls_path(K, Y, [alpha], fit_intercept=False)
        assert_close(solution.dual_coef, alone.dual_coef)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K": np.ones((3, 2))}, "K must be square"),
        ({"Y": np.ones(3)}, "Y have one row per row of K"),
        ({"alphas": [1.0, 0.0]}, "alphas must be positive"),
        ({"sample_weight": [1.0, 0.0, 1.0]}, "drop rows of weight zero"),
    ],
)
def test_bad_input_of_the_solver(change, message):
    args = {"K": np.eye(3), "Y": np.ones((3, 1)), "alphas": [1.0], **change}
    with pytest.raises(ValueError, match=message):
        rls_path(**args)


def test_indefinite_kernels_are_refused_and_clipped_ones_taken(rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        rls_path(np.diag([1.0, -1.0]), np.ones((2, 1)), [1.0])
    params = {"alpha": 1e-3, "fit_intercept": False}
    sigmoid = {"kernel": "sigmoid", "gamma": 1.0, "kernel_params": {"coef0": 0}}
    with pytest.raises(ValueError, match="not positive semidefinite"):
        RLSClassifier(**sigmoid, **params).fit(X, y)
    K = sigmoid_kernel(X, gamma=1.0, coef0=0)
    clipped = check_semidefinite(K, clip=True)
    model = RLSClassifier(kernel="precomputed", **params).fit(clipped, y)
    expected = KernelRidge(alpha=1e-3 * 60, kernel="precomputed")
    expected.fit(clipped, 2.0 * y - 1)
    assert_close(model.decision_function(clipped), expected.predict(clipped), scale=10)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n", [30, 300])
def test_float32_rows_are_no_reason_to_warn(rng, kernel, n):
    X = rng.normal(size=(n, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    single = RLSClassifier(kernel=kernel, alpha=0.1).fit(X, y)  # warnings are errors
    double = RLSClassifier(kernel=kernel, alpha=0.1).fit(X.astype(np.float64), y)
    assert np.abs(single.decision_function(X) - double.decision_function(X)).max() < 0.1


@pytest.mark.parametrize("alpha", [1.0, 2.0**-10, 1e-8])
def test_bias_when_ones_is_the_null_direction_of_the_kernel(rng, alpha):
    """A centred kernel of large rows: the bias must not cost any digits."""
    X = 1e6 * rng.normal(size=(10, 30))
    X -= X.mean(axis=0)
    y = rng.normal(size=(10, 1))
    (solution,) = rls_path(X @ X.T, y, [alpha], fit_intercept=True)
    for i in range(10):
        rest = np.arange(10) != i
        Z, t = X[rest], y[rest] - y[rest].mean()
        Zc = Z - Z.mean(axis=0)
        # By singular values: in Zc @ Zc.T + 9 * alpha * I, a tiny alpha is lost.
        U, s, Vt = np.linalg.svd(Zc, full_matrices=False)
        w = Vt.T @ ((s / (s**2 + 9 * alpha))[:, None] * (U.T @ t))
        output = (X[i] - Z.mean(axis=0)) @ w + y[rest].mean()
        assert_close(solution.loo_outputs[i], output, scale=1, factor=100)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_kernels_that_are_not_finite_are_refused(bad):
    K = np.eye(3)
    K[0, 1] = K[1, 0] = bad
    with pytest.raises(ValueError, match="infinite values or NaN"):
        rls_path(K, np.ones((3, 1)), [1.0], fit_intercept=False)
    with pytest.raises(ValueError, match="alphas must be positive numbers"):
        rls_path(np.eye(3), np.ones((3, 1)), [bad], fit_intercept=False)


def test_weights_of_very_different_size(rng):
    K, Y = problem(rng, 4)
    (s,) = rls_path(
        K, Y, [0.1], sample_weight=[1.0, 1e20, 1.0, 1.0], fit_intercept=False
    )
    assert np.isfinite(s.loo_outputs).all()


def test_weights_of_unlabelled_rows_do_not_matter(rng):
    X, y = make_blobs(30, centers=2, random_state=0)
    y[20:] = -1
    w = np.where(y < 0, np.nan, 1.0)
    weighted = RLSClassifier().fit(X, y, sample_weight=w)
    assert_close(
        weighted.decision_function(X), RLSClassifier().fit(X, y).decision_function(X)
    )


def test_is_kernel_ridge_on_the_labelled_rows(rng):
    X = rng.normal(size=(40, 3))
    y = np.where(np.arange(40) < 12, np.arange(40) % 2, -1)
    ours = RLSClassifier(alpha=0.1, gamma=0.3, fit_intercept=False).fit(X, y)
    theirs = KernelRidge(alpha=0.1 * 12, kernel="rbf", gamma=0.3)
    theirs.fit(X[:12], 2.0 * y[:12] - 1)
    assert_close(ours.decision_function(X), theirs.predict(X))
    assert_close(ours.dual_coef_[:, 0], theirs.dual_coef_)


def test_linear_kernel_with_bias_is_ridge_classification():
    X, y = load_iris(return_X_y=True)
    ours = RLSClassifier(alpha=0.01, kernel="linear").fit(X, y)
    theirs = RidgeClassifier(alpha=0.01 * len(y)).fit(X, y)
    assert_close(ours.decision_function(X), theirs.decision_function(X), scale=1)


def test_unlabelled_rows_do_not_matter(rng):
    X, y = make_blobs(60, centers=3, random_state=0)
    y[20:] = -1
    with_holes, without = RLSClassifier().fit(X, y), RLSClassifier().fit(X[:20], y[:20])
    X_new = rng.normal(size=(10, 2))
    assert_array_equal(
        with_holes.decision_function(X_new), without.decision_function(X_new)
    )
    assert_array_equal(with_holes.transduction_[:20], y[:20])
    assert_array_equal(with_holes.transduction_[20:], without.predict(X[20:]))


@pytest.mark.parametrize("alpha", ["auto", [0.01, 1.0, 100.0]])
def test_alpha_is_chosen_by_leave_one_out(rng, alpha):
    X, y = make_blobs(40, centers=2, cluster_std=4.0, random_state=3)
    model = RLSClassifier(alpha=alpha, gamma=0.1).fit(X, y)
    errors = []
    for value in model.loo_path_[:, 0]:
        single = RLSClassifier(alpha=value, gamma=0.1).fit(X, y)
        assert single.alpha_ == value
        errors.append(np.mean((single.loo_outputs_ - (2 * y - 1)) ** 2))
    assert_close(model.loo_path_[:, 1], errors)
    assert model.alpha_ == model.loo_path_[np.argmin(errors), 0]


def test_loo_outputs_are_those_of_fitting_again():
    X, y = load_iris(return_X_y=True)
    rows = np.arange(0, 150, 9)
    X, y = X[rows], y[rows]
    model = RLSClassifier(alpha=0.1, gamma=0.5).fit(X, y)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        again = clone(model).fit(X[rest], y[rest])
        assert_close(
            model.loo_outputs_[i], again.decision_function(X[[i]])[0], factor=10
        )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine"])
def test_sparse_rows(rng, kernel):
    X, y = make_blobs(50, centers=3, random_state=1)
    X[np.abs(X) < 2] = 0
    y[30:] = -1
    dense = RLSClassifier(kernel=kernel).fit(X, y)
    thin = RLSClassifier(kernel=kernel).fit(sparse.csr_array(X), y)
    assert_close(
        thin.decision_function(sparse.csr_array(X)),
        dense.decision_function(X),
        scale=10,
        factor=10,
    )


def test_precomputed_kernel(rng):
    X, y = make_blobs(50, centers=3, random_state=1)
    X_new = rng.normal(size=(7, 2))
    y[15:] = -1
    by_rows = RLSClassifier(gamma=0.1).fit(X, y)
    by_matrix = RLSClassifier(kernel="precomputed").fit(rbf_kernel(X, gamma=0.1), y)
    assert_array_equal(by_matrix.transduction_, by_rows.transduction_)
    assert_close(
        by_matrix.decision_function(rbf_kernel(X_new, X, gamma=0.1)),
        by_rows.decision_function(X_new),
        scale=1,
        factor=10,
    )
    with pytest.raises(ValueError, match="square kernel matrix"):
        by_matrix.fit(rbf_kernel(X[:15], X), y[:15])


LABELS = {
    "strings with None": lambda y: np.where(y < 0, None, np.array(["a", "b"])[y]),
    "floats with NaN": lambda y: np.where(y < 0, np.nan, 2.0 * y - 1),
    "integers": lambda y: np.where(y < 0, -1, 10 + y),
    "pandas strings": lambda y: pd.Series(
        [None if c < 0 else "ab"[c] for c in y], dtype="string"
    ),
    "pandas nullable integers": lambda y: pd.Series(
        [None if c < 0 else c for c in y], dtype="Int64"
    ),
}


@pytest.mark.parametrize("kind", LABELS)
def test_any_kind_of_label(kind):
    X, y = make_blobs(40, centers=2, random_state=0)
    codes = np.where(np.arange(40) < 10, y, -1)
    model = RLSClassifier().fit(X, LABELS[kind](codes))
    assert model.classes_.size == 2
    assert_array_equal(model.transduction_, model.classes_[y])
    assert_array_equal(model.predict(X), model.classes_[y])


def test_minus_one_and_plus_one_are_refused():
    with pytest.raises(ValueError, match="only -1 and 1"):
        RLSClassifier().fit([[0.0], [1.0]], [-1, 1])


def test_no_label_is_refused():
    with pytest.raises(ValueError, match="no labelled row"):
        RLSClassifier().fit([[0.0], [1.0]], [-1, -1])


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_one_label_per_class(fit_intercept):
    corners = [[0, 0], [0, 10], [10, 0], [10, 10]]
    X, y = make_blobs(60, centers=corners, random_state=0)
    holes = np.full(60, -1)
    first = np.unique(y, return_index=True)[1]
    holes[first] = y[first]
    model = RLSClassifier(gamma="range", fit_intercept=fit_intercept).fit(X, holes)
    assert model.loo_outputs_.shape == (4, 4)
    assert np.mean(model.transduction_ == y) > 0.9


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_single_class(kernel, rng):
    X = rng.normal(size=(10, 2))
    with pytest.warns(UserWarning, match="single class"):
        model = RLSClassifier(kernel=kernel).fit(X, ["a"] * 10)
    assert_array_equal(model.predict(100 * X), ["a"] * 10)


def test_a_single_labelled_row(rng):
    X = rng.normal(size=(5, 2))
    with pytest.warns(UserWarning, match="single class"):
        model = RLSClassifier().fit(X, ["a", None, None, None, None])
    assert_array_equal(model.transduction_, ["a"] * 5)
    assert np.isnan(model.loo_outputs_).all()


@pytest.mark.parametrize(
    "X",
    [
        np.ones((6, 3)),
        np.zeros((6, 3)),
        np.tile([[0.0, 1.0, 5.0], [1.0, 0.0, 5.0]], (3, 1)),
        np.random.default_rng(0).normal(size=(6, 100)),
    ],
    ids=["constant", "zero", "duplicates", "more features than rows"],
)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_degenerate_rows(X, kernel):
    model = RLSClassifier(kernel=kernel).fit(X, [0, 1, 0, 1, -1, -1])
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.loo_path_).all()
    assert set(model.transduction_) <= {0, 1}


def test_weights_of_zero_remove_rows(rng):
    X, y = make_blobs(30, centers=2, random_state=0)
    w = np.where(np.arange(30) < 20, 1.0, 0.0)
    weighted = RLSClassifier(gamma=0.1).fit(X, y, sample_weight=w)
    plain = RLSClassifier(gamma=0.1).fit(X[:20], y[:20])
    assert_close(weighted.decision_function(X), plain.decision_function(X))
    with pytest.raises(ValueError, match="zero on every labelled row"):
        RLSClassifier().fit(X, np.where(w > 0, y, -1), sample_weight=1 - w)


@pytest.mark.parametrize("kind", LABELS)
def test_score_skips_holes(kind):
    X, y = make_blobs(40, centers=2, cluster_std=4.0, random_state=0)
    codes = np.where(np.arange(40) < 20, y, -1)
    model = RLSClassifier().fit(X, LABELS[kind](codes))
    expected = np.mean((model.predict(X) == model.classes_[y])[:20])
    assert model.score(X, LABELS[kind](codes)) == pytest.approx(expected)
    with pytest.raises(ValueError, match="no labelled row to score"):
        model.score(X, LABELS[kind](np.full(40, -1)))


def test_cross_validation_with_holes():
    X, y = make_blobs(60, centers=[[0, 0], [9, 9]], random_state=0)
    y[30:] = -1
    assert cross_val_score(RLSClassifier(), X, y, cv=3).mean() > 0.95


@pytest.mark.parametrize("alpha", [[], [1.0, -1.0], [[1.0]], [np.nan]])
def test_bad_alpha(alpha):
    with pytest.raises(ValueError, match="alpha must be"):
        RLSClassifier(alpha=alpha).fit([[0.0], [1.0]], [0, 1])


def test_in_a_grid_search_and_a_pipeline():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), RLSClassifier()),
        {"rlsclassifier__gamma": [0.01, 0.1, 1.0]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_evidence_does_not_know_the_unit_of_weights(fit_intercept, rng):
    X, Y = rng.normal(size=(15, 2)), rng.normal(size=(15, 1))
    w = rng.uniform(0.5, 2, size=15)
    values = [
        rls_path(
            X @ X.T,
            Y,
            [0.1],
            fit_intercept=fit_intercept,
            sample_weight=unit * w,
        )[0].log_evidence
        for unit in (1.0, 10.0, 1e-3)
    ]
    assert_close(values, np.broadcast_to(values[0], (3, 1)))
    if fit_intercept:  # the density of orthonormal contrasts of Y
        A = X @ X.T + 0.1 * w.sum() * np.diag(1 / w)
        C = linalg.null_space(np.ones((1, 15))).T
        V, z = C @ A @ C.T, C @ Y
        scale = (z.T @ np.linalg.solve(V, z)).item() / 14
        truth = -0.5 * (14 * (1 + np.log(2 * np.pi * scale)) + np.linalg.slogdet(V)[1])
        assert_close(values[0], [truth])


def test_products_in_single_precision():
    """A linear kernel far from the origin needs the digits of double precision."""
    rng = np.random.default_rng(0)
    y = np.arange(16) % 2
    X = (rng.normal(size=(16, 4)) + 2 * y[:, None] + 4096).astype(np.float32)
    single, double = (
        RLSClassifier(kernel="linear").fit(A, y) for A in (X, X.astype(np.float64))
    )
    assert_allclose(single.decision_function(X), double.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shape", [(12, 3), (5, 9)])
def test_features_are_the_linear_kernel(rng, shape, fit_intercept, weighted):
    F, Y = rng.normal(size=shape) + 1, rng.normal(size=(shape[0], 2))
    kwargs = {"fit_intercept": fit_intercept}
    if weighted:
        kwargs["sample_weight"] = rng.uniform(0.5, 2, size=shape[0])
    pairs = zip(
        rls_path(F, Y, [0.01, 1.0], is_factor=True, **kwargs),
        rls_path(F @ F.T, Y, [0.01, 1.0], **kwargs),
        strict=True,
    )
    for found, expected in pairs:
        assert_close(found.dual_coef, expected.dual_coef)
        assert_close(found.intercept, expected.intercept)
        assert_close(found.loo_outputs, expected.loo_outputs)
        assert_close(found.log_evidence, expected.log_evidence)
        assert_close(found.coef, F.T @ expected.dual_coef)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("place", range(4))
def test_a_far_row_left_out(place, fit_intercept, weighted):
    """Without it, its large features are all zero, and so are their coefficients."""
    X = np.array([[0.0, 0.0, -0.9, -0.2], [0.0, 0.0, 1.8, 0.0], [0.0, 0.0, 1.7, 1.6]])
    Y = np.array([[-1.0], [1.0], [1.0]])
    X = np.insert(X, place, [1.5e9, 1.1e9, 0.0, 1.0], axis=0)
    Y = np.insert(Y, place, 1.0, axis=0)
    w = np.array([0.5, 2.0, 1.0, 1.5]) if weighted else np.ones(4)
    (found,) = rls_path(
        X, Y, [0.1], fit_intercept=fit_intercept, sample_weight=w, is_factor=True
    )
    near = X[:, 2:]
    expected = leave_one_out_by_refitting(near @ near.T, Y, 0.1, fit_intercept, w)
    # Coefficients to the last digit are multiplied by the length of the row.
    roundings = 8 * np.finfo(float).eps * np.linalg.norm(X[place])
    assert abs(found.loo_outputs[place] - expected[place]) < roundings


def test_linear_kernel_of_equal_rows():
    """Whatever their size, only the bias is left."""
    X, y = np.full((5, 3), 1234567.0), np.array([0, 1, 1, 2, 2])
    model = RLSClassifier(kernel="linear", alpha=1e-3).fit(X, y)
    assert_allclose(model.decision_function(X), np.tile([-0.6, -0.2, -0.2], (5, 1)))


def test_linear_kernel_beside_a_far_row():
    """By exact arithmetic: it takes one direction, and no digits of the others."""
    X = np.array([[2.0, 1.0], [-1.0, 1.5], [0.5, -3.0], [1.0, 0.5], [3.0, 5.0]])
    X[4] *= 2.0**30
    targets, alpha, n = [1, -1, -1, 1, 1], Fraction(1, 100), 5
    rows = [[*map(Fraction, row), Fraction(1)] for row in X.tolist()]
    normal = [[sum(r[i] * r[j] for r in rows) for j in range(3)] for i in range(3)]
    for i in range(2):
        normal[i][i] += alpha * n
    right = [sum(map(mul, column, targets)) for column in zip(*rows, strict=True)]
    solution = [sum(map(mul, row, right)) for row in rational.inverse(normal)]
    outputs = [float(sum(map(mul, row, solution))) for row in rows]
    model = RLSClassifier(kernel="linear", alpha=0.01).fit(X, np.array(targets) > 0)
    assert_allclose(model.decision_function(X), outputs, atol=1e-6)
    assert_allclose(model.coef_[0], [float(x) for x in solution[:2]], rtol=1e-6)
