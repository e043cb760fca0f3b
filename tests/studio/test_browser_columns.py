"""What a row is judged by in a real browser: texts, pictures, columns that matter."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import struct
import zlib

from tests.studio.browsing import (
    accessible,
    keys_of,
    needs_chromium,
    picture,
    press,
    row_of,
    up_to_date,
)

pytestmark = needs_chromium

SPAM = (
    "Check out my channel at https://example.com/win?id={}. It is free for all of you."
)
HAM = "I remember hearing this song in the year {}, when we were all still at school."


def png(path, grey, side=40):
    """Write a plain picture."""

    def part(kind, data):
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    rows = b"".join(b"\0" + bytes([grey]) * side for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", head)
        + part(b"IDAT", zlib.compress(rows))
        + part(b"IEND", b"")
    )


def write_comments(folder):
    table = folder / "comments.csv"
    names = ["video", "id", "author", "date", "face", "comment", "link", "kind"]
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for k in range(120):
            png(folder / f"{k}.png", 2 * k)
            text = (SPAM if k % 2 else HAM).format(1900 + k)
            text = "\n\n".join([text] * (25 if k % 10 == 0 else 1))
            address = "javascript:alert(1)" if k % 3 else "http://example.org/a"
            writer.writerow(
                [f"v{k % 3}", f"z{k * k + 7:x}q", f"who{k % 40}", f"2015-01-{k % 28}"]
                + [f"{k}.png", text, address, ""]
            )
    return table


def test_rows_are_judged_by_what_matters(servers, pages, tmp_path):
    server = servers(write_comments(tmp_path), "kind", "--class", "spam,ham")
    page = pages(server.address)
    for _ in range(10):
        press(page, keys_of(page)["spam" if row_of(page) % 2 else "ham"])
    up_to_date(page)
    places = page.evaluate(PLACES)
    press(page, "s")
    assert page.evaluate(PLACES) == places  # every column where it was

    # Tiles show the comment, not the first columns.
    page.keyboard.press("g")
    page.wait_for_selector(".tile .text")
    shown = page.locator(".tile .text").first.inner_text()
    assert shown.startswith(("Check out", "I remember"))
    page.keyboard.press("h")
    page.wait_for_selector(".entry")
    assert any(
        word in page.locator(".entry").first.inner_text()
        for word in ("Check out", "I remember")
    )
    page.keyboard.press("Escape")

    # Addresses of the web are links, and nothing else is.
    page.keyboard.press("a")
    spam = next(
        r for r in range(1, 120, 2) if r % 3 and r % 10 and r not in server.labels()
    )
    open_row(page, spam)
    link = page.locator(".card a")
    assert link.count() == 1
    assert link.get_attribute("href") == f"https://example.com/win?id={1900 + spam}"
    assert link.get_attribute("rel") == "noopener noreferrer"
    assert "javascript:alert(1)" in page.inner_text(".card")

    # Pictures are enlarged, by a click or Z.
    page.locator(".zoomable").click()
    page.wait_for_selector("#zoom img")
    before = page.locator("#zoom img").bounding_box()["width"]
    page.keyboard.press("+")
    assert page.locator("#zoom img").bounding_box()["width"] > 1.4 * before
    accessible(page)
    page.keyboard.press("Escape")
    page.wait_for_selector("#zoom", state="detached")
    page.keyboard.press("z")
    page.wait_for_selector("#zoom img")
    page.keyboard.press("z")
    page.keyboard.press("Escape")

    # A long text has a cue, and is scrolled by Space and arrows.
    tall = next(r for r in range(0, 120, 10) if r not in server.labels())
    open_row(page, tall)
    page.wait_for_selector(".more:not([hidden])")
    picture(page, "text")
    accessible(page)
    page.keyboard.press("ArrowDown")
    page.wait_for_function("document.querySelector('.body').scrollTop >= 40")
    for _ in range(12):
        page.keyboard.press("Space")
    page.wait_for_selector(".more", state="hidden")
    page.keyboard.press("Escape")

    # Columns are pinned and hidden, and stay so after a restart.
    page.get_by_role("button", name="Columns").click()
    page.wait_for_selector(".column")
    assert page.locator(".column .name").first.inner_text() == "comment"
    accessible(page)
    picture(page, "columns")
    toggle(page, "author", "Pin")
    toggle(page, "date", "Hide")
    page.keyboard.press("Escape")
    names = page.locator(".card dt").all_inner_texts()
    assert "date" not in names
    server.stop()
    page.context.close()
    pages.complaints.clear()
    page = pages(servers(server.table, "kind").address)
    assert page.locator(".card dt").all_inner_texts() == names
    assert names.index("author") < names.index("video")


PLACES = """() => [...document.querySelectorAll(".card [data-column]")]
    .map(e => [e.dataset.column, e.getBoundingClientRect().left])"""


def open_row(page, row):
    """Open a row by way of the page's own module."""
    page.evaluate(
        """async row => {
        const base = document.querySelector('script[type=module]').src;
        const ask = await import(new URL('ask.js', base));
        await ask.open(row);
        history.pushState({row}, '', `#row-${row + 1}`);
        document.getElementById('view').replaceChildren();
        ask.render(document.getElementById('view'));
        document.getElementById('card').focus();
    }""",
        row,
    )
    page.wait_for_function(
        "n => document.getElementById('card-title')?.textContent === n",
        arg=f"Row {row + 1:,}",
    )


def toggle(page, name, word):
    line = page.locator(".column", has=page.locator(f".name:text-is('{name}')"))
    line.get_by_role("button", name=word).click()
    line.locator("[aria-pressed=true]").wait_for()
