"""Classifiers that are additive logistic models: LogitBoost and Gentle AdaBoost."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from fewlabels._classifier import DecisionClassifier, as_decision
from fewlabels._params import usual
from fewlabels._sklearn import HasMethods, Interval, check_sample_weight, fit_context
from fewlabels.ensemble._additive import (
    AdditiveModel,
    expit2,
    gentle_adaboost,
    logit_boost,
    logit_probabilities,
    logit_step,
)
from fewlabels.ensemble._boosted import BoostedClassifier


class _AdditiveClassifier(BoostedClassifier, DecisionClassifier):
    """A booster: rounds of weighted least squares."""

    learning_rate: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        **usual("n_estimators", "learning_rate", "random_state"),
    }

    def _boost(self, X: Any, codes: Any, **params: Any) -> AdditiveModel:
        raise NotImplementedError

    def _step(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, sample_weight: Any = None) -> Self:
        """Boost the weak learner on the labelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; sparse where the weak learner takes it.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one, which are left out.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: the distribution that boosting starts from.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = self._begin(X, y)
        rows = labels.labeled
        if sample_weight is not None:
            sample_weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            # A row without weight could still shift the threshold of a tree.
            weighty = rows[sample_weight[rows] > 0]
            if not weighty.size:
                raise ValueError(
                    "sample_weight must have a positive sum on labelled rows."
                )
            rows, sample_weight = weighty, sample_weight[weighty]
        # With one class there is nothing to learn.
        model = AdditiveModel([], np.zeros((rows.size, 1)), np.zeros(0))
        if labels.classes.size > 1:
            model = self._boost(
                X[rows],
                labels.codes[rows],
                n_classes=labels.classes.size,
                sample_weight=sample_weight,
                **self.get_params(deep=False),
            )
        self.estimators_ = model.stages
        self.criterion_ = model.criterion
        self.transduction_ = self._transduction(X, labels)
        return self

    def _staged_outputs(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """F after no, one, two, ... rounds; the array is reused."""
        n_columns = len(self.estimators_[0]) if self.estimators_ else 1
        F = np.zeros((X.shape[0], n_columns))
        yield F
        for stage in self.estimators_:
            values = np.column_stack([model.predict(X) for model in stage])
            F += self.learning_rate * self._step(values)
            yield F

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        *_, F = self._staged_outputs(X)
        return F

    def _decision(self, X: Any) -> NDArray[np.float64]:
        return as_decision(self._outputs(X))

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield F after every round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes half the log-odds of `classes_[1]`; else one column per
            class.
        """
        staged = self._staged_outputs(self._validated(X))
        next(staged)  # skip the zeros before the first round
        for F in staged:
            yield as_decision(F).copy()

    def _probabilities(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of every class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Rows sum to one.
        """
        F = self._outputs(self._validated(X))
        if self.classes_.size == 1:
            return np.ones((F.shape[0], 1))
        return self._probabilities(F)


class LogitBoostClassifier(_AdditiveClassifier):
    r"""LogitBoost: additive logistic regression by Newton steps.

    The mean of :math:`\log(1 + e^{-2 y F(x)})`, y in {-1, +1}, is minimised over sums
    :math:`F = \frac12 \sum_m f_m` of weak regressors, one per round; see
    :func:`logit_boost`. With trees this is gradient boosting with second-order leaves
    and no shrinkage, from F = 0; with a linear model it is iteratively reweighted least
    squares, and ends at logistic regression.

    Parameters
    ----------
    estimator : regressor, default=None
        The weak learner, which must take weights in `fit`; None for a tree with two
        leaves.
    n_estimators : int, default=50
        Rounds.
    learning_rate : float, default=1.0
        Share of a step that is taken; 1 is the algorithm as published.
    z_max : float or None, default=4.0
        Working responses are cut off here; None for no limit, which is the exact Newton
        step, but at the mercy of a single mislabelled row.
    random_state : int, RandomState instance or None, default=None
        Seeds of the weak learners.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    estimators_ : list of list of regressors
        For every round one regressor (two classes), or one per class.
    criterion_ : ndarray of shape (n_estimators,)
        Mean negative log-likelihood of the labelled rows after every round.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    GentleAdaBoostClassifier : The exponential criterion in place of the likelihood.
    sklearn.ensemble.HistGradientBoostingClassifier : With shrinkage, for many rows.

    References
    ----------
    .. [1] J. Friedman, T. Hastie, R. Tibshirani, "Additive logistic regression: a
       statistical view of boosting", Annals of Statistics 28 (2000).
       :doi:`10.1214/aos/1016218223`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabels.ensemble import LogitBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogitBoostClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_AdditiveClassifier._parameter_constraints,
        "z_max": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        z_max: float | None = 4.0,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.z_max = z_max
        self.random_state = random_state

    def _boost(self, X: Any, codes: Any, **params: Any) -> AdditiveModel:
        return logit_boost(X, codes, **params)

    def _step(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return logit_step(values)

    def _probabilities(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        return logit_probabilities(F)


class GentleAdaBoostClassifier(_AdditiveClassifier):
    r"""Gentle AdaBoost: the exponential criterion by bounded Newton steps.

    The mean of :math:`e^{-y F(x)}`, y in {-1, +1}, is lowered by sums :math:`F = \sum_m
    f_m` of weak regressors, one per round; see :func:`gentle_adaboost`. Steps are means
    of labels, so that no pure leaf runs away as in AdaBoost.

    Parameters
    ----------
    estimator : regressor, default=None
        The weak learner, which must take weights in `fit`; None for a tree with two
        leaves.
    n_estimators : int, default=50
        Rounds.
    learning_rate : float, default=1.0
        Share of a step that is taken; 1 is the algorithm as published.
    random_state : int, RandomState instance or None, default=None
        Seeds of the weak learners.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    estimators_ : list of list of regressors
        For every round one regressor (two classes), or one per class.
    criterion_ : ndarray of shape (n_estimators,)
        Mean of the exponential criterion on the labelled rows after every round.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    LogitBoostClassifier : The likelihood in place of the exponential criterion.
    sklearn.ensemble.AdaBoostClassifier : Weak classifiers in place of regressors.

    Notes
    -----
    Probabilities are those of the additive logistic model, :func:`expit2`; those of
    more than two classes are scaled to sum to one.

    References
    ----------
    .. [1] J. Friedman, T. Hastie, R. Tibshirani, "Additive logistic regression: a
       statistical view of boosting", Annals of Statistics 28 (2000).
       :doi:`10.1214/aos/1016218223`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabels.ensemble import GentleAdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GentleAdaBoostClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.94)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.random_state = random_state

    def _boost(self, X: Any, codes: Any, **params: Any) -> AdditiveModel:
        return gentle_adaboost(X, codes, **params)

    def _step(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values

    def _probabilities(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        if F.shape[1] == 1:
            return logit_probabilities(F)
        p = expit2(F)
        # Where all are zero up to rounding, the largest F still decides.
        p = np.where(p.sum(axis=1, keepdims=True) > 0, p, softmax(2 * F, axis=1))
        return p / p.sum(axis=1, keepdims=True)
