"""Spectral clustering with must-links and cannot-links."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy.sparse import csr_array
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from fewlabels.cluster import (
    ConstrainedSpectralClustering,
    NormalizedSpectralClustering,
    constrained_relaxation,
    constraint_matrix,
    constraints_from_labels,
    spectral_relaxation,
)
from fewlabels.datasets import hide_labels
from fewlabels.exceptions import DisconnectedGraphWarning
from fewlabels.graphs import graph_laplacian


def random_problem(rng, n=25, n_pairs=8):
    """Weights of a connected graph, and signs of some pairs."""
    W = rbf_kernel(rng.normal(size=(n, 2))) * (1 - np.eye(n))
    y = rng.choice([-1, 1], n)
    Q = np.zeros((n, n))
    for i, j in rng.permuted(np.triu_indices(n, 1), axis=1).T[:n_pairs]:
        if i != j:
            Q[i, j] = Q[j, i] = y[i] * y[j]
    return W, Q


def normalised(W, Q):
    d = W.sum(axis=1)
    return graph_laplacian(W, "symmetric"), Q / np.sqrt(np.outer(d, d)), d.sum()


def pencil(W, Q, beta):
    """All real positive eigenpairs by the general solver, and M."""
    L, Q_bar, volume = normalised(W, Q)
    M = Q_bar - beta / volume * np.eye(len(W))
    values, V = linalg.eig(L, M)
    good = np.isfinite(values) & (np.abs(values.imag) < 1e-8)
    good &= (values.real > 1e-8) & (values.real < 1e8)
    return values.real[good], V.real[:, good], M


class TestRelaxation:
    @pytest.mark.parametrize("share", [-0.5, 0.1, 0.5, 0.9])
    def test_optimality_with_orthogonality(self, share, rng):
        """KKT with a multiplier for the constant, constraint, number of vectors."""
        for _ in range(5):
            W, Q = random_problem(rng)
            L, Q_bar, volume = normalised(W, Q)
            top = constrained_relaxation(W, Q).beta_max
            beta = share * top
            result = constrained_relaxation(W, Q, beta=beta)
            root = np.sqrt(W.sum(axis=1))
            v = result.vectors[:, 0] * root
            assert_allclose(v @ v, volume)
            assert abs(v @ root) < 1e-8 * volume
            M = Q_bar - beta / volume * np.eye(25)
            residual = L @ v - result.multipliers[0] * (M @ v)
            residual -= result.offsets[0] * root
            assert np.abs(residual).max() < 1e-8 * np.abs(v).max()
            assert result.constraint_values[0] > beta
            assert_allclose(
                result.costs[0],
                result.multipliers[0] * (result.constraint_values[0] - beta),
            )
            basis = linalg.null_space(root[None])
            spectrum = linalg.eigvalsh(basis.T @ Q_bar @ basis) * volume
            assert result.n_feasible == np.sum(spectrum > beta)
            assert_allclose(top, spectrum[-1])

    @pytest.mark.parametrize("share", [-0.5, 0.1, 0.5, 0.9])
    def test_optimality(self, share, rng):
        """KKT, constraint, least cost of the feasible; against the general solver."""
        for _ in range(5):
            W, Q = random_problem(rng)
            L, Q_bar, volume = normalised(W, Q)
            top = constrained_relaxation(W, Q, orthogonal=False).beta_max
            beta = share * top
            if Q.sum() > beta > 0:  # see below
                beta = (Q.sum() + top) / 2
            result = constrained_relaxation(W, Q, beta=beta, orthogonal=False)
            values, V, M = pencil(W, Q, beta)
            assert result.n_feasible == values.size
            v = result.vectors[:, 0] * np.sqrt(W.sum(axis=1))
            assert_allclose(v @ v, volume)
            residual = L @ v - result.multipliers[0] * (M @ v)
            assert np.abs(residual).max() < 1e-8 * np.abs(v).max()
            assert_allclose(v @ Q_bar @ v, result.constraint_values[0])
            assert result.constraint_values[0] > beta
            assert_allclose(
                result.costs[0], result.multipliers[0] * (v @ Q_bar @ v - beta)
            )
            assert abs(result.offsets[0]) < 1e-8
            V *= np.sqrt(volume) / np.linalg.norm(V, axis=0)
            costs = np.einsum("ij,ij->j", V, L @ V)
            assert_allclose(result.costs[0], costs.min(), rtol=1e-6)

    def test_number_of_feasible_vectors(self, rng):
        """Eigenvalues of Q above the level, less one if constants keep to it too."""
        seen = set()
        for _ in range(20):
            W, Q = random_problem(rng)
            _, Q_bar, volume = normalised(W, Q)
            spectrum = linalg.eigvalsh(Q_bar) * volume
            for beta in (-5.0, 0.5, Q.sum() - 0.5, Q.sum() + 0.5):
                expected = np.sum(spectrum > beta) - (Q.sum() > beta)
                seen.add((bool(Q.sum() > beta), bool(expected > 0)))
                if expected < 1:
                    with pytest.raises(ValueError, match="cannot be reached"):
                        constrained_relaxation(W, Q, beta=beta, orthogonal=False)
                else:
                    found = constrained_relaxation(
                        W, Q, beta=beta, orthogonal=False
                    ).n_feasible
                    assert found == expected
        assert {(True, True), (False, True)} <= seen

    def test_level_equal_to_the_sum_of_constraints(self, rng):
        """There the constant vector meets the constraint exactly: a singular case."""
        for _ in range(10):
            W, Q = random_problem(rng)
            beta = float(Q.sum())
            values, _, M = pencil(W, Q, beta)
            L, _, volume = normalised(W, Q)
            if values.size == 0:
                continue
            result = constrained_relaxation(W, Q, beta=beta, orthogonal=False)
            v = result.vectors[:, 0] * np.sqrt(W.sum(axis=1))
            residual = L @ v - result.multipliers[0] * (M @ v)
            assert np.abs(residual).max() < 1e-7 * np.abs(v).max()
            assert_allclose(v @ v, volume)

    @pytest.mark.parametrize("k", [1, 2, 3])
    def test_below_the_largest_level_there_are_enough(self, k, rng):
        for _ in range(10):
            W, Q = random_problem(rng, n_pairs=20)
            result = constrained_relaxation(W, Q, n_components=k)
            assert result.vectors.shape == (25, k)
            assert result.n_feasible >= k
            assert (np.diff(result.costs) >= 0).all()
            top = result.beta_max
            near = constrained_relaxation(
                W, Q, n_components=k, beta=top - 1e-3 * abs(top)
            )
            assert near.n_feasible >= k
            with pytest.raises(ValueError, match="cannot be reached"):
                constrained_relaxation(
                    W, Q, n_components=k, beta=top + 1e-3 * abs(top) + 1e-9
                )

    @pytest.mark.parametrize("n_first", [5, 12, 20])
    def test_all_pairs_known(self, n_first, rng):
        W, _ = random_problem(rng)
        y = np.where(np.arange(25) < n_first, 1.0, -1.0)
        u = constrained_relaxation(W, np.outer(y, y)).vectors[:, 0]
        assert_array_equal(np.sign(u) * np.sign(u[0]), y)

    def test_no_constraints_is_the_normalised_cut(self, rng):
        W, Q = random_problem(rng)
        result = constrained_relaxation(W, 0 * Q, n_components=2)
        exact = spectral_relaxation(W, 3, laplacian="random_walk").vectors[:, 1:]
        cosines = linalg.svdvals(linalg.orth(result.vectors).T @ linalg.orth(exact))
        assert_allclose(cosines, 1)

    def test_components_are_joined(self):
        W = linalg.block_diag(*3 * [np.ones((4, 4))])
        Q = constraint_matrix(12, must_link=[(0, 4)], cannot_link=[(0, 8)])
        with pytest.warns(DisconnectedGraphWarning, match="3 components"):
            u = constrained_relaxation(W, Q).vectors[:, 0]
        assert_array_equal(u > 0, np.repeat([u[0] > 0, u[0] > 0, u[8] > 0], 4))
        assert u[0] * u[8] < 0

    def test_bad_arguments(self):
        W = np.ones((3, 3))
        with pytest.raises(ValueError, match="shape"):
            constrained_relaxation(W, np.zeros((2, 2)))
        with pytest.raises(ValueError, match="not symmetric"):
            constrained_relaxation(W, np.triu(np.ones((3, 3))))
        with pytest.raises(ValueError, match="no edge"):
            constrained_relaxation(np.zeros((3, 3)), np.zeros((3, 3)))
        with pytest.raises(ValueError, match="beta='most'"):
            constrained_relaxation(W, np.zeros((3, 3)), beta="most")


class TestConstraints:
    def test_matrix(self):
        Q = constraint_matrix(4, [(0, 1), (1, 0)], [(3, 2)]).toarray()
        expected = np.zeros((4, 4))
        expected[[0, 1], [1, 0]], expected[[2, 3], [3, 2]] = 1, -1
        assert_array_equal(Q, expected)
        assert constraint_matrix(4).nnz == 0

    @pytest.mark.parametrize(
        ("pairs", "message"),
        [
            ([(0, 4)], "row indices in 0, ..., 3"),
            ([(1, 1)], "with itself"),
            ([(0.0, 1.0)], "array of integers"),
            ([0, 1], "array of integers"),
        ],
    )
    def test_bad_pairs(self, pairs, message):
        with pytest.raises(ValueError, match=f"must_link.*{message}"):
            constraint_matrix(4, must_link=pairs)
        with pytest.raises(ValueError, match=f"cannot_link.*{message}"):
            constraint_matrix(4, cannot_link=pairs)

    def test_contradictions(self):
        with pytest.raises(ValueError, match=r"pair \(0, 1\) is in must_link and in"):
            constraint_matrix(3, [(0, 1)], [(1, 0)])
        with pytest.warns(UserWarning, match="1 cannot-links separate rows"):
            constraint_matrix(3, [(0, 1), (1, 2)], [(0, 2)])

    def test_labels(self):
        Q = constraints_from_labels(["a", None, "b", "a"]).toarray()
        expected = [[0, 0, -1, 1], [0, 0, 0, 0], [-1, 0, 0, -1], [1, 0, -1, 0]]
        assert_array_equal(Q, expected)


class TestEstimator:
    def test_pairs_and_matrix_agree(self, rng):
        X = rng.normal(size=(40, 2))
        must, cannot = [(0, 5), (7, 9)], [(0, 9)]
        model = ConstrainedSpectralClustering(affinity="rbf").fit(
            X, must_link=must, cannot_link=cannot
        )
        Q = constraint_matrix(40, must, cannot)
        for form in (Q, Q.toarray()):
            again = ConstrainedSpectralClustering(affinity="rbf")
            again.fit(X, constraints=form)
            assert_array_equal(again.labels_, model.labels_)
        y = model.labels_
        kept = [y[0] == y[5], y[7] == y[9], y[0] != y[9]]
        assert_allclose(model.satisfied_, np.mean(kept))
        assert model.beta_ < model.beta_max_
        with pytest.raises(ValueError, match="not both"):
            model.fit(X, constraints=Q, must_link=must)

    def test_constraints_choose_between_two_partitions(self):
        """Four blobs on a square: left and right, or top and bottom."""
        corners = np.array([[0, 0], [6, 0], [0, 6], [6, 6]])
        X, y = make_blobs(120, centers=corners, random_state=0)
        i = [np.flatnonzero(y == k)[:2] for k in range(4)]
        for pairs, truth in (((0, 1, 2, 3), y // 2), ((0, 2, 1, 3), y % 2)):
            a, b, c, d = (i[k] for k in pairs)
            model = ConstrainedSpectralClustering(affinity="rbf", gamma=0.05).fit(
                X,
                must_link=np.c_[np.r_[a, c], np.r_[b, d]],
                cannot_link=np.c_[np.r_[a, b], np.r_[c, d]],
            )
            assert adjusted_rand_score(truth, model.labels_) == 1
            assert_array_equal(model.predict(X), model.labels_)

    def test_mostly_must_links(self):
        """The constant keeps to must-links: without orthogonality nothing is parted."""
        corners = np.array([[0, 0], [6, 0], [0, 6], [6, 6]])
        X, y = make_blobs(120, centers=corners, random_state=0)
        a, b, c, d = (np.flatnonzero(y == k)[:2] for k in range(4))
        pairs = {"must_link": np.c_[[*a, *c], [*b, *d]], "cannot_link": np.c_[a, c]}
        model = ConstrainedSpectralClustering(affinity="rbf", gamma=0.05)
        model.fit(X, **pairs)
        assert adjusted_rand_score(y // 2, model.labels_) == 1
        assert_array_equal(model.predict(X), model.labels_)
        printed = ConstrainedSpectralClustering(
            affinity="rbf", gamma=0.05, orthogonal=False
        )
        assert np.unique(printed.fit(X, **pairs).labels_).size == 1

    def test_few_labels_help(self):
        X, y = make_moons(300, noise=0.15, random_state=1)[:2]
        plain = NormalizedSpectralClustering(random_state=0).fit(X)
        Q = constraints_from_labels(hide_labels(y, n_labeled=30, random_state=0))
        model = ConstrainedSpectralClustering(random_state=0).fit(X, constraints=Q)
        scores = [adjusted_rand_score(y, m.labels_) for m in (plain, model)]
        assert scores[1] > max(0.9, scores[0])

    def test_several_clusters(self):
        X, y = load_iris(return_X_y=True)
        plain = NormalizedSpectralClustering(3, random_state=0).fit(X)
        Q = constraints_from_labels(hide_labels(y, n_labeled=45, random_state=0))
        model = ConstrainedSpectralClustering(3, random_state=0)
        with pytest.warns(DisconnectedGraphWarning):
            model.fit(X, constraints=Q)
        scores = [adjusted_rand_score(y, m.labels_) for m in (plain, model)]
        assert scores[1] > scores[0]
        assert model.satisfied_ > 0.95
        assert model.embedding_.shape == (150, 2)
        assert adjusted_rand_score(y, model.predict(X)) > scores[0]

    def test_k_means_on_one_vector_is_its_sign(self, rng):
        """Rows of length 1 in one dimension are signs: K = 2 is the two-way method."""
        W, Q = random_problem(rng)
        model = ConstrainedSpectralClustering(affinity="precomputed")
        model.fit(W, constraints=Q)
        u = constrained_relaxation(W, Q).vectors[:, 0]
        assert_array_equal(model.labels_, (u > 0) != (u[0] > 0))

    def test_rows_as_printed(self, rng):
        W, Q = random_problem(rng, n_pairs=40)
        model = ConstrainedSpectralClustering(
            3, normalize_rows=False, affinity="precomputed", random_state=0
        ).fit(csr_array(W), constraints=Q)
        expected = constrained_relaxation(W, Q, n_components=2).vectors
        assert_allclose(model.embedding_, expected, atol=1e-9)

    def test_level_out_of_reach(self, rng):
        X = rng.normal(size=(30, 2))
        model = ConstrainedSpectralClustering(affinity="rbf", beta=1e9)
        with pytest.raises(ValueError, match=r"beta=1e\+09 cannot be reached"):
            model.fit(X, cannot_link=[(0, 1)])

    def test_without_constraints(self, rng):
        X = np.r_[rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 6]
        model = ConstrainedSpectralClustering(affinity="rbf", gamma=0.1).fit(X)
        assert_array_equal(model.labels_, np.repeat([0, 1], 20))
        assert np.isnan(model.satisfied_)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="n_clusters=4"):
            ConstrainedSpectralClustering(4, affinity="rbf").fit(np.eye(3))

    @pytest.mark.parametrize("n_clusters", [1, 2, 3])
    @pytest.mark.parametrize("X", [np.ones((6, 2)), np.eye(6)[:, :3]])
    def test_strange_rows(self, X, n_clusters):
        model = ConstrainedSpectralClustering(
            n_clusters, affinity="rbf", random_state=0
        )
        model.fit(X, must_link=[(0, 1)], cannot_link=[(0, 2)])
        assert set(model.labels_) <= set(range(n_clusters))
        assert set(model.predict(X)) <= set(range(n_clusters))
