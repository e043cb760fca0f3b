"""Tests of fewlabels.graphs."""

# SPDX-License-Identifier: BSD-3-Clause
