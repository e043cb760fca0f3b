"""TrAdaBoost: boosting that trusts the target and doubts the source."""

# SPDX-License-Identifier: BSD-3-Clause

import math
import warnings
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from fewlabels._classifier import exact_weights, vote_of
from fewlabels._labels import Labels
from fewlabels._params import usual
from fewlabels._sklearn import HasMethods
from fewlabels.transfer._domains import DomainClassifier

# Errors are kept this far from 0 and from guessing, where votes are infinite or none.
MARGIN = 1e-10


class TrAdaBoostRounds(NamedTuple):
    r"""What every round of :func:`tradaboost` found.

    Attributes
    ----------
    estimators : list of classifier
        The classifier of each round.
    errors : ndarray of shape (n_rounds,)
        Its weighted error on rows of the target.
    log_betas : ndarray of shape (n_rounds,)
        Logarithm of :math:`\beta_t`; its negative is the vote of the round.
    log_weights : ndarray of shape (n_rounds + 1, n_samples)
        Logarithm of the weights before each round and after the last.
    """

    estimators: list[Any]
    errors: NDArray[np.float64]
    log_betas: NDArray[np.float64]
    log_weights: NDArray[np.float64]


def tradaboost(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    is_source: NDArray[np.bool_],
    *,
    n_classes: int = 2,
    n_estimators: int = 20,
    random_state: Any = None,
) -> TrAdaBoostRounds:
    r"""Boost a classifier on rows of two domains.

    In each round t a copy of the classifier is fitted with the current weights. With
    :math:`\varepsilon_t` its weighted error on the m rows of the target,

    .. math::
        \beta_t = \frac{\varepsilon_t}{(1 - \varepsilon_t)(K - 1)}, \qquad
        \beta = \frac{1}{1 + \sqrt{2 \ln n / N}},

    a misclassified row of the target is multiplied by :math:`1 / \beta_t`, as in
    AdaBoost, and one of the n rows of the source by :math:`\beta`: it seems to follow
    another rule. K is the number of classes; the factor K - 1 is that of SAMME.

    Parameters
    ----------
    estimator : classifier
        Its `fit` must take `sample_weight`.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Labelled rows of both domains.
    y : ndarray of shape (n_samples,)
        Their labels.
    is_source : ndarray of bool of shape (n_samples,)
        Whether a row is from the source; at least one is not.
    n_classes : int, default=2
        The number of classes K.
    n_estimators : int, default=20
        The number of rounds N.
    random_state : int, RandomState instance or None, default=None
        Seed of the classifiers.

    Returns
    -------
    rounds : TrAdaBoostRounds
        Classifiers, errors, votes and weights.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fewlabels.transfer import tradaboost
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [0.2], [2.2]])
    >>> y = np.array([0, 1, 1, 0, 0, 1])  # the fourth row follows another rule
    >>> is_source = np.array([True, True, True, True, False, False])
    >>> stump = DecisionTreeClassifier(max_depth=1)
    >>> rounds = tradaboost(stump, X, y, is_source, n_estimators=4, random_state=0)
    >>> int(rounds.log_weights[-1].argmin())
    3
    """
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"estimator={estimator!r} takes no sample_weight in fit, which boosting "
            "needs: use a tree or a linear model."
        )
    if np.all(is_source):
        raise ValueError("is_source is true for all rows: some must be of the target.")
    rng = check_random_state(random_state)
    n_source = int(np.count_nonzero(is_source))
    log_beta = -math.log1p(math.sqrt(2 * math.log(max(n_source, 1)) / n_estimators))
    n_classes = max(n_classes, 2)
    guessing = 1 - 1 / n_classes
    log_w = np.zeros((n_estimators + 1, y.size))
    estimators, errors, log_betas = [], [], []
    for t in range(n_estimators):
        weights = np.exp(log_w[t] - log_w[t].max())
        model = _seeded(clone(estimator), rng)
        model.fit(X, y, sample_weight=exact_weights(weights * (y.size / weights.sum())))
        wrong = vote_of(model, X) != y
        # Some rows of the target may underflow, but never all of them.
        on_target = np.exp(log_w[t] - log_w[t][~is_source].max())[~is_source]
        error = float(np.average(wrong[~is_source], weights=on_target))
        safe = min(max(error, MARGIN), guessing - MARGIN)
        log_beta_t = math.log(safe / (1 - safe) / (n_classes - 1))
        log_w[t + 1] = log_w[t] + wrong * np.where(is_source, log_beta, -log_beta_t)
        estimators.append(model)
        errors.append(error)
        log_betas.append(log_beta_t)
    return TrAdaBoostRounds(estimators, np.array(errors), np.array(log_betas), log_w)


