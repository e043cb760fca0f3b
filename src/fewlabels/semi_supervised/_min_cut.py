"""Minimum cuts that separate labelled rows."""

# SPDX-License-Identifier: BSD-3-Clause

import math
import warnings
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from fewlabels._classifier import PartialLabelClassifier
from fewlabels._sklearn import fit_context
from fewlabels.graphs import warn_unreached
from fewlabels.semi_supervised._graph_base import (
    GRAPH_CONSTRAINTS,
    GraphEstimator,
    class_prior,
    one_hot,
)
from fewlabels.semi_supervised._graph_system import check_graph

# The largest weight becomes an integer of up to 121 bits; adding the opposite arc, a
# residual capacity has one bit more, which two limbs of 60 and 62 bits hold.
CAPACITY_BITS = 121
MANTISSA_BITS = 53


class MinimumCut(NamedTuple):
    """A minimum cut, the result of :func:`minimum_cut`.

    Attributes
    ----------
    source_side : ndarray of bool of shape (n_vertices,)
        The vertices on the side of the sources.
    value : float
        Total weight of the cut edges, correctly rounded.
    """

    source_side: NDArray[np.bool_]
    value: float


def integer_capacities(
    weights: NDArray[Any],
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """Convert weights to two-limb integers in a common unit.

    Parameters
    ----------
    weights : ndarray
        Positive floats.

    Returns
    -------
    hi, lo : ndarray of int64
        The limbs: a weight is ``hi * 2**60 + lo`` units.
    exact : bool
        Whether nothing was rounded. This holds for weights that span less than 68
        powers of two; smaller ones are rounded to the unit, but not to zero.
    """
    from fewlabels._loops.flow import LIMB_BITS

    mantissa, exponent = np.frexp(weights)
    M = np.ldexp(mantissa, MANTISSA_BITS).astype(np.int64)
    shift = exponent.astype(np.int64) - exponent.max(initial=-(2**20))
    shift += CAPACITY_BITS - MANTISSA_BITS
    lost = np.clip(-shift, 0, 62)
    kept = M >> lost
    exact = bool((kept << lost == M).all() and (shift > -62).all())
    kept = np.maximum(kept, 1)
    shift = np.maximum(shift, 0)
    # kept * 2^shift, split at bit 60 without ever holding more than 63 bits.
    below = np.clip(LIMB_BITS - shift, 0, 62)
    hi = np.where(
        shift < LIMB_BITS, kept >> below, kept << np.maximum(shift - LIMB_BITS, 0)
    )
    rest = kept & ((np.int64(1) << below) - 1)
    lo = np.where(shift < LIMB_BITS, rest << np.minimum(shift, LIMB_BITS - 1), 0)
    return hi, lo, exact


def minimum_cut(W: Any, sources: ArrayLike, sinks: ArrayLike) -> MinimumCut:
    r"""Separate two sets of vertices by edges of the least total weight.

    .. math::
        \min_{S} \; \sum_{i \in S, \, j \notin S} w_{ij}
        \quad \text{subject to} \quad \text{sources} \subseteq S, \;
        \text{sinks} \cap S = \emptyset

    Among several minimum cuts, the one with the smallest S is returned: the vertices
    reachable from the sources after a maximum flow.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    sources : array-like of int
        Vertices that must be in S.
    sinks : array-like of int
        Vertices that must not.

    Returns
    -------
    cut : MinimumCut
        The side of the sources and the weight that is cut.

    Warns
    -----
    UserWarning
        If the weights span more than 68 powers of two, so that the smallest had to be
        rounded.

    See Also
    --------
    MinCutClassifier : The classifier.

    Notes
    -----
    The cut is exact for floating-point weights. A weight is an integer of 53 bits times
    a power of two; in units of the smallest power that occurs, all weights are integers
    of up to 121 bits as long as the powers lie within 68 of each other. The flow
    (Dinic's algorithm) only adds, subtracts and compares such integers, in two machine
    words, and none exceeds twice the largest weight. So nothing is rounded, and equal
    weights tie as they should.

    References
    ----------
    .. [1] E. A. Dinic, "Algorithm for solution of a problem of maximum flow in networks
       with power estimation", Soviet Mathematics Doklady 11, 1970.

    Examples
    --------
    >>> from fewlabels.semi_supervised import minimum_cut
    >>> W = [[0, 3, 0, 0], [3, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> cut = minimum_cut(W, sources=[0], sinks=[3])
    >>> cut.source_side, cut.value
    (array([ True,  True, False, False]), 1.0)
    """
    from fewlabels._loops.flow import SINK, SOURCE, source_side

    W = check_graph(W)
    n = W.shape[0]
    terminal = np.zeros(n, dtype=np.int8)
    terminal[np.asarray(sources, dtype=np.intp)] = SOURCE
    ends = np.asarray(sinks, dtype=np.intp)
    if (terminal[ends] == SOURCE).any():
        raise ValueError("sources and sinks share a vertex, which no cut can separate.")
    terminal[ends] = SINK
    hi, lo, exact = integer_capacities(W.data)
    if not exact:
        warnings.warn(
            "The weights span more than 68 powers of two: the smallest were rounded, "
            "and the cut is a minimum only up to them. Drop or raise tiny weights.",
            UserWarning,
            stacklevel=2,
        )
    # Position of the opposite arc: W is symmetric, with sorted indices.
    places = csr_array((np.arange(W.nnz), W.indices, W.indptr), shape=W.shape)
    reverse = places.T.tocsr().data.astype(np.int64)
    side = source_side(
        W.indptr.astype(np.int64), W.indices.astype(np.int64), reverse, hi, lo, terminal
    )
    return MinimumCut(side, _cut_value(W, side))


def _cut_value(W: csr_array, codes: NDArray[Any]) -> float:
    """Sum of the weights between different codes, correctly rounded."""
    rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    cut = (rows < W.indices) & (codes[rows] != codes[W.indices])
    return math.fsum(W.data[cut])


def multiway_cut(W: Any, codes: ArrayLike) -> NDArray[np.intp]:
    """Label the vertices of a graph so that the edges between classes weigh little.

    For two classes this is the minimum cut, with the smallest possible class 1. For
    more classes the problem is NP-hard: each class but one is first cut off from all
    others, which is at most 2 - 2/k times the optimum, and then pairs of classes are
    divided again by exact cuts until no pair can be improved.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    codes : array-like of int of shape (n_vertices,)
        Classes 0, ..., k - 1, each at least once, and -1 for unlabelled vertices.

    Returns
    -------
    codes : ndarray of int of shape (n_vertices,)
        A class for every vertex; given classes are kept.

    References
    ----------
    .. [1] E. Dahlhaus, D. S. Johnson, C. H. Papadimitriou, P. D. Seymour and
       M. Yannakakis, "The complexity of multiterminal cuts", SIAM Journal on Computing
       23, 1994. :doi:`10.1137/S0097539792225297`
    .. [2] Y. Boykov, O. Veksler and R. Zabih, "Fast approximate energy minimization via
       graph cuts", IEEE Transactions on Pattern Analysis and Machine Intelligence 23,
       2001. :doi:`10.1109/34.969114`

    Examples
    --------
    >>> from fewlabels.semi_supervised import multiway_cut
    >>> W = [[0, 3, 0, 0], [3, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> multiway_cut(W, [0, -1, -1, 1])
    array([0, 0, 1, 1])
    """
    W = check_graph(W)
    given = np.asarray(codes, dtype=np.intp)
    if given.shape != (W.shape[0],):
        raise ValueError(
            f"codes must hold one class per vertex of the graph of {W.shape[0]} "
            f"vertices, got shape {given.shape}."
        )
    k = int(given.max(initial=-1)) + 1
    labeled = given >= 0
    if k < 2:
        return np.zeros_like(given)
    if k == 2:
        cut = minimum_cut(W, np.flatnonzero(given == 1), np.flatnonzero(given == 0))
        return cut.source_side.astype(np.intp)
    # The smallest sets that cut one class off are disjoint: the cut is submodular.
    cuts = [
        minimum_cut(
            W, np.flatnonzero(given == c), np.flatnonzero(labeled & (given != c))
        )
        for c in range(k)
    ]
    found = np.full(given.shape, int(np.argmax([cut.value for cut in cuts])))
    for c, cut in enumerate(cuts):
        found[cut.source_side] = c
    return _improved_by_pairs(W, given, found, k)


def _improved_by_pairs(
    W: csr_array, given: NDArray[np.intp], found: NDArray[np.intp], k: int
) -> NDArray[np.intp]:
    """Divide pairs of classes again while that lowers the cut.

    An edge to a third class is cut whichever of the two classes its other end is in, so
    the best division is a minimum cut of the vertices of the two classes.
    """
    stale = set(combinations(range(k), 2))
    while stale:
        a, b = pair = min(stale)
        stale.discard(pair)
        inside = np.flatnonzero((found == a) | (found == b))
        part = W[inside][:, inside]
        cut = minimum_cut(
            part, np.flatnonzero(given[inside] == b), np.flatnonzero(given[inside] == a)
        )
        if cut.value < _cut_value(part, found[inside]):
            found[inside] = np.where(cut.source_side, b, a)
            stale |= {
                q for q in combinations(range(k), 2) if q != pair and {*q} & {*pair}
            }
    return found


class MinCutClassifier(GraphEstimator, PartialLabelClassifier):
    r"""Classify by the cheapest cut of a graph that separates the labels.

    .. math::
        \min_{y_U} \; \tfrac12 \sum_{ij} w_{ij} [y_i \ne y_j]

    with the given labels fixed. For two classes the cut is exact, even with
    floating-point weights, and ties are broken as in [1]_: among several minimum cuts,
    the one with the fewest rows in the second class, `classes_[1]`, is used. With more
    classes the problem is NP-hard, and :func:`multiway_cut` comes within a factor
    2 - 2/k of the optimum.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours per row in the graph, at most n_samples - 1.
    weight : str or callable, default="heat"
        Weight of an edge, see :func:`fewlabels.graphs.similarity_graph`.
    affinity : {"knn", "precomputed"} or transformer, default="knn"
        See :class:`HarmonicFunctionClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        The labels of all training rows.
    cut_value_ : float
        Weight of the edges between different classes.
    graph_ : csr_array of shape (n_samples, n_samples)
        The weights.
    transformer_ : object or None
        Transformer that built the graph; None for a precomputed one.
    unreached_ : ndarray of bool of shape (n_samples,)
        Rows not connected to any label. They cost nothing in any class; with two
        classes they are in the first.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    Warns
    -----
    DisconnectedGraphWarning
        If a component of the graph holds no label.

    See Also
    --------
    minimum_cut : The solver for two classes.
    HarmonicFunctionClassifier : The same energy over real values, which does not cut
        off single labels.

    Notes
    -----
    With few labels the cheapest cut often isolates the labelled rows of one class, and
    all other rows fall into the other class. To avoid this, a graph needs more weight
    at each label than between the classes.

    If weights count how often a row is the nearest neighbour of another, the cut of a
    labelling is the number of leave-one-out errors of its nearest-neighbour classifier
    [1]_.

    A new row gets the class with the most weight among its neighbours, or the first one
    if classes tie.

    References
    ----------
    .. [1] A. Blum and S. Chawla, "Learning from labeled and unlabeled data using graph
       mincuts", ICML 2001.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.semi_supervised import MinCutClassifier
    >>> X, y_true = make_moons(300, noise=0.05, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=4, random_state=0)
    >>> model = MinCutClassifier().fit(X, y)
    >>> bool((model.transduction_ == y_true).mean() > 0.98)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = GRAPH_CONSTRAINTS

    def __init__(
        self, *, n_neighbors: int = 10, weight: Any = "heat", affinity: Any = "knn"
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.affinity = affinity

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Cut the graph of all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; the weights of the graph for ``affinity="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, and None or NaN among objects
            mark unlabelled rows.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        W, labels = self._labeled_graph(X, y)
        self.unreached_ = warn_unreached(W, labels.labeled, estimator=self)
        codes = multiway_cut(W, labels.codes)
        self.cut_value_ = _cut_value(W, codes)
        self._memberships = one_hot(codes, labels.classes.size)
        shares = self._of_copies(self._memberships, labels.labeled)
        self.transduction_ = labels.classes[shares.argmax(axis=1)]
        self._prior = class_prior(labels)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            New rows; for ``affinity="precomputed"`` their weights to all training rows.

        Returns
        -------
        y : ndarray of shape (n_queries,)
            The classes with the most weight among the neighbours.
        """
        check_is_fitted(self)
        shares = self._average(X, self._memberships, self._prior)
        return self.classes_[shares.argmax(axis=1)]
