"""Laplacian SVM and Laplacian least squares, the estimators."""

# SPDX-License-Identifier: BSD-3-Clause

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sklearn.utils import validation

from fewlabels.datasets import hide_labels
from fewlabels.exceptions import DisconnectedGraphWarning, IgnoredParameterWarning
from fewlabels.graphs import graph_laplacian, laplacian_power, similarity_graph
from fewlabels.kernels import GramOperator
from fewlabels.semi_supervised import (
    LaplacianRLSClassifier,
    LaplacianRLSClassifierCV,
    LaplacianRLSRegressor,
    LaplacianSVC,
    RLSClassifier,
    S2RLSClassifier,
    TransductiveSVC,
)
from fewlabels.semi_supervised import _laplacian_base as module
from fewlabels.semi_supervised._kernel_estimator import best_of, clearly_right
from fewlabels.semi_supervised._laplacian_problem import usual_energy

SOLVERS = [
    (LaplacianSVC, "dense"),
    (LaplacianSVC, "dual"),
    (LaplacianSVC, "pcg"),
    (LaplacianSVC, "low_rank"),
    (LaplacianRLSClassifier, "dense"),
    (LaplacianRLSClassifier, "pcg"),
    (LaplacianRLSClassifier, "low_rank"),
]
every_solver = pytest.mark.parametrize(
    ("estimator", "solver"), SOLVERS, ids=lambda x: getattr(x, "__name__", x)
)


@pytest.fixture
def moons():
    X, truth = make_moons(300, noise=0.05, random_state=0)
    return X, truth, hide_labels(truth, per_class=1, random_state=0)


@pytest.fixture
def blobs():
    X, truth = make_blobs(150, centers=4, cluster_std=0.6, random_state=1)
    return X, truth, hide_labels(truth, per_class=3, random_state=0)


class TestMoons:
    @every_solver
    def test_two_labels_are_enough(self, moons, estimator, solver):
        X, truth, y = moons
        model = estimator(solver=solver).fit(X, y)
        assert np.mean(model.transduction_ != truth) < 0.02
        assert model.solver_ == solver
        assert model.solver_reason_ == "as asked for"
        baseline = RLSClassifier().fit(X, y)
        assert np.mean(baseline.transduction_ != truth) > 0.1

    @pytest.mark.parametrize("estimator", [LaplacianSVC, LaplacianRLSClassifier])
    def test_defaults_hold_for_any_number_of_rows(self, estimator):
        for n in (100, 1000, 6000):
            X, truth = make_moons(n, noise=0.05, random_state=n)
            y = hide_labels(truth, per_class=1, random_state=n)
            model = estimator().fit(X, y)
            assert model.solver_ == "low_rank"
            assert np.mean(model.transduction_ != truth) <= 0.02

    @pytest.mark.parametrize("scale", [1e-3, 1e3])
    def test_units_of_the_rows_do_not_matter(self, moons, scale):
        X, _, y = moons
        plain, scaled = LaplacianSVC().fit(X, y), LaplacianSVC().fit(scale * X, y)
        assert_allclose(scaled.objective_, plain.objective_, rtol=1e-6)
        assert_array_equal(scaled.transduction_, plain.transduction_)

    def test_new_rows(self, moons):
        X, _, y = moons
        X_new, truth = make_moons(200, noise=0.05, random_state=9)
        for estimator, solver in SOLVERS:
            assert estimator(solver=solver).fit(X, y).score(X_new, truth) > 0.97


