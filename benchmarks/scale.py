"""Measure what happens beyond one machine: workers, blocks, samples of the rows.

    python benchmarks/scale.py workers    # rows a second of one worker and of two
    python benchmarks/scale.py blocks     # what a block costs, and how much it moves
    python benchmarks/scale.py sample     # error of samples and of all 200,000 rows
    python benchmarks/scale.py picture    # of what was measured, by files.py too
    python benchmarks/scale.py            # all of them

Every group appends lines to benchmarks/results/scale_*.csv as they are found, and goes
on after an interruption with those that are missing.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import os
import pickle
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_wine, make_classification, make_moons

from fewlabels import FewLabelsClassifier
from fewlabels.datasets import hide_labels

RESULTS = Path(__file__).parent / "results"
COLUMNS = 20
BLOCK = 50_000


class Lines:
    """A table on disk that grows line by line."""

    def __init__(self, name, folder=RESULTS):
        self.path = Path(folder) / f"scale_{name}.csv"
        self.known = []
        if self.path.exists():
            with self.path.open(newline="") as file:
                self.known = list(csv.DictReader(file))

    def has(self, **what):
        """Tell whether a line with these entries is there."""
        wanted = {name: str(value) for name, value in what.items()}
        return any(wanted.items() <= line.items() for line in self.known)

    def add(self, **line):
        """Write a line."""
        line = {name: str(value) for name, value in line.items()}
        self.known.append(line)
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, line, lineterminator="\n")
            if len(self.known) == 1:
                writer.writeheader()
            writer.writerow(line)
        print(*line.values(), flush=True)


def generated(n_rows, block=BLOCK, columns=COLUMNS):
    """Two classes in a Dask array whose blocks are made where they are needed."""
    import dask.array as da

    def rows(block_info=None):
        first, last = block_info[None]["array-location"][0]
        rng = np.random.default_rng(first)
        side = rng.integers(2, size=last - first)
        return rng.normal(size=(last - first, columns)) + side[:, None]

    sizes = tuple(min(block, n_rows - start) for start in range(0, n_rows, block))
    return da.map_blocks(
        rows, chunks=(sizes, (columns,)), dtype=float, meta=np.empty((0, columns))
    )


def learned(X, sample_size):
    """Learn from 60 labels that tell the two classes."""
    from fewlabels.dask import DaskFewLabelsClassifier

    y = np.full(X.shape[0], -1)
    first = X[:60].compute(scheduler="synchronous")
    y[:60] = first.sum(axis=1) > COLUMNS / 2
    model = DaskFewLabelsClassifier(
        sample_size=sample_size, bank="fast", random_state=0
    )
    import dask

    with dask.config.set(scheduler="synchronous"):
        return model.fit(X, y)


def workers(lines, n_rows=2_000_000, sample_size=5000, repeats=3, counts=(1, 2)):
    """Seconds to predict with one local worker and with two, in turns."""
    from distributed import Client, LocalCluster

    X = generated(n_rows)
    model = learned(X, sample_size)
    for repeat in range(repeats):
        for n_workers in counts:
            if lines.has(workers=n_workers, repeat=repeat):
                continue
            with (
                LocalCluster(
                    n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
                ) as cluster,
                Client(cluster) as client,
            ):
                # One block for every worker loads what it needs.
                warm = generated(n_workers * BLOCK)
                client.compute(model.predict(warm).sum()).result()
                start = time.perf_counter()
                client.compute(model.predict(X).sum()).result()
                seconds = time.perf_counter() - start
            lines.add(
                workers=n_workers,
                repeat=repeat,
                rows=n_rows,
                seconds=round(seconds, 2),
                load=round(os.getloadavg()[0], 1),
            )


def blocks(lines, sample_sizes=(5000, 20_000), n_rows=200_000):
    """Processor seconds and bytes of a block, in reading and in answering."""
    from fewlabels.dask._draw import draw_unlabeled, drawn_from

    for size in sample_sizes:
        if lines.has(sample=size):
            continue
        start = time.process_time()
        model = learned(generated(n_rows), size)
        fitting = time.process_time() - start
        block = generated(BLOCK).compute(scheduler="synchronous")
        draw = draw_unlabeled(n_rows, np.arange(60), size, seed=0)
        start = time.process_time()
        drawn, summary = drawn_from(block, 0, BLOCK, np.arange(60), [draw])
        drawing = time.process_time() - start
        model.predict(block[:100])
        start = time.process_time()
        answers = model.predict(block)
        predicting = time.process_time() - start
        lines.add(
            sample=size,
            rows=BLOCK,
            fit_seconds=round(fitting, 1),
            draw_seconds=round(drawing, 3),
            predict_seconds=round(predicting, 2),
            block_bytes=block.nbytes,
            drawn_bytes=len(pickle.dumps((drawn, summary))),
            answer_bytes=answers.nbytes,
            model_bytes=len(pickle.dumps(model.models_)),
        )


def noisy_copies(X, y, n_rows, seed=0):
    """Draw rows again, each moved by a tenth of a deviation."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(y.size, size=n_rows)
    return X[rows] + 0.1 * X.std(axis=0) * rng.normal(size=(n_rows, X.shape[1])), y[
        rows
    ]


