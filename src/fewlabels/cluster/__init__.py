"""Clustering: no labels at all."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.cluster._rls import RLSClustering

__all__ = ["RLSClustering"]