class TestSolvers:
    @pytest.mark.parametrize("laplacian", ["unnormalized", "symmetric"])
    @pytest.mark.parametrize("fit_intercept", [True, False])
    @pytest.mark.parametrize("scaling", ["scale-free", "paper"])
    def test_primal_solvers_agree(self, blobs, laplacian, fit_intercept, scaling):
        X, _, y = blobs
        for estimator, exact in (
            (LaplacianSVC, "dense"),
            (LaplacianRLSClassifier, "dense"),
        ):
            model = estimator(
                alpha=0.01,
                graph_params={"laplacian": laplacian},
                fit_intercept=fit_intercept,
                scaling=scaling,
            )
            objectives = [
                clone(model).set_params(**p).fit(X, y).objective_
                for p in (
                    {"solver": exact},
                    {"solver": "low_rank", "solver_params": {"rank_tol": 1e-13}},
                    {
                        "solver": "pcg",
                        "solver_params": {"stopping": "gradient", "tol": 1e-8},
                    },
                )
            ]
            assert_allclose(objectives[1:], objectives[0], rtol=1e-8)

    def test_objective_is_the_formula(self, blobs):
        X, _, y = blobs
        for scaling in ("scale-free", "paper"):
            model = LaplacianSVC(solver="dense", scaling=scaling).fit(X, y)
            m, n = model.labeled_indices_.size, len(X)
            K = rbf_kernel(X, gamma=model.kernel_.params["gamma"])
            L = np.diag(model.graph_.sum(axis=0)) - model.graph_.toarray()
            f = K @ model.dual_coef_ + model.intercept_
            signs = np.where(y[y >= 0][:, None] == np.arange(4), 1, -1)
            losses = np.sum(np.maximum(1 - signs * f[y >= 0], 0) ** 2)
            norm = np.sum(model.dual_coef_ * (K @ model.dual_coef_))
            C = X - X.mean(axis=0)
            energy = np.trace(C.T @ L @ C) / np.sum(C**2)
            mean, unit = (1 / m, n * energy) if scaling == "scale-free" else (1, 1)
            expected = 0.5 * (
                mean * losses
                + model.alpha * norm
                + model.graph_alpha / unit * np.sum(f * (L @ f))
            )
            assert_allclose(model.objective_, expected, rtol=1e-6)
            assert_allclose(model.history_["objective"][-1].sum(), expected, rtol=1e-6)

    def test_algorithm_6_31(self, rng):
        """Its parameters in ours, as the guide has them."""
        X = rng.normal(size=(40, 2))
        m, n, gamma_A, gamma_I, t = 8, 40, 0.02, 3.0, 0.3
        y = np.full(n, np.nan)
        y[:m] = rng.normal(size=m)
        K = rbf_kernel(X, gamma=0.5)
        graph = {"bandwidth": np.sqrt(2 * t)}
        W = similarity_graph(X, n_neighbors=5, **graph).toarray()
        edge = tuple(np.argwhere(W)[0])
        apart = np.sum((X[edge[0]] - X[edge[1]]) ** 2)
        assert_allclose(W[edge], np.exp(-apart / (4 * t)))
        L = np.diag(W.sum(axis=1)) - W
        J = np.diag((np.arange(n) < m).astype(float))
        printed = J @ K + gamma_A * m * np.eye(n) + gamma_I * m / n**2 * L @ K
        expected = K @ np.linalg.solve(printed, np.nan_to_num(y))
        model = LaplacianRLSRegressor(
            kernel="rbf",
            gamma=0.5,
            n_neighbors=5,
            graph_params=graph,
            fit_intercept=False,
            solver="dense",
        )
        paper = model.set_params(
            scaling="paper", alpha=gamma_A * m, graph_alpha=gamma_I * m / n**2
        )
        assert_allclose(paper.fit(X, y).predict(X), expected, atol=1e-10)
        C = X - X.mean(axis=0)
        e = np.trace(C.T @ L @ C) / np.trace(C.T @ C)
        free = clone(model).set_params(
            scaling="scale-free", alpha=gamma_A, graph_alpha=gamma_I * e / n
        )
        assert_allclose(free.fit(X, y).predict(X), expected, atol=1e-10)

    def test_auto_tells_kernels_apart(self, rng, monkeypatch):
        monkeypatch.setattr(module, "AUTO_RANK", 60)
        X, y = rng.normal(size=(150, 2)), np.resize([0, 1, -1, -1, -1], 150)
        smooth = LaplacianSVC(gamma=0.1).fit(X, y)
        assert smooth.solver_ == "low_rank"
        assert smooth.solver_reason_.startswith("low rank: ")
        rough = LaplacianSVC(gamma=1e4).fit(X, y)
        assert rough.solver_ == "pcg"
        assert rough.solver_reason_.startswith("no low rank: 60 pivots leave 0.6")

    def test_nothing_is_left_out_of_small_kernels(self, rng):
        """Far outside of the other rows, what a factor leaves out would count."""
        X = np.sort(rng.uniform(0, 10, size=20))[:, None]
        y = (X[:, 0] > 5).astype(int)
        X_new = np.linspace(-2, 12, 30)[:, None]
        exact, usual = (
            LaplacianRLSClassifier(gamma=0.5, solver=solver).fit(X, y)
            for solver in ("dense", "auto")
        )
        assert usual.solver_ == "low_rank"
        assert_allclose(
            usual.decision_function(X_new), exact.decision_function(X_new), atol=1e-6
        )

    @pytest.mark.parametrize("scale", [1e-170, 1e160])
    def test_rows_of_any_size(self, scale):
        X, truth = make_moons(60, noise=0.05, random_state=0)
        expected = LaplacianSVC().fit(X, truth).decision_function(X)
        found = LaplacianSVC().fit(scale * X, truth).decision_function(scale * X)
        assert_allclose(found, expected, atol=1e-6)

    def test_matrices_of_lower_precision_have_factors(self):
        X, truth = make_moons(100, noise=0.05, random_state=0)
        K = rbf_kernel(X).astype(np.float32).astype(np.float64)
        model = LaplacianSVC(kernel="precomputed").fit(K, truth)
        assert (model.predict(K) == truth).all()

    def test_no_large_array(self, monkeypatch):
        """Neither the low-rank solver nor descent on tiles asks for the matrix."""

        def refuse(self):
            raise AssertionError("the kernel matrix was formed")

        monkeypatch.setattr("fewlabels.kernels.TiledGram.toarray", refuse)
        monkeypatch.setattr("fewlabels.kernels._operators.DenseGram.__init__", refuse)
        X, truth = make_moons(400, noise=0.05, random_state=0)
        y = hide_labels(truth, per_class=1, random_state=0)
        auto = LaplacianSVC().fit(X, y)
        tiled = LaplacianSVC(solver="pcg", solver_params={"memory_budget": 0.5}).fit(
            X, y
        )
        assert np.mean(auto.transduction_ != truth) == 0
        assert np.mean(tiled.transduction_ != truth) < 0.02

    def test_the_dual_without_a_graph_is_an_svm(self, blobs):
        X, _, y = blobs
        y = np.where(y >= 2, 1, y)
        model = LaplacianSVC(
            solver="dual", gamma=0.5, alpha=0.05, graph_alpha=0, scaling="paper"
        ).fit(X, y)
        known = y >= 0
        # sum of hinges + alpha |f|^2 is C = 1 / (2 alpha).
        svm = SVC(C=10.0, gamma=0.5, tol=1e-8).fit(X[known], y[known])
        assert_allclose(model.decision_function(X), svm.decision_function(X), atol=1e-5)

    def test_without_a_graph_it_is_kernel_ridge(self, blobs):
        X, _, y = blobs
        y = np.where(y >= 2, 1, y)
        known = y >= 0
        ridge = KernelRidge(alpha=0.1 * known.sum(), kernel="rbf", gamma=0.5)
        ridge.fit(X[known], 2.0 * y[known] - 1)
        for solver in ("dense", "low_rank"):
            model = LaplacianRLSClassifier(
                gamma=0.5, alpha=0.1, graph_alpha=0, fit_intercept=False, solver=solver
            ).fit(X, y)
            assert_allclose(model.decision_function(X), ridge.predict(X), atol=1e-4)
        supervised = RLSClassifier(alpha=0.1, gamma=0.5).fit(X, y)
        model = LaplacianRLSClassifier(
            gamma=0.5, alpha=0.1, graph_alpha=0, solver="dense"
        ).fit(X, y)
        assert_allclose(model.decision_function(X), supervised.decision_function(X))
        assert_allclose(model.loo_outputs_, supervised.loo_outputs_)
        assert model.graph_ is None

    @pytest.mark.parametrize("scaling", ["scale-free", "paper"])
    @pytest.mark.parametrize("solver", ["dense", "low_rank"])
    def test_leave_one_out_is_refitting(self, blobs, scaling, solver):
        X, _, y = blobs
        exact = {"rank_tol": 1e-13} if solver == "low_rank" else None
        model = LaplacianRLSClassifier(
            scaling=scaling,
            solver=solver,
            alpha=1e-3,
            graph_alpha=0.01,
            solver_params=exact,
        )
        loo = clone(model).fit(X, y).loo_outputs_
        for position, i in enumerate(np.flatnonzero(y >= 0)[:4]):
            hidden = y.copy()
            hidden[i] = -1
            again = clone(model).fit(X, hidden).decision_function(X[[i]])
            assert_allclose(again[0], loo[position], atol=1e-6)

    def test_no_leave_one_out_by_descent(self, blobs):
        X, _, y = blobs
        model = LaplacianRLSClassifier(solver="pcg").fit(X, y)
        assert model.loo_outputs_ is None
        assert model.log_evidence_ is None

    @every_solver
    def test_one_versus_rest(self, blobs, estimator, solver):
        X, truth, y = blobs
        model = estimator(solver=solver).fit(X, y)
        assert model.decision_function(X).shape == (150, 4)
        assert model.score(X, truth) > 0.97
        two = estimator(solver=solver).fit(X, np.where(y >= 2, 1, y))
        assert two.decision_function(X).shape == (150,)

    def test_history_and_reasons(self, blobs):
        X, _, y = blobs
        descent = LaplacianSVC(solver="pcg").fit(X, y)
        assert descent.stop_reason_ == "stability"
        assert descent.history_["gradient"].shape == (descent.n_iter_ + 1, 4)
        newton = LaplacianSVC(solver="dense").fit(X, y)
        assert newton.history_["n_errors"].shape == (newton.n_iter_ + 1, 4)
        assert newton.stop_reason_ == "the error set repeats"
        assert LaplacianSVC(solver="dual").fit(X, y).n_iter_ > 0

    @pytest.mark.parametrize("solver", ["pcg", "dense", "low_rank"])
    def test_warm_start(self, blobs, solver):
        X, _, y = blobs
        exact = {"stopping": "objective", "tol": 1e-9} if solver == "pcg" else {}
        model = LaplacianSVC(
            solver=solver, warm_start=True, alpha=1e-3, solver_params=exact
        )
        model.fit(X, y)
        model.alpha = 1.1e-3
        warm = model.fit(X, y)
        cold = clone(model).fit(X, y)
        assert_allclose(warm.objective_, cold.objective_, rtol=1e-5)
        assert warm.n_iter_ <= cold.n_iter_
        if solver == "pcg":
            assert warm.n_iter_ < cold.n_iter_
        # Other rows: there is nothing to start from.
        assert model.fit(X[:100], y[:100]).transduction_.shape == (100,)


