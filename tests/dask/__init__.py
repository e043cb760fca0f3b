"""Tests of fewlabels.dask."""

# SPDX-License-Identifier: BSD-3-Clause
