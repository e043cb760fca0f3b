r"""Kernels of a bank, all on the same scale.

Every kernel is centred over the training rows and divided by its mean diagonal, and 1
is added as a bias: :math:`k \mapsto (k - \bar k_x - \bar k_z + \bar k)/s + 1`. One grid
of ridges then fits all. No n x n matrix is ever formed.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from fewlabels._backend import backend_of, to_host
from fewlabels._distances import DistancesTo, squared_distances
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._candidates import Candidate, Form, Outputs
from fewlabels.automatic._compact import Compactor, LinearPart, summed_weights
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._sources import Source, View, batches_for_sums

# With more labels than this, the system is solved on a sample.
MAX_SOLVED = 5000
_BATCH = 4096


class BankKernel(Candidate):
    """A kernel on the rows of a bank, fitted by least squares with several ridges."""

    ridges = tuned.RIDGES

    def block(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Normalised kernel matrix of some training rows."""
        raise NotImplementedError

    def outputs(self, rows: NDArray[Any], coef: NDArray[Any]) -> Outputs:
        """Make the function x -> k(x, rows) @ coef."""
        raise NotImplementedError

    def fit(
        self,
        labeled: Labeled,
        weights: NDArray[Any],
        coefs: Any,
        rng: np.random.RandomState,
    ) -> Outputs:
        """Sum coefficients over ridges; with many labels, solve for the heaviest."""
        if coefs is not None:
            return self.outputs(labeled.distinct, np.tensordot(weights, coefs, axes=1))
        ridge, share = self.ridges[weights.argmax()], weights.sum()
        return self._solve(labeled, share * labeled.Y, ridge, rng)

    def _solve(
        self,
        labeled: Labeled,
        Y: NDArray[Any],
        ridge: float,
        rng: np.random.RandomState,
    ) -> Outputs:
        if labeled.size > MAX_SOLVED:
            labeled = replace(labeled, Y=Y).sample(MAX_SOLVED, rng)
            Y = labeled.Y
        A = self.block(labeled.distinct)
        A[np.diag_indices_from(A)] += ridge / labeled.importance
        coef = linalg.solve(A, Y, assume_a="pos", overwrite_a=True)
        return self.outputs(labeled.distinct, coef)


def _dense(A: Any) -> Any:
    return A.toarray() if issparse(A) else A


def _sums(rows: Any) -> Any:
    """Sum columns in double precision."""
    if issparse(rows):
        return rows.sum(axis=0, dtype=np.float64).ravel()
    xp = backend_of(rows).xp
    return xp.sum(rows, axis=0, dtype=xp.float64)


def _moments(rows: Any) -> tuple[Any, Any]:
    """Sum columns, and all squares, in double precision."""
    values = rows.data if issparse(rows) else rows
    xp = backend_of(values).xp
    return _sums(rows), xp.sum(values * values, dtype=xp.float64)


def _means(values: Any) -> Any:
    """Means of rows in double precision."""
    xp = backend_of(values).xp
    return xp.sum(values, axis=1, dtype=xp.float64) / values.shape[1]


@dataclass(frozen=True)
class LinearOutputs(Outputs):
    """A linear function of the columns of a kernel."""

    kernel: "FeatureKernel"
    weights: NDArray[Any]
    offset: NDArray[Any]

    def reads(self) -> list[tuple[Source, int]]:
        if self.kernel.unit_rows:
            return super().reads()
        return [(self.kernel.source, 0)]  # it is folded, or has forms of its own

    @classmethod
    def compact_all(
        cls, functions: "Sequence[LinearOutputs]", compactor: Compactor
    ) -> list[list[Form]]:
        """Add up functions linear in the same source, folded as far as possible."""
        groups: dict[int, tuple[Source, list[LinearPart]]] = {}

        def add(source: Source, part: LinearPart) -> None:
            groups.setdefault(id(source), (source, []))[1].append(part)

        for function in functions:
            add(function.kernel.source, function.part())
        choices = []
        while groups:
            # Fold first, since folded functions may join others.
            for key, (source, parts) in groups.items():
                if any(part.unit_rows for part in parts):
                    continue
                below = source.folded(*summed_weights(parts), compactor)
                if below is not None:
                    del groups[key]
                    add(below[0], LinearPart.plain(*below[1:]))
                    break
            else:
                choices = [s.linear_forms(p, compactor) for s, p in groups.values()]
                break
        return choices

    def part(self) -> LinearPart:
        """Describe the function by scales and weights of the columns of its source."""
        weights, scales = to_host(self.weights), self.kernel.scales
        if scales is None:
            scales = np.ones(weights.shape[0])
        scales = np.asarray(to_host(scales), dtype=np.float64)
        return LinearPart(scales, self.kernel.unit_rows, weights, to_host(self.offset))

    def __call__(self, view: View) -> Any:
        Z = self.kernel.raw(view)
        b = backend_of(Z)
        return Z @ b.asarray(self.weights, b.dtype(Z)) + b.asarray(self.offset)


