"""A bridge to scikit-activeml."""

# SPDX-License-Identifier: BSD-3-Clause

import importlib
import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from fewlabels._labels import encode_labels
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import check_array
from fewlabels.active._query import Pool, Query, QueryStrategy, as_query


class ActiveMLSampling(QueryStrategy):
    """Use a query strategy of scikit-activeml.

    Its pool-based strategies expect NaN for missing labels and their own classifiers;
    this class translates. Needs ``pip install "fewlabels[active]"``.

    Parameters
    ----------
    strategy : query strategy of skactiveml.pool
        Such as ``skactiveml.pool.ProbabilisticAL()``, with the default marker NaN.
    estimator : classifier, default=None
        Classifier for strategies that need one. It is passed as
        ``SklearnClassifier(estimator, classes=...)``; None takes
        :class:`sklearn.linear_model.LogisticRegression`.
    query_params : dict, default=None
        Further keywords for its `query`, such as ``ensemble`` or ``discriminator``.

    Notes
    -----
    Labels are passed as codes 0, 1, ... The strategy fits its own classifier, so that
    `model` is not used, and has its own way to fill a batch, so that `diversity` must
    be 0.

    References
    ----------
    .. [1] D. Kottke and others, "scikit-activeml: a library and toolbox for active
       learning algorithms" (2021). :doi:`10.20944/preprints202103.0194.v1`

    Examples
    --------
    >>> from fewlabels.active import ActiveMLSampling
    >>> from skactiveml.pool import UncertaintySampling  # doctest: +SKIP
    >>> strategy = ActiveMLSampling(UncertaintySampling())  # doctest: +SKIP
    >>> X, y = [[0.0], [0.2], [0.55], [0.8], [1.0]], [0, -1, -1, -1, 1]
    >>> strategy.query(X, y).indices  # doctest: +SKIP
    array([2])
    """

    def __init__(
        self,
        strategy: Any,
        *,
        estimator: Any = None,
        query_params: dict[str, Any] | None = None,
    ) -> None:
        self.strategy = strategy
        self.estimator = estimator
        self.query_params = query_params

    def _choose(
        self, pool: Pool, n_queries: int, model: Any, diversity: float
    ) -> Query:
        if diversity:
            raise ValueError(
                "diversity has no meaning here: strategies of scikit-activeml fill a "
                "batch in their own way."
            )
        keywords = dict(self.query_params or {})
        accepted = inspect.signature(self.strategy.query).parameters
        codes = self._codes(pool)
        if "clf" in accepted and "clf" not in keywords:
            keywords["clf"] = self._classifier(codes)
        rows, utilities = self.strategy.query(
            X=check_array(pool.X, dtype=FLOATS),
            y=codes,
            candidates=pool.candidates,
            batch_size=n_queries,
            return_utilities=True,
            **keywords,
        )
        places = np.searchsorted(pool.candidates, rows)
        return as_query(pool, places, utilities[0][pool.candidates])

    def _codes(self, pool: Pool) -> NDArray[np.float64]:
        if pool.labeled.size == 0:
            return np.full(pool.y.size, np.nan)
        codes = encode_labels(pool.y).codes.astype(np.float64)
        return np.where(codes < 0, np.nan, codes)

    def _classifier(self, codes: NDArray[np.float64]) -> Any:
        try:
            classifiers = importlib.import_module("skactiveml.classifier")
        except ImportError as error:
            raise ImportError(
                "Strategies of scikit-activeml need that package: "
                'pip install "fewlabels[active]".'
            ) from error
        kind = LogisticRegression() if self.estimator is None else self.estimator
        classes = np.unique(codes[~np.isnan(codes)])
        return classifiers.SklearnClassifier(kind, classes=classes, random_state=0)
