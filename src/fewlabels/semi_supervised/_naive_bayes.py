"""Naive Bayes with kernel densities, a supervised classifier."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.neighbors import KernelDensity

from fewlabels._classifier import InductiveClassifier
from fewlabels._labels import Labels, validate_partially_labeled
from fewlabels._sklearn import Interval, StrOptions, fit_context, validate_fitted


class KernelNaiveBayes(InductiveClassifier):
    r"""Naive Bayes with a kernel density for every class and feature.

    .. math::
        \log p(k \mid x) = \log \pi_k + \sum_j \log \hat p_{kj}(x_j) + \text{const},
        \qquad
        \hat p_{kj}(z) = \frac{1}{n_k h_{kj}} \sum_{i \in k}
        \varphi \Big( \frac{z - x_{ij}}{h_{kj}} \Big)

    with the normal density :math:`\varphi`. Features are assumed independent within a
    class; their distributions may have any shape. Only labelled rows are used.

    Parameters
    ----------
    bandwidth : float or "scott", default="scott"
        The width h as a multiple of the standard deviation of the feature in the class;
        "scott" takes :math:`n_k^{-1/5}`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given or predicted.
    class_prior_ : ndarray of shape (n_classes,)
        Shares :math:`\pi` of the classes among labelled rows.
    bandwidths_ : ndarray of shape (n_classes, n_features)
        The widths h; infinite where all labelled rows are equal.
    densities_ : list of list of KernelDensity or None
        The density of every class and feature; None where the width is infinite.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    sklearn.naive_bayes.GaussianNB : Normal densities.

    Notes
    -----
    If a feature has no spread in a class, as with a single label, its spread among all
    labelled rows is used instead, or 1 if it is constant.

    References
    ----------
    .. [1] G. H. John and P. Langley, "Estimating continuous distributions in Bayesian
       classifiers", UAI 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.semi_supervised import KernelNaiveBayes
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1))
    >>> y = (np.abs(X[:, 0]) > 1).astype(int)  # both tails against the middle
    >>> bool(KernelNaiveBayes(bandwidth=0.1).fit(X, y).score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "bandwidth": [StrOptions({"scott"}), Interval(Real, 0, None, closed="neither")]
    }

    def __init__(self, *, bandwidth: float | str = "scott") -> None:
        self.bandwidth = bandwidth

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit the densities of the labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, and None or NaN among objects
            mark unlabelled rows.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = validate_partially_labeled(self, X, y, dtype=np.float64)
        counts = np.bincount(labels.codes[labels.labeled])
        self.classes_ = labels.classes
        self.class_prior_ = counts / counts.sum()
        self.bandwidths_ = self._widths(X, labels, counts)
        self.densities_ = [
            [
                KernelDensity(bandwidth=h).fit(X[labels.codes == k][:, [j]])
                if np.isfinite(h)
                else None
                for j, h in enumerate(widths)
            ]
            for k, widths in enumerate(self.bandwidths_)
        ]
        self.transduction_ = self._transduction(X, labels)
        return self

    def _widths(
        self, X: NDArray[Any], labels: Labels, counts: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        spread = np.array(
            [X[labels.codes == k].std(axis=0) for k in range(counts.size)]
        )
        rows = X[labels.labeled]
        overall = rows.std(axis=0)
        negligible = 1e-12 * np.abs(rows).max(axis=0)
        overall[overall <= negligible] = np.inf  # tells no class from another
        spread = np.where(spread <= negligible, overall, spread)
        share = counts**-0.2 if self.bandwidth == "scott" else self.bandwidth
        return spread * np.reshape(share, (-1, 1))

    def _joint(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Logarithm of the joint density of every row and class."""
        joint = np.tile(np.log(self.class_prior_), (X.shape[0], 1))
        for k, densities in enumerate(self.densities_):
            for j, density in enumerate(densities):
                if density is not None:
                    joint[:, k] += density.score_samples(X[:, [j]])
        return joint

    def _validated(self, X: Any) -> Any:
        return validate_fitted(self, X, dtype=np.float64)

    def _predict(self, X: Any) -> NDArray[Any]:
        return self.classes_[self._joint(X).argmax(axis=1)]

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict logarithms of class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            The logarithms, in the order of `classes_`.
        """
        return log_softmax(self._joint(self._validated(X)), axis=1)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            The probabilities, in the order of `classes_`.
        """
        return np.exp(self.predict_log_proba(X))
