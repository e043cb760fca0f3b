"""The bank: kernels on one scale, the same for new rows, and no label in sight."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons

from fewlabels import FewLabelsClassifier
from fewlabels._rows import row_digests
from fewlabels.automatic import _recipe, _tuned
from fewlabels.automatic._bank import KernelBank
from fewlabels.automatic._components import Components
from fewlabels.automatic._graphs import GraphVectors
from fewlabels.automatic._recipe import BANKS, Sources
from fewlabels.automatic._scaling import FAR, RowScaling, are_coordinates
from fewlabels.automatic._sources import Source, View
from fewlabels.automatic._views import Rows
from fewlabels.graphs import (
    auto_bandwidth,
    graph_laplacian,
    nearest_neighbors,
    similarity_graph,
)

# Kernels alone.
SMALL = replace(BANKS["default"], cluster_runs=5, forests=False)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    centres = 4 * rng.normal(size=(3, 30))
    return centres[np.arange(120) % 3] + rng.normal(size=(120, 30))


@pytest.fixture(scope="module")
def bank(rows):
    return KernelBank(SMALL, random_state=0).build(rows)


def kernel_named(bank, name):
    return next(kernel for kernel in bank.candidates if kernel.name == name)


def source_of(bank, name):
    return kernel_named(bank, name).source


def matrix(bank, name):
    return kernel_named(bank, name).block(np.arange(bank.n_rows))


def normalised(K):
    """Step by step what every kernel of the bank goes through."""
    n = K.shape[0]
    H = np.eye(n) - 1 / n
    K = H @ K @ H
    return K * n / np.trace(K) + 1


class TestEveryKernel:
    def test_there_are_as_many_as_the_recipe_says(self, bank):
        names = [kernel.name for kernel in bank.candidates]
        # 50 whitened components of 30 and one-vector graphs do not exist here.
        assert len(names) == len(set(names))
        assert len(names) == 72 - 1

    def test_symmetric_psd_centred_and_scaled(self, bank):
        everything = np.arange(bank.n_rows)
        for kernel in bank.candidates:
            K = kernel.block(everything)
            assert_allclose(K, K.T, atol=1e-10, err_msg=kernel.name)
            assert np.linalg.eigvalsh(K)[0] > -1e-8, kernel.name
            assert_allclose(K.mean(axis=1), 1, atol=1e-8, err_msg=kernel.name)
            assert_allclose(K.diagonal().mean(), 2, atol=1e-8, err_msg=kernel.name)

    def test_outputs_are_products_with_the_kernel(self, bank):
        chosen = np.array([3, 50, 3, 77])
        coef = np.array([[1.0, 0.0], [-2.0, 1.0], [0.5, 3.0], [0.0, -1.0]])
        (view,) = bank.training_views()
        everything = np.arange(bank.n_rows)
        for kernel in bank.candidates:
            K = kernel.block(everything)
            outputs = kernel.outputs(chosen, coef)(view)
            assert_allclose(
                outputs, K[:, chosen] @ coef, atol=1e-8, err_msg=kernel.name
            )

    def test_primal_fit_equals_dual_fit(self, bank):
        chosen = np.arange(0, 120, 2)
        Y = np.random.default_rng(1).normal(size=(60, 2))
        diagonal = np.linspace(0.5, 2.0, 60)
        (view,) = bank.training_views()
        for name in ("linear", "graph 5, heat", "clusters 4", "rbf 0.5 on graph 5, 10"):
            kernel = kernel_named(bank, name)
            K = kernel.block(chosen)
            coef = np.linalg.solve(K + 0.1 * np.diag(diagonal), Y)
            dual = kernel.outputs(chosen, coef)(view)
            primal = kernel.primal_outputs(chosen, Y, 0.1, diagonal)(view)
            assert_allclose(primal, dual, atol=1e-6, err_msg=name)

    def test_batches_do_not_matter(self, bank):
        coef = np.ones((2, 1))
        for kernel in bank.candidates:
            function = kernel.outputs(np.array([0, 9]), coef)
            parts = [function(view) for view in bank.training_views(50)]
            (view,) = bank.training_views()
            whole = function(view)
            assert_allclose(np.concatenate(parts), whole, atol=1e-9)


class TestNewRows:
    EXACT = (
        "linear",
        "rbf",
        "components",
        "clusters",
        "deformed linear",
        "deformed rbf",
    )

    def test_training_rows_as_new_rows(self, bank, rows, monkeypatch):
        """Functions of the row alone do not know whether it was in the training set.

        But for the stretch of components, which only new rows need.
        """
        parts = source_of(bank, "whitened 5")
        monkeypatch.setattr(parts, "_stretch", np.ones_like(parts._stretch))
        coef = np.array([[1.0], [-1.0], [0.5]])
        (old,) = bank.training_views()
        (new,) = bank.new_views(rows)
        exact = [k for k in bank.candidates if k.family in self.EXACT]
        assert len(exact) > 20
        for kernel in exact:
            function = kernel.outputs(np.array([0, 1, 2]), coef)
            assert_allclose(
                function(new), function(old), atol=1e-7, err_msg=kernel.name
            )

    def test_graph_vectors_extend_by_the_eigenvalue_equation(self, bank):
        """S u = (1 - lam) u, read as a rule for one row."""
        graph = source_of(bank, "graph 10, heat")
        S = np.eye(bank.n_rows) - graph.laplacian.toarray()
        assert_allclose(
            S @ graph.train, graph.train * (1 - graph.eigenvalues), atol=1e-8
        )

    def test_rows_near_a_training_row_get_about_its_output(self, bank, rows):
        coef = np.array([[1.0], [-1.0], [0.3]])
        rng = np.random.default_rng(3)
        (old,) = bank.training_views()
        (new,) = bank.new_views(rows + 1e-3 * rng.normal(size=rows.shape))
        # Of 120 rows, 50 vectors reach eigenvalue 1, where u = S u / (1 - lam) fails.
        smooth = [k for k in bank.candidates if not k.name.endswith("50 vectors")]
        for kernel in smooth:
            function = kernel.outputs(np.array([0, 1, 2]), coef)
            a, b = function(old)[:, 0], function(new)[:, 0]
            assert np.corrcoef(a, b)[0, 1] > 0.9, kernel.name

    @pytest.mark.parametrize("n_columns", [20, 400, 2500])
    def test_components_of_new_rows_are_as_long_as_those_of_training_rows(
        self, n_columns
    ):
        """With many columns, training rows lie further out along their directions."""
        rng = np.random.default_rng(0)
        signal = np.zeros(n_columns)
        signal[:5] = [8.0, 6.0, 5.0, 4.0, 3.0]
        X = rng.normal(size=(2000, n_columns)) * np.sqrt(1 + signal**2)
        parts = Components(Rows(X[:1000]), 30, np.random.RandomState(0))
        shares = View(rows=X[1000:])[parts].std(axis=0) / parts.train.std(axis=0)
        if n_columns == 20:
            assert parts._stretch.max() < 1.15
        else:
            # A little too long, as rows are held out of fewer than there are.
            assert_allclose(shares, 1.05, atol=0.2)
        if n_columns == 2500:  # and it would not do without
            assert (shares / parts._stretch)[10:].max() < 0.5

    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
    def test_directions_without_variance_say_nothing(self, form):
        """Of fewer rows than columns the last direction is a rounding error."""
        X = np.random.default_rng(0).normal(size=(240, 400))
        parts = Components(Rows(form(X[:120])), 300, np.random.RandomState(0))
        shares = View(rows=form(X[120:]))[parts].std(axis=0) / parts.train.std(axis=0)
        assert parts._stretch.min() > 1.2
        assert 0.7 < shares.mean() < 1.3

    def test_a_column_that_only_rows_held_out_have(self):
        X = np.random.default_rng(0).normal(size=(120, 3))
        X[:, 2] = 0
        held = np.random.RandomState(0).permutation(120)[:24]
        X[held, 2] = 1.0
        stretch = Components(Rows(X), 3, np.random.RandomState(0))._stretch
        assert np.isfinite(stretch).all()
        assert stretch.min() > 1.01

    def test_rows_on_the_fringe_do_not_hide_the_shape(self):
        """Of many rows in few dimensions, those far out are hardly joined to others."""
        X, y = make_moons(12_000, noise=0.15, random_state=0)
        search = Source()
        search.train = nearest_neighbors(X, n_neighbors=10)
        graph = GraphVectors(search, 10, 0.5, 80, np.random.RandomState(0))
        side = graph.train[:, 1] > 0
        assert max(np.mean(side == y), np.mean(side != y)) > 0.98
        # Weights of the others are what they would be without.
        distances = search.train[0]
        usual = auto_bandwidth(distances)
        W = graph_laplacian(
            similarity_graph(
                X, n_neighbors=10, symmetrize="mean", bandwidth=0.5 * usual
            ),
            "unnormalized",
        )
        inner = np.flatnonzero(
            (distances[:, -1] < 3 * usual)
            & (distances[:, -1][search.train[1]] < 3 * usual).all(axis=1)
        )[:100]
        degrees = W.diagonal()[inner]
        assert_allclose(np.median(graph._degrees[inner] / degrees), 1, rtol=1e-12)

    @pytest.mark.parametrize("n", [300, 501])
    def test_graphs_found_side_by_side_are_those_found_in_turn(self, n):
        X = np.random.default_rng(0).normal(size=(n, 3))
        sources = Sources(Rows(X), SMALL, "exact", np.random.RandomState(0))
        neighbors, rng = sources.neighbors, deepcopy(sources.rng)
        for k, width in SMALL.graphs:
            alone = GraphVectors(neighbors, k, width, SMALL.n_vectors, rng)
            assert_array_equal(sources.graph(k).train, alone.train)
        assert sources.rng.randint(2**31) == rng.randint(2**31)

    def test_new_rows_have_the_neighbours_they_would_have_had(self, rows):
        """A row is joined to its nearest ones, and to rows that it is nearest to."""
        distances, indices = nearest_neighbors(rows[1:], n_neighbors=15)
        search = Source()
        search.train = distances, indices
        graph = GraphVectors(search, 3, 0.8, 20, np.random.RandomState(0))
        to_first = cdist(rows[:1], rows[1:])[0]
        order = np.argsort(to_first)[:15]
        search.new = lambda view: (to_first[order][None], order[None])
        assert_allclose(graph._bandwidth, 0.8 * distances[:, :3].mean())
        W = similarity_graph(
            rows, n_neighbors=3, symmetrize="mean", bandwidth=graph._bandwidth
        ).toarray()
        w = W[0, 1:].copy()
        w[np.setdiff1d(np.arange(w.size), order)] = 0
        expected = (w / np.sqrt(w.sum() * graph._degrees)) @ graph.train
        expected /= np.maximum(1 - graph.eigenvalues, 0.2)
        assert np.count_nonzero(w) > 3
        assert_allclose(View(rows=rows[:1])[graph][0], expected, atol=1e-10)

    def test_known_rows(self, bank, rows):
        found = bank.known_rows(np.vstack([rows[5:7], rows[:1] + 1e-9]))
        assert_array_equal(found, [*bank.index[5:7], -1])


class TestAgainstPlainFormulas:
    def test_gaussian(self, bank, rows):
        X = rows / rows.std(axis=0).max()
        d2 = cdist(X, X, "sqeuclidean")
        median = np.median(d2[np.triu_indices(120, 1)])
        expected = normalised(np.exp(-d2 / (2 * 0.35**2 * median)))
        assert_allclose(matrix(bank, "rbf 0.35"), expected, atol=1e-8)

    def test_linear_whitened_and_squared(self, bank, rows):
        X = rows - rows.mean(axis=0)
        assert_allclose(matrix(bank, "linear"), normalised(X @ X.T), atol=1e-8)
        U, s, _ = np.linalg.svd(X, full_matrices=False)
        W = U[:, :5] @ U[:, :5].T
        assert_allclose(matrix(bank, "whitened 5"), normalised(W), atol=1e-8)
        square = (U * s**2 @ U.T) ** 2
        assert_allclose(matrix(bank, "squared linear"), normalised(square), atol=1e-8)

    def test_graph_kernels(self, bank, rows):
        width = 0.7 * nearest_neighbors(rows, 5)[0].mean()
        W = similarity_graph(rows, n_neighbors=5, symmetrize="mean", bandwidth=width)
        lam, U = np.linalg.eigh(graph_laplacian(W, "symmetric").toarray())
        c0 = int(np.count_nonzero(lam < 1e-10))
        lam, U = lam[:60], U[:, :60]  # as many as half of the rows
        r = lam / lam[c0 + 20]
        power = U * (r + 0.1) ** -2.0 @ U.T
        assert_allclose(matrix(bank, "graph 5, power 2"), normalised(power), atol=1e-6)
        heat = U * np.exp(-3 * r) @ U.T
        root = np.sqrt(heat.diagonal())
        heat /= np.outer(root, root)
        assert_allclose(matrix(bank, "graph 5, heat"), normalised(heat), atol=1e-6)

    def test_deformed_kernel_has_the_inverse_it_should(self, bank):
        """K~^-1 = K^-1 + g M, on the Gaussian base, which has full rank."""
        graph = source_of(bank, "graph 5, heat")
        F = source_of(bank, "rbf 0.5 on graph 5, 0.1").train
        K = F @ F.T
        L = graph.laplacian.toarray() / graph.eigenvalues[graph.n_null + 50]
        deformed = np.linalg.inv(np.linalg.inv(K) + 0.1 * L @ L)
        assert_allclose(
            matrix(bank, "rbf 0.5 on graph 5, 0.1"), normalised(deformed), atol=1e-6
        )

    def test_geodesic_lengths_on_a_line(self):
        """On a line the path is the distance, in units of the mean step."""
        X = np.linspace(0, 1, 80)[:, None]
        bank = KernelBank(SMALL, scale="none", random_state=0).build(X)
        source = source_of(bank, "geodesic")
        d, _ = nearest_neighbors(source_of(bank, "whitened 1").train, 5)
        landmarks = np.argmin(source._costs, axis=0)
        expected = cdist(X, X[landmarks]) / (X.std() * d.mean())
        # A path of steps along a line may not overshoot, so it is as long.
        assert_allclose(source._costs, expected, rtol=1e-6)

    def test_clusters_count_runs(self, bank):
        source = source_of(bank, "clusters 8")
        runs = source.train.indices.reshape(120, 5)
        shares = np.mean(runs[:, None, :] == runs[None, :, :], axis=2)
        assert_allclose(matrix(bank, "clusters 8"), normalised(shares), atol=1e-8)


class TestScaling:
    def test_a_table_is_standardised(self):
        X = np.random.default_rng(0).normal(size=(50, 4)) * [1, 10, 100, 1000]
        scaling = RowScaling("auto").fit(X)
        assert scaling.kind_ == "standard"
        assert_allclose(scaling.transform(X).std(axis=0), 1)

    def test_pixels_keep_their_unit(self, rows):
        scaling = RowScaling("auto").fit(rows)
        assert scaling.kind_ == "none"
        X = rows - np.median(rows, axis=0)
        assert_allclose(scaling.transform(rows) * X.std(axis=0).max(), X)

    @pytest.mark.parametrize("n_columns", [8, 20, 300])
    def test_coordinates_keep_their_scale(self, n_columns):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(150, n_columns)) * np.geomspace(1, 20, n_columns)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        assert RowScaling("auto").fit(X).kind_ == "none"
        # Longer and shorter rows remain near a sphere, unless they differ much.
        for spread, expected in ((0.02, "none"), (0.8, "standard")):
            Z = X * rng.uniform(1 - spread, 1 + spread, size=(150, 1))
            assert RowScaling("auto").fit(Z).kind_ == expected

    @pytest.mark.parametrize("columns", ["normal", "uniform"])
    def test_independent_columns_are_no_coordinates(self, columns):
        X = getattr(np.random.default_rng(0), columns)(-1, 1, size=(400, 12))
        assert not are_coordinates(X - X.mean(axis=0))
        assert not are_coordinates(X + 1e4)  # such as dates

    def test_two_valued_columns_are_no_coordinates(self):
        X = np.random.default_rng(0).integers(0, 2, size=(200, 12)) - 0.5
        assert np.ptp(np.linalg.norm(X, axis=1)) == 0
        assert not are_coordinates(X)

    def test_text_gets_unit_rows(self):
        X = sparse.random_array((40, 300), density=0.05, rng=0, format="csr")
        X = X.multiply((np.arange(40) != 3)[:, None]).tocsr()  # an empty document
        scaling = RowScaling("auto").fit(X)
        assert scaling.kind_ == "unit"
        norms = np.sqrt(scaling.transform(X).power(2).sum(axis=1))
        assert_allclose(np.delete(norms, 3), 1)
        assert norms[3] == 0

    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
    @pytest.mark.parametrize("scale", ["auto", "standard", "none"])
    def test_constant_columns_are_dropped(self, rows, scale, form):
        plain = form(rows)
        expected = RowScaling(scale).fit(plain).transform(plain)
        for constant in (0.0, 0.1)[: 1 + (scale != "auto")]:
            X = form(np.hstack([rows, np.full((120, 2), constant)]))
            found = RowScaling(scale).fit(X).transform(X)
            assert_allclose(
                sparse.csr_array(found).toarray(),
                sparse.csr_array(expected).toarray(),
                atol=1e-12,
            )

    def test_constant_columns_make_no_pixels(self):
        X = np.random.default_rng(0).normal(size=(50, 4))
        X = np.hstack([X, np.full((50, 19), 7.0)])
        assert RowScaling("auto").fit(X).kind_ == "standard"

    @pytest.mark.parametrize("scale", ["standard", "unit", "none"])
    def test_rows_come_out_as_those_of_fit_did(self, rows, scale):
        X = np.where(np.abs(rows) > 1, rows, 0.0)
        held = sparse.csr_array(X)
        dense, kept = (RowScaling(scale).fit(form) for form in (X, held))
        assert_allclose(dense.transform(held), dense.transform(X))
        assert_allclose(kept.transform(X).toarray(), kept.transform(held).toarray())
        # One is the other, but for a shift.
        shift = kept.transform(held).toarray() - dense.transform(X)
        assert_allclose(shift, np.tile(shift[0], (120, 1)), atol=1e-12)

    @pytest.mark.parametrize("size", [1e-170, 1e160])
    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
    @pytest.mark.parametrize("scale", ["standard", "unit", "none"])
    def test_size_does_not_matter(self, rows, scale, form, size):
        plain = RowScaling(scale).fit(form(rows)).transform(form(rows))
        X = form(rows * size)
        scaled = RowScaling(scale).fit(X).transform(X)
        assert_allclose(abs(scaled - plain).max(), 0, atol=1e-12)

    def test_columns_of_very_different_size(self, rows):
        X = rows * np.logspace(-140, 140, rows.shape[1])
        expected = (rows - np.median(rows, axis=0)) / rows.std(axis=0)
        assert_allclose(RowScaling("standard").fit(X).transform(X), expected)

    def test_a_far_row_leaves_others_their_digits(self, rows):
        X = rows.copy()
        X[0] *= 1e100
        scaled = RowScaling("standard").fit(X).transform(X)[1:]
        others = rows[1:] - rows[1]
        difference = (scaled - scaled[0]) * X.std(axis=0)
        assert_allclose(difference, others, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
    def test_new_rows_that_are_too_far_for_squares(self, rows, form):
        scaling = RowScaling("standard").fit(form(rows))
        scaled = scaling.transform(form(1e300 * rows))
        with np.errstate(all="raise"):
            assert np.isfinite((scaled**2).sum())
        assert abs(scaled).max() == FAR


def test_equal_rows_count_once(rows):
    X = np.vstack([rows, rows[:30], -0.0 * rows[:2], 0.0 * rows[:1]])
    bank = KernelBank(SMALL, random_state=0).build(X)
    assert bank.n_rows == 121
    assert_array_equal(bank.index[120:150], bank.index[:30])
    assert bank.index[150] == bank.index[151] == bank.index[152]


def test_digests_ignore_how_rows_are_stored():
    A = sparse.csr_array(([1.0, 2.0, 0.0], [2, 0, 1], [0, 3]), shape=(1, 4))
    B = np.array([[2.0, 0.0, 1.0, -0.0]])
    assert_array_equal(row_digests(A), row_digests(sparse.csr_array(B)))
    assert_array_equal(row_digests(A), row_digests(B))


def test_sparse_and_dense_rows_make_the_same_kernels(rows):
    X = np.where(np.abs(rows) > 2, rows, 0.0)
    dense = KernelBank(SMALL, scale="none", random_state=0).build(X)
    held = KernelBank(SMALL, scale="none", random_state=0).build(sparse.csr_array(X))
    for name in ("linear", "rbf 0.5", "whitened 5", "squared linear", "graph 5, heat"):
        assert_allclose(matrix(held, name), matrix(dense, name), atol=1e-5)


def test_large_sets_are_sampled(monkeypatch, rows):
    """With fewer anchors than rows kernels are still psd and nearly centred."""
    monkeypatch.setattr(_recipe, "REFERENCE_ROWS", 80)
    settings = replace(SMALL, anchors=60, rank=40, landmarks=20)
    bank = KernelBank(settings, random_state=0).build(rows)
    for kernel in bank.candidates:
        K = kernel.block(np.arange(bank.n_rows))
        assert np.linalg.eigvalsh(K)[0] > -1e-8, kernel.name
        assert abs(K.mean() - 1) < 0.2, kernel.name


def families(X, **parameters):
    bank = KernelBank("fast", random_state=0, **parameters).build(X)
    return {candidate.family for candidate in bank.candidates}


@pytest.mark.parametrize("scale", ["auto", "none", "unit"])
def test_dense_rows_of_few_columns_have_forests(rows, scale):
    """They may be a table that somebody has standardised."""
    X = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    found = families(X, scale=scale)
    assert "forest" in found
    assert not {"wide forest", "column"} & found  # nothing says that it is a table


def test_columns_of_two_values_are_a_table_unless_they_are_a_picture():
    rng = np.random.default_rng(0)
    table = 1.0 * (rng.random((200, 150)) < rng.uniform(0.02, 0.5, 150))
    forests = {"forest", "wide forest"}
    assert forests <= families(table)
    assert forests <= families(table, scale="none")
    assert not forests & families(table, scale="unit")
    # A disc of some size somewhere in a picture of 12 x 13 pixels, black on white.
    at, size = rng.uniform(2, 10, (200, 2, 1, 1)), rng.uniform(2, 5, (200, 1, 1))
    square = (np.mgrid[:12, :13][None] - at) ** 2
    disc = 1.0 * (square.sum(axis=1) < size**2)
    picture = disc.reshape(200, -1)
    assert not forests & families(picture)
    # Nothing tells a picture whose pixels were mixed from a table.
    assert forests <= families(picture[:, rng.permutation(picture.shape[1])])
    assert not forests & families(np.where(picture > 0, rng.random(picture.shape), 0))


def test_rows_of_many_columns_have_forests_if_they_are_a_table(rows):
    many = np.random.default_rng(0).normal(size=(60, _tuned.FEW_COLUMNS + 1))
    forests = {"forest", "wide forest"}
    assert not forests & families(many)
    assert not forests & families(sparse.csr_array(rows))
    assert forests <= families(many, scale="standard")
    assert forests <= families(many, feature_groups=np.arange(many.shape[1]))
    # Somebody may have standardised it.
    standardised = (many - many.mean(axis=0)) / many.std(axis=0)
    assert forests & families(standardised) == {"forest"}
    # With rows that are not given now.
    longer = np.random.default_rng(1).normal(size=(400, many.shape[1]))
    longer = np.exp(longer[:, ::-1].cumsum(axis=1) / 20)  # all of another variance
    assert not forests & families(longer[:300])
    assert "forest" in families(((longer - longer.mean(0)) / longer.std(0))[:300])
    # Rows that come twice counted twice when it was.
    often = np.vstack([many, many[:30]])
    assert "forest" in families((often - often.mean(axis=0)) / often.std(axis=0))
    assert not forests & families(sparse.csr_array(standardised))
    # Columns that do not vary do not count.
    constant = np.column_stack([many[:, :-1], np.ones((60, 5))])
    assert "forest" in families(constant)


def test_trees_learn_what_a_column_of_a_standardised_table_says(monkeypatch):
    """One of 30 columns decides, by being small; no kernel of all columns sees it."""
    X = np.random.default_rng(1).normal(size=(400, 30))
    y = (abs(X[:, 0]) < 0.67).astype(int)
    given = np.where(np.arange(400) < 120, y, -1)
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, given)
    assert np.mean((model.transduction_ == y)[120:]) > 0.8
    assert {c.family: c.weight for c in model.contributions()}["forest"] > 0.5
    monkeypatch.setitem(BANKS, "fast", replace(BANKS["fast"], forests=False))
    model.fit(X, given)
    assert np.mean((model.transduction_ == y)[120:]) < 0.6


def test_a_compact_copy_predicts_and_does_no_more(rows):
    y = np.full(120, -1)
    y[:20] = np.arange(20) % 2
    model = FewLabelsClassifier(random_state=0).fit(rows, y)
    lean = model.compact()
    new = rows + 0.1
    expected = model.decision_function(new)
    assert_allclose(lean.decision_function(new), expected)
    again = pickle.loads(pickle.dumps(lean))
    assert_array_equal(again.decision_function(new), lean.decision_function(new))
    with pytest.raises(ValueError, match="can only predict"):
        lean.refit_labels(y)
    with pytest.raises(ValueError, match="can only predict"):
        lean.members(np.arange(50), np.arange(5))
    # The one it was made from still learns.
    assert_array_equal(model.refit_labels(y).decision_function(new), expected)
