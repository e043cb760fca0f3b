"""In the browser: people who give their names, log in, and disagree."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import subprocess
import sys

from tests.studio.browsing import (
    CULTIVARS,
    accessible,
    needs_chromium,
    press,
    row_of,
    write_wines,
)

pytestmark = needs_chromium
PICTURES = os.environ.get("FEWLABELS_PICTURES")


def shot(page, name):
    if PICTURES:
        page.wait_for_timeout(250)
        page.screenshot(path=f"{PICTURES}/{name}.png")


def test_two_people_label_disagree_and_settle(servers, pages, chromium, tmp_path):
    table = write_wines(tmp_path / "wines.csv")
    options = ("--ask-name", "--overlap", "1", "--class", ",".join(CULTIVARS))
    server = servers(table, "cultivar", *options)
    people = {}
    for name in ("Ann", "Ben"):
        context = chromium.new_context(viewport={"width": 1280, "height": 860})
        page = people[name] = context.new_page()
        page.on("pageerror", lambda error: pages.complaints.append(str(error)))
        page.goto(server.address)
        page.wait_for_selector("#my-name")
        accessible(page)
        shot(page, "name")
        page.locator("#my-name").fill(name)
        page.keyboard.press("Enter")
        page.wait_for_selector(".card")
    ann, ben = people["Ann"], people["Ben"]
    assert row_of(ann) != row_of(ben)
    for _ in range(4):
        press(ann, "1")
    # Ben is asked about rows of Ann's, without seeing what she said.
    mine = set(server.labels())
    said = {}
    for k in range(7):
        assert ben.locator(".class[aria-pressed=true]").count() == 0
        said[row_of(ben)] = key = "12"[k % 2]
        press(ben, key)
    shared = mine & set(said)
    assert shared
    disputed = {row for row in shared if said[row] == "2"}
    ann.wait_for_selector("#open-people:visible")
    ann.locator("#open-people").click()
    ann.wait_for_selector("dialog table")
    text = ann.inner_text("dialog")
    assert "Ann (you)" in text
    assert "Krippendorff" in text
    shot(ann, "people")
    accessible(ann)
    assert ann.locator(".dispute").count() == len(disputed)
    for _ in disputed:
        n = ann.locator(".dispute").count()
        ann.locator(".dispute").first.locator("[data-label=Barolo]").click()
        ann.wait_for_function(
            "n => document.querySelectorAll('.dispute').length === n", arg=n - 1
        )
    ann.keyboard.press("Escape")
    # The name is asked once: a reload goes on as the same person.
    ann.reload()
    ann.wait_for_selector(".card")
    assert ann.locator("#my-name").count() == 0
    for page in people.values():
        page.context.close()


def test_log_in(servers, chromium, tmp_path):
    table = write_wines(tmp_path / "wines.csv")
    process = subprocess.Popen(
        [
            *(
                sys.executable,
                "-m",
                "fewlabels",
                "studio",
                str(table),
                "-t",
                "cultivar",
            ),
            *("--no-browser", "--quiet", "--person", "Ann", "--class", "a,b"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    phrase = process.stderr.readline().strip().removeprefix("Passphrase of Ann: ")
    address = process.stdout.readline().strip()
    context = chromium.new_context(viewport={"width": 390, "height": 844})
    try:
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("#login")
        accessible(page)
        shot(page, "login")
        page.locator("#name").fill("Ann")
        page.locator("#passphrase").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        page.wait_for_function(
            "() => document.getElementById('why').textContent.includes('wrong')"
        )
        page.locator("#passphrase").fill(phrase)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_selector(".card")
        press(page, "1")
        journal = (tmp_path / "wines.labels.jsonl").read_text()
        assert '"by": "Ann"' in journal
        page.goto(f"{address}api.html")
        page.wait_for_selector(".operation")
        accessible(page)
        shot(page, "api")
    finally:
        context.close()
        process.terminate()
        process.wait(20)
        process.stdout.close()
        process.stderr.close()