@pytest.mark.parametrize("solver", ["auto", "low_rank", "dense", "pcg"])
@pytest.mark.parametrize("estimator", [LaplacianSVC, LaplacianRLSClassifier])
def test_rows_are_validated_once(estimator, solver, monkeypatch):
    X, y_true = make_moons(200, noise=0.1, random_state=0)
    y = hide_labels(y_true, n_labeled=20, random_state=0)
    estimator(solver=solver).fit(X, y)  # whatever is imported on first use
    checked, built = [], []

    def counted(array, *args, **params):
        checked.append(array)
        return original(array, *args, **params)

    def made(gram, *args, **params):
        built.append(gram)
        return initialised(gram, *args, **params)

    original, initialised = validation.check_array, GramOperator.__init__
    for loaded in list(sys.modules.values()):
        if getattr(loaded, "check_array", None) is original:
            monkeypatch.setattr(loaded, "check_array", counted)
    monkeypatch.setattr(GramOperator, "__init__", made)
    estimator(solver=solver).fit(X, y)
    ours = [a for a in checked if isinstance(a, np.ndarray) and np.shares_memory(a, X)]
    assert len(ours) == 1
    # The others are labels, the centred rows of scikit-learn's search, and matrices of
    # all pairs of rows: none for every column of the kernel.
    assert len(checked) <= 10
    assert len(built) == 1


