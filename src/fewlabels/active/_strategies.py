"""Query strategies based on a model, a committee, a kernel, or nothing."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from fewlabels._distances import safe_unit
from fewlabels._labels import encode_labels
from fewlabels._linalg import FLOATS
from fewlabels._params import check_number
from fewlabels._rows import equal_rows
from fewlabels._sklearn import check_array, safe_indexing
from fewlabels.active._query import (
    MAX_SEED,
    ModelStrategy,
    Pool,
    QueryStrategy,
    class_probabilities,
    fit_model,
)
from fewlabels.active._utilities import (
    conditioned,
    conditioned_features,
    consensus_kl,
    downdated,
    entropy,
    expected_gradient_length,
    least_confidence,
    margin,
    middle_certainty,
    variance_reduction,
    vote_entropy,
)
from fewlabels.kernels import resolve_kernel

MEASURES: dict[str, Callable[..., NDArray[np.float64]]] = {
    "least_confidence": least_confidence,
    "margin": margin,
    "entropy": entropy,
    "middle_certainty": middle_certainty,
}
# Neighbours used to measure the density around a row, as in the paper.
TYPICAL_NEIGHBORS = 20
# Up to this many features, variances of a linear kernel are computed from them.
MOST_FEATURES = 500


class RandomSampling(QueryStrategy):
    """Query random rows, the baseline of all other strategies.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. With an int, equal pools give equal rows.

    See Also
    --------
    ClusterCoverage : Representative rows, without a model.

    Examples
    --------
    >>> from fewlabels.active import RandomSampling
    >>> X, y = [[0.0], [1.0], [2.0]], [0, -1, -1]
    >>> sorted(RandomSampling(random_state=0).query(X, y, n_queries=2).indices.tolist())
    [1, 2]
    """

    def __init__(self, *, random_state: Any = None) -> None:
        self.random_state = random_state

    def _utilities(self, pool: Pool, model: Any) -> NDArray[np.float64]:
        return check_random_state(self.random_state).uniform(size=pool.candidates.size)


class ClusterCoverage(QueryStrategy):
    r"""Query a typical row of every large cluster without a label.

    Rows are clustered by k-means into as many clusters as there will be labels. A row
    is typical if its nearest neighbours are close; the most typical row of each cluster
    without a label is queried, the largest cluster first. This needs no labels and no
    model, and is meant for the first queries.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters; when None, the number of labels after one more query of ten
        rows.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    References
    ----------
    .. [1] G. Hacohen, A. Dekel, D. Weinshall, "Active learning on a budget: opposite
       strategies suit high and low budgets", ICML 2022.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from fewlabels.active import ClusterCoverage
    >>> X, y_true = make_blobs(90, centers=3, cluster_std=0.3, random_state=0)
    >>> strategy = ClusterCoverage(3, random_state=0)
    >>> rows, _ = strategy.query(X, [-1] * 90, n_queries=3)  # no label at all
    >>> sorted(y_true[rows].tolist())
    [0, 1, 2]
    """

    def __init__(
        self, n_clusters: int | None = None, *, random_state: Any = None
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def _utilities(self, pool: Pool, model: Any) -> NDArray[np.float64]:
        X = check_array(pool.X, accept_sparse="csr", dtype=FLOATS)
        X = X / safe_unit(X)
        n = X.shape[0]
        rng = check_random_state(self.random_state)
        wanted = pool.labeled.size + 10 if self.n_clusters is None else self.n_clusters
        k = min(wanted, equal_rows(X).max() + 1)
        found = KMeans(k, random_state=rng.randint(MAX_SEED)).fit(X).labels_
        k_near = min(TYPICAL_NEIGHBORS, n - 1)
        near = NearestNeighbors(n_neighbors=max(k_near, 1)).fit(X)
        distance = near.kneighbors()[0].mean(axis=1) if n > 1 else np.zeros(1)
        # Between 0 and 1: typicality only ranks rows within a cluster.
        typical = 1 / (1 + distance / (distance.mean() or 1.0))
        sizes = np.bincount(found, minlength=k)
        covered = np.bincount(found[pool.labeled], minlength=k)
        best = np.zeros(n, dtype=bool)
        for c in range(k):
            members = pool.candidates[found[pool.candidates] == c]
            if members.size and not covered[c]:
                best[members[typical[members].argmax()]] = True
        # The best row of each unlabelled cluster comes before all other rows.
        utilities = typical + np.where(best, 1.0 + sizes[found], 0.0)
        return utilities[pool.candidates]


class UncertaintySampling(ModelStrategy):
    """Query the rows that a classifier is least certain about.

    Parameters
    ----------
    estimator : classifier, default=None
        Any with `predict_proba`. One that cannot handle unlabelled rows is fitted to
        the labelled ones. None takes :class:`sklearn.linear_model.LogisticRegression`.
    measure : {"least_confidence", "margin", "entropy", "middle_certainty"} or \
            callable, default="margin"
        How probabilities become a utility; a function of an array of shape
        (n_candidates, n_classes), such as :func:`margin`.
    random_state : int, RandomState instance or None, default=None
        Seed of ties.

    See Also
    --------
    QueryByCommittee : Several classifiers instead of one.
    FewLabelsSampling : The strategy for FewLabelsClassifier.

    Examples
    --------
    >>> from fewlabels.active import UncertaintySampling
    >>> X, y = [[0.0], [0.2], [0.55], [0.8], [1.0]], [0, -1, -1, -1, 1]
    >>> UncertaintySampling().query(X, y).indices
    array([2])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        measure: Any = "margin",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.measure = measure
        self.random_state = random_state

    def _utilities(self, pool: Pool, model: Any) -> NDArray[np.float64]:
        return measure_of(self.measure)(self._probabilities(pool, model))


