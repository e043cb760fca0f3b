"""Transfer component analysis."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.utils import Tags

from fewlabels._linalg import eigh_between, signed
from fewlabels._params import check_number, usual
from fewlabels._rows import check_square_kernel
from fewlabels._sklearn import Interval
from fewlabels.kernels import KERNEL_CONSTRAINTS, is_precomputed, resolve_kernel
from fewlabels.transfer._discrepancy import mean_difference
from fewlabels.transfer._domains import DomainTransformer


class TransferComponents(NamedTuple):
    r"""Eigenpairs of transfer component analysis.

    Attributes
    ----------
    values : ndarray of shape (n_components,)
        Generalised eigenvalues, largest first.
    vectors : ndarray of shape (n_samples, n_components)
        The matrix W, with :math:`W^\top (K L K + \alpha I) W = I`.
    """

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]


def transfer_components(
    K: NDArray[Any],
    is_source: NDArray[np.bool_],
    n_components: int,
    *,
    alpha: float = 1.0,
) -> TransferComponents:
    r"""Find components with much variance and little discrepancy between the domains.

    It solves, with H the centring matrix and L that of :func:`mmd_squared`,

    .. math::
        \max_W \; \operatorname{tr} W^\top K H K W \quad \text{with} \quad
        W^\top (K L K + \alpha I) W = I

    by the symmetric-definite eigenproblem
    :math:`K H K w = \lambda (K L K + \alpha I) w`. Passing
    :math:`(K L K + \alpha I)^{-1} K H K`, which is not symmetric, to a solver for
    symmetric matrices gives other vectors.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix of the rows of both domains.
    is_source : ndarray of bool of shape (n_samples,)
        Whether a row is from the source.
    n_components : int
        Number of components.
    alpha : float, default=1
        Regularisation :math:`\alpha`.

    Returns
    -------
    components : TransferComponents
        Eigenvalues and vectors W; the embedding of the rows is K W.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import transfer_components
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0]])
    >>> is_source = np.array([True, True, False, False])
    >>> w = transfer_components(X @ X.T, is_source, 1, alpha=1e-3).vectors
    >>> (X.T @ w / np.linalg.norm(X.T @ w)).round(2)  # along the second feature
    array([[0.],
           [1.]])
    """
    check_number("alpha", alpha, above=0)
    n = K.shape[0]
    k = min(n_components, n)
    centered = K - K.mean(axis=0)
    Ke = K @ mean_difference(is_source)
    # The inverse root of K L K + alpha I is (I - c u u') / sqrt(alpha), with u along
    # K e. For a kernel of large numbers, that matrix has no Cholesky factor in floating
    # point.
    length = linalg.norm(Ke)
    u = Ke / length if length > 0 else Ke
    cu = (1 - 1 / np.sqrt(1 + length**2 / alpha)) * u
    whitened = centered - np.outer(centered @ u, cu)
    values, vectors = eigh_between(whitened.T @ whitened / alpha, n - k, n - 1)
    W = (vectors - np.outer(cu, u @ vectors)) / np.sqrt(alpha)
    return TransferComponents(values[::-1], signed(W[:, ::-1]))


class TransferComponentAnalysis(DomainTransformer):
    r"""Find features that vary much but do not tell the domains apart.

    Kernel principal components under a penalty on the maximum mean discrepancy of the
    domains, see :func:`transfer_components` for the problem. New rows are mapped to
    :math:`k(x, \cdot) W`. No label is used. With a single domain it is kernel principal
    component analysis, up to scales.

    The cost is cubic in the number of rows.

    Parameters
    ----------
    n_components : int, default=10
        Number of components, at most that of rows.
    alpha : float, default=1
        Regularisation: the smaller, the more the discrepancy counts.
    kernel : str or callable, default="rbf"
        See :func:`fewlabels.kernels.resolve_kernel`; with "precomputed", `X` is the
        kernel matrix between rows and all training rows.
    gamma : float, {"scale", "median", "range", "local"} or None, default="scale"
        See :func:`fewlabels.kernels.resolve_kernel`.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Generalised eigenvalues, largest first.
    dual_components_ : ndarray of shape (n_samples, n_components)
        The matrix W.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The training rows; None for a precomputed kernel.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    domains_ : ndarray of int
        The domains seen in fit.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    References
    ----------
    .. [1] S. J. Pan, I. W. Tsang, J. T. Kwok, Q. Yang, "Domain adaptation via transfer
       component analysis", IEEE Transactions on Neural Networks 22 (2011).
       :doi:`10.1109/TNN.2010.2091281`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import TransferComponentAnalysis, mmd_squared
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> domain = np.repeat([1, -2], 40)
    >>> X[40:, 0] += 5  # the first feature is shifted in the target
    >>> tca = TransferComponentAnalysis(1, alpha=1e-3, kernel="linear")
    >>> Z = tca.fit_transform(X, sample_domain=domain)
    >>> Z /= Z.std()
    >>> bool(mmd_squared(Z[:40], Z[40:], kernel="linear") < 0.01)
    True
    """

    _checks: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": np.float64}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        **usual("n_components"),
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        alpha: float = 1.0,
        kernel: Any = "rbf",
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params

    def _learn(self, X: Any, y: Any, domains: NDArray[np.intp]) -> None:
        self.X_fit_ = None if is_precomputed(self.kernel) else X
        self.kernel_ = resolve_kernel(
            self.X_fit_, self.kernel, gamma=self.gamma, kernel_params=self.kernel_params
        )
        if self.X_fit_ is None:
            check_square_kernel(X)
        K: Any = self.kernel_(X)
        K = K.toarray() if sparse.issparse(K) else K
        self.eigenvalues_, self.dual_components_ = transfer_components(
            K, domains > 0, self.n_components, alpha=self.alpha
        )

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Map rows of any domain to the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with all training rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            The components.
        """
        X = self._validated(X)
        return self.kernel_.product(X, self.X_fit_, self.dual_components_)

    @property
    def _n_features_out(self) -> int:
        return int(self.dual_components_.shape[1])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
