"""Tests of fewlabels.preprocessing."""

# SPDX-License-Identifier: BSD-3-Clause
