"""Least squares on tensors, with weights of low CP rank."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.linear_model import ridge_regression
from sklearn.utils import check_random_state

from fewlabels._linalg import inverse_square_root
from fewlabels.tensor._algebra import cp_tensor, unfold

# Directions of the Khatri-Rao product below this share of the largest are rounding.
RANK_TOL = 1e-10

Factors = list[NDArray[np.float64]]


class CPSolution(NamedTuple):
    r"""A linear function of tensors with weights :math:`[\![ U_1, \dots, U_M ]\!]`.

    Attributes
    ----------
    factors : list of ndarray of shape (I_m, rank)
        One factor per mode; columns of the same norm in all modes.
    intercept : float
        The constant.
    objectives : ndarray of shape (n_steps,)
        Objective after every step.
    n_iter : int
        Sweeps over the modes.
    converged : bool
        Whether the weights had come to rest.
    """

    factors: Factors
    intercept: float
    objectives: NDArray[np.float64]
    n_iter: int
    converged: bool


class _Data(NamedTuple):
    """Centred tensors, unfolded along every mode, and centred targets."""

    unfolded: list[NDArray[np.float64]]  # per mode (n_samples, I_m, product of others)
    targets: NDArray[np.float64]
    mean: NDArray[np.float64]
    mean_target: float
    correlation: NDArray[np.float64]


def _prepare(X: NDArray[np.float64], y: NDArray[np.float64]) -> _Data:
    mean, mean_target = X.mean(axis=0), float(y.mean())
    Z, t = X - mean, y - mean_target
    unfolded = []
    for m in range(mean.ndim):
        # Kolda's order, with the samples in front: only it matches the Khatri-Rao
        # product of the factors in falling order.
        others = [k + 1 for k in reversed(range(mean.ndim)) if k != m]
        moved = Z.transpose(0, m + 1, *others)
        unfolded.append(moved.reshape(Z.shape[0], mean.shape[m], -1))
    return _Data(unfolded, t, mean, mean_target, np.tensordot(t, Z, axes=1))


def _others(factors: Factors, mode: int) -> NDArray[np.float64]:
    """Khatri-Rao product of all factors but one, the last mode first."""
    rest = [U for k, U in reversed(list(enumerate(factors))) if k != mode]
    return reduce(linalg.khatri_rao, rest, np.ones((1, factors[0].shape[1])))


def _ridge(
    features: NDArray[np.float64], targets: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """Solve ridge regression on centred data."""
    size = float(np.einsum("ij,ij->", features, features))
    if size == 0:
        return np.zeros(features.shape[1])
    if alpha <= 1e-8 * size:  # too little to make the normal equations safe
        return ridge_regression(features, targets, alpha, solver="svd")
    # There are many small systems: scikit-learn's checks would take most of the time.
    n, p = features.shape
    if p <= n:
        A, b = features.T @ features, features.T @ targets
        A.flat[:: p + 1] += alpha
        return linalg.solve(A, b, assume_a="pos", check_finite=False)
    A = features @ features.T
    A.flat[:: n + 1] += alpha
    return features.T @ linalg.solve(A, targets, assume_a="pos", check_finite=False)


def _start(
    correlation: NDArray[np.float64], rank: int, random: bool, rng: Any
) -> Factors:
    """Singular vectors of the correlation with the targets, or random columns."""
    factors = []
    for mode, size in enumerate(correlation.shape):
        U = rng.normal(size=(size, rank))
        if not random:
            leading = linalg.svd(unfold(correlation, mode), full_matrices=False)[0]
            keep = min(rank, leading.shape[1])
            U[:, :keep] = leading[:, :keep]
        factors.append(U / np.linalg.norm(U, axis=0))
    return factors


def _balance(factors: Factors) -> Factors:
    """Give each column the same norm in all modes; the weights stay as they are."""
    norms = np.array([np.linalg.norm(U, axis=0) for U in factors])
    alive = (norms > 0).all(axis=0)
    safe = np.where(alive, norms, 1.0)
    common = np.exp(np.log(safe).mean(axis=0))
    return [
        np.where(alive, U * (common / n), 0.0)
        for U, n in zip(factors, safe, strict=True)
    ]


def _useful_rank(rank: int, shape: tuple[int, ...]) -> int:
    """Largest rank that can matter: 1 for vectors, that of a matrix for two modes."""
    if len(shape) == 1:
        return 1
    return min(rank, *shape) if len(shape) == 2 else rank


def _solution(
    data: _Data, factors: Factors, objectives: list[float], n_iter: int, converged: bool
) -> CPSolution:
    W = cp_tensor(factors)
    intercept = data.mean_target - float(np.vdot(data.mean, W))
    return CPSolution(factors, intercept, np.array(objectives), n_iter, converged)


def _best_of_starts(
    data: _Data,
    rank: int,
    n_init: int,
    random_state: Any,
    descend: Callable[[Factors], CPSolution],
) -> CPSolution:
    rng = check_random_state(random_state)
    runs = [
        descend(_start(data.correlation, rank, random=k > 0, rng=rng))
        for k in range(n_init)
    ]
    return min(runs, key=lambda run: run.objectives[-1])


def cp_ridge(
    X: NDArray[Any],
    y: NDArray[Any],
    n_components: int,
    *,
    alpha: float = 1.0,
    n_init: int = 1,
    max_iter: int = 1000,
    tol: float = 1e-5,
    random_state: Any = None,
) -> CPSolution:
    r"""Ridge regression with weights of a given CP rank (hrTRR).

    .. math:: \min_{U_1, \dots, U_M, b} \; \frac12 \sum_i \bigl(y_i - \langle X_i, W
       \rangle - b\bigr)^2 + \frac\alpha2 \|W\|_F^2, \qquad
       W = [\![ U_1, \dots, U_M ]\!]

    With all factors but one fixed and K the Khatri-Rao product of the others, :math:`B
    = K^\top K`, the substitution :math:`S = U_m B^{1/2}` makes it plain ridge
    regression with the features :math:`X_{i(m)} K B^{-1/2}`; then :math:`U_m = S
    B^{-1/2}`. The objective never rises.

    Parameters
    ----------
    X : ndarray of shape (n_samples, I_1, ..., I_M)
        Tensors.
    y : ndarray of shape (n_samples,)
        Targets.
    n_components : int
        Number of outer products; cut to what can matter for one or two modes.
    alpha : float, default=1.0
        Price of the weights.
    n_init : int, default=1
        Starts: the singular vectors of the correlation with the targets, then random
        ones. The best counts.
    max_iter : int, default=1000
        Largest number of sweeps over the modes.
    tol : float, default=1e-5
        Stop when a sweep changes W by less than this share of its norm.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts.

    Returns
    -------
    solution : CPSolution
        Factors, intercept and objectives.

    See Also
    --------
    cp_group_sparse : Finds the rank.

    References
    ----------
    .. [1] W. Guo, I. Kotsia, I. Patras, "Tensor learning for regression", IEEE
       Transactions on Image Processing 21 (2012). :doi:`10.1109/TIP.2011.2165291`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import cp_ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 6, 7))
    >>> y = 3 * X[:, 2, 4] + 1
    >>> solution = cp_ridge(X, y, n_components=1, alpha=1e-3)
    >>> [int(abs(U[:, 0]).argmax()) for U in solution.factors]
    [2, 4]
    >>> round(solution.intercept, 2)
    1.0
    """
    data = _prepare(X, y)
    rank = _useful_rank(n_components, data.mean.shape)

    def descend(factors: Factors) -> CPSolution:
        objectives: list[float] = []
        W = cp_tensor(factors)
        for n_iter in range(1, max_iter + 1):
            for m in range(len(factors)):
                K = _others(factors, m)
                root = inverse_square_root(K.T @ K, tol=RANK_TOL)
                features = data.unfolded[m] @ (K @ root)
                flat = features.reshape(len(data.targets), -1)
                s = _ridge(flat, data.targets, alpha)
                factors[m] = s.reshape(features.shape[1:]) @ root.T
                residual = data.targets - flat @ s
                objectives.append(float(residual @ residual + alpha * s @ s) / 2)
            previous, W = W, cp_tensor(factors)
            if np.linalg.norm(W - previous) <= tol * np.linalg.norm(W):
                return _solution(data, _balance(factors), objectives, n_iter, True)
        return _solution(data, _balance(factors), objectives, max_iter, False)

    return _best_of_starts(data, rank, n_init, random_state, descend)


def cp_group_sparse(
    X: NDArray[Any],
    y: NDArray[Any],
    n_components: int,
    *,
    alpha: float = 1.0,
    prune_tol: float = 1e-3,
    n_init: int = 1,
    max_iter: int = 5000,
    tol: float = 1e-5,
    random_state: Any = None,
) -> CPSolution:
    r"""Regression with weights of low CP rank, where the rank is found (orTRR).

    .. math:: \min_{U_1, \dots, U_M, b} \; \frac12 \sum_i \bigl(y_i - \langle X_i, W
       \rangle - b\bigr)^2 + \alpha \sum_r \Bigl(\sum_m \|u_r^{(m)}\|^2\Bigr)^{1/2}

    With :math:`\eta_r = (\sum_m \|u_r^{(m)}\|^2)^{1/2}` the penalty is the least of
    :math:`\frac\alpha2 \sum_r (\eta_r^{-1} \sum_m \|u_r^{(m)}\|^2 + \eta_r)`, so that
    every step is a ridge regression whose penalty is :math:`\alpha / \eta_r` for the
    columns of component r. Small components get more and more expensive, and are
    pruned. The objective never rises, up to the pruning.

    Parameters
    ----------
    X : ndarray of shape (n_samples, I_1, ..., I_M)
        Tensors.
    y : ndarray of shape (n_samples,)
        Targets.
    n_components : int
        Components to begin with; cut to what can matter for one or two modes.
    alpha : float, default=1.0
        Price of the components.
    prune_tol : float, default=1e-3
        A component is dropped when its :math:`\eta_r` is below this share of the
        largest at the end of the first sweep.
    n_init : int, default=1
        Starts: the singular vectors of the correlation with the targets, then random
        ones. The best counts.
    max_iter : int, default=5000
        Largest number of sweeps over the modes; components shrink slowly.
    tol : float, default=1e-5
        Stop when a sweep changes W, and every :math:`\eta_r`, by less than this share.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts.

    Returns
    -------
    solution : CPSolution
        Factors, intercept and objectives; no columns if no component is worth its
        penalty.

    See Also
    --------
    cp_ridge : For a given rank.

    References
    ----------
    .. [1] W. Guo, I. Kotsia, I. Patras, "Tensor learning for regression", IEEE
       Transactions on Image Processing 21 (2012). :doi:`10.1109/TIP.2011.2165291`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import cp_group_sparse
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 6, 7))
    >>> y = 3 * X[:, 2, 4] - 2 * X[:, 5, 1]
    >>> cp_group_sparse(X, y, n_components=6).factors[0].shape
    (6, 2)
    """
    data = _prepare(X, y)
    rank = _useful_rank(n_components, data.mean.shape)

    def descend(factors: Factors) -> CPSolution:
        objectives: list[float] = []
        eta, floor = _sizes(factors), 0.0
        W = cp_tensor(factors)
        for n_iter in range(1, max_iter + 1):
            before = eta
            for m in range(len(factors)):
                K = _others(factors, m)
                # Features times the root of eta, for one common penalty.
                features = data.unfolded[m] @ (K * np.sqrt(eta))
                flat = features.reshape(len(data.targets), -1)
                s = _ridge(flat, data.targets, alpha)
                factors[m] = s.reshape(features.shape[1:]) * np.sqrt(eta)
                eta = _sizes(factors)
                residual = data.targets - flat @ s
                objectives.append(float(residual @ residual / 2 + alpha * eta.sum()))
            # Equal norms in all modes lower the penalty for the same W.
            factors = _balance(factors)
            eta = _sizes(factors)
            if n_iter == 1:
                floor = prune_tol * float(eta.max(initial=0.0))
            kept = eta > floor
            factors = [U[:, kept] for U in factors]
            eta, before = eta[kept], before[kept]
            previous, W = W, cp_tensor(factors)
            if (
                np.linalg.norm(W - previous) <= tol * np.linalg.norm(W)
                and (np.abs(eta - before) <= tol * before).all()
            ):
                return _solution(data, factors, objectives, n_iter, True)
        return _solution(data, factors, objectives, max_iter, False)

    return _best_of_starts(data, rank, n_init, random_state, descend)


def _sizes(factors: Factors) -> NDArray[np.float64]:
    return np.sqrt(sum((U**2).sum(axis=0) for U in factors))
