"""Laplacian support vector machines and Laplacian regularised least squares."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, ClassVar

from fewlabels._sklearn import StrOptions
from fewlabels.semi_supervised._laplacian_base import LaplacianClassifier


class LaplacianSVC(LaplacianClassifier):
    r"""Laplacian support vector machine, trained in the primal.

    Rows that are close on the graph of their neighbours should get similar outputs, so
    that few labels spread along the shape of the data. For every class (only one of
    two classes) it solves, over :math:`f = \sum_i \alpha_i k(x_i, \cdot) + b` on all n
    rows, l of them labelled,

    .. math::
        \min_{f} \; \frac12 \Big( \frac1l \sum_{i=1}^{l} \max(1 - y_i f(x_i), 0)^2
        + \gamma_A \|f\|_K^2 + \frac{\gamma_I}{n e} \, f^\top L^p f \Big)

    with the graph Laplacian L and the energy e of :math:`L^p`: the penalty of the
    centred coordinates of the rows per unit of variance. Solver "dual" takes the hinge
    instead of its square, as the original Laplacian SVM [2]_.

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
    graph_alpha : float, default=0.1
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
    solver : {"auto", "dense", "pcg", "dual", "low_rank"}, default="auto"
        - "dense": exact, one dense n x n system;
        - "pcg": conjugate gradients on products with the kernel matrix, stopped early;
        - "dual": the original L1 hinge loss, by a dense n x n system and
          :class:`sklearn.svm.SVC` on the deformed kernel; its bias is free;
        - "low_rank": exact for a kernel of low rank, never n x n;
        - "auto": "low_rank" where the pivots of the kernel decay fast, else "pcg".
    solver_params : dict, default=None
        Further parameters of the solver; those of both for "auto":

        - "pcg": `stopping`, one of "stability" (default), "validation", "mixed",
          "gradient", "preconditioned_gradient", "mixed_product" or "objective"; `tol`
          and `check_every`, see :func:`laplacian_pcg`; `memory_budget`, the MiB up to
          which it holds the kernel matrix, beyond which products recompute it tile by
          tile (scikit-learn's `working_memory` unless given);
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
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    labeled_indices_ : ndarray of shape (n_labeled,)
        The labelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given or predicted.
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
        "line_search_steps", for "dense" and "low_rank" the number of
        rows short of the margin, "n_errors"; and "n_steps", the number of Newton steps
        of every problem.
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
    LaplacianRLSClassifier : The same with the squared loss.
    laplacian_pcg, laplacian_dense, laplacian_low_rank : The solvers.

    References
    ----------
    .. [1] S. Melacci, M. Belkin, "Laplacian support vector machines trained in the
       primal", Journal of Machine Learning Research 12 (2011).
    .. [2] M. Belkin, P. Niyogi, V. Sindhwani, "Manifold regularization: a geometric
       framework for learning from labeled and unlabeled examples", Journal of Machine
       Learning Research 7 (2006).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.semi_supervised import LaplacianSVC
    >>> X, y_true = make_moons(400, noise=0.05, random_state=0)
    >>> y = hide_labels(y_true, per_class=1, random_state=0)  # two labels in all
    >>> model = LaplacianSVC().fit(X, y)
    >>> bool(model.score(X, y_true) > 0.98)
    True
    >>> model.solver_
    'low_rank'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LaplacianClassifier._parameter_constraints,
        "solver": [StrOptions({"auto", "dense", "pcg", "dual", "low_rank"})],
    }

    def _loss(self) -> str:
        return "hinge" if self.solver == "dual" else "squared_hinge"


class LaplacianRLSClassifier(LaplacianClassifier):
    r"""Laplacian regularised least squares.

    Rows that are close on the graph of their neighbours should get similar outputs, so
    that few labels spread along the shape of the data. For every class (only one of
    two classes) it solves, over :math:`f = \sum_i \alpha_i k(x_i, \cdot) + b` on all n
    rows, l of them labelled,

    .. math::
        \min_{f} \; \frac12 \Big( \frac1l \sum_{i=1}^{l} (y_i - f(x_i))^2
        + \gamma_A \|f\|_K^2 + \frac{\gamma_I}{n e} \, f^\top L^p f \Big)

    with the graph Laplacian L and the energy e of :math:`L^p`: the penalty of the
    centred coordinates of the rows per unit of variance. It is least squares with a
    kernel that the graph has deformed, so that leave-one-out outputs and the evidence
    come with the fit.

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
    graph_alpha : float, default=0.1
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

        - "pcg": `stopping`, one of "stability" (default), "validation", "mixed",
          "gradient", "preconditioned_gradient", "mixed_product" or "objective"; `tol`
          and `check_every`, see :func:`laplacian_pcg`; `memory_budget`, the MiB up to
          which it holds the kernel matrix, beyond which products recompute it tile by
          tile (scikit-learn's `working_memory` unless given);
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
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    loo_outputs_ : ndarray of shape (n_labeled,) or (n_labeled, n_classes) or None
        Output at every labelled row of the model fitted without its label, while the
        row stays in the graph; equal to refitting. None for "pcg".
    log_evidence_ : float or None
        Log marginal likelihood of the labels under a Gaussian process with the
        deformed kernel, at the best overall scale. None for "pcg".
    labeled_indices_ : ndarray of shape (n_labeled,)
        The rows with a label.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given or predicted.
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
    LaplacianRLSClassifierCV : Choose the parameters by leave-one-out.
    LaplacianSVC : The same with the squared hinge loss.
    RLSClassifier : The supervised counterpart.

    References
    ----------
    .. [1] S. Melacci, M. Belkin, "Laplacian support vector machines trained in the
       primal", Journal of Machine Learning Research 12 (2011).
    .. [2] M. Belkin, P. Niyogi, V. Sindhwani, "Manifold regularization: a geometric
       framework for learning from labeled and unlabeled examples", Journal of Machine
       Learning Research 7 (2006).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.semi_supervised import LaplacianRLSClassifier
    >>> X, y_true = make_moons(400, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, per_class=2, random_state=0)
    >>> model = LaplacianRLSClassifier().fit(X, y)
    >>> bool(model.score(X, y_true) > 0.98)
    True
    >>> model.loo_outputs_.shape
    (4,)
    """
