"""Losses: values, derivatives and proximal maps."""

# SPDX-License-Identifier: BSD-3-Clause

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit

from fewlabels._params import check_choice

# Halvings of the bracket of a root, after which only rounding is left.
_HALVINGS = 100


class Loss(ABC):
    """A convex loss of an output z, given the target y; entry by entry.

    Subclasses are :class:`SquaredLoss`, :class:`LogisticLoss`,
    :class:`SquaredHingeLoss` and :class:`HingeLoss`.

    Attributes
    ----------
    name : str
        The name that problems and estimators know.
    code : int
        The number that compiled loops know.
    curvature : float
        Lipschitz constant of the derivative; infinite where there is a kink.
    is_margin : bool
        Whether targets are -1 and +1 and only the margin y z counts.
    """

    name: ClassVar[str]
    code: ClassVar[int]
    curvature: ClassVar[float]
    is_margin: ClassVar[bool] = True

    @abstractmethod
    def value(self, z: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss.

        Parameters
        ----------
        z : ndarray
            Outputs.
        y : ndarray
            Targets.

        Returns
        -------
        value : ndarray
            The loss of every output.
        """

    @abstractmethod
    def derivative(self, z: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        """Compute the derivative with respect to z; at a kink, one subgradient.

        Parameters
        ----------
        z : ndarray
            Outputs.
        y : ndarray
            Targets.

        Returns
        -------
        derivative : ndarray
            The derivative at every output.
        """

    @abstractmethod
    def prox(self, v: NDArray[Any], t: float, y: NDArray[Any]) -> NDArray[Any]:
        r"""Compute :math:`\arg\min_z \tfrac12 (z - v)^2 + t \, \ell(z, y)`.

        Parameters
        ----------
        v : ndarray
            Points.
        t : float
            How much the loss counts, positive.
        y : ndarray
            Targets.

        Returns
        -------
        z : ndarray
            The minimisers.
        """

    @abstractmethod
    def conjugate(self, u: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        r"""Compute :math:`\ell^*(u) = \sup_z u z - \ell(z, y)`.

        Parameters
        ----------
        u : ndarray
            Slopes.
        y : ndarray
            Targets.

        Returns
        -------
        value : ndarray
            The conjugate at every slope; infinite where no output has that slope.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class SquaredLoss(Loss):
    r"""Half the squared residual, :math:`\tfrac12 (z - y)^2`.

    The half makes the gradient of a row :math:`(x^\top w - y) x`.

    Examples
    --------
    >>> from fewlabels.optimize import SquaredLoss
    >>> SquaredLoss().value(3.0, 1.0)
    2.0
    """

    name, code, curvature, is_margin = "squared", 0, 1.0, False

    def value(self, z: Any, y: Any) -> Any:
        return 0.5 * (z - y) ** 2

    def derivative(self, z: Any, y: Any) -> Any:
        return z - y

    def prox(self, v: Any, t: float, y: Any) -> Any:
        return (v + t * y) / (1 + t)

    def conjugate(self, u: Any, y: Any) -> Any:
        return 0.5 * u**2 + u * y


class LogisticLoss(Loss):
    r"""The logistic loss :math:`\log(1 + e^{-yz})` for targets -1 and +1.

    It is positive at every margin, even for correct decisions.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import LogisticLoss
    >>> np.round(LogisticLoss().value(np.array([0.0, 0.5]), np.ones(2)), 3)
    array([0.693, 0.474])
    """

    name, code, curvature = "logistic", 1, 0.25

    def value(self, z: Any, y: Any) -> Any:
        return np.logaddexp(0.0, -y * z)

    def derivative(self, z: Any, y: Any) -> Any:
        return -y * expit(-y * z)

    def prox(self, v: Any, t: float, y: Any) -> Any:
        # The margin solves m - t expit(-m) = y v, and lies in [y v, y v + t].
        low = np.asarray(y * v, dtype=np.float64)
        start, high = low, low + t
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            below = middle - t * expit(-middle) < start
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return y * 0.5 * (low + high)

    def conjugate(self, u: Any, y: Any) -> Any:
        p = -np.asarray(u * y, dtype=np.float64)
        # -inf outside [0, 1] is how SciPy continues the entropy.
        return -(entr(p) + entr(1 - p))


class SquaredHingeLoss(Loss):
    r"""The squared hinge loss :math:`\max(0, 1 - yz)^2` for targets -1 and +1.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import SquaredHingeLoss
    >>> SquaredHingeLoss().value(np.array([-1.0, 0.5, 2.0]), np.ones(3))
    array([4.  , 0.25, 0.  ])
    """

    name, code, curvature = "squared_hinge", 2, 2.0

    def value(self, z: Any, y: Any) -> Any:
        return np.maximum(0.0, 1 - y * z) ** 2

    def derivative(self, z: Any, y: Any) -> Any:
        return -2 * y * np.maximum(0.0, 1 - y * z)

    def prox(self, v: Any, t: float, y: Any) -> Any:
        m = y * v
        return y * np.where(m >= 1, m, (m + 2 * t) / (1 + 2 * t))

    def conjugate(self, u: Any, y: Any) -> Any:
        a = np.asarray(u * y, dtype=np.float64)
        return np.where(a <= 0, a + 0.25 * a**2, np.inf)


class HingeLoss(Loss):
    r"""The hinge loss :math:`\max(0, 1 - yz)` for targets -1 and +1.

    It has a kink at margin 1: of the solvers here, only
    :func:`~fewlabels.optimize.sgd_minimize` takes it.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import HingeLoss
    >>> HingeLoss().value(np.array([-1.0, 0.5, 2.0]), np.ones(3))
    array([2. , 0.5, 0. ])
    """

    name, code, curvature = "hinge", 3, np.inf

    def value(self, z: Any, y: Any) -> Any:
        return np.maximum(0.0, 1 - y * z)

    def derivative(self, z: Any, y: Any) -> Any:
        return np.where(y * z < 1, -y, 0.0)

    def prox(self, v: Any, t: float, y: Any) -> Any:
        m = y * v
        return y * np.where(m > 1, m, np.minimum(m + t, 1.0))

    def conjugate(self, u: Any, y: Any) -> Any:
        a = np.asarray(u * y, dtype=np.float64)
        return np.where((a >= -1) & (a <= 0), a, np.inf)


LOSSES: dict[str, type[Loss]] = {
    loss.name: loss for loss in (SquaredLoss, LogisticLoss, SquaredHingeLoss, HingeLoss)
}


def resolve_loss(loss: str | Loss) -> Loss:
    """Turn the name of a loss into the loss."""
    if isinstance(loss, Loss):
        return loss
    check_choice("loss", loss, LOSSES)
    return LOSSES[loss]()