class TestInputs:
    @pytest.mark.parametrize("estimator", [LaplacianSVC, LaplacianRLSClassifier])
    def test_precomputed_kernel(self, blobs, estimator):
        X, _, y = blobs
        K = rbf_kernel(X, gamma=0.5)
        graph = similarity_graph(X)
        rows = estimator(gamma=0.5, scaling="paper").fit(X, y, graph=graph)
        matrix = estimator(kernel="precomputed", scaling="paper").fit(K, y, graph=graph)
        assert_allclose(matrix.objective_, rows.objective_, rtol=1e-6)
        assert_allclose(
            matrix.decision_function(K[:5]), rows.decision_function(X[:5]), atol=1e-6
        )
        alone = estimator(kernel="precomputed").fit(K, y)
        assert alone.score(K, blobs[1]) > 0.97

    def test_a_linear_kernel_matrix_is_as_good_as_its_rows(self, blobs):
        """Graph and energy follow from the kernel where nothing else is given."""
        X, _, y = blobs
        X = X - X.mean(axis=0)
        rows = LaplacianRLSClassifier(kernel="linear").fit(X, y)
        matrix = LaplacianRLSClassifier(kernel="precomputed").fit(X @ X.T, y)
        assert_allclose(matrix.energy_, rows.energy_)
        assert_allclose(matrix.objective_, rows.objective_, rtol=1e-6)

    def test_a_kernel_that_is_not_square(self):
        with pytest.raises(ValueError, match="needs a square kernel matrix"):
            LaplacianSVC(kernel="precomputed").fit(np.ones((3, 2)), [0, 1, -1])

    @pytest.mark.parametrize(
        "model",
        [
            LaplacianSVC(),
            LaplacianSVC(solver="pcg", solver_params={"memory_budget": 0.01}),
            LaplacianRLSClassifier(solver="dense"),
            LaplacianRLSClassifierCV(),
        ],
        ids=str,
    )
    def test_sparse_rows(self, blobs, model):
        X, _, y = blobs
        X = np.where(np.abs(X) < 1, 0, X)
        dense, thin = clone(model).fit(X, y), clone(model).fit(sparse.csr_array(X), y)
        assert_allclose(
            thin.decision_function(sparse.csr_array(X)),
            dense.decision_function(X),
            atol=1e-5,
        )

    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.coo_array])
    def test_graph_of_the_user(self, blobs, make):
        X, truth, y = blobs
        W = (truth[:, None] == truth).astype(float)  # knows the answer
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = LaplacianSVC(kernel="linear").fit(X, y, graph=make(W))
        assert (model.graph_ != sparse.csr_array(W)).nnz == 0
        path = LaplacianRLSRegressor(graph_alpha=10.0, gamma=1e4, alpha=1e-9)
        line = np.eye(5, k=1) + np.eye(5, k=-1)
        rows = np.arange(5.0)[:, None] ** 2
        path.fit(rows, [0, np.nan, np.nan, np.nan, 4], graph=make(line))
        # A heavy graph term makes the values nearly equal, in order along the path.
        assert (np.diff(path.predict(rows)) > 0).all()

    def test_bad_graphs(self, blobs):
        X, _, y = blobs
        with pytest.raises(ValueError, match="one weight per pair of the 150 rows"):
            LaplacianSVC().fit(X, y, graph=np.eye(3))
        with pytest.raises(ValueError, match="W is not symmetric"):
            LaplacianSVC().fit(X, y, graph=np.triu(np.ones((150, 150))))
        with pytest.raises(ValueError, match="one weight per pair of the 150 rows"):
            LaplacianRLSClassifierCV().fit(X, y, graph=np.eye(3))

    @pytest.mark.parametrize(
        "estimator", [LaplacianSVC, LaplacianRLSClassifier, LaplacianRLSClassifierCV]
    )
    def test_a_component_without_a_label(self, estimator):
        X = np.concatenate([np.linspace(0, 1, 30), np.linspace(50, 51, 20)])[:, None]
        y = np.full(50, -1)
        y[:6] = [0, 1, 0, 1, 0, 1]
        with pytest.warns(DisconnectedGraphWarning, match="with 20 of the 50 rows"):
            estimator().fit(X, y)
        y[[30, 49]] = [0, 1]
        with warnings.catch_warnings():
            warnings.simplefilter("error", DisconnectedGraphWarning)
            assert estimator().fit(X, y).transduction_.shape == (50,)

    def test_float32(self, moons):
        X, truth, y = moons
        for solver in ("auto", "pcg", "dense"):
            model = LaplacianSVC(solver=solver).fit(X.astype(np.float32), y)
            assert np.mean(model.transduction_ != truth) < 0.02

    def test_holes_of_every_kind(self, moons):
        X, truth, y = moons
        plain = LaplacianSVC().fit(X, y)
        names = np.array(["up", "down"], dtype=object)[truth]
        names[y < 0] = None
        named = LaplacianSVC().fit(pd.DataFrame(X), pd.Series(names))
        assert_array_equal(named.classes_, ["down", "up"])
        assert_array_equal(named.transduction_ == "up", plain.transduction_ == 0)

    def test_more_neighbours_than_rows(self):
        X, y = np.array([[0.0], [1.0], [5.0], [6.0]]), [0, -1, 1, -1]
        model = LaplacianSVC(n_neighbors=10).fit(X, y)
        assert model.graph_.nnz == 12
        assert_array_equal(model.transduction_, [0, 0, 1, 1])

    def test_works_in_a_grid_search(self, blobs):
        X, truth, _ = blobs
        search = GridSearchCV(LaplacianSVC(), {"graph_alpha": [0.01, 0.1]}, cv=3)
        assert search.fit(X, truth).best_score_ > 0.95

    @given(
        case=st.sampled_from(
            ["copies", "constant", "one label per class", "one class"]
        ),
        estimator=st.sampled_from([LaplacianSVC, LaplacianRLSClassifier]),
        solver=st.sampled_from(["auto", "pcg", "dense"]),
        seed=st.integers(0, 30),
    )
    def test_degenerate_rows(self, case, estimator, solver, seed):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(20, 2)), np.full(20, -1)
        y[:6] = [0, 1, 2, 0, 1, 2]
        if case == "copies":
            X = X[rng.integers(3, size=20)]
        if case == "constant":
            X[:] = 3.0
        if case == "one label per class":
            y[3:] = -1
        if case == "one class":
            y = np.where(y >= 0, "a", None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # disconnected, single class
            model = estimator(solver=solver).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
        assert set(model.transduction_) <= set(model.classes_)
        given_labels = y != (None if case == "one class" else -1)
        assert_array_equal(model.transduction_[given_labels], y[given_labels])


class TestWarnings:
    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"solver": "dual", "warm_start": True}, "warm_start=True is ignored"),
            ({"kernel": "linear", "gamma": 0.5}, "gamma=0.5 is ignored"),
        ],
    )
    def test_parameters_without_effect(self, moons, params, message):
        X, _, y = moons
        with pytest.warns(IgnoredParameterWarning, match=message):
            LaplacianSVC(**params).fit(X, y)

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            (
                {"solver": "dense", "solver_params": {"tol": 0.1}},
                "solver_params holds 'tol', which solver='dense' does not take: it",
            ),
            (
                {"solver": "pcg", "solver_params": {"rank_tol": 0.1}},
                "'rank_tol', .*use check_every, memory_budget, stopping, tol",
            ),
            (
                {"solver": "pcg", "solver_params": {"check_every": 0}},
                "'check_every' parameter of solver_params must be an int",
            ),
            ({"solver_params": {"stopping": "soon"}}, "'stopping' parameter of solver"),
            ({"graph_params": {"n_neighbors": 3}}, "graph_params holds 'n_neighbors'"),
            ({"graph_params": {"weight": "none"}}, "'weight' parameter of graph_param"),
            ({"kernel_params": {"degree": 3}}, "kernel_params holds 'degree', which k"),
        ],
    )
    def test_parameters_of_others(self, moons, params, message):
        X, _, y = moons
        with pytest.raises(ValueError, match=message):
            LaplacianSVC(**params).fit(X, y)

    def test_a_precomputed_kernel_has_its_distances(self):
        model = LaplacianSVC(kernel="precomputed", graph_params={"metric": "cosine"})
        with pytest.raises(ValueError, match="graph_params holds 'metric'"):
            model.fit(np.eye(4), [0, 1, -1, -1])

    def test_a_start_for_what_has_a_closed_form(self, moons):
        X, _, y = moons
        with pytest.warns(IgnoredParameterWarning, match="warm_start=True is ignored"):
            LaplacianRLSClassifier(warm_start=True).fit(X, y)

    def test_a_graph_and_how_to_build_one(self, moons):
        X, _, y = moons
        graph = similarity_graph(X)
        with pytest.warns(IgnoredParameterWarning, match="n_neighbors=5"):
            LaplacianSVC(n_neighbors=5).fit(X, y, graph=graph)
        with pytest.warns(IgnoredParameterWarning, match="'weight' in graph_params"):
            LaplacianSVC(graph_params={"weight": "binary"}).fit(X, y, graph=graph)
        with pytest.warns(IgnoredParameterWarning, match="graph_alpha=0 leaves"):
            LaplacianSVC(graph_alpha=0).fit(X, y, graph=graph)
        with pytest.warns(IgnoredParameterWarning, match="a graph was given"):
            LaplacianRLSClassifierCV(n_neighbors=[5]).fit(X, y, graph=graph)

    def test_validation_rows_without_use(self, moons):
        X, truth, y = moons
        val = {"X_val": X[:9], "y_val": truth[:9]}
        with pytest.warns(IgnoredParameterWarning, match="X_val is ignored"):
            LaplacianSVC().fit(X, y, **val)
        with pytest.warns(IgnoredParameterWarning, match="X_val is ignored"):
            LaplacianSVC(solver="dense").fit(X, y, **val)

    def test_iterations_that_do_not_suffice(self, moons):
        X, _, y = moons
        with pytest.warns(ConvergenceWarning, match="max_iter=2"):
            LaplacianSVC(solver="pcg", max_iter=2).fit(X, y)


