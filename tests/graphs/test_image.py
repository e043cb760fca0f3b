"""Graphs of images."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from fewlabels.graphs import image_graph
from tests.helpers import assert_close


def plain(image, radius, intensity_width, distance_width):
    """Every pair of pixels by itself."""
    height, width = image.shape[:2]
    n = height * width
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            apart = np.array(divmod(i, width)) - np.array(divmod(j, width))
            squared = float(apart @ apart)
            if i == j or squared > radius**2:
                continue
            a, b = image[divmod(i, width)], image[divmod(j, width)]
            exponent = np.sum((np.atleast_1d(a) - b) ** 2) / intensity_width**2
            if distance_width is not None:
                exponent += squared / distance_width**2
            W[i, j] = np.exp(-exponent / 2)
    return W


@pytest.mark.parametrize("shape", [(4, 5), (1, 6), (6, 1), (3, 4, 3), (1, 1)])
@pytest.mark.parametrize("radius", [1.0, 1.5, 2.3, 9.0])
@pytest.mark.parametrize("distance_width", [None, 2.0])
def test_against_all_pairs(shape, radius, distance_width, rng, global_dtype):
    image = rng.uniform(size=shape).astype(global_dtype)
    W = image_graph(
        image, radius=radius, intensity_width=0.5, distance_width=distance_width
    )
    assert W.dtype == global_dtype
    expected = plain(image, radius, 0.5, distance_width)
    assert_close(W.toarray(), expected)
    assert W.nnz == np.count_nonzero(expected)


def test_constant_image_and_bad_input():
    W = image_graph(np.ones((3, 3)), radius=1, distance_width=None)
    assert W.sum() == 24
    with pytest.raises(ValueError, match="two or three dimensions"):
        image_graph(np.ones((2, 2, 2, 2)))
    with pytest.raises(ValueError, match="radius"):
        image_graph(np.ones((2, 2)), radius=0.5)
