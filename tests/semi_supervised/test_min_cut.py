"""Minimum cuts: against all labellings, rational flows, a linear programme."""

# SPDX-License-Identifier: BSD-3-Clause

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from sklearn.datasets import make_blobs, make_moons
from sklearn.neighbors import KNeighborsClassifier

from fewlabels.exceptions import DisconnectedGraphWarning
from fewlabels.graphs import nearest_neighbors
from fewlabels.semi_supervised import MinCutClassifier, minimum_cut, multiway_cut
from fewlabels.semi_supervised._min_cut import integer_capacities
from tests.reference import flow as slow


@st.composite
def graphs(draw, max_vertices=9):
    """Weights of few different sizes, so that ties are frequent, or of any size."""
    n = draw(st.integers(2, max_vertices))
    weight = draw(
        st.sampled_from(
            [
                st.sampled_from([0.0, 1.0]),
                st.sampled_from([0.0, 0.1, 0.2, 0.3]),
                st.floats(1e-8, 1.0),
            ]
        )
    )
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            W[i, j] = W[j, i] = draw(weight)
    return W


class TestMinimumCut:
    @given(W=graphs(), data=st.data())
    def test_value_and_smallest_side(self, W, data):
        n = len(W)
        kind = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
        sources = [v for v in range(n) if kind[v] == 1] or [0]
        sinks = [v for v in range(n) if kind[v] == 2 and v not in sources]
        cut = minimum_cut(W, sources, sinks)
        found, weight = slow.all_minimum_cuts(W, sources, sinks)
        side = cut.source_side.tolist()
        assert slow.cut_weight(W, side) == weight  # as fractions
        assert cut.value == float(weight)
        assert side == min(found, key=sum)  # the smallest, contained in all others
        assert side == [all(s[v] for s in found) for v in range(n)]

    def test_equals_the_rational_flow(self, rng):
        W = np.triu(rng.random((40, 40)) * (rng.random((40, 40)) < 0.2), 1)
        W = W + W.T
        side, value = slow.minimum_cut(W, [0, 1], [38, 39])
        cut = minimum_cut(W, [0, 1], [38, 39])
        assert_array_equal(cut.source_side, side)
        assert cut.value == float(value)

    def test_equals_the_linear_programme(self, rng):
        n = 15
        W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
        i, j = np.nonzero(W)
        m = i.size
        # min sum w z subject to z_e >= |x_i - x_j|, x_0 = 1, x_(n-1) = 0.
        difference = np.zeros((m, n))
        difference[np.arange(m), i], difference[np.arange(m), j] = 1, -1
        A = np.block([[difference, -np.eye(m)], [-difference, -np.eye(m)]])
        bounds = [(1, 1)] + (n - 2) * [(0, 1)] + [(0, 0)] + m * [(0, None)]
        solution = linprog(
            np.r_[np.zeros(n), W[i, j]], A_ub=A, b_ub=np.zeros(2 * m), bounds=bounds
        )
        assert_allclose(minimum_cut(W + W.T, [0], [n - 1]).value, solution.fun)

    def test_path_with_equal_weights_is_cut_at_the_source(self):
        W = 0.1 * (np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1))
        cut = minimum_cut(W, [0], [3])
        assert_array_equal(cut.source_side, [True, False, False, False])

    def test_tie_that_rounding_would_break(self):
        """0.1 + 0.2 > 0.3 in floats; the weights themselves add up to less."""
        W = np.zeros((4, 4))
        for i, j, w in ((0, 1, 0.1), (0, 2, 0.2), (1, 3, 5.0), (2, 3, 5.0)):
            W[i, j] = W[j, i] = w
        assert Fraction(0.1) + Fraction(0.2) != Fraction(0.1 + 0.2)
        cut = minimum_cut(W, [0], [3])
        assert_array_equal(cut.source_side, [True, False, False, False])
        assert cut.value == float(Fraction(0.1) + Fraction(0.2))

    def test_weights_of_very_different_sizes_warn(self):
        W = np.array([[0, 1, 0], [1, 0, 1e-40], [0, 1e-40, 0]])
        with pytest.warns(UserWarning, match="span more than 68 powers of two"):
            cut = minimum_cut(W, [0], [2])
        assert_array_equal(cut.source_side, [True, True, False])

    def test_terminals_must_differ(self):
        with pytest.raises(ValueError, match="share a vertex"):
            minimum_cut([[0, 1], [1, 0]], [0], [0, 1])


