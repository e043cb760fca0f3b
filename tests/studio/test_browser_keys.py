"""Keys, focus and undo in a real browser: nothing is dropped, nothing is blind."""

# SPDX-License-Identifier: BSD-3-Clause

import csv

import pytest

from tests.studio.browsing import (
    CULTIVARS,
    TRUTH,
    accessible,
    keys_of,
    label_truly,
    needs_chromium,
    press,
    row_of,
    type_class,
    up_to_date,
    write_wines,
)

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def bottles(tmp_path_factory):
    from tests.studio.browsing import Server

    table = write_wines(tmp_path_factory.mktemp("k") / "wines.csv")
    server = Server(table, "cultivar", "--class", ",".join(CULTIVARS))
    yield server
    server.stop()


def n_labels(page, n):
    page.wait_for_function(
        "n => document.getElementById('n-labels').textContent === n", arg=str(n)
    )


def shows(page, row):
    page.wait_for_function(
        "n => document.getElementById('card-title')?.textContent === n",
        arg=f"Row {row + 1:,}",
    )


def test_no_key_is_dropped_at_full_speed(pages, bottles):
    page = pages(bottles.address)
    before = len(bottles.labels())
    for k in range(24):
        page.keyboard.press("123"[k % 3])
        page.wait_for_timeout(15)
    n_labels(page, before + 24)
    assert len(bottles.labels()) == before + 24
    counts = [list(bottles.labels().values()).count(c) for c in CULTIVARS]
    assert max(counts) - min(counts) <= 1
    # So is everything else: 24 times back, and 3 times again.
    for _ in range(24):
        page.keyboard.press("Control+z")
        page.wait_for_timeout(15)
    n_labels(page, before)
    for key in ("Control+y", "Control+Shift+Z", "Shift+U"):
        page.keyboard.press(key)
    n_labels(page, before + 3)
    for _ in range(3):
        page.keyboard.press("u")
    n_labels(page, before)
    page.keyboard.press("u")
    page.wait_for_selector("#toast:has-text('nothing to undo in this tab')")
    pages.complaints[:] = [c for c in pages.complaints if "409" not in c]


def test_undo_is_for_the_labels_of_this_tab(pages, bottles):
    first, second = pages(bottles.address), pages(bottles.address)
    row = row_of(first)
    press(first, "1")
    other = row_of(second)
    press(second, "2")
    first.keyboard.press("u")
    shows(first, row)
    assert bottles.labels() == {other: CULTIVARS[1]}
    # Also after a reload, when the tab has another name.
    second.reload()
    second.wait_for_selector(".card")
    second.keyboard.press("u")
    shows(second, other)
    assert bottles.labels() == {}


def test_a_row_is_opened_and_left_again(pages, bottles):
    page = pages(bottles.address)
    label_truly(page, TRUTH, 4)
    question, labels = row_of(page), bottles.labels()

    def opened():
        page.keyboard.press("h")
        page.locator(".entry").first.click()
        page.wait_for_selector("#back")
        return row_of(page)

    row = opened()
    assert row in labels
    page.keyboard.press("s")  # skips no row that has a label
    page.wait_for_timeout(200)
    assert bottles.labels() == labels
    page.keyboard.press("Escape")
    shows(page, question)
    assert opened() == row
    page.go_back()
    shows(page, question)
    assert opened() == row
    page.keyboard.press("Delete")
    shows(page, question)
    assert bottles.labels() == {k: v for k, v in labels.items() if k != row}
    page.keyboard.press("u")
    shows(page, row)
    assert bottles.labels() == labels


def test_the_focus_goes_to_the_next_card(pages, bottles):
    page = pages(bottles.address)
    before = row_of(page)
    page.locator(".class").first.click()
    page.wait_for_function(
        "n => document.querySelector('#card-title')?.textContent !== n",
        arg=f"Row {before + 1:,}",
    )
    assert page.evaluate("document.activeElement.id") == "card"
    spoken = page.locator("#spoken").inner_text()
    assert f"Row {before + 1}: {CULTIVARS[0]}. Saved." in spoken
    assert f"Now row {row_of(page) + 1}" in spoken
    page.keyboard.press("u")
    shows(page, before)


