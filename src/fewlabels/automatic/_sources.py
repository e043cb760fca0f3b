"""Sources of the candidates of a bank: arrays over rows, computed without labels.

Every source holds an array of the training rows and can compute it for new rows.
Sources made from others hold references to them. Kernels read arrays through a
:class:`View`, a batch of training or new rows, so that arrays needed several times are
computed once. Dense rows, and everything computed from them, live on one backend, such
as a GPU; sparse rows stay in SciPy's arrays, and what is computed from them moves.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray
from sklearn.utils import gen_batches

from fewlabels._backend import backend_of, to_host
from fewlabels._threads import in_threads

# Rows, or numbers, summed per batch: torch copies each batch in double precision, and a
# copy of everything would not fit on a small GPU.
SUM_ROWS = 1024
SUM_NUMBERS = 2**19
# More columns than any source has.
EVERY_COLUMN = 2**62

if TYPE_CHECKING:
    from fewlabels.automatic._candidates import Form
    from fewlabels.automatic._compact import Compactor, LinearPart


class Compactable:
    """Base of objects copied into a compact bank: sources, candidates, functions."""

    # Attributes that new rows do not need.
    for_training: ClassVar[tuple[str, ...]] = ()
    # Whether a copy depends on how arrays over the training rows are packed.
    is_packed: ClassVar[bool] = False

    def reads(self) -> "list[tuple[Source, int]]":
        """List the sources it holds, and the number of leading columns it reads.

        All columns, unless a subclass knows better.
        """
        return _sources_in(list(vars(self).values()))

    def compact(self, compactor: "Compactor") -> Any:
        """Make a small copy that can only handle new rows."""
        return compactor.lean_copy(self)

    def __getstate__(self) -> dict[str, Any]:
        # A file saved on a machine with a GPU must load on one without.
        return to_host(self.__dict__)


def _sources_in(parts: Any) -> "list[tuple[Source, int]]":
    found = []
    for part in parts:
        if isinstance(part, Source):
            found.append((part, EVERY_COLUMN))
        elif isinstance(part, Compactable):
            found += part.reads()
        elif isinstance(part, list | tuple):
            found += _sources_in(part)
    return found


class Source(Compactable):
    """An array over the training rows that can be computed for new rows too.

    Attributes
    ----------
    train : {ndarray, csr_array} of shape (n_rows, n_columns)
        The array of the training rows.
    """

    train: Any
    for_training = ("train",)

    def new(self, view: "View") -> Any:
        """Compute the array of the new rows of a view."""
        raise NotImplementedError

    def folded(
        self, weights: NDArray[Any], offset: NDArray[Any], compactor: "Compactor"
    ) -> "tuple[Source, NDArray[Any], NDArray[Any]] | None":
        """Rewrite a linear function of the columns as one of an underlying source.

        Returns
        -------
        source, weights, offset : tuple or None
            The function; None if the columns are not linear in another source.
        """
        return None

    def linear_forms(
        self, parts: "Sequence[LinearPart]", compactor: "Compactor"
    ) -> "list[Form]":
        """List forms of a sum of linear functions of the columns, smallest first."""
        return [lambda: compactor.linear_sums(compactor.copy_of(self), parts)]


class View:
    """A batch of rows, seen through the sources of a bank.

    Parameters
    ----------
    batch : slice or ndarray of int, default=None
        Training rows.
    rows : {ndarray, csr_array}, default=None
        New rows, as they were passed to the estimator, instead of training rows.
    known : dict, default=None
        Arrays of some sources that are already known.
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


class LazySource(Source):
    """An array computed from others whenever some of its rows are needed.

    Attributes
    ----------
    n_rows : int
        Number of training rows.
    """

    n_rows: int

    def columns(self, of: Callable[[Source], Any]) -> NDArray[Any]:
        """Compute the array from `of(source)` of the underlying sources."""
        raise NotImplementedError

    @property
    def train(self) -> "LazyRows":
        """The array of the training rows, computed on access."""
        return LazyRows(self)

    def new(self, view: "View") -> NDArray[Any]:
        return self.columns(lambda source: view[source])


class LazyRows:
    """Rows of a lazy source, by number."""

    def __init__(self, source: LazySource) -> None:
        self._source = source
        self.shape = (source.n_rows,)

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        return self._source.columns(lambda source: source.train[rows])


class JoinedColumns(LazySource):
    """Leading columns of several dense sources, side by side.

    Parameters
    ----------
    parts : sequence of (Source, int)
        The sources, and the number of columns to take from each.
    """

    is_packed = True

    def __init__(self, parts: Sequence[tuple[Source, int]]) -> None:
        self._parts = parts
        self.n_rows = parts[0][0].train.shape[0]
        self.n_columns = sum(n_columns for _, n_columns in parts)

    def reads(self) -> list[tuple[Source, int]]:
        return list(self._parts)

    def columns(self, of: Callable[[Source], Any]) -> NDArray[Any]:
        """Take the columns."""
        parts = [of(source)[:, :n] for source, n in self._parts]
        places = {id(backend_of(part)) for part in parts}
        if len(places) > 1:
            parts = [to_host(part) for part in parts]
        return backend_of(parts[0]).xp.concat(parts, axis=1)


def batches_for_sums(n_rows: int, n_columns: int) -> list[slice]:
    """Batches of rows small enough to copy in double precision."""
    size = max(SUM_ROWS, SUM_NUMBERS // max(1, n_columns))
    return list(gen_batches(n_rows, size))


def column_sums(Z: Any) -> Any:
    """Sum columns over all rows in double precision."""
    xp = backend_of(Z).xp
    parts = in_threads(
        lambda batch: xp.sum(Z[batch], axis=0, dtype=xp.float64),
        batches_for_sums(*Z.shape),
    )
    return xp.sum(xp.stack(parts), axis=0)
