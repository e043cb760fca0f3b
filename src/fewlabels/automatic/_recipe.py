"""The recipe of a bank: which candidates are built, in which order, at what cost.

Every step names its source and yields its candidates. To add a new kind, add a class
here and a line in :func:`recipe`.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from fewlabels._backend import NUMPY, Backend, backend_of, to_host
from fewlabels._linalg import semidefinite_eigh
from fewlabels._params import budget_bytes
from fewlabels._threads import side_by_side
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._candidates import Candidate
from fewlabels.automatic._clusters import Clusters
from fewlabels.automatic._components import Components, Leading
from fewlabels.automatic._features import LinearFeatures, Nystrom, OneColumn
from fewlabels.automatic._forest import Forest
from fewlabels.automatic._graphs import GraphVectors, Neighbors
from fewlabels.automatic._kernels import BankKernel, FeatureKernel, PairKernel
from fewlabels.automatic._paths import Geodesics
from fewlabels.automatic._sources import JoinedColumns, Source, column_sums
from fewlabels.automatic._views import Rows
from fewlabels.graphs import DENSE_VERTICES


@dataclass(frozen=True)
class BankSettings:
    """Contents and precision of a bank.

    Attributes
    ----------
    widths : tuple of float
        Widths of Gaussian kernels, in units of the median distance.
    columns : int
        A table with up to this many columns gets a kernel for each.
    forests : bool
        Whether to grow forests on tables, and on other rows that may be a table.
    whitened : tuple of int
        Numbers of leading components, each with variance one.
    component_widths : tuple of (int, float)
        Gaussian kernels on leading components: number of components, and width.
    square : bool
        Whether to include the squared linear kernel.
    clusters : tuple of int
        Numbers of clusters.
    cluster_runs : int
        Runs of k-means for each number.
    graphs : tuple of (int, float)
        Number of neighbours, and width of the weights in units of the mean distance to
        them: with more neighbours, weights are more concentrated on the near ones.
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
        Landmarks of geodesic kernels.
    n_leading : int
        Components for clusters, graphs and the squared kernel.
    n_components : int
        Components for the deformed linear kernel.
    anchors : int
        Rows on which function kernels are centred.
    """

    widths: tuple[float, ...] = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4)
    # Added because of the error on every second table of docs/automatic.md.
    columns: int = 60
    forests: bool = True
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
    # Widths chosen among ten by the true error on the sets of docs/automatic.md.
    graphs: tuple[tuple[int, float], ...] = ((3, 1.0), (5, 0.7), (10, 0.5))
    vectors: tuple[int, ...] = (2, 3, 5, 10, 20, 50)
    powers: tuple[int, ...] = (1, 2, 4)
    # Chosen among about 25 variants by the true error on the same sets.
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
# "auto" takes the smaller bank for more rows, to save time and memory
# (docs/command_line.md).
FAST_ROWS = 20_000


def bank_for(bank: str, n_rows: int) -> str:
    """Choose the bank for a number of rows.

    Parameters
    ----------
    bank : {"auto", "fast", "default", "thorough"}
        The bank asked for; "auto" leaves the choice to the number of rows.
    n_rows : int
        Number of training rows, labelled or not.

    Returns
    -------
    bank : {"fast", "default", "thorough"}
        For "auto", "fast" beyond 20,000 rows and "default" otherwise.

    Examples
    --------
    >>> from fewlabels.automatic import bank_for
    >>> bank_for("auto", 1_000), bank_for("auto", 1_000_000)
    ('default', 'fast')
    """
    if bank != "auto":
        return bank
    return "fast" if n_rows > FAST_ROWS else "default"


# Rows sampled for landmarks and anchors, and how many of them for medians. These limit
# the cost: docs/automatic.md compares this bank with one without such limits.
REFERENCE_ROWS = 2000
MEDIAN_ROWS = 1000
CLUSTER_ROWS = 3000


class Sources:
    """Sources shared by the steps of a recipe, each made when first used.

    Parameters
    ----------
    rows : Rows
        Distinct rows, scaled.
    settings : BankSettings
        What to build.
    neighbors : {"exact", "approximate", "auto"}
        How to search neighbours.
    rng : RandomState
        Generator for samples and starts.
    columns : list of ndarray of int, default=None
        Features of every column, if the rows are a table; none for a column that
        another view has a kernel of.
    may_be_table : bool, default=True
        Whether the rows may be a table although nothing marks them as one.
    backend : Backend
        Where dense rows live, and where to store everything computed from rows.
    """

    def __init__(
        self,
        rows: Rows,
        settings: BankSettings,
        neighbors: str,
        rng: np.random.RandomState,
        columns: list[NDArray[np.intp]] | None = None,
        may_be_table: bool = True,
        backend: Backend = NUMPY,
    ) -> None:
        self.rows = rows
        self.backend = backend
        self.columns = columns
        self.may_be_table = may_be_table
        self.n_rows = rows.train.shape[0]
        self.settings = settings
        self.rng = rng
        self._method = neighbors
        self._graphs: dict[int, GraphVectors] = {}
        self._medians: dict[int | None, float] = {}
        self._moments: dict[Source, tuple[NDArray[Any], NDArray[Any]]] = {}
        size = min(REFERENCE_ROWS, self.n_rows)
        # In random order, so that every prefix is a random sample.
        self.reference = rng.choice(self.n_rows, size, replace=False)

    @property
    def anchors(self) -> NDArray[np.intp]:
        """Rows on which kernels are centred: all of them if there are few."""
        many = self.n_rows > REFERENCE_ROWS
        return self.reference[: self.settings.anchors] if many else self.reference

    @cached_property
    def components(self) -> Components:
        n_components = self.settings.n_components
        return Components(self.rows, n_components, self.rng, self.backend)

    @cached_property
    def leading(self) -> Leading:
        rank = self.components.deviations.size
        return Leading(self.components, min(self.settings.n_leading, rank))

    @cached_property
    def neighbors(self) -> Neighbors:
        return Neighbors(
            self.leading, min(tuned.NEIGHBORS, self.n_rows - 1), self._method
        )

    @cached_property
    def linear_features(self) -> LinearFeatures:
        return LinearFeatures(self.components)

    @cached_property
    def gaussian_features(self) -> Nystrom:
        landmarks = self.reference[: self.settings.rank]
        gamma = 0.5 / (0.25 * self.median_square())
        return Nystrom(self.rows, landmarks, gamma, self.backend)

    def graph(self, k: int) -> GraphVectors:
        """Eigenvectors of one graph; the first call computes those of all graphs."""
        if not self._graphs:
            neighbors, n_vectors = self.neighbors, self.settings.n_vectors
            graphs = [g for g in self.settings.graphs if g[0] < self.n_rows / 2]
            # An eigensolver draws two seeds, or none for a small graph.
            n_draws = 2 if self.n_rows > DENSE_VERTICES else 0
            tasks = []
            for graph in graphs:
                # Each generator continues where the previous one will stop.
                tasks.append((*graph, n_vectors, deepcopy(self.rng)))
                self.rng.randint(2**31, size=n_draws)

            def find(task: tuple[int, float, int, Any]) -> GraphVectors:
                return GraphVectors(neighbors, *task)

            # Each needs about ten arrays of the size of its vectors.
            needed = 10 * len(graphs) * 4 * self.n_rows * n_vectors
            at_once = len(graphs) if needed <= budget_bytes(None) else 1
            for batch in gen_batches(len(tasks), at_once):
                for vectors in side_by_side(find, tasks[batch]):
                    self._graphs[vectors.n_neighbors] = vectors
        return self._graphs[k]

    def median_square(self, n_columns: int | None = None) -> float:
        """Median squared distance between rows, or between some of their components."""
        if n_columns not in self._medians:
            sample = self.reference[:MEDIAN_ROWS]
            if n_columns is None:
                Z = self.rows.train[sample]
            else:
                Z = self.components.train[sample, :n_columns]
            b = backend_of(Z)
            half = b.squared_distances(Z, Z)[np.triu_indices(Z.shape[0], k=1)]
            known = [b.median(half), half.mean(), row_norms(to_host(Z)).max(initial=0)]
            self._medians[n_columns] = next((float(m) for m in known if m > 0), 1.0)
        return self._medians[n_columns]

    def moments(self, source: Source) -> tuple[NDArray[Any], NDArray[Any]]:
        """Means of z and of z z' over the rows z of a source."""
        if source not in self._moments:
            F = source.train
            sums = column_sums(F), backend_of(F).gram(F, F)
            mean, products = (to_host(part) / self.n_rows for part in sums)
            self._moments[source] = mean, products
        return self._moments[source]


