"""Functions with known minima, to try optimisers on."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._params import check_choice, check_number


@dataclass(frozen=True, eq=False)
class BenchmarkFunction:
    """A function on a box with its global minimum.

    Made by :func:`benchmark_function`; call it with an array whose last axis holds the
    variables.

    Attributes
    ----------
    name : str
        Its name.
    n_dim : int
        Number of variables.
    bounds : ndarray of shape (n_dim, 2)
        The box: smallest and largest value of every variable.
    minimum : float or None
        The smallest value in the box; None where it is not known.
    minimizers : ndarray of shape (n_minimizers, n_dim)
        Where it is attained; one point of every connected set.
    is_separable : bool
        Whether it is a sum of functions of one variable each.
    is_differentiable : bool
        Whether it has a gradient everywhere in the box.
    is_unimodal : bool
        Whether there is a single local minimum.
    """

    name: str
    n_dim: int
    bounds: NDArray[np.float64]
    minimum: float | None
    minimizers: NDArray[np.float64]
    is_separable: bool
    is_differentiable: bool
    is_unimodal: bool
    _function: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    @property
    def n_coupled(self) -> int:
        """How many variables depend on others: m of an m-nonseparable function."""
        return 0 if self.is_separable else self.n_dim

    def __call__(self, x: ArrayLike) -> Any:
        """Compute the function.

        Parameters
        ----------
        x : array-like of shape (..., n_dim)
            Points.

        Returns
        -------
        value : float or ndarray of shape (...)
            The value at every point.
        """
        x = np.asarray(x, dtype=np.float64)
        if x.ndim == 0 or x.shape[-1] != self.n_dim:
            raise ValueError(
                f"{self.name} has {self.n_dim} variables, got an array of shape "
                f"{x.shape}: they go along the last axis."
            )
        value = self._function(x)
        return float(value) if x.ndim == 1 else value


def _giunta(x: Any) -> Any:
    q = 16 / 15 * x - 1
    return 0.6 + np.sum(np.sin(q) + np.sin(q) ** 2 + np.sin(4 * q) / 50, axis=-1)


def _parsopoulos(x: Any) -> Any:
    return np.cos(x[..., 0]) ** 2 + np.sin(x[..., 1]) ** 2


def _el_attar(x: Any) -> Any:
    a, b = x[..., 0], x[..., 1]
    return (a**2 + b - 10) ** 2 + (a + b**2 - 7) ** 2 + (a**2 + b**3 - 1) ** 2


def _egg_holder(x: Any) -> Any:
    a, b = x[..., :-1], x[..., 1:] + 47
    waves = b * np.sin(np.sqrt(np.abs(b + a / 2))) + a * np.sin(np.sqrt(np.abs(a - b)))
    return -np.sum(waves, axis=-1)


def _exponential(x: Any) -> Any:
    return -np.exp(-0.5 * np.sum(x**2, axis=-1))


_LANGERMANN_CENTRES = np.array(
    [
        [9.681, 0.667, 4.783, 9.095, 3.517, 9.325, 6.544, 0.211, 5.122, 2.020],
        [9.400, 2.041, 3.788, 7.931, 2.882, 2.672, 3.568, 1.284, 7.033, 7.374],
        [8.025, 9.152, 5.114, 7.621, 4.564, 4.711, 2.996, 6.126, 0.734, 4.982],
        [2.196, 0.415, 5.649, 6.979, 9.510, 9.166, 6.304, 6.054, 9.377, 1.426],
        [8.074, 8.777, 3.467, 1.863, 6.708, 6.349, 4.534, 0.276, 7.633, 1.567],
    ]
)


def _langermann(third: float) -> Callable[[Any], Any]:
    heights = np.array([0.806, 0.517, third, 0.908, 0.965])

    def function(x: Any) -> Any:
        centres = _LANGERMANN_CENTRES[:, : x.shape[-1]]
        s = np.sum((x[..., None, :] - centres) ** 2, axis=-1)
        return -(np.exp(-s / np.pi) * np.cos(np.pi * s)) @ heights

    return function


def _mishra_1(x: Any) -> Any:
    g = x.shape[-1] - np.sum(x[..., :-1] + x[..., 1:], axis=-1) / 2
    return (1 + g) ** g


def _mishra_2(x: Any) -> Any:
    a, b = x[..., 0], x[..., 1]
    s = np.sin((np.cos(a) + np.cos(b)) ** 2) ** 2
    c = np.cos((np.sin(a) + np.sin(b)) ** 2) ** 2
    return -np.log((s - c + a) ** 2) + 0.1 * ((a - 1) ** 2 + (b - 1) ** 2)


def _price(x: Any) -> Any:
    return np.sum((np.abs(x) - 5) ** 2, axis=-1)


def _schwefel_220(x: Any) -> Any:
    return np.sum(np.abs(x), axis=-1)


def _bartels_conn(x: Any) -> Any:
    a, b = x[..., 0], x[..., 1]
    return np.abs(a**2 + b**2 + a * b) + np.abs(np.sin(a)) + np.abs(np.cos(b))


def _bukin_6(x: Any) -> Any:
    a, b = x[..., 0], x[..., 1]
    return 100 * np.sqrt(np.abs(b - 0.01 * a**2)) + 0.01 * np.abs(a + 10)


def _power_of_squares(alpha: float) -> Callable[[Any], Any]:
    return lambda x: np.sum(x**2, axis=-1) ** alpha


def _corana(x: Any) -> Any:
    d = np.array([1.0, 1000.0, 10.0, 100.0])
    z = 0.2 * np.floor(np.abs(x / 0.2) + 0.49999) * np.sign(x)
    flat = 0.15 * d * (z - 0.05 * np.sign(z)) ** 2
    return np.sum(np.where(np.abs(x - z) < 0.05, flat, d * x**2), axis=-1)


def _cosine_mixture(x: Any) -> Any:
    return np.sum(x**2 - 0.1 * np.cos(5 * np.pi * x), axis=-1)


def _at_zero(n: int) -> Any:
    return np.zeros((1, n))


@dataclass(frozen=True)
class _Entry:
    """A line of the table: `minimum` and `minimizers` are functions of n_dim."""

    function: Callable[[Any], Any]
    n_dim: int
    bounds: Any
    minimum: Callable[[int], float | None]
    minimizers: Callable[[int], Any]
    separable: bool = False
    differentiable: bool = True
    unimodal: bool = False
    fixed: bool = False  # whether there is no other n_dim
    largest: int | None = None


# (third height, n_dim) -> minimum and where; elsewhere they are not known.
_LANGERMANN_MINIMA: dict[tuple[float, int], tuple[float, list[float]]] = {
    (1.5, 2): (-2.42311955301316, [8.046820287230322, 8.985008142284713]),
    (1.5, 5): (
        -1.4999992233524948,
        [8.0250006634, 9.1519948754, 5.1139767980, 7.6209187605, 4.5640302874],
    ),
    (1.5, 10): (-1.5, _LANGERMANN_CENTRES[2].tolist()),
    (0.1, 2): (-1.0809384576510122, [9.681070699920186, 0.6666515398976254]),
    (0.1, 5): (
        -0.9649999197933317,
        [8.0739998803, 8.7770008450, 3.4670037352, 1.8630130589, 6.7079951388],
    ),
    (0.1, 10): (-0.965, _LANGERMANN_CENTRES[4].tolist()),
}


def _langermann_entry(third: float = 1.5) -> _Entry:
    nowhere: tuple[float | None, list[float]] = (None, [])
    return _Entry(
        _langermann(third), 2, (0, 10),
        lambda n: _LANGERMANN_MINIMA.get((third, n), nowhere)[0],
        lambda n: np.reshape(_LANGERMANN_MINIMA.get((third, n), nowhere)[1], (-1, n)),
        largest=10,
    )  # fmt: skip


def _schwefel_entry(alpha: float = 1.0) -> _Entry:
    check_number("alpha", alpha, above=0)
    return _Entry(
        _power_of_squares(alpha), 2, (-100, 100), lambda n: 0.0, _at_zero,
        separable=alpha == 1, differentiable=alpha > 0.5, unimodal=True,
    )  # fmt: skip


_TABLE: dict[str, _Entry] = {
    "giunta": _Entry(
        _giunta, 2, (-1, 1), lambda n: 0.06447042053690566,
        lambda n: np.full((1, 2), 0.46732002), separable=True, fixed=True,
    ),
    "parsopoulos": _Entry(
        _parsopoulos, 2, (-5, 5), lambda n: 0.0,
        lambda n: np.array(
            list(product(np.pi / 2 * np.array([-3, -1, 1, 3]), [-np.pi, 0, np.pi]))
        ),
        separable=True, fixed=True,
    ),
    "el_attar_vidyasagar_dutta": _Entry(
        _el_attar, 2, (-500, 500), lambda n: 1.7127803548621998,
        lambda n: np.array([[3.409186822215319, -2.1714330353795157]]), fixed=True,
    ),
    "egg_holder": _Entry(
        _egg_holder, 2, (-512, 512),
        lambda n: -959.640662720851 if n == 2 else None,
        lambda n: np.array([[512.0, 404.2318050579]]) if n == 2 else np.empty((0, n)),
        differentiable=False,
    ),
    "exponential": _Entry(
        _exponential, 2, (-1, 1), lambda n: -1.0, _at_zero, unimodal=True
    ),
    "mishra_1": _Entry(
        _mishra_1, 2, (0, 1), lambda n: 2.0, lambda n: np.ones((1, n)), unimodal=True
    ),
    "mishra_2": _Entry(
        _mishra_2, 2, (-10, 10), lambda n: -2.283949838474759,
        lambda n: np.array([[2.886307215440481, 1.823260331422321]]),
        differentiable=False, fixed=True,
    ),
    "price": _Entry(
        _price, 2, (-500, 500), lambda n: 0.0,
        lambda n: np.array(list(product([-5.0, 5.0], repeat=2))),
        separable=True, differentiable=False, fixed=True,
    ),
    "schwefel_2_20": _Entry(
        _schwefel_220, 2, (-100, 100), lambda n: 0.0, _at_zero,
        separable=True, differentiable=False, unimodal=True,
    ),
    "bartels_conn": _Entry(
        _bartels_conn, 2, (-500, 500), lambda n: 1.0, _at_zero, differentiable=False,
        fixed=True,
    ),
    "bukin_6": _Entry(
        _bukin_6, 2, [(-15, -5), (-3, 3)], lambda n: 0.0,
        lambda n: np.array([[-10.0, 1.0]]), differentiable=False, fixed=True,
    ),
    "chung_reynolds": _Entry(
        _power_of_squares(2.0), 2, (-100, 100), lambda n: 0.0, _at_zero, unimodal=True
    ),
    "corana": _Entry(
        _corana, 4, (-500, 500), lambda n: 0.0, _at_zero,
        separable=True, differentiable=False, fixed=True,
    ),
    "cosine_mixture": _Entry(
        _cosine_mixture, 2, (-1, 1), lambda n: -0.1 * n, _at_zero, separable=True
    ),
}  # fmt: skip

_FAMILIES: dict[str, Callable[..., _Entry]] = {
    "langermann": _langermann_entry,
    "schwefel": _schwefel_entry,
}

BENCHMARK_FUNCTIONS = tuple(sorted([*_TABLE, *_FAMILIES]))


def benchmark_function(
    name: str, n_dim: int | None = None, **parameters: float
) -> BenchmarkFunction:
    """Make one of sixteen functions with known minima.

    Parameters
    ----------
    name : str
        One of "bartels_conn", "bukin_6", "chung_reynolds", "corana",
        "cosine_mixture", "egg_holder", "el_attar_vidyasagar_dutta", "exponential",
        "giunta", "langermann", "mishra_1", "mishra_2", "parsopoulos", "price",
        "schwefel" and "schwefel_2_20".
    n_dim : int, default=None
        Number of variables, where it is free; None for the usual one.
    **parameters : float
        `alpha` > 0 is the power of "schwefel", 1 by default. `third` is the third
        height of "langermann": 1.5 as printed in the textbook, or 0.1.

    Returns
    -------
    function : BenchmarkFunction
        The function, with its box and its minimum.

    Notes
    -----
    The minima are recomputed from the formulas; many published ones are wrong.
    "mishra_1" and "mishra_2" are named as in the textbook; they are better known as the
    second and the sixth function of Mishra.

    References
    ----------
    .. [1] M. Jamil, X.-S. Yang, "A literature survey of benchmark functions for global
       optimisation problems", International Journal of Mathematical Modelling and
       Numerical Optimisation 4 (2013). :doi:`10.1504/IJMMNO.2013.055204`

    Examples
    --------
    >>> from fewlabels.optimize import benchmark_function
    >>> f = benchmark_function("bukin_6")
    >>> f.bounds.tolist(), f.minimum, f.minimizers.tolist()
    ([[-15.0, -5.0], [-3.0, 3.0]], 0.0, [[-10.0, 1.0]])
    >>> f([[-10.0, 1.0], [-10.0, 0.0]])
    array([  0., 100.])
    """
    check_choice("name", name, BENCHMARK_FUNCTIONS)
    allowed = {"langermann": {"third"}, "schwefel": {"alpha"}}.get(name, set())
    if not set(parameters) <= allowed:
        raise ValueError(
            f"{name} has no parameter {sorted(set(parameters) - allowed)}."
        )
    entry = _FAMILIES[name](**parameters) if name in _FAMILIES else _TABLE[name]
    n = entry.n_dim if n_dim is None else n_dim
    if n < 1 or (entry.fixed and n != entry.n_dim):
        raise ValueError(f"{name} has {entry.n_dim} variables, not n_dim={n}.")
    if (entry.largest is not None and n > entry.largest) or (
        name in ("egg_holder", "mishra_1") and n < 2
    ):
        raise ValueError(f"n_dim={n} is out of range for {name}.")
    return BenchmarkFunction(
        name=name,
        n_dim=n,
        bounds=np.array(np.broadcast_to(entry.bounds, (n, 2)), dtype=np.float64),
        minimum=entry.minimum(n),
        minimizers=np.asarray(entry.minimizers(n), dtype=np.float64),
        is_separable=entry.separable or n == 1,
        is_differentiable=entry.differentiable,
        is_unimodal=entry.unimodal,
        _function=entry.function,
    )
