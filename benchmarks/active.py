"""Count the labels that query strategies save.

    python benchmarks/active.py run                       # everything, resumable
    python benchmarks/active.py run --models "logistic regression" --repetitions 2
    python benchmarks/active.py table                     # labels needed, by strategy
    python benchmarks/active.py figure                    # the curves

Two models learn four sets of the book *Semi-Supervised Learning*: FewLabelsClassifier,
and logistic regression on standardised columns, which is fast enough for all
strategies. In every repetition half of the rows is set aside to test on (they stay in
training without a label), ten of the others have a label from the start, drawn by
class, and the strategy asks for the rest: 5 at a time up to 30 labels, then 10, then
20. Every strategy starts from the same labels. The goal is the mean error that random
sampling has with 100 labels, over the same repetitions. Every finished curve is written
to a CSV file, and a new call goes on where the last one stopped. Data come from the
folder that FEWLABELS_DATA names.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import FewLabelsClassifier
from fewlabels.active import (
    ClusterCoverage,
    EGExploration,
    ExpectedGradientLength,
    FewLabelsSampling,
    QueryByCommittee,
    UncertaintySampling,
    VarianceReduction,
)
from fewlabels.datasets import load_ssl_book
from fewlabels.model_selection import LabelCurve, LabeledOnly
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
    "cluster coverage": ClusterCoverage,
    "committee, votes": lambda: QueryByCommittee(
        supervised().estimator, measure="vote_entropy"
    ),
    "committee, divergence": lambda: QueryByCommittee(supervised().estimator),
    "entropy": lambda: UncertaintySampling(measure="entropy"),
    "least confidence": lambda: UncertaintySampling(measure="least_confidence"),
    "middle certainty": lambda: UncertaintySampling(measure="middle_certainty"),
    "gradient length": ExpectedGradientLength,
    "explored margin": lambda: EGExploration(UncertaintySampling()),
}
AUTOMATIC = "FewLabelsClassifier"
SUPERVISED = "logistic regression"
# The slow model is tried with few strategies.
WITH = {
    AUTOMATIC: ("random", "FewLabelsSampling", "margin", "variance reduction"),
    SUPERVISED: tuple(name for name in STRATEGIES if name != "FewLabelsSampling"),
}
COLUMNS = ("model", "set", "repetition", "strategy", "n_labels", "error", "seconds")


def supervised():
    return LabeledOnly(make_pipeline(StandardScaler(), LogisticRegression(C=0.1)))


def model_of(name):
    return FewLabelsClassifier(random_state=0) if name == AUTOMATIC else supervised()


def data_of(name):
    bunch = load_ssl_book(name, 10)
    return bunch.data, bunch.target


def curve_of(model_name, name, repetition, strategy):
    """Errors of one strategy along one curve, and its seconds."""
    X, y = data_of(name)
    rng = np.random.RandomState(1000 + repetition)
    pool = np.sort(rng.permutation(y.size)[: y.size // 2])
    test = np.setdiff1d(np.arange(y.size), pool)
    hidden = np.full(y.size, -1)
    hidden[pool] = y[pool]
    start = draw_labels(hidden, rng, n_labeled=int(COUNTS[0]))
    asking = Asking(COUNTS, None, "accuracy", "unlabeled")
    model = model_of(model_name)
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


def run(path, models, sets, repetitions, wanted):
    keys = ("model", "set", "repetition", "strategy")
    done = {tuple(row[key] for key in keys) for row in read(path)}
    jobs = [
        (model, name, repetition, strategy)
        for model in models
        for repetition in range(repetitions)
        for name in sets
        for strategy in WITH[model]
        if strategy in wanted
    ]
    for job in jobs:
        if tuple(map(str, job)) in done:
            continue
        errors, seconds = curve_of(*job)
        fresh = not path.exists()
        with path.open("a", newline="") as handle:
            writer = csv.writer(handle, lineterminator="\n")
            if fresh:
                writer.writerow(COLUMNS)
            for count, error in zip(COUNTS, errors, strict=True):
                writer.writerow((*job, count, f"{error:.5f}", f"{seconds:.1f}"))


def curves(path):
    """Curves compared with random sampling, over the repetitions that both have."""
    errors = defaultdict(dict)
    for row in read(path):
        key = row["model"], row["set"], row["strategy"]
        points = errors[key].setdefault(int(row["repetition"]), {})
        points[int(row["n_labels"])] = float(row["error"])
    found = {}
    for model, name, strategy in sorted(errors, key=_order):
        random = errors[model, name, "random"]
        own = errors[model, name, strategy]
        both = [r for r in own if r in random]
        if not both:
            continue
        kinds = {"random": random, strategy: own}
        scores = np.array(
            [[[1 - c[r][n] for r in both] for n in COUNTS] for c in kinds.values()]
        )[:, :, None]
        found[model, name, strategy] = LabelCurve(
            names=tuple(kinds),
            metric="accuracy",
            n_labels=COUNTS,
            n_unlabeled=np.array([0]),
            scores=scores,
            fit_seconds=np.zeros_like(scores),
            n_test=0,
        )
    return found


def _order(key):
    model, name, strategy = key
    sets = [*SETS, name]
    return model, sets.index(name), list(STRATEGIES).index(strategy)


def table(path, out):
    """Labels that each strategy needs for what random sampling does with 100."""
    lines, needed = [], defaultdict(list)
    for (model, name, strategy), curve in curves(path).items():
        mean = curve.errors[:, :, 0].mean(axis=2)
        goal = float(mean[0, -1])
        first = curve.labels_needed(goal)[strategy]
        lasting = curve.labels_needed(goal, lasting=True)[strategy]
        # Who does not get there has used up all labels.
        needed[model, strategy].append(np.nan_to_num([first, lasting], nan=COUNTS[-1]))
        lines.append(
            {
                "model": model,
                "set": name,
                "strategy": strategy,
                "runs": curve.scores.shape[3],
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
    write(out / "active_labels.csv", lines)
    means = []
    for (model, strategy), values in needed.items():
        first, lasting = np.mean(values, axis=0)
        means.append(
            {
                "model": model,
                "strategy": strategy,
                "sets": len(values),
                "mean labels needed": f"{first:.0f}",
                "mean for good": f"{lasting:.0f}",
            }
        )
        print(" | ".join(str(value) for value in means[-1].values()))
    write(out / "active_means.csv", means)


def write(path, lines):
    with path.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def figure(path, out):
    import matplotlib.pyplot as plt

    found = curves(path)
    models = list(dict.fromkeys(model for model, _, _ in found))
    names = list(dict.fromkeys(name for _, name, _ in found))
    fig, axes = plt.subplots(
        len(models),
        len(names),
        figsize=(4.2 * len(names), 3.6 * len(models)),
        layout="constrained",
        squeeze=False,
    )
    colors = plt.get_cmap("tab20").colors
    colors = colors[::2] + colors[1::2]  # the strong ones first
    for row, model in zip(axes, models, strict=True):
        for ax, name in zip(row, names, strict=True):
            for color, strategy in zip(colors, STRATEGIES, strict=False):
                curve = found.get((model, name, strategy))
                if curve is not None:
                    mean = 100 * curve.errors[-1, :, 0].mean(axis=1)
                    width = 2.5 if strategy in ("random", "FewLabelsSampling") else 1.2
                    ax.plot(COUNTS, mean, color=color, lw=width, label=strategy)
            if (model, name, "random") not in found:
                ax.set_axis_off()
                continue
            goal = found[model, name, "random"].errors[0, -1, 0].mean()
            ax.axhline(100 * goal, color="grey", ls="--", lw=1)
            ax.set(title=f"{name}, {model}", xlabel="labels", yscale="log")
            ax.spines[["top", "right"]].set_visible(False)
            ax.yaxis.set_major_formatter("{x:g}")
            ax.yaxis.set_minor_formatter("{x:g}")
            ax.tick_params(which="minor", labelsize=7)
        row[0].set_ylabel("error, %")
        row[0].legend(frameon=False, fontsize=7, loc="upper right")
    fig.savefig(out / "active.png", dpi=100)
    plt.close(fig)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("run", "table", "figure"))
    parser.add_argument("--models", default=f"{SUPERVISED},{AUTOMATIC}")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--strategies", default=";".join(STRATEGIES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    given.out.mkdir(exist_ok=True, parents=True)
    path = given.out / "active_curves.csv"
    if given.what == "run":
        models, sets = given.models.split(","), given.sets.split(",")
        run(path, models, sets, given.repetitions, given.strategies.split(";"))
    if given.what == "figure":
        figure(path, given.out)
    else:
        table(path, given.out)


if __name__ == "__main__":
    main()
