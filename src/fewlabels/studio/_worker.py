"""The learning process, separate from the one that serves the browser.

A refit keeps a core busy for a while; in the same process, it would delay key presses.
The two communicate through pipes: pickled tuples ``(what, *content)``. The parent
starts the child by name, not by fork, so that notebooks and scripts can call it too.
"""

# SPDX-License-Identifier: BSD-3-Clause

import io
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

# Seconds between estimates of the error while labels keep coming.
PATIENCE = 4.0
# Labels from which predictions say something about columns.
TELLING = 8
# Labels between searches for suspicious ones.
SUSPECT_EVERY = 10
_THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB")

Message = tuple[Any, ...]


class Worker:
    """The parent's end.

    Parameters
    ----------
    receive : callable
        Called with every message of the child, in its own thread. The last one is
        ``("ended", exit code)``.
    """

    def __init__(self, receive: Callable[[Message], None]) -> None:
        cores = str(max(1, (os.cpu_count() or 1) - 1))
        threads = {f"{name}_NUM_THREADS": cores for name in _THREADS}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fewlabels.studio._worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**threads, **os.environ},
            # Ctrl-C is for the parent; the child ends when its pipe does.
            start_new_session=os.name == "posix",
        )
        self._receive = receive
        self._outbox: queue.Queue[Message | None] = queue.Queue()
        self._threads = [
            threading.Thread(target=target, daemon=True)
            for target in (self._send_all, self._receive_all)
        ]
        for thread in self._threads:
            thread.start()

    def send(self, *message: Any) -> None:
        """Send a message, without waiting."""
        self._outbox.put(message)

    def stop(self) -> None:
        """End the child, whatever it is doing."""
        self._outbox.put(None)
        self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join(5)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # unsent data is lost
                    pipe.close()

    def _send_all(self) -> None:
        pipe = self._process.stdin
        while pipe is not None and (message := self._outbox.get()) is not None:
            try:
                pickle.dump(message, pipe, protocol=5)
                pipe.flush()
            except OSError:  # it has ended, which the other thread reports
                return

    def _receive_all(self) -> None:
        pipe = self._process.stdout
        while pipe is not None:
            try:
                message = pickle.load(pipe)
            except (EOFError, pickle.UnpicklingError, ValueError):
                break
            self._receive(message)
        self._receive(("ended", self._process.wait()))


