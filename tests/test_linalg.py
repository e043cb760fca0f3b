"""Linear algebra helpers."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_info

from fewlabels._linalg import inverse_square_root, serial_blas
from tests.helpers import assert_close


@pytest.mark.parametrize("rank", [0, 1, 3, 6])
def test_inverse_square_root_of_singular_matrices(rng, rank):
    Z = rng.normal(size=(6, rank))
    A = Z @ Z.T
    M = inverse_square_root(A)
    assert M.shape == (6, rank)
    assert_allclose(M @ M.T, np.linalg.pinv(A, rcond=1e-10), atol=1e-8)


def test_inverse_square_root_keeps_the_leading_directions(rng, global_dtype):
    U, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    w = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    M = inverse_square_root(((U * w) @ U.T).astype(global_dtype), rank=2)
    assert M.dtype == global_dtype
    expected = (U[:, :2] / w[:2]) @ U[:, :2].T
    assert_close(M @ M.T, expected, factor=100)


def test_serial_blas():
    def blas_threads():
        return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}

    before = blas_threads()
    with serial_blas(1):
        assert blas_threads() == before
    with serial_blas(2):
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_serial_blas_in_two_threads_at_once():
    def blas_threads():
        return [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]

    before = blas_threads()
    first, second = serial_blas(2), serial_blas(2)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # out of order, as threads may
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before
