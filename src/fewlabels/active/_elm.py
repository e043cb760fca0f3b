"""Extreme learning machines: a random hidden layer, followed by least squares."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.extmath import safe_sparse_dot

from fewlabels._classifier import DecisionClassifier, as_decision
from fewlabels._labels import decide, signed_targets, validate_partially_labeled
from fewlabels._linalg import FLOATS, ROUNDING
from fewlabels._sklearn import (
    Interval,
    StrOptions,
    fit_context,
    validate_data,
    validate_fitted,
)

ACTIVATIONS: dict[str, Any] = {
    "sigmoid": expit,
    "tanh": np.tanh,
    "relu": lambda Z: np.maximum(Z, 0),
    "sin": np.sin,
}


class HiddenLayer(NamedTuple):
    """A layer of random nodes, :math:`h(x) = G(x A + b)`.

    Attributes
    ----------
    weights : ndarray of shape (n_features, n_hidden)
        The weights A.
    biases : ndarray of shape (n_hidden,)
        The biases b.
    activation : str
        The function G.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.active import HiddenLayer
    >>> layer = HiddenLayer(np.eye(2), np.zeros(2), "relu")
    >>> layer(np.array([[1.0, -1.0]]))
    array([[1., 0.]])
    """

    weights: NDArray[np.float64]
    biases: NDArray[np.float64]
    activation: str

    def __call__(self, X: Any) -> NDArray[np.float64]:
        """Compute the outputs of the layer."""
        Z = safe_sparse_dot(X, self.weights, dense_output=True) + self.biases
        return ACTIVATIONS[self.activation](np.asarray(Z, dtype=np.float64))


def _spread(X: Any) -> float:
    """Return the deviation of all values; their size if constant, and 0 for zeros."""
    values = X.data if issparse(X) else X.ravel()
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    values = values.astype(np.float64) / largest
    n = X.shape[0] * X.shape[1]  # a sparse matrix does not store its zeros
    mean = values.sum() / n
    variance = (np.sum((values - mean) ** 2) + (n - values.size) * mean**2) / n
    return largest * (np.sqrt(variance) if variance > ROUNDING**2 else 1.0)


def random_layer(
    X: Any,
    n_hidden: int,
    activation: str,
    weight_scale: float | None,
    random_state: Any,
) -> HiddenLayer:
    """Draw the weights of a hidden layer."""
    rng = check_random_state(random_state)
    d = X.shape[1]
    if weight_scale is None:
        spread = _spread(X)
        weight_scale = 2 / (np.sqrt(d) * spread) if spread > 0 else 1.0
    weights = rng.normal(scale=weight_scale, size=(d, n_hidden))
    return HiddenLayer(weights, rng.uniform(-1, 1, size=n_hidden), activation)


def elm_weights(
    H: NDArray[Any], Y: NDArray[Any], *, alpha: float = 0.01
) -> NDArray[np.float64]:
    r"""Compute the output weights of an extreme learning machine.

    .. math::
        B = (H^\top H + \lambda I)^{-1} H^\top Y = H^\top (H H^\top + \lambda I)^{-1} Y

    The two forms are equal for every :math:`\lambda > 0`, even if a Gram matrix is
    singular; the smaller system is solved. :math:`\lambda = 0` gives
    :math:`B = H^+ Y`.

    Parameters
    ----------
    H : ndarray of shape (n_samples, n_hidden)
        Outputs of the hidden layer.
    Y : ndarray of shape (n_samples, n_targets)
        Targets.
    alpha : float, default=0.01
        The ridge :math:`\lambda`, which is 1 / C.

    Returns
    -------
    B : ndarray of shape (n_hidden, n_targets)
        The weights.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.active import elm_weights
    >>> elm_weights(np.eye(2), np.array([[2.0], [4.0]]), alpha=1.0)
    array([[1.],
           [2.]])
    """
    if alpha < 0:
        raise ValueError(f"alpha must be >= 0, got {alpha}.")
    if alpha == 0:
        return linalg.lstsq(H, Y)[0]
    wide = H.shape[0] < H.shape[1]
    G = H @ H.T if wide else H.T @ H
    G[np.diag_indices_from(G)] += alpha
    if wide:
        return H.T @ linalg.solve(G, Y, assume_a="pos")
    return linalg.solve(G, H.T @ Y, assume_a="pos")


class ELMState(NamedTuple):
    r"""Output weights that can be updated with further rows.

    Attributes
    ----------
    B : ndarray of shape (n_hidden, n_targets)
        Output weights.
    inverse : ndarray of shape (n_hidden, n_hidden)
        :math:`(H^\top H + \lambda I)^{-1}` of the rows so far.
    """

    B: NDArray[np.float64]
    inverse: NDArray[np.float64]


def elm_start(H: NDArray[Any], Y: NDArray[Any], *, alpha: float = 0.01) -> ELMState:
    """Compute the output weights of the first rows, for later updates.

    Parameters
    ----------
    H : ndarray of shape (n_samples, n_hidden)
        Outputs of the hidden layer.
    Y : ndarray of shape (n_samples, n_targets)
        Targets.
    alpha : float, default=0.01
        The ridge, larger than 0.

    Returns
    -------
    state : ELMState
        For :func:`elm_update`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.active import elm_start
    >>> elm_start(np.eye(2), np.array([[2.0], [4.0]]), alpha=1.0).B
    array([[1.],
           [2.]])
    """
    if alpha <= 0:
        raise ValueError(f"alpha must be positive to add rows later, got {alpha}.")
    G = H.T @ H
    G[np.diag_indices_from(G)] += alpha
    inverse = linalg.inv(G)
    return ELMState(inverse @ (H.T @ Y), (inverse + inverse.T) / 2)


def elm_update(state: ELMState, H: NDArray[Any], Y: NDArray[Any]) -> ELMState:
    r"""Update the output weights with further rows, without the old ones.

    With :math:`P = (H^\top H + \lambda I)^{-1}` of the old rows and a new block
    :math:`(H_+, Y_+)`, by Woodbury's formula,

    .. math::
        P \leftarrow P - P H_+^\top (I + H_+ P H_+^\top)^{-1} H_+ P, \qquad
        B \leftarrow B + P H_+^\top (Y_+ - H_+ B) .

    Parameters
    ----------
    state : ELMState
        From :func:`elm_start` or an earlier update.
    H : ndarray of shape (n_new, n_hidden)
        Outputs of the hidden layer for the new rows.
    Y : ndarray of shape (n_new, n_targets)
        Their targets.

    Returns
    -------
    state : ELMState
        The same as from all rows at once.

    References
    ----------
    .. [1] N.-Y. Liang, G.-B. Huang, P. Saratchandran, N. Sundararajan, "A fast and
       accurate online sequential learning algorithm for feedforward networks", IEEE
       Transactions on Neural Networks 17 (2006). :doi:`10.1109/TNN.2006.880583`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.active import elm_start, elm_update
    >>> first = elm_start(np.array([[1.0, 0.0]]), np.array([[2.0]]), alpha=1.0)
    >>> elm_update(first, np.array([[0.0, 1.0]]), np.array([[4.0]])).B
    array([[1.],
           [2.]])
    """
    P = state.inverse
    PH = P @ H.T
    S = H @ PH
    S[np.diag_indices_from(S)] += 1
    P = P - PH @ linalg.solve(S, PH.T, assume_a="pos")
    P = (P + P.T) / 2
    return ELMState(state.B + P @ (H.T @ (Y - H @ state.B)), P)


class _ExtremeLearning:
    """Base of both machines: parameters, the layer, and its outputs."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_hidden": [Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "weight_scale": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }
    layer_: HiddenLayer
    coef_: NDArray[np.float64]

    def __init__(
        self,
        n_hidden: int = 200,
        *,
        activation: str = "sigmoid",
        alpha: float = 0.01,
        weight_scale: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.alpha = alpha
        self.weight_scale = weight_scale
        self.random_state = random_state

    def _layer(self, X: Any, random_state: Any) -> HiddenLayer:
        return random_layer(
            X, self.n_hidden, self.activation, self.weight_scale, random_state
        )

    def _validated(self, X: Any) -> Any:
        return validate_fitted(self, X, accept_sparse="csr", dtype=FLOATS)

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        return self.layer_(X) @ self.coef_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


class ELMRegressor(_ExtremeLearning, MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Extreme learning machine for regression.

    A hidden layer with random weights that are never trained, and ridge regression on
    its outputs,

    .. math:: \min_B \|H B - Y\|^2 + \lambda \|B\|^2, \qquad h(x) = G(x A + b) .

    Parameters
    ----------
    n_hidden : int, default=200
        Number of hidden nodes.
    activation : {"sigmoid", "tanh", "relu", "sin"}, default="sigmoid"
        The function G.
    alpha : float, default=0.01
        The ridge, 1 / C; 0 interpolates if there are more nodes than rows.
    weight_scale : float, default=None
        Standard deviation of the random weights. None takes
        2 / sqrt(n_features * X.var()).
    random_state : int, RandomState instance or None, default=None
        Seed of the layer.

    Attributes
    ----------
    layer_ : HiddenLayer
        The layer, a function of rows.
    coef_ : ndarray of shape (n_hidden,) or (n_hidden, n_targets)
        The output weights B.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    ELMClassifier : The same for classification.

    References
    ----------
    .. [1] G.-B. Huang, H. Zhou, X. Ding, R. Zhang, "Extreme learning machine for
       regression and multiclass classification", IEEE Transactions on Systems, Man, and
       Cybernetics B 42 (2012). :doi:`10.1109/TSMCB.2011.2168604`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.active import ELMRegressor
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> bool(ELMRegressor(alpha=1e-6, random_state=0).fit(X, y).score(X, y) > 0.99)
    True
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Draw the layer and fit the output weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=FLOATS,
            multi_output=True,
            y_numeric=True,
        )
        self.layer_ = self._layer(X, self.random_state)
        Y = np.asarray(y, dtype=np.float64)
        B = elm_weights(self.layer_(X), Y.reshape(X.shape[0], -1), alpha=self.alpha)
        self.coef_ = B if Y.ndim > 1 else B[:, 0]
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            The predictions.
        """
        return self._outputs(self._validated(X))


def elm_probabilities(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Class probabilities from outputs, :math:`\sigma(f_c) / \sum_j \sigma(f_j)`."""
    if outputs.shape[1] == 1:
        return np.hstack([expit(-outputs), expit(outputs)])
    P = expit(outputs)
    return P / P.sum(axis=1, keepdims=True)


class ELMClassifier(_ExtremeLearning, DecisionClassifier):
    r"""Extreme learning machine for classification.

    One-vs-rest targets of -1 and +1 are fitted as in :class:`ELMRegressor`, on the
    labelled rows. Probabilities are :math:`\sigma(f_c) / \sum_j \sigma(f_j)`; they
    rank classes like the outputs, and are not calibrated.

    Parameters
    ----------
    n_hidden : int, default=200
        Number of hidden nodes.
    activation : {"sigmoid", "tanh", "relu", "sin"}, default="sigmoid"
        Function of a node.
    alpha : float, default=0.01
        The ridge, 1 / C.
    weight_scale : float, default=None
        Standard deviation of the random weights. None takes
        2 / sqrt(n_features * X.var()).
    random_state : int, RandomState instance or None, default=None
        Seed of the layer.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    layer_ : HiddenLayer
        The layer, a function of rows.
    coef_ : ndarray of shape (n_hidden, n_targets)
        The output weights; one column for two classes.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    ActiveELMClassifier : Asks for the labels it needs.

    References
    ----------
    .. [1] G.-B. Huang, H. Zhou, X. Ding, R. Zhang, "Extreme learning machine for
       regression and multiclass classification", IEEE Transactions on Systems, Man, and
       Cybernetics B 42 (2012). :doi:`10.1109/TSMCB.2011.2168604`

    Examples
    --------
    >>> from fewlabels.active import ELMClassifier
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> bool(ELMClassifier(random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Draw the layer and fit the output weights to the labelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, labelled and unlabelled.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = validate_partially_labeled(
            self, X, y, accept_sparse="csr", dtype=FLOATS
        )
        self.classes_ = labels.classes
        self.layer_ = self._layer(X, self.random_state)
        H = self.layer_(X)
        Y = signed_targets(labels.codes, self.classes_.size)
        rows = labels.labeled
        self.coef_ = elm_weights(H[rows], Y[rows], alpha=self.alpha)
        self.transduction_ = labels.completed(
            lambda free: decide(as_decision(H[free] @ self.coef_), self.classes_)
        )
        return self

    def _decision(self, X: Any) -> NDArray[np.float64]:
        return as_decision(self._outputs(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Turn outputs into probabilities of classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        outputs = self._outputs(self._validated(X))
        if self.classes_.size == 1:
            return np.ones((outputs.shape[0], 1))
        return elm_probabilities(outputs)
