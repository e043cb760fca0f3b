"""Clustering: no labels at all."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.cluster._rls import RLSClustering
from fewlabels.cluster._spectral import (
    NormalizedSpectralClustering,
    SpectralRelaxation,
    spectral_relaxation,
)

__all__ = [
    "NormalizedSpectralClustering",
    "RLSClustering",
    "SpectralRelaxation",
    "spectral_relaxation",
]
