"""Semi-supervised least squares by search over partitions."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics.pairwise import rbf_kernel

from fewlabels._loops.zonotope import PARALLEL
from fewlabels.datasets import hide_labels, make_gaussian2c
from fewlabels.exceptions import IgnoredParameterWarning
from fewlabels.kernels import gamma_from_width, range_width
from fewlabels.semi_supervised import (
    RLSClassifier,
    S2RLSClassifier,
    S2RLSClassifierCV,
)
from tests.helpers import assert_close


@pytest.fixture
def blobs():
    corners = [[0, 0], [0, 8], [8, 0]]
    X, y = make_blobs(90, centers=corners, random_state=0)
    return X, y, hide_labels(y, per_class=2, random_state=0)


def error(model, y_true, y):
    unlabeled = y == -1
    return np.mean((model.transduction_ != y_true)[unlabeled])


def test_unlabelled_rows_help():
    X, y_true = make_gaussian2c(300, 200, random_state=0)
    y = hide_labels(y_true, n_labeled=10, random_state=0)
    semi = S2RLSClassifier(kernel="linear", random_state=0).fit(X, y)
    supervised = RLSClassifier(kernel="linear").fit(X, y)
    assert error(semi, y_true, y) < 0.05 < 0.1 < error(supervised, y_true, y)
    X_new, y_new = make_gaussian2c(500, 200, random_state=1)
    assert semi.score(X_new, y_new) > 0.95


def test_restarts_solve_the_moons():
    """Figure 6 of the paper: the supervised guess leads into a bad local optimum."""
    errors = []
    for seed in range(4):
        X, y_true = make_moons(200, noise=0.1, random_state=seed)
        y = hide_labels(y_true, per_class=2, random_state=seed)
        gamma = gamma_from_width(0.1 * range_width(X))
        params = {"gamma": gamma, "alpha": 2.0**-10, "unlabeled_weight": 0.1}
        one = S2RLSClassifier(n_init=1, **params).fit(X, y)
        many = S2RLSClassifier(n_init=1001, random_state=0, **params).fit(X, y)
        assert many.objective_ <= one.objective_
        errors.append([error(one, y_true, y), error(many, y_true, y)])
    one, many = np.mean(errors, axis=0)
    assert many < 0.05 < one


def test_fully_labelled_rows_are_plain_least_squares(blobs):
    X, y, _ = blobs
    semi = S2RLSClassifier(alpha=0.1, gamma=0.2).fit(X, y)
    plain = RLSClassifier(alpha=0.1, gamma=0.2, fit_intercept=False).fit(X, y)
    assert_close(semi.decision_function(X), plain.decision_function(X), scale=1)
    assert_array_equal(semi.transduction_, y)


def test_the_model_belongs_to_the_final_partition(blobs):
    """Fitting the final labelling as if it were given gives the same model."""
    X, _, y = blobs
    model = S2RLSClassifier(alpha=0.1, gamma=0.2, random_state=0).fit(X, y)
    K = model.kernel_(X)
    d2 = np.where(y == -1, 1 / np.sum(y == -1), 1 / np.sum(y != -1))
    Y = 2.0 * (model.transduction_[:, None] == model.classes_) - 1
    coef = np.linalg.solve(K + 0.1 * np.diag(1 / d2), Y)
    assert_close(model.decision_function(X), K @ coef, scale=1, factor=10)


@pytest.mark.parametrize("solver", ["local_search", "evolve", "tabu_search"])
def test_labels_and_balance_hold(blobs, solver):
    X, _, y = blobs
    model = S2RLSClassifier(
        solver=solver, balance=[0.5, 0.3, 0.2], balance_tol=0.02, random_state=0
    ).fit(X, y)
    labeled = y != -1
    assert_array_equal(model.transduction_[labeled], y[labeled])
    shares = np.bincount(model.transduction_[~labeled]) / np.sum(~labeled)
    assert np.all(np.abs(shares - [0.5, 0.3, 0.2]) <= 0.02)
    assert_close(model.balance_, [0.5, 0.3, 0.2])
    sizes = np.bincount(model.transduction_[~labeled])
    assert np.all(model.class_sizes_[:, 0] <= sizes)
    assert np.all(sizes <= model.class_sizes_[:, 1])


@pytest.mark.parametrize("solver", ["exact", "branch_and_bound", "auto"])
def test_exact_labelling_of_few_dimensions(blobs, solver):
    """An exact semi-supervised solver: labels hold, and no search does better."""
    X, y_true, _ = blobs
    two = y_true < 2
    X, y = X[two], hide_labels(y_true[two], per_class=3, random_state=0)
    params = {"kernel": "linear", "alpha": 0.1, "random_state": 0}
    exact = S2RLSClassifier(solver=solver, **params).fit(X, y)
    labeled = y != -1
    # Rows closer than this to a bound on the sizes are taken for one, each in doubt.
    assert exact.result_.gap < len(X) * PARALLEL
    assert_array_equal(exact.transduction_[labeled], y[labeled])
    for start in ("supervised", "random", "exact"):
        search = S2RLSClassifier(
            solver_params={"start": start}, n_init=21, **params
        ).fit(X, y)
        assert exact.objective_ <= search.objective_ + 1e-9
    sizes = np.bincount(exact.transduction_[~labeled])
    assert np.all(exact.class_sizes_[:, 0] <= sizes)


def test_balance_in_every_form(blobs):
    X, y_true, _ = blobs
    two = y_true < 2
    X, y = X[two], hide_labels(y_true[two], per_class=3, random_state=0)
    names = np.where(y < 0, None, np.array(["cat", "dog"], dtype=object)[y])
    forms = [
        S2RLSClassifier(balance=0.25, random_state=0).fit(X, y),
        S2RLSClassifier(balance=[0.75, 0.25], random_state=0).fit(X, y),
        S2RLSClassifier(balance={"dog": 0.25, "cat": 0.75}, random_state=0).fit(
            X, names
        ),
    ]
    for model in forms:
        assert_close(model.balance_, [0.75, 0.25])
        assert model.objective_ == forms[0].objective_
    estimated = S2RLSClassifier(random_state=0).fit(X, y)
    assert_close(estimated.balance_, [0.5, 0.5])
    unbounded = S2RLSClassifier(balance=None, random_state=0).fit(X, y)
    assert unbounded.balance_ is None
    assert_array_equal(unbounded.class_sizes_[:, 0], 0)


@pytest.mark.parametrize(
    ("balance", "message"),
    [
        ([0.5, 0.5], "one share per class"),
        ([0.5, 0.6, 0.2], "sum to 1"),
        (0.5, "single share"),
        (True, "balance=True is unknown"),
        ({0: 0.5, 1: 0.5}, "balance names the classes"),
        ({0: 0.5, 1: 0.3, "x": 0.2}, "balance names the classes"),
    ],
)
def test_balance_that_contradicts_the_labels(blobs, balance, message):
    X, _, y = blobs
    with pytest.raises(ValueError, match=message):
        S2RLSClassifier(balance=balance).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_sparse_rows(blobs, kernel):
    X, _, y = blobs
    X = np.where(np.abs(X) < 1, 0, X)
    dense = S2RLSClassifier(kernel=kernel, random_state=0).fit(X, y)
    thin = S2RLSClassifier(kernel=kernel, random_state=0).fit(sparse.csr_array(X), y)
    assert_array_equal(thin.transduction_, dense.transduction_)
    assert_close(
        thin.decision_function(sparse.csr_array(X)),
        dense.decision_function(X),
        scale=10,
        factor=10,
    )


def test_sparse_rows_with_more_features_than_rows(rng):
    X = sparse.random_array((30, 100), density=0.1, rng=rng, format="csr")
    y = np.where(np.arange(30) < 10, np.arange(30) % 2, -1)
    model = S2RLSClassifier(kernel="linear", random_state=0).fit(X, y)
    assert model.dual_coef_.shape == (30, 1)
    assert_close(
        model.decision_function(X), (X @ X.T).toarray() @ model.dual_coef_[:, 0]
    )


def test_precomputed_kernel(blobs, rng):
    X, _, y = blobs
    X_new = rng.normal(3, 3, size=(5, 2))
    by_rows = S2RLSClassifier(gamma=0.1, random_state=0).fit(X, y)
    by_matrix = S2RLSClassifier(kernel="precomputed", random_state=0)
    by_matrix.fit(rbf_kernel(X, gamma=0.1), y)
    assert_array_equal(by_matrix.transduction_, by_rows.transduction_)
    assert_close(
        by_matrix.decision_function(rbf_kernel(X_new, X, gamma=0.1)),
        by_rows.decision_function(X_new),
        scale=1,
        factor=10,
    )
    with pytest.raises(ValueError, match="square kernel matrix"):
        by_matrix.fit(np.ones((90, 3)), y)


def test_kernel_and_features_agree(blobs):
    """The linear kernel as a matrix and as features is the same problem."""
    X, _, y = blobs
    features = S2RLSClassifier(kernel="linear", random_state=0).fit(X, y)
    matrix = S2RLSClassifier(kernel="precomputed", random_state=0).fit(X @ X.T, y)
    assert features.coef_.shape == (2, 3)
    assert features.dual_coef_ is None
    assert matrix.coef_ is None
    assert_close(features.objective_, matrix.objective_, scale=1)
    assert_close(
        features.decision_function(X), matrix.decision_function(X @ X.T), scale=1
    )


def test_nystrom(blobs):
    X, y_true, y = blobs
    model = S2RLSClassifier(n_components=20, gamma=0.1, random_state=0).fit(X, y)
    assert model.coef_.shape[0] <= 20
    assert error(model, y_true, y) < 0.05
    assert np.mean(model.predict(X) == y_true) > 0.95
    full = S2RLSClassifier(n_components=90, gamma=0.1, random_state=0).fit(X, y)
    exact = S2RLSClassifier(gamma=0.1, random_state=0).fit(X, y)
    assert_close(full.objective_, exact.objective_, scale=1, factor=100)


def test_start(blobs):
    X, y_true, y = blobs
    given = S2RLSClassifier(solver_params={"start": y_true}, n_init=1).fit(X, y)
    assert given.objective_ <= given.result_.history[0]
    names = np.array(["a", "b", "c"], dtype=object)
    with_names = np.where(y < 0, None, names[y])
    named = S2RLSClassifier(solver_params={"start": names[y_true]}, n_init=1).fit(
        X, with_names
    )
    assert_array_equal(named.transduction_, names[given.transduction_])
    with pytest.raises(ValueError, match="start must name one of the classes"):
        S2RLSClassifier(solver_params={"start": y_true + 5}).fit(X, y)
    with pytest.raises(ValueError, match="start must name one of the classes"):
        S2RLSClassifier(solver_params={"start": y_true[:-1]}).fit(X, y)
    with pytest.raises(ValueError, match="start must name one of the classes"):
        S2RLSClassifier(solver_params={"start": with_names}).fit(X, with_names)  # holes
    with pytest.raises(ValueError, match="start must name one of the classes"):
        S2RLSClassifier(solver_params={"start": names[y_true]}).fit(X, y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_reproducible(blobs, n_jobs):
    X, _, y = blobs
    first = S2RLSClassifier(random_state=3).fit(X, y)
    again = S2RLSClassifier(random_state=3, n_jobs=n_jobs).fit(X, y)
    assert_array_equal(first.result_.objectives, again.result_.objectives)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_single_class(rng, kernel):
    X = rng.normal(size=(8, 2))
    with pytest.warns(UserWarning, match="single class"):
        model = S2RLSClassifier(kernel=kernel).fit(X, ["a", "a"] + [None] * 6)
    assert_array_equal(model.transduction_, ["a"] * 8)
    assert_array_equal(model.predict(100 * X), ["a"] * 8)
    assert model.class_sizes_.shape == (1, 2)
    with pytest.warns(UserWarning, match="single class"):
        chosen = S2RLSClassifierCV(kernel=kernel, alphas=[0.1], n_init=1).fit(
            X, ["a", "a"] + [None] * 6
        )
    assert_array_equal(chosen.transduction_, ["a"] * 8)


@pytest.mark.parametrize(
    "X",
    [
        np.ones((8, 3)),
        np.full((8, 3), 0.1),  # whose variance is not quite zero
        np.full((8, 30), 1e8 + 0.3, dtype=np.float32),
        (1e3 + np.random.default_rng(0).normal(size=(8, 30))).astype(np.float32),
        np.zeros((8, 3)),
        np.tile([[0.0, 1.0], [1.0, 0.0]], (4, 1)),
        np.random.default_rng(0).normal(size=(8, 50)),
    ],
    ids=[
        "constant",
        "constant but for rounding",
        "large constant",
        "far from zero",
        "zero",
        "duplicates",
        "more features than rows",
    ],
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.filterwarnings("ignore:The model contradicts its own labelling")
def test_degenerate_rows(X, kernel):
    y = [0, 1, -1, -1, -1, -1, -1, -1]
    model = S2RLSClassifier(kernel=kernel, random_state=0).fit(X, y)
    assert set(model.transduction_) <= {0, 1}
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_default_regularisation_knows_the_scale(blobs, kernel):
    """Rows in other units get the same labelling, and the model agrees with it."""
    X, _, y = blobs
    X = X - X.mean(axis=0)
    models = [
        S2RLSClassifier(kernel=kernel, random_state=0).fit(unit * X, y)
        for unit in (1.0, 1e-3, 1e3)
    ]
    for model in models:
        assert_array_equal(model.transduction_, models[0].transduction_)
    assert_array_equal(models[0].predict(X), models[0].transduction_)
    if kernel == "linear":
        assert_close(models[2].alpha_, 1e6 * models[0].alpha_)
        assert_close(models[0].alpha_, 0.005 * np.sum(X**2) / len(X))
    else:
        K = rbf_kernel(X, gamma=models[0].kernel_.params["gamma"])
        assert_close(models[0].alpha_, 0.005 * (1 - K.mean()))


def test_a_model_that_contradicts_its_labelling_warns():
    """All outputs of a far too smooth model have the sign of the larger class."""
    X, y_true = make_gaussian2c(200, 200, random_state=0)
    y = hide_labels(y_true, per_class=5, random_state=0)
    with pytest.warns(UserWarning, match="contradicts its own labelling"):
        smooth = S2RLSClassifier(alpha=10.0, balance=0.3, random_state=0).fit(X, y)
    assert np.mean(smooth.predict(X + 1e-9) == 0) > 0.95  # of new rows
    with pytest.warns(UserWarning, match="contradicts its own labelling on 50%"):
        S2RLSClassifier(random_state=0).fit(np.ones((8, 3)), [0, 1] + [-1] * 6)


def test_indefinite_kernels_are_refused():
    K = np.diag([1.0, 1.0, -9.0])
    with pytest.raises(ValueError, match="not positive semidefinite"):
        S2RLSClassifier(kernel="precomputed").fit(K, [0, 1, -1])


def test_ignored_parameters():
    with pytest.warns(IgnoredParameterWarning, match="gamma=0.5 is ignored"):
        S2RLSClassifier(kernel="linear", gamma=0.5).fit([[0.0], [1.0]], [0, 1])


class TestCrossValidation:
    def test_finds_good_parameters(self):
        X, y_true = make_gaussian2c(200, 50, random_state=0)
        y = hide_labels(y_true, n_labeled=20, random_state=0)
        model = S2RLSClassifierCV(
            kernel="linear",
            solver_params={"n_init_search": 3},
            n_init=6,
            random_state=0,
        ).fit(X, y)
        assert error(model, y_true, y) < 0.05
        assert set(model.best_params_) == {"gamma", "alpha", "unlabeled_weight"}
        results = model.cv_results_
        assert len(results["alpha"]) == 2 * 21
        best = np.argmax(results["accuracy"])
        assert model.best_score_ == results["accuracy"][best]
        assert_array_equal(model.transduction_, model.best_estimator_.transduction_)
        assert_array_equal(model.predict(X), model.best_estimator_.predict(X))

    def test_widths_of_the_papers(self):
        X, y_true = make_moons(60, noise=0.05, random_state=0)
        y = hide_labels(y_true, n_labeled=12, random_state=0)
        model = S2RLSClassifierCV(
            alphas=[0.01, 1.0],
            solver_params={"n_init_search": 2},
            n_init=3,
            random_state=0,
        ).fit(X, y)
        assert len(np.unique(model.cv_results_["gamma"].astype(float))) == 5
        assert len(model.cv_results_["alpha"]) == 5 * 2 * 2

    def test_scores_are_those_of_fitting_without_the_fold(self):
        """One fold by hand: same problem, same seed, same outputs."""
        X, y_true = make_blobs(40, centers=3, random_state=1)
        y = hide_labels(y_true, n_labeled=9, random_state=0)
        model = S2RLSClassifierCV(
            kernel="linear",
            alphas=[0.5],
            unlabeled_weights=[1.0],
            cv=9,
            solver_params={"n_init_search": 1},
            n_init=1,
            random_state=0,
        ).fit(X, y)
        right = []
        for i in np.flatnonzero(y != -1):
            rest = np.arange(40) != i
            again = S2RLSClassifier(
                kernel="linear",
                alpha=0.5,
                n_init=1,
                balance=np.bincount(y[y >= 0]) / 9,
                balance_tol=0.2,
            ).fit(X[rest], y[rest])
            right.append(again.predict(X[[i]])[0] == y[i])
        assert model.best_score_ == pytest.approx(np.mean(right))

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_reproducible(self, n_jobs):
        X, y_true = make_blobs(40, centers=2, random_state=1)
        y = hide_labels(y_true, n_labeled=8, random_state=0)
        params = {"alphas": [0.1, 1.0], "gammas": [0.1], "random_state": 3}
        params.update(solver_params={"n_init_search": 3}, n_init=3)
        first = S2RLSClassifierCV(**params).fit(X, y)
        again = S2RLSClassifierCV(n_jobs=n_jobs, **params).fit(X, y)
        assert_array_equal(
            first.cv_results_["squared_error"], again.cv_results_["squared_error"]
        )
        assert_array_equal(first.transduction_, again.transduction_)

    @pytest.mark.parametrize("form", ["sparse", "precomputed", "n_components"])
    def test_forms_of_input(self, form):
        X, y_true = make_blobs(40, centers=[[0, 0], [6, 6]], random_state=1)
        y = hide_labels(y_true, n_labeled=8, random_state=0)
        params = {"alphas": [0.1], "solver_params": {"n_init_search": 1}, "n_init": 2}
        data = X
        if form == "sparse":
            data = sparse.csr_array(X)
        elif form == "precomputed":
            data, params["kernel"] = rbf_kernel(X, gamma=0.1), "precomputed"
        else:
            params["n_components"] = 10
        model = S2RLSClassifierCV(random_state=0, **params).fit(data, y)
        assert error(model, y_true, y) == 0
        assert_array_equal(model.predict(data), y_true)

    def test_gammas_without_use(self):
        X, y_true = make_blobs(30, centers=2, random_state=1)
        with pytest.warns(IgnoredParameterWarning, match="gammas is ignored"):
            model = S2RLSClassifierCV(
                kernel="linear", gammas=[0.1, 1.0], alphas=[1.0], n_init=1
            ).fit(X, y_true)
        assert len(model.cv_results_["alpha"]) == 2

    def test_one_label_per_class(self):
        X, y_true = make_blobs(30, centers=[[0, 0], [9, 9]], random_state=1)
        y = hide_labels(y_true, per_class=1, random_state=0)
        model = S2RLSClassifierCV(alphas=[0.1], random_state=0, n_init=3).fit(X, y)
        assert_array_equal(model.classes_, [0, 1])

    def test_too_few_labels(self):
        with (
            pytest.warns(UserWarning, match="single class"),
            pytest.raises(ValueError, match="at least two labelled rows"),
        ):
            S2RLSClassifierCV().fit([[0.0], [1.0]], ["a", None])

    @pytest.mark.parametrize("name", ["alphas", "gammas", "unlabeled_weights"])
    def test_empty_grids(self, name):
        with pytest.raises(ValueError, match="holds no value to try"):
            S2RLSClassifierCV(**{name: []}).fit([[0.0], [1.0]], [0, 1])
