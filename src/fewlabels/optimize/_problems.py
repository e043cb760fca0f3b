"""What the solvers minimise: a smooth part with bounds on its curvature, a penalty."""

# SPDX-License-Identifier: BSD-3-Clause

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import column_or_1d

from fewlabels._linalg import eigh_between
from fewlabels._sklearn import check_array
from fewlabels.optimize._blocks import BlockPartition
from fewlabels.optimize._penalties import ElasticNetPenalty, L2Penalty

# The loops' code for a quadratic function, which has no loss.
_QUADRATIC = 4

# Curvatures below this share of the largest are raised to it: still bounds, and a
# column of zeros needs no case of its own.
_FLAT = float(np.finfo(np.float64).eps)


class Smooth(NamedTuple):
    """A smooth function as the loops take it, with the lines of its matrix flat."""

    code: int
    data: NDArray[np.float64]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    dense: bool
    y: NDArray[np.float64]
    share: float


def by_lines(code: int, X: Any, y: NDArray[np.float64], share: float) -> Smooth:
    """Lay out the rows of X, and what belongs to them, for the loops."""
    if sparse.issparse(X):
        return Smooth(code, X.data, X.indices, X.indptr, False, y, share)
    none = np.empty(0, dtype=np.int32)
    flat = np.ascontiguousarray(X).ravel()
    return Smooth(code, flat, none, none, True, y, share)


def largest_eigenvalue(A: NDArray[Any]) -> float:
    """Return the largest eigenvalue of a symmetric positive semidefinite matrix."""
    n = A.shape[0]
    if n == 0:
        return 0.0
    return max(float(eigh_between(A, n - 1, n - 1)[0][0]), 0.0)


