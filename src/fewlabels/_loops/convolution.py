"""Loops of convolutional networks; channels come last, side by side in memory."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels._loops import njit


@njit(cache=True, nogil=True)
def add_and_clip(rows, bias):
    """Add a bias to all rows, and clip them to between 0 and 6; overwrite them."""
    zero, six = rows.dtype.type(0), rows.dtype.type(6)
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            rows[i, c] = min(max(rows[i, c] + bias[c], zero), six)


@njit(cache=True, nogil=True, fastmath={"contract"})
def depthwise(picture, kernel, bias, stride, top, left, out):
    """Convolve each channel with a kernel of its own, and clip to between 0 and 6.

    Outside of the picture, whose first `top` rows and `left` columns come before it,
    there are zeros.
    """
    height, width, n_channels = picture.shape
    size = kernel.shape[0]
    zero, six = out.dtype.type(0), out.dtype.type(6)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            cell = out[i, j]
            for c in range(n_channels):
                cell[c] = bias[c]
            for a in range(size):
                row = i * stride + a - top
                if row < 0 or row >= height:
                    continue
                for b in range(size):
                    column = j * stride + b - left
                    if column < 0 or column >= width:
                        continue
                    weights, values = kernel[a, b], picture[row, column]
                    for c in range(n_channels):
                        cell[c] += weights[c] * values[c]
            for c in range(n_channels):
                cell[c] = min(max(cell[c], zero), six)
