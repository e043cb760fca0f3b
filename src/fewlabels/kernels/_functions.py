"""Kernel functions: scikit-learn's names and callables behind one small object."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.gaussian_process.kernels import Kernel as GPKernel
from sklearn.metrics.pairwise import (
    KERNEL_PARAMS,
    PAIRWISE_KERNEL_FUNCTIONS,
    pairwise_kernels,
)
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from fewlabels._backend import Backend, KernelFunction, get_backend
from fewlabels._distances import safe_unit, squared_distances, without_far_rows
from fewlabels._linalg import FLOATS
from fewlabels._params import budget_bytes, check_params, is_default
from fewlabels._rows import check_rows
from fewlabels._sklearn import Interval, StrOptions
from fewlabels.exceptions import warn_ignored
from fewlabels.kernels._widths import (
    LOCAL,
    MEDIAN,
    distance_quantile,
    feature_range,
    gamma_from_width,
)

PRECOMPUTED = "precomputed"

# The constraints that every estimator with a kernel shares.
KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions({*PAIRWISE_KERNEL_FUNCTIONS, PRECOMPUTED}), callable],
    "gamma": [
        StrOptions({"scale", "median", "range", "local"}),
        Interval(Real, 0.0, None, closed="left"),
        None,
    ],
    "kernel_params": [dict, None],
}
# Parameters of named kernels in `kernel_params`.
_NAMED_CONSTRAINTS: dict[str, list[Any]] = {
    "degree": [Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
}


def _squared_norms(X: Any, **unused: Any) -> NDArray[Any]:
    return row_norms(X, squared=True)


def _cosine_diagonal(X: Any, **unused: Any) -> NDArray[Any]:
    return (row_norms(X) > 0).astype(X.dtype)  # a zero row has no direction


def _ones(X: Any, **unused: Any) -> NDArray[Any]:
    return np.ones(X.shape[0], dtype=X.dtype)


def _zeros(X: Any, **unused: Any) -> NDArray[Any]:
    return np.zeros(X.shape[0], dtype=X.dtype)


def _affine_norms(X: Any, gamma: float | None, coef0: float) -> NDArray[Any]:
    return (1.0 / X.shape[1] if gamma is None else gamma) * _squared_norms(X) + coef0


def _polynomial_diagonal(
    X: Any,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1,
    **unused: Any,
) -> NDArray[Any]:
    return _affine_norms(X, gamma, coef0) ** degree


def _sigmoid_diagonal(
    X: Any, gamma: float | None = None, coef0: float = 1, **unused: Any
) -> NDArray[Any]:
    return np.tanh(_affine_norms(X, gamma, coef0))


def _products(X: Any, Y: Any) -> NDArray[Any]:
    return safe_sparse_dot(X, (X if Y is None else Y).T, dense_output=True)


def _linear(X: Any, Y: Any, **unused: Any) -> NDArray[Any]:
    return _products(X, Y)


# Kernels between validated float64 rows, computed step by step as in scikit-learn,
# whose functions would validate every row again for a single column.
_BETWEEN_CHECKED: dict[str, Callable[..., NDArray[Any]]] = {"linear": _linear}


# k(x, x) without the rest of the kernel matrix, by scikit-learn's name.
_DIAGONALS: dict[str, Callable[..., NDArray[Any]]] = {
    "additive_chi2": _zeros,
    "chi2": _ones,
    "cosine": _cosine_diagonal,
    "laplacian": _ones,
    "linear": _squared_norms,
    "poly": _polynomial_diagonal,
    "polynomial": _polynomial_diagonal,
    "rbf": _ones,
    "sigmoid": _sigmoid_diagonal,
}


# Kernels whose values go to infinity, or to zero, with the rows.
_PRODUCTS = ("linear", "poly", "polynomial")

# Kernels available on backends, and their names there.
_ON_DEVICES = {
    "linear": "polynomial",
    "poly": "polynomial",
    "polynomial": "polynomial",
    "rbf": "rbf",
    "laplacian": "laplacian",
}

# Kernels of squares and products, whose `gamma` absorbs the square of a unit.
_QUADRATIC = ("rbf", "poly", "polynomial", "sigmoid")


def _rows(X: Any) -> Any:
    """Keep arrays and sparse matrices; convert lists and data frames to arrays."""
    return X if isinstance(X, np.ndarray) or sparse.issparse(X) else np.asarray(X)


@dataclass(frozen=True)
class Kernel:
    r"""A kernel with all its parameters fixed, ready to be evaluated on blocks.

    Parameters
    ----------
    metric : str, callable or :class:`sklearn.gaussian_process.kernels.Kernel`
        A name that :func:`sklearn.metrics.pairwise.pairwise_kernels` knows,
        "precomputed", or a callable taking two rows and returning a number.
    params : mapping, default={}
        Keyword parameters of the kernel; names unknown to the metric are ignored.
    unit : float, default=1.0
        Rows are first divided by this, if squares of the original rows would overflow
        or vanish.

    See Also
    --------
    resolve_kernel : Fix the parameters of a kernel that depend on the data.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import Kernel
    >>> kernel = Kernel("rbf", {"gamma": 0.5})
    >>> X = np.array([[0.0], [1.0]])
    >>> kernel(X).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    >>> kernel.diagonal(X)
    array([1., 1.])
    """

    metric: str | Callable[..., Any] = "rbf"
    params: Mapping[str, Any] = field(default_factory=dict)
    unit: float = 1.0

    @property
    def is_semidefinite(self) -> bool:
        """Whether the kernel is positive semidefinite for any rows."""
        if not isinstance(self.metric, str):
            return isinstance(self.metric, GPKernel)
        if self.metric in ("poly", "polynomial"):
            degree, coef0 = self.params.get("degree", 3), self.params.get("coef0", 1)
            return degree == int(degree) and coef0 >= 0
        return self.metric in ("linear", "rbf", "laplacian", "cosine", "chi2")

    @property
    def is_precomputed(self) -> bool:
        """Whether rows passed to the kernel are already rows of a kernel matrix."""
        return isinstance(self.metric, str) and self.metric == PRECOMPUTED

    def __call__(self, X: Any, Y: Any = None) -> NDArray[Any]:
        """Evaluate the kernel between all rows of X and all rows of Y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
            Rows; for a precomputed kernel the matrix itself.
        Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
            Other rows; X itself when None.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
            The kernel matrix.
        """
        X = self._in_units(X)
        Y = Y if Y is None else self._in_units(Y)
        if self.metric == "rbf":
            return self._gaussian(X, Y)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            K = pairwise_kernels(
                X, Y, metric=self.metric, filter_params=True, **self.params
            )
        if self.metric in _PRODUCTS:
            self._check_products(K, X if Y is None else None)
        # Some kernels are computed in float64 only.
        return K.astype(X.dtype, copy=False) if X.dtype in FLOATS else K

    def _between_checked(self, X: Any, Y: Any = None) -> NDArray[Any]:
        """Evaluate the kernel between rows that have been validated."""
        if isinstance(self.metric, str) and X.dtype == np.float64:
            between = _BETWEEN_CHECKED.get(self.metric)
            if between is not None:
                with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                    K = between(X, Y, **self.params)
                self._check_products(K, X if Y is None else None)
                return K
        return self(X, Y)

    def _check_products(self, K: NDArray[Any], X: Any) -> None:
        """Refuse products that overflow, or that all vanish for nonzero rows."""
        if not np.isfinite(K).all() or (
            X is not None and not K.any() and abs(X).max() > 0
        ):
            raise ValueError(
                f"kernel={self.metric!r} overflows or vanishes for rows of this size: "
                "scale X."
            )

    def _in_units(self, X: Any) -> Any:
        X = _rows(X)
        return X if self.unit == 1.0 else X / self.unit

    def _gaussian(self, X: Any, Y: Any) -> NDArray[Any]:
        X, Y = (
            rows if rows is None or rows.dtype in FLOATS else rows.astype(np.float64)
            for rows in (X, Y)
        )
        gamma, dtype = self.params.get("gamma"), X.dtype
        if dtype == np.float32 and safe_unit(X, X if Y is None else Y) != 1.0:
            # Squares, or their factor, exceed the range of single precision.
            X, Y = X.astype(np.float64), None if Y is None else Y.astype(np.float64)
        K = squared_distances(X, Y)
        with np.errstate(over="ignore", under="ignore"):
            K *= -(1.0 / X.shape[1] if gamma is None else gamma)
            return np.exp(K, out=K).astype(dtype, copy=False)

    def diagonal(self, X: Any) -> NDArray[Any]:
        """Evaluate k(x, x) for every row, without the rest of the matrix.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel the square matrix itself.

        Returns
        -------
        diagonal : ndarray of shape (n_samples,)
            The diagonal of the kernel matrix.
        """
        X = self._in_units(X)
        if self.is_precomputed:
            return np.array(X.diagonal())
        if X.dtype not in FLOATS:
            X = X.astype(np.float64)  # integers would overflow
        if isinstance(self.metric, str):
            with np.errstate(over="ignore", under="ignore"):
                diagonal = _DIAGONALS[self.metric](X, **self.params)
            if self.metric in _PRODUCTS:
                self._check_products(diagonal, X)
            return diagonal
        if isinstance(self.metric, GPKernel):
            return self.metric.diag(X).astype(X.dtype, copy=False)
        return np.array([self.metric(x, x, **self.params) for x in X], dtype=X.dtype)

    def product(
        self,
        X: Any,
        Y: Any,
        V: NDArray[Any],
        *,
        memory_budget: float | None = None,
        device: str | Backend | None = None,
    ) -> NDArray[Any]:
        """Compute K(X, Y) @ V in blocks of rows of X, without storing K(X, Y).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
            Rows to evaluate at; for a precomputed kernel K(X, Y) itself.
        Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features)
            Rows that carry the coefficients.
        V : ndarray of shape (n_samples_Y, n_columns)
            Coefficients.
        memory_budget : float, default=None
            MiB for one block; scikit-learn's `working_memory` when None.
        device : {"cpu", "cuda"} or None, default=None
            Where to compute; None is the CPU. See :func:`gram_operator`.

        Returns
        -------
        product : ndarray of shape (n_samples_X, n_columns)
            The values of the kernel expansion at X.
        """
        X = _rows(X)
        if self.is_precomputed:
            return X @ V
        Y = _rows(Y)
        if Y.shape[0] == 0:  # rows of zeros span nothing
            return np.zeros((X.shape[0], V.shape[1]), dtype=np.result_type(X, V))
        moved = moved_kernel(self, device, X, Y)
        if moved is not None:
            return moved.product(V)
        row_bytes = 3 * max(Y.shape[0], 1) * np.dtype(np.float64).itemsize
        step = max(1, int(budget_bytes(memory_budget) // row_bytes))
        out = np.empty((X.shape[0], V.shape[1]), dtype=np.result_type(X, V))
        with config_context(assume_finite=True):
            for start in range(0, X.shape[0], step):
                out[start : start + step] = self(X[start : start + step], Y) @ V
        return out


class MovedKernel:
    """A kernel between rows that live on a device, seen by NumPy.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    function : KernelFunction
        The backend's function for it.
    backend : Backend
        The device.
    X, Y : ndarray of shape (n_samples_X or n_samples_Y, n_features)
        The rows; Y is X when None.
    """

    def __init__(
        self, kernel: Kernel, function: KernelFunction, backend: Backend, X: Any, Y: Any
    ) -> None:
        self.kernel, self.function, self.backend = kernel, function, backend
        self.dtype = X.dtype if Y is None else np.result_type(X, Y)
        self.X = self._moved(X)
        self.Y = self.X if Y is None else self._moved(Y)

    def _moved(self, X: Any) -> Any:
        X = self.kernel._in_units(X)
        return self.backend.asarray(X.astype(self.dtype, copy=False))

    def product(
        self, V: NDArray[Any], rows: NDArray[np.intp] | None = None
    ) -> NDArray[Any]:
        """Multiply the kernel matrix, or its columns at some rows of Y, with V."""
        b = self.backend
        Y = self.Y if rows is None else self.Y[b.asarray(rows)]
        block = b.asarray(V, self.dtype)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            out = b.to_numpy(b.kernel_product(self.X, Y, block, self.function))
        if self.kernel.metric in _PRODUCTS:
            self.kernel._check_products(out, None)
        return out.astype(np.result_type(self.dtype, V), copy=False)

    def matrix(self) -> Any:
        """Kernel matrix, on the device."""
        return self.backend.kernel_matrix(self.X, self.Y, self.function)

    def toarray(self) -> NDArray[Any]:
        """Kernel matrix of the rows with themselves, in NumPy and exactly symmetric."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            K = self.backend.to_numpy(self.matrix())
            K = (K + K.T) / 2
        if self.kernel.metric in _PRODUCTS:
            self.kernel._check_products(K, None)
        return K


