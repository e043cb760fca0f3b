"""Tests of fewlabels.transfer."""

# SPDX-License-Identifier: BSD-3-Clause
