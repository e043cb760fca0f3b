"""Information-theoretic metric learning, within a domain and across."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from fewlabels.transfer import ITML, CrossDomainMetric, itml, label_pairs, stack_domains


@pytest.mark.parametrize("p0", [4.0, 9.0])
def test_a_single_similar_pair(p0):
    """With hard bounds W = I + beta z z', beta = (u - p0) / p0^2."""
    z, u = np.array([[np.sqrt(p0), 0.0, 0.0]]), 1.5
    W = itml(z, np.array([True]), np.array([u]), gamma=np.inf).metric
    assert_allclose(W, np.eye(3) + (u - p0) / p0**2 * z.T @ z)
    assert_allclose(z @ W @ z.T, u)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 4.0])
def test_a_step_makes_both_sides_equal(gamma):
    """One cycle for one pair: the new distance is the new bound."""
    z, u, p = np.array([[2.0, 1.0]]), 2.0, 5.0
    solution = itml(z, np.array([True]), np.array([u]), gamma=gamma, max_iter=1)
    assert_allclose((z @ solution.metric @ z.T).item(), solution.slacks[0])
    assert solution.slacks[0] > 0

    def sides(alpha):
        return p / (1 - alpha * p), gamma * u / (gamma + alpha * u)

    distance, bound = sides(gamma / (gamma + 1) * (1 / p - 1 / u))
    assert_allclose([distance, bound], solution.slacks[0])
    # The step of the text is wrong, that of the paper is right for gamma = 1 only.
    distance, bound = sides(0.5 * (1 / p - gamma * u))
    assert abs(distance - bound) > 1e-3
    distance, bound = sides(0.5 * (1 / p - gamma / u))
    assert np.isclose(distance, bound) == (gamma == 1)


def test_optimality(rng):
    Z = rng.normal(size=(6, 3))
    similar = np.arange(6) < 3
    bounds, gamma = np.where(similar, 1.0, 4.0), 2.0
    A = rng.normal(size=(3, 3))
    prior = A @ A.T + np.eye(3)
    W, multipliers, slacks, _, converged = itml(
        Z, similar, bounds, prior=prior, gamma=gamma, tol=1e-13, max_iter=20_000
    )
    assert converged
    delta = np.where(similar, 1, -1)
    inverse = np.linalg.inv(prior) + (Z.T * (delta * multipliers)) @ Z
    assert_allclose(np.linalg.inv(W), inverse, atol=1e-8)
    assert_allclose(1 / slacks, 1 / bounds - delta * multipliers / gamma, atol=1e-8)
    excess = delta * (np.einsum("ij,jk,ik->i", Z, W, Z) - slacks)
    assert np.all(multipliers >= 0)
    assert np.all(excess <= 1e-8)
    assert_allclose(multipliers * excess, 0, atol=1e-8)
    assert np.linalg.eigvalsh(W).min() > 0


def test_no_constraint_leaves_the_prior():
    """Also where the only pairs are copies, which have no distance."""
    none = itml(np.empty((0, 2)), np.empty(0, dtype=bool), np.empty(0))
    assert_array_equal(none.metric, np.eye(2))
    copies = itml(np.zeros((2, 2)), np.array([True, False]), np.ones(2))
    assert_array_equal(copies.metric, np.eye(2))
    with pytest.warns(UserWarning, match="stays Euclidean"):
        assert_array_equal(ITML().fit(np.eye(3)).metric_, np.eye(3))


def test_agreement_with_metric_learn(rng, monkeypatch):
    module = pytest.importorskip("metric_learn.itml")
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    pairs = label_pairs(y, n_pairs=8, random_state=0)
    oracle = module._BaseITML(gamma=0.5, max_iter=50, tol=0)
    # Its validation does not run with current scikit-learn; its updates do.
    oracle._prepare_inputs = lambda pairs, y, **unused: (pairs, y)
    monkeypatch.setattr(
        module, "_initialize_metric_mahalanobis", lambda *args, **unused: np.eye(3)
    )
    rows = np.stack([X[pairs.first], X[pairs.second]], axis=1)
    oracle._fit(rows, np.where(pairs.similar, 1, -1), bounds=np.array([1.0, 9.0]))
    ours = itml(
        X[pairs.first] - X[pairs.second],
        pairs.similar,
        np.where(pairs.similar, 1.0, 9.0),
        gamma=0.5,
        max_iter=50,
        tol=0,
    )
    assert_allclose(ours.metric, oracle.components_.T @ oracle.components_, rtol=1e-6)


