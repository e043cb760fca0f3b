"""Core: estimators for few labels, and the supervised baseline for comparison."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.semi_supervised._co_training import CoTrainingClassifier
from fewlabels.semi_supervised._democratic import DemocraticCoLearningClassifier
from fewlabels.semi_supervised._graph_regularization import (
    GraphRegularizationClassifier,
    graph_regularization,
)
from fewlabels.semi_supervised._graph_system import GraphSolution
from fewlabels.semi_supervised._harmonic import (
    HarmonicFunctionClassifier,
    HarmonicFunctionRegressor,
    harmonic_functions,
)
from fewlabels.semi_supervised._laplacian_classifiers import (
    LaplacianRLSClassifier,
    LaplacianSVC,
)
from fewlabels.semi_supervised._laplacian_cv import LaplacianRLSClassifierCV
from fewlabels.semi_supervised._laplacian_deformed import (
    laplacian_dense,
    laplacian_factor,
    laplacian_low_rank,
)
from fewlabels.semi_supervised._laplacian_pcg import laplacian_pcg
from fewlabels.semi_supervised._laplacian_problem import (
    LaplacianProblem,
    LaplacianSolution,
)
from fewlabels.semi_supervised._laplacian_regressor import LaplacianRLSRegressor
from fewlabels.semi_supervised._min_cut import (
    MinCutClassifier,
    MinimumCut,
    minimum_cut,
    multiway_cut,
)
from fewlabels.semi_supervised._naive_bayes import KernelNaiveBayes
from fewlabels.semi_supervised._poisson import poisson_functions, reweighted_graph
from fewlabels.semi_supervised._propagating import (
    PropagatingNearestNeighborClassifier,
    SpanningForest,
    minimum_spanning_forest,
)
from fewlabels.semi_supervised._rls import RLSClassifier, RLSSolution, rls_path
from fewlabels.semi_supervised._s2rls import S2RLSClassifier
from fewlabels.semi_supervised._s2rls_cv import S2RLSClassifierCV
from fewlabels.semi_supervised._transductive import TransductiveSVC
from fewlabels.semi_supervised._transductive_solver import (
    TransductiveSolution,
    transductive_svm,
)
from fewlabels.semi_supervised._tri_training import TriTrainingClassifier
from fewlabels.semi_supervised._wrappers import (
    ClusterThenLabelClassifier,
    SelfTrainingClassifier,
)

__all__ = [
    "ClusterThenLabelClassifier",
    "CoTrainingClassifier",
    "DemocraticCoLearningClassifier",
    "GraphRegularizationClassifier",
    "GraphSolution",
    "HarmonicFunctionClassifier",
    "HarmonicFunctionRegressor",
    "KernelNaiveBayes",
    "LaplacianProblem",
    "LaplacianRLSClassifier",
    "LaplacianRLSClassifierCV",
    "LaplacianRLSRegressor",
    "LaplacianSVC",
    "LaplacianSolution",
    "MinCutClassifier",
    "MinimumCut",
    "PropagatingNearestNeighborClassifier",
    "RLSClassifier",
    "RLSSolution",
    "S2RLSClassifier",
    "S2RLSClassifierCV",
    "SelfTrainingClassifier",
    "SpanningForest",
    "TransductiveSVC",
    "TransductiveSolution",
    "TriTrainingClassifier",
    "graph_regularization",
    "harmonic_functions",
    "laplacian_dense",
    "laplacian_factor",
    "laplacian_low_rank",
    "laplacian_pcg",
    "minimum_cut",
    "minimum_spanning_forest",
    "multiway_cut",
    "poisson_functions",
    "reweighted_graph",
    "rls_path",
    "transductive_svm",
]
