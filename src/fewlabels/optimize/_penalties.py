"""Penalties on coefficients, and their proximal maps."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._params import check_number


def soft_threshold(v: NDArray[Any], t: float | NDArray[Any]) -> NDArray[Any]:
    """Shrink towards zero by t; what is smaller becomes zero.

    Parameters
    ----------
    v : ndarray
        Numbers.
    t : float or ndarray
        Thresholds, not negative.

    Returns
    -------
    shrunk : ndarray
        The sign of v times the larger of abs(v) - t and 0.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import soft_threshold
    >>> soft_threshold(np.array([-3.0, 0.5, 2.0]), 1.0)
    array([-2.,  0.,  1.])
    """
    # Exact where v is beyond the threshold, and exactly zero within.
    return v - np.clip(v, -t, t)


class ElasticNetPenalty:
    r"""A penalty on absolute values and squares of coefficients.

    .. math::
        h(w) = \alpha \sum_j c_j \big( \rho |w_j| + \tfrac{1 - \rho}{2} w_j^2 \big)

    Parameters
    ----------
    alpha : float, default=1.0
        How much it counts, not negative.
    l1_ratio : float, default=0.5
        The share :math:`\rho` of absolute values, from 0 to 1.
    weights : array-like of shape (n_features,), default=None
        Weights :math:`c_j` of the coefficients, not negative; None for ones. Zero
        leaves a coefficient, such as the intercept, free.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import ElasticNetPenalty
    >>> penalty = ElasticNetPenalty(1.0, l1_ratio=0.5)
    >>> penalty.value(np.array([1.0, -2.0]))
    2.75
    >>> penalty.prox(np.array([1.0, -0.2]), 1.0)
    array([0.33333333, 0.        ])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        l1_ratio: float = 0.5,
        weights: ArrayLike | None = None,
    ) -> None:
        check_number("alpha", alpha, 0)
        check_number("l1_ratio", l1_ratio, 0, 1)
        self.alpha, self.l1_ratio = float(alpha), float(l1_ratio)
        self.weights = None if weights is None else np.asarray(weights, np.float64)
        if self.weights is not None and not (
            np.all(np.isfinite(self.weights)) and np.all(self.weights >= 0)
        ):
            raise ValueError("weights must be finite and not negative.")

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(alpha={self.alpha:g}, l1_ratio={self.l1_ratio:g})"
        )

    def coefficients(
        self, n_features: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Write the penalty as :math:`\sum_j a_j |w_j| + \tfrac12 b_j w_j^2`.

        Parameters
        ----------
        n_features : int
            Number of coefficients.

        Returns
        -------
        l1 : ndarray of shape (n_features,)
            The factors a of the absolute values.
        l2 : ndarray of shape (n_features,)
            The factors b of the squares.
        """
        c = np.ones(n_features) if self.weights is None else self.weights
        if c.shape != (n_features,):
            raise ValueError(
                f"weights has shape {c.shape}, but there are {n_features} coefficients."
            )
        total = self.alpha * c
        return total * self.l1_ratio, total * (1 - self.l1_ratio)

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of the gradient; infinite with absolute values."""
        if self.alpha * self.l1_ratio > 0:
            return np.inf
        largest = 1.0 if self.weights is None else float(np.max(self.weights))
        return self.alpha * (1 - self.l1_ratio) * largest

    def value(self, w: NDArray[Any]) -> float:
        """Compute the penalty.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
            Coefficients.

        Returns
        -------
        value : float
            The penalty.
        """
        l1, l2 = self.coefficients(w.shape[0])
        return float(l1 @ np.abs(w) + 0.5 * (l2 @ w**2))

    def prox(self, v: NDArray[Any], t: float | NDArray[Any]) -> NDArray[Any]:
        r"""Compute :math:`\arg\min_w \tfrac12 \|w - v\|^2 + t \, h(w)`.

        Parameters
        ----------
        v : ndarray of shape (n_features,)
            A point.
        t : float or ndarray of shape (n_features,)
            How much the penalty counts, not negative; perhaps by coefficient.

        Returns
        -------
        w : ndarray of shape (n_features,)
            The minimiser.
        """
        l1, l2 = self.coefficients(v.shape[0])
        return soft_threshold(v, t * l1) / (1 + t * l2)

    def conjugate(self, u: NDArray[Any]) -> float:
        r"""Compute :math:`h^*(u) = \sup_w u^\top w - h(w)`.

        Parameters
        ----------
        u : ndarray of shape (n_features,)
            Slopes.

        Returns
        -------
        value : float
            The conjugate, infinite where the supremum is.
        """
        l1, l2 = self.coefficients(u.shape[0])
        excess = np.maximum(np.abs(u) - l1, 0.0)
        if np.any(excess[l2 == 0] > 0):
            return np.inf
        curved = l2 > 0
        return float(np.sum(excess[curved] ** 2 / (2 * l2[curved])))

    def violation(self, w: NDArray[Any], gradient: NDArray[Any]) -> float:
        r"""Tell how far w is from a minimiser of f + h.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
            Coefficients.
        gradient : ndarray of shape (n_features,)
            The gradient of f at w.

        Returns
        -------
        violation : float
            Distance of :math:`-\nabla f(w)` to the subdifferential of h at w, in the
            maximum norm; 0 at a minimiser.
        """
        l1, l2 = self.coefficients(w.shape[0])
        moved = gradient + l2 * w
        miss = np.where(
            w == 0, np.maximum(np.abs(moved) - l1, 0.0), np.abs(moved + l1 * np.sign(w))
        )
        return float(np.max(miss, initial=0.0))


class L1Penalty(ElasticNetPenalty):
    r"""The penalty :math:`\alpha \sum_j c_j |w_j|`, which makes coefficients zero.

    Parameters
    ----------
    alpha : float, default=1.0
        How much it counts, not negative.
    weights : array-like of shape (n_features,), default=None
        Weights :math:`c_j` of the coefficients; None for ones.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import L1Penalty
    >>> L1Penalty(0.5).prox(np.array([2.0, -0.25]), 1.0)
    array([1.5, 0. ])
    """

    def __init__(self, alpha: float = 1.0, weights: ArrayLike | None = None) -> None:
        super().__init__(alpha, 1.0, weights)


class L2Penalty(ElasticNetPenalty):
    r"""The penalty :math:`\tfrac12 \alpha \sum_j c_j w_j^2`.

    Parameters
    ----------
    alpha : float, default=1.0
        How much it counts, not negative.
    weights : array-like of shape (n_features,), default=None
        Weights :math:`c_j` of the coefficients; None for ones.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import L2Penalty
    >>> L2Penalty(1.0).prox(np.array([2.0, -1.0]), 1.0)
    array([ 1. , -0.5])
    """

    def __init__(self, alpha: float = 1.0, weights: ArrayLike | None = None) -> None:
        super().__init__(alpha, 0.0, weights)
