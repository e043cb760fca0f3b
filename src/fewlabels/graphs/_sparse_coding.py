"""Graph of rows that reconstruct each other sparsely."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from itertools import chain
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso, orthogonal_mp
from sklearn.preprocessing import normalize
from sklearn.utils.parallel import Parallel, delayed

from fewlabels._linalg import FLOATS
from fewlabels._sklearn import Interval, StrOptions, check_array, validate_params
from fewlabels.exceptions import warn_ignored
from fewlabels.graphs._neighbors import check_n_neighbors, make_search

# Coefficients below this share of the largest are rounding errors of the solver.
NEGLIGIBLE = 1e-9


def basis_pursuit(
    atoms: NDArray[Any], x: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Write x as a combination of atoms plus errors, with the smallest L1 norm.

    .. math::
        \min_{a, e} \; \|a\|_1 + \|e\|_1 \quad \text{subject to} \quad A^\top a + e = x

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_features)
        The rows of A.
    x : ndarray of shape (n_features,)
        The row to reconstruct.

    Returns
    -------
    a : ndarray of shape (n_atoms,)
        Coefficients. At most n_features of them and of the errors are not zero.
    dual : ndarray of shape (n_features,)
        A certificate z: no entry of A z or of z exceeds 1 in absolute value, so that
        z'x, which equals the optimum, is a lower bound for every other solution.
    """
    n, p = atoms.shape
    B = np.hstack([atoms.T, np.eye(p)])
    result = linprog(np.ones(2 * (n + p)), A_eq=np.hstack([B, -B]), b_eq=x)
    if not result.success:
        raise RuntimeError(
            f"The linear program of a row was not solved: {result.message} Scale X, "
            "or use method='lasso'."
        )
    positive, negative = result.x[: n + p], result.x[n + p :]
    return (positive - negative)[:n], result.eqlin.marginals


def _code_basis_pursuit(
    atoms: NDArray[Any], x: NDArray[Any], alpha: float, n_nonzero: int
) -> NDArray[Any]:
    return basis_pursuit(atoms, x)[0]


def _code_lasso(
    atoms: NDArray[Any], x: NDArray[Any], alpha: float, n_nonzero: int
) -> NDArray[Any]:
    # scikit-learn divides the squared error by the number of features.
    model = Lasso(alpha / x.size, fit_intercept=False, tol=1e-8, max_iter=100_000)
    return model.fit(atoms.T, x).coef_


def _code_omp(
    atoms: NDArray[Any], x: NDArray[Any], alpha: float, n_nonzero: int
) -> NDArray[Any]:
    n_nonzero = min(n_nonzero, *atoms.shape)
    with warnings.catch_warnings():
        # It ends early if the next atom depends on those chosen; nothing is lost, since
        # copies of rows do not help.
        warnings.filterwarnings("ignore", "Orthogonal matching pursuit ended")
        return np.ravel(orthogonal_mp(atoms.T, x, n_nonzero_coefs=n_nonzero))


CODERS: dict[
    str, Callable[[NDArray[Any], NDArray[Any], float, int], NDArray[np.float64]]
] = {"basis_pursuit": _code_basis_pursuit, "lasso": _code_lasso, "omp": _code_omp}


def _nearest_up_to_sign(
    X: NDArray[Any], n_candidates: int, n_jobs: int | None
) -> NDArray[np.intp]:
    """Nearest other rows, up to sign: x and -x reconstruct equally well."""
    n = X.shape[0]
    check_n_neighbors(n_candidates, n)
    search = make_search(np.vstack([X, -X]), n_jobs=n_jobs)
    # A row and its mirror image may be among them, and so may both of each other row.
    _, found = search.kneighbors(min(2 * n_candidates + 2, 2 * n), X)
    chosen = np.empty((n, n_candidates), dtype=np.intp)
    for i, nearest in enumerate(found % n):
        others = nearest[nearest != i]
        _, first = np.unique(others, return_index=True)
        chosen[i] = np.sort(others[np.sort(first)][:n_candidates])
    return chosen


