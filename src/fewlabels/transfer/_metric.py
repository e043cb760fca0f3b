"""Information-theoretic metric learning, within a domain and across domains."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms

from fewlabels._labels import UNLABELED, encode_labels, unlabeled_mask
from fewlabels._params import usual
from fewlabels._sklearn import Interval, fit_context, validate_data, validate_fitted
from fewlabels.exceptions import warn_not_converged
from fewlabels.transfer._domains import DomainTransformer, check_sample_domain


class ITMLSolution(NamedTuple):
    r"""A metric and the multipliers of its pairs, see :func:`itml`.

    Attributes
    ----------
    metric : ndarray of shape (n_features, n_features)
        The positive definite matrix W.
    multipliers : ndarray of shape (n_pairs,)
        The multipliers :math:`\lambda \ge 0`.
    slacks : ndarray of shape (n_pairs,)
        The final bounds :math:`\xi`.
    n_iter : int
        Number of cycles through all pairs.
    converged : bool
        Whether the multipliers came to rest.
    """

    metric: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    slacks: NDArray[np.float64]
    n_iter: int
    converged: bool


def itml(
    differences: NDArray[Any],
    similar: NDArray[np.bool_],
    bounds: NDArray[Any],
    *,
    prior: NDArray[Any] | None = None,
    gamma: float = 0.1,
    tol: float = 1e-3,
    max_iter: int = 1000,
) -> ITMLSolution:
    r"""Find the metric nearest to a prior under which pairs are near or far.

    With z the difference of a pair, :math:`D` the LogDet divergence
    :math:`D(A, B) = \operatorname{tr} A B^{-1} - \log \det A B^{-1} - d` and
    :math:`\xi^0` the bounds, it solves

    .. math::
        \min_{W \succ 0, \xi} \; D(W, W_0)
        + \gamma \, D(\operatorname{diag} \xi, \operatorname{diag} \xi^0)
        \quad \text{with} \quad z^\top W z \le \xi \text{ for similar pairs,}
        \quad z^\top W z \ge \xi \text{ for others}

    by cyclic projections. The step for one pair, with :math:`p = z^\top W z` and
    :math:`\delta = \pm 1`, is

    .. math::
        \alpha = \min \Big( \lambda, \;
        \delta \, \frac{\gamma}{\gamma + 1} \big( \tfrac1p - \tfrac1\xi \big) \Big),
        \quad W \leftarrow W + \frac{\delta \alpha}{1 - \delta \alpha p} W z z^\top W,
        \quad \xi \leftarrow \frac{\gamma \xi}{\gamma + \delta \alpha \xi},
        \quad \lambda \leftarrow \lambda - \alpha.

    Parameters
    ----------
    differences : ndarray of shape (n_pairs, n_features)
        The differences z.
    similar : ndarray of bool of shape (n_pairs,)
        Whether a pair is to be near.
    bounds : ndarray of shape (n_pairs,)
        The positive bounds :math:`\xi^0` on squared distances.
    prior : ndarray of shape (n_features, n_features), default=None
        The positive definite prior :math:`W_0`; the identity when None.
    gamma : float, default=0.1
        How much the bounds matter; infinite, where they must hold.
    tol : float, default=1e-3
        Stop when the multipliers change by no more than this share in a cycle.
    max_iter : int, default=1000
        Largest number of cycles.

    Returns
    -------
    solution : ITMLSolution
        The metric, the multipliers and the slacks.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import itml
    >>> z = np.array([[2.0, 0.0]])  # a pair that is to be half as far apart
    >>> itml(z, np.array([True]), np.array([1.0]), gamma=np.inf).metric
    array([[0.25, 0.  ],
           [0.  , 1.  ]])
    """
    Z = np.asarray(differences, dtype=np.float64)
    # W = L L', so that no rounding error makes a squared distance negative.
    L = np.eye(Z.shape[1]) if prior is None else linalg.cholesky(prior, lower=True)
    xi = np.array(bounds, dtype=np.float64)
    if not gamma > 0 or not np.all(xi > 0):
        raise ValueError("gamma and all bounds must be positive.")
    delta = np.where(similar, 1.0, -1.0)
    multipliers = np.zeros(Z.shape[0])
    share = 1.0 if np.isinf(gamma) else gamma / (gamma + 1)
    pairs = np.flatnonzero(row_norms(Z, squared=True) > 0)  # others have no distance
    n_iter, converged = 0, pairs.size == 0
    while n_iter < max_iter and not converged:
        before = multipliers.copy()
        for c in pairs:
            v = Z[c] @ L
            p = float(v @ v)
            if p == 0:  # underflow
                continue
            alpha = min(multipliers[c], delta[c] * share * (1 / p - 1 / xi[c]))
            if alpha == 0:
                continue
            step = delta[c] * alpha
            L += ((1 / np.sqrt(1 - step * p) - 1) / p) * np.outer(L @ v, v)
            if np.isfinite(gamma):
                xi[c] = gamma * xi[c] / (gamma + step * xi[c])
            multipliers[c] -= alpha
        n_iter += 1
        change = np.abs(multipliers - before).sum()
        converged = bool(change <= tol * np.abs(multipliers).sum())
    return ITMLSolution(L @ L.T, multipliers, xi, n_iter, converged)


class Pairs(NamedTuple):
    """Pairs of rows that should be near or far.

    Attributes
    ----------
    first, second : ndarray of int of shape (n_pairs,)
        The rows of each pair.
    similar : ndarray of bool of shape (n_pairs,)
        Whether they have the same class.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    similar: NDArray[np.bool_]


