"""Tests of fewlabels.datasets."""

# SPDX-License-Identifier: BSD-3-Clause
