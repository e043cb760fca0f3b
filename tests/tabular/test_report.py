"""The report is one page that needs nothing else, and nothing in it runs."""

# SPDX-License-Identifier: BSD-3-Clause

import re
import shutil
import subprocess
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from fewlabels.automatic import ErrorEstimate
from fewlabels.tabular import (
    cluster_report,
    cluster_table,
    label_report,
    label_table,
    prediction_report,
)
from fewlabels.tabular._candidates import Method
from fewlabels.tabular._pictures import (
    MAP_ROWS,
    PALETTE,
    REST,
    colors_of,
    intervals,
    map_rows,
)

X, TRUTH = make_blobs(80, centers=3, n_features=4, random_state=0)
EVIL = ["<script>alert(1)</script>", "a & b", '"quoted" onload=x']


class Page(HTMLParser):
    """Collects tags, and complains about what is not closed."""

    VOID = frozenset({"meta", "link", "br"})

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.attributes = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def labeled():
    names = np.array(EVIL, dtype=object)[TRUTH]
    labels = [name if k < 20 else None for k, name in enumerate(names)]
    table = {f"x{k}<b>": column for k, column in enumerate(X.T)}
    table["<i>town</i>"] = [f"<u>{t}</u>" for t in TRUTH]
    return label_table({**table, "<em>kind": labels}, "<em>kind", bank="fast")


@pytest.fixture(scope="module")
def page(labeled):
    return label_report(labeled, command="fewlabels report '<x>'")


