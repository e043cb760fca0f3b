"""Support tensor machine and tensor Fisher discriminant."""

# SPDX-License-Identifier: BSD-3-Clause

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC

from fewlabels.tensor import (
    SupportTensorMachine,
    TensorFisherDiscriminant,
    support_tensor_machine,
    tensor_fisher,
)
from fewlabels.tensor._algebra import rank_one
from fewlabels.tensor._alternating import _balanced, contract, starts

LOSSES = ["hinge", "logistic", "squared"]
CLASSIFIERS = [SupportTensorMachine, TensorFisherDiscriminant]


def planted(rng, n=200, shape=(6, 5), noise=0.5):
    """Classes by a function of rank one."""
    weights = [rng.normal(size=size) for size in shape]
    W = rank_one(weights)
    X = rng.normal(size=(n, *shape))
    score = np.tensordot(X, W, W.ndim) / np.linalg.norm(W)
    return X, np.where(score + noise * rng.normal(size=n) > 0, 1.0, -1.0), W


def cosine(a, b):
    return abs(np.vdot(a, b)) / np.linalg.norm(a) / np.linalg.norm(b)


def test_contraction(rng):
    X = rng.normal(size=(3, 2, 4, 5))
    u, v, w = (rng.normal(size=k) for k in (2, 4, 5))
    assert_allclose(contract(X, [u, v, w], 0), np.einsum("nijk,j,k->ni", X, v, w))
    assert_allclose(contract(X, [u, v, w], 1), np.einsum("nijk,i,k->nj", X, u, w))
    assert_allclose(contract(X, [u, v, w], 2), np.einsum("nijk,i,j->nk", X, u, v))


class TestSupportTensorMachine:
    def test_unit_and_origin_of_the_rows(self, rng):
        """libsvm turned for ever over rows of this size."""
        X, y = rng.normal(size=(14, 5)), np.arange(14) % 2
        X[:7] += 64.0
        near = SupportTensorMachine(C=0.1).fit(X, y)
        unit, shift = 2.0**20, 2.0**40
        far = SupportTensorMachine(C=0.1 / unit**2).fit(X * unit + shift, y)
        assert_allclose(
            far.decision_function(X * unit + shift),
            near.decision_function(X),
            rtol=1e-3,
            atol=1e-3,
        )

    def test_an_open_gap_is_reported(self, monkeypatch, rng):
        monkeypatch.setattr("fewlabels.tensor._alternating.GAP", -1.0)
        X, y = rng.normal(size=(14, 5)), np.arange(14) % 2
        with pytest.warns(ConvergenceWarning, match="too large for the solver: scale"):
            SupportTensorMachine().fit(X, y)

    @pytest.mark.parametrize("loss", LOSSES)
    def test_vectors_are_the_ordinary_problem(self, loss):
        X, y = load_breast_cancer(return_X_y=True)
        X, y = scale(X[:200]), y[:200]
        ours = SupportTensorMachine(C=0.1, loss=loss).fit(X, y)
        theirs = {
            "hinge": SVC(kernel="linear", C=0.1, tol=1e-8),
            "logistic": LogisticRegression(C=0.1, tol=1e-10, max_iter=10_000),
            "squared": Ridge(alpha=5.0),
        }[loss].fit(X, 2 * y - 1)
        assert_allclose(
            ours.coef_.ravel(), np.ravel(theirs.coef_), rtol=1e-3, atol=1e-4
        )
        assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-3, atol=1e-4)

    @pytest.mark.parametrize("loss", LOSSES)
    def test_the_objective_never_rises(self, loss, rng):
        X, y, _ = planted(rng, shape=(4, 3, 3))
        found = support_tensor_machine(X, y, loss=loss, random_state=0)
        steps = np.diff(found.objectives)
        assert (steps <= 1e-5 * found.objectives[0]).all()
        W = rank_one(found.weights)
        f = np.tensordot(X, W, 3) + found.intercept
        value = {
            "hinge": np.maximum(0, 1 - y * f),
            "logistic": np.log1p(np.exp(-y * f)),
            "squared": (y - f) ** 2,
        }[loss].sum()
        assert_allclose(found.objectives[-1], 0.5 * np.sum(W**2) + value, rtol=1e-6)

    @pytest.mark.parametrize("loss", LOSSES)
    def test_planted_weights(self, loss, rng):
        X, y, W = planted(rng, n=600, noise=0.1)
        model = SupportTensorMachine(loss=loss, n_init=3, random_state=0).fit(X, y > 0)
        assert cosine(model.coef_[0], W) > 0.97

    def test_balance_changes_nothing_but_norms(self, rng):
        weights = [rng.normal(size=k) * s for k, s in ((3, 0.01), (4, 100.0), (2, 1.0))]
        balanced = _balanced(weights)
        assert_allclose(rank_one(balanced), rank_one(weights))
        norms = [np.linalg.norm(w) for w in balanced]
        assert_allclose(norms, norms[0])

    def test_no_start_beats_many(self, rng):
        X, y, _ = planted(rng, n=60, noise=2.0)
        one = support_tensor_machine(X, y, random_state=0)
        many = support_tensor_machine(X, y, n_init=5, random_state=0)
        assert many.objectives[-1] <= one.objectives[-1] + 1e-9

    def test_nothing_to_learn(self):
        X = np.ones((6, 2, 3))
        model = SupportTensorMachine().fit(X, [0, 1, 0, 1, 0, 1])
        assert_allclose(model.coef_, 0, atol=1e-12)

    def test_unknown_loss(self, rng):
        X, y, _ = planted(rng, n=10)
        with pytest.raises(ValueError, match="loss='log'"):
            support_tensor_machine(X, y, loss="log")

    def test_too_few_sweeps_are_reported(self, rng):
        X, y, _ = planted(rng)
        with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
            SupportTensorMachine(max_iter=1, tol=0).fit(X, y > 0)

    def test_better_than_all_entries_for_few_labels(self, rng):
        X, y, _ = planted(rng, n=1000, shape=(12, 12), noise=0.1)
        ours = SupportTensorMachine(n_init=3, random_state=0).fit(X[:100], y[:100] > 0)
        flat = SVC(kernel="linear").fit(X[:100].reshape(100, -1), y[:100] > 0)
        gain = ours.score(X[100:], y[100:] > 0) - flat.score(
            X[100:].reshape(900, -1), y[100:] > 0
        )
        assert gain > 0.05


