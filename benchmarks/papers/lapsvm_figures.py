"""Figures 3 to 7 of the paper on Laplacian SVMs."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings

import numpy as np
from benchmarks.papers.lapsvm_experiment import (
    NEWTON,
    Split,
    data_sets,
    parameters_of,
)
from sklearn.datasets import make_moons

from fewlabels.datasets import hide_labels
from fewlabels.graphs import graph_laplacian, laplacian_power, similarity_graph
from fewlabels.kernels import DenseGram, TiledGram, gamma_from_width
from fewlabels.semi_supervised import (
    LaplacianProblem,
    laplacian_dense,
    laplacian_pcg,
)


def figures(out):
    import matplotlib

    matplotlib.use("Agg")
    for draw in (moons_by_iteration, moons_norms, uspst, mnist, coil20):
        try:
            name, figure = draw()
        except FileNotFoundError as missing:
            print(f"left out, data not found: {missing}")
            continue
        figure.savefig(out / f"lapsvm_{name}.png", dpi=110)
        print(f"wrote {out / f'lapsvm_{name}.png'}")


def new_figure(n_axes, width=3.9, height=3.4, rows=1):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        rows,
        n_axes // rows,
        figsize=(width * (n_axes // rows), height * rows),
        layout="constrained",
        squeeze=False,
    )
    return figure, axes.ravel()


def moons_problem(n=200):
    """Two moons with one label each, and the weights used for figures 3 and 4."""
    X, y = make_moons(n, noise=0.08, random_state=3)
    holes = hide_labels(y, per_class=1, random_state=1)
    W = similarity_graph(X, n_neighbors=6)
    gram = TiledGram(X, "rbf", gamma=gamma_from_width(0.35))
    labeled = np.flatnonzero(holes >= 0)
    problem = LaplacianProblem(
        DenseGram(gram.toarray()),
        laplacian_power(graph_laplacian(W, "symmetric"), 1),
        labeled,
        np.where(y[labeled] == 1, 1.0, -1.0)[:, None],
    )
    return X, y, problem, gram.kernel, (1e-3, 1.0)


def descent(problem, gammas, max_iter, watch=None):
    """Follow PCG for a number of iterations, whatever the decisions do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is told not to converge
        return laplacian_pcg(
            problem,
            *gammas,
            stopping="gradient",
            tol=0.0,
            max_iter=max_iter,
            callback=watch,
        )


def moons_by_iteration():
    """Figure 3: the decision function after 1, 4, 8 and 25 iterations, and at last."""
    X, y, problem, kernel, gammas = moons_problem()
    figure, axes = new_figure(6, height=2.7, rows=2)
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    grid = np.stack(
        np.meshgrid(
            np.linspace(low[0], high[0], 160), np.linspace(low[1], high[1], 120)
        ),
        axis=-1,
    )
    flat = kernel(grid.reshape(-1, 2), X)
    labelled = problem.labeled
    panels = [("two labels", None)]
    for t in (1, 4, 8, 25):
        panels.append((f"{t} iteration{'s' * (t > 1)}", descent(problem, gammas, t)))
    panels.append(("Newton's method", laplacian_dense(problem, *gammas)))
    for ax, (title, found) in zip(axes, panels, strict=True):
        if found is not None:
            f = (flat @ found.dual_coef + found.intercept).reshape(grid.shape[:2])
            ax.pcolormesh(
                *np.moveaxis(grid, -1, 0), f, cmap="coolwarm", vmin=-1, vmax=1
            )
            ax.contour(*np.moveaxis(grid, -1, 0), f, levels=[0], colors="black")
            wrong = np.mean((found.outputs[:, 0] > 0) != y)
            title += f": error {100 * wrong:.1f} %"
        ax.plot(*X.T, ".", color="0.35", ms=3)
        for row, mark in zip(labelled, "os", strict=True):
            ax.plot(*X[row], mark, color="C3" if y[row] else "C0", ms=9, mec="white")
        ax.set(title=title, xticks=[], yticks=[], aspect="equal")
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return "moons", figure


def moons_norms():
    """Figure 4: what common stopping rules see, and when the decisions are right."""
    _, y, problem, _, gammas = moons_problem()
    errors = []
    found = descent(
        problem,
        gammas,
        60,
        lambda state: errors.append(np.mean((state.outputs[:, 0] > 0) != y)),
    )
    figure, (ax,) = new_figure(1, width=5.5)
    labels = {
        "gradient": "gradient",
        "preconditioned_gradient": "preconditioned gradient",
        "mixed_product": "mixed product",
        "objective": "objective",
    }
    for name, label in labels.items():
        values = found.history[name][:, 0]
        ax.semilogy(values / values[0], label=label)
    wrong = np.flatnonzero(np.array(errors) > 0)
    right = wrong[-1] + 2 if wrong.size else 1
    ax.axvline(right, color="0.5", ls=":", label=f"no error from iteration {right} on")
    ax.set(xlabel="iterations", ylabel="relative to the start")
    ax.legend()
    return "norms", figure


def error_curves(dataset, max_iter, sets, repetition=0, step=1):
    """Error of PCG by iteration, beside Newton's method, with the latter's weights."""
    shared, weights = parameters_of(dataset)
    split = Split(dataset, data_sets()[dataset], shared, repetition)
    problem, gammas = split.problem("squared_hinge"), weights[NEWTON, ""]
    truth = {"L": split.y[split.rows[split.labeled]]}
    curves = {name: [] for name in sets}
    at = []

    def errors(found):
        wrong = split.errors(found.dual_coef, found.intercept, found.outputs)
        decided = split.decided(found.outputs[split.labeled])
        return {
            "L": 100 * np.mean(decided != truth["L"]),
            **{name[-1]: value for name, value in wrong.items()},
        }

    def watch(state):
        if state.iteration % step == 0 or state.iteration == 1:
            at.append(state.iteration)
            for name, value in errors(state).items():
                if name in curves:
                    curves[name].append(value)

    descent(problem, gammas, max_iter, watch)
    exact = errors(laplacian_dense(problem, *gammas))
    figure, axes = new_figure(len(sets), width=3.4)
    for ax, name in zip(axes, sets, strict=True):
        ax.plot(at, curves[name], label="PCG")
        ax.axhline(exact[name], color="C1", ls="--", label="Newton")
        ax.set(title=f"{dataset}, {name}", xlabel="iterations")
        ax.set_ylim(bottom=0)
    axes[0].set_ylabel("error (%)")
    axes[0].legend()
    return figure


def uspst():
    """Figure 5."""
    return "uspst", error_curves("USPST", 200, "LUVT")


def mnist():
    """Figure 6."""
    return "mnist", error_curves("MNIST3VS8", 200, "LUV", step=5)


def coil20():
    """Figure 7."""
    return "coil20", error_curves("COIL20", 400, "LUVT", step=2)