def label_pairs(
    y: ArrayLike,
    sample_domain: ArrayLike | None = None,
    *,
    n_pairs: int = 100,
    random_state: Any = None,
) -> Pairs:
    """Draw pairs of rows of the same class, and of different classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels, some of which may be missing; rows without a label are in no pair.
    sample_domain : array-like of int of shape (n_samples,), default=None
        Positive for source domains, negative for target domains. Where both have
        labelled rows, a pair is one of the source and one of the target.
    n_pairs : int, default=100
        Largest number of pairs of either kind; all of them if there are no more.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    pairs : Pairs
        Indices of rows, and whether they have the same class.

    Examples
    --------
    >>> from fewlabels.transfer import label_pairs
    >>> pairs = label_pairs([0, 1, 0, -1], [1, 1, -2, -2])
    >>> pairs.first, pairs.second, pairs.similar
    (array([0, 1]), array([2, 2]), array([ True, False]))
    """
    codes = encode_labels(y).codes
    domains = check_sample_domain(sample_domain, codes.size)
    known = codes != UNLABELED
    first = np.flatnonzero(known & (domains > 0))
    second = np.flatnonzero(known & (domains < 0))
    if first.size and second.size:
        allowed = np.ones((first.size, second.size), dtype=bool)
    else:
        first = second = np.flatnonzero(known)
        allowed = np.triu(np.ones((first.size, first.size), dtype=bool), 1)
    same = codes[first][:, None] == codes[second]
    rng = check_random_state(random_state)
    chosen = []
    for mask in (same & allowed, ~same & allowed):
        found = np.flatnonzero(mask)
        if found.size > n_pairs:
            found = np.sort(rng.choice(found, n_pairs, replace=False))
        chosen.append(found)
    i, j = np.unravel_index(np.concatenate(chosen), same.shape)
    return Pairs(first[i], second[j], same[i, j])


