"""The domain of each row: the convention of all estimators for transfer.

``sample_domain`` holds one integer per row, as in skada: positive numbers name source
domains, negative ones target domains. None means that all rows are of the target.
"""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import Tags, column_or_1d

from fewlabels._classifier import DecisionClassifier, accepts_sparse
from fewlabels._labels import (
    UNLABELED,
    Labels,
    label_array,
    validate_partially_labeled,
    with_holes,
)
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import check_array, fit_context, validate_data, validate_fitted

SOURCE, TARGET = 1, -2


class StackedDomains(NamedTuple):
    """Rows of a source and a target domain in one table.

    Attributes
    ----------
    X : {ndarray, sparse array} of shape (n_source + n_target, n_features)
        The rows, source first.
    y : ndarray of shape (n_source + n_target,)
        Their labels; -1, NaN or None for rows without one.
    sample_domain : ndarray of int of shape (n_source + n_target,)
        1 for rows of the source, -2 for rows of the target.
    """

    X: Any
    y: NDArray[Any]
    sample_domain: NDArray[np.intp]


def stack_domains(
    X_source: Any, y_source: ArrayLike, X_target: Any, y_target: ArrayLike | None = None
) -> StackedDomains:
    """Put the rows of a source and a target domain into one table.

    Rows of different feature spaces get columns of their own: the features of the
    source come first and are zero in rows of the target, those of the target follow.

    Parameters
    ----------
    X_source : {array-like, sparse matrix} of shape (n_source, n_features_source)
        Rows of the source.
    y_source : array-like of shape (n_source,)
        Their labels, some of which may be missing.
    X_target : {array-like, sparse matrix} of shape (n_target, n_features_target)
        Rows of the target.
    y_target : array-like of shape (n_target,), default=None
        Their labels, some of which may be missing; None for no label at all.

    Returns
    -------
    stacked : StackedDomains
        The named tuple ``X, y, sample_domain``, as `fit` takes them.

    Examples
    --------
    >>> from fewlabels.transfer import stack_domains
    >>> X, y, sample_domain = stack_domains([[0.0], [1.0]], [0, 1], [[5.0]])
    >>> y
    array([ 0,  1, -1])
    >>> sample_domain
    array([ 1,  1, -2])
    >>> stack_domains([[1.0]], ["a"], [[2.0, 3.0]]).X
    array([[1., 0., 0.],
           [0., 2., 3.]])
    """
    X_source = check_array(X_source, accept_sparse="csr", dtype=None)
    X_target = check_array(X_target, accept_sparse="csr", dtype=None)
    n_source, n_target = X_source.shape[0], X_target.shape[0]
    y = stack_labels(y_source, y_target, n_source, n_target)
    rows: Any = [X_source, X_target]
    if X_source.shape[1] != X_target.shape[1]:
        rows = [
            _padded(X_source, 0, X_target.shape[1]),
            _padded(X_target, X_source.shape[1], 0),
        ]
    if any(sparse.issparse(block) for block in rows):
        X = sparse.vstack(rows, format="csr")
    else:
        X = np.vstack(rows)
    return StackedDomains(X, y, np.repeat([SOURCE, TARGET], [n_source, n_target]))


def _padded(X: Any, before: int, after: int) -> Any:
    """Zero columns on both sides."""
    if sparse.issparse(X):
        shape = X.shape[0]
        left, right = (sparse.csr_array((shape, n)) for n in (before, after))
        return sparse.hstack([left, X, right], format="csr")
    return np.pad(X, ((0, 0), (before, after)))


def _check_entries(name: str, entries: Any, of: str, n_rows: int) -> None:
    if (n := entries.size) != n_rows:
        raise ValueError(f"{name} has {n} entries but {of} has {n_rows} rows.")


def stack_labels(
    y_source: ArrayLike, y_target: ArrayLike | None, n_source: int, n_target: int
) -> NDArray[Any]:
    """Labels of both domains; rows without one get the marker of the common type."""
    labels = with_holes(y_source)
    _check_entries("y_source", labels, "X_source", n_source)
    if y_target is None:
        padding = np.repeat(labels[:1], n_target)
        return with_holes(
            np.concatenate([labels, padding]),
            np.arange(labels.size + n_target) >= n_source,
        )
    others = with_holes(label_array(y_target))
    _check_entries("y_target", others, "X_target", n_target)
    kinds = {labels.dtype.kind, others.dtype.kind}
    if len(kinds) > 1:
        raise ValueError(
            "y_source and y_target hold labels of different kinds "
            f"({labels.dtype} and {others.dtype}): convert both to strings or both to "
            "integers."
        )
    return np.concatenate([labels, others])


