"""The first thousand cases; `make fuzz` runs a hundred thousand."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from tests.robustness import cases

N_CASES, N_BLOCKS = 1000, 20


@pytest.mark.parametrize("block", range(N_BLOCKS))
def test_all_ways_agree(block):
    size = N_CASES // N_BLOCKS
    reports = [cases.run_case(seed) for seed in range(block * size, (block + 1) * size)]
    assert [r.detail for r in reports if r.outcome == "disagree"] == []
    # A refusal is a sentence with a remedy, and the exception.
    refused = [r.detail for r in reports if r.outcome == "refused"]
    assert all(": " in detail for detail in refused)
    assert len(refused) <= 0.1 * size


def test_a_wrong_answer_is_noticed():
    method = cases.METHODS["RLSClassifier"]
    base = np.array([[1.0, -1.0], [-1.0, 1.0], [1e-9, 0.0]])
    assert cases.agree(method, base, base * (1 + 1e-9), single=False)
    assert cases.agree(method, base, base * [[1], [1], [-1]], single=False)  # no lead
    assert not cases.agree(method, base, -base, single=False)
    assert not cases.agree(method, base, base * np.nan, single=False)