def moved_kernel(
    kernel: Kernel, device: str | Backend | None, X: Any, Y: Any = None
) -> MovedKernel | None:
    """Move rows to a device; None for the CPU, with a warning if it is unavoidable."""
    backend = get_backend(device)
    if backend.is_numpy:
        return None
    name = kernel.metric if isinstance(kernel.metric, str) else ""
    known = _ON_DEVICES.get(name)
    if known is None or sparse.issparse(X) or sparse.issparse(Y):
        kind = "sparse rows" if name in _ON_DEVICES else f"kernel={kernel.metric!r}"
        warn_ignored(f"device={backend.device!r}", f"{kind} are computed by NumPy")
        return None
    gamma = kernel.params.get("gamma")
    function = KernelFunction(known, 1.0 / X.shape[1] if gamma is None else gamma)
    if name == "linear":
        function = KernelFunction(known, 1.0)
    elif known == "polynomial":
        degree, coef0 = kernel.params.get("degree", 3), kernel.params.get("coef0", 1)
        function = function._replace(degree=degree, coef0=coef0)
    return MovedKernel(kernel, function, backend, X, Y)


def is_precomputed(kernel: Any) -> bool:
    """Whether a kernel, in any of its forms, is precomputed.

    Parameters
    ----------
    kernel : str, callable or Kernel
        The `kernel` of an estimator.

    Returns
    -------
    precomputed : bool
        True if rows are rows of a kernel matrix.

    Examples
    --------
    >>> from fewlabels.kernels import is_precomputed
    >>> is_precomputed("rbf"), is_precomputed("precomputed")
    (False, True)
    """
    if isinstance(kernel, Kernel):
        return kernel.is_precomputed
    return isinstance(kernel, str) and kernel == PRECOMPUTED


