r"""Solvers for manifold regularisation that deform the kernel.

For given weights, the graph turns the kernel K into :math:`(K^{-1} + \frac{\gamma_I}
{\gamma_A} L)^{-1}`, and learning with the graph is supervised learning with that kernel
on the labelled rows [1]_. A solver here therefore has two parts: compute the deformed
kernel between the l labelled rows, then solve a problem with l unknowns. The first part
is dense or low-rank, the second depends on the loss.

.. [1] V. Sindhwani, P. Niyogi, M. Belkin, "Beyond the point cloud: from transductive to
   semi-supervised learning", ICML (2005). :doi:`10.1145/1102351.1102455`
"""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from fewlabels._linalg import semidefinite_eigh
from fewlabels.kernels import (
    GramOperator,
    PivotedCholesky,
    check_semidefinite,
    pivoted_cholesky,
)
from fewlabels.semi_supervised._laplacian_in_labels import IN_LABELS, DeformedKernel
from fewlabels.semi_supervised._laplacian_problem import (
    LaplacianProblem,
    LaplacianSolution,
    check_alphas,
)

# Share of the trace of a kernel matrix that a low-rank factor may leave out.
RANK_TOL = 1e-6
# Up to SMALL rows, AFFORDABLE pivots are used even if they add less: they cost little,
# and with a small alpha, or an outlying row, what is left out would matter.
SMALL, AFFORDABLE = 2000, 500

# Negative eigenvalues up to this share of the largest come from solving an
# ill-conditioned system.
_INDEFINITE = 1e-4


