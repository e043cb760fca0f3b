"""Tests of fewlabels.semi_supervised."""

# SPDX-License-Identifier: BSD-3-Clause
