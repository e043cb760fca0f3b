"""Tests of fewlabels.partition."""

# SPDX-License-Identifier: BSD-3-Clause
