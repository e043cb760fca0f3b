"""Laplacian regularised least squares with parameters chosen by leave-one-out."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator
from itertools import product
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.metrics.pairwise import KERNEL_PARAMS

from fewlabels._backend import DEVICE_CONSTRAINTS, TensorMixin, backend_for, follow
from fewlabels._labels import Labels, signed_targets, validate_partially_labeled
from fewlabels._linalg import FLOATS
from fewlabels._params import check_params, default_of
from fewlabels._rows import check_square_kernel
from fewlabels._sklearn import StrOptions, fit_context
from fewlabels.exceptions import warn_ignored
from fewlabels.graphs import (
    graph_from_neighbors,
    graph_laplacian,
    laplacian_power,
    nearest_neighbors,
    warn_unreached,
)
from fewlabels.kernels import (
    KERNEL_CONSTRAINTS,
    gamma_from_width,
    is_precomputed,
    local_width,
    resolve_kernel,
)
from fewlabels.semi_supervised._kernel_estimator import (
    KernelClassifier,
    best_of,
    clearly_right,
)
from fewlabels.semi_supervised._laplacian_base import (
    LAPLACIAN_CONSTRAINTS,
    LOW_RANK_CONSTRAINTS,
    split_graph_params,
)
from fewlabels.semi_supervised._laplacian_classifiers import LaplacianRLSClassifier
from fewlabels.semi_supervised._laplacian_deformed import (
    LowRankFactor,
    laplacian_factor,
)
from fewlabels.semi_supervised._laplacian_in_labels import least_squares_in_labels
from fewlabels.semi_supervised._laplacian_problem import LaplacianProblem, usual_energy
from fewlabels.semi_supervised._laplacian_rows import (
    dense_rows,
    kernel_distances,
    precise_gram,
)

# Widths to try, as multiples of the local one, and weights in the scale-free form. The
# grid is coarse to limit its cost: these are 48 combinations.
_WIDTHS = (0.5, 1.0, 2.0)
_ALPHAS = (1e-8, 1e-6, 1e-4, 1e-2)
_GRAPH_ALPHAS = (1e-3, 1e-2, 1e-1, 1.0)

# Largest rank of the kernel while searching.
_MOST_COMPONENTS = 1000

# Columns of the table of results that score a combination, and whether more is better.
_SCORES = {"accuracy": 1.0, "squared_error": -1.0, "log_evidence": 1.0}


class LaplacianRLSClassifierCV(TensorMixin, KernelClassifier):
    r"""Laplacian least squares with parameters chosen by leave-one-out or evidence.

    Leave-one-out outputs of :class:`LaplacianRLSClassifier` are exact and come without
    refitting: every label is hidden in turn, while its row stays in the graph. Nothing
    is computed twice: one neighbour search serves all graphs, one kernel factor serves
    all graphs and weights, and one eigendecomposition serves all pairs of weights.

    Parameters
    ----------
    kernel : str, callable or GP kernel, default="rbf"
        See :func:`fewlabels.kernels.resolve_kernel`.
    gammas : array-like or None, default=None
        Values of `gamma` to try: numbers or rules. None tries {1/2, 1, 2} times
        :func:`fewlabels.kernels.local_width` for "rbf", and "scale" for other kernels.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.
    alphas : array-like or None, default=None
        Values of `alpha` to try; 1e-8, 1e-6, 1e-4 and 1e-2 when None.
    graph_alphas : array-like or None, default=None
        Values of `graph_alpha` to try; 1e-3, 1e-2, 0.1 and 1 when None.
    scaling : {"scale-free", "paper"}, default="scale-free"
        What these weights mean, see :class:`LaplacianRLSClassifier`.
    n_neighbors : array-like of int, default=(10,)
        Numbers of neighbours to try, at most n_samples - 1.
    laplacian_powers : array-like of int, default=(1,)
        Exponents of the Laplacian to try.
    graph_params : dict, default=None
        As in :class:`LaplacianRLSClassifier`, without `laplacian_power`.
    scoring : {"accuracy", "squared_error", "log_evidence"}, default="accuracy"
        Criterion: the accuracy of the leave-one-out outputs (ties are broken by the
        smallest squared error), their squared error, or the evidence. A class with a
        single label is always missed when that label is hidden: with so few labels,
        "log_evidence" is more informative.
    fit_intercept : bool, default=True
        Whether to add a bias.
    solver_params : dict, default=None
        `rank_tol`, the share of the trace of the kernel matrix that its factor may
        leave out (1e-6 by default; less for up to 2,000 rows, if 500 pivots can do
        better), and `n_components`, the largest rank of that factor while searching
        (1,000 by default); the final model has no limit.
    n_jobs : int, default=None
        Threads of the neighbour search.
    device : {"cpu", "cuda"} or None, default=None
        Where to compute, see :class:`LaplacianRLSClassifier`.

    Attributes
    ----------
    best_params_ : dict
        The chosen `gamma`, `n_neighbors`, `alpha`, `graph_alpha` and `graph_params`,
        the last with the exponent of the Laplacian.
    best_score_ : float
        Their score, which is optimistic, being a maximum.
    cv_results_ : dict of ndarray
        One entry per combination: "gamma", "n_neighbors", "laplacian_power", "alpha",
        "graph_alpha", and what they score: "accuracy", "squared_error" and
        "log_evidence".
    best_estimator_ : LaplacianRLSClassifier
        The final model.
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given or predicted.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    LaplacianRLSClassifier : The classifier for given parameters.

    References
    ----------
    .. [1] M. Belkin, P. Niyogi, V. Sindhwani, "Manifold regularization: a geometric
       framework for learning from labeled and unlabeled examples", Journal of Machine
       Learning Research 7 (2006).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.semi_supervised import LaplacianRLSClassifierCV
    >>> X, y_true = make_moons(300, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, per_class=5, random_state=0)
    >>> model = LaplacianRLSClassifierCV().fit(X, y)
    >>> bool(model.score(X, y_true) > 0.98)
    True
    >>> sorted(model.best_params_)
    ['alpha', 'gamma', 'graph_alpha', 'graph_params', 'n_neighbors']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: c for name, c in KERNEL_CONSTRAINTS.items() if name != "gamma"},
        "gammas": ["array-like", None],
        "alphas": ["array-like", None],
        "graph_alphas": ["array-like", None],
        "scaling": LAPLACIAN_CONSTRAINTS["scaling"],
        "n_neighbors": ["array-like"],
        "laplacian_powers": ["array-like"],
        "graph_params": [dict, None],
        "scoring": [StrOptions(set(_SCORES))],
        "fit_intercept": ["boolean"],
        "solver_params": [dict, None],
        "n_jobs": [Integral, None],
        **DEVICE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gammas: Any = None,
        kernel_params: dict[str, Any] | None = None,
        alphas: Any = None,
        graph_alphas: Any = None,
        scaling: str = "scale-free",
        n_neighbors: Any = (10,),
        laplacian_powers: Any = (1,),
        graph_params: dict[str, Any] | None = None,
        scoring: str = "accuracy",
        fit_intercept: bool = True,
        solver_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.kernel = kernel
        self.gammas = gammas
        self.kernel_params = kernel_params
        self.alphas = alphas
        self.graph_alphas = graph_alphas
        self.scaling = scaling
        self.n_neighbors = n_neighbors
        self.laplacian_powers = laplacian_powers
        self.graph_params = graph_params
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.solver_params = solver_params
        self.n_jobs = n_jobs
        self.device = device

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, *, graph: Any = None) -> Self:
        """Choose the parameters and fit the final model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; the square kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, and None or NaN among objects
            mark unlabelled rows.
        graph : {array-like, sparse matrix} or None, default=None
            Symmetric weights of shape (n_samples, n_samples), instead of the graphs of
            `n_neighbors`.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = validate_partially_labeled(
            self, X, y, accept_sparse="csr", dtype=FLOATS
        )
        if is_precomputed(self.kernel):
            check_square_kernel(X)
        self._build, self._kind = split_graph_params(
            self.graph_params, precomputed=is_precomputed(self.kernel)
        )
        if "laplacian_power" in (self.graph_params or {}):
            raise ValueError("laplacian_power in graph_params: use laplacian_powers.")
        options = check_params(
            "solver_params", self.solver_params, LOW_RANK_CONSTRAINTS, "the search"
        )
        self._factor_options = {"n_components": _MOST_COMPONENTS, **options}
        grid = self._grid(X)
        if graph is not None:
            single = list(default_of(type(self), "n_neighbors"))
            if grid["n_neighbors"] != single:
                warn_ignored("n_neighbors", "a graph was given")
            for name in self._build:
                warn_ignored(f"{name!r} in graph_params", "a graph was given")
            grid["n_neighbors"] = single
        graphs = dict(self._graphs(X, labels.labeled, grid, graph))
        scores = np.concatenate(
            [self._scores(X, labels, gamma, graphs, grid) for gamma in grid["gamma"]]
        )
        table = np.array(list(product(*grid.values())), dtype=object)
        self.cv_results_ = {
            **{name: table[:, column] for column, name in enumerate(grid)},
            **{name: scores[:, column] for column, name in enumerate(_SCORES)},
        }
        scored = self.cv_results_[self.scoring] * _SCORES[self.scoring]
        best = best_of(scored, self.cv_results_["squared_error"])
        chosen = dict(zip(grid, table[best], strict=True))
        power = {"laplacian_power": chosen.pop("laplacian_power")}
        self.best_params_ = {
            **chosen,
            "graph_params": {**(self.graph_params or {}), **power},
        }
        self.best_score_ = float(self.cv_results_[self.scoring][best])
        self.classes_ = labels.classes
        final = dict(self.best_params_)
        if graph is not None:
            final["graph_params"] = {**self._kind, **power}
        model = LaplacianRLSClassifier(
            kernel=self.kernel,
            kernel_params=self.kernel_params,
            scaling=self.scaling,
            fit_intercept=self.fit_intercept,
            solver_params={k: v for k, v in options.items() if k == "rank_tol"},
            n_jobs=self.n_jobs,
            device=self.device,
            **final,
        )
        self.best_estimator_ = follow(model, self).fit(X, y, graph=graph)
        self.transduction_ = self.best_estimator_.transduction_
        return self

    def _grid(self, X: Any) -> dict[str, list[Any]]:
        """Values to try, by the parameter of the final model."""
        gammas = ["scale"] if self.gammas is None else list(self.gammas)
        if "gamma" not in KERNEL_PARAMS.get(str(self.kernel), ()):
            if self.gammas is not None:
                warn_ignored("gammas", f"kernel={self.kernel!r} does not use it")
            gammas = ["scale"]
        elif self.gammas is None and self.kernel == "rbf":
            width = local_width(X)
            gammas = [gamma_from_width(c * width) for c in _WIDTHS]
        as_given = {
            "gammas": gammas,
            "n_neighbors": list(self.n_neighbors),
            "laplacian_powers": list(self.laplacian_powers),
            "alphas": list(_ALPHAS if self.alphas is None else self.alphas),
            "graph_alphas": list(
                _GRAPH_ALPHAS if self.graph_alphas is None else self.graph_alphas
            ),
        }
        for name, values in as_given.items():
            if not values:
                raise ValueError(
                    f"{name} holds no value to try: give a list with at least one."
                )
        names = ("gamma", "n_neighbors", "laplacian_power", "alpha", "graph_alpha")
        return dict(zip(names, as_given.values(), strict=True))

    def _graphs(
        self, X: Any, labeled: NDArray[np.intp], grid: dict[str, list[Any]], graph: Any
    ) -> Iterator[tuple[int, Any]]:
        """Yield the graph for every number of neighbours, from one search."""
        n = X.shape[0]
        if graph is None and n > 1:
            weighting = dict(self._build)
            search = {
                name: weighting.pop(name)
                for name in ("metric", "metric_params", "neighbors")
                if name in weighting
            }
            rows = X
            if is_precomputed(self.kernel):
                rows, search["metric"] = kernel_distances(dense_rows(X)), "precomputed"
            most = min(max(grid["n_neighbors"]), n - 1)
            device = None if is_precomputed(self.kernel) else backend_for(self)
            found = nearest_neighbors(
                rows, most, n_jobs=self.n_jobs, device=device, **search
            )
        for k in grid["n_neighbors"]:
            W = graph
            if graph is None:
                W = sparse.csr_array((1, 1))
                if n > 1:
                    W = graph_from_neighbors(
                        *found,
                        n_neighbors=min(k, n - 1),
                        X=None if is_precomputed(self.kernel) else X,
                        **weighting,
                    )
            elif np.shape(graph) != (n, n):
                raise ValueError(
                    f"graph must hold one weight per pair of the {n} rows of X, got "
                    f"shape {np.shape(graph)}."
                )
            W = sparse.csr_array(W, dtype=np.float64)
            warn_unreached(W, labeled, estimator=self)
            yield k, W

    def _scores(
        self,
        X: Any,
        labels: Labels,
        gamma: Any,
        graphs: dict[int, Any],
        grid: dict[str, list[Any]],
    ) -> NDArray[Any]:
        """Accuracy, squared error and evidence of all combinations with one gamma."""
        kernel = resolve_kernel(
            X, self.kernel, gamma=gamma, kernel_params=self.kernel_params
        )
        gram = precise_gram(X, kernel, backend_for(self))
        n, labeled = X.shape[0], labels.labeled
        Y = signed_targets(labels.codes[labeled], labels.classes.size)
        bare = LaplacianProblem(gram, None, labeled, Y, "squared", self.fit_intercept)
        pivots = laplacian_factor(bare, **self._factor_options)
        paper = self.scaling == "paper"
        scores = []
        for k, power in product(grid["n_neighbors"], grid["laplacian_power"]):
            kind = self._kind["laplacian"]
            L = laplacian_power(graph_laplacian(graphs[k], kind), power)
            problem = LaplacianProblem(
                gram, L, labeled, Y, "squared", self.fit_intercept
            )
            factor = LowRankFactor(problem, pivots.source)
            unit = 1.0
            if not paper:
                energy = usual_energy(
                    X, L, graphs[k], kind, precomputed=kernel.is_precomputed
                )
                unit = labeled.size / (n * energy)
            for alpha, graph_alpha in product(grid["alpha"], grid["graph_alpha"]):
                deformed = factor.deform(
                    labeled,
                    alpha if paper else labeled.size * alpha,
                    graph_alpha * unit,
                )
                found = least_squares_in_labels(
                    deformed.H,
                    Y,
                    deformed.free_bias,
                    loo_ridge=1.0 if paper else 1.0 - 1.0 / labeled.size,
                )
                loo: Any = found.loo_outputs
                right = clearly_right(loo, labels.codes[labeled], labels.classes.size)
                error = np.mean((loo - Y) ** 2)
                scores.append((right.mean(), error, found.log_evidence))
        return np.array(scores, dtype=np.float64)

    def _decision(self, X: Any) -> NDArray[Any]:
        return follow(self.best_estimator_, self).decision_function(X)
