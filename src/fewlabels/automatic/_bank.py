"""The bank: several dozen kernels of one set of rows, built without labels."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.extmath import row_norms

from fewlabels._progress import ProgressLine
from fewlabels._sklearn import Interval, StrOptions
from fewlabels.automatic._kernels import (
    BankKernel,
    ColumnKernel,
    FeatureKernel,
    Outputs,
)
from fewlabels.automatic._sources import (
    DIGEST_SIZE,
    Clusters,
    Components,
    Geodesics,
    GraphVectors,
    LinearFeatures,
    Nystrom,
    Rows,
    RowScaling,
    Source,
    View,
    leading_search,
    row_digests,
    squared_distances,
)

SUPERVISED = ("linear", "rbf")


@dataclass(frozen=True)
class BankSettings:
    """What a bank holds, and how exactly.

    Attributes
    ----------
    widths : tuple of float
        Of Gaussian kernels, in units of the median distance.
    whitened : tuple of int
        Numbers of leading components, each with variance one.
    component_widths : tuple of (int, float)
        Gaussian kernels on some leading components: how many, and the width.
    square : bool
        Whether the squared linear kernel is in.
    clusters : tuple of int
        Numbers of clusters.
    cluster_runs : int
        Runs of k-means for each.
    graphs : tuple of (int, float)
        Numbers of neighbours, and the width of the weights in units of the mean
        distance to them: the more neighbours, the more the near ones count.
    vectors : tuple of int
        Numbers of leading eigenvectors.
    powers : tuple of int
        Exponents p of (r + 0.1)^-p.
    unit_powers : tuple of (int, float)
        Exponents p and offsets o of (r + o)^-p with a diagonal of ones.
    deformations : tuple of float
        Weights of the graph in deformed kernels.
    rank : int
        Landmarks of the deformed Gaussian kernel.
    n_vectors : int
        Eigenvectors per graph.
    landmarks : int
        Of geodesic kernels.
    n_leading : int
        Components for clusters, graphs and the squared kernel.
    n_components : int
        Components for the deformed linear kernel.
    anchors : int
        Rows on which function kernels are centred.
    """

    widths: tuple[float, ...] = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4)
    whitened: tuple[int, ...] = (1, 2, 5, 20, 50)
    component_widths: tuple[tuple[int, float], ...] = (
        (3, 0.35),
        (5, 0.35),
        (10, 0.7),
        (20, 0.7),
    )
    square: bool = True
    clusters: tuple[int, ...] = (2, 4, 8, 16, 32)
    cluster_runs: int = 30
    graphs: tuple[tuple[int, float], ...] = ((3, 1.0), (5, 0.7), (10, 0.5))
    vectors: tuple[int, ...] = (2, 3, 5, 10, 20, 50)
    powers: tuple[int, ...] = (1, 2, 4)
    unit_powers: tuple[tuple[int, float], ...] = ((2, 0.1), (4, 0.5))
    deformations: tuple[float, ...] = (0.1, 10.0)
    rank: int = 500
    n_vectors: int = 100
    landmarks: int = 100
    n_leading: int = 50
    n_components: int = 300
    anchors: int = 1000


BANKS = {
    "fast": BankSettings(
        widths=(0.35, 0.7, 1.4),
        whitened=(2, 5, 20),
        component_widths=((5, 0.35), (20, 0.7)),
        square=False,
        clusters=(2, 8, 32),
        cluster_runs=10,
        graphs=((10, 0.5),),
        deformations=(),
        rank=0,
        n_vectors=80,
        landmarks=0,
        n_components=50,
        anchors=300,
    ),
    "default": BankSettings(),
    "thorough": BankSettings(
        cluster_runs=100, rank=1000, n_vectors=200, landmarks=300, anchors=2000
    ),
}

# Rows looked at for landmarks and anchors, and the first of them for medians.
_REFERENCE_ROWS = 2000
_MEDIAN_ROWS = 1000
_CLUSTER_ROWS = 3000
_NEIGHBORS = 15
_GEODESIC_NEIGHBORS = 5
_HEAT = 3.0
_OFFSET = 0.1


class KernelBank:
    """Several dozen kernels of one set of rows, none of which sees a label.

    Equal rows count once. All kernels are on one scale, see
    :mod:`fewlabels.automatic._kernels`.

    Parameters
    ----------
    settings : BankSettings or {"fast", "default", "thorough"}, default="default"
        What to build.
    scale : {"auto", "standard", "unit", "none"}, default="auto"
        How to scale rows.
    neighbors : {"exact", "approximate", "auto"}, default="auto"
        How to search neighbours, see :func:`fewlabels.graphs.nearest_neighbors`.
    n_jobs : int, default=None
        Threads of the search.
    random_state : int, RandomState instance or None, default=None
        Seed of samples and starts.

    Attributes
    ----------
    kernels : list of BankKernel
        The kernels.
    index : ndarray of shape (n_samples,)
        Number of the distinct row that every row is a copy of.
    n_rows : int
        Number of distinct rows.
    """

    def __init__(
        self,
        settings: BankSettings | str = "default",
        *,
        scale: str = "auto",
        neighbors: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.settings = BANKS[settings] if isinstance(settings, str) else settings
        self._scaling = RowScaling(scale)
        self._neighbors = neighbors
        self._n_jobs = n_jobs
        self._rng = check_random_state(random_state)

    def build(
        self, X: Any, progress: Callable[[float], None] | None = None
    ) -> "KernelBank":
        """Build all kernels.

        Parameters
        ----------
        X : {ndarray, csr_matrix} of shape (n_samples, n_features)
            Rows, labelled and unlabelled.
        progress : callable, default=None
            Told the share of the bank that is built.

        Returns
        -------
        self : KernelBank
            The bank.
        """
        self.dtype = X.dtype
        self._known: dict[bytes, int] = {}
        self.index = np.array(
            [self._known.setdefault(d, len(self._known)) for d in row_digests(X)]
        )
        _, first = np.unique(self.index, return_index=True)
        rows = self._scaling.fit(X[first]).transform(X[first])
        self.n_rows = rows.shape[0]
        self.sources: dict[str, Source] = {"rows": Rows(rows)}
        self.kernels: list[BankKernel] = []
        self._search: Any = None
        self._n_neighbors = self._n_leading = 0
        self._moments: dict[str, NDArray[Any]] = {}
        if self.n_rows > 1 and rows.shape[1] > 0:
            with np.errstate(over="ignore", invalid="ignore"):
                for share, kernel in self._make():
                    if progress is not None:
                        progress(share)
                    if kernel is not None and self._fits(kernel):
                        self.kernels.append(kernel)
        return self

    def _neighbor_search(self) -> Any:
        """Index of the leading components; made when it is first needed."""
        if self._search is None and self._n_neighbors:
            leading = self.sources["components"].train[:, : self._n_leading]
            self._search = leading_search(leading, self._neighbors, self._n_jobs)
        return self._search

    def __getstate__(self) -> dict[str, Any]:
        # An approximate index cannot be pickled, and is quickly made again. Digests are
        # numbered in their order, so that one array holds them.
        state = {**self.__dict__, "_search": None}
        if "_known" in state:
            joined = b"".join(self._known)
            state["_known"] = np.frombuffer(joined, dtype=np.uint8).copy()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_known" in state:
            joined = state["_known"].tobytes()
            starts = range(0, len(joined), DIGEST_SIZE)
            self._known = {
                joined[start : start + DIGEST_SIZE]: place
                for place, start in enumerate(starts)
            }

    def _fits(self, kernel: Any) -> bool:
        """Whether the kernel is finite and tells any two rows apart."""
        transform = getattr(kernel, "_transform", None)
        if transform is None:
            return kernel.fit(self.sources)
        return kernel.fit(self.sources, self._moments[kernel._source])

    def _sample(self, size: int) -> NDArray[np.intp]:
        """Rows in random order: any first of them are a sample too."""
        return self._rng.choice(self.n_rows, min(size, self.n_rows), replace=False)

    def _make(self) -> Iterator[tuple[float, BankKernel | None]]:
        """Yield the share of the work that is done, and kernels."""
        given, n = self.settings, self.n_rows
        rows = self.sources["rows"]
        reference = self._sample(_REFERENCE_ROWS)
        anchors = reference[: given.anchors] if n > _REFERENCE_ROWS else reference
        yield 0.0, FeatureKernel("linear", "linear", "rows")
        width2 = _median_square(rows.train[reference])
        for w in given.widths:
            yield (
                0.01,
                ColumnKernel(
                    f"rbf {w:g}", "rbf", "rows", anchors, gamma=0.5 / (w**2 * width2)
                ),
            )
        self.sources["components"] = parts = Components(
            rows.train, given.n_components, self._rng
        )
        rank = parts.deviations.size
        if rank == 0:
            return
        for m in given.whitened:
            if m <= min(rank, n // 2):
                yield (
                    0.05,
                    FeatureKernel(
                        f"whitened {m}",
                        "components",
                        "components",
                        n_columns=m,
                        scales=1 / parts.deviations[:m],
                    ),
                )
        self._n_leading = min(given.n_leading, rank)
        leading = np.ascontiguousarray(parts.train[:, : self._n_leading])
        if given.square:
            yield (
                0.05,
                ColumnKernel(
                    "squared linear",
                    "components",
                    "components",
                    anchors,
                    n_columns=self._n_leading,
                ),
            )
        for m, w in given.component_widths:
            if m < rank:
                width2 = _median_square(parts.train[reference, :m])
                yield (
                    0.05,
                    ColumnKernel(
                        f"rbf {w:g} on {m} components",
                        "components",
                        "components",
                        anchors,
                        n_columns=m,
                        gamma=0.5 / (w**2 * width2),
                    ),
                )
        for k in given.clusters:
            if k <= n / 3:
                self.sources[f"clusters {k}"] = Clusters(
                    leading, k, given.cluster_runs, _CLUSTER_ROWS, self._rng
                )
                name = f"clusters {k}"
                yield 0.2, FeatureKernel(name, "clusters", name)
        yield from self._on_graphs(leading, reference)

    def _on_graphs(
        self, leading: NDArray[Any], reference: NDArray[np.intp]
    ) -> Iterator[tuple[float, BankKernel | None]]:
        given, n = self.settings, self.n_rows
        graphs = [(k, width) for k, width in given.graphs if k < n / 2]
        if not graphs:
            return
        self._n_neighbors = min(_NEIGHBORS, n - 1)
        distances, indices = self._neighbor_search().kneighbors(self._n_neighbors)
        yield 0.4, None
        bases = []
        if given.deformations:
            rows, parts = self.sources["rows"], self.sources["components"]
            self.sources["linear features"] = LinearFeatures(parts)
            gamma = 0.5 / (0.25 * _median_square(rows.train[reference]))
            self.sources["gaussian features"] = Nystrom(
                rows, reference[: given.rank], gamma
            )
            bases = [("linear", "linear features"), ("rbf 0.5", "gaussian features")]
            for _, source in bases:
                F = self.sources[source].train
                self._moments[source] = (F.T @ F).astype(np.float64) / n
        for place, (k, width) in enumerate(graphs):
            graph = GraphVectors(
                distances, indices, k, width, given.n_vectors, self._rng
            )
            self.sources[f"graph {k}"] = graph
            share = 0.45 + 0.4 * place / len(graphs)
            for kernel in self._filters(graph, k):
                yield share, kernel
            for base, source in bases:
                for kernel in self._deformed(graph, k, base, source):
                    yield share, kernel
        k = _GEODESIC_NEIGHBORS
        if given.landmarks and k < n / 2:
            landmarks = reference[: given.landmarks]
            for name, sharpness in (("geodesic", 0.0), ("geodesic, sharp", 4.0)):
                self.sources[name] = Geodesics(
                    distances[:, :k], indices[:, :k], landmarks, sharpness
                )
                yield 0.9, FeatureKernel(name, "geodesic", name)
        yield 1.0, None

    def _filters(self, graph: GraphVectors, k: int) -> Iterator[BankKernel]:
        source = f"graph {k}"
        extra = graph.n_null - 1  # of several components, each has its own constant
        for m in self.settings.vectors:
            columns = m + extra
            if m <= self.n_rows // 2 and columns <= graph.eigenvalues.size:
                yield FeatureKernel(
                    f"graph {k}, {m} vectors",
                    "graph vectors",
                    source,
                    n_columns=columns,
                    unit_rows=True,
                )
        r = graph.scaled(20)
        for p in self.settings.powers:
            yield FeatureKernel(
                f"graph {k}, power {p}",
                "graph filter",
                source,
                scales=(r + _OFFSET) ** (-p / 2),
            )
        for p, offset in self.settings.unit_powers:
            yield FeatureKernel(
                f"graph {k}, unit power {p}",
                "unit filter",
                source,
                scales=(r + offset) ** (-p / 2),
                unit_rows=True,
            )
        yield FeatureKernel(
            f"graph {k}, heat",
            "graph filter",
            source,
            scales=np.exp(-0.5 * _HEAT * r),
            unit_rows=True,
        )

    def _deformed(
        self, graph: GraphVectors, k: int, base: str, source: str
    ) -> Iterator[BankKernel]:
        r"""Deform a base kernel by the squared Laplacian, in feature space.

        With features F of the base, :math:`F (I + g F' M F)^{-1} F'` has the inverse
        :math:`K^{-1} + g M`; one eigendecomposition serves every g.
        """
        F = self.sources[source].train
        at = min(graph.n_null + 50, graph.eigenvalues.size - 1)
        unit = max(float(graph.eigenvalues[at]), 2e-3)  # no eigenvalue beyond 1e3
        LF = graph.laplacian.astype(F.dtype) @ F
        e, V = linalg.eigh((LF.T @ LF).astype(np.float64) / unit**2)
        e = np.maximum(e, 0)
        for g in self.settings.deformations:
            yield FeatureKernel(
                f"{base} on graph {k}, {g:g}",
                f"deformed {base.split()[0]}",
                source,
                transform=V / np.sqrt(1 + g * e),
            )

    def blocks(self, rows: NDArray[np.intp]) -> Iterator[NDArray[Any]]:
        """Normalised kernel matrices of some distinct rows, kernel by kernel.

        Parameters
        ----------
        rows : ndarray of int
            Distinct rows, repetitions allowed.

        Yields
        ------
        K : ndarray of shape (n_rows, n_rows)
            Symmetric positive semidefinite, with a bias inside.
        """
        for kernel in self.kernels:
            yield kernel.block(self.sources, rows)

    def training_views(self, size: int = 4096) -> Iterator[View]:
        """Look at all distinct training rows, batch by batch.

        Parameters
        ----------
        size : int, default=4096
            Rows in a batch.

        Yields
        ------
        view : View
            The next rows.
        """
        for batch in gen_batches(self.n_rows, size):
            yield View(self.sources, batch=batch)

    def known_rows(self, X: Any) -> NDArray[np.intp]:
        """Find rows that were in the training set.

        Parameters
        ----------
        X : {ndarray, csr_matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        index : ndarray of shape (n_samples,)
            Number of the distinct training row, -1 for rows never seen.
        """
        digests = row_digests(X.astype(self.dtype, copy=False))
        return np.array([self._known.get(d, -1) for d in digests], dtype=np.intp)

    def new_views(self, X: Any, size: int = 4096) -> Iterator[View]:
        """Look at new rows, batch by batch.

        Parameters
        ----------
        X : {ndarray, csr_matrix} of shape (n_samples, n_features)
            Rows.
        size : int, default=4096
            Rows in a batch.

        Yields
        ------
        view : View
            The next rows.
        """
        for batch in gen_batches(X.shape[0], size):
            yield View(
                self.sources,
                rows=self._scaling.transform(X[batch]),
                search=self._neighbor_search(),
                n_neighbors=self._n_neighbors,
                n_leading=self._n_leading,
            )


BANK_CONSTRAINTS: dict[str, list[Any]] = {
    "bank": [StrOptions(set(BANKS))],
    "scale": [StrOptions({"auto", "standard", "unit", "none"})],
    "neighbors": [StrOptions({"exact", "approximate", "auto"})],
    "n_jobs": [Integral, None],
    "memory_budget": [Interval(Real, 0, None, closed="neither"), None],
    "progress": [StrOptions({"auto"}), "boolean", callable],
    "random_state": ["random_state"],
}


def build_bank(estimator: Any, X: Any, rng: Any, line: ProgressLine) -> KernelBank:
    """Build the bank that the parameters of an estimator ask for.

    Parameters
    ----------
    estimator : estimator instance
        With the parameters of `BANK_CONSTRAINTS`.
    X : {ndarray, csr_matrix} of shape (n_samples, n_features)
        Rows.
    rng : RandomState
        Of samples and starts.
    line : ProgressLine
        Told the share of the work that is done.

    Returns
    -------
    bank : KernelBank
        The bank.
    """
    return KernelBank(
        estimator.bank,
        scale=estimator.scale,
        neighbors=estimator.neighbors,
        n_jobs=estimator.n_jobs,
        random_state=rng,
    ).build(X, lambda share: line.update(0.7 * share, "bank"))


def _median_square(Z: Any) -> float:
    """Median squared distance between two of the rows, which are distinct."""
    Z = Z[:_MEDIAN_ROWS]
    half = squared_distances(Z, Z)[np.triu_indices(Z.shape[0], k=1)]
    median = float(np.median(half))
    if median > 0:
        return median
    mean = float(np.mean(half))
    return mean if mean > 0 else float(np.max(row_norms(Z), initial=0.0)) or 1.0


def total_outputs(functions: list[Outputs], view: View) -> NDArray[Any]:
    """Sum of several functions on the rows of a view.

    Parameters
    ----------
    functions : list of callable
        As :meth:`BankKernel.outputs` returns them.
    view : View
        Rows.

    Returns
    -------
    outputs : ndarray of shape (n_rows, n_targets)
        The sum.
    """
    total = functions[0](view)
    for function in functions[1:]:
        total = total + function(view)
    return total
