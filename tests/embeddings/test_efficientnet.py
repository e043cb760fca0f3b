"""The network against its slow twin, and with its real weights."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from fewlabels.embeddings import load_embedder
from fewlabels.embeddings._efficientnet import LiteNetwork
from tests.embeddings.pictures import needs_weights
from tests.reference.convolution import lite_features

# Channels in and out, size of the kernel, factor of the expansion, stride.
BLOCKS = [
    (4, 3, 3, 1, 1),
    (3, 5, 3, 6, 2),
    (5, 5, 3, 2, 1),
    (5, 6, 5, 2, 2),
    (6, 7, 3, 2, 2),
    (7, 8, 5, 2, 1),
    (8, 8, 5, 2, 1),
    (8, 9, 5, 2, 2),
    (9, 4, 3, 2, 1),
]


# The largest features of a grey slope by EfficientNet-Lite2, as PyTorch computes them
# with the network of the package efficientnet-lite-pytorch.
FROM_TORCH = {295: 3.84504, 833: 2.82580, 966: 5.24711, 995: 3.90381, 1100: 4.75005}


def made_up_weights(seed=0):
    rng = np.random.default_rng(seed)
    weights = {}

    def convolution(name, norm, n_out, n_in, size):
        shape = (n_out, n_in, size, size)
        weights[name + ".weight"] = rng.normal(size=shape).astype(np.float32)
        for end, low, high in (
            ("weight", 0.5, 2.0),
            ("bias", -1.0, 2.0),
            ("running_mean", -1.0, 1.0),
            ("running_var", 0.5, 3.0),
        ):
            weights[f"{norm}.{end}"] = rng.uniform(low, high, n_out).astype(np.float32)

    convolution("_conv_stem", "_bn0", 4, 3, 3)
    for k, (n_in, n_out, size, factor, _) in enumerate(BLOCKS):
        block, wide = f"_blocks.{k}.", factor * n_in
        if factor > 1:
            convolution(block + "_expand_conv", block + "_bn0", wide, n_in, 1)
        convolution(block + "_depthwise_conv", block + "_bn1", wide, 1, size)
        convolution(block + "_project_conv", block + "_bn2", n_out, wide, 1)
    convolution("_conv_head", "_bn1", 11, 4, 1)
    return weights


@pytest.mark.parametrize("shape", [(32, 32), (19, 27), (1, 1)])
def test_network_agrees_with_its_slow_twin(shape):
    rng = np.random.default_rng(sum(shape))
    picture = rng.integers(0, 256, (*shape, 3)).astype(np.uint8)
    weights = made_up_weights()
    network = LiteNetwork(weights)
    strides = [block[-1] for block in BLOCKS]
    expected = lite_features(weights, picture, strides)
    assert network.n_dimensions == 11
    np.testing.assert_allclose(network(picture), expected, rtol=1e-4, atol=1e-4)


@needs_weights
def test_real_weights_see_what_pictures_have_in_common():
    """Values that PyTorch computes for the same picture; alike pictures are near."""
    embedder = load_embedder("picture")
    size = embedder.size
    assert embedder.n_dimensions == 1280
    slope = np.linspace(0, 255, size).astype(np.uint8)
    plain = np.repeat(slope[:, None], size, axis=1)[:, :, None].repeat(3, axis=2)
    noise = np.random.default_rng(0).integers(0, 256, (size, size, 3), dtype=np.uint8)
    first, darker, other = embedder.embed([plain, plain // 2, noise])
    assert np.linalg.norm(first - darker) < np.linalg.norm(first - other)
    np.testing.assert_allclose(first[list(FROM_TORCH)], list(FROM_TORCH.values()), 1e-3)
