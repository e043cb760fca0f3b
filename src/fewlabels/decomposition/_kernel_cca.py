"""Canonical correlations between functions, and labels spread from a single one."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.preprocessing import KernelCenterer
from sklearn.utils import Tags, check_consistent_length

from fewlabels._classifier import by_sureness
from fewlabels._labels import UNLABELED
from fewlabels._params import check_number, usual
from fewlabels._sklearn import Interval, check_array, fit_context
from fewlabels.decomposition._cca import pairs_from_factors
from fewlabels.decomposition._two_views import (
    CanonicalPairs,
    TwoViewTransformer,
    pad_pairs,
)
from fewlabels.kernels import KERNEL_CONSTRAINTS, Kernel, is_precomputed, resolve_kernel


def _eigen_factor(
    K: NDArray[Any], name: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Write a kernel matrix as the inner products of rows U diag(s)."""
    e, U = linalg.eigh(K.astype(np.float64), check_finite=False)
    noise = K.shape[0] * float(np.finfo(K.dtype).eps) * np.max(np.abs(e), initial=0.0)
    if np.min(e, initial=0.0) < -100 * noise:
        raise ValueError(
            f"{name} is not positive semidefinite (its smallest eigenvalue is "
            f"{e[0]:.1e}): use another kernel."
        )
    keep = e > noise
    s = np.sqrt(e[keep])
    return U[:, keep], s, (U[:, keep] / s).T


def kernel_cca(K_x: Any, K_y: Any, *, alpha: float = 1.0) -> CanonicalPairs:
    r"""Find canonical correlations between the functions of two kernels.

    .. math::
        \max_{\alpha, \beta} \; \alpha^\top K_x K_y \beta \quad \text{subject to} \quad
        \alpha^\top (K_x^2 + \kappa K_x) \alpha = 1, \;
        \beta^\top (K_y^2 + \kappa K_y) \beta = 1

    with centred kernel matrices. The solutions have :math:`\lambda^2 (K_x + \kappa I)
    \alpha = K_y (K_y + \kappa I)^{-1} K_x \alpha`; they are found from the singular
    values of :math:`P_x^{1/2} P_y^{1/2}` with :math:`P = K (K + \kappa I)^{-1}`, which
    is symmetric and safe where kernel matrices are nearly singular.

    Parameters
    ----------
    K_x : array-like of shape (n_samples, n_samples)
        Kernel matrix of the first view. It is centred here.
    K_y : array-like of shape (n_samples, n_samples)
        Kernel matrix of the second view.
    alpha : float, default=1.0
        Regularisation. With 0, and kernel matrices of full rank, all correlations are 1
        and mean nothing.

    Returns
    -------
    pairs : CanonicalPairs
        Coefficients alpha and beta of the rows, and the values :math:`\lambda`.

    See Also
    --------
    cca_svd : With a linear kernel, the same for ``alpha=alpha``.

    References
    ----------
    .. [1] D. R. Hardoon, S. Szedmak, J. Shawe-Taylor, "Canonical correlation analysis:
       an overview with application to learning methods", Neural Computation 16 (2004).
       :doi:`10.1162/0899766042321814`

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> from fewlabels.decomposition import kernel_cca
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> pairs = kernel_cca(rbf_kernel(x), rbf_kernel(x**2), alpha=0.1)
    >>> bool(pairs.correlations[0] > 0.95)  # x and x^2 have no linear correlation
    True
    """
    check_number("alpha", alpha, 0)
    kernels = []
    for K, name in ((K_x, "K_x"), (K_y, "K_y")):
        K = check_array(K, dtype=np.float64, ensure_min_samples=2, input_name=name)
        if K.shape[0] != K.shape[1]:
            raise ValueError(f"{name} must be square, got shape {K.shape}.")
        kernels.append(KernelCenterer().fit_transform(K))
    check_consistent_length(*kernels)
    return _centered_kernel_cca(kernels[0], kernels[1], alpha)


def _centered_kernel_cca(
    K_x: NDArray[Any], K_y: NDArray[Any], alpha: float
) -> CanonicalPairs:
    return pairs_from_factors(
        _eigen_factor(K_x, "K_x"), _eigen_factor(K_y, "K_y"), alpha
    )