def measure_of(given: Any, known: dict[str, Any] = MEASURES) -> Any:
    """Look a measure up by its name."""
    if callable(given):
        return given
    if given not in known:
        raise ValueError(
            f"measure must be a function or one of {', '.join(known)}; got {given!r}."
        )
    return known[given]


class QueryByCommittee(QueryStrategy):
    """Query rows on which the members of a committee disagree.

    Parameters
    ----------
    estimators : classifier or list of classifiers, default=None
        The members, each with `predict_proba` (for vote entropy, `predict` is enough).
        A single classifier is fitted to `n_members` bootstrap samples of the labels,
        drawn class by class. None takes
        :class:`sklearn.linear_model.LogisticRegression`.
    measure : {"consensus_kl", "vote_entropy"}, default="consensus_kl"
        How disagreement is measured.
    n_members : int, default=5
        Size of the committee of a single classifier.
    random_state : int, RandomState instance or None, default=None
        Seed of the bootstrap and of ties.

    Notes
    -----
    The committee is fitted in every query; `model` is not used.

    References
    ----------
    .. [1] H. S. Seung, M. Opper, H. Sompolinsky, "Query by committee", COLT 1992.
       :doi:`10.1145/130385.130417`

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from fewlabels.active import QueryByCommittee
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> X, y_true = make_moons(100, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=10, random_state=0)
    >>> members = [LogisticRegression(), GaussianNB(), KNeighborsClassifier(3)]
    >>> rows, utilities = QueryByCommittee(members).query(X, y, n_queries=2)
    >>> rows.shape, utilities.shape
    ((2,), (100,))
    """

    def __init__(
        self,
        estimators: Any = None,
        *,
        measure: str = "consensus_kl",
        n_members: int = 5,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.measure = measure
        self.n_members = n_members
        self.random_state = random_state

    def _utilities(self, pool: Pool, model: Any) -> NDArray[np.float64]:
        measures = {"consensus_kl": consensus_kl, "vote_entropy": vote_entropy}
        measure = measure_of(self.measure, measures)
        rows = pool.rows()
        members = self._members(pool)
        if measure is vote_entropy:
            return measure(np.array([member.predict(rows) for member in members]))
        return measure(np.array([class_probabilities(m, rows) for m in members]))

    def _members(self, pool: Pool) -> list[Any]:
        if isinstance(self.estimators, list | tuple):
            if not self.estimators:
                raise ValueError("estimators is empty: give at least one classifier.")
            return [fit_model(e, pool.X, pool.y) for e in self.estimators]
        check_number("n_members", self.n_members, 1)
        kind = LogisticRegression() if self.estimators is None else self.estimators
        rng = check_random_state(self.random_state)
        codes = encode_labels(pool.y).codes
        free = np.setdiff1d(np.arange(codes.size), pool.labeled)
        members = []
        for _ in range(self.n_members):
            # Every class keeps its number of labels, so that all members learn it.
            drawn = [
                rng.choice(own, own.size)
                for c in range(codes.max() + 1)
                if (own := np.flatnonzero(codes == c)).size
            ]
            rows = np.concatenate([*drawn, free])
            members.append(fit_model(kind, safe_indexing(pool.X, rows), pool.y[rows]))
        return members


class ExpectedGradientLength(ModelStrategy):
    r"""Query the rows whose label would change logistic regression most.

    See :func:`expected_gradient_length` for the formula. Long rows are preferred, so
    scale the columns first.

    Parameters
    ----------
    estimator : classifier, default=None
        Any with `predict_proba`; None takes
        :class:`sklearn.linear_model.LogisticRegression`.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    random_state : int, RandomState instance or None, default=None
        Seed of ties.

    Examples
    --------
    >>> from fewlabels.active import ExpectedGradientLength
    >>> X, y = [[-1.0], [0.1], [0.3], [1.0]], [0, -1, -1, 1]
    >>> ExpectedGradientLength().query(X, y).indices
    array([2])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _utilities(self, pool: Pool, model: Any) -> NDArray[np.float64]:
        return expected_gradient_length(
            self._probabilities(pool, model),
            pool.rows(),
            fit_intercept=self.fit_intercept,
        )


class VarianceReduction(QueryStrategy):
    r"""Query the rows whose labels lower the mean predictive variance most.

    For least squares with a kernel (a Gaussian process), the variance of all rows after
    one more label is known before the label is, see :func:`variance_reduction`. A batch
    is chosen greedily, each row given those before it, so no diversity is needed: rows
    near a chosen one lose their utility.

    Parameters
    ----------
    kernel : str or callable, default="linear"
        Kernel of the model; "linear" has a constant added, which is an intercept.
    gamma : float, {"scale", "median", "range", "local"} or None, default=None
        Width of the kernel, see :func:`fewlabels.kernels.resolve_kernel`. None is
        "scale" where the kernel has one.
    alpha : float, default=1.0
        Ridge: the variance of the noise of a label.
    fit_intercept : bool, default=True
        Whether a constant is added to the kernel.
    random_state : int, RandomState instance or None, default=None
        Seed of ties.

    Notes
    -----
    Needs memory for n_samples x n_candidates numbers; pass fewer `candidates` where
    that is too much. `diversity` has no effect here.

    References
    ----------
    .. [1] D. A. Cohn, Z. Ghahramani, M. I. Jordan, "Active learning with statistical
       models", JAIR 4 (1996). :doi:`10.1613/jair.295`

    Examples
    --------
    >>> from fewlabels.active import VarianceReduction
    >>> X, y = [[-2.0], [-1.0], [0.0], [1.0], [2.0]], [-1, -1, 0, -1, -1]
    >>> rows, _ = VarianceReduction(random_state=0).query(X, y, n_queries=2)
    >>> sorted(rows.tolist())  # the two ends fix a line best
    [0, 4]
    """

    def __init__(
        self,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _utilities(self, pool: Pool, model: Any) -> NDArray[np.float64]:
        P = self._covariances(pool)
        return variance_reduction(P, pool.candidates, alpha=self.alpha)

    def _select(
        self,
        pool: Pool,
        utilities: NDArray[np.float64],
        n_queries: int,
        diversity: float,
    ) -> NDArray[np.intp]:
        if n_queries == 1:
            return super()._select(pool, utilities, 1, 0.0)
        P = self._covariances(pool)
        order = check_random_state(self.random_state).permutation(utilities.size)
        chosen: list[int] = []
        for _ in range(n_queries):
            now = variance_reduction(P, pool.candidates, alpha=self.alpha)
            now[chosen] = -np.inf
            chosen.append(int(order[now[order].argmax()]))
            P = downdated(P, pool.candidates, chosen[-1], self.alpha)
        return np.array(chosen, dtype=np.intp)

    def _covariances(self, pool: Pool) -> NDArray[np.float64]:
        check_number("alpha", self.alpha, above=0)
        # In double precision: products of large rows leave no digit for the ridge.
        X = check_array(pool.X, accept_sparse="csr", dtype=np.float64)
        gamma = "scale" if self.gamma is None else self.gamma
        k = resolve_kernel(X, self.kernel, gamma=gamma)
        constant = float(self.fit_intercept)
        if k.metric == "linear" and X.shape[1] <= MOST_FEATURES:
            k.diagonal(X)  # refuses rows whose products overflow or vanish
            F = X.toarray() if issparse(X) else X
            F = np.column_stack([F, np.full(F.shape[0], constant)])
            return conditioned_features(F, pool.candidates, pool.labeled, self.alpha)
        K_labeled = k(X, X[pool.labeled]) + constant if pool.labeled.size else X
        K_candidates = k(X, X[pool.candidates]) + constant
        return conditioned(K_labeled, K_candidates, pool.labeled, self.alpha)
