"""Structural correspondence learning: features that domains share."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from sklearn.linear_model import Ridge
from sklearn.utils.extmath import row_norms

from fewlabels._linalg import signed
from fewlabels._params import usual
from fewlabels._sklearn import Interval, StrOptions
from fewlabels.transfer._domains import DomainTransformer
from fewlabels.transfer._huber import fit_huber


def _present(X: Any) -> Any:
    """Whether a feature is present in a row: its value is positive."""
    return X > 0


def frequent_pivots(
    X: Any, sample_domain: NDArray[np.intp], n_pivots: int
) -> NDArray[np.intp]:
    """Choose features that are frequent in every domain.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Rows of all domains.
    sample_domain : ndarray of int of shape (n_samples,)
        Their domains.
    n_pivots : int
        How many features to choose.

    Returns
    -------
    pivots : ndarray of int of shape (n_pivots,)
        The features whose least share of rows with a positive value, among source and
        target, is largest; those present in all rows carry no information and come
        last.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import frequent_pivots
    >>> X = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0], [1, 0, 0]])
    >>> frequent_pivots(X, np.array([1, 1, -2, -2]), 1)  # the last is not in both
    array([0])
    """
    present = _present(X)
    sides = sample_domain > 0
    # From counts: the mean of sparse rows is rounded differently.
    shares = [
        np.asarray(present[sides == side].sum(axis=0)).ravel()
        / np.count_nonzero(sides == side)
        for side in np.unique(sides)
    ]
    least = np.min(shares, axis=0)
    return np.lexsort((-least, least == 1))[:n_pivots]


def pivot_predictors(
    X: Any,
    pivots: NDArray[np.intp],
    *,
    alpha: float = 1e-2,
    loss: str = "modified_huber",
) -> NDArray[np.float64]:
    r"""Learn to predict pivots from the other features.

    For every pivot l it solves, with :math:`p_l(x) = \pm 1` for its presence and over
    all rows, labelled or not,

    .. math::
        \min_{w, b} \; \frac{1}{n} \sum_i L(w^\top x_i + b, p_l(x_i))
        + \alpha \|w\|^2, \qquad w_j = 0 \text{ for all pivots } j

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Rows of all domains.
    pivots : ndarray of int of shape (n_pivots,)
        The features to predict.
    alpha : float, default=1e-2
        Regularisation.
    loss : {"modified_huber", "squared"}, default="modified_huber"
        The loss L.

    Returns
    -------
    W : ndarray of shape (n_features, n_pivots)
        The predictors as columns; rows of pivots are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import pivot_predictors
    >>> X = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=float)
    >>> pivot_predictors(X, np.array([0]), loss="squared").round(2)  # with 1, not 2
    array([[ 0.  ],
           [ 0.98],
           [-0.98]])
    """
    others = np.setdiff1d(np.arange(X.shape[1]), pivots)
    present = _present(X[:, pivots])
    present = present.toarray() if sparse.issparse(present) else present
    Y = np.where(present, 1.0, -1.0)
    W = np.zeros((X.shape[1], pivots.size))
    # A pivot that is in all rows, or in none, is predicted by just the bias.
    varies = np.flatnonzero(np.ptp(Y, axis=0))
    if others.size and varies.size:
        rest, Y = X[:, others], Y[:, varies]
        if loss == "squared":
            ridge = Ridge(alpha=alpha * X.shape[0]).fit(rest, Y)
            rules = np.reshape(ridge.coef_, (varies.size, others.size)).T
        else:
            rules = fit_huber(rest, Y, alpha)[0]
        W[np.ix_(others, varies)] = rules
    return W


class StructuralCorrespondenceLearning(DomainTransformer):
    r"""Add features that predict what is frequent in both domains.

    Pivots are features that occur in both domains and mean the same in both. Linear
    rules learn to predict each pivot from the features that are not pivots, on rows of
    both domains without their labels, see :func:`pivot_predictors`. Features of the
    source and of the target that predict the same pivots correspond to each other, and
    the leading left singular vectors :math:`\Theta^\top` of the rules bring them
    together: a row x becomes :math:`[x, s \, \Theta x]`. A classifier trained on rows
    of the source in this form is then applied to rows of the target.

    Parameters
    ----------
    n_pivots : int, default=100
        Number of pivots, at most half the features; not used where `pivots` is given.
    n_components : int, default=25
        Number h of new features, at most the number of pivots.
    pivots : array-like of int, default=None
        The pivots, where they are known; None takes :func:`frequent_pivots`.
    alpha : float, default=1e-2
        Regularisation of the rules.
    loss : {"modified_huber", "squared"}, default="modified_huber"
        Loss of the rules.
    scale : float, default=1
        Mean norm of the new features of a row, over that of the old ones.

    Attributes
    ----------
    pivots_ : ndarray of int of shape (n_pivots,)
        The pivots.
    theta_ : ndarray of shape (n_components, n_features)
        Orthonormal rows; the columns of pivots are zero.
    n_components_ : int
        Number of new features: at most that of singular values that are not zero.
    scale_ : float
        The factor s.
    domains_ : ndarray of int
        The domains seen in fit.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    alternating_structure : The same idea with labelled tasks.

    References
    ----------
    .. [1] J. Blitzer, R. McDonald, F. Pereira, "Domain adaptation with structural
       correspondence learning", EMNLP 2006. :doi:`10.3115/1610075.1610094`

    Examples
    --------
    One of two words is used in the source and the other in the target, both with the
    pivot:

    >>> import numpy as np
    >>> from fewlabels.transfer import StructuralCorrespondenceLearning
    >>> X = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 1], [0, 0, 0]], dtype=float)
    >>> scl = StructuralCorrespondenceLearning(pivots=[0], n_components=1)
    >>> scl = scl.fit(X, sample_domain=[1, 1, -2, -2])
    >>> np.abs(scl.theta_).round(2)
    array([[0.  , 0.71, 0.71]])
    """

    _checks: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": np.float64}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_pivots": [Interval(Integral, 1, None, closed="left")],
        **usual("n_components"),
        "pivots": ["array-like", None],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"modified_huber", "squared"})],
        "scale": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_pivots: int = 100,
        n_components: int = 25,
        *,
        pivots: ArrayLike | None = None,
        alpha: float = 1e-2,
        loss: str = "modified_huber",
        scale: float = 1.0,
    ) -> None:
        self.n_pivots = n_pivots
        self.n_components = n_components
        self.pivots = pivots
        self.alpha = alpha
        self.loss = loss
        self.scale = scale

    def _learn(self, X: Any, y: Any, domains: NDArray[np.intp]) -> None:
        self.pivots_ = self._chosen_pivots(X, domains)
        W = pivot_predictors(X, self.pivots_, alpha=self.alpha, loss=self.loss)
        others = np.setdiff1d(np.arange(X.shape[1]), self.pivots_)
        left, values, _ = linalg.svd(W[others], full_matrices=False)
        rank = int(np.count_nonzero(values > 1e-10 * values.max(initial=0)))
        self.n_components_ = min(self.n_components, rank)
        if rank == 0:
            warnings.warn(
                "No pivot can be predicted from the other features, so none is added: "
                "a feature counts as present where its value is positive.",
                stacklevel=3,
            )
        self.theta_ = np.zeros((self.n_components_, X.shape[1]))
        self.theta_[:, others] = signed(left[:, : self.n_components_]).T
        added = float(row_norms(X @ self.theta_.T).mean())
        given = float(row_norms(X).mean())
        self.scale_ = self.scale * given / added if added > 0 else 1.0

    def _chosen_pivots(self, X: Any, domains: NDArray[np.intp]) -> NDArray[np.intp]:
        p = X.shape[1]
        if self.pivots is None:
            return frequent_pivots(X, domains, min(self.n_pivots, p // 2))
        pivots = np.unique(np.asarray(self.pivots))
        if pivots.dtype.kind not in "iu" or pivots.min() < 0 or pivots.max() >= p:
            raise ValueError(f"pivots must be indices of the {p} features.")
        return pivots

    def transform(self, X: Any) -> Any:
        """Append the new features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of any domain.

        Returns
        -------
        X_new : {ndarray, sparse array} of shape (n_samples, n_features_new)
            The rows with `n_components_` more features.
        """
        X = self._validated(X)
        added = self.scale_ * (X @ self.theta_.T)
        if sparse.issparse(X):
            return sparse.hstack([X, sparse.csr_array(added)], format="csr")
        return np.hstack([X, added])

    @property
    def _n_features_out(self) -> int:
        return self.n_features_in_ + self.n_components_