def large_sets(n_rows):
    """Make sets of as many rows as asked for, two of them from small ones."""

    def classes(n_informative, n_classes, seed):
        return make_classification(
            n_rows,
            n_features=COLUMNS,
            n_informative=n_informative,
            n_redundant=COLUMNS - n_informative - 4,
            n_classes=n_classes,
            n_clusters_per_class=2,
            class_sep=1.5,
            random_state=seed,
        )

    return {
        "moons": lambda: make_moons(n_rows, noise=0.15, random_state=0),
        "clusters of 2 classes": lambda: classes(6, 2, 0),
        "clusters of 4 classes": lambda: classes(8, 4, 1),
        "wines": lambda: noisy_copies(*load_wine(return_X_y=True), n_rows),
        "digits": lambda: noisy_copies(*load_digits(return_X_y=True), n_rows),
    }


def sample(
    lines,
    n_rows=200_000,
    sizes=(20_000, 100_000),
    n_labels=60,
    n_draws=10,
    bank="fast",
    device=None,
):
    """Errors of a fit to a sample and of one to all rows, with the same labels.

    Labels are drawn among the rows of the smallest sample, which is part of the others,
    so that a bank serves all of them.
    """
    for name, make in large_sets(n_rows).items():
        X, y_true = make()
        order = np.random.default_rng(0).permutation(n_rows)
        labels = [
            hide_labels(y_true[order[: sizes[0]]], n_labeled=n_labels, random_state=k)
            for k in range(n_draws)
        ]
        for size in (*sizes, n_rows):
            missing = [
                draw
                for draw in range(n_draws)
                if not lines.has(set=name, learned_from=size, draw=draw)
            ]
            model = None
            for draw in missing:
                y = np.full(size, -1)
                y[: sizes[0]] = labels[draw]
                start = time.perf_counter()
                if model is None:
                    model = FewLabelsClassifier(
                        bank=bank, device=device, random_state=0
                    ).fit(X[order[:size]], y)
                else:
                    model.refit_labels(y, estimate_error=False)
                answers = np.concatenate(
                    [model.transduction_, model.predict(X[order[size:]])]
                    if size < n_rows
                    else [model.transduction_]
                )
                unlabeled = np.ones(n_rows, dtype=bool)
                unlabeled[: sizes[0]] = labels[draw] < 0
                wrong = answers != y_true[order]
                lines.add(
                    set=name,
                    learned_from=size,
                    draw=draw,
                    error=round(100 * np.mean(wrong[unlabeled]), 2),
                    seconds=round(time.perf_counter() - start, 1),
                )


def picture(path=RESULTS / "scale.png"):
    """Draw memory by rows, seconds by workers and error by rows, as far as measured."""
    from matplotlib import pyplot as plt

    figure, (memory, seconds, error) = plt.subplots(
        1, 3, figsize=(12, 3.6), layout="constrained"
    )
    with (RESULTS / "files.csv").open(newline="") as file:
        files = list(csv.DictReader(file))
    for command, aim in (("predict", 1000), ("label", 2500)):
        points = sorted(
            (int(line["rows"]), int(line["peak_mb"]))
            for line in files
            if line["command"] == command
        )
        drawn = memory.plot(*zip(*points, strict=True), "o-", label=command)
        memory.axhline(aim, linestyle=":", color=drawn[0].get_color())
    sizes = sorted({int(line["rows"]) for line in files})
    memory.set(xscale="log", ylim=(0, None), xlabel="million rows in the file")
    memory.set_xticks(sizes, [f"{size / 1e6:g}" for size in sizes], minor=False)
    memory.set(title="Peak of memory in MB (dotted: aims)")
    memory.legend(loc="center right")
    counts = {}
    for line in Lines("workers").known:
        counts.setdefault(int(line["workers"]), []).append(float(line["seconds"]))
    means = [np.mean(runs) for runs in counts.values()]
    seconds.bar([str(n) for n in counts], means, width=0.5)
    seconds.set(xlabel="workers", title="Seconds to predict 2,000,000 rows")
    errors = {}
    for line in Lines("sample").known:
        sizes = errors.setdefault(line["set"], {})
        sizes.setdefault(int(line["learned_from"]), []).append(float(line["error"]))
    for name, sizes in errors.items():
        error.plot(sizes.keys(), [np.mean(e) for e in sizes.values()], "o-", label=name)
    sizes = sorted({size for one in errors.values() for size in one})
    error.set(xscale="log", ylim=(0, None), xlabel="thousand rows learned from")
    error.set_xticks(sizes, [f"{size / 1e3:g}" for size in sizes], minor=False)
    error.set(title="Error in %, 60 labels")
    error.legend(fontsize="small")
    for axis in (memory, error):
        axis.minorticks_off()
    figure.savefig(path, dpi=90)


GROUPS = {"workers": workers, "blocks": blocks, "sample": sample}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("group", nargs="*", choices=[*GROUPS, "picture", []])
    parser.add_argument("--device", help="where to learn from samples")
    parser.add_argument("--draws", type=int, default=10, help="of labels, for samples")
    given = parser.parse_args()
    for name in given.group or [*GROUPS, "picture"]:
        if name == "picture":
            picture()
            continue
        options = {}
        if name == "sample":
            options = {"device": given.device, "n_draws": given.draws}
        GROUPS[name](Lines(name), **options)


if __name__ == "__main__":
    main()
