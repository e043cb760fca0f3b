"""Fisher's discriminant for tensors, with weights of rank one."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fewlabels._sklearn import Interval
from fewlabels.tensor._algebra import rank_one
from fewlabels.tensor._alternating import contract, starts
from fewlabels.tensor._linear_classifier import LinearTensorClassifier
from fewlabels.tensor._tensor_rows import START_CONSTRAINTS


class FisherDirection(NamedTuple):
    """A direction of rank one that separates two classes.

    Attributes
    ----------
    weights : list of ndarray of shape (I_m,)
        One vector of length one per mode; the first carries the sign that puts the
        positive class above.
    ratios : ndarray of shape (n_steps,)
        Fisher's criterion after every step.
    n_iter : int
        Sweeps over the modes.
    converged : bool
        Whether the criterion had come to rest.
    """

    weights: list[NDArray[np.float64]]
    ratios: NDArray[np.float64]
    n_iter: int
    converged: bool


def tensor_fisher(
    X: NDArray[Any],
    y: NDArray[Any],
    *,
    shrinkage: float = 1e-2,
    n_init: int = 1,
    max_iter: int = 500,
    tol: float = 1e-6,
    random_state: Any = None,
) -> FisherDirection:
    r"""Find the direction of rank one with the largest Fisher ratio.

    .. math:: \max_{W = w_1 \circ \dots \circ w_M} \;
       J(W) = \frac{\langle M_+ - M_-, W \rangle^2}
       {\sum_i \langle X_i - M, W \rangle^2 + r \|W\|^2}

    with the class means :math:`M_+, M_-` and the mean M of all tensors. With all
    vectors but one fixed, the maximiser is :math:`w_j = (S_j + r I)^{-1} d_j`, where
    the difference of means and the scatter are those of the contracted tensors; J never
    falls. The scatter about M is the total one; the scatter within classes has the same
    maximisers.

    Parameters
    ----------
    X : ndarray of shape (n_samples, I_1, ..., I_M)
        Tensors.
    y : ndarray of shape (n_samples,)
        Classes, -1 and +1, both of which must occur.
    shrinkage : float, default=1e-2
        The ridge r as a share of the total scatter per entry.
    n_init : int, default=1
        Starts: the singular vectors of the difference of the class means, then random
        ones. The best counts.
    max_iter : int, default=500
        Largest number of sweeps over the modes.
    tol : float, default=1e-6
        Stop when a sweep adds less than this share to the criterion.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts.

    Returns
    -------
    direction : FisherDirection
        Vectors and criterion.

    References
    ----------
    .. [1] D. Tao, X. Li, X. Wu, W. Hu, S. J. Maybank, "Supervised tensor learning",
       Knowledge and Information Systems 13 (2007). :doi:`10.1007/s10115-006-0050-6`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import tensor_fisher
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([-1, 1], 100)
    >>> X = rng.normal(size=(200, 5, 4))
    >>> X[:, 2, 1] += 2 * y
    >>> direction = tensor_fisher(X, y)
    >>> [int(abs(w).argmax()) for w in direction.weights]
    [2, 1]
    """
    difference = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
    centred = X - X.mean(axis=0)
    ridge = shrinkage * float((centred**2).sum()) / difference.size
    n_init = 1 if difference.ndim == 1 else n_init
    runs = [
        _ascend(centred, difference, ridge, start, max_iter, tol)
        for start in starts(difference, n_init, random_state)
    ]
    best = max(runs, key=lambda run: run.ratios[-1])
    if np.vdot(rank_one(best.weights), difference) < 0:
        best.weights[0] *= -1
    return best


def _ascend(
    centred: NDArray[np.float64],
    difference: NDArray[np.float64],
    ridge: float,
    weights: list[NDArray[np.float64]],
    max_iter: int,
    tol: float,
) -> FisherDirection:
    ratios: list[float] = []
    for n_iter in range(1, max_iter + 1):
        before = ratios[-1] if ratios else 0.0
        for j in range(len(weights)):
            d = contract(difference[None], weights, j)[0]
            Z = contract(centred, weights, j)
            S = Z.T @ Z + ridge * np.eye(d.size)
            # Where a ridge of zero leaves S singular, the shortest solution counts.
            w = linalg.lstsq(S, d, cond=1e-12)[0]
            ratios.append(float(d @ w))  # J at w = S^-1 d
            norm = np.linalg.norm(w)
            if norm == 0:  # the contracted means do not differ
                return FisherDirection(weights, np.array(ratios), n_iter, True)
            weights[j] = w / norm
        if ratios[-1] - before <= tol * ratios[-1]:
            return FisherDirection(weights, np.array(ratios), n_iter, True)
    return FisherDirection(weights, np.array(ratios), max_iter, False)


class TensorFisherDiscriminant(LinearTensorClassifier):
    r"""Fisher's discriminant for tensors, with a direction of rank one.

    The direction :math:`W = w_1 \circ \dots \circ w_M` maximises the squared distance
    of the projected class means over the scatter of the projections; see
    :func:`tensor_fisher`. A tensor belongs to the class whose projected mean is nearer.
    More than two classes are one-vs-rest problems.

    Parameters
    ----------
    shrinkage : float, default=1e-2
        Ridge as a share of the total scatter per entry; more for few or noisy tensors.
    shape : tuple of int, default=None
        Shape of the tensors where `X` holds their entries as rows; None takes it from
        an `X` with more than two dimensions, and rows as tensors of one mode.
    n_init : int, default=1
        Starts: the singular vectors of the difference of the class means, then random
        ones. The best counts.
    max_iter : int, default=500
        Largest number of sweeps over the modes.
    tol : float, default=1e-6
        Stop when a sweep adds less than this share to the criterion.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    coef_ : ndarray of shape (n_problems, I_1, ..., I_M)
        Directions, one for two classes, else one per class; scaled so that the two
        class means project to -1 and +1.
    intercept_ : ndarray of shape (n_problems,)
        Constants.
    solutions_ : list of FisherDirection
        Vectors and criterion of every problem.
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
    SupportTensorMachine : The same form of weights by another criterion.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : For vectors.

    References
    ----------
    .. [1] D. Tao, X. Li, X. Wu, W. Hu, S. J. Maybank, "Supervised tensor learning",
       Knowledge and Information Systems 13 (2007). :doi:`10.1007/s10115-006-0050-6`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import TensorFisherDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> X = rng.normal(size=(200, 8, 8))
    >>> X[:, :2, 3:6] += 2 * y[:, None, None]
    >>> model = TensorFisherDiscriminant(shrinkage=0.1).fit(X[:60], y[:60])
    >>> bool(model.score(X[60:], y[60:]) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **START_CONSTRAINTS,
        "shrinkage": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        shrinkage: float = 1e-2,
        shape: Any = None,
        n_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.shrinkage = shrinkage
        self.shape = shape
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _solve(
        self, X: NDArray[np.float64], y: NDArray[np.float64], rng: Any
    ) -> tuple[FisherDirection, NDArray[np.float64], float]:
        params = self._solver_params() | {"random_state": rng}
        direction = tensor_fisher(X, y, **params)
        W = rank_one(direction.weights)
        up = float(np.vdot(X[y > 0].mean(axis=0), W))
        down = float(np.vdot(X[y < 0].mean(axis=0), W))
        # The class means go to -1 and +1, so that problems can be compared.
        scale = 2 / (up - down) if up > down else 0.0
        return direction, scale * W, -scale * (up + down) / 2
