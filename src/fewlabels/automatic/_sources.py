"""What the kernels of a bank are made of: arrays over rows, found without labels.

Every source holds the array of the training rows and can compute the same for new rows.
Sources that are made from others hold them. A :class:`View` is a batch of rows,
training or new, through which kernels ask for arrays; what several need is computed
once. Dense rows, and all that comes of them, live on one backend, such as a GPU; sparse
rows stay in SciPy's arrays, and what comes of them moves.
"""

# SPDX-License-Identifier: BSD-3-Clause

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse
from scipy.sparse.csgraph import connected_components
from sklearn.isotonic import isotonic_regression
from sklearn.preprocessing import normalize
from sklearn.utils.sparsefuncs import mean_variance_axis

from fewlabels._backend import NUMPY, Backend, backend_of, to_host
from fewlabels._kmeans import lloyd_runs
from fewlabels._linalg import inverse_square_root
from fewlabels._rows import has_own_units
from fewlabels._threads import worth_compiling
from fewlabels.graphs import (
    auto_bandwidth,
    graph_laplacian,
    heat_weights,
    laplacian_eigenvectors,
    make_search,
)
from fewlabels.preprocessing import Moments

# Up to so many rows everything is computed in double precision.
DOUBLE_ROWS = 5000
# Components of a graph whose eigenvectors are computed; rows in further ones, which
# are tiny, hang together with next to nothing.
MAX_COMPONENTS = 40
# New rows get eigenvectors divided by 1 - lam, which must not be small.
MIN_GAIN = 0.2
# Residual of eigenvectors; the least smooth ones, which weigh least, have the largest.
EIGENVECTOR_TOL = 1e-2
# A row whose neighbours are more than this many times the usual distance away gets
# weights on the scale of its own distances. The more rows there are, the further away
# those on the fringe lie in units of that distance; with next to nothing joining them
# to the rest, the smoothest functions on a large graph would single out nothing else.
FRINGE = 3.0
# Rows whose median stands for the middle of all.
CENTRE_ROWS = 500
# New rows may be this many deviations away, and are not taken for further, so that no
# square overflows.
FAR = 1e9
# Rows whose median length of paths stands for that of all.
LENGTH_ROWS = 10_000
# exp(50) is still far from the largest float32.
MAX_EXPONENT = 50.0