class TestValidation:
    @pytest.mark.parametrize("stopping", ["validation", "mixed"])
    @pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
    def test_rows_given_to_fit(self, blobs, stopping, kernel):
        X, truth, y = blobs
        if kernel == "precomputed":
            X = rbf_kernel(X, gamma=0.5)
        names = np.array(list("abcd"))[truth].astype(object)
        labels = names.copy()
        labels[y < 0] = None
        y_val = names[:40].copy()
        y_val[:5] = None  # rows without a label do not count
        model = LaplacianSVC(
            kernel=kernel, solver="pcg", solver_params={"stopping": stopping}
        )
        model.fit(X, labels, X_val=X[:40], y_val=y_val)
        assert model.stop_reason_ == stopping
        assert model.score(X, names) > 0.95

    def test_half_of_it(self, moons):
        X, truth, y = moons
        model = LaplacianSVC(solver="pcg", solver_params={"stopping": "validation"})
        with pytest.raises(ValueError, match="belong together"):
            model.fit(X, y, X_val=X)
        with pytest.raises(ValueError, match="y_val has 3 entries but X_val has 4"):
            model.fit(X, y, X_val=X[:4], y_val=truth[:3])
        with pytest.raises(ValueError, match="y_val has no labelled row"):
            model.fit(X, y, X_val=X[:4], y_val=[-1] * 4)
        with pytest.raises(ValueError, match="pass X_val and y_val to fit"):
            model.fit(X, y)

    def test_regression(self, rng):
        X = rng.normal(size=(80, 2))
        y = np.where(np.arange(80) < 30, X[:, 0], np.nan)
        model = LaplacianRLSRegressor(
            gamma=0.1,
            alpha=1e-3,
            solver="pcg",
            solver_params={"stopping": "validation", "check_every": 3},
        )
        model.fit(X, y, X_val=X[30:], y_val=X[30:, 0])
        assert model.stop_reason_ == "validation"
        assert model.score(X[30:], X[30:, 0]) > 0.9


