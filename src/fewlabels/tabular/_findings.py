"""Report sections on labels to accept, classes, columns and doubtful labels."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from fewlabels.automatic import ColumnEffect, largest_confusions
from fewlabels.tabular._page import chip, grid, section
from fewlabels.tabular._pictures import REST, shortened
from fewlabels.tabular.labeling import LabeledTable

# Rows whose values are shuffled: over all columns, and for one column.
_EXCHANGED = 4000
_FEWEST, _MOST = 20, 100


def percent(share: float) -> str:
    """Write a share with meaningful digits only."""
    if np.isnan(share):
        return "unknown"
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def sure_section(labeled: LabeledTable) -> str:
    """Show how many labels can be accepted at which error."""
    rows: list[tuple[Any, ...]] = []
    before = -1
    for a in labeled.model.classifier.errors_above():
        if a.error.is_known and a.n_rows != before:
            least = "any" if a.confidence == 0 else f"{a.confidence:g} or more"
            low, high = percent(a.error.low), percent(a.error.high)
            error = f"{percent(a.error.value)} ({low} to {high})"
            rows.append((least, a.n_rows, percent(a.share), error))
        before = a.n_rows
    if not rows:
        return ""
    head = ("confidence", "rows", "share", "expected error (90 % interval)")
    return section(
        "Which labels to accept",
        "<p>The expected error of predicted labels with at least this confidence. "
        "Choose one, accept the labels that reach it, and check the others.</p>"
        + grid(head, rows),
    )


def hints_section(labeled: LabeledTable) -> str:
    """Show coverage, conflicts and estimated accuracy of every source of hints."""
    sources = labeled.model.classifier.sources_
    if not sources:
        return ""
    rows: list[tuple[Any, ...]] = []
    for s in sources:
        named = sorted(s.by_class.items(), key=lambda item: -item[1])
        each = ", ".join(f"{shortened(str(k), 20)} {percent(v)}" for k, v in named[:8])
        checked = f"{s.n_right} of {s.n_judged}" if s.n_judged else "no label"
        interval = f"{percent(s.low)} to {percent(s.high)}" if s.n_judged else ""
        accuracy = f"{percent(s.accuracy)} {interval and f'({interval})'}"
        shares = percent(s.coverage), percent(s.conflicts)
        rows.append((s.name, *shares, checked, accuracy, each))
    head = (
        *("source", "speaks for", "contradicted", "labels that agree"),
        *("estimated accuracy", "accuracy where it says"),
    )
    return section(
        "Hints",
        "<p>How far each source is trusted: the share of the rows it speaks for, the "
        "share of its opinions that another source contradicts, how many given labels "
        "agree with it, and the estimated share of its opinions that are correct, with "
        "the interval that the labels allow.</p>" + grid(head, rows),
    )


def classes_section(labeled: LabeledTable, colors: Mapping[str, str]) -> str:
    """Show the expected errors of every class, and which classes are confused."""
    model = labeled.model.classifier
    shares = model.expected_confusions()
    if np.isnan(shares).any() or len(shares) < 2:
        return ""
    errors = sorted(model.class_errors(), key=lambda e: -e.n_predicted)
    rows = [
        (
            chip(shortened(e.label, 40), colors.get(str(e.label), REST)),
            e.n_given,
            e.n_predicted,
            percent(e.wrong),
            percent(e.missed),
        )
        for e in errors[:30]
    ]
    head = ("class", "given", "predicted", "wrong", "missed")
    n_open = int((~labeled.given).sum())
    pairs = [
        (
            chip(shortened(c.label, 40), colors.get(str(c.label), REST)),
            chip(shortened(c.truth, 40), colors.get(str(c.truth), REST)),
            f"{n_open * c.share:,.0f} ({percent(c.share)})",
        )
        for c in largest_confusions(shares, model.classes_, 8)
        if n_open * c.share >= 0.5
    ]
    confused = ""
    if pairs:
        confused = "<h3>Expected confusions</h3>" + grid(
            ("predicted label", "true label", "rows, about"), pairs
        )
    return section(
        "Class by class",
        "<p>Wrong: the expected share of the rows with this label that belong to "
        "another class. Missed: the expected share of this class that gets another "
        "label.</p>" + grid(head, rows) + confused,
    )


def doubts_section(labeled: LabeledTable, colors: Mapping[str, str]) -> str:
    """List given labels that the others contradict."""
    found = labeled.model.classifier.suspicious_labels()
    if not found:
        return ""
    rows = [
        (
            labeled.table.row_numbers[s.row],
            chip(shortened(s.label, 40), colors.get(str(s.label), REST)),
            chip(shortened(s.likely, 40), colors.get(str(s.likely), REST)),
            f"{s.odds:.0f} to 1",
        )
        for s in found[:20]
    ]
    more = f'<p class="quiet">and {len(found) - 20} more</p>' if found[20:] else ""
    return section(
        "Given labels to check",
        "<p>The other labels contradict these. They may be wrong, or the rows may be "
        "hard. If a given label is wrong, the expected error counts it as a mistake of "
        "the predictions, and is too large.</p>"
        + grid(("row", "given label", "others suggest", "odds"), rows)
        + more,
    )


def table_effects(labeled: Any, random_state: int = 0) -> list[ColumnEffect]:
    """Find the columns of a table that matter most."""
    transformer = labeled.model.transformer
    if transformer.feature_groups_ is None:
        return []
    names = np.array([c.name for c in transformer.columns_], dtype=object)
    groups = names[transformer.feature_columns_]
    n_columns = len(set(groups.tolist()))
    if n_columns < 2:
        return []
    return labeled.model.classifier.column_effects(
        labeled.features,
        groups,
        n_rows=int(np.clip(_EXCHANGED // n_columns, _FEWEST, _MOST)),
        random_state=random_state,
    )


def effects_section(effects: list[ColumnEffect]) -> str:
    """Plot the importance of the columns."""
    if not effects:
        return ""
    longest = max(effects[0].effect, 1e-9)
    bars = "".join(
        f'<div class="bar"><span class="name">{escape(shortened(e.column, 40))}</span>'
        f'<span class="track"><span style="width:{100 * e.effect / longest:.2f}%;'
        f'background:#8a949e"></span></span><span class="quiet">'
        f"{_effect_words(e)}</span></div>"
        for e in effects[:15]
    )
    more = len(effects) - 15
    rest = f'<p class="quiet">and {more:,} more</p>' if more > 0 else ""
    return section(
        "Which columns matter",
        "<p>How much the predictions change when the values of a column are shuffled "
        "among rows. A column that repeats others changes them little.</p>"
        f'<div class="bars">{bars}</div>{rest}',
    )


def _effect_words(effect: ColumnEffect) -> str:
    if np.isnan(effect.changed):
        return f"{effect.effect:.2f} standard deviations"
    return f"changes {100 * effect.changed:.0f} % of the labels"