class TestITML:
    def test_transform_makes_the_distance_euclidean(self, rng):
        X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
        model = ITML(random_state=0).fit(X, y)
        Z = model.transform(X)
        difference = X[0] - X[1]
        assert_allclose(
            np.sum((Z[0] - Z[1]) ** 2), difference @ model.metric_ @ difference
        )
        assert np.linalg.eigvalsh(model.metric_).min() > 0

    def test_noise_is_shrunk(self, rng):
        y = np.arange(200) % 2
        noise = 20 * rng.normal(size=200)
        X = np.column_stack([y + 0.3 * rng.normal(size=200), noise])
        Z = ITML(random_state=0).fit(X[:60], y[:60]).transform(X)
        scores = [
            KNeighborsClassifier(3).fit(R[:60], y[:60]).score(R[60:], y[60:])
            for R in (X, Z)
        ]
        assert scores[1] > scores[0] + 0.1

    def test_bad_bounds_and_no_convergence(self, rng):
        X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
        with pytest.raises(ValueError, match="two positive squared distances"):
            ITML(bounds=(1.0, -1.0)).fit(X, y)
        with pytest.warns(ConvergenceWarning, match="max_iter=2"):
            ITML(gamma=10.0, max_iter=2, random_state=0).fit(X, y)


class TestPairs:
    def test_across_domains(self, rng):
        y = rng.integers(3, size=30)
        y[::4] = -1
        domains = np.repeat([1, 2, -3], 10)
        first, second, similar = label_pairs(y, domains, n_pairs=10**6)
        assert np.all(domains[first] > 0)
        assert np.all(domains[second] < 0)
        assert np.all(y[first] >= 0)
        assert np.all(y[second] >= 0)
        assert_array_equal(similar, y[first] == y[second])
        known = y >= 0
        n_all = (known & (domains > 0)).sum() * (known & (domains < 0)).sum()
        assert len(set(zip(first, second, strict=True))) == first.size == n_all

    def test_within_a_domain(self):
        pairs = label_pairs([0, 0, 1, -1], n_pairs=10)
        assert_array_equal(pairs.first, [0, 0, 1])
        assert_array_equal(pairs.second, [1, 2, 2])
        assert_array_equal(pairs.similar, [True, False, False])


class TestCrossDomain:
    def test_all_target_is_itml(self, rng):
        X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
        across = CrossDomainMetric(random_state=0).fit(X, y)
        assert_allclose(across.metric_, ITML(random_state=0).fit(X, y).metric_)

    def test_a_shift_is_unlearned(self, rng):
        """The target is shifted along a diagonal, which loses its weight."""
        X, y = rng.normal(size=(400, 4)), np.arange(400) % 2
        X[:, 0] += 4 * y
        domains = np.repeat([1, -2], 200)
        X[200:, :2] += 4
        few = np.where((domains > 0) | (np.arange(400) < 220), y, -1)
        model = CrossDomainMetric(random_state=0)
        Z = model.fit_transform(X, few, sample_domain=domains)
        along, across = (np.array([1, s, 0, 0]) for s in (1, -1))
        W = model.metric_
        assert along @ W @ along < 0.5 * across @ W @ across
        scores = [
            KNeighborsClassifier(5).fit(R[:200], y[:200]).score(R[220:], y[220:])
            for R in (X, Z)
        ]
        assert scores[1] > scores[0] + 0.15

    def test_different_features(self, rng):
        """Nearest neighbours among rows of the source, for rows of other features."""
        y_source, y_target = np.arange(150) % 3, np.arange(150) % 3
        S = 3 * np.eye(3)[y_source] + 0.3 * rng.normal(size=(150, 3))
        T = 3 * np.eye(5)[2 + (y_target + 1) % 3] + 0.3 * rng.normal(size=(150, 5))
        few = np.where(np.arange(150) < 30, y_target, -1)
        X, y, domains = stack_domains(S, y_source, T, few)
        model = CrossDomainMetric(random_state=0)
        Z = model.fit_transform(X, y, sample_domain=domains)
        neighbors = KNeighborsClassifier(5).fit(Z[:150], y_source)
        assert neighbors.score(Z[180:], y_target[30:]) > 0.9
        plain = KNeighborsClassifier(5).fit(X[:150], y_source)
        assert plain.score(X[180:], y_target[30:]) < 0.6
        similarity = model.similarity(X[:150], X[150:])
        same = y_source[:, None] == y_target
        assert similarity[same].mean() > similarity[~same].mean()


def test_a_far_row_leaves_squared_distances_positive(rng):
    X, y = rng.normal(size=(12, 4)), np.arange(12) % 2
    X[0] *= 2.0**28
    model = ITML(random_state=0, max_iter=200).fit(X, y)
    assert np.linalg.eigvalsh(model.metric_)[0] > -1e-12
    assert (np.asarray(model.multipliers_) >= 0).all()


@pytest.mark.parametrize("unit", [2.0**-300, 2.0**300])
def test_a_source_of_copies_has_no_unit(rng, unit):
    """Bounds come from the pairs then, in whatever unit the rows are."""
    X = np.vstack([np.ones((6, 3)), rng.normal(size=(6, 3))])
    y, domains = np.arange(12) % 2, np.repeat([1, -1], 6)
    models = [
        CrossDomainMetric(random_state=0).fit(A, y, sample_domain=domains)
        for A in (X, X * unit)
    ]
    assert_allclose(models[1].metric_, models[0].metric_)
