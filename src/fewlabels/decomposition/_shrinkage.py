"""Shrinking towards zero."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray


def soft_threshold(values: NDArray[Any], threshold: float) -> NDArray[Any]:
    r"""Shrink towards zero: :math:`\mathrm{sign}(v) \max(|v| - t, 0)`.

    Parameters
    ----------
    values : ndarray
        Numbers v.
    threshold : float
        What is taken off their size, t.

    Returns
    -------
    shrunk : ndarray
        An array of the same shape.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition._shrinkage import soft_threshold
    >>> soft_threshold(np.array([-3.0, 0.5, 2.0]), 1.0)
    array([-2.,  0.,  1.])
    """
    # v - clip(v) is exact where v is beyond the threshold and zero within it.
    return values - np.clip(values, -threshold, threshold)
