"""Kernel alignment, and the features that preserve the kernel matrix."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import KernelCenterer

from fewlabels._classifier import falling_ranks
from fewlabels._distances import centre_of
from fewlabels._params import check_number, usual
from fewlabels._sklearn import (
    Interval,
    StrOptions,
    check_array,
    fit_context,
    validate_data,
)
from fewlabels.feature_selection._projected_gradient import (
    ProjectedGradientResult,
    spectral_projected_gradient,
)
from fewlabels.feature_selection._selector import FeatureSelector
from fewlabels.kernels import resolve_kernel


def kernel_alignment(
    K: ArrayLike, L: ArrayLike, *, centered: bool = True, normalized: bool = True
) -> float:
    r"""Measure how alike two kernel matrices are.

    .. math::
        \mathrm{tr}(K_c L_c) \Big/ \|K_c\|_F \|L_c\|_F, \qquad K_c = H K H,
        \quad H = I - \tfrac{1}{n} 1 1^\top

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Symmetric positive semidefinite kernel matrix.
    L : array-like of shape (n_samples, n_samples)
        Another one, of the same rows.
    centered : bool, default=True
        Whether to centre both in their feature spaces, without which all kernels with
        positive values look alike.
    normalized : bool, default=True
        Whether to divide by the norms, so that the result is 1 for matrices that agree
        up to a factor. Without, :math:`\mathrm{tr}(K_c L_c)`, which is :math:`(n-1)^2`
        times the Hilbert-Schmidt independence criterion.

    Returns
    -------
    alignment : float
        The alignment, 0 if one of the matrices is zero after centring.

    References
    ----------
    .. [1] C. Cortes, M. Mohri and A. Rostamizadeh, "Algorithms for learning kernels
       based on centered alignment", J. Mach. Learn. Res. 13 (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.feature_selection import kernel_alignment
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> kernel_alignment(np.outer(y, y), 3 * np.outer(y, y) + 5)
    1.0
    >>> kernel_alignment(np.outer(y, y), np.eye(4), normalized=False)
    4.0
    """
    K = np.asarray(check_array(K, dtype=np.float64, input_name="K"))
    L = np.asarray(check_array(L, dtype=np.float64, input_name="L"))
    if K.shape != L.shape or K.shape[0] != K.shape[1]:
        raise ValueError(
            f"K and L must be square and of one shape; got {K.shape} and {L.shape}."
        )
    if centered:
        K, L = _centered(K), _centered(L)
    alignment = float(np.vdot(K, L))
    if normalized:
        norms = float(np.linalg.norm(K) * np.linalg.norm(L))
        alignment = alignment / norms if norms > 0 else 0.0
    return alignment


def _centered(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return H K H, exactly zero where it is a rounding error."""
    centered = KernelCenterer().fit_transform(K)
    rounding = K.shape[0] * np.finfo(np.float64).eps * np.abs(K).max()
    return centered if np.abs(centered).max() > rounding else np.zeros_like(K)


