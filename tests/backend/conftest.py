"""What runs in a process of its own is not collected."""

# SPDX-License-Identifier: BSD-3-Clause

collect_ignore = ["interpreted.py"]