def raised(bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace values that are (nearly) zero, so that division is safe."""
    top = np.max(bounds, initial=0.0)
    return np.maximum(bounds, _FLAT * top) if top > 0 else np.ones_like(bounds)


class CompositeProblem(ABC):
    r"""A smooth function plus a penalty, :math:`F(w) = f(w) + h(w)`.

    Attributes
    ----------
    n_features : int
        Number of variables.
    penalty : ElasticNetPenalty
        The penalty h.
    l1 : ndarray of shape (n_features,)
        Factors of the absolute values in h.
    l2 : ndarray of shape (n_features,)
        Factors of half the squares in h.
    """

    n_features: int

    def _set_penalty(self, penalty: ElasticNetPenalty | None) -> None:
        self.penalty = L2Penalty(0.0) if penalty is None else penalty
        self.l1, self.l2 = self.penalty.coefficients(self.n_features)

    def require_smooth(self, solver: str) -> None:
        """Raise where f has a kink, which only a finite sum may have.

        Parameters
        ----------
        solver : str
            Name of the solver, for the message.
        """
        return None

    @abstractmethod
    def smooth_value(self, w: NDArray[Any]) -> float:
        """Compute f.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
            A point.

        Returns
        -------
        value : float
            f(w).
        """

    @abstractmethod
    def gradient(self, w: NDArray[Any]) -> NDArray[Any]:
        """Compute the gradient of f.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
            A point.

        Returns
        -------
        gradient : ndarray of shape (n_features,)
            The gradient of f at w.
        """

    @property
    @abstractmethod
    def lipschitz(self) -> float | None:
        """Lipschitz constant of the gradient of f, None if unknown."""

    def value(self, w: NDArray[Any]) -> float:
        """Compute the objective.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
            A point.

        Returns
        -------
        value : float
            F(w) = f(w) + h(w).
        """
        return self.smooth_value(w) + self.penalty.value(w)

    def violation(self, w: NDArray[Any]) -> float:
        """Tell how far a point is from the condition of a minimiser.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
            A point.

        Returns
        -------
        violation : float
            Largest component of the gradient of f plus the nearest subgradient of
            h; 0 at a minimiser.
        """
        return self.penalty.violation(w, self.gradient(w))

    def inspect(self, w: NDArray[Any]) -> tuple[float, float]:
        """Compute the objective and the violation together.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
            A point.

        Returns
        -------
        value : float
            F(w).
        violation : float
            See :meth:`violation`.
        """
        return self.value(w), self.violation(w)

    @cached_property
    def scale(self) -> float:
        """The largest component of the gradient of f at zero; 1 if that is zero."""
        size = float(np.max(np.abs(self.gradient(np.zeros(self.n_features)))))
        return size if np.isfinite(size) and size > 0 else 1.0


class SmoothProblem(CompositeProblem):
    """A function of your own, for :func:`gradient_descent`.

    Parameters
    ----------
    value : callable
        The smooth function f, of an array of shape (n_features,).
    gradient : callable
        Its gradient.
    n_features : int
        Number of variables.
    lipschitz : float, default=None
        Lipschitz constant of the gradient, if it is known.
    penalty : ElasticNetPenalty, default=None
        The penalty h; None for none.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import SmoothProblem, gradient_descent
    >>> problem = SmoothProblem(
    ...     lambda w: float(np.sum(np.cosh(w - 1))), lambda w: np.sinh(w - 1), 2
    ... )
    >>> np.round(gradient_descent(problem, step="backtracking").x, 6)
    array([1., 1.])
    """

    def __init__(
        self,
        value: Callable[[NDArray[Any]], float],
        gradient: Callable[[NDArray[Any]], NDArray[Any]],
        n_features: int,
        *,
        lipschitz: float | None = None,
        penalty: ElasticNetPenalty | None = None,
    ) -> None:
        self._value, self._gradient = value, gradient
        self.n_features, self._lipschitz = n_features, lipschitz
        self._set_penalty(penalty)

    def smooth_value(self, w: NDArray[Any]) -> float:
        return float(self._value(w))

    def gradient(self, w: NDArray[Any]) -> NDArray[Any]:
        return self._gradient(w)

    @property
    def lipschitz(self) -> float | None:
        return self._lipschitz


class CoordinateProblem(CompositeProblem):
    """A problem whose partial derivatives come cheaply, column by column.

    Attributes
    ----------
    code : int
        What the loops call the smooth part.
    share : float
        Factor of the partial derivatives that the loops compute.
    targets : ndarray
        What the loops get as targets.
    is_quadratic : bool
        Whether f is a quadratic function.
    """

    is_quadratic: bool
    code: int
    share: float
    targets: NDArray[np.float64]

    @property
    @abstractmethod
    def transposed(self) -> Any:
        """The matrix whose rows are what the loops add to the state, by variable."""

    @cached_property
    def columns(self) -> Smooth:
        """The smooth part, by the columns of its matrix."""
        return by_lines(self.code, self.transposed, self.targets, self.share)

    @abstractmethod
    def restricted(
        self, active: NDArray[Any], state: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Write f, if it is quadratic, as a function of some variables.

        Parameters
        ----------
        active : ndarray of shape (n_active,)
            The variables; the others stay as they are.
        state : ndarray
            The state of the point.

        Returns
        -------
        hessian : ndarray of shape (n_active, n_active)
            The second derivatives.
        gradient : ndarray of shape (n_active,)
            The first derivatives at the point.
        """

    @abstractmethod
    def gradient_at(self, state: NDArray[Any]) -> NDArray[np.float64]:
        """Compute the gradient of f from what the loops carry along.

        Parameters
        ----------
        state : ndarray
            The state of a point.

        Returns
        -------
        gradient : ndarray of shape (n_features,)
            The gradient of f there.
        """

    @abstractmethod
    def state(self, w: NDArray[Any]) -> NDArray[np.float64]:
        """Compute what the loops carry along with a point.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
            A point.

        Returns
        -------
        state : ndarray
            Residuals, outputs or the gradient.
        """

    @abstractmethod
    def value_at(self, w: NDArray[Any], state: NDArray[Any]) -> float:
        """Compute the objective from what the loops carry along, without the matrix.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
            A point.
        state : ndarray
            Its state.

        Returns
        -------
        value : float
            F(w).
        """

    @abstractmethod
    def block_lipschitz(self, partition: BlockPartition) -> NDArray[np.float64]:
        """Bound the curvature of f within every block.

        Parameters
        ----------
        partition : BlockPartition
            The blocks.

        Returns
        -------
        bounds : ndarray of shape (n_blocks,)
            Lipschitz constants of the gradient within the blocks, positive.
        """

    @abstractmethod
    def overapproximation(
        self, partition: BlockPartition, n_together: int
    ) -> NDArray[np.float64]:
        r"""Bound the curvature of f when several random blocks change at once.

        Parameters
        ----------
        partition : BlockPartition
            The blocks.
        n_together : int
            How many blocks change, drawn uniformly.

        Returns
        -------
        weights : ndarray of shape (n_blocks,)
            Weights v of the expected separable overapproximation, positive:
            :math:`E f(x + t_S) \le f(x) + \frac{\tau}{n} (\nabla f(x)^\top t
            + \tfrac12 \sum_i v_i \|t^{(i)}\|^2)`.
        """


class QuadraticProblem(CoordinateProblem):
    r"""A quadratic function plus a penalty.

    .. math::
        F(w) = \tfrac12 w^\top A w - b^\top w + h(w)

    Parameters
    ----------
    A : array-like of shape (n_features, n_features)
        Symmetric positive semidefinite.
    b : array-like of shape (n_features,)
        Linear term.
    penalty : ElasticNetPenalty, default=None
        The penalty h; None for none.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import QuadraticProblem, coordinate_descent
    >>> problem = QuadraticProblem([[2.0, 1.0], [1.0, 2.0]], [3.0, 3.0])
    >>> np.round(coordinate_descent(problem).x, 6)
    array([1., 1.])
    """

    code, share, is_quadratic = _QUADRATIC, 1.0, True

    def __init__(
        self, A: ArrayLike, b: ArrayLike, penalty: ElasticNetPenalty | None = None
    ) -> None:
        self.A = check_array(A, dtype=np.float64, input_name="A")
        self.b = column_or_1d(np.asarray(b, dtype=np.float64))
        d = self.n_features = self.b.shape[0]
        if self.A.shape != (d, d):
            raise ValueError(
                f"A has shape {self.A.shape} and b {d} entries: A must be square with "
                "one row per entry of b."
            )
        if not np.allclose(self.A, self.A.T):
            raise ValueError("A must be symmetric: pass (A + A.T) / 2.")
        if np.any(self.A.diagonal() < 0):
            raise ValueError("A must be positive semidefinite: its diagonal is not.")
        self.targets = self.b
        self._set_penalty(penalty)

    def smooth_value(self, w: NDArray[Any]) -> float:
        return float(0.5 * (w @ (self.A @ w)) - self.b @ w)

    def gradient(self, w: NDArray[Any]) -> NDArray[Any]:
        return self.A @ w - self.b

    @cached_property
    def lipschitz(self) -> float:
        """The largest eigenvalue of A."""
        return largest_eigenvalue(self.A)

    @property
    def transposed(self) -> NDArray[np.float64]:
        """A itself, which is symmetric."""
        return self.A

    def restricted(
        self, active: NDArray[Any], state: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.A[np.ix_(active, active)], state[active]

    def state(self, w: NDArray[Any]) -> NDArray[np.float64]:
        return self.gradient(w)

    def gradient_at(self, state: NDArray[Any]) -> NDArray[np.float64]:
        return state

    def value_at(self, w: NDArray[Any], state: NDArray[Any]) -> float:
        return float(0.5 * (w @ (state - self.b))) + self.penalty.value(w)

    def block_lipschitz(self, partition: BlockPartition) -> NDArray[np.float64]:
        bounds = [largest_eigenvalue(self.A[np.ix_(b, b)]) for b in partition]
        return raised(np.array(bounds))

    def overapproximation(
        self, partition: BlockPartition, n_together: int
    ) -> NDArray[np.float64]:
        # Without a structure that is known, every block may be coupled with every
        # other: tau blocks together curve at most tau times as much.
        return n_together * self.block_lipschitz(partition)
