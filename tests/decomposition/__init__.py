"""Tests of fewlabels.decomposition."""

# SPDX-License-Identifier: BSD-3-Clause
