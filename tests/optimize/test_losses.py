"""Losses, penalties and the objective made of them (entry A0)."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from fewlabels.optimize import (
    ElasticNetPenalty,
    HingeLoss,
    L1Penalty,
    L2Penalty,
    LogisticLoss,
    SquaredHingeLoss,
    SquaredLoss,
)
from fewlabels.optimize._loss_functions import LOSSES, resolve_loss

ALL = [SquaredLoss(), HingeLoss(), SquaredHingeLoss(), LogisticLoss()]
MARGINS = ALL[1:]
numbers = st.floats(-5, 5)


@pytest.mark.parametrize("loss", ALL, ids=repr)
class TestEveryLoss:
    def test_derivative(self, loss, rng):
        z, y = rng.normal(size=50), np.where(rng.random(50) < 0.5, -1.0, 1.0)
        h = 1e-6
        slope = (loss.value(z + h, y) - loss.value(z - h, y)) / (2 * h)
        assert_allclose(loss.derivative(z, y), slope, atol=1e-7)

    def test_curvature(self, loss, rng):
        z, y = np.sort(3 * rng.normal(size=200)), np.ones(200)
        changes = np.diff(loss.derivative(z, y)) / np.diff(z)
        assert np.all(changes >= 0)  # convex
        assert np.max(changes) <= loss.curvature * (1 + 1e-9)
        if np.isfinite(loss.curvature):
            fine = np.linspace(-0.01, 0.01, 3)
            steepest = np.diff(loss.derivative(fine, np.ones(3))) / 0.01
            assert_allclose(np.max(steepest), loss.curvature, rtol=1e-4)

    @given(v=numbers, t=st.floats(0.05, 5), y=st.sampled_from([-1.0, 1.0]))
    def test_prox_minimises(self, loss, v, t, y):
        z = float(loss.prox(np.array(v), t, y))

        def cost(x):
            return 0.5 * (x - v) ** 2 + t * float(loss.value(np.array(x), y))

        found = minimize_scalar(
            cost, bounds=(-20, 20), method="bounded", options={"xatol": 1e-9}
        )
        assert cost(z) <= found.fun + 1e-10
        assert abs(z - found.x) < 1e-3

    @given(v=numbers, t=st.floats(0.1, 5), y=st.sampled_from([-1.0, 1.0]))
    def test_moreau(self, loss, v, t, y):
        """v = prox of t loss at v + t times the prox of loss* / t at v / t."""
        u = (v - float(loss.prox(np.array(v), t, y))) / t

        def cost(x):
            return 0.5 * (x - v / t) ** 2 + float(loss.conjugate(np.array(x), y)) / t

        at = cost(u) if np.isfinite(cost(u)) else cost(u * (1 - 1e-12))
        grid = np.linspace(-8, 8, 4001)
        others = 0.5 * (grid - v / t) ** 2 + loss.conjugate(grid, np.full(4001, y)) / t
        assert at <= np.min(others) + 1e-9

    def test_fenchel_and_young(self, loss, rng):
        z, y = rng.normal(size=100), np.where(rng.random(100) < 0.5, -1.0, 1.0)
        u = loss.derivative(z, y)
        assert_allclose(loss.value(z, y) + loss.conjugate(u, y), u * z, atol=1e-12)

    def test_by_name(self, loss):
        assert type(resolve_loss(loss.name)) is type(loss)
        assert resolve_loss(loss) is loss


def test_unknown_loss():
    with pytest.raises(ValueError, match="loss='cubic' is unknown"):
        resolve_loss("cubic")
    assert sorted(LOSSES) == ["hinge", "logistic", "squared", "squared_hinge"]


def test_a_right_decision_still_costs():
    """At margin 1/2 the hinge loss is 1/2, the logistic one 0.474 (erratum E3)."""
    z, y = np.array([0.5]), np.ones(1)
    assert HingeLoss().value(z, y) == 0.5
    assert_allclose(LogisticLoss().value(z, y), 0.474, atol=5e-4)
    assert HingeLoss().value(np.array([1.0]), y) == 0
    assert LogisticLoss().value(np.array([30.0]), y) > 0


@pytest.mark.parametrize("loss", MARGINS, ids=repr)
def test_extreme_margins_are_finite(loss):
    z = np.array([-1e6, 1e6])
    assert np.all(np.isfinite(loss.value(z, np.ones(2))))
    assert np.all(np.isfinite(loss.derivative(z, np.ones(2))))


SOME_PENALTIES = [
    L1Penalty(0.7),
    L2Penalty(0.7),
    ElasticNetPenalty(0.7, 0.3),
    L1Penalty(1.0, weights=[0.0, 0.5, 2.0]),
]


@pytest.mark.parametrize("penalty", SOME_PENALTIES, ids=repr)
class TestEveryPenalty:
    @given(v=st.lists(numbers, min_size=3, max_size=3), t=st.floats(0.1, 3))
    def test_moreau(self, penalty, v, t):
        v = np.array(v)
        w = penalty.prox(v, t)
        u = (v - w) / t
        # u is the prox of h* / t at v / t: no other feasible slope is better.
        l1, l2 = penalty.coefficients(3)
        expected = np.where(
            l2 > 0,
            # min over u of (u - v/t)^2 / 2 + max(|u| - l1, 0)^2 / (2 l2 t)
            np.where(
                np.abs(v / t) <= l1,
                v / t,
                np.sign(v) * (np.abs(v) * l2 + l1) / (1 + t * l2),
            ),
            np.clip(v / t, -l1, l1),
        )
        assert_allclose(u, expected, atol=1e-12)

    @given(v=st.lists(numbers, min_size=3, max_size=3), t=st.floats(0.1, 3))
    def test_prox_is_optimal(self, penalty, v, t):
        v = np.array(v)
        w = penalty.prox(v, t)
        assert penalty.violation(w, (w - v) / t) <= 1e-12

    def test_conjugate(self, penalty, rng):
        """The supremum of u'w - h(w), on a grid where it is finite."""
        l1, l2 = penalty.coefficients(3)
        u = np.where(l2 > 0, rng.normal(size=3), rng.uniform(-1, 1, 3) * l1)
        grid = np.linspace(-20, 20, 40001)
        best = sum(
            np.max(u[j] * grid - l1[j] * np.abs(grid) - l2[j] * grid**2 / 2)
            for j in range(3)
        )
        assert_allclose(penalty.conjugate(u), best, atol=1e-6)
        if np.any(l2 == 0):
            assert penalty.conjugate(u + 2.1) == np.inf

    def test_value(self, penalty, rng):
        w = rng.normal(size=3)
        l1, l2 = penalty.coefficients(3)
        assert_allclose(penalty.value(w), np.sum(l1 * abs(w) + l2 * w**2 / 2))


def test_lipschitz_of_penalties():
    assert L2Penalty(0.5, weights=[1.0, 3.0]).lipschitz == 1.5
    assert L1Penalty(0.5).lipschitz == np.inf
    assert L1Penalty(0.0).lipschitz == 0


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: L1Penalty(-1.0), "alpha must be"),
        (lambda: ElasticNetPenalty(1.0, 2.0), "l1_ratio must be"),
        (lambda: L2Penalty(1.0, [-1.0]), "weights must be"),
        (lambda: L2Penalty(1.0, [1.0]).value(np.zeros(2)), "2 coefficients"),
    ],
)
def test_bad_penalties(make, match):
    with pytest.raises(ValueError, match=match):
        make()