class RowScaling:
    """Bring rows to a scale on which Euclidean distance means something.

    Text, which comes as sparse rows, is scaled to rows of length one. Columns of a
    table, which have units of their own, are standardised; pixels and other columns of
    one unit are only centred. Constant columns are dropped. Rows come out as those of
    `fit` did, dense or sparse, the latter without being centred, which moves no
    distance.

    Parameters
    ----------
    scale : {"auto", "standard", "unit", "none"}
        What to do; "auto" guesses: sparse rows are text, dense ones are a table where
        there are up to 20 columns that vary or where the standard deviation of one is
        more than four times the median of all.
    """

    def __init__(self, scale: str) -> None:
        self.scale = scale

    def fit(self, X: Any, moments: Moments | None = None) -> "RowScaling":
        """Look at the training rows, and at those of the table they were drawn from."""
        self.sparse_ = issparse(X)
        self.kind_ = "unit" if self.scale == "auto" and self.sparse_ else self.scale
        self.dtype_ = np.float64 if X.shape[0] <= DOUBLE_ROWS else np.float32
        # A scale of one first, so that squares neither overflow nor vanish.
        self.size_ = _largest(X.data if self.sparse_ else X) or 1.0
        if moments is None or self.sparse_ or self.kind_ == "unit":
            deviation, largest = self._deviations(X)
        else:
            self.size_ = float(moments.largest.max(initial=0.0)) or 1.0
            deviation = moments.deviation / self.size_
            largest = moments.largest / self.size_
        rounding = 10 * np.finfo(backend_of(X).dtype(X)).eps * largest
        self.columns_ = np.flatnonzero(deviation > rounding)
        if not self.sparse_:
            # The median, unlike the mean, does not follow far rows: others keep digits.
            some = self._sized(X[:: max(1, X.shape[0] // CENTRE_ROWS)])
            self.centre_ = np.median(to_host(some)[:, self.columns_], axis=0)
        deviation = deviation[self.columns_]
        if self.kind_ == "auto":
            self.kind_ = "standard" if has_own_units(deviation) else "none"
        if self.kind_ == "standard":
            self.factor_ = 1 / deviation
        else:
            unit = 1.0 if self.kind_ == "unit" else deviation.max(initial=0.0)
            self.factor_ = np.full(deviation.size, 1 / unit if deviation.size else 1.0)
        return self

    def _deviations(self, X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Find standard deviations and largest values of the columns."""
        if self.sparse_:
            Z = self._sized(X)
            largest = abs(Z).max(axis=0).toarray().ravel()
            unit = np.where(largest > 0, largest, 1.0)
            _, variance = mean_variance_axis(Z @ diags_array(1 / unit), axis=0)
            return unit * np.sqrt(variance), largest
        n, b = X.shape[0], backend_of(X)
        xp = b.xp

        def moments(batch: slice) -> Any:
            Z = self._sized(X[batch])
            return xp.stack([xp.sum(Z, axis=0) / n, xp.max(xp.abs(Z), axis=0)])

        def squares(batch: slice) -> Any:
            Z = (self._sized(X[batch]) - mean) / unit
            return xp.sum(Z * Z, axis=0) / n

        parts = xp.stack(b.each_batch(moments, n))
        mean, largest = xp.sum(parts[:, 0], axis=0), xp.max(parts[:, 1], axis=0)
        unit = xp.where(largest > 0, largest, xp.ones_like(largest))
        variance = xp.sum(xp.stack(b.each_batch(squares, n)), axis=0)
        return to_host(unit * xp.sqrt(variance)), to_host(largest)

    def table_columns(
        self, groups: NDArray[np.intp] | None
    ) -> list[NDArray[np.intp]] | None:
        """List the features of every column that is left; None if it is no table.

        Parameters
        ----------
        groups : ndarray of shape (n_features,) or None
            Column of every feature, for a table that was encoded; without it, columns
            that were standardised are those of a table.
        """
        if self.sparse_ or (groups is None and self.kind_ != "standard"):
            return None
        kept = self.columns_ if groups is None else groups[self.columns_]
        return [np.flatnonzero(kept == g) for g in np.unique(kept)]

    def _sized(self, X: Any) -> Any:
        """Rows of size one in the form of the training rows."""
        if self.sparse_:
            Z = csr_array(X, dtype=np.float64) / self.size_
            if self.kind_ != "unit":
                return Z
            # The largest value of a row first: a row may be tiny beside others.
            return normalize(normalize(Z, norm="max", copy=False), copy=False)
        b = backend_of(X)
        Z = b.astype(X, np.float64) / self.size_
        if self.kind_ != "unit":
            return Z
        sizes = b.xp.max(b.xp.abs(Z), axis=1, keepdims=True)
        return _unit_rows(Z / b.xp.where(sizes > 0, sizes, b.xp.ones_like(sizes)))

    def transform(self, X: Any) -> Any:
        """Scale rows, which stay where they are."""
        if self.sparse_:
            Z = self._sized(X)[:, self.columns_] @ diags_array(self.factor_)
            np.clip(Z.data, -FAR, FAR, out=Z.data)
            return csr_array(Z, dtype=self.dtype_)
        b = backend_of(X := X.toarray() if issparse(X) else X)
        columns, centre, factor = (
            b.asarray(part) for part in (self.columns_, self.centre_, self.factor_)
        )
        # Allocated at once: rows may fill much of the memory.
        like = b.asarray(np.empty(0, dtype=self.dtype_))
        scaled = b.xp.empty(
            (X.shape[0], self.columns_.size), dtype=like.dtype, device=like.device
        )

        def scale(batch: slice) -> None:
            Z = (self._sized(X[batch])[:, columns] - centre) * factor
            scaled[batch] = b.astype(b.xp.clip(Z, -FAR, FAR), self.dtype_)

        b.each_batch(scale, X.shape[0])
        return scaled


def column_sums(Z: Any) -> Any:
    """Add up columns over all rows, in double precision."""
    b = backend_of(Z)
    parts = b.each_batch(
        lambda batch: b.xp.sum(Z[batch], axis=0, dtype=b.xp.float64), Z.shape[0]
    )
    return b.xp.sum(b.xp.stack(parts), axis=0)


def _largest(A: Any) -> float:
    """Largest size of the numbers of an array, 0 for none."""
    xp = backend_of(A).xp
    return float(max(xp.max(A), -xp.min(A))) if math.prod(A.shape) else 0.0


def _unit_rows(Z: Any) -> Any:
    """Rows of length one, or zero."""
    xp = backend_of(Z).xp
    norms = xp.sqrt(xp.linalg.vecdot(Z, Z))
    return Z / xp.where(norms > 0, norms, xp.ones_like(norms))[:, None]


class Source:
    """An array over the training rows that new rows have too.

    Attributes
    ----------
    train : {ndarray, csr_array} of shape (n_rows, n_columns)
        The array of the training rows.
    """

    train: Any
    # Attributes that new rows do not need.
    for_training: ClassVar[tuple[str, ...]] = ("train",)

    def new(self, view: "View") -> Any:
        """Compute the array of the new rows of a view."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        # Saved on a machine with a GPU, it is loaded on one without.
        return to_host(self.__dict__)


class Rows(Source):
    """The scaled rows themselves."""

    def __init__(self, rows: Any) -> None:
        self.train = rows

    def new(self, view: "View") -> Any:
        return view.rows


class LazySource(Source):
    """An array that is computed from others whenever some of its rows are needed.

    Attributes
    ----------
    n_rows : int
        Number of training rows.
    """

    n_rows: int

    def columns(self, of: Callable[[Source], Any]) -> NDArray[Any]:
        """Compute the array from what `of` gives for each of the sources beneath."""
        raise NotImplementedError

    @property
    def train(self) -> "LazyRows":
        """The array of the training rows, as far as it is asked for."""
        return LazyRows(self)

    def new(self, view: "View") -> NDArray[Any]:
        return self.columns(lambda source: view[source])


class LazyRows:
    """Rows of a lazy source, by number."""

    def __init__(self, source: "LazySource | Clusters") -> None:
        self._source = source
        self.shape = (source.n_rows,)

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        return self._source.columns(lambda source: source.train[rows])


class Beside(LazySource):
    """Leading columns of several dense sources, side by side.

    Parameters
    ----------
    parts : sequence of (Source, int)
        The sources, and how many columns to take.
    """

    def __init__(self, parts: Sequence[tuple[Source, int]]) -> None:
        self._parts = parts
        self.n_rows = parts[0][0].train.shape[0]
        self.n_columns = sum(n_columns for _, n_columns in parts)

    def columns(self, of: Callable[[Source], Any]) -> NDArray[Any]:
        """Take the columns."""
        parts = [of(source)[:, :n] for source, n in self._parts]
        places = {id(backend_of(part)) for part in parts}
        if len(places) > 1:
            parts = [to_host(part) for part in parts]
        return backend_of(parts[0]).xp.concat(parts, axis=1)


class OneColumn(LazySource):
    """One column of a table: features of a Gaussian kernel of its values.

    A number gets the features of landmarks at its quantiles; a column with several
    features, such as categories, keeps them.

    Parameters
    ----------
    rows : Rows
        The scaled rows.
    places : ndarray of int
        Features of the column.
    """

    # Of the kernel, in standard deviations, and landmarks; the family was taken in by
    # the error on every second table of docs/automatic.md.
    WIDTH = 0.5
    N_LANDMARKS = 8

    def __init__(self, rows: Rows, places: NDArray[np.intp]) -> None:
        self._rows = rows
        self._places = places
        self.n_rows = rows.train.shape[0]
        self._is_number = places.size == 1
        if self._is_number:
            values = to_host(rows.train[:, places[0]]).astype(np.float64)
            quantiles = np.quantile(values, np.linspace(0, 1, self.N_LANDMARKS))
            self._landmarks = np.unique(quantiles)
            self._gamma = 0.5 / (self.WIDTH**2 * (float(values.var()) or 1.0))
            K = self._kernel(self._landmarks)
            self._M = inverse_square_root(K, tol=1e-7)

    def _kernel(self, values: NDArray[Any]) -> NDArray[np.float64]:
        b = backend_of(values)
        steps = values[:, None] - b.asarray(self._landmarks)
        return b.xp.exp(-self._gamma * steps**2)

    def columns(self, of: Callable[[Source], Any]) -> NDArray[Any]:
        """Compute the features."""
        Z = of(self._rows)[:, self._places]
        if not self._is_number:
            return Z
        b = backend_of(Z)
        return self._kernel(b.astype(Z[:, 0], np.float64)) @ b.asarray(self._M)


class Components(Source):
    """Principal components, from the covariance or by a randomised sketch.

    Rows that took part in finding directions lie further out along them than new rows
    of the same kind do, much further where there are more columns than rows. New rows
    are stretched by what rows held out for this purpose were short of, so that their
    neighbours are the right ones.

    Parameters
    ----------
    rows : {ndarray, csr_array} of shape (n_rows, n_features)
        Scaled rows.
    n_components : int
        At most so many.
    rng : RandomState
        Of the sketch, and of the rows held out.
    backend : Backend
        Where the components shall live.
    """

    COVARIANCE_COLUMNS = 2000
    SAMPLED_ROWS = 20_000
    # Rows held out, as a share, and how many there must be to learn from them.
    HELD_OUT = 0.2
    MIN_HELD_OUT = 20
    MAX_STRETCH = 3.0

    def __init__(
        self, rows: Any, n_components: int, rng: Any, backend: Backend = NUMPY
    ) -> None:
        b = backend_of(rows)
        mean, variance, basis = self._directions(rows, n_components, rng)
        rank = min(n_components, self._n_varying(rows, variance))
        dtype = b.dtype(rows)
        self._basis = b.asarray(basis[:, :rank], dtype)
        self._offset = b.asarray(mean @ basis[:, :rank], dtype)
        self.deviations = np.sqrt(variance[:rank])
        self._stretch = backend.asarray(np.ones(rank), dtype)
        self.train = self._project(rows)
        self._stretch = backend.asarray(self._missing(rows, rng), dtype)

    @staticmethod
    def _n_varying(rows: Any, variance: NDArray[Any]) -> int:
        """Count the variances, in falling order, that are not rounding errors."""
        floor = 1e-10 if backend_of(rows).dtype(rows) == np.float64 else 1e-6
        return int(np.count_nonzero(variance > floor * variance.max(initial=0.0)))

    def _directions(
        self, rows: Any, n_components: int, rng: Any
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Find the mean, and variances and directions in falling order."""
        n, d = rows.shape
        if issparse(rows):
            mean = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
        else:
            mean = to_host(column_sums(rows)) / n
        if issparse(rows) or d > self.COVARIANCE_COLUMNS or d > 2 * n:
            return mean, *self._sketch(rows, mean, n_components, rng)
        chosen = np.arange(n)
        if n > self.SAMPLED_ROWS:
            chosen = rng.choice(n, self.SAMPLED_ROWS, replace=False)
        b = backend_of(rows)
        middle = b.asarray(mean, b.dtype(rows))
        centred = b.over_rows(lambda some: rows[chosen[some]] - middle, chosen.size)
        return mean, *self._falling(b.gram(centred, centred), chosen.size)

    @staticmethod
    def _falling(moments: Any, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Variances and directions of a matrix of products over n rows."""
        b = backend_of(moments)
        variance, basis = b.eigh(moments / n)
        return to_host(variance)[::-1], to_host(basis)[:, ::-1]

    def _sketch(
        self, rows: Any, mean: NDArray[Any], n_components: int, rng: Any
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Leading directions by randomised subspace iteration, centring implicitly.

        scikit-learn's `randomized_svd` takes arrays alone: centred, sparse rows would
        have to be dense.
        """
        n, d = rows.shape
        b = backend_of(rows)
        qr = b.xp.linalg.qr
        mean = b.asarray(mean, b.dtype(rows))
        size = min(n_components + 20, n, d)
        Q = b.standard_normal(rng.randint(2**31), (d, size), b.dtype(rows))
        for _ in range(5):
            P = qr(b.product(rows, Q, mean @ Q))[0]
            Q = qr(rows.T @ P - mean[:, None] * b.xp.sum(P, axis=0))[0]
        P = b.product(rows, Q, mean @ Q)
        variance, V = self._falling(b.gram(P, P), n)
        return variance, to_host(Q) @ V

    def _missing(self, rows: Any, rng: Any) -> NDArray[Any]:
        """Factors by which components of new rows are too short, at least 1."""
        n, rank = rows.shape[0], self.deviations.size
        n_held = int(self.HELD_OUT * n)
        stretch = np.ones(rank)
        if n_held < self.MIN_HELD_OUT or n > self.SAMPLED_ROWS:
            return stretch
        order = rng.permutation(n)
        held, rest = rows[order[:n_held]], rows[order[n_held:]]
        mean, variance, basis = self._directions(rest, rank, rng)
        # A direction along which the rest has no variance says nothing.
        found = min(rank, self._n_varying(rows, variance))
        b, basis = backend_of(rows), basis[:, :found]
        dtype = b.dtype(rows)
        lengths = held @ b.asarray(basis, dtype) - b.asarray(mean @ basis, dtype)
        square = np.mean(np.square(to_host(lengths)), axis=0, dtype=np.float64)
        shares = square / variance[:found]
        # Shares fall along the components, and single ones are uncertain.
        shares = isotonic_regression(shares, increasing=False)
        stretch[:found] = np.clip(shares, self.MAX_STRETCH**-2, 1.0) ** -0.5
        stretch[found:] = stretch[found - 1] if found else 1.0
        return stretch

    def _project(self, rows: Any) -> Any:
        projected = backend_of(rows).product(rows, self._basis, self._offset)
        return backend_of(self._stretch).asarray(projected)

    def new(self, view: "View") -> Any:
        return self._project(view.rows) * self._stretch

    def affine(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Matrix and offset of the map ``rows @ matrix - offset`` of new rows."""
        parts = (self._basis, self._offset, self._stretch)
        basis, offset, stretch = (np.asarray(to_host(part)) for part in parts)
        return basis * stretch, offset * stretch


class Leading(Source):
    """The leading components, on which distances mean most."""

    def __init__(self, components: Components, n_columns: int) -> None:
        self._components = components
        self.n_columns = n_columns
        leading = components.train[:, :n_columns]
        self.train = backend_of(leading).contiguous(leading)

    def new(self, view: "View") -> Any:
        return view[self._components][:, : self.n_columns]


class Neighbors(Source):
    """Distances and indices of the nearest training rows, by leading components.

    Parameters
    ----------
    leading : Leading
        Source of the leading components.
    n_neighbors : int
        How many to find.
    method : {"exact", "approximate", "auto"}
        See :func:`fewlabels.graphs.nearest_neighbors`.
    """

    def __init__(self, leading: Leading, n_neighbors: int, method: str) -> None:
        self._leading = leading
        self._searched = leading.train
        self._n_neighbors = n_neighbors
        self._options: dict[str, Any] = {"neighbors": method}
        self._search: Any = None
        self.train = self._index().kneighbors(n_neighbors)

    def _index(self) -> Any:
        if self._search is None:
            self._search = make_search(self._searched, **self._options)
        return self._search

    def new(self, view: "View") -> tuple[NDArray[Any], NDArray[Any]]:
        return self._index().kneighbors(self._n_neighbors, view[self._leading])

    def __getstate__(self) -> dict[str, Any]:
        # An approximate index cannot be pickled, and is quickly made again; neighbours
        # of training rows were for those who built the graphs.
        return to_host({**self.__dict__, "_search": None, "train": None})


class Clusters(Source):
    """One-hot rows of many runs of k-means on the leading components.

    The product of two rows is the share of runs that put them into one cluster.

    Parameters
    ----------
    leading : Leading
        Source of the leading components.
    k : int
        Clusters per run.
    n_runs : int
        Number of runs.
    n_rows : int
        Rows that a run looks at, a fresh sample for each.
    rng : RandomState
        Of samples and starts.
    """

    def __init__(
        self, leading: "Leading", k: int, n_runs: int, n_rows: int, rng: Any
    ) -> None:
        self._leading = leading
        self._k = k
        components = leading.train
        n, b = components.shape[0], backend_of(components)
        self.n_rows = n
        samples = None
        if n > n_rows:
            # Arcs of one random circle: drawing anew costs as much as a run.
            places = rng.randint(n, size=(n_runs, 1)) + np.arange(n_rows)
            samples = b.asarray(rng.permutation(n)[places % n])
        starts = b.asarray(rng.random_sample((n_runs, k)))
        self._centres = lloyd_runs(components, samples, k, starts, xp=b.xp)
        # Sparse on the host; elsewhere cheaper to make than to keep.
        self.train = self._one_hot(components) if b.is_numpy else LazyRows(self)

    def columns(self, of: Callable[[Source], Any]) -> Any:
        """Assign rows to clusters."""
        return self._one_hot(of(self._leading))

    def _one_hot(self, components: Any) -> Any:
        b, (n_runs, k, _) = backend_of(components), self._centres.shape
        height = n_runs**-0.5
        if b.is_numpy:
            halves = 0.5 * np.linalg.vecdot(self._centres, self._centres)
            if worth_compiling(4 * components.shape[0] * halves.size):
                from fewlabels._loops.means import nearest_in_runs
            else:
                nearest_in_runs = _nearest_in_runs
            flat = np.ascontiguousarray(self._centres.reshape(n_runs * k, -1).T)
            columns = np.empty((components.shape[0], n_runs), dtype=np.int32)

            def find(batch: slice) -> None:
                nearest_in_runs(components[batch] @ flat, halves, columns[batch])

            b.each_batch(find, components.shape[0])
            data = np.full(columns.size, height, dtype=components.dtype)
            indptr = n_runs * np.arange(columns.shape[0] + 1, dtype=np.int32)
            return b.sparse(data, columns.ravel(), indptr, n_runs * k)
        # All runs at once: a device is slow at many small things.
        xp, flat = b.xp, b.xp.reshape(self._centres, (n_runs * k, -1))
        scores = components @ flat.T - 0.5 * xp.linalg.vecdot(flat, flat)
        places = xp.argmax(xp.reshape(scores, (-1, n_runs, k)), axis=2)
        own = places[:, :, None] == b.asarray(np.arange(k))
        own = b.astype(own, b.dtype(components)) * height
        return xp.reshape(own, (-1, n_runs * k))

    def new(self, view: "View") -> Any:
        return self._one_hot(view[self._leading])


def _nearest_in_runs(scores: Any, halves: Any, columns: Any) -> None:
    """Do in NumPy what the compiled loop of the same name does."""
    n_runs, k = halves.shape
    nearest = np.argmax(scores.reshape(-1, n_runs, k) - halves, axis=2)
    columns[:] = nearest + k * np.arange(n_runs)


def edge_weights(
    distances: Any, own: Any, others: Any, bandwidth: float, longest: float
) -> Any:
    """Weights of edges between rows whose last neighbours are so far away."""
    xp = backend_of(distances).xp
    stretched = xp.clip(xp.maximum(own, others) / longest, 1.0, None)
    return heat_weights(distances / stretched, bandwidth)


class GraphVectors(Source):
    r"""Leading eigenvectors of the normalised Laplacian of a neighbour graph.

    New rows get :math:`u(x) = \sum_j w_{xj} u_j / \sqrt{d_x d_j} / (1 - \lambda)` over
    their neighbours, which holds on training rows with their own neighbours. As in the
    graph, these are the nearest rows and those to which the row would be among the
    nearest, as far as the search finds them: without the latter, new rows would have
    smaller degrees than training rows, and smaller eigenvectors. Edges between mutual
    neighbours weigh twice as much as others.

    Parameters
    ----------
    neighbors : Neighbors
        The neighbour search.
    k : int
        Neighbours to use.
    width : float
        Of the Gaussian weights, in units of the mean distance to these neighbours.
    n_vectors : int
        At least so many, as far as there are.
    rng : RandomState
        Of the eigenvectors.
    """

    for_training = ("laplacian",)
    # Eigenvectors of more rows than this start from random numbers, of two seeds.
    RANDOM_ROWS = 500

    @classmethod
    def n_draws(cls, n_rows: int) -> int:
        """Tell how many seeds the eigenvectors of so many rows take."""
        return 2 if n_rows > cls.RANDOM_ROWS else 0

    def __init__(
        self, neighbors: Source, k: int, width: float, n_vectors: int, rng: Any
    ) -> None:
        self._neighbors = neighbors
        distances, indices = neighbors.train
        b, n = backend_of(distances), distances.shape[0]
        self.n_neighbors = k
        distances, indices = distances[:, :k], indices[:, :k]
        usual = auto_bandwidth(to_host(distances))
        self._bandwidth, self._longest = width * usual, FRINGE * usual
        self._reach = b.contiguous(distances[:, k - 1])
        weights = edge_weights(
            distances,
            self._reach[:, None],
            self._reach[indices],
            self._bandwidth,
            self._longest,
        )
        W = b.symmetrized(b.astype(weights, b.dtype(distances)), indices)
        self._degrees = W @ b.xp.ones_like(self._reach)
        self.laplacian = graph_laplacian(W, "symmetric", check=False)
        n_components, labels = connected_components(b.to_numpy(W), directed=False)
        self.n_components = n_components
        main = np.arange(n)
        if n_components > MAX_COMPONENTS:
            sizes = np.bincount(labels)
            largest = np.argsort(-sizes, kind="stable")[:MAX_COMPONENTS]
            main = np.flatnonzero(np.isin(labels, largest))
            n_components = MAX_COMPONENTS
        wanted = min(max(n_vectors, n_components + 60), max(1, main.size // 2))
        L = self.laplacian
        if main.size < n:
            L = b.asarray(to_host(L)[main][:, main])
        eigenvalues, U = laplacian_eigenvectors(
            L, wanted, tol=EIGENVECTOR_TOL, random_state=rng
        )
        self.eigenvalues = to_host(eigenvalues)
        self.train = U
        if main.size < n:
            self.train = b.xp.zeros((n, wanted), dtype=U.dtype, device=U.device)
            self.train[main] = U
        self.n_null = n_components

    def scaled(self, offset: int) -> NDArray[Any]:
        """Eigenvalues in units of the one so many places after the zeros."""
        unit = self.eigenvalues[min(self.n_null + offset, self.eigenvalues.size - 1)]
        return self.eigenvalues / (unit if unit > 1e-9 else 1.0)

    def new(self, view: "View") -> NDArray[Any]:
        d, near = view[self._neighbors]
        b, k = backend_of(d), self.n_neighbors
        reach = self._reach[near]
        w = edge_weights(d, d[:, k - 1 : k], reach, self._bandwidth, self._longest)
        w = b.astype(w, b.dtype(d))
        # Half a weight for every end that counts the other among its neighbours.
        halves = 0.5 * b.astype(d <= reach, b.dtype(d))
        halves[:, :k] += 0.5
        w = w * halves
        w = w / b.xp.sqrt(b.xp.sum(w, axis=1, keepdims=True) * self._degrees[near])
        n_queries, n_near = near.shape
        indptr = b.asarray(np.arange(n_queries + 1) * n_near)
        n = self.train.shape[0]
        weights = b.sparse(b.xp.reshape(w, (-1,)), b.xp.reshape(near, (-1,)), indptr, n)
        gains = np.maximum(1 - self.eigenvalues, MIN_GAIN)
        return (weights @ self.train) / b.asarray(gains)


class Nystrom(Source):
    """Centred features of the Gaussian kernel from landmarks, and a constant.

    Parameters
    ----------
    rows : Source
        Source of the scaled rows.
    landmarks : ndarray of int
        The landmarks among the training rows.
    gamma : float
        Of the kernel.
    backend : Backend
        Where the features shall live.
    """

    def __init__(
        self,
        rows: Source,
        landmarks: NDArray[Any],
        gamma: float,
        backend: Backend = NUMPY,
    ) -> None:
        self._gamma = gamma
        self._landmarks = rows.train[landmarks]
        K = to_host(self._kernel(self._landmarks))
        # Eigenvalues that single precision can still tell from zero.
        self._M = backend.asarray(inverse_square_root((K + K.T) / 2, tol=1e-7))
        Z = self._features(rows.train)
        self.train, self._mean, self._unit = _normalised(Z)

    def _kernel(self, rows: Any) -> Any:
        b = backend_of(rows)
        return b.xp.exp(-self._gamma * b.squared_distances(rows, self._landmarks))

    def _features(self, rows: Any) -> Any:
        b = backend_of(self._M)
        return b.over_rows(
            lambda batch: b.asarray(self._kernel(rows[batch])) @ self._M, rows.shape[0]
        )

    def new(self, view: "View") -> Any:
        Z = (self._features(view.rows) - self._mean) / self._unit
        return _with_constant(Z)

    def folded(
        self, weights: NDArray[Any]
    ) -> tuple[Any, float, NDArray[Any], NDArray[Any]]:
        """Landmarks, gamma, coefficients and offset of a function of the features."""
        scaled = weights[:-1] / np.asarray(to_host(self._unit))
        coef = to_host(self._M).astype(np.float64) @ scaled
        offset = weights[-1] - to_host(self._mean) @ scaled
        return to_host(self._landmarks), self._gamma, coef, offset


class LinearFeatures(Source):
    """Components on the scale of a normalised kernel, and a constant.

    Parameters
    ----------
    components : Source
        Source of the components.
    """

    def __init__(self, components: Source) -> None:
        self._components = components
        self.train, self._mean, self._unit = _normalised(components.train)

    def new(self, view: "View") -> NDArray[Any]:
        Z = view[self._components]
        return _with_constant((Z - self._mean) / self._unit)

    def folded(
        self, weights: NDArray[Any]
    ) -> tuple[Source, NDArray[Any], NDArray[Any]]:
        """Make a function of the features one of the components, with an offset."""
        scaled = weights[:-1] / np.asarray(to_host(self._unit))
        offset = weights[-1] - to_host(self._mean) @ scaled
        return self._components, scaled, offset


class Geodesics(Source):
    """Nyström features of a Gaussian kernel on path lengths to landmarks.

    Parameters
    ----------
    neighbors : Neighbors
        The neighbour search.
    k : int
        Neighbours to use.
    landmarks : ndarray of int
        Rows from which paths start.
    sharpness : float
        Zero takes the length of paths. Otherwise a step of length d (in units of the
        mean one) costs ``exp(sharpness * d) - 1``, so that long steps across empty
        regions are avoided, and the sum is brought back to a length by the inverse.
    """

    def __init__(
        self,
        neighbors: Source,
        k: int,
        landmarks: NDArray[Any],
        sharpness: float,
    ) -> None:
        self._neighbors = neighbors
        self._k = k
        self._sharpness = sharpness
        distances, indices = (part[:, :k] for part in neighbors.train)
        b = backend_of(distances)
        self._unit = auto_bandwidth(to_host(distances))
        self._costs = b.shortest_paths(self._steps(distances), indices, landmarks)
        n = self._costs.shape[0]
        lengths = self._lengths(self._costs[:: -(-n // LENGTH_ROWS)])
        finite = lengths[b.xp.isfinite(lengths) & (lengths > 0)]
        width = 0.7 * b.median(finite) if finite.shape[0] else 1.0
        self._gamma = 0.5 / width**2
        K = to_host(self._kernel(self._costs[landmarks]))
        self._M = b.asarray(inverse_square_root((K + K.T) / 2, tol=1e-2))
        self.train = b.over_rows(
            lambda batch: self._features(self._costs[batch], b.dtype(distances)), n
        )

    def _steps(self, distances: Any) -> Any:
        b = backend_of(distances)
        # A step of length zero would be no edge.
        d = b.xp.clip(b.astype(distances, np.float64) / self._unit, 1e-6, None)
        if self._sharpness == 0:
            return b.xp.clip(d, None, MAX_EXPONENT)
        return b.xp.expm1(b.xp.clip(self._sharpness * d, None, MAX_EXPONENT))

    def _lengths(self, costs: Any) -> Any:
        xp = backend_of(costs).xp
        return xp.log1p(costs) / self._sharpness if self._sharpness else costs

    def _kernel(self, costs: Any) -> Any:
        return backend_of(costs).xp.exp(-self._gamma * self._lengths(costs) ** 2)

    def _features(self, costs: Any, dtype: Any) -> Any:
        return backend_of(costs).astype(self._kernel(costs) @ self._M, dtype)

    def new(self, view: "View") -> Any:
        distances, indices = view[self._neighbors]
        b = backend_of(distances)
        steps = self._steps(distances[:, : self._k])
        costs = self._costs[indices[:, 0]] + steps[:, :1]
        for j in range(1, self._k):
            other = self._costs[indices[:, j]] + steps[:, j : j + 1]
            costs = b.xp.minimum(costs, other)
        return self._features(costs, b.dtype(distances))


def _with_constant(Z: Any) -> Any:
    xp = backend_of(Z).xp
    return xp.concat([Z, xp.ones_like(Z[:, :1])], axis=1)


def _normalised(Z: Any) -> tuple[Any, Any, float]:
    """Features with centred kernel of mean diagonal 1, and a constant beside them."""
    b, n = backend_of(Z), Z.shape[0]
    xp = b.xp
    mean = b.astype(column_sums(Z) / n, b.dtype(Z))

    def squares(batch: slice) -> float:
        centred = xp.linalg.vecdot(Z[batch] - mean, Z[batch] - mean)
        return float(xp.sum(centred, dtype=xp.float64))

    unit = math.sqrt(math.fsum(b.each_batch(squares, n)) / n) or 1.0
    normal = b.over_rows(lambda batch: _with_constant((Z[batch] - mean) / unit), n)
    return normal, mean, unit


class View:
    """Some rows of a bank, seen through its sources.

    Parameters
    ----------
    batch : slice or ndarray of int, default=None
        Training rows to look at.
    rows : {ndarray, csr_array}, default=None
        Or new rows, scaled.
    known : dict, default=None
        What is known of some sources already.
    """

    def __init__(
        self, *, batch: Any = None, rows: Any = None, known: Any = None
    ) -> None:
        self._batch = batch
        self.rows = rows
        self._cache: dict[Any, Any] = {} if known is None else dict(known)

    def __getitem__(self, source: Source) -> Any:
        if self.rows is None:
            return source.train[self._batch]
        if source not in self._cache:
            self._cache[source] = source.new(self)
        return self._cache[source]

    def distances_to(self, key: Any, rows: Any, others: Any) -> NDArray[Any]:
        """Squared distances, computed once per key."""
        if key not in self._cache:
            self._cache[key] = backend_of(rows).squared_distances(rows, others)
        return self._cache[key]
