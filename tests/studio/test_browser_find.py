"""In the browser: find rows, label in the list, notes, classes, accepting."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import os

import pytest

from tests.studio.browsing import (
    CULTIVARS,
    TRUTH,
    accessible,
    label_truly,
    needs_chromium,
    up_to_date,
)

pytestmark = needs_chromium
PICTURES = os.environ.get("FEWLABELS_PICTURES")


def shot(page, name):
    """Photograph what the window shows, with dialogs."""
    if PICTURES:
        page.wait_for_timeout(250)
        page.screenshot(path=f"{PICTURES}/{name}.png")


def found(page, n):
    page.wait_for_function(
        "n => document.getElementById('found-count')?.textContent === n",
        arg=f"{n:,} row" + ("" if n == 1 else "s"),
    )


def rows(page):
    return [int(e.get_attribute("data-row")) for e in page.locator(".found").all()]


def test_find_and_label_in_the_list(pages, wines):
    page = pages(wines.address)
    label_truly(page, TRUTH, 12)
    up_to_date(page)
    known = wines.labels()
    page.keyboard.press("f")
    found(page, 178)
    accessible(page)
    shot(page, "find")
    page.keyboard.press("/")
    page.keyboard.type("bottle:B000")
    found(page, 9)
    assert rows(page) == list(range(9))
    page.locator("#find-text").fill("alcohol>14 -bottle:B00")
    found(page, sum(1 for r in range(99, 178) if alcohol(r) > 14))
    page.locator("#find-text").fill("")
    page.locator("#find-where").select_option("labelled")
    found(page, 12)
    assert rows(page) == sorted(known)
    page.locator("#find-where").select_option("open")
    page.locator("#find-order").select_option("unsure")
    found(page, 166)
    # Arrows choose a row, digits label it, and the next one opens.
    page.locator("#found-count").click()
    page.keyboard.press("ArrowDown")
    first, second = rows(page)[:2]
    page.wait_for_selector(".found.on .class")
    accessible(page)
    shot(page, "find-row")
    page.keyboard.press("1")
    page.wait_for_selector(f".found.on[data-row='{second}']")
    name = page.locator(f".found[data-row='{first}'] .said").inner_text()
    assert wines.labels()[first] == name
    # More like this.
    page.locator(f"[data-like='{second}']").click()
    page.wait_for_selector(".like")
    found(page, 178)
    assert rows(page)[0] == second
    shot(page, "find-like")
    # Undo goes by the same key as elsewhere.
    page.locator("#found-count").click()
    page.keyboard.press("u")
    page.wait_for_function(
        "() => document.getElementById('n-labels').textContent === '12'"
    )
    assert wines.labels() == known


def alcohol(row):
    from tests.studio.browsing import ORDER, WINE

    return float(WINE.data[ORDER[row]][0])


def test_notes_flags_and_the_queue(pages, wines):
    page = pages(wines.address)
    row = page.locator("#card-title").inner_text()
    page.get_by_role("button", name="Flag").click()
    page.wait_for_selector(".flag-button[aria-pressed=true]")
    page.get_by_role("button", name="Add a note").click()
    page.locator(".note-text").fill("cork <b>taint</b>?")
    page.get_by_role("button", name="Save note").click()
    page.wait_for_selector(".note-said")
    assert page.inner_text(".note-said") == "cork <b>taint</b>?"
    accessible(page)
    shot(page, "note")
    page.keyboard.press("s")
    page.wait_for_function(
        "t => document.getElementById('card-title').textContent !== t", arg=row
    )
    page.keyboard.press("f")
    for where in ("flagged", "notes", "skipped"):
        page.locator("#find-where").select_option(where)
        found(page, 1)
        assert f"Row {rows(page)[0] + 1:,}" == row


def test_classes_are_edited(pages, wines):
    page = pages(wines.address)
    page.keyboard.press("t")
    page.wait_for_selector(".class-row")
    accessible(page)
    names = [e.input_value() for e in page.locator(".class-name").all()]
    assert set(names) == set(CULTIVARS)
    page.locator(".class-name").nth(0).fill("Nebbiolo")
    page.locator(".class-text").nth(0).fill("from Piedmont")
    page.get_by_role("button", name=f"Move {names[2]} up").click()
    page.locator("input[type=color]").nth(1).evaluate(
        "e => { e.value = '#ff0066'; e.dispatchEvent(new Event('change')); }"
    )
    shot(page, "classes")
    page.locator("#save-classes").click()
    page.wait_for_selector("dialog", state="hidden")
    page.wait_for_function(
        "() => document.querySelector('.classes .name').textContent === 'Nebbiolo'"
    )
    shown = page.locator(".classes .class .name").all_inner_texts()
    assert shown == ["Nebbiolo", names[2], names[1]]
    # The guidelines show what the class is.
    page.keyboard.press("p")
    page.wait_for_selector("#edit-guidelines")
    assert "from Piedmont" in page.inner_text("dialog")
    page.locator("#edit-guidelines").click()
    page.locator("#guide-text").fill(
        "# How to label\n\n- **taste** first\n- [then](https://example.org) read\n\n"
        "<img src=x onerror='window.hacked=1'> [no](javascript:alert(1))\n"
    )
    page.locator("#save-guidelines").click()
    page.wait_for_selector(".guide strong")
    accessible(page)
    shot(page, "guidelines")
    assert page.locator(".guide img").count() == 0
    assert page.locator(".guide a").count() == 1
    assert page.evaluate("window.hacked") is None
    assert (wines.table.parent / "wines.guidelines.md").read_text().startswith("# How")
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    page.wait_for_function(
        "n => document.querySelector('.classes .name').textContent === n", arg=names[0]
    )


def test_predictions_are_accepted_after_a_look(pages, wines):
    page = pages(wines.address)
    label_truly(page, TRUTH, 6)
    up_to_date(page)
    before = int(page.inner_text("#n-labels"))
    page.keyboard.press("f")
    page.wait_for_selector("#accept-found")
    page.locator("#accept-found").click()
    page.wait_for_selector("#accept-all")
    page.locator("#accept-above").fill("70")
    page.locator("#accept-above").dispatch_event("change")
    page.wait_for_selector(".sample .entry")
    page.wait_for_timeout(300)
    accessible(page)
    entries = page.locator(".sample .entry").all()
    for entry in entries:
        row = int(entry.get_attribute("data-row"))
        if entry.locator(".chip").inner_text() != TRUTH[row]:
            entry.click()
    entries[0].click()
    page.wait_for_function(
        "() => document.querySelector('dialog .advice').textContent.includes('wrong')"
    )
    shot(page, "accept")
    n = int(page.inner_text("#accept-all").split()[1])
    page.locator("#accept-all").click()
    page.wait_for_selector("dialog", state="hidden")
    page.wait_for_function(
        "n => document.getElementById('n-labels').textContent === n",
        arg=str(before + n),
    )
    accepted = {r: a for r, a in wines.labels().items()}
    assert len(accepted) == before + n
    page.locator("#find-where").select_option("accepted")
    found(page, n)
    page.keyboard.press("Escape")
    page.locator("#found-count").click()
    page.keyboard.press("u")
    page.wait_for_function(
        "n => document.getElementById('n-labels').textContent === n", arg=str(before)
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_new_views_on_a_telephone(pages, wines, dark):
    page = pages(wines.address, width=390, height=844, dark=dark, has_touch=True)
    page.locator("#tab-find").click()
    found(page, 178)
    page.locator(".found-row").first.click()
    page.wait_for_selector(".found-more")
    tone = "dark" if dark else "light"
    for name, button in (
        ("find", None),
        ("classes", "#open-classes"),
        ("guidelines", "#open-guidelines"),
        ("accept", "#accept-found"),
        ("files", "#open-files"),
    ):
        if button:
            page.locator(button).click()
            page.wait_for_timeout(300)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, name
        accessible(page)
        shot(page, f"phone-{tone}-{name}")
        if button:
            page.locator("#dialog-close").click()


def test_forty_classes_have_colours_of_their_own(servers, pages, tmp_path):
    table = tmp_path / "many.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "y", "kind"])
        for k in range(160):
            writer.writerow([k % 40, k % 7, f"class {k % 40:02d}" if k < 80 else ""])
    page = pages(servers(table, "kind").address)
    page.keyboard.press("t")
    page.wait_for_selector(".class-row")
    colours = page.evaluate(
        "() => [...document.querySelectorAll('.class-row input[type=color]')]"
        ".map(e => e.value)"
    )
    assert len(colours) == len(set(colours)) == 40
    page.keyboard.press("Escape")
    page.keyboard.press("m")
    page.wait_for_selector(".legend .chip", timeout=240_000)
    page.wait_for_timeout(500)
    accessible(page)
    shot(page, "forty")
    page.locator("#all-classes").click()
    page.wait_for_selector(".class-row")
    assert page.locator(".class-row").count() == 40
