"""Compare transfer learning with the source alone and the target alone.

USPS to MNIST digits (resized to 16 x 16) and back, and an artificial set of which the
target is turned and shifted. A draw has 1000 labelled rows of the source, 500 rows of
the target of which none or 50 are labelled, and 1000 other rows of the target on which
errors are counted. Parameters are the same everywhere; the guide says which were
changed after a look at errors.

    python benchmarks/transfer.py        # and benchmarks/results/transfer.csv, .png
    python benchmarks/transfer.py 1 200  # one draw of the artificial set, fewer rows
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.ndimage import zoom
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from fewlabels.datasets import load_mnist, load_usps
from fewlabels.transfer import (
    ITML,
    ASOClassifier,
    CrossDomainMetric,
    EigenTransferClassifier,
    FeatureAugmentation,
    HeterogeneousFeatureAugmentation,
    LpMKLClassifier,
    SelfTaughtClassifier,
    StructuralCorrespondenceLearning,
    TrAdaBoostClassifier,
    TransferComponentAnalysis,
    stack_domains,
)

RESULTS = Path(__file__).parent / "results"
N_SOURCE, N_TARGET, N_TEST, N_LABELED = 1000, 500, 1000, 50
REPETITIONS = 3
LINEAR = LogisticRegression(C=0.1, max_iter=2000)


def digits():
    """Load both sets with 256 pixels in [0, 1].

    MNIST's digits are drawn in a box of 20 x 20 pixels inside of an empty margin, those
    of USPS fill the image: the margin is cut off before resizing.
    """
    X, y = load_usps(return_X_y=True)
    usps = (X - X.min()) / (X.max() - X.min()), y.astype(int)
    X, y = load_mnist(return_X_y=True)
    rows = np.random.default_rng(0).choice(len(X), 6000, replace=False)
    boxes = X[rows].reshape(-1, 28, 28)[:, 4:-4, 4:-4].astype(float)
    images = zoom(boxes, (1, 0.8, 0.8), order=1)
    mnist = images.reshape(len(rows), 256) / X.max(), y[rows].astype(int)
    return usps, mnist


def artificial(n=6000, n_features=10, angle=np.pi / 4):
    """Three Gaussian classes; the target is turned by 45 degrees and shifted."""
    rng = np.random.default_rng(0)
    centers = np.zeros((3, n_features))
    centers[:, :2] = [[0, 2], [2, -1], [-2, -1]]
    sets = []
    for turned in (False, True):
        y = rng.integers(3, size=n)
        X = centers[y] + rng.normal(size=(n, n_features))
        if turned:
            c, s = np.cos(angle), np.sin(angle)
            X[:, :2] = X[:, :2] @ np.array([[c, s], [-s, c]])
            X[:, 2] += 3
        sets.append((X, y))
    return sets


def inner(transformer, classifier=LINEAR):
    """Fit a transformer to all rows, then a classifier to those with a label."""

    def run(X, y, domains, X_test):
        features = clone(transformer)
        Z = features.fit_transform(X, y, sample_domain=domains)
        model = clone(classifier).fit(Z[y >= 0], y[y >= 0])
        return model.predict(features.transform(X_test))

    return run


def on_rows(classifier, which):
    """Fit a classifier to labelled rows of one domain, or of both."""

    def run(X, y, domains, X_test):
        use = (y >= 0) & {"source": domains > 0, "target": domains < 0}.get(which, True)
        return clone(classifier).fit(X[use], y[use]).predict(X_test)

    return run


def direct(model):
    def run(X, y, domains, X_test):
        return clone(model).fit(X, y, sample_domain=domains).predict(X_test)

    return run


def heterogeneous(X, y, domains, X_test):
    source = domains > 0
    model = HeterogeneousFeatureAugmentation(kernel="rbf")
    model.fit(X[~source], y[~source], X_source=X[source], y_source=y[source])
    return model.predict(X_test)


def in_components(run):
    """Metric learning in the 30 leading principal components."""

    def reduced(X, y, domains, X_test):
        pca = PCA(min(30, X.shape[1])).fit(X)
        return run(pca.transform(X), y, domains, pca.transform(X_test))

    return reduced


def itml(X, y, domains, X_test):
    known = y >= 0
    model = make_pipeline(ITML(random_state=0), KNeighborsClassifier(1))
    return model.fit(X[known], y[known]).predict(X_test)


NO_LABELS = {
    "source only, linear": on_rows(LINEAR, "source"),
    "source only, SVM": on_rows(SVC(), "source"),
    "source only, 1 neighbour": on_rows(KNeighborsClassifier(1), "source"),
    "TCA + linear": inner(
        TransferComponentAnalysis(50, alpha=0.1),
        LogisticRegression(C=10, max_iter=2000),
    ),
    "SCL + linear": inner(StructuralCorrespondenceLearning()),
    "EigenTransfer": direct(EigenTransferClassifier(50)),
}
FEW_LABELS = {
    **{name: run for name, run in NO_LABELS.items() if name.startswith("source")},
    "target only, linear": on_rows(LINEAR, "target"),
    "target only, SVM": on_rows(SVC(), "target"),
    "target only, 1 neighbour": on_rows(KNeighborsClassifier(1), "target"),
    "both pooled, linear": on_rows(LINEAR, "both"),
    "both pooled, SVM": on_rows(SVC(), "both"),
    "both pooled, 1 neighbour": on_rows(KNeighborsClassifier(1), "both"),
    **{name: run for name, run in NO_LABELS.items() if not name.startswith("source")},
    "TrAdaBoost, ridge": direct(
        TrAdaBoostClassifier(RidgeClassifier(10.0), random_state=0)
    ),
    "ASO": direct(ASOClassifier()),
    "self-taught": direct(SelfTaughtClassifier(random_state=0)),
    "feature augmentation + linear": inner(FeatureAugmentation()),
    "HFA": heterogeneous,
    "l2-norm MKL, pooled": direct(LpMKLClassifier()),
    "cross-domain metric + 1 neighbour": in_components(
        inner(CrossDomainMetric(random_state=0), KNeighborsClassifier(1))
    ),
    "ITML, pooled + 1 neighbour": in_components(itml),
}


def draw(source, target, seed, sizes):
    """Rows of one repetition, with as many labels of the target for every class."""
    rng = np.random.default_rng(seed)
    n_source, n_target, n_test, n_labeled = sizes
    s = rng.permutation(len(source[0]))[:n_source]
    t = rng.permutation(len(target[0]))
    t, test = t[:n_target], t[n_target : n_target + n_test]
    y_target = target[1][t]
    few = np.full(n_target, -1)
    classes = np.unique(target[1])
    for k in classes:
        rows = np.flatnonzero(y_target == k)[: n_labeled // classes.size]
        few[rows] = k
    rows = source[0][s], source[1][s], target[0][t]
    return rows, few, (target[0][test], target[1][test])


def compare(name, source, target, repetitions, sizes):
    table = []
    for n_labeled, methods in ((0, NO_LABELS), (sizes[-1], FEW_LABELS)):
        for method, run in methods.items():
            errors, seconds = [], []
            for seed in range(repetitions):
                rows, few, (X_test, y_test) = draw(source, target, seed, sizes)
                stacked = stack_domains(*rows, few if n_labeled else None)
                start = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    predicted = run(*stacked, X_test)
                seconds.append(time.perf_counter() - start)
                errors.append(100 * np.mean(predicted != y_test))
            row = {
                "data": name,
                "target labels": n_labeled,
                "method": method,
                "error %": f"{np.mean(errors):.1f}",
                "std": f"{np.std(errors):.1f}",
                "seconds": f"{np.mean(seconds):.1f}",
            }
            table.append(row)
            print(" | ".join(map(str, row.values())), flush=True)
    return table


def picture(table, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row["data"] for row in table))
    figure, axes = plt.subplots(
        2,
        len(names),
        figsize=(4.2 * len(names), 9),
        height_ratios=[len(NO_LABELS), len(FEW_LABELS)],
        sharey="row",
        layout="constrained",
    )
    for column, name in enumerate(names):
        for line, labeled in enumerate((False, True)):
            rows = [
                row
                for row in table
                if row["data"] == name and bool(row["target labels"]) == labeled
            ]
            methods = [row["method"] for row in rows]
            errors = [float(row["error %"]) for row in rows]
            baseline = [" only" in m or "pooled," in m for m in methods]
            colors = ["tab:gray" if b else "tab:blue" for b in baseline]
            ax = axes[line, column]
            spread = [float(row["std"]) for row in rows]
            ax.barh(methods[::-1], errors[::-1], xerr=spread[::-1], color=colors[::-1])
            ax.axvline(
                min(e for e, b in zip(errors, baseline, strict=True) if b),
                color="black",
                linestyle=":",
                linewidth=1,
            )
            number = rows[0]["target labels"]
            ax.set_title(f"{name}, {number} target labels")
            ax.set_xlabel("error, %")
    figure.savefig(path, dpi=90)
    plt.close(figure)


def main(repetitions=REPETITIONS, n_source=N_SOURCE):
    sizes = (n_source, n_source // 2, n_source, N_LABELED)
    full = n_source == N_SOURCE
    table = compare("shifted Gaussians", *artificial(), repetitions, sizes)
    if full:
        usps, mnist = digits()
        table += compare("USPS to MNIST", usps, mnist, repetitions, sizes)
        table += compare("MNIST to USPS", mnist, usps, repetitions, sizes)
        RESULTS.mkdir(exist_ok=True)
        with (RESULTS / "transfer.csv").open("w", newline="") as handle:
            writer = csv.DictWriter(handle, table[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)
        picture(table, RESULTS / "transfer.png")
    return table


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
