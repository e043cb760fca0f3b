"""Sample sizes."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from fewlabels.ensemble import pac_sample_size


@pytest.mark.parametrize("n_hypotheses", [1, 10, 3**10])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("delta", [0.01, 0.2])
def test_the_union_bound_holds(n_hypotheses, epsilon, delta):
    m = pac_sample_size(n_hypotheses, epsilon=epsilon, delta=delta)
    assert n_hypotheses * (1 - epsilon) ** m <= delta
    assert n_hypotheses * np.exp(-epsilon * m) <= delta * (1 + 1e-12)
    assert n_hypotheses * np.exp(-epsilon * (m - 1)) > delta * (1 - 1e-12)


def test_a_consistent_threshold_is_approximately_correct(rng):
    """Thresholds on a grid, learnt from m uniform rows: few are far off."""
    grid = np.linspace(0, 1, 101)
    m = pac_sample_size(grid.size, epsilon=0.1, delta=0.1)
    failures = 0
    for _ in range(200):
        x = rng.random(m)
        y = x >= 0.5
        wrong = [(x >= t) != y for t in grid]
        consistent = grid[[not w.any() for w in wrong]]
        failures += np.abs(consistent - 0.5).max() > 0.1
    assert failures / 200 <= 0.1


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0.5, 0.1, 0.1), "n_hypotheses"),
        ((2, 0, 0.1), "epsilon"),
        ((2, 0.1, 1), "delta"),
    ],
)
def test_bad_arguments(arguments, name):
    size, epsilon, delta = arguments
    with pytest.raises(ValueError, match=name):
        pac_sample_size(size, epsilon=epsilon, delta=delta)
