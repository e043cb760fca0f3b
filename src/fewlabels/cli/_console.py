"""What commands print: progress and errors, with Ctrl-C working at any moment."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from fewlabels._progress import ProgressLine
from fewlabels.cli._wording import in_options

INTERRUPTED = 130
# Seconds between checks on the work.
_INTERVAL = 0.1


class DataError(click.ClickException):
    """The data does not allow what was asked for."""

    exit_code = 1


class UseError(click.ClickException):
    """The command was used in a way that cannot work."""

    exit_code = 2


class Console:
    """Messages and progress of a command, on the standard error stream.

    Parameters
    ----------
    quiet : bool
        Whether to print errors only.
    """

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self._share, self._what = 0.0, "starting"
        self._line = ProgressLine(False if quiet else "auto", None)

    def say(self, text: str) -> None:
        """Write a line, unless quiet."""
        if not self.quiet:
            self._line.clear()
            click.echo(in_options(text), err=True)

    def tell(self, share: float, what: str) -> None:
        """Record how much is done; the waiting thread draws the bar."""
        self._share, self._what = share, what

    def work(self, job: Callable[[], Any]) -> Any:
        """Run a job in a thread, draw its progress bar, and stop at once on Ctrl-C.

        Python handles an interrupt only between its own instructions, and a single call
        into compiled code may take a while. The main thread waits here instead of
        working, so that it can leave at any moment; nothing half-written stays behind.

        Parameters
        ----------
        job : callable
            The work.

        Returns
        -------
        result : object
            What the job returned. Its exceptions are raised here, errors in the data as
            messages.
        """
        outcome: dict[str, Any] = {}

        def target() -> None:
            try:
                outcome["result"] = job()
            except BaseException as error:
                outcome["error"] = error

        worker = threading.Thread(target=target, daemon=True)
        try:
            worker.start()
            while worker.is_alive():
                worker.join(_INTERVAL)
                self._line.update(self._share, self._what)
        except KeyboardInterrupt:
            self._leave()
        self._line.clear()
        if "error" in outcome:
            raise _as_message(outcome["error"])
        return outcome["result"]

    @contextmanager
    def messages(self) -> Iterator[None]:
        """Report errors in the data or in the use of a command as messages.

        Yields
        ------
        None
            To the block whose errors are reported.
        """
        try:
            yield
        except Exception as error:
            raise _as_message(error) from None

    def _leave(self) -> None:
        files = sys.modules.get("fewlabels.tabular.files")
        if files is not None:
            files.remove_pending()
        self._line.clear()
        sys.stderr.write("Interrupted: nothing half-written is left.\n")
        sys.stderr.flush()
        os._exit(INTERRUPTED)


def _as_message(error: BaseException) -> BaseException:
    """Turn an error that a user can fix into a message; others are bugs and stay."""
    from fewlabels.preprocessing import FileError, TableError, UnknownColumnError

    match error:
        case click.ClickException():
            return error
        case UnknownColumnError() | FileError():
            return UseError(in_options(str(error)))
        case TableError() | ValueError() | ConnectionError():
            return DataError(in_options(str(error)))
        case ImportError() if "pip install" in str(error):
            return DataError(in_options(str(error)))
        case MemoryError():
            return DataError("Not enough memory: use fewer rows, or pass --bank fast.")
        case _:
            return error
