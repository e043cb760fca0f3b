"""Training rows as features or as a kernel matrix."""

# SPDX-License-Identifier: BSD-3-Clause

import pytest
from sklearn.preprocessing import KernelCenterer

from fewlabels.kernels import _training_rows
from fewlabels.kernels._training_rows import represent_rows
from tests.helpers import assert_close


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_centred_rows_and_models(kernel, rng):
    X, model = rng.normal(size=(9, 3)) + 1, None
    rows = represent_rows(X, kernel)
    centred = rows.centered()
    K = rows.matrix @ rows.matrix.T if rows.is_factor else rows.matrix
    K_centred = KernelCenterer().fit_transform(K)
    found = centred.matrix @ centred.matrix.T if rows.is_factor else centred.matrix
    assert_close(found, K_centred, scale=1)
    model = rng.normal(size=(centred.matrix.shape[1], 2))
    plain, intercept = centred.uncentered_model(model)
    assert_close(rows.matrix @ plain + intercept, centred.matrix @ model, scale=1)
    unchanged, nothing = rows.uncentered_model(model)
    assert unchanged is model
    assert not nothing.any()


def test_wide_rows_become_a_kernel_matrix(rng):
    rows = represent_rows(rng.normal(size=(4, 9)), "linear")
    assert not rows.is_factor
    assert rows.needs_rows
    assert represent_rows(rng.normal(size=(9, 4)), "linear").is_factor


def test_large_matrices_are_announced(rng, monkeypatch):
    monkeypatch.setattr(_training_rows, "LARGE_KERNEL", 5)
    with pytest.warns(UserWarning, match="set n_components"):
        represent_rows(rng.normal(size=(6, 2)), "rbf")


def test_single_precision_rows_are_centred_in_double(rng):
    X = rng.normal(size=(30, 4)).astype("f")
    X[0] *= 1e5
    found = represent_rows(X, "linear").centered().matrix
    assert found.dtype == "d"
    assert_close(found, X.astype("d") - X.mean(axis=0, dtype="d"))