def _code_rows(
    rows: NDArray[np.intp],
    X: NDArray[np.float64],
    candidates: NDArray[np.intp] | None,
    method: str,
    alpha: float,
    n_nonzero: int,
) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Find the rows that reconstruct each of `rows`, and their weights."""
    present = np.abs(X).max(axis=1) > 0
    edges = []
    for i in rows:
        atoms = np.arange(X.shape[0]) if candidates is None else candidates[i]
        atoms = atoms[present[atoms] & (atoms != i)]
        weights = np.zeros(atoms.size)
        if present[i] and atoms.size:
            weights = np.abs(CODERS[method](X[atoms], X[i], alpha, n_nonzero))
        keep = weights > NEGLIGIBLE * weights.max(initial=0.0)
        edges.append((atoms[keep], weights[keep]))
    return edges


@validate_params(
    {
        "X": ["array-like"],
        "method": [StrOptions(set(CODERS))],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "n_nonzero": [Interval(Integral, 1, None, closed="left")],
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def l1_graph(
    X: Any,
    *,
    method: str = "basis_pursuit",
    alpha: float = 0.1,
    n_nonzero: int = 5,
    n_candidates: int | None = None,
    n_jobs: int | None = None,
) -> csr_array:
    r"""Build the directed graph of rows that reconstruct each other sparsely.

    Rows are scaled to unit length. Each is written as a combination of the others,
    :math:`x_i = \sum_{j \ne i} a_j x_j + e`, with few coefficients, and
    :math:`w_{ij} = |a_j|`. The neighbours of a row, their number and the weights thus
    follow from one problem:

    ===============  ==================================================================
    "basis_pursuit"  :math:`\min \|a\|_1 + \|e\|_1`, a linear program, without parameter
    "lasso"          :math:`\min \tfrac12 \|e\|_2^2 + \alpha \|a\|_1`
    "omp"            :math:`\min \|e\|_2^2` greedily, with at most `n_nonzero`
                     coefficients
    ===============  ==================================================================

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows. A zero row gets no edge.
    method : {"basis_pursuit", "lasso", "omp"}, default="basis_pursuit"
        Which problem. The first is that of [1]_; the other two are those of
        :class:`sklearn.linear_model.Lasso` and
        :func:`sklearn.linear_model.orthogonal_mp`, and faster.
    alpha : float, default=0.1
        Penalty of "lasso"; from 1 on no row has an edge.
    n_nonzero : int, default=5
        Largest number of edges from one row with "omp".
    n_candidates : int, default=None
        Reconstruct each row only from this many others, the nearest in angle up to
        sign; None for all, which takes time proportional to n_samples^2 or more.
    n_jobs : int, default=None
        Processes.

    Returns
    -------
    W : csr_array of shape (n_samples, n_samples)
        Directed, non-negative weights with zero diagonal, in general not symmetric:
        row i holds those of the rows that reconstruct row i. Take ``(W + W.T) / 2``
        for a graph with a Laplacian.

    See Also
    --------
    local_linear_weights : Reconstruction from a fixed number of neighbours.

    References
    ----------
    .. [1] S. Yan and H. Wang, "Semi-supervised learning by sparse representation",
       SDM 2009. :doi:`10.1137/1.9781611972795.68`

    Examples
    --------
    >>> from fewlabels.graphs import l1_graph
    >>> X = [[3.0, 1.0], [6.0, 2.0], [-1.0, 3.0], [1.0, -3.0]]
    >>> l1_graph(X).toarray().round(3)
    array([[0., 1., 0., 0.],
           [1., 0., 0., 0.],
           [0., 0., 0., 1.],
           [0., 0., 1., 0.]])
    """
    X = check_array(X, dtype=FLOATS, ensure_min_samples=2, input_name="X")
    if alpha != 0.1 and method != "lasso":
        warn_ignored(f"alpha={alpha}", f"method={method!r} does not use it")
    if n_nonzero != 5 and method != "omp":
        warn_ignored(f"n_nonzero={n_nonzero}", f"method={method!r} does not use it")
    largest = np.abs(X).max(axis=1, keepdims=True)  # squares must not underflow
    unit = normalize(X / np.where(largest > 0, largest, 1)).astype(np.float64)
    candidates = None
    if n_candidates is not None:
        candidates = _nearest_up_to_sign(unit, n_candidates, n_jobs)
    n = X.shape[0]
    parts = np.array_split(np.arange(n), 4 * effective_n_jobs(n_jobs))
    coded = Parallel(n_jobs=n_jobs)(
        delayed(_code_rows)(part, unit, candidates, method, alpha, n_nonzero)
        for part in parts
    )
    edges = list(chain.from_iterable(coded))
    indptr = np.concatenate([[0], np.cumsum([columns.size for columns, _ in edges])])
    return csr_array(
        (
            np.concatenate([weights for _, weights in edges]).astype(X.dtype),
            np.concatenate([columns for columns, _ in edges]),
            indptr,
        ),
        shape=(n, n),
    )
