"""The command line, thin over :mod:`fewlabels.tabular`."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.cli._commands import commands, run

__all__ = ["commands", "run"]
