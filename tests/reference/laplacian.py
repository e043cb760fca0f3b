"""Manifold regularisation, slowly and from its definition."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from scipy import optimize
from scipy.stats import multivariate_normal


def objective(K, L, labeled, Y, loss, coef, b, alpha, graph_alpha):
    """One half of losses, norm and graph term, column by column."""
    values = []
    for k in range(Y.shape[1]):
        f = K @ coef[:, k] + b[k]
        total = 0.0
        for i, y in zip(labeled, Y[:, k], strict=True):
            if loss == "squared":
                total += (y - f[i]) ** 2
            else:
                short = max(1.0 - y * f[i], 0.0)
                total += short if loss == "hinge" else short**2
        g = f - b[k] if loss == "hinge" else f
        total += alpha * coef[:, k] @ K @ coef[:, k] + graph_alpha * g @ L @ g
        values.append(0.5 * total)
    return np.array(values)


def deformed_kernel(K, L, alpha, graph_alpha):
    """(K^-1 alpha + graph_alpha L)^-1, by inverting."""
    return np.linalg.inv(alpha * np.linalg.inv(K) + graph_alpha * L)


def squared_by_normal_equations(K, L, labeled, Y, bias, alpha, graph_alpha):
    """Outputs on all rows for the squared loss, in (alpha, b) by least squares."""
    n = len(K)
    columns = np.column_stack([K, np.ones(n)]) if bias else K
    E = np.zeros((n, n))
    E[labeled, labeled] = 1.0
    ambient = np.zeros((columns.shape[1],) * 2)
    ambient[:n, :n] = K
    A = columns.T @ (E + graph_alpha * L) @ columns + alpha * ambient
    full = np.zeros((n, Y.shape[1]))
    full[labeled] = Y
    z = np.linalg.lstsq(A, columns.T @ full, rcond=1e-13)[0]
    return columns @ z


def leave_one_label_out(K, L, labeled, Y, bias, gammas):
    """Hide every label in turn; `gammas(l)` gives both weights for l labels."""
    outputs = np.empty_like(Y)
    for i in range(len(labeled)):
        rest = np.delete(np.arange(len(labeled)), i)
        f = squared_by_normal_equations(
            K, L, labeled[rest], Y[rest], bias, *gammas(len(rest))
        )
        outputs[i] = f[labeled[i]]
    return outputs


def log_evidence(H, Y, bias):
    """Of y ~ N(b, s^2 (H + I)): best scale, b integrated out, column by column."""
    n, total = len(H), 0.0
    V = H + np.eye(n)
    # Contrasts: an orthonormal basis of what a bias cannot explain.
    C = np.linalg.svd(np.ones((1, n)))[2][1:] if bias else np.eye(n)
    for y in Y.T:
        contrast, W = C @ y, C @ V @ C.T
        m = len(contrast)

        def negative(log_scale, contrast=contrast, W=W, m=m):
            return -multivariate_normal.logpdf(
                contrast, np.zeros(m), np.exp(log_scale) * W
            )

        total -= optimize.minimize_scalar(negative, tol=1e-12).fun
    return total


def ray_minimiser(margins, rates, slope, curvature):
    """Minimise along a ray by bisection of the derivative."""

    def derivative(s):
        left = np.maximum(margins - s * rates, 0.0)
        return slope + curvature * s - np.sum(rates * left)

    if derivative(0.0) >= 0:
        return 0.0
    high = 1.0
    while derivative(high) < 0:
        high *= 2.0
    return optimize.brentq(derivative, 0.0, high, xtol=1e-14, rtol=1e-14)
