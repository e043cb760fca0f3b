"""The smallest eigenpairs of graph Laplacians."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csc_array, csr_array, eye_array, issparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fewlabels.graphs._connectivity import ConnectivityReport, connectivity
from fewlabels.graphs._laplacian import LAPLACIANS, check_weights

# Up to this many vertices LAPACK is quicker than any iteration.
DENSE_VERTICES = 600
# Share of the matrix inside its envelope, after reordering, up to which factors of a
# sparse matrix stay sparse. Graphs of few dimensions lie near 0.01, others above 0.05.
# The former need inverse iteration, having no gaps; products are enough for the latter.
THIN_ENVELOPE = 0.03
# Makes a Laplacian of norm about 1 positive definite, and is small beside the gaps
# between its eigenvalues, but not beside rounding errors.
SHIFT = 1e-8

EIGEN_SOLVERS = ("auto", "dense", "lanczos", "shift_invert")


class Eigenpairs(NamedTuple):
    """Eigenpairs of a graph Laplacian, smallest first, and the graph's components."""

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]
    degrees: NDArray[np.float64]
    report: ConnectivityReport


def _envelope(W: Any) -> float:
    """Share of the matrix between first entry and diagonal, reordered to a band."""
    n = W.shape[0]
    position = np.empty(n, dtype=np.intp)
    position[reverse_cuthill_mckee(W, symmetric_mode=True)] = np.arange(n)
    edges = W.tocoo()
    first = np.arange(n)
    np.minimum.at(first, position[edges.row], position[edges.col])
    return float(np.sum(np.arange(n) - first)) / n**2


def _chosen(solver: str, L: Any, n_pairs: int) -> str:
    n = L.shape[0]
    if n_pairs >= n - 1:  # more than ARPACK computes
        return "dense"
    if solver == "shift_invert" and not issparse(L):
        return "dense"
    if solver != "auto":
        return solver
    if n <= DENSE_VERTICES:
        return "dense"
    thin = issparse(L) and _envelope(L) <= THIN_ENVELOPE
    return "shift_invert" if thin else "lanczos"


def _null_space(report: ConnectivityReport, root: NDArray[Any], k: int) -> Any:
    """Normalised restrictions of `root` to the k largest components, as columns."""
    k = min(k, report.n_components)
    rows = np.flatnonzero(report.labels < k)
    columns = report.labels[rows]
    norms = np.sqrt(np.bincount(columns, root[rows] ** 2, minlength=k))
    null = np.zeros((root.size, k))
    null[rows, columns] = root[rows] / norms[columns]
    return null


def _arpack(
    operator: LinearOperator, k: int, ncv: int, tol: float, max_iter: int, rng: Any
) -> NDArray[Any]:
    """Eigenvectors of the k largest eigenvalues; may raise ArpackNoConvergence."""
    n = operator.shape[0]
    return eigsh(
        operator,
        k=k,
        which="LA",
        ncv=min(n, max(2 * k + 1, ncv)),
        v0=operator @ rng.uniform(-1, 1, n),
        tol=tol,
        maxiter=max_iter,
    )[1]


def _dense(L: Any, null: NDArray[Any], k: int, scale: float, **unused: Any) -> Any:
    A = L.toarray() if issparse(L) else L
    A = A + 2 * scale * (null @ null.T)  # above all other eigenvalues
    return linalg.eigh(A, subset_by_index=[0, k - 1])[1]


def _lanczos(
    L: Any, null: NDArray[Any], k: int, scale: float, **arpack: Any
) -> NDArray[Any]:
    def flipped(x: NDArray[Any]) -> NDArray[Any]:
        x = x - null @ (null.T @ x)
        x = scale * x - L @ x
        return x - null @ (null.T @ x)

    return _arpack(LinearOperator(L.shape, flipped, dtype=np.float64), k, 40, **arpack)


def _shift_invert(
    L: Any, null: NDArray[Any], k: int, scale: float, **arpack: Any
) -> NDArray[Any]:
    # Positive definite: no pivoting, and an ordering for symmetric matrices.
    factor = splu(
        csc_array(L + SHIFT * scale * eye_array(L.shape[0])),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )

    def inverted(x: NDArray[Any]) -> NDArray[Any]:
        x = factor.solve(x - null @ (null.T @ x))
        return x - null @ (null.T @ x)

    return _arpack(LinearOperator(L.shape, inverted, dtype=np.float64), k, 20, **arpack)