def align_features(
    X: ArrayLike, alpha: float, gamma: float, *, tol: float = 1e-6, max_iter: int = 1000
) -> ProjectedGradientResult:
    r"""Find weights of few features that preserve the Gaussian kernel matrix.

    .. math::
        \min_{s \in [0, 1]^d} \; -\frac{\mathrm{tr}(H L H K(s))}{\|H L H\|_F^2}
        + \lambda \sum_p s_p, \qquad
        K_{ij}(s) = \exp \Big( -\gamma \sum_p s_p^2 (x_{ip} - x_{jp})^2 \Big)

    with L = K(1), the kernel matrix of all features. The problem is not convex; the
    search starts at s = 1, by :func:`spectral_projected_gradient`. One gradient takes
    :math:`O(n^2 d)` operations and memory for a few n x n matrices.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    alpha : float
        The price :math:`\lambda \ge 0` of a feature: the alignment of all features
        costs 1. (Without division by :math:`\|HLH\|_F^2`, as in the literature, it is
        that many times larger.)
    gamma : float
        Parameter of the kernel, :math:`1 / \sigma^2`.
    tol : float, default=1e-6
        Tolerance of the projected gradient.
    max_iter : int, default=1000
        Largest number of steps.

    Returns
    -------
    result : ProjectedGradientResult
        The weights s as `x`.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` was reached.

    See Also
    --------
    KernelAlignmentSelector : The selector.

    References
    ----------
    .. [1] X. Wei, B. Cao and P. S. Yu, "Nonlinear joint unsupervised feature
       selection", SIAM International Conference on Data Mining (2016), 414-422.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.feature_selection import align_features
    >>> rng = np.random.default_rng(0)
    >>> X = np.c_[np.repeat([0.0, 3.0], 20), 0.1 * rng.normal(size=40)]
    >>> align_features(X, alpha=0.1, gamma=0.5).x.round(2)
    array([1., 0.])
    """
    rows = np.asarray(check_array(X, dtype=np.float64))
    check_number("alpha", alpha, 0)
    check_number("gamma", gamma, above=0)
    rows = rows - centre_of(rows)  # distances stay, and lose fewer digits
    target = _gaussian(rows, gamma)
    # Pairs at no distance add nothing to the gradient but rounding errors of squares.
    apart = target < 1.0
    target = _centered(target)
    scale = float(np.vdot(target, target))
    target /= scale if scale > 0 else 1.0
    squares = rows**2

    def function(s: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        K = _gaussian(rows * s, gamma)
        K *= target
        value = float(alpha * s.sum() - K.sum())
        # sum_ij M_ij (x_ip - x_jp)^2 for every p, from products with M.
        K *= apart
        moments = 2 * (K.sum(axis=1) @ squares - np.einsum("ip,ip->p", rows, K @ rows))
        return value, 2 * gamma * s * moments + alpha

    return spectral_projected_gradient(
        function,
        lambda s: np.clip(s, 0.0, 1.0),
        np.ones(rows.shape[1]),
        tol=tol,
        max_iter=max_iter,
    )


def _gaussian(X: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    return resolve_kernel(X, "rbf", gamma=gamma)(X)


class KernelAlignmentSelector(FeatureSelector):
    r"""Keep the features that determine the Gaussian kernel matrix; needs no labels.

    Weights of features between 0 and 1 are chosen so that the kernel matrix of the
    weighted features stays aligned with that of all features, at a price for each, see
    :func:`align_features`. Unlike a score of single features, this sees features that
    matter only together.

    Parameters
    ----------
    n_features_to_select : int, default=None
        How many features to keep, those with the largest weights, and of equal weights
        those that the objective would miss most (of equal ones, to six digits, the
        first); None for all with a weight above
        `threshold`.
    alpha : float, default=0.1
        The price of all features together, where the alignment of all of them is worth
        1: :math:`\lambda` is `alpha` divided by the number of features.
    gamma : float or {"scale", "median", "range", "local"}, default="scale"
        Parameter of the kernel, see :func:`fewlabels.kernels.resolve_kernel`.
    threshold : float, default=0.1
        The weight above which a feature is kept.
    tol : float, default=1e-6
        Tolerance of the projected gradient.
    max_iter : int, default=1000
        Largest number of steps.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,)
        The weights s.
    support_ : ndarray of bool of shape (n_features,)
        Which features are kept.
    objective_ : float
        Value of the objective.
    gamma_ : float
        Parameter of the kernel.
    n_iter_ : int
        Number of steps.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    FeatureSimilaritySelector : Keeps one of several features that say the same.

    Notes
    -----
    The kernel mixes all features: scale them to one unit first. With n rows, time and
    memory grow with :math:`n^2`; a few thousand rows are enough to select features.

    References
    ----------
    .. [1] X. Wei, B. Cao and P. S. Yu, "Nonlinear joint unsupervised feature
       selection", SIAM International Conference on Data Mining (2016), 414-422.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.feature_selection import KernelAlignmentSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(scale=0.3, size=(100, 6))
    >>> X[:, :2] += rng.choice([-1, 1], size=(100, 2))  # two features have clusters
    >>> KernelAlignmentSelector(2).fit(X).get_support(indices=True)
    array([0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        **usual("alpha", "max_iter"),
        "gamma": [
            StrOptions({"scale", "median", "range", "local"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "threshold": [Interval(Real, 0, 1, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_features_to_select: int | None = None,
        *,
        alpha: float = 0.1,
        gamma: float | str = "scale",
        threshold: float = 0.1,
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
        self.gamma = gamma
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Here for pipelines.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X = validate_data(self, X, dtype=np.float64)
        n_features = X.shape[1]
        self._check_n_features(n_features)
        kernel = resolve_kernel(X, "rbf", gamma=self.gamma)
        gamma = float(kernel.params["gamma"])
        self.gamma_ = gamma / kernel.unit / kernel.unit
        alpha = self.alpha / n_features
        result = align_features(
            X / kernel.unit, alpha, gamma, tol=self.tol, max_iter=self.max_iter
        )
        self.weights_ = result.x
        self.objective_ = result.value
        self.n_iter_ = max(result.n_iter, 1)
        if self.n_features_to_select is None:
            self.support_ = self.weights_ > self.threshold
        else:
            missed = -result.gradient / (np.abs(result.gradient).max() or 1.0)
            best = np.lexsort((falling_ranks(missed), falling_ranks(self.weights_)))
            self.support_ = np.zeros(n_features, dtype=bool)
            self.support_[best[: self.n_features_to_select]] = True
        return self