def fisher_ratio(X, y, W):
    """The criterion as printed, without shrinkage."""
    projected = np.tensordot(X, W, W.ndim)
    gap = projected[y > 0].mean() - projected[y < 0].mean()
    return gap**2 / np.sum((projected - projected.mean()) ** 2)


class TestFisher:
    def test_the_ratio_never_falls(self, rng):
        X, y, _ = planted(rng, shape=(4, 3, 3))
        found = tensor_fisher(X, y, shrinkage=0.01)
        assert (np.diff(found.ratios) >= -1e-12).all()
        exact = tensor_fisher(X, y, shrinkage=0.0)
        assert_allclose(exact.ratios[-1], fisher_ratio(X, y, rank_one(exact.weights)))

    @pytest.mark.parametrize("shape", [(6,), (6, 1), (1, 6)])
    def test_vectors_are_the_ordinary_discriminant(self, shape, rng):
        X = rng.normal(size=(80, 6)) @ rng.normal(size=(6, 6))
        y = np.where(np.arange(80) < 30, 1.0, -1.0)
        X[y > 0] += rng.normal(size=6)
        found = tensor_fisher(X.reshape(80, *shape), y, shrinkage=0.0)
        within = sum(
            np.cov(X[y == s].T, bias=True) * np.sum(y == s) for s in (-1.0, 1.0)
        )
        d = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
        expected = np.linalg.solve(within, d)
        assert_allclose(cosine(rank_one(found.weights), expected), 1)
        lda = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
        assert_allclose(cosine(rank_one(found.weights), lda.coef_), 1)

    def test_total_and_within_scatter_are_two_names(self, rng):
        """J of the total scatter is J_w / (1 + c J_w), with c = n+ n- / n."""
        X, y, W = planted(rng)
        f = np.tensordot(X, W, 2)
        n_up, n_down = np.sum(y > 0), np.sum(y < 0)
        gap = (f[y > 0].mean() - f[y < 0].mean()) ** 2
        within = n_up * f[y > 0].var() + n_down * f[y < 0].var()
        c = n_up * n_down / len(y)
        assert_allclose(fisher_ratio(X, y, W), gap / within / (1 + c * gap / within))

    def test_class_means_are_at_minus_one_and_one(self, rng):
        X, y, _ = planted(rng)
        model = TensorFisherDiscriminant().fit(X, y > 0)
        f = model.decision_function(X)
        assert_allclose([f[y < 0].mean(), f[y > 0].mean()], [-1, 1])

    def test_planted_direction(self, rng):
        X, y, W = planted(rng, n=600, noise=0.1)
        assert cosine(TensorFisherDiscriminant().fit(X, y > 0).coef_[0], W) > 0.95

    def test_equal_means(self):
        X = np.array([[[1.0, 2.0]], [[3.0, 4.0]], [[1.0, 2.0]], [[3.0, 4.0]]])
        model = TensorFisherDiscriminant().fit(X, [0, 0, 1, 1])
        assert_array_equal(model.coef_, 0)

    def test_constant_tensors(self):
        model = TensorFisherDiscriminant().fit(np.ones((4, 2, 2)), [0, 0, 1, 1])
        assert_array_equal(model.decision_function(np.ones((1, 2, 2))), 0)

    def test_fewer_tensors_than_entries(self, rng):
        X, y, _ = planted(rng, n=12, shape=(8, 9))
        model = TensorFisherDiscriminant().fit(X, y > 0)
        assert np.isfinite(model.coef_).all()
        assert model.score(X, y > 0) == 1

    def test_too_few_sweeps_are_reported(self, rng):
        X, y, _ = planted(rng)
        with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
            TensorFisherDiscriminant(max_iter=1, tol=0).fit(X, y > 0)


