"""A server for a group: passphrases, TLS, a reverse proxy, and the interface."""

# SPDX-License-Identifier: BSD-3-Clause

import http.client
import json
import shutil
import socket
import ssl
import stat
import subprocess

import pytest

from fewlabels.studio import _login, _run
from fewlabels.studio._guard import Access, Guard
from tests.studio.served import Browser, Silent

SITE = "https://labels.example.org"


@pytest.fixture
def start(folder, monkeypatch):
    monkeypatch.setattr(_run, "Worker", Silent)
    started = []

    def run(**options):
        started.append(_run.Studio(folder / "t.csv", "kind", **options).start())
        return started[-1]

    yield run
    for studio in started:
        if studio._thread.is_alive():
            studio.stop()


class Person:
    """Somebody with a browser, which keeps cookies."""

    def __init__(self, studio, base="", **headers):
        port = studio.server.socket.getsockname()[1]
        self.host, self.base = f"127.0.0.1:{port}", base
        self.headers = {"Origin": f"http://{self.host}"} | headers

    def ask(self, path, body=None):
        connection = http.client.HTTPConnection(self.host, timeout=10)
        data = None if body is None else json.dumps(body)
        method = "GET" if body is None else "POST"
        connection.request(method, f"{self.base}/{path}", data, self.headers)
        answer = connection.getresponse()
        content = answer.read()
        cookie = answer.headers.get("set-cookie")
        if cookie:
            self.headers["Cookie"] = cookie.partition(";")[0]
            self.cookie = cookie
        connection.close()
        return answer.status, content


def test_people_log_in_and_labels_have_their_names(start, folder):
    studio = start(people=["Ann", "Ben Ö."], port=0)
    phrases = dict(studio.server.passphrases)
    assert [*phrases] == ["Ann", "Ben Ö."]
    ann = Person(studio)
    status, page = ann.ask("")
    assert (status, b'id="login"' in page) == (200, True)
    for path in ("api/state", "main.js", "index.html", "api/card/0", "picture/0/0"):
        assert ann.ask(path)[0] == 401, path
    assert ann.ask("api/label", {"rows": [0], "label": "new"})[0] == 401
    assert ann.ask("api/login", {"name": "Ann", "passphrase": "wrong"})[0] == 403
    assert ann.ask("api/login", {"name": "Eve", "passphrase": "wrong"})[0] == 403
    assert ann.ask("api/login", {"name": "Ann", "passphrase": phrases["Ann"]})[0] == 200
    assert "HttpOnly" in ann.cookie
    assert "SameSite=strict" in ann.cookie
    assert b'id="view"' in ann.ask("")[1]
    # Nobody can give another name than their own.
    body = {"rows": [0], "label": "new", "by": "Ben Ö."}
    assert ann.ask("api/label", body)[0] == 200
    assert studio.store.current(0).by == "Ann"
    ben = Person(studio)
    ben.ask("api/login", {"name": "Ben Ö.", "passphrase": phrases["Ben Ö."].upper()})
    assert json.loads(ben.ask("api/people")[1])["me"] == "Ben Ö."
    # A forged or altered cookie is worth nothing.
    name, _, rest = ann.headers["Cookie"].partition("=")
    for forged in (rest[:-1] + "0", "QmVuIMOWLg==." + rest.partition(".")[2], "x.y.z"):
        other = Person(studio, Cookie=f"{name}={forged}")
        assert other.ask("api/state")[0] == 401
    # Logins and passphrases survive a restart; no passphrase is on disk.
    studio.stop()
    held = folder / "t.studio-secrets.json"
    assert stat.S_IMODE(held.stat().st_mode) == 0o600
    assert not any(phrase in held.read_text() for phrase in phrases.values())
    studio = start(people=["Ann"])
    assert studio.server.passphrases == {}
    again = Person(studio, Cookie=ann.headers["Cookie"])
    assert again.ask("api/state")[0] == 200
    gone = Person(studio, Cookie=ben.headers["Cookie"])
    assert gone.ask("api/state")[0] == 401
    assert again.ask("api/logout", {})[0] == 200
    assert again.ask("api/state")[0] == 401


def test_passphrases_cannot_be_tried_at_will(start, monkeypatch):
    studio = start(people=["Ann"])
    person = Person(studio)
    for _ in range(5):
        assert person.ask("api/login", {"name": "Ann", "passphrase": "x"})[0] == 403
    right = {"name": "Ann", "passphrase": studio.server.passphrases["Ann"]}
    assert person.ask("api/login", right)[0] == 429
    monkeypatch.setattr(_login, "_WINDOW", 0.0)
    assert person.ask("api/login", right)[0] == 200
    for wrong in ({}, {"name": 3}, {"name": "Ann", "passphrase": ["x"]}):
        assert person.ask("api/login", wrong)[0] in (400, 403)


