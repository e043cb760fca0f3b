"""What several test modules share."""

# SPDX-License-Identifier: BSD-3-Clause

import os

import numpy as np
from numpy.testing import assert_allclose

# Where tests of the torch side put tensors; "cuda" runs them on a GPU.
DEVICE = os.environ.get("FEWLABELS_TESTS_DEVICE", "cpu")

RTOL = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-7}


def tensor(A):
    """Tensor of an array where tests want them."""
    import torch

    return torch.as_tensor(A, device=DEVICE)


def assert_close(actual, desired, *, scale=None, factor=1.0):
    """Compare with the tolerance that the precision of `actual` allows.

    The absolute tolerance follows the size of the values, so that exact zeros may
    differ by rounding; `scale` overrides that size, `factor` widens both tolerances
    where a test argues for it.
    """
    actual, desired = np.asarray(actual), np.asarray(desired)
    rtol = factor * RTOL.get(actual.dtype, 1e-7)
    if scale is None:
        scale = np.max(np.abs(desired), initial=0.0)
    assert_allclose(actual, desired, rtol=rtol, atol=1e-2 * rtol * float(scale))
