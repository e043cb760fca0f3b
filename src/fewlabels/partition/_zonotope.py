"""Find the longest of all signed sums of vectors, a vertex of a zonotope."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from fewlabels._progress import Progress, ProgressLine
from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._signs import SignForm, row_space, sign_form
from fewlabels.partition._systems import Array, as_array

# Most vertices that the exact solver visits by default.
MAX_VERTICES = 1e9

# Most sign vectors that are returned by default.
MAX_ROWS = 2e6

# Cells between checks of the clock and of keyboard interrupts.
CELLS_PER_TASK = 3e7

# Most vertices for a start or a bound, which take a small part of a second.
CHEAP_VERTICES = 1e6

# Vectors that cannot change the sum by more than this share of its length are left out.
NEGLIGIBLE = 1e-12


def count_zonotope_vertices(n: int, n_dim: int) -> int:
    r"""Count the vertices of a zonotope with generators in general position.

    There are :math:`2 \sum_{k < r} \binom{n-1}{k}` [1]_, and no more in any position.

    Parameters
    ----------
    n : int
        Number of generators.
    n_dim : int
        Dimension r that they span.

    Returns
    -------
    count : int
        Number of vertices.

    References
    ----------
    .. [1] R. C. Buck, "Partition of space", American Mathematical Monthly 50 (1943).
       :doi:`10.1080/00029890.1943.11991447`

    Examples
    --------
    >>> from fewlabels.partition import count_zonotope_vertices
    >>> count_zonotope_vertices(100, 5)
    7852352
    """
    if n < 1 or n_dim < 1:
        return 1
    return 2 * sum(math.comb(n - 1, k) for k in range(n_dim))


def longest_sum(form: SignForm) -> tuple[Array, float]:
    """Return the best signs of a form, and an upper bound on S."""
    search = Search(form, np.inf, None, False)
    y = search.run()
    return y, search.bound(y)


def sizes_matter(problem: PartitionProblem) -> bool:
    """Tell whether the bounds on two classes exclude more than an empty one."""
    lower, upper = problem.lower[1], problem.upper[1]
    return bool(lower > 1 or upper < problem.free.size - 1 or lower == upper)


def affordable_rank(n: int, bounded: bool) -> int:
    """Return the largest rank up to 3 at which an exact solution takes little time."""
    for rank in (3, 2):
        if count_zonotope_vertices(n, rank + bounded) <= CHEAP_VERTICES:
            return rank
    return 1 if bounded else 2  # which is one sort


def exact_start(problem: PartitionProblem) -> NDArray[np.intp]:
    """Return the classes of the free points that are optimal in leading dimensions."""
    bounded = sizes_matter(problem)
    form = sign_form(problem, affordable_rank(problem.free.size, bounded))
    y, _ = longest_sum(form if bounded else form.without_bounds())
    if not form.admits(int(np.count_nonzero(y > 0))):
        y = form.best_signs(form.offset + y @ form.B)
    return (y > 0).astype(np.intp)


class Search:
    """An exact search for the longest sum.

    Parameters
    ----------
    form : SignForm
        The form.
    max_vertices : float
        Refuse to visit more vertices than this.
    n_jobs : int or None
        Threads.
    progress : "auto", bool or callable
        How progress is shown.

    Attributes
    ----------
    n_cells : int
        Cells that were visited.
    interrupted : bool
        Whether a keyboard interrupt ended the search.
    incomplete : bool
        Whether the number of visited cells is impossible for this many generators, so
        that nothing is known about the others.
    """

    def __init__(
        self,
        form: SignForm,
        max_vertices: float,
        n_jobs: int | None,
        progress: Progress,
    ) -> None:
        self.form = form
        self.max_vertices, self.progress = max_vertices, progress
        self.n_jobs = 1 if n_jobs is None else effective_n_jobs(n_jobs)
        self.n_cells = 0
        self.interrupted = self.incomplete = False
        self._lifted = False  # whether bounds asked for one dimension more
        self._left_out = 0.0  # how far unit vectors reach out of the arrangement

    def run(self) -> Array:
        """Return the best signs."""
        form = self.form
        y = self._signs(*self._best_sum(bounded=False))
        n_positive = int(np.count_nonzero(y > 0))
        if form.admits(n_positive):
            return y
        if form.admits(form.n_free - n_positive) and not form.offset.any():
            return -y
        if self.interrupted:
            return form.best_signs(form.offset + y @ form.B)
        if not form.bounded:
            return self._best_unequal()
        self._lifted = True
        return self._signs(*self._best_sum(bounded=True))

    def bound(self, y: Array) -> float:
        """Return an upper bound on S, given the best signs y; possibly infinite.

        Directions closer than `PARALLEL`, or differing only in dimensions that are left
        out, are treated as one. This can hide only signs of generators that are equally
        short compared with the sum, and the order of points equally close to a bound on
        the number of positive ones.
        """
        from fewlabels._loops.zonotope import PARALLEL

        if self.interrupted or self.incomplete:
            return np.inf
        form = self.form
        length = np.sqrt(form.value(y))
        lengths = np.sqrt(np.einsum("ij,ij->i", form.B, form.B))
        blur = PARALLEL + self._left_out
        hidden = lengths[lengths <= 2.0 * blur * max(length, lengths.sum())].sum()
        if self._lifted:
            hidden += blur * np.sqrt(form.B.shape[1] + 1.0) * lengths.max() * y.size
        return float((length + 2.0 * hidden) ** 2 + form.rest)

    def _best_unequal(self) -> Array:
        """Return the best signs that are not all equal.

        If the signs for the direction of their own sum are all equal, they are one
        change away from that, as any other change loses more; else they are a cell.
        """
        form = self.form
        candidates = [self._signs(*self._best_sum(bounded=False, limited=True))]
        for sign in (-1.0, 1.0):
            y = np.full(form.n_free, sign)
            p = form.offset + y @ form.B
            squares = np.einsum("ij,ij->i", form.B, form.B)
            y[np.argmax(squares - sign * (form.B @ p))] *= -1.0
            candidates.append(y)
        admitted = [y for y in candidates if form.admits(int(np.count_nonzero(y > 0)))]
        return max(admitted, key=form.value)

    def _signs(self, p: Array, n_positive: int | None) -> Array:
        """Return the signs with sum p: those of b'p, or changing one would help."""
        if n_positive is None:
            return np.where(self.form.B @ p >= 0, 1.0, -1.0)
        return self.form.top_signs(p, n_positive)

    def _best_sum(
        self, bounded: bool, limited: bool = False
    ) -> tuple[Array, int | None]:
        """Return the longest sum, and how many signs are positive in it.

        `limited` keeps to the bounds among the cells of the problem itself, `bounded`
        among those with one dimension more, where the optimum within any bounds is.
        """
        form = self.form
        u, r = form.B.shape
        lower, upper = -np.inf, np.inf
        directions = form.B
        if bounded or limited:
            lower, upper = 2.0 * form.lower - u, 2.0 * form.upper - u
        if bounded:
            # sign(b'w - tau), where b is as long as 1, for comparable coordinates
            scale = np.abs(form.B).max(initial=0.0) or 1.0
            directions = self._spanned(np.column_stack([form.B / scale, np.ones(u)]))
        lengths = np.sqrt(np.einsum("ij,ij->i", directions, directions))
        counts = lengths > NEGLIGIBLE * lengths.sum()
        G = directions[counts] / lengths[counts, None]
        if not counts.all():
            G = self._spanned(G)
        P = np.column_stack([form.B[counts], np.ones(G.shape[0])])
        base = np.append(form.offset, 0.0)
        d = G.shape[1]
        half = not form.offset.any() and lower == -upper
        best_p = np.full(r + 1, np.nan)
        if d == 0:
            best_p = base
        elif d == 1:
            if bounded:  # all points are equal, so any of them may be positive
                ends = base + np.outer([lower / u, upper / u], P.sum(axis=0))
            else:
                ends = base + np.outer([-1.0, 1.0], (np.sign(G) * P).sum(axis=0))
            within = (ends[:, -1] > lower - 0.5) & (ends[:, -1] < upper + 0.5)
            lengths = np.where(within, (ends[:, :-1] ** 2).sum(axis=1), -1.0)
            if within.any():
                best_p = ends[np.argmax(lengths)]
            self.n_cells += 2
        else:
            self._visit(G, P, base, lower, upper, half, bounded, best_p)
        if np.isnan(best_p).any():  # no cell, or none before an interrupt, was admitted
            self.incomplete |= not limited
            p = form.offset + form.best_signs(form.B.sum(axis=0)) @ form.B
            return p, form.lower if bounded else None
        if not bounded:
            return best_p[:-1], None
        return best_p[:-1], round((best_p[-1] + u) / 2)

    def _spanned(self, directions: Array) -> Array:
        """Return directions in the coordinates of their span."""
        basis, left_out = row_space(directions)
        self._left_out = max(self._left_out, left_out)
        return np.ascontiguousarray(directions @ basis)

    def _visit(
        self,
        G: Array,
        P: Array,
        base: Array,
        lower: float,
        upper: float,
        half: bool,
        bounded: bool,
        best_p: Array,
    ) -> None:
        """Visit all cells of an arrangement; leave the best sum in `best_p`."""
        from fewlabels._loops.zonotope import angles, merge, turn, visit_flats

        d = G.shape[1]
        if d > 2:
            left = merge(G, P, np.arange(G.shape[0]))
            G, P = G[:left], P[:left]
        m = G.shape[0]
        n_vertices = count_zonotope_vertices(m, d)
        if n_vertices > self.max_vertices:
            why = (
                ", one more than that of the problem for its bounds" if bounded else ""
            )
            raise ValueError(
                f"{m} generators of rank {d}{why} make {n_vertices:.3g} vertices, more "
                f"than max_vertices={self.max_vertices:.3g}: lower n_components, use "
                "branch_and_bound, or raise max_vertices."
            )
        if d == 2:
            keys, signs = angles(G)
            order = np.argsort(keys)
            none = np.empty((0, P.shape[1]))
            turn(signs, order, P, base, none, 1, lower, upper, half, -1.0, best_p)
            self.n_cells += m if half else 2 * m
            return
        # Equal points are split only if the number of positive ones is bounded.
        split = bounded and bool(np.any(P[:, -1] > 1.5))
        planes = math.comb(m - 1, d - 3)
        cells = max(planes * m * (1 if half else 2), 1.0)
        size = int(np.clip(CELLS_PER_TASK / cells, 1, -(-m // self.n_jobs)))
        tasks = [(first, min(first + size, m)) for first in range(0, m, size)]
        best, n_planes, general = -1.0, 0, True

        def task(first: int, last: int, best: float) -> tuple[Array, Any]:
            found_p = best_p.copy()
            visited = visit_flats(
                G,
                P,
                base,
                lower,
                upper,
                half,
                not split,
                split,
                first,
                last,
                best,
                found_p,
            )
            return found_p, visited

        with (
            ProgressLine(self.progress, "exact partition") as line,
            Parallel(n_jobs=self.n_jobs, require="sharedmem") as parallel,
        ):
            try:
                for at in range(0, len(tasks), self.n_jobs):
                    rounds = tasks[at : at + self.n_jobs]
                    for found_p, (found, n_visited, whole, plain) in parallel(
                        delayed(task)(*bounds, best) for bounds in rounds
                    ):
                        n_planes += n_visited
                        self.incomplete |= not whole
                        general &= plain
                        if found > best:
                            best = found
                            best_p[:] = found_p
                    line.update(_share_done(rounds[-1][1], m, d - 2, not split))
            except KeyboardInterrupt:
                self.interrupted = True
        self.n_cells += n_planes * m * (1 if half else 2) * 2 ** (d - 2)
        # In special position a plane has several sets of pivots, and their orders.
        least, most = count_planes(m, d)
        if general:
            least = most = most * (math.factorial(d - 2) if split else 1)
        else:
            most = math.perm(m, d - 2)
        self.incomplete |= not self.interrupted and not least <= n_planes <= most


def count_planes(m: int, d: int) -> tuple[int, int]:
    """Count the planes in which d - 2 of m distinct hyperplanes meet.

    Parameters
    ----------
    m : int
        Number of hyperplanes, no two of them the same.
    d : int
        Dimension that their normals span.

    Returns
    -------
    least, most : int
        The number in the most special position [1]_ and in general position.

    References
    ----------
    .. [1] T. A. Dowling, R. M. Wilson, "The slimmest geometric lattices", Transactions
       of the American Mathematical Society 196 (1974).
    """
    return math.comb(d, 2) + (m - d) * (d - 2), math.comb(m, d - 2)


def _share_done(pivots: int, m: int, depth: int, ordered: bool) -> float:
    """Return the share of the planes that the first pivots have."""
    if not ordered:
        return pivots / m
    return 1.0 - math.comb(m - pivots, depth) / math.comb(m, depth)


def enumerate_zonotope_vertices(
    B: ArrayLike, *, max_vertices: float = MAX_ROWS
) -> tuple[NDArray[np.int8], Array]:
    r"""List the vertices of a zonotope with their sign vectors.

    The zonotope of generators b, the rows of B, is the set of all sums
    :math:`\sum_i s_i b_i` with s between -1 and 1. At a vertex, all signs are those of
    the products :math:`b_i^\top w` with some direction w.

    Parameters
    ----------
    B : array-like of shape (n_generators, n_dimensions)
        The generators, which may be parallel, zero, or in special position.
    max_vertices : float, default=2e6
        Refuse to list more vertices than this; see :func:`count_zonotope_vertices`.

    Returns
    -------
    signs : ndarray of int8 of shape (n_vertices, n_generators)
        Signs of the generators at every vertex, each vector once; 0 for generators
        that are zero, or shorter than 1e-12 of all together, whose signs do not matter.
    vertices : ndarray of shape (n_vertices, n_dimensions)
        The vertices, ``signs @ B``.

    See Also
    --------
    solve_exact : The vertex farthest from the origin, without a list.

    References
    ----------
    .. [1] H. Edelsbrunner, "Algorithms in Combinatorial Geometry", Springer (1987).
       :doi:`10.1007/978-3-642-61568-9`

    Examples
    --------
    >>> from fewlabels.partition import enumerate_zonotope_vertices
    >>> signs, vertices = enumerate_zonotope_vertices([[1.0, 0.0], [0.0, 1.0]])
    >>> signs
    array([[-1, -1],
           [-1,  1],
           [ 1, -1],
           [ 1,  1]], dtype=int8)
    """
    matrix = as_array(B, "B")
    signs = np.zeros((1, matrix.shape[0]), dtype=np.int8)
    largest = np.abs(matrix).max(initial=0.0) or 1.0
    scaled = matrix / largest
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    counts = lengths > NEGLIGIBLE * lengths.sum()
    if counts.any():
        G = scaled[counts] / lengths[counts, None]
        found = _cells(G @ row_space(G)[0], max_vertices)
        signs = np.zeros((found.shape[0], matrix.shape[0]), dtype=np.int8)
        signs[:, counts] = found
    return signs, signs @ matrix


def _cells(G: Array, limit: float) -> NDArray[np.int8]:
    """Return sorted sign vectors of the cells of an arrangement of unit vectors."""
    lead, sign = _groups(G)
    leaders = np.flatnonzero(lead == np.arange(G.shape[0]))
    m, d = leaders.size, G.shape[1]
    n_vertices = count_zonotope_vertices(m, d)
    if n_vertices > limit:
        raise ValueError(
            f"{m} generators of rank {d} make {n_vertices:.3g} vertices, more than "
            f"max_vertices={limit:.3g}: raise it, or use solve_exact, which needs no "
            "list."
        )
    cells = _distinct_cells(G[leaders])
    if not 2 ** (d - 1) * (m - d + 2) <= cells.shape[0] <= n_vertices:
        raise RuntimeError(
            f"internal error: {cells.shape[0]} vertices were found, which {m} "
            f"generators of rank {d} cannot have. Please report this, with the matrix."
        )
    position = np.empty(G.shape[0], dtype=np.intp)
    position[leaders] = np.arange(m)
    return cells[:, position[lead]] * sign


def _groups(G: Array) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
    """Return the first row parallel to each row, and whether it is opposed."""
    from fewlabels._loops.zonotope import PARALLEL

    lead = np.arange(G.shape[0])
    sign = np.ones(G.shape[0], dtype=np.int8)
    for i in range(G.shape[0]):
        if lead[i] < i:
            continue
        same = np.abs(G[i + 1 :] - G[i]).max(axis=1) <= PARALLEL
        opposite = np.abs(G[i + 1 :] + G[i]).max(axis=1) <= PARALLEL
        rows = i + 1 + np.flatnonzero((same | opposite) & (lead[i + 1 :] > i))
        lead[rows] = i
        sign[rows] = np.where(same[rows - i - 1], 1, -1)
    return lead, sign


def _distinct_cells(G: Array) -> NDArray[np.int8]:
    """Return sign vectors of the cells, if no two rows are parallel."""
    m, d = G.shape
    if d == 1:
        return np.array([[-1], [1]], dtype=np.int8)
    if d == 2:
        first = np.where(G[:, 0] != 0, np.sign(G[:, 0]), np.sign(G[:, 1]))
        with np.errstate(divide="ignore"):
            keys = np.where(G[:, 0] != 0, G[:, 1] / G[:, 0], np.inf)
        rank = np.argsort(np.argsort(keys))
        turned = np.where(rank < np.arange(m)[:, None], -first, first).astype(np.int8)
        return _unique_rows(np.vstack([turned, -turned]))
    parts = []
    for i in range(m):
        # Rows on the hyperplane orthogonal to row i, in coordinates of that hyperplane.
        basis = linalg.null_space(G[i : i + 1])
        others = np.delete(np.arange(m), i)
        projected = G[others] @ basis
        lengths = np.sqrt(np.einsum("ij,ij->i", projected, projected))
        H = projected / lengths[:, None]
        lead, sign = _groups(H)
        leaders = np.flatnonzero(lead == np.arange(H.shape[0]))
        position = np.empty(H.shape[0], dtype=np.intp)
        position[leaders] = np.arange(leaders.size)
        cells = _distinct_cells(H[leaders])[:, position[lead]] * sign
        both = np.empty((2 * cells.shape[0], m), dtype=np.int8)
        both[:, others] = np.vstack([cells, cells])
        both[: cells.shape[0], i] = 1
        both[cells.shape[0] :, i] = -1
        parts.append(both)
    return _unique_rows(np.vstack(parts))


def _unique_rows(signs: NDArray[np.int8]) -> NDArray[np.int8]:
    return np.unique(signs, axis=0)
