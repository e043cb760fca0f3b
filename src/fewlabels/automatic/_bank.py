"""The bank: several dozen candidates on one set of rows, built without labels."""

# SPDX-License-Identifier: BSD-3-Clause

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from itertools import compress
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_consistent_length, check_random_state, gen_batches
from sklearn.utils.validation import column_or_1d

from fewlabels._backend import (
    DEVICE_CONSTRAINTS,
    NUMPY,
    Backend,
    backend_for,
    to_host,
)
from fewlabels._params import budget_bytes
from fewlabels._progress import ProgressLine
from fewlabels._rows import distinct_rows, row_digests
from fewlabels._sklearn import Interval, StrOptions
from fewlabels._threads import in_threads, threads
from fewlabels.automatic._candidates import Candidate
from fewlabels.automatic._kernels import BankKernel
from fewlabels.automatic._recipe import (
    BANKS,
    BankSettings,
    Sources,
    bank_for,
    recipe,
)
from fewlabels.automatic._scaling import may_be_table
from fewlabels.automatic._sources import View
from fewlabels.automatic._views import FeatureView, Rows, checked_views
from fewlabels.preprocessing import Moments, TableSample

# Rows times columns above which several threads pay off.
MANY_ENTRIES = 500_000


class KernelBank:
    """Several dozen candidates on one set of rows, built without labels.

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
    feature_groups : ndarray of shape (n_features,), default=None
        For each feature, the number of the table column it comes from.
    feature_views : dict of str to ndarray of shape (n_features,), default=None
        Weights of the features in every view. Each view gets all candidates, which
        compete with those of the others; None is one view of all features.
    moments : Moments, default=None
        Means and deviations of the whole table, when the rows are a sample of it.
    n_jobs : int, default=None
        Threads, see :func:`fewlabels._threads.threads`; None is one for small data.
    memory_budget : float, default=None
        MiB up to which sparse rows that are not text are made dense.
    backend : Backend
        Where to compute.
    random_state : int, RandomState instance or None, default=None
        Seed of samples and k-means starts.

    Attributes
    ----------
    candidates : list of Candidate
        In the order of the recipe.
    index : ndarray of shape (n_samples,)
        For each row, the number of its distinct row.
    groups : ndarray of shape (n_rows,)
        For each distinct row, the number of its group, see :meth:`keep_together`.
    n_samples : int
        Number of rows.
    n_rows : int
        Number of distinct rows.
    is_pruned : bool
        Whether everything that predictions do not need was dropped.
    kind : {"table", "text", "pixels"}
        How the rows of the first view are treated: as a table of columns with their
        own meanings, as text (sparse rows), or as anything else.
    """

    # Where the rows live; not saved to files.
    _backend: Backend = NUMPY

    def __init__(
        self,
        settings: BankSettings | str = "default",
        *,
        scale: str = "auto",
        neighbors: str = "auto",
        feature_groups: Any = None,
        feature_views: Mapping[str, NDArray[Any]] | None = None,
        moments: Moments | None = None,
        n_jobs: int | None = None,
        memory_budget: float | None = None,
        backend: Backend = NUMPY,
        random_state: Any = None,
    ) -> None:
        self._memory_budget = memory_budget
        self._backend = backend
        self._groups = feature_groups
        self.settings = BANKS[settings] if isinstance(settings, str) else settings
        views: Mapping[str, Any] = feature_views if feature_views else {"": None}
        self._views = [FeatureView(n, scale, weights) for n, weights in views.items()]
        self._moments = moments
        self._neighbors = neighbors
        self._n_jobs = n_jobs
        self._random_state = random_state

    def threads(self, shape: tuple[int, ...] | None = None) -> Any:
        """Choose the number of threads for a shape, by default that of the rows."""
        if not self._backend.is_numpy:  # a device handles all rows at once
            return threads(1)
        return self._host_threads(self._shape if shape is None else shape)

    def _host_threads(self, shape: tuple[int, ...]) -> Any:
        return threads(self._n_jobs, worth_it=math.prod(shape) >= MANY_ENTRIES)

    def build(
        self, X: Any, progress: Callable[[float], None] | None = None
    ) -> "KernelBank":
        """Follow the recipe."""
        self._shape, self.dtype = X.shape, X.dtype
        self.n_samples = X.shape[0]
        with self._host_threads(X.shape):
            distinct = distinct_rows(X)
        self.index, first, self._digests, self._number = distinct
        with self.threads():
            return self._build(X, first, progress)

    def _build(
        self,
        X: Any,
        first: NDArray[np.intp],
        progress: Callable[[float], None] | None,
    ) -> "KernelBank":
        X = X[first] if first.size < X.shape[0] else X
        if issparse(X) and self._views[0].scaling.scale in ("standard", "none"):
            X = self._made_dense(X)
        self.n_rows = X.shape[0]
        self.candidates: list[Candidate] = []
        self.rows: list[Rows] = []
        self.is_pruned = False
        self.kind = ""
        self._matrices: dict[int, NDArray[Any]] = {}
        rng = check_random_state(self._random_state)
        seen: set[bytes] = set()
        for place, view in enumerate(self._views):

            def tell(share: float, place: int = place) -> None:
                if progress is not None:
                    progress((place + share) / len(self._views))

            rows = view.fit(X, self._moments, self._backend)
            self._add_view(view, rows, rng, seen, tell)
        self._moments = None
        with np.errstate(over="ignore", invalid="ignore"):
            useful = in_threads(lambda candidate: candidate.prepare(), self.candidates)
        self.candidates = list(compress(self.candidates, useful))
        return self

    def _add_view(
        self,
        view: FeatureView,
        rows: Any,
        rng: np.random.RandomState,
        seen: set[bytes],
        tell: Callable[[float], None],
    ) -> None:
        """Follow the recipe in one view; `seen` are columns of earlier ones."""
        self.rows.append(Rows(rows, view, self._backend))
        groups = view.of(self._groups)
        columns = view.scaling.table_columns(groups, rows)
        is_table = columns is not None
        plain = "text" if issparse(rows) else "pixels"
        self.kind = self.kind or ("table" if is_table else plain)
        if self.n_rows < 2 or rows.shape[1] == 0:
            return
        if columns is not None:
            columns = [view.unseen(places, seen) for places in columns]
        sources = Sources(
            self.rows[-1],
            self.settings,
            self._neighbors,
            rng,
            columns,
            is_table or may_be_table(rows, np.bincount(self.index)),
            self._backend,
        )
        steps = recipe(self.settings)
        done, total = 0.0, sum(step.share for step in steps)
        with np.errstate(over="ignore", invalid="ignore"):
            for step in steps:
                for candidate in step.candidates(sources):
                    if view.name:
                        candidate.name = f"{view.name}: {candidate.name}"
                    candidate.view = len(self.rows) - 1
                    self.candidates.append(candidate)
                done += step.share
                tell(done / total)

    def _made_dense(self, X: Any) -> Any:
        """Make sparse rows dense if they fit into memory, or else warn."""
        needed = 8 * math.prod(X.shape)
        if needed <= budget_bytes(self._memory_budget):
            return X.toarray()
        warnings.warn(
            "The sparse rows stay sparse, since dense they would take "
            f"{needed / 2**20:.0f} MiB: forests and kernels of single columns are left "
            "out, so predictions may differ from those of dense rows. Pass a larger "
            "memory_budget (MiB) to make them dense.",
            UserWarning,
            stacklevel=2,
        )
        return X

    def keep_together(self, groups: ArrayLike | None) -> None:
        """Join distinct rows that are in a group, or have copies in one.

        Parameters
        ----------
        groups : array-like of shape (n_samples,) or None
            Rows with equal entries are joined; None if there are no groups.
        """
        self.groups = np.arange(self.n_rows)
        if groups is None:
            return
        given = column_or_1d(groups)
        check_consistent_length(given, self.index)
        _, number = np.unique(given, return_inverse=True)
        ends = (self.index, self.n_rows + number)
        size = self.n_rows + int(number.max(initial=-1)) + 1
        pairs = csr_array((np.ones(self.index.size), ends), shape=(size, size))
        self.groups = connected_components(pairs, directed=False)[1][: self.n_rows]

    def __getstate__(self) -> dict[str, Any]:
        kept = {key: value for key, value in vars(self).items() if key != "_backend"}
        return {**kept, "_matrices": {}, "_random_state": None}

    def compact(self, *, transduction: bool) -> "KernelBank":
        """Copy the bank without candidates, to predict only, in NumPy."""
        lean = copy(self)
        lean._backend = NUMPY
        lean.candidates = []
        lean.rows = []
        lean.is_pruned = True
        lean._matrices = {}
        lean.index = self.index.astype(np.int32)
        lean.groups = self.groups[:0]
        lean._number = self._number.astype(np.int32)
        if not transduction:
            lean.index = lean._number = np.empty(0, dtype=np.int32)
            lean._digests = self._digests[:0]
        return lean

    def check_whole(self) -> None:
        """Raise an error if the bank was pruned."""
        if self.is_pruned:
            raise ValueError(
                "This copy, from compact() or from a file, can only predict: call fit "
                "to learn from other labels."
            )

    def kernel_matrix(self, place: int) -> NDArray[np.float32]:
        """Matrix of a kernel over all distinct rows, kept for the next call."""
        if place not in self._matrices:
            view = View(batch=slice(None))
            K = self.kernel_columns(place, np.arange(self.n_rows), view)
            self._matrices[place] = K.astype(np.float32)
        return self._matrices[place]

    def kernel_columns(
        self, place: int, ends: NDArray[np.intp], view: View
    ) -> NDArray[np.float64]:
        """Kernel matrix between the rows of a view and some distinct rows."""
        kernel = self.candidates[place]
        if not isinstance(kernel, BankKernel):
            raise TypeError(f"{kernel.name} is not a kernel.")
        columns = to_host(kernel.outputs(ends, np.eye(ends.size))(view))
        return np.asarray(columns, dtype=np.float64)

    @property
    def is_on_host(self) -> bool:
        """Whether arrays are NumPy's."""
        return self._backend.is_numpy

    def room_for(self, size: int) -> int:
        """Choose the batch size, given room for `size` rows on the host."""
        b = self._backend
        if b.is_numpy:
            # Several threads may hold a batch each, but the batch size must not depend
            # on their number: outputs of other batches would be rounded differently.
            return min(max(64, size // 4), b.batch_rows)
        return int(np.clip(size * b.room() / budget_bytes(None), 64, b.batch_rows))

    def training_views(self, size: int = 4096) -> Iterator[View]:
        """Yield views of all distinct training rows, batch by batch."""
        for batch in gen_batches(self.n_rows, size):
            yield View(batch=batch)

    def known_rows(self, X: Any) -> NDArray[np.intp]:
        """Find rows that were in the training set."""
        digests = row_digests(X.astype(self.dtype, copy=False))
        places = np.searchsorted(self._digests, digests)
        places = np.minimum(places, self._digests.size - 1)
        known = self._digests[places] == digests
        return np.where(known, self._number[places], -1)

    def new_views(self, X: Any, size: int = 4096) -> Iterator[View]:
        """Yield views of new rows, batch by batch."""
        for batch in gen_batches(X.shape[0], size):
            yield View(rows=X[batch])


BANK_CONSTRAINTS: dict[str, list[Any]] = {
    "bank": [StrOptions({"auto", *BANKS})],
    "scale": [StrOptions({"auto", "standard", "unit", "none"})],
    "neighbors": [StrOptions({"exact", "approximate", "auto"})],
    "feature_groups": ["array-like", None],
    "feature_views": [dict, None],
    "n_jobs": [Integral, None],
    **DEVICE_CONSTRAINTS,
    "memory_budget": [Interval(Real, 0, None, closed="neither"), None],
    "progress": [StrOptions({"auto"}), "boolean", callable],
    "random_state": ["random_state"],
}


def feature_groups(estimator: Any, n_features: int) -> NDArray[np.intp] | None:
    """Find each feature's column, from the parameter or the encoded frame."""
    if estimator.feature_groups is None:
        encoded = estimator.transformer_
        return None if encoded is None else encoded.feature_groups_
    groups = np.asarray(estimator.feature_groups)
    if groups.shape != (n_features,):
        raise ValueError(
            f"feature_groups must have one entry per feature, {n_features} in all, got "
            f"shape {groups.shape}."
        )
    return np.unique(groups, return_inverse=True)[1]


def feature_views(
    estimator: Any, n_features: int
) -> dict[str, NDArray[np.float64]] | None:
    """Find the views of a row, from the parameter or the encoded frame."""
    given = estimator.feature_views
    if given is None and estimator.transformer_ is not None:
        given = estimator.transformer_.feature_views_
    return checked_views(given, n_features)


def build_bank(
    estimator: Any, X: Any, given: Any, rng: Any, line: ProgressLine
) -> KernelBank:
    """Build an estimator's bank from the rows as they were passed to it."""
    sample = None
    if isinstance(given, TableSample) and estimator.transformer_ is None:
        sample = given.summary
    return KernelBank(
        bank_for(estimator.bank, X.shape[0]),
        scale=estimator.encoded_scale(X, estimator.scale),
        neighbors=estimator.neighbors,
        feature_groups=feature_groups(estimator, X.shape[1]),
        feature_views=feature_views(estimator, X.shape[1]),
        moments=None if sample is None else sample.moments,
        n_jobs=estimator.n_jobs,
        memory_budget=estimator.memory_budget,
        backend=backend_for(estimator),
        random_state=rng,
    ).build(X, lambda share: line.update(0.7 * share, "bank"))
