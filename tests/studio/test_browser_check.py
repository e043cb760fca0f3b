"""The check in a real browser: rows drawn at random, labelled without a guess."""

# SPDX-License-Identifier: BSD-3-Clause

import json

from tests.studio.browsing import (
    CULTIVARS,
    TRUTH,
    accessible,
    keys_of,
    label_truly,
    needs_chromium,
    picture,
    row_of,
    up_to_date,
    write_wines,
)

pytestmark = needs_chromium


def title(page):
    return page.locator("#card-title").inner_text()


def answer(page, key):
    before = title(page)
    page.keyboard.press(key)
    page.wait_for_function(
        "n => document.querySelector('#card-title')?.textContent !== n", arg=before
    )


def test_a_check_from_beginning_to_end(servers, pages, tmp_path):
    table = write_wines(tmp_path / "wines.csv")
    server = servers(table, "cultivar", "--class", ",".join(CULTIVARS))
    page = pages(server.address)
    page.keyboard.press("c")
    page.wait_for_selector(".check-start .advice")
    accessible(page)
    page.keyboard.press("a")
    label_truly(page, TRUTH, 9)
    up_to_date(page)
    labels = server.labels()
    page.keyboard.press("c")
    page.fill("#check-rows", "12")
    picture(page, "check-start")
    page.locator("#draw").click()
    page.wait_for_selector("#check .card")
    assert page.locator("#guess").count() == 0  # nobody is led to agree
    accessible(page)
    picture(page, "check")
    drawn = json.loads(
        tmp_path.joinpath("wines.labels.jsonl").read_text().split("\n")[-2]
    )
    assert drawn["do"] == "draw"
    held = {place - 1 for place, *_ in drawn["rows"]}
    checked = {}
    for k in range(12):
        row = row_of(page)
        assert row in held
        name = TRUTH[row]
        if k == 5:
            answer(page, "s")
            continue
        checked[row] = name
        page.keyboard.press(keys_of(page)[name])
        if k < 11:
            page.wait_for_function(
                "n => document.querySelector('#card-title')?.textContent !== n",
                arg=f"Row {row + 1:,}",
            )
    page.wait_for_selector("#checked-error")
    assert page.inner_text("#checked-error").endswith("%")
    assert "11 rows that you checked" in page.inner_text(".quality")
    assert "1 row without an answer" in page.inner_text(".quality")
    accessible(page)
    picture(page, "checked")
    # Nothing was learned from these rows, and no other view asks about them.
    assert server.labels() == labels
    assert page.inner_text("#n-labels") == str(len(labels))
    page.keyboard.press("u")
    page.wait_for_selector("#check .card")
    row = row_of(page)
    assert row in checked
    page.keyboard.press(keys_of(page)[TRUTH[row]])
    page.wait_for_selector("#checked-error")
    # More rows, if one likes; then the model may learn from all of them.
    page.locator("#more").click()
    page.wait_for_selector("#check .card")
    assert row_of(page) not in checked
    page.get_by_role("button", name="Result so far").click()
    page.locator("#learn").click()
    page.wait_for_function(
        "n => document.getElementById('n-labels').textContent === n",
        arg=str(len(labels) + 11),
    )
    assert server.labels() == labels | checked
    # The check is there again after a restart, with its answers.
    server.stop()
    page.context.close()
    pages.complaints.clear()
    again = pages(servers(table, "cultivar").address)
    again.keyboard.press("c")
    again.get_by_role("button", name="Result so far").click()
    assert "11 rows that you checked" in again.inner_text(".quality")


def test_advice_names_rows(servers, pages, tmp_path):
    table = tmp_path / "wines.csv"
    lines = write_wines(table).read_text().splitlines()
    given = {row: TRUTH[row] for row in range(40)}
    wrong = next(row for row in given if TRUTH[row] == "Barolo")
    lonely = next(row for row in range(40, 178) if TRUTH[row] == "Barbera")
    given |= {wrong: "Barbera", lonely: "Nebbiolo"}
    for row, name in given.items():
        lines[row + 1] += name
    table.write_text("\r\n".join(lines) + "\r\n", newline="")
    server = servers(table, "cultivar")
    page = pages(server.address)
    up_to_date(page)
    page.keyboard.press("q")
    page.wait_for_selector("[data-change]:not([disabled])")
    # A doubtful label is shown with its row, before anybody can change it.
    doubted = page.locator(".suspect", has=page.locator("[data-change]"))
    assert f"Row {wrong + 1} is" in doubted.first.inner_text()
    assert doubted.first.locator(".brief .pair").count() == 4
    # The class with a single label is named, with rows that look like it.
    lone = page.locator("section", has=page.locator("#q-single"))
    assert "Nebbiolo" in lone.inner_text()
    assert lone.locator(".entry small:not(:empty)").count() == 6
    accessible(page)
    picture(page, "advice")
    lone.locator(".entry").first.click()
    page.wait_for_selector("#back")
    page.go_back()
    page.wait_for_selector("#q-single")
    page.locator("[data-change]").first.click()
    page.wait_for_selector(f"#toast:has-text('Row {wrong + 1} is')")
    assert server.labels() == {wrong: "Barolo"}
