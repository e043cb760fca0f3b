"""Tests of fewlabels.cluster."""

# SPDX-License-Identifier: BSD-3-Clause
