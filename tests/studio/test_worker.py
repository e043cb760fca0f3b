"""The process that learns, spoken to as the server does, without server or browser."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import pickle
import queue
import subprocess
import sys

import numpy as np
import pytest

from fewlabels.studio._worker import Worker

SIZES = [1.0, 1.1, 1.2, 1.3, 1.4, 9.0, 9.1, 9.2, 9.3, 9.4]
TABLE = ("size,kind\n" + "".join(f"{size},\n" for size in SIZES)).encode()
START = (
    TABLE,
    {"name": "t.csv"},
    {"target": "kind", "task": "classes", "bank": "fast"},
)
SMALL, LARGE = {0: "small", 1: "small"}, {5: "large", 6: "large"}


class Talk:
    """A worker, and what it says."""

    def __init__(self, *start):
        self._said = queue.Queue()
        self.worker = Worker(self._said.put)
        if start:
            self.worker.send("start", *start)

    def hear(self, kind, *content):
        """Wait for a message; what is said before it does not matter."""
        while True:
            message = self._said.get(timeout=60)
            if message[0] == kind and message[1 : 1 + len(content)] == content:
                return message
            assert message[0] not in ("failed", "ended"), message


@pytest.fixture(scope="module")
def talk():
    talk = Talk(*START)
    talk.worker.send("labels", 0, {}, set())
    yield talk
    talk.worker.stop()


def guessed(message):
    guesses = message[2]
    return [guesses.classes[code] for code in guesses.codes[:, 0]]


def test_it_begins_with_rows_that_cover_the_table(talk):
    _, version, rows, by = talk.hear("order")
    assert (version, by) == (0, "cover")
    assert sorted(rows) == list(range(10))
    _, codes, depth = talk.hear("groups")
    assert len(codes) == len(depth) == 10
    assert talk.hear("layout")[1].shape == (10, 2)


def test_labels_become_guesses_errors_and_questions(talk):
    talk.worker.send("labels", 1, SMALL | LARGE, {2})
    message = talk.hear("learned", 1)
    assert guessed(message) == ["small"] * 5 + ["large"] * 5
    assert np.allclose(message[2].shares.sum(axis=1), 1, atol=1e-3)
    assert set(message[3]) <= {3, 4, 7, 8, 9}  # neither labelled nor skipped
    judgement = talk.hear("judged", 1)[2]
    assert judgement["labels"] == 4
    assert judgement["error"]["low"] <= judgement["error"]["high"]
    talk.hear("status", "ready")


def test_the_newest_labels_are_learned_whatever_came_before(talk):
    for version in range(2, 40):
        talk.worker.send("labels", version, SMALL | LARGE | {9: "large"}, set())
    swapped = {0: "large", 1: "large", 5: "small", 6: "small"}
    talk.worker.send("labels", 40, swapped, set())
    message = talk.hear("learned", 40)
    assert guessed(message) == ["large"] * 5 + ["small"] * 5


def test_taking_labels_back_ends_the_guesses(talk):
    talk.worker.send("labels", 41, SMALL, set())
    assert talk.hear("learned", 41)[2] is None
    talk.worker.send("labels", 42, {}, set())
    assert talk.hear("learned", 42)[2] is None


def test_exports(talk):
    talk.worker.send("export", 7, "table", SMALL | LARGE, "fewlabels studio t.csv")
    _, _, data, error = talk.hear("answer", 7)
    lines = data.decode().splitlines()
    assert error is None
    assert lines[1].endswith(",given")
    assert [line.split(",")[2] for line in lines[1:]] == ["small"] * 5 + ["large"] * 5
    # What cannot be done is said, and the worker goes on.
    talk.worker.send("export", 8, "table", SMALL, "")
    _, _, data, error = talk.hear("answer", 8)
    assert data is None
    assert error
    talk.worker.send("labels", 43, SMALL | LARGE, set())
    talk.hear("learned", 43)


def test_a_table_that_cannot_be_learned_is_told():
    data = b"kind\n" + b"\n" * 5
    talk = Talk(data, {"name": "t.csv"}, {"target": "kind"})
    while (message := talk._said.get(timeout=60))[0] != "failed":
        assert message[0] != "ended", message
    assert message[1]
    talk.worker.stop()


def test_a_worker_that_was_killed_is_told():
    talk = Talk()
    talk.worker._process.kill()
    what, code = talk._said.get(timeout=60)
    assert what == "ended"
    assert code != 0
    talk.worker.send("labels", 0, {}, set())  # goes nowhere
    talk.worker.stop()


@pytest.mark.parametrize("cut", [0, 5])
def test_it_ends_with_its_parent(cut):
    """Also if that was killed within a message."""
    code = "from fewlabels.studio._worker import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    message = pickle.dumps(("labels", 0, {}, set()))
    process.stdin.write(message + message[:cut])
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()


def test_what_is_printed_does_not_get_into_the_pipe():
    code = (
        "from fewlabels.studio import _worker\n"
        "def loud(self):\n"
        "    print('noise', flush=True)\n"
        "    self.tell('status', 'fine', 1.0)\n"
        "    raise KeyError('x')\n"
        "_worker._Child.run = loud\n"
        "_worker.main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE),
    )
    assert pickle.load(process.stdout) == ("status", "fine", 1.0)
    assert pickle.load(process.stdout)[:2] == ("failed", "KeyError: 'x'")
    _, noise = process.communicate()
    assert noise.decode().split(os.linesep)[0] == "noise"
