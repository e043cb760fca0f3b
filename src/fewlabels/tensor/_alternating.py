"""Supervised tensor learning with weights of rank one, by alternating projections."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from fewlabels._params import check_choice, usual
from fewlabels._sklearn import StrOptions
from fewlabels._svm import MAX_SVM_ITER
from fewlabels.tensor._algebra import rank_one, unfold
from fewlabels.tensor._linear_classifier import LinearTensorClassifier
from fewlabels.tensor._tensor_rows import START_CONSTRAINTS

Vectors = list[NDArray[np.float64]]


class RankOneSolution(NamedTuple):
    r"""A linear function of tensors with weights of rank one.

    Its values are :math:`\langle X, w_1 \circ \dots \circ w_M \rangle + b`.

    Attributes
    ----------
    weights : list of ndarray of shape (I_m,)
        One vector per mode, all of the same norm.
    intercept : float
        The constant b.
    objectives : ndarray of shape (n_steps,)
        Objective after every step.
    n_iter : int
        Sweeps over the modes.
    converged : bool
        Whether the directions had come to rest.
    """

    weights: Vectors
    intercept: float
    objectives: NDArray[np.float64]
    n_iter: int
    converged: bool


def contract(
    X: NDArray[Any], weights: Sequence[NDArray[Any]], mode: int
) -> NDArray[np.float64]:
    """Contract tensors with a vector in every mode but one."""
    for w in weights[:mode:-1]:
        X = X @ w
    for w in weights[:mode]:
        X = np.tensordot(X, w, axes=(1, 0))
    return X


def starts(T: NDArray[np.float64], n_init: int, random_state: Any) -> list[Vectors]:
    """Where to start: leading singular vectors of a tensor, then random vectors."""
    rng = check_random_state(random_state)
    found = [
        [linalg.svd(unfold(T, m), full_matrices=False)[0][:, 0] for m in range(T.ndim)]
    ]
    for _ in range(n_init - 1):
        drawn = [rng.normal(size=size) for size in T.shape]
        found.append([w / np.linalg.norm(w) for w in drawn])
    return found


def _balanced(weights: Vectors) -> Vectors:
    """Give all vectors the same norm; their outer product stays as it is."""
    norms = np.array([np.linalg.norm(w) for w in weights])
    if not norms.all():
        return [np.zeros_like(w) for w in weights]
    common = np.exp(np.log(norms).mean())
    return [w * (common / norm) for w, norm in zip(weights, norms, strict=True)]


class _Loss(NamedTuple):
    """A convex loss: its value, and the linear model that minimises it."""

    value: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
    model: Callable[[float], Any]


# libsvm holds kernels in single precision. A larger share of the objective than this
# is too large a gap.
GAP = 1e-3

# Each model minimises 0.5 |v|^2 + C sum(value(y, f)), with a free intercept, and
# closely enough that the objective never rises visibly.
_LOSSES = {
    "hinge": _Loss(
        lambda y, f: np.maximum(0, 1 - y * f),
        lambda C: SVC(kernel="linear", C=C, tol=1e-6, max_iter=MAX_SVM_ITER),
    ),
    "logistic": _Loss(
        lambda y, f: np.logaddexp(0, -y * f),
        lambda C: LogisticRegression(C=C, tol=1e-8, max_iter=10_000),
    ),
    "squared": _Loss(
        lambda y, f: (y - f) ** 2, lambda C: Ridge(alpha=1 / (2 * C), solver="svd")
    ),
}


def support_tensor_machine(
    X: NDArray[Any],
    y: NDArray[Any],
    *,
    C: float = 1.0,
    loss: str = "hinge",
    n_init: int = 1,
    max_iter: int = 100,
    tol: float = 1e-6,
    random_state: Any = None,
) -> RankOneSolution:
    r"""Find weights of rank one for a convex loss.

    .. math:: \min_{w_1, \dots, w_M, b} \; \frac12 \prod_m \|w_m\|^2
       + C \sum_i \ell\bigl(y_i, \langle X_i, w_1 \circ \dots \circ w_M \rangle
       + b\bigr)

    With all vectors but one fixed, this is an ordinary problem for vectors: the tensors
    are contracted with the fixed vectors to :math:`\xi_i`, and with :math:`\eta =
    \prod_{k \ne j} \|w_k\|^2` a linear model with the features :math:`\xi_i /
    \sqrt\eta` gives v and :math:`w_j = v / \sqrt\eta`. The objective never rises.

    Parameters
    ----------
    X : ndarray of shape (n_samples, I_1, ..., I_M)
        Tensors.
    y : ndarray of shape (n_samples,)
        Classes, -1 and +1, both of which must occur.
    C : float, default=1.0
        Price of the loss.
    loss : {"hinge", "logistic", "squared"}, default="hinge"
        The loss.
    n_init : int, default=1
        Starts: the singular vectors of the difference of the class means, then random
        ones. The best counts.
    max_iter : int, default=100
        Largest number of sweeps over the modes.
    tol : float, default=1e-6
        Stop when the cosine of every vector with itself one sweep before is this close
        to one.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts.

    Returns
    -------
    solution : RankOneSolution
        Vectors, intercept and objectives.

    References
    ----------
    .. [1] D. Tao, X. Li, X. Wu, W. Hu, S. J. Maybank, "Supervised tensor learning",
       Knowledge and Information Systems 13 (2007). :doi:`10.1007/s10115-006-0050-6`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import support_tensor_machine
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5, 4))
    >>> y = np.where(X[:, 2, 1] > 0, 1, -1)
    >>> solution = support_tensor_machine(X, y)
    >>> [int(abs(w).argmax()) for w in solution.weights]
    [2, 1]
    """
    check_choice("loss", loss, _LOSSES)
    difference = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
    # A single mode is a convex problem: all starts end in the same place.
    n_init = 1 if difference.ndim == 1 else n_init
    runs = [
        _descend(X, y, C, _LOSSES[loss], start, max_iter, tol)
        for start in starts(difference, n_init, random_state)
    ]
    return min(runs, key=lambda run: run.objectives[-1])


def _descend(
    X: NDArray[Any],
    y: NDArray[Any],
    C: float,
    loss: _Loss,
    weights: Vectors,
    max_iter: int,
    tol: float,
) -> RankOneSolution:
    objectives: list[float] = []
    intercept, solved = 0.0, True
    for n_iter in range(1, max_iter + 1):
        previous = weights
        weights = list(weights)
        for j in range(len(weights)):
            others = [np.linalg.norm(w) for k, w in enumerate(weights) if k != j]
            scale = float(np.prod(others))
            features = contract(X, weights, j) / (scale if scale > 0 else 1.0)
            # Far from the origin and in large units solvers are slow; the intercept is
            # free, and C scales with the unit.
            center = features.mean(axis=0)
            unit = np.exp2(np.ceil(np.log2(np.abs(features - center).max() or 1.0)))
            model = loss.model(C * unit**2).fit((features - center) / unit, y)
            solved = _is_solved(model, (features - center) / unit, y)
            v = np.ravel(model.coef_) / unit
            intercept = float(np.ravel(model.intercept_)[0] - center @ v)
            weights[j] = v / scale if scale > 0 else np.zeros_like(v)
            outputs = features @ v + intercept
            objectives.append(float(0.5 * v @ v + C * loss.value(y, outputs).sum()))
        weights = _balanced(weights)
        if _at_rest(weights, previous, tol):
            return RankOneSolution(
                weights, intercept, np.array(objectives), n_iter, solved
            )
    return RankOneSolution(weights, intercept, np.array(objectives), max_iter, False)


def _is_solved(model: Any, X: NDArray[Any], y: NDArray[Any]) -> bool:
    """Whether a support vector machine has closed its gap; others warn themselves."""
    if not isinstance(model, SVC):
        return True
    size = float(np.sum(model.coef_**2))
    loss = model.C * _LOSSES["hinge"].value(y, model.decision_function(X)).sum()
    gap = size + loss - np.abs(model.dual_coef_).sum()
    return bool(gap <= GAP * (0.5 * size + loss))


def _at_rest(weights: Vectors, previous: Vectors, tol: float) -> bool:
    for w, old in zip(weights, previous, strict=True):
        size = np.linalg.norm(w) * np.linalg.norm(old)
        if size > 0 and abs(w @ old) < (1 - tol) * size:
            return False
    return True


class SupportTensorMachine(LinearTensorClassifier):
    r"""Support tensor machine: a linear classifier of tensors with weights of rank one.

    .. math:: \min_{w_1, \dots, w_M, b} \; \frac12 \prod_m \|w_m\|^2 + C \sum_i
       \ell\bigl(y_i, \langle X_i, w_1 \circ \dots \circ w_M \rangle + b\bigr)

    It has :math:`I_1 + \dots + I_M` weights where a linear classifier of the entries
    has their product: a good choice for few labels and a separable signal, such as some
    sensors at some times. See :func:`support_tensor_machine`. More than two classes are
    one-vs-rest problems.

    Parameters
    ----------
    C : float, default=1.0
        Price of the loss.
    loss : {"hinge", "logistic", "squared"}, default="hinge"
        The loss.
    shape : tuple of int, default=None
        Shape of the tensors where `X` holds their entries as rows; None takes it from
        an `X` with more than two dimensions, and rows as tensors of one mode.
    n_init : int, default=1
        Starts: the singular vectors of the difference of the class means, then random
        ones. The best counts.
    max_iter : int, default=100
        Largest number of sweeps over the modes.
    tol : float, default=1e-6
        Stop when the cosine of every vector with itself one sweep before is this close
        to one.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    coef_ : ndarray of shape (n_problems, I_1, ..., I_M)
        Weights, one problem for two classes, else one per class.
    intercept_ : ndarray of shape (n_problems,)
        Constants.
    solutions_ : list of RankOneSolution
        Vectors and objectives of every problem.
    n_iter_ : int
        Largest number of sweeps of a problem.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    tensor_shape_ : tuple of int
        Shape of the tensors.
    n_features_in_ : int
        Number of entries of a tensor.
    feature_names_in_ : ndarray of shape (n_entries,)
        Names of the columns, where `X` had any.

    See Also
    --------
    TensorFisherDiscriminant : The same form of weights by another criterion.
    CPRidgeRegressor : Weights of higher rank, for real targets.
    sklearn.svm.SVC : What it is for tensors of one mode.

    Notes
    -----
    The problem is not convex in all vectors together. Each step solves its part of it
    exactly, and the result may depend on the start: if in doubt, raise `n_init`.

    References
    ----------
    .. [1] D. Tao, X. Li, X. Wu, W. Hu, S. J. Maybank, "Supervised tensor learning",
       Knowledge and Information Systems 13 (2007). :doi:`10.1007/s10115-006-0050-6`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import SupportTensorMachine
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 10, 10))
    >>> y = (X[:, :3, 5:].sum(axis=(1, 2)) > 0).astype(int)
    >>> model = SupportTensorMachine().fit(X[:100], y[:100])
    >>> bool(model.score(X[100:], y[100:]) > 0.9)
    True
    >>> rows = X.reshape(400, -1)  # the same through a pipeline
    >>> flat = SupportTensorMachine(shape=(10, 10)).fit(rows[:100], y[:100])
    >>> bool((flat.predict(rows) == model.predict(X)).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **START_CONSTRAINTS,
        **usual("C"),
        "loss": [StrOptions(set(_LOSSES))],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "hinge",
        shape: Any = None,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.shape = shape
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _solve(
        self, X: NDArray[np.float64], y: NDArray[np.float64], rng: Any
    ) -> tuple[RankOneSolution, NDArray[np.float64], float]:
        params = self._solver_params() | {"random_state": rng}
        solution = support_tensor_machine(X, y, **params)
        return solution, rank_one(solution.weights), solution.intercept
