"""Core: opinions about the classes of rows, and how far to trust their sources."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.opinions._opinions import (
    Opinions,
    labels_with_hints,
    named_sources,
    read_opinions,
)
from fewlabels.opinions._reliability import (
    Reliability,
    SourceReport,
    learn_reliability,
    source_reports,
)

__all__ = [
    "Opinions",
    "Reliability",
    "SourceReport",
    "labels_with_hints",
    "learn_reliability",
    "named_sources",
    "read_opinions",
    "source_reports",
]
