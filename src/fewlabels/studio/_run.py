"""Put a session together and run it: for the command line, and for notebooks."""

# SPDX-License-Identifier: BSD-3-Clause

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from fewlabels.studio._cards import Cards, parse_size
from fewlabels.studio._server import App, Server
from fewlabels.studio._session import Session
from fewlabels.studio._store import LabelStore, LockedError, RowKeys
from fewlabels.studio._worker import Worker
from fewlabels.tabular import (
    Table,
    TableError,
    TargetColumn,
    read_table,
    read_target,
    revealing_columns,
)


class Studio:
    """A table that is being labelled in the browser.

    Parameters
    ----------
    table : path-like, Table, DataFrame of pandas or polars, dict or array-like
        The table.
    target : str
        The label column; a new one where the table has none of that name.
    store : path-like, default=None
        The journal of labels; beside the table when None.
    classes : sequence of str, default=()
        Classes that are known beforehand.
    image : str, default=None
        Size of the pictures that columns of pixels make, such as "28x28".
    markers : sequence, default=()
        Values that stand for "no label".
    kinds : dict, default=None
        Columns to ignore, or whose kind is known.
    bank : str, default="auto"
        How much to try.
    seed : int, default=0
        Seed.
    reading : dict, default=None
        Delimiter, encoding and sheet.
    host : str, default="127.0.0.1"
        Address to listen on.
    port : int, default=0
        Port; 0 for a free one.
    framed : bool, default=False
        Whether the page may stand in a frame.
    command : str, default=""
        The command line, for the report.
    """

    def __init__(
        self,
        table: Any,
        target: str,
        *,
        store: str | os.PathLike[str] | None = None,
        classes: Sequence[str] = (),
        image: str | None = None,
        markers: Sequence[Any] = (),
        kinds: dict[str, list[str]] | None = None,
        bank: str = "auto",
        seed: int = 0,
        reading: dict[str, Any] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        framed: bool = False,
        command: str = "",
    ) -> None:
        size = None if image is None else parse_size(image)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._early: list[tuple[Any, ...]] = []
        # First of all: its imports take longer than all that follows.
        self._worker = Worker(self._receive)
        try:
            self._open(table, target, store, classes, size, markers, reading or {})
            self._teach(kinds or {}, bank, seed, command, (host, port, framed))
        except BaseException:
            self._worker.stop()
            raise

    def _open(
        self,
        source: Any,
        target: str,
        store: str | os.PathLike[str] | None,
        classes: Sequence[str],
        size: tuple[int, int] | None,
        markers: Sequence[Any],
        reading: dict[str, Any],
    ) -> None:
        self.path: Path | None = None
        self._data: Any = None
        if isinstance(source, str | os.PathLike):
            self.path = Path(source)
            table = self._read(self.path, reading)
            name, folder = self.path.name, self.path.resolve().parent
        else:
            table = self._data = Table.from_frame(source)
            name, folder = "table", Path.cwd()
        if store is None:
            stem = (
                name.removesuffix("".join(self.path.suffixes)) if self.path else target
            )
            store = folder / f"{_file_name(stem) or 'table'}.labels.jsonl"
        self.table = table
        self.is_new = target not in table.names
        if self.is_new:
            nothing = np.full(table.n_rows, None, dtype=object)
            self.given = TargetColumn(target, nothing, {})
        else:
            self.given = read_target(table, target, markers)
        hidden = {target}
        for column, why in revealing_columns(table, self.given).items():
            if "earlier run" in why:
                hidden.add(column)
        self.cards = Cards(
            table.names, table.columns, hidden=hidden, folder=folder, image=size
        )
        keys = RowKeys(table.names, table.columns)
        columns = [n for n in table.names if n not in hidden]
        texts = self.given.texts.tolist()
        try:
            self.store = LabelStore(store, keys, target, columns, texts)
        except LockedError:
            self.store = LabelStore(store, keys, target, columns, texts, write=False)
        known = sorted(self.given.class_counts, key=_natural)
        self._classes = list(dict.fromkeys([*classes, *known]))
        self._hidden, self._name = hidden, name

    def _read(self, path: Path, reading: dict[str, Any]) -> Table:
        """Read the file once: the worker gets the same bytes."""
        import io

        try:
            self._stat = _fingerprint(path)
            data = path.read_bytes()
        except OSError as error:
            raise TableError(f"Cannot read {path}: {error.strerror}.") from None
        file = io.BytesIO(data)
        file.name = os.fspath(path)
        self._data = data
        self._reading = {**reading, "name": os.fspath(path)}
        return read_table(file, **reading)

    def _teach(
        self,
        kinds: dict[str, list[str]],
        bank: str,
        seed: int,
        command: str,
        where: tuple[str, int, bool],
    ) -> None:
        table, target = self.table, self.given.name
        self.session = Session(
            self.cards,
            self.store,
            classes=self._classes,
            about={
                "name": self._name,
                "rows": table.n_rows,
                "target": target,
                "new_target": self.is_new,
            },
            columns=[
                c
                for n, c in zip(table.names, table.columns, strict=True)
                if n not in self._hidden
            ],
            seed=seed,
        )
        self.session.notes += [*table.notes, *self.given.notes]
        app = App(self.session, command=command, table=table, changed=self._changed)
        host, port, framed = where
        self.server = Server(app, host=host, port=port, framed=framed)
        options: dict[str, Any] = {
            "target": target,
            "bank": bank,
            "seed": seed,
            **kinds,
        }
        texts = self.given.texts
        given = {
            "texts": {int(r): texts[r] for r in np.flatnonzero(self.given.given)},
            "values": self.given.values,
        }
        if isinstance(self._data, bytes):
            options["reading"] = self._reading
        self._worker.send("start", self._data, given, options)
        self._data = None
        self.session.connect(self._worker.send)

    def _changed(self) -> bool:
        return self.path is not None and _fingerprint(self.path) != self._stat

    def _receive(self, message: tuple[Any, ...]) -> None:
        """Pass a message of the worker on to the thread of the server."""
        if self._loop is None:
            self._early.append(message)
            return
        with suppress(RuntimeError):  # the loop has just ended
            self._loop.call_soon_threadsafe(self.session.receive, message)

    @property
    def address(self) -> str:
        """Where the page is, token included."""
        return self.server.address

    async def _serve(self, ready: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        for message in self._early:
            self.session.receive(message)
        try:
            await self.server.serve(ready)
        finally:
            self._worker.stop()
            self.store.close()

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Answer the browser until Ctrl-C."""
        with suppress(KeyboardInterrupt):
            asyncio.run(self._serve(ready))

    def start(self) -> "Studio":
        """Answer the browser from a thread, and return at once."""
        ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(ready.set)), daemon=True
        )
        self._thread.start()
        ready.wait(10)
        return self

    def stop(self) -> None:
        """Stop what :meth:`start` has started."""
        self.server.stop()
        self._thread.join(10)


def _fingerprint(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns


def _file_name(text: str) -> str:
    """Keep what may stand in the name of a file."""
    return "".join(c if c.isalnum() or c in "-_. " else "_" for c in text).strip(". ")


def _natural(text: str) -> tuple[Any, ...]:
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text.casefold())
