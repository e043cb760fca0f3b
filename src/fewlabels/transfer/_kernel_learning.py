"""Support vector machines with a mixture of kernels, or kernels of two domains."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels._classifier import as_decision
from fewlabels._labels import Labels, signed_targets
from fewlabels._params import check_number, usual
from fewlabels._sklearn import Interval
from fewlabels._svm import centered_kernel, svm_dual
from fewlabels.exceptions import warn_not_converged
from fewlabels.kernels import Kernel, resolve_kernel
from fewlabels.transfer._domains import DomainClassifier

# Multiples of the "scale" width whose Gaussians are mixed by default; not tuned.
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)


class MKLSolution(NamedTuple):
    """A mixture of kernels and its support vector machine, see :func:`lp_norm_mkl`.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
        The weights of the kernels, with l_p-norm 1.
    dual_coef : ndarray of shape (n_samples,)
        The coefficients of the rows.
    intercept : float
        The bias.
    objective : ndarray of shape (n_iter,)
        The value of the machine in every round.
    gap : float
        The most by which the last value exceeds the minimum.
    """

    weights: NDArray[np.float64]
    dual_coef: NDArray[np.float64]
    intercept: float
    objective: NDArray[np.float64]
    gap: float


def lp_norm_mkl(
    kernels: Sequence[NDArray[Any]],
    y: NDArray[Any],
    *,
    C: float = 1.0,
    p: float = 2.0,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> MKLSolution:
    r"""Mix kernels for a support vector machine.

    It solves, with :math:`\beta = \alpha \circ y`,

    .. math::
        \min_{\theta \ge 0, \|\theta\|_p \le 1} \; \max_{0 \le \alpha \le C,
        y^\top \alpha = 0} \; 1^\top \alpha
        - \tfrac12 \sum_m \theta_m \beta^\top K_m \beta

    in alternation: a machine for given weights, and the weights for given norms
    :math:`q_m = \theta_m^2 \beta^\top K_m \beta`, which are

    .. math::
        \theta_m = q_m^{1 / (p + 1)} \Big/
        \Big( \sum_{m'} q_{m'}^{p / (p + 1)} \Big)^{1 / p}.

    For any feasible :math:`\alpha` the least value over :math:`\theta` is
    :math:`1^\top \alpha - \frac12 \|(\beta^\top K_m \beta)_m\|_{p / (p - 1)}`. This
    lower bound tells how far the solution is from the best.

    Parameters
    ----------
    kernels : sequence of ndarray of shape (n_samples, n_samples)
        Kernel matrices.
    y : ndarray of shape (n_samples,)
        Labels in {-1, +1}.
    C : float, default=1
        Cost of errors.
    p : float, default=2
        Norm of the weights, from 1, which leaves kernels out, to infinity, which adds
        all of them.
    tol : float, default=1e-3
        Stop when the value is at most this share above the lower bound.
    max_iter : int, default=100
        Largest number of rounds.

    Returns
    -------
    solution : MKLSolution
        Weights, coefficients, bias, and the history of the objective.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import lp_norm_mkl
    >>> x = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> noise = np.array([1.0, -1.0, -1.0, 1.0])
    >>> kernels = [np.outer(x, x), np.outer(noise, noise)]
    >>> lp_norm_mkl(kernels, np.sign(x), p=1.0).weights.round(2)
    array([1., 0.])
    """
    check_number("p", p, 1, np.inf)
    n_kernels = len(kernels)
    centered = [centered_kernel(kernel) for kernel in kernels]
    kernels, means = [K for K, _ in centered], [m for _, m in centered]
    theta = np.full(n_kernels, n_kernels ** (-1 / p))  # 1 for p = inf
    dual_norm = np.inf if p == 1 else 1 / (1 - 1 / p)
    values, lower = [], -np.inf
    for _ in range(max_iter):
        K = sum(weight * kernel for weight, kernel in zip(theta, kernels, strict=True))
        machine = svm_dual(np.asarray(K), y, C, tol=min(0.1 * tol, 1e-3) or 1e-6)
        beta = machine.dual_coef
        forms = np.array([max(beta @ kernel @ beta, 0.0) for kernel in kernels])
        values.append(machine.value)
        bound = np.abs(beta).sum() - 0.5 * np.linalg.norm(forms, dual_norm)
        lower = max(lower, float(bound))
        gap = machine.value - lower
        if gap <= tol * abs(machine.value) or not forms.any():
            break
        if len(values) < max_iter:
            q = theta**2 * forms
            theta = q ** (1 / (p + 1)) / np.sum(q ** (p / (p + 1))) ** (1 / p)
    intercept = machine.intercept - float(beta @ (theta @ np.array(means)))
    return MKLSolution(theta, beta, intercept, np.array(values), max(gap, 0.0))


class LpMKLClassifier(DomainClassifier):
    """Support vector machine that weighs several kernels.

    For every class against the rest (a single problem for two classes) it mixes the
    kernels by :func:`lp_norm_mkl`. Labelled rows of all domains count equally; with
    kernels that see different features, or a callable kernel, it is the tool that
    joins descriptions of the same rows.

    Parameters
    ----------
    kernels : sequence of kernels, default=None
        Each is the name of a kernel, a callable of two rows, or a
        :class:`fewlabels.kernels.Kernel` with its parameters. None takes Gaussians of
        five widths around the "scale" rule.
    p : float, default=2
        Norm of the weights: 1 leaves kernels out, infinity adds all of them.
    C : float, default=1
        Cost of errors.
    normalize : bool, default=True
        Whether to divide each kernel by its mean k(x, x) on the training rows.
        Otherwise a kernel would count less just because its numbers are small.
    tol : float, default=1e-3
        Stop when the value is at most this share above a lower bound.
    max_iter : int, default=100
        Largest number of rounds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    kernels_ : list of Kernel
        The kernels with their parameters as numbers.
    kernel_weights_ : ndarray of shape (n_kernels, n_targets)
        The weights, n_targets = 1 for up to two classes.
    kernel_scales_ : ndarray of shape (n_kernels,)
        What each kernel was divided by.
    dual_coef_ : ndarray of shape (n_labeled, n_targets)
        Coefficients of the labelled rows.
    intercept_ : ndarray of shape (n_targets,)
        The biases.
    X_fit_ : {ndarray, sparse matrix} of shape (n_labeled, n_features)
        The labelled rows.
    domains_ : ndarray of int
        The domains seen in fit.
    n_iter_ : int
        Largest number of rounds of a class.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    References
    ----------
    .. [1] M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien, "lp-norm multiple kernel
       learning", Journal of Machine Learning Research 12 (2011).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.transfer import LpMKLClassifier
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = LpMKLClassifier(["linear", "rbf"], p=1.0, C=10.0).fit(X, y)
    >>> model.kernel_weights_[:, 0].round(1)
    array([0.1, 0.9])
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernels": [list, tuple, None],
        "p": [Interval(Real, 1, None, closed="left")],
        "normalize": ["boolean"],
        **usual("C", "tol", "max_iter"),
    }

    def __init__(
        self,
        kernels: Sequence[Any] | None = None,
        *,
        p: float = 2.0,
        C: float = 1.0,
        normalize: bool = True,
        tol: float = 1e-3,
        max_iter: int = 100,
    ) -> None:
        self.kernels = kernels
        self.p = p
        self.C = C
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter

    def _learn(self, X: Any, labels: Labels, domains: NDArray[np.intp]) -> None:
        rows = labels.labeled
        self.X_fit_ = X[rows]
        self.kernels_ = self._resolved(self.X_fit_)
        matrices = [kernel(self.X_fit_) for kernel in self.kernels_]
        self.kernel_scales_ = np.ones(len(matrices))
        if self.normalize:
            means = np.array([np.abs(K.diagonal()).mean() for K in matrices])
            self.kernel_scales_ = np.where(means > 0, means, 1.0)
        matrices = [
            K / scale for K, scale in zip(matrices, self.kernel_scales_, strict=True)
        ]
        Y = signed_targets(labels.codes[rows], labels.classes.size)
        solutions = [
            lp_norm_mkl(
                matrices, t, C=self.C, p=self.p, tol=self.tol, max_iter=self.max_iter
            )
            for t in Y.T
        ]
        open_gaps = [s.gap for s in solutions if s.gap > self.tol * s.objective[-1]]
        if open_gaps:
            warn_not_converged(
                f"The weights of {len(open_gaps)} of {len(solutions)} problems did not "
                f"converge in max_iter={self.max_iter} rounds: raise max_iter or tol.",
                stacklevel=4,
            )
        self.kernel_weights_ = np.column_stack([s.weights for s in solutions])
        self.dual_coef_ = np.column_stack([s.dual_coef for s in solutions])
        self.intercept_ = np.array([s.intercept for s in solutions])
        self.n_iter_ = max(s.objective.size for s in solutions)

    def _resolved(self, X: Any) -> list[Kernel]:
        if self.kernels is not None:
            if not len(self.kernels):
                raise ValueError("kernels is empty: name at least one kernel.")
            return [resolve_kernel(X, kernel) for kernel in self.kernels]
        plain = resolve_kernel(X)
        gamma = plain.params["gamma"]
        return [replace(plain, params={"gamma": gamma / w**2}) for w in WIDTHS]

    def _decision(self, X: Any) -> NDArray[Any]:
        outputs = np.tile(self.intercept_, (X.shape[0], 1))
        for kernel, scale, weights in zip(
            self.kernels_, self.kernel_scales_, self.kernel_weights_, strict=True
        ):
            coef = self.dual_coef_ * (weights / scale)
            outputs += kernel.product(X, self.X_fit_, coef)
        return as_decision(outputs)
