"""Manifold regularisation: the problem shared by all its solvers."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fewlabels._distances import far_from_middle, far_rows, safe_unit
from fewlabels._result import SolverResult
from fewlabels.graphs import LaplacianPower, graph_laplacian, laplacian_power
from fewlabels.kernels import GramOperator

LOSSES = ("squared_hinge", "squared", "hinge")

# Columns of X made dense at a time.
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class LaplacianProblem:
    r"""Learning from few labels with a kernel and a graph.

    Over the functions :math:`f = K \alpha + b 1` on n rows, l of them with targets,

    .. math::
        \min_{\alpha, b} \; \tfrac12 \Big( \sum_{i=1}^{l} V(y_i, f_i)
        + \gamma_A \, \alpha^\top K \alpha + \gamma_I \, f^\top L^p f \Big)

    once for every column of targets. V is :math:`(y - f)^2`, for "squared_hinge"
    :math:`\max(1 - y f, 0)^2`, and for "hinge" :math:`\max(1 - y f, 0)`.

    Parameters
    ----------
    gram : GramOperator
        The kernel matrix K of all rows.
    laplacian : LaplacianPower or None
        The operator :math:`L^p` of a symmetric graph Laplacian; None for no graph.
    labeled : array-like of int of shape (n_labeled,)
        The rows with a target.
    targets : array-like of shape (n_labeled, n_targets)
        Their targets; -1 or +1 for the two hinge losses.
    loss : {"squared_hinge", "squared", "hinge"}, default="squared_hinge"
        The loss V.
    fit_intercept : bool, default=True
        Whether there is a bias b. It is part of f in the graph term, except for
        "hinge", where it is free as in the original formulation [2]_.

    See Also
    --------
    laplacian_dense, laplacian_low_rank, laplacian_pcg : Solvers.

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
    >>> from fewlabels.graphs import graph_laplacian, laplacian_power
    >>> from fewlabels.kernels import DenseGram
    >>> from fewlabels.semi_supervised import LaplacianProblem, laplacian_dense
    >>> path = np.eye(4, k=1) + np.eye(4, k=-1)
    >>> problem = LaplacianProblem(
    ...     DenseGram(np.eye(4)),
    ...     laplacian_power(graph_laplacian(path), 1),
    ...     labeled=[0, 3],
    ...     targets=[[-1.0], [1.0]],
    ... )
    >>> laplacian_dense(problem, 0.1, 1.0).outputs[:, 0].round(2)
    array([-0.56, -0.18,  0.18,  0.56])
    """

    gram: GramOperator
    laplacian: LaplacianPower | None
    labeled: Any
    targets: Any
    loss: str = "squared_hinge"
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        n = self.gram.shape[0]
        labeled = np.asarray(self.labeled, dtype=np.intp)
        targets = np.asarray(self.targets, dtype=np.float64)
        if labeled.ndim != 1 or not labeled.size:
            raise ValueError("labeled must name at least one row that has a target.")
        if (
            labeled.min() < 0
            or labeled.max() >= n
            or np.unique(labeled).size < (labeled.size)
        ):
            raise ValueError(f"labeled must name distinct rows in 0, ..., {n - 1}.")
        if targets.ndim != 2 or targets.shape[0] != labeled.size:
            raise ValueError(
                f"targets must have one row for each of the {labeled.size} labelled "
                f"rows and one column per problem, got shape {targets.shape}."
            )
        if self.loss not in LOSSES:
            raise ValueError(f"loss={self.loss!r} must be one of {LOSSES}.")
        if self.loss != "squared" and not np.isin(targets, (-1.0, 1.0)).all():
            raise ValueError(
                f"loss={self.loss!r} needs targets -1 and 1: use loss='squared'."
            )
        if self.laplacian is not None and self.laplacian.shape != (n, n):
            raise ValueError(
                f"laplacian has shape {self.laplacian.shape} but gram {(n, n)}: build "
                "both from the same rows."
            )
        object.__setattr__(self, "labeled", labeled)
        object.__setattr__(self, "targets", targets)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.gram.shape[0])

    @property
    def unlabeled(self) -> NDArray[np.intp]:
        """The rows without a target."""
        return np.setdiff1d(np.arange(self.n_samples), self.labeled)

    @cached_property
    def rough_constants(self) -> NDArray[Any] | None:
        """L^p 1 where the graph term penalises a constant, else None.

        The rows of an unnormalised Laplacian sum to zero, up to rounding.
        """
        if self.laplacian is None:
            return None
        ones = np.ones(self.n_samples)
        image = self.laplacian.L @ ones
        scale = float(np.max(np.abs(self.laplacian.L.diagonal()), initial=0.0))
        if self.laplacian.power and np.abs(image).max() <= 1e-10 * scale:
            return None
        return self.laplacian @ ones

    def smoothed(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """Product of L^p with functions on the rows.

        Parameters
        ----------
        outputs : ndarray of shape (n_samples, n_targets)
            Functions, one per column.

        Returns
        -------
        product : ndarray of shape (n_samples, n_targets)
            Zero where there is no graph.
        """
        if self.laplacian is None:
            return np.zeros_like(outputs)
        return self.laplacian @ outputs

    def losses(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """Sum of the loss over the labelled rows.

        Parameters
        ----------
        outputs : ndarray of shape (n_samples, n_targets)
            Functions on all rows.

        Returns
        -------
        losses : ndarray of shape (n_targets,)
            One sum per column.
        """
        f = outputs[self.labeled]
        if self.loss == "squared":
            return np.sum((self.targets - f) ** 2, axis=0)
        short = np.maximum(1.0 - self.targets * f, 0.0)
        return np.sum(short if self.loss == "hinge" else short**2, axis=0)

    def objective(
        self,
        dual_coef: ArrayLike,
        intercept: ArrayLike,
        alpha: float,
        graph_alpha: float,
    ) -> NDArray[Any]:
        """Evaluate the objective of coefficients, from its definition.

        Parameters
        ----------
        dual_coef : array-like of shape (n_samples, n_targets)
            The coefficients.
        intercept : array-like of shape (n_targets,)
            The bias b.
        alpha : float
            Weight of the norm.
        graph_alpha : float
            Weight of the graph term.

        Returns
        -------
        objective : ndarray of shape (n_targets,)
            One value per column.
        """
        coef = np.asarray(dual_coef, dtype=np.float64)
        centred = kernel_product(self.gram, coef)
        outputs = centred + np.asarray(intercept, dtype=np.float64)
        rough = centred if self.loss == "hinge" else outputs
        return 0.5 * (
            self.losses(outputs)
            + alpha * np.sum(coef * centred, axis=0)
            + graph_alpha * np.sum(rough * self.smoothed(rough), axis=0)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class LaplacianSolution(SolverResult):
    """Solution of a :class:`LaplacianProblem`.

    Attributes
    ----------
    dual_coef : ndarray of shape (n_support, n_targets)
        Coefficients of the rows in `support`.
    support : ndarray of shape (n_support,)
        The rows that carry a coefficient: all, or the pivots of a low-rank factor.
    intercept : ndarray of shape (n_targets,)
        The bias.
    outputs : ndarray of shape (n_samples, n_targets)
        The functions on all rows.
    objective : ndarray of shape (n_targets,)
        The objective of every column.
    n_iter : int
        Iterations of conjugate gradients, or the largest number of Newton steps of a
        column.
    converged : bool
        Whether the stopping rule was met within the iterations allowed.
    stop_reason : str
        Why the solver stopped.
    history : dict of ndarray
        Records per iteration (rows) and target (columns).
    loo_outputs : ndarray of shape (n_labeled, n_targets) or None
        For the squared loss and solvers that provide it, the output at every labelled
        row of the model fitted without its target.
    log_evidence : float or None
        Log marginal likelihood of the targets, likewise for the squared loss.
    """

    dual_coef: NDArray[Any]
    support: NDArray[np.intp]
    intercept: NDArray[Any]
    outputs: NDArray[Any]
    objective: NDArray[Any]
    n_iter: int
    converged: bool
    stop_reason: str
    history: dict[str, NDArray[Any]] = field(default_factory=dict)
    loo_outputs: NDArray[Any] | None = None
    log_evidence: float | None = None


def kernel_product(gram: GramOperator, V: NDArray[Any]) -> NDArray[Any]:
    """Product K V in float64, without turning a float32 K into float64."""
    if V.shape[1] == 1:  # a vector uses the faster product if there is one
        product = (gram @ V[:, 0].astype(gram.dtype, copy=False))[:, None]
    else:
        product = gram @ V.astype(gram.dtype, copy=False)
    return product.astype(np.float64, copy=False)


def graph_energy(X: Any, laplacian: LaplacianPower) -> float:
    r"""Energy of the coordinates on a graph, per unit of their variance.

    .. math::
        e = \frac{\operatorname{tr}(X_c^\top L^p X_c)}{\operatorname{tr}(X_c^\top X_c)}

    with the columns of X centred. It is the penalty of a smooth function of unit
    variance per row, so that :math:`\gamma_I f^\top L^p f / (n e)` means the same for
    any number of rows and neighbours, any weights of the edges and any power.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The rows.
    laplacian : LaplacianPower
        The operator L^p.

    Returns
    -------
    energy : float
        The ratio e; 1 if the rows do not vary or the graph has no edges, since then
        there is nothing to compare with.
    """
    energy = variance = 0.0
    unit = safe_unit(X)
    for start in range(0, X.shape[1], _BLOCK):
        block = X[:, start : start + _BLOCK]
        block = block.toarray() if sparse.issparse(block) else block
        block = block / unit
        block = block - block.mean(axis=0, dtype=np.float64)
        variance += float(np.sum(block**2))
        energy += float(np.sum(block * (laplacian @ block)))
    if not (variance > 0 and energy > 0):
        return 1.0
    return energy / variance


def kernel_energy(K: Any, laplacian: LaplacianPower) -> float:
    r"""Energy of a graph in the feature space of a kernel, see :func:`graph_energy`.

    Parameters
    ----------
    K : {ndarray, sparse matrix} of shape (n_samples, n_samples)
        The kernel matrix, whose centred form stands in for :math:`X_c X_c^\top`.
    laplacian : LaplacianPower
        The operator L^p.

    Returns
    -------
    energy : float
        The ratio e; 1 if nothing varies.
    """
    n = K.shape[0]
    means = np.asarray(K.mean(axis=0)).ravel()
    variance = float(K.diagonal().sum() - n * means.mean())
    energy = 0.0
    for start in range(0, n, _BLOCK):
        block = K[:, start : start + _BLOCK]
        block = block.toarray() if sparse.issparse(block) else block
        centred = block - means[:, None] - means[start : start + _BLOCK] + means.mean()
        image = laplacian @ centred
        energy += float(np.trace(image[start : start + _BLOCK]))
    if not (variance > 0 and energy > 0):
        return 1.0
    return energy / variance


def usual_energy(
    X: Any, laplacian: LaplacianPower, graph: Any, kind: str, *, precomputed: bool
) -> float:
    """Energy of a graph without outlying rows, each of which could outweigh all others.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The rows, or their kernel matrix.
    laplacian : LaplacianPower
        The operator L^p.
    graph : sparse matrix of shape (n_samples, n_samples)
        The weights it was built from.
    kind : {"unnormalized", "symmetric"}
        Kind of the Laplacian.
    precomputed : bool
        Whether `X` is a kernel matrix.

    Returns
    -------
    energy : float
        See :func:`graph_energy` and :func:`kernel_energy`.
    """
    far = _far_in_kernel(X) if precomputed else far_rows(X)
    if far.any():
        near = np.flatnonzero(~far)
        graph = sparse.csr_array(graph)[near][:, near]
        laplacian = laplacian_power(graph_laplacian(graph, kind), laplacian.power)
        X = X[near][:, near] if precomputed else X[near]
    return (kernel_energy if precomputed else graph_energy)(X, laplacian)


def _far_in_kernel(K: Any) -> NDArray[np.bool_]:
    """Tell which rows are outliers in the feature space of a kernel."""

    def squares(rows: NDArray[np.intp]) -> NDArray[np.float64]:
        means = np.asarray(K[:, rows].mean(axis=1)).ravel()
        return K.diagonal() - 2 * means + means[rows].mean()

    return far_from_middle(K.shape[0], squares)


def check_alphas(alpha: float, graph_alpha: float) -> None:
    """Refuse weights of the norm and the graph term without a minimum."""
    if not 0 < alpha < np.inf:
        raise ValueError(f"alpha must be positive, got {alpha}.")
    if not 0 <= graph_alpha < np.inf:
        raise ValueError(f"graph_alpha must not be negative, got {graph_alpha}.")
