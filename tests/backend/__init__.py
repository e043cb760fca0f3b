"""Tests of fewlabels._backend."""

# SPDX-License-Identifier: BSD-3-Clause
