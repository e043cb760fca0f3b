"""The partition problem behind S2RLSC and maximum-margin clustering."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels.partition._balance import SizeBounds, check_balance, size_bounds
from fewlabels.partition._systems import (
    Array,
    FactorSystem,
    KernelSystem,
    System,
    as_array,
)

FREE = -1


class PartitionProblem:
    r"""Label the free points so that least squares fits the labels best.

    For l labelled and u free points, with k classes and targets
    :math:`y^{(c)} \in \{-1, +1\}^n` that are +1 exactly on class c,

    .. math::
        \min_{y} \; F(y) = \frac12 \sum_{c=1}^{k} \min_{f} \sum_i d_i^2
        \bigl(y^{(c)}_i - f(x_i)\bigr)^2 + \lambda \|f\|_K^2

    where :math:`d_i^2` is 1/l on labelled points, whose class is given, and
    :math:`\lambda_u / u` on free ones (1/u if nothing is labelled), and the number of
    free points in every class is bounded. For two classes both summands are equal, so
    that F is the objective of the papers [1]_ [2]_ for one vector y.

    As :math:`F(y) = \frac k2 \sum_i d_i^2 - S(y)` with
    :math:`S(y) = \frac12 \sum_c y^{(c)\top} Q y^{(c)}` and a positive semidefinite Q,
    minimising F is maximising a convex quadratic form.

    Make a problem by :meth:`from_kernel` or :meth:`from_factor`.

    Attributes
    ----------
    codes : ndarray of shape (n_samples,)
        Class of every point, -1 for free points.
    n_classes : int
        Number of classes k.
    free, labeled : ndarray of int
        Indices of the free and of the labelled points.
    lower, upper : ndarray of int of shape (n_classes,)
        Bounds on the number of free points in every class.
    ratio : ndarray of shape (n_classes,)
        Class shares for random starts: the given ones, or else those of the labels.
    alpha, unlabeled_weight : float
        The regularisation and the weight of the free points.

    References
    ----------
    .. [1] F. Gieseke, O. Kramer, A. Airola, T. Pahikkala, "Speedy local search for
       semi-supervised regularized least-squares", KI (2011).
       :doi:`10.1007/978-3-642-24455-1_8`
    .. [2] F. Gieseke, O. Kramer, A. Airola, T. Pahikkala, "Efficient recurrent local
       search strategies for semi- and unsupervised regularized least-squares
       classification", Evolutionary Intelligence 5 (2012).
       :doi:`10.1007/s12065-012-0068-5`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.partition import PartitionProblem, local_search
    >>> X = np.array([[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0]])
    >>> y = np.array([-1, 0, 0, 0, 0, 1])  # 0 = free
    >>> problem = PartitionProblem.from_factor(X, y, alpha=0.1)
    >>> local_search(problem).y
    array([-1, -1, -1,  1,  1,  1])
    """

    def __init__(
        self,
        system: System,
        codes: NDArray[np.intp],
        bounds: SizeBounds,
        *,
        n_classes: int,
        signed: bool,
        ratio: Array,
        d: Array,
        unlabeled_weight: float,
    ) -> None:
        self.system = system
        self.codes = codes
        self.n_classes = n_classes
        self.free = np.flatnonzero(codes == FREE)
        self.labeled = np.flatnonzero(codes != FREE)
        self.bounds = bounds
        self.ratio = ratio
        self.d = d
        self.unlabeled_weight = unlabeled_weight
        self._signed = signed

    @property
    def alpha(self) -> float:
        """The regularisation."""
        return self.system.alpha

    @property
    def constant(self) -> float:
        """The sum of F and S, which does not depend on the partition."""
        return float(0.5 * self.n_classes * np.sum(self.d**2))

    @property
    def lower(self) -> NDArray[np.intp]:
        """Least number of free points in every class."""
        return self.bounds.lower

    @property
    def upper(self) -> NDArray[np.intp]:
        """Largest number of free points in every class."""
        return self.bounds.upper

    @classmethod
    def from_kernel(
        cls,
        K: ArrayLike,
        y: ArrayLike,
        alpha: float = 1.0,
        unlabeled_weight: float = 1.0,
        balance: ArrayLike | None = None,
        balance_tol: float | None = None,
        *,
        n_classes: int | None = None,
        min_size: int = 0,
    ) -> "PartitionProblem":
        """Make a problem from a kernel matrix.

        Parameters
        ----------
        K : array-like of shape (n_samples, n_samples)
            Symmetric positive semidefinite kernel matrix of all points.
        y : array-like of int of shape (n_samples,)
            -1, +1, or 0 for free points; with `n_classes`, class indices 0, 1, ... and
            -1 for free points.
        alpha : float, default=1.0
            The regularisation.
        unlabeled_weight : float, default=1.0
            Weight of the free points relative to the labelled ones.
        balance : float or array-like of shape (n_classes,), default=None
            Share of every class among the free points, or for two classes that of the
            positive one; no bounds when None.
        balance_tol : float, default=None
            Strict bound on the deviation from these shares; 0.1 when None. The nearest
            integers are always admitted.
        n_classes : int, default=None
            Number of classes, if `y` holds class indices.
        min_size : int, default=0
            Least number of free points in every class.

        Returns
        -------
        problem : PartitionProblem
            The problem.
        """
        matrix = as_array(K, "K")
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"K must be square, got shape {matrix.shape}.")
        asymmetry = np.abs(matrix - matrix.T).max(initial=0.0)
        if asymmetry > 1e-6 * np.abs(matrix).max(initial=0.0):
            raise ValueError("K is not symmetric, so it is not a kernel matrix.")
        return cls._make(
            matrix,
            KernelSystem,
            y,
            alpha,
            unlabeled_weight,
            balance,
            balance_tol,
            n_classes,
            min_size,
        )

    @classmethod
    def from_factor(
        cls,
        Z: ArrayLike,
        y: ArrayLike,
        alpha: float = 1.0,
        unlabeled_weight: float = 1.0,
        balance: ArrayLike | None = None,
        balance_tol: float | None = None,
        *,
        n_classes: int | None = None,
        min_size: int = 0,
    ) -> "PartitionProblem":
        """Make a problem from features, K = Z Z'; nothing of size n x n is needed.

        Parameters
        ----------
        Z : array-like of shape (n_samples, rank)
            Factor of the kernel matrix: the rows themselves for the linear kernel.
        y : array-like of int of shape (n_samples,)
            As in :meth:`from_kernel`.
        alpha : float, default=1.0
            The regularisation.
        unlabeled_weight : float, default=1.0
            Weight of the free points relative to the labelled ones.
        balance : float or array-like of shape (n_classes,), default=None
            As in :meth:`from_kernel`.
        balance_tol : float, default=None
            As in :meth:`from_kernel`.
        n_classes : int, default=None
            Number of classes, if `y` holds class indices.
        min_size : int, default=0
            Least number of free points in every class.

        Returns
        -------
        problem : PartitionProblem
            The problem.
        """
        return cls._make(
            as_array(Z, "Z"),
            FactorSystem,
            y,
            alpha,
            unlabeled_weight,
            balance,
            balance_tol,
            n_classes,
            min_size,
        )

    @classmethod
    def _make(
        cls,
        matrix: Array,
        system: type[KernelSystem] | type[FactorSystem],
        y: ArrayLike,
        alpha: float,
        unlabeled_weight: float,
        balance: ArrayLike | None,
        balance_tol: float | None,
        n_classes: int | None,
        min_size: int,
    ) -> "PartitionProblem":
        for name, value in (("alpha", alpha), ("unlabeled_weight", unlabeled_weight)):
            if not value > 0:
                raise ValueError(f"{name} must be positive, got {value}.")
        codes = _codes(y, n_classes)
        if codes.size != matrix.shape[0]:
            raise ValueError(
                f"y has {codes.size} entries for {matrix.shape[0]} points: give one "
                "per point."
            )
        k = 2 if n_classes is None else n_classes
        free = codes == FREE
        n_free, n_labeled = int(free.sum()), int((~free).sum())
        shares = None if balance is None else check_balance(balance, k)
        counts = np.bincount(codes[~free], minlength=k)
        if shares is not None:
            ratio = shares
        else:
            ratio = counts / n_labeled if n_labeled else np.full(k, 1.0 / k)
        d = np.empty(codes.size)
        if n_labeled:
            d[~free] = np.sqrt(1.0 / n_labeled)
            d[free] = np.sqrt(unlabeled_weight / max(n_free, 1))
        else:
            d[:] = np.sqrt(1.0 / max(n_free, 1))
        return cls(
            system(matrix, d, float(alpha)),
            codes,
            size_bounds(shares, balance_tol, n_free, k, min_size),
            n_classes=k,
            signed=n_classes is None,
            ratio=ratio,
            d=d,
            unlabeled_weight=float(unlabeled_weight),
        )

    def path(self, alphas: Iterable[float]) -> Iterator["PartitionProblem"]:
        """Return the same problem for other regularisations, one at a time.

        One reduction to tridiagonal form serves all of them.

        Parameters
        ----------
        alphas : iterable of float
            Positive values of the regularisation.

        Returns
        -------
        problems : iterator of PartitionProblem
            One problem per value.
        """
        values = np.asarray(list(alphas), dtype=np.float64)
        if not np.all(values > 0):
            raise ValueError(f"alphas must be positive, got {values}.")
        return (self._with(system) for system in self.system.path(values))

    def _with(self, system: System) -> "PartitionProblem":
        other = copy(self)
        other.system = system
        return other

    def targets(self, y: ArrayLike) -> Array:
        """Targets in {-1, +1}: one column per class, a single one for two classes.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            A partition.

        Returns
        -------
        Y : ndarray of shape (n_samples, n_columns)
            The targets; the single column is +1 on the second class.
        """
        return self.targets_of(self.check_partition(y)[None])[0].T

    def targets_of(self, codes: NDArray[np.intp]) -> Array:
        """Targets of several partitions given as class indices, unchecked.

        Parameters
        ----------
        codes : ndarray of shape (n_partitions, n_points)
            Classes of all points, or of some.

        Returns
        -------
        Y : ndarray of shape (n_partitions, n_columns, n_points)
            The targets.
        """
        classes = np.arange(self.n_classes) if self.n_classes > 2 else np.array([1])
        return np.where(codes[:, None, :] == classes[:, None], 1.0, -1.0)

    def model(self, y: ArrayLike) -> Array:
        """Return the coefficients of a partition's least-squares model.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            A partition.

        Returns
        -------
        coef : ndarray of shape (n_samples, n_columns) or (rank, n_columns)
            If the problem was made from a kernel, the coefficients c of f(x) = sum_i
            c_i k(x, x_i); if it was made from features, their weights. One column per
            class, a single one for two classes.
        """
        return self.system.model(self.targets(y))

    def objective(self, y: ArrayLike) -> float:
        """Evaluate F at a partition.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            A partition.

        Returns
        -------
        objective : float
            F(y).
        """
        return float(self.objectives_of(self.check_partition(y)[None])[0])

    def objectives_of(self, codes: NDArray[np.intp]) -> Array:
        """Evaluate F at several partitions given as class indices, unchecked.

        Parameters
        ----------
        codes : ndarray of shape (n_partitions, n_samples)
            Classes of all points.

        Returns
        -------
        objectives : ndarray of shape (n_partitions,)
            F of each.
        """
        return self.constant - self.fits_of(codes)

    def fits_of(self, codes: NDArray[np.intp]) -> Array:
        """Evaluate S, a constant minus F, at several partitions, unchecked.

        Parameters
        ----------
        codes : ndarray of shape (n_partitions, n_samples)
            Classes of all points.

        Returns
        -------
        fits : ndarray of shape (n_partitions,)
            S of each, to be maximised.
        """
        Y = self.targets_of(codes)
        forms = self.system.forms(Y.reshape(-1, codes.shape[1]).T)
        half = 1.0 if self.n_classes == 2 else 0.5  # the columns of two classes agree
        return half * forms.reshape(Y.shape[:2]).sum(axis=1)

    def move_gains(self, y: ArrayLike) -> Array:
        """Compute the decrease of F if a free point changes class.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            A partition.

        Returns
        -------
        gains : ndarray of shape (n_free, n_classes)
            Decrease of F for every free point and class; 0 for its own class. Bounds
            on class sizes are ignored.
        """
        codes = self.check_partition(y)
        H = self.system.products(self.one_hot(codes))[self.free]
        q = self.system.diagonal()[self.free]
        own = codes[self.free]
        rows = np.arange(self.free.size)
        gains = 4.0 * (H - H[rows, own][:, None] + q[:, None])
        gains[rows, own] = 0.0
        return gains

    def flip_gains(self, y: ArrayLike) -> Array:
        """Compute the decrease of F if a free point changes sign; for two classes.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            A partition.

        Returns
        -------
        gains : ndarray of shape (n_free,)
            Decrease of F for every free point.
        """
        if self.n_classes != 2:
            raise ValueError(
                f"a flip needs two classes, this problem has {self.n_classes}: use "
                "move_gains."
            )
        return self.move_gains(y).sum(axis=1)

    def swap_gain(self, y: ArrayLike, i: int, j: int) -> float:
        """Compute the decrease of F if two free points exchange their classes.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            A partition.
        i, j : int
            Two free points of different classes, as indices into all points.

        Returns
        -------
        gain : float
            Decrease of F.
        """
        codes = self.check_partition(y)
        position = np.searchsorted(self.free, [i, j])
        inside = position < self.free.size
        if not inside.all() or not np.array_equal(self.free[position], [i, j]):
            raise ValueError(f"points {i} and {j} must both be free.")
        if codes[i] == codes[j]:
            return 0.0
        gains = self.move_gains(y)
        pair = gains[position[0], codes[j]] + gains[position[1], codes[i]]
        column = np.zeros((codes.size, 1))
        column[j] = 1.0
        return float(pair - 8.0 * self.system.products(column)[i, 0])

    def one_hot(self, codes: NDArray[np.intp]) -> Array:
        """Return the indicator matrix of class indices.

        Parameters
        ----------
        codes : ndarray of shape (n_samples,)
            Classes of all points.

        Returns
        -------
        E : ndarray of shape (n_samples, n_classes)
            Ones where a point is in a class.
        """
        return (codes[:, None] == np.arange(self.n_classes)).astype(np.float64)

    def check_partition(self, y: ArrayLike) -> NDArray[np.intp]:
        """Turn a partition into class indices and check the labelled points.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            A partition in the convention of the problem.

        Returns
        -------
        codes : ndarray of shape (n_samples,)
            Class indices.
        """
        codes = _codes(y, None if self._signed else self.n_classes)
        if codes.shape != self.codes.shape or (codes == FREE).any():
            raise ValueError(
                f"a partition must give each of the {self.codes.size} points a class."
            )
        if np.any(codes[self.labeled] != self.codes[self.labeled]):
            raise ValueError("a partition must keep the given labels.")
        return codes

    def decode(self, codes: NDArray[np.intp]) -> NDArray[Any]:
        """Turn class indices into the convention in which y was given.

        Parameters
        ----------
        codes : ndarray of shape (n_samples,)
            Class indices.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            -1 and +1, or class indices.
        """
        return 2 * codes - 1 if self._signed else codes.copy()


def _codes(y: ArrayLike, n_classes: int | None) -> NDArray[np.intp]:
    values = np.asarray(y)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"y must be a vector, got shape {values.shape}.")
    if n_classes is None:
        if not ((values == 0) | (values == 1) | (values == -1)).all():
            raise ValueError(
                "y must hold -1, +1 and 0 for free points; for class indices give "
                "n_classes."
            )
        return np.where(values == 0, FREE, (values + 1) // 2).astype(np.intp)
    if n_classes < 2:
        raise ValueError(f"n_classes must be at least 2, got {n_classes}.")
    if not np.isin(values, np.arange(-1, n_classes)).all():
        raise ValueError(
            f"y must hold class indices 0, ..., {n_classes - 1}, and -1 for free "
            "points."
        )
    return values.astype(np.intp)
