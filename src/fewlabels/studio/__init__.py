"""Label a table in the browser: the next most useful row, and a live honest error."""

# SPDX-License-Identifier: BSD-3-Clause

__all__: list[str] = []
