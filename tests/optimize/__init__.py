"""Tests of fewlabels.optimize."""

# SPDX-License-Identifier: BSD-3-Clause
