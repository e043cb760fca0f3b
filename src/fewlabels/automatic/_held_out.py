r"""Held-out outputs of kernel least squares in closed form.

A model is a kernel matrix K of the l labelled rows and a ridge; with targets Y it
predicts :math:`f = K A^{-1} Y`, :math:`A = K + \rho D`. Leaving out a block B of rows
and learning from the rest R gives, on B, exactly

.. math::
    f_B = Y_B - [(A^{-1})_{BB}]^{-1} (A^{-1} Y)_B, \qquad
    (A_{RR})^{-1} = (A^{-1})_{RR} - (A^{-1})_{RB} [(A^{-1})_{BB}]^{-1} (A^{-1})_{BR},

so that a kernel is never fitted twice, not even in nested cross-validation.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fewlabels._linalg import semidefinite_eigh
from fewlabels._threads import in_threads

Blocks = Sequence[NDArray[np.intp]]


class HeldOutModels(Protocol):
    """Candidates on the same labelled rows, which predict held-out rows."""

    def held_out(self, blocks: Blocks) -> NDArray[Any]:
        """Predict every row with models fitted without its block."""

    def coefficients(self) -> list[Any]:
        """List, for every candidate, the result of fitting it to these rows."""


class OuterModels(HeldOutModels, Protocol):
    """Held-out models that can themselves be fitted without a block."""

    def without(self, block: NDArray[np.intp]) -> HeldOutModels:
        """Return models fitted without a block; other rows keep their order."""


class Models(OuterModels, Protocol):
    """Held-out models of all labelled rows."""

    def shifted(self, by: NDArray[Any]) -> OuterModels:
        """Return models of the targets minus a constant."""


class JoinedModels(NamedTuple):
    """Several sets of models as one."""

    parts: Sequence[Any]

    def held_out(self, blocks: Blocks) -> NDArray[Any]:
        """See :meth:`Models.held_out`."""
        return np.concatenate([part.held_out(blocks) for part in self.parts])

    def without(self, block: NDArray[np.intp]) -> "JoinedModels":
        """See :meth:`Models.without`."""
        return JoinedModels([part.without(block) for part in self.parts])

    def shifted(self, by: NDArray[Any]) -> "JoinedModels":
        """See :meth:`Models.shifted`."""
        return JoinedModels([part.shifted(by) for part in self.parts])

    def coefficients(self) -> list[Any]:
        """See :meth:`Models.coefficients`."""
        return [found for part in self.parts for found in part.coefficients()]


def joined_models(parts: Sequence[Models]) -> Models:
    """Join several sets of models into one."""
    return parts[0] if len(parts) == 1 else JoinedModels(parts)


class Removed(NamedTuple):
    """The update of the inverses when rows are left out, as a product of two factors.

    It is subtracted from them.
    """

    left: NDArray[Any]  # candidates, rest, removed
    right: NDArray[Any]  # candidates, removed, rest


class KernelModels(NamedTuple):
    """Models on the same labelled rows, one for every pair of kernel and ridge.

    Attributes
    ----------
    inverses : ndarray of shape (n_variants, l, l)
        :math:`A^{-1}` of each.
    coefs : ndarray of shape (n_variants, l, n_targets)
        :math:`A^{-1} Y` of each.
    Y : ndarray of shape (l, n_targets)
        Targets.
    n_ridges : int
        Number of models per kernel, stored next to each other.
    rows : ndarray of int, default=None
        If rows have been left out, the places of the others in `inverses`; `coefs` has
        only these rows.
    removed : Removed, default=None
        What to subtract from the inverses in that case. Only requested entries are
        ever computed.
    """

    inverses: NDArray[Any]
    coefs: NDArray[Any]
    Y: NDArray[Any]
    n_ridges: int
    rows: NDArray[np.intp] | None = None
    removed: Removed | None = None

    def blocks(self, stack: NDArray[np.intp]) -> NDArray[Any]:
        """Take blocks of the inverses."""
        at = stack if self.rows is None else self.rows[stack]
        blocks = self.inverses[:, at[:, :, None], at[:, None, :]]
        if self.removed is not None:
            left = self.removed.left[:, stack]
            right = self.removed.right[:, :, stack].transpose(0, 2, 1, 3)
            blocks -= left @ right
        return blocks

    def diagonal(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Take entries of the diagonals of the inverses."""
        at = rows if self.rows is None else self.rows[rows]
        diagonal = self.inverses[:, at, at]
        if self.removed is not None:
            left, right = self.removed.left[:, rows], self.removed.right[:, :, rows]
            diagonal -= np.einsum("crb,cbr->cr", left, right)
        return diagonal

    def held_out(self, blocks: Blocks) -> NDArray[Any]:
        """See :meth:`Models.held_out`."""
        outputs = np.full(self.coefs.shape, np.nan)
        for stack in _by_size(blocks):
            coefs = self.coefs[:, stack]  # candidates, blocks, size, targets
            if stack.shape[1] == 1:
                rows = stack[:, 0]
                residuals = coefs / self.diagonal(rows)[:, :, None, None]
            else:
                residuals = np.linalg.solve(self.blocks(stack), coefs)
            outputs[:, stack] = self.Y[stack] - residuals
        return outputs

    def without(self, block: NDArray[np.intp]) -> "KernelModels":
        """See :meth:`Models.without`."""
        rest = np.setdiff1d(np.arange(self.Y.shape[0]), block)
        left = self.inverses[:, rest[:, None], block]
        within = self.blocks(block[None])[:, 0]
        right = np.linalg.solve(within, left.transpose(0, 2, 1))
        coefs = self.coefs[:, rest] - right.transpose(0, 2, 1) @ self.coefs[:, block]
        return self._replace(
            coefs=coefs, Y=self.Y[rest], rows=rest, removed=Removed(left, right)
        )

    def shifted(self, by: NDArray[Any]) -> "KernelModels":
        """See :meth:`Models.shifted`."""
        constant = self.inverses.sum(axis=2, keepdims=True)
        return self._replace(coefs=self.coefs - constant * by, Y=self.Y - by)

    def coefficients(self) -> list[Any]:
        """Coefficients of every kernel, of shape (n_ridges, l, n_targets)."""
        return list(self.coefs.reshape(-1, self.n_ridges, *self.coefs.shape[1:]))


def _by_size(blocks: Blocks) -> list[NDArray[np.intp]]:
    """Stack blocks of equal size, so that their systems are solved in one call."""
    sizes = sorted({len(block) for block in blocks})
    return [np.stack([b for b in blocks if len(b) == size]) for size in sizes]


def ridge_inverses(
    K: NDArray[Any], ridges: NDArray[Any], diagonal: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Invert K + ridge * diag(diagonal) for every ridge, by one eigendecomposition."""
    root = np.ones(K.shape[0]) if diagonal is None else np.sqrt(diagonal)
    e, U = semidefinite_eigh(K / np.outer(root, root))
    U = U / root[:, None]
    return np.stack([(U / (e + ridge)) @ U.T for ridge in ridges])


def kernel_models(
    kernels: Iterable[NDArray[Any]],
    ridges: NDArray[Any],
    Y: NDArray[Any],
    diagonal: NDArray[Any] | None = None,
) -> KernelModels:
    """Fit every kernel with every ridge."""
    parts = in_threads(lambda K: ridge_inverses(K, ridges, diagonal), kernels)
    inverses = np.concatenate(parts)
    return KernelModels(inverses, inverses @ Y, Y, ridges.size)