class ITML(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Information-theoretic metric learning.

    Learns a squared distance :math:`(x - x')^\top W (x - x')` under which rows of the
    same class are near and rows of different classes far, and which is otherwise as
    close to the Euclidean one as possible, see :func:`itml` for the problem.
    `transform` maps rows to :math:`W^{1/2} x`, where the distance is Euclidean.

    Parameters
    ----------
    gamma : float, default=0.1
        How much the bounds matter relative to the prior. The larger, the more cycles.
    n_pairs : int, default=100
        Largest number of pairs of the same class, and of different classes, drawn from
        the labels.
    bounds : tuple of float, default=None
        Upper bound on the squared distance of similar pairs and lower bound on that of
        others. None takes the 5th and the 95th percentile over the pairs drawn.
    tol : float, default=1e-3
        Stop when the multipliers change by no more than this share in a cycle.
    max_iter : int, default=1000
        Largest number of cycles through all pairs.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw of pairs.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        The positive definite matrix W.
    components_ : ndarray of shape (n_features, n_features)
        Its symmetric root.
    bounds_ : tuple of float
        The bounds used.
    pairs_ : Pairs
        The pairs used.
    multipliers_ : ndarray of shape (n_pairs,)
        Their multipliers; zero for pairs whose bound held already.
    n_iter_ : int
        Number of cycles.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    Warns
    -----
    UserWarning
        If there is no pair, and the distance stays Euclidean.
    ConvergenceWarning
        If the multipliers did not converge.

    References
    ----------
    .. [1] J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon, "Information-theoretic
       metric learning", ICML 2007. :doi:`10.1145/1273496.1273523`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import ITML
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> X = np.column_stack([y + 0.3 * rng.normal(size=60), 3 * rng.normal(size=60)])
    >>> W = ITML(random_state=0).fit(X, y).metric_
    >>> bool(W[0, 0] > 10 * W[1, 1])  # the second feature is noise
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gamma": [Interval(Real, 0, None, closed="right")],
        "n_pairs": [Interval(Integral, 1, None, closed="left")],
        "bounds": [tuple, list, None],
        **usual("tol", "max_iter", "random_state"),
    }

    def __init__(
        self,
        gamma: float = 0.1,
        *,
        n_pairs: int = 100,
        bounds: Sequence[float] | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.n_pairs = n_pairs
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Learn the metric from pairs of labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Labels, some of which may be missing. Without any, the distance stays
            Euclidean.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._fit_metric(validate_data(self, X, dtype=np.float64), y, None)
        return self

    def _fit_metric(
        self, X: NDArray[Any], y: ArrayLike | None, domains: NDArray[np.intp] | None
    ) -> None:
        if y is None or unlabeled_mask(y).all():
            none = np.empty(0, dtype=np.intp)
            self.pairs_ = Pairs(none, none, none.astype(bool))
        else:
            self.pairs_ = label_pairs(
                y, domains, n_pairs=self.n_pairs, random_state=self.random_state
            )
        if not self.pairs_.similar.size:
            warnings.warn(
                "There is no pair of labelled rows: the distance stays Euclidean.",
                stacklevel=3,
            )
        Z = X[self.pairs_.first] - X[self.pairs_.second]
        near, far = self._checked_bounds(self._usual_squares(X, y, domains))
        solution = itml(
            Z,
            self.pairs_.similar,
            np.where(self.pairs_.similar, near, far),
            gamma=self.gamma,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        if not solution.converged:
            warn_not_converged(
                f"The multipliers did not converge in max_iter={self.max_iter} "
                "cycles: raise max_iter or tol, or lower gamma.",
                stacklevel=4,
            )
        self.bounds_ = (near, far)
        self.metric_ = solution.metric
        self.multipliers_ = solution.multipliers
        self.n_iter_ = max(solution.n_iter, 1)
        w, V = linalg.eigh(self.metric_)
        self.components_ = (V * np.sqrt(np.maximum(w, 0))) @ V.T

    def _usual_squares(
        self, X: NDArray[Any], y: ArrayLike | None, domains: NDArray[np.intp] | None
    ) -> NDArray[Any]:
        """Squared distances of which the bounds are percentiles."""
        first, second = self.pairs_.first, self.pairs_.second
        squares = row_norms(X[first] - X[second], squared=True)
        if y is not None and domains is not None and np.any(domains > 0):
            # Within the source, where no shift between the domains distorts them.
            rows = np.flatnonzero((domains > 0) & ~unlabeled_mask(y))
            if rows.size > 1:
                rng = check_random_state(self.random_state)
                first, second = rng.choice(rows, (2, 2 * self.n_pairs))
                usual = row_norms(X[first] - X[second], squared=True)
                return usual if usual.any() else squares
        return squares

    def _checked_bounds(self, squares: NDArray[Any]) -> tuple[float, float]:
        if self.bounds is None:
            positive = squares[squares > 0]
            if not positive.size:
                return 1.0, 1.0
            near, far = np.percentile(positive, [5, 95])
            return float(near), float(far)
        if len(self.bounds) != 2 or not all(bound > 0 for bound in self.bounds):
            raise ValueError(
                f"bounds must be two positive squared distances, got {self.bounds!r}."
            )
        return float(self.bounds[0]), float(self.bounds[1])

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Map rows to where the learned distance is Euclidean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features)
            The mapped rows.
        """
        return validate_fitted(self, X, dtype=np.float64) @ self.components_

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_)


class CrossDomainMetric(DomainTransformer, ITML):
    r"""Learn a distance between rows of a source and rows of a target.

    This is :class:`ITML` with pairs across the domains: a labelled row of the source
    and a labelled row of the target are to be near if they have the same class, far if
    not. It changes the features so that the source and the target come together, and
    any classifier based on distances, such as nearest neighbours, can take over from
    there.

    Domains with different features are stacked by :func:`stack_domains`, which gives
    each its own columns. The block of W between these columns is then a linear map from
    the features of one domain to those of the other.

    Parameters
    ----------
    gamma : float, default=0.1
        How much the bounds matter relative to the prior. The larger, the more cycles.
    n_pairs : int, default=100
        Largest number of pairs of the same class, and of different classes, drawn from
        the labels.
    bounds : tuple of float, default=None
        Upper bound on the squared distance of similar pairs and lower bound on that of
        others. None takes the 5th and the 95th percentile over pairs of labelled rows
        of the source, whose distances no shift between the domains distorts.
    tol : float, default=1e-3
        Stop when the multipliers change by no more than this share in a cycle.
    max_iter : int, default=1000
        Largest number of cycles through all pairs.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw of pairs.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        The positive definite matrix W.
    components_ : ndarray of shape (n_features, n_features)
        Its symmetric root.
    bounds_ : tuple of float
        The bounds used.
    pairs_ : Pairs
        The pairs used.
    multipliers_ : ndarray of shape (n_pairs,)
        Their multipliers; zero for pairs whose bound held already.
    domains_ : ndarray of int
        The domains seen in fit.
    n_iter_ : int
        Number of cycles.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    Warns
    -----
    UserWarning
        If there is no pair, and the distance stays Euclidean.
    ConvergenceWarning
        If the multipliers did not converge.

    References
    ----------
    .. [1] K. Saenko, B. Kulis, M. Fritz, T. Darrell, "Adapting visual category models
       to new domains", ECCV 2010. :doi:`10.1007/978-3-642-15561-1_16`

    Examples
    --------
    Classes that one domain shows in its only feature, and the other in its second:

    >>> import numpy as np
    >>> from fewlabels.transfer import CrossDomainMetric, stack_domains
    >>> rng = np.random.default_rng(0)
    >>> y_source, y_target = np.arange(40) % 2, np.arange(20) % 2
    >>> X_source = 2.0 * y_source[:, None] - 1
    >>> X_target = np.column_stack([rng.normal(size=20), 2 * y_target - 1])
    >>> X, y, sample_domain = stack_domains(X_source, y_source, X_target, y_target)
    >>> metric = CrossDomainMetric(random_state=0)
    >>> metric = metric.fit(X, y, sample_domain=sample_domain)
    >>> similarity = metric.similarity(X[:2], X[40:42])  # classes 0, 1 and 0, 1
    >>> bool(similarity[0, 0] > similarity[0, 1])
    True
    """

    _checks: ClassVar[dict[str, Any]] = {"dtype": np.float64}

    def _learn(self, X: Any, y: Any, domains: NDArray[np.intp]) -> None:
        self._fit_metric(X, y, domains)

    def similarity(self, X_source: Any, X_target: Any) -> NDArray[np.float64]:
        r"""Compute the cross-domain similarity :math:`x_s^\top W x_t`.

        Parameters
        ----------
        X_source : array-like of shape (n_source, n_features)
            Rows of the source, with all columns of `fit`.
        X_target : array-like of shape (n_target, n_features)
            Rows of the target, with all columns of `fit`.

        Returns
        -------
        similarity : ndarray of shape (n_source, n_target)
            The similarities.
        """
        return self._validated(X_source) @ self.metric_ @ self._validated(X_target).T
