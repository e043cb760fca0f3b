"""Maximum mean discrepancy, and the embedding that makes it small."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse

from fewlabels._linalg import signed
from fewlabels._params import check_number
from fewlabels._sklearn import check_array
from fewlabels.graphs import nearest_neighbors
from fewlabels.kernels import resolve_kernel
from fewlabels.transfer._domains import check_sample_domain


def mean_difference(is_source: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return e: 1 / n_source for rows of the source, -1 / n_target for others."""
    n_source = int(np.count_nonzero(is_source))
    n_target = is_source.size - n_source
    if not n_source or not n_target:
        return np.zeros(is_source.size)
    return np.where(is_source, 1 / n_source, -1 / n_target)


def mmd_squared(
    X_source: Any,
    X_target: Any,
    *,
    kernel: Any = "rbf",
    gamma: float | str | None = "scale",
    kernel_params: dict[str, Any] | None = None,
) -> float:
    r"""Compute the squared maximum mean discrepancy of two samples.

    .. math::
        \mathrm{MMD}^2 = \Big\| \frac{1}{n_s} \sum_i \phi(x_i)
        - \frac{1}{n_t} \sum_j \phi(z_j) \Big\|^2
        = \operatorname{tr} K L, \quad L = e e^\top, \quad
        e = (\tfrac{1}{n_s}, \ldots, -\tfrac{1}{n_t}, \ldots)

    Parameters
    ----------
    X_source : {array-like, sparse matrix} of shape (n_source, n_features)
        Rows of the source.
    X_target : {array-like, sparse matrix} of shape (n_target, n_features)
        Rows of the target.
    kernel : str or callable, default="rbf"
        See :func:`fewlabels.kernels.resolve_kernel`.
    gamma : float, {"scale", "median", "range", "local"} or None, default="scale"
        See :func:`fewlabels.kernels.resolve_kernel`; rules look at all rows.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.

    Returns
    -------
    mmd2 : float
        The squared distance of the means in the space of the kernel.

    References
    ----------
    .. [1] A. Gretton, K. Borgwardt, M. Rasch, B. Schölkopf, A. Smola, "A kernel
       two-sample test", Journal of Machine Learning Research 13 (2012).

    Examples
    --------
    >>> from fewlabels.transfer import mmd_squared
    >>> mmd_squared([[0.0], [2.0]], [[4.0]], kernel="linear")  # means 1 and 4
    9.0
    """
    X_source = check_array(X_source, accept_sparse="csr", dtype=np.float64)
    X_target = check_array(X_target, accept_sparse="csr", dtype=np.float64)
    if X_source.shape[1] != X_target.shape[1]:
        raise ValueError(
            f"X_source has {X_source.shape[1]} features but X_target has "
            f"{X_target.shape[1]}: rows can only be compared if they have the same."
        )
    both = (
        sparse.vstack([X_source, X_target], format="csr")
        if sparse.issparse(X_source) or sparse.issparse(X_target)
        else np.vstack([X_source, X_target])
    )
    k = resolve_kernel(both, kernel, gamma=gamma, kernel_params=kernel_params)
    e = mean_difference(np.arange(both.shape[0]) < X_source.shape[0])[:, None]
    return max(float((e.T @ k.product(both, both, e)).item()), 0.0)


class MMDEmbedding(NamedTuple):
    """Result of :func:`mmde`.

    Attributes
    ----------
    embedding : ndarray of shape (n_samples, n_components)
        Leading principal components of the rows under the learned kernel.
    kernel : ndarray of shape (n_samples, n_samples)
        The learned kernel matrix.
    eigenvalues : ndarray of shape (n_components,)
        Its leading eigenvalues.
    mmd2 : float
        Squared discrepancy of the domains under the learned kernel.
    value : float
        The objective.
    """

    embedding: NDArray[np.float64]
    kernel: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]
    mmd2: float
    value: float


