"""The objective, its identities and the bounds."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fewlabels.partition import PartitionProblem
from fewlabels.partition._balance import SizeBounds, repair, size_bounds
from fewlabels.partition._systems import tridiagonal
from tests.helpers import assert_close
from tests.partition.problems import problems, random_codes, random_problem
from tests.reference import partition as reference


def kernel_of(problem):
    system = problem.system
    system = getattr(getattr(system, "shared", None), "base", system)
    return system.K if hasattr(system, "K") else system.Z @ system.Z.T


@given(problem=problems(), seed=st.integers(0, 9))
def test_objective_is_the_least_squares_optimum(problem, seed):
    codes = random_codes(problem, seed)
    labeled = problem.codes >= 0
    expected = reference.objective(
        kernel_of(problem),
        codes,
        problem.n_classes,
        labeled,
        problem.alpha,
        problem.unlabeled_weight,
    )
    assert_allclose(problem.objective(codes), expected, rtol=1e-7, atol=1e-9)


@given(problem=problems(), seed=st.integers(0, 9))
def test_model_attains_the_objective(problem, seed):
    """The model of a partition has F as its regularised loss."""
    codes = random_codes(problem, seed)
    K = kernel_of(problem)
    coef = problem.model(codes)
    if hasattr(problem.system, "K"):
        outputs, norm = K @ coef, np.sum(coef * (K @ coef))
    else:
        outputs, norm = problem.system.Z @ coef, np.sum(coef**2)
    Y = problem.targets(codes)
    loss = np.sum(problem.d[:, None] ** 2 * (Y - outputs) ** 2) + problem.alpha * norm
    scale = 1.0 if problem.n_classes == 2 else 0.5
    assert_allclose(scale * loss, problem.objective(codes), rtol=1e-8, atol=1e-10)


@given(problem=problems(), seed=st.integers(0, 9))
def test_gains_are_differences_of_the_objective(problem, seed):
    codes = random_codes(problem, seed)
    value = problem.objective(codes)
    gains = problem.move_gains(codes)
    for row, i in enumerate(problem.free):
        for b in range(problem.n_classes):
            moved = codes.copy()
            moved[i] = b
            difference = value - problem.objective(moved)
            assert gains[row, b] == pytest.approx(difference, abs=1e-9)
    for i in problem.free[:4]:
        for j in problem.free[:4]:
            swapped = codes.copy()
            swapped[[i, j]] = codes[[j, i]]
            difference = value - problem.objective(swapped)
            assert problem.swap_gain(codes, i, j) == pytest.approx(difference, abs=1e-9)


def test_two_classes_in_both_conventions():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(8, 2))
    signed = PartitionProblem.from_factor(Z, [-1, 1, 0, 0, 0, 0, 0, 0])
    indexed = PartitionProblem.from_factor(
        Z, [0, 1, -1, -1, -1, -1, -1, -1], n_classes=2
    )
    y = np.array([-1, 1, 1, -1, 1, -1, 1, -1])
    assert signed.objective(y) == indexed.objective((y + 1) // 2)
    flips = signed.flip_gains(y)
    for row, i in enumerate(signed.free):
        flipped = y.copy()
        flipped[i] *= -1
        assert_close(
            flips[row], signed.objective(y) - signed.objective(flipped), scale=1
        )
    assert_array_equal(signed.decode(signed.check_partition(y)), y)
    # The papers' formula: F = alpha (Dy)' G (Dy).
    D = np.diag(signed.d)
    G = np.linalg.inv(D @ Z @ Z.T @ D + signed.alpha * np.eye(8))
    assert_close(signed.objective(y), signed.alpha * (D @ y) @ G @ (D @ y))


@given(problem=problems(factor=True), seed=st.integers(0, 9))
def test_kernel_and_factor_agree(problem, seed):
    codes = random_codes(problem, seed)
    twin = PartitionProblem.from_kernel(
        kernel_of(problem),
        problem.codes,
        problem.alpha,
        problem.unlabeled_weight,
        n_classes=problem.n_classes,
    )
    assert_close(twin.objective(codes), problem.objective(codes), scale=1)
    assert_close(twin.move_gains(codes), problem.move_gains(codes), scale=10)


@pytest.mark.parametrize("factor", [True, False])
@given(seed=st.integers(0, 99), n_classes=st.integers(2, 3))
def test_the_path_is_the_single_problems(factor, seed, n_classes):
    problem = random_problem(seed, n_classes=n_classes, factor=factor)
    codes = random_codes(problem, seed)
    alphas = [1e-4, 0.1, 3.0]
    for alpha, along in zip(alphas, problem.path(alphas), strict=True):
        alone = random_problem(seed, n_classes=n_classes, factor=factor, alpha=alpha)
        assert along.alpha == alpha
        assert_close(along.objective(codes), alone.objective(codes), scale=1)
        assert_close(along.move_gains(codes), alone.move_gains(codes), scale=10)
        K = kernel_of(problem)
        shown, expected = along.model(codes), alone.model(codes)
        if not factor:  # coefficients may differ where K maps them to zero
            shown, expected = K @ shown, K @ expected
        assert_close(shown, expected, scale=10, factor=100)


@pytest.mark.parametrize("factor", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_pieces_of_a_path(rng, factor, n_classes):
    """The factorisation of every system on a path is that of its matrix."""
    n = 50
    problem = random_problem(0, n=n, rank=40, n_classes=n_classes, factor=factor)
    E = rng.normal(size=(n, 3))
    alphas = np.array([1e-3, 0.1, 10.0])
    # A second path from a problem on the first one.
    for path in (problem.path(alphas), next(problem.path([5.0])).path(alphas)):
        for alpha, along in zip(alphas, path, strict=True):
            system = along.system
            alone = random_problem(
                0, n=n, rank=40, n_classes=n_classes, factor=factor, alpha=alpha
            ).system
            Q = alone.dense(np.arange(n))
            assert_close(system.dense(np.arange(n)), Q, scale=1, factor=100)
            assert_close(system.diagonal(), Q.diagonal(), scale=1, factor=100)
            assert_close(system.products(E), Q @ E, scale=10, factor=100)
            forms = np.einsum("ij,ij->j", E, Q @ E)
            assert_close(system.forms(E), forms, scale=10, factor=100)
            assert_close(alone.forms(E), forms, scale=10, factor=100)
            rows = along.free
            B = system.factor(rows)
            assert_close(system.weigh(B) @ B.T, Q[np.ix_(rows, rows)], factor=100)
            targets = problem.one_hot(problem.codes)[problem.labeled]
            assert_close(
                system.supervised_outputs(problem.labeled, targets),
                alone.supervised_outputs(problem.labeled, targets),
                scale=10,
                factor=1000,
            )


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
def test_tridiagonal_form(rng, n):
    Z = rng.normal(size=(n, n))
    U, T = tridiagonal(Z @ Z.T)
    dense = np.diag(T.diagonal) + np.diag(T.off, 1) + np.diag(T.off, -1)
    assert_close(U @ dense @ U.T, Z @ Z.T, scale=10 * n)
    assert_close(U.T @ U, np.eye(n), scale=1)


def test_the_tridiagonal_form_of_few_dimensions(rng):
    """A matrix of low rank is exhausted after few columns, and nothing is lost."""
    Z = rng.normal(size=(100, 7))
    U, T = tridiagonal(Z @ Z.T)
    assert 7 <= U.shape[1] <= 10
    dense = np.diag(T.diagonal) + np.diag(T.off, 1) + np.diag(T.off, -1)
    assert_close(U @ dense @ U.T, Z @ Z.T, scale=1000)
    U, T = tridiagonal(np.zeros((5, 5)))
    assert U.shape == (5, 0)


def test_a_path_along_which_nothing_is_left():
    problem = PartitionProblem.from_kernel(np.zeros((4, 4)), [-1, 1, 0, 0])
    for along in problem.path([0.1, 1.0]):
        assert_close(along.objective([-1, 1, 1, -1]), 2.0, scale=1)
        assert_close(along.model([-1, 1, 1, -1]), np.zeros((4, 1)), scale=1)


@pytest.mark.parametrize(
    ("n_free", "balance", "tol", "expected"),
    [
        (100, 0.5, 0.1, (41, 59)),  # |m/100 - 0.5| < 0.1, strictly
        (10, 0.5, 0.1, (5, 5)),
        (10, 0.25, 0.0, (2, 2)),  # 2.5 has no whole number at distance 0
        (10, 0.0, 0.1, (0, 0)),
        (10, 1.0, 0.5, (6, 10)),
        (7, 0.5, 10.0, (0, 7)),
        (0, 0.5, 0.1, (0, 0)),
    ],
)
def test_bounds_of_two_classes(n_free, balance, tol, expected):
    shares = np.array([1 - balance, balance])
    bounds = size_bounds(shares, tol, n_free, 2)
    assert (bounds.lower[1], bounds.upper[1]) == expected
    assert (bounds.lower[0], bounds.upper[0]) == (
        n_free - expected[1],
        n_free - expected[0],
    )


@given(
    weights=st.lists(st.floats(0.01, 1), min_size=2, max_size=5),
    tol=st.sampled_from([0.0, 0.01, 0.1, 0.5]),
    n_free=st.integers(0, 30),
    seed=st.integers(0, 99),
)
def test_repair_always_ends_within_the_bounds(weights, tol, n_free, seed):
    shares = np.array(weights) / np.sum(weights)
    k = len(shares)
    bounds = size_bounds(shares, tol, n_free, k)
    assert bounds.lower.sum() <= n_free <= bounds.upper.sum()
    rng = np.random.default_rng(seed)
    codes, scores = rng.integers(k, size=n_free), rng.normal(size=(n_free, k))
    fixed = repair(codes, scores, bounds)
    assert bounds.admit(np.bincount(fixed, minlength=k))
    if bounds.admit(np.bincount(codes, minlength=k)):
        assert_array_equal(fixed, codes)


@given(k=st.integers(2, 5), n_free=st.integers(2, 25), seed=st.integers(0, 99))
def test_repair_moves_the_points_that_lose_least(k, n_free, seed):
    """One class too full, room everywhere else: the smallest losses move."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_free, k))
    keep = int(rng.integers(n_free))
    upper = np.full(k, n_free)
    upper[0] = keep
    fixed = repair(
        np.zeros(n_free, dtype=np.intp), scores, SizeBounds(np.zeros(k, int), upper)
    )
    losses = np.sort(scores[:, 0] - scores[:, 1:].max(axis=1))
    total = np.sum(scores[:, 0] - scores[np.arange(n_free), fixed])
    assert_close(total, losses[: n_free - keep].sum(), scale=1)


