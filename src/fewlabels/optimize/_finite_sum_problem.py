"""The mean loss of a linear model over rows, plus a penalty."""

# SPDX-License-Identifier: BSD-3-Clause

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import svds
from sklearn.utils import check_consistent_length, column_or_1d

from fewlabels._sklearn import check_array
from fewlabels.optimize._blocks import BlockPartition
from fewlabels.optimize._loss_functions import Loss, resolve_loss
from fewlabels.optimize._penalties import ElasticNetPenalty
from fewlabels.optimize._problems import (
    CoordinateProblem,
    Smooth,
    by_lines,
    largest_eigenvalue,
    raised,
)

# Up to this many rows or columns, the largest eigenvalue comes from a dense matrix.
_SMALL = 1000


def _dense(A: Any) -> NDArray[np.float64]:
    return A.toarray() if sparse.issparse(A) else A


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

    def require_smooth(self, solver: str) -> None:
        """Raise where the loss has a kink.

        Parameters
        ----------
        solver : str
            Name of the solver, for the message.
        """
        if not np.isfinite(self.loss.curvature):
            raise ValueError(
                f"loss={self.loss.name!r} has a kink; {solver} needs a smooth loss: "
                "use 'squared_hinge', or sgd_minimize."
            )

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
        row = _dense(self.X[[i]])[0]
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
            top = largest_eigenvalue(_dense(G))
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
        return self.share * _dense(C @ C.T), self.share * np.asarray(C @ state)

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
            parts = (self.X[:, block] for block in partition)
            bounds = np.array([largest_eigenvalue(_dense(A.T @ A)) for A in parts])
        return raised(self.loss.curvature * bounds / self.n_samples)

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
        return raised(
            self.loss.curvature * np.asarray(squares.T @ factors) / self.n_samples
        )
