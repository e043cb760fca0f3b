"""All commands in turn, on a table that comes with scikit-learn."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import shlex
from pathlib import Path
from typing import Any

import click

from fewlabels.cli._console import Console, UseError

LABELS_PER_CLASS = 3
_NEW_ROWS = 20


def write_wines(folder: Path, *, force: bool, seed: int = 3) -> dict[str, str]:
    """Write a table of wines with few known cultivars, and one of new wines.

    The measurements are those of scikit-learn's set; bottles are numbered, some cells
    are empty, and all but nine cultivars are removed.
    """
    import io

    import numpy as np
    from sklearn.datasets import load_wine

    from fewlabels.datasets import hide_labels
    from fewlabels.tabular.files import replacing

    wine = load_wine()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(wine.target))
    cultivars = np.array(["Barolo", "Grignolino", "Barbera"])[wine.target[order]]
    values = wine.data[order]
    shown = hide_labels(
        cultivars[:-_NEW_ROWS], per_class=LABELS_PER_CLASS, random_state=seed
    )
    missing = rng.random(values.shape) < 0.02
    names = ["bottle", *wine.feature_names, "cultivar"]
    rows = []
    for k, (row, gaps) in enumerate(zip(values, missing, strict=True)):
        cells = ["" if gap else f"{v:g}" for v, gap in zip(row, gaps, strict=True)]
        label = shown[k] if k < shown.size else None
        rows.append([f"B{k + 1:04d}", *cells, label or ""])
    for name, part, width in (
        ("wines.csv", rows[:-_NEW_ROWS], len(names)),
        ("new_wines.csv", rows[-_NEW_ROWS:], len(names) - 1),
    ):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(
            [names[:width], *(row[:width] for row in part)]
        )
        with replacing(folder / name, force=force) as file:
            file.write(text.getvalue().encode())
    return {row[0]: str(c) for row, c in zip(rows, cultivars, strict=True)}


def tell_the_story(commands: Any, folder: Path, console: Console, force: bool) -> None:
    """Run every command on the wines, and compare the labels with the true ones."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UseError(f"Cannot make {folder}: {error.strerror}.") from None
    truth = console.work(lambda: write_wines(folder, force=force))
    console.say(
        f"{folder / 'wines.csv'}: {len(truth) - _NEW_ROWS} wines with 13 measurements, "
        f"{3 * LABELS_PER_CLASS} of known cultivar.\n"
    )

    def path(name: str) -> str:
        return str(folder / name)

    def step(why: str, *arguments: str) -> None:
        console.say(f"{why}\n$ fewlabels {shlex.join(arguments)}")
        extra = [*(["--quiet"] if console.quiet else []), *(["--force"] * force)]
        given = [*arguments, *extra]
        commands.main(given, prog_name="fewlabels", standalone_mode=False, obj=given)
        console.say("")

    step(
        "Label the others, and write a report:",
        *("label", path("wines.csv"), "--target", "cultivar"),
        *("-o", path("labelled.csv"), "--report", path("report.html")),
    )
    console.say(_compared(path("labelled.csv"), truth))
    console.say(console.work(lambda: _explained(path("wines.csv"), truth)) + "\n")
    step(
        "Which wines should be labelled next?",
        *("ask", path("wines.csv"), "--target", "cultivar", "-n", "5"),
    )
    step(
        "Save a model, and use it for new wines:",
        *("fit", path("wines.csv"), "--target", "cultivar"),
        *("-o", path("cultivar.fewlabels")),
    )
    step(
        "",
        *("predict", path("cultivar.fewlabels"), path("new_wines.csv")),
        *("-o", path("new_labelled.csv")),
    )
    console.say(_compared(path("new_labelled.csv"), truth) + "\n")
    step(
        "Group the wines without any labels:",
        *("cluster", path("wines.csv"), "--clusters", "3", "--target", "cultivar"),
        *("-o", path("grouped.csv")),
    )
    console.say(f"Open {click.style(path('report.html'), bold=True)} in a browser.")


def _compared(path: str, truth: dict[str, str]) -> str:
    """Count how many of the predicted labels are correct."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if r["cultivar_source"] == "predicted"]
    right = sum(truth[r["bottle"]] == r["cultivar_predicted"] for r in rows)
    return (
        f"Compared with the true cultivars, {right} of {len(rows)} predicted labels "
        f"are correct: an error of {100 * (1 - right / len(rows)):.1f} %."
    )


def _explained(path: str, truth: dict[str, str]) -> str:
    """Say how supervised learning did in truth, and why so much more was expected."""
    from fewlabels.tabular import label_table, read_table

    labeled = label_table(read_table(path), "cultivar")
    model, features = labeled.model.classifier, labeled.features[~labeled.given]
    true = [truth[bottle] for bottle in labeled.table["bottle"][~labeled.given]]
    error = (model.baseline_.predict(features) != true).mean()
    n_labels, expected = int(labeled.given.sum()), model.expected_error_
    return (
        f"Supervised learning from the same labels has {100 * error:.1f} %. Why was "
        f"{100 * expected.value:.0f} % expected? {n_labels} labels are few to learn "
        f"from and few to test on: each counts for {100 / n_labels:.0f} points, so the "
        f"estimate is cautious and its interval wide ({100 * expected.low:.0f} to "
        f"{100 * expected.high:.0f} %)."
    )
