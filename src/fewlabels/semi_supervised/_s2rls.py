"""Semi-supervised regularised least squares by search over partitions (S2RLSC)."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from fewlabels._backend import DEVICE_CONSTRAINTS, TensorMixin, backend_for
from fewlabels._classifier import as_decision
from fewlabels._labels import (
    UNLABELED,
    Labels,
    decide,
    label_array,
    validate_partially_labeled,
)
from fewlabels._linalg import FLOATS
from fewlabels._params import check_params
from fewlabels._rows import KnownRows
from fewlabels._sklearn import Interval, StrOptions, fit_context
from fewlabels.kernels import KERNEL_CONSTRAINTS, KernelRows, represent_rows
from fewlabels.partition import SOLVERS, PartitionProblem, solve
from fewlabels.semi_supervised._kernel_estimator import (
    BALANCE_CONSTRAINT,
    KernelClassifier,
    RepresentedKernelClassifier,
    class_shares,
)

S2RLS_CONSTRAINTS: dict[str, list[Any]] = {
    **KERNEL_CONSTRAINTS,
    "balance": BALANCE_CONSTRAINT,
    "balance_tol": [Interval(Real, 0, None, closed="left"), None],
    "solver": [StrOptions(set(SOLVERS))],
    "solver_params": [dict, None],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "n_components": [Interval(Integral, 1, None, closed="left"), None],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
}

# What `solver_params` may hold.
SOLVER_CONSTRAINTS: dict[str, list[Any]] = {
    "start": [StrOptions({"supervised", "random", "exact"}), "array-like"],
    "time_limit": [Interval(Real, 0, None, closed="left"), None],
    "certify": ["boolean"],
}

# alpha="scale", as a share of the spread of the rows in feature space: between what
# suited Gaussian kernels (0.001) and linear ones (0.01) on fifteen benchmark settings.
ALPHA_SHARE = 0.005
# Warn if a model contradicts more than this share of its own labelling.
CONTRADICTION = 0.2


class S2RLSBase(TensorMixin, KernelClassifier):
    """Base class of the classifier and its cross-validated form."""

    device: str | None = None
    kernel_params: dict[str, Any] | None
    n_components: int | None
    solver_params: dict[str, Any] | None
    balance_tol: float | None

    def _represent(self, X: Any, gamma: Any, rng: np.random.RandomState) -> KernelRows:
        return represent_rows(
            X,
            self.kernel,
            n_components=self.n_components,
            random_state=rng,
            gamma=gamma,
            kernel_params=self.kernel_params,
            device=backend_for(self),
        )

    def _problem(
        self,
        rows: KernelRows,
        labels: Labels,
        shares: NDArray[Any] | None,
        *,
        subset: NDArray[np.intp] | None = None,
        **params: Any,
    ) -> PartitionProblem:
        """Make the partition problem of some training rows (None: of all)."""
        matrix, codes = rows.matrix, labels.codes
        if subset is not None:
            codes = codes[subset]
            matrix = (
                matrix[subset] if rows.is_factor else matrix[np.ix_(subset, subset)]
            )
        make = (
            PartitionProblem.from_factor
            if rows.is_factor
            else PartitionProblem.from_kernel
        )
        tol = None if shares is None else self.balance_tol
        n_classes = labels.classes.size
        if n_classes == 1:  # a partition whose second class stays empty
            n_classes, shares, tol = 2, np.array([1.0, 0.0]), 0.0
        return make(
            matrix,
            codes,
            balance=shares,
            balance_tol=tol,
            n_classes=n_classes,
            **params,
        )

    # What `solver_params` may hold.
    _solver_constraints: ClassVar[dict[str, list[Any]]] = SOLVER_CONSTRAINTS

    def _solver_params(self) -> dict[str, Any]:
        return check_params(
            "solver_params", self.solver_params, self._solver_constraints, "the solver"
        )

    def _validate(self, X: Any, y: ArrayLike) -> tuple[Any, Labels]:
        return validate_partially_labeled(self, X, y, accept_sparse="csr", dtype=FLOATS)


class S2RLSClassifier(S2RLSBase, RepresentedKernelClassifier):
    r"""Semi-supervised regularised least squares, by search over partitions.

    The unlabelled rows get the labels that least squares fits best. Over all labellings
    of the u unlabelled rows whose class sizes are close to the expected ones,

    .. math::
        \min_{y_{l+1}, \dots, y_{l+u} \in \{-1, +1\}} \; \min_{f}
        \frac{1}{l} \sum_{i=1}^{l} (y_i - f(x_i))^2
        + \frac{\lambda_u}{u} \sum_{i=l+1}^{l+u} (y_i - f(x_i))^2
        + \lambda \|f\|_K^2

    which favours boundaries through regions with few rows. With more than two classes,
    the objectives of all one-vs-rest problems are added, and every row is in exactly
    one class. Given labels never change, and the model is always that of the final
    labelling.

    Parameters
    ----------
    kernel : str, callable or GP kernel, default="rbf"
        See :func:`fewlabels.kernels.resolve_kernel`; with "precomputed", `X` is the
        kernel matrix between rows and all training rows. With "linear" (and no more
        features than rows), and with `n_components`, no n x n matrix is needed.
    gamma : float, {"scale", "median", "range", "local"} or None, default="scale"
        See :func:`fewlabels.kernels.resolve_kernel`.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.
    alpha : float or "scale", default="scale"
        The regularisation :math:`\lambda`. "scale" is 0.005 times the mean squared
        distance of the rows from their mean in feature space, so that it suits rows of
        any scale.
    unlabeled_weight : float, default=1.0
        Weight :math:`\lambda_u` of the unlabelled rows.
    balance : float, array-like, dict, "labels" or None, default="labels"
        Share of every class among the unlabelled rows: an array in the order of
        `classes_`, a dict or pandas Series by class, or for two classes the share of
        the second one. "labels" takes the shares among the labels, None sets no bounds.
    balance_tol : float, default=0.1
        Largest deviation from these shares.
    solver : str, default="local_search"
        "local_search", "evolve", "tabu_search", "exact", "branch_and_bound" or "auto";
        see :func:`fewlabels.partition.solve`. The exact ones are for two classes.
    solver_params : dict, default=None
        Further parameters of :func:`fewlabels.partition.solve`: `start` (the
        prediction of the supervised model unless given; "random" labels, the "exact"
        optimum in few dimensions, or a class for every row), `time_limit` and
        `certify`.
    n_init : int, default=10
        Number of runs, all but the first from random labellings; the best one is kept.
    n_components : int, default=None
        Landmarks of a Nyström approximation of the kernel; None for none.
    random_state : int, RandomState instance or None, default=None
        Seed of restarts and landmarks.
    n_jobs : int, default=None
        Threads for the runs; results do not depend on it.
    device : {"cpu", "cuda"} or None, default=None
        Where to compute. None follows the rows: NumPy arrays stay on the CPU, tensors
        on their device, and predictions are returned in the same type. The kernel
        matrix, all runs of "local_search" at once, and predictions use the GPU; the
        rest, above all the n x n system behind the search, uses the CPU.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        The final labelling of all training rows. ``predict`` returns it for unlabelled
        rows of `fit`; copies of a row get the label of the first.
    objective_ : float
        Its objective.
    result_ : PartitionResult
        How it was found.
    alpha_ : float
        The regularisation as a number.
    balance_ : ndarray of shape (n_classes,) or None
        The requested class shares.
    class_sizes_ : ndarray of shape (n_classes, 2)
        Least and largest number of unlabelled rows in every class.
    dual_coef_ : ndarray of shape (n_samples, n_targets) or None
        Coefficients of the training rows; None where `coef_` is used.
    coef_ : ndarray of shape (rank, n_targets) or None
        Weights of the features (those of the linear kernel, or Nyström features).
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

    See Also
    --------
    S2RLSClassifierCV : Choose alpha, unlabeled_weight and gamma by cross-validation.
    RLSClassifier : The supervised counterpart.
    fewlabels.partition.local_search : The solver.

    References
    ----------
    .. [1] F. Gieseke, O. Kramer, A. Airola, T. Pahikkala, "Efficient recurrent local
       search strategies for semi- and unsupervised regularized least-squares
       classification", Evolutionary Intelligence 5 (2012).
       :doi:`10.1007/s12065-012-0068-5`

    Examples
    --------
    >>> from fewlabels.datasets import hide_labels, make_gaussian2c
    >>> from fewlabels.semi_supervised import RLSClassifier, S2RLSClassifier
    >>> X, y_true = make_gaussian2c(300, 100, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=10, random_state=0)
    >>> model = S2RLSClassifier(kernel="linear", random_state=0).fit(X, y)
    >>> baseline = RLSClassifier(kernel="linear").fit(X, y)
    >>> unlabeled = y == -1
    >>> bool((model.transduction_ != y_true)[unlabeled].mean() < 0.05)
    True
    >>> bool((baseline.transduction_ != y_true)[unlabeled].mean() > 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **S2RLS_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"scale"})],
        "unlabeled_weight": [Interval(Real, 0, None, closed="neither")],
        **DEVICE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
        alpha: float | str = "scale",
        unlabeled_weight: float = 1.0,
        balance: Any = "labels",
        balance_tol: float | None = 0.1,
        solver: str = "local_search",
        solver_params: dict[str, Any] | None = None,
        n_init: int = 10,
        n_components: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.unlabeled_weight = unlabeled_weight
        self.balance = balance
        self.balance_tol = balance_tol
        self.solver = solver
        self.solver_params = solver_params
        self.n_init = n_init
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Label the unlabelled rows and fit the model of that labelling.

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
        X, labels = self._validate(X, y)
        rng = check_random_state(self.random_state)
        rows = self._represent(X, self.gamma, rng)
        self.classes_ = labels.classes
        self.balance_ = class_shares(self.balance, labels)
        self.alpha_ = scaled_alpha(rows) if self.alpha == "scale" else float(self.alpha)
        problem = self._problem(
            rows,
            labels,
            self.balance_,
            alpha=self.alpha_,
            unlabeled_weight=self.unlabeled_weight,
        )
        result = solve(
            problem,
            self.solver,
            n_init=self.n_init,
            random_state=rng,
            n_jobs=self.n_jobs,
            device=backend_for(self),
            **self._options(labels),
        )
        self.result_ = result
        self.objective_ = result.objective
        sizes = np.column_stack([problem.lower, problem.upper])
        self.class_sizes_ = sizes[: labels.classes.size]
        self.transduction_ = labels.classes[result.y]
        model: Any = problem.model(result.y)
        self._warn_contradiction(rows.matrix @ model, labels)
        self._keep_model(X, rows, model)
        free = np.flatnonzero(labels.codes == UNLABELED)
        self._known = KnownRows(X[free])
        self._seen_codes = self._known.first(result.y[free])
        return self

    def _warn_contradiction(self, outputs: NDArray[Any], labels: Labels) -> None:
        """Warn if the model contradicts the labels of many of its own rows."""
        predicted = decide(as_decision(outputs), labels.classes)
        wrong = (predicted != self.transduction_)[labels.codes == UNLABELED]
        share = wrong.mean() if wrong.size else 0.0
        if share > CONTRADICTION:
            warnings.warn(
                f"The model contradicts its own labelling on {share:.0%} of the "
                "unlabelled rows, so do not trust it on new ones: "
                f"alpha={self.alpha_:.3g} is too large, or no function of this "
                "kernel, which has no intercept, can divide the rows in the shares "
                "asked for. Try a smaller alpha, another kernel or another balance.",
                UserWarning,
                stacklevel=4,
            )

    def _options(self, labels: Labels) -> dict[str, Any]:
        """Check `solver_params`, and turn a start into class indices."""
        options = {"start": "supervised", **self._solver_params()}
        if isinstance(options["start"], str):
            return options
        given = label_array(options["start"]).tolist()
        index = {c: code for code, c in enumerate(labels.classes.tolist())}
        if len(given) != labels.codes.size or not set(given) <= set(index):
            raise ValueError(
                f"start must name one of the classes {labels.classes.tolist()} for "
                f"each of the {labels.codes.size} rows."
            )
        return {**options, "start": np.array([index[c] for c in given])}

    def _decision(self, X: Any) -> NDArray[Any]:
        return as_decision(self._as_found(X, self._outputs(X)))

    def _as_found(self, X: Any, outputs: NDArray[Any]) -> NDArray[Any]:
        """Move rows of `fit` whose class the class sizes decided just to their side."""
        found = self._known.find(X)
        seen = np.flatnonzero(found >= 0)
        codes = self._seen_codes[found[seen]]
        index = np.arange(self.classes_.size)
        wrong = decide(as_decision(outputs[seen]), index) != codes
        seen, codes = seen[wrong], codes[wrong]
        if outputs.shape[1] == 1:
            tiny = np.finfo(outputs.dtype).tiny
            outputs[seen, 0] = np.where(codes == 1, tiny, -tiny)
        else:
            outputs[seen, codes] = np.nextafter(outputs[seen].max(axis=1), np.inf)
        return outputs


def scaled_alpha(rows: KernelRows) -> float:
    """Return alpha="scale" as a number.

    Parameters
    ----------
    rows : KernelRows
        The training rows.

    Returns
    -------
    alpha : float
        A share of their spread in feature space or, if rounding errors are as large, of
        their mean squared length.
    """
    spread, size = rows.spread, rows.mean_square
    if spread <= 1e3 * np.finfo(rows.matrix.dtype).eps * abs(size):  # all equal
        spread = size if size > 0 else 1.0
    return ALPHA_SHARE * spread
