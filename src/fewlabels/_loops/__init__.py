"""Compiled loops: flat arrays in, flat arrays out, one file per family."""

# SPDX-License-Identifier: BSD-3-Clause

from numba.core import event

from fewlabels import _progress


class _Compilations(event.Listener):
    """Tell whoever waits that numba compiles; what lies on disk is not compiled."""

    def on_start(self, event: event.Event) -> None:
        """Note a beginning."""
        _progress.compilation_begins()

    def on_end(self, event: event.Event) -> None:
        """Note an end."""
        _progress.compilation_ends()


event.register("numba:compile", _Compilations())
