"""Tests of fewlabels.feature_selection."""

# SPDX-License-Identifier: BSD-3-Clause
