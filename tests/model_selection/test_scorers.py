"""Exact leave-one-out and evidence scores."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from scipy import linalg, stats
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.semi_supervised import LabelSpreading

from fewlabels.datasets import hide_labels
from fewlabels.model_selection import (
    TrainOnAll,
    log_evidence_score,
    loo_accuracy_score,
    loo_neg_squared_error,
)
from fewlabels.semi_supervised import RLSClassifier, rls_path
from tests.helpers import assert_close


def blobs(rng, n_classes):
    seed = int(rng.integers(1000))
    X, y = make_blobs(40, centers=n_classes, cluster_std=4.0, random_state=seed)
    return X, hide_labels(y, per_class=5, random_state=seed)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_leave_one_out_by_refitting(rng, n_classes, fit_intercept):
    X, y = blobs(rng, n_classes)
    model = RLSClassifier(0.3, gamma=0.05, fit_intercept=fit_intercept).fit(X, y)
    right, squares = [], []
    for i in np.flatnonzero(y != -1):
        hidden = y.copy()
        hidden[i] = -1
        without = clone(model).fit(X, hidden)
        output = without.decision_function(X[[i]])
        right.append(without.predict(X[[i]])[0] == y[i])
        targets = (
            np.where(np.arange(n_classes) == y[i], 1, -1)
            if n_classes > 2
            else np.array([2 * y[i] - 1])
        )
        squares.append(np.mean((targets - output.ravel()) ** 2))
    assert loo_accuracy_score(model, X, y) == np.mean(right)
    assert_close(loo_neg_squared_error(model, X, y), -np.mean(squares))


def log_density(A, y):
    """Log density of y under N(0, s A), at the most likely s, by search."""

    def minus(log_scale):
        normal = stats.multivariate_normal(np.zeros(y.size), np.exp(log_scale) * A)
        return -normal.logpdf(y)

    return -minimize_scalar(minus, tol=1e-10).fun


class TestEvidence:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_is_a_density(self, rng, weighted):
        n = 9
        K, Y = rbf_kernel(rng.normal(size=(n, 2))), rng.normal(size=(n, 2))
        w = rng.uniform(0.5, 2, size=n) if weighted else np.ones(n)
        (s,) = rls_path(K, Y, [0.1], sample_weight=w, fit_intercept=False)
        A = K + 0.1 * w.sum() * np.diag(1 / w)
        assert_close(s.log_evidence, [log_density(A, column) for column in Y.T])

    def test_with_a_bias_of_the_contrasts(self, rng):
        n = 9
        K, Y = rbf_kernel(rng.normal(size=(n, 2))), rng.normal(size=(n, 1))
        (s,) = rls_path(K, Y, [0.1], fit_intercept=True)
        C = linalg.null_space(np.ones((1, n))).T
        A = C @ (K + 0.1 * n * np.eye(n)) @ C.T
        assert_close(s.log_evidence, [log_density(A, C @ Y[:, 0])])
        # A constant in the targets is the bias's business.
        (shifted,) = rls_path(K, Y + 7.0, [0.1], fit_intercept=True)
        assert_close(shifted.log_evidence, s.log_evidence)

    def test_with_a_bias_and_weights(self, rng):
        """The restricted likelihood in its usual form, of contrasts of unit length."""
        n, alpha = 8, 0.2
        K, y = rbf_kernel(rng.normal(size=(n, 2))), rng.normal(size=n)
        w = rng.uniform(0.5, 2, size=n)
        (s,) = rls_path(K, y[:, None], [alpha], fit_intercept=True, sample_weight=w)
        A = K + alpha * w.sum() * np.diag(1 / w)
        P = np.linalg.inv(A)
        one = np.ones(n)
        P1 = P @ one
        misfit = y @ P @ y - (P1 @ y) ** 2 / (one @ P1)
        m = n - 1
        expected = -0.5 * (
            m * (1 + np.log(2 * np.pi * misfit / m))
            + np.linalg.slogdet(A)[1]
            + np.log(one @ P1)
            - np.log(n)
        )
        assert_close(s.log_evidence, [expected])

    def test_against_gaussian_processes(self, rng):
        """The most likely width and noise are those of scikit-learn's optimiser."""
        X = rng.uniform(-3, 3, size=(40, 1))
        y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=40)
        kernel = ConstantKernel() * RBF() + WhiteKernel()
        process = GaussianProcessRegressor(kernel, n_restarts_optimizer=2).fit(X, y)
        width = process.kernel_.k1.k2.length_scale
        ridge = process.kernel_.k2.noise_level / process.kernel_.k1.k1.constant_value
        K = rbf_kernel(X, gamma=1 / (2 * width**2))
        alpha = ridge / 40
        alphas = alpha * np.array([0.8, 1.0, 1.25])
        evidence = [
            s.log_evidence[0]
            for s in rls_path(K, y[:, None], alphas, fit_intercept=False)
        ]
        assert np.argmax(evidence) == 1
        best = process.log_marginal_likelihood_value_
        np.testing.assert_allclose(evidence[1], best, rtol=1e-6)

    def test_nothing_to_explain(self, rng):
        K = rbf_kernel(rng.normal(size=(5, 2)))
        (s,) = rls_path(K, np.ones((5, 1)), [1.0], fit_intercept=True)
        assert np.isnan(s.log_evidence).all()
        (alone,) = rls_path(K[:1, :1], np.ones((1, 1)), [1.0], fit_intercept=True)
        assert np.isnan(alone.log_evidence).all()

    def test_sums_over_classes(self, rng):
        X, y = blobs(rng, 3)
        model = RLSClassifier(0.3, gamma=0.05).fit(X, y)
        rows = model.labeled_indices_
        Y = np.where(y[rows][:, None] == np.arange(3), 1.0, -1.0)
        K = rbf_kernel(X[rows], gamma=0.05)
        (s,) = rls_path(K, Y, [0.3], fit_intercept=True)
        assert_close(log_evidence_score(model), s.log_evidence.sum())