@given(n_free=st.integers(1, 20), low=st.integers(0, 20), seed=st.integers(0, 99))
def test_repair_of_two_classes_takes_the_largest_outputs(n_free, low, seed):
    low = min(low, n_free)
    bounds = SizeBounds(np.array([n_free - low, low]), np.array([n_free - low, low]))
    f = np.random.default_rng(seed).normal(size=n_free)
    fixed = repair((f > 0).astype(np.intp), np.column_stack([-f, f]), bounds)
    assert_array_equal(np.sort(np.argsort(-f)[:low]), np.flatnonzero(fixed))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0.0}, "alpha must be positive"),
        ({"unlabeled_weight": -1.0}, "unlabeled_weight must be positive"),
        ({"balance": 1.5}, "shares between 0 and 1"),
        ({"balance": [0.2, 0.2]}, "sum to 1"),
        ({"balance": [0.2, 0.3, 0.5]}, "one share per class"),
        ({"balance": 0.5, "balance_tol": -0.1}, "must not be negative"),
        ({"balance_tol": 0.1}, "balance_tol has no effect without balance"),
        ({"y": [-1, 1, 0]}, "y has 3 entries for 4 points"),
        ({"y": [-1, 1, 0, 2]}, "for class indices give n_classes"),
        ({"y": [0, 1, -1, 3], "n_classes": 3}, "class indices 0, ..., 2"),
        ({"y": [[0, 1, 0, 0]]}, "y must be a vector"),
        ({"n_classes": 1, "y": [0, 0, -1, -1]}, "at least 2"),
        ({"n_classes": 3, "y": [0, 1, 2, -1], "balance": 0.5}, "single share"),
    ],
)
def test_bad_problems(params, message):
    params = {"y": [-1, 1, 0, 0], **params}
    with pytest.raises(ValueError, match=message):
        PartitionProblem.from_factor(np.ones((4, 2)), **params)