def _scale_gamma(X: Any) -> float:
    """1 / (n_features * variance of X), without outlying rows."""
    X = without_far_rows(X)
    values = (X.data if sparse.issparse(X) else X).astype(np.float64, copy=False)
    size = X.shape[0] * X.shape[1]
    mean = float(values.sum()) / size
    # Two passes: a difference of two means would lose all digits of rows far from the
    # origin.
    absent = (size - values.size) * mean**2
    variance = (float(np.square(values - mean).sum()) + absent) / size
    # For constant rows, the remaining variance is rounding.
    if variance <= (100 * np.finfo(np.float64).eps * mean) ** 2:
        return 1.0
    return float(1.0 / (X.shape[1] * variance))


_GAMMA_RULES: dict[str, Callable[[Any], float]] = {
    "scale": _scale_gamma,
    "median": lambda X: gamma_from_width(distance_quantile(X, MEDIAN)),
    "range": lambda X: gamma_from_width(feature_range(without_far_rows(X))),
    "local": lambda X: gamma_from_width(distance_quantile(X, LOCAL)),
}


def _named_params(
    kernel: str, gamma: Any, given: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Parameters of a named kernel; `gamma` is passed separately."""
    used = KERNEL_PARAMS.get(kernel, ())
    own = {name: c for name, c in _NAMED_CONSTRAINTS.items() if name in used}
    params = check_params("kernel_params", given, own, f"kernel={kernel!r}")
    if "gamma" in used:
        return {"gamma": gamma, **params}
    _warn_about_gamma(gamma, kernel)
    return params


def _warn_about_gamma(gamma: Any, kernel: Any) -> None:
    """Warn that the kernel does not use the gamma given."""
    if not is_default(resolve_kernel, "gamma", gamma):
        warn_ignored(f"gamma={gamma!r}", f"kernel={kernel!r} does not use it")


def _check_gp_kernel(kernel: GPKernel, X: Any) -> None:
    if sparse.issparse(X):
        raise ValueError(
            f"kernel={kernel!r} of a Gaussian process takes dense rows only: use a "
            "named kernel, or X.toarray()."
        )
    row = np.asarray(X)[:1]
    if not np.allclose(kernel.diag(row), kernel(row, row)):
        raise ValueError(
            f"kernel={kernel!r} adds noise to its diagonal, which belongs in the "
            "regularisation: leave WhiteKernel out."
        )


def resolve_kernel(
    X: Any,
    kernel: Any = "rbf",
    *,
    gamma: float | str | None = "scale",
    kernel_params: Mapping[str, Any] | None = None,
    check_input: bool = True,
) -> Kernel:
    r"""Fix the parameters of a kernel, including those that depend on the data.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows from which a rule for `gamma` is computed.
    kernel : str, callable, GP kernel or Kernel, default="rbf"
        As in :class:`Kernel`; a :class:`Kernel` is returned unchanged.
    gamma : float, {"scale", "median", "range", "local"} or None, default="scale"
        The factor in :math:`\exp(-\gamma \|x - z\|^2)` and in the other named kernels:

        - "scale": 1 / (n_features * X.var()), as in scikit-learn's SVC;
        - "median": :math:`1 / (2 \sigma^2)` with :func:`median_width`, "rbf" only;
        - "range": :math:`1 / (2 s^2)` with :func:`range_width`, "rbf" only;
        - "local": :math:`1 / (2 \sigma^2)` with :func:`local_width`, "rbf" only;
        - None: 1 / n_features.

        Rows much further from the middle than nine rows in ten (three times, or six
        times for 20 rows) do not count for "scale" and "range".
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` (3 unless given) of "poly", `coef0`
        (1 unless given) of "poly" and "sigmoid", or the keywords of a callable.
    check_input : bool, default=True
        Whether to validate `X`; False trusts rows that have been validated before.

    Returns
    -------
    kernel : Kernel
        The kernel with numbers for parameters.

    Warns
    -----
    IgnoredParameterWarning
        If a parameter is given that the kernel does not use.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import resolve_kernel
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> resolve_kernel(X, "rbf", gamma="range").params["gamma"]  # s = 3
    0.055...
    """
    known = {*PAIRWISE_KERNEL_FUNCTIONS, PRECOMPUTED}
    if isinstance(kernel, str) and kernel not in known:
        names = ", ".join(sorted(known))
        raise ValueError(f"kernel={kernel!r} is unknown; use one of {names}.")
    if not isinstance(kernel, str):
        _warn_about_gamma(gamma, kernel)
        if isinstance(kernel, Kernel | GPKernel):  # they come with their parameters
            check_params("kernel_params", kernel_params, {}, f"kernel={kernel!r}")
        if isinstance(kernel, GPKernel):
            _check_gp_kernel(kernel, X)
        if isinstance(kernel, Kernel):
            return kernel
        return Kernel(kernel, dict(kernel_params or {}))
    params = _named_params(kernel, gamma, kernel_params)
    unit = 1.0
    if "gamma" in params:
        if isinstance(gamma, str) and kernel in _QUADRATIC:
            X, check_input = check_rows(X) if check_input else X, False
            unit = safe_unit(X)
            X = X if unit == 1.0 else X / unit
        params["gamma"] = _gamma_number(X, kernel, gamma, check_input)
    return Kernel(kernel, params, unit)


def _gamma_number(X: Any, kernel: str, gamma: Any, check_input: bool) -> float | None:
    """Compute a gamma given as a rule, or check one given as a number."""
    if isinstance(gamma, str):
        if gamma not in _GAMMA_RULES:
            names = ", ".join(repr(name) for name in _GAMMA_RULES)
            raise ValueError(
                f"gamma={gamma!r} is unknown; use a number or one of {names}."
            )
        if gamma != "scale" and kernel != "rbf":
            raise ValueError(
                f"gamma={gamma!r} is a width of the 'rbf' kernel; give a number or "
                f"'scale' for kernel={kernel!r}."
            )
        return _GAMMA_RULES[gamma](check_rows(X) if check_input else X)
    if gamma is not None and not 0 <= gamma < np.inf:
        raise ValueError(f"gamma must be a non-negative number, got {gamma}.")
    return gamma
