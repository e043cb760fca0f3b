"""Linear functions of the columns of a source, as parts of a sum."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.automatic._candidates import Outputs
from fewlabels.automatic._sources import Source, View


@dataclass(frozen=True)
class LinearPart:
    """A linear function of the columns of a source, as it was fitted."""

    scales: NDArray[Any]
    unit_rows: bool
    weights: NDArray[Any]
    offset: NDArray[Any]

    @classmethod
    def plain(cls, weights: NDArray[Any], offset: NDArray[Any]) -> "LinearPart":
        """Take columns as they are."""
        return cls(np.ones(weights.shape[0]), False, weights, offset)


def total(parts: Sequence[LinearPart]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Weights of the columns before they are scaled, and offset, of a sum."""
    weights = np.zeros((max(p.scales.size for p in parts), parts[0].offset.size))
    for part in parts:
        weights[: part.scales.size] += part.scales[:, None] * part.weights
    return weights, np.sum([p.offset for p in parts], axis=0)


@dataclass(frozen=True)
class LinearSum(Outputs):
    """A linear function of the columns of a source, perhaps scaled to length one."""

    source: Source
    scales: NDArray[Any] | None  # None where rows are not scaled to length one
    weights: NDArray[Any]
    offset: NDArray[Any]

    def __call__(self, view: View) -> NDArray[Any]:
        Z = view[self.source]
        if self.scales is None:
            # A prefix of the columns may be all that carries weight.
            if Z.shape[1] > self.weights.shape[0]:
                Z = Z[:, : self.weights.shape[0]]
        else:
            Z = Z[:, : self.scales.size] * self.scales.astype(Z.dtype)
            norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))
            Z = Z / np.where(norms > 1e-12, norms, 1)[:, None]
        return Z @ self.weights.astype(Z.dtype, copy=False) + self.offset