@dataclass(frozen=True)
class Step:
    """One line of the recipe.

    Attributes
    ----------
    share : float
        Share of the work, in the same units for all steps.
    """

    share: float

    def candidates(self, sources: Sources) -> Iterator[Candidate]:
        """Make the candidates of this step, creating only the sources they need."""
        raise NotImplementedError


@dataclass(frozen=True)
class Linear(Step):
    """The linear kernel of the rows."""

    def candidates(self, sources: Sources) -> Iterator[BankKernel]:
        yield FeatureKernel("linear", "linear", sources.rows)


@dataclass(frozen=True)
class Gaussian(Step):
    """A Gaussian kernel of the rows."""

    width: float

    def candidates(self, sources: Sources) -> Iterator[BankKernel]:
        gamma = 0.5 / (self.width**2 * sources.median_square())
        name = f"rbf {self.width:g}"
        yield PairKernel(name, "rbf", sources.rows, sources.anchors, gamma=gamma)


@dataclass(frozen=True)
class SingleColumns(Step):
    """A kernel of every column of a table, if there are not too many."""

    max_columns: int

    def candidates(self, sources: Sources) -> Iterator[Candidate]:
        columns = sources.columns or []
        if 1 < len(columns) <= self.max_columns:
            for number, places in enumerate(columns):
                if not places.size:
                    continue
                source = OneColumn(sources.rows, places)
                yield FeatureKernel(f"column {number}", "column", source)


