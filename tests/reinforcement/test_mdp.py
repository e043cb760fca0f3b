"""Planning: policy evaluation, value iteration, policy iteration."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from fewlabels.reinforcement import (
    MDP,
    GridWorld,
    backward_induction,
    gain_policy_iteration,
    policy_evaluation,
    policy_gain,
    policy_iteration,
    value_iteration,
)
from tests.reference.reinforcement import best_gains, best_policy
from tests.reinforcement.processes import (
    TWO_STATES,
    TWO_STATES_VALUES,
    forest,
    multichain_process,
    random_process,
    two_states,
)


class TestKnownSolutions:
    def test_forest(self):
        exact = [74.6496, 78.1056, 82.1056]
        for solve in (value_iteration, policy_iteration):
            solution = solve(forest())
            assert_array_equal(solution.policy, [0, 0, 0])
            assert_allclose(solution.values, exact, atol=1e-4)

    def test_two_states(self):
        for solve in (value_iteration, policy_iteration):
            solution = solve(two_states())
            assert_array_equal(solution.policy, [1, 1])
            assert_allclose(solution.values, TWO_STATES_VALUES, atol=1e-6)

    def test_frozen_lake(self):
        gymnasium = pytest.importorskip("gymnasium")
        env = gymnasium.make("FrozenLake-v1", is_slippery=True)
        mdp = MDP.from_gymnasium(env, 0.99)
        assert_array_equal(np.flatnonzero(mdp.terminal), [5, 7, 11, 12, 15])
        solution = policy_iteration(mdp)
        assert_allclose(solution.values, value_iteration(mdp).values, atol=1e-6)
        assert 0.5 < solution.values[0] < 0.6
        with pytest.raises(ValueError, match="no table P"):
            MDP.from_gymnasium(gymnasium.make("CartPole-v1"), 0.9)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 0.95]))
def test_brute_force_over_policies(seed, gamma):
    rng = np.random.default_rng(seed)
    P, R, terminal, _ = random_process(rng, n_terminal=seed % 2, missing=False)
    expected = (P * R).sum(axis=2)
    values, _ = best_policy(P, expected, gamma, terminal)
    mdp = MDP(P, R, gamma, terminal=terminal)
    by_values = value_iteration(mdp, tol=1e-8)
    by_policies = policy_iteration(mdp)
    for solution in (by_values, by_policies):
        assert_allclose(policy_evaluation(mdp, solution.policy), values, atol=1e-8)
        # What is promised is kept.
        assert (solution.lower <= values).all()
        assert (values <= solution.upper).all()
        lost = values - policy_evaluation(mdp, solution.policy)
        assert lost.max() <= solution.policy_loss + 1e-10
    assert by_values.policy_loss < 1e-8


class TestBellman:
    def test_residual(self, rng):
        P, R, terminal, available = random_process(rng)
        mdp = MDP(P, R, 0.9, terminal=terminal, available=available)
        solution = policy_iteration(mdp)
        assert_allclose(
            mdp.q_values(solution.values).max(axis=1), solution.values, atol=1e-10
        )
        assert (solution.q_values[0, -1], solution.policy[-1]) == (-np.inf, 0)

    def test_contraction(self, rng):
        P, R, terminal, _ = random_process(rng)
        mdp = MDP(P, R, 0.7, terminal=terminal)
        for _ in range(20):
            V, U = rng.normal(size=(2, 4))
            gap = mdp.q_values(V).max(axis=1) - mdp.q_values(U).max(axis=1)
            assert np.abs(gap).max() <= 0.7 * np.abs(V - U).max() + 1e-14

    def test_linear_programme(self, rng):
        """V* is the least V with V >= R + gamma P V."""
        P, R, _, _ = random_process(rng, n_terminal=0, missing=False)
        mdp = MDP(P, R, 0.9)
        n_states, n_actions = mdp.rewards.shape
        repeat = np.repeat(np.eye(n_states), n_actions, axis=0)
        solved = linprog(
            np.ones(n_states),
            A_ub=0.9 * mdp.transitions.toarray() - repeat,
            b_ub=-mdp.rewards.ravel(),
            bounds=(None, None),
        )
        assert_allclose(policy_iteration(mdp).values, solved.x, atol=1e-7)

    def test_every_iteration_improves(self, rng):
        P, R, _, _ = random_process(rng, n_states=8, n_terminal=0, missing=False)
        mdp = MDP(P, R, 0.95)
        worst = mdp.rewards.argmin(axis=1)
        before = policy_evaluation(mdp, worst)
        n_iter = policy_iteration(mdp, initial=worst).n_iter
        for limit in range(1, n_iter):
            with pytest.warns(ConvergenceWarning, match="Policy iteration"):
                found = policy_iteration(mdp, initial=worst, max_iter=limit)
            after = policy_evaluation(mdp, found.policy)
            assert (after >= before - 1e-10).all()
            assert (after > before + 1e-12).any()
            before = after

    def test_bounds_shrink_with_the_tolerance(self):
        mdp = two_states()
        for tol in (1.0, 1e-3):
            found = value_iteration(mdp, tol=tol)
            assert found.policy_loss < tol
            assert (found.upper - found.lower).max() < tol
            assert (found.lower <= TWO_STATES_VALUES + 1e-8).all()
            assert (TWO_STATES_VALUES <= found.upper + 1e-8).all()

    def test_no_convergence_is_told(self):
        with pytest.warns(ConvergenceWarning, match="did not reach tol"):
            found = value_iteration(two_states(), max_iter=3)
        assert (found.n_iter, len(found.residuals)) == (3, 3)
        assert (found.lower <= TWO_STATES_VALUES).all()
        assert (TWO_STATES_VALUES <= found.upper).all()

    def test_a_good_start_saves_iterations(self):
        mdp = two_states()
        cold = value_iteration(mdp)
        warm = value_iteration(mdp, initial=cold.values)
        assert warm.n_iter < cold.n_iter / 10


class TestForms:
    """The same process in all ways to write it down."""

    def test_sparse_and_dense(self, rng):
        P, R, terminal, available = random_process(rng)
        more = {"terminal": terminal, "available": available}
        dense = MDP(P, R, 0.9, **more)
        by_action = [sparse.csr_array(P[:, a]) for a in range(3)]
        rewards = [sparse.csr_array(R[:, a]) for a in range(3)]
        stacked = sparse.csc_array(P.reshape(-1, 4))
        for mdp in (
            MDP(by_action, rewards, 0.9, **more),
            MDP(stacked, sparse.coo_array(R.reshape(-1, 4)), 0.9, **more),
            MDP(stacked, R, 0.9, terminal=[3], available=available),
        ):
            assert_allclose(mdp.transitions.toarray(), dense.transitions.toarray())
            assert_allclose(mdp.rewards, dense.rewards)

    def test_rewards_of_states(self):
        P, _ = TWO_STATES
        assert_array_equal(MDP(P, [3.0, 4.0], 0.9).rewards, [[3, 3], [4, 4]])

    def test_stochastic_policies(self, rng):
        mdp = two_states()
        mixed = policy_evaluation(mdp, [[0.3, 0.7], [1.0, 0.0]])
        P, _ = TWO_STATES
        chain = np.array([0.3 * P[0, 0] + 0.7 * P[0, 1], P[1, 0]])
        reward = [0.3 * 5 + 0.7 * 10, -1]
        assert_allclose(mixed, np.linalg.solve(np.eye(2) - 0.95 * chain, reward))
        assert_allclose(
            policy_evaluation(mdp, [1, 1]), policy_evaluation(mdp, [[0, 1], [0, 1]])
        )

    def test_a_ring(self):
        """A ring of states, one sparse matrix for each direction."""
        n = 300
        states = np.arange(n)
        ring = [
            sparse.coo_array((np.ones(n), (states, (states + step) % n)), shape=(n, n))
            for step in (1, -1)
        ]
        mdp = MDP(ring, (states == 0).astype(float), 0.9)
        solution = policy_iteration(mdp)
        distance = np.minimum(states, n - states)
        # Back and forth between 0 and its neighbour.
        expected = 0.9**distance / (1 - 0.9**2)
        expected[0] = 1 / (1 - 0.9**2)
        assert_allclose(solution.values, expected, atol=1e-9)
        assert_allclose(value_iteration(mdp).values, expected, atol=1e-5)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"transitions": np.ones((2, 2, 2))}, "add up to 2"),
            ({"transitions": -np.ones((2, 2, 2))}, "negative"),
            ({"transitions": np.full((2, 2, 2), np.nan)}, "negative"),
            ({"transitions": np.ones((2, 2))}, "expected"),
            ({"transitions": sparse.csr_array(np.ones((3, 2)))}, "n_states"),
            (
                {"transitions": [sparse.eye_array(2), sparse.eye_array(3)]},
                "one square matrix",
            ),
            ({"rewards": np.ones(3)}, "rewards has shape"),
            ({"rewards": [np.inf, 1.0]}, "finite"),
            ({"rewards": np.ones((3, 2, 3))}, "when stacked"),
            ({"gamma": 1.0}, "policy_gain"),
            ({"terminal": [2]}, "unknown"),
            ({"terminal": [0.5]}, "mask"),
            ({"available": [[True]]}, "available has shape"),
            ({"available": [[False, False], [True, True]]}, "without any action"),
        ],
    )
    def test_wrong_input(self, change, message):
        P, R = TWO_STATES
        given = {"transitions": P, "rewards": R, "gamma": 0.9} | change
        with pytest.raises(ValueError, match=message):
            MDP(**given)

    @pytest.mark.parametrize(
        ("policy", "message"),
        [
            ([0, 2], "unknown"),
            ([0.0, 1.0], "expected one integer"),
            ([[0.5, 0.6], [1, 0]], "add up to 1"),
            ([0, 0, 0], "expected one integer"),
        ],
    )
    def test_wrong_policies(self, policy, message):
        with pytest.raises(ValueError, match=message):
            policy_evaluation(two_states(), policy)

    def test_missing_actions_are_not_used(self):
        P, R = TWO_STATES
        mdp = MDP(P, R, 0.9, available=[[True, False], [True, True]])
        assert policy_iteration(mdp).policy[0] == 0
        with pytest.raises(ValueError, match="not available"):
            policy_evaluation(mdp, [1, 1])

    def test_wrong_settings(self):
        with pytest.raises(ValueError, match="tol must be"):
            value_iteration(two_states(), tol=0.0)
        with pytest.raises(ValueError, match="max_iter"):
            value_iteration(two_states(), max_iter=0)
        with pytest.raises(ValueError, match="max_iter"):
            policy_iteration(two_states(), max_iter=0)
        with pytest.raises(ValueError, match="horizon"):
            backward_induction(two_states(), -1)


def test_everything_is_terminal():
    mdp = MDP(np.ones((1, 1, 1)), [5.0], 0.9, terminal=[0])
    for solve in (value_iteration, policy_iteration):
        found = solve(mdp)
        assert (found.values[0], found.lower[0], found.upper[0]) == (0, 0, 0)


class TestBackwardInduction:
    def test_all_sequences_of_decisions(self, rng):
        """Against the recursion over all actions, written as one."""
        P, R, terminal, _ = random_process(rng, missing=False)
        expected = (P * R).sum(axis=2)

        def best(s, left):
            if terminal[s] or left < 0:
                return 0.0
            return max(
                expected[s, a] + sum(P[s, a, t] * best(t, left - 1) for t in range(4))
                for a in range(3)
            )

        values, policy = backward_induction(MDP(P, R, 0.5, terminal=terminal), 3)
        assert values.shape == policy.shape == (4, 4)
        for t in range(4):
            assert_allclose(values[t], [best(s, 3 - t) for s in range(4)])

    def test_a_shortest_way(self):
        env = GridWorld("four-rooms")
        values, _ = backward_induction(env.mdp(0.5), 50)
        assert values[0, 0] == -20


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_the_scale_of_rewards_does_not_matter(rng, scale):
    transitions = rng.dirichlet(np.ones(5), size=(5, 3))
    rewards = rng.normal(size=(5, 3))
    expected = policy_iteration(MDP(transitions, rewards, gamma=0.95))
    found = policy_iteration(MDP(transitions, scale * rewards, gamma=0.95))
    assert_array_equal(found.policy, expected.policy)
    assert_allclose(found.values, scale * expected.values)


class TestGain:
    """Policies with the largest average reward."""

    @pytest.mark.parametrize("seed", range(6))
    def test_brute_force_over_policies(self, seed):
        rng = np.random.default_rng(seed)
        P = rng.dirichlet(np.ones(4), size=(4, 2))
        R = rng.normal(size=(4, 2))
        mdp = MDP(P, R, 0.5)
        solution = gain_policy_iteration(mdp)
        best = max(policy_gain(mdp, p)[0] for p in product((0, 1), repeat=4))
        assert_allclose(solution.gain, best, atol=1e-10)
        assert_allclose(policy_gain(mdp, solution.policy), best, atol=1e-10)
        assert (solution.lower <= best).all()
        assert (best <= solution.upper).all()
        assert (solution.upper - solution.lower).max() < 1e-9
        h = solution.bias
        assert_allclose((R + P @ h).max(axis=1), best + h, atol=1e-10)

    def test_value_iteration_agrees(self):
        """The growth of the undiscounted values is the gain."""
        mdp = forest()
        values, _ = backward_induction(mdp, 400)
        solution = gain_policy_iteration(mdp)
        assert_allclose(values[0] - values[1], solution.gain, atol=1e-12)
        assert_allclose(values[0] - values[0, 0], solution.bias, atol=1e-9)

    def test_discounts_close_to_one_agree(self):
        solution = gain_policy_iteration(two_states(0.1))
        gap = 1e-6
        values = policy_iteration(two_states(1 - gap)).values
        assert_allclose(gap * values, solution.gain, atol=1e-4)

    def test_a_cycle_has_a_gain_where_values_never_settle(self):
        """Rewards 0, 3, 0, 3, ...: the undiscounted values swing for ever."""
        mdp = MDP([[[0, 1.0]], [[1.0, 0]]], [0.0, 3.0], 0.9)
        solution = gain_policy_iteration(mdp)
        assert_allclose([*solution.gain, *solution.bias], [1.5, 1.5, 0, 1.5])
        values, _ = backward_induction(mdp, 100)
        assert_allclose(np.abs(values[0] - values[1] - 1.5), 1.5)

    def test_all_go_where_it_pays(self):
        """Staying pays 1 or 2, moving nothing: greedy policies stay everywhere."""
        stay_or_move = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
        mdp = MDP(stay_or_move, [[1, 0], [2, 0]], 0.1)
        assert_array_equal(policy_iteration(mdp).policy, [0, 0])
        assert_array_equal(policy_gain(mdp, [0, 0]), [1, 2])
        solution = gain_policy_iteration(mdp)
        assert_array_equal(solution.policy, [1, 0])
        assert_allclose(solution.gain, 2)

    @pytest.mark.parametrize("rewards", [[2.0, 2.0], [1.0, 2.0]])
    def test_islands(self, rewards):
        islands = MDP(np.eye(2)[:, None, :], rewards, 0.9)
        solution = gain_policy_iteration(islands)
        for found in (solution.gain, solution.lower, solution.upper):
            assert_allclose(found, rewards, atol=1e-12)
        assert_array_equal(solution.bias, [0, 0])
        with pytest.raises(ValueError, match="max_iter"):
            gain_policy_iteration(islands, max_iter=0)

    @pytest.mark.parametrize("seed", range(60))
    def test_several_closed_classes(self, seed):
        """Against all policies; gains may depend on the start, and tie."""
        P, R, terminal = multichain_process(np.random.default_rng(seed))
        mdp = MDP(P, R, 0.9, terminal=terminal)
        best = best_gains(P, R, terminal)
        solution = gain_policy_iteration(mdp)
        assert_allclose(solution.gain, best, atol=1e-10)
        assert_allclose(policy_gain(mdp, solution.policy), best, atol=1e-10)
        assert (solution.lower <= best + 1e-12).all()
        assert (best <= solution.upper + 1e-12).all()
        assert (solution.upper - solution.lower).max() < 1e-9

    @pytest.mark.parametrize("seed", range(20))
    def test_bounds_hold_at_any_time(self, seed):
        rng = np.random.default_rng(seed)
        P, R, terminal = multichain_process(rng)
        mdp = MDP(P, R, 0.9, terminal=terminal)
        best = best_gains(P, R, terminal)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rough = gain_policy_iteration(
                mdp, initial=rng.integers(2, size=4), max_iter=1
            )
        assert_allclose(rough.gain, policy_gain(mdp, rough.policy), atol=1e-12)
        assert (rough.lower <= best + 1e-12).all()
        assert (best <= rough.upper + 1e-12).all()

    def test_episodes_maximise_their_sum(self):
        env = GridWorld(["S..", ".#.", "..G"], step_reward=-1.0)
        mdp = env.mdp(0.5)
        solution = gain_policy_iteration(mdp)
        values, _ = backward_induction(mdp, 10)
        assert_array_equal(solution.gain, np.zeros(mdp.n_states))
        assert_allclose(solution.bias, values[0], atol=1e-12)

    def test_too_few_iterations(self):
        mdp = forest()
        with pytest.warns(ConvergenceWarning, match="did not end"):
            rough = gain_policy_iteration(mdp, initial=[1, 1, 1], max_iter=1)
        gain = gain_policy_iteration(mdp).gain
        assert (rough.gain < gain).all()
        assert (rough.lower <= gain).all()
        assert (gain <= rough.upper).all()
