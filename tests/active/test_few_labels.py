"""The strategy for FewLabelsClassifier, against models fitted again."""

# SPDX-License-Identifier: BSD-3-Clause

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_moons
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fewlabels import FewLabelsClassifier
from fewlabels.active import ActiveLearner, FewLabelsSampling, margin
from fewlabels.automatic._candidates import total_outputs
from fewlabels.automatic._forest import GrownForest
from fewlabels.automatic._sources import View
from fewlabels.automatic._tuned import RIDGES
from fewlabels.datasets import hide_labels


@pytest.fixture(scope="module")
def fitted():
    X, y_true = make_moons(90, noise=0.15, random_state=0)
    y = hide_labels(y_true, n_labeled=9, random_state=0)
    return X, y_true, y, FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)


def kernel_matrix(model, name):
    (kernel,) = (k for k in model._bank.candidates if k.name == name)
    return kernel.block(model._bank.index)


def heaviest(model):
    kernels = np.isfinite(model.candidates_["ridge"])  # a forest has none
    table = model.candidates_["weight"][kernels].reshape(-1, RIDGES.size)
    order = np.argsort(-table.sum(axis=1), kind="stable")
    names = model.candidates_["candidate"][kernels][:: RIDGES.size]
    return [(names[k], RIDGES[table[k].argmax()]) for k in order]


def test_members_are_gaussian_processes(fitted):
    _, _, y, model = fitted
    J, places = np.flatnonzero(y != -1), np.arange(20, 35)
    members = model.members(np.arange(90), places, n_members=3)
    Y = np.where(y[J] == 1, 1.0, -1.0)[:, None]
    for member, (name, ridge) in zip(members, heaviest(model), strict=False):
        K = kernel_matrix(model, name)
        A = np.linalg.inv(K[np.ix_(J, J)] + ridge * np.eye(J.size))
        assert member.ridge == ridge
        assert_allclose(member.outputs, K[:, J] @ A @ Y, atol=1e-6)
        P = K - K[:, J] @ A @ K[J]
        assert_allclose(member.covariance, P[:, places], atol=1e-5)
    assert_allclose(sum(m.weight for m in members), 1)


def test_all_members_together_are_the_classifier(fitted):
    """Every kernel at its heaviest ridge is about the ensemble without its forests."""
    _, _, _, model = fitted
    members = model.members(np.arange(90), np.arange(1), n_members=99)
    average = sum(m.weight * m.outputs for m in members)[:, 0]
    functions = model._model._functions
    kernels = [f for f in functions if not isinstance(f, GrownForest)]
    assert 0 < len(kernels) < len(functions)
    ensemble = total_outputs(kernels, View(batch=model._bank.index))[:, 0]
    assert np.corrcoef(average, ensemble)[0, 1] > 0.99


def test_utilities_are_falls_of_variance(fitted):
    """Brute force: condition every kernel on one more label and look at all rows."""
    X, _, y, model = fitted
    J, free = np.flatnonzero(y != -1), np.flatnonzero(y == -1)
    strategy = FewLabelsSampling(n_members=2, focus=1.5, random_state=0)
    rows, utilities = strategy.query(X, y, model=model, n_queries=3)
    w = margin(model.predict_proba(X)) ** 1.5
    members = model.members(np.arange(90), np.arange(1), n_members=2)

    def variance(known):
        total = 0.0
        for member, (name, ridge) in zip(members, heaviest(model), strict=False):
            K = kernel_matrix(model, name)
            A = np.linalg.inv(K[np.ix_(known, known)] + ridge * np.eye(len(known)))
            P = K.diagonal() - np.einsum("ij,jk,ik->i", K[:, known], A, K[:, known])
            total += member.weight * np.average(P, weights=w)
        return total

    known = J.tolist()
    slow = np.array([variance(known) - variance([*known, z]) for z in free])
    assert_allclose(utilities[free], slow, rtol=1e-3, atol=1e-8)
    for row in rows:  # a batch is chosen row by row
        rest = np.setdiff1d(free, known)
        falls = [variance(known) - variance([*known, z]) for z in rest]
        assert falls[np.flatnonzero(rest == row)[0]] >= max(falls) * (1 - 1e-4)
        known.append(int(row))


