"""Self-taught learning: a dictionary from rows without labels."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import MiniBatchDictionaryLearning, sparse_encode
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.extmath import row_norms

from fewlabels._classifier import fitted, outputs_of
from fewlabels._labels import Labels
from fewlabels._params import usual
from fewlabels._sklearn import HasMethods, Interval
from fewlabels.exceptions import warn_not_converged
from fewlabels.transfer._domains import DomainClassifier

# Duality gap of a code, relative to the squared norm of its row: that of sparse_encode.
GAP_TOL = 1e-8


def lasso_codes(
    X: NDArray[np.float64], D: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    r"""Describe rows by few atoms each.

    .. math::
        c(x) = \arg\min_c \; \tfrac12 \|x - D^\top c\|^2 + \alpha \|c\|_1

    Coordinate descent is quick, except where atoms are nearly dependent because there
    are more of them than dimensions in the data. Rows that it leaves with a duality gap
    are solved again by least angle regression, which follows the path of alpha exactly.
    """
    goal = GAP_TOL * row_norms(X, squared=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is checked
        codes = sparse_encode(X, D, algorithm="lasso_cd", alpha=alpha, max_iter=10_000)
        gap = _duality_gap(X, D, alpha, codes)
        (open_,) = np.nonzero(gap > goal)
        if open_.size:
            again = sparse_encode(X[open_], D, algorithm="lasso_lars", alpha=alpha)
            new_gap = _duality_gap(X[open_], D, alpha, again)
            better = new_gap < gap[open_]
            codes[open_[better]], gap[open_[better]] = again[better], new_gap[better]
    n_left = np.count_nonzero(gap > goal)
    if n_left:
        warn_not_converged(
            f"The sparse codes of {n_left} of {X.shape[0]} rows did not converge "
            f"(duality gap {gap.max():.1e}): atoms are nearly dependent. Take fewer "
            "n_components or a larger alpha."
        )
    return codes


def _duality_gap(
    X: NDArray[Any], D: NDArray[Any], alpha: float, codes: NDArray[Any]
) -> NDArray[Any]:
    """By how much, at most, the objective of every row is above its minimum."""
    residual = X - codes @ D
    # The residual, shrunk until it is feasible for the dual problem.
    steepest = np.abs(residual @ D.T).max(axis=1)
    shrink = alpha / np.maximum(steepest, alpha)
    squares = row_norms(residual, squared=True)
    fit = 0.5 * squares * (1 + shrink**2) - shrink * np.einsum("ij,ij->i", residual, X)
    return fit + alpha * np.abs(codes).sum(axis=1)


class SelfTaughtClassifier(DomainClassifier):
    r"""Learn a dictionary from unlabelled rows, then classify by sparse codes.

    The rows of the source, whatever they show, serve to learn a dictionary D of atoms
    of length 1; their labels are not used. A row of the target, centred and scaled as
    the dictionary was, is then described by its sparse code

    .. math::
        c(x) = \arg\min_c \; \tfrac12 \|x - D^\top c\|^2 + \alpha \|c\|_1

    and `estimator` learns on the codes of the labelled rows of the target. Without a
    source, or with equal rows only, the dictionary is learned from all rows.

    Parameters
    ----------
    n_components : int, default=100
        Number of atoms.
    alpha : float, default=0.05
        Weight of the l1-norm, for rows scaled to a mean squared norm of 1.
    estimator : classifier, default=None
        Learns on the codes, scaled to unit variance; None takes
        :class:`sklearn.linear_model.LogisticRegression`.
    max_iter : int, default=10
        Largest number of passes over the rows while the dictionary is learned.
    random_state : int, RandomState instance or None, default=None
        Seed of the dictionary.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes of the target, without the marker of unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    components_ : ndarray of shape (n_components, n_features)
        The atoms.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows that the dictionary was learned from.
    scale_ : float
        Root of their mean squared distance from the mean.
    code_scale_ : float
        Standard deviation of the codes of these rows.
    estimator_ : classifier
        The fitted classifier; it knows classes by their index.
    n_iter_ : int
        Passes over the rows while the dictionary was learned.
    domains_ : ndarray of int
        The domains seen in fit.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    sklearn.decomposition.MiniBatchDictionaryLearning : Learns the dictionary.

    References
    ----------
    .. [1] R. Raina, A. Battle, H. Lee, B. Packer, A. Y. Ng, "Self-taught learning:
       transfer learning from unlabeled data", ICML 2007.
       :doi:`10.1145/1273496.1273592`

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from fewlabels.transfer import SelfTaughtClassifier, stack_domains
    >>> X, y = load_digits(return_X_y=True)
    >>> other, ours = y >= 5, y < 5  # digits of which no label is known help
    >>> few = np.where(np.arange(ours.sum()) < 50, y[ours], -1)
    >>> X_all, y_all, sample_domain = stack_domains(X[other], y[other], X[ours], few)
    >>> model = SelfTaughtClassifier(50, max_iter=3, random_state=0)
    >>> model = model.fit(X_all, y_all, sample_domain=sample_domain)
    >>> model.classes_
    array([0, 1, 2, 3, 4])
    >>> bool(model.score(X[ours], y[ours]) > 0.8)
    True
    """

    _checks: ClassVar[dict[str, Any]] = {"dtype": np.float64}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "estimator": [HasMethods(["fit", "predict"]), None],
        **usual("n_components", "max_iter", "random_state"),
    }

    def __init__(
        self,
        n_components: int = 100,
        *,
        alpha: float = 0.05,
        estimator: Any = None,
        max_iter: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.estimator = estimator
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(self, X: Any, labels: Labels, domains: NDArray[np.intp]) -> None:
        rows = self._labeled_target(labels, domains)
        teacher = X[domains > 0]
        if not (teacher != teacher[:1]).any():  # nothing to learn from
            teacher = X
        # Relative to a row, so that nothing is left of equal rows.
        self.mean_ = teacher[0] + (teacher - teacher[0]).mean(axis=0)
        spread = float(np.sqrt(row_norms(teacher - self.mean_, squared=True).mean()))
        self.scale_ = spread if spread > 0 else 1.0
        scaled = self._scaled(teacher)
        learner = MiniBatchDictionaryLearning(
            self.n_components,
            alpha=self.alpha,
            max_iter=self.max_iter,
            fit_algorithm="cd",
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            # Rough codes suffice for learning a dictionary; the final ones are exact.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.components_ = learner.fit(scaled).components_
        self.n_iter_ = learner.n_iter_
        self.code_scale_ = 1.0
        self.code_scale_ = float(self._codes(teacher).std()) or 1.0
        present, codes = np.unique(labels.codes[rows], return_inverse=True)
        self.classes_ = labels.classes[present]
        model = LogisticRegression() if self.estimator is None else self.estimator
        self.estimator_ = fitted(model, self._codes(X[rows]), codes)

    def _scaled(self, X: NDArray[Any]) -> NDArray[Any]:
        return (X - self.mean_) / self.scale_

    def _codes(self, X: NDArray[Any]) -> NDArray[Any]:
        codes = lasso_codes(self._scaled(X), self.components_, self.alpha)
        return codes / self.code_scale_

    def _decision(self, X: Any) -> NDArray[Any]:
        return outputs_of(self.estimator_, self._codes(X), self.classes_.size)
