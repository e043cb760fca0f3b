"""In the browser: an import that is shown first, and columns that were renamed."""

# SPDX-License-Identifier: BSD-3-Clause

from tests.studio.browsing import (
    CULTIVARS,
    TRUTH,
    accessible,
    label_truly,
    needs_chromium,
    picture,
    write_wines,
)

pytestmark = needs_chromium


def test_an_import_is_shown_first_and_undone_as_one(servers, pages, tmp_path):
    table = write_wines(tmp_path / "wines.v2.csv")
    server = servers(table, "cultivar", "--class", ",".join(CULTIVARS[:2]))
    page = pages(server.address)
    label_truly(page, TRUTH, 3)
    known = server.labels()
    mine = next(iter(known))
    other = next(c for c in CULTIVARS if c != known[mine])
    labels = {mine: other} | {r: TRUTH[r] for r in range(60) if r not in known}
    lines = [f"B{row + 1:04d},{label}" for row, label in labels.items()]
    (tmp_path / "colleague.csv").write_text("\n".join(["bottle,cultivar", *lines]))
    page.keyboard.press("e")
    page.set_input_files("#import-file", tmp_path / "colleague.csv")
    page.wait_for_selector("#import-apply")
    facts = page.locator(".facts li").all_inner_texts()
    assert [f.split("\n")[0] for f in facts] == [str(len(labels) - 1), "0", "1"]
    assert "given by hand" in facts[2]
    assert page.inner_text("#import-apply") == f"Import {len(labels) - 1} labels"
    accessible(page)
    picture(page, "import")
    assert server.labels() == known
    page.locator("label.choice", has_text="Replace").click()
    assert page.inner_text("#import-apply") == f"Import {len(labels)} labels"
    page.locator("#import-apply").click()
    page.wait_for_function(
        "() => document.getElementById('import-result')?.textContent.includes('Undo')"
    )
    assert server.labels() == known | labels
    accessible(page)
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    page.wait_for_function(
        "n => document.getElementById('n-labels').textContent === n",
        arg=str(len(known)),
    )
    assert server.labels() == known

    # A renamed column: nothing is in conflict, and a note says so.
    server.stop()
    text = table.read_text().replace("bottle,", "flask,", 1)
    table.write_text(text, newline="")
    pages.complaints.clear()  # of the connection that was lost
    server = servers(table, "cultivar")
    again = pages(server.address)
    assert again.inner_text("#n-labels") == str(len(known))
    assert again.locator("[data-banner=conflicts]").count() == 0
    again.keyboard.press("?")
    assert "Column 'bottle' is called 'flask' now" in again.inner_text("dialog")
    page.context.close()
    pages.complaints.clear()
