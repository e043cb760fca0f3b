"""Boosting as an additive logistic model: LogitBoost and Gentle AdaBoost."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, softmax
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fewlabels._classifier import SupervisedClassifier, as_decision
from fewlabels._labels import decide, signed_targets, validate_partially_labeled
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import (
    HasMethods,
    Interval,
    check_sample_weight,
    fit_context,
    validate_data,
)

# Below this, p (1 - p) is rounding; the working response would blow up.
MIN_WEIGHT = 2 * np.finfo(np.float64).eps
# The exponential of more is no number.
LARGEST = 700.0


def half_logit(p: ArrayLike) -> NDArray[np.float64]:
    r"""Half the log-odds, :math:`F = \frac12 \log \frac{p}{1 - p}`.

    This F minimises the expected exponential criterion :math:`E\, e^{-yF}` for y = 1
    with probability p and y = -1 otherwise.

    Parameters
    ----------
    p : array-like
        Probabilities of the class +1.

    Returns
    -------
    F : ndarray
        The values, infinite at 0 and 1.

    See Also
    --------
    expit2 : The inverse.

    References
    ----------
    .. [1] J. Friedman, T. Hastie, R. Tibshirani, "Additive logistic regression: a
       statistical view of boosting", Annals of Statistics 28 (2000).
       :doi:`10.1214/aos/1016218223`

    Examples
    --------
    >>> from fewlabels.ensemble import half_logit
    >>> half_logit([0.5, 0.9]).round(4)
    array([0.    , 1.0986])
    """
    return logit(np.asarray(p, dtype=np.float64)) / 2


def expit2(F: ArrayLike) -> NDArray[np.float64]:
    r"""Probability of an additive logistic model, :math:`p = 1 / (1 + e^{-2F})`.

    Parameters
    ----------
    F : array-like
        Values of the model.

    Returns
    -------
    p : ndarray
        Probabilities of the class +1.

    See Also
    --------
    half_logit : The inverse.

    Examples
    --------
    >>> from fewlabels.ensemble import expit2
    >>> expit2([0.0, 1.0986]).round(4)
    array([0.5, 0.9])
    """
    return expit(2 * np.asarray(F, dtype=np.float64))


class AdditiveModel(NamedTuple):
    """A sum of regressions, as boosting builds it.

    Attributes
    ----------
    stages : list of list of regressors
        For every round one regressor per column of F.
    outputs : ndarray of shape (n_samples, n_columns)
        F at the training rows; one column for two classes.
    criterion : ndarray of shape (n_rounds,)
        What is minimised, after every round.
    """

    stages: list[list[Any]]
    outputs: NDArray[np.float64]
    criterion: NDArray[np.float64]


def _fitted_stage(
    estimator: Any,
    X: Any,
    responses: NDArray[np.float64],
    weights: NDArray[np.float64],
    rng: np.random.RandomState,
) -> tuple[list[Any], NDArray[np.float64]]:
    """Weighted least squares of every column, and the fitted values."""
    stage = []
    values = np.empty_like(responses)
    for k in range(responses.shape[1]):
        model = clone(estimator)
        if "random_state" in model.get_params():
            model.set_params(random_state=rng.randint(np.iinfo(np.int32).max))
        model.fit(X, responses[:, k], sample_weight=weights[:, k] / weights[:, k].sum())
        values[:, k] = model.predict(X)
        stage.append(model)
    return stage, values


def _checked(estimator: Any, sample_weight: Any, n: int) -> tuple[Any, Any]:
    """Return the weak learner, and weights that sum to one."""
    if estimator is None:
        estimator = DecisionTreeRegressor(max_depth=1)
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"estimator={estimator} takes no sample_weight in fit: boosting needs a "
            "regressor that does, such as a tree or a linear model."
        )
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight)
    return estimator, weights / weights.sum()


def logit_step(values: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Newton step of LogitBoost: f / 2, or :math:`\frac{J-1}{J}(f_j - \bar f)`."""
    J = values.shape[1]
    if J == 1:
        return values / 2
    return (J - 1) / J * (values - values.mean(axis=1, keepdims=True))


