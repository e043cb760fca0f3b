"""Majority vote that may abstain."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.ensemble import VotingClassifier
from sklearn.utils.validation import check_is_fitted

from fewlabels._classifier import vote_of
from fewlabels._labels import (
    UNLABELED,
    check_length,
    encode_labels,
    label_array,
    unlabeled_mask,
    with_holes,
)
from fewlabels._params import check_number
from fewlabels._sklearn import Interval, fit_context, safe_indexing


class Vote(NamedTuple):
    """Outcome of a vote.

    Attributes
    ----------
    winners : ndarray of shape (n_samples,)
        Index of the class with most votes, the lowest of several; -1 where it has too
        few.
    shares : ndarray of shape (n_samples, n_classes)
        Share of the votes for every class.
    """

    winners: NDArray[np.intp]
    shares: NDArray[np.float64]


def majority_vote(
    votes: NDArray[np.intp],
    *,
    n_classes: int,
    alpha: float = 0.5,
    weights: ArrayLike | None = None,
) -> Vote:
    r"""Count votes, and reject where no class has enough of them.

    .. math:: H(x) = \arg\max_i V_i(x) \;\text{ if }\; \max_i V_i(x) \ge \alpha K,
       \;\text{ else reject},

    where :math:`V_i(x)` of K classifiers vote for class i.

    Parameters
    ----------
    votes : ndarray of shape (n_samples, n_voters)
        Index of the class that each voter chooses.
    n_classes : int
        Number of classes.
    alpha : float, default=0.5
        Share of the votes that the winner needs. With 1 / n_classes or less nothing
        is rejected, with 1 all but unanimous votes are.
    weights : array-like of shape (n_voters,), default=None
        Weight of each voter.

    Returns
    -------
    vote : Vote
        Winners and shares.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.ensemble import majority_vote
    >>> votes = np.array([[0, 0, 0], [0, 1, 0], [0, 1, 2]])
    >>> majority_vote(votes, n_classes=3).winners
    array([ 0,  0, -1])
    """
    K = votes.shape[1]
    w = np.ones(K) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (K,) or (w < 0).any() or not w.sum() > 0:
        raise ValueError(
            f"weights must be {K} non-negative numbers with a positive sum, one per "
            f"voter; got {weights!r}."
        )
    check_number("alpha", alpha, 0, 1)
    if votes.size and not 0 <= votes.min() <= votes.max() < n_classes:
        raise ValueError(
            f"votes must be indices of classes below n_classes={n_classes}, got values "
            f"from {votes.min()} to {votes.max()}: leave out voters that abstain."
        )
    counts = np.zeros((votes.shape[0], n_classes))
    for k in range(K):
        counts[np.arange(votes.shape[0]), votes[:, k]] += w[k]
    shares = counts / w.sum()
    winners = shares.argmax(axis=1)
    # 0.3 of ten votes are three votes, whatever the rounding.
    enough = shares.max(axis=1, initial=0.0) >= alpha - K * np.finfo(np.float64).eps
    return Vote(np.where(enough, winners, UNLABELED), shares)


class RejectVotingClassifier(VotingClassifier):
    r"""Majority vote of classifiers, with rejection of doubtful rows.

    A row gets the class with most votes if at least a share `alpha` of all votes is for
    it, and no label otherwise; see :func:`majority_vote`. What comes out for a rejected
    row is the marker for "no label" of this library (-1, NaN or None), so that the
    predictions can be handed on as a partly labelled `y`.

    Parameters
    ----------
    estimators : list of (str, classifier)
        The voters; "drop" in place of one leaves it out.
    alpha : float, default=0.5
        Share of the votes that the winner needs, between 0 and 1.
    weights : array-like of shape (n_voters,), default=None
        Weight of each vote.
    n_jobs : int, default=None
        Processes that fit the voters.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker.
    estimators_ : list of classifiers
        The fitted voters, which know classes by their index.
    named_estimators_ : Bunch
        The same by name.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the vote (never
        rejected).
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    sklearn.ensemble.VotingClassifier : Without rejection.

    Notes
    -----
    `score` counts a rejected row as wrong. :func:`fewlabels.unlabeled_mask` of the
    predictions tells which rows were rejected.

    References
    ----------
    .. [1] L. Xu, A. Krzyzak, C. Y. Suen, "Methods of combining multiple classifiers and
       their applications to handwriting recognition", IEEE Transactions on Systems, Man
       and Cybernetics 22 (1992). :doi:`10.1109/21.155943`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fewlabels.ensemble import RejectVotingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> voters = [
    ...     ("logistic", LogisticRegression(max_iter=1000)),
    ...     ("bayes", GaussianNB()),
    ...     ("tree", DecisionTreeClassifier(max_depth=1)),
    ... ]
    >>> model = RejectVotingClassifier(voters, alpha=1.0).fit(X[::2], y[::2])
    >>> y_pred = model.predict(X[1::2])
    >>> int((y_pred == -1).sum())  # where the tree, with two leaves, is outvoted
    25
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: VotingClassifier._parameter_constraints[name]
            for name in ("estimators", "weights", "n_jobs")
        },
        "alpha": [Interval(Real, 0, 1, closed="both")],
    }

    # What VotingClassifier asks for beyond our parameters.
    voting = "hard"
    flatten_transform = True
    verbose = False

    def __init__(
        self,
        estimators: Any,
        *,
        alpha: float = 0.5,
        weights: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.alpha = alpha
        self.weights = weights
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, **fit_params: Any) -> Self:
        """Fit all voters to the labelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one, which are left out.
        **fit_params : dict
            Routed to the voters, where metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        if y is None:
            raise ValueError(
                "RejectVotingClassifier requires y to be passed, but the target y is "
                "None."
            )
        # Rows are handed on as they are: voters validate them, and may read the names
        # of features from them.
        X = X.tocsr() if issparse(X) else X if hasattr(X, "shape") else np.asarray(X)
        labels = encode_labels(y)
        check_length(labels.codes.size, X)
        known = labels.labeled
        if fit_params.get("sample_weight") is not None:
            weight = np.asarray(fit_params["sample_weight"])[known]
            fit_params = {**fit_params, "sample_weight": weight}
        super().fit(safe_indexing(X, known), labels.codes[known], **fit_params)
        self.classes_ = labels.classes
        codes = labels.codes.copy()
        holes = np.flatnonzero(codes == UNLABELED)
        if holes.size:
            codes[holes] = self._vote(safe_indexing(X, holes), alpha=0.0).winners
        self.transduction_ = labels.classes[codes]
        return self

    def _vote(self, X: Any, alpha: float) -> Vote:
        votes = np.asarray([vote_of(model, X) for model in self.estimators_]).T
        return majority_vote(
            votes.astype(np.intp),
            n_classes=self.classes_.size,
            alpha=alpha,
            weights=self._weights_not_none,
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row, or none.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes, with the marker for "no label" at rejected rows.
            Classes without room for a marker (booleans, fixed-width strings) are
            converted to a type that has one.
        """
        check_is_fitted(self)
        winners = self._vote(X, self.alpha).winners
        return with_holes(self.classes_[winners], winners == UNLABELED)

    def vote_shares(self, X: Any) -> NDArray[np.float64]:
        """Count the votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_classes)
            Share of the votes for every class.
        """
        check_is_fitted(self)
        return self._vote(X, self.alpha).shares

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Accuracy on the rows that have a label; a rejected row counts as an error.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            True labels, some of which may be missing.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Accuracy on the labelled rows.
        """
        check_is_fitted(self)
        known = ~unlabeled_mask(y)
        if not known.any():
            raise ValueError("y has no labelled row to score: pass some true labels.")
        # By position: no metric can sort an array of classes and markers.
        winners = self._vote(X, self.alpha).winners[known]
        same = self.classes_[winners] == label_array(y)[known]
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(same & (winners != UNLABELED), weights=weights))