class KernelCCA(TwoViewTransformer):
    r"""Canonical correlation analysis between functions of two views.

    .. math::
        \max_{f, g} \; \operatorname{cov}(f(x), g(y)) \quad \text{subject to} \quad
        \operatorname{var} f(x) + \tfrac{\kappa}{n - 1} \|f\|_K^2 = 1, \;
        \operatorname{var} g(y) + \tfrac{\kappa}{n - 1} \|g\|_K^2 = 1

    with functions from the spaces of two kernels. See :func:`kernel_cca`. Its cost is
    cubic in the number of rows; for many rows, hand the features of
    :class:`fewlabels.kernels.NystromFeatures` to :class:`SVDCCA` with ``alpha=alpha``.

    Parameters
    ----------
    n_components : int, default=1
        Number of pairs.
    kernel : str, callable or Kernel, default="rbf"
        Kernel of the first view, see :func:`fewlabels.kernels.resolve_kernel`;
        "precomputed" for kernel matrices.
    kernel_y : str, callable or Kernel, default=None
        Kernel of the second view: None takes the one of the first, where a rule for
        `gamma` is applied to the second view. A name stands for the kernel with default
        parameters, a :class:`fewlabels.kernels.Kernel` brings its own.
    alpha : float, default=1.0
        Regularisation. Small values let functions follow the noise: all correlations
        come close to 1.
    gamma : float, {"scale", "median", "range", "local"} or None, default="scale"
        Of `kernel`, see :func:`fewlabels.kernels.resolve_kernel`.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.

    Attributes
    ----------
    canonical_correlations_ : ndarray of shape (n_components,)
        The values :math:`\lambda`, the largest first.
    x_weights_ : ndarray of shape (n_samples, n_components)
        Coefficients of the training rows in the functions of the first view, scaled so
        that the scores have at most unit variance.
    y_weights_ : ndarray of shape (n_samples, n_components)
        Coefficients in the functions of the second view.
    kernel_, kernel_y_ : Kernel
        The kernels with all parameters fixed.
    X_fit_, Y_fit_ : ndarray
        The training rows; None for kernel matrices.
    n_features_in_ : int
        Number of features of the first view.
    n_features_y_ : int
        Number of features of the second view.

    See Also
    --------
    SVDCCA : Linear functions.

    References
    ----------
    .. [1] D. R. Hardoon, S. Szedmak, J. Shawe-Taylor, "Canonical correlation analysis:
       an overview with application to learning methods", Neural Computation 16 (2004).
       :doi:`10.1162/0899766042321814`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import KernelCCA, SVDCCA
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, size=200)
    >>> X = np.column_stack([angle, rng.normal(size=200)])
    >>> Y = np.column_stack([np.cos(2 * angle), rng.normal(size=200)])
    >>> SVDCCA().fit(X[:100], Y[:100]).canonical_correlations_.round(1)
    array([0.1])
    >>> model = KernelCCA(gamma=1.0).fit(X[:100], Y[:100])
    >>> x_scores, y_scores = model.transform(X[100:], Y[100:])  # rows not seen
    >>> bool(np.corrcoef(x_scores[:, 0], y_scores[:, 0])[0, 1] > 0.8)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        **usual("n_components", "alpha"),
        "kernel_y": [*KERNEL_CONSTRAINTS["kernel"], None],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        kernel: str | Callable[..., Any] = "rbf",
        kernel_y: str | Callable[..., Any] | None = None,
        alpha: float = 1.0,
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_y = kernel_y
        self.alpha = alpha
        self.gamma = gamma
        self.kernel_params = kernel_params

    def _learn(self, X: NDArray[Any], Y: NDArray[Any]) -> None:
        self._fit_views(X, Y)

    def _fit_views(self, X: Any, Y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Find the pairs, and return the scores of the training rows."""
        n = X.shape[0]
        if self.n_components > n:
            raise ValueError(
                f"n_components={self.n_components} must be at most n_samples={n}."
            )
        shared: Any = {"gamma": self.gamma, "kernel_params": self.kernel_params}
        self.kernel_ = resolve_kernel(X, self.kernel, **shared)
        if self.kernel_y is None:
            self.kernel_y_ = resolve_kernel(Y, self.kernel, **shared)
        else:
            self.kernel_y_ = resolve_kernel(Y, self.kernel_y)
        self._x_centerer, self._y_centerer = KernelCenterer(), KernelCenterer()
        K_x = self._x_centerer.fit_transform(_square(self.kernel_, X, "X"))
        K_y = self._y_centerer.fit_transform(_square(self.kernel_y_, Y, "Y"))
        pairs = _centered_kernel_cca(K_x, K_y, self.alpha)
        pairs = pad_pairs(pairs, self.n_components, "the ranks of the kernel matrices")
        scale = np.sqrt(n - 1)
        self._keep_weights(scale * pairs.x_weights, scale * pairs.y_weights, X.dtype)
        self.canonical_correlations_ = pairs.correlations
        self.X_fit_ = None if self.kernel_.is_precomputed else X
        self.Y_fit_ = None if self.kernel_y_.is_precomputed else Y
        return K_x @ self.x_weights_, K_y @ self.y_weights_

    def _x_scores(self, X: NDArray[Any]) -> NDArray[Any]:
        K = X if self.X_fit_ is None else self.kernel_(X, self.X_fit_)
        return self._x_centerer.transform(K) @ self.x_weights_

    def _y_scores(self, Y: NDArray[Any]) -> NDArray[Any]:
        K = Y if self.Y_fit_ is None else self.kernel_y_(Y, self.Y_fit_)
        return self._y_centerer.transform(K) @ self.y_weights_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags


