"""Count the labels that query strategies save.

    python benchmarks/active.py run                       # everything, resumable
    python benchmarks/active.py run --sets digit1 --repetitions 2 --strategies margin
    python benchmarks/active.py table                     # labels needed, by strategy
    python benchmarks/active.py figure                    # the curves

FewLabelsClassifier learns four sets of the book *Semi-Supervised Learning*. In every
repetition half of the rows is set aside to test on (they stay in training without a
label), ten of the others have a label from the start, drawn by class, and the strategy
asks for the rest: 5 at a time up to 30 labels, then 10, then 20. Every strategy starts
from the same labels. The goal is the mean error that random sampling has with 100
labels. Every finished curve is written to a CSV file, and a new call goes on where the
last one stopped. Data come from the folder that FEWLABELS_DATA names.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import time
from pathlib import Path

import numpy as np

from fewlabels import FewLabelsClassifier
from fewlabels.active import (
    EGExploration,
    ExpectedGradientLength,
    FewLabelsSampling,
    QueryByCommittee,
    UncertaintySampling,
    VarianceReduction,
)
from fewlabels.datasets import load_ssl_book
from fewlabels.model_selection import LabelCurve
from fewlabels.model_selection._curves import Asking, query_curve
from fewlabels.model_selection._splitters import draw_labels

RESULTS = Path(__file__).parent / "results"
SETS = ("digit1", "usps", "coil", "g241c")
COUNTS = np.array([10, 15, 20, 25, 30, 40, 50, 60, 80, 100])
SHOWN = (20, 30, 50, 100)
STRATEGIES = {
    "random": lambda: None,
    "FewLabelsSampling": FewLabelsSampling,
    "margin": UncertaintySampling,
    "variance reduction": lambda: VarianceReduction(
        kernel="rbf", gamma="median", alpha=0.1
    ),
    "committee": QueryByCommittee,
    "middle certainty": lambda: UncertaintySampling(measure="middle_certainty"),
    "gradient length": ExpectedGradientLength,
    "explored margin": lambda: EGExploration(UncertaintySampling()),
}
COLUMNS = ("set", "repetition", "strategy", "n_labels", "error", "seconds")


def data_of(name):
    bunch = load_ssl_book(name, 10)
    return bunch.data, bunch.target


def curve_of(name, repetition, strategy):
    """Errors of one strategy along one curve, and its seconds."""
    X, y = data_of(name)
    rng = np.random.RandomState(1000 + repetition)
    pool = np.sort(rng.permutation(y.size)[: y.size // 2])
    test = np.setdiff1d(np.arange(y.size), pool)
    hidden = np.full(y.size, -1)
    hidden[pool] = y[pool]
    start = draw_labels(hidden, rng, n_labeled=int(COUNTS[0]))
    asking = Asking(COUNTS, None, "accuracy", "unlabeled")
    model = FewLabelsClassifier(random_state=0)
    made = STRATEGIES[strategy]()
    seed = rng.randint(2**31)
    started = time.perf_counter()
    judged = query_curve(model, made, X, y, start, pool, test, asking, seed)
    seconds = time.perf_counter() - started
    return [1 - j.score for j in judged], seconds


def read(path):
    if not path.exists():
        return []
    with path.open() as handle:
        return list(csv.DictReader(handle))


def run(path, sets, repetitions, strategies):
    done = {(r["set"], int(r["repetition"]), r["strategy"]) for r in read(path)}
    for repetition in range(repetitions):
        for name in sets:
            for strategy in strategies:
                if (name, repetition, strategy) in done:
                    continue
                errors, seconds = curve_of(name, repetition, strategy)
                fresh = not path.exists()
                with path.open("a", newline="") as handle:
                    writer = csv.writer(handle, lineterminator="\n")
                    if fresh:
                        writer.writerow(COLUMNS)
                    for count, error in zip(COUNTS, errors, strict=True):
                        writer.writerow(
                            (name, repetition, strategy, count, f"{error:.5f}")
                            + (f"{seconds:.1f}",)
                        )


def curves(path):
    """One LabelCurve per set, of the repetitions that random sampling has too."""
    errors = {}
    for row in read(path):
        key = row["set"], row["strategy"], int(row["repetition"])
        errors.setdefault(key, {})[int(row["n_labels"])] = float(row["error"])
    found = {}
    for name in dict.fromkeys(key[0] for key in errors):
        for strategy in STRATEGIES:
            ours = [r for s, t, r in errors if (s, t) == (name, strategy)]
            both = [r for r in ours if (name, "random", r) in errors]
            if not both:
                continue
            scores = np.array(
                [
                    [
                        [1 - errors[name, kind, r][count] for r in both]
                        for count in COUNTS
                    ]
                    for kind in dict.fromkeys(("random", strategy))
                ]
            )[:, :, None]
            found[name, strategy] = LabelCurve(
                names=tuple(dict.fromkeys(("random", strategy))),
                metric="accuracy",
                n_labels=COUNTS,
                n_unlabeled=np.array([0]),
                scores=scores,
                fit_seconds=np.zeros_like(scores),
                n_test=0,
            )
    return found


def table(path, out):
    """Labels that each strategy needs for what random sampling does with 100."""
    lines = []
    for (name, strategy), curve in curves(path).items():
        mean = curve.errors[:, :, 0].mean(axis=2)
        goal = float(mean[0, -1])
        first = curve.labels_needed(goal)[strategy]
        lasting = curve.labels_needed(goal, lasting=True)[strategy]
        lines.append(
            {
                "set": name,
                "strategy": strategy,
                "repetitions": curve.scores.shape[3],
                "goal, %": f"{100 * goal:.1f}",
                "labels needed": "never" if np.isnan(first) else f"{first:.0f}",
                "for good": "never" if np.isnan(lasting) else f"{lasting:.0f}",
                **{
                    f"error at {count}, %": f"{100 * error:.1f}"
                    for count, error in zip(COUNTS, mean[-1], strict=True)
                    if count in SHOWN
                },
            }
        )
    with (out / "active_labels.csv").open("w", newline="") as handle:
        writer = csv.DictWriter(handle, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    for strategy in STRATEGIES:
        ours = [line for line in lines if line["strategy"] == strategy]
        for column in ("labels needed", "for good"):
            known = [100 if x[column] == "never" else float(x[column]) for x in ours]
            if known:
                print(f"{strategy}, {column}: mean {np.mean(known):.0f} of {len(ours)}")
    return lines


def figure(path, out):
    import matplotlib.pyplot as plt

    found = curves(path)
    names = list(dict.fromkeys(name for name, _ in found))
    size = (5 * len(names), 4.2)
    fig, axes = plt.subplots(
        1, len(names), figsize=size, layout="constrained", squeeze=False
    )
    for ax, name in zip(axes[0], names, strict=True):
        for color, strategy in enumerate(STRATEGIES):
            curve = found.get((name, strategy))
            if curve is not None:
                mean = 100 * curve.errors[-1, :, 0].mean(axis=1)
                width = 2.5 if color < 2 else 1.2
                ax.plot(COUNTS, mean, color=f"C{color}", lw=width, label=strategy)
        goal = 100 * found[name, "random"].errors[0, -1, 0].mean()
        ax.axhline(goal, color="grey", ls="--", lw=1)
        ax.set(title=name, xlabel="labels", yscale="log")
        ax.spines[["top", "right"]].set_visible(False)
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("{x:g}")
        ax.tick_params(which="minor", labelsize=8)
    axes[0, 0].set_ylabel("error, %")
    axes[0, -1].legend(frameon=False, fontsize=8)
    fig.savefig(out / "active.png", dpi=110)
    plt.close(fig)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("run", "table", "figure"))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    given.out.mkdir(exist_ok=True, parents=True)
    path = given.out / "active_curves.csv"
    if given.what == "run":
        strategies = given.strategies.split(",")
        run(path, given.sets.split(","), given.repetitions, strategies)
    if given.what == "figure":
        figure(path, given.out)
    else:
        table(path, given.out)


if __name__ == "__main__":
    main()
