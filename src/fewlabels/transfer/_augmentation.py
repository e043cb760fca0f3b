"""Feature augmentation, for domains of the same and of different features."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import block_diag
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import UNUSED

from fewlabels._classifier import as_decision
from fewlabels._labels import (
    Labels,
    encode_labels,
    signed_targets,
    validate_partially_labeled,
)
from fewlabels._params import usual
from fewlabels._sklearn import (
    Interval,
    StrOptions,
    check_array,
    fit_context,
    validate_data,
)
from fewlabels._svm import svm_dual
from fewlabels.kernels import KERNEL_CONSTRAINTS, resolve_kernel
from fewlabels.transfer._domains import (
    DomainClassifier,
    DomainTransformer,
    stack_labels,
)


class FeatureAugmentation(DomainTransformer):
    r"""Give every domain its own copy of the features, alongside a common one.

    With one source and one target, the features become

    .. math::
        \phi_s(x) = (x, x, 0), \qquad \phi_t(x) = (x, 0, x),

    so that a linear classifier can learn what both domains share, and where they
    differ. The inner product is doubled within a domain. With more domains there are
    more copies; rows of a domain that was not seen in fit have the common copy only.

    It needs labels from both domains: a copy without any labelled row stays unused.

    Attributes
    ----------
    domains_ : ndarray of int
        The domains seen in fit: copies are in the order source domains, target domains.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    References
    ----------
    .. [1] H. Daumé III, "Frustratingly easy domain adaptation", ACL 2007.

    Examples
    --------
    >>> from fewlabels.transfer import FeatureAugmentation
    >>> FeatureAugmentation().fit_transform([[1.0], [2.0]], sample_domain=[1, -2])
    array([[1., 1., 0.],
           [2., 0., 2.]])
    """

    __metadata_request__transform: ClassVar[dict[str, Any]] = {"sample_domain": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def _learn(self, X: Any, y: Any, domains: NDArray[np.intp]) -> None:
        """Nothing but the domains is learned."""

    def transform(self, X: Any, *, sample_domain: ArrayLike | None = None) -> Any:
        """Copy the features to the places of their domains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        sample_domain : array-like of int of shape (n_samples,), default=None
            Their domains; None for the target domain of fit.

        Returns
        -------
        X_new : {ndarray, sparse array} of shape (n_samples, n_features_new)
            The common copy, then one for every domain.
        """
        X = self._validated(X)
        domains = self._query_domains(sample_domain, X)
        targets = self.domains_[self.domains_ < 0]
        order = np.concatenate([self.domains_[self.domains_ > 0], targets[::-1]])
        inside = [(domains == name)[:, None] for name in order]
        if sparse.issparse(X):
            copies = [X.multiply(mask).tocsr() for mask in inside]
            return sparse.hstack([X, *copies], format="csr")
        return np.hstack([X, *(X * mask for mask in inside)])

    def fit_transform(
        self, X: Any, y: Any = None, *, sample_domain: ArrayLike | None = None
    ) -> Any:
        """Fit, then transform the same rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of all domains.
        y : object, default=None
            Not used.
        sample_domain : array-like of int of shape (n_samples,), default=None
            Positive for source domains, negative for target domains; None if all rows
            are of the target.

        Returns
        -------
        X_new : {ndarray, sparse array} of shape (n_samples, n_features_new)
            The common copy, then one for every domain.
        """
        fitted = self.fit(X, sample_domain=sample_domain)
        return fitted.transform(X, sample_domain=sample_domain)

    @property
    def _n_features_out(self) -> int:
        return int((1 + self.domains_.size) * self.n_features_in_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class HFASolution(NamedTuple):
    r"""Solution of :func:`heterogeneous_augmentation`.

    Attributes
    ----------
    dual_coef : ndarray of shape (n_source + n_target,)
        The coefficients of the rows, source first.
    intercept : float
        The bias.
    value : float
        The saddle value.
    direction : ndarray of shape (n_source + n_target,)
        :math:`K \beta / \|K^{1/2} \beta\| = K^{1/2} h`: the metric is
        :math:`\lambda h h^\top`, of rank one.
    """

    dual_coef: NDArray[np.float64]
    intercept: float
    value: float
    direction: NDArray[np.float64]


def heterogeneous_augmentation(
    K_source: NDArray[Any],
    K_target: NDArray[Any],
    y: NDArray[Any],
    *,
    C: float = 1.0,
    max_norm: float = 1.0,
) -> HFASolution:
    r"""Solve heterogeneous feature augmentation by one support vector machine.

    Rows of both domains are mapped to a common space of unknown dimension, next to
    their own: :math:`\phi_s(x) = (W_1 x, x, 0)`, :math:`\phi_t(x) = (W_2 x, 0, x)`.
    With K the block-diagonal kernel of both domains, the best maps and the best
    machine on them are the saddle point of

    .. math::
        \min_{H \succeq 0, \operatorname{tr} H \le \lambda} \; \max_{0 \le \alpha \le C,
        y^\top \alpha = 0} \; 1^\top \alpha
        - \tfrac12 \beta^\top K^{1/2} (H + I) K^{1/2} \beta,
        \qquad \beta = \alpha \circ y.

    This is linear in H and concave in :math:`\alpha` on compact sets, so that minimum
    and maximum can be exchanged. The best H for given :math:`\alpha` is :math:`\lambda
    h h^\top` with :math:`h = K^{1/2} \beta / \|K^{1/2} \beta\|`, and what is left is
    the machine with the kernel :math:`(1 + \lambda) K`. No iteration over kernels is
    needed.

    Parameters
    ----------
    K_source : ndarray of shape (n_source, n_source)
        Kernel matrix of the rows of the source.
    K_target : ndarray of shape (n_target, n_target)
        Kernel matrix of the rows of the target.
    y : ndarray of shape (n_source + n_target,)
        Labels in {-1, +1}, source first.
    C : float, default=1
        Cost of errors.
    max_norm : float, default=1
        Limit :math:`\lambda` of the squared norms of both maps together.

    Returns
    -------
    solution : HFASolution
        Coefficients, bias, value and the metric.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import heterogeneous_augmentation
    >>> x, z = np.array([-1.0, 1.0]), np.array([-2.0, 2.0])
    >>> y = np.array([-1.0, 1.0, -1.0, 1.0])
    >>> solution = heterogeneous_augmentation(np.outer(x, x), np.outer(z, z), y)
    >>> round(solution.value, 4)
    0.3125
    """
    K = block_diag(K_source, K_target)
    machine = svm_dual((1 + max_norm) * K, y, C)
    direction = K @ machine.dual_coef
    length = np.sqrt(max(machine.dual_coef @ direction, 0.0))
    if length > 0:
        direction = direction / length
    return HFASolution(machine.dual_coef, machine.intercept, machine.value, direction)


class HeterogeneousFeatureAugmentation(DomainClassifier):
    r"""Learn from a source whose rows have different features from those of the target.

    Both domains are mapped to a common space, alongside copies of their own features,
    and a support vector machine separates the classes there, see
    :func:`heterogeneous_augmentation` for the problem and its solution.

    The solution shows a limit of the method: for a row x of the target

    .. math::
        f(x) = (1 + \lambda) \sum_{i \in \text{target}} \beta_i \, k(x_i, x) + b,

    so that the source affects only the bias and the balance of the coefficients. Where
    features of both domains are to be brought together, use :class:`CrossDomainMetric`.

    Parameters
    ----------
    C : float, default=1
        Cost of errors.
    max_norm : float, default=1
        Limit :math:`\lambda` of the squared norms of both maps together; 0 for two
        machines that share the bias.
    kernel : str or callable, default="rbf"
        See :func:`fewlabels.kernels.resolve_kernel`; for both domains.
    gamma : float, {"scale", "median", "range", "local"} or None, default="scale"
        See :func:`fewlabels.kernels.resolve_kernel`; rules look at each domain
        alone, at all its rows.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes of both domains, without the marker of unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every row of the target: the given one, or else the predicted one.
    dual_coef_ : ndarray of shape (n_source + n_target, n_targets)
        Coefficients of the labelled rows, source first; n_targets = 1 for up to two
        classes.
    intercept_ : ndarray of shape (n_targets,)
        The biases.
    values_ : ndarray of shape (n_targets,)
        The saddle values.
    directions_ : ndarray of shape (n_source + n_target, n_targets)
        What the metrics are made of, see :class:`HFASolution`.
    X_fit_ : {ndarray, sparse matrix} of shape (n_target, n_features)
        The labelled rows of the target.
    kernel_ : Kernel
        The kernel of the target with its parameters as numbers.
    n_features_in_ : int
        Number of features of the target.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    References
    ----------
    .. [1] W. Li, L. Duan, D. Xu, I. W. Tsang, "Learning with augmented features for
       supervised and semi-supervised heterogeneous domain adaptation", IEEE
       Transactions on Pattern Analysis and Machine Intelligence 36 (2014).
       :doi:`10.1109/TPAMI.2013.167`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import HeterogeneousFeatureAugmentation
    >>> rng = np.random.default_rng(0)
    >>> y_source, y = np.arange(40) % 2, np.arange(10) % 2
    >>> X_source = rng.normal(size=(40, 3)) + 2 * y_source[:, None]
    >>> X = rng.normal(size=(10, 5)) + 2 * y[:, None]  # other features
    >>> model = HeterogeneousFeatureAugmentation(kernel="linear")
    >>> model = model.fit(X, y, X_source=X_source, y_source=y_source)
    >>> model.score(X, y)
    1.0
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = {
        "X_source": True,
        "y_source": True,
        "sample_domain": UNUSED,
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gamma": KERNEL_CONSTRAINTS["gamma"],
        "kernel_params": KERNEL_CONSTRAINTS["kernel_params"],
        "kernel": [
            StrOptions({"linear", "rbf", "poly", "polynomial", "laplacian", "cosine"}),
            callable,
        ],
        **usual("C"),
        "max_norm": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        max_norm: float = 1.0,
        kernel: Any = "rbf",
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.C = C
        self.max_norm = max_norm
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        X_source: Any = None,
        y_source: ArrayLike | None = None,
    ) -> Self:
        """Fit the machine to the labelled rows of both domains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of the target.
        y : array-like of shape (n_samples,)
            Their labels, some of which may be missing.
        X_source : {array-like, sparse matrix} of shape (n_source, n_features_source), \
                default=None
            Rows of the source, with features of their own; None for no source.
        y_source : array-like of shape (n_source,), default=None
            Their labels, some of which may be missing.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        if (X_source is None) != (y_source is None):
            raise ValueError("Pass both X_source and y_source, or neither.")
        if X_source is None or y_source is None:
            X, labels = validate_partially_labeled(self, X, y, **self._checks)
            X_source, source = np.empty((0, 1)), np.empty(0, dtype=np.intp)
        else:
            X = validate_data(self, X, **self._checks)
            X_source = check_array(X_source, input_name="X_source", **self._checks)
            n_source = X_source.shape[0]
            both = encode_labels(stack_labels(y_source, y, n_source, X.shape[0]))
            source, codes = both.codes[:n_source], both.codes[n_source:]
            labels = Labels(codes, both.classes)
        self.classes_ = labels.classes
        rows, source_rows = labels.labeled, np.flatnonzero(source >= 0)
        self.X_fit_ = X[rows]
        if not rows.size:
            raise ValueError(
                "No row of the target has a label: without one, features of two "
                "domains cannot be brought together."
            )
        params: Any = {"gamma": self.gamma, "kernel_params": self.kernel_params}
        # Widths depend on all rows: the few with a label may be identical.
        self.kernel_ = resolve_kernel(X, self.kernel, **params)
        K_source = np.empty((0, 0))
        if source_rows.size:
            kernel_source = resolve_kernel(X_source, self.kernel, **params)
            K_source = kernel_source(X_source[source_rows])
        K_target = self.kernel_(self.X_fit_)
        all_codes = np.concatenate([source[source_rows], labels.codes[rows]])
        solutions = [
            heterogeneous_augmentation(
                K_source, K_target, column, C=self.C, max_norm=self.max_norm
            )
            for column in signed_targets(all_codes, labels.classes.size).T
        ]
        self.dual_coef_ = np.column_stack([s.dual_coef for s in solutions])
        self.intercept_ = np.array([s.intercept for s in solutions])
        self.values_ = np.array([s.value for s in solutions])
        self.directions_ = np.column_stack([s.direction for s in solutions])
        self.transduction_ = self._transduction(X, labels)
        return self

    def _decision(self, X: Any) -> NDArray[Any]:
        coef = (1 + self.max_norm) * self.dual_coef_[-self.X_fit_.shape[0] :]
        outputs = self.kernel_.product(X, self.X_fit_, coef)
        return as_decision(outputs + self.intercept_)
