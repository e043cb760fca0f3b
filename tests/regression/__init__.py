"""Tests of fewlabels.regression."""

# SPDX-License-Identifier: BSD-3-Clause
