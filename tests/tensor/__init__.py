"""Tests of fewlabels.tensor."""

# SPDX-License-Identifier: BSD-3-Clause