def _square(kernel: Kernel, X: NDArray[Any], name: str) -> NDArray[Any]:
    if kernel.is_precomputed and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs a square kernel matrix {name} in fit, got "
            f"shape {X.shape}."
        )
    return kernel(X)


def two_view_similarity(
    x_scores: Any, y_scores: Any, *, labeled: int = 0
) -> NDArray[np.float64]:
    r"""Compare all rows with one of them, in both views and every pair of scores.

    .. math::
        \mathrm{sim}_{ij} = \exp\bigl(-(P_j(x_i) - P_j(x_0))^2\bigr)
        + \exp\bigl(-(P_j(y_i) - P_j(y_0))^2\bigr)

    Parameters
    ----------
    x_scores : array-like of shape (n_samples, n_components)
        Scores :math:`P_j(x_i)` of the first view, such as from :class:`KernelCCA`.
    y_scores : array-like of shape (n_samples, n_components)
        Scores of the second view.
    labeled : int, default=0
        The row to compare with.

    Returns
    -------
    similarity : ndarray of shape (n_samples, n_components)
        Between 0 and 2; 2 for the row itself.

    See Also
    --------
    OneLabelTwoView : From similarities to labels.

    References
    ----------
    .. [1] Z.-H. Zhou, D.-C. Zhan, Q. Yang, "Semi-supervised learning with very few
       labeled training examples", AAAI (2007).

    Examples
    --------
    >>> from fewlabels.decomposition import two_view_similarity
    >>> two_view_similarity([[0.0], [1.0]], [[0.0], [0.0]]).round(3)
    array([[2.   ],
           [1.368]])
    """
    x_scores = check_array(x_scores, dtype=np.float64, input_name="x_scores")
    y_scores = check_array(y_scores, dtype=np.float64, input_name="y_scores")
    if x_scores.shape != y_scores.shape:
        raise ValueError(
            f"x_scores and y_scores must have the same shape, got {x_scores.shape} and "
            f"{y_scores.shape}."
        )
    n = x_scores.shape[0]
    if not -n <= labeled < n:
        raise ValueError(f"labeled={labeled} is not a row: there are {n}.")
    return np.exp(-((x_scores - x_scores[labeled]) ** 2)) + np.exp(
        -((y_scores - y_scores[labeled]) ** 2)
    )