@given(
    st.lists(st.floats(2.0**-66, 1.0, exclude_min=True), min_size=1, max_size=8),
    st.integers(-900, 900),
)
def test_capacities_are_the_weights_themselves(weights, power):
    weights = np.ldexp(weights, power)
    hi, lo, exact = integer_capacities(weights)
    assert exact
    assert (lo >= 0).all()
    assert (lo < 2**60).all()
    units = [int(h) * 2**60 + int(r) for h, r in zip(hi, lo, strict=True)]
    assert 2 * max(units) < 2**122
    ratio = Fraction(float(weights[0])) / units[0]
    assert all(
        Fraction(float(w)) == ratio * u for w, u in zip(weights, units, strict=True)
    )


class TestMultiwayCut:
    @given(W=graphs(max_vertices=7), data=st.data())
    def test_within_twice_the_optimum_and_no_pair_improves(self, W, data):
        n = len(W)
        k = min(3, n)
        codes = np.array(
            [
                *range(k),
                *data.draw(
                    st.lists(st.integers(-1, k - 1), min_size=n - k, max_size=n - k)
                ),
            ]
        )
        found = multiway_cut(W, codes)
        assert_array_equal(found[codes >= 0], codes[codes >= 0])
        weight = slow.cut_weight(W, found.tolist())
        best = slow.multiway_cut_weight(W, codes.tolist())
        assert best <= weight <= (2 - Fraction(2, k)) * best

    def test_three_blocks(self, rng):
        y = np.repeat(np.arange(3), 10)
        W = np.where(y[:, None] == y, 1.0, 0.05)
        codes = np.full(30, -1)
        codes[[0, 10, 20]] = [0, 1, 2]
        # One label each of weight 9 inside, 1 between: the blocks are not cut.
        W[[0, 10, 20]] *= 5
        W = np.maximum(W, W.T)
        np.fill_diagonal(W, 0)
        assert_array_equal(multiway_cut(W, codes), y)

    def test_wrong_length(self):
        with pytest.raises(ValueError, match="one class per vertex"):
            multiway_cut([[0, 1], [1, 0]], [0, 1, -1])


class TestClassifier:
    def test_theorem_on_leave_one_out_mistakes(self, rng):
        """With weights nn_uv + nn_vu the cut counts the mistakes of 1-NN."""
        X, y = make_blobs(60, centers=2, cluster_std=4, random_state=3)
        nearest = nearest_neighbors(X, 1)[1][:, 0]
        W = np.zeros((60, 60))
        W[np.arange(60), nearest] += 1
        W = W + W.T
        holes = np.where(np.arange(60) < 20, y, -1)
        with pytest.warns(DisconnectedGraphWarning):
            model = MinCutClassifier(affinity="precomputed").fit(W, holes)

        def mistakes(labels):
            return sum(
                KNeighborsClassifier(1)
                .fit(np.delete(X, i, 0), np.delete(labels, i))
                .predict(X[[i]])[0]
                != labels[i]
                for i in range(60)
            )

        for labels in (y, rng.integers(2, size=60)):
            cut = sum(
                W[i, j] for i in range(60) for j in range(i) if labels[i] != labels[j]
            )
            assert cut == mistakes(labels)
        assert model.cut_value_ == mistakes(model.transduction_)
        assert model.cut_value_ <= mistakes(y)

    def test_moons(self):
        X, y = make_moons(400, noise=0.05, random_state=0)
        model = MinCutClassifier().fit(X, np.where(np.arange(400) < 10, y, -1))
        assert np.mean(model.transduction_ == y) > 0.99
        assert model.score(X, y) > 0.99

    def test_unreached_rows_are_in_the_first_class(self):
        X = np.r_[np.arange(4.0), 100 + np.arange(4.0)][:, None]
        with pytest.warns(DisconnectedGraphWarning):
            model = MinCutClassifier(n_neighbors=1).fit(
                X, [1, -1, 1, 0, -1, -1, -1, -1]
            )
        assert_array_equal(model.transduction_[4:], 0)
