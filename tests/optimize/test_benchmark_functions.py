"""Functions with known minima (entry A9)."""

# SPDX-License-Identifier: BSD-3-Clause

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import differential_evolution

from fewlabels.optimize import BENCHMARK_FUNCTIONS, benchmark_function

FREE = (
    "chung_reynolds",
    "cosine_mixture",
    "exponential",
    "mishra_1",
    "schwefel",
    "schwefel_2_20",
)
CASES = [
    *((name, None, {}) for name in BENCHMARK_FUNCTIONS),
    *((name, 4, {}) for name in FREE),
    ("langermann", 5, {}),
    ("langermann", 10, {}),
    ("langermann", 2, {"third": 0.1}),
    ("langermann", 5, {"third": 0.1}),
    ("langermann", 10, {"third": 0.1}),
    ("schwefel", 3, {"alpha": 0.5}),
]


def test_there_are_sixteen():
    assert len(BENCHMARK_FUNCTIONS) == 16


@pytest.mark.parametrize(("name", "n_dim", "parameters"), CASES)
class TestEveryFunction:
    @pytest.fixture
    def f(self, name, n_dim, parameters):
        return benchmark_function(name, n_dim, **parameters)

    def test_the_minimum_is_attained(self, f):
        assert len(f.minimizers) > 0
        assert np.all(f.minimizers >= f.bounds[:, 0])
        assert np.all(f.minimizers <= f.bounds[:, 1])
        assert_allclose(f(f.minimizers), f.minimum, atol=1e-8)

    def test_nothing_lower_is_found(self, f):
        search = differential_evolution(
            lambda x: f(x.T) if x.ndim > 1 else f(x), f.bounds, seed=0, maxiter=60,
            popsize=10, vectorized=True, updating="deferred", polish=False,
        )  # fmt: skip
        assert search.fun >= f.minimum - 1e-8

    def test_separable(self, f, rng):
        """Mixed second differences vanish if and only if f is a sum."""
        x = rng.uniform(*f.bounds.T, size=(50, f.n_dim))
        z = rng.uniform(*f.bounds.T, size=(50, f.n_dim))
        coupled = set()
        for j, k in itertools.combinations(range(f.n_dim), 2):
            a, b, c = x.copy(), x.copy(), x.copy()
            a[:, j] = c[:, j] = z[:, j]
            b[:, k] = c[:, k] = z[:, k]
            mixed = np.abs(f(c) - f(a) - f(b) + f(x))
            sizes = np.max(np.abs([f(x), f(a), f(b), f(c)]), axis=0)
            if np.any(mixed > 1e-12 * sizes):
                coupled |= {j, k}
        assert len(coupled) == f.n_coupled
        assert (not coupled) == f.is_separable

    def test_vectorised(self, f, rng):
        x = rng.uniform(*f.bounds.T, size=(3, 2, f.n_dim))
        values = f(x)
        assert values.shape == (3, 2)
        assert_allclose(values[2, 1], f(x[2, 1]))
        assert isinstance(f(x[0, 0]), float)


class TestErrata:
    """What the textbook prints is not what the functions have."""

    def test_points(self):
        el_attar = benchmark_function("el_attar_vidyasagar_dutta")
        assert_allclose(el_attar([2.842503, 1.920175]), 200.7, atol=0.1)
        giunta = benchmark_function("giunta")
        assert_allclose(giunta([0.45834282] * 2), 0.0646388, atol=1e-7)
        assert_allclose(benchmark_function("parsopoulos")([np.pi, 0.0]), 1.0)

    def test_values(self):
        assert benchmark_function("exponential", 3).minimum == -1
        assert benchmark_function("cosine_mixture", 4).minimum == -0.4
        assert len(benchmark_function("parsopoulos").minimizers) == 12

    def test_corana_is_flat_around_zero(self, rng):
        corana = benchmark_function("corana")
        assert np.all(corana(rng.uniform(-0.05, 0.05, size=(100, 4))) == 0)
        assert corana([-0.2, 0, 0, 0]) > 0

    def test_unknown_minima(self):
        for name in ("egg_holder", "langermann"):
            f = benchmark_function(name, 3)
            assert f.minimum is None
            assert f.minimizers.shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: benchmark_function("sphere"), "name='sphere' is unknown"),
        (lambda: benchmark_function("giunta", 3), "has 2 variables"),
        (lambda: benchmark_function("langermann", 11), "out of range"),
        (lambda: benchmark_function("mishra_1", 1), "out of range"),
        (lambda: benchmark_function("schwefel", alpha=0.0), "alpha must be"),
        (lambda: benchmark_function("giunta", alpha=1.0), "no parameter"),
        (lambda: benchmark_function("giunta")([1.0]), "2 variables, got"),
    ],
)
def test_bad_input(call, match):
    with pytest.raises(ValueError, match=match):
        call()