class TestRegressor:
    @pytest.fixture
    def spiral(self):
        turn = np.linspace(0.0, 9.0, 240)
        X = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)])
        y = np.full(240, np.nan)
        y[::24] = turn[::24]
        return X, turn, y

    @pytest.mark.parametrize("solver", ["auto", "dense", "low_rank", "pcg"])
    def test_few_targets_along_a_spiral(self, spiral, solver):
        X, turn, y = spiral
        model = LaplacianRLSRegressor(solver=solver)
        if solver == "pcg":
            model.set_params(max_iter=5000, solver_params={"tol": 1e-4})
        model.fit(X, y)
        assert model.score(X, turn) > 0.98
        known = ~np.isnan(y)
        ridge = KernelRidge(alpha=1e-3, kernel="rbf", gamma=0.1)
        assert ridge.fit(X[known], y[known]).score(X, turn) < 0.9
        assert_array_equal(model.transduction_[known], y[known])
        assert_allclose(model.transduction_[~known], model.predict(X)[~known])

    def test_no_number_marks_a_hole(self):
        X = np.arange(6.0)[:, None]
        model = LaplacianRLSRegressor(kernel="linear").fit(X, [-1, -1, -1, 1, 1, 1])
        assert_array_equal(model.labeled_indices_, np.arange(6))

    @pytest.mark.parametrize(
        "make",
        [
            lambda y: [None if np.isnan(v) else v for v in y],
            pd.Series,
            lambda y: pd.Series(y).astype("Float64"),
            lambda y: np.ma.masked_invalid(y),
            lambda y: y[:, None].ravel(),
        ],
    )
    def test_holes_of_every_kind(self, spiral, make):
        X, _, y = spiral
        expected = LaplacianRLSRegressor().fit(X, y).predict(X)
        assert_array_equal(LaplacianRLSRegressor().fit(X, make(y)).predict(X), expected)

    def test_targets_in_other_units(self, spiral):
        X, _, y = spiral
        plain = LaplacianRLSRegressor().fit(X, y).predict(X)
        scaled = LaplacianRLSRegressor().fit(X, 1e3 * y + 50).predict(X)
        assert_allclose(scaled, 1e3 * plain + 50, rtol=1e-6)

    def test_bad_targets(self):
        X = np.eye(3)
        with pytest.raises(ValueError, match="y has no labelled row"):
            LaplacianRLSRegressor().fit(X, [np.nan] * 3)
        with pytest.raises(ValueError, match="y has 2 entries but X has 3 rows"):
            LaplacianRLSRegressor().fit(X, [1.0, 2.0])
        with pytest.raises(ValueError, match="fit one model per column"):
            LaplacianRLSRegressor().fit(X, np.ones((3, 2)))

    def test_leave_one_out_is_refitting(self, spiral):
        X, _, y = spiral
        model = LaplacianRLSRegressor(solver="dense").fit(X, y)
        i = 48
        hidden = y.copy()
        hidden[i] = np.nan
        again = clone(model).fit(X, hidden).predict(X[[i]])
        position = np.flatnonzero(model.labeled_indices_ == i)[0]
        assert_allclose(again[0], model.loo_outputs_[position], rtol=1e-5)


