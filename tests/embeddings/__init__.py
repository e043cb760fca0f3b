"""Tests of fewlabels.kernels."""

# SPDX-License-Identifier: BSD-3-Clause