class FeatureKernel(BankKernel):
    """A kernel with explicit features: scaled columns of a source, or a map of them.

    Parameters
    ----------
    name, family : str
        See :class:`BankKernel`.
    source : Source
        The array.
    n_columns : int, default=None
        Number of leading columns to use.
    scales : ndarray of shape (n_columns,), default=None
        Factors of the columns.
    unit_rows : bool, default=False
        Whether to scale features to length one, for a kernel with unit diagonal.
    transform : ndarray of shape (n_source_columns, n_features), default=None
        Map from columns to features, instead of the three above.
    moments : pair of ndarray, default=None
        Means of z and of z z' over the rows z of the source, needed with a transform.
    n_groups : int, default=None
        See :class:`fewlabels.automatic._candidates.Candidate`.
    """

    def __init__(
        self,
        name: str,
        family: str,
        source: Source,
        *,
        n_columns: int | None = None,
        scales: NDArray[Any] | None = None,
        unit_rows: bool = False,
        transform: NDArray[Any] | None = None,
        moments: tuple[NDArray[Any], NDArray[Any]] | None = None,
        n_groups: int | None = None,
    ) -> None:
        self.name = name
        self.family = family
        self.source = source
        self.n_columns = n_columns
        self.scales = scales
        self.unit_rows = unit_rows
        self._transform = transform
        self._moments = moments
        self.n_groups = n_groups

    def raw(self, view: View) -> Any:
        """Features before centring; with a transform, the columns it applies to."""
        return self._columns(view[self.source])

    def _columns(self, Z: Any) -> Any:
        if self.n_columns is not None:
            Z = Z[:, : self.n_columns]
        if self.scales is not None:
            b = backend_of(Z)
            Z = Z * b.asarray(self.scales, b.dtype(Z))
        if self.unit_rows:
            xp = backend_of(Z).xp
            norms = xp.sqrt(xp.linalg.vecdot(Z, Z))
            Z = Z / xp.where(norms > 1e-12, norms, xp.ones_like(norms))[:, None]
        return Z

    def prepare(self) -> bool:
        """Centre and scale; tell whether anything finite is left."""
        Z = self.source.train
        n = Z.shape[0]
        # Each thread prepares one kernel: with fewer columns, take more rows at a time,
        # or threads would wait for each other.
        batches = batches_for_sums(n, Z[:1].shape[1])
        moments, self._moments = self._moments, None  # large, and used once
        if self._transform is not None and moments is not None:
            self._mean, products = moments
            T = self._transform
            spread = products - np.outer(self._mean, self._mean)
            variance = float(np.einsum("ij,ij->", spread @ T, T))
        else:
            pairs = [_moments(self._columns(Z[batch])) for batch in batches]
            self._mean = to_host(sum(total for total, _ in pairs)) / n
            square = float(sum(square for _, square in pairs))
            variance = square / n - float(self._mean @ self._mean)
            if variance <= 1e-12 * square / n:
                return False
        self._unit = np.sqrt(max(variance, 0.0))
        return bool(np.isfinite(self._unit) and self._unit > 0)

    def _features(self, Z: Any) -> NDArray[Any]:
        """Normalised features of rows of the source, without the constant."""
        centred = _dense(self._columns(Z)).astype(np.float64) - self._mean
        if self._transform is not None:
            centred = centred @ self._transform
        return centred / self._unit

    def block(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Normalised kernel matrix of some training rows."""
        Z = to_host(self.source.train[rows])
        if issparse(Z):  # too many columns to be made dense
            means = Z @ self._mean
            K = _dense(Z @ Z.T).astype(np.float64) - means[:, None] - means
            return (K + self._mean @ self._mean) / self._unit**2 + 1
        Phi = self._features(Z)
        return Phi @ Phi.T + 1

    def outputs(self, rows: NDArray[Any], coef: NDArray[Any]) -> Outputs:
        """Make the function x -> k(x, rows) @ coef."""
        Z = to_host(self.source.train[rows])
        total = coef.sum(axis=0)
        if issparse(Z):
            weights = (Z.T @ coef - np.outer(self._mean, total)) / self._unit
        else:
            weights = self._features(Z).T @ coef
        return self._function(weights, total)

    def _function(self, weights: NDArray[Any], bias: NDArray[Any]) -> Outputs:
        weights = weights / self._unit
        if self._transform is not None:
            weights = self._transform @ weights
        return LinearOutputs(self, weights, bias - self._mean @ weights)

    def primal_outputs(
        self,
        rows: NDArray[Any],
        Y: NDArray[Any],
        ridge: float,
        diagonal: NDArray[Any],
    ) -> Outputs:
        """Fit by normal equations in the features, when rows outnumber them."""
        Z, n_features = to_host(self.source.train[rows]), self.n_features
        G = np.zeros((n_features + 1, n_features + 1))
        R = np.zeros((n_features + 1, Y.shape[1]))
        for batch in gen_batches(rows.size, _BATCH):
            Phi = self._features(Z[batch])
            Phi = np.hstack([Phi, np.ones((Phi.shape[0], 1))])
            weighted = Phi / diagonal[batch, None]
            G += weighted.T @ Phi
            R += weighted.T @ Y[batch]
        G[np.diag_indices_from(G)] += ridge
        w = np.linalg.solve(G, R)
        return self._function(w[:-1], w[-1])

    def _solve(
        self,
        labeled: Labeled,
        Y: NDArray[Any],
        ridge: float,
        rng: np.random.RandomState,
    ) -> Outputs:
        if self.n_features >= labeled.size:
            return super()._solve(labeled, Y, ridge, rng)
        return self.primal_outputs(labeled.distinct, Y, ridge, 1 / labeled.importance)

    @property
    def n_features(self) -> int:
        """Number of features."""
        if self._transform is not None:
            return self._transform.shape[1]
        return self._mean.size


@dataclass(frozen=True)
class PairOutputs(Outputs):
    """A weighted sum of kernel values with some rows, centred by the anchors."""

    kernel: "PairKernel"
    ends: Any  # the rows that carry coefficients
    key: int
    coef: NDArray[Any]
    offset: NDArray[Any]

    def reads(self) -> list[tuple[Source, int]]:
        return [(self.kernel.source, self.ends.shape[1])]

    @classmethod
    def compact_all(
        cls, functions: "Sequence[PairOutputs]", compactor: Compactor
    ) -> list[list[Form]]:
        """Let kernels of several widths share the distances to the same rows."""
        groups: dict[Any, list[PairOutputs]] = {}
        for function in functions:
            kernel = function.kernel
            key = (id(kernel.source), kernel.n_columns, function.key)
            groups.setdefault(key, []).append(function)

        def summed(key: Any, group: list[PairOutputs]) -> list[Form]:
            kernel = group[0].kernel
            ends, anchors = (
                compactor.shared((name, *key), partial(compactor.single, to_host(A)))
                for name, A in (("ends", group[0].ends), ("anchors", kernel.anchors))
            )
            function = KernelSum(
                compactor.copy_of(kernel.source),
                kernel.n_columns,
                [f.kernel.gamma for f in group],
                ends,
                [to_host(f.coef) for f in group],
                anchors,
                np.sum([to_host(f.offset) for f in group], axis=0),
            )
            return [lambda: [function]]

        return [summed(key, group) for key, group in groups.items()]

    def __call__(self, view: View) -> NDArray[Any]:
        kernel = self.kernel
        Z = kernel.rows_of(view)
        to_ends = kernel.values(Z, self.ends, view, ("ends", self.key))
        to_anchors = kernel.values(Z, kernel.anchors, view, ("anchors", 0))
        b = backend_of(to_ends)
        coef, offset = b.asarray(self.coef), b.asarray(self.offset)
        products = b.astype(to_ends, np.float64) @ coef
        return products - _means(to_anchors)[:, None] * b.xp.sum(coef, axis=0) + offset


class PairKernel(BankKernel):
    """A function of two rows: the Gaussian kernel, or the squared linear one.

    It is centred over anchors, a sample of the training rows (all of them where they
    are few), which leaves it positive semidefinite.

    Parameters
    ----------
    name, family : str
        See :class:`BankKernel`.
    source : Source
        The array.
    anchors : ndarray of int
        Rows to centre on.
    n_columns : int, default=None
        Number of leading columns to use.
    gamma : float, default=None
        Parameter of the Gaussian kernel; None is the squared linear kernel.
    """

    def __init__(
        self,
        name: str,
        family: str,
        source: Source,
        anchors: NDArray[Any],
        *,
        n_columns: int | None = None,
        gamma: float | None = None,
    ) -> None:
        self.name = name
        self.family = family
        self.source = source
        self._anchor_rows = anchors
        self.n_columns = n_columns
        self.gamma = gamma

    def rows_of(self, view: View) -> Any:
        """Rows as the kernel sees them."""
        return self._cut(view[self.source])

    def _cut(self, Z: Any) -> Any:
        return Z if self.n_columns is None else Z[:, : self.n_columns]

    def values(self, Z: Any, others: Any, view: View | None, key: Any) -> NDArray[Any]:
        """Kernel values; distances are shared with other widths through the view."""
        if self.gamma is None:
            return _dense(Z @ others.T) ** 2
        b = backend_of(Z)
        if view is None:
            d2 = b.squared_distances(Z, others)
        else:
            d2 = view.distances_to((self.source, self.n_columns, *key), Z, others)
        return b.xp.exp(-self.gamma * d2)

    def prepare(self) -> bool:
        """Centre and scale; tell whether anything finite is left."""
        self.anchors = self._cut(self.source.train[self._anchor_rows])
        K = to_host(self.values(self.anchors, self.anchors, None, None))
        self._grand = float(K.mean(dtype=np.float64))
        trace = float(np.mean(K.diagonal(), dtype=np.float64))
        self._unit = trace - self._grand
        return bool(np.isfinite(self._unit) and self._unit > 1e-12 * trace)

    def _means(self, Z: Any) -> NDArray[Any]:
        return to_host(_means(self.values(Z, self.anchors, None, None)))

    def block(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Normalised kernel matrix of some training rows."""
        Z = self._cut(self.source.train[rows])
        means = self._means(Z)
        K = to_host(self.values(Z, Z, None, None)).astype(np.float64)
        K = (K + K.T) / 2 - means[:, None] - means + self._grand
        return K / self._unit + 1

    def outputs(self, rows: NDArray[Any], coef: NDArray[Any]) -> Outputs:
        """Make the function x -> k(x, rows) @ coef."""
        Z = self._cut(self.source.train[rows])
        total = coef.sum(axis=0)
        offset = (self._grand * total - self._means(Z) @ coef) / self._unit + total
        # Distances to the same rows are the same: one key per set of rows.
        key = hash(rows.tobytes())
        return PairOutputs(self, Z, key, coef / self._unit, offset)


# Kernel values that stay in the cache while they are added up.
CACHED_VALUES = 2**17


@dataclass(frozen=True)
class KernelSum(Outputs):
    """Sums of kernels of several widths with the same rows, centred by the anchors."""

    source: Source
    n_columns: int | None
    gammas: list[float | None]
    ends: Any
    coefs: list[NDArray[Any]]
    anchors: Any  # None where the kernels are not centred
    offset: NDArray[Any]

    def __call__(self, view: View) -> NDArray[Any]:
        Z = view[self.source]
        Z = Z if self.n_columns is None else Z[:, : self.n_columns]
        to_ends = _Values(self.ends.astype(Z.dtype))
        to_anchors = None
        if self.anchors is not None:
            to_anchors = _Values(self.anchors.astype(Z.dtype))
        outputs = np.tile(self.offset, (Z.shape[0], 1))
        n_others = max(self.ends.shape[0], getattr(self.anchors, "shape", (1,))[0])
        for batch in gen_batches(Z.shape[0], 1 + CACHED_VALUES // n_others):
            for values, coef in zip(
                to_ends.of(Z[batch], self.gammas), self.coefs, strict=True
            ):
                outputs[batch] += values.astype(np.float64, copy=False) @ coef
            if to_anchors is None:
                continue
            mean = np.full(self.anchors.shape[0], 1 / self.anchors.shape[0], Z.dtype)
            for values, coef in zip(
                to_anchors.of(Z[batch], self.gammas), self.coefs, strict=True
            ):
                outputs[batch] -= np.outer(values @ mean, coef.sum(axis=0))
        return outputs


class _Values:
    """Kernel values between rows, from distances computed once."""

    def __init__(self, others: Any) -> None:
        self._others = others
        self._distances: Any = partial(squared_distances, Y=others)
        if not issparse(others):
            self._distances = DistancesTo(others)

    def of(self, Z: Any, gammas: Sequence[float | None]) -> Iterator[NDArray[Any]]:
        """Compute Gaussian kernels, or the squared linear one where gamma is None."""
        squares: Any = None
        for gamma in gammas:
            if gamma is None:
                products = Z @ self._others.T
                products = products.toarray() if issparse(products) else products
                yield np.square(products)
                continue
            if squares is None:
                squares = self._distances(Z)
            values = squares * squares.dtype.type(-gamma)
            yield np.exp(values, out=values)
