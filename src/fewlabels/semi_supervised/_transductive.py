"""Transductive support vector machines."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from fewlabels._classifier import as_decision
from fewlabels._distances import safe_unit
from fewlabels._labels import decide, signed_targets, validate_partially_labeled
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import Interval, fit_context
from fewlabels.kernels import (
    KERNEL_CONSTRAINTS,
    KernelRows,
    represent_rows,
    resolve_kernel,
)
from fewlabels.semi_supervised._kernel_estimator import (
    BALANCE_CONSTRAINT,
    RepresentedKernelClassifier,
    class_shares,
)
from fewlabels.semi_supervised._transductive_solver import transductive_svm


class TransductiveSVC(RepresentedKernelClassifier):
    r"""Transductive support vector machine (TSVM), by the concave-convex procedure.

    It looks for a wide margin with few unlabelled rows inside:

    .. math::
        \min_{f} \; \frac12 \|f\|_K^2 + C \sum_{i \le l} \max(0, 1 - y_i f_i)
        + C^* \sum_{i > l} \big( R_s(f_i) + R_s(-f_i) \big),
        \qquad R_s(z) = \min(1 - s, \max(0, 1 - z))

    with :math:`C^* = C \lambda_u l / u`. The mean output of the u unlabelled rows is
    fixed by the class shares; otherwise putting all rows in one class often has the
    widest margin. More than two classes are handled one-vs-rest.

    Parameters
    ----------
    C : float, default=1.0
        Cost of errors on labelled rows.
    kernel : str, callable or GP kernel, default="rbf"
        See :func:`fewlabels.kernels.resolve_kernel`; with "precomputed", `X` is the
        kernel matrix between rows and all training rows. With "linear" or
        `n_components`, no n x n matrix is needed, and sparse rows stay sparse.
    gamma : float, {"scale", "median", "range", "local"} or None, default="scale"
        See :func:`fewlabels.kernels.resolve_kernel`.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.
    unlabeled_weight : float, default=1.0
        Weight :math:`\lambda_u` of all unlabelled rows relative to all labelled ones.
    balance : float, array-like, dict, "labels" or None, default="labels"
        Share of every class among the unlabelled rows: an array in the order of
        `classes_`, a dict or pandas Series by class, or for two classes the share of
        the second one. "labels" takes the shares among the labels. None sets no
        constraint; the bias is then slightly regularised.
    ramp : float, default=-0.3
        The output s, above -1 and at most 0, below which the loss stops growing. Rows
        with outputs smaller than -s are undecided, and do not push the boundary.
    n_components : int, default=None
        Landmarks of a Nyström approximation of the kernel; None for none.
    max_iter : int, default=100
        Largest number of convex steps.
    tol : float, default=1e-4
        Largest violation of the optimality conditions of a convex step, in units of
        the margin.
    random_state : int, RandomState instance or None, default=None
        Seed of landmarks, and of the order of coordinate updates.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given or predicted.
    solutions_ : list of TransductiveSolution
        Details of the optimisation: one solution for up to two classes, else one per
        class.
    objective_ : float
        The objective, summed over these.
    n_iter_ : int
        Largest number of convex steps.
    balance_ : ndarray of shape (n_classes,) or None
        The requested class shares.
    dual_coef_ : ndarray of shape (n_samples, n_targets) or None
        Coefficients of the training rows; None where `coef_` is used.
    coef_ : ndarray of shape (rank, n_targets) or None
        Weights of the features (those of the linear kernel, or Nyström features).
    intercept_ : ndarray of shape (n_targets,)
        The bias.
    features_ : NystromFeatures or None
        The features, if `n_components` is given.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    X_fit_ : {ndarray, sparse matrix} or None
        The training rows, if predictions need them.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    Warns
    -----
    ConvergenceWarning
        If the steps end before a local optimum, or one of them before `tol`.

    See Also
    --------
    transductive_svm : The solver.
    S2RLSClassifier : Search over labellings, with restarts; least squares.
    LaplacianSVC : Outputs that change little along a graph of neighbours.

    References
    ----------
    .. [1] R. Collobert, F. Sinz, J. Weston, L. Bottou, "Large scale transductive SVMs",
       Journal of Machine Learning Research 7 (2006), 1687-1712.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from fewlabels.datasets import hide_labels, make_gaussian2c
    >>> from fewlabels.semi_supervised import TransductiveSVC
    >>> X, y_true = make_gaussian2c(300, 100, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=10, random_state=0)
    >>> model = TransductiveSVC(kernel="linear", C=0.1).fit(X, y)
    >>> unlabeled = y == -1
    >>> bool(model.score(X[unlabeled], y_true[unlabeled]) > 0.95)
    True
    >>> supervised = SVC(kernel="linear").fit(X[~unlabeled], y[~unlabeled])
    >>> bool(supervised.score(X[unlabeled], y_true[unlabeled]) < 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither")],
        "unlabeled_weight": [Interval(Real, 0, None, closed="neither")],
        "balance": BALANCE_CONSTRAINT,
        "ramp": [Interval(Real, -1, 0, closed="right")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
        unlabeled_weight: float = 1.0,
        balance: Any = "labels",
        ramp: float = -0.3,
        n_components: int | None = None,
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.unlabeled_weight = unlabeled_weight
        self.balance = balance
        self.ramp = ramp
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Find a wide margin with few unlabelled rows inside.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; the square kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, and None or NaN among objects
            mark unlabelled rows.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = validate_partially_labeled(
            self, X, y, accept_sparse="csr", dtype=FLOATS
        )
        rng = check_random_state(self.random_state)
        rows = self._represent(X, rng)
        self.classes_ = labels.classes
        shares = class_shares(self.balance, labels)
        self.balance_ = shares
        targets = signed_targets(labels.codes, labels.classes.size, np.intp)
        of_columns = [-1] if targets.shape[1] == 1 else range(labels.classes.size)
        one_class = labels.classes.size == 1  # the other one stays empty
        self.solutions_ = [
            transductive_svm(
                rows.matrix,
                signs,
                is_factor=rows.is_factor,
                C=self.C,
                unlabeled_weight=self.unlabeled_weight,
                balance=(
                    0.0
                    if one_class
                    else None
                    if shares is None
                    else float(shares[column])
                ),
                ramp=self.ramp,
                max_iter=self.max_iter,
                tol=self.tol,
                random_state=rng,
            )
            for signs, column in zip(targets.T, of_columns, strict=True)
        ]
        self.objective_ = float(sum(s.objective for s in self.solutions_))
        self.n_iter_ = max(s.n_iter for s in self.solutions_)
        model = np.column_stack([s.coef for s in self.solutions_])
        self._keep_model(X, rows, model)
        self.intercept_ = np.array([s.intercept for s in self.solutions_])
        outputs = np.column_stack([s.outputs for s in self.solutions_])
        self.transduction_ = labels.completed(
            lambda free: decide(as_decision(outputs[free]), labels.classes)
        )
        return self

    def _represent(self, X: Any, rng: np.random.RandomState) -> KernelRows:
        """Original rows for the linear kernel, since the solver accepts sparse ones."""
        params: dict[str, Any] = {
            "gamma": self.gamma,
            "kernel_params": self.kernel_params,
        }
        if self.n_components is None:
            kernel = resolve_kernel(X, self.kernel, **params)
            if kernel.metric == "linear":
                if safe_unit(X) != 1.0:
                    raise ValueError(
                        "kernel='linear' overflows or vanishes for rows of this size: "
                        "scale X."
                    )
                return KernelRows(X, True, kernel)
        return represent_rows(
            X, self.kernel, n_components=self.n_components, random_state=rng, **params
        )

    def _decision(self, X: Any) -> NDArray[Any]:
        return as_decision(self._outputs(X) + self.intercept_)
