"""Alternating structure optimisation: what the linear rules of many tasks share."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fewlabels._classifier import as_decision
from fewlabels._labels import UNLABELED, decide, signed_targets
from fewlabels._linalg import thin_svd
from fewlabels._sklearn import Interval, fit_context, validate_data
from fewlabels.transfer._domains import DomainClassifier

# Steps for the rules in a round, before the subspace is changed.
INNER_STEPS = 50

# Up to so many operations, decompositions find the rules to all digits.
NEWTON_COST = 10_000_000


def modified_huber_loss(margin: ArrayLike) -> NDArray[np.float64]:
    r"""Evaluate a smooth loss that grows only linearly for rows far on the wrong side.

    .. math::
        L(m) = \begin{cases} \max(0, 1 - m)^2 & m \ge -1 \\ -4 m & m < -1 \end{cases}

    Parameters
    ----------
    margin : array-like
        The outputs times the labels in {-1, +1}.

    Returns
    -------
    loss : ndarray
        The loss of every entry.

    See Also
    --------
    sklearn.linear_model.SGDClassifier : Has the same loss, as "modified_huber".

    Examples
    --------
    >>> from fewlabels.transfer import modified_huber_loss
    >>> modified_huber_loss([2.0, 0.0, -1.0, -2.0])
    array([0., 1., 4., 8.])
    """
    m = np.asarray(margin, dtype=np.float64)
    return np.where(m >= -1, np.maximum(0, 1 - m) ** 2, -4 * m)


def _slope(margin: NDArray[Any]) -> NDArray[Any]:
    """Differentiate the loss."""
    return np.where(margin >= -1, -2 * np.maximum(0, 1 - margin), -4.0)


def _unshared(U: NDArray[Any], theta: NDArray[Any] | None) -> NDArray[Any]:
    """Leave out the part of rules that lies in the shared subspace."""
    return U if theta is None else U - theta.T @ (theta @ U)


def fit_huber(
    X: Any,
    Y: NDArray[Any],
    alpha: float,
    *,
    theta: NDArray[Any] | None = None,
    start: tuple[NDArray[Any], NDArray[Any]] | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    warn: bool = True,
) -> tuple[NDArray[Any], NDArray[Any]]:
    r"""Learn a linear rule for every column of Y.

    It minimises the mean of :func:`modified_huber_loss` plus
    :math:`\alpha \|u - \Theta^\top \Theta u\|^2` over the rule u and its bias: in small
    problems by Newton's method, to all digits, and in large ones by L-BFGS.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Rows.
    Y : ndarray of shape (n_samples, n_tasks)
        Labels in {-1, +1}, a column for every task.
    alpha : float
        Regularisation.
    theta : ndarray of shape (n_components, n_features), default=None
        Orthonormal rows :math:`\Theta` that span what costs nothing; None for nothing.
    start : tuple of ndarray, default=None
        Coefficients and intercepts to start from.
    fit_intercept : bool, default=True
        Whether every task has a bias without regularisation.
    tol : float, default=1e-6
        Largest entry of the gradient at which to stop L-BFGS.
    max_iter : int, default=1000
        Largest number of steps.
    warn : bool, default=True
        Whether to warn if these did not suffice. If L-BFGS failed, it warns anyway.

    Returns
    -------
    coef : ndarray of shape (n_features, n_tasks)
        The minimisers u.
    intercept : ndarray of shape (n_tasks,)
        The biases.
    """
    n, k, p = X.shape[0], Y.shape[1], X.shape[1]
    U, b = (np.zeros((p, k)), np.zeros(k)) if start is None else start
    if (n + p) * (p + 1) ** 2 <= NEWTON_COST:
        return _newton_rules(
            X.toarray() if sparse.issparse(X) else X,
            Y,
            alpha,
            _unshared(np.eye(p), theta),
            np.vstack([U, b]),
            fit_intercept,
            max_iter,
            warn,
        )

    def value_and_gradient(z: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        U, b = z[: p * k].reshape(p, k), z[p * k :]
        margin = Y * (X @ U + b if fit_intercept else X @ U)
        G = Y * _slope(margin) / n
        own = _unshared(U, theta)
        value = modified_huber_loss(margin).sum() / n + alpha * np.sum(own**2)
        gradient = X.T @ G + 2 * alpha * own
        bias = G.sum(axis=0) if fit_intercept else np.empty(0)
        return value, np.concatenate([gradient.ravel(), bias])

    z = np.concatenate([U.ravel(), b if fit_intercept else np.empty(0)])
    # The tasks do not depend on each other; together they share the products with X.
    result = minimize(
        value_and_gradient,
        z,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "gtol": tol, "ftol": 0, "maxfun": 10 * max_iter},
    )
    out_of_steps = result.status == 1
    if (warn or not out_of_steps) and np.abs(result.jac).max(initial=0) > 100 * tol:
        warnings.warn(
            f"The linear rules did not converge in {result.nit} steps of L-BFGS: scale "
            "the features, or raise alpha.",
            ConvergenceWarning,
            stacklevel=3,
        )
    b = result.x[p * k :] if fit_intercept else np.zeros(k)
    return result.x[: p * k].reshape(p, k), b


def _newton_rules(
    X: NDArray[Any],
    Y: NDArray[Any],
    alpha: float,
    own: NDArray[Any],
    start: NDArray[Any],
    fit_intercept: bool,
    max_iter: int,
    warn: bool,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Learn the rules one by one; `own` projects on what costs something."""
    n, p = X.shape
    rows = np.column_stack([X, np.ones(n)]) if fit_intercept else X
    penalty = np.zeros((p, rows.shape[1]))
    penalty[:, :p] = np.sqrt(alpha) * own
    rules = start[: rows.shape[1]].copy()
    finished = True
    for task in range(Y.shape[1]):
        rules[:, task], done = _newton_rule(
            rows * Y[:, [task]], penalty, rules[:, task], max_iter
        )
        finished &= done
    if warn and not finished:
        warnings.warn(
            f"The linear rules did not converge in {max_iter} steps of Newton's "
            "method: scale the features, or raise alpha.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return rules[:p], rules[p] if fit_intercept else np.zeros(Y.shape[1])


def _newton_rule(
    A: NDArray[Any], penalty: NDArray[Any], z: NDArray[Any], max_iter: int
) -> tuple[NDArray[Any], bool]:
    """Minimise the mean loss of the margins A z plus the squared norm of penalty z.

    Piece by piece this is a quadratic: each step goes towards the least point of the
    piece at hand, and ends where that point lies in its own piece.
    """
    n = A.shape[0]
    eps = float(np.finfo(np.float64).eps)
    for _ in range(max_iter):
        margin = A @ z
        # Rows at the end of a piece may belong to the next: far ones take no step else.
        rounding = 64 * eps * (np.abs(A) @ np.abs(z) + 1)
        for slack in (0.0, rounding, -rounding):
            linear = margin < -1 - slack
            curved = (margin < 1 + slack) & ~linear
            target, flat = _least_point(
                np.vstack([A[curved], np.sqrt(n) * penalty]),
                int(np.count_nonzero(curved)),
                2 * A[linear].sum(axis=0),
                z,
            )
            step = target - z if flat is None else flat
            length = _line_search(margin, A @ step, penalty @ z, penalty @ step)
            if np.abs(length * step).max() > 4 * eps * np.abs(z).max():
                break
        else:
            return z, True
        z = target if length == 1 and flat is None else z + length * step
    return z, False


def _least_point(
    M: NDArray[Any], n_ones: int, pull: NDArray[Any], z: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Least point of |r - M z|^2 - 2 pull z, where r begins with ones and has zeros.

    Where M does not settle it, the nearest such point to z; where there is none, also
    a direction in which the value falls for ever.
    """
    # Far rows first, with pivoting: the digits of the others are not lost beside them.
    order = np.argsort(-linalg.norm(M, axis=1), kind="stable")
    r = (order < n_ones).astype(np.float64)
    Q, R, columns = linalg.qr(M[order], mode="economic", pivoting=True)
    size = np.abs(R.diagonal())
    target = np.empty_like(z)
    if size.size == z.size and size[-1] > max(M.shape) * np.finfo(float).eps * size[0]:
        half = linalg.solve_triangular(R, pull[columns], trans="T")
        target[columns] = linalg.solve_triangular(R, Q.T @ r + half)
        return target, None
    U, s, Vt = thin_svd(M[order])
    flat = pull - Vt.T @ (Vt @ pull)
    if linalg.norm(flat) > 1e-12 * linalg.norm(pull):
        return z, flat
    target = Vt.T @ ((U.T @ r + (Vt @ pull) / s) / s)
    return target + z - Vt.T @ (Vt @ z), None


def _line_search(
    margin: NDArray[Any], turn: NDArray[Any], cost: NDArray[Any], pull: NDArray[Any]
) -> float:
    """Find how far along a step the objective is least; 0 where it rises at once."""

    def rise(t: float) -> float:
        return float(
            _slope(margin + t * turn) @ turn / margin.size
            + 2 * (cost + t * pull) @ pull
        )

    first, last = rise(0.0), rise(1.0)
    if first >= 0:
        return 0.0
    if abs(last) <= 1e-9 * -first:  # a full step within one piece
        return 1.0
    # The slope is linear between the places where a margin leaves its piece.
    moving = turn != 0
    ends = np.concatenate([(e - margin[moving]) / turn[moving] for e in (-1.0, 1.0)])
    ends = np.unique(ends[ends > 0])
    low, high = -1, ends.size  # before the first, behind the last
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rise(ends[middle]) < 0 else (low, middle)
    left = 0.0 if low < 0 else float(ends[low])
    right = float(ends[high]) if high < ends.size else 2 * left + 1.0
    before, after = rise(left), rise(right)
    return left + (right - left) * before / (before - after) if after > before else left


class ASOSolution(NamedTuple):
    """Linear rules that share a subspace, see :func:`alternating_structure`.

    Attributes
    ----------
    theta : ndarray of shape (n_components, n_features)
        Orthonormal rows that span what the tasks share.
    coefs : list of ndarray of shape (n_features, n_tasks)
        The rules u of every group of tasks, as columns.
    intercepts : list of ndarray of shape (n_tasks,)
        Their biases.
    objective : ndarray of shape (2 * n_iter,)
        The joint objective after each half-step.
    converged : bool
        Whether the objective came to rest.
    """

    theta: NDArray[np.float64]
    coefs: list[NDArray[np.float64]]
    intercepts: list[NDArray[np.float64]]
    objective: NDArray[np.float64]
    converged: bool


def alternating_structure(
    tasks: Sequence[tuple[Any, NDArray[Any]]],
    n_components: int,
    *,
    alpha: float = 1e-2,
    fit_intercept: bool = True,
    tol: float = 1e-3,
    max_iter: int = 2,
) -> ASOSolution:
    r"""Learn linear rules of many tasks, and the subspace that they share.

    With :math:`u_l` the rule of task l and :math:`\Theta \Theta^\top = I`, it lowers

    .. math::
        \sum_l \Big[ \frac{1}{n_l} \sum_i L(y_i (u_l^\top x_i + b_l))
        + \alpha \| u_l - \Theta^\top v_l \|^2 \Big]

    over all :math:`u_l, b_l, v_l` and :math:`\Theta`, where L is
    :func:`modified_huber_loss`. Two half-steps alternate: the rules for a given
    subspace, with the best :math:`v_l = \Theta u_l`, and the subspace for given rules,
    which is spanned by the leading left singular vectors of :math:`[u_1, u_2, \ldots]`.
    Neither raises the objective. Holding :math:`v_l` fixed while the rules are learned,
    as the paper does, leads to the same result in many more rounds.

    Parameters
    ----------
    tasks : sequence of tuple (X, Y)
        Groups of tasks on the same rows: X of shape (n_l, n_features), and Y of shape
        (n_l, n_tasks) with entries in {-1, +1}, a column for every task.
    n_components : int
        Dimension h of the shared subspace; 0 for independent rules.
    alpha : float, default=1e-2
        Regularisation of what is not shared.
    fit_intercept : bool, default=True
        Whether every task has a bias.
    tol : float, default=1e-3
        Stop when the objective falls by no more than this share.
    max_iter : int, default=2
        Largest number of rounds of two half-steps.

    Returns
    -------
    solution : ASOSolution
        The rules, the subspace and the course of the objective.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import alternating_structure
    >>> rng = np.random.default_rng(0)
    >>> shared = np.array([1.0, -1.0, 0.0, 0.0])
    >>> tasks = []
    >>> for _ in range(3):
    ...     X = rng.normal(size=(50, 4))
    ...     tasks.append((X, np.sign(X @ shared)[:, None]))
    >>> solution = alternating_structure(tasks, 1)
    >>> cosine = solution.theta @ shared / np.linalg.norm(shared)
    >>> bool(abs(cosine.item()) > 0.99)
    True
    """
    p = tasks[0][0].shape[1]
    theta = np.zeros((n_components, p))
    coefs = [np.zeros((p, Y.shape[1])) for _, Y in tasks]
    biases = [np.zeros(Y.shape[1]) for _, Y in tasks]
    course: list[float] = []

    def objective() -> float:
        total = 0.0
        for (X, Y), U, b in zip(tasks, coefs, biases, strict=True):
            losses = modified_huber_loss(Y * (X @ U + b))
            own = _unshared(U, theta)
            total += losses.sum() / X.shape[0] + alpha * np.sum(own**2)
        return float(total)

    converged = False
    for _ in range(max_iter):
        for g, (X, Y) in enumerate(tasks):
            coefs[g], biases[g] = fit_huber(
                X,
                Y,
                alpha,
                theta=theta,
                start=(coefs[g], biases[g]),
                fit_intercept=fit_intercept,
                # Some steps lower the objective; the next round goes on from there.
                max_iter=INNER_STEPS if n_components else 1000,
                warn=n_components == 0,
            )
        course.append(objective())
        left = linalg.svd(np.hstack(coefs), full_matrices=False)[0]
        theta = left[:, :n_components].T
        course.append(objective())
        settled = len(course) > 2 and course[-3] - course[-1] <= tol * course[-3]
        if n_components == 0 or settled:
            converged = True
            break
    return ASOSolution(theta, coefs, biases, np.array(course), converged)


class ASOClassifier(DomainClassifier):
    """Linear classifiers of several domains that share a subspace.

    Every domain has its own linear rules, one for each class (a single one for two).
    All of them together are the tasks of alternating structure optimisation, see
    :func:`alternating_structure`: the part of a rule in the shared subspace costs
    nothing, so that few labels of the target suffice where its rules lie near the
    subspace that the source has shown. Domains may have several numbers in
    `sample_domain`, and each is a group of tasks.

    Parameters
    ----------
    n_components : int, default=None
        Dimension h of the shared subspace, at most the number of tasks minus one. None
        takes the number of classes minus one, which the rules of one domain span about.
    alpha : float, default=1e-2
        Regularisation of what is not shared.
    fit_intercept : bool, default=True
        Whether every rule has a bias.
    tol : float, default=1e-3
        Stop when the objective falls by no more than this share.
    max_iter : int, default=2
        Largest number of rounds. Nothing limits the rules within the subspace, which
        turns to where it fits the labels best: stopping early keeps it general. The
        authors report that the first round or two bring most of the gain.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    theta_ : ndarray of shape (n_components, n_features)
        Orthonormal rows that span the shared subspace.
    n_components_ : int
        Its dimension.
    coef_ : dict of ndarray of shape (n_features, n_targets)
        The rules of every domain; n_targets = 1 for up to two classes.
    intercept_ : dict of ndarray of shape (n_targets,)
        Their biases.
    objective_ : ndarray
        The joint objective after each half-step.
    domains_ : ndarray of int
        The domains seen in fit.
    n_iter_ : int
        Number of rounds.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    References
    ----------
    .. [1] R. K. Ando and T. Zhang, "A framework for learning predictive structures from
       multiple tasks and unlabeled data", Journal of Machine Learning Research 6
       (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import ASOClassifier, stack_domains
    >>> rng = np.random.default_rng(0)
    >>> rule = rng.normal(size=20)
    >>> X_source, X_target = rng.normal(size=(300, 20)), rng.normal(size=(100, 20))
    >>> y_source, y_target = (X_source @ rule > 0) * 1, (X_target @ rule > 0) * 1
    >>> few = np.where(np.arange(100) < 10, y_target, -1)
    >>> X, y, sample_domain = stack_domains(X_source, y_source, X_target, few)
    >>> model = ASOClassifier(1).fit(X, y, sample_domain=sample_domain)
    >>> alone = ASOClassifier(1).fit(X_target[:10], y_target[:10])
    >>> score, baseline = (m.score(X_target, y_target) for m in (model, alone))
    >>> bool(score > baseline + 0.1)
    True
    """

    __metadata_request__predict: ClassVar[dict[str, Any]] = {"sample_domain": True}
    __metadata_request__decision_function: ClassVar[dict[str, Any]] = {
        "sample_domain": True
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 0, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1e-2,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 2,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, *, sample_domain: ArrayLike | None = None
    ) -> Self:
        """Learn the rules of all domains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of all domains.
        y : array-like of shape (n_samples,)
            Labels, some of which may be missing; every target domain needs some.
        sample_domain : array-like of int of shape (n_samples,), default=None
            Positive for source domains, negative for target domains; None if all rows
            are of the target.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels, domains = self._begin(X, y, sample_domain)
        self._labeled_target(labels, domains)
        known = labels.codes != UNLABELED
        names = np.unique(domains[known]).tolist()
        without = set(self.domains_[self.domains_ < 0].tolist()) - set(names)
        if without:
            raise ValueError(
                f"Target domains {sorted(without)} have no labelled row: label some, "
                "or leave these domains out."
            )
        tasks = []
        for name in names:
            rows = np.flatnonzero(known & (domains == name))
            Y = signed_targets(labels.codes[rows], labels.classes.size)
            tasks.append((X[rows], Y))
        n_tasks = len(tasks) * tasks[0][1].shape[1]
        wanted = self.n_components
        if wanted is None:
            wanted = max(labels.classes.size - 1, 1)
        self.n_components_ = min(wanted, n_tasks - 1, X.shape[1])
        solution = alternating_structure(
            tasks,
            self.n_components_,
            alpha=self.alpha,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.theta_ = solution.theta
        self.coef_ = dict(zip(names, solution.coefs, strict=True))
        self.intercept_ = dict(zip(names, solution.intercepts, strict=True))
        self.objective_ = solution.objective
        self.n_iter_ = solution.objective.size // 2
        self.transduction_ = labels.classes[labels.codes]
        holes = np.flatnonzero(~known)
        # Without a label in a source domain there is no rule of its own.
        holes_domains = np.where(
            np.isin(domains[holes], names), domains[holes], min(names)
        )
        if holes.size:
            outputs = self._outputs(X[holes], holes_domains)
            self.transduction_[holes] = decide(outputs, self.classes_)
        return self

    def _outputs(self, X: Any, domains: NDArray[np.intp]) -> NDArray[Any]:
        first = next(iter(self.coef_.values()))
        outputs = np.empty((X.shape[0], first.shape[1]))
        for name in np.unique(domains).tolist():
            if name not in self.coef_:
                raise ValueError(
                    f"sample_domain holds {name}, but there are rules for "
                    f"{sorted(self.coef_)} only."
                )
            rows = np.flatnonzero(domains == name)
            outputs[rows] = X[rows] @ self.coef_[name] + self.intercept_[name]
        return as_decision(outputs)

    def decision_function(
        self, X: Any, sample_domain: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Compute the outputs of the rules of the domain of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        sample_domain : array-like of int of shape (n_samples,), default=None
            Their domains; None for the target domain of fit.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For up to two classes one value per row, positive for `classes_[1]`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._checks)
        return self._outputs(X, self._query_domains(sample_domain, X))

    def predict(self, X: Any, sample_domain: ArrayLike | None = None) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        sample_domain : array-like of int of shape (n_samples,), default=None
            Their domains; None for the target domain of fit.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes.
        """
        return decide(self.decision_function(X, sample_domain), self.classes_)
