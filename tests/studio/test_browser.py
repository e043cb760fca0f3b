"""The whole story of labelling a table, in a real browser."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import json
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from sklearn.datasets import load_digits

from tests.studio.browsing import (
    CULTIVARS,
    TRUTH,
    accessible,
    keys_of,
    label_truly,
    needs_chromium,
    picture,
    press,
    row_of,
    shown_classes,
    type_class,
    up_to_date,
    write_wines,
)

pytestmark = needs_chromium


def test_a_journal_that_is_deleted(servers, pages, tmp_path):
    table = tmp_path / "wines.csv"
    server = servers(write_wines(table), "cultivar", "--class", ",".join(CULTIVARS))
    page = pages(server.address)
    path = tmp_path / "wines.labels.jsonl"
    banner = page.locator("[data-banner=notice]")
    press(page, "1")
    press(page, "2")
    assert banner.count() == 0
    path.unlink()
    press(page, "3")
    banner.wait_for()
    assert "deleted or emptied wines.labels.jsonl" in banner.inner_text()
    assert len(server.labels()) == 3
    accessible(page)
    picture(page, "deleted")
    banner.get_by_role("button", name="OK").click()
    assert banner.count() == 0
    press(page, "1")
    assert (banner.count(), len(server.labels())) == (0, 4)

    # An answer that cannot be saved is refused: the card stays, and so does the count.
    path.unlink()
    path.mkdir()
    before = row_of(page)
    page.keyboard.press("1")
    banner.wait_for()
    assert "Is a directory" in banner.inner_text()
    assert row_of(page) == before
    assert page.locator("#n-labels").inner_text() == "4"
    picture(page, "refused")
    path.rmdir()
    page.wait_for_function(
        "() => document.querySelector('[data-banner=notice]')"
        ".textContent.includes('written to it again')"
    )
    assert len(server.labels()) == 4
    pages.complaints[:] = [c for c in pages.complaints if "507" not in c]


def test_a_table_is_labelled_from_nothing(pages, wines, tmp_path):
    page = pages(wines.address, accept_downloads=True)
    assert "No guess yet" in page.inner_text(".guess")
    picture(page, "first")
    label_truly(page, TRUTH, 9)
    assert set(shown_classes(page)) == set(CULTIVARS)
    up_to_date(page)
    label_truly(page, TRUTH, 8)
    up_to_date(page)
    assert page.locator("#guess").inner_text() in CULTIVARS
    assert wines.labels() == {r: TRUTH[r] for r in wines.labels()}
    assert len(wines.labels()) == 17
    picture(page, "ask")
    accessible(page)

    # Undo brings the row back, and its label is gone from the journal.
    before = row_of(page)
    press(page, "1")
    page.keyboard.press("u")
    page.wait_for_function(
        "n => document.querySelector('#card-title').textContent === n",
        arg=f"Row {before + 1:,}",
    )
    assert len(wines.labels()) == 17

    # Not sure: another row, no label.
    press(page, "s")
    assert len(wines.labels()) == 17

    # The history lets one change any label, here with the mouse.
    page.keyboard.press("h")
    page.wait_for_selector(".entry")
    accessible(page)
    picture(page, "history")
    page.locator(".entry").nth(3).click()
    page.wait_for_selector(".class[aria-pressed=true]")
    row = row_of(page)
    was = page.locator(".class[aria-pressed=true] .name").inner_text()
    other = next(name for name in CULTIVARS if name != was)
    page.locator(".class", has_text=other).click()
    page.wait_for_selector(".class[aria-pressed=true]", state="detached")
    assert wines.labels()[row] == other
    page.keyboard.press("u")
    page.wait_for_selector(".class[aria-pressed=true]")
    assert wines.labels()[row] == was


def mark_odd(page, truth):
    """Click the tiles of other classes than the one that is proposed."""
    rows = [int(t.get_attribute("data-row")) for t in page.locator(".tile").all()]
    guess = page.locator(".choose .class[aria-pressed=true] .name").inner_text()
    odd = [row for row in rows if truth[row] != guess] or rows[:1]
    for row in odd:
        page.locator(f".tile[data-row='{row}']").click()
    return rows, odd, guess


def test_many_at_once(pages, wines):
    page = pages(wines.address)
    up_to_date(page)
    known = wines.labels()
    page.keyboard.press("g")
    page.wait_for_selector(".tile")
    accessible(page)
    rows, odd, guess = mark_odd(page, TRUTH)
    page.keyboard.press("Tab")  # a focused tile must not swallow the key
    page.locator("#label-all").click()
    page.wait_for_function(
        "r => !document.querySelector(`[data-row='${r}']`)", arg=rows[-1]
    )
    new = set(wines.labels()) - set(known)
    assert new == set(rows) - set(odd)
    assert all(wines.labels()[row] == guess for row in new)
    page.keyboard.press("u")
    page.wait_for_selector("#toast:has-text('Undone')")
    page.wait_for_selector(".tile")
    assert wines.labels() == known


def test_map(pages, wines):
    page = pages(wines.address)
    page.keyboard.press("m")
    page.wait_for_selector(".map canvas", timeout=240_000)
    page.wait_for_selector(".legend .chip")
    page.wait_for_timeout(300)
    accessible(page)
    picture(page, "map")
    page.get_by_role("button", name="Confidence").click()
    picture(page, "confidence")
    page.locator(".map-tools").get_by_role("button", name="Classes").click()
    known = wines.labels()
    box = page.locator(".map canvas").bounding_box()
    page.keyboard.press("l")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for dx, dy in ((-500, 0), (-500, 320), (0, 320), (0, 0)):
        page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()
    page.wait_for_selector(".selected")
    picture(page, "lasso")
    chosen = int(page.locator(".selected strong").inner_text().split()[0])
    assert chosen > 0
    page.locator(".selected .class").first.click()
    page.wait_for_selector(".selected", state="detached")
    assert len(wines.labels()) == len(known) + chosen
    page.keyboard.press("u")
    page.wait_for_selector("#toast:has-text('Undone')")
    assert wines.labels() == known
    # A click opens the card; zooming and moving keep on drawing.
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("button", name="Fit").click()
    page.wait_for_timeout(300)
    spot = page.evaluate(
        """async () => {
        const data = new Float32Array(await (await fetch('api/map')).arrayBuffer());
        return [data[0], data[1]];
    }"""
    )
    assert all(0 <= value <= 1 for value in spot)
    canvas = page.locator(".map canvas").bounding_box()
    for step in range(0, 400, 6):  # along the diagonal there is a row somewhere
        page.mouse.move(canvas["x"] + 200 + 2 * step, canvas["y"] + 80 + step)
        if page.locator("#tip:not([hidden])").count():
            break
    page.keyboard.press("l") if page.locator("canvas.lasso").count() else None
    page.mouse.down()
    page.mouse.up()
    page.wait_for_selector(".card")


def test_how_good_it_is_and_what_comes_out(pages, wines, tmp_path):
    page = pages(wines.address, accept_downloads=True)
    label_truly(page, TRUTH, 6)
    up_to_date(page)
    page.keyboard.press("q")
    page.wait_for_selector(".curve")
    assert page.locator("#error").inner_text().endswith("%")
    assert page.locator("tbody tr").count() == 3
    accessible(page)
    picture(page, "quality")
    page.keyboard.press("e")
    page.wait_for_selector(".file")
    accessible(page)
    picture(page, "files")
    saved = {}
    for what in ("table", "model", "report", "label-studio"):
        with page.expect_download(timeout=240_000) as download:
            page.locator(f".file[data-what={what}]").click()
        saved[what] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[what])
    assert [p.name for p in saved.values()] == [
        "wines_labelled.csv",
        "wines.fewlabels",
        "wines_report.html",
        "wines_label_studio.json",
    ]
    # The same bytes, and three columns behind them.
    before = wines.table.read_bytes().split(b"\r\n")
    after = saved["table"].read_bytes().split(b"\r\n")
    assert len(before) == len(after)
    assert all(new.startswith(old) for new, old in zip(after, before, strict=True))
    assert after[0].endswith(b",cultivar_predicted,cultivar_confidence,cultivar_source")
    with saved["table"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    right = [r["cultivar_predicted"] == t for r, t in zip(rows, TRUTH, strict=True)]
    assert sum(right) > 0.9 * len(right)
    given = {k for k, r in enumerate(rows) if r["cultivar_source"] == "given"}
    assert given == set(wines.labels())
    tasks = json.loads(saved["label-studio"].read_text())
    assert sum(bool(t["annotations"]) for t in tasks) == len(given)
    assert saved["report"].read_text().startswith("<!DOCTYPE html>")


def test_two_tabs(pages, wines):
    first, second = pages(wines.address), pages(wines.address)
    assert row_of(first) != row_of(second)
    before = int(second.inner_text("#n-labels"))
    label_truly(first, TRUTH, 1)
    second.wait_for_function(
        "n => document.getElementById('n-labels').textContent === n",
        arg=str(before + 1),
    )
    label_truly(second, TRUTH, 1)
    first.wait_for_function(
        "n => document.getElementById('n-labels').textContent === n",
        arg=str(before + 2),
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_telephone(pages, wines, dark):
    page = pages(wines.address, width=390, height=844, dark=dark, has_touch=True)
    for view in ("ask", "grid", "map", "quality"):
        page.locator(f"#tab-{view}").click()
        page.wait_for_selector(
            {"ask": ".card", "grid": ".tile", "map": "canvas"}.get(view, ".panel")
        )
        page.wait_for_timeout(200)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, view
        accessible(page)
        if dark:
            picture(page, f"phone-{view}")
    page.locator("#tab-ask").tap()
    buttons = page.locator(".class").all()
    assert all(b.bounding_box()["height"] >= 40 for b in buttons)


def test_digits_as_pictures(servers, pages, tmp_path):
    digits = load_digits()
    truth = [str(t) for t in digits.target[:400]]
    table = tmp_path / "digits.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"p{k}" for k in range(64)), "digit"])
        for values in digits.data[:400].astype(int):
            writer.writerow([*values, ""])
    options = ("--image", "8x8", "--class", ",".join("0123456789"))
    server = servers(table, "digit", *options)
    page = pages(server.address)
    assert page.locator("canvas.pixels").count() == 1
    label_truly(page, truth, 12)
    # Digits are on their own keys, and any class is found by searching.
    assert keys_of(page) == {name: name for name in "0123456789"}
    page.keyboard.press("/")
    page.keyboard.type("9")
    assert page.locator("[role=option]").all_inner_texts() == ["9"]
    page.keyboard.press("Escape")
    up_to_date(page)
    picture(page, "digits")
    page.keyboard.press("g")
    page.wait_for_selector(".tile canvas.pixels")
    accessible(page)
    mark_odd(page, truth)
    picture(page, "grid")
    assert server.labels() == {row: truth[row] for row in server.labels()}
    assert len(server.labels()) == 12


def test_killed_between_a_key_and_its_answer(servers, pages, tmp_path):
    table = write_wines(tmp_path / "wines.csv")
    server = servers(table, "cultivar", "--class", ",".join(CULTIVARS))
    page = pages(server.address)
    confirmed = {}
    for _ in range(3):
        row = row_of(page)
        press(page, "1")
        confirmed[row] = "Barolo"
    children = server.children()
    page.keyboard.press("2")
    server.stop(signal.SIGKILL)
    page.wait_for_selector("[data-banner=lost]")
    page.context.close()
    pages.complaints.clear()  # a lost connection is written to the console
    server = servers(table, "cultivar")
    assert confirmed.items() <= server.labels().items()
    page = pages(server.address)
    assert int(page.inner_text("#n-labels")) == len(server.labels()) in (3, 4)
    press(page, "1")
    assert len(server.labels()) >= 4
    assert table.read_bytes() == write_wines(tmp_path / "again.csv").read_bytes()
    # The process that learns has gone with the one that was killed.
    assert children
    assert not any(is_running(child) for child in children)


def is_running(pid):
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text(
            encoding="utf-8"
        )
    except OSError:
        return False


EVIL = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"


def test_cells_and_classes_are_text(servers, pages, tmp_path):
    table = tmp_path / "evil.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([EVIL, "text", "kind"])
        for k in range(30):
            writer.writerow([k, f"{EVIL} שלום 木 {k % 2}", EVIL if k == 3 else ""])
    server = servers(table, "kind")
    page = pages(server.address)
    type_class(page, '"><svg onload=window.hacked=1>')
    press(page, "1")
    type_class(page, "木")
    for key, wanted in (
        ("g", ".tile"),
        ("m", "canvas"),
        ("q", ".panel"),
        ("a", ".card"),
    ):
        page.keyboard.press(key)
        page.wait_for_selector(wanted, timeout=240_000)
    page.keyboard.press("h")
    page.wait_for_selector(".entry")
    assert EVIL in page.inner_text(".entry")
    page.keyboard.press("Escape")
    assert page.evaluate("window.hacked") is None
    assert EVIL in page.inner_text(".card")
    # Not even a script that got into the page would run.
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'),"
        " {textContent: 'window.hacked = 1'}))"
    )
    assert page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in c for c in pages.complaints)
    pages.complaints.clear()


def test_other_sites_are_refused(pages, wines, chromium):
    """Even one that has learned the token."""
    attack = f"""<!doctype html><meta charset=utf-8>
    <form method=post target=f action="{wines.address}api/undo" enctype="text/plain">
    <input name='{{"a":"' value='"}}'></form><iframe name=f></iframe>
    <script>
    const body = JSON.stringify({{rows: [0], label: "evil"}});
    fetch("{wines.address}api/label", {{method: "POST", mode: "no-cors", body}})
      .finally(() => {{ document.forms[0].submit(); document.title = "done"; }});
    </script>"""

    class Evil(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(attack.encode())

        def log_message(self, *args):
            pass

    site = HTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    known = wines.labels()
    context = chromium.new_context()
    try:
        page = context.new_page()
        statuses = []  # of an answer that the page may not see, there is none
        page.on("response", lambda r: statuses.append((r.request.method, r.status)))
        page.on("requestfailed", lambda r: statuses.append((r.method, 403)))
        page.goto(f"http://localhost:{site.server_port}/")
        page.wait_for_function("() => document.title === 'done'")
        deadline = time.monotonic() + 10
        while len([s for s in statuses if s[0] == "POST"]) < 2:
            page.wait_for_timeout(50)
            assert time.monotonic() < deadline
        assert {status for method, status in statuses if method == "POST"} == {403}
    finally:
        context.close()
        site.shutdown()
        site.server_close()
    assert wines.labels() == known
