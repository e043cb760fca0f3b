"""Problems that several tests share."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from scipy import sparse

from fewlabels.optimize import (
    ElasticNetPenalty,
    FiniteSumProblem,
    L1Penalty,
    L2Penalty,
    QuadraticProblem,
)

SMOOTH = ("squared", "logistic", "squared_hinge")
PENALTIES = {
    "none": None,
    "l1": L1Penalty(0.05),
    "l2": L2Penalty(0.1),
    "elastic net": ElasticNetPenalty(0.1, 0.4),
}


def finite_sum(loss="squared", penalty="l2", *, n=30, d=6, sparse_rows=False, seed=0):
    """Make a small problem; half of the entries are zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    z = X @ rng.normal(size=d) + 0.5 * rng.normal(size=n)
    y = z if loss == "squared" else np.where(z > 0, 1.0, -1.0)
    X = sparse.csr_array(X) if sparse_rows else X
    return FiniteSumProblem(X, y, loss, PENALTIES[penalty])


def quadratic(d=6, penalty="none", seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    A = A @ A.T / d + 0.1 * np.eye(d)
    return QuadraticProblem(A, rng.normal(size=d), PENALTIES[penalty])
