"""What the solvers minimise: a smooth part with bounds on its curvature, a penalty."""

# SPDX-License-Identifier: BSD-3-Clause

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import svds
from sklearn.utils import check_consistent_length, column_or_1d

from fewlabels._linalg import eigh_between
from fewlabels._sklearn import check_array
from fewlabels.optimize._blocks import BlockPartition
from fewlabels.optimize._losses import Loss, resolve_loss
from fewlabels.optimize._penalties import ElasticNetPenalty, L2Penalty

# Number of the loops for a quadratic function, which has no loss.
_QUADRATIC = 4

# Up to this many rows or columns, the largest eigenvalue comes from a dense matrix.
_SMALL = 1000

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


def _raised(bounds: NDArray[np.float64]) -> NDArray[np.float64]:
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
        self,
        A: ArrayLike,
        b: ArrayLike,
        penalty: ElasticNetPenalty | None = None,
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
        return _raised(np.array(bounds))

    def overapproximation(
        self, partition: BlockPartition, n_together: int
    ) -> NDArray[np.float64]:
        # Without a structure that is known, every block may be coupled with every
        # other: tau blocks together curve at most tau times as much.
        return n_together * self.block_lipschitz(partition)


class FiniteSumProblem(CoordinateProblem):
    r"""The mean loss of a linear model plus a penalty.

    .. math::
        F(w) = \frac1n \sum_{i=1}^n \ell(x_i^\top w, y_i) + h(w)

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; a column of ones stands for an intercept.
    y : array-like of shape (n_samples,)
        Targets; -1 and +1 for losses of the margin.
    loss : {"squared", "logistic", "squared_hinge", "hinge"} or Loss, default="squared"
        The loss.
    penalty : ElasticNetPenalty, default=None
        The penalty h; None for none.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import FiniteSumProblem, L2Penalty
    >>> X, y = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1.0, -1.0])
    >>> problem = FiniteSumProblem(X, y, "logistic", L2Penalty(0.1))
    >>> round(problem.value(np.zeros(2)), 4)
    0.6931
    >>> problem.gradient(np.zeros(2))
    array([-0.25,  0.5 ])
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        loss: str | Loss = "squared",
        penalty: ElasticNetPenalty | None = None,
    ) -> None:
        X = check_array(X, dtype=np.float64, accept_sparse="csr")
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.X = X
        self.y = column_or_1d(np.asarray(y, dtype=np.float64))
        check_consistent_length(self.X, self.y)
        self.loss = resolve_loss(loss)
        if self.loss.is_margin and not np.all(np.abs(self.y) == 1):
            raise ValueError(
                f"y must be -1 or +1 for loss={self.loss.name!r}: encode the classes."
            )
        if not np.all(np.isfinite(self.y)):
            raise ValueError("y holds NaN or infinity: leave such rows out.")
        self.n_samples, self.n_features = self.X.shape
        self.code, self.share = self.loss.code, 1.0 / self.n_samples
        self.is_quadratic = self.loss.name == "squared"
        self.targets = self.y
        self._set_penalty(penalty)

    def outputs(self, w: NDArray[Any]) -> NDArray[np.float64]:
        """Compute the outputs of the linear model.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
            Coefficients.

        Returns
        -------
        z : ndarray of shape (n_samples,)
            X w.
        """
        if not np.any(w):
            return np.zeros(self.n_samples)  # where most solvers start, twice
        return np.asarray(self.X @ w)

    def smooth_value(self, w: NDArray[Any]) -> float:
        return float(np.mean(self.loss.value(self.outputs(w), self.y)))

    def slopes(self, w: NDArray[Any]) -> NDArray[np.float64]:
        """Compute the derivative of the loss at every row.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
            Coefficients.

        Returns
        -------
        slopes : ndarray of shape (n_samples,)
            The derivatives; the gradient of row i is that times the row.
        """
        return self.loss.derivative(self.outputs(w), self.y)

    def gradient(self, w: NDArray[Any]) -> NDArray[Any]:
        return self.mean_of_rows(self.slopes(w))

    def inspect(self, w: NDArray[Any]) -> tuple[float, float]:
        z = self.outputs(w)
        value = float(np.mean(self.loss.value(z, self.y))) + self.penalty.value(w)
        gradient = self.mean_of_rows(self.loss.derivative(z, self.y))
        return value, self.penalty.violation(w, gradient)

    def mean_of_rows(self, slopes: NDArray[Any]) -> NDArray[np.float64]:
        """Compute the mean gradient from the slopes of all rows.

        Parameters
        ----------
        slopes : ndarray of shape (n_samples,)
            One factor per row.

        Returns
        -------
        mean : ndarray of shape (n_features,)
            The mean of the rows times their factors.
        """
        return np.asarray(self._view @ slopes) / self.n_samples

    @cached_property
    def _view(self) -> Any:
        """The transpose of X without a copy, which SciPy takes a while to make."""
        return self.X.T

    def row_gradient(self, w: NDArray[Any], i: int) -> NDArray[np.float64]:
        """Compute the gradient of the loss of one row.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
            Coefficients.
        i : int
            The row.

        Returns
        -------
        gradient : ndarray of shape (n_features,)
            Its gradient.
        """
        row = self.X[[i]]
        row = row.toarray()[0] if sparse.issparse(row) else row[0]
        return self.loss.derivative(row @ w, self.y[i]) * row

    def duality_gap(self, w: NDArray[Any]) -> float:
        r"""Bound :math:`F(w) - F^*` by a point of the dual problem.

        .. math::
            F^* \ge -\frac1n \sum_i \ell^*(u_i, y_i)
            - h^*\big(-\tfrac1n X^\top u\big) \quad \text{for every } u

        The slopes of the losses at w are taken for u, scaled towards zero until the
        conjugate of h is finite.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
            Coefficients.

        Returns
        -------
        gap : float
            F(w) is no more than this above the minimum. Infinite if no bound is known,
            as for a loss without a penalty away from its minimum.
        """
        u = self.slopes(w)
        g = self.mean_of_rows(u)
        hard = self.l2 == 0
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(np.abs(g) > self.l1, self.l1 / np.abs(g), 1.0)
        u = float(np.min(room[hard], initial=1.0)) * u
        # Scaling may leave a slope beyond the penalty by rounding.
        g = self.mean_of_rows(u)
        g = np.where(hard, np.clip(g, -self.l1, self.l1), g)
        dual = -np.mean(self.loss.conjugate(u, self.y)) - self.penalty.conjugate(-g)
        return max(float(self.value(w) - dual), 0.0)

    @cached_property
    def lipschitz(self) -> float:
        """The curvature of the loss times the largest eigenvalue of X'X / n."""
        n, d = self.X.shape
        if min(n, d) <= _SMALL:
            G = self.X @ self.X.T if n < d else self.X.T @ self.X
            top = largest_eigenvalue(G.toarray() if sparse.issparse(G) else G)
        else:
            top = float(svds(self.X, 1, v0=np.ones(min(n, d)))[1][0]) ** 2
            top *= 1 + 1e-6  # the iteration comes from below
        return self.loss.curvature * top / n

    @cached_property
    def row_lipschitz(self) -> float:
        """The largest Lipschitz constant of the gradient of one row."""
        return self.loss.curvature * float(np.max(self.square_sums(1)))

    def square_sums(self, axis: int) -> NDArray[np.float64]:
        """Compute the squared norms of all rows or of all columns.

        Parameters
        ----------
        axis : {0, 1}
            0 for columns, 1 for rows: the axis that is summed over.

        Returns
        -------
        sums : ndarray of shape (n_features,) or (n_samples,)
            The squared norms.
        """
        if sparse.issparse(self.X):
            return np.asarray(self.X.multiply(self.X).sum(axis=axis)).ravel()
        return np.einsum("ij,ij->i" if axis == 1 else "ij,ij->j", self.X, self.X)

    @cached_property
    def rows(self) -> Smooth:
        """The smooth part, by the rows of X."""
        return by_lines(self.code, self.X, self.y, self.share)

    @cached_property
    def transposed(self) -> Any:
        """The columns of X, one after the other; a second copy in memory."""
        if sparse.issparse(self.X):
            return self.X.T.tocsr()
        return np.ascontiguousarray(self.X.T)

    def restricted(
        self, active: NDArray[Any], state: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        C = self.transposed[active]
        G = C @ C.T
        G = G.toarray() if sparse.issparse(G) else G
        return self.share * G, self.share * np.asarray(C @ state)

    def state(self, w: NDArray[Any]) -> NDArray[np.float64]:
        z = self.outputs(w)
        return z - self.y if self.is_quadratic else z

    @property
    def _state_targets(self) -> NDArray[np.float64]:
        """The targets that go with a state: residuals have none left."""
        return np.zeros(1) if self.is_quadratic else self.y

    def gradient_at(self, state: NDArray[Any]) -> NDArray[np.float64]:
        return self.mean_of_rows(self.loss.derivative(state, self._state_targets))

    def value_at(self, w: NDArray[Any], state: NDArray[Any]) -> float:
        losses = self.loss.value(state, self._state_targets)
        return float(np.mean(losses)) + self.penalty.value(w)

    def block_lipschitz(self, partition: BlockPartition) -> NDArray[np.float64]:
        if partition.is_trivial:
            bounds = self.square_sums(0)
        else:
            tops = []
            for block in partition:
                part = self.X[:, block]
                G = part.T @ part
                tops.append(
                    largest_eigenvalue(G.toarray() if sparse.issparse(G) else G)
                )
            bounds = np.array(tops)
        return _raised(self.loss.curvature * bounds / self.n_samples)

    def overapproximation(
        self, partition: BlockPartition, n_together: int
    ) -> NDArray[np.float64]:
        # By row: the blocks that it touches, and its squared norm within each.
        X = sparse.csr_array(self.X)
        of = sparse.csr_array(
            (np.ones(self.n_features), (np.arange(self.n_features), partition.labels)),
            shape=(self.n_features, len(partition)),
        )
        squares = sparse.csr_array(X.multiply(X) @ of)
        squares.eliminate_zeros()
        touched = np.diff(squares.indptr)
        coupling = (n_together - 1) / max(1, len(partition) - 1)
        factors = 1 + np.maximum(touched - 1, 0) * coupling
        return _raised(
            self.loss.curvature * np.asarray(squares.T @ factors) / self.n_samples
        )
