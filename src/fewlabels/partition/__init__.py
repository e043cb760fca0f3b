"""The partition problem of semi-supervised least squares, and its solvers."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._result import PartitionResult
from fewlabels.partition._search import evolve, local_search, tabu_search

__all__ = [
    "PartitionProblem",
    "PartitionResult",
    "evolve",
    "local_search",
    "tabu_search",
]