def logit_probabilities(F: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of all classes; those of two classes from a single column."""
    if F.shape[1] > 1:
        return softmax(F, axis=1)
    return np.column_stack([expit2(-F[:, 0]), expit2(F[:, 0])])


def logit_boost(
    X: Any,
    codes: NDArray[np.intp],
    *,
    n_classes: int = 2,
    estimator: Any = None,
    n_estimators: int = 50,
    learning_rate: float = 1.0,
    z_max: float | None = 4.0,
    sample_weight: NDArray[Any] | None = None,
    random_state: Any = None,
) -> AdditiveModel:
    r"""Fit an additive logistic model by Newton steps.

    The binomial log-likelihood of :math:`p(x) = 1 / (1 + e^{-2F(x)})` is maximised over
    sums :math:`F = \sum_m f_m / 2`. Each round fits the working response

    .. math:: z_i = \frac{y_i - p_i}{p_i (1 - p_i)}, \quad y_i \in \{0, 1\},

    by least squares with weights :math:`w_i = p_i (1 - p_i)`. For J > 2 classes each
    has its own F, and p is their softmax.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    codes : ndarray of shape (n_samples,)
        Classes, from 0 to n_classes - 1.
    n_classes : int, default=2
        Number J of classes.
    estimator : regressor, default=None
        The weak learner, which must take weights; None for a tree with two leaves.
    n_estimators : int, default=50
        Rounds.
    learning_rate : float, default=1.0
        Share of a step that is taken; 1 is the algorithm as published.
    z_max : float or None, default=4.0
        Responses are cut off here. Otherwise a row on the wrong side of a confident
        model would outweigh all others.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights of the rows.
    random_state : int, RandomState instance or None, default=None
        Seeds of the weak learners.

    Returns
    -------
    model : AdditiveModel
        The stages; its criterion is the mean negative log-likelihood.

    References
    ----------
    .. [1] J. Friedman, T. Hastie, R. Tibshirani, "Additive logistic regression: a
       statistical view of boosting", Annals of Statistics 28 (2000), algorithms 3 and
       6. :doi:`10.1214/aos/1016218223`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.ensemble import logit_boost
    >>> X = np.arange(8.0)[:, None]
    >>> model = logit_boost(X, np.array([0, 0, 0, 1, 1, 1, 0, 0]), n_estimators=10)
    >>> (model.outputs[:, 0] > 0).astype(int)
    array([0, 0, 0, 1, 1, 1, 0, 0])
    """
    estimator, s = _checked(estimator, sample_weight, len(codes))
    rng = check_random_state(random_state)
    Y = (signed_targets(codes, n_classes) + 1) / 2
    F = np.zeros(Y.shape)
    stages, criterion = [], []
    for _ in range(n_estimators):
        p = logit_probabilities(F)[:, -Y.shape[1] :]
        w = np.maximum(p * (1 - p), MIN_WEIGHT)
        z = (Y - p) / w
        if z_max is not None:
            z = np.clip(z, -z_max, z_max)
        stage, values = _fitted_stage(estimator, X, z, s[:, None] * w, rng)
        F += learning_rate * logit_step(values)
        stages.append(stage)
        criterion.append(_log_loss(F, codes, s))
    return AdditiveModel(stages, F, np.array(criterion))


def _log_loss(F: NDArray[Any], codes: NDArray[np.intp], s: NDArray[Any]) -> float:
    """Mean negative log-likelihood, without the logarithm of a tiny number."""
    if F.shape[1] == 1:
        return float(s @ np.logaddexp(0, np.where(codes == 1, -2, 2) * F[:, 0]))
    own = np.take_along_axis(F, codes[:, None], axis=1)[:, 0]
    return float(s @ (np.logaddexp.reduce(F, axis=1) - own))


def gentle_adaboost(
    X: Any,
    codes: NDArray[np.intp],
    *,
    n_classes: int = 2,
    estimator: Any = None,
    n_estimators: int = 50,
    learning_rate: float = 1.0,
    sample_weight: NDArray[Any] | None = None,
    random_state: Any = None,
) -> AdditiveModel:
    r"""Minimise the exponential criterion by adaptive Newton steps.

    The criterion is :math:`E\, e^{-y F(x)}` with :math:`F = \sum_m f_m` and y in {-1,
    +1}. Each round fits y by least squares with weights :math:`w_i \propto e^{-y_i
    F(x_i)}`. In a leaf of a tree :math:`f = P_w(1) - P_w(-1)`, at most 1 in absolute
    value; AdaBoost takes half the log-odds there, which are unbounded. More than two
    classes are one-vs-rest problems.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    codes : ndarray of shape (n_samples,)
        Classes, from 0 to n_classes - 1.
    n_classes : int, default=2
        Number of classes.
    estimator : regressor, default=None
        The weak learner, which must take weights; None for a tree with two leaves.
    n_estimators : int, default=50
        Rounds.
    learning_rate : float, default=1.0
        Share of a step that is taken; 1 is the algorithm as published.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights of the rows.
    random_state : int, RandomState instance or None, default=None
        Seeds of the weak learners.

    Returns
    -------
    model : AdditiveModel
        The stages; its criterion is the exponential one, of several classes the mean.

    References
    ----------
    .. [1] J. Friedman, T. Hastie, R. Tibshirani, "Additive logistic regression: a
       statistical view of boosting", Annals of Statistics 28 (2000), algorithm 4.
       :doi:`10.1214/aos/1016218223`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.ensemble import gentle_adaboost
    >>> X = np.arange(8.0)[:, None]
    >>> model = gentle_adaboost(X, np.array([0, 0, 0, 1, 1, 1, 0, 0]), n_estimators=10)
    >>> (model.outputs[:, 0] > 0).astype(int)
    array([0, 0, 0, 1, 1, 1, 0, 0])
    """
    estimator, s = _checked(estimator, sample_weight, len(codes))
    rng = check_random_state(random_state)
    Y = signed_targets(codes, n_classes)
    F = np.zeros(Y.shape)
    stages, criterion = [], []
    for _ in range(n_estimators):
        # From F itself: a product of many factors would gather rounding errors. The
        # shift only avoids overflow, as weights are normalised.
        margins = Y * F
        w = s[:, None] * np.exp(margins.min(axis=0) - margins)
        stage, values = _fitted_stage(estimator, X, Y, w, rng)
        F += learning_rate * values
        stages.append(stage)
        criterion.append(float(np.mean(s @ np.exp(np.minimum(-Y * F, LARGEST)))))
    return AdditiveModel(stages, F, np.array(criterion))


class _AdditiveClassifier(SupervisedClassifier):
    """A booster: rounds of weighted least squares."""

    estimator: Any
    n_estimators: int
    learning_rate: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
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
        X, labels = validate_partially_labeled(
            self, X, y, accept_sparse=self._takes_sparse() and "csr", dtype=FLOATS
        )
        self.classes_ = labels.classes
        rows = labels.labeled
        if sample_weight is not None:
            sample_weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            # A row without weight could still draw the threshold of a tree.
            weighty = rows[sample_weight[rows] > 0]
            if not weighty.size:
                raise ValueError(
                    "sample_weight must have a positive sum on labelled rows."
                )
            rows, sample_weight = weighty, sample_weight[weighty]
        # With one class nothing is to be told apart.
        model = AdditiveModel([], np.zeros((rows.size, 1)), np.zeros(0))
        if labels.classes.size > 1:
            model = self._boost(
                X[rows],
                labels.codes[rows],
                n_classes=labels.classes.size,
                estimator=self.estimator,
                n_estimators=self.n_estimators,
                learning_rate=self.learning_rate,
                sample_weight=sample_weight,
            )
        self.estimators_ = model.stages
        self.criterion_ = model.criterion
        self.transduction_ = self._transduction(X, labels)
        return self

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(
            self,
            X,
            reset=False,
            accept_sparse=self._takes_sparse() and "csr",
            dtype=FLOATS,
        )

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

    def _predict_codes(self, X: Any) -> NDArray[np.intp]:
        return decide(as_decision(self._outputs(X)), np.arange(self.classes_.size))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the additive function F.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes half the log-odds of `classes_[1]`; else one column per
            class.
        """
        return as_decision(self._outputs(self._validated(X)))

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield F after every round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As `decision_function` returns it.
        """
        staged = self._staged_outputs(self._validated(X))
        next(staged)  # before the first round there is nothing to see
        for F in staged:
            yield as_decision(F).copy()

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes.
        """
        X = self._validated(X)
        return self.classes_[self._predict_codes(X)]

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

    def _takes_sparse(self) -> bool:
        return self.estimator is None or get_tags(self.estimator).input_tags.sparse

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        return tags


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
        return logit_boost(
            X, codes, z_max=self.z_max, random_state=self.random_state, **params
        )

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
        return gentle_adaboost(X, codes, random_state=self.random_state, **params)

    def _step(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values

    def _probabilities(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        if F.shape[1] == 1:
            return logit_probabilities(F)
        p = expit2(F)
        # Where all are zero up to rounding, the largest F decides all the same.
        p = np.where(p.sum(axis=1, keepdims=True) > 0, p, softmax(2 * F, axis=1))
        return p / p.sum(axis=1, keepdims=True)
