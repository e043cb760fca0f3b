"""Robust principal components: a low-rank matrix under sparse gross errors."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils import check_random_state
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted

from fewlabels._params import usual
from fewlabels._sklearn import (
    Interval,
    StrOptions,
    check_array,
    fit_context,
    validate_data,
    validate_params,
)
from fewlabels.decomposition._projection import Projection
from fewlabels.exceptions import warn_not_converged
from fewlabels.optimize import soft_threshold

# Beyond this share of all singular values, computing all of them is no slower.
MAX_PARTIAL_SHARE = 0.25
# Singular vectors computed beyond those that are needed, so that none is missed.
OVERSAMPLING = 5
# Where the weight of the penalties ends by default, as a share of where it starts.
SMALLEST_SHARE = 1e-7
# Block steps before all singular values are computed instead.
MAX_BLOCK_STEPS = 20


class _LeadingTriplets:
    """Singular triplets above a level, from one matrix to a similar one.

    Block power steps start from the right singular vectors of the matrix before,
    together with random ones. In an iterative method that slowly changes a matrix of
    low rank, each SVD then takes one or two steps.

    Parameters
    ----------
    shape : tuple of two ints
        Shape of all matrices.
    solver : {"auto", "full", "partial"}
        "full" computes all singular values, "auto" only where many are needed.
    rng : RandomState
        Source of the random vectors.
    """

    def __init__(
        self, shape: tuple[int, int], solver: str, rng: np.random.RandomState
    ) -> None:
        limit = min(shape)
        self._largest_block = {
            "full": 0,
            "auto": int(MAX_PARTIAL_SHARE * limit),
            "partial": limit,
        }[solver]
        self._rng = rng
        self._V = np.empty((shape[1], 0))

    def above(
        self, M: NDArray[Any], level: float, tol: float, *, full: bool = False
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], bool]:
        """Compute the triplets whose singular values exceed a level."""
        size = self._V.shape[1] + OVERSAMPLING
        while size <= self._largest_block and not full:
            U, s, Vt, converged = self._block_steps(M, size, level, tol)
            if not converged:
                break
            r = int(np.count_nonzero(s > level))
            if r < size:  # the next one was found, and it is small
                self._V = Vt[:r].T
                return U[:, :r], s[:r], Vt[:r], False
            self._V = Vt.T
            size *= 2
        U, s, Vt = linalg.svd(M, full_matrices=False, check_finite=False)
        r = int(np.count_nonzero(s > level))
        self._V = Vt[:r].T
        return U[:, :r], s[:r], Vt[:r], True

    def _block_steps(
        self, M: NDArray[Any], size: int, level: float, tol: float
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], bool]:
        fresh = self._rng.normal(size=(M.shape[1], size - self._V.shape[1]))
        MV = M @ np.hstack([self._V, fresh])
        for _ in range(MAX_BLOCK_STEPS):
            Q = linalg.qr(MV, mode="economic", check_finite=False)[0]
            inner, s, Vt = linalg.svd(Q.T @ M, full_matrices=False, check_finite=False)
            U = Q @ inner
            MV = M @ Vt.T
            # M' u = s v holds by construction; M v = s u once the subspace is found.
            # The next value may still grow: its error must be small compared with its
            # distance from the level.
            r = int(np.count_nonzero(s > level))
            errors = linalg.norm((MV - U * s)[:, : r + 1], axis=0)
            if np.all(errors <= np.maximum(0.1 * (level - s[: r + 1]), tol)):
                return U, s, Vt, True
        return U, s, Vt, False


@dataclass(frozen=True)
class LowRankPlusSparse:
    """A matrix decomposed into a low-rank and a sparse one.

    Attributes
    ----------
    low_rank : ndarray of shape (n_samples, n_features)
        The low-rank part A.
    sparse : ndarray of shape (n_samples, n_features)
        The gross errors E.
    components : ndarray of shape (rank, n_features)
        Right singular vectors of A, the leading one first.
    singular_values : ndarray of shape (rank,)
        Singular values of A.
    relaxation : float
        The weight of the two penalties in the problem that was solved.
    residual : float
        Norm of the subgradient at the end, relative to `relaxation`.
    n_iter : int
        Steps taken.
    n_full_svd : int
        How many of them computed all singular values.
    converged : bool
        Whether the residual fell to the tolerance.
    """

    low_rank: NDArray[np.float64]
    sparse: NDArray[np.float64]
    components: NDArray[np.float64]
    singular_values: NDArray[np.float64]
    relaxation: float
    residual: float
    n_iter: int
    n_full_svd: int
    converged: bool


_PROBLEM_CONSTRAINTS: dict[str, list[Any]] = {
    "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    "relaxation": [None, Interval(Real, 0, None, closed="neither")],
    "eta": [Interval(Real, 0, 1, closed="neither")],
    "svd_solver": [StrOptions({"auto", "full", "partial"})],
    **usual("tol", "max_iter", "random_state"),
}


@validate_params(
    {"D": ["array-like"], **_PROBLEM_CONSTRAINTS}, prefer_skip_nested_validation=True
)
def robust_pca(
    D: Any,
    *,
    alpha: float | str = "auto",
    relaxation: float | None = None,
    eta: float = 0.9,
    tol: float = 1e-2,
    max_iter: int = 1000,
    svd_solver: str = "auto",
    random_state: int | np.random.RandomState | None = None,
) -> LowRankPlusSparse:
    r"""Decompose a matrix into a low-rank and a sparse one.

    .. math::
        \min_{A, E} \; \mu \|A\|_* + \mu \lambda \|E\|_1
        + \tfrac12 \|D - A - E\|_F^2

    by the accelerated proximal gradient method. Both parts take a step from a point
    beyond the last one, :math:`Y = X_k + \frac{t_{k-1} - 1}{t_k} (X_k - X_{k-1})`, and
    are shrunk: the singular values of A by :math:`\mu_k / 2`, the entries of E by
    :math:`\lambda \mu_k / 2`. The weight :math:`\mu_k` falls from near the largest
    singular value of D to :math:`\mu`. For a small :math:`\mu` the solution is that of
    :math:`\min \|A\|_* + \lambda \|E\|_1` subject to :math:`A + E = D`.

    Beyond the published method, momentum that points uphill is dropped [4]_ once the
    weight has come down, and the residual is measured against :math:`\mu`: against the
    norm of D, as published, it is small wherever A + E = D.

    Parameters
    ----------
    D : array-like of shape (n_samples, n_features)
        The matrix. It is not centred.
    alpha : float or "auto", default="auto"
        Weight of the sparse part; "auto" takes :math:`1 / \sqrt{\max(m, n)}`, which
        recovers any low-rank matrix that is not itself sparse from errors at random
        places.
    relaxation : float, default=None
        Weight of both penalties, by which the singular values of A come out too small.
        None takes 1e-7 of the largest singular value of D, for data without other
        noise. Smaller ones converge slowly. With noise of standard deviation s
        in all entries, take :math:`s \sqrt{2 \max(m, n)}`.
    eta : float, default=0.9
        Factor by which the weight falls in each step. Where the parts are hard to tell
        from each other, 0.97 gets closer to the solution.
    tol : float, default=1e-2
        Stop when the weight has come down to `relaxation` and the subgradient is below
        this share of it.
    max_iter : int, default=1000
        Largest number of steps.
    svd_solver : {"auto", "full", "partial"}, default="auto"
        "full" computes all singular values in each step. "partial" computes only those
        that survive, by block power steps that begin where the last ones ended. "auto"
        does so unless more than a quarter survives. The last step always uses all, so
        that nothing was missed.
    random_state : int, RandomState instance or None, default=None
        Seed of the vectors that look for further singular values.

    Returns
    -------
    result : LowRankPlusSparse
        The two parts, and how they were found.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps were not enough.

    References
    ----------
    .. [1] Z. Lin, A. Ganesh, J. Wright, L. Wu, M. Chen, Y. Ma, "Fast convex
       optimization algorithms for exact recovery of a corrupted low-rank matrix", UIUC
       Technical Report UILU-ENG-09-2214 (2009).
    .. [2] E. J. Candès, X. Li, Y. Ma, J. Wright, "Robust principal component
       analysis?", Journal of the ACM 58 (2011). :doi:`10.1145/1970392.1970395`
    .. [3] Z. Zhou, X. Li, J. Wright, E. Candès, Y. Ma, "Stable principal component
       pursuit", ISIT (2010). :doi:`10.1109/ISIT.2010.5513535`
    .. [4] B. O'Donoghue, E. Candès, "Adaptive restart for accelerated gradient
       schemes", Foundations of Computational Mathematics 15 (2015).
       :doi:`10.1007/s10208-013-9150-3`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import robust_pca
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=(40, 1)) @ rng.normal(size=(1, 30))  # rank 1
    >>> errors = np.where(rng.random((40, 30)) < 0.05, 20.0, 0.0)
    >>> result = robust_pca(truth + errors)
    >>> bool(np.abs(result.low_rank - truth).max() < 1e-5), result.components.shape
    (True, (1, 30))
    """
    D = check_array(D, dtype=np.float64, input_name="D")
    weight = float(alpha) if alpha != "auto" else 1 / np.sqrt(max(D.shape))
    start = 0.99 * float(linalg.norm(D, 2))
    target = SMALLEST_SHARE * start if relaxation is None else float(relaxation)
    current = max(start, target)
    rng = check_random_state(random_state)
    triplets = _LeadingTriplets(D.shape, svd_solver, rng)
    # With R = Y_A + Y_E - D, the points to be shrunk are Y_A - R / 2 and Y_E - R / 2.
    # They add up to D: all that is needed of the two parts is their difference.
    difference, before = np.zeros_like(D), np.zeros_like(D)
    t, t_before = 1.0, 1.0
    n_iter, n_full = 0, 0
    confirm, converged = False, False
    while not converged and n_iter < max_iter:
        n_iter += 1
        Y = difference - before
        Y *= (t_before - 1) / t
        Y += difference
        point = Y + D
        point *= 0.5
        # Errors far below what is taken off the singular values do no harm, except in
        # the end, where they would hide the residual.
        at_target = current == target
        accuracy = (0.1 * tol if at_target else 0.01) * current
        level = current / 2
        U, s, Vt, is_full = triplets.above(point, level, accuracy, full=confirm)
        n_full += is_full
        A = (U * (s - level)) @ Vt
        np.subtract(D, point, out=point)
        E = soft_threshold(point, weight * level)
        before, difference = difference, A - E
        t_before, t = t, (1 + np.sqrt(1 + 4 * t * t)) / 2
        # The subgradient at the new point, 2 (Y_A - A) + A + E - Y_A - Y_E in its first
        # block; the second one is the same with the opposite sign.
        Y -= difference
        residual = np.sqrt(2) * float(np.linalg.norm(Y))
        if at_target:
            # What partial SVDs find is confirmed by a step with a full one.
            confirm = residual <= tol * current
            converged = confirm and is_full
            # Momentum that points uphill is dropped: it would only oscillate.
            if np.vdot(Y, difference - before) > 0:
                t = t_before = 1.0
        current = max(eta * current, target)
    if not converged:
        warn_not_converged(
            f"robust_pca has not converged in max_iter={max_iter} steps: the residual "
            f"is {residual / target:.1e} times the relaxation, and should be {tol:g}. "
            f"Let that fall more slowly (eta={eta:g}), end at a larger one "
            f"(relaxation={target:.1e}) or raise max_iter."
        )
    U, Vt = svd_flip(U, Vt, u_based_decision=False)
    return LowRankPlusSparse(
        low_rank=A,
        sparse=E,
        components=Vt,
        singular_values=s - level,
        relaxation=target,
        residual=residual / target if target > 0 else 0.0,
        n_iter=n_iter,
        n_full_svd=n_full,
        converged=converged,
    )


class RobustPCA(Projection):
    r"""Principal components of rows some of whose entries are grossly wrong.

    .. math::
        \min_{A, E} \; \|A\|_* + \lambda \|E\|_1 \quad \text{subject to} \quad
        A + E = X

    A has low rank, E few entries that are not zero but may be of any size. The rank
    need not be known. See :func:`robust_pca` for the method.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Weight of the sparse part; "auto" takes 1 / sqrt(max(X.shape)).
    relaxation : float, default=None
        Weight of both penalties relative to half the squared error X - A - E; None for
        a value small enough to leave no such error. For noise in all entries, see
        :func:`robust_pca`.
    eta : float, default=0.9
        Factor by which the weight falls in each step.
    tol : float, default=1e-2
        Stop when the subgradient is below this share of the weight.
    max_iter : int, default=1000
        Largest number of steps.
    svd_solver : {"auto", "full", "partial"}, default="auto"
        Whether all singular values are computed in each step.
    random_state : int, RandomState instance or None, default=None
        Seed of the vectors that look for further singular values.

    Attributes
    ----------
    low_rank_ : ndarray of shape (n_samples, n_features)
        The low-rank part of the training rows.
    sparse_ : ndarray of shape (n_samples, n_features)
        The gross errors in the training rows.
    components_ : ndarray of shape (rank, n_features)
        Orthonormal directions that span the rows of the low-rank part.
    singular_values_ : ndarray of shape (rank,)
        Singular values of the low-rank part.
    rank_ : int
        Rank of the low-rank part.
    n_iter_ : int
        Steps taken.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    robust_pca : The solver.
    PCA : The same for rows without gross errors, with centring.

    Notes
    -----
    `transform` projects rows on the components. It does not look for gross errors in
    new rows; those of the training rows are taken out by
    ``low_rank_ @ components_.T``.

    References
    ----------
    .. [1] E. J. Candès, X. Li, Y. Ma, J. Wright, "Robust principal component
       analysis?", Journal of the ACM 58 (2011). :doi:`10.1145/1970392.1970395`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import RobustPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 40))
    >>> X[3, 5] += 100.0
    >>> model = RobustPCA(random_state=0).fit(X)
    >>> model.rank_, float(model.sparse_[3, 5].round(3))
    (2, 100.0)
    """

    _dtypes = (np.float64,)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _PROBLEM_CONSTRAINTS

    def __init__(
        self,
        *,
        alpha: float | str = "auto",
        relaxation: float | None = None,
        eta: float = 0.9,
        tol: float = 1e-2,
        max_iter: int = 1000,
        svd_solver: str = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.alpha = alpha
        self.relaxation = relaxation
        self.eta = eta
        self.tol = tol
        self.max_iter = max_iter
        self.svd_solver = svd_solver
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Decompose the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : None
            Ignored.

        Returns
        -------
        self : RobustPCA
            The fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64)
        result = robust_pca(X, **self.get_params())
        self.low_rank_ = result.low_rank
        self.sparse_ = result.sparse
        self.components_ = result.components
        self.singular_values_ = result.singular_values
        self.rank_ = result.components.shape[0]
        self.n_iter_ = result.n_iter
        return self

    def inverse_transform(self, Z: Any) -> NDArray[np.float64]:
        """Map coordinates back to rows.

        Parameters
        ----------
        Z : array-like of shape (n_samples, rank)
            Coordinates.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows in the span of the components.
        """
        check_is_fitted(self)
        return check_array(Z, ensure_min_features=0) @ self.components_
