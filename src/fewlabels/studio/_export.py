"""Export labels for other programs."""

# SPDX-License-Identifier: BSD-3-Clause

import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from fewlabels.studio._rows import cell_text
from fewlabels.tabular import Table, write_table

DOWNLOADS = {
    "table": "{stem}_labelled{suffix}",
    "model": "{stem}.fewlabels",
    "report": "{stem}_report.html",
    "labels": "{stem}_labels.csv",
    "labels-parquet": "{stem}_labels.parquet",
    "labels-jsonl": "{stem}_labels.jsonl",
    "huggingface": "{stem}_dataset.zip",
    "label-studio": "{stem}_label_studio.json",
    "label-studio-csv": "{stem}_label_studio.csv",
}
# Those that the learning process makes.
LEARNED = ("table", "model", "report")


def export_labels(what: str, table: Table, session: Any) -> bytes:
    """Write the labels for other programs.

    Parameters
    ----------
    what : str
        One of `DOWNLOADS`, but for those that are `LEARNED`.
    table : Table
        The table.
    session : Session
        Labels and guesses.

    Returns
    -------
    data : bytes
        The file.
    """
    target, labels = session.about["target"], dict(session.labels)
    names = [n for n in table.names if n != target]
    rows, numbers = sorted(labels), table.row_numbers.tolist()
    if what == "label-studio":
        columns = [table[n] for n in names]
        tasks = [
            _task(
                row,
                numbers[row],
                {n: cell_text(c[row]) for n, c in zip(names, columns, strict=True)},
                labels.get(row),
                session,
            )
            for row in range(table.n_rows)
        ]
        return json.dumps(tasks, ensure_ascii=False, indent=1).encode(
            "utf-8", "replace"
        )
    number, ident, annotation = "row", "id", "annotation_id"
    cells: dict[str, list[Any]] = {number: [numbers[row] for row in rows]}
    cells |= {n: [cell_text(table[n][row]) for row in rows] for n in names}
    if what == "label-studio-csv":
        cells[ident] = cells[number]
    cells[target] = [labels[row] for row in rows]
    if what == "label-studio-csv":
        cells[annotation] = cells[number]
    match what:
        case "labels-parquet":
            return _written(cells, ".parquet")
        case "labels-jsonl":
            return _written(cells, ".jsonl")
        case "huggingface":
            return _dataset(cells, target, session)
        case _:
            return _written(cells, ".csv")


def _written(cells: dict[str, list[Any]], suffix: str) -> bytes:
    """Write a table; text that looks like a formula is defused where it matters."""
    name, *others = cells
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "labels" + suffix)
        base = Table.from_frame({name: cells[name]})
        write_table(base, path, {n: cells[n] for n in others})
        return path.read_bytes()


def _dataset(cells: dict[str, list[Any]], target: str, session: Any) -> bytes:
    """Write a folder that the library datasets of Hugging Face loads, as a zip."""
    classes = json.dumps({str(k): c for k, c in enumerate(session.classes)})
    name = json.dumps(session.about["name"], ensure_ascii=False)
    readme = (
        "---\nconfigs:\n- config_name: default\n  data_files:\n"
        "  - split: train\n    path: data/train.parquet\n---\n\n"
        f"# {name}\n\nThe rows of {name} that were labelled by hand. The label column "
        f"is `{target}`; its classes are {classes}.\n\n"
        '```python\nfrom datasets import load_dataset\n\ndata = load_dataset("PATH")\n'
        "```\n"
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/train.parquet", _written(cells, ".parquet"))
        archive.writestr("README.md", readme.encode("utf-8", "replace"))
    return file.getvalue()


def _task(
    row: int, number: int, cells: dict[str, str], label: str | None, session: Any
) -> dict[str, Any]:
    target = session.about["target"]

    def result(label: str) -> list[dict[str, Any]]:
        return [
            {
                "from_name": target,
                "to_name": "row",
                "type": "choices",
                "value": {"choices": [label]},
            }
        ]

    task: dict[str, Any] = {"id": number, "data": {"row": number, **cells}}
    if label is not None:
        task["annotations"] = [{"result": result(label)}]
        return task
    task["annotations"] = []
    guesses = session.guesses_of(row)
    if guesses:
        best = guesses[0]
        task["predictions"] = [
            {
                "model_version": "fewlabels",
                "score": best["share"],
                "result": result(best["label"]),
            }
        ]
    return task
