"""The page in a real browser: the system's Chromium, driven by Playwright.

With FEWLABELS_PICTURES set to a folder, the pictures of the guide are written there.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_wine

try:
    from playwright import sync_api as playwright
except ImportError:
    playwright = None
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = os.environ.get("FEWLABELS_CHROMIUM") or next(
    filter(None, map(shutil.which, BROWSERS)), None
)
PICTURES = os.environ.get("FEWLABELS_PICTURES")

needs_chromium = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this system"),
    pytest.mark.skipif(
        playwright is None, reason="needs the extra test-studio (playwright)"
    ),
]

WINE = load_wine()
CULTIVARS = ["Barolo", "Grignolino", "Barbera"]
# A shuffled table, so that its order tells nothing.
ORDER = [(k * 67) % 178 for k in range(178)]
TRUTH = [CULTIVARS[WINE.target[k]] for k in ORDER]


def write_wines(path):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(["bottle", *WINE.feature_names, "cultivar"])
        for row, k in enumerate(ORDER):
            writer.writerow([f"B{row + 1:04d}", *WINE.data[k], ""])
    return path


class Server:
    """`fewlabels studio` in a process of its own."""

    def __init__(self, table, target, *options):
        self.table = table
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "fewlabels", "studio", str(table)),
                *("--target", target, "--no-browser", "--quiet", *options),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://127.0.0.1:")

    def labels(self):
        """What the journal holds, as the next start would see it."""
        path = self.table.parent / f"{self.table.stem}.labels.jsonl"
        found, actions = {}, {}
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if entry.get("do") in ("label", "skip", "clear"):
                actions[entry["key"]] = entry
            if entry.get("do") == "undo":
                actions.pop(entry["of"], None)
        for entry in actions.values():
            each = entry.get("labels") or [entry["label"]] * len(entry["rows"])
            for (place, *_), label in zip(entry["rows"], each, strict=True):
                found[place - 1] = label
        return {row: label for row, label in found.items() if label}

    def children(self):
        """Processes that it has started."""
        pid = self.process.pid
        return (
            Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
        )

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(20)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def wines(tmp_path_factory):
    server = Server(write_wines(tmp_path_factory.mktemp("w") / "wines.csv"), "cultivar")
    yield server
    server.stop()


@pytest.fixture
def servers():
    """Start servers, which end after the pages are closed: name this first."""
    started = []

    def start(*arguments):
        started.append(Server(*arguments))
        return started[-1]

    yield start
    for server in started:
        if server.process.poll() is None:
            server.stop()


@pytest.fixture
def pages(chromium):
    """Open pages; none of them may complain on its console."""
    complaints, contexts = [], []

    def open_page(address, *, width=1280, height=860, dark=False, **options):
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda m: complaints.append(m.text) if m.type != "log" else None,
        )
        page.goto(address)
        page.wait_for_selector(".card")
        return page

    open_page.complaints = complaints
    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


def row_of(page):
    text = page.locator("#card-title").inner_text()
    return int(text.removeprefix("Row ").replace(",", "")) - 1


def press(page, key):
    """Press a key, and wait for the next card."""
    before = row_of(page)
    if key == "Enter":  # which accepts no guess that has only just appeared
        page.wait_for_timeout(450)
    page.keyboard.press(key)
    page.wait_for_function(
        "n => document.querySelector('#card-title')?.textContent !== n",
        arg=f"Row {before + 1:,}",
    )


def type_class(page, name):
    before = row_of(page)
    page.keyboard.press("/")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.wait_for_function(
        "n => document.querySelector('#card-title')?.textContent !== n",
        arg=f"Row {before + 1:,}",
    )


def shown_classes(page):
    return page.locator(".classes .class .name").all_inner_texts()


def label_truly(page, truth, n):
    """Answer n questions, by keys where the class has one."""
    for _ in range(n):
        name = truth[row_of(page)]
        key = keys_of(page).get(name)
        guess = page.locator(".guess:not(:has([data-fresh])) #guess")
        if guess.count() and guess.inner_text() == name:
            press(page, "Enter")
        elif key:
            press(page, key)
        else:
            type_class(page, name)


def keys_of(page):
    """Which key stands for which class, as the buttons say."""
    buttons = page.locator(".class").all()
    return {
        b.get_attribute("data-class"): b.get_attribute("aria-keyshortcuts")
        for b in buttons
    }


def up_to_date(page):
    page.wait_for_function(
        "() => document.getElementById('busy').textContent === 'up to date'",
        timeout=240_000,
    )


# Where the lowest thing on the page ends.
BOTTOM = """Math.max(...[...document.querySelectorAll("main *")]
    .filter(e => !e.children.length || e.matches("canvas, svg"))
    .map(e => e.getBoundingClientRect().bottom))"""


def picture(page, name):
    """Photograph the page, without the empty part below."""
    if PICTURES:
        page.wait_for_timeout(300)
        size = page.viewport_size
        height = min(size["height"], page.evaluate(BOTTOM) + 40)
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height}
        page.screenshot(path=str(Path(PICTURES, f"{name}.png")), clip=clip)


def accessible(page):
    """Check a view with axe."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    wrong = [(v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in found]
    assert not wrong, wrong
