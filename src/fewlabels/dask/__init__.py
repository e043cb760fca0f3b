"""Core: rows that do not fit on one machine, as Dask arrays and data frames.

Everything is imported on first use; it needs the extra "dask".
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.dask._estimators import DaskFewLabelsClassifier, DaskFewLabelsRegressor
from fewlabels.dask._folders import WrittenParts, lazy_table, sample_frame, write_parts
from fewlabels.dask._harmonic import DaskHarmonicSolution, dask_harmonic_functions
from fewlabels.dask._learn import SampleCost

__all__ = [
    "DaskFewLabelsClassifier",
    "DaskFewLabelsRegressor",
    "DaskHarmonicSolution",
    "SampleCost",
    "WrittenParts",
    "dask_harmonic_functions",
    "lazy_table",
    "sample_frame",
    "write_parts",
]
