"""Landmarks: representative rows, chosen by leverage, k-means or at random."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from fewlabels._params import check_number
from fewlabels.kernels._functions import Kernel


def ridge_leverage_scores(
    columns: NDArray[Any],
    indices: NDArray[np.intp],
    diagonal: NDArray[Any],
    alpha: float,
) -> NDArray[Any]:
    r"""Estimate the ridge leverage scores of all rows from some columns of K.

    .. math:: \tau_i = \bigl[K (K + \alpha I)^{-1}\bigr]_{ii}

    A row with a high score is poorly explained by the others, and makes a good
    landmark. With s of n columns S, drawn uniformly, the estimate is

    .. math::
        \tilde\tau_i = \frac{1}{\alpha} \Bigl( k_{ii} - k_{iS}
        \bigl(K_{SS} + \tfrac{s}{n} \alpha I\bigr)^{-1} k_{Si} \Bigr)

    which is exact for S = all rows.

    Parameters
    ----------
    columns : ndarray of shape (n_samples, n_columns)
        The columns K[:, indices].
    indices : ndarray of shape (n_columns,)
        Which columns.
    diagonal : ndarray of shape (n_samples,)
        Diagonal of K.
    alpha : float
        The ridge :math:`\alpha > 0`.

    Returns
    -------
    scores : ndarray of shape (n_samples,)
        Numbers in [0, 1].

    References
    ----------
    .. [1] C. Musco, C. Musco, "Recursive sampling for the Nyström method", NeurIPS
       (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import ridge_leverage_scores
    >>> Z = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> K = Z @ Z.T
    >>> ridge_leverage_scores(K, np.arange(3), np.diag(K), alpha=1.0).round(3)
    array([0.333, 0.333, 0.5  ])
    """
    check_number("alpha", alpha, above=0, most=np.inf)
    n, s = columns.shape
    A = columns[indices].astype(np.float64)
    A.flat[:: s + 1] += alpha * s / n
    half = linalg.solve_triangular(
        linalg.cholesky(A, lower=True), columns.T, lower=True, check_finite=False
    )
    explained = np.einsum("ij,ij->j", half, half)
    return np.clip((diagonal - explained) / alpha, 0, 1)


def _kernel_columns(X: Any, kernel: Kernel, indices: NDArray[np.intp]) -> NDArray[Any]:
    """Columns of the kernel matrix of X, or of X itself if precomputed."""
    if kernel.is_precomputed:
        return X[:, indices]
    return kernel(X, X[indices])


def _uniform(
    X: Any, kernel: Kernel, n_landmarks: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    return rng.choice(X.shape[0], size=n_landmarks, replace=False)


def _leverage(
    X: Any, kernel: Kernel, n_landmarks: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Draw rows by their leverage scores, estimated from uniformly drawn rows."""
    n = X.shape[0]
    pilot = _uniform(X, kernel, min(2 * n_landmarks, n), rng)
    C = _kernel_columns(X, kernel, pilot)
    spectrum = linalg.eigvalsh(C[pilot].astype(np.float64)) * (n / pilot.size)
    noise = pilot.size * float(np.finfo(C.dtype).eps) * np.abs(spectrum).max()
    if spectrum[0] < -100 * noise:
        raise ValueError(
            "landmarks='leverage' needs a positive semidefinite kernel: use another "
            "kernel or landmarks='uniform'."
        )
    # A random sample covers about a quarter as many dimensions as it has rows.
    ridge = _ridge_of_dimension(np.maximum(spectrum, 0), n_landmarks / 4, noise)
    if ridge == 0:  # a kernel matrix of zeros
        return pilot[:n_landmarks]
    scores = ridge_leverage_scores(C, pilot, kernel.diagonal(X), ridge)
    scores += 1e-3 * scores.mean() + np.finfo(float).tiny  # every row keeps a chance
    p = scores / scores.sum()
    return rng.choice(n, size=n_landmarks, replace=False, p=p)


def _ridge_of_dimension(
    spectrum: NDArray[Any], dimension: float, smallest: float
) -> float:
    """Solve sum(e / (e + ridge)) = dimension for the ridge; 0 without a spectrum."""
    largest = float(np.max(spectrum, initial=0.0))
    if largest == 0:
        return 0.0

    def excess(log_ridge: float) -> float:
        return float(np.sum(spectrum / (spectrum + np.exp(log_ridge)))) - dimension

    low = np.log(10 * smallest)
    high = np.log(largest * (spectrum.size / dimension + 1))
    return float(np.exp(brentq(excess, low, high) if excess(low) > 0 else low))


def _kmeans(
    X: Any, kernel: Kernel, n_landmarks: int, rng: np.random.RandomState
) -> NDArray[Any]:
    if kernel.is_precomputed:
        raise ValueError(
            "landmarks='kmeans' needs the rows themselves; with kernel='precomputed' "
            "use landmarks='uniform' or 'leverage'."
        )
    from sklearn.cluster import KMeans  # slow to import, and rarely needed

    with warnings.catch_warnings():
        # Fewer distinct rows than clusters: the copies are merged below.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(n_landmarks, n_init=1, max_iter=20, random_state=rng).fit(X)
    return np.unique(model.cluster_centers_, axis=0)


LANDMARKS: dict[str, Callable[..., NDArray[Any]]] = {
    "uniform": _uniform,
    "kmeans": _kmeans,
    "leverage": _leverage,
}
