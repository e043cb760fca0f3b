"""Linear systems on graphs: Laplacians plus a diagonal, for edges of any strength."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import coo_array, csr_array, eye_array
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from scipy.sparse.linalg import splu
from sklearn.exceptions import ConvergenceWarning

from fewlabels._backend import Backend, get_backend
from fewlabels._linalg import conjugate_gradients
from fewlabels._threads import threads
from fewlabels.graphs import check_weights

# Entries of a graph times right-hand sides above which several threads pay off.
MANY_PRODUCTS = 2_000_000
# Up to this many rows, a direct solve is always cheap enough.
DIRECT_ROWS = 5000
# Width of the elimination front up to which a direct solve beats iterations.
DIRECT_FRONT = 5000
# Share of stored entries beyond which a matrix is no longer treated as sparse.
DENSE_SHARE = 0.1
# A function that is 1 on all labels is 1 everywhere. Iterate while the sum of the
# solutions deviates from 1 by more than this.
ONES_TOLERANCE = 1e-3

# Relative change at which the refinement of direct solutions stops, far below the
# rounding errors of an unrefined solution.
DIRECT_TOL = 1e-10
# An edge is weak if it is less than this share of the degree at one of its ends. Groups
# connected to others or to given values only by weak edges get a separate level: in the
# full system it would be a difference of numbers that agree up to this share.
WEAK = 1e-6
# Relative increase of the degrees in such groups, so that a factor exists; refinement
# corrects for it.
GROUND = 1e-12
# Relative change of a solution that its own rounding may cause.
ROUNDING = 64 * float(np.finfo(np.float64).eps)
# Rounds of refinement, each gaining digits; more than a few are never needed.
MAX_ROUNDS = 30


def check_graph(W: Any) -> csr_array:
    """Validate the weights of a graph."""
    W = csr_array(check_weights(W), dtype=np.float64)
    W.eliminate_zeros()
    W.sort_indices()
    return W


def front_width(W: csr_array) -> int:
    """Largest number of unknowns held at a time when eliminating the graph.

    This is the bandwidth after a reverse Cuthill-McKee ordering. For neighbour graphs
    of rows on a curve or in a plane it is small, and factors stay sparse; in many
    dimensions it is a large share of all rows, and factors fill up.
    """
    order = reverse_cuthill_mckee(W, symmetric_mode=True)
    position = np.empty(W.shape[0], dtype=np.intp)
    position[order] = np.arange(W.shape[0])
    rows = np.repeat(position, np.diff(W.indptr))
    return int(np.max(np.abs(rows - position[W.indices]), initial=0))


def scaled(W: csr_array, scale: NDArray[Any]) -> csr_array:
    """Weights w_ij times scale_i times scale_j."""
    data = W.data * np.repeat(scale, np.diff(W.indptr)) * scale[W.indices]
    return csr_array((data, W.indices, W.indptr), shape=W.shape)


class GraphSolution(NamedTuple):
    """Functions on a graph, with details of the solver.

    Attributes
    ----------
    values : ndarray of shape (n_vertices, n_functions)
        The functions.
    n_iter : int
        Steps of conjugate gradients, 0 for a direct solve.
    solver : {"direct", "cg"}
        The solver used.
    """

    values: NDArray[Any]
    n_iter: int
    solver: str


def solve_grounded(
    W: csr_array,
    diagonal: NDArray[Any],
    B: NDArray[Any],
    *,
    solver: str,
    tol: float,
    max_iter: int,
) -> GraphSolution:
    """Solve (diag(diagonal) - W) F = B with a positive definite matrix.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric, non-negative weights with zero diagonal.
    diagonal : ndarray of shape (n,)
        The diagonal.
    B : ndarray of shape (n, k)
        Right-hand sides.
    solver : {"auto", "direct", "cg"}
        "auto" factorises where the factor stays small.
    tol : float
        Relative residual of "cg".
    max_iter : int
        Largest number of steps of "cg".

    Returns
    -------
    solution : GraphSolution
        The solutions and how they were found.

    Warns
    -----
    ConvergenceWarning
        If "cg" does not reach `tol`.
    """
    system = _System(W, diagonal, solver, tol, max_iter, None)
    values, converged = system.solve(B)
    if not converged:
        _warn(system)
    return GraphSolution(values, system.n_iter, system.solver)


def solve_laplacian(
    W: csr_array,
    ground: NDArray[Any],
    B: NDArray[Any],
    *,
    solver: str,
    tol: float,
    max_iter: int,
    ones: bool = False,
    device: str | Backend | None = None,
) -> GraphSolution:
    """Solve (L + diag(ground)) F = B with the Laplacian L of a graph.

    Edges of any strength are respected: each group of vertices connected to others only
    by weak edges gets a level. Levels and remainders are solved in turn, as on the two
    grids of a multigrid method, until neither changes. The net inflow of a group, which
    determines its level, is a sum over its weak edges, not a difference of strong ones.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric, non-negative weights with zero diagonal.
    ground : ndarray of shape (n,)
        Non-negative values. If they are all zero in a component, its right-hand sides
        must sum to zero, and its solutions are determined up to a constant.
    B : ndarray of shape (n, k)
        Right-hand sides.
    solver : {"auto", "direct", "cg"}
        "auto" factorises where the factor stays small.
    tol : float
        Relative residual of "cg".
    max_iter : int
        Largest number of steps of "cg".
    ones : bool, default=False
        Whether the exact columns sum to 1, which "cg" then checks. A small residual
        says little about a group of rows attached by rather weak edges.
    device : {"cpu", "cuda"} or None, default=None
        Where "cg" runs; None is the CPU.

    Returns
    -------
    solution : GraphSolution
        The solutions and how they were found.

    Warns
    -----
    ConvergenceWarning
        If the residual, or the change of the levels, is not as small as required.
    """
    params: dict[str, Any] = {"solver": solver, "tol": tol, "max_iter": max_iter}
    network = _Network(W, ground)
    inner = _System(W, network.diagonal, solver, tol, max_iter, get_backend(device))
    # "cg" measures an updated residual, which differs slightly from the true one.
    goal = DIRECT_TOL if inner.solver == "direct" else 2 * tol
    levels = np.zeros((network.n_groups, B.shape[1]))
    values = np.zeros(B.shape)
    B = network.balanced(B)
    net_inflow = network.sums(B)
    converged = False
    for turn in range(MAX_ROUNDS):
        change = np.zeros_like(levels)
        if network.is_tied:
            flow = net_inflow - network.net_outflow(values, levels)
            change = solve_laplacian(
                network.W_groups, network.ground_groups, flow, **params
            ).values
            levels += change
        rest = B - network.outflow(values, levels)
        correction, solved = inner.solve(rest, ones and not (turn or network.is_tied))
        # Rounding errors are largest along levels, which are already known.
        correction -= network.spread(network.means(correction))
        values += correction
        if not (solved and np.isfinite(correction).all()):
            break
        if network.is_tied or inner.solver == "direct":
            # No less than the rounding errors of the solution itself.
            floor = ROUNDING * _largest(values + network.spread(levels))
            converged = all(
                bool(np.all(_largest(new) <= np.maximum(goal * _largest(old), floor)))
                for new, old in ((change, levels), (correction, values))
            )
        else:
            rest = inner.norms(B - network.outflow(values, levels))
            floor = ROUNDING * inner.norms(network.diagonal[:, None] * values)
            limits = np.maximum(goal * inner.norms(B), floor)
            converged = bool(np.all(rest <= limits))
        if converged:
            break
    if not converged:
        _warn(inner)
    return GraphSolution(values + network.spread(levels), inner.n_iter, inner.solver)


def _largest(values: NDArray[Any]) -> NDArray[np.float64]:
    """Largest value of every column."""
    return np.abs(values).max(axis=0, initial=0.0)


def _warn(system: "_System") -> None:
    """Warn that a system was not solved to the requested accuracy."""
    advice = "raise max_iter or use solver='direct'" if system.solver == "cg" else ""
    warnings.warn(
        f"solver={system.solver!r} did not converge in {system.n_iter} steps (max_iter="
        f"{system.max_iter}, tol={system.tol}): "
        f"{advice or 'make the weakest edges stronger or leave them out'}, or label a "
        "row of each group that is attached by weak edges only.",
        ConvergenceWarning,
        stacklevel=5,
    )


class _Network:
    """A graph with ground, its groups behind weak edges, and flows between them.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        The weights.
    ground : ndarray of shape (n,)
        Weights that tie the vertices to zero.
    """

    def __init__(self, W: csr_array, ground: NDArray[Any]) -> None:
        n = W.shape[0]
        self.ground = ground
        self.tails = np.repeat(np.arange(n), np.diff(W.indptr))
        self.heads, self.weights = W.indices, W.data
        degrees = np.bincount(self.tails, weights=self.weights, minlength=n) + ground
        strong = self.weights >= WEAK * np.maximum(
            degrees[self.tails], degrees[self.heads]
        )
        edges = (self.weights[strong], (self.tails[strong], self.heads[strong]))
        _, part = connected_components(coo_array(edges, shape=(n, n)), directed=False)
        held = np.zeros(part.max(initial=-1) + 1, dtype=bool)
        held[part[ground > WEAK * degrees]] = True
        # Groups tied strongly to zero need no level: their number is -1.
        names = np.cumsum(~held) - 1
        self.group = np.where(held[part], -1, names[part])
        self.n_groups = int(np.count_nonzero(~held))
        self._find_links()
        if self.n_groups == n:  # of millions of edges each, none of which counts
            self.is_tied = False
        loose = np.where(self.group >= 0, GROUND, 0.0)
        self.diagonal = np.where(degrees > 0, (1 + loose) * degrees, 1.0)

    def _find_links(self) -> None:
        """Build the graph of the groups from the weak edges between them."""
        m, group = self.n_groups, self.group
        across = np.flatnonzero(
            (group[self.tails] != group[self.heads]) & (group[self.tails] >= 0)
        )
        self.links = (self.tails[across], self.heads[across], self.weights[across])
        tails, heads, weights = self.links
        self.ground_groups = self.sums(self.ground[:, None])[:, 0]
        out = group[heads] < 0
        self.ground_groups += np.bincount(
            group[tails[out]], weights=weights[out], minlength=m
        )
        inside = (group[tails[~out]], group[heads[~out]])
        self.W_groups = csr_array(coo_array((weights[~out], inside), shape=(m, m)))
        self.W_groups.sum_duplicates()
        self.is_tied = bool(self.W_groups.nnz or self.ground_groups.any())

    def sums(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Add up the values of every group."""
        inside = np.flatnonzero(self.group >= 0)
        sums = np.zeros((self.n_groups, values.shape[1]))
        np.add.at(sums, self.group[inside], values[inside])
        return sums

    def balanced(self, B: NDArray[Any]) -> NDArray[np.float64]:
        """Remove rounding errors from sums that must be zero in untied components."""
        degrees = np.asarray(self.W_groups.sum(axis=1)).ravel() + self.ground_groups
        excess = self.means(B / self.diagonal[:, None])
        excess[degrees > 0] = 0.0
        return B - self.diagonal[:, None] * self.spread(excess)

    def means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Average the values of every group, weighted by degree."""
        weights = self.diagonal[:, None]
        return self.sums(weights * values) / self.sums(weights)

    def spread(self, levels: NDArray[Any]) -> NDArray[np.float64]:
        """Level of the group of every vertex, zero for those that need none."""
        return np.vstack([levels, np.zeros((1, levels.shape[1]))])[self.group]

    def outflow(self, values: NDArray[Any], levels: NDArray[Any]) -> NDArray[Any]:
        """Product of the matrix with values on top of levels.

        Differences of levels are zero within a group, however large the levels.
        """
        spread = self.spread(levels)
        flow = self.ground[:, None] * (values + spread)
        for v, level, out in zip(values.T, spread.T, flow.T, strict=True):
            across = v[self.tails] - v[self.heads]
            across += level[self.tails] - level[self.heads]
            out += np.bincount(self.tails, self.weights * across, out.size)
        return flow

    def net_outflow(self, values: NDArray[Any], levels: NDArray[Any]) -> NDArray[Any]:
        """Add up the outflow of every group along the remaining edges."""
        spread = self.spread(levels)
        tails, heads, weights = self.links
        net = self.sums(self.ground[:, None] * (values + spread))
        across = values[tails] - values[heads] + (spread[tails] - spread[heads])
        np.add.at(net, self.group[tails], weights[:, None] * across)
        return net


class _System:
    """A positive definite system, factorised once or solved by iteration.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric weights with zero diagonal.
    diagonal : ndarray of shape (n,)
        The diagonal, from which the weights are subtracted.
    solver : {"auto", "direct", "cg"}
        "auto" factorises where the factor stays small.
    tol : float
        Relative residual of "cg".
    max_iter : int
        Largest number of steps of "cg".
    backend : Backend or None
        Where "cg" runs.
    """

    def __init__(
        self,
        W: csr_array,
        diagonal: NDArray[Any],
        solver: str,
        tol: float,
        max_iter: int,
        backend: Backend | None,
    ) -> None:
        self.backend = get_backend(None) if backend is None else backend
        # Scale to a unit diagonal: the best simple preconditioner, for any weights.
        self.scale = 1 / np.sqrt(diagonal)
        self.S = scaled(W, self.scale)
        if solver == "auto":
            # Products on a device are so fast that a factor seldom pays off.
            direct = W.shape[0] <= DIRECT_ROWS or (
                self.backend.is_numpy and front_width(W) <= DIRECT_FRONT
            )
            solver = "direct" if direct else "cg"
        self.solver, self.tol, self.max_iter, self.n_iter = solver, tol, max_iter, 0
        self._factor: Callable[[NDArray[Any]], NDArray[Any]] | None = None

    def norms(self, B: NDArray[Any]) -> NDArray[Any]:
        """Norms of right-hand sides, in the norm of the residuals."""
        return np.linalg.norm(self.scale[:, None] * B, axis=0)

    def solve(self, B: NDArray[Any], ones: bool = False) -> tuple[NDArray[Any], bool]:
        """Solve for some columns; return whether the residual is small."""
        if B.size == 0:
            return np.zeros(B.shape), True
        right = self.scale[:, None] * B
        if self.solver == "direct":
            if self._factor is None:
                self._factor = _factor_of(self.S)
            return self.scale[:, None] * self._factor(right), True
        backend = self.backend
        xp, factors = backend.xp, backend.asarray(self.scale)

        def adds_up(Z: Any) -> bool:
            miss = xp.abs(factors * xp.sum(Z, axis=1) - 1)
            return bool(xp.max(miss) <= ONES_TOLERANCE)

        many = backend.is_numpy and self.S.nnz * right.shape[1] >= MANY_PRODUCTS
        with threads(None, worth_it=many):
            found, n_iter, converged = conjugate_gradients(
                backend.asarray(csr_array(eye_array(len(right)) - self.S)),
                backend.asarray(right),
                tol=self.tol,
                max_iter=self.max_iter,
                is_done=adds_up if ones else None,
            )
        self.n_iter += n_iter
        return self.scale[:, None] * backend.to_numpy(found), converged


def _factor_of(S: csr_array) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Factorise I - S by a Cholesky or a sparse symmetric method."""
    n = S.shape[0]
    if S.nnz > DENSE_SHARE * n * n:
        factor = linalg.cho_factor(np.eye(n) - S.toarray())
        return lambda B: linalg.cho_solve(factor, B)
    # Order neighbours next to each other, for fast memory access. The matrix is an
    # M-matrix: it needs no pivoting, and fill is smallest without.
    order = reverse_cuthill_mckee(S, symmetric_mode=True)
    sparse_factor = splu(
        (eye_array(n) - S[order][:, order]).tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        panel_size=1,  # twice as fast for factors as sparse as these
        options={"SymmetricMode": True},
    )

    def solve(B: NDArray[Any]) -> NDArray[Any]:
        Z = np.empty_like(B)
        Z[order] = sparse_factor.solve(B[order])
        return Z

    return solve