def _seeded(model: Any, rng: np.random.RandomState) -> Any:
    """Give every `random_state` of a classifier and its parts a seed."""
    seeds = {
        name: int(rng.randint(np.iinfo(np.int32).max))
        for name in sorted(model.get_params())
        if name == "random_state" or name.endswith("__random_state")
    }
    return model.set_params(**seeds) if seeds else model


class TrAdaBoostClassifier(DomainClassifier):
    r"""Boosting that finds out which rows of the source help.

    A few labelled rows of the target decide which of many labelled rows of the source
    count: those that the classifier keeps misclassifying lose weight, see
    :func:`tradaboost`. The later half of the rounds votes,

    .. math::
        \hat y(x) = \arg\max_k \sum_{t = \lceil N / 2 \rceil}^{N}
        \ln \frac{1}{\beta_t} \, [h_t(x) = k]

    A round that does no better than guessing on the target has no vote. Without rows
    of the source this is AdaBoost, except that the first half does not vote.

    Parameters
    ----------
    estimator : classifier, default=None
        What is boosted; its `fit` must take `sample_weight`. None takes a decision tree
        of depth 1.
    n_estimators : int, default=20
        The number of rounds N.
    random_state : int, RandomState instance or None, default=None
        Seed of the classifiers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    estimators_ : list of classifier
        The classifier of each round; it knows classes by their index.
    estimator_errors_ : ndarray of shape (n_estimators,)
        Their weighted errors on labelled rows of the target.
    estimator_weights_ : ndarray of shape (n_estimators,)
        Their votes; zero in the first half.
    sample_weights_ : ndarray of shape (n_samples,)
        Final weights of the training rows, with sum 1; zero for unlabelled ones.
    domains_ : ndarray of int
        The domains seen in fit.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    Warns
    -----
    UserWarning
        If no round did better than guessing.

    References
    ----------
    .. [1] W. Dai, Q. Yang, G.-R. Xue, Y. Yu, "Boosting for transfer learning", ICML
       2007. :doi:`10.1145/1273496.1273521`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import TrAdaBoostClassifier, stack_domains
    >>> rng = np.random.default_rng(0)
    >>> X_source = rng.normal(size=(200, 2))
    >>> y_source = (X_source[:, 0] > 0).astype(int)
    >>> X_target = rng.normal(size=(100, 2))
    >>> y_target = (X_target[:, 0] > 0.5).astype(int)  # the threshold moved
    >>> few = np.where(np.arange(100) < 20, y_target, -1)
    >>> X, y, sample_domain = stack_domains(X_source, y_source, X_target, few)
    >>> model = TrAdaBoostClassifier(random_state=0)
    >>> model = model.fit(X, y, sample_domain=sample_domain)
    >>> bool(model.score(X_target, y_target) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        **usual("n_estimators", "random_state"),
    }

    def __init__(
        self, estimator: Any = None, *, n_estimators: int = 20, random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.random_state = random_state

    def _learn(self, X: Any, labels: Labels, domains: NDArray[np.intp]) -> None:
        self._labeled_target(labels, domains)
        rows = labels.labeled
        base = DecisionTreeClassifier(max_depth=1)
        rounds = tradaboost(
            base if self.estimator is None else self.estimator,
            X[rows],
            labels.codes[rows],
            domains[rows] > 0,
            n_classes=labels.classes.size,
            n_estimators=self.n_estimators,
            random_state=self.random_state,
        )
        self.estimators_ = rounds.estimators
        self.estimator_errors_ = rounds.errors
        votes = -rounds.log_betas
        votes[: math.ceil(self.n_estimators / 2) - 1] = 0
        self.estimator_weights_ = votes
        if votes.sum() <= votes.size * 10 * MARGIN:
            warnings.warn(
                "No round did better than guessing on the target: use a stronger "
                "estimator.",
                stacklevel=3,
            )
        last = rounds.log_weights[-1]
        self.sample_weights_ = np.zeros(X.shape[0])
        self.sample_weights_[rows] = np.exp(last - last.max())
        self.sample_weights_ /= self.sample_weights_.sum()

    def _decision(self, X: Any) -> NDArray[Any]:
        votes = np.zeros((X.shape[0], self.classes_.size))
        for model, vote in zip(self.estimators_, self.estimator_weights_, strict=True):
            if vote > 0:
                votes[np.arange(X.shape[0]), vote_of(model, X)] += vote
        votes /= max(self.estimator_weights_.sum(), MARGIN)
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes
