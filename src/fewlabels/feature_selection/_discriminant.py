"""Linear classifiers on selected features: Fisher's discriminant, weighted voting."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._classifier import DecisionClassifier, as_decision
from fewlabels._labels import UNLABELED, Labels, validate_partially_labeled
from fewlabels._linalg import inverse_root_of_rows, inverse_square_root
from fewlabels._sklearn import Interval, StrOptions, fit_context, validate_fitted
from fewlabels.feature_selection._feature_scores import class_moments


class _LinearClassifier(DecisionClassifier):
    """Linear outputs, one for two classes and one per class for more."""

    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def _weights(
        self, X: NDArray[Any], labels: Labels
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Coefficients and intercepts, one row per output; for a subclass."""
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit on the labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = validate_partially_labeled(self, X, y, dtype=np.float64)
        self.classes_ = labels.classes
        self.coef_, self.intercept_ = self._weights(X, labels)
        self.transduction_ = self._transduction(X, labels)
        return self

    def _validated(self, X: Any) -> Any:
        return validate_fitted(self, X, dtype=np.float64)

    def _decision(self, X: Any) -> NDArray[np.float64]:
        return as_decision(X @ self.coef_.T + self.intercept_)


class FisherLinearClassifier(_LinearClassifier):
    r"""Fisher's linear discriminant, with the boundary halfway between the classes.

    .. math::
        D(x) = w^\top \big( x - \tfrac{1}{2} (\mu_+ + \mu_-) \big), \qquad
        w = S^{-1} (\mu_+ - \mu_-)

    with the class means and the scatter S inside the classes, both of the labelled
    rows. With more than two classes, :math:`D_k(x) = \mu_k^\top S^{-1} x - \frac12
    \mu_k^\top S^{-1} \mu_k`, of which any two differ by the D above.

    Parameters
    ----------
    threshold : {"midpoint", "bayes"}, default="midpoint"
        Whether all classes count the same, or in proportion to their labels: "bayes"
        adds the logarithm of the share of a class.
    shrinkage : float, default=0
        Between 0 and 1: S is mixed with that share of the mean variance times the
        identity. With few labels some is needed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    coef_ : ndarray of shape (n_outputs, n_features)
        The weights, a single row for up to two classes. S is the covariance inside of
        classes, the scatter divided by the number of labelled rows.
    intercept_ : ndarray of shape (n_outputs,)
        The intercepts.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    WeightedVotingClassifier : Features vote one by one, for very few labels.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The same direction, with
        ``threshold="bayes"`` the same boundary.

    Notes
    -----
    S is singular if there are fewer labelled rows than features. Directions in which
    the classes have no spread are then left out, unless `shrinkage` is more than 0; if
    no feature has any, as with one label per class, S is the identity.

    References
    ----------
    .. [1] R. A. Fisher, "The use of multiple measurements in taxonomic problems",
       Annals of Eugenics 7 (1936). :doi:`10.1111/j.1469-1809.1936.tb02137.x`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.pipeline import make_pipeline
    >>> from fewlabels.feature_selection import FisherLinearClassifier, fisher_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(SelectKBest(fisher_score, k=5), FisherLinearClassifier())
    >>> bool(model.fit(X[:100], y[:100]).score(X[100:], y[100:]) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [StrOptions({"midpoint", "bayes"})],
        "shrinkage": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, *, threshold: str = "midpoint", shrinkage: float = 0.0) -> None:
        self.threshold = threshold
        self.shrinkage = shrinkage

    def _weights(
        self, X: NDArray[Any], labels: Labels
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        codes = labels.codes[labels.labeled]
        means, variances = class_moments(X, labels)
        inside = X[labels.labeled] - means[codes]
        for k in range(labels.classes.size):  # far from zero, means are rounded too
            inside[codes == k] -= inside[codes == k].mean(axis=0)
        inside[:, ~variances.any(axis=0)] = 0.0  # rounding errors are not spread
        inside /= np.sqrt(codes.size)
        n_features = X.shape[1]
        root = np.eye(n_features)
        if inside.any() and self.shrinkage > 0:
            S = (1 - self.shrinkage) * inside.T @ inside
            variance = float(np.sum(inside**2)) / n_features
            S.flat[:: n_features + 1] += self.shrinkage * variance
            root = inverse_square_root(S, balance=True)
        elif inside.any():
            root = inverse_root_of_rows(inside, balance=True)
        # Distances of means from their centre, where products of means would lose
        # digits to a large common part.
        center = means.mean(axis=0)
        coef = (means - center) @ root @ root.T
        intercept = -0.5 * np.einsum("ij,ij->i", means + center, coef)
        if self.threshold == "bayes":
            intercept += np.log(np.bincount(codes) / codes.size)
        if labels.classes.size == 2:
            return coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return coef, intercept


class WeightedVotingClassifier(_LinearClassifier):
    r"""Every feature votes for a class, with its signal-to-noise ratio as the weight.

    .. math::
        D(x) = \sum_j \frac{\mu_j^+ - \mu_j^-}{\sigma_j^+ + \sigma_j^-}
        \Big( x_j - \frac{\mu_j^+ + \mu_j^-}{2} \Big)

    Correlations between features are ignored, so that a handful of labels is enough for
    thousands of features. With more than two classes, each one is set against the rest.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    coef_ : ndarray of shape (n_outputs, n_features)
        The weights, a single row for up to two classes.
    intercept_ : ndarray of shape (n_outputs,)
        The intercepts.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    signal_to_noise : The size of the weights, to select features by.
    FisherLinearClassifier : Takes correlations into account.

    Notes
    -----
    A feature without spread in either class gets the smallest spread of the others; if
    no feature has any, as with one label per class, all count the same.

    References
    ----------
    .. [1] T. R. Golub et al., "Molecular classification of cancer", Science 286 (1999).
       :doi:`10.1126/science.286.5439.531`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.feature_selection import WeightedVotingClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> X = rng.normal(size=(200, 1000))
    >>> X[:, :20] += 2 * y[:, None]  # 20 of 1,000 features tell the class
    >>> labels = np.where(np.arange(200) < 30, y, -1)
    >>> model = WeightedVotingClassifier().fit(X, labels)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def _weights(
        self, X: NDArray[Any], labels: Labels
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        n_classes = labels.classes.size
        if n_classes == 1:
            return np.zeros((1, X.shape[1])), np.zeros(1)
        holes = labels.codes == UNLABELED
        against_rest = range(n_classes) if n_classes > 2 else (1,)
        votes = [
            _votes(X, np.where(holes, UNLABELED, labels.codes == k))
            for k in against_rest
        ]
        coef, intercept = zip(*votes, strict=True)
        return np.array(coef), np.array(intercept)


def _votes(X: NDArray[Any], codes: NDArray[np.intp]) -> tuple[NDArray[Any], float]:
    """Weights of a class, with code 1, against the rest, and the intercept."""
    means, variances = class_moments(X, Labels(codes, np.arange(2)))
    spread = np.sqrt(variances).sum(axis=0)
    spread[spread == 0] = spread[spread > 0].min(initial=np.inf)
    spread[np.isinf(spread)] = 1.0
    coef = (means[1] - means[0]) / spread
    return coef, float(-0.5 * coef @ (means[0] + means[1]))
