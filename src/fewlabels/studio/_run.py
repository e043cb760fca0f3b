"""Set up and run a session, for the command line and for notebooks."""

# SPDX-License-Identifier: BSD-3-Clause

import asyncio
import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np

from fewlabels.preprocessing import describe_columns, named_kinds
from fewlabels.studio._cards import Cards, parse_size
from fewlabels.studio._guard import Access, secrets_path
from fewlabels.studio._journal import LockedError, StoreError
from fewlabels.studio._people import People, person_name
from fewlabels.studio._rows import RowKeys, answer_columns, journal_path
from fewlabels.studio._salvage import find_journal
from fewlabels.studio._server import App, Server
from fewlabels.studio._session import Session
from fewlabels.studio._sketch import SketchModel
from fewlabels.studio._store import LabelStore
from fewlabels.studio._worker import Worker
from fewlabels.tabular import (
    FileError,
    Table,
    TableError,
    TargetColumn,
    read_table,
    read_target,
)
from fewlabels.tabular.files import home_of, with_features
from fewlabels.tabular.setup import check_markers, check_target_kind

Encoding = Mapping[str, Any]


class Studio:
    """A table that is being labelled in the browser.

    Each label is saved in a journal next to the table before the next row is shown; the
    table itself never changes. A classifier learns in a separate process.

    Parameters
    ----------
    table : path-like, Table, DataFrame of pandas or polars, dict or array-like
        The table.
    target : str
        The label column; a new one where the table has none of that name.
    store : path-like, default=None
        The journal of labels. When None, ``NAME.labels.jsonl`` next to the table; if
        the table is not a file, in the current folder and named after the target.
    classes : sequence of str, default=()
        Classes that are known beforehand, in the order of their keys.
    image : str, default=None
        Height and width of images that columns of pixels form, as in "28x28".
    markers : sequence, default=()
        Values that stand for "no label", besides empty cells and NA.
    encoding : dict or callable, default=None
        How to encode columns: parameters of :func:`~fewlabels.tabular.label_table`
        such as `ignore`, `date`, `scale` and `embed`, or a function from the table to
        them.
    bank : {"auto", "fast", "default", "thorough"}, default="auto"
        How much to try, as in :func:`~fewlabels.tabular.label_table`. Beyond 5,000
        rows, the first guesses come from "fast", until the bank is built.
    device : {"cpu", "cuda"} or None, default=None
        Where to learn.
    random_state : int, default=0
        Seed.
    reading : dict, default=None
        Parameters of :func:`fewlabels.tabular.read_table`.
    host : str, default="127.0.0.1"
        Address to listen on; any other lets other computers connect.
    port : int, default=0
        Port; 0 for a free one.
    framed : bool, default=False
        Whether the page may be framed by another page, as in a notebook.
    command : str, default=""
        What was typed, for the report.
    wording : callable, default=str
        Rewords messages of the library, which name parameters, for the page.
    annotator : str, default=""
        Who labels; the name is kept with each label.
    ask_name : bool, default=False
        Whether the page asks for a name, once in each browser.
    overlap : float, default=0.0
        Share of the rows that two people are asked about, to see how far they agree.
    **reached : dict
        For a group: `people` (names; each gets a passphrase), `certificate` and `key`
        (files for TLS), `site` (the origin of a reverse proxy, as in
        "https://labels.example.org"), `base_path` (what paths begin with there), and
        `keep_address` (whether the address survives a restart).

    Attributes
    ----------
    address : str
        Where the page is. It contains a token: anyone who has it can read the table.
    labels : list of str or None
        The label of every row, in the order of the table.

    See Also
    --------
    serve : The same in a notebook cell.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fewlabels.studio import Studio
    >>> data = {"size": [1.0, 1.1, 5.0, 5.2], "kind": ["small", None, "large", None]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = pathlib.Path(folder, "sizes.labels.jsonl")
    ...     with Studio(data, "kind", store=store) as studio:
    ...         print(studio.address.split(":")[0], studio.labels)
    http ['small', None, 'large', None]
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
        encoding: Encoding | Callable[[Table], Encoding] | None = None,
        bank: str = "auto",
        device: str | None = None,
        random_state: int = 0,
        reading: dict[str, Any] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        framed: bool = False,
        command: str = "",
        wording: Callable[[str], str] = str,
        annotator: str = "",
        ask_name: bool = False,
        overlap: float = 0.0,
        **reached: Any,
    ) -> None:
        names = map(person_name, reached.pop("people", ()))
        people = tuple(dict.fromkeys(filter(None, names)))
        access = Access(host, port, framed, people=people, **reached)
        if not 0 <= overlap <= 1:
            raise ValueError(f"overlap is a share, not {overlap}: pass overlap=0.1.")
        self._people = People(person_name(annotator), ask_name)
        self._overlap = overlap
        size = None if image is None else parse_size(image)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._early: list[tuple[Any, ...]] = []
        # First, as its imports take longer than all that follows.
        self._worker = Worker(self._receive)
        try:
            self._open(table, target, store, classes, size, markers, reading or {})
            options = encoding(self.table) if callable(encoding) else encoding or {}
            self._check_kinds(options)
            options = {**options, "bank": bank, "device": device, "task": "classes"}
            options |= {"target": target, "markers": markers}
            options |= {"random_state": random_state}
            self._teach(options, command, access, wording)
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
        self._reading: dict[str, Any] = {}
        name, home = "table", None
        if isinstance(source, str | os.PathLike):
            home = home_of(source)
            self.path = home.file
            name = home.stem if self.path is None else self.path.name
        if self.path is not None:
            table = self._read(self.path, dict(reading))
        elif isinstance(source, str | os.PathLike):
            table = self._data = read_table(source, **reading)
        else:
            table = self._data = Table.from_frame(source)
        keys, note = RowKeys(table.names, table.columns), ""
        if store is None and home is not None:
            store, note = find_journal(home, keys)
        elif store is None:
            store = journal_path(Path.cwd(), target)
        self.table = table
        self.is_new = target not in table.names
        if self.is_new:
            nothing = np.full(table.n_rows, None, dtype=object)
            self.given = TargetColumn(target, nothing, {})
        else:
            check_markers(table, target, markers)
            self.given = read_target(table, target, markers, task="classes")
        hidden = answer_columns(table.names, target) | table.derived
        folder = Path.cwd() if home is None else home.folder
        beside = Path(table.source) if table.derived else folder
        self.cards = Cards(
            table.names, table.columns, hidden=hidden, folder=beside, image=size
        )
        columns = [n for n in table.names if n not in hidden]
        texts = self.given.texts.tolist()
        try:
            me = self._people.me
            self.store = LabelStore(store, keys, target, columns, texts, by=me)
        except LockedError:
            self.store = LabelStore(store, keys, target, columns, texts, write=False)
        except StoreError as error:
            raise FileError(
                f"{error} Pass store=FILE for labels in another place."
            ) from None
        known = sorted(self.given.class_counts, key=_natural)
        self._classes = list(dict.fromkeys([*classes, *known]))
        self._hidden, self._name, self._note = hidden, name, note

    def _check_kinds(self, options: Mapping[str, Any]) -> None:
        """Raise now, not on the page, for wrong columns or kinds."""
        named = named_kinds(self.table, **options)
        check_target_kind(self.given.name, named.get(self.given.name))
        others = [name for name in self.table.names if name not in named]
        kinds = ("text", "categorical", "numeric", "date", "ignore", "decimal")
        describe_columns(
            self.table.without(others), **{k: options[k] for k in kinds if k in options}
        )

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
        features = reading.pop("features", None)
        table = read_table(file, **reading)
        if features is not None:
            with_features(table, features)  # raises now: only the worker needs it
        return table

    def _teach(
        self,
        options: dict[str, Any],
        command: str,
        access: Access,
        wording: Callable[[str], str],
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
                "me": self._people.me,
                "asks": self._people.asks,
            },
            columns=[
                c
                for n, c in zip(table.names, table.columns, strict=True)
                if n not in self._hidden
            ],
            random_state=options["random_state"],
            wording=wording,
            overlap=self._overlap,
        )
        notes = [self._note, *table.notes, *self.given.notes]
        self.session.notes += filter(None, notes)
        stem = self.store.path.name.removesuffix(".jsonl").removesuffix(".labels")
        app = App(
            self.session,
            command=command,
            table=table,
            changed=self._changed,
            guidelines=self.store.path.with_name(f"{stem}.guidelines.md"),
            people=self._people,
        )
        self.server = Server(app, access, secrets_path(self.store.path))
        threading.Thread(target=self._sketch, daemon=True).start()
        self._worker.send("start", self._data, self._reading, options)
        self._data = None
        self.session.connect(self._worker.send)

    def _sketch(self) -> None:
        """Make the first guesses possible, long before the worker's."""
        pairs = zip(self.table.names, self.table.columns, strict=True)
        columns = [c for name, c in pairs if name not in self._hidden]
        self.session.early = SketchModel(columns).guesses

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

    @property
    def labels(self) -> list[str | None]:
        """The label of every row, in the order of the table."""
        return [self.session.labels.get(row) for row in range(self.table.n_rows)]

    async def _serve(self, ready: Callable[[], Any]) -> None:
        self._loop = asyncio.get_running_loop()
        for message in self._early:
            self.session.receive(message)
        try:
            await self.server.serve(ready)
        finally:
            self._worker.stop()
            self.store.close()

    def run(self, ready: Callable[[], Any] = lambda: None) -> None:
        """Serve the page until Ctrl-C.

        Parameters
        ----------
        ready : callable, default=None
            Called when the page can be opened.

        Returns
        -------
        None
            Everything is saved.
        """
        with suppress(KeyboardInterrupt):
            asyncio.run(self._serve(ready))

    def start(self) -> Self:
        """Serve the page from a thread, and return at once.

        Returns
        -------
        self : Studio
            Its page can be opened.
        """
        ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(ready.set)), daemon=True
        )
        self._thread.start()
        ready.wait(10)
        return self

    def stop(self) -> None:
        """Stop what :meth:`start` has started; everything is saved.

        Returns
        -------
        None
            The page is no longer served. If the journal could not be written in the
            end, there is a warning.
        """
        self.server.stop()
        self._thread.join(10)
        if self.store.journal.trouble:
            warnings.warn(self.store.journal.trouble, RuntimeWarning, stacklevel=2)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _repr_html_(self) -> str:
        """Show the page in a notebook cell."""
        return (
            f'<iframe src="{self.address}" title="fewlabels studio" width="100%" '
            'height="760" style="border: 1px solid #8884; border-radius: 12px">'
            "</iframe>"
        )


def serve(table: Any, *, target: str, **options: Any) -> Studio:
    """Label a table in a notebook cell.

    Parameters
    ----------
    table : path-like, Table, DataFrame of pandas or polars, dict or array-like
        The table.
    target : str
        The label column; a new one where the table has none of that name.
    **options : dict
        Further parameters of :class:`Studio`.

    Returns
    -------
    studio : Studio
        As the last line of a cell, it shows the page. Its ``labels`` are always up to
        date, and ``stop()`` ends it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fewlabels.studio import serve
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = pathlib.Path(folder, "sizes.labels.jsonl")
    ...     studio = serve({"size": [1, 2, 7]}, target="kind", store=store)
    ...     print(studio.labels, "iframe" in studio._repr_html_())
    ...     studio.stop()
    [None, None, None] True
    """
    return Studio(table, target, framed=True, **options).start()


def _fingerprint(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns


def _natural(text: str) -> tuple[Any, ...]:
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text.casefold())