def test_nothing_from_the_table_is_markup(page):
    parsed = Page(page)
    assert parsed.open == []
    assert not {"script", "i", "u", "em", "img", "iframe"} & set(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_nothing_comes_from_elsewhere(page):
    assert not re.findall(r"https?://", page)
    assert "default-src 'none'" in page
    sources = [v for name, v in Page(page).attributes if name in ("src", "href")]
    assert sources == ["data:,"]


@pytest.mark.parametrize(
    "heading",
    [
        "Labels",
        "Map of the rows",
        "Which labels to accept",
        "Class by class",
        "Which columns matter",
        "How the labels were found, and how good they are",
        "What was read",
        "Least certain rows",
        "What to label next",
        "Warnings",
        "How to reproduce this",
    ],
)
def test_sections(page, heading):
    assert f"<h2>{heading}</h2>" in page


def test_figures_are_those_of_the_model(page, labeled):
    error = labeled.model.classifier.expected_error_
    assert f"<b>{100 * error.value:.1f} %</b>" in page
    assert str(labeled.model.classifier.baseline_error_) in page
    assert page.count("<circle") >= 2 * 80  # two maps
    assert page.count('class="ring"') == 2 * 20
    assert "fewlabels report &#x27;&lt;x&gt;&#x27;" in page


def test_rows_are_shown_with_what_names_them():
    names = [f"ticket-{k}" for k in range(80)]
    labels = ["a" if t else "b" for t in TRUTH[:12]] + [None] * 68
    table = {"x": X[:, 0], "name": names, "y": X[:, 1], "kind": labels}
    labeled = label_table(table, "kind", bank="fast")
    page = label_report(labeled)
    assert f"{names[labeled.least_sure()[0]]}</td>" in page
    # A table without that column fits the model all the same.
    new = prediction_report(labeled.model, {"x": X[:9, 0], "y": X[:9, 1]})
    assert Page(new).open == []


def test_other_pages(labeled):
    clustered = cluster_table(X, 3)
    page = cluster_report(clustered)
    assert Page(page).open == []
    assert "cluster 3" in page
    table = labeled.table.without([labeled.target.name])
    page = prediction_report(labeled.model, table)
    assert Page(page).open == []
    assert "new rows" in page


def test_degenerate_tables_have_a_page():
    tiny = label_table({"x": [1.0, 2.5, 1.2], "k": ["a", "b", None]}, "k", bank="fast")
    assert Page(label_report(tiny)).open == []
    text = [
        f"{'goal team' if t else 'soup salt'} number {k}" for k, t in enumerate(TRUTH)
    ]
    words = label_table(
        {"t": text, "k": ["a" if t else "b" for t in TRUTH[:9]] + [None] * 71},
        "k",
        text=["t"],
        bank="fast",
    )
    assert Page(label_report(words)).open == []


def test_the_verdict_comes_first(page, labeled):
    said = labeled.model.classifier.verdict()
    assert f'<p class="verdict">{said}</p><div class="tiles">' in page


def test_classes_keep_their_colours(page, labeled):
    """The first of the sorted classes has the first colour, in every picture."""
    first = sorted(EVIL)[0]
    assert colors_of(labeled.model.classifier.classes_.tolist())[first] == PALETTE[0]
    other = prediction_report(labeled.model, labeled.table)
    for html in (page, other):
        assert f'<span style="background:{PALETTE[0]}"></span>{escape(first)}' in html
        bar = html.split(f'<span class="name">{escape(first)}</span>')[1]
        assert bar.split("background:")[1].startswith(PALETTE[0])


def test_methods_look_the_same_where_others_are_missing():
    """Without an expected error no candidate is taken for the classifier."""
    known, unknown = ErrorEstimate(0.2, 0.1, 0.3), ErrorEstimate(np.nan, 0.0, 1.0, "no")
    methods = [
        Method("automatic", unknown, np.nan, "", "own"),
        Method("supervised", unknown, np.nan, "", "base"),
        Method("graphs", known, 0.5, "", "other"),
    ]
    drawn = intervals(methods)
    assert drawn.count('class="bar other"') == 1
    assert "bar own" not in drawn
    assert "bar base" not in drawn
    assert intervals(methods[:2]) == ""


def test_uncertain_rows_are_shown_whole():
    rng = np.random.default_rng(0)
    words = np.array(["salt", "soup", "goal", "team", "cup", "pan"])
    text = [
        " ".join(
            [*rng.choice(words[2:5] if k % 2 else words[[0, 1, 5]], 40), f"end{k}"]
        )
        for k in range(40)
    ]
    kinds = ["sport" if k % 2 else "food" for k in range(14)] + [None] * 26
    labeled = label_table({"t": text, "k": kinds}, "k", text=["t"], bank="fast")
    page = label_report(labeled)
    for row in labeled.least_sure():
        assert f"end{row}</td>" in page


def test_labels_to_check_are_named_by_the_rows_of_the_table():
    labels = [f"c{t}" if k < 24 else None for k, t in enumerate(TRUTH)]
    labels[3] = f"c{(TRUTH[3] + 1) % 3}"
    data = {f"x{k}": column for k, column in enumerate(X.T)}
    labeled = label_table({**data, "kind": labels}, "kind", bank="fast")
    page = label_report(labeled)
    assert "<h2>Given labels to check</h2>" in page
    assert f"row 4 ({labels[3]}; c{TRUTH[3]} is more likely)" in page


def test_maps_are_sampled():
    given = np.zeros(5000, dtype=bool)
    given[::100] = True
    rows = map_rows(5000, given, 0)
    assert rows.size == MAP_ROWS
    assert set(np.flatnonzero(given)) <= set(rows)
    assert map_rows(10, None, 0).tolist() == list(range(10))


def test_many_classes_share_a_colour():
    colors = colors_of([str(k) for k in range(30)])
    own = len(PALETTE) - 1
    assert list(colors.values())[own:] == [REST] * (30 - own)
    assert len(set(colors_of(list("abcdefghijkl")).values())) == len(PALETTE) == 12


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_browser_has_nothing_to_complain_about(page, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    shot = tmp_path / "shot.png"
    run = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--screenshot={shot}",
            "--window-size=1100,3000",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert shot.stat().st_size > 20_000, run.stderr
    complaints = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    assert complaints == []
