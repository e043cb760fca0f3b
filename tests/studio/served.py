"""A studio in this process, and what asks it as the page does."""

# SPDX-License-Identifier: BSD-3-Clause

import http.client
import json
import os
import time

import pytest

from fewlabels.studio import _run

TABLE = "size,word,kind,pic\n" + "".join(
    f"{k},<script>alert({k})</script>,{'old' if k == 9 else ''},p.png\n"
    for k in range(10)
)
posix = pytest.mark.skipif(
    os.name == "nt", reason="Windows lets nobody delete a file that is open"
)
PNG = b"\x89PNG\r\n\x1a\n rest"


class Silent:
    """Stands for the process that learns, and keeps what it is sent."""

    def __init__(self, receive):
        self.receive, self.sent = receive, []

    def send(self, *message):
        self.sent.append(message)

    def stop(self):
        pass


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "p.png").write_bytes(PNG)
    return tmp_path


@pytest.fixture
def studio(folder, monkeypatch):
    monkeypatch.setattr(_run, "Worker", Silent)
    studio = _run.Studio(folder / "t.csv", "kind", classes=["new"]).start()
    yield studio
    studio.stop()


class Browser:
    """Asks as the page does; any header can be another one."""

    def __init__(self, studio):
        _, _, self.host, self.token, _ = studio.address.split("/")

    def ask(self, path, body=None, *, headers=(), token=None, raw=None):
        connection = http.client.HTTPConnection(self.host, timeout=10)
        sent = {"Host": self.host, "Origin": f"http://{self.host}"} | dict(headers)
        data = raw if body is None else json.dumps(body).encode()
        connection.request(
            "GET" if data is None else "POST",
            f"/{self.token if token is None else token}/{path}",
            data,
            {k: v for k, v in sent.items() if v is not None},
        )
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.headers.get("content-type") == "application/json":
            content = json.loads(content)
        return answer.status, content, answer.headers


@pytest.fixture
def browser(studio):
    return Browser(studio)


def until(check):
    for _ in range(200):
        if check():
            return True
        time.sleep(0.02)
    return False
