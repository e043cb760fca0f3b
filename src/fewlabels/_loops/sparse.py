"""Loops over sparse arrays in compressed rows."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels._loops import njit


@njit(cache=True, nogil=True)
def rows_times_block(indptr, indices, data, block, minus, start, stop, out):
    """Write rows start to stop of the product with a block of columns.

    From it `minus` is subtracted, unless that has no rows; `out` may be the same.
    """
    m = block.shape[1]
    for i in range(start, stop):
        row = out[i]
        if minus.shape[0]:
            for t in range(m):
                row[t] = -minus[i, t]
        else:
            for t in range(m):
                row[t] = 0
        for s in range(indptr[i], indptr[i + 1]):
            value, other = data[s], block[indices[s]]
            for t in range(m):
                row[t] += value * other[t]