def test_bad_matrices():
    with pytest.raises(ValueError, match="K must be square"):
        PartitionProblem.from_kernel(np.ones((2, 3)), [0, 0])
    with pytest.raises(ValueError, match="Z holds infinite values or NaN"):
        PartitionProblem.from_factor([[np.nan], [1.0]], [0, 0])
    with pytest.raises(ValueError, match="Z must be a matrix"):
        PartitionProblem.from_factor([1.0, 2.0], [0, 0])


def test_bad_partitions():
    problem = random_problem(0)
    codes = random_codes(problem)
    wrong = codes.copy()
    wrong[problem.labeled[0]] ^= 1
    with pytest.raises(ValueError, match="keep the given labels"):
        problem.objective(wrong)
    with pytest.raises(ValueError, match="must give each of the 10 points a class"):
        problem.objective(problem.codes)
    with pytest.raises(ValueError, match="must both be free"):
        problem.swap_gain(codes, problem.labeled[0], problem.free[0])
    three = random_problem(0, n_classes=3)
    with pytest.raises(ValueError, match="use move_gains"):
        three.flip_gains(random_codes(three))
    with pytest.raises(ValueError, match="alphas must be positive"):
        problem.path([0.0])


def test_matrices_that_are_no_kernels():
    K = np.diag([1.0, 1.0, 1.0, -9.0])
    problem = PartitionProblem.from_kernel(K, [-1, 1, 0, 0])
    with pytest.raises(ValueError, match="not positive semidefinite"):
        problem.objective([-1, 1, 1, 1])
    with pytest.raises(ValueError, match="not positive semidefinite"):
        next(problem.path([1.0]))
    with pytest.raises(ValueError, match="not symmetric"):
        PartitionProblem.from_kernel([[1.0, 0.5], [0.0, 1.0]], [0, 0])