def test_kernel_matrices_are_kept(fitted):
    X, _, y, model = fitted
    strategy = FewLabelsSampling(random_state=0)
    first = strategy.query(X, y, model=model, n_queries=3)
    kept = dict(model._bank._matrices)
    again = strategy.query(X, y, model=model, n_queries=3)
    assert kept
    assert all(model._bank._matrices[k] is K for k, K in kept.items())
    assert_array_equal(first.indices, again.indices)
    # The same members as from what is needed alone.
    places, rows = np.arange(5, 12), np.arange(3, 60)
    for one, two in zip(
        model.members(rows, places, max_kept_rows=90),
        model.members(rows, places),
        strict=True,
    ):
        assert_allclose(one.outputs, two.outputs, rtol=1e-3, atol=1e-3)
        assert_allclose(one.covariance, two.covariance, rtol=1e-3, atol=1e-3)
    assert "_members" not in vars(deepcopy(strategy))
    assert not deepcopy(model)._bank._matrices
    other = FewLabelsClassifier(bank="fast", random_state=1).fit(X[:50], y[:50])
    assert strategy.query(X[:50], y[:50], model=other).utilities.size == 50


def test_samples_of_candidates_and_rows(fitted):
    X, _, y, model = fitted
    strategy = FewLabelsSampling(max_candidates=10, max_rows=30, random_state=0)
    rows, utilities = strategy.query(X, y, model=model, n_queries=4)
    assert np.count_nonzero(~np.isnan(utilities)) == 10
    assert (y[rows] == -1).all()
    many, _ = strategy.query(X, y, model=model, n_queries=40)
    assert np.unique(many).size == 40


def test_several_classes_and_a_new_one():
    X, y_true = make_blobs(90, centers=4, cluster_std=0.5, random_state=3)
    y = np.full(90, -1)
    y[[np.flatnonzero(y_true == c)[0] for c in (0, 1)]] = 0, 1
    learner = ActiveLearner(
        FewLabelsClassifier(bank="fast", random_state=0),
        FewLabelsSampling(random_state=0),
        batch_size=2,
        budget=6,
    )
    learner.fit(X, y, oracle=lambda rows: y_true[rows])
    # Rows far from all labels are asked about first: all classes are found.
    assert_array_equal(learner.classes_, [0, 1, 2, 3])
    assert learner.score(X, y_true) > 0.9


def test_own_model_and_copies_of_rows():
    X = np.repeat(np.random.default_rng(0).normal(size=(12, 2)), 3, axis=0)
    y = np.full(36, -1)
    y[[0, 1, 9, 33]] = 0, 0, 1, 1
    strategy = FewLabelsSampling(
        FewLabelsClassifier(bank="fast", random_state=0), random_state=0
    )
    rows, _ = strategy.query(X, y, n_queries=4)
    assert np.unique(rows // 3).size == 4  # no copy of a chosen row


def test_rows_without_kernels():
    X, y = np.ones((6, 2)), np.array([0, 1, -1, -1, -1, -1])
    model = FewLabelsClassifier(random_state=0).fit(X, y)
    assert model.members(np.arange(6), np.arange(1)) == []
    rows, _ = FewLabelsSampling(random_state=0).query(X, y, model=model, n_queries=2)
    assert np.unique(rows).size == 2


def test_the_last_step_of_a_pipeline(fitted):
    X, _, y, model = fitted
    steps = make_pipeline(FunctionTransformer(), FewLabelsClassifier(bank="fast"))
    steps.set_params(fewlabelsclassifier__random_state=0).fit(X, y)
    strategy = FewLabelsSampling(random_state=0)
    assert_array_equal(
        strategy.query(X, y, model=steps).indices,
        strategy.query(X, y, model=model).indices,
    )


def test_wrong_models(fitted):
    X, y_true, y, model = fitted
    with pytest.raises(ValueError, match="needs a FewLabelsClassifier"):
        FewLabelsSampling().query(X, y, model=GaussianNB().fit(X, y_true))
    other = y.copy()
    other[np.flatnonzero(y == -1)[0]] = 1
    with pytest.raises(ValueError, match="fitted to other rows or labels"):
        FewLabelsSampling().query(X, other, model=model)
    with pytest.raises(ValueError, match="fitted to other rows or labels"):
        FewLabelsSampling().query(
            np.vstack([X, X]), np.append(y, [-1] * 90), model=model
        )


def test_a_seed_leaves_nothing_to_chance():
    X, y_true = make_moons(40, noise=0.2, random_state=0)
    y = np.where(np.arange(40) < 6, y_true, -1)
    first, second = (FewLabelsSampling(random_state=0).query(X, y) for _ in range(2))
    assert_array_equal(first.utilities, second.utilities)
