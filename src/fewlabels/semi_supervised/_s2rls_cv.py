"""S2RLS classifiers with parameters chosen by cross-validation."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import product
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics.pairwise import KERNEL_PARAMS
from sklearn.utils import check_random_state

from fewlabels._distances import without_far_rows
from fewlabels._labels import Labels, signed_targets
from fewlabels._sklearn import Interval, fit_context
from fewlabels.exceptions import warn_ignored
from fewlabels.kernels import KernelRows, gamma_from_width, range_width
from fewlabels.partition import solve
from fewlabels.semi_supervised._kernel_estimator import (
    best_of,
    class_shares,
    clearly_right,
)
from fewlabels.semi_supervised._rls import ALPHA_GRID
from fewlabels.semi_supervised._s2rls import (
    S2RLS_CONSTRAINTS,
    SOLVER_CONSTRAINTS,
    S2RLSBase,
    S2RLSClassifier,
)

# Runs of every model during the search.
_N_INIT_SEARCH = 10


class S2RLSClassifierCV(S2RLSBase):
    r"""S2RLSC with parameters chosen by cross-validation on the labelled rows.

    The unlabelled rows are in every training set; labelled rows are held out fold by
    fold. One eigendecomposition per fold, `unlabeled_weight` and `gamma` serves all
    values of `alpha`. As in [1]_, the best of several runs is used while searching, and
    the best of more runs at the end.

    Parameters
    ----------
    kernel : str, callable or GP kernel, default="rbf"
        See :class:`S2RLSClassifier`.
    gammas : array-like or None, default=None
        Values of `gamma` to try for the "rbf" kernel: numbers or rules. None tries the
        widths {0.1, 0.5, 1, 5, 10} times :func:`fewlabels.kernels.range_width`.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.
    alphas : array-like or None, default=None
        Values of `alpha` to try; None means 2^-10, ..., 2^10.
    unlabeled_weights : array-like, default=(0.1, 1.0)
        Values of `unlabeled_weight` to try.
    balance : float, array-like, dict, "labels" or None, default="labels"
        See :class:`S2RLSClassifier`; None estimates it from all labels.
    balance_tol : float, default=0.2
        Largest deviation from these shares.
    solver : {"local_search", "evolve", "tabu_search"}, default="local_search"
        See :mod:`fewlabels.partition`.
    solver_params : dict, default=None
        See :class:`S2RLSClassifier`; a `start` is "supervised" or "random". And
        `n_init_search`, the number of runs of every model while searching, 10 unless
        given.
    cv : int, default=5
        Number of folds, cut to the number of labelled rows.
    n_init : int, default=50
        Number of runs of the final model.
    n_components : int, default=None
        Landmarks of a Nyström approximation of the kernel; None for none.
    random_state : int, RandomState instance or None, default=None
        Seed of folds, restarts and landmarks.
    n_jobs : int, default=None
        Threads for the runs; results do not depend on it.

    Attributes
    ----------
    best_params_ : dict
        The chosen `gamma`, `alpha` and `unlabeled_weight`.
    best_score_ : float
        Their cross-validated accuracy, which is optimistic, being a maximum.
    cv_results_ : dict of ndarray
        Columns "gamma", "unlabeled_weight", "alpha", "accuracy" and "squared_error",
        one entry per combination.
    best_estimator_ : S2RLSClassifier
        The final model.
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        The final labelling of all training rows. ``predict`` returns it for unlabelled
        rows of `fit`; copies of a row get the label of the first.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    S2RLSClassifier : The classifier for given parameters.

    References
    ----------
    .. [1] F. Gieseke, O. Kramer, A. Airola, T. Pahikkala, "Efficient recurrent local
       search strategies for semi- and unsupervised regularized least-squares
       classification", Evolutionary Intelligence 5 (2012).
       :doi:`10.1007/s12065-012-0068-5`

    Examples
    --------
    >>> from fewlabels.datasets import hide_labels, make_gaussian2c
    >>> from fewlabels.semi_supervised import S2RLSClassifierCV
    >>> X, y_true = make_gaussian2c(200, 50, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=20, random_state=0)
    >>> model = S2RLSClassifierCV(kernel="linear", random_state=0).fit(X, y)
    >>> bool(model.score(X[y == -1], y_true[y == -1]) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: c for name, c in S2RLS_CONSTRAINTS.items() if name != "gamma"},
        "gammas": ["array-like", None],
        "alphas": ["array-like", None],
        "unlabeled_weights": ["array-like"],
        "cv": [Interval(Integral, 2, None, closed="left")],
    }
    _solver_constraints: ClassVar[dict[str, list[Any]]] = {
        **SOLVER_CONSTRAINTS,
        "n_init_search": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gammas: Any = None,
        kernel_params: dict[str, Any] | None = None,
        alphas: Any = None,
        unlabeled_weights: Any = (0.1, 1.0),
        balance: Any = "labels",
        balance_tol: float | None = 0.2,
        solver: str = "local_search",
        solver_params: dict[str, Any] | None = None,
        cv: int = 5,
        n_init: int = 50,
        n_components: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gammas = gammas
        self.kernel_params = kernel_params
        self.alphas = alphas
        self.unlabeled_weights = unlabeled_weights
        self.balance = balance
        self.balance_tol = balance_tol
        self.solver = solver
        self.solver_params = solver_params
        self.cv = cv
        self.n_init = n_init
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Choose the parameters and fit the final model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; the square kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, and None or NaN among objects
            mark unlabelled rows.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = self._validate(X, y)
        rng = check_random_state(self.random_state)
        params = self._solver_params()
        if not isinstance(params.get("start", "random"), str):
            raise ValueError(
                "start in solver_params must be 'supervised' or 'random': a class for "
                "every row says nothing about folds."
            )
        grid = self._grid(X)
        folds = self._folds(labels, rng)
        shares = class_shares(self.balance, labels)
        seed = int(rng.randint(2**31))
        accuracy, squared = np.zeros((2, *(len(values) for values in grid.values())))
        for g, gamma in enumerate(grid["gamma"]):
            rows = self._represent(X, gamma, np.random.RandomState(seed))
            for u, unlabeled_weight in enumerate(grid["unlabeled_weight"]):
                for held_out in folds:
                    scores = self._score_path(
                        rows,
                        labels,
                        held_out,
                        unlabeled_weight,
                        grid["alpha"],
                        shares,
                        seed,
                    )
                    accuracy[g, u] += scores[0]
                    squared[g, u] += scores[1]
        n_labeled = labels.labeled.size
        accuracy, squared = accuracy.ravel() / n_labeled, squared.ravel() / n_labeled
        table = np.array(list(product(*grid.values())), dtype=object)
        # With few labels many combinations tie: the outputs break ties.
        best = best_of(accuracy, squared)
        self.best_params_ = dict(zip(grid, table[best], strict=True))
        self.best_score_ = float(accuracy[best])
        self.cv_results_ = {
            **{name: table[:, column] for column, name in enumerate(grid)},
            "accuracy": accuracy,
            "squared_error": squared,
        }
        self.classes_ = labels.classes
        self.best_estimator_ = S2RLSClassifier(
            kernel=self.kernel,
            kernel_params=self.kernel_params,
            balance=self.balance,
            balance_tol=self.balance_tol,
            solver=self.solver,
            solver_params={k: v for k, v in params.items() if k != "n_init_search"},
            n_init=self.n_init,
            n_components=self.n_components,
            random_state=seed,
            n_jobs=self.n_jobs,
            **self.best_params_,
        ).fit(X, y)
        self.transduction_ = self.best_estimator_.transduction_
        return self

    def _grid(self, X: Any) -> dict[str, list[Any]]:
        alphas = ALPHA_GRID if self.alphas is None else self.alphas
        gammas = ["scale"] if self.gammas is None else list(self.gammas)
        if gammas and "gamma" not in KERNEL_PARAMS.get(str(self.kernel), ()):
            if self.gammas is not None:
                warn_ignored("gammas", f"kernel={self.kernel!r} does not use it")
            gammas = ["scale"]
        if self.gammas is None and self.kernel == "rbf":
            s = range_width(without_far_rows(X))
            gammas = [gamma_from_width(c * s) for c in (0.1, 0.5, 1.0, 5.0, 10.0)]
        grid: dict[str, list[Any]] = {
            "gamma": gammas,
            "unlabeled_weight": np.asarray(
                self.unlabeled_weights, dtype=float
            ).tolist(),
            "alpha": np.asarray(alphas, dtype=float).tolist(),
        }
        for name, values in grid.items():
            if not values or any(isinstance(v, list) for v in values):
                plural = (
                    "unlabeled_weights" if name == "unlabeled_weight" else f"{name}s"
                )
                raise ValueError(
                    f"{plural} holds no value to try: give a list with at least one."
                )
        return grid

    def _folds(
        self, labels: Labels, rng: np.random.RandomState
    ) -> list[NDArray[np.intp]]:
        """Stratified folds of the labelled rows."""
        labeled = labels.labeled
        if labeled.size < 2:
            raise ValueError(
                "cross-validation needs at least two labelled rows, got 1 sample with "
                "a label: use S2RLSClassifier with given parameters."
            )
        n_folds = min(self.cv, labeled.size)
        # Dealt out class by class from a random start: even folds for any counts.
        order = np.argsort(labels.codes[labeled] + rng.random_sample(labeled.size))
        fold_of = np.empty(labeled.size, dtype=np.intp)
        fold_of[order] = np.arange(labeled.size) % n_folds
        return [labeled[fold_of == f] for f in range(n_folds)]

    def _score_path(
        self,
        rows: KernelRows,
        labels: Labels,
        held_out: NDArray[np.intp],
        unlabeled_weight: float,
        alphas: list[float],
        shares: NDArray[Any] | None,
        seed: int,
    ) -> NDArray[Any]:
        """Correct predictions and squared errors on held-out rows, for every alpha."""
        training = np.setdiff1d(np.arange(labels.codes.size), held_out)
        problem = self._problem(
            rows, labels, shares, subset=training, unlabeled_weight=unlabeled_weight
        )
        truth = signed_targets(labels.codes[held_out], labels.classes.size)
        options = {"start": "supervised", **self._solver_params()}
        runs = options.pop("n_init_search", _N_INIT_SEARCH)
        if not problem.labeled.size:
            options["start"] = "random"
        scores = np.empty((2, len(alphas)))
        for number, along in enumerate(problem.path(alphas)):
            result = solve(
                along,
                self.solver,
                n_init=runs,
                random_state=seed,
                n_jobs=self.n_jobs,
                **options,
            )
            columns = slice(None) if rows.is_factor else training
            outputs = rows.matrix[held_out][:, columns] @ along.model(result.y)
            right = clearly_right(outputs, labels.codes[held_out], labels.classes.size)
            scores[0, number] = right.sum()
            scores[1, number] = np.sum(np.mean((outputs - truth) ** 2, axis=1))
        return scores

    def _decision(self, X: Any) -> NDArray[Any]:
        return self.best_estimator_.decision_function(X)