def deform_dense(
    problem: LaplacianProblem, alpha: float, graph_alpha: float
) -> DeformedKernel:
    r"""Deform the kernel through one dense symmetric system.

    With a factor of the whole kernel, :math:`K = Z Z^\top`, the system is
    :math:`\gamma_A I + \gamma_I Z^\top L Z`. It is positive definite and, unlike
    :math:`\gamma_A I + \gamma_I L K`, accurate in its smallest eigenvalues when the
    range of K nearly contains vectors that L annihilates.
    """
    factor = LowRankFactor(problem, _whole_factor(problem.gram))
    spanned = factor.deform(problem.labeled, alpha, graph_alpha, once=True)

    def expand(c: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        coef = np.zeros((problem.n_samples, c.shape[1]))
        coef[spanned.support], bias = spanned.expand(c)
        return coef, bias

    return replace(
        spanned,
        expand=expand,
        outputs=lambda coef, bias: spanned.outputs(coef[spanned.support], bias),
        support=np.arange(problem.n_samples),
    )


def _whole_factor(gram: GramOperator) -> PivotedCholesky:
    """Factor a kernel matrix up to its precision, by LAPACK."""
    K = check_semidefinite(gram.toarray()).astype(np.float64)
    n, trace = K.shape[0], float(np.trace(K))
    tol = n * float(np.finfo(gram.dtype).eps) * max(float(K.diagonal().max()), 0.0)
    L, order, rank, _ = linalg.lapack.dpstrf(K, tol=tol, lower=1, overwrite_a=1)
    rank = int(rank) if trace > 0 else 0
    order = order.astype(np.intp) - 1
    Z = np.empty((n, rank))
    Z[order] = np.tril(L)[:, :rank]
    left = max(trace - float(np.einsum("ij,ij->", Z, Z)), 0.0)
    share = left / trace if trace > 0 else 0.0
    return PivotedCholesky(Z, order[:rank], share, True)


class LowRankFactor:
    r"""A low-rank kernel with a graph, factored once for all weights and targets.

    With :math:`K \approx Z Z^\top` the functions are :math:`f = Z w + b 1`, the graph
    term is a quadratic form in w (with b eliminated), and its eigenvectors make every
    pair of weights cheap.

    Parameters
    ----------
    problem : LaplacianProblem
        The problem; only its rows, graph and bias matter.
    factor : PivotedCholesky
        Factor of its kernel matrix.

    See Also
    --------
    laplacian_low_rank : The solver that uses it.
    """

    def __init__(self, problem: LaplacianProblem, factor: PivotedCholesky) -> None:
        self.source = factor
        self.Z = factor.factor.astype(np.float64, copy=False)
        self.pivots = factor.pivots
        self.laplacian = problem.laplacian
        self.fit_intercept = problem.fit_intercept
        # L^p 1 and 1' L^p 1 if the graph term penalises a bias.
        rough = problem.rough_constants if problem.fit_intercept else None
        self.rough_constants = None if problem.loss == "hinge" else rough
        self.roughness = (
            0.0 if self.rough_constants is None else float(np.sum(self.rough_constants))
        )

    @cached_property
    def _pivot_rows(self) -> NDArray[Any]:
        return self.Z[self.pivots]

    @cached_property
    def _shift(self) -> NDArray[Any]:
        """Z' L 1 / 1' L 1: the offset of every feature under the best bias."""
        if self.rough_constants is None:
            return np.zeros(self.Z.shape[1])
        return self.rough_constants @ self.Z / self.roughness

    @cached_property
    def _graph_term(self) -> NDArray[Any] | None:
        """Matrix of the graph term in w, with the best bias."""
        if self.laplacian is None:
            return None
        M = self.Z.T @ (self.laplacian @ self.Z)
        M -= self.roughness * np.outer(self._shift, self._shift)
        return 0.5 * (M + M.T)

    @cached_property
    def _spectrum(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Eigenpairs of the graph term in w."""
        rank = self.Z.shape[1]
        if self._graph_term is None:
            return np.zeros(rank), np.eye(rank)
        return semidefinite_eigh(self._graph_term)

    def _solver(
        self, alpha: float, graph_alpha: float, once: bool
    ) -> Callable[[NDArray[Any]], NDArray[Any]]:
        """Return the product with the inverse of alpha I + graph_alpha M."""
        M = self._graph_term
        if M is None or graph_alpha == 0:
            return lambda B: B / alpha
        if once:
            A = graph_alpha * M
            A.flat[:: A.shape[0] + 1] += alpha
            R, info = linalg.lapack.dpotrf(A, lower=1, overwrite_a=1)
            if info == 0:
                return lambda B: linalg.cho_solve((R, True), B, check_finite=False)
        # Eigenvalues made negative by rounding are exactly zero.
        e, Q = self._spectrum
        scale = 1.0 / (alpha + graph_alpha * e)
        return lambda B: Q @ (scale[:, None] * (Q.T @ B))

    def deform(
        self,
        labeled: NDArray[np.intp],
        alpha: float,
        graph_alpha: float,
        *,
        once: bool = False,
    ) -> DeformedKernel:
        """Deform the kernel for one pair of weights; `once` if it is the only one."""
        check_alphas(alpha, graph_alpha)
        solve = self._solver(alpha, graph_alpha, once)
        penalised = self.rough_constants is not None and graph_alpha > 0
        shift = self._shift if penalised else 0.0 * self._shift
        T = self.Z[labeled] - shift
        deformed_T = solve(T.T)
        H = T @ deformed_T
        if penalised:
            H += 1.0 / (graph_alpha * self.roughness)

        def expand(c: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
            w = deformed_T @ c
            b = np.zeros(c.shape[1])
            if penalised:
                b = c.sum(axis=0) / (graph_alpha * self.roughness) - shift @ w
            # Features of new rows are k(x, pivots) times the inverse of the triangle.
            coef = linalg.solve_triangular(
                self._pivot_rows, w, lower=True, trans=1, check_finite=False
            )
            return coef, b

        return DeformedKernel(
            H=0.5 * (H + H.T),
            free_bias=self.fit_intercept and not penalised,
            expand=expand,
            outputs=lambda coef, b: self.Z @ (self._pivot_rows.T @ coef) + b,
            support=self.pivots,
        )


def _warn_if_indefinite(H: NDArray[Any]) -> None:
    e = linalg.eigvalsh(H, check_finite=False)
    if e[0] < -_INDEFINITE * np.abs(e).max():
        warnings.warn(
            f"The deformed kernel is not positive semidefinite (smallest eigenvalue "
            f"{e[0]:.2g}, largest {e[-1]:.2g}), so this is not a minimum: use another "
            "kernel, or raise alpha if the kernel is a good one.",
            UserWarning,
            stacklevel=4,
        )


def _solve_deformed(
    deformed: DeformedKernel,
    problem: LaplacianProblem,
    *,
    start: NDArray[Any] | None,
    max_iter: int,
    loo_ridge: float,
) -> LaplacianSolution:
    _warn_if_indefinite(deformed.H)
    found = IN_LABELS[problem.loss](
        deformed, problem, start=start, max_iter=max_iter, loo_ridge=loo_ridge
    )
    if not found.converged:
        warnings.warn(
            f"{found.n_iter} of max_iter={max_iter} steps did not reach the solution: "
            "raise max_iter, or if rounding errors are to blame alpha, or scale X.",
            ConvergenceWarning,
            stacklevel=3,
        )
    coef, bias = deformed.expand(found.c)
    bias = bias + found.b
    outputs = deformed.outputs(coef, bias)
    objective = 0.5 * (
        problem.losses(outputs) + np.sum(found.c * (deformed.H @ found.c), axis=0)
    )
    history = {"objective": objective[None], **(found.history or {})}
    return LaplacianSolution(
        dual_coef=coef,
        support=deformed.support,
        intercept=bias,
        outputs=outputs,
        objective=objective,
        n_iter=found.n_iter,
        converged=found.converged,
        stop_reason=found.stop_reason,
        history=history,
        loo_outputs=found.loo_outputs,
        log_evidence=found.log_evidence,
    )


def laplacian_dense(
    problem: LaplacianProblem,
    alpha: float,
    graph_alpha: float,
    *,
    start: NDArray[Any] | None = None,
    max_iter: int = 1000,
    loo_ridge: float = 1.0,
) -> LaplacianSolution:
    r"""Solve manifold regularisation exactly, with a dense n x n system.

    One factorisation serves all columns of targets and, for the squared hinge loss,
    all Newton steps. These equal the Newton steps in :math:`(\alpha, b)` of [1]_, but
    have l instead of n unknowns.

    Parameters
    ----------
    problem : LaplacianProblem
        The problem, with any of the losses.
    alpha : float
        Weight of the norm, positive.
    graph_alpha : float
        Weight of the graph term, not negative.
    start : ndarray of shape (n_labeled, n_targets), default=None
        Outputs of another solution on the labelled rows, from which Newton's method
        takes its first error set.
    max_iter : int, default=1000
        Largest number of Newton steps.
    loo_ridge : float, default=1.0
        Squared loss: ridge of the problems with one target fewer, relative to that of
        the whole problem. With weights proportional to the number of targets it is
        (l - 1) / l.

    Returns
    -------
    solution : LaplacianSolution
        With coefficients for all rows.

    See Also
    --------
    laplacian_low_rank : The same for kernels of low rank, without any n x n array.

    References
    ----------
    .. [1] S. Melacci, M. Belkin, "Laplacian support vector machines trained in the
       primal", Journal of Machine Learning Research 12 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import DenseGram
    >>> from fewlabels.semi_supervised import LaplacianProblem, laplacian_dense
    >>> problem = LaplacianProblem(
    ...     DenseGram([[1.0, 0.5], [0.5, 1.0]]), None, [0, 1], [[1.0], [-1.0]]
    ... )
    >>> laplacian_dense(problem, 0.1, 0.0).outputs[:, 0].round(3)
    array([ 0.833, -0.833])
    """
    deformed = deform_dense(problem, alpha, graph_alpha)
    return _solve_deformed(
        deformed, problem, start=start, max_iter=max_iter, loo_ridge=loo_ridge
    )


def laplacian_low_rank(
    problem: LaplacianProblem,
    alpha: float,
    graph_alpha: float,
    *,
    factor: LowRankFactor | None = None,
    rank_tol: float | None = None,
    n_components: int | None = None,
    start: NDArray[Any] | None = None,
    max_iter: int = 1000,
    loo_ridge: float = 1.0,
) -> LaplacianSolution:
    r"""Solve manifold regularisation with a kernel of low rank.

    The kernel matrix is replaced by a pivoted Cholesky factor :math:`Z Z^\top` of rank
    r, which costs :math:`O(n r^2)` and never forms K. All further weights and targets
    with the same `factor` cost :math:`O(l^2 r + l r^2)`.

    Parameters
    ----------
    problem : LaplacianProblem
        The problem, with any of the losses.
    alpha : float
        Weight of the norm, positive.
    graph_alpha : float
        Weight of the graph term, not negative.
    factor : LowRankFactor, default=None
        Result of an earlier call with the same rows and graph.
    rank_tol : float, default=None
        Share of the trace of K that the factor may leave out. None is 1e-6 and, for up
        to 2,000 rows, no more than 500 pivots leave out: with a small `alpha` this
        would matter.
    n_components : int, default=None
        Largest rank; n_samples when None.
    start : ndarray of shape (n_labeled, n_targets), default=None
        As in :func:`laplacian_dense`.
    max_iter : int, default=1000
        Largest number of Newton steps.
    loo_ridge : float, default=1.0
        As in :func:`laplacian_dense`.

    Returns
    -------
    solution : LaplacianSolution
        With coefficients for the pivots.

    Warns
    -----
    ConvergenceWarning
        If `n_components` was reached before the tolerance.

    See Also
    --------
    fewlabels.kernels.pivoted_cholesky : The factor.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.graphs import graph_laplacian, laplacian_power, similarity_graph
    >>> from fewlabels.kernels import TiledGram
    >>> from fewlabels.semi_supervised import LaplacianProblem, laplacian_low_rank
    >>> X = np.linspace(0, 1, 300)[:, None]
    >>> L = laplacian_power(graph_laplacian(similarity_graph(X)), 1)
    >>> problem = LaplacianProblem(
    ...     TiledGram(X, "rbf", gamma=1.0), L, [0, 299], [[-1.0], [1.0]]
    ... )
    >>> solution = laplacian_low_rank(problem, 1e-3, 1e-3)
    >>> solution.support.size < 20  # the rank
    True
    """
    if factor is None:
        factor = laplacian_factor(problem, rank_tol=rank_tol, n_components=n_components)
    deformed = factor.deform(problem.labeled, alpha, graph_alpha)
    return _solve_deformed(
        deformed, problem, start=start, max_iter=max_iter, loo_ridge=loo_ridge
    )


def factored(
    gram: GramOperator, *, rank_tol: float | None, n_components: int | None
) -> PivotedCholesky:
    """Pivoted Cholesky factor, to a tolerance within the kernel's precision."""
    # Pivots that are only rounding errors would be divided by their square roots.
    least = 100 * float(np.finfo(gram.dtype).eps)
    tol = max(RANK_TOL if rank_tol is None else rank_tol, least)
    if rank_tol is None and gram.shape[0] <= SMALL:
        most = min(AFFORDABLE, n_components or AFFORDABLE)
        # The rounding noise of a lower-precision matrix cannot be factored.
        with suppress(ValueError):
            found = pivoted_cholesky(gram, n_components=most, tol=least)
            if found.residual <= tol or most == n_components:
                return replace(found, converged=found.residual <= tol)
    return pivoted_cholesky(gram, n_components=n_components, tol=tol)


def laplacian_factor(
    problem: LaplacianProblem,
    *,
    rank_tol: float | None = None,
    n_components: int | None = None,
) -> LowRankFactor:
    """Factor the kernel of a problem once for many weights.

    Parameters
    ----------
    problem : LaplacianProblem
        The problem; targets do not matter.
    rank_tol : float, default=None
        Share of the trace of the kernel matrix that may be left out; None as in
        :func:`laplacian_low_rank`.
    n_components : int, default=None
        Largest rank; n_samples when None.

    Returns
    -------
    factor : LowRankFactor
        For :func:`laplacian_low_rank`.

    Warns
    -----
    ConvergenceWarning
        If `n_components` was reached before the tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import TiledGram
    >>> from fewlabels.semi_supervised import (
    ...     LaplacianProblem,
    ...     laplacian_factor,
    ...     laplacian_low_rank,
    ... )
    >>> X = np.linspace(0, 1, 300)[:, None]
    >>> gram = TiledGram(X, "rbf", gamma=1.0)
    >>> problem = LaplacianProblem(gram, None, [0, 299], [[-1.0], [1.0]])
    >>> factor = laplacian_factor(problem)
    >>> path = [laplacian_low_rank(problem, g, 0, factor=factor) for g in (0.1, 1, 10)]
    >>> [round(float(solution.objective[0]), 2) for solution in path]
    [0.14, 0.61, 0.94]
    """
    result = factored(problem.gram, rank_tol=rank_tol, n_components=n_components)
    if not result.converged:
        remedy = (
            "raise n_components or rank_tol, or use solver='pcg'"
            if result.pivots.size == n_components
            else "only rounding errors are left; raise rank_tol"
        )
        warnings.warn(
            f"The kernel of rank {result.pivots.size} leaves out a share of "
            f"{result.residual:.2g} of the trace: {remedy}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return LowRankFactor(problem, result)
