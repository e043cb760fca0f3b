"""Slow twins of the solvers of support vector machines."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np


def hinge_sweep(Q, offset, order, kinks, lower, upper, a):
    """Best value of one coefficient after the other, among all candidates."""
    a = a.copy()
    for i in order:
        rest = Q[i] @ a - Q[i, i] * a[i] + offset

        def value(v, i=i, rest=rest):
            return 0.5 * Q[i, i] * v**2 + rest * v + abs(v - kinks[i])

        # The minimum is at a bound, at the kink, or where one of the two slopes is 0.
        inner = [kinks[i], (1 - rest) / Q[i, i], (-1 - rest) / Q[i, i]]
        candidates = [lower[i], upper[i], *np.clip(inner, lower[i], upper[i])]
        a[i] = min(candidates, key=value)
    return a


def ramp_objective(X, signs, w, C, weight, share, ramp):
    """Return the objective of a transductive SVM at given weights of the features."""
    free = signs == 0
    f = (X - X[free].mean(axis=0)) @ w + 2 * share - 1

    def R(z):
        return np.minimum(1 - ramp, np.maximum(0, 1 - z))

    hinges = np.maximum(0, 1 - signs[~free] * f[~free]).sum()
    return 0.5 * w @ w + C * hinges + weight * (R(f[free]) + R(-f[free])).sum()
