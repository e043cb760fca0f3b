"""Many runs of k-means at once, on arrays of any library."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._threads import in_threads, worth_compiling


def lloyd_runs(
    X: Any,
    samples: Any,
    k: int,
    starts: Any,
    *,
    max_iter: int = 50,
    tol: float = 1e-4,
    xp: Any = np,
) -> Any:
    r"""Find centres by several runs of Lloyd's algorithm from k-means++.

    As in scikit-learn, k-means++ tries several rows for every centre and takes the one
    that lowers the sum of squares most. Here these rows lie at evenly spaced points of
    the cumulative squared distances, all derived from one random number: the same
    numbers give the same centres in every library. A cluster without rows keeps its
    centre. A row equally near to several centres belongs to the first.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Rows, near the origin, since squared distances are computed from products.
    samples : array of int of shape (n_runs, n_rows) or None
        Rows used by each run; None is all.
    k : int
        Number of centres.
    starts : array of shape (n_runs, k)
        Random numbers from [0, 1), in float64.
    max_iter : int, default=50
        Largest number of steps.
    tol : float, default=1e-4
        A run ends when the sum of the squared shifts of the centres is at most this
        share of the mean variance of the features.
    xp : module, default=numpy
        Namespace of the arrays in the sense of the array API standard. Runs on large
        NumPy arrays are distributed over threads; others are done all at once.

    Returns
    -------
    centers : array of shape (n_runs, k, n_features)
        The centres, in the precision of X.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels._kmeans import lloyd_runs
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> lloyd_runs(X, None, 2, np.array([[0.3, 0.6], [0.9, 0.1]]))[:, :, 0]
    array([[0.5, 9.5],
           [9.5, 0.5]])
    """
    n_rows = X.shape[0] if samples is None else samples.shape[1]
    n_operations = 16 * starts.shape[0] * n_rows * max(k, X.shape[1])
    if isinstance(X, np.ndarray) and worth_compiling(n_operations):
        X = np.ascontiguousarray(X)

        def run(number: int) -> Any:
            Z = X if samples is None else X[samples[number]]
            return _alone(Z, k, starts[number], max_iter, tol)

        return np.stack(in_threads(run, range(starts.shape[0])))
    Z = X[None, ...] if samples is None else _rows(X, samples, xp)
    return _lloyd(Z, _plus_plus(Z, k, starts, xp), max_iter, tol, xp)


def _alone(
    Z: NDArray[Any], k: int, u: NDArray[Any], max_iter: int, tol: float
) -> NDArray[Any]:
    """One run, mostly in compiled loops that do not block other threads."""
    from fewlabels._loops.means import lloyd, plus_plus

    (n, d), n_trials, kind = Z.shape, _n_trials(k), Z.dtype
    centers = np.empty((k, d), dtype=kind)
    plus_plus(
        Z,
        u,
        centers,
        np.vecdot(Z, Z),
        np.full(n, np.inf, dtype=kind),
        np.empty(n),
        np.empty((d, n_trials), dtype=kind),
        np.empty(n_trials, dtype=np.intp),
        np.empty(n_trials),
    )
    limit = tol * float(np.mean(np.var(Z, axis=0)))
    across, halves = np.empty((d, k), dtype=kind), np.empty(k, dtype=kind)
    lloyd(Z, centers, limit, max_iter, across, halves, np.empty((k, d)), np.empty(k))
    return centers


def _rows(X: Any, numbers: Any, xp: Any) -> Any:
    """Select rows by number, in the shape of the numbers."""
    rows = xp.take(X, xp.reshape(numbers, (-1,)), axis=0)
    return xp.reshape(rows, (*numbers.shape, X.shape[-1]))


def _square(Z: Any, xp: Any) -> Any:
    return xp.sum(Z * Z, axis=-1)


def _n_trials(k: int) -> int:
    """Candidate rows for each new centre."""
    return 2 + int(np.log(k))


def _plus_plus(Z: Any, k: int, u: Any, xp: Any) -> Any:
    """Start every run on the rows of its slice of Z, or all on one, from numbers u."""
    n_runs, (n_sets, n, d) = u.shape[0], Z.shape
    n_trials = _n_trials(k)
    grid = xp.asarray(np.arange(n_trials) / n_trials, device=u.device)
    first = xp.astype(xp.arange(n_runs, device=u.device) * n * (n_sets > 1), xp.int64)
    flat = xp.reshape(Z, (n_sets * n, d))
    across = xp.matrix_transpose(Z)
    norms = _square(Z, xp)

    def distances(centers: Any) -> Any:
        """Squared distances of all rows to centres, of shape (n_runs, ..., n)."""
        products = norms[:, None, :] - 2 * (centers @ across)
        squares = products + _square(centers, xp)[..., None]
        return xp.where(squares > 0, squares, xp.zeros_like(squares))

    def at(numbers: Any) -> Any:
        inside = xp.where(numbers < n, numbers, xp.full_like(numbers, n - 1))
        return _rows(flat, inside + first[:, None], xp)

    centers = [at(xp.astype(u[:, :1] * n, xp.int64))]
    nearest = distances(centers[0])[:, 0, :]
    for step in range(1, k):
        # The standard's name for this is too new for some versions of NumPy.
        total = xp.cumsum(xp.astype(nearest, xp.float64), axis=-1)
        shares = (u[:, step : step + 1] + grid) % 1.0
        below = total[:, None, :] <= (shares * total[:, -1:])[..., None]
        tried = at(xp.sum(xp.astype(below, xp.int64), axis=-1))
        squares = xp.minimum(nearest[:, None, :], distances(tried))
        best = xp.argmin(xp.sum(squares, axis=-1), axis=-1)
        chosen = xp.arange(n_trials, device=u.device) == best[:, None]
        taken = xp.astype(chosen, Z.dtype)[:, None, :]
        centers.append(taken @ tried)
        nearest = (taken @ squares)[:, 0, :]
    return xp.concat(centers, axis=1)


def _lloyd(Z: Any, centers: Any, max_iter: int, tol: float, xp: Any) -> Any:
    """Move the centres of every run until they converge; converged runs are dropped."""
    n_runs = centers.shape[0]
    limit = tol * xp.mean(xp.var(Z, axis=1), axis=-1)
    numbers = xp.arange(n_runs, device=centers.device)
    going = numbers >= 0
    order = xp.arange(centers.shape[1], device=centers.device)[:, None]
    ended = []
    for _ in range(max_iter):
        scores = (
            centers @ xp.matrix_transpose(Z) - 0.5 * _square(centers, xp)[..., None]
        )
        first = xp.argmax(scores, axis=1)[:, None, :]
        own = xp.astype(order == first, Z.dtype)
        counts = xp.sum(own, axis=-1)[..., None]
        means = (own @ Z) / xp.where(counts > 0, counts, xp.ones_like(counts))
        means = xp.where((counts > 0) & going[:, None, None], means, centers)
        shift = xp.sum(_square(means - centers, xp), axis=-1)
        centers = means
        going = going & (shift > limit)
        n_going = int(xp.sum(xp.astype(going, xp.int64)))
        if n_going == 0:
            break
        if 2 * n_going <= centers.shape[0]:
            ended.append((numbers[~going], centers[~going]))
            numbers, centers, limit = numbers[going], centers[going], _of(limit, going)
            Z, going = _of(Z, going), going[going]
    ended.append((numbers, centers))
    back = xp.argsort(xp.concat([number for number, _ in ended]))
    return xp.take(xp.concat([center for _, center in ended]), back, axis=0)


def _of(array: Any, runs: Any) -> Any:
    """Take some runs of an array, unless one entry serves all of them."""
    return array if array.shape[0] == 1 else array[runs]
