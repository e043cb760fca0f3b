"""The record that solvers of all packages share."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from numpy.testing import assert_array_equal

from fewlabels._result import SolverResult
from fewlabels.optimize import OptimizationResult
from fewlabels.partition import PartitionProblem, PartitionResult, local_search
from fewlabels.semi_supervised import LaplacianSolution


def test_one_record():
    for record in (OptimizationResult, PartitionResult, LaplacianSolution):
        assert issubclass(record, SolverResult)


def test_traces():
    one = SolverResult(objective=1.0, history=np.array([3.0, 1.0]), stop_reason="x")
    assert_array_equal(one.trace, [3, 1])
    several = SolverResult(
        objective=np.ones(2),
        history={"objective": np.array([[3.0, 2.0], [1.0, 1.0]])},
        stop_reason="x",
    )
    assert_array_equal(several.trace, [5, 2])


def test_partitions_have_a_trace(rng):
    X = rng.normal(size=(12, 2))
    problem = PartitionProblem.from_factor(X, np.r_[1, -1, np.zeros(10)], alpha=1.0)
    result = local_search(problem, random_state=0)
    assert_array_equal(result.trace, result.history)