class OneLabelTwoView(KernelCCA):
    r"""More labels from a single one, by what two views agree on.

    If two views are independent given the class, then what correlates between them is
    the class. Rows are therefore compared with the one labelled row by their scores of
    kernel canonical correlation analysis,

    .. math:: \rho_i = \sum_j \lambda_j \, \mathrm{sim}_{ij}

    with the similarity of :func:`two_view_similarity`. The `n_confident` most similar
    rows become positive, the `n_confident` least similar ones negative; of rows equal
    to six digits, the first count as more similar. With `labels_` any estimator for few
    labels can start, such as :class:`fewlabels.semi_supervised.CoTrainingClassifier`.

    Parameters
    ----------
    n_components : int, default=2
        Number of pairs of scores to compare by.
    n_confident : int, default=5
        Rows to label as positive, besides the given one, and as many as negative.
    kernel : str, callable or Kernel, default="rbf"
        Kernel of the first view, as for :class:`KernelCCA`.
    kernel_y : str, callable or Kernel, default=None
        Kernel of the second view; None takes the one of the first.
    alpha : float, default=1.0
        Regularisation.
    gamma : float, {"scale", "median", "range", "local"} or None, default="scale"
        Of `kernel`.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.

    Attributes
    ----------
    similarity_ : ndarray of shape (n_samples,)
        :math:`\rho_i` of every training row.
    labels_ : ndarray of shape (n_samples,)
        1 for positive, 0 for negative, -1 for rows without a label.
    canonical_correlations_ : ndarray of shape (n_components,)
        The weights :math:`\lambda_j`.
    x_weights_, y_weights_ : ndarrays of shape (n_samples, n_components)
        Coefficients of the training rows in the functions of the views.
    n_features_in_ : int
        Number of features of the first view.
    n_features_y_ : int
        Number of features of the second view.

    References
    ----------
    .. [1] Z.-H. Zhou, D.-C. Zhan, Q. Yang, "Semi-supervised learning with very few
       labeled training examples", AAAI (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import OneLabelTwoView
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, 0], 50)  # row 0 is positive
    >>> X = rng.normal(size=(100, 2)) + 4.0 * y[:, None]
    >>> Y = rng.normal(size=(100, 2)) - 4.0 * y[:, None]
    >>> model = OneLabelTwoView(n_components=1, n_confident=10).fit(X, Y, labeled=0)
    >>> found = model.labels_ != -1
    >>> int(found.sum()), bool((model.labels_[found] == y[found]).all())
    (21, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelCCA._parameter_constraints,
        "n_confident": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_confident: int = 5,
        kernel: str | Callable[..., Any] = "rbf",
        kernel_y: str | Callable[..., Any] | None = None,
        alpha: float = 1.0,
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            n_components,
            kernel=kernel,
            kernel_y=kernel_y,
            alpha=alpha,
            gamma=gamma,
            kernel_params=kernel_params,
        )
        self.n_confident = n_confident

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, Y: Any, labeled: int = 0) -> Self:
        """Compare all rows with the labelled one, and label the most certain ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the first view, or their kernel matrix.
        Y : array-like of shape (n_samples,) or (n_samples, n_features_y)
            The same rows in the second view, or their kernel matrix.
        labeled : int, default=0
            The row that is known to be positive.

        Returns
        -------
        self : OneLabelTwoView
            The fitted estimator.
        """
        x_scores, y_scores = self._fit_views(*self._validate_views(X, Y))
        similarity = two_view_similarity(x_scores, y_scores, labeled=labeled)
        self.similarity_ = similarity @ self.canonical_correlations_
        n = self.similarity_.size
        n_confident = min(self.n_confident, (n - 1) // 2)
        if n_confident < self.n_confident:
            warnings.warn(
                f"n_confident={self.n_confident} positive and as many negative rows "
                f"are more than the {n - 1} without a label: {n_confident} are taken.",
                stacklevel=2,
            )
        order = by_sureness(self.similarity_)
        order = order[order != labeled % n]
        self.labels_ = np.full(n, UNLABELED)
        self.labels_[order[:n_confident]] = 1
        self.labels_[order[n - 1 - n_confident :]] = 0
        self.labels_[labeled] = 1
        return self
