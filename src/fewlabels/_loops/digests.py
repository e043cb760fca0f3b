"""Loop of the digests of rows."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels._loops import njit


@njit(cache=True, nogil=True)
def row_sums(words, salts, factors, sums):
    """Write the two sums over every row of its mixed words.

    Words are the bits of float64 numbers; those of zero, of either sign, do not count.
    The mixing is that of ``fewlabels._rows.mixed_words``.
    """
    n, d = words.shape
    a, b = factors
    for i in range(n):
        first = second = np.uint64(0)
        for j in range(d):
            bits = words[i, j]
            if bits << np.uint64(1):
                w = bits + salts[0, j]
                w = (w ^ (w >> np.uint64(30))) * a
                w = (w ^ (w >> np.uint64(27))) * b
                first += w ^ (w >> np.uint64(31))
                w = bits + salts[1, j]
                w = (w ^ (w >> np.uint64(30))) * a
                w = (w ^ (w >> np.uint64(27))) * b
                second += w ^ (w >> np.uint64(31))
        sums[i, 0] = first
        sums[i, 1] = second
