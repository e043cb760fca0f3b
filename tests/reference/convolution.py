"""EfficientNet-Lite one number at a time, with weights as PyTorch names them."""

# SPDX-License-Identifier: BSD-3-Clause

import math

import numpy as np


def convolve(x, kernel, stride, groups=1):
    """Convolve channels (c, h, w), with zeros around them as 'same' padding has."""
    n_out, per_group, size, _ = kernel.shape
    _, height, width = x.shape
    heights, widths = math.ceil(height / stride), math.ceil(width / stride)
    top = max((heights - 1) * stride + size - height, 0) // 2
    left = max((widths - 1) * stride + size - width, 0) // 2
    out = np.zeros((n_out, heights, widths))
    for o in range(n_out):
        first = (o * groups // n_out) * per_group
        for i in range(heights):
            for j in range(widths):
                for c in range(per_group):
                    for a in range(size):
                        for b in range(size):
                            row, column = i * stride + a - top, j * stride + b - left
                            if 0 <= row < height and 0 <= column < width:
                                value = x[first + c, row, column]
                                out[o, i, j] += kernel[o, c, a, b] * value
    return out


def normalise(x, weights, name):
    columns = {
        end: weights[f"{name}.{end}"][:, None, None]
        for end in ("weight", "bias", "running_mean", "running_var")
    }
    centred = (x - columns["running_mean"]) / np.sqrt(columns["running_var"] + 1e-3)
    return centred * columns["weight"] + columns["bias"]


def relu6(x):
    return np.minimum(np.maximum(x, 0), 6)


def lite_features(weights, picture, strides):
    """Features of a picture (h, w, 3); `strides` has one entry per block."""
    x = (picture.astype(float).transpose(2, 0, 1) - 127) / 128
    x = relu6(normalise(convolve(x, weights["_conv_stem.weight"], 2), weights, "_bn0"))
    for k, stride in enumerate(strides):
        block, before = f"_blocks.{k}.", x
        if block + "_expand_conv.weight" in weights:
            x = convolve(x, weights[block + "_expand_conv.weight"], 1)
            x = relu6(normalise(x, weights, block + "_bn0"))
        kernel = weights[block + "_depthwise_conv.weight"]
        x = convolve(x, kernel, stride, groups=len(kernel))
        x = relu6(normalise(x, weights, block + "_bn1"))
        x = convolve(x, weights[block + "_project_conv.weight"], 1)
        x = normalise(x, weights, block + "_bn2")
        if stride == 1 and x.shape == before.shape:
            x = x + before
    x = relu6(normalise(convolve(x, weights["_conv_head.weight"], 1), weights, "_bn1"))
    return x.mean(axis=(1, 2))