class TestSearch:
    @pytest.mark.parametrize("error", [0.1 - 1e-12, 0.1 + 1e-12])
    def test_rounding_does_not_choose(self, error):
        accuracy = np.array([0.5, 0.9, 0.9 + 1e-16, 0.9])
        assert best_of(accuracy, np.array([0.0, 0.1, error, 0.2])) == 1

    @pytest.mark.parametrize("rounding", [-1e-16, 0.0, 1e-16])
    def test_rounding_does_not_score(self, rounding):
        two = np.array([[rounding], [rounding], [-0.5], [0.5]])
        assert clearly_right(two, np.array([0, 1, 0, 0]), 2).tolist() == [0, 0, 1, 0]
        three = np.array([[0.3 + rounding, 0.3, -1.0], [0.3, -1.0, 0.4]])
        assert clearly_right(three, np.array([0, 2]), 3).tolist() == [0, 1]
        assert clearly_right(two, np.zeros(4, dtype=int), 1).all()

    @pytest.mark.parametrize("scoring", ["accuracy", "squared_error", "log_evidence"])
    def test_finds_the_moons(self, scoring):
        X, truth = make_moons(200, noise=0.05, random_state=1)
        y = hide_labels(truth, per_class=4, random_state=1)
        model = LaplacianRLSClassifierCV(scoring=scoring).fit(X, y)
        assert model.score(X, truth) > 0.97
        assert len(model.cv_results_["accuracy"]) == 3 * 4 * 4

    def test_scores_are_those_of_the_single_models(self, blobs):
        """Every entry of the table equals a fit of its own."""
        X, _, y = blobs
        grid = {
            "gammas": [0.5, 2.0],
            "alphas": [1e-3, 1e-1],
            "graph_alphas": [0.0, 0.1],
            "n_neighbors": [5, 8],
            "laplacian_powers": [1, 2],
        }
        exact = {
            "solver_params": {"rank_tol": 1e-12},
            "graph_params": {"laplacian": "symmetric", "weight": "inverse_distance"},
        }
        for scaling in ("scale-free", "paper"):
            model = LaplacianRLSClassifierCV(**grid, scaling=scaling, **exact)
            model.fit(X, y)
            table = model.cv_results_
            assert len(table["gamma"]) == 32
            for row in range(0, 32, 5):
                values = {name: table[name][row] for name in list(table)[:5]}
                power = values.pop("laplacian_power")
                single = LaplacianRLSClassifier(
                    **values,
                    scaling=scaling,
                    solver="dense",
                    graph_params={**exact["graph_params"], "laplacian_power": power},
                ).fit(X, y)
                signs = np.where(y[y >= 0][:, None] == np.arange(4), 1, -1)
                squared = np.mean((single.loo_outputs_ - signs) ** 2)
                right = np.mean(single.loo_outputs_.argmax(axis=1) == y[y >= 0])
                assert_allclose(table["squared_error"][row], squared, rtol=1e-5)
                assert_allclose(table["accuracy"][row], right)
                assert_allclose(
                    table["log_evidence"][row], single.log_evidence_, rtol=1e-4
                )
            best = model.best_estimator_
            assert best.get_params().items() >= model.best_params_.items()
            assert_allclose(model.best_score_, table["accuracy"].max())

    def test_one_factor_per_width(self, blobs, monkeypatch):
        from fewlabels.semi_supervised import _laplacian_cv as searched

        X, _, y = blobs
        calls = []
        plain = searched.laplacian_factor

        def counted(*args, **kwargs):
            calls.append(1)
            return plain(*args, **kwargs)

        monkeypatch.setattr(searched, "laplacian_factor", counted)
        LaplacianRLSClassifierCV(n_neighbors=[5, 10], laplacian_powers=[1, 2]).fit(X, y)
        assert len(calls) == 3

    def test_other_kernels_and_graphs(self, blobs):
        X, truth, y = blobs
        linear = LaplacianRLSClassifierCV(kernel="poly", gammas=[0.1]).fit(X, y)
        assert linear.score(X, truth) > 0.9
        K = rbf_kernel(X, gamma=0.5)
        matrix = LaplacianRLSClassifierCV(kernel="precomputed")
        assert matrix.fit(K, y, graph=similarity_graph(X)).score(K, truth) > 0.97
        with pytest.warns(IgnoredParameterWarning, match="gammas is ignored"):
            LaplacianRLSClassifierCV(kernel="linear", gammas=[1.0]).fit(X, y)

    def test_nothing_to_try(self, blobs):
        X, _, y = blobs
        with pytest.raises(ValueError, match="graph_alphas holds no value"):
            LaplacianRLSClassifierCV(graph_alphas=[]).fit(X, y)
        single = LaplacianRLSClassifierCV(graph_params={"laplacian_power": 2})
        with pytest.raises(ValueError, match="use laplacian_powers"):
            single.fit(X, y)


