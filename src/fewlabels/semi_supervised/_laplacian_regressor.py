"""Laplacian regularised least squares for real targets."""

# SPDX-License-Identifier: BSD-3-Clause

from functools import partialmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._backend import backend_for
from fewlabels._labels import encode_targets, validate_partial_targets
from fewlabels._linalg import FLOATS
from fewlabels._regressor import PartialTargetMixin
from fewlabels._sklearn import fit_context
from fewlabels.semi_supervised._laplacian_base import LaplacianEstimator, Validation
from fewlabels.semi_supervised._laplacian_pcg import NORMS


class LaplacianRLSRegressor(PartialTargetMixin, LaplacianEstimator):
    r"""Laplacian regularised least squares for real targets.

    Rows that are close on the graph of their neighbours should get similar outputs, so
    that few targets spread along the shape of the data. Over
    :math:`f = \sum_i \alpha_i k(x_i, \cdot) + b` on all n rows, l of them with a
    target, it solves

    .. math::
        \min_{f} \; \frac12 \Big( \frac1l \sum_{i=1}^{l} (y_i - f(x_i))^2
        + \gamma_A \|f\|_K^2 + \frac{\gamma_I}{n e} \, f^\top L^p f \Big)

    with the graph Laplacian L and the energy e of :math:`L^p`: the penalty of the
    centred coordinates of the rows per unit of variance.

    Parameters
    ----------
    kernel : str, callable or GP kernel, default="rbf"
        See :func:`fewlabels.kernels.resolve_kernel`; with "precomputed", `X` is the
        kernel matrix between rows and all training rows.
    gamma : float, {"local", "scale", "median", "range"} or None, default="local"
        See :func:`fewlabels.kernels.resolve_kernel`. "local" is "scale" for kernels
        other than "rbf".
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.
    alpha : float, default=1e-6
        Weight :math:`\gamma_A` of the norm.
    graph_alpha : float, default=0.01
        Weight :math:`\gamma_I` of the graph; 0 makes learning supervised.
    scaling : {"scale-free", "paper"}, default="scale-free"
        Whether the loss is averaged and the graph term measured in units of the data,
        as above, so that good weights do not depend on the number of rows; or both
        are plain sums (l = 1 and n e = 1 in the formula), as in the paper.
    n_neighbors : int, default=10
        Neighbours per row in the graph, at most n_samples - 1.
    graph_params : dict, default=None
        How the graph is built: `symmetrize`, `weight`, `bandwidth`, `threshold`,
        `metric`, `metric_params` and `neighbors` of
        :func:`fewlabels.graphs.similarity_graph`. And what is derived from it:

        - `laplacian`: "unnormalized" (default), or "symmetric" as in the paper, which
          pulls f to zero even where the graph is fine, since it penalises constants;
        - `laplacian_power`: the exponent p, 1 unless given.
    solver : {"auto", "dense", "pcg", "low_rank"}, default="auto"
        - "dense": exact, one dense n x n system;
        - "pcg": conjugate gradients on products with the kernel matrix, stopped early;
        - "low_rank": exact for a kernel of low rank, never n x n;
        - "auto": "low_rank" where the pivots of the kernel decay fast, else "pcg".
    solver_params : dict, default=None
        Further parameters of the solver; those of both for "auto":

        - "pcg": `stopping`, one of "gradient" (default), "validation",
          "preconditioned_gradient", "mixed_product" or "objective"; `tol` and
          `check_every`, see :func:`laplacian_pcg`; `memory_budget`, the MiB up to which
          it holds the kernel matrix, beyond which products recompute it tile by tile
          (scikit-learn's `working_memory` unless given);
        - "low_rank": `rank_tol`, the share of the trace of the kernel matrix that may
          be left out (1e-6 by default; less for up to 2,000 rows, if 500 pivots can do
          better); `n_components`, the largest rank (by default no limit, or 500 for
          "auto").
    max_iter : int, default=1000
        Largest number of iterations.
    fit_intercept : bool, default=True
        Whether to add the bias b.
    warm_start : bool, default=False
        Start from the solution of the last `fit`, along a path of parameters.
    n_jobs : int, default=None
        Threads of the neighbour search and of tiled products.
    device : {"cpu", "cuda"} or None, default=None
        Where to compute. None follows the rows: NumPy arrays stay on the CPU, tensors
        on their device, and predictions are returned in the same type. The GPU runs the
        neighbour search and everything involving the kernel matrix: products ("pcg"),
        columns ("low_rank") and predictions. Dense systems are solved on the CPU.

    Attributes
    ----------
    loo_outputs_ : ndarray of shape (n_labeled,) or None
        Output at every labelled row of the model fitted without its target, while the
        row stays in the graph; equal to refitting. None for "pcg".
    log_evidence_ : float or None
        Log marginal likelihood of the targets under a Gaussian process with the
        deformed kernel, at the best overall scale. None for "pcg".
    labeled_indices_ : ndarray of shape (n_labeled,)
        The rows with a target.
    transduction_ : ndarray of shape (n_samples,)
        A target for every training row: given or predicted.
    solver_ : str
        The solver used.
    solver_reason_ : str
        Why it was chosen; with "auto", how far the pivots of the kernel decayed.
    objective_ : float
        The objective reached, summed over the one-vs-rest problems.
    n_iter_ : int
        Iterations made.
    stop_reason_ : str
        Why the solver stopped.
    history_ : dict of ndarray
        Per iteration (rows) and one-vs-rest problem (columns): "objective" and, for
        "pcg", the norms "gradient", "preconditioned_gradient", "mixed_product" and the
        "line_search_steps".
    dual_coef_ : ndarray of shape (n_support, n_targets)
        Coefficients of the rows in `support_`.
    support_ : ndarray of shape (n_support,)
        Training rows that carry a coefficient: all, or the pivots of "low_rank".
    intercept_ : ndarray of shape (n_targets,)
        The bias.
    X_fit_ : {ndarray, sparse matrix} of shape (n_support, n_features) or None
        The rows in `support_`; None for a precomputed kernel.
    graph_ : csr_array of shape (n_samples, n_samples) or None
        The graph; None if `graph_alpha` is 0.
    energy_ : float
        The graph energy e, computed without outlying rows; 1 with
        ``scaling="paper"``.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    Warns
    -----
    DisconnectedGraphWarning
        If some rows are not connected to any labelled row.
    ConvergenceWarning
        If the solver did not reach its goal.
    IgnoredParameterWarning
        If a parameter has no effect given the others.

    See Also
    --------
    LaplacianRLSClassifier : The same for classes.
    sklearn.kernel_ridge.KernelRidge : The supervised counterpart, without a bias.

    References
    ----------
    .. [1] S. Melacci, M. Belkin, "Laplacian support vector machines trained in the
       primal", Journal of Machine Learning Research 12 (2011).
    .. [2] M. Belkin, P. Niyogi, V. Sindhwani, "Manifold regularization: a geometric
       framework for learning from labeled and unlabeled examples", Journal of Machine
       Learning Research 7 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.semi_supervised import LaplacianRLSRegressor
    >>> turn = np.linspace(0.0, 9.0, 300)  # along a spiral
    >>> X = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)])
    >>> y = np.full(300, np.nan)  # NaN = no target
    >>> y[::30] = turn[::30]
    >>> model = LaplacianRLSRegressor().fit(X, y)
    >>> bool(model.score(X, turn) > 0.99)
    True
    """

    _default_stopping = "gradient"
    _stopping = ("validation", "objective", *NORMS)

    # Inherited, except for the weight of the graph.
    __init__ = partialmethod(LaplacianEstimator.__init__, graph_alpha=0.01)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        graph: Any = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
    ) -> Self:
        """Fit on the labelled and the unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; the square kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
            Targets; only NaN or None marks rows without one, no number does.
        graph : {array-like, sparse matrix} or None, default=None
            Symmetric weights of shape (n_samples, n_samples); None builds a neighbour
            graph from `X`, or from the distances that a precomputed kernel implies.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), default=None
            Validation rows for the rules "validation" and "mixed" of `solver_params`;
            for a precomputed kernel their kernel with all training rows.
        y_val : array-like of shape (n_val,), default=None
            Their targets.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, targets = validate_partial_targets(
            self, X, y, accept_sparse="csr", dtype=FLOATS
        )
        labeled = np.flatnonzero(~np.isnan(targets))
        solution = self._solve(
            X, labeled, targets[labeled, None], graph, self._validation(X, X_val, y_val)
        )
        self.labeled_indices_ = labeled
        self.transduction_ = solution.outputs[:, 0].copy()
        self.transduction_[labeled] = targets[labeled]
        return self

    def _validation(self, X: Any, X_val: Any, y_val: Any) -> Validation | None:
        """Mean squared error on validation rows; it must fall by 0.1 % of variance."""
        X_val = self._validation_rows(X, X_val, y_val)
        if X_val is None:
            return None
        truth = encode_targets(y_val)
        self._check_val_length(X_val, truth.size)
        known = ~np.isnan(truth)
        truth, rows = truth[known], X_val[known]
        backend = backend_for(self)

        def error(coef: NDArray[Any], b: NDArray[Any]) -> float:
            outputs = self.kernel_.product(rows, X, coef, device=backend) + b
            return float(np.mean((outputs[:, 0] - truth) ** 2))

        return error, 1e-3 * float(truth.var())

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the target of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with all training rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted targets.
        """
        return self._outputs(self._validated(X))[:, 0]
