"""Slow twins of penalised least squares, and partial least squares as it is written."""

# SPDX-License-Identifier: BSD-3-Clause

import math

import numpy as np


def bisect(function, low, high):
    """Root of an increasing function, to the last bit."""
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return middle
        if function(middle) < 0:
            low = middle
        else:
            high = middle


def bridge_penalty(b, gamma):
    return abs(b) ** gamma


def bridge_slope(t, gamma):
    """Derivative at t > 0."""
    return gamma * t ** (gamma - 1)


def berhu_penalty(b, delta):
    return abs(b) if abs(b) < delta else (b * b + delta * delta) / (2 * delta)


def berhu_slope(t, delta):
    return 1.0 if t < delta else t / delta


def scalar_minimizer(q, a, lam, slope):
    """Minimise a b^2 / 2 - q b + lam penalty(b): the root of the derivative at |b|."""
    size = abs(q)
    if a == 0 or size <= lam * slope(1e-300):
        return 0.0
    root = bisect(lambda t: a * t + lam * slope(t) - size, 0.0, size / a)
    return math.copysign(root, q)


def coordinate_descent(X, y, lam, slope, cycles):
    """One coefficient after the other, with the residual computed anew each time."""
    coef = [0.0] * X.shape[1]
    for _ in range(cycles):
        for j in range(X.shape[1]):
            x = X[:, j]
            partial = y - X @ np.array(coef) + x * coef[j]
            coef[j] = scalar_minimizer(float(x @ partial), float(x @ x), lam, slope)
    return np.array(coef)


def group_minimizer(G, q, lam):
    """Minimise b'Gb / 2 - q'b + lam ||b||: (G + lam / length) b = q has that length."""
    if np.linalg.norm(q) <= lam:
        return np.zeros_like(q)

    def coefficients(length):
        return np.linalg.solve(G * length + lam * np.eye(q.size), q) * length

    high = 1.0
    while np.linalg.norm(coefficients(high)) > high:
        high *= 2
    return coefficients(
        bisect(lambda t: t - np.linalg.norm(coefficients(t)), 0.0, high)
    )


def group_descent(X, y, groups, lam, cycles):
    """One group after the other, with the residual computed anew each time."""
    coef = np.zeros(X.shape[1])
    for _ in range(cycles):
        for name in sorted(set(groups)):
            inside = np.array([g == name for g in groups])
            Xg = X[:, inside]
            partial = y - X @ coef + Xg @ coef[inside]
            weight = lam * math.sqrt(inside.sum())
            coef[inside] = group_minimizer(Xg.T @ Xg, Xg.T @ partial, weight)
    return coef


def pls_nipals(X, Y, n_components, tol=1e-14, max_iter=100_000):
    """Algorithm 6.14, corrected: normalised weights, B from the original matrices."""
    X0, Y0 = X - X.mean(axis=0), Y - Y.mean(axis=0)
    X, Y = X0.copy(), Y0.copy()
    columns = {name: [] for name in "WTPCU"}
    for _ in range(n_components):
        u = Y[:, np.argmax(np.linalg.norm(Y, axis=0))]
        t = np.zeros(X.shape[0])
        for _ in range(max_iter):
            w = X.T @ u
            w /= np.linalg.norm(w)
            old, t = t, X @ w
            c = Y.T @ t / (t @ t)
            u = Y @ c / (c @ c)
            if np.linalg.norm(t - old) <= tol * np.linalg.norm(t):
                break
        p = X.T @ t / (t @ t)
        b = u @ t / (t @ t)
        for name, column in zip("WTPCU", (w, t, p, b * c, u), strict=True):
            columns[name].append(column)
        X = X - np.outer(t, p)
        Y = Y - b * np.outer(t, c)
    W, T, P, C, U = (np.array(columns[name]).T for name in "WTPCU")
    B = X0.T @ U @ np.linalg.inv(T.T @ X0 @ X0.T @ U) @ T.T @ Y0
    return W, T, P, C, B
