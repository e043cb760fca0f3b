"""Spectral projected gradient with any rule for the step, as the box is written."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np


def projected_gradient(function, project, x, rule, tol, max_iter):
    """Return the point and the number of steps; `rule(u, y)` is the step length."""
    values, alpha = [], 1.0
    for n_iter in range(max_iter):
        value, gradient = function(x)
        values.append(value)
        if np.abs(project(x - gradient) - x).max() <= tol:
            return x, n_iter
        direction = project(x - np.clip(alpha, 1e-10, 1e10) * gradient) - x
        share = 1.0
        while (
            function(x + share * direction)[0]
            > max(values[-10:]) + 1e-4 * share * gradient @ direction
            and share > 1e-10
        ):
            share /= 2
        u = share * direction
        y = function(x + u)[1] - gradient
        alpha = rule(u, y) if u @ y > 0 else 1e10
        x = x + u
    return x, max_iter
