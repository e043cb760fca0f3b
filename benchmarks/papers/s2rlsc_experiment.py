"""Data, partitions, methods and protocol of the papers on S2RLSC."""

# SPDX-License-Identifier: BSD-3-Clause

from functools import cache

import numpy as np
from sklearn.svm import SVC

from fewlabels.datasets import (
    load_coil20,
    load_mnist,
    load_usps,
    make_gaussian2c,
    make_gaussian4c,
)
from fewlabels.partition import PartitionProblem, evolve, local_search
from fewlabels.semi_supervised import rls_path, transductive_svm

LAMS = 2.0 ** np.arange(-10, 11)

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