@dataclass(frozen=True)
class Forests(Step):
    """Forests on dense rows; on tables, also on rows with components and graphs.

    Splits consider the square root of the number of columns, a third of them, or all.
    """

    graphs: tuple[int, ...]
    n_leading: int = 20

    def candidates(self, sources: Sources) -> Iterator[Candidate]:
        if not sources.may_be_table:
            return
        plain = JoinedColumns([(sources.rows, sources.rows.train.shape[1])])
        yield from self._forests("forest", plain, sources.rng)
        if (
            sources.columns is None
        ):  # kernels see components and graphs; trees add little
            return
        parts: list[tuple[Source, int]] = [(sources.rows, plain.n_columns)]
        if sources.components.deviations.size:
            leading = min(self.n_leading, sources.components.deviations.size)
            parts.append((sources.components, leading))
            for k in self.graphs:
                if k < sources.n_rows / 2:
                    graph = sources.graph(k)
                    parts.append((graph, min(self.n_leading, graph.eigenvalues.size)))
        yield from self._forests("wide forest", JoinedColumns(parts), sources.rng)

    def _forests(
        self, name: str, source: JoinedColumns, rng: np.random.RandomState
    ) -> Iterator[Candidate]:
        m = source.n_columns
        for word, size in (("root", m**0.5), ("third", m / 3), ("all", m)):
            seed = rng.randint(2**31)
            yield Forest(f"{name}, {word}", name, source, max(1, int(size)), seed)