def mmde(
    X: Any,
    sample_domain: ArrayLike,
    n_components: int = 2,
    *,
    variance_weight: float = 1.0,
    n_neighbors: int = 3,
    solver: str | None = None,
    solver_params: dict[str, Any] | None = None,
) -> MMDEmbedding:
    r"""Embed rows so that the domains lie together and neighbours stay where they are.

    Maximum mean discrepancy embedding learns a kernel matrix by a semidefinite program,

    .. math::
        \min_{K \succeq 0} \; \operatorname{tr} K L - \lambda \operatorname{tr} K
        \quad \text{with} \quad K 1 = 0, \quad
        K_{ii} + K_{jj} - 2 K_{ij} = \|x_i - x_j\|^2 \text{ for neighbours } i, j,

    and takes its principal components. It embeds the given rows only, and is meant for
    a few hundred of them at most; :class:`TransferComponentAnalysis` is for more, and
    for new rows. It needs cvxpy, which comes with ``pip install
    "fewlabels[transfer]"``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows of all domains.
    sample_domain : array-like of int of shape (n_samples,)
        Positive for source domains, negative for target domains.
    n_components : int, default=2
        Dimension of the embedding.
    variance_weight : float, default=1
        Weight :math:`\lambda` of the variance, which unfolds the rows.
    n_neighbors : int, default=3
        Neighbours of a row whose distances are kept. Where the graph of neighbours is
        disconnected, shortest edges join its parts: otherwise the variance has no
        limit.
    solver : str, default=None
        A solver of cvxpy; None takes SCS.
    solver_params : dict, default=None
        Options of the solver; SCS stops at ``eps=1e-6`` by default.

    Returns
    -------
    result : MMDEmbedding
        The embedding, the kernel matrix and its discrepancy.

    Raises
    ------
    RuntimeError
        If the solver finds no solution.

    References
    ----------
    .. [1] S. J. Pan, J. T. Kwok, Q. Yang, "Transfer learning via dimensionality
       reduction", AAAI 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import mmde
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [1.0, 3.0]])
    >>> result = mmde(X, [1, 1, -2, -2], 1, n_neighbors=1, variance_weight=0.01)
    >>> bool(result.mmd2 < 9 and result.embedding.shape == (4, 1))
    True
    """
    check_number("n_components", n_components, 1)
    check_number("n_neighbors", n_neighbors, 1)
    check_number("variance_weight", variance_weight, 0)
    try:
        import cvxpy as cp
    except ImportError as error:
        raise ImportError(
            'mmde needs cvxpy: pip install "fewlabels[transfer]".'
        ) from error
    X = check_array(X, dtype=np.float64)
    n = X.shape[0]
    e = mean_difference(check_sample_domain(sample_domain, n) > 0)
    i, j = neighbor_pairs(X, min(n_neighbors, n - 1))
    squares = np.sum((X[i] - X[j]) ** 2, axis=1)
    # Unit scale for the solver; the program is homogeneous in the squared distances.
    unit = float(squares.mean()) or 1.0
    K = cp.Variable((n, n), PSD=True)
    value = e @ K @ e - variance_weight * cp.trace(K)
    picks = sparse.csr_array((np.ones(i.size), (np.arange(i.size), i)), (i.size, n))
    others = sparse.csr_array((np.ones(i.size), (np.arange(i.size), j)), (i.size, n))
    D = (picks - others).toarray()
    constraints = [
        cp.sum(K, axis=1) == 0,
        cp.sum(cp.multiply(D @ K, D), axis=1) == squares / unit,
    ]
    problem = cp.Problem(cp.Minimize(value), constraints)
    options = ({"eps": 1e-6} if solver is None else {}) | (solver_params or {})
    problem.solve(solver=solver or cp.SCS, **options)
    if K.value is None:
        raise RuntimeError(
            f"The solver found no kernel ({problem.status}): use more neighbours, or a "
            "smaller variance_weight."
        )
    kernel = unit * (K.value + K.value.T) / 2
    w, V = linalg.eigh(kernel)
    order = np.argsort(-w)[:n_components]
    top = np.maximum(w[order], 0)
    return MMDEmbedding(
        signed(V[:, order]) * np.sqrt(top),
        kernel,
        top,
        max(float(e @ kernel @ e), 0.0),
        unit * float(problem.value),
    )


def neighbor_pairs(
    X: NDArray[Any], n_neighbors: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of neighbours, and shortest edges that join parts without any."""
    n = X.shape[0]
    if n == 1:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    neighbors = nearest_neighbors(X, n_neighbors)[1]
    near = np.column_stack([np.repeat(np.arange(n), n_neighbors), neighbors.ravel()])
    distances = linalg.norm(X[:, None] - X[None], axis=2)
    # A spanning tree joins everything; distance 0 would mean "no edge" to SciPy.
    tree = sparse.csgraph.minimum_spanning_tree(distances + np.finfo(float).tiny)
    tree = sparse.coo_array(tree)
    edges = np.vstack([near, np.column_stack([tree.row, tree.col])])
    edges = np.unique(np.sort(edges, axis=1), axis=0)
    return edges[:, 0].astype(np.intp), edges[:, 1].astype(np.intp)
