"""Utility measures: how informative the label of each row would be."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.special import entr, rel_entr
from scipy.stats import rankdata
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms

from fewlabels._linalg import FLOATS
from fewlabels._sklearn import check_array

EPS = np.finfo(np.float64).eps


def _probabilities(proba: ArrayLike) -> NDArray[np.float64]:
    return check_array(proba, dtype=np.float64, input_name="proba")


def least_confidence(proba: ArrayLike) -> NDArray[np.float64]:
    r"""Compute the uncertainty of the most probable class, :math:`1 - \max_c p_c`.

    Parameters
    ----------
    proba : array-like of shape (n_samples, n_classes)
        Probabilities of classes.

    Returns
    -------
    utilities : ndarray of shape (n_samples,)
        Between 0 and 1 - 1 / n_classes.

    References
    ----------
    .. [1] D. D. Lewis, W. A. Gale, "A sequential algorithm for training text
       classifiers", SIGIR 1994. :doi:`10.1007/978-1-4471-2099-5_1`

    Examples
    --------
    >>> from fewlabels.active import least_confidence
    >>> least_confidence([[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]])
    array([0.5 , 0.25])
    """
    return 1 - _probabilities(proba).max(axis=1)


def margin(proba: ArrayLike) -> NDArray[np.float64]:
    r"""Compare the two most probable classes, :math:`1 - (p_{(1)} - p_{(2)})`.

    Parameters
    ----------
    proba : array-like of shape (n_samples, n_classes)
        Probabilities of classes.

    Returns
    -------
    utilities : ndarray of shape (n_samples,)
        1 for a tie, 0 where one class is certain.

    Examples
    --------
    >>> from fewlabels.active import margin
    >>> margin([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]])
    array([0.75, 1.  ])
    """
    P = _probabilities(proba)
    if P.shape[1] == 1:
        return np.zeros(P.shape[0])
    best = np.partition(P, -2, axis=1)[:, -2:]
    return 1 - (best[:, 1] - best[:, 0])


def entropy(proba: ArrayLike) -> NDArray[np.float64]:
    r"""Compute the entropy of the classes, :math:`-\sum_c p_c \log p_c`.

    Parameters
    ----------
    proba : array-like of shape (n_samples, n_classes)
        Probabilities of classes.

    Returns
    -------
    utilities : ndarray of shape (n_samples,)
        In nats, between 0 and log(n_classes).

    Examples
    --------
    >>> from fewlabels.active import entropy
    >>> entropy([[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([0.693, 0.   ])
    """
    return entr(_probabilities(proba)).sum(axis=1)


def middle_certainty(proba: ArrayLike) -> NDArray[np.float64]:
    r"""Score how close a row is to the middle of the ranking by confidence.

    Rows are ranked by :math:`\max_c p_c`; the row in the middle has utility 1, the most
    and the least certain have 0. The most certain rows are uninformative, and the least
    certain are often outliers or lie between classes, hence the middle.

    Parameters
    ----------
    proba : array-like of shape (n_samples, n_classes)
        Probabilities of classes, of all rows that can be asked about.

    Returns
    -------
    utilities : ndarray of shape (n_samples,)
        Between 0 and 1; rows of equal confidence have equal utility.

    References
    ----------
    .. [1] Z. Zhang, E. Coutinho, J. Deng, B. Schuller, "Cooperative learning and its
       application to emotion recognition from speech", IEEE/ACM Transactions on Audio,
       Speech, and Language Processing 23 (2015).

    Examples
    --------
    >>> from fewlabels.active import middle_certainty
    >>> middle_certainty([[0.5, 0.5], [0.7, 0.3], [0.9, 0.1]])
    array([0., 1., 0.])
    """
    P = _probabilities(proba)
    n = P.shape[0]
    if n == 1:
        return np.ones(1)
    place = (rankdata(P.max(axis=1)) - 1) / (n - 1)
    return 1 - np.abs(2 * place - 1)


def vote_entropy(
    votes: ArrayLike, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    r"""Compute the entropy of the votes of a committee.

    .. math:: -\sum_c v_c \log v_c, \qquad v_c = \text{share of the votes for } c

    Parameters
    ----------
    votes : array-like of shape (n_members, n_samples)
        The class that each member predicts.
    sample_weight : array-like of shape (n_members,), default=None
        Weights of the members.

    Returns
    -------
    utilities : ndarray of shape (n_samples,)
        0 where all agree.

    References
    ----------
    .. [1] I. Dagan, S. P. Engelson, "Committee-based sampling for training
       probabilistic classifiers", ICML 1995.
       :doi:`10.1016/B978-1-55860-377-6.50027-X`

    Examples
    --------
    >>> from fewlabels.active import vote_entropy
    >>> vote_entropy([["a", "b"], ["a", "a"]]).round(3)
    array([0.   , 0.693])
    """
    votes = np.asarray(votes)
    if votes.ndim != 2 or votes.size == 0:
        raise ValueError(
            f"votes must have one line per member and one column per row, got an "
            f"array of shape {votes.shape}."
        )
    w = _member_weights(sample_weight, votes.shape[0])
    classes, codes = np.unique(votes, return_inverse=True)
    one_hot = np.eye(classes.size)[codes.reshape(votes.shape)]
    return entr(np.tensordot(w, one_hot, axes=1)).sum(axis=1)


def consensus_kl(
    probas: ArrayLike, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    r"""Compute the mean Kullback-Leibler divergence of members from their consensus.

    .. math::
        \sum_k w_k \sum_c p_{kc} \log \frac{p_{kc}}{\bar p_c}, \qquad
        \bar p = \sum_k w_k p_k

    This is the information that a label would give about which member is right.

    Parameters
    ----------
    probas : array-like of shape (n_members, n_samples, n_classes)
        Probabilities of classes by every member.
    sample_weight : array-like of shape (n_members,), default=None
        Weights of the members.

    Returns
    -------
    utilities : ndarray of shape (n_samples,)
        0 where all members agree.

    References
    ----------
    .. [1] A. McCallum, K. Nigam, "Employing EM and pool-based active learning for
       text classification", ICML 1998.

    Examples
    --------
    >>> from fewlabels.active import consensus_kl
    >>> consensus_kl([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]]).round(3)
    array([0.693, 0.   ])
    """
    P = np.asarray(probas, dtype=np.float64)
    if P.ndim != 3 or P.size == 0:
        raise ValueError(
            "probas must have the shape (n_members, n_samples, n_classes), got "
            f"{P.shape}."
        )
    w = _member_weights(sample_weight, P.shape[0])
    consensus = np.tensordot(w, P, axes=1)
    # Rounding may make a sum of zeros slightly negative.
    return np.maximum(np.einsum("k,kic->i", w, rel_entr(P, consensus)), 0.0)


def _member_weights(given: ArrayLike | None, n_members: int) -> NDArray[np.float64]:
    if given is None:
        return np.full(n_members, 1 / n_members)
    w = np.asarray(given, dtype=np.float64)
    if w.shape != (n_members,) or (w < 0).any() or not 0 < w.sum() < np.inf:
        raise ValueError(
            f"sample_weight must hold one weight >= 0 for each of {n_members} members."
        )
    return w / w.sum()


def expected_gradient_length(
    proba: ArrayLike, X: Any, *, fit_intercept: bool = True
) -> NDArray[np.float64]:
    r"""Compute the expected length of a label's gradient in logistic regression.

    .. math:: \sum_y p_y \|\nabla_W \ell(x, y)\| = \|\tilde x\| \sum_y p_y \|p - e_y\|

    with :math:`\tilde x = (x, 1)`. Two classes share one vector of weights, which gives
    :math:`2 p (1 - p) \|\tilde x\|`.

    Parameters
    ----------
    proba : array-like of shape (n_samples, n_classes)
        Probabilities of classes.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    fit_intercept : bool, default=True
        Whether the model has an intercept.

    Returns
    -------
    utilities : ndarray of shape (n_samples,)
        Expected lengths.

    References
    ----------
    .. [1] B. Settles, M. Craven, S. Ray, "Multiple-instance active learning", NIPS
       2007.

    Examples
    --------
    >>> from fewlabels.active import expected_gradient_length
    >>> expected_gradient_length([[0.5, 0.5]], [[3.0, 4.0]], fit_intercept=False)
    array([2.5])
    """
    P = _probabilities(proba)
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    lengths = np.sqrt(row_norms(X, squared=True) + float(fit_intercept))
    if P.shape[1] == 2:
        return 2 * P[:, 0] * P[:, 1] * lengths
    # |p - e_y|^2 = |p|^2 - 2 p_y + 1
    squares = np.sum(P**2, axis=1, keepdims=True) - 2 * P + 1
    return lengths * np.sum(P * np.sqrt(np.maximum(squares, 0)), axis=1)


def conditioned(
    K_labeled: NDArray[Any],
    K_candidates: NDArray[Any],
    labeled: NDArray[np.intp],
    ridge: float,
) -> NDArray[np.float64]:
    r"""Compute covariances of all rows with candidates, given labels of other rows.

    .. math:: K_{\cdot C} - K_{\cdot J} (K_{JJ} + \rho I)^{-1} K_{J C}
    """
    if labeled.size == 0:
        return np.array(K_candidates, dtype=np.float64)
    A = K_labeled[labeled].astype(np.float64)
    # Next to a kernel with large values, a small ridge would be lost to rounding.
    A[np.diag_indices_from(A)] += max(ridge, 10 * EPS * np.trace(A))
    return K_candidates - K_labeled @ linalg.solve(
        A, K_candidates[labeled], assume_a="pos"
    )


def conditioned_features(
    F: NDArray[Any],
    candidates: NDArray[np.intp],
    labeled: NDArray[np.intp],
    ridge: float,
) -> NDArray[np.float64]:
    r"""Compute the same covariances for the kernel of features.

    .. math:: \rho F (F_J^\top F_J + \rho I)^{-1} F_C^\top

    avoids differences of large numbers, and a QR decomposition of labelled rows and
    ridge avoids their squares. Long rows come first, so that they do not swamp the
    others.
    """
    rows = F[labeled]
    rows = rows[np.argsort(-np.abs(rows).max(axis=1, initial=0.0), kind="stable")]
    stacked = np.vstack([rows, np.sqrt(ridge) * np.eye(F.shape[1])])
    R, order = linalg.qr(stacked, mode="r", pivoting=True, check_finite=False)
    W = linalg.solve_triangular(
        R[: F.shape[1]], F.T[order], trans="T", check_finite=False
    )
    return ridge * W.T @ W[:, candidates]


def downdated(
    P: NDArray[Any], candidates: NDArray[np.intp], place: int, ridge: float
) -> NDArray[Any]:
    """Condition covariances on one more label, that of a candidate."""
    row = candidates[place]
    total = max(P[row, place], 0.0) + ridge
    return P - np.outer(P[:, place], P[row] / total)


def variance_reduction(
    P: ArrayLike,
    candidates: ArrayLike,
    *,
    alpha: float = 1.0,
    sample_weight: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Compute the reduction of the mean predictive variance by a candidate's label.

    .. math:: \frac1n \sum_x \frac{P(x, z)^2}{P(z, z) + \alpha}

    For ridge regression with :math:`A = X_J^\top X_J + \alpha I`, the covariances are
    :math:`P(x, z) = \alpha\, x^\top A^{-1} z` and this is
    :math:`\alpha\, \mathrm{mean}_x (x^\top A^{-1} z)^2 / (1 + z^\top A^{-1} z)`. No
    label enters: all queries can be planned before the first answer.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_candidates)
        Covariances of all rows with the candidates, given the labelled rows.
    candidates : array-like of shape (n_candidates,)
        The rows that the columns belong to.
    alpha : float, default=1.0
        Variance of the noise of a label, for a prior variance of one.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of rows in the mean; equal when None.

    Returns
    -------
    utilities : ndarray of shape (n_candidates,)
        The reductions.

    References
    ----------
    .. [1] D. A. Cohn, Z. Ghahramani, M. I. Jordan, "Active learning with statistical
       models", JAIR 4 (1996). :doi:`10.1613/jair.295`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.active import variance_reduction
    >>> X = np.array([[1.0], [2.0]])  # no label yet, prior covariance X X'
    >>> variance_reduction(X @ X.T, [0, 1])
    array([1.25, 2.  ])
    """
    C: NDArray[Any] = check_array(P, dtype=FLOATS)
    rows = np.asarray(candidates)
    own = np.maximum(C[rows, np.arange(rows.size)], 0)
    weights = np.ones(C.shape[0]) if sample_weight is None else sample_weight
    w = np.asarray(weights, dtype=np.float64)
    squares = (w / w.sum()).astype(C.dtype) @ C**2
    return squares / (own + alpha)


def select_batch(
    utilities: ArrayLike,
    n_queries: int,
    X: Any = None,
    *,
    diversity: float = 0.0,
    random_state: Any = None,
) -> NDArray[np.intp]:
    r"""Choose a batch of rows that are useful and diverse.

    Greedily, the first row is the one of the largest utility, and every further one has
    the largest

    .. math:: \tilde u_i \, d_i^{\,\delta}

    where :math:`\tilde u` are the ranks of the utilities, scaled to (0, 1], d is the
    distance to the nearest row chosen before, and :math:`\delta` the diversity. With 0
    the batch holds the rows of the largest utilities, and the larger :math:`\delta` the
    more they are spread. Ties are broken at random.

    Parameters
    ----------
    utilities : array-like of shape (n_candidates,)
        The larger, the better; no NaN.
    n_queries : int
        Number of rows, at most as many as there are.
    X : {array-like, sparse matrix} of shape (n_candidates, n_features), default=None
        The rows; only needed for a diversity other than 0.
    diversity : float, default=0.0
        The exponent.
    random_state : int, RandomState instance or None, default=None
        Seed of the ties.

    Returns
    -------
    places : ndarray of shape (n_queries,)
        Indices into `utilities`, in the order in which they were chosen.

    Examples
    --------
    >>> from fewlabels.active import select_batch
    >>> X = [[0.0], [0.1], [5.0]]
    >>> select_batch([1.0, 0.9, 0.5], 2)
    array([0, 1])
    >>> select_batch([1.0, 0.9, 0.5], 2, X, diversity=1.0)
    array([0, 2])
    """
    u = np.asarray(utilities, dtype=np.float64)
    if np.isnan(u).any():
        raise ValueError("utilities holds NaN: leave out rows of unknown utility.")
    if not 1 <= n_queries <= u.size:
        raise ValueError(
            f"n_queries={n_queries}, but there are {u.size} rows to choose from."
        )
    if diversity < 0:
        raise ValueError(f"diversity must be >= 0, got {diversity}.")
    shuffled = check_random_state(random_state).permutation(u.size)
    if diversity == 0 or n_queries == 1:
        return shuffled[np.argsort(-u[shuffled], kind="stable")[:n_queries]]
    if X is None:
        raise ValueError("diversity needs the rows: pass X.")
    scaled = rankdata(u) / u.size
    X = check_array(X, accept_sparse="csr")
    chosen = [int(shuffled[u[shuffled].argmax()])]
    free = np.ones(u.size, dtype=bool)
    nearest = np.full(u.size, np.inf)
    while len(chosen) < n_queries:
        free[chosen[-1]] = False
        last = pairwise_distances(X, X[[chosen[-1]]])[:, 0]
        nearest = np.minimum(nearest, last)
        scores = np.where(free, scaled * nearest**diversity, -1.0)
        # If only copies are left, the larger utility decides.
        if scores.max() <= 0:
            scores = np.where(free, scaled, -1.0)
        chosen.append(int(shuffled[scores[shuffled].argmax()]))
    return np.array(chosen, dtype=np.intp)
