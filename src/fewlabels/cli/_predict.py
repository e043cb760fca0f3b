"""Label new rows with a saved model."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

from fewlabels.cli import _options as options
from fewlabels.cli._console import Console, UseError
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
    options.shown,
    options.strict,
    options.report,
    options.reading,
    options.embed_allowed,
    options.embed_with,
    options.scheduler,
    options.batch_rows,
    options.running,
)
def predict(model: str, table: str, **settings: Any) -> None:
    """Label the rows of a new TABLE with a saved MODEL.

    The table needs the columns that the model uses, in any order; others are passed
    through. Where a column has other values than in training, there is a warning, and
    confidence is lower. A file that is not a model, or would run code, is refused.
    """
    console = Console(settings["quiet"])
    job = Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        from fewlabels.preprocessing.cells import counts
        from fewlabels.tabular import load_model, prediction_report
        from fewlabels.tabular.labeling import predicted_columns
        from fewlabels.tabular.setup import class_text, noting

        if settings["scheduler"]:
            return job.predict_on_cluster(load_model(model), table)
        large = job.large(table)
        loaded = load_model(model)
        for network in filter(None, (settings["embed"], settings["embed_with"])):
            from fewlabels.embeddings import allow_embedder

            allow_embedder(network)
        if large is not None:
            return _in_batches(job, loaded, large)
        read = job.read(table, rewritten=True)
        used = [column.name for column in loaded.columns if column.is_used]
        if settings["features"] and read.names[-1] not in used:
            raise UseError(
                f"{model} was fitted without --features, so it cannot use them here."
            )
        notes = [*loaded.about["notes"], *read.notes]
        job.tell(0.1, "labelling")
        with noting(notes):
            added = predicted_columns(
                loaded, read, shown=job.shown, strict=settings["strict"]
            )
        if job.report:
            job.write_page(prediction_report(loaded, read, **job.page), job.report)
        job.write(read, added)
        labels = next(iter(added.values()))
        if loaded.predicts_numbers:
            found: Any = (min(labels), max(labels))
        else:
            found = dict(counts(map(class_text, labels)))
        return _summary(job, loaded, read.source, read.n_rows, found, added, notes)

    job.finish(*console.work(work))


def _summary(
    job: Job, model: Any, source: str, n_rows: int, found: Any, names: Any, notes: Any
) -> tuple[dict[str, Any], list[str]]:
    from fewlabels._words import plural

    classes = {} if model.predicts_numbers else found
    if model.predicts_numbers:
        said = f"between {found[0]:.4g} and {found[1]:.4g}"
    else:
        said = counted(classes)
    summary = {
        "table": source,
        "rows": n_rows,
        "target": model.target,
        "classes": classes,
        "new_columns": list(names),
        "notes": notes,
        "output": job.output,
        "report": job.report,
    }
    return summary, [f"{source}: {plural(n_rows, 'row')} labelled ({said})."]


def _in_batches(job: Job, model: Any, large: Any) -> tuple[dict[str, Any], list[str]]:
    from fewlabels.tabular import prediction_report
    from fewlabels.tabular.large import predict_large, sample_of

    if job.report:
        rows = sample_of(large, None, sample_rows=5000).rows
        job.write_page(prediction_report(model, rows, **job.page), job.report)
    written = predict_large(
        model,
        large,
        str(job.output),
        shown=job.shown,
        strict=job.settings["strict"],
        force=job.settings["force"],
        progress=job.console.tell,
    )
    found: Any = dict(written.counts.most_common())
    if model.predicts_numbers:
        found = (written.low, written.high)
    notes = [*model.about["notes"], *dict.fromkeys(large.notes)]
    summary, lines = _summary(
        job, model, large.source, written.n_rows, found, written.names, notes
    )
    return summary, [*lines, *written_words(written)]
