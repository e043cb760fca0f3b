"""Graphs of images."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from fewlabels._linalg import FLOATS
from fewlabels._sklearn import Interval, StrOptions, check_array, validate_params


@validate_params(
    {
        "image": ["array-like"],
        "radius": [Interval(Real, 1, None, closed="left")],
        "intensity_width": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto"}),
        ],
        "distance_width": [Interval(Real, 0, None, closed="neither"), None],
    },
    prefer_skip_nested_validation=True,
)
def image_graph(
    image: Any,
    *,
    radius: float = 5.0,
    intensity_width: float | str = "auto",
    distance_width: float | None = 4.0,
) -> csr_array:
    r"""Build the graph of an image, which connects nearby pixels of similar intensity.

    For pixels i, j at positions p and with intensities (or colours) F,

    .. math::
        w_{ij} = \exp\Big(-\frac{\|F_i - F_j\|^2}{2 s_F^2}
        - \frac{\|p_i - p_j\|^2}{2 s_p^2}\Big)
        \quad \text{if } \|p_i - p_j\| \le r, \text{ else } 0.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, n_channels)
        The image.
    radius : float, default=5.0
        Largest distance r of connected pixels, in pixels.
    intensity_width : float or "auto", default="auto"
        The width :math:`s_F`; "auto" takes a tenth of the range of the intensities.
    distance_width : float, default=4.0
        The width :math:`s_p`, in pixels; None leaves the second term out.

    Returns
    -------
    W : csr_array of shape (height * width, height * width)
        Symmetric weights; pixels are numbered row by row, as ``image.ravel()`` does.

    See Also
    --------
    fewlabels.cluster.RecursiveNormalizedCut : Segment the image.
    sklearn.feature_extraction.image.img_to_graph : Differences of adjacent pixels.

    References
    ----------
    .. [1] J. Shi, J. Malik, "Normalized cuts and image segmentation", IEEE Transactions
       on Pattern Analysis and Machine Intelligence 22 (2000). :doi:`10.1109/34.868688`

    Examples
    --------
    >>> from fewlabels.graphs import image_graph
    >>> W = image_graph([[0.0, 0.0, 1.0]], radius=1, distance_width=None)
    >>> W.toarray().round(3)
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    >>> W.nnz
    4
    """
    image = check_array(image, dtype=FLOATS, allow_nd=True, input_name="image")
    if image.ndim > 3:
        raise ValueError(
            f"image must have two or three dimensions, got shape {image.shape}."
        )
    pixels = image if image.ndim == 3 else image[:, :, None]
    height, width = pixels.shape[:2]
    if intensity_width == "auto":
        intensity_width = float(np.ptp(pixels)) / 10 or 1.0  # 1 for a constant image
    scaled = pixels.astype(np.float64) / intensity_width
    number = np.arange(height * width).reshape(height, width)
    reach = int(radius)
    rows, columns, data = [], [], []
    for down in range(min(reach, height - 1) + 1):
        for right in range(-min(reach, width - 1), min(reach, width - 1) + 1):
            squared = down**2 + right**2
            if (down == 0 and right <= 0) or squared > radius**2:
                continue  # each pair once
            here = np.s_[: height - down, max(0, -right) : width - max(0, right)]
            there = np.s_[down:, max(0, right) : width - max(0, -right)]
            exponent = np.sum((scaled[here] - scaled[there]) ** 2, axis=2)
            if distance_width is not None:
                exponent += squared / distance_width**2
            rows.append(number[here].ravel())
            columns.append(number[there].ravel())
            data.append(np.exp(-0.5 * exponent).ravel())
    n = height * width
    if not rows:  # a single pixel
        return csr_array((n, n), dtype=image.dtype)
    half = coo_array(
        (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))),
        shape=(n, n),
    ).tocsr()
    return (half + half.T).astype(image.dtype)
