"""Figures 1 to 9 of the paper on Laplacian SVMs."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings

import numpy as np
from benchmarks.papers.lapsvm_experiment import (
    NEWTON,
    PCG,
    Split,
    data_sets,
    paper_graph,
    parameters_of,
)
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from fewlabels._line_search import line_search
from fewlabels.datasets import hide_labels, make_clock
from fewlabels.graphs import graph_laplacian, laplacian_power
from fewlabels.kernels import DenseGram, TiledGram, gamma_from_width
from fewlabels.semi_supervised import (
    LaplacianProblem,
    LaplacianSVC,
    laplacian_dense,
    laplacian_pcg,
)


def figures(out, only=None):
    import matplotlib

    matplotlib.use("Agg")
    drawings = {
        "clock": clock,
        "step": step_length,
        "moons": moons_by_iteration,
        "norms": moons_norms,
        "uspst": uspst,
        "mnist": mnist,
        "coil20": coil20,
        "details": details,
    }
    for name, draw in drawings.items():
        if only not in (None, name):
            continue
        try:
            draw().savefig(out / f"lapsvm_{name}.png", dpi=110)
        except FileNotFoundError as missing:
            print(f"left out, data not found: {missing}")
            continue
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


def clock():
    """Figure 1: one label on the ring, one on a hand, with and without a graph."""
    X, y = make_clock(400, random_state=0)
    holes = hide_labels(y, per_class=1, random_state=0)
    known = holes >= 0
    models = {
        "support vector machine": SVC(gamma=2.0, C=100).fit(X[known], y[known]),
        "Laplacian SVM": LaplacianSVC().fit(X, holes),
    }
    x0, x1 = np.meshgrid(*[np.linspace(-1.25, 1.25, 200)] * 2)
    grid = np.column_stack([x0.ravel(), x1.ravel()])
    figure, axes = new_figure(3)
    for ax, (name, model) in zip(
        axes, [("two labels", None), *models.items()], strict=True
    ):
        if model is not None:
            sides = np.sign(model.decision_function(grid)).reshape(x0.shape)
            ax.contourf(x0, x1, sides, [-2, 0, 2], colors=["#cfe2f3", "#f9d9c8"])
            name += f": error {100 * np.mean(model.predict(X) != y):.1f} %"
        ax.plot(*X.T, ".", color="0.35", ms=3)
        for row in np.flatnonzero(known):
            colour, mark = ("C3", "D") if y[row] else ("C0", "o")
            ax.plot(*X[row], mark, color=colour, ms=9, mec="white")
        ax.set(title=name, xticks=[], yticks=[], aspect="equal")
    return figure


def step_length():
    """Figure 2: the derivative along the first direction, and where it is zero."""
    X, y = make_moons(60, noise=0.15, random_state=0)
    labeled = np.flatnonzero(hide_labels(y, per_class=3, random_state=3) >= 0)
    signs = np.where(y[labeled] == 1, 1.0, -1.0)
    K = rbf_kernel(X, gamma=2.0)
    L = graph_laplacian(paper_graph(X, 6), "symmetric")
    direction = np.zeros(60)
    direction[labeled] = signs  # the preconditioned gradient at zero
    outputs = K @ direction
    rates = signs * outputs[labeled]
    curvature = 0.1 * direction @ outputs + 0.1 * outputs @ (L @ outputs)
    breaks = np.sort(1 / rates[rates > 0])
    (best,), _ = line_search(
        np.ones((6, 1)), rates[:, None], np.zeros(1), np.array([curvature])
    )

    def derivative(s):
        short = np.maximum(0.0, 1.0 - np.multiply.outer(s, rates))
        return -short @ rates + curvature * s

    s = np.linspace(0, 1.5 * np.median(breaks), 400)  # the others are far away
    breaks = breaks[breaks < s[-1]]
    figure, (ax,) = new_figure(1, width=5.5)
    ax.axhline(0, color="0.7", lw=1)
    ax.plot(s, derivative(s))
    ax.plot(breaks, derivative(breaks), "o", color="C1", label="break points")
    ax.plot(best, derivative(best), "D", color="C3", label=f"root, s = {best:.2f}")
    ax.set(xlabel="step s", ylabel="derivative of the objective")
    ax.legend()
    return figure


def moons_problem(n=200):
    """Two moons with one label each, and the weights used for figures 3 and 4."""
    X, y = make_moons(n, noise=0.08, random_state=3)
    holes = hide_labels(y, per_class=1, random_state=1)
    W = paper_graph(X, 6)
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
    return figure


NORMS = {
    "gradient": "gradient",
    "preconditioned_gradient": "preconditioned gradient",
    "mixed_product": "mixed product",
    "objective": "objective",
}


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
    for name, label in NORMS.items():
        values = found.history[name][:, 0]
        ax.semilogy(values / values[0], label=label)
    wrong = np.flatnonzero(np.array(errors) > 0)
    right = wrong[-1] + 2 if wrong.size else 1
    ax.axvline(right, color="0.5", ls=":", label=f"no error from iteration {right} on")
    ax.set(xlabel="iterations", ylabel="relative to the start")
    ax.legend()
    return figure


def error_curves(dataset, max_iter, sets, repetition=0, step=1):
    """Error of PCG by iteration and of Newton's method, with the latter's weights."""
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
    return error_curves("USPST", 200, "LUVT")


def mnist():
    """Figure 6."""
    return error_curves("MNIST3VS8", 200, "LUV", step=5)


def coil20():
    """Figure 7."""
    return error_curves("COIL20", 400, "LUVT", step=2)


# Iterations to show, by data set.
SHOWN = {
    "G50C": 100,
    "COIL20(B)": 200,
    "PCMAC": 150,
    "USPST(B)": 200,
    "COIL20": 400,
    "USPST": 200,
    "MNIST3VS8": 200,
    "FACEMIT": 30,
}


def details(sets=SHOWN):
    """Figures 8 and 9: what stopping rules see on every data set.

    The line marks from where on no error on L, U, V or T is more than half a point off
    that of the last iteration shown, which stands in for the stationary point.
    """
    figure, axes = new_figure(len(sets), height=3.0, rows=2 if len(sets) > 3 else 1)
    for ax, (dataset, max_iter) in zip(axes, sets.items(), strict=True):
        shared, weights = parameters_of(dataset)
        split = Split(dataset, data_sets()[dataset], shared, 0)
        truth, errors = split.y[split.rows[split.labeled]], []

        def watch(state, split=split, truth=truth, errors=errors):
            wrong = split.errors(state.dual_coef, state.intercept, state.outputs)
            on_labels = split.wrong(state.outputs[split.labeled], truth)
            errors.append([100 * on_labels, *wrong.values()])

        gammas = weights.get((NEWTON, "")) or weights[PCG, ""]
        found = descent(split.problem("squared_hinge"), gammas, max_iter, watch)
        for name, label in NORMS.items():
            values = found.history[name]
            values = (
                values.sum(axis=1)
                if name == "objective"
                else np.sqrt(np.square(values).sum(axis=1))
            )
            ax.semilogy(values / values[0], label=label)
        off = np.abs(np.array(errors) - errors[-1]).max(axis=1) > 0.5
        settled = np.flatnonzero(off)[-1] + 2 if off.any() else 1
        ax.axvline(settled, color="0.5", ls=":")
        ax.set(title=dataset, xlabel="iterations")
    axes[0].legend(fontsize="small")
    return figure
