"""Maximum-margin clustering by least squares."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer, StandardScaler

from fewlabels._labels import by_first_row
from fewlabels.cluster import RLSClustering
from fewlabels.exceptions import IgnoredParameterWarning
from fewlabels.partition import PartitionProblem
from tests.helpers import assert_close
from tests.reference import partition as reference

SOLVERS = ("auto", "local_search", "evolve", "tabu_search", "exact", "branch_and_bound")


@pytest.fixture
def blobs(global_random_seed):
    return make_blobs(
        [25, 15],
        centers=[[0.0, 0.0], [6.0, 6.0]],
        random_state=global_random_seed,
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_two_blobs(solver, blobs):
    X, y = blobs
    model = RLSClustering(kernel="linear", solver=solver, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert_array_equal(model.predict(X), model.labels_)
    assert model.labels_[0] == 0
    exact = solver in ("auto", "exact", "branch_and_bound")
    assert (model.gap_ is not None and model.gap_ < 1e-9) == exact
    if solver != "auto":
        assert model.solver_ == solver


@pytest.mark.parametrize("centering", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_the_optimum_of_few_rows(kernel, centering, rng):
    X = rng.normal(size=(11, 2)) + 0.5
    model = RLSClustering(
        kernel=kernel, centering=centering, solver="branch_and_bound"
    ).fit(X)
    K = model.kernel_(X)
    if centering:
        K = KernelCenterer().fit_transform(K)
    problem = PartitionProblem.from_kernel(K, np.zeros(11), min_size=1)
    assert_close(model.objective_, reference.exhaustive_fast(problem)[0], scale=1)
    assert_close(model.objective_, problem.objective(2 * model.labels_ - 1), scale=1)


def test_the_model_is_that_of_the_clusters(rng):
    """Outputs on training and new rows: least squares on the centred kernel."""
    X, X_new = rng.normal(size=(30, 3)), rng.normal(size=(7, 3))
    model = RLSClustering(random_state=0).fit(X)
    centerer = KernelCenterer()
    K = centerer.fit_transform(model.kernel_(X))
    targets = 2.0 * model.labels_ - 1
    coef = np.linalg.solve(K + 30 * np.eye(30), targets)  # alpha = 1, loss is a mean
    assert_close(model.decision_function(X), K @ coef, scale=1)
    expected = centerer.transform(model.kernel_(X_new, X)) @ coef
    assert_close(model.decision_function(X_new), expected, scale=1)
    precomputed = RLSClustering(kernel="precomputed", random_state=0)
    precomputed.fit(model.kernel_(X))
    assert_array_equal(precomputed.labels_, model.labels_)
    K_new = model.kernel_(X_new, X)
    assert_close(precomputed.decision_function(K_new), expected, scale=1)


@pytest.mark.parametrize("n_clusters", [2, 4])
def test_features_and_kernel_matrix_agree(n_clusters, rng):
    X, X_new = rng.normal(size=(40, 3)) + 1, rng.normal(size=(7, 3))
    params = {
        "solver": "local_search",
        "solver_params": {"start": "random"},
        "random_state": 0,
    }
    linear = RLSClustering(n_clusters, kernel="linear", **params).fit(X)
    matrix = RLSClustering(n_clusters, kernel="precomputed", **params).fit(X @ X.T)
    assert linear.coef_ is not None
    assert matrix.coef_ is None
    assert_array_equal(linear.labels_, matrix.labels_)
    assert_close(linear.objective_, matrix.objective_)
    assert_close(
        linear.decision_function(X_new),
        matrix.decision_function(X_new @ X.T),
        scale=1,
        factor=10,
    )
    rows = sparse.csr_array(X)
    by_sparse = RLSClustering(n_clusters, kernel="linear", **params).fit(rows)
    assert_array_equal(by_sparse.labels_, linear.labels_)
    assert_close(
        by_sparse.decision_function(sparse.csr_array(X_new)),
        linear.decision_function(X_new),
    )


def test_several_clusters():
    X, y = make_blobs(90, centers=3, cluster_std=0.5, random_state=3)
    model = RLSClustering(3, random_state=0, solver_params={"certify": True}).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert_array_equal(model.predict(X), model.labels_)
    assert model.decision_function(X).shape == (90, 3)
    assert 0 <= model.lower_bound_ <= model.objective_


def test_moons_need_a_kernel():
    X, y = make_moons(200, noise=0.05, random_state=0)[:2]
    linear = RLSClustering(kernel="linear").fit(X)
    rbf = RLSClustering(gamma=10.0, alpha=0.01, random_state=0, n_init=51).fit(X)
    assert rbf.objective_ < 1
    scores = [adjusted_rand_score(y, m.labels_) for m in (linear, rbf)]
    assert scores[1] > scores[0]


def test_nystroem_features(blobs):
    X, y = blobs
    model = RLSClustering(n_components=15, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert_array_equal(model.predict(X), model.labels_)
    assert model.X_fit_ is None


def test_nobody_is_left_alone(rng):
    """Far from the origin and not centred, all rows in one cluster would be best."""
    X = rng.normal(size=(30, 2)) + 20
    params = {"kernel": "linear", "centering": False}
    allowed = RLSClustering(solver_params={"allow_empty": True}, **params).fit(X)
    assert np.unique(allowed.labels_).size == 1
    model = RLSClustering(**params).fit(X)
    assert np.unique(model.labels_).size == 2
    assert model.gap_ < 1e-9
    balanced = RLSClustering(balance=0.5, balance_tol=0.0, **params).fit(X)
    assert_array_equal(np.bincount(balanced.labels_), [15, 15])
    shares = RLSClustering(3, balance=[0.2, 0.2, 0.6], balance_tol=0.0, **params)
    assert_array_equal(np.bincount(shares.fit(X).labels_), [6, 6, 18])
    for balance in (0.3, 0.7):  # a tolerance that reaches as far as nobody
        loose = RLSClustering(balance=balance, balance_tol=0.8, **params).fit(X)
        assert np.bincount(loose.labels_, minlength=2).min() > 0


@pytest.mark.parametrize(
    "X",
    [
        np.ones((6, 2)),
        np.zeros((6, 2)),
        np.repeat([[0.0, 1.0], [2.0, 3.0]], 3, axis=0),
        np.eye(6)[:, :3],
        np.random.default_rng(0).normal(size=(5, 20)),
        np.array([[0.0], [1.0]]),
    ],
    ids=["equal", "zero", "two places", "zeros", "wide", "two rows"],
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_strange_rows(X, kernel, n_clusters):
    model = RLSClustering(n_clusters, kernel=kernel, random_state=0)
    if len(X) < n_clusters:
        with pytest.raises(ValueError, match="cannot make 3 clusters"):
            model.fit(X)
        model.set_params(solver_params={"allow_empty": True})
    labels = model.fit_predict(X)
    if len(X) >= n_clusters:
        assert_array_equal(np.unique(labels), np.arange(n_clusters))
    assert np.isfinite(model.decision_function(X)).all()
    assert set(model.predict(X)) <= set(range(n_clusters))


def test_given_start_and_pipeline(blobs):
    X, y = blobs
    start = 1 - y
    model = RLSClustering(
        kernel="linear", solver="local_search", solver_params={"start": start}, n_init=1
    ).fit(X)
    assert_array_equal(model.labels_, start)
    pipe = make_pipeline(StandardScaler(), RLSClustering(kernel="linear"))
    assert adjusted_rand_score(y, pipe.fit_predict(X)) == 1
    with pytest.raises(ValueError, match="two classes"):
        RLSClustering(3, solver="exact", kernel="linear").fit(X)


def test_numbers_of_clusters():
    assert_array_equal(by_first_row(np.array([2, 2, 0, 2, 1])), [0, 0, 1, 0, 2])
    assert_array_equal(by_first_row(np.array([1, 1])), [0, 0])


def test_small_wide_rows_do_not_take_forever(rng):
    """Two to the power of the rank is a part of the price of an exact solution."""
    model = RLSClustering(kernel="linear").fit(rng.normal(size=(20, 10)))
    assert model.solver_ == "branch_and_bound"
    assert model.gap_ < 1e-9


def test_many_rows_that_would_be_one_cluster(rng):
    """Not to be empty is no bound that costs a dimension."""
    X = rng.uniform(1, 2, (20_000, 2))
    model = RLSClustering(kernel="linear", centering=False).fit(X)
    assert (model.solver_, model.gap_ < 1e-9) == ("exact", True)
    assert np.unique(model.labels_).size == 2


def test_parameters_that_contradict(rng):
    X = rng.normal(size=(5, 2))
    with pytest.raises(ValueError, match="start names clusters for 4 rows"):
        RLSClustering(solver_params={"start": [0, 1, 0, 1]}).fit(X)
    with pytest.warns(IgnoredParameterWarning, match="balance"):
        RLSClustering(1, balance=0.5).fit(X)


def test_bound_of_rows_in_single_precision():
    """Rounded means of rows with a far one would make a false bound."""
    X = np.random.default_rng(0).normal(size=(14, 12)).astype(np.float32)
    X[5] *= 2**14
    single, double = (
        RLSClustering(kernel="linear", solver="branch_and_bound").fit(A)
        for A in (X, X.astype(np.float64))
    )
    assert single.lower_bound_ <= double.objective_ * (1 + 1e-9)
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-9)
