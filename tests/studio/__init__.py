"""Tests of fewlabels.tabular."""

# SPDX-License-Identifier: BSD-3-Clause
