"""Slow twins of fewlabels.graphs: every sum is a loop."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from fractions import Fraction

import numpy as np

from tests.reference import rational


def distance(x, z):
    return math.sqrt(sum((float(a) - float(b)) ** 2 for a, b in zip(x, z, strict=True)))


def neighbors(X, k):
    """The k nearest other rows of every row; ties go to the smaller index."""
    found = []
    for i in range(len(X)):
        others = [(distance(X[i], X[j]), j) for j in range(len(X)) if j != i]
        found.append(sorted(others)[:k])
    return found


def symmetrized(directed, symmetrize):
    n = len(directed)
    choose = {"union": max, "mutual": min, "mean": lambda a, b: (a + b) / 2}[symmetrize]
    return np.array(
        [[choose(directed[i][j], directed[j][i]) for j in range(n)] for i in range(n)]
    )


def graph_from_neighbors(distances, indices, weight, symmetrize):
    """Graph of a search, where `weight` maps one distance to one weight."""
    n = len(distances)
    directed = np.zeros((n, n))
    for i in range(n):
        for d, j in zip(distances[i], indices[i], strict=True):
            directed[i, j] = weight(float(d))
    return symmetrized(directed, symmetrize)


def ball_graph(X, radius, weight):
    n = len(X)
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j and distance(X[i], X[j]) <= radius:
                W[i, j] = weight(distance(X[i], X[j]))
    return W


def barycenter(x, Z, reg):
    """Weights of the rows of Z for x, from the optimality conditions of the problem."""
    k = len(Z)
    C = np.array([[float(a) - float(b) for a, b in zip(z, x, strict=True)] for z in Z])
    G = C @ C.T
    r = reg * (np.trace(G) if np.trace(G) > 0 else 1.0)
    A = np.zeros((k + 1, k + 1))
    A[:k, :k] = 2 * (G + r * np.eye(k))
    A[:k, k] = A[k, :k] = 1
    return np.linalg.solve(A, np.r_[np.zeros(k), 1])[:k]


def laplacian(W, kind):
    n = len(W)
    d = [sum(float(W[i, j]) for j in range(n) if j != i) for i in range(n)]
    scale = {
        "unnormalized": lambda i, j: 1.0,
        "symmetric": lambda i, j: 1 / math.sqrt(d[i]) / math.sqrt(d[j]),
        "random_walk": lambda i, j: 1 / d[i],
    }[kind]
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if d[i] > 0 and d[j] > 0:
                L[i, j] = (d[i] if i == j else -W[i, j]) * scale(i, j)
    return L


def quadratic_form(W, f, scaled=False):
    """Half the sum of w_ij (f_i - f_j)^2, of f_i / sqrt(d_i) where `scaled`."""
    n = len(W)
    if scaled:
        d = [sum(float(w) for w in row) for row in W]
        f = [f[i] / math.sqrt(d[i]) if d[i] > 0 else 0.0 for i in range(n)]
    return 0.5 * sum(
        float(W[i, j]) * (f[i] - f[j]) ** 2 for i in range(n) for j in range(n)
    )


def components(W):
    """Sets of vertices that paths join."""
    n = len(W)
    left, found = set(range(n)), []
    while left:
        front = [left.pop()]
        component = set(front)
        while front:
            i = front.pop()
            for j in list(left):
                if W[i, j] != 0 or W[j, i] != 0:
                    left.remove(j)
                    component.add(j)
                    front.append(j)
        found.append(component)
    return found


def edge_derivatives(W, f, scaled):
    """Matrix of sqrt(w/d_i) f_i - sqrt(w/d_j) f_j, without degrees unless `scaled`."""
    n = len(W)
    d = [sum(float(w) for w in row) if scaled else 1.0 for row in W]
    E = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if W[i, j] > 0:
                E[i, j] = math.sqrt(W[i, j] / d[i]) * f[i]
                E[i, j] -= math.sqrt(W[i, j] / d[j]) * f[j]
    return E


def p_dirichlet(W, f, p):
    n = len(W)
    total = 0.0
    for i in range(n):
        inner = sum(float(W[i, j]) * (f[j] - f[i]) ** 2 for j in range(n))
        total += inner ** (p / 2)
    return total / p


def matrix_function(L, h):
    """h(L) of a symmetric matrix by its eigenvectors."""
    values, U = np.linalg.eigh(L)
    return sum(
        h(v) * np.outer(u, u) for v, u in zip(np.maximum(values, 0), U.T, strict=True)
    )


def aggregate(W, strong=0.1):
    """Stars of neighbours: centres in order, then heaviest edges."""
    n = W.shape[0]
    star = [None] * n
    n_stars = 0
    for i in range(n):
        neighbours = [j for j in range(n) if W[i, j] > 0 and j != i]
        firm = [j for j in neighbours if W[i, j] >= strong * W[i].max()]
        if star[i] is None and all(star[j] is None for j in firm):
            star[i] = n_stars
            for j in neighbours:
                if star[j] is None and W[i, j] >= strong * W[j].max():
                    star[j] = n_stars
            n_stars += 1
    joined = list(star)
    for i in range(n):
        if star[i] is None:
            known = [j for j in range(n) if W[i, j] > 0 and star[j] is not None]
            heaviest = max(W[i, j] for j in known)
            joined[i] = star[next(j for j in known if W[i, j] == heaviest)]
    return joined, n_stars


def exact_laplacian(W):
    """Laplacian of the weights as they are, without rounding."""
    L = [[-Fraction(float(w)) for w in row] for row in W]
    for i, row in enumerate(L):
        row[i] = Fraction(0)
        row[i] = -sum(row)
    return L


def _times(A, B):
    return [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in B.T]
        for row in A
    ]


def harmonic(W, labeled, Y):
    """Harmonic values at all vertices of a connected graph, in exact arithmetic."""
    L = exact_laplacian(W)
    free = [i for i in range(len(W)) if i not in labeled]
    inverse = rational.inverse([[L[i][j] for j in free] for i in free])
    ties = [[-L[i][j] for j in labeled] for i in free]
    Y = np.array([[Fraction(float(v)) for v in row] for row in Y])
    F = np.zeros((len(W), Y.shape[1]), dtype=object)
    F[labeled] = Y
    if free:
        F[free] = _times(inverse, np.array(_times(ties, Y)))
    return F


def poisson(W, labeled, Y):
    """Solution of the Poisson equation on a connected graph, in exact arithmetic."""
    L = exact_laplacian(W)
    n = len(W)
    Y = np.array([[Fraction(float(v)) for v in row] for row in Y])
    B = np.full((n, Y.shape[1]), Fraction(0))
    B[labeled] = Y - Y.sum(axis=0) / len(labeled)
    u = np.full((n, Y.shape[1]), Fraction(0))  # the first vertex is at zero
    inverse = rational.inverse([row[1:] for row in L[1:]])
    u[1:] = _times(inverse, B[1:])
    degrees = np.array([L[i][i] for i in range(n)])
    return u - (degrees @ u) / degrees.sum()
