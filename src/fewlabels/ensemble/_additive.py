"""Boosting as an additive logistic model: LogitBoost and Gentle AdaBoost."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, softmax
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from fewlabels._labels import relative_weights, signed_targets
from fewlabels.ensemble._boosted import seeded

# Below this, p (1 - p) is rounding; the working response would blow up.
MIN_WEIGHT = 2 * np.finfo(np.float64).eps
# Beyond this the exponential overflows.
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
        model = seeded(estimator, rng)
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
    weights = np.ones(n)
    if sample_weight is not None:
        weights = relative_weights(np.asarray(sample_weight))
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
