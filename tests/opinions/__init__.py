"""Tests of fewlabels.opinions."""

# SPDX-License-Identifier: BSD-3-Clause
