"""Tests of fewlabels.active."""

# SPDX-License-Identifier: BSD-3-Clause