class TestFarRow:
    """One unlabelled row far from all others is no reason to forget the labels."""

    @pytest.fixture(params=[30.0, 1e3, 1e4, 1e8])
    def problem(self, request):
        rng = np.random.default_rng(0)
        truth = np.arange(60) % 2
        X = rng.normal(size=(60, 5))
        X[:, 0] += 3.0 * (truth - 0.5)
        y = np.where(np.arange(60) < 15, truth, -1)
        far = np.vstack([X, np.full(5, request.param)])
        return X, y, far

    @pytest.mark.parametrize(
        "model",
        [
            LaplacianSVC(),
            LaplacianSVC(solver="dual"),
            LaplacianSVC(graph_params={"laplacian": "symmetric"}),
            LaplacianRLSClassifier(),
            LaplacianRLSClassifier(graph_params={"laplacian_power": 2}),
            LaplacianRLSClassifierCV(alphas=[1e-6], graph_alphas=[0.01, 0.1]),
            TransductiveSVC(random_state=0),
            S2RLSClassifier(random_state=0),
        ],
    )
    def test_classifiers(self, model, problem):
        X, y, far = problem
        plain = clone(model).fit(X, y)
        other = clone(model).fit(far, np.append(y, -1))
        assert np.mean(other.predict(X) == plain.predict(X)) >= 0.95

    def test_regressor(self, problem):
        X, _, far = problem
        targets = np.where(np.arange(60) < 15, X[:, 0], np.nan)
        plain = LaplacianRLSRegressor().fit(X, targets).predict(X)
        other = LaplacianRLSRegressor().fit(far, np.append(targets, np.nan)).predict(X)
        assert_allclose(other, plain, atol=0.1)

    def test_energy(self, problem):
        """The far row moves it no more than any other: by its edges' lengths."""
        X, _, far = problem
        for precomputed in (False, True):
            energies = []
            for Z in (X, far):
                W = similarity_graph(Z)
                L = laplacian_power(graph_laplacian(W), 1)
                rows = Z @ Z.T if precomputed else Z
                energies.append(
                    usual_energy(rows, L, W, "unnormalized", precomputed=precomputed)
                )
            assert energies[1] == pytest.approx(energies[0], rel=0.3)
