"""Certificates: proven lower bounds on the objective of the partition problem."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np

from fewlabels.partition._claims import checked
from fewlabels.partition._partition_result import PartitionResult
from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._signs import SignForm, rounding, sign_form, whole_factor
from fewlabels.partition._systems import Array
from fewlabels.partition._zonotope import affordable_rank, longest_sum, sizes_matter

# Most coordinates of the unit vectors of the relaxation.
MAX_COORDINATES = 24

# Sweeps over all vectors between bounds, and most bounds that are computed.
SWEEPS = 10
ROUNDS = 30

# Dimensions with eigenvalues below this share of the largest are bounded by it.
CUT = 1e-3

# Weights of the class sizes to try, relative to the mean weight of a point.
SIZE_WEIGHTS = 10.0 ** np.arange(-1.0, 2.1, 0.5)


def lower_bound(problem: PartitionProblem, method: str = "best") -> float:
    r"""Compute a proven lower bound on F over all admissible partitions.

    Parameters
    ----------
    problem : PartitionProblem
        The problem.
    method : {"best", "dual", "truncated", "spectral"}, default="best"
        "spectral" bounds S by the largest eigenvalue :math:`t_1 = w_1 / (w_1 +
        \lambda)` of the problem. "truncated" [1]_ solves a problem of low rank exactly
        and bounds the other dimensions by the eigenvalue :math:`t_{r+1}`; it is for two
        classes. "dual" chooses weights :math:`\delta` of the points, and a weight of
        the class sizes where these are bounded, in

        .. math::
            S(y) = \|B^\top y\|^2 \le \lambda_{\max}(B^\top \Delta^{-1} B)
            \sum_i \delta_i

        whose optimum is the dual of the semidefinite relaxation [2]_ and never worse
        than "spectral". "best" takes the best of them.

    Returns
    -------
    bound : float
        No admissible partition has a smaller F. The expected rounding errors, from the
        kernel's largest eigenvalue over alpha, are subtracted.

    See Also
    --------
    certify : Add a bound to a result.
    branch_and_bound : Bounds that improve with time.

    References
    ----------
    .. [1] F. Gieseke, T. Pahikkala, C. Igel, "Polynomial runtime bounds for
       fixed-rank unsupervised least-squares classification", ACML (2013).
    .. [2] M. X. Goemans, D. P. Williamson, "Improved approximation algorithms for
       maximum cut and satisfiability problems using semidefinite programming",
       Journal of the ACM 42 (1995). :doi:`10.1145/227683.227684`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.partition import PartitionProblem, local_search, lower_bound
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> problem = PartitionProblem.from_factor(X, np.zeros(60))
    >>> found = local_search(problem, start="random", random_state=0).objective
    >>> bound = lower_bound(problem)
    >>> bool(0.8 * found < bound <= found)
    True
    """
    # The full decomposition first: the others then reuse parts of it.
    methods: dict[str, Callable[[PartitionProblem], float]] = {
        "dual": _dual,
        "truncated": _truncated,
        "spectral": _spectral,
    }
    if method == "best":
        names = [m for m in methods if m != "truncated" or problem.n_classes == 2]
    elif method in methods:
        names = [method]
    else:
        raise ValueError(
            f"method={method!r} is unknown; use 'best' or one of {sorted(methods)}."
        )
    largest = min(methods[name](problem) for name in names)
    return max(problem.constant - largest - rounding(problem), 0.0)


def certify(
    problem: PartitionProblem, result: PartitionResult, method: str = "best"
) -> PartitionResult:
    """Add a proven lower bound, and with it the gap, to a result.

    Parameters
    ----------
    problem : PartitionProblem
        The problem.
    result : PartitionResult
        Result of any solver for it.
    method : {"best", "dual", "truncated", "spectral"}, default="best"
        See :func:`lower_bound`.

    Returns
    -------
    result : PartitionResult
        A copy with `lower_bound`, unless it already had a better one. If a local search
        from the partition refutes the bound, there is a warning, `stop_reason` says
        "internal error", and there is no bound.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.partition import PartitionProblem, certify, local_search
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> problem = PartitionProblem.from_factor(X, np.zeros(60))
    >>> result = certify(problem, local_search(problem, "random", random_state=0))
    >>> bool(result.gap < 0.2 * result.objective)
    True
    """
    bound = lower_bound(problem, method)
    if result.lower_bound is not None:
        bound = max(bound, result.lower_bound)
    return checked(problem, replace(result, lower_bound=bound), improve=False)


def _spectral(problem: PartitionProblem) -> float:
    """Return k/2 t_1 sum d^2, as S is half the sum over k columns of +1 and -1."""
    t = problem.system.spectrum(1)[1]
    return float(t.max(initial=0.0)) * problem.constant


def _truncated(problem: PartitionProblem) -> float:
    bounded = sizes_matter(problem)
    rank = affordable_rank(problem.free.size, bounded)
    form = sign_form(problem, rank, shift=True)
    if not bounded:
        form = form.without_bounds()
    return longest_sum(form)[1]


def _dual(problem: PartitionProblem) -> float:
    if problem.n_classes == 2:
        t = problem.system.spectrum()[1]
        rank = max(int(np.count_nonzero(t > CUT * t.max(initial=0.0))), 1)
        form = sign_form(problem, rank, shift=True)
        return min(_spectral(problem), Relaxation(form).bound)
    # The labelled points of a class are merged; M = E E' - 1 1' / k has 1 - 1 / k on
    # its diagonal and S = 2 tr(Q M) + (2 / k + k / 2 - 2) 1'Q 1.
    k = problem.n_classes
    B = whole_factor(problem)
    classes = problem.one_hot(problem.codes)[problem.labeled]
    rows = np.vstack([classes.T @ B[problem.labeled], B[problem.free]])
    total = B.sum(axis=0)
    form = SignForm(rows, np.zeros(B.shape[1]), 0, rows.shape[0])
    relaxed = Relaxation(form).bound
    share = 2.0 * (1.0 - 1.0 / k)
    rest = (2.0 / k + k / 2.0 - 2.0) * float(total @ total)
    return min(_spectral(problem), share * relaxed + rest)


class Relaxation:
    """Solved relaxation of a sign form to unit vectors, with its bound.

    Parameters
    ----------
    form : SignForm
        The form.
    deadline : float, default=inf
        Value of ``perf_counter`` after which no further round begins.

    Attributes
    ----------
    V : ndarray of shape (n_free + 1, n_coordinates)
        Unit vectors; the first belongs to the offset.
    nu : float
        Weight of the number of positive signs; 0 if it is not bounded.
    bound : float
        No sum within the bounds, and `rest`, have a larger squared length; infinite if
        the deadline left no time for a round.
    """

    def __init__(self, form: SignForm, deadline: float = np.inf) -> None:
        from fewlabels._loops.bounds import relax, weighted_bound

        u, r = form.B.shape
        rows = np.vstack([form.offset, form.B])
        q = max(min(r + 1, int(np.sqrt(2 * (u + 1))) + 2, MAX_COORDINATES), 1)
        V = np.random.default_rng(0).normal(size=(u + 1, q))
        V /= np.linalg.norm(V, axis=1)[:, None]
        e = np.ones(u + 1)
        e[0] = -(form.lower + form.upper - u)
        slack = float(form.upper - form.lower) ** 2

        def solve(nu: float, V: Array) -> tuple[float, Array]:
            least, worse, delta = np.inf, 0, e
            for _ in range(ROUNDS):
                if perf_counter() > deadline:
                    break
                delta = relax(rows, e, nu, V, SWEEPS)
                bound = weighted_bound(rows, e, nu, slack, delta)
                worse = worse + 1 if bound > least * (1 - 1e-5) else 0
                least = min(least, bound)
                if worse == 2:
                    break
            return least, delta

        self.bound, delta = solve(0.0, V)
        self.V, self.nu = V, 0.0
        if form.bounded and u > 0:
            V = V.copy()
            unit = max(float(delta[1:].mean()), 0.0) / u
            for nu in unit * SIZE_WEIGHTS:  # after the deadline they give no bounds
                bound, _ = solve(nu, V)
                if bound < self.bound:
                    self.V, self.nu, self.bound = V.copy(), float(nu), bound
        self.bound += form.rest