def test_an_address_that_stays(start):
    first = start(keep_address=True)
    token = first.server.token
    first.stop()
    second = start(keep_address=True)
    assert second.server.token == token
    second.stop()
    assert start().server.token != token  # by default it is new each time


def test_behind_a_reverse_proxy(start):
    studio = start(site=SITE, base_path="/wines")
    base = f"/wines/{studio.server.token}"
    assert studio.address == f"{SITE}{base}/"
    proxied = {"Host": "labels.example.org", "Origin": SITE}
    person = Person(studio, base, **proxied)
    assert person.ask("api/state")[0] == 200
    assert person.ask("api/label", {"rows": [0], "label": "new"})[0] == 200
    for headers in (
        {"Host": "labels.example.org", "Origin": "http://labels.example.org"},
        {"Host": "labels.example.org", "Origin": "https://evil.example"},
        {"Host": "evil.example", "Origin": SITE},
    ):
        other = Person(studio, base, **headers)
        assert other.ask("api/label", {"rows": [1], "label": "new"})[0] == 403
    assert Person(studio, "", **proxied).ask("api/state")[0] == 403
    assert Person(studio, "/wines", **proxied).ask("api/state")[0] == 403


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_tls(start, tmp_path):
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    files = {"certificate": str(certificate), "key": str(key)}
    studio = start(people=["Ann"], **files)
    assert studio.address.startswith("https://127.0.0.1:")
    port = studio.server.socket.getsockname()[1]
    trusted = ssl.create_default_context(cafile=str(certificate))
    host = f"localhost:{port}"
    connection = http.client.HTTPSConnection(host, timeout=10, context=trusted)
    body = {"name": "Ann", "passphrase": studio.server.passphrases["Ann"]}
    headers = {"Origin": f"https://{host}"}
    connection.request("POST", "/api/login", json.dumps(body), headers)
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200
    assert "Secure" in answer.headers["set-cookie"]
    assert answer.headers["strict-transport-security"]
    headers = {"Origin": f"http://{host}"}
    connection.request("POST", "/api/login", json.dumps(body), headers)
    assert connection.getresponse().status == 403
    connection.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"people": ("Ann",), "host": "0.0.0.0"}, "unencrypted"),
        ({"people": ("Ann",), "host": "0.0.0.0", "site": "http://x.org"}, "unencr"),
        ({"certificate": "c.pem"}, "needs both"),
        ({"certificate": "no.pem", "key": "no.pem"}, "Cannot read"),
        ({"base_path": "wines"}, "beginning of a path"),
        ({"base_path": "/a/../b?"}, "beginning of a path"),
        ({"site": "labels.example.org"}, "not an origin"),
        ({"site": "https://x.org/path"}, "not an origin"),
    ],
)
def test_what_is_not_safe_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Access(**options)


def test_the_address_of_all_interfaces_is_one_that_works():
    shown = Access("0.0.0.0").origin(8000)
    name = shown.removeprefix("http://").removesuffix(":8000")
    assert name not in ("0.0.0.0", "")
    guard = Guard(None, "t", Access("0.0.0.0"))
    scope = {"headers": [(b"host", f"{name}:8000".encode())], "path": "/t/"}
    assert not guard.refusal({**scope, "method": "GET"})
    with socket.socket() as listening:
        listening.bind(("0.0.0.0", 0))
        listening.listen(1)
        socket.create_connection((name, listening.getsockname()[1]), 5).close()


def test_the_interface_is_described(browser, studio):
    found = browser.ask("api/openapi.json")[1]
    assert found["openapi"].startswith("3.1")
    paths = {route.path.replace(":int", "") for route in studio.server.app.routes()}
    wanted = {p for p in paths if p.startswith(("/api/", "/picture/"))}
    assert set(found["paths"]) == wanted
    for path, methods in found["paths"].items():
        for method, entry in methods.items():
            assert entry["summary"].endswith("."), path
            own = path not in ("/api/import", "/api/take_over", "/api/columns")
            if method == "post" and own and "check" not in path:
                assert "requestBody" in entry, path
    names = [e["operationId"] for m in found["paths"].values() for e in m.values()]
    assert len(names) == len(set(names))
    assert b"api.js" in browser.ask("api.html")[1]


def test_two_servers_do_not_share_cookies(start, folder):
    first = start(people=["Ann"], store=folder / "a.labels.jsonl")
    second = start(people=["Ann"], store=folder / "b.labels.jsonl")
    person = Person(first)
    phrase = first.server.passphrases["Ann"]
    person.ask("api/login", {"name": "Ann", "passphrase": phrase})
    other = Person(second, Cookie=person.headers["Cookie"])
    assert other.ask("api/state")[0] == 401
    assert Browser(start(store=folder / "c.labels.jsonl")).ask("api/state")[0] == 200