@dataclass(frozen=True)
class Whitened(Step):
    """Some leading components, each with variance one."""

    n_columns: int

    def candidates(self, sources: Sources) -> Iterator[BankKernel]:
        parts, m = sources.components, self.n_columns
        if m <= min(parts.deviations.size, sources.n_rows // 2):
            yield FeatureKernel(
                f"whitened {m}",
                "components",
                parts,
                n_columns=m,
                scales=1 / parts.deviations[:m],
            )


@dataclass(frozen=True)
class Squared(Step):
    """The squared linear kernel of the leading components."""

    def candidates(self, sources: Sources) -> Iterator[BankKernel]:
        if sources.components.deviations.size:
            yield PairKernel(
                "squared linear",
                "components",
                sources.components,
                sources.anchors,
                n_columns=sources.leading.n_columns,
            )


@dataclass(frozen=True)
class ComponentGaussian(Step):
    """A Gaussian kernel of some leading components."""

    n_columns: int
    width: float

    def candidates(self, sources: Sources) -> Iterator[BankKernel]:
        parts, m = sources.components, self.n_columns
        if m < parts.deviations.size:
            yield PairKernel(
                f"rbf {self.width:g} on {m} components",
                "components",
                parts,
                sources.anchors,
                n_columns=m,
                gamma=0.5 / (self.width**2 * sources.median_square(m)),
            )


@dataclass(frozen=True)
class Cluster(Step):
    """The share of k-means runs in which two rows share a cluster."""

    k: int
    n_runs: int

    def candidates(self, sources: Sources) -> Iterator[BankKernel]:
        if sources.components.deviations.size and self.k <= sources.n_rows / 3:
            source = Clusters(
                sources.leading, self.k, self.n_runs, CLUSTER_ROWS, sources.rng
            )
            name = f"clusters {self.k}"
            yield FeatureKernel(name, "clusters", source, n_groups=self.k)


@dataclass(frozen=True)
class OnGraph(Step):
    """A step that needs a neighbour graph, skipped if there are too few rows."""

    k: int

    def candidates(self, sources: Sources) -> Iterator[BankKernel]:
        if sources.components.deviations.size and self.k < sources.n_rows / 2:
            yield from self.on_graph(sources, sources.graph(self.k))

    def on_graph(self, sources: Sources, graph: GraphVectors) -> Iterator[BankKernel]:
        """Make the kernels, given that the graph exists."""
        raise NotImplementedError


@dataclass(frozen=True)
class Vectors(OnGraph):
    """Leading eigenvectors of a graph, as rows of length one."""

    numbers: tuple[int, ...]

    def on_graph(self, sources: Sources, graph: GraphVectors) -> Iterator[BankKernel]:
        extra = graph.n_null - 1  # each connected component has its own constant
        for m in self.numbers:
            if m <= sources.n_rows // 2 and m + extra <= graph.eigenvalues.size:
                yield FeatureKernel(
                    f"graph {self.k}, {m} vectors",
                    "graph vectors",
                    graph,
                    n_columns=m + extra,
                    unit_rows=True,
                    n_groups=m,
                )


@dataclass(frozen=True)
class Filters(OnGraph):
    """Functions of the eigenvalues r of a graph: powers, and heat."""

    powers: tuple[int, ...]
    unit_powers: tuple[tuple[int, float], ...]

    def on_graph(self, sources: Sources, graph: GraphVectors) -> Iterator[BankKernel]:
        r, name = graph.scaled(20), f"graph {self.k}"
        for p in self.powers:
            yield FeatureKernel(
                f"{name}, power {p}",
                "graph filter",
                graph,
                scales=(r + tuned.OFFSET) ** (-p / 2),
            )
        for p, offset in self.unit_powers:
            yield FeatureKernel(
                f"{name}, unit power {p}",
                "unit filter",
                graph,
                scales=(r + offset) ** (-p / 2),
                unit_rows=True,
            )
        yield FeatureKernel(
            f"{name}, heat",
            "graph filter",
            graph,
            scales=np.exp(-0.5 * tuned.HEAT * r),
            unit_rows=True,
        )


@dataclass(frozen=True)
class Deformed(OnGraph):
    r"""A base kernel deformed by the squared Laplacian of a graph, in feature space.

    With features F of the base, :math:`F (I + g F' M F)^{-1} F'` has the inverse
    :math:`K^{-1} + g M`; one eigendecomposition serves every g.
    """

    base: str
    weights: tuple[float, ...]

    def on_graph(self, sources: Sources, graph: GraphVectors) -> Iterator[BankKernel]:
        linear = self.base == "linear"
        source: Source = (
            sources.linear_features if linear else sources.gaussian_features
        )
        F = source.train
        at = min(graph.n_null + 50, graph.eigenvalues.size - 1)
        unit = max(float(graph.eigenvalues[at]), 2e-3)  # no eigenvalue beyond 1e3
        b = backend_of(F)
        LF = b.product(graph.laplacian, F)
        e, V = semidefinite_eigh(to_host(b.gram(LF, LF)).astype(float) / unit**2)
        for g in self.weights:
            yield FeatureKernel(
                f"{self.base} on graph {self.k}, {g:g}",
                f"deformed {self.base.split()[0]}",
                source,
                transform=V / np.sqrt(1 + g * e),
                moments=sources.moments(source),
            )


@dataclass(frozen=True)
class Paths(Step):
    """Gaussian kernels of path lengths through the graph, plain and sharp."""

    sharpness: tuple[tuple[str, float], ...] = (
        ("geodesic", 0.0),
        ("geodesic, sharp", 4.0),
    )

    def candidates(self, sources: Sources) -> Iterator[BankKernel]:
        k = tuned.GEODESIC_NEIGHBORS
        if sources.components.deviations.size and k < sources.n_rows / 2:
            landmarks = sources.reference[: sources.settings.landmarks]
            for name, sharpness in self.sharpness:
                source = Geodesics(sources.neighbors, k, landmarks, sharpness)
                yield FeatureKernel(name, "geodesic", source)


def recipe(given: BankSettings) -> list[Step]:
    """List the steps that build a bank, in order."""
    steps: list[Step] = [Linear(1)]
    steps += [Gaussian(1, width) for width in given.widths]
    steps += [Whitened(1, m) for m in given.whitened]
    steps += [Squared(1)] * given.square
    steps += [ComponentGaussian(1, m, width) for m, width in given.component_widths]
    steps += [Cluster(5, k, given.cluster_runs) for k in given.clusters]
    for k, _ in given.graphs:
        steps.append(Vectors(10, k, given.vectors))
        steps.append(Filters(1, k, given.powers, given.unit_powers))
        if given.deformations:
            steps.append(Deformed(4, k, "linear", given.deformations))
            steps.append(Deformed(6, k, "rbf 0.5", given.deformations))
    steps += [Paths(8)] * bool(given.landmarks)
    # Last, so that earlier steps draw the same random numbers with and without these.
    steps += [SingleColumns(2, given.columns)]
    steps += [Forests(1, tuple(k for k, _ in given.graphs[-2:]))] * given.forests
    return steps
