"""Tests of fewlabels.reinforcement."""

# SPDX-License-Identifier: BSD-3-Clause
