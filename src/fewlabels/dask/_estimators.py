"""The automatic estimators for rows that do not fit on one machine."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewlabels._labels import (
    encode_labels,
    label_array,
    target_array,
    unlabeled_mask,
    with_holes,
)
from fewlabels._lazy import is_lazy
from fewlabels._sklearn import Interval, StrOptions, fit_context
from fewlabels.automatic import (
    ErrorEstimate,
    FewLabelsClassifier,
    FewLabelsRegressor,
    bank_for,
)
from fewlabels.dask._collections import (
    Labels,
    compute,
    is_frame,
    measured,
    need_dask,
    whole_rows,
)
from fewlabels.dask._learn import SampleCost, learn_parts

_OWN = ("client", "sample_size", "n_models", "sampling")


def _constraints(plain: type) -> dict[str, list[Any]]:
    """Return own constraints, and those of the plain estimator except progress."""
    rules = dict(plain._parameter_constraints)  # type: ignore[attr-defined]
    del rules["progress"]
    return rules | {
        "client": "no_validation",
        "sample_size": [Interval(Integral, 1, None, closed="left")],
        "n_models": [Interval(Integral, 1, None, closed="left")],
        "sampling": [StrOptions({"uniform", "cover"})],
    }


class DaskEstimator(BaseEstimator):
    """Base of the classifier and the regressor."""

    _plain: ClassVar[type]
    _read: Any
    _is_missing: Any
    _metric: Any

    def __init__(
        self,
        *,
        client: Any = None,
        sample_size: int = 100_000,
        n_models: int = 1,
        sampling: str = "uniform",
        bank: str = "auto",
        scale: str = "auto",
        feature_groups: ArrayLike | None = None,
        feature_views: Mapping[str, Any] | None = None,
        neighbors: str = "auto",
        n_jobs: int | None = None,
        device: str | None = None,
        memory_budget: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.client = client
        self.sample_size = sample_size
        self.n_models = n_models
        self.sampling = sampling
        self.bank = bank
        self.scale = scale
        self.feature_groups = feature_groups
        self.feature_views = feature_views
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.device = device
        self.memory_budget = memory_budget
        self.random_state = random_state

    def _check_labels(self, labels: Labels) -> None:
        """Raise for invalid labels before any row is read."""
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Draw a sample of all rows, and learn from it on the workers.

        Parameters
        ----------
        X : Dask array or Dask DataFrame of shape (n_samples, n_features)
            Training rows, labelled and unlabelled. Frames may hold words, dates and
            missing values.
        y : Dask array, Dask Series or array-like of shape (n_samples,)
            Labels, some of them missing, in parts of any size.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = whole_rows(X)
        sizes, labels = measured(self.client, X, y, self._read, self._is_missing)
        self._check_labels(labels)
        rng = check_random_state(self.random_state)
        seeds = rng.randint(2**31, size=(2, self.n_models))
        given = {k: v for k, v in self.get_params().items() if k not in _OWN}
        # The half sample gets the bank of the whole one, with which it is compared.
        n_training = min(labels.n_rows, labels.rows.size + self.sample_size)
        given["bank"] = bank_for(self.bank, n_training)
        estimators = [
            self._plain(**{**given, "random_state": int(seed)}) for seed in seeds[0]
        ]
        learned = learn_parts(
            self.client,
            X,
            sizes,
            labels,
            estimators,
            sample_size=self.sample_size,
            sampling=self.sampling,
            seeds=seeds[1],
        )
        self.models_ = [one.model for one in learned]
        first = self.models_[0]
        self.n_features_in_ = X.shape[1]
        if is_frame(X):
            self.feature_names_in_ = np.array(X.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.transformer_ = first.transformer_
        halves = [one.half_error for one in learned if one.half_error is not None]
        self.sample_cost_ = SampleCost(
            labels.n_rows,
            labels.rows.size,
            learned[0].n_sampled,
            mean_error(halves) if halves else None,
            float(np.mean([one.changed for one in learned])),
        )
        errors = mean_error([model.expected_error_ for model in self.models_])
        notes = [note for note in (errors.note, str(self.sample_cost_)) if note]
        self.expected_error_ = replace(errors, note="; ".join(notes))
        self._name = getattr(y, "name", None) if is_frame(y) else None
        self._key = f"{type(self).__name__}-{uuid4().hex}"
        return self

    def to_local(self) -> Any:
        """Return the plain estimator, which needs no Dask.

        Returns
        -------
        model : estimator
            A :class:`~fewlabels.automatic.FewLabelsClassifier` or
            :class:`~fewlabels.automatic.FewLabelsRegressor` for predictions only,
            fitted to the labelled rows and the sample; for several models,
            scikit-learn's voting estimator, which averages them.
        """
        check_is_fitted(self)
        if len(self.models_) == 1:
            return self.models_[0]
        frozen = [(f"m{k}", FrozenEstimator(m)) for k, m in enumerate(self.models_)]
        voters = self._voters(frozen)
        targets = getattr(self, "classes_", np.zeros(1))
        return voters.fit(np.zeros((targets.size, self.n_features_in_)), targets)

    def _voters(self, frozen: list[Any]) -> Any:
        raise NotImplementedError

    def _by_block(
        self, X: Any, method: str, meta: NDArray[Any], names: list[Any]
    ) -> Any:
        """Predict block by block, without computing lazy values."""
        check_is_fitted(self)
        if not is_lazy(X):
            return predictions(X, self.models_, method, meta)
        dask = need_dask()
        X = whole_rows(X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        models = dask.delayed(self.models_, name=self._key, traverse=False)
        if is_frame(X):
            frame = framed(X._meta, meta, names)
            return X.map_partitions(
                framed_predictions, models, method, meta, names, meta=frame
            )
        chunks = (X.chunks[0], *((size,) for size in meta.shape[1:]))
        dropped = {} if meta.ndim == 2 else {"drop_axis": 1}
        return X.map_blocks(
            predictions,
            models,
            method,
            meta,
            dtype=meta.dtype,
            chunks=chunks,
            meta=meta,
            **dropped,
        )

    def predict(self, X: Any) -> Any:
        """Predict for every row; lazily if the rows are lazy.

        Parameters
        ----------
        X : Dask array, Dask DataFrame or array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : Dask array, Dask Series or ndarray of shape (n_samples,)
            An array for an array, a Series with the index of the frame for a frame;
            nothing is computed until requested.
        """
        check_is_fitted(self)
        return self._by_block(X, "predict", self._empty(), [self._name or "prediction"])

    def _empty(self) -> NDArray[Any]:
        """Return predictions for zero rows."""
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Score the predictions on labelled rows: accuracy, or R² for regression.

        Parameters
        ----------
        X : Dask array, Dask DataFrame or array-like of shape (n_samples, n_features)
            Rows.
        y : Dask array, Dask Series or array-like of shape (n_samples,)
            True labels or targets; rows without one do not count.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Accuracy of a classifier, coefficient of determination of a regressor.
        """
        predicted, y = compute(self.client, self.predict(X), y)
        truth = self._read(y)
        known = ~self._is_missing(truth)
        if not known.any():
            raise ValueError("y has no labelled row to score: pass some true labels.")
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight)[known]
        return self._metric(
            truth[known], np.asarray(predicted)[known], sample_weight=sample_weight
        )


