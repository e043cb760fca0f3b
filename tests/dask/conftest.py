"""Everything here runs in this thread, unless a test asks for a cluster."""

# SPDX-License-Identifier: BSD-3-Clause

import dask
import pytest


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield
