"""Tests of fewlabels.cli."""

# SPDX-License-Identifier: BSD-3-Clause
