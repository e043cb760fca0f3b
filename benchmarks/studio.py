"""What a labelling session costs, and what it saves.

    python benchmarks/studio.py labels [TABLES]   # answers that 50 random labels cost
    python benchmarks/studio.py speed             # key press to next card
    python benchmarks/studio.py first             # label to first guess, key to card

`labels` answers the questions of the studio with the truth, and counts answers until
the rows without a label are labelled as well as by 50 random labels, in the median of
ten draws. TABLES is a folder of tables as CSV with a column "target"; wine and digits
come with scikit-learn. `speed` drives the page in Chromium at 20,000 rows and 64
columns, while the classifier learns. `first` labels one row per second in tables of
2,000 and 20,000 rows and 20 columns, and measures how long the first guess takes after
two classes have labels, and the next card after a key. All write to benchmarks/results.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"
RANDOM_LABELS, DRAWS, LIMIT = 50, 10, 100
TABLES = ("penguins_raw", "authorship", "lymph")


def _sets(folder):
    from sklearn.datasets import load_digits, load_wine

    from fewlabels.tabular import Table, read_table

    wine, digits = load_wine(), load_digits()
    for name, data in (("wine", wine), ("digits", digits)):
        yield name, Table.from_frame(data.data), data.target.astype(str)
    for name in TABLES if folder else ():
        table = read_table(Path(folder, f"{name}.csv.gz"))
        yield name, table.without(["target"]), np.array(table["target"], dtype=str)


def _engine(table, seed):
    from fewlabels.studio._engine import Engine
    from fewlabels.tabular.setup import TableSetup

    engine = Engine(table, TableSetup("?", random_state=seed))
    engine.encode()
    engine.use(engine.built(engine.banks[-1], lambda share, what: None))
    return engine


def _error(engine, labels, truth):
    """Share of the rows without a label that get the wrong one."""
    guesses = engine.learn(labels, judge=False)
    if guesses is None:
        said = np.full(truth.size, next(iter(labels.values())))
    else:
        said = np.array(guesses.classes)[guesses.codes[:, 0]]
    rest = np.setdiff1d(np.arange(truth.size), list(labels))
    return float(np.mean(said[rest] != truth[rest]))


def labels(folder=None):
    rows = []
    for name, table, truth in _sets(folder):
        engine = _engine(table, 0)
        rng = np.random.default_rng(0)
        errors = []
        for _ in range(DRAWS):
            drawn = rng.choice(truth.size, RANDOM_LABELS, replace=False)
            errors.append(_error(engine, {int(r): truth[r] for r in drawn}, truth))
        wanted = float(np.median(errors))
        curves = [_session(engine, truth, start) for start in range(3)]
        curve = np.median(np.array(curves), axis=0)
        # Reached for good, not by luck at one place.
        worse = np.flatnonzero(curve > wanted)
        needed = int(worse[-1]) + 2 if worse.size else 1
        rows.append(
            {
                "table": name,
                "rows": truth.size,
                "classes": len(set(truth)),
                "error of 50 random labels": f"{100 * wanted:.1f} %",
                "labels of the studio": needed if needed <= LIMIT else f"> {LIMIT}",
                "error at 25": f"{100 * curve[24]:.1f} %",
                "error at 50": f"{100 * curve[49]:.1f} %",
            }
        )
        print(rows[-1], flush=True)
    _write("studio_labels.csv", rows)


def _session(engine, truth, start):
    """Errors after each answer; sessions differ by their first row."""
    known, curve = {}, []
    for step in range(LIMIT):
        order = engine.next_rows(known, set())
        row = order[start % len(order)] if step == 0 else order[0]
        known[row] = truth[row]
        curve.append(_error(engine, known, truth))
    return curve


def speed():
    from playwright.sync_api import sync_playwright
    from sklearn.datasets import make_blobs

    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)))
    X, y = make_blobs(20_000, 64, centers=8, cluster_std=9, random_state=0)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        path = Path(folder, "big.csv")
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*(f"x{k}" for k in range(64)), "kind"])
            writer.writerows([*(f"{v:.4f}" for v in row), ""] for row in X)
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        begun = time.perf_counter()
        command = [sys.executable, "-m", "fewlabels", "studio", str(path), "-t", "kind"]
        classes = ",".join(f"class {k}" for k in range(8))
        server = subprocess.Popen(
            [*command, "--no-browser", "--quiet", "--class", classes],
            stdout=subprocess.PIPE,
            text=True,
        )
        address = server.stdout.readline().strip()
        page.goto(address)
        page.wait_for_selector(".card")
        first, spent = time.perf_counter() - begun, _seconds(server.pid)
        waits, learning = [], 0
        for _ in range(210):
            row = int(page.inner_text("#card-title")[4:].replace(",", "")) - 1
            busy = page.evaluate(
                "() => document.getElementById('busy').classList.contains('on')"
            )
            waits.append(page.evaluate(_PRESS, str(y[row] + 1)))
            learning += busy
            page.wait_for_timeout(120)
        per_answer = 1000 * (_seconds(server.pid) - spent) / 210
        server.kill()
        server.wait()
        browser.close()
    waits = np.array(waits[10:])
    rows = [
        {"figure": "first question, s", "value": f"{first:.1f}"},
        {"figure": "of these, processor time of the server", "value": f"{spent:.1f}"},
        {"figure": "key to next card, median, ms", "value": f"{np.median(waits):.0f}"},
        {
            "figure": "key to next card, 99th percentile, ms",
            "value": f"{np.percentile(waits, 99):.0f}",
        },
        {
            "figure": "processor time of the server per answer, ms",
            "value": f"{per_answer:.0f}",
        },
        {"figure": "answers while learning", "value": f"{learning} of 210"},
        {
            "figure": "processes that waited for a core meanwhile (load)",
            "value": f"{os.getloadavg()[0]:.0f} on {os.cpu_count()} cores",
        },
    ]
    for row in rows:
        print(row)
    _write("studio_speed.csv", rows)


def first():
    from playwright.sync_api import sync_playwright

    found = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        names = ("chromium", "chromium-browser", "google-chrome")
        chromium = next(filter(None, map(shutil.which, names)))
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for n_rows in (2_000, 20_000):
            for kind in ("numbers", "numbers, a category and texts"):
                path = Path(folder, f"t{len(found)}.csv")
                truth = _write_table(path, n_rows, kind != "numbers")
                found.append(
                    {"rows": n_rows, "20 columns": kind} | _first(browser, path, truth)
                )
                print(found[-1], flush=True)
        browser.close()
    _write("studio_first.csv", found)


def _write_table(path, n_rows, mixed):
    """Write a table with four classes; return them."""
    from sklearn.datasets import make_blobs

    X, y = make_blobs(n_rows, 20, centers=4, cluster_std=6, random_state=0)
    columns = [[f"{v:.4f}" for v in column] for column in X.T]
    if mixed:
        rng = np.random.default_rng(0)
        words = [f"word{k}" for k in range(3000)]
        columns[3] = [f"kind {int(v) // 4}" for v in X[:, 3]]
        columns[4] = [
            " ".join(rng.choice(words[200 * c : 200 * c + 900], 12)) for c in y
        ]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{k}" for k in range(20)), "kind"])
        writer.writerows([*row, ""] for row in zip(*columns, strict=True))
    return y


def _first(browser, path, truth):
    """Label a row per second until there is a guess; then measure keys."""
    page = browser.new_page()
    begun = time.perf_counter()
    command = [sys.executable, "-m", "fewlabels", "studio", str(path), "-t", "kind"]
    server = subprocess.Popen(
        [*command, "--no-browser", "--quiet", "--class", "0,1,2,3"],
        stdout=subprocess.PIPE,
        text=True,
    )

    def row():
        return int(page.inner_text("#card-title")[4:].replace(",", "")) - 1

    try:
        page.goto(server.stdout.readline().strip())
        page.wait_for_selector(".card")
        opened = time.perf_counter() - begun
        seen, since = set(), 0.0
        while not page.locator("#guess").count():
            name = int(truth[row()])
            page.evaluate(_PRESS, str(name))
            seen.add(name)
            if len(seen) == 2 and not since:
                since = time.perf_counter()
            deadline = time.perf_counter() + 1
            while time.perf_counter() < deadline and not page.locator("#guess").count():
                page.wait_for_timeout(20)
        guess = time.perf_counter() - since
        waits = []
        for _ in range(60):
            waits.append(page.evaluate(_PRESS, str(truth[row()])))
            page.wait_for_timeout(120)
    finally:
        server.kill()
        server.wait()
        page.close()
    return {
        "first card, s": f"{opened:.1f}",
        "first guess, s": f"{guess:.1f}",
        "key to card, median, ms": f"{np.median(waits):.0f}",
        "99th percentile, ms": f"{np.percentile(waits, 99):.0f}",
        "load": f"{os.getloadavg()[0]:.0f} on {os.cpu_count()} cores",
    }


def _seconds(pid):
    """Processor time of a process so far."""
    fields = (
        Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    )
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# From the event of the key to the frame in which the next card is painted.
_PRESS = """key => new Promise(done => {
  const title = () => document.getElementById('card-title')?.textContent;
  const before = title(), begun = performance.now();
  const watch = new MutationObserver(() => {
    if (title() && title() !== before) {
      watch.disconnect();
      requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
    }
  });
  watch.observe(document.getElementById('view'), {childList: true, subtree: true});
  document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
})"""


def _write(name, rows):
    with (RESULTS / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"labels": labels, "speed": speed, "first": first}[sys.argv[1]](*sys.argv[2:])