class _Child:
    """The child: learns from the newest labels, again and again.

    Parameters
    ----------
    inbox : binary file
        Where messages come from.
    outbox : binary file
        Where they go.
    """

    def __init__(self, inbox: BinaryIO, outbox: BinaryIO) -> None:
        self._outbox = outbox
        self._inbox = inbox
        self._turn = threading.Condition()
        self._writing = threading.Lock()
        self._start: Message | None = None
        self._labels: dict[int, str] = {}
        self._banned: set[int] = set()
        self._version = -1
        self._requests: list[Message] = []
        self._refined: tuple[Any, bool] | None = None
        self._is_final = False
        threading.Thread(target=self._listen, daemon=True).start()

    def tell(self, *message: Any) -> None:
        """Send a message to the parent."""
        with self._writing:
            pickle.dump(message, self._outbox, protocol=5)
            self._outbox.flush()

    def _listen(self) -> None:
        while True:
            try:
                what, *content = pickle.load(self._inbox)
            except (EOFError, OSError, pickle.UnpicklingError):
                os._exit(0)  # the parent is gone, perhaps killed within a message
            with self._turn:
                match what:
                    case "start":
                        self._start = tuple(content)
                    case "labels":
                        self._version, self._labels, self._banned = content
                    case _:
                        self._requests.append((what, *content))
                self._turn.notify()

    def run(self) -> None:
        """Work until the parent is gone."""
        # Imported here: it takes seconds, and the parent reads the table meanwhile.
        from fewlabels.studio._engine import Engine
        from fewlabels.tabular.setup import TableSetup

        with self._turn:
            self._turn.wait_for(lambda: self._start is not None)
        table, reading, options = self._start or ()
        if isinstance(table, bytes):
            table = _read(table, **reading)
        engine = Engine(table, TableSetup.of(**options))
        threading.Thread(target=self._prepare, args=(engine,), daemon=True).start()
        self._serve(engine)

    def _tell_share(self, share: float, what: str) -> None:
        self.tell("status", what, share)

    def _prepare(self, engine: Any) -> None:
        """Compute what does not depend on labels, while a sketch makes the guesses."""
        try:
            self.tell("status", "reading columns", 0.0)
            engine.encode()
            self.tell("notes", engine.encoded.notes)
            with self._turn:
                labels, banned, version = self._labels, self._banned, self._version
            self.tell("order", version, engine.cover(labels, banned), "cover")
            first, *others = engine.banks
            self._hand_over(engine.built(first, self._tell_share), not others)
            self.tell("groups", *engine.groups())
            self.tell("near", engine.points())
            for bank in others:
                model = engine.built(
                    bank, lambda share, _: self._tell_share(share, "refining")
                )
                self._hand_over(model, True)
            self.tell("layout", engine.layout())
        except Exception as error:
            self.tell("failed", _said(error), traceback.format_exc())

    def _hand_over(self, model: Any, is_final: bool) -> None:
        """Let the other thread learn with this model from now on."""
        with self._turn:
            self._refined = model, is_final
            self._turn.notify()

    def _serve(self, engine: Any) -> None:
        learned = judged = -1
        told = False
        last_judged, n_suspected, seconds = 0.0, 0, 0.0
        while True:
            with self._turn:
                if self._is_idle(learned, judged):
                    if self._is_final:
                        self.tell("status", "ready", 1.0)
                    self._turn.wait_for(lambda: not self._is_idle(learned, judged))  # noqa: B023
                if self._refined is not None:
                    model, self._is_final = self._refined
                    engine.use(model)
                    self._refined = None
                    learned = judged = -1
                # Files are made with the full bank.
                waiting = self._is_final and bool(self._requests)
                request = self._requests.pop(0) if waiting else None
                version, labels, banned = self._version, self._labels, self._banned
            if request is not None:
                self._answer(engine, request)
                if request[3] != labels:
                    learned = judged = -1
                continue
            if engine.model is None:
                self.tell("learned", version, engine.learn(labels, judge=False), None)
                learned = judged = version
                continue
            self._tell_share(0.0, "learning")
            overdue = time.monotonic() - last_judged > PATIENCE
            # Errors are those of the full bank.
            judge = self._is_final and (version == learned or seconds < 1.0 or overdue)
            begun = time.monotonic()
            guesses = engine.learn(labels, judge=judge)
            if judge:
                seconds = time.monotonic() - begun
            # With the same labels, judging changes confidences but not the questions.
            order = None if version == learned else engine.next_rows(labels, banned)
            self.tell("learned", version, guesses, order)
            learned = version
            if guesses is not None and len(labels) >= TELLING and not told:
                told = True
                self.tell("effects", engine.effects())
            if judge or guesses is None or not self._is_final:
                judged = version
            if not judge or guesses is None:
                continue
            last_judged = time.monotonic()
            self.tell("judged", version, engine.judgement())
            if len(labels) >= n_suspected + SUSPECT_EVERY and self._version == version:
                self.tell("suspects", engine.suspects())
                n_suspected = len(labels)

    def _is_idle(self, learned: int, judged: int) -> bool:
        if self._refined is not None or (self._requests and self._is_final):
            return False
        return learned == self._version == judged

    def _answer(self, engine: Any, request: Message) -> None:
        _, number, *content = request
        try:
            result = engine.export(
                *content[:2],
                lambda share, text: self.tell("status", f"export: {text}", share),
                *content[2:],
            )
            self.tell("answer", number, result, None)
        except Exception as error:
            self.tell("answer", number, None, _said(error))


def _said(error: Exception) -> str:
    known = isinstance(error, ValueError | ImportError)
    return str(error) if known else f"{type(error).__name__}: {error}"


def _read(data: bytes, name: str, **reading: Any) -> Any:
    """Read the parent's bytes in the same way."""
    from fewlabels.tabular import read_table

    file = io.BytesIO(data)
    file.name = name
    return read_table(file, **reading)


def main() -> None:
    """Run the child."""
    from fewlabels._threads import serial_blas

    # Nothing printed may get into the pipe.
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if hasattr(os, "nice"):
        os.nice(5)
    child = _Child(inbox, outbox)
    try:
        # Two threads compute; if one lifts the limit on threads, as scikit-learn does,
        # the other's results would be rounded differently.
        with serial_blas(2):
            child.run()
    except Exception as error:
        child.tell("failed", _said(error), traceback.format_exc())
        threading.Event().wait()  # the parent decides when to leave


if __name__ == "__main__":
    main()
