"""Fixtures for every test module."""

# SPDX-License-Identifier: BSD-3-Clause

import os

import numpy as np
import pytest
from hypothesis import settings

from fewlabels import _threads

# Compiled and BLAS code has slow first calls; a deadline would only measure those.
settings.register_profile("default", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("FEWLABELS_HYPOTHESIS", "default"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """One thread for each worker: those of several would wait for one another."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def _seeds():
    """Seeds of `global_random_seed`: 42, or FEWLABELS_TESTS_SEEDS such as "0-99"."""
    first, _, last = os.environ.get("FEWLABELS_TESTS_SEEDS", "42").partition("-")
    return range(int(first), int(last or first) + 1)


@pytest.fixture(params=_seeds())
def global_random_seed(request):
    """A seed for which no test may be tuned: any value must pass."""
    return request.param


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def global_dtype(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["NumPy", "compiled"])
def compiled(request, monkeypatch):
    """Whether loops are compiled, however little there is to do."""
    if request.param:
        monkeypatch.setattr(_threads, "COMPILER_STARTS", -1)
    return request.param


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)
