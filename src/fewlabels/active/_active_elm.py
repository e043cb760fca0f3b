"""An extreme learning machine that queries and learns row by row."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fewlabels._classifier import as_decision
from fewlabels._labels import decide, encode_labels, signed_targets
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import Interval, validate_data
from fewlabels.active._elm import (
    ELMClassifier,
    elm_probabilities,
    elm_start,
    elm_update,
)
from fewlabels.active._loop import QueryLoop
from fewlabels.active._query import Query
from fewlabels.active._utilities import margin, select_batch


class ActiveELMClassifier(QueryLoop, ELMClassifier):
    r"""An extreme learning machine that asks for the labels it needs (AL-ELM).

    The random hidden layer stays the same, so its outputs for all rows are computed
    once. In every round the rows with the smallest margin between the two most
    probable classes are queried, and their labels update the output weights by
    Woodbury's formula, see :func:`elm_update`: old rows are not used again.

    Parameters
    ----------
    n_hidden : int, default=200
        Number of hidden nodes.
    activation : {"sigmoid", "tanh", "relu", "sin"}, default="sigmoid"
        Function of a node.
    alpha : float, default=0.01
        The ridge, 1 / C, larger than 0.
    weight_scale : float, default=None
        Standard deviation of the random weights. None takes
        2 / sqrt(n_features * X.var()).
    batch_size : int, default=1
        Rows per round.
    budget : int, default=None
        Largest number of rows to ask about; None continues until all rows have a label.
    tol : float, default=None
        Stop after `patience` rounds in each of which at most this share of the
        predictions for unlabelled rows has changed.
    patience : int, default=3
        See `tol`.
    random_state : int, RandomState instance or None, default=None
        Seed of the layer, of ties and of the first queries.

    Attributes
    ----------
    layer_, coef_, classes_, transduction_
        See :class:`ELMClassifier`.
    y_, history_, n_queries_, declined_, stop_reason_, X_
        See :class:`ActiveLearner`.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    References
    ----------
    .. [1] H. Yu, C. Sun, W. Yang, X. Yang, X. Zuo, "AL-ELM: one uncertainty-based
       active learning algorithm using extreme learning machine", Neurocomputing 166
       (2015). :doi:`10.1016/j.neucom.2015.04.019`

    Examples
    --------
    >>> from fewlabels.active import ActiveELMClassifier
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> X, y_true = make_moons(200, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=4, random_state=0)
    >>> model = ActiveELMClassifier(budget=26, random_state=0)
    >>> model = model.fit(X, y, oracle=lambda rows: y_true[rows])
    >>> bool(model.score(X, y_true) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ELMClassifier._parameter_constraints,
        **QueryLoop._loop_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_hidden: int = 200,
        *,
        activation: str = "sigmoid",
        alpha: float = 0.01,
        weight_scale: float | None = None,
        batch_size: int = 1,
        budget: int | None = None,
        tol: float | None = None,
        patience: int = 3,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_hidden,
            activation=activation,
            alpha=alpha,
            weight_scale=weight_scale,
            random_state=random_state,
        )
        self.batch_size = batch_size
        self.budget = budget
        self.tol = tol
        self.patience = patience

    def _read(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=FLOATS)

    def _start(self) -> None:
        rng = check_random_state(self.random_state)
        self.layer_ = self._layer(self.X_, rng)
        self._rng = rng
        self._hidden = self.layer_(self.X_)
        self._state: Any = None
        self.classes_ = np.empty(0)

    def _learn(self, fresh: NDArray[np.intp]) -> None:
        labels = encode_labels(self.y_)
        Y = signed_targets(labels.codes, labels.classes.size)
        if self._state is None or not np.array_equal(labels.classes, self.classes_):
            rows = labels.labeled  # a new class changes all targets
            self._state = elm_start(self._hidden[rows], Y[rows], alpha=self.alpha)
        else:
            self._state = elm_update(self._state, self._hidden[fresh], Y[fresh])
        self.classes_ = labels.classes
        self.coef_ = self._state.B

    def _forget(self) -> None:
        self._state = None

    def _choose(self, n_queries: int, candidates: NDArray[np.intp]) -> Query:
        utilities = np.full(self.y_.size, np.nan)
        P = elm_probabilities(self._hidden[candidates] @ self.coef_)
        utilities[candidates] = margin(P)
        seed = self._rng.randint(2**31)
        places = select_batch(utilities[candidates], n_queries, random_state=seed)
        return Query(candidates[places], utilities)

    def _answers(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return decide(as_decision(self._hidden[rows] @ self.coef_), self.classes_)
