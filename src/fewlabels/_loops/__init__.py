"""Compiled loops: flat arrays in, flat arrays out, one file per family."""

# SPDX-License-Identifier: BSD-3-Clause
