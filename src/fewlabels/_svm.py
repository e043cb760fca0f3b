"""The dual of a support vector machine, by scikit-learn's libsvm."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

# libsvm can iterate for hours on unscaled rows without converging.
MAX_SVM_ITER = 10_000_000


class SVMDual(NamedTuple):
    r"""Solution of the dual problem of a support vector machine.

    Attributes
    ----------
    dual_coef : ndarray of shape (n_samples,)
        The coefficients :math:`\beta = \alpha \circ y`.
    intercept : float
        The bias.
    value : float
        The largest :math:`1^\top \alpha - \frac12 \beta^\top K \beta`.
    """

    dual_coef: NDArray[np.float64]
    intercept: float
    value: float


def centered_kernel(K: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Kernel matrix centred in feature space, and its row means."""
    K = np.asarray(K, dtype=np.float64)
    means = K.mean(axis=1)
    return K - means - (means - means.mean())[:, None], means


def svm_dual(
    K: NDArray[Any], y: NDArray[Any], C: float, *, tol: float = 1e-6
) -> SVMDual:
    """Solve the dual of a support vector machine with scikit-learn's SVC.

    libsvm holds kernels in single precision, which has too few digits for rows far from
    the origin. Since the intercept is free, the kernel may be centred.
    """
    beta = np.zeros(y.size)
    if np.ptp(y) == 0:  # nothing to separate
        return SVMDual(beta, float(y[0]), 0.0)
    K, means = centered_kernel(K)
    machine = SVC(C=C, kernel="precomputed", tol=tol, max_iter=MAX_SVM_ITER).fit(K, y)
    beta[machine.support_] = machine.dual_coef_[0]
    value = np.abs(beta).sum() - 0.5 * beta @ K @ beta
    # The coefficients sum to zero, so centring only changes a constant.
    intercept = float(machine.intercept_[0] - beta @ means)
    return SVMDual(beta, intercept, float(value))
