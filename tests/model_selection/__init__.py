"""Tests of fewlabels.model_selection."""

# SPDX-License-Identifier: BSD-3-Clause
