"""Reproduce the papers on S2RLSC: tables, figures and the claims about the solver.

    python benchmarks/papers/s2rlsc.py tables     # 003 table 1, 000 tables 2 and 3
    python benchmarks/papers/s2rlsc.py figures    # 003: 5 and 6, 000: 6 to 10
    python benchmarks/papers/s2rlsc.py claims     # optimality, speed, memory
    python benchmarks/papers/s2rlsc.py            # all of it

Tables are resumable: every finished repetition is a line of a CSV file, and a new call
goes on where the last one stopped. The published numbers are read from the folder that
FEWLABELS_PUBLISHED names; the data come from FEWLABELS_DATA. Set-ups whose data are
missing are named and left out.

003 is F. Gieseke et al., "Speedy local search for semi-supervised regularized
least-squares" (2011), 000 their "Efficient recurrent local search strategies for semi-
and unsupervised regularized least-squares classification" (2012).
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from tqdm import tqdm

from fewlabels.datasets import (
    hide_labels,
    load_coil20,
    load_mnist,
    load_usps,
    make_gaussian2c,
    make_gaussian4c,
)
from fewlabels.kernels import gamma_from_width, range_width
from fewlabels.partition import PartitionProblem, evolve, local_search
from fewlabels.semi_supervised import (
    S2RLSClassifier,
    rls_path,
    transductive_svm,
)

RESULTS = Path(__file__).parents[1] / "results"
LAMS = 2.0 ** np.arange(-10, 11)
REPETITIONS = 10
COLUMNS = (
    "source",
    "table",
    "scenario",
    "dataset",
    "class_a",
    "class_b",
    "n_labelled",
    "n_unlabelled",
    "n_test",
    "method",
    "repetition",
    "error",
)

# What differs between the two papers.
SETUPS = {
    "003": {
        "unlabeled_weights": (0.01, 1.0, 100.0),
        "tol": {"non-realistic": 0.1, "realistic": 0.1},
        # "from all available labels", in both scenarios
        "balance": {"non-realistic": "all", "realistic": "all"},
        "solver": "one start",
    },
    "000": {
        "unlabeled_weights": (0.1, 1.0),
        "tol": {"non-realistic": 0.1, "realistic": 0.2},
        "balance": {"non-realistic": "all", "realistic": "labels"},
        "solver": "evolution",
    },
}


# ---------------------------------------------------------------------------- data


ARTIFICIAL = {"Gaussian2C": make_gaussian2c, "Gaussian4C": make_gaussian4c}


def data_of(row, repetition):
    """Rows in [0, 1] (or Gaussian) and labels 0, 1 of one task of the papers."""
    if row["dataset"] in ARTIFICIAL:
        # Drawn anew every time: one draw of 500 points may be easy or hard.
        return ARTIFICIAL[row["dataset"]](500, 500, random_state=repetition)
    return real_data(row["dataset"], int(row["class_a"]), int(row["class_b"]))


@cache
def real_data(dataset, class_a, class_b):
    pair = (class_a, class_b)
    if dataset == "USPS":
        X, y = load_usps(classes=pair, return_X_y=True)
        return (X.astype(float) + 1) / 2, y
    if dataset == "COIL":
        X, y = load_coil20(classes=pair, return_X_y=True)
        return X.astype(float), y
    if dataset == "MNIST":
        bunch = load_mnist(classes=pair)
        first = np.flatnonzero(~bunch.is_test)[:1000]
        return bunch.data[first].astype(float) / 255, bunch.target[first]
    raise ValueError(f"unknown data set {dataset}")


class Split:
    """One random partition into labelled, unlabelled and test rows."""

    def __init__(self, X, y, n_labelled, n_unlabelled, n_test, seed):
        rng = np.random.RandomState(seed)
        while True:  # both classes among the labels, as any study must have it
            order = rng.permutation(len(y))
            labelled = order[:n_labelled]
            if len(set(y[labelled])) == 2:
                break
        unlabelled = order[n_labelled : n_labelled + n_unlabelled]
        test = order[n_labelled + n_unlabelled :][:n_test]
        self.X = X[np.concatenate([labelled, unlabelled])]
        self.X_test = X[test]
        self.signs_test = 2 * y[test] - 1
        self.y = np.concatenate([2 * y[labelled] - 1, np.zeros(n_unlabelled, int)])
        self.n_labelled = n_labelled
        self.share_of_all = y.mean()
        self.share_of_labels = y[labelled].mean()
        # The smaller of the two representations of the linear kernel.
        self.as_factor = self.X.shape[1] <= len(self.X)

    def problem(self, y, rows, alpha, unlabeled_weight, balance, tol):
        """Make the partition problem of some training rows."""
        X = self.X[rows]
        args = (y, alpha, unlabeled_weight, balance, tol)
        if self.as_factor:
            return PartitionProblem.from_factor(X, *args)
        return PartitionProblem.from_kernel(X @ X.T, *args)

    def outputs(self, rows, model, X_new):
        """Return the outputs of a model trained on some training rows."""
        if not self.as_factor:
            model = self.X[rows].T @ model
        return (X_new @ model)[:, 0]


# ----------------------------------------------------------------- model selection


def search(problem, kind, n_runs, seed):
    if kind == "one start":  # from the supervised prediction, as 003
        return local_search(problem)
    if kind == "local search":
        return local_search(problem, "random", n_runs, random_state=seed)
    return evolve(problem, n_init=n_runs, random_state=seed, n_jobs=-1)


def s2rlsc_errors(split, rows, y, X_eval, signs, setup, balance, tol, n_runs, seed):
    """Errors of S2RLSC on evaluation rows over the whole grid, (lam_u, alpha)."""
    errors = np.empty((len(setup["unlabeled_weights"]), len(LAMS)))
    for u, unlabeled_weight in enumerate(setup["unlabeled_weights"]):
        base = split.problem(y, rows, 1.0, unlabeled_weight, balance, tol)
        for number, problem in enumerate(base.path(LAMS)):
            result = search(problem, setup["solver"], n_runs, seed)
            f = split.outputs(rows, problem.model(result.y), X_eval)
            errors[u, number] = np.mean(np.where(f > 0, 1, -1) != signs)
    return errors


def rlsc_errors(split, labelled, X_eval, signs):
    """Errors of supervised least squares on evaluation rows, for every alpha."""
    X = split.X[labelled]
    path = rls_path(
        X @ X.T, split.y[labelled][:, None].astype(float), LAMS, fit_intercept=False
    )
    K = X_eval @ X.T
    return np.array(
        [np.mean(np.where(K @ s.dual_coef[:, 0] > 0, 1, -1) != signs) for s in path]
    )


def folds_of(split, seed, n_folds=5):
    """Labelled rows to leave out together, the classes spread evenly."""
    labelled = np.arange(split.n_labelled)
    rng = np.random.RandomState(seed)
    order = np.argsort(split.y[labelled] + 0.5 * rng.random_sample(len(labelled)))
    fold_of = np.empty(len(labelled), dtype=int)
    fold_of[order] = np.arange(len(labelled)) % min(n_folds, len(labelled))
    return [labelled[fold_of == f] for f in np.unique(fold_of)]


def libsvm_errors(split, labelled, X_eval, signs):
    """Errors of a supervised support vector machine, for every C."""
    X = split.X[labelled]
    K, new = X @ X.T, X_eval @ X.T
    errors = []
    for C in LAMS:
        model = SVC(C=C, kernel="precomputed").fit(K, split.y[labelled])
        errors.append(np.mean(model.predict(new) != signs))
    return np.array(errors)


def universvm_errors(split, rows, y, X_eval, signs, balance):
    """Errors of the transductive machine over (C, C*), C* = 0.01, 1, 100 over u."""
    X = split.X[rows]
    matrix = X if split.as_factor else X @ X.T
    n_labelled = np.count_nonzero(y)
    errors = np.empty((3, len(LAMS)))
    for u, cost in enumerate((0.01, 1.0, 100.0)):
        for number, C in enumerate(LAMS):
            found = transductive_svm(
                matrix,
                y,
                is_factor=split.as_factor,
                C=C,
                unlabeled_weight=cost / (C * n_labelled),
                balance=balance,
                tol=1e-3,
            )
            f = split.outputs(rows, found.coef[:, None], X_eval) + found.intercept
            errors[u, number] = np.mean(np.where(f > 0, 1, -1) != signs)
    return errors


# A footnote of 000: the (1+1)-EA with round robin does as well as the (5+25)-EA.
ONE_PLUS_ONE = "S2RLSC (1+1)"
METHODS = ("RLSC", "LIBSVM", "UniverSVM", "S2RLSC", ONE_PLUS_ONE)


def run_repetition(row, repetition, methods=METHODS):
    """Test errors of some methods on one random partition, in percent."""
    setup, scenario = SETUPS[row["source"]], row["scenario"]
    X, y = data_of(row, repetition)
    sizes = [int(row[k]) for k in ("n_labelled", "n_unlabelled", "n_test")]
    split = Split(X, y, *sizes, seed=repetition)
    tol = setup["tol"][scenario]
    everything = np.arange(len(split.X))
    labelled = np.arange(split.n_labelled)
    known = setup["balance"][scenario] == "all"
    balance = split.share_of_all if known else split.share_of_labels

    def errors_of(method, rows, inside, X_eval, signs):
        """Errors over all parameters of models of some training rows."""
        if method == "RLSC":
            return rlsc_errors(split, inside, X_eval, signs)
        if method == "LIBSVM":
            return libsvm_errors(split, inside, X_eval, signs)
        if method == "UniverSVM":
            return universvm_errors(split, rows, split.y[rows], X_eval, signs, balance)
        return s2rlsc_errors(
            split,
            rows,
            split.y[rows],
            X_eval,
            signs,
            setup_of(method),
            balance,
            tol,
            10,
            repetition,
        )

    def setup_of(method):
        return {**setup, "solver": "local search"} if method == ONE_PLUS_ONE else setup

    test = (split.X_test, split.signs_test)
    found = {}
    for method in methods:
        on_test = None
        if scenario == "non-realistic" or not method.startswith("S2RLSC"):
            on_test = errors_of(method, everything, labelled, *test)
        grid = on_test  # parameters by the error on the test rows
        if scenario == "realistic":  # parameters by cross-validation on the labels
            grid = 0.0
            for held_out in folds_of(split, repetition):
                inside = np.setdiff1d(labelled, held_out)
                if len(set(split.y[inside])) < 2:
                    continue  # says nothing
                rows = np.setdiff1d(everything, held_out)
                fold = (split.X[held_out], split.y[held_out])
                errors = errors_of(method, rows, inside, *fold)
                grid = grid + len(held_out) * errors
        best = np.unravel_index(np.argmin(grid), np.shape(grid))
        if method.startswith("S2RLSC"):  # the final model is the best of more runs
            u, number = best
            weight = setup["unlabeled_weights"][u]
            problem = split.problem(
                split.y, everything, LAMS[number], weight, balance, tol
            )
            result = search(problem, setup_of(method)["solver"], 50, repetition)
            f = split.outputs(everything, problem.model(result.y), split.X_test)
            error = np.mean(np.where(f > 0, 1, -1) != split.signs_test)
        else:
            error = on_test[best]
        found[method] = 100 * error
    return found


# -------------------------------------------------------------------------- tables


def published_rows():
    """Return the published numbers, one dict per row and method."""
    folder = os.environ.get("FEWLABELS_PUBLISHED")
    if not folder or not Path(folder, "s2rlsc_errors.csv").is_file():
        raise SystemExit(
            "Set FEWLABELS_PUBLISHED to the folder that holds s2rlsc_errors.csv, the "
            "published tables."
        )
    with Path(folder, "s2rlsc_errors.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    for row in rows:
        row["source"] = row.pop("source_file")[:3]
    # What the (1+1)-EA is compared with.
    same = [
        {**row, "method": ONE_PLUS_ONE}
        for row in rows
        if (row["source"], row["method"]) == ("000", "S2RLSC")
    ]
    return rows + same


def key_of(row):
    return tuple(row[column] for column in COLUMNS[:9])


def tables(out, only=None, repetitions=REPETITIONS, methods=METHODS):
    """Run every method and repetition of every row that is not done yet."""
    raw = out / "s2rlsc_repetitions.csv"
    done = set()
    if raw.exists():
        with raw.open() as handle:
            for row in csv.DictReader(handle):
                done.add((*key_of(row), row["method"], int(row["repetition"])))
    tasks = {}
    for row in published_rows():
        if row["method"] in methods:
            tasks.setdefault(key_of(row), []).append(row)
    todo = []
    for repetition in range(repetitions):  # a part of the time gives whole tables
        for key, rows in tasks.items():
            names = [r["method"] for r in rows]
            left = [m for m in names if (*key, m, repetition) not in done]
            if left and (only is None or only in "/".join(key)):
                todo.append((key, rows[0], repetition, left))
    missing = set()
    new = not raw.exists()
    with raw.open("a", newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        for key, row, repetition, left in tqdm(todo, unit="repetition"):
            try:
                errors = run_repetition(row, repetition, left)
            except FileNotFoundError:
                missing.add(row["dataset"])
                continue
            for method, error in errors.items():
                writer.writerow(
                    {
                        **dict(zip(COLUMNS[:9], key, strict=True)),
                        "method": method,
                        "repetition": repetition,
                        "error": f"{error:.4f}",
                    }
                )
            handle.flush()
    for dataset in sorted(missing):
        print(f"left out, data not found: {dataset}")
    summarise(raw, out / "s2rlsc_tables.csv")


def summarise(raw, path):
    """Put our means beside the published ones."""
    with raw.open() as handle:
        found = {}
        for row in csv.DictReader(handle):
            found.setdefault((*key_of(row), row["method"]), []).append(
                float(row["error"])
            )
    lines = []
    for row in published_rows():
        ours = found.get((*key_of(row), row["method"]))
        if not ours:
            continue
        mean, std = np.mean(ours), np.std(ours)
        published = float(row["error_mean"])
        deviation = float(row["error_std"])
        difference = mean - published
        if difference:  # without a published deviation, any difference is infinite
            difference /= deviation or 1e-300
        lines.append(
            {
                "source": f"{row['source']} table {row['table']}",
                "scenario": row["scenario"],
                "data": row["dataset"]
                + (f" ({row['class_a']}, {row['class_b']})" if row["class_a"] else ""),
                "l": row["n_labelled"],
                "u": row["n_unlabelled"],
                "t": row["n_test"],
                "method": row["method"],
                "published": f"{published:.1f} ± {deviation:.1f}",
                "ours": f"{mean:.1f} ± {std:.1f}",
                "difference / published deviation": f"{difference:+.2f}",
                "runs": len(ours),
            }
        )
    with path.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return lines


# ------------------------------------------------------------------------- figures


def figures(out, only=None):
    import matplotlib

    matplotlib.use("Agg")
    drawings = {
        "three": three_on_moons,
        "moons": restarts_on_moons,
        "runtimes": runtimes,
        "amount": amount_of_data,
        "shortcut": shortcut,
        "rank": influence_of_rank,
        "scale": scale,
    }
    for name, draw in drawings.items():
        if only in (None, name):
            draw().savefig(out / f"s2rlsc_{name}.png", dpi=110)
            print(f"wrote {out / f's2rlsc_{name}.png'}")


def new_figure(n_axes, width=4.2, height=3.6):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, n_axes, figsize=(width * n_axes, height), layout="constrained", squeeze=False
    )
    return figure, axes[0]


def moons_model(X, y, n_init, seed=0):
    """003, figure 6: sigma = 0.1 s, alpha = 2^-10, unlabeled_weight = 0.1."""
    gamma = gamma_from_width(0.1 * range_width(X))
    return S2RLSClassifier(
        gamma=gamma,
        alpha=2.0**-10,
        unlabeled_weight=0.1,
        balance_tol=0.1,
        n_init=n_init,
        random_state=seed,
        n_jobs=-1,
    ).fit(X, y)


def moons_split(seed):
    """Training rows, labels with holes (two per class), test rows and their classes."""
    X, y = make_moons(500, noise=0.1, random_state=seed)
    holes = np.full(500, -1)
    holes[:250] = hide_labels(y[:250], per_class=2, random_state=seed)
    return X[:250], holes[:250], X[250:], y[250:]


def draw_sides(ax, X, y, outputs):
    """Draw rows, those with labels 0 and 1 large, and the sides of a boundary."""
    x0, x1 = np.meshgrid(np.linspace(-1.5, 2.5, 200), np.linspace(-1.0, 1.5, 200))
    f = outputs(np.column_stack([x0.ravel(), x1.ravel()]))
    sides = np.sign(f).reshape(x0.shape)
    ax.contourf(x0, x1, sides, [-2, 0, 2], colors=["#cfe2f3", "#f9d9c8"])
    ax.scatter(*X[y < 0].T, s=5, c="0.4")
    for c, colour, marker in ((0, "tab:blue", "^"), (1, "tab:red", "s")):
        ax.scatter(*X[y == c].T, s=70, c=colour, marker=marker, ec="black")
    ax.set_xticks([])
    ax.set_yticks([])


def gaussian_models(split, gamma, seed):
    """Models of three methods with one Gaussian kernel: name, coefficients and bias."""
    n = split.n_labelled
    K = rbf_kernel(split.X, gamma=gamma)
    for solution in rls_path(
        K[:n, :n], split.y[:n, None].astype(float), LAMS, fit_intercept=False
    ):
        yield "RLSC", np.append(solution.dual_coef, np.zeros(len(K) - n)), 0.0
    for C in LAMS:
        model = SVC(C=C, kernel="precomputed").fit(K[:n, :n], split.y[:n])
        coef = np.zeros(len(K))
        coef[model.support_] = model.dual_coef_[0]
        yield "LIBSVM", coef, model.intercept_[0]
    for weight in SETUPS["000"]["unlabeled_weights"]:
        base = PartitionProblem.from_kernel(
            K, split.y, 1.0, weight, split.share_of_all, 0.1
        )
        for problem in base.path(LAMS):
            result = search(problem, "evolution", 10, seed)
            yield "S2RLSC", problem.model(result.y)[:, 0], 0.0


def three_on_moons():
    """000, figure 6: five labels, parameters by the test rows."""
    errors = {"RLSC": [], "LIBSVM": [], "S2RLSC": []}
    drawn = {}
    for seed in tqdm(range(REPETITIONS), desc="moons"):
        X, y = make_moons(200, noise=0.1, random_state=seed)
        split = Split(X, y, 5, 95, 100, seed)
        best = dict.fromkeys(errors, (np.inf, None))
        for share in (0.1, 0.5, 1.0, 5.0, 10.0):
            gamma = gamma_from_width(share * range_width(split.X))
            new = rbf_kernel(split.X_test, split.X, gamma=gamma)
            for name, coef, bias in gaussian_models(split, gamma, seed):
                signs = np.where(new @ coef + bias > 0, 1, -1)
                error = 100 * np.mean(signs != split.signs_test)
                if error < best[name][0]:
                    best[name] = (error, (gamma, coef, bias))
        for name, (error, model) in best.items():
            errors[name].append(error)
            drawn.setdefault(name, (split, *model))
    figure, axes = new_figure(3)
    for ax, (name, values) in zip(axes, errors.items(), strict=True):
        split, gamma, coef, bias = drawn[name]
        draw_sides(
            ax,
            split.X,
            np.where(split.y == 0, -1, split.y > 0),
            lambda rows, s=split, g=gamma, c=coef, b=bias: (
                rbf_kernel(rows, s.X, gamma=g) @ c + b
            ),
        )
        ax.set_title(f"{name}: {np.mean(values):.1f} ± {np.std(values):.1f} %")
    return figure


def runtimes():
    """003, figure 5: both semi-supervised methods by the number of unlabelled rows."""
    sets = {
        "Gaussian2C": (*make_gaussian2c(1050, 500, random_state=0), 50),
        "USPS (8, 0)": (*real_data("USPS", 8, 0), 22),
    }
    figure, axes = new_figure(2)
    for ax, (name, (X, y, n_labelled)) in zip(axes, sets.items(), strict=True):
        sizes = [200, 400, 600, 800, 1000]
        seconds = {"S2RLSC": [], "TransductiveSVC": []}
        for u in tqdm(sizes, desc=name):
            split = Split(X, y, n_labelled, u, 0, seed=0)
            everything = np.arange(len(split.X))

            def local(s=split, rows=everything):
                problem = s.problem(s.y, rows, 1.0, 1.0, s.share_of_all, 0.1)
                problem.model(local_search(problem).y)

            def transductive(s=split, u=u):
                transductive_svm(
                    s.X,
                    s.y,
                    unlabeled_weight=u / s.n_labelled,  # C* = C = 1
                    balance=s.share_of_all,
                    tol=1e-3,
                )

            both = zip(seconds.values(), (local, transductive), strict=True)
            for values, run in both:
                run()  # compiles
                values.append(np.median([least_time(run, 1)[0] for _ in range(10)]))
        for method, values in seconds.items():
            ax.plot(sizes, values, "o-", label=method)
        ax.set(title=name, xlabel="unlabelled rows", ylabel="seconds")
        ax.set_ylim(bottom=0)
        ax.legend()
    return figure


def restarts_on_moons():
    """003, figure 6: the supervised guess alone against 200 restarts."""
    figure, axes = new_figure(2)
    for ax, n_init in zip(axes, (1, 201), strict=True):
        errors, drawn = [], None
        for seed in range(10):
            X, holes, X_test, y_test = moons_split(seed)
            model = moons_model(X, holes, n_init, seed)
            errors.append(100 * np.mean(model.predict(X_test) != y_test))
            drawn = drawn or (X, holes, model)
        X, holes, model = drawn
        draw_sides(ax, X, holes, model.decision_function)
        name = "one start" if n_init == 1 else f"{n_init} starts"
        ax.set_title(
            f"{name}: test error {np.mean(errors):.1f} ± {np.std(errors):.1f} %"
        )
    return figure


def errors_by_amount(make, n_labelled, n_unlabelled, repetitions=5):
    """Mean test errors of RLSC and S2RLSC, parameters by the test rows as in 000."""
    setup = {**SETUPS["000"], "solver": "local search"}
    both = []
    for repetition in range(repetitions):
        X, y = make(500, 500, random_state=repetition)
        split = Split(X, y, n_labelled, n_unlabelled, 250, repetition)
        rlsc = rlsc_errors(split, np.arange(n_labelled), split.X_test, split.signs_test)
        grid = s2rlsc_errors(
            split,
            np.arange(len(split.X)),
            split.y,
            split.X_test,
            split.signs_test,
            setup,
            split.share_of_all,
            0.1,
            10,
            repetition,
        )
        both.append([100 * rlsc.min(), 100 * grid.min()])
    return np.mean(both, axis=0)


def amount_of_data():
    """000, figure 7: more labels, more unlabelled rows."""
    shares = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8])
    figure, axes = new_figure(4, width=3.4)
    for ax, (name, make, vary) in zip(
        axes,
        [(n, m, v) for v in ("labelled", "unlabelled") for n, m in ARTIFICIAL.items()],
        strict=True,
    ):
        curve = []
        for share in tqdm(shares, desc=f"{name}, {vary}"):
            n_labelled = round(250 * (share if vary == "labelled" else 0.2))
            n_unlabelled = (
                250 - n_labelled if vary == "labelled" else round(250 * share)
            )
            curve.append(errors_by_amount(make, n_labelled, n_unlabelled))
        curve = np.array(curve)
        ax.plot(100 * shares, curve[:, 0], "s--", label="RLSC")
        ax.plot(100 * shares, curve[:, 1], "o-", label="S2RLSC")
        ax.set_xlabel(f"{vary} rows (% of 250)")
        ax.set_ylabel("test error (%)")
        ax.set_ylim(bottom=0)
        ax.set_title(name)
        ax.legend()
    return figure


def naive_climb(problem, y, limit=None):
    """Round robin that computes F by matrix products for every trial.

    Returns the partition, the number of trials and whether the limit stopped it.
    """
    y = y.copy()
    Q = problem.system.dense(np.arange(len(y)))
    value = y @ Q @ y
    unchanged = trials = 0
    while unchanged < len(problem.free):
        if limit is not None and trials >= limit:
            return y, trials, True
        i = problem.free[trials % len(problem.free)]
        trials += 1
        y[i] = -y[i]
        positive = np.sum(y[problem.free] > 0)
        admitted = problem.lower[1] <= positive <= problem.upper[1]
        flipped = y @ Q @ y if admitted else -np.inf
        if flipped > value + 1e-12:
            value, unchanged = flipped, 0
        else:
            y[i] = -y[i]
            unchanged += 1
    return y, trials, False


def shortcut():
    """000, figure 8: the shortcut against computing F anew."""
    sizes = [100, 200, 400, 800, 1600]
    seconds = {"F by matrix products": [], "gains kept up to date": []}
    for n in tqdm(sizes, desc="shortcut"):
        X, y = make_gaussian2c(n, 500, random_state=0)
        signs = np.where(np.arange(n) < 25, 2 * y - 1, 0)
        problem = PartitionProblem.from_kernel(X @ X.T, signs, balance=0.5)
        start = time.perf_counter()
        local_search(problem, "random", 50, random_state=0)
        seconds["gains kept up to date"].append(time.perf_counter() - start)
        first = local_search(problem, "random", random_state=0, max_trials=0).y
        start = time.perf_counter()
        naive_climb(problem, first.astype(float))
        seconds["F by matrix products"].append(50 * (time.perf_counter() - start))
    figure, (ax,) = new_figure(1, width=5)
    unit = seconds["gains kept up to date"][0]
    for name, values in seconds.items():
        ax.loglog(sizes, np.array(values) / unit, "o-", label=name)
    ratio = seconds["F by matrix products"][-1] / seconds["gains kept up to date"][-1]
    ax.set_title(f"50 runs, preparation included; ratio {ratio:.0f} at n = {sizes[-1]}")
    ax.set_xlabel("n")
    ax.set_ylabel("time (1 = gains kept, n = 100)")
    ax.legend()
    return figure


def influence_of_rank():
    """000, figure 9: Nyström with r from 1 % to 10 % of the rows."""
    shares = np.array([0.01, 0.02, 0.03, 0.05, 0.07, 0.1])
    figure, (ax,) = new_figure(1, width=5)
    for pair, n_labelled in (((2, 5), 16), ((2, 7), 17), ((3, 8), 15), ((8, 0), 22)):
        X, y = real_data("USPS", *pair)
        n = len(X) // 2
        means, exact = [], []
        for share in tqdm(shares, desc=f"USPS {pair}"):
            errors = []
            for seed in range(10):
                split = Split(X, y, n_labelled, n - n_labelled, len(X) - n, seed)
                holes = np.where(split.y == 0, -1, (split.y + 1) // 2)
                model = S2RLSClassifier(
                    kernel="linear",
                    n_components=max(1, round(share * n)),
                    balance=split.share_of_all,
                    n_init=51,
                    solver_params={"start": "random"},
                    random_state=seed,
                ).fit(split.X, holes)
                errors.append(
                    np.mean(model.predict(split.X_test) != (split.signs_test > 0))
                )
            means.append(100 * np.mean(errors))
        for seed in range(10):
            split = Split(X, y, n_labelled, n - n_labelled, len(X) - n, seed)
            holes = np.where(split.y == 0, -1, (split.y + 1) // 2)
            model = S2RLSClassifier(
                kernel="linear",
                balance=split.share_of_all,
                n_init=51,
                solver_params={"start": "random"},
                random_state=seed,
            ).fit(split.X, holes)
            exact.append(np.mean(model.predict(split.X_test) != (split.signs_test > 0)))
        (line,) = ax.plot(100 * shares, means, "o-", label=f"USPS {pair}")
        ax.axhline(100 * np.mean(exact), color=line.get_color(), ls=":", lw=1)
    ax.set_xlabel("r (% of the training rows)")
    ax.set_ylabel("test error (%); dotted: no approximation")
    ax.set_ylim(bottom=0)
    ax.legend()
    return figure


def scale():
    """000, figure 10: MNIST (1, 7), r = 100, 1 % labels, best of 50 runs."""
    bunch = load_mnist(classes=(1, 7))
    X, y = bunch.data.astype(float) / 255, bunch.target
    sizes = [500, 1000, 2000, 3000, 4000, 5000, 7500]
    seconds, errors = [], []
    for n in tqdm(sizes, desc="MNIST (1, 7)"):
        split = Split(X, y, n // 100, n - n // 100, n, seed=0)
        holes = np.where(split.y == 0, -1, (split.y + 1) // 2)
        model = S2RLSClassifier(
            kernel="linear",
            n_components=100,
            balance_tol=0.2,
            n_init=50,
            solver_params={"start": "random"},
            random_state=0,
        )
        least, _ = least_time(lambda m=model, s=split, y=holes: m.fit(s.X, y))
        seconds.append(least)
        errors.append(
            100 * np.mean(model.predict(split.X_test) != (split.signs_test > 0))
        )
    figure, (left, right) = new_figure(2)
    left.plot(sizes, np.array(seconds) / seconds[0], "o-")
    left.set_ylabel("time of 50 runs, relative to n = 500")
    right.plot(sizes, errors, "o-")
    right.set_ylabel("test error (%)")
    right.set_ylim(bottom=0)
    for ax in (left, right):
        ax.set_xlabel("training rows")
    return figure


# -------------------------------------------------------------------------- claims


def claims(out):
    """Measure what the documentation says about the solver."""
    lines = [
        *optimality(),
        *speed(),
        *path_cost(),
        large_fit(),
        *best_possible(),
    ]
    with (out / "s2rlsc_claims.csv").open("w", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(["what", "asked", "measured"])
        for line in lines:
            print(" | ".join(line))
            writer.writerow(line)


def small_problem(seed, n_labelled, balanced):
    rng = np.random.default_rng(seed)
    n = 8 + seed % 7
    Z = rng.normal(size=(n, 4))
    y = np.zeros(n, dtype=int)
    y[:n_labelled] = np.resize([-1, 1], n_labelled)
    balance = (0.5, 0.1) if balanced else (None, None)
    return PartitionProblem.from_factor(Z, y, 0.1, 1.0, *balance)


def best_possible():
    """Gaussian sets: the error with all training labels, alpha by the test rows."""
    lines = []
    for name, make in ARTIFICIAL.items():
        errors = []
        for seed in range(20):
            X, y = make(500, 500, random_state=seed)
            split = Split(X, y, 250, 0, 250, seed)
            path = rlsc_errors(split, np.arange(250), split.X_test, split.signs_test)
            errors.append(100 * path.min())
        what = (
            f"{name}: test error (%) of RLSC with the labels of all 250 training rows"
        )
        lines.append((what, "", f"{np.mean(errors):.1f} ± {np.std(errors):.1f}"))
    return lines


def optimality():
    """Best of 50 restarts against all partitions, n <= 14."""
    lines = []
    for n_labelled in (0, 4):
        for balanced in (False, True):
            solved = rising = 0
            for seed in range(100):
                problem = small_problem(seed, n_labelled, balanced)
                u = len(problem.free)
                free = 2 * ((np.arange(2**u)[:, None] >> np.arange(u)) & 1) - 1
                positive = (free > 0).sum(axis=1)
                free = free[
                    (problem.lower[1] <= positive) & (positive <= problem.upper[1])
                ]
                Y = np.empty((len(free), len(problem.codes)))
                Y[:, problem.free] = free
                Y[:, problem.labeled] = 2 * problem.codes[problem.labeled] - 1
                S = np.sum(Y * problem.system.products(Y.T).T, axis=1)
                best = np.sum(problem.d**2) - S.max()
                result = local_search(problem, "random", 50, random_state=seed)
                solved += result.objective <= best + 1e-9
                rising += np.any(np.diff(result.history) > 1e-12)
            what = (
                f"optimum found by the best of 50 runs, {n_labelled} labels, "
                f"{'balanced' if balanced else 'no balance'}"
            )
            lines.append((what, ">= 95 of 100", f"{solved} of 100"))
            lines.append(("histories that rise, same instances", "0", str(rising)))
    return lines


def least_time(function, repeat=5):
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        value = function()
        seconds.append(time.perf_counter() - start)
    return min(seconds), value


def plain_climb():
    """Compile the loop that one would write first: r products for every trial."""
    from numba import njit

    @njit
    def climb(B, p, y, lower, upper, tol):
        u, r = B.shape
        positive = np.sum(y > 0)
        unchanged = trials = i = 0
        while unchanged < u:
            trials += 1
            product = norm = 0.0
            for t in range(r):
                product += B[i, t] * p[t]
                norm += B[i, t] * B[i, t]
            after = positive - int(y[i])
            if lower <= after <= upper and 4.0 * (norm - y[i] * product) > tol:
                for t in range(r):
                    p[t] -= 2.0 * y[i] * B[i, t]
                y[i] = -y[i]
                positive = after
                unchanged = 0
            else:
                unchanged += 1
            i = (i + 1) % u
        return trials

    return climb


def speed(n=1000, rank=500):
    """Search with kept gains, with O(r) per trial, and by recomputing F."""
    X, y = make_gaussian2c(n, rank, random_state=0)
    signs = np.where(np.arange(n) < 25, 2 * y - 1, 0)

    def fit(representation):
        problem = PartitionProblem.from_factor(X, signs, balance=0.5)
        return local_search(
            problem, "random", 50, random_state=0, representation=representation
        )

    fit("dense"), fit("factor")  # compile
    whole, dense = least_time(lambda: fit("dense"))
    _, factor = least_time(lambda: fit("factor"))
    dense_search = min(fit("dense").seconds["search"] for _ in range(5))
    factor_search = min(fit("factor").seconds["search"] for _ in range(5))
    same = np.array_equal(dense.y, factor.y)
    problem = PartitionProblem.from_factor(X, signs, balance=0.5)
    firsts = [
        local_search(problem, "random", random_state=seed, max_trials=0).y.astype(float)
        for seed in range(50)
    ]
    climb, B, free = plain_climb(), problem.system.B, problem.free
    B_free = np.ascontiguousarray(B[free])

    def plain_runs():
        for first in firsts:
            y_free = first[free]
            climb(
                B_free, B.T @ first, y_free, problem.lower[1], problem.upper[1], 1e-12
            )
        return y_free

    plain_runs()  # compile
    plain_search, _ = least_time(plain_runs)
    # The naive way, for some trials of one run; 50 runs make dense.n_trials of them.
    first = firsts[0]
    seconds, (_, trials, _) = least_time(
        lambda: naive_climb(problem, first, limit=2000), repeat=2
    )
    naive = seconds / trials * dense.n_trials
    return [
        (
            f"search, n = {n}, rank {rank}, 50 runs: plain compiled loop with O(rank) "
            "per trial / gains kept",
            ">= 8",
            f"{plain_search / dense_search:.1f}",
        ),
        (
            "the same, our vectorised O(rank) loop / gains kept",
            "",
            f"{factor_search / dense_search:.1f}",
        ),
        ("same partitions", "yes", "yes" if same else "no"),
        (
            "whole fit: F by matrix products for every trial / gains kept",
            ">= 100",
            f"{naive / whole:.0f}",
        ),
    ]


def path_cost(n=1000):
    """21 values of alpha beside single fits."""
    lines = []
    for name, rank in (("rank 256", 256), ("full rank", n)):
        X, y = make_gaussian2c(n, rank, random_state=0)
        signs = np.where(np.arange(n) < 25, 2 * y - 1, 0)
        if rank < n:
            make, matrix = PartitionProblem.from_factor, X
        else:
            make, matrix = PartitionProblem.from_kernel, X @ X.T

        def fit(problem):
            problem.model(local_search(problem).y)

        def single(make=make, matrix=matrix, signs=signs):
            fit(make(matrix, signs, balance=0.5))

        def along(make=make, matrix=matrix, signs=signs):
            for problem in make(matrix, signs, balance=0.5).path(LAMS):
                fit(problem)

        def decompose(make=make, matrix=matrix, signs=signs):
            next(make(matrix, signs, balance=0.5).path([1.0]))

        single(), along()  # compiles
        # In turns, so that what else the machine does slows all of them down.
        turns = [
            [least_time(f, 1)[0] for f in (single, along, decompose)] for _ in range(15)
        ]
        alone, path, decomposition = np.min(turns, axis=0)
        lines.append(
            (
                f"21 values of alpha / one fit, n = {n}, {name}",
                "< 3",
                f"{path / alone:.1f} (the decomposition alone "
                f"{decomposition / alone:.1f})",
            )
        )
    return lines


def large_fit():
    """100,000 x 100, linear kernel, 50 labels: peak memory in a process of its own."""
    code = (
        "import resource, json, numpy as np\n"
        "from fewlabels.semi_supervised import S2RLSClassifier\n"
        "rng = np.random.default_rng(0)\n"
        "X = rng.normal(size=(100_000, 100)); y = np.full(100_000, -1)\n"
        "truth = rng.integers(2, size=100_000); X[:, 0] += 5 * truth - 2.5\n"
        "y[:50] = truth[:50]\n"
        "S2RLSClassifier(kernel='linear', n_init=1).fit(X[:500], y[:500])\n"
        "model = S2RLSClassifier(kernel='linear', n_init=1)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "model.fit(X, y)\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "error = np.mean((model.transduction_ != truth)[50:])\n"
        "print(json.dumps([1024 * (after - before) / X.nbytes, error]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    ratio, error = json.loads(run.stdout)
    return (
        "fit of 100,000 x 100 with 50 labels: peak memory (input included) / input "
        f"(error {100 * error:.1f} %)",
        "< 4",
        f"{1 + ratio:.2f}",
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=["tables", "figures", "claims"])
    parser.add_argument(
        "--only", help="rows whose description contains this text, or a figure"
    )
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.part in (None, "claims"):
        claims(options.out)
    if options.part in (None, "tables"):
        tables(options.out, options.only, options.repetitions, options.methods)
    if options.part in (None, "figures"):
        figures(options.out, options.only)


if __name__ == "__main__":
    main()
