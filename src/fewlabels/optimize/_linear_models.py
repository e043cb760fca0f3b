"""Linear models by the optimisers."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state

from fewlabels._classifier import DecisionClassifier, as_decision
from fewlabels._labels import (
    signed_targets,
    validate_partial_targets,
    validate_partially_labeled,
)
from fewlabels._params import usual
from fewlabels._regressor import PartialTargetMixin
from fewlabels._sklearn import Interval, StrOptions, fit_context, validate_fitted
from fewlabels.optimize._coordinate import approx_coordinate_descent, coordinate_descent
from fewlabels.optimize._finite_sum import (
    sag_minimize,
    saga_minimize,
    sgd_minimize,
    svrg_minimize,
)
from fewlabels.optimize._finite_sum_problem import FiniteSumProblem
from fewlabels.optimize._gradient import gradient_descent
from fewlabels.optimize._optimization_result import OptimizationResult
from fewlabels.optimize._penalties import ElasticNetPenalty

_SOLVERS: dict[str, Callable[..., OptimizationResult]] = {
    "approx": approx_coordinate_descent,
    "cd": coordinate_descent,
    "gd": gradient_descent,
    "sag": sag_minimize,
    "saga": saga_minimize,
    "sgd": sgd_minimize,
    "svrg": svrg_minimize,
}


def _add_ones(X: Any) -> Any:
    """Append the column of an intercept."""
    ones = np.ones((X.shape[0], 1))
    if sparse.issparse(X):
        return sparse.csr_array(sparse.hstack([X, ones], format="csr"))
    return np.hstack([X, ones])


class _FiniteSumModel(BaseEstimator):
    """What the classifier and the regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **usual("alpha", "fit_intercept", "max_iter", "tol", "random_state"),
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "solver": [StrOptions(set(_SOLVERS))],
        "solver_params": [dict, None],
    }

    coef_: NDArray[Any]
    intercept_: Any

    def __init__(
        self,
        *,
        alpha: float = 1e-4,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        solver: str = "saga",
        solver_params: dict[str, Any] | None = None,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.solver_params = solver_params
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _minimize(
        self, X: Any, targets: NDArray[Any], loss: str
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return coefficients and intercepts, one row per column of targets."""
        Z = _add_ones(X) if self.fit_intercept else X
        weights = np.ones(Z.shape[1])
        if self.fit_intercept:
            weights[-1] = 0.0
        penalty = ElasticNetPenalty(self.alpha, self.l1_ratio, weights)
        options: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        if self.solver != "gd":
            options["random_state"] = check_random_state(self.random_state)
        options.update(self.solver_params or {})
        minimize = _SOLVERS[self.solver]
        self.results_ = [
            minimize(FiniteSumProblem(Z, y, loss, penalty), **options)
            for y in targets.T
        ]
        self.n_iter_ = max(1, *(result.n_iter for result in self.results_))
        W = np.array([result.x for result in self.results_])
        if self.fit_intercept:
            return W[:, :-1], W[:, -1]
        return W, np.zeros(targets.shape[1])

    def _validated(self, X: Any) -> Any:
        return validate_fitted(self, X, accept_sparse="csr", dtype=np.float64)

    def _outputs(self, X: Any) -> NDArray[Any]:
        return np.asarray(X @ np.atleast_2d(self.coef_).T) + self.intercept_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class FiniteSumClassifier(_FiniteSumModel, DecisionClassifier):
    r"""Linear classifier: a smooth or a hinge loss, an elastic net, a choice of solver.

    .. math::
        \min_{w, b} \; \frac1l \sum_{i=1}^{l} \ell\big(y_i (x_i^\top w + b)\big)
        + \alpha \big( \rho \|w\|_1 + \tfrac{1 - \rho}{2} \|w\|_2^2 \big)

    over the l labelled rows, once for two classes and once per class (against the rest)
    for more. The intercept b is not penalised. Rows without a label are left out of
    training.

    Parameters
    ----------
    loss : {"logistic", "squared_hinge", "hinge", "squared"}, default="logistic"
        The loss; "hinge" is for solver "sgd".
    alpha : float, default=1e-4
        Weight :math:`\alpha` of the penalty.
    l1_ratio : float, default=0.0
        Share :math:`\rho` of absolute values in the penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    solver : {"saga", "svrg", "sag", "sgd", "cd", "approx", "gd"}, default="saga"
        The optimiser. "sag" is for `l1_ratio=0`.
    solver_params : dict, default=None
        Further parameters of the optimiser, such as ``{"option": "average"}`` for
        :func:`svrg_minimize`.
    max_iter : int, default=1000
        Largest number of passes over the data.
    tol : float, default=1e-4
        When to stop, see the optimisers.
    random_state : int, RandomState instance or None, default=None
        Draws rows or coordinates.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    transduction_ : ndarray of shape (n_samples,)
        The classes of all training rows: given ones, and predictions for the others.
    results_ : list of OptimizationResult
        What the optimiser returned for every target, with histories.
    n_iter_ : int
        Iterations of the target that took the most.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has them.

    See Also
    --------
    sklearn.linear_model.LogisticRegression : More solvers for the logistic loss.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fewlabels.optimize import FiniteSumClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FiniteSumClassifier(alpha=0.02, l1_ratio=1.0, solver="cd")
    >>> model = model.fit(scale(X), y)
    >>> bool(model.score(scale(X), y) > 0.96), bool((model.coef_ == 0).mean() > 0.5)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_FiniteSumModel._parameter_constraints,
        "loss": [StrOptions({"logistic", "squared_hinge", "hinge", "squared"})],
    }

    def __init__(
        self,
        *,
        loss: str = "logistic",
        alpha: float = 1e-4,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        solver: str = "saga",
        solver_params: dict[str, Any] | None = None,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            l1_ratio=l1_ratio,
            fit_intercept=fit_intercept,
            solver=solver,
            solver_params=solver_params,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
        )
        self.loss = loss

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> "FiniteSumClassifier":
        """Fit the model to the labelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels; rows without one (-1, NaN or None) are not used.

        Returns
        -------
        self : FiniteSumClassifier
            The fitted model.
        """
        X, labels = validate_partially_labeled(
            self, X, y, accept_sparse="csr", dtype=np.float64
        )
        self.classes_ = labels.classes
        rows = labels.labeled
        if labels.classes.size > 1:
            targets = signed_targets(labels.codes[rows], labels.classes.size)
            self.coef_, self.intercept_ = self._minimize(X[rows], targets, self.loss)
        else:  # nothing to learn, and a free intercept would diverge
            self.coef_, self.intercept_ = np.zeros((1, X.shape[1])), np.zeros(1)
            self.results_, self.n_iter_ = [], 1
        self.transduction_ = self._transduction(X, labels)
        return self

    def _decision(self, X: Any) -> NDArray[Any]:
        return as_decision(self._outputs(X))


class FiniteSumRegressor(PartialTargetMixin, _FiniteSumModel):
    r"""Linear least squares with an elastic net and a choice of solver.

    .. math::
        \min_{w, b} \; \frac{1}{2l} \sum_{i=1}^{l} (x_i^\top w + b - y_i)^2
        + \alpha \big( \rho \|w\|_1 + \tfrac{1 - \rho}{2} \|w\|_2^2 \big)

    over the l rows with a target. The intercept b is not penalised. With
    ``solver="sgd"`` and `batch_size` in `solver_params` this is stochastic gradient
    regression with mini-batches and averaged iterates.

    Parameters
    ----------
    alpha : float, default=1e-4
        Weight :math:`\alpha` of the penalty.
    l1_ratio : float, default=0.0
        Share :math:`\rho` of absolute values in the penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    solver : {"saga", "svrg", "sag", "sgd", "cd", "approx", "gd"}, default="saga"
        The optimiser. "sag" is for `l1_ratio=0`.
    solver_params : dict, default=None
        Further parameters of the optimiser.
    max_iter : int, default=1000
        Largest number of passes over the data.
    tol : float, default=1e-4
        When to stop, see the optimisers.
    random_state : int, RandomState instance or None, default=None
        Draws rows or coordinates.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept.
    results_ : list of OptimizationResult
        What the optimiser returned, with its history: one entry.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has them.

    See Also
    --------
    sklearn.linear_model.ElasticNet : The same model by coordinate descent.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import FiniteSumRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = X @ [1.0, 0.0, -2.0] + 3.0
    >>> model = FiniteSumRegressor(alpha=0.0, tol=1e-8, random_state=0).fit(X, y)
    >>> np.round(model.coef_, 4) + 0.0, round(model.intercept_, 4)
    (array([ 1.,  0., -2.]), 3.0)
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> "FiniteSumRegressor":
        """Fit the model to the rows with a target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets; rows without one (NaN or None) are not used.

        Returns
        -------
        self : FiniteSumRegressor
            The fitted model.
        """
        X, targets = validate_partial_targets(
            self, X, y, accept_sparse="csr", dtype=np.float64
        )
        rows = np.flatnonzero(~np.isnan(targets))
        coef, intercept = self._minimize(X[rows], targets[rows, None], "squared")
        self.coef_, self.intercept_ = coef[0], float(intercept[0])
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the target of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted targets.
        """
        return self._outputs(self._validated(X))[:, 0]
