"""A line on the terminal for work that takes a while."""

# SPDX-License-Identifier: BSD-3-Clause

import sys
from collections.abc import Callable
from time import perf_counter

Progress = bool | str | Callable[[float], None]

# Seconds before a line appears by itself, and between two updates of it.
PATIENCE = 2.0
INTERVAL = 0.2
# Seconds after which the remaining time can be estimated.
MIN_TOLD = 10.0
# Characters of the line, and of a bar on it.
WIDTH = 78
BAR = 30
# Shown while a loop is compiled, on first use after an installation.
COMPILING = "compiling, once"

# Lines currently shown, and the number of nested compilations.
_lines: list["ProgressLine"] = []
_compilations = 0


def compilation_begins() -> None:
    """Note it on every line; :mod:`fewlabels._loops` lets numba call this."""
    global _compilations
    _compilations += 1
    if _compilations == 1:
        for line in _lines:
            line.announce()


def compilation_ends() -> None:
    """Remove the note from the lines."""
    global _compilations
    _compilations -= 1


class ProgressLine:
    """Report how much of the work is done.

    Parameters
    ----------
    progress : "auto", bool or callable
        A callable receives the share of the work done, between 0 and 1. True writes a
        line to the standard error stream; "auto" does so only on a terminal and for
        work that takes longer than two seconds.
    name : str or None
        Name of the work shown on the line; without it, a bar is drawn.

    Examples
    --------
    >>> from fewlabels._progress import ProgressLine
    >>> shares = []
    >>> with ProgressLine(shares.append, "counting") as line:
    ...     line.update(0.5)
    >>> shares
    [0.5]
    """

    def __init__(self, progress: Progress, name: str | None) -> None:
        if not callable(progress) and progress not in ("auto", True, False):
            raise ValueError(
                f"progress={progress!r} is unknown; use 'auto', True, False or a "
                "callable."
            )
        self._name = name
        self._report = progress if callable(progress) else None
        self._started = self._written = perf_counter()
        self._line = ""
        self._share = 0.0
        shown = progress is True or (progress == "auto" and sys.stderr.isatty())
        self._patience = (PATIENCE if progress == "auto" else 0.0) if shown else None

    def __enter__(self) -> "ProgressLine":
        _lines.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _lines.remove(self)
        if self._line:
            sys.stderr.write("\n")

    def update(self, share: float, note: str = "") -> None:
        """Report the share of the work done."""
        self._share = share
        if self._report is not None:
            self._report(share)
        if self._patience is None:
            return
        note = COMPILING if _compilations else note
        now = perf_counter()
        if now - self._started < self._patience or (
            share < 1 and self._line and now - self._written < INTERVAL
        ):
            return
        self._write(share, now, note)

    def announce(self) -> None:
        """Show at once that a loop is being compiled: nothing else moves meanwhile."""
        if self._patience is not None:
            self._write(self._share, perf_counter(), COMPILING)

    def _write(self, share: float, now: float, note: str) -> None:
        line = self._text(share, now - self._started, note)
        if line != self._line:
            self._line, self._written = line, now
            sys.stderr.write("\r" + line[:WIDTH].ljust(WIDTH))
            sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line."""
        if self._line:
            sys.stderr.write("\r" + " " * WIDTH + "\r")
            sys.stderr.flush()
            self._line = ""

    def _text(self, share: float, elapsed: float, note: str) -> str:
        if self._name is not None:
            return f"{self._name}: {share:6.1%}, {elapsed:.0f} s {note}"
        filled = int(BAR * min(max(share, 0.0), 1.0))
        bar = "#" * filled + "-" * (BAR - filled)
        return f"[{bar}] {share:4.0%}  {elapsed:.0f} s{_left(share, elapsed)}  {note}"


def _left(share: float, elapsed: float) -> str:
    """Say how long the rest takes, if it can be estimated and is worth it."""
    if not 0.05 <= share < 1 or elapsed < MIN_TOLD:
        return ""
    seconds = elapsed * (1 - share) / share
    if seconds < 100:
        return f", {seconds:.0f} s left"
    return f", {seconds / 60:.0f} min left"