def check_sample_domain(
    sample_domain: ArrayLike | None, n_samples: int, default: int = TARGET
) -> NDArray[np.intp]:
    """Validate domains; None stands for the default on all rows.

    Parameters
    ----------
    sample_domain : array-like of int of shape (n_samples,) or None
        Positive for source domains, negative for target domains.
    n_samples : int
        Number of rows.
    default : int, default=-2
        Domain of all rows, where `sample_domain` is None.

    Returns
    -------
    domains : ndarray of int of shape (n_samples,)
        The domain of every row.

    Examples
    --------
    >>> from fewlabels.transfer import check_sample_domain
    >>> check_sample_domain(None, 2)
    array([-2, -2])
    """
    if sample_domain is None:
        return np.full(n_samples, default, dtype=np.intp)
    domains = column_or_1d(sample_domain)
    _check_entries("sample_domain", domains, "X", n_samples)
    if domains.dtype.kind not in "iuf" or not np.all(domains == np.trunc(domains)):
        raise ValueError("sample_domain must hold integers, one per row.")
    if np.any(domains == 0):
        raise ValueError(
            "sample_domain holds 0: number source domains 1, 2, ... and target domains "
            "-1, -2, ..."
        )
    return domains.astype(np.intp)


class DomainMixin:
    """An estimator whose `fit` takes `sample_domain`."""

    # With metadata routing, a pipeline passes the domains on by default.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_domain": True}

    # How rows are validated.
    _checks: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": FLOATS}

    domains_: NDArray[np.intp]

    def _validated(self, X: Any) -> Any:
        return validate_fitted(self, X, **self._checks)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        inner = getattr(self, "estimator", None)
        tags.input_tags.sparse = "accept_sparse" in self._checks and accepts_sparse(
            inner
        )
        return tags

    def _check_domains(self, sample_domain: Any, X: Any) -> NDArray[np.intp]:
        domains = check_sample_domain(sample_domain, X.shape[0])
        self.domains_ = np.unique(domains)
        return domains

    def _query_domains(self, sample_domain: Any, X: Any) -> NDArray[np.intp]:
        """Domains of new rows; None stands for the target domain of fit."""
        targets = self.domains_[self.domains_ < 0]
        if sample_domain is None and targets.size > 1:
            raise ValueError(
                f"There were {targets.size} target domains in fit: pass sample_domain, "
                "which names the domain of every row."
            )
        default = int(targets[0]) if targets.size else TARGET
        return check_sample_domain(sample_domain, X.shape[0], default)


class DomainTransformer(
    DomainMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """A transformer that learns from rows of several domains."""

    def _learn(self, X: Any, y: Any, domains: NDArray[np.intp]) -> None:
        """Learn from rows that have been validated."""
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any = None, *, sample_domain: ArrayLike | None = None
    ) -> Self:
        """Learn from the rows of all domains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of all domains.
        y : array-like of shape (n_samples,), default=None
            Labels, some of which may be missing; most transformers ignore them.
        sample_domain : array-like of int of shape (n_samples,), default=None
            Positive for source domains, negative for target domains; None if all rows
            are of the target.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        X = validate_data(self, X, **self._checks)
        self._learn(X, y, self._check_domains(sample_domain, X))
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, sample_domain: ArrayLike | None = None
    ) -> Any:
        """Fit, then transform the same rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of all domains.
        y : array-like of shape (n_samples,), default=None
            As `fit` takes it.
        sample_domain : array-like of int of shape (n_samples,), default=None
            Positive for source domains, negative for target domains; None if all rows
            are of the target.

        Returns
        -------
        X_new : {ndarray, sparse array} of shape (n_samples, n_features_new)
            The new features.
        """
        return self.fit(X, y, sample_domain=sample_domain).transform(X)


class DomainClassifier(DomainMixin, DecisionClassifier):
    """A classifier for rows of the target, some of whose labels may be missing."""

    def _learn(self, X: Any, labels: Labels, domains: NDArray[np.intp]) -> None:
        """Learn from rows and labels that have been validated."""
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike, *, sample_domain: ArrayLike | None = None
    ) -> Self:
        """Learn from the rows of all domains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of all domains.
        y : array-like of shape (n_samples,)
            Labels, some of which may be missing.
        sample_domain : array-like of int of shape (n_samples,), default=None
            Positive for source domains, negative for target domains; None if all rows
            are of the target.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = validate_partially_labeled(self, X, y, **self._checks)
        self.classes_ = labels.classes
        self._learn(X, labels, self._check_domains(sample_domain, X))
        self.transduction_ = self._transduction(X, labels)
        return self

    def _labeled_target(
        self, labels: Labels, domains: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Labelled rows of the target; an error where there is none."""
        rows = np.flatnonzero((labels.codes != UNLABELED) & (domains < 0))
        if not rows.size:
            raise ValueError(
                f"{type(self).__name__} needs labelled rows of the target "
                "(sample_domain < 0), and there is none: label some, or use "
                "TransferComponentAnalysis, StructuralCorrespondenceLearning or "
                "EigenTransferClassifier, which do without."
            )
        return rows
