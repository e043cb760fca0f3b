"""Systems of graphs with links of any strength, against exact arithmetic."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from fewlabels.semi_supervised import _graph_system as module
from fewlabels.semi_supervised import harmonic_functions, poisson_functions
from fewlabels.semi_supervised._graph_system import ONES_TOLERANCE
from tests.reference import graphs as slow


def weakly_linked(rng, weak):
    """A connected graph of up to three groups, or with weights of all sizes."""
    n = int(rng.integers(4, 11))
    W = rng.integers(1, 9, size=(n, n)) / 8 * (rng.random((n, n)) < 0.6)
    W[np.arange(n - 1), np.arange(1, n)] = 0.5
    if rng.random() < 0.3:
        W *= weak ** rng.random((n, n))
    else:
        part = np.sort(rng.integers(0, 3, n))
        W[part[:, None] != part] *= weak
    W = np.triu(W, 1)
    return W + W.T


@given(
    seed=st.integers(0, 10**6),
    weak=st.sampled_from([1.0, 1e-5, 1e-7, 1e-9, 1e-12, 1e-15, 1e-18]),
    solver=st.sampled_from(["direct", "cg"]),
)
def test_links_of_any_strength(seed, weak, solver):
    rng = np.random.default_rng(seed)
    W = weakly_linked(rng, weak)
    labeled = rng.permutation(len(W))[: rng.integers(2, 5)]
    Y = np.eye(3)[rng.integers(0, 3, labeled.size)]
    # Of "cg" the residual is known, and that harmonic functions add up to 1.
    tol, error = (1e-6, 1e-9) if solver == "direct" else (1e-10, ONES_TOLERANCE)
    for solve, exact in (
        (poisson_functions, slow.poisson),
        (harmonic_functions, slow.harmonic),
    ):
        truth = exact(W, labeled, Y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = solve(csr_array(W), labeled, Y, solver=solver, tol=tol).values
        size = max(1e-300, np.abs(truth).max())
        assert float(np.abs(found - truth).max() / size) <= error
        # Where a class leads clearly, it is the class found.
        ordered = np.sort(truth, axis=1)
        clear = (ordered[:, -1] - ordered[:, -2]) / size > 2 * error
        lead = truth.astype(float).argmax(axis=1)
        assert np.array_equal(found.argmax(axis=1)[clear], lead[clear])


def test_small_differences_beside_large_levels():
    """Two classes share a group; the third is behind a link of 1e-12."""
    W = np.zeros((6, 6))
    for i, w in enumerate([1.0, 1.0, 1e-12, 1.0, 1.0]):
        W[i, i + 1] = W[i + 1, i] = w
    Y = np.eye(3)
    u = poisson_functions(W, [0, 2, 5], Y).values
    assert u.max() > 1e11
    assert np.array_equal(u.argmax(axis=1)[[0, 2, 3, 4, 5]], [0, 1, 2, 2, 2])


def test_a_solution_that_is_none_is_reported(monkeypatch):
    """One round is not enough where a group is behind weak links."""
    W = weakly_linked(np.random.default_rng(0), 1e-12)
    monkeypatch.setattr(module, "MAX_ROUNDS", 1)
    with pytest.warns(ConvergenceWarning, match="weak edges"):
        poisson_functions(W, [0, len(W) - 1], [0.0, 1.0])
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        poisson_functions(W, [0, 1], [0.0, 1.0], solver="cg", max_iter=1)
