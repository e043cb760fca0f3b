"""NumPy's backend, and what a backend has to have."""

# SPDX-License-Identifier: BSD-3-Clause

import inspect

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import floyd_warshall
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import pairwise_kernels

from fewlabels import FewLabelsClassifier, FewLabelsRegressor
from fewlabels._backend import (
    NUMPY,
    KernelFunction,
    NumpyBackend,
    backend_of,
    get_backend,
    to_host,
)
from fewlabels.automatic._shortest_paths import shortest_paths


def differences(other):
    """What another backend lacks, or calls by other names or with other defaults."""
    wrong = [
        name
        for name in vars(NumpyBackend)
        if not name.startswith("_") and not hasattr(other, name)
    ]
    for name, method in inspect.getmembers(NUMPY, inspect.ismethod):
        if name in wrong or name.startswith("_"):
            continue
        own = inspect.signature(getattr(other, name)).parameters
        for wanted in inspect.signature(method).parameters.values():
            found = own.get(wanted.name)
            if found is None or (found.kind, found.default) != (
                wanted.kind,
                wanted.default,
            ):
                wrong.append(f"{name}({wanted.name})")
    return wrong


def test_differences_are_found():
    class Other(NumpyBackend):
        def gram(self, A):
            return A.T @ A

    assert differences(NUMPY) == []
    assert differences(Other()) == ["gram(B)"]
    assert {"batch_rows", "eigh", "xp"} <= set(differences(object()))


@pytest.mark.parametrize("given", [None, [[1.0]], np.eye(2), csr_array(np.eye(2))])
def test_what_is_not_a_tensor_stays_with_numpy(given):
    assert get_backend(None, given) is NUMPY
    assert get_backend("cpu", given) is NUMPY
    assert backend_of(given) is NUMPY


def test_to_host_leaves_arrays_alone():
    A = np.eye(2)
    answer = to_host({"a": [A, 1.0], "b": (A, None)})
    assert answer["a"][0] is A
    assert answer["b"] == (A, None)


def test_eigh_rises_in_double_precision():
    A = np.diag([3.0, 1.0, 2.0]).astype(np.float32)
    values, vectors = NUMPY.eigh(A)
    np.testing.assert_array_equal(values, [1.0, 2.0, 3.0])
    assert values.dtype == vectors.dtype == np.float64


@pytest.mark.parametrize("spread", [1.0, 1e-9])
def test_orthonormal_spans_the_same_columns(spread):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    # Columns that are nearly the same defeat Cholesky, and Householder steps in.
    X[:, 1:] = X[:, :1] + spread * X[:, 1:]
    Q = NUMPY.orthonormal(X)
    np.testing.assert_allclose(Q.T @ Q, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(Q @ (Q.T @ X), X, atol=1e-12)


def test_nearest_is_brute_force():
    rng = np.random.default_rng(0)
    X = np.round(2.0 * rng.normal(size=(60, 3)))
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    # Ties go to the row with the smaller number.
    order = np.argsort(D, axis=1, kind="stable")[:, :5]
    distances, indices = NUMPY.nearest(X, 5)
    np.testing.assert_allclose(distances, np.take_along_axis(D, order, axis=1))
    np.testing.assert_array_equal(indices, order)


def test_symmetrized_is_the_mean_with_the_transpose():
    values = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    indices = np.array([[1, 2], [0, 2], [0, 1]])
    W = np.zeros((3, 3))
    np.put_along_axis(W, indices, values, axis=1)
    mean = NUMPY.symmetrized(values, indices)
    np.testing.assert_array_equal(mean.toarray(), (W + W.T) / 2)


def test_segment_sum():
    values = np.arange(8.0).reshape(4, 2)
    sums = NUMPY.segment_sum(values, np.array([2, 0, 2, 0]), 3)
    np.testing.assert_array_equal(sums, [[8.0, 10.0], [0.0, 0.0], [4.0, 6.0]])


@pytest.mark.usefixtures("compiled")
def test_shortest_paths_go_both_ways():
    rng = np.random.default_rng(0)
    others = [np.delete(np.arange(9), i) for i in range(9)]
    indices = np.array([rng.choice(some, 2, replace=False) for some in others])
    lengths = rng.uniform(0.5, 1.0, size=indices.shape)
    W = np.full((9, 9), np.inf)
    for i in range(9):
        for j, length in zip(indices[i], lengths[i], strict=True):
            W[i, j] = length
    both = np.isfinite(W) & np.isfinite(W.T)
    steps = np.where(both, np.maximum(W, W.T), np.minimum(W, W.T))
    wanted = floyd_warshall(np.where(np.isfinite(steps), steps, 0.0))
    costs = shortest_paths(lengths, indices, np.array([0, 4]))
    np.testing.assert_allclose(costs, wanted[:, [0, 4]])


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial"])
def test_kernel_product_is_that_of_the_matrix(kernel):
    rng = np.random.default_rng(0)
    X, Y, V = (rng.normal(size=size) for size in ((1100, 3), (20, 3), (20, 2)))
    params = {"gamma": 0.3}
    if kernel == "polynomial":
        params |= {"degree": 2.0, "coef0": 0.5}
    K = pairwise_kernels(X, Y, metric=kernel, **params)
    function = KernelFunction(kernel, **params)
    np.testing.assert_allclose(
        NUMPY.kernel_product(X, Y, V, function), K @ V, atol=1e-12
    )


# The standard's names of functions that NumPy 2.0 has under its own alone.
LATER = {"cumsum": "cumulative_sum"}


class Standard:
    """NumPy's functions that the array API standard has, with its parameters."""

    def __init__(self, given, standard, prefix=""):
        self.given, self.standard, self.prefix = given, standard, prefix
        self.used = set()

    def __getattr__(self, name):
        # An error if it is not in there.
        standard = getattr(self.standard, LATER.get(name, name))
        given = getattr(self.given, name)
        if name == "linalg":
            part = Standard(given, standard, "linalg.")
            part.used = self.used
            return part
        if not callable(given) or isinstance(given, type):
            return given

        def call(*args, **kwargs):
            inspect.signature(standard).bind(*args, **kwargs)
            self.used.add(self.prefix + name)
            return given(*args, **kwargs)

        return call


@pytest.mark.parametrize("learn", [FewLabelsClassifier, FewLabelsRegressor])
def test_algorithms_ask_for_nothing_but_the_standard(learn, monkeypatch):
    standard = pytest.importorskip("array_api_strict")
    xp = Standard(np, standard)
    monkeypatch.setattr(NumpyBackend, "xp", xp)
    X, y = make_moons(120, noise=0.1, random_state=0)
    target = y.astype(float)
    target[12:] = np.nan
    model = learn(bank="fast", random_state=0).fit(X, target)
    assert model.predict(X[:5]).shape == (5,)
    assert {"exp", "sum", "where"} <= xp.used
