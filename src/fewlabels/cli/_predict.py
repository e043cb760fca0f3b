"""Label new rows with a saved model."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

from fewlabels.cli import _options as options
from fewlabels.cli._console import Console
from fewlabels.cli._group import commands
from fewlabels.cli._help import CommandWithExamples
from fewlabels.cli._job import Job, counted, written_words


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels predict species.fewlabels new.csv -o labelled.csv",
        "fewlabels predict species.fewlabels - < new.csv > labelled.csv",
        "fewlabels predict species.fewlabels s3://bucket/new/ -o labelled/",
    ),
)
@options.with_options(
    options.file("model"),
    options.table,
    options.output,
    options.report,
    options.reading,
    options.scheduler,
    options.batch_rows,
    options.running,
)
def predict(model: str, table: str, **settings: Any) -> None:
    """Label the rows of a new TABLE with a saved MODEL.

    The table needs the columns that the model uses, in any order; others are passed
    through. A file that is not a model, or that would run code, is refused.
    """
    console = Console(settings["quiet"])
    job = Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        import numpy as np

        from fewlabels._words import plural
        from fewlabels.preprocessing.cells import counts, text_of
        from fewlabels.tabular import load_model, prediction_report
        from fewlabels.tabular.labeling import number_columns, result_columns
        from fewlabels.tabular.setup import noting

        if settings["scheduler"]:
            return job.predict_on_cluster(load_model(model), table)
        large = job.large(table)
        loaded = load_model(model)
        if large is not None:
            return _in_batches(job, loaded, large)
        read = job.read(table, rewritten=True)
        notes = [*loaded.about["notes"], *read.notes]
        job.tell(0.1, "labelling")
        with noting(notes):
            labels, confidence = loaded.predict(read)
        if job.report:
            job.write_page(prediction_report(loaded, read, **job.page), job.report)
        nothing = np.zeros(read.n_rows, dtype=bool)
        columns = number_columns if loaded.predicts_numbers else result_columns
        added = columns(read, loaded.target, labels, confidence, nothing)
        job.write(read, added)
        if loaded.predicts_numbers:
            low, high = labels.min(), labels.max()
            classes, found = {}, f"between {low:.4g} and {high:.4g}"
        else:
            classes = dict(counts(text_of(value) for value in labels))
            found = counted(classes)
        summary = {
            "table": read.source,
            "rows": read.n_rows,
            "target": loaded.target,
            "classes": classes,
            "new_columns": list(added),
            "notes": notes,
            "output": job.output,
            "report": job.report,
        }
        return summary, [
            f"{read.source}: {plural(read.n_rows, 'row')} labelled ({found})."
        ]

    job.finish(*console.work(work))


def _in_batches(job: Job, model: Any, large: Any) -> tuple[dict[str, Any], list[str]]:
    from fewlabels._words import plural
    from fewlabels.tabular import prediction_report
    from fewlabels.tabular.large import predict_large, sample_of

    if job.report:
        rows = sample_of(large, None, sample_rows=5000).rows
        job.write_page(prediction_report(model, rows, **job.page), job.report)
    written = predict_large(
        model,
        large,
        str(job.output),
        force=job.settings["force"],
        progress=job.console.tell,
    )
    if model.predicts_numbers:
        found = f"between {written.low:.4g} and {written.high:.4g}"
    else:
        found = counted(dict(written.counts.most_common()))
    summary = {
        "table": large.source,
        "rows": written.n_rows,
        "target": model.target,
        "classes": dict(written.counts.most_common()),
        "new_columns": written.names,
        "notes": [*model.about["notes"], *dict.fromkeys(large.notes)],
        "output": job.output,
        "report": job.report,
    }
    return summary, [
        f"{large.source}: {plural(written.n_rows, 'row')} labelled ({found}).",
        *written_words(written),
    ]
