"""Samples of rows that do not depend on batches."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from fewlabels._sampling import SmallestKeys, row_keys

MASK = 2**64 - 1


def slow_mixed(word):
    """The last step of SplitMix64, in Python's integers."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def test_keys_are_those_of_splitmix64():
    step = 0x9E3779B97F4A7C15
    for seed in (0, 5, 2**40):
        salt = slow_mixed((seed * step + step) & MASK)
        expected = [slow_mixed((row * step + salt) & MASK) for row in range(7, 20)]
        assert row_keys(7, 20, seed).tolist() == expected


@pytest.mark.parametrize("size", [0, 1, 37, 1000, 5000])
def test_sample_does_not_depend_on_batches(size, global_random_seed):
    n, seed = 1000, global_random_seed
    keys = row_keys(0, n, seed)
    expected = np.argsort(keys)[:size]
    rng = np.random.RandomState(seed)
    for n_parts in (1, 3, 50):
        cuts = np.sort(rng.randint(0, n + 1, n_parts - 1))
        bounds = list(zip([0, *cuts], [*cuts, n], strict=True))
        rng.shuffle(bounds)
        total = SmallestKeys(size)
        for start, stop in bounds:
            part = SmallestKeys(size)
            part = part.seen(np.arange(start, stop), row_keys(start, stop, seed))
            total = total.join(part)
        np.testing.assert_array_equal(total.rows, expected)
        np.testing.assert_array_equal(total.keys, keys[expected])


def test_samples_are_uniform():
    # Each of 40 rows should be among 10 in a quarter of 2,000 seeds: 500 times, give or
    # take five standard deviations of 19.4.
    chosen = [
        SmallestKeys(10).seen(np.arange(40), row_keys(0, 40, seed)).rows
        for seed in range(2000)
    ]
    counts = np.bincount(np.concatenate(chosen), minlength=40)
    assert np.abs(counts - 500).max() < 97
    # And two neighbours together in 10/40 * 9/39.
    both = np.mean([np.isin([4, 5], rows).all() for rows in chosen])
    assert abs(both - 10 * 9 / (40 * 39)) < 0.026