def test_enter_accepts_what_is_shown(pages, bottles):
    page = pages(bottles.address)
    label_truly(page, TRUTH, 6)
    up_to_date(page)
    press(page, "s")
    row, guess = row_of(page), page.inner_text("#guess")
    # Another tab teaches the opposite; the guess stays under the eyes.
    other = pages(bottles.address)
    for _ in range(3):
        press(other, keys_of(other)[CULTIVARS[0]])
    up_to_date(other)
    page.wait_for_timeout(500)
    assert (row_of(page), page.inner_text("#guess")) == (row, guess)
    # A click that is under way while answers arrive is not lost.
    button = page.locator(f".class[data-class={CULTIVARS[1]}]").bounding_box()
    page.mouse.move(button["x"] + 20, button["y"] + 10)
    page.mouse.down()
    type_class(other, "Nebbiolo")
    page.wait_for_timeout(400)
    page.mouse.up()
    page.wait_for_function(
        "n => document.querySelector('#card-title')?.textContent !== n",
        arg=f"Row {row + 1:,}",
    )
    assert bottles.labels()[row] == CULTIVARS[1]
    # Enter works after the tab was clicked.
    page.locator("#tab-map").click()
    page.locator("#tab-ask").click()
    page.wait_for_selector("#accept:not([data-fresh])")
    row, guess = row_of(page), page.inner_text("#guess")
    press(page, "Enter")
    assert bottles.labels()[row] == guess


def test_the_grid_by_keys(pages, bottles):
    page = pages(bottles.address)
    known = bottles.labels()
    page.keyboard.press("g")
    page.wait_for_selector(".tile")
    rows = [int(t.get_attribute("data-row")) for t in page.locator(".tile").all()]
    page.locator(".tile .mark").nth(1).click()
    assert page.locator(".tile.odd").count() == 1
    # A tile opens, and the marks are still there afterwards.
    page.locator(".tile .open").nth(2).click()
    page.wait_for_selector("#back")
    assert row_of(page) == rows[2]
    page.keyboard.press("Escape")
    page.wait_for_selector(".tile.odd")
    accessible(page)
    page.locator(".tile .mark").nth(0).click()
    name = CULTIVARS[2]
    page.keyboard.press(keys_of(page)[name])
    page.keyboard.press("Enter")  # the focus is on a tile that was marked
    n_labels(page, len(known) + len(rows) - 2)
    new = {r: v for r, v in bottles.labels().items() if r not in known}
    assert new == dict.fromkeys(set(rows) - set(rows[:2]), name)
    page.keyboard.press("Control+z")
    n_labels(page, len(known))
    assert page.locator("#tab-grid[aria-selected=true]").count() == 1


def test_digits_label_what_the_lasso_holds(pages, bottles):
    page = pages(bottles.address)
    known = bottles.labels()
    page.keyboard.press("m")
    page.wait_for_selector(".map canvas", timeout=240_000)
    page.wait_for_selector(".legend .chip")
    page.keyboard.press("l")
    box = page.locator(".map canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for dx, dy in ((-500, 0), (-500, 320), (0, 320), (0, 0)):
        page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()
    page.wait_for_selector(".chosen .entry")
    chosen = int(page.locator(".selected strong").inner_text().split()[0])
    accessible(page)
    page.keyboard.press(keys_of(page)[CULTIVARS[1]])
    n_labels(page, len(known) + chosen)
    new = {r: v for r, v in bottles.labels().items() if r not in known}
    assert list(new.values()) == [CULTIVARS[1]] * chosen
    page.keyboard.press("u")
    n_labels(page, len(known))


def test_many_classes_have_keys_that_stay(servers, pages, tmp_path):
    table = tmp_path / "t.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["size", "kind"])
        writer.writerows([k, ""] for k in range(60))
    server = servers(table, "kind")
    page = pages(server.address)
    for name in ("6", "1", "4"):
        type_class(page, name)
    assert keys_of(page) == {"6": "6", "1": "1", "4": "4"}
    row = row_of(page)
    press(page, "1")
    assert server.labels()[row] == "1"
    # A class that is gone leaves the keys of the others alone.
    names = ["fir", "oak", "yew", *(f"tree {k}" for k in range(9))]
    woods = tmp_path / "woods.csv"
    woods.write_bytes(table.read_bytes())
    other = servers(woods, "kind", "--class", ",".join(names))
    page = pages(other.address)
    keys = keys_of(page)
    assert [keys[n] for n in names] == [*"1234567890", "b", "d"]
    assert page.locator(".class kbd").all_inner_texts() == [*"1234567890", "B", "D"]
    row = row_of(page)
    press(page, "d")
    assert other.labels()[row] == "tree 8"
    type_class(page, "ash")
    type_class(page, "elm")
    assert keys_of(page)["elm"] == "j"
    page.keyboard.press("u")
    page.wait_for_selector("[data-class=elm]", state="detached")
    page.keyboard.press("u")
    page.wait_for_selector("[data-class=ash]", state="detached")
    type_class(page, "elm")
    assert keys_of(page)["elm"] == "j"
