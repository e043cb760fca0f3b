"""Tests of fewlabels.ensemble."""

# SPDX-License-Identifier: BSD-3-Clause