class DaskFewLabelsClassifier(ClassifierMixin, DaskEstimator):
    """Classify rows that do not fit on one machine, from a few labels.

    One pass over all parts of `X` collects the labelled rows, a sample of the others,
    and means, deviations, missing values and counts of categories of all rows; a
    :class:`~fewlabels.automatic.FewLabelsClassifier` learns from these on one worker,
    and predicts block by block.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster that computes; Dask's current scheduler by default.
    sample_size : int, default=100_000
        Unlabelled rows to learn from. The sample depends on `random_state` and on the
        order of the rows, not on how they are partitioned.
    n_models : int, default=1
        Number of models, each from its own sample and on different workers; their
        probabilities are averaged.
    sampling : {"uniform", "cover"}, default="uniform"
        "cover" thins dense regions, so that sparse ones are covered; class shares then
        differ from those of all rows.
    bank : {"auto", "fast", "default", "thorough"}, default="auto"
        Size and precision of the bank; "auto" follows the number of training rows, see
        :func:`~fewlabels.automatic.bank_for`.
    scale, class_weight, class_prior, feature_groups, feature_views, neighbors, \
n_jobs, device, memory_budget
        As those of :class:`~fewlabels.automatic.FewLabelsClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample and of the model.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    expected_error_ : ErrorEstimate
        Expected error on unlabelled rows; its note gives the number of training rows,
        and the cost of half as many.
    sample_cost_ : SampleCost
        The same as numbers.
    models_ : list of FewLabelsClassifier
        What was learned.
    transformer_ : TableTransformer or None
        What turns frames with words, dates or missing values into numbers.
    n_features_in_ : int
        Number of columns seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where `X` had any.

    See Also
    --------
    fewlabels.automatic.FewLabelsClassifier : For rows that fit into memory.

    Notes
    -----
    If the number of rows of a part is not known (data frames, unknown chunks), a first
    pass counts them. Kinds of columns, medians and vocabularies are those of the
    labelled rows and the sample.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.dask import DaskFewLabelsClassifier
    >>> from fewlabels.datasets import hide_labels
    >>> X, y_true = make_moons(2000, noise=0.08, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=20, random_state=0)  # -1 = unlabelled
    >>> X, y = da.from_array(X, chunks=500), da.from_array(y, chunks=500)
    >>> model = DaskFewLabelsClassifier(sample_size=300, bank="fast", random_state=0)
    >>> model.fit(X, y).predict(X)  # doctest: +ELLIPSIS
    dask.array<predictions, shape=(2000,), dtype=int64, chunksize=(500,), ...>
    >>> bool(model.score(X, y_true) > 0.95)
    True
    >>> model.sample_cost_.n_sampled
    300
    """

    _plain = FewLabelsClassifier
    _parameter_constraints = _constraints(FewLabelsClassifier)
    _read = staticmethod(label_array)
    _is_missing = staticmethod(unlabeled_mask)
    _metric = staticmethod(accuracy_score)

    def __init__(
        self,
        *,
        client: Any = None,
        sample_size: int = 100_000,
        n_models: int = 1,
        sampling: str = "uniform",
        bank: str = "auto",
        scale: str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        class_prior: str | dict[Any, float] | ArrayLike = "auto",
        feature_groups: ArrayLike | None = None,
        feature_views: Mapping[str, Any] | None = None,
        neighbors: str = "auto",
        n_jobs: int | None = None,
        device: str | None = None,
        memory_budget: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            client=client,
            sample_size=sample_size,
            n_models=n_models,
            sampling=sampling,
            bank=bank,
            scale=scale,
            feature_groups=feature_groups,
            feature_views=feature_views,
            neighbors=neighbors,
            n_jobs=n_jobs,
            device=device,
            memory_budget=memory_budget,
            random_state=random_state,
        )
        self.class_weight = class_weight
        self.class_prior = class_prior

    def _check_labels(self, labels: Labels) -> None:
        some = labels.rows.size < labels.n_rows
        values = np.append(labels.values, labels.values[:1]) if some else labels.values
        hidden = np.arange(values.size) >= labels.values.size
        self.classes_ = encode_labels(with_holes(values, hidden)).classes

    def _voters(self, frozen: list[Any]) -> Any:
        return VotingClassifier(frozen, voting="soft")

    def _empty(self) -> NDArray[Any]:
        return self.classes_[:0]

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities of classes; lazily if the rows are lazy.

        Parameters
        ----------
        X : Dask array, Dask DataFrame or array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        p : Dask array, Dask DataFrame or ndarray of shape (n_samples, n_classes)
            Rows sum to 1. A frame has the index of `X`, and a column per class.
        """
        check_is_fitted(self)
        empty = np.empty((0, self.classes_.size))
        return self._by_block(X, "predict_proba", empty, list(self.classes_))

    score = DaskEstimator.score  # not that of the mixin


class DaskFewLabelsRegressor(RegressorMixin, DaskEstimator):
    """Predict targets of rows that do not fit on one machine, from a few known ones.

    It learns and predicts as :class:`DaskFewLabelsClassifier` does, with the plain
    :class:`~fewlabels.automatic.FewLabelsRegressor`.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster that computes; Dask's current scheduler by default.
    sample_size : int, default=100_000
        Unlabelled rows to learn from.
    n_models : int, default=1
        Number of models, each from its own sample; their predictions are averaged.
    sampling : {"uniform", "cover"}, default="uniform"
        "cover" thins dense regions, so that sparse ones are covered.
    bank : {"auto", "fast", "default", "thorough"}, default="auto"
        As that of :class:`DaskFewLabelsClassifier`.
    scale, feature_groups, feature_views, neighbors, n_jobs, device, memory_budget
        As those of :class:`~fewlabels.automatic.FewLabelsRegressor`.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample and of the model.

    Attributes
    ----------
    expected_error_ : ErrorEstimate
        Expected root mean squared error; its note gives the number of training rows,
        and the cost of half as many.
    sample_cost_ : SampleCost
        The same as numbers.
    models_ : list of FewLabelsRegressor
        What was learned.
    transformer_ : TableTransformer or None
        What turns frames with words, dates or missing values into numbers.
    n_features_in_ : int
        Number of columns seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where `X` had any.

    See Also
    --------
    DaskFewLabelsClassifier : The same for classification.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from sklearn.datasets import make_swiss_roll
    >>> from fewlabels.dask import DaskFewLabelsRegressor
    >>> X, t = make_swiss_roll(1000, noise=0.1, random_state=0)
    >>> y = np.where(np.arange(1000) < 50, t, np.nan)  # NaN = unknown
    >>> X = da.from_array(X, chunks=(250, 3))
    >>> model = DaskFewLabelsRegressor(sample_size=300, bank="fast", random_state=0)
    >>> bool(model.fit(X, y).score(X, t) > 0.8)
    True
    """

    _plain = FewLabelsRegressor
    _parameter_constraints = _constraints(FewLabelsRegressor)
    _read = staticmethod(target_array)
    _is_missing = staticmethod(np.isnan)
    _metric = staticmethod(r2_score)

    def _check_labels(self, labels: Labels) -> None:
        if not np.isfinite(labels.values).all():
            raise ValueError("y contains infinity: remove these targets.")

    def _voters(self, frozen: list[Any]) -> Any:
        return VotingRegressor(frozen)

    def _empty(self) -> NDArray[Any]:
        return np.empty(0)

    score = DaskEstimator.score  # not that of the mixin


def mean_error(errors: list[ErrorEstimate]) -> ErrorEstimate:
    """Average the error estimates of averaged models, which err no more than that."""
    first = errors[0]
    value, low, high = (
        float(np.mean([getattr(error, name) for error in errors]))
        for name in ("value", "low", "high")
    )
    return replace(first, value=value, low=low, high=high)


def predictions(X: Any, models: list[Any], method: str, empty: NDArray[Any]) -> Any:
    """Average the predictions of models for rows in memory.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Rows.
    models : list of estimator
        Plain ones.
    method : {"predict", "predict_proba"}
        Method to call.
    empty : ndarray of shape (0, ...)
        Predictions for zero rows.

    Returns
    -------
    predictions : ndarray
        One per row.
    """
    if not len(models) or X.shape[0] == 0:
        return empty
    first = models[0]
    if len(models) == 1:
        return np.asarray(getattr(first, method)(X), dtype=empty.dtype)
    if method == "predict" and hasattr(first, "predict_proba"):
        p = predictions(X, models, "predict_proba", np.empty((0, first.classes_.size)))
        return first.classes_[p.argmax(axis=1)]
    return np.mean([getattr(model, method)(X) for model in models], axis=0)


def framed(frame: Any, values: NDArray[Any], names: list[Any]) -> Any:
    """Put predictions into a frame, or a single column, with the index of another."""
    import pandas as pd

    if values.ndim == 1:
        return pd.Series(values, index=frame.index, name=names[0], dtype=values.dtype)
    return pd.DataFrame(values, index=frame.index, columns=names)


def framed_predictions(
    frame: Any, models: list[Any], method: str, empty: NDArray[Any], names: list[Any]
) -> Any:
    """Predict for the rows of a frame, and keep its index."""
    return framed(frame, predictions(frame, models, method, empty), names)
