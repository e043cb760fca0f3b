"""Compiled loops: flat arrays in, flat arrays out, one file per family."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

from fewlabels import _progress


class _Compilations(event.Listener):
    """Tell the progress line that numba compiles; what is on disk is not compiled."""

    def on_start(self, event: event.Event) -> None:
        """Note a beginning."""
        _progress.compilation_begins()

    def on_end(self, event: event.Event) -> None:
        """Note an end."""
        _progress.compilation_ends()


event.register("numba:compile", _Compilations())


def njit(**options: Any) -> Callable[[Any], Any]:
    """Compile as numba does, without a cache on disk where none can be written.

    Numba keeps compiled functions next to the code, or else in the user's home; where
    neither can be written, as in a container, it refuses to go on.
    """

    def decorate(function: Any) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if "no locator available" not in str(error):
                raise
        warnings.warn(
            "Compiled loops cannot be kept: neither the installation nor the home "
            "directory can be written. They are compiled again in every process, for "
            "some seconds; let the environment variable NUMBA_CACHE_DIR name a folder "
            "that can be written.",
            stacklevel=3,
        )
        return numba.njit(**{**options, "cache": False})(function)

    return decorate
