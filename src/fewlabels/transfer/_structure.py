"""Alternating structure optimisation: what the linear rules of many tasks share."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._classifier import as_decision
from fewlabels._labels import UNLABELED, Labels, decide, signed_targets
from fewlabels._linalg import ROUNDING, thin_svd
from fewlabels._params import usual
from fewlabels._sklearn import Interval
from fewlabels.transfer._domains import DomainClassifier
from fewlabels.transfer._huber import fit_huber, modified_huber_loss, unshared

# Steps for the rules in a round, before the subspace is changed.
INNER_STEPS = 50
# A rule with smaller outputs for all rows, where labels are -1 and +1, has learned
# nothing: it is an artefact of the solver.
NEGLIGIBLE = 1e-8


class ASOSolution(NamedTuple):
    """Linear rules that share a subspace, see :func:`alternating_structure`.

    Attributes
    ----------
    theta : ndarray of shape (n_components, n_features)
        Orthonormal rows that span what the tasks share, fewer if the rules span less.
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
        The rules, the subspace and the history of the objective.

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
            own = unshared(U, theta)
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
                # A few steps lower the objective; the next round continues from there.
                max_iter=INNER_STEPS if n_components else 1000,
                warn=n_components == 0,
            )
        course.append(objective())
        # Where rules span less, any further direction would be a rounding error, and
        # free of cost for the next rules.
        rules = [
            U * (abs(X @ U).max(axis=0) > NEGLIGIBLE)
            for (X, _), U in zip(tasks, coefs, strict=True)
        ]
        theta = thin_svd(np.hstack(rules), eps=ROUNDING)[0][:, :n_components].T
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
        takes the number of classes minus one, roughly what the rules of one domain
        span.
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
        Its dimension, which is less than asked for where the rules span less.
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
        **usual("fit_intercept", "tol", "max_iter"),
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

    def _learn(self, X: Any, labels: Labels, domains: NDArray[np.intp]) -> None:
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
        wanted = min(wanted, n_tasks - 1, X.shape[1])
        params = self.get_params() | {"n_components": wanted}
        solution = alternating_structure(tasks, **params)
        self.theta_ = solution.theta
        self.n_components_ = solution.theta.shape[0]
        self.coef_ = dict(zip(names, solution.coefs, strict=True))
        self.intercept_ = dict(zip(names, solution.intercepts, strict=True))
        self.objective_ = solution.objective
        self.n_iter_ = solution.objective.size // 2
        # Without a label in a source domain there is no rule of its own.
        domains = np.where(np.isin(domains, names), domains, min(names))
        self.transduction_ = decide(self._outputs(X, domains), self.classes_)
        self.transduction_[known] = self.classes_[labels.codes[known]]

    def _transduction(self, X: Any, labels: Labels) -> NDArray[Any]:
        """Return what `_learn` has predicted by the rules of each domain."""
        return self.transduction_

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
        X = self._validated(X)
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
