"""Loops over the vertices of a zonotope, cell by cell of an arrangement.

Every vertex of the zonotope of generators g_i belongs to a cell of the arrangement of
hyperplanes {w : g_i'w = 0}, which fixes the signs of all g_i'w. A cell has faces on
flats where d - 2 hyperplanes meet, and such a flat is a plane: the cells around it are
found by turning a direction w once around that plane, with both signs of the d - 2
pivots. In general position every flat is visited once.

Two sets of rows go through the loops: directions G, which decide what lies where, and
payloads P, which are added up, p = base + sum_i s_i P_i. The last column of P counts
points, and lower <= p[-1] <= upper is asked for; the objective is the squared norm of
the other columns. Rows of G that are parallel to a pivot have its sign (or the other
one) in all cells around, rows that are parallel to each other change together.
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels._loops import njit

# Unit vectors closer than this are the same direction. The cell of an optimal vertex
# contains all directions closer to it than the length of any generator over that of
# the vertex, so a cell as thin as this is never needed.
PARALLEL = 1e-9


@njit(cache=True, nogil=True)
def _squared_norm(p):
    total = 0.0
    for t in range(p.shape[0] - 1):  # the last column counts
        total += p[t] * p[t]
    return total


@njit(cache=True, nogil=True)
def _reachable(length, p, Q, reach):
    """Bound the squared norm of p with the pivots added, whatever their signs."""
    total = length + reach * reach
    for k in range(Q.shape[0]):
        product = 0.0
        for t in range(p.shape[0] - 1):
            product += p[t] * Q[k, t]
        total += 2.0 * abs(product)
    return total * (1.0 + 1e-12)


@njit(cache=True, nogil=True)
def _try_signs(p, Q, n_pivots, n_splits, lower, upper, best, best_p, candidate):
    """Add the pivots to p with all signs; keep the best sum within the bounds."""
    n_signs = 1
    for _ in range(1, n_pivots):
        n_signs *= 2
    for split in range(n_splits):
        share = 2.0 * split / (n_splits - 1) - 1.0 if n_splits > 1 else 0.0
        for signs in range(n_signs):
            for t in range(p.shape[0]):
                candidate[t] = p[t]
                if n_pivots > 0:
                    candidate[t] += share * Q[0, t]
                for k in range(1, n_pivots):
                    if (signs >> (k - 1)) & 1:
                        candidate[t] += Q[k, t]
                    else:
                        candidate[t] -= Q[k, t]
            count = candidate[-1]
            if count < lower - 0.5 or count > upper + 0.5:
                continue
            value = _squared_norm(candidate)
            if value > best:
                best = value
                best_p[:] = candidate
    return best


@njit(cache=True, nogil=True)
def angles(G):
    """Signs of the products with w = (1, 0), and where they change on a half turn.

    The product with w = (cos(phi), sin(phi)) changes its sign at the angle phi in
    (0, pi] that grows with the key.
    """
    m = G.shape[0]
    keys = np.empty(m)
    signs = np.empty(m)
    for i in range(m):
        # g0 cos(phi) + g1 sin(phi) vanishes where cot(phi) = -g1 / g0.
        if G[i, 0] == 0.0:
            keys[i] = np.inf
            signs[i] = 1.0 if G[i, 1] > 0 else -1.0
        else:
            keys[i] = G[i, 1] / G[i, 0]
            signs[i] = 1.0 if G[i, 0] > 0 else -1.0
    return keys, signs


@njit(cache=True, nogil=True)
def turn(signs, order, P, base, Q, n_splits, lower, upper, half, best, best_p):
    """Turn a direction around a plane and try all cells on the way.

    Row order[0] of P changes its sign first. The first pivot, with payload Q[0], is
    tried with `n_splits` shares between -1 and +1, the others with both signs. With
    `half` the second half of the turn, where all signs are opposite, is left out.
    """
    m, width = P.shape
    n_pivots = Q.shape[0]
    p = base.copy()
    candidate = np.empty(width)
    for i in range(m):
        for t in range(width):
            p[t] += signs[i] * P[i, t]
    reach = 0.0  # the pivots cannot add more than this to the length of p
    for k in range(n_pivots):
        reach += np.sqrt(_squared_norm(Q[k]))
    needed = max(np.sqrt(best) - reach, 0.0) ** 2 if best > 0 else -1.0
    direction = 1.0
    for _ in range(1 if half else 2):
        for step in range(m):
            length = _squared_norm(p)
            if length >= needed and _reachable(length, p, Q, reach) > best:
                found = _try_signs(
                    p, Q, n_pivots, n_splits, lower, upper, best, best_p, candidate
                )
                if found > best:
                    best = found
                    needed = max(np.sqrt(best) - reach, 0.0) ** 2
            i = order[step]
            twice = 2.0 * direction * signs[i]
            for t in range(width):
                p[t] -= twice * P[i, t]
        direction = -direction
    return best


@njit(cache=True, nogil=True)
def merge(G, P, tops):
    """Merge parallel rows in place; return how many are left.

    A row that points the other way is turned round before its payload is added.
    `tops` keeps the largest value of the rows that were merged.
    """
    m, d = G.shape
    keys = np.empty(m)
    for i in range(m):
        # A fixed direction without a pattern that data could share.
        total = 0.0
        for t in range(d):
            total += G[i, t] * np.sin(1.0 + 2.3 * t)
        keys[i] = abs(total)
    order = np.argsort(keys)
    leader = np.empty(m, dtype=np.intp)  # sorted position -> row that leads its group
    for position in range(m):
        i = order[position]
        leader[position] = i
        back = position - 1
        while back >= 0 and keys[i] - keys[order[back]] <= 4.0 * PARALLEL:
            j = leader[back]
            if j == order[back]:
                same, opposite = 0.0, 0.0
                for t in range(d):
                    same = max(same, abs(G[i, t] - G[j, t]))
                    opposite = max(opposite, abs(G[i, t] + G[j, t]))
                if min(same, opposite) <= PARALLEL:
                    sign = 1.0 if same <= opposite else -1.0
                    for t in range(P.shape[1]):
                        P[j, t] += sign * P[i, t]
                    tops[j] = max(tops[j], tops[i])
                    leader[position] = j
                    break
            back -= 1
    leads = np.zeros(m, dtype=np.bool_)
    for position in range(m):
        if leader[position] == order[position]:
            leads[order[position]] = True
    left = 0
    for i in range(m):
        if leads[i]:
            if left < i:
                G[left] = G[i]
                P[left] = P[i]
                tops[left] = tops[i]
            left += 1
    return left


@njit(cache=True, nogil=True)
def restrict(G, P, i, G_out, P_out, tops_out, pivot):
    """Project all rows onto the hyperplane that is orthogonal to row i.

    Rows are unit vectors before and after. Those parallel to row i vanish, and their
    payloads are added to `pivot`. `tops_out` gets the numbers of those that are left.
    """
    m, d = G.shape
    pivot[:] = P[i]
    # The Householder reflection that takes row i to the first axis.
    axis = G[i].copy()
    axis[0] += 1.0 if axis[0] >= 0 else -1.0
    scale = 0.0
    for t in range(d):
        scale += axis[t] * axis[t]
    scale = 2.0 / scale
    left = 0
    for j in range(m):
        if j == i:
            continue
        along, product = 0.0, 0.0
        for t in range(d):
            product += G[j, t] * axis[t]
            along += G[j, t] * G[i, t]
        length = 0.0
        for t in range(1, d):
            x = G[j, t] - scale * product * axis[t]
            G_out[left, t - 1] = x
            length += x * x
        length = np.sqrt(length)
        if length <= PARALLEL:
            sign = 1.0 if along > 0 else -1.0
            for t in range(P.shape[1]):
                pivot[t] += sign * P[j, t]
            continue
        for t in range(d - 1):
            G_out[left, t] /= length
        P_out[left] = P[j]
        tops_out[left] = j
        left += 1
    return left


@njit(cache=True, nogil=True)
def _span_plane(G):
    """Whether not all rows, unit vectors of two coordinates, are parallel."""
    for i in range(1, G.shape[0]):
        if abs(G[0, 0] * G[i, 1] - G[0, 1] * G[i, 0]) > PARALLEL:
            return True
    return False


@njit(cache=True, nogil=True)
def visit_flats(
    G, P, base, lower, upper, half, ordered, split, first, last, best, best_p
):
    """Visit all planes in which d - 2 hyperplanes meet.

    Return the best squared norm, the number of planes, whether the rows that were left
    spanned the dimensions that were left, throughout, and whether none were parallel.

    Only pivots from `first` to `last` are taken at the first level, so that the work
    can be shared. `ordered` takes only one order of every set of pivots; `split` also
    gives equal points, which row 0, 1, ... of P count, to both sides.
    """
    n, d = G.shape
    depth = d - 2
    width = P.shape[1]
    # Levels 0 to depth - 1, and the plane.
    Gs = np.empty((depth + 1, n * d))
    Ps = np.empty((depth + 1, n, width))
    tops = np.empty((depth + 1, n), dtype=np.intp)
    sizes = np.empty(depth + 1, dtype=np.intp)
    at = np.empty(depth + 1, dtype=np.intp)
    Q = np.empty((depth, width))
    sizes[0] = n
    at[0] = first
    n_planes = 0
    whole, general = n >= d, True
    level = 0
    while level >= 0:
        end = last if level == 0 else sizes[level]
        if at[level] >= end:
            level -= 1
            if level >= 0:
                at[level] += 1
            continue
        i = at[level]
        if level > 0 and ordered and tops[level, i] <= at[level - 1]:
            at[level] += 1
            continue
        m = sizes[level]
        if level == 0:
            G_here, P_here = G, P
        else:
            G_here = Gs[level, : m * (d - level)].reshape(m, d - level)
            P_here = Ps[level, :m]
        size = (m - 1) * (d - level - 1)
        G_next = Gs[level + 1, :size].reshape(m - 1, d - level - 1)
        left = restrict(
            G_here, P_here, i, G_next, Ps[level + 1], tops[level + 1], Q[level]
        )
        general = general and left == m - 1
        if level + 1 == depth:
            whole = whole and _span_plane(G_next[:left])
            n_splits = np.intp(P[at[0], width - 1] + 0.5) + 1 if split else 2
            keys, signs = angles(G_next[:left])
            best = turn(
                signs,
                np.argsort(keys),
                Ps[level + 1, :left],
                base,
                Q,
                n_splits,
                lower,
                upper,
                half,
                best,
                best_p,
            )
            n_planes += 1
            at[level] += 1
            continue
        left = merge(G_next[:left], Ps[level + 1, :left], tops[level + 1])
        general = general and left == m - 1
        level += 1
        whole = whole and left >= d - level
        sizes[level] = left
        at[level] = 0
    return best, n_planes, whole, general
