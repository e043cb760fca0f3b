"""Tests of fewlabels.automatic."""

# SPDX-License-Identifier: BSD-3-Clause