@pytest.mark.parametrize(
    "scorer", [loo_accuracy_score, loo_neg_squared_error, log_evidence_score]
)
class TestEveryScorer:
    def test_in_a_search(self, scorer, rng):
        X, y = blobs(rng, 2)
        grid = {"alpha": [0.01, 1.0], "gamma": [0.001, 0.1]}
        search = GridSearchCV(
            RLSClassifier(), grid, scoring=scorer, cv=TrainOnAll(), error_score="raise"
        ).fit(X, y)
        scores = [
            scorer(RLSClassifier(**params).fit(X, y))
            for params in search.cv_results_["params"]
        ]
        assert_close(search.cv_results_["mean_test_score"], scores)

    def test_precomputed_kernel(self, scorer, rng):
        X, y = blobs(rng, 2)
        direct = RLSClassifier(0.1, gamma=0.1).fit(X, y)
        K = rbf_kernel(X, gamma=0.1)
        search = GridSearchCV(
            RLSClassifier(kernel="precomputed"),
            {"alpha": [0.1]},
            scoring=scorer,
            cv=TrainOnAll(),
            error_score="raise",
        ).fit(K, y)
        assert_close(search.best_score_, scorer(direct))

    def test_other_models_are_refused(self, scorer):
        model = LabelSpreading(gamma=1).fit([[0], [1], [2]], [0, 1, -1])
        with pytest.raises(ValueError, match=r"LabelSpreading has no .*RLSClassifier"):
            scorer(model)

    def test_strings(self, scorer, rng):
        X, y = blobs(rng, 3)
        names = np.array(["x", "y", "z", None], dtype=object)[y]
        model = RLSClassifier(0.1, gamma=0.1)
        assert_close(scorer(clone(model).fit(X, names)), scorer(model.fit(X, y)))

    @pytest.mark.filterwarnings("ignore:y holds a single class")
    def test_a_single_label(self, scorer):
        model = RLSClassifier(1.0, gamma=1.0).fit([[0.0]], ["a"])
        assert np.isnan(scorer(model))
