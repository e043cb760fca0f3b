"""Kernel functions and width rules."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from sklearn.gaussian_process.kernels import Matern, WhiteKernel
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.svm import SVC

from fewlabels.exceptions import IgnoredParameterWarning
from fewlabels.kernels import (
    Kernel,
    check_semidefinite,
    gamma_from_width,
    local_width,
    median_width,
    range_width,
    resolve_kernel,
    width_from_gamma,
)
from fewlabels.kernels._functions import is_precomputed
from tests.helpers import assert_close
from tests.kernels.suite import rows


def overlap(x, z, power=1.0):
    return float(np.minimum(x, z).sum() ** power)


PSD_KERNELS = {
    "linear": Kernel("linear"),
    "rbf": Kernel("rbf", {"gamma": 0.7}),
    "rbf, default gamma": Kernel("rbf"),
    "poly": Kernel("poly", {"degree": 2, "gamma": 0.5, "coef0": 1}),
    "polynomial, defaults": Kernel("polynomial"),
    "cosine": Kernel("cosine"),
    "laplacian": Kernel("laplacian", {"gamma": 0.3}),
    "chi2": Kernel("chi2", {"gamma": 0.5}),
    "callable": Kernel(overlap),
    "Gaussian process": Kernel(Matern(nu=1.5)),
}
OTHER_KERNELS = {
    "sigmoid": Kernel("sigmoid", {"gamma": 0.1, "coef0": 0.5}),
    "sigmoid, defaults": Kernel("sigmoid"),
    "additive_chi2": Kernel("additive_chi2"),
}
KERNELS = {**PSD_KERNELS, **OTHER_KERNELS}
ON_SPARSE = ["linear", "rbf", "poly", "polynomial, defaults", "cosine", "sigmoid"]


@pytest.mark.parametrize("name", KERNELS)
class TestEveryKernel:
    def test_symmetric(self, name, rng, global_dtype):
        X = rows(rng, dtype=global_dtype)
        K = KERNELS[name](X)
        assert K.shape == (len(X), len(X))
        assert_close(K, K.T)

    def test_two_arguments(self, name, rng, global_dtype):
        X, Y = rows(rng, dtype=global_dtype), rows(rng, n=11, dtype=global_dtype)
        K = KERNELS[name](X, Y)
        assert_close(K, KERNELS[name](Y, X).T, factor=10)
        # Distances between equal rows are exactly zero only when Y is left out.
        assert_close(KERNELS[name](X, X), KERNELS[name](X), factor=10)

    def test_diagonal(self, name, rng, global_dtype):
        X = rows(rng, dtype=global_dtype)
        K = KERNELS[name](X)
        diagonal = KERNELS[name].diagonal(X)
        assert diagonal.shape == (len(X),)
        assert_close(diagonal, np.diag(K), scale=np.abs(K).max(), factor=10)

    def test_product_in_blocks(self, name, rng):
        X, Y = rows(rng), rows(rng, n=11)
        V = rng.normal(size=(11, 3))
        kernel = KERNELS[name]
        # 1e-3 MiB hold three rows of K at a time.
        product = kernel.product(X, Y, V, memory_budget=1e-3)
        assert_close(product, kernel(X, Y) @ V, scale=np.abs(kernel(X, Y)).max())


@pytest.mark.parametrize("name", PSD_KERNELS)
def test_positive_semidefinite(name, rng):
    K = PSD_KERNELS[name](rows(rng))
    assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.abs(K).max() * len(K)


@pytest.mark.parametrize("name", ON_SPARSE)
def test_sparse_rows(name, rng):
    X = rows(rng)
    X[X < 0.5] = 0
    thin = sparse.csr_array(X)
    K = KERNELS[name](X)
    assert_close(KERNELS[name](thin), K)
    assert_close(KERNELS[name](thin, X), K, scale=np.abs(K).max())
    assert_close(KERNELS[name].diagonal(thin), KERNELS[name].diagonal(X))


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
def test_the_same_without_validation(name, as_sparse, rng):
    """Bit for bit what scikit-learn computes after its checks."""
    X = rng.normal(size=(40, 3))
    X = sparse.csr_array(X) if as_sparse else X
    kernel = Kernel(name, {"gamma": 0.7, "coef0": 1})
    for Y in (None, X[[5]], X[:9]):
        assert_array_equal(kernel._between_checked(X, Y), kernel(X, Y))


def test_precomputed():
    K = np.array([[2.0, 1.0], [1.0, 3.0]])
    kernel = Kernel("precomputed")
    assert kernel.is_precomputed
    assert_close(kernel(K), K)
    assert_close(kernel.diagonal(K), [2, 3])
    assert_close(kernel.product(K, None, np.eye(2)), K)


def test_callables_get_their_parameters(rng):
    X = rows(rng, n=5)
    kernel = resolve_kernel(X, overlap, kernel_params={"power": 2.0})
    assert_close(kernel(X), pairwise_kernels(X, metric=overlap, power=2.0))


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("gamma", ["scale", "median", "range", "local", None, 0.25])
def test_gamma(rng, gamma, as_sparse):
    X = rng.normal(size=(30, 3))
    expected = {
        "scale": 1 / (3 * X.var()),
        "median": 1 / (2 * np.median(pdist(X)) ** 2),
        "range": 1 / (2 * np.sum(np.ptp(X, axis=0) ** 2)),
        "local": 1 / (2 * np.quantile(pdist(X), 0.05) ** 2),
        None: 1 / 3,
        0.25: 0.25,
    }[gamma]
    data = sparse.csr_array(X) if as_sparse else X
    kernel = resolve_kernel(data, "rbf", gamma=gamma)
    assert_close(kernel(X), rbf_kernel(X, gamma=expected))


@pytest.mark.parametrize("as_sparse", [False, True])
def test_copies_do_not_count_in_the_median(rng, as_sparse):
    A = rng.normal(size=(2, 3))
    X = np.repeat(A, [180, 20], axis=0)
    data = sparse.csr_array(X) if as_sparse else X
    assert_close(median_width(data), np.linalg.norm(A[0] - A[1]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_scale_of_constant_rows_far_from_zero(dtype, as_sparse):
    X = np.full((6, 3), 0.1, dtype=dtype)
    data = sparse.csr_array(X) if as_sparse else X
    gamma = resolve_kernel(data, "rbf", gamma="scale").params["gamma"]
    assert gamma == 1.0
    assert isinstance(gamma, float)


def test_rules_take_lists():
    assert resolve_kernel([[0.0], [2.0]], "rbf", gamma="range").params["gamma"] == 0.125


def test_kernels_take_data_frames_and_lists(rng):
    X = rng.normal(size=(5, 2))
    kernel = resolve_kernel(pd.DataFrame(X), "rbf")
    assert_close(kernel(pd.DataFrame(X)), kernel(X))
    assert_close(kernel.diagonal(X.tolist()), np.ones(5))
    V = np.ones((5, 1))
    assert_close(kernel.product(pd.DataFrame(X), X.tolist(), V), kernel(X) @ V)


def test_noise_in_a_gaussian_process_kernel_is_refused(rng):
    with pytest.raises(ValueError, match="leave WhiteKernel out"):
        resolve_kernel(rng.normal(size=(5, 2)), WhiteKernel(0.5) + Matern())
    with pytest.raises(ValueError, match="dense rows only"):
        resolve_kernel(sparse.eye_array(5, format="csr"), Matern())


@pytest.mark.parametrize("name", KERNELS)
def test_dtype_is_kept(name, rng, global_dtype):
    X = rows(rng, dtype=global_dtype)
    assert KERNELS[name](X).dtype == global_dtype
    assert KERNELS[name](X, X[:3]).dtype == global_dtype
    assert KERNELS[name].diagonal(X).dtype == global_dtype


def test_integers_do_not_overflow():
    X = np.array([[100, 100]], dtype=np.int8)
    assert Kernel("linear").diagonal(X) == 20_000


@pytest.mark.parametrize("kernel", ["precomputed", Kernel("precomputed")])
def test_is_precomputed(kernel):
    assert is_precomputed(kernel)
    assert not is_precomputed("rbf")
    assert not is_precomputed(Kernel("rbf"))
    assert not is_precomputed(Matern())


def test_scale_is_that_of_svc(rng):
    X = rng.normal(size=(20, 3))
    svc = SVC(gamma="scale").fit(X, np.arange(20) % 2)
    assert_close(resolve_kernel(X, "rbf", gamma="scale").params["gamma"], svc._gamma)


@pytest.mark.parametrize("gamma", ["scale", "median", "range", "local"])
def test_gamma_of_constant_rows(gamma):
    kernel = resolve_kernel(np.ones((4, 2)), "rbf", gamma=gamma)
    assert kernel.params["gamma"] in (0.5, 1.0)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"kernel": "gauss"}, "kernel='gauss' is unknown; use one of"),
        ({"kernel": "rbf", "gamma": "wide"}, "gamma='wide' is unknown"),
        ({"kernel": "poly", "gamma": "median"}, "width of the 'rbf' kernel"),
        ({"kernel": "rbf", "gamma": -1.0}, "gamma must be a non-negative number"),
        ({"kernel": "rbf", "gamma": np.nan}, "gamma must be a non-negative number"),
        (
            {"kernel": "rbf", "kernel_params": {"degree": 2}},
            "kernel_params holds 'degree', which kernel='rbf' does not take",
        ),
        (
            {"kernel": "poly", "kernel_params": {"gamma": 2}},
            "kernel_params holds 'gamma', .* use coef0, degree",
        ),
        (
            {"kernel": "poly", "kernel_params": {"degree": -1}},
            "'degree' parameter of kernel_params must be",
        ),
        ({"kernel": Matern(), "kernel_params": {"nu": 1}}, "it takes none"),
        ({"kernel": Kernel("rbf"), "kernel_params": {"gamma": 1}}, "it takes none"),
    ],
)
def test_errors(args, message):
    with pytest.raises(ValueError, match=message):
        resolve_kernel(np.ones((3, 2)), **args)


@pytest.mark.parametrize(
    ("kernel", "params", "message"),
    [
        ("linear", {"gamma": 0.5}, "gamma=0.5 is ignored: kernel='linear'"),
        ("precomputed", {"gamma": None}, "gamma=None is ignored"),
        (overlap, {"gamma": 0.5}, "gamma=0.5 is ignored"),
        (Kernel("rbf", {"gamma": 1.0}), {"gamma": 0.5}, "gamma=0.5 is ignored"),
    ],
)
def test_ignored_parameters_are_named(kernel, params, message):
    with pytest.warns(IgnoredParameterWarning, match=message):
        resolve_kernel(np.ones((3, 2)), kernel, **params)


def test_kernel_params_reach_named_kernels(rng):
    X = rng.normal(size=(5, 3))
    kernel = resolve_kernel(
        X, "poly", gamma=0.5, kernel_params={"degree": 2, "coef0": 0}
    )
    assert_close(kernel(X), (0.5 * X @ X.T) ** 2)
    assert_close(resolve_kernel(X, "poly", gamma=0.5)(X), (0.5 * X @ X.T + 1) ** 3)


def test_a_resolved_kernel_stays_as_it_is():
    kernel = Kernel("rbf", {"gamma": 2.0})
    assert resolve_kernel(np.ones((3, 2)), kernel) is kernel


@given(width=st.floats(1e-3, 1e3))
def test_gamma_and_width(width):
    assert width_from_gamma(gamma_from_width(width)) == pytest.approx(width)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), -1e-200])
def test_widths_must_be_positive(bad):
    with pytest.raises(ValueError, match="must be positive"):
        gamma_from_width(bad)
    with pytest.raises(ValueError, match="must be positive"):
        width_from_gamma(bad)


@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.integers(1, 4)),
        elements=st.integers(-3, 3),
    )
)
def test_widths_against_all_pairs(X):
    distances = pdist(X)
    largest = np.max(distances, initial=0.0)
    positive = distances[distances > 0]
    if positive.size == 0:
        assert range_width(X) == median_width(X) == local_width(X) == 1.0
    else:
        # s is the diagonal of the bounding box: no pair is further apart, and some
        # pair is at least 1/sqrt(d) of it apart.
        s = range_width(X)
        assert s / np.sqrt(X.shape[1]) <= largest + 1e-9 <= s + 2e-9
        assert median_width(X) == pytest.approx(np.median(positive))
        assert local_width(X) == pytest.approx(np.quantile(positive, 0.05))


def test_median_width_samples_large_data(rng):
    X = rng.normal(size=(3000, 2))
    exact = np.median(pdist(X))
    sampled = median_width(X, max_samples=500, random_state=0)
    assert sampled == median_width(X, max_samples=500, random_state=0)
    assert sampled == pytest.approx(exact, rel=0.1)
    with pytest.raises(ValueError, match="max_samples"):
        median_width(X, max_samples=1)


@pytest.mark.parametrize("shift", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("gamma", ["scale", "median", "range", "local", 0.3])
def test_gaussian_kernels_do_not_know_where_the_origin_is(shift, gamma, rng):
    X = np.round(rng.normal(size=(40, 20)), 3)
    moved = (X + shift) - shift  # what is left of the digits
    kernels = [resolve_kernel(Z, gamma=gamma) for Z in (moved, moved + shift)]
    K, shifted = kernels[0](moved), kernels[1](moved + shift)
    assert_close(shifted, K)
    assert np.linalg.eigvalsh(shifted)[0] > -1e-12
    assert_close(kernels[1](csr_array(moved + shift)), K)


def test_a_far_row_leaves_the_others_alone(rng):
    X = rng.normal(size=(30, 20))
    far = np.vstack([X, np.full((1, 20), 1e12)])
    kernel = Kernel("rbf", {"gamma": 0.05})
    for kind in (far, csr_array(far)):
        assert_close(kernel(kind)[:-1, :-1], kernel(X))
        assert_close(kernel(kind[:5], kind)[:, :-1], kernel(X[:5], X))


@pytest.mark.parametrize("gamma", ["scale", "median", "range", "local"])
@pytest.mark.parametrize("scale", [1e160, 1e-170])
@pytest.mark.parametrize("sparse", [False, True])
def test_scales_whose_squares_overflow_or_vanish(scale, gamma, sparse, rng):
    X = rng.normal(size=(20, 3))
    K = resolve_kernel(X, gamma=gamma)(X)
    rows = csr_array(scale * X) if sparse else scale * X
    kernel = resolve_kernel(rows, gamma=gamma)
    assert_close(kernel(rows), K)
    assert_close(kernel.product(rows, rows, np.eye(20)), K)
    if gamma == "scale":
        poly = resolve_kernel(X, "poly")
        scaled = resolve_kernel(rows, "poly")
        assert_close(scaled(rows), poly(X))
        assert_close(scaled.diagonal(rows), poly.diagonal(X))


def test_kernels_that_are_no_kernels(rng):
    X = rng.normal(size=(12, 3))
    K = Kernel("rbf", {"gamma": 1.0})(X)
    assert check_semidefinite(K) is K
    assert check_semidefinite(0 * K).max() == 0
    assert check_semidefinite(np.ones((5, 5), dtype=np.float32)).dtype == np.float32
    indefinite = K - 0.7 * np.eye(12)
    with pytest.raises(ValueError, match=r"not positive semidefinite.*clip=True"):
        check_semidefinite(indefinite)
    clipped = check_semidefinite(indefinite, clip=True)
    e, U = np.linalg.eigh(indefinite)
    assert_close(clipped, (U * np.maximum(e, 0)) @ U.T)
    assert check_semidefinite(clipped) is clipped
    definite = {"rbf": True, "linear": True, "sigmoid": False, "precomputed": False}
    for metric, expected in definite.items():
        assert Kernel(metric).is_semidefinite == expected
    assert not Kernel("poly", {"coef0": -1.0}).is_semidefinite
    assert Kernel("poly", {"degree": 2}).is_semidefinite


@pytest.mark.parametrize("unit", [2.0**-65, 2.0**65])
def test_single_precision_at_extreme_scales(rng, unit):
    """Neither squares nor gamma are numbers of single precision there."""
    X = rng.normal(size=(6, 3)).astype(np.float32)
    width = range_width(X)
    assert range_width(X * np.float32(unit)) == pytest.approx(width * unit)
    K = Kernel("rbf", {"gamma": gamma_from_width(width * unit)})(X * np.float32(unit))
    known = Kernel("rbf", {"gamma": gamma_from_width(width)})(X)
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, known, rtol=1e-5)
