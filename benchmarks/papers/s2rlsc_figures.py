"""Figures 5 and 6 of 003 and 6 to 10 of 000 on S2RLSC."""

# SPDX-License-Identifier: BSD-3-Clause

import time

import numpy as np
from benchmarks.papers.s2rlsc_claims import least_time, naive_climb
from benchmarks.papers.s2rlsc_experiment import (
    ARTIFICIAL,
    LAMS,
    SETUPS,
    Split,
    real_data,
    rlsc_errors,
    s2rlsc_errors,
    search,
)
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from tqdm import tqdm

from fewlabels.datasets import hide_labels, load_mnist, make_gaussian2c
from fewlabels.kernels import gamma_from_width, range_width
from fewlabels.partition import PartitionProblem, local_search
from fewlabels.semi_supervised import S2RLSClassifier, rls_path, transductive_svm

DRAWS = 10


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
    for seed in tqdm(range(DRAWS), desc="moons"):
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
