"""Maximum-margin clustering by regularised least squares."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags, check_random_state

from fewlabels._backend import (
    DEVICE_CONSTRAINTS,
    TensorMixin,
    backend_at_hand,
    backend_for,
)
from fewlabels._labels import by_first_row
from fewlabels._linalg import FLOATS
from fewlabels._params import check_params
from fewlabels._sklearn import (
    Interval,
    StrOptions,
    fit_context,
    validate_data,
    validate_fitted,
)
from fewlabels.exceptions import warn_ignored
from fewlabels.kernels import KERNEL_CONSTRAINTS, is_precomputed, represent_rows
from fewlabels.partition import HEURISTICS, SOLVERS, PartitionProblem, solve

# What `solver_params` may hold.
_SOLVER_CONSTRAINTS: dict[str, list[Any]] = {
    "start": [StrOptions({"exact", "random"}), "array-like"],
    "time_limit": [Interval(Real, 0, None, closed="left"), None],
    "certify": ["boolean"],
    "allow_empty": ["boolean"],
}


class RLSClustering(TensorMixin, ClusterMixin, BaseEstimator):
    r"""Cluster rows so that least squares separates the clusters best.

    Over all partitions of n rows into two clusters,

    .. math::
        \min_{y \in \{-1, +1\}^n} \; \min_{f} \frac{1}{n} \sum_{i=1}^{n}
        (y_i - f(x_i))^2 + \lambda \|f\|_K^2

    which is maximum-margin clustering with the square loss [1]_. For more clusters the
    objectives of all one-vs-rest problems are added. Without further restrictions, a
    constant y would be fitted best. So either the kernel is centred in feature space,
    as in [2]_, where a constant is fitted worst, or the sizes of the clusters are
    bounded, as in [1]_. No cluster is ever empty unless that is allowed.

    With two clusters and a kernel of low rank the optimum is found and proven, by
    visiting all vertices of a zonotope [2]_.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    kernel : str, callable or GP kernel, default="rbf"
        See :func:`fewlabels.kernels.resolve_kernel`; with "precomputed", `X` is the
        kernel matrix between rows and all training rows. With "linear" (and no more
        features than rows), and with `n_components`, nothing of size n x n is needed.
    gamma : float, {"scale", "median", "range"} or None, default="scale"
        See :func:`fewlabels.kernels.resolve_kernel`.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.
    alpha : float, default=1.0
        The regularisation :math:`\lambda`. If it is too small, every partition is
        fitted well; if it is large, the objective is that of kernel k-means with
        clusters of equal weight.
    centering : bool, default=True
        Whether to centre the kernel in feature space.
    balance : float or array-like of shape (n_clusters,), default=None
        Shares of the clusters, or for two clusters that of the second; None for no
        bounds on the sizes.
    balance_tol : float, default=0.1
        Largest deviation from these shares.
    solver : str, default="auto"
        "local_search", "evolve", "tabu_search", "exact", "branch_and_bound", or "auto",
        which takes an exact one if it needs about a second; see
        :func:`fewlabels.partition.solve`. The exact ones are for two clusters.
    solver_params : dict, default=None
        Further parameters of the search:

        - `start`: where a heuristic starts: "exact", the optimum in few dimensions
          (for two clusters), unless given; "random" clusters, or clusters 0, 1, ... for
          every row;
        - `time_limit`: seconds for branch and bound, 60 unless given, or None;
        - `certify`: whether to compute a lower bound for what a heuristic has found;
        - `allow_empty`: whether clusters may be empty.
    n_init : int, default=10
        Number of runs of a heuristic, all but the first from random clusters; the best
        one counts.
    n_components : int, default=None
        Landmarks of a Nyström approximation of the kernel; None for none.
    random_state : int, RandomState instance or None, default=None
        Seed of restarts and landmarks.
    n_jobs : int, default=None
        Threads.
    device : {"cpu", "cuda"} or None, default=None
        Where to compute. None follows the rows: NumPy arrays stay on the CPU, tensors
        on their device, and results are returned in the same type. The kernel matrix,
        all runs of "local_search" at once, and predictions use the GPU; the rest, above
        all the n x n system behind the search, uses the CPU.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters of the training rows, numbered by their first row unless `balance`,
        or the `start` of a heuristic, give the clusters their numbers.
    objective_ : float
        The objective.
    lower_bound_ : float or None
        No partition has a smaller objective; None if that was not computed.
    gap_ : float or None
        How far `objective_` can be from the optimum.
    solver_ : str
        The solver that was used.
    result_ : PartitionResult
        How the clusters were found.
    dual_coef_ : ndarray of shape (n_samples, n_targets) or None
        Coefficients of the training rows; None where `coef_` is used.
    coef_ : ndarray of shape (rank, n_targets) or None
        Weights of the features (those of the linear kernel, or Nyström features).
    intercept_ : ndarray of shape (n_targets,)
        What is added to the outputs because the kernel is centred.
    features_ : NystromFeatures or None
        The features, if `n_components` is given.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    X_fit_ : {ndarray, sparse matrix} or None
        The training rows, if predictions need them.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    fewlabels.semi_supervised.S2RLSClassifier : The same with some labels.
    fewlabels.partition.solve_exact : The exact solver.

    References
    ----------
    .. [1] F. Gieseke, O. Kramer, A. Airola, T. Pahikkala, "Efficient recurrent local
       search strategies for semi- and unsupervised regularized least-squares
       classification", Evolutionary Intelligence 5 (2012).
       :doi:`10.1007/s12065-012-0068-5`
    .. [2] F. Gieseke, T. Pahikkala, C. Igel, "Polynomial runtime bounds for
       fixed-rank unsupervised least-squares classification", ACML (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.cluster import RLSClustering
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(-2, 1, (50, 2)), rng.normal(2, 1, (50, 2))]
    >>> model = RLSClustering(kernel="linear").fit(X)
    >>> np.bincount(model.labels_)
    array([50, 50])
    >>> model.solver_, bool(model.gap_ < 1e-12)  # the optimum
    ('exact', True)
    >>> model.predict([[-3.0, -2.0], [1.0, 2.0]])
    array([0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "centering": ["boolean"],
        "balance": [Interval(Real, 0, 1, closed="both"), "array-like", None],
        "balance_tol": [Interval(Real, 0, None, closed="left"), None],
        "solver": [StrOptions(set(SOLVERS))],
        "solver_params": [dict, None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        **DEVICE_CONSTRAINTS,
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        centering: bool = True,
        balance: Any = None,
        balance_tol: float | None = 0.1,
        solver: str = "auto",
        solver_params: dict[str, Any] | None = None,
        n_init: int = 10,
        n_components: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.centering = centering
        self.balance = balance
        self.balance_tol = balance_tol
        self.solver = solver
        self.solver_params = solver_params
        self.n_init = n_init
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters and the model that belongs to them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; the square kernel matrix for kernel="precomputed".
        y : None
            Not used.

        Returns
        -------
        self : object
            The fitted model.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        n = X.shape[0]
        options = check_params(
            "solver_params", self.solver_params, _SOLVER_CONSTRAINTS, "the solver"
        )
        allow_empty = options.pop("allow_empty", False)
        start = options.pop("start", "exact")
        if n < self.n_clusters and not allow_empty:
            raise ValueError(
                f"n_samples={n} rows cannot make {self.n_clusters} clusters: ask for "
                "fewer, or set allow_empty in solver_params."
            )
        rng = check_random_state(self.random_state)
        rows = represent_rows(
            X,
            self.kernel,
            n_components=self.n_components,
            random_state=rng,
            gamma=self.gamma,
            kernel_params=self.kernel_params,
            device=backend_for(self),
        )
        self.kernel_, self.features_ = rows.kernel, rows.features
        if self.centering:
            rows = rows.centered()
        make = (
            PartitionProblem.from_factor
            if rows.is_factor
            else PartitionProblem.from_kernel
        )
        k, balance, tol = self.n_clusters, self.balance, self.balance_tol
        if k == 1:  # the second of two clusters stays empty
            if balance is not None:
                warn_ignored("balance", "there is a single cluster")
            k, balance, tol = 2, 0.0, 0.0
        if not isinstance(start, str) and len(start) != n:
            raise ValueError(
                f"start names clusters for {len(start)} rows, but X has {n}."
            )
        problem = make(
            rows.matrix,
            np.full(n, -1),
            alpha=self.alpha,
            balance=balance,
            balance_tol=None if balance is None else tol,
            n_classes=k,
            min_size=0 if allow_empty or self.n_clusters == 1 else 1,
        )
        result = solve(
            problem,
            self.solver,
            start=start if isinstance(start, str) else np.asarray(start),
            n_init=self.n_init,
            random_state=rng,
            n_jobs=self.n_jobs,
            device=backend_for(self),
            **options,
        )
        self.result_, self.solver_ = result, result.solver
        self.objective_ = result.objective
        self.lower_bound_, self.gap_ = result.lower_bound, result.gap
        started = not isinstance(start, str) and result.solver in HEURISTICS
        named = self.balance is not None or started
        self.labels_ = result.y if named else by_first_row(result.y)
        model, self.intercept_ = rows.uncentered_model(problem.model(self.labels_))
        self.coef_ = model if rows.is_factor else None
        self.dual_coef_ = None if rows.is_factor else model
        self.X_fit_ = X if rows.needs_rows else None
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Compute the real outputs f(x) of the model that belongs to the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with all training rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_clusters)
            For up to two clusters one value per row, positive for cluster 1.
        """
        X = validate_fitted(self, X, accept_sparse="csr", dtype=FLOATS)
        if self.features_ is not None:
            outputs = self.features_.transform(X) @ self.coef_
        elif self.coef_ is not None:
            outputs = np.asarray(X @ self.coef_)
        else:
            dual: Any = self.dual_coef_
            outputs = self.kernel_.product(
                X, self.X_fit_, dual, device=backend_at_hand(self)
            )
        outputs = outputs + self.intercept_
        return outputs[:, 0] if self.n_clusters <= 2 else outputs

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Assign rows to the clusters by the model that belongs to them.

        For training rows this may differ from `labels_` where a cluster reaches across
        the boundary of the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with all training rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The clusters.
        """
        decision = self.decision_function(X)
        if self.n_clusters == 1:
            return np.zeros(decision.size, dtype=np.intp)
        if self.n_clusters == 2:
            return (decision > 0).astype(np.intp)
        return decision.argmax(axis=1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = True
        return tags
