"""Strange but legal problems, each answered in several ways that must agree."""

# SPDX-License-Identifier: BSD-3-Clause