def test_features_that_drown_the_regularisation(rng):
    Z = 1e8 * np.repeat(rng.normal(size=(20, 1)), 2, axis=1)
    problem = PartitionProblem.from_factor(Z, np.zeros(20, dtype=int), 1e-3)
    with pytest.raises(ValueError, match="scale the rows, or raise alpha"):
        problem.objective(np.tile([-1, 1], 10))


def test_tolerances_beyond_all_bounds():
    bounds = size_bounds(np.array([0.5, 0.5]), 1e20, 10, 2)
    assert_array_equal(bounds.lower, 0)
    assert_array_equal(bounds.upper, 10)


@pytest.mark.parametrize("path", [False, True])
@pytest.mark.parametrize("factor", [False, True])
def test_a_regularisation_that_vanishes_beside_the_kernel_is_refused(factor, path):
    """One far row: what is found would be decided by rounding errors alone."""
    Z = np.vstack([np.eye(6, 4), np.full((1, 4), 2.0**29)])
    make = PartitionProblem.from_factor if factor else PartitionProblem.from_kernel
    problem = make(Z if factor else Z @ Z.T, np.zeros(7))
    with pytest.raises(ValueError, match=r"alpha=1 is lost .* raise alpha"):
        next(problem.system.path(np.ones(1))) if path else problem.system.dense(
            np.arange(7)
        )
