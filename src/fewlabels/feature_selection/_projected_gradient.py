"""Spectral projected gradient: smooth functions on simple convex sets."""

# SPDX-License-Identifier: BSD-3-Clause

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels.exceptions import warn_not_converged

Vector = NDArray[np.float64]

MIN_STEP, MAX_STEP = 1e-10, 1e10
# Share of the promised decrease that a step must bring: the usual one of Armijo's rule.
DECREASE = 1e-4


class ProjectedGradientResult(NamedTuple):
    """The result of spectral projected gradient.

    Attributes
    ----------
    x : ndarray of shape (n,)
        The point.
    value : float
        The function there.
    gradient : ndarray of shape (n,)
        Its gradient.
    violation : float
        Largest entry of the projected gradient, zero at a stationary point.
    n_iter : int
        Number of steps.
    n_evaluations : int
        How often function and gradient were computed.
    """

    x: Vector
    value: float
    gradient: Vector
    violation: float
    n_iter: int
    n_evaluations: int


def spectral_projected_gradient(
    function: Callable[[Vector], tuple[float, Vector]],
    project: Callable[[Vector], Vector],
    x0: ArrayLike,
    *,
    memory: int = 10,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> ProjectedGradientResult:
    r"""Minimise a smooth function on a convex set, given the projection on the set.

    A step goes from x towards the projection of :math:`x - \alpha \nabla f(x)` and is
    halved until the function is enough below the largest of its last values: it may
    rise now and then. With the last change u of x and the change y of the gradient, the
    length is :math:`\alpha = u^\top u / u^\top y`, by Barzilai and Borwein.

    Parameters
    ----------
    function : callable
        Returns the value and the gradient at x.
    project : callable
        Returns the nearest point of the set.
    x0 : array-like of shape (n,)
        Where to start; projected first.
    memory : int, default=10
        Number of values that a step is compared with; with 1 the function never rises.
    tol : float, default=1e-6
        Stop where no entry of :math:`P(x - \nabla f(x)) - x` is larger.
    max_iter : int, default=1000
        Largest number of steps.

    Returns
    -------
    result : ProjectedGradientResult
        The point, the value, and how stationary it is.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` was reached, or no step makes the function fall.

    References
    ----------
    .. [1] E. G. Birgin, J. M. Martínez and M. Raydan, "Nonmonotone spectral projected
       gradient methods on convex sets", SIAM J. Optim. 10 (2000).
       :doi:`10.1137/S1052623497330963`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.feature_selection import spectral_projected_gradient
    >>> target = np.array([0.5, 2.0])
    >>> result = spectral_projected_gradient(
    ...     lambda x: (float(np.sum((x - target) ** 2)), 2 * (x - target)),
    ...     lambda x: np.clip(x, 0, 1),
    ...     [0.0, 0.0],
    ... )
    >>> result.x.round(6).tolist()
    [0.5, 1.0]
    """
    x = project(np.array(x0, dtype=np.float64))
    value, gradient = function(x)
    recent = deque([value], maxlen=max(memory, 1))
    violation = _largest(project(x - gradient) - x)
    step = 1 / violation if violation > 0 else 1.0
    n_iter, n_evaluations = 0, 1
    while violation > tol and n_iter < max_iter:
        direction = project(x - min(max(step, MIN_STEP), MAX_STEP) * gradient) - x
        slope = float(gradient @ direction)
        share, bound = 1.0, max(recent)
        while True:
            new_x = x + share * direction
            new_value, new_gradient = function(new_x)
            n_evaluations += 1
            if new_value <= bound + DECREASE * share * slope or share < MIN_STEP:
                break
            share /= 2
        if share < MIN_STEP:
            break  # the promised decrease is below rounding errors
        u, y = new_x - x, new_gradient - gradient
        curvature = float(u @ y)
        step = float(u @ u) / curvature if curvature > 0 else MAX_STEP
        x, value, gradient = new_x, new_value, new_gradient
        recent.append(value)
        violation = _largest(project(x - gradient) - x)
        n_iter += 1
    if violation > tol:
        warn_not_converged(
            f"No convergence in {n_iter} steps: the projected gradient is "
            f"{violation:.2g}, which is above tol={tol:.2g}. Increase max_iter or tol."
        )
    return ProjectedGradientResult(x, value, gradient, violation, n_iter, n_evaluations)


def _largest(v: Vector) -> float:
    return float(np.abs(v).max(initial=0.0))
