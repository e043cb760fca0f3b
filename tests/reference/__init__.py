"""Slow, obvious twins of the library's algorithms."""

# SPDX-License-Identifier: BSD-3-Clause
