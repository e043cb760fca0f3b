"""Core: the least-squares partition problem with few or no labels, and its solvers."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.partition._balance import check_balance
from fewlabels.partition._bounds import certify, lower_bound
from fewlabels.partition._branch import branch_and_bound
from fewlabels.partition._exact import solve_exact
from fewlabels.partition._partition_result import PartitionResult
from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._search import evolve, local_search, tabu_search
from fewlabels.partition._solve import HEURISTICS, SOLVERS, solve
from fewlabels.partition._verify import Verification, verify
from fewlabels.partition._zonotope import (
    count_zonotope_vertices,
    enumerate_zonotope_vertices,
)

__all__ = [
    "HEURISTICS",
    "SOLVERS",
    "PartitionProblem",
    "PartitionResult",
    "Verification",
    "branch_and_bound",
    "certify",
    "check_balance",
    "count_zonotope_vertices",
    "enumerate_zonotope_vertices",
    "evolve",
    "local_search",
    "lower_bound",
    "solve",
    "solve_exact",
    "tabu_search",
    "verify",
]
