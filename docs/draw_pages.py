"""Draw the small pictures of pages: ``python docs/draw_pages.py [NAME ...]``."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons
from sklearn.manifold import TSNE

OUT = Path(__file__).parent / "_static"
INK, GREY, BLUE, ORANGE, GREEN = "#1b1b1b", "#9a9a9a", "#4269d0", "#e8833a", "#3ca951"


def box(ax, x, y, text, color="white", width=2.0, height=0.8):
    """Draw a box around its centre."""
    ax.add_patch(
        plt.Rectangle(
            (x - width / 2, y - height / 2),
            width,
            height,
            facecolor=color,
            edgecolor=INK,
            linewidth=1,
        )
    )
    ax.text(x, y, text, ha="center", va="center", fontsize=10)


def empty(width, height, xlim, ylim):
    """Make a picture without axes."""
    figure, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.set(xlim=xlim, ylim=ylim)
    ax.axis("off")
    return figure, ax


def commands():
    """Draw what the commands make of a table."""
    figure, ax = empty(9.5, 3.6, (0, 12), (0, 4.6))
    shade = "#eef2fb"
    box(ax, 1.4, 2.3, "table with\na few labels", shade, 2.2, 1.2)
    for y, name, made in [
        (4.1, "label", "labels for every row"),
        (3.2, "report", "a page: map, expected error"),
        (2.3, "ask", "the rows to label next"),
        (1.4, "studio", "more labels, in the browser"),
        (0.5, "fit", "a saved model"),
    ]:
        ax.annotate("", (3.97, y), (2.5, 2.3), arrowprops={"arrowstyle": "-|>"})
        box(ax, 5.2, y, f"fewlabels {name}", "white", 2.4, 0.6)
        ax.annotate("", (7.0, y), (6.45, y), arrowprops={"arrowstyle": "-|>"})
        ax.text(7.1, y, made, va="center", fontsize=10)
    ax.text(8.75, 0.5, "then fewlabels predict", va="center", fontsize=9, color="#555")
    return figure


def labels():
    """Draw the marks of a missing label."""
    figure, ax = empty(7, 2.2, (0, 10.5), (0, 3))
    for y, name, cells in [
        (2.5, "integers", ["3", "-1", "0", "-1", "-1", "7"]),
        (1.5, "floats", ["3.0", "nan", "0.0", "nan", "nan", "7.0"]),
        (0.5, "strings", ["cat", "None", "dog", "None", "None", "cat"]),
    ]:
        ax.text(0.1, y, name, va="center", fontsize=10)
        for k, cell in enumerate(cells):
            missing = cell in ("-1", "nan", "None")
            color = "#f3f3f3" if missing else "#dfe8fb"
            box(ax, 3.0 + 1.3 * k, y, cell, color, 1.2, 0.7)
    return figure


def large_data():
    """Draw how a table that does not fit into memory is labelled."""
    figure, ax = empty(9.5, 2.9, (0, 12.4), (0, 3.8))
    shade = "#eef2fb"
    box(ax, 1.4, 1.9, "table,\nlarger than memory", shade, 2.4, 1.2)
    box(ax, 5.0, 2.9, "all labelled rows,\na sample of the others", "white", 2.6)
    box(ax, 8.3, 2.9, "model,\na few MB", "#eafaee", 1.8)
    box(ax, 5.0, 0.9, "a batch of rows", "white", 2.6)
    box(ax, 8.3, 0.9, "its labels", "white", 1.8)
    box(ax, 11.2, 0.9, "labelled table", shade, 2.0)
    style = {"arrowprops": {"arrowstyle": "-|>"}}
    for start, end in [
        ((2.65, 2.1), (3.68, 2.9)),
        ((2.65, 1.7), (3.68, 0.9)),
        ((6.32, 2.9), (7.38, 2.9)),
        ((6.32, 0.9), (7.38, 0.9)),
        ((8.3, 2.48), (8.3, 1.32)),
        ((9.22, 0.9), (10.18, 0.9)),
    ]:
        ax.annotate("", end, start, **style)
    for y, words in [(3.55, "first pass: learn"), (0.2, "second pass: answer")]:
        ax.text(5.0, y, words, ha="center", fontsize=9, color="#555")
    return figure


def kernels():
    """Draw a kernel matrix, a factor of low rank, and the pivots it came from."""
    from fewlabels.kernels import gram_operator

    X, y = make_moons(200, noise=0.08, random_state=0)
    X = X[np.lexsort((X[:, 0], y))]
    K = gram_operator(X, "rbf", gamma=4.0).toarray()
    values = np.linalg.eigvalsh(K)[::-1]
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    axes[0].scatter(*X.T, c=np.arange(200) < 100, cmap="coolwarm", s=9)
    axes[0].set(title="200 rows on two moons", xticks=[], yticks=[])
    axes[1].imshow(K, cmap="Blues")
    axes[1].set(title="their Gaussian kernel matrix", xticks=[], yticks=[])
    left_out = 100 * (1 - np.cumsum(values) / values.sum())
    axes[2].semilogy(np.arange(1, 61), left_out[:60], color=BLUE)
    axes[2].set(title="a low rank suffices", xlabel="rank", ylabel="trace left out (%)")
    return figure


def graphs():
    """Draw neighbour graphs of the same rows."""
    from fewlabels.graphs import similarity_graph

    X, _ = make_moons(120, noise=0.09, random_state=1)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
    for ax, name, given in [
        (axes[0], "5 nearest neighbours, either way", {"n_neighbors": 5}),
        (axes[1], "only mutual neighbours", {"n_neighbors": 5, "symmetrize": "mutual"}),
        (axes[2], "all within a radius", {"kind": "ball", "radius": 0.25}),
    ]:
        W = similarity_graph(X, **given).tocoo()
        for i, j in zip(*W.coords, strict=True):
            if i < j:
                ax.plot(*X[[i, j]].T, color=GREY, linewidth=0.7, zorder=0)
        ax.scatter(*X.T, s=10, color=BLUE)
        ax.set(title=name, xticks=[], yticks=[])
    return figure


def graph_labels():
    """Draw how two labels run along a graph."""
    from fewlabels.semi_supervised import HarmonicFunctionClassifier

    X, y_true = make_circles(400, noise=0.06, factor=0.45, random_state=0)
    y = np.full(400, -1)
    for c in (0, 1):
        y[np.flatnonzero(y_true == c)[0]] = c
    model = HarmonicFunctionClassifier().fit(X, y)
    figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.7), layout="constrained")
    axes[0].scatter(*X.T, s=8, color=GREY)
    axes[0].set(title="400 rows, two labels")
    axes[1].scatter(*X.T, s=8, c=model.transduction_, cmap="coolwarm")
    wrong = np.mean(model.transduction_ != y_true)
    axes[1].set(title=f"labels spread along the graph: {wrong:.1%} wrong")
    for ax in axes:
        ax.scatter(*X[y >= 0].T, c=y[y >= 0], cmap="coolwarm", s=90, edgecolor=INK)
        ax.set(xticks=[], yticks=[], aspect="equal")
    return figure


def embeddings():
    """Draw names of products by the meaning of their words."""
    from fewlabels.preprocessing import embed_texts

    kinds = {
        "furniture": "red sofa,leather couch,oak table,wooden chair,big bed,bookcase",
        "tools": "cordless drill,claw hammer,hand saw,wrench,pliers,screwdriver",
        "food": "goat cheese,rye bread,apple juice,chocolate,olive oil,green tea",
        "clothes": "wool sweater,rain jacket,blue jeans,socks,silk scarf,t-shirt",
    }
    names = [name for text in kinds.values() for name in text.split(",")]
    place = TSNE(
        perplexity=7, metric="cosine", init="random", random_state=4
    ).fit_transform(embed_texts(names))
    figure, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
    for k, (kind, color) in enumerate(
        zip(kinds, (BLUE, ORANGE, GREEN, "#a463f2"), strict=True)
    ):
        rows = slice(6 * k, 6 * k + 6)
        ax.scatter(*place[rows].T, color=color, label=kind, s=28)
        for name, (a, b) in zip(names[rows], place[rows], strict=True):
            ax.annotate(name, (a, b), (5, 3), textcoords="offset points", fontsize=8)
    ax.set(xticks=[], yticks=[])
    ax.margins(x=0.14)
    ax.legend(frameon=False)
    return figure


def two_views():
    """Draw two views of the same rows that teach each other."""
    figure, ax = empty(8, 2.6, (0, 10), (0, 3.4))
    box(ax, 1.2, 1.7, "rows", "#eef2fb", 1.6, 0.9)
    for y, name in [(2.7, "first view"), (0.7, "second view")]:
        ax.annotate("", (3.2, y), (2.05, 1.7), arrowprops={"arrowstyle": "-|>"})
        box(ax, 4.2, y, name, "white", 1.9)
        ax.annotate("", (6.3, y), (5.2, y), arrowprops={"arrowstyle": "-|>"})
        box(ax, 7.4, y, "classifier", "#eafaee", 2.1)
    style = {"arrowstyle": "-|>", "connectionstyle": "arc3,rad=-0.35"}
    ax.annotate("", (8.1, 1.15), (8.1, 2.25), arrowprops=style)
    ax.annotate("", (6.7, 2.25), (6.7, 1.15), arrowprops=style)
    ax.text(
        7.4, 1.7, "confident answers\nas labels", ha="center", va="center", fontsize=9
    )
    return figure


def scatter_classes(ax, place, classes, labels, **style):
    """Draw rows in the colour of their class, grey where they have none."""
    for color, name in zip((BLUE, ORANGE, GREEN), classes, strict=True):
        ax.scatter(*place[labels == name].T, color=color, **style)


def five_minutes():
    """Draw the wines of the first example: labels that are given, and all answers."""
    from sklearn.datasets import load_wine
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from fewlabels import FewLabelsClassifier
    from fewlabels.datasets import hide_labels

    X, y_true = load_wine(return_X_y=True)
    y = hide_labels(y_true, per_class=3, random_state=0)
    place = make_pipeline(StandardScaler(), PCA(2)).fit_transform(X)
    model = FewLabelsClassifier(random_state=0).fit(X, y)
    hidden = y == -1
    wrong = hidden & (model.transduction_ != y_true)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    axes[0].scatter(*place[hidden].T, color="#d0d0d0", s=16)
    axes[0].set(title="what you have: 178 wines, nine labels")
    scatter_classes(axes[1], place, range(3), model.transduction_, s=16)
    axes[1].scatter(*place[wrong].T, color=INK, marker="x", s=40, label="wrong")
    axes[1].set(title=f"what you get: {wrong.sum()} of {hidden.sum()} answers wrong")
    axes[1].legend(frameon=False)
    for ax in axes:
        style = {"s": 90, "edgecolor": INK, "linewidth": 1.5}
        scatter_classes(ax, place, range(3), y, **style)
        ax.set(xticks=[], yticks=[])
    return figure


def certainty():
    """Draw, of each digit, the rows whose label is most and least certain."""
    from sklearn.datasets import load_digits

    from fewlabels import FewLabelsClassifier
    from fewlabels.datasets import hide_labels

    X, y_true = load_digits(return_X_y=True)
    y = hide_labels(y_true, per_class=2, random_state=0)
    model = FewLabelsClassifier(random_state=0).fit(X, y)
    sure = model.predict_proba(X).max(axis=1)
    order = np.flatnonzero(y == -1)[np.argsort(sure[y == -1], kind="stable")]
    figure, axes = plt.subplots(2, 10, figsize=(9, 2.7), layout="constrained")
    first = [order[model.transduction_[order] == digit] for digit in range(10)]
    rows = [
        ("most certain", [rows[-1] for rows in first]),
        ("least certain", [rows[0] for rows in first]),
    ]
    for line, (name, chosen) in zip(axes, rows, strict=True):
        for ax, row in zip(line, chosen, strict=True):
            ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
            answer, truth = model.transduction_[row], y_true[row]
            color = INK if answer == truth else "#c02020"
            ax.set_title(f"{answer}  ({sure[row]:.0%})", fontsize=9, color=color)
            ax.set(xticks=[], yticks=[])
        line[0].set_ylabel(name)
    return figure


def baseline():
    """Draw the leave-one-out error along the path of ridges, and the true error."""
    from fewlabels.datasets import hide_labels, make_gaussian2c
    from fewlabels.semi_supervised import RLSClassifier

    X, y_true = make_gaussian2c(400, 20, random_state=0)
    y = hide_labels(y_true, n_labeled=20, random_state=0)
    alphas = 2.0 ** np.arange(-10, 11)
    left_out, true = [], []
    for alpha in alphas:
        model = RLSClassifier(kernel="linear", alpha=alpha).fit(X, y)
        codes = np.where(y[y >= 0] == model.classes_[1], 1, -1)
        left_out.append(np.mean((codes - np.ravel(model.loo_outputs_)) ** 2))
        true.append(np.mean(model.predict(X[y == -1]) != y_true[y == -1]))
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for ax, values, name, color in [
        (axes[0], left_out, "squared leave-one-out error of 20 labels", BLUE),
        (axes[1], 100 * np.array(true), "error on the 380 other rows (%)", ORANGE),
    ]:
        ax.semilogx(alphas, values, color=color, marker="o", markersize=4)
        ax.axvline(alphas[np.argmin(left_out)], color=GREY, linestyle="--")
        ax.set(xlabel="alpha (dashed: the one that is chosen)", title=name)
    return figure


def report():
    """Photograph the report of ``fewlabels demo``; needs Chromium."""
    from fewlabels.cli import commands

    with tempfile.TemporaryDirectory() as folder:
        arguments = ["demo", "--output", folder, "--force", "--quiet"]
        commands(arguments, standalone_mode=False)
        shot = Path(folder) / "report.png"
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars"]
            + ["--window-size=1000,1060", f"--screenshot={shot}"]
            + [(Path(folder) / "report.html").as_uri()],
            check=True,
            capture_output=True,
        )
        pixels = plt.imread(shot)
    figure = plt.figure(figsize=(pixels.shape[1] / 110, pixels.shape[0] / 110))
    figure.figimage(pixels)
    return figure


def prior():
    """Draw how the network learned from synthetic tables, and what real ones say."""
    results = OUT.parents[1] / "benchmarks" / "results"
    curve, lines = (
        list(csv.DictReader((results / name).read_text().splitlines()))
        for name in ("prior_curve.csv", "prior_checkpoints.csv")
    )

    def plot(ax, some, column, *style, **options):
        tables = [int(line["tables"]) / 1e6 for line in some]
        ax.plot(tables, [float(line[column]) for line in some], *style, **options)

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    axes[0].set(title="200 synthetic tables", ylabel="error (%)", ylim=(32, 44))
    axes[1].set(title="14 real tables, three draws", ylim=(26, 52))
    kinds = {
        "first": ("first kind", GREY),
        "second": ("second kind", BLUE),
        "with real": ("half of them real", GREEN),
    }
    for drawn, (words, color) in kinds.items():
        some = [line for line in curve if line["tables_drawn"] == drawn]
        plot(axes[0], some, "validation_error", color=color, label=words)
        for labels in ("3 per class", "10 per class"):
            some = [
                line
                for line in lines
                if line["tables_drawn"] == drawn and line["labels"] == labels
            ]
            named = f"network, {words}" if labels == "3 per class" else None
            plot(axes[1], some, "network alone", "-o", color=color, ms=4, label=named)
    for labels, y in (("3 per class", 40.3), ("10 per class", 33.3)):
        line = next(line for line in lines if line["labels"] == labels)
        for name, style in (("extra trees", ":"), ("automatic", "--")):
            label = name if labels == "3 per class" else None
            axes[1].axhline(float(line[name]), ls=style, color=INK, lw=1, label=label)
        axes[1].text(2.3, y, labels, color="#555", fontsize=9)
    for ax in axes:
        ax.legend(fontsize=8, loc="upper right")
        ax.set_xlabel("million tables seen")
    return figure


PICTURES = {
    "baseline": baseline,
    "certainty": certainty,
    "five_minutes": five_minutes,
    "commands": commands,
    "labels": labels,
    "large_data": large_data,
    "report": report,
    "kernels": kernels,
    "graphs": graphs,
    "graph_labels": graph_labels,
    "embeddings": embeddings,
    "two_views": two_views,
    "prior": prior,
}


def main(names):
    for name in names or PICTURES:
        figure = PICTURES[name]()
        figure.savefig(OUT / f"{name}.png", dpi=110, facecolor="white")
        plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1:])
