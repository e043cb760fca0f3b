"""Try all subsets of features."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import chain, combinations
from math import comb
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv, cross_val_score
from sklearn.utils import Tags, get_tags

from fewlabels._sklearn import HasMethods, Interval, fit_context, validate_data
from fewlabels.feature_selection._selector import FeatureSelector


class ExhaustiveFeatureSelector(MetaEstimatorMixin, FeatureSelector):
    r"""Try all subsets of features and keep the one with the best score.

    The best of all subsets, and only for few features: there are :math:`\binom{d}{k}`
    of size k. :class:`sklearn.feature_selection.SequentialFeatureSelector` adds one
    feature after the other instead, with :math:`O(d k)` fits and a score that is never
    better.

    Parameters
    ----------
    estimator : estimator
        What is scored on every subset.
    n_features_to_select : int, default=None
        Size of the subsets; None for all sizes.
    scoring : str or callable, default=None
        As in :func:`sklearn.model_selection.cross_val_score`.
    cv : int, splitter or iterable, default=5
        As in :func:`sklearn.model_selection.cross_val_score`; all subsets get the same
        splits.
    max_subsets : int, default=10000
        More subsets than this are refused.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Which features are kept.
    score_ : float
        Mean score of the best subset; the first in lexicographic order of the smallest,
        where several are equally good.
    scores_ : dict of tuple to float
        Mean score of every subset; a score of nan is never the best.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    sklearn.feature_selection.SequentialFeatureSelector : Greedy, for more features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewlabels.feature_selection import (
    ...     ExhaustiveFeatureSelector,
    ...     FisherLinearClassifier,
    ... )
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = ExhaustiveFeatureSelector(FisherLinearClassifier(), 2).fit(X, y)
    >>> selector.get_support(indices=True), round(selector.score_, 2)
    (array([1, 3]), 0.97)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"])],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        "scoring": [str, callable, None],
        "cv": ["cv_object"],
        "max_subsets": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any,
        n_features_to_select: int | None = None,
        *,
        scoring: Any = None,
        cv: Any = 5,
        max_subsets: int = 10_000,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.scoring = scoring
        self.cv = cv
        self.max_subsets = max_subsets

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Score all subsets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,), default=None
            What the estimator learns.

        Returns
        -------
        self : object
            The fitted selector.
        """
        finite = not get_tags(self).input_tags.allow_nan
        given = {"y": None} if y is None else {}  # raises, naming y, where it is needed
        X = validate_data(self, X, ensure_all_finite=finite, **given)
        n_features = X.shape[1]
        self._check_n_features(n_features)
        sizes = range(1, n_features + 1)
        if self.n_features_to_select is not None:
            sizes = range(self.n_features_to_select, self.n_features_to_select + 1)
        n_subsets = sum(comb(n_features, size) for size in sizes)
        if n_subsets > self.max_subsets:
            raise ValueError(
                f"There are {n_subsets} subsets of {n_features} features to try, more "
                f"than max_subsets={self.max_subsets}: raise it, ask for fewer "
                "features, or use SequentialFeatureSelector."
            )
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        splits = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(splits.split(X, y))
        subsets = chain.from_iterable(combinations(range(n_features), k) for k in sizes)
        self.scores_ = {
            subset: float(
                cross_val_score(
                    clone(self.estimator), X[:, subset], y, scoring=scorer, cv=splits
                ).mean()
            )
            for subset in subsets
        }
        known = [subset for subset, score in self.scores_.items() if score == score]
        if not known:
            raise ValueError(
                "Every subset of features has the score nan: check estimator, scoring "
                "and cv on one of them."
            )
        best = max(known, key=self.scores_.__getitem__)
        self.score_ = self.scores_[best]
        self.support_ = np.isin(np.arange(n_features), best)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.target_tags.required = inner.target_tags.required
        return tags