@pytest.mark.parametrize("classifier", CLASSIFIERS)
class TestBoth:
    def test_both_forms_of_x(self, classifier, rng):
        X, y, _ = planted(rng)
        rows = X.reshape(len(X), -1)
        a = classifier().fit(X, y > 0)
        b = classifier(shape=(6, 5)).fit(rows, y > 0)
        c = classifier(shape=[6, 5]).fit(X, y > 0)
        assert a.n_features_in_ == b.n_features_in_ == 30
        assert a.tensor_shape_ == b.tensor_shape_ == c.tensor_shape_ == (6, 5)
        for model in (a, b, c):
            assert_allclose(model.decision_function(X), a.decision_function(rows))
        assert_allclose(a.coef_, b.coef_)

    def test_in_a_pipeline(self, classifier, rng):
        X, y, _ = planted(rng)
        model = make_pipeline(StandardScaler(), classifier(shape=(6, 5)))
        rows = X.reshape(len(X), -1)
        assert model.fit(rows, y > 0).score(rows, y > 0) > 0.7

    @pytest.mark.parametrize(
        ("shape", "ndim", "message"),
        [
            ((5, 5), 2, r"shape=\(5, 5\) has 25 entries, but X has 30"),
            ((5, 6), 3, r"X holds tensors of shape \(6, 5\), but shape=\(5, 6\)"),
            ((-6, -5), 2, "one positive size per mode"),
            ((), 2, "one positive size per mode"),
        ],
    )
    def test_shapes_that_do_not_fit(self, classifier, shape, ndim, message, rng):
        X, y, _ = planted(rng, n=20)
        X = X if ndim == 3 else X.reshape(20, -1)
        with pytest.raises(ValueError, match=message):
            classifier(shape=shape).fit(X, y > 0)

    def test_other_shapes_in_predict(self, classifier, rng):
        X, y, _ = planted(rng, n=20)
        model = classifier().fit(X, y > 0)
        with pytest.raises(ValueError, match=r"was fitted to \(6, 5\)"):
            model.predict(X.transpose(0, 2, 1))

    def test_many_classes_and_holes(self, classifier):
        X, y = load_digits(n_class=4, return_X_y=True)
        X = X.reshape(-1, 8, 8)[:300] / 16
        holes = np.where(np.arange(300) < 150, y[:300], -1)
        model = classifier().fit(X, holes)
        assert model.coef_.shape == (4, 8, 8)
        assert np.mean(model.transduction_[150:] == y[150:300]) > 0.75
        for W in model.coef_:
            assert np.linalg.matrix_rank(W, tol=1e-8 * np.abs(W).max()) == 1

    def test_one_class(self, classifier, rng):
        X, _, _ = planted(rng, n=5)
        with pytest.warns(UserWarning, match="single class"):
            model = classifier().fit(X, np.zeros(5, int))
        assert_array_equal(model.predict(X), 0)

    def test_no_y(self, classifier, rng):
        with pytest.raises(ValueError, match="requires y to be passed"):
            classifier().fit(np.zeros((3, 2)), None)


def test_starts_need_no_square_of_the_entries():
    """Of an unfolding with few rows, only as many singular vectors are computed."""
    T = np.random.default_rng(0).normal(size=(2, 3000))
    tracemalloc.start()
    first, second = starts(T, 1, None)[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e7
    assert_allclose(abs(first @ T @ second), np.linalg.norm(T, 2))
