"""Textbook: optimisers for sums of losses, by coordinates and by majorisation.

A problem is a smooth function plus a penalty: :class:`FiniteSumProblem` for the mean
loss of a linear model, :class:`QuadraticProblem`, or :class:`SmoothProblem` for
functions of your own. Every solver takes one and returns an
:class:`OptimizationResult` with the history of its work. Loops are compiled on first
use.

Regularised linear classifiers that scikit-learn has are offered here under their own
names: :class:`~sklearn.linear_model.LogisticRegression`,
:class:`~sklearn.linear_model.SGDClassifier` and :class:`~sklearn.svm.LinearSVC`, whose
``multi_class="crammer_singer"`` is the multi-class support vector machine of Crammer
and Singer.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels._linalg import conjugate_gradients
from fewlabels.optimize._benchmark_functions import (
    BENCHMARK_FUNCTIONS,
    BenchmarkFunction,
    benchmark_function,
)
from fewlabels.optimize._blocks import BlockPartition
from fewlabels.optimize._coordinate import (
    approx_coordinate_descent,
    block_coordinate_descent,
    coordinate_descent,
)
from fewlabels.optimize._finite_sum import (
    sag_minimize,
    saga_minimize,
    sgd_minimize,
    svrg_minimize,
)
from fewlabels.optimize._finite_sum_problem import FiniteSumProblem
from fewlabels.optimize._gradient import gradient_descent
from fewlabels.optimize._linear_models import FiniteSumClassifier, FiniteSumRegressor
from fewlabels.optimize._loss_functions import (
    HingeLoss,
    LogisticLoss,
    Loss,
    SquaredHingeLoss,
    SquaredLoss,
)
from fewlabels.optimize._majorize import (
    QuadraticMajorizer,
    mm_minimize,
    quadratic_majorizer,
    sparse_generalized_eigenvector,
)
from fewlabels.optimize._optimization_result import OptimizationResult
from fewlabels.optimize._penalties import (
    ElasticNetPenalty,
    L1Penalty,
    L2Penalty,
    soft_threshold,
)
from fewlabels.optimize._problems import (
    CompositeProblem,
    QuadraticProblem,
    SmoothProblem,
)
from fewlabels.optimize._reweighted import (
    basis_pursuit,
    reweighted_l1,
    reweighted_total_variation,
    total_variation,
)

__all__ = [
    "BENCHMARK_FUNCTIONS",
    "BenchmarkFunction",
    "BlockPartition",
    "CompositeProblem",
    "ElasticNetPenalty",
    "FiniteSumClassifier",
    "FiniteSumProblem",
    "FiniteSumRegressor",
    "HingeLoss",
    "L1Penalty",
    "L2Penalty",
    "LogisticLoss",
    "Loss",
    "OptimizationResult",
    "QuadraticMajorizer",
    "QuadraticProblem",
    "SmoothProblem",
    "SquaredHingeLoss",
    "SquaredLoss",
    "approx_coordinate_descent",
    "basis_pursuit",
    "benchmark_function",
    "block_coordinate_descent",
    "conjugate_gradients",
    "coordinate_descent",
    "gradient_descent",
    "mm_minimize",
    "quadratic_majorizer",
    "reweighted_l1",
    "reweighted_total_variation",
    "sag_minimize",
    "saga_minimize",
    "sgd_minimize",
    "soft_threshold",
    "sparse_generalized_eigenvector",
    "svrg_minimize",
    "total_variation",
]