_SOLVERS = {"dense": _dense, "lanczos": _lanczos, "shift_invert": _shift_invert}


def signs(vectors: NDArray[Any]) -> NDArray[Any]:
    """Signs that make the entry of largest size of every column positive."""
    largest = np.argmax(np.abs(vectors), axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1, 1)


def signed(vectors: NDArray[Any]) -> NDArray[Any]:
    """Eigenvectors, which have no sign of their own, with the signs of `signs`."""
    return vectors * signs(vectors)


def laplacian_eigenpairs(
    W: Any,
    n_pairs: int,
    *,
    kind: str = "symmetric",
    solver: str = "auto",
    tol: float = 1e-9,
    max_iter: int = 1000,
    random_state: Any = None,
) -> Eigenpairs:
    r"""Smallest eigenpairs of a symmetric Laplacian of a graph.

    The eigenvectors of the eigenvalue 0 are known from the connected components:
    constants there, or :math:`\sqrt d`. They are never computed, and the others are
    sought orthogonal to them, so that many components do no harm.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    n_pairs : int
        Number of eigenpairs. With at least as many components, these are the largest
        components, all of eigenvalue 0.
    kind : {"symmetric", "unnormalized"}, default="symmetric"
        Which Laplacian.
    solver : {"auto", "dense", "lanczos", "shift_invert"}, default="auto"
        LAPACK, ARPACK with products, or ARPACK with a sparse factor. "auto" takes the
        first for small graphs, the last where the factor is sparse too.
    tol : float, default=1e-9
        Relative accuracy of eigenvalues by ARPACK.
    max_iter : int, default=1000
        Restarts of ARPACK, after which a factorisation helps out, with a warning.
    random_state : int, RandomState instance or None, default=None
        Seed of the first vector of ARPACK.

    Returns
    -------
    pairs : Eigenpairs
        Eigenvalues in increasing order, orthonormal eigenvectors as columns, degrees
        and components.
    """
    W = check_weights(W).astype(np.float64)
    n = W.shape[0]
    report = connectivity(W)
    degrees = np.asarray(W.sum(axis=0)).ravel()
    root = np.ones(n)
    if kind == "symmetric":
        root = np.sqrt(np.where(degrees > 0, degrees, 1))
    null = _null_space(report, root, n_pairs)
    k = n_pairs - null.shape[1]
    if k == 0:
        return Eigenpairs(np.zeros(n_pairs), null, degrees, report)
    L = LAPLACIANS[kind](W)
    L = csr_array(L) if issparse(L) else L
    scale = 2.0 if kind == "symmetric" else 2 * float(degrees.max())
    name = _chosen(solver, L, k)
    arpack = {
        "tol": tol,
        "max_iter": max_iter,
        "rng": check_random_state(random_state),
    }
    try:
        vectors = _SOLVERS[name](L, null, k, scale, **arpack)
    except ArpackNoConvergence as error:
        backup = "shift_invert" if issparse(L) and name == "lanczos" else "dense"
        warnings.warn(
            f"The eigenvectors did not converge in {max_iter} restarts of ARPACK "
            f"({error}); using eigen_solver={backup!r}.",
            ConvergenceWarning,
            stacklevel=2,
        )
        arpack["max_iter"] = 100 * max_iter
        vectors = _SOLVERS[backup](L, null, k, scale, **arpack)
    values = np.maximum(np.einsum("ij,ij->j", vectors, L @ vectors), 0)
    order = np.argsort(values, kind="stable")
    return Eigenpairs(
        np.concatenate([np.zeros(null.shape[1]), values[order]]),
        np.hstack([null, signed(vectors[:, order])]),
        degrees,
        report,
    )


def random_walk_vectors(pairs: Eigenpairs) -> NDArray[Any]:
    r"""Turn eigenvectors u of L_sym into those of L_rw, :math:`D^{-1/2} u`."""
    root = np.sqrt(np.where(pairs.degrees > 0, pairs.degrees, 1))
    return pairs.vectors / root[:, None]
