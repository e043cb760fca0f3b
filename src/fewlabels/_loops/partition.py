"""Loops of the partition problem: climbing, evolution and tabu search.

The problem, for u free points and k classes with E the one-hot matrix of all points:

    maximise  S = 2 sum_c e_c' Q e_c  subject to  lo_c <= size of class c <= hi_c

Moving point i from class a to class b raises S by 4 (H[b, i] - H[a, i] + Q[i, i]),
where H = E' Q, and moving i from a to b together with j from b to a by the sum of the
two minus 8 Q[i, j]. Either the products H are kept, with Q at hand row by row (a trial
costs O(1), a move O(u)), or the products P = E' B W with a factorisation Q = B W B'
(both cost O(r)). Every loop serves both: `products` are H or P, and `dense` says which.
With a factorisation, Q holds the rows of B W if they are at hand, and is empty if a row
is computed when it is needed; see :mod:`fewlabels._loops.tridiagonal` for W.

Only differences between classes count, so H and P hold the products relative to those
of class 0, whose row stays zero: with two classes, a move changes a single row.
"""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np

from fewlabels._loops import njit
from fewlabels._loops.tridiagonal import weigh

# Candidates per class in the search for the best exchange of two points.
SWAP_CANDIDATES = 32

# Pairs of points whose exchange is evaluated to make sure that none helps.
MAX_PAIRS = 2_000_000

# Moves that one mutation may make; more than these have a probability below 1e-9.
MAX_MOVES = 12

# Attempts to draw a mutation that keeps the class sizes within their bounds.
MAX_DRAWS = 100


class Problem(NamedTuple):
    """What gains are computed from, and the bounds on the sizes of the classes."""

    dense: bool
    q: Any
    Q: Any
    B: Any
    w: Any
    lo: Any
    hi: Any
    tol: float


# The order of a sum of r products may change, which lets the compiler vectorise it.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _difference_product(x, p, s):
    total = 0.0
    for t in range(x.shape[0]):
        total += x[t] * (p[t] - s[t])
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _product(x, z):
    total = 0.0
    for t in range(x.shape[0]):
        total += x[t] * z[t]
    return total


@njit(cache=True, nogil=True, inline="always")
def move_gain(i, a, b, dense, q, B, products):
    """Return what moving i from a to b adds to S.

    Loops take the arrays out of the record before they begin: to do so for every point
    costs several times as much as the gain.
    """
    if dense:
        difference = products[b, i] - products[a, i]
    else:
        difference = _difference_product(B[i], products[b], products[a])
    return 4.0 * (difference + q[i])


@njit(cache=True, nogil=True, inline="always")
def _row(i, Q, B, w):
    """Return what a move of i changes the products by."""
    return Q[i] if Q.shape[0] > 0 else weigh(B[i], w)


@njit(cache=True, nogil=True, inline="always")
def _entry(row, j, dense, B):
    """Return an element of Q from the row of the other point."""
    return row[j] if dense else _product(row, B[j])


@njit(cache=True, nogil=True)
def _add(products, c, row, times):
    """Add a multiple of a row to the products of class c."""
    target = products[c]
    for j in range(row.shape[0]):
        target[j] += times * row[j]


@njit(cache=True, nogil=True)
def apply_move(i, b, Q, B, w, codes, sizes, products):
    """Move i to class b and bring the products up to date."""
    a = codes[i]
    row = _row(i, Q, B, w)
    if a == 0 or b == 0:  # the class that all others are relative to
        sign = 1.0 if a == 0 else -1.0
        for c in range(1, sizes.shape[0]):
            _add(products, c, row, 2.0 * sign if c == a + b else sign)
    else:
        _add(products, b, row, 1.0)
        _add(products, a, row, -1.0)
    sizes[a] -= 1
    sizes[b] += 1
    codes[i] = b


@njit(cache=True, nogil=True)
def _append(buffer, count, value):
    if count == buffer.shape[0]:
        larger = np.empty(2 * count, dtype=buffer.dtype)
        larger[:count] = buffer
        buffer = larger
    buffer[count] = value
    return buffer


@njit(cache=True, nogil=True)
def _best_movers(problem, a, b, gains, found, codes, products, tabu, now):
    """Keep the points of class a that gain most by moving to b, best first.

    Gains within `tol` of each other are equal, here and below: rounding must not
    decide between them, or it would matter how gains are computed.
    """
    dense, q, B, tol = problem.dense, problem.q, problem.B, problem.tol
    count = 0
    for i in range(codes.shape[0]):
        if codes[i] != a or tabu[i] > now:
            continue
        gain = move_gain(i, a, b, dense, q, B, products)
        if count == SWAP_CANDIDATES and gain <= gains[count - 1] + tol:
            continue
        if count < SWAP_CANDIDATES:
            count += 1
        place = count - 1
        while place > 0 and gains[place - 1] < gain - tol:
            gains[place] = gains[place - 1]
            found[place] = found[place - 1]
            place -= 1
        gains[place] = gain
        found[place] = i
    return count


@njit(cache=True, nogil=True)
def _best_swap(problem, codes, sizes, products, tabu, now):
    """Return the best exchange between two classes whose sizes block single moves.

    Only the points that gain most by moving alone are looked at.
    """
    dense, _, Q, B, w = problem[:5]
    lo, hi, tol = problem.lo, problem.hi, problem.tol
    k = sizes.shape[0]
    gains_ab = np.empty(SWAP_CANDIDATES)
    gains_ba = np.empty(SWAP_CANDIDATES)
    movers_ab = np.empty(SWAP_CANDIDATES, dtype=np.intp)
    movers_ba = np.empty(SWAP_CANDIDATES, dtype=np.intp)
    best, best_i, best_j = -np.inf, -1, -1
    for a in range(k):
        for b in range(a + 1, k):
            forward = sizes[a] > lo[a] and sizes[b] < hi[b]
            backward = sizes[b] > lo[b] and sizes[a] < hi[a]
            if forward and backward:
                continue
            n_ab = _best_movers(
                problem, a, b, gains_ab, movers_ab, codes, products, tabu, now
            )
            n_ba = _best_movers(
                problem, b, a, gains_ba, movers_ba, codes, products, tabu, now
            )
            for s in range(n_ab):
                i = movers_ab[s]
                row = _row(i, Q, B, w)
                for t in range(n_ba):
                    j = movers_ba[t]
                    gain = gains_ab[s] + gains_ba[t] - 8.0 * _entry(row, j, dense, B)
                    if gain > best + tol:
                        best, best_i, best_j = gain, i, j
    return best, best_i, best_j


@njit(cache=True, nogil=True)
def _any_swap(problem, codes, sizes, products):
    """Find an exchange that helps, or make sure that there is none.

    As |Q_ij| <= sqrt(Q_ii Q_jj), most pairs are ruled out by their single gains.
    Returns its gain, the two points (-1 if none) and whether all pairs were covered.
    """
    dense, q, Q, B, w = problem[:5]
    lo, hi, tol = problem.lo, problem.hi, problem.tol
    u = codes.shape[0]
    k = sizes.shape[0]
    gains = np.empty(u)
    roots = np.sqrt(np.maximum(q, 0.0))
    left = MAX_PAIRS
    for a in range(k):
        for b in range(a + 1, k):
            forward = sizes[a] > lo[a] and sizes[b] < hi[b]
            backward = sizes[b] > lo[b] and sizes[a] < hi[a]
            if forward and backward:
                continue
            best_gain, best_root = -np.inf, 0.0
            for i in range(u):
                if codes[i] == a:
                    gains[i] = move_gain(i, a, b, dense, q, B, products)
                elif codes[i] == b:
                    gains[i] = move_gain(i, b, a, dense, q, B, products)
                    best_gain = max(best_gain, gains[i])
                    best_root = max(best_root, roots[i])
            for i in range(u):
                if codes[i] != a:
                    continue
                if gains[i] + best_gain + 8.0 * roots[i] * best_root <= tol:
                    continue
                row = _row(i, Q, B, w)
                for j in range(u):
                    if codes[j] != b:
                        continue
                    pair = gains[i] + gains[j]
                    if pair + 8.0 * roots[i] * roots[j] <= tol:
                        continue
                    if left == 0:
                        return 0.0, -1, -1, False
                    left -= 1
                    gain = pair - 8.0 * _entry(row, j, dense, B)
                    if gain > tol:
                        return gain, i, j, True
    return 0.0, -1, -1, True


@njit(cache=True, nogil=True)
def exchange(problem, codes, sizes, products):
    """Exchange two points if that helps; return the gain, whether it did, and coverage.

    The last one says whether all pairs were tried.
    """
    _, _, Q, B, w = problem[:5]
    never = np.zeros(codes.shape[0], dtype=np.int64)
    covered = True
    best, s, t = _best_swap(problem, codes, sizes, products, never, 0)
    if best <= problem.tol:
        best, s, t, covered = _any_swap(problem, codes, sizes, products)
        if s < 0:
            return 0.0, False, covered
    a, b = codes[s], codes[t]
    apply_move(s, b, Q, B, w, codes, sizes, products)
    apply_move(t, a, Q, B, w, codes, sizes, products)
    return best, True, covered


@njit(cache=True, nogil=True)
def climb(problem, codes, sizes, products, max_trials, swaps):
    """Climb to a local optimum of S: round robin, first improvement.

    A trial takes one point and its best admissible class. After u trials without a
    change, exchanges of two points are tried where bounds on the sizes block moves.

    Returns the gains of all changes, the numbers of trials, moves and swaps, whether
    the trials ran out, and whether all exchanges were covered in the end.
    """
    dense, q, Q, B, w = problem[:5]
    lo, hi, tol = problem.lo, problem.hi, problem.tol
    u = codes.shape[0]
    k = sizes.shape[0]
    gains = np.empty(64)
    changes = trials = moves = n_swaps = 0
    exhausted = False
    covered = True
    i = 0
    while True:
        unchanged = 0
        while unchanged < u:
            if trials == max_trials:
                exhausted = True
                break
            trials += 1
            a = codes[i]
            best, target = 0.0, -1
            if sizes[a] > lo[a]:
                for b in range(k):
                    if b != a and sizes[b] < hi[b]:
                        gain = move_gain(i, a, b, dense, q, B, products)
                        if gain > best + tol:
                            best, target = gain, b
            if target >= 0:
                apply_move(i, target, Q, B, w, codes, sizes, products)
                gains = _append(gains, changes, best)
                changes += 1
                moves += 1
                unchanged = 0
            else:
                unchanged += 1
            i += 1
            if i == u:
                i = 0
        if exhausted or not swaps:
            break
        best, helped, covered = exchange(problem, codes, sizes, products)
        if not helped:
            break
        gains = _append(gains, changes, best)
        changes += 1
        n_swaps += 1
    return gains[:changes], trials, moves, n_swaps, exhausted, covered


@njit(cache=True, nogil=True)
def _draw_mutation(flip, points, targets, codes, sizes, lo, hi, marked, new_sizes, rng):
    """Draw the moves of one mutation that keeps to the bounds; return how many.

    One random point moves to a random other class (`flip`), or every point does with
    probability 1/u. Where the bounds forbid every single move, two points of different
    classes change places.
    """
    u = codes.shape[0]
    k = sizes.shape[0]
    full = 0
    movable = False
    for a in range(k):
        full += sizes[a] > 0
        for b in range(k):
            movable |= a != b and sizes[a] > lo[a] and sizes[b] < hi[b]
    for _ in range(MAX_DRAWS if movable else 0):
        count = 1 if flip else min(rng.binomial(u, 1.0 / u), MAX_MOVES)
        new_sizes[:] = sizes
        drawn = 0
        while drawn < count:
            i = rng.integers(0, u)
            if marked[i]:
                continue
            marked[i] = True
            b = rng.integers(0, k - 1) if k > 2 else 0
            if b >= codes[i]:
                b += 1
            points[drawn] = i
            targets[drawn] = b
            new_sizes[codes[i]] -= 1
            new_sizes[b] += 1
            drawn += 1
        for s in range(drawn):
            marked[points[s]] = False
        valid = drawn > 0
        for c in range(k):
            if new_sizes[c] < lo[c] or new_sizes[c] > hi[c]:
                valid = False
        if valid:
            return drawn
    for _ in range(MAX_DRAWS if full > 1 else 0):
        i = rng.integers(0, u)
        j = rng.integers(0, u)
        if codes[i] != codes[j]:
            points[0], targets[0] = i, codes[j]
            points[1], targets[1] = j, codes[i]
            return 2
    return 0


@njit(cache=True, nogil=True)
def _gain_of_moves(count, points, targets, codes, dense, q, Q, B, w, products):
    """Return what several moves at once add to S."""
    total = 0.0
    for s in range(count):
        i, b = points[s], targets[s]
        a = codes[i]
        total += move_gain(i, a, b, dense, q, B, products)
        if s == 0:
            continue
        row = _row(i, Q, B, w)
        for t in range(s):
            j, d = points[t], targets[t]
            c = codes[j]
            sign = (b == d) + (a == c) - (a == d) - (b == c)
            total += 4.0 * sign * _entry(row, j, dense, B)
    return total


@njit(cache=True, nogil=True)
def _select(merit, S, tol, children, slots):
    """Pair the best children with the worst parents they replace; return how many.

    In a tie, the parent stays.
    """
    born = 0
    for _ in range(S.shape[0]):
        child, slot = -1, -1
        for c in range(merit.shape[0]):
            used = False
            for s in range(born):
                used |= children[s] == c
            if not used and (child < 0 or merit[c] > merit[child] + tol):
                child = c
        for p in range(S.shape[0]):
            used = False
            for s in range(born):
                used |= slots[s] == p
            if not used and (slot < 0 or S[p] < S[slot] - tol):
                slot = p
        if child < 0 or slot < 0 or merit[child] <= S[slot] + tol:
            break
        children[born], slots[born] = child, slot
        born += 1
    return born


@njit(cache=True, nogil=True)
def evolve(problem, codes, sizes, products, S, nu, flip, patience, limit, rng):
    """Evolve a population of mu partitions, keeping the mu best of mu + nu.

    All arrays of state have the population as their first axis. A child counts as
    better only by more than `tol`.

    Returns the best S after every change of it, the numbers of children, of moves of
    those that survived and of exchanges among them, and whether the generations ran
    out.
    """
    dense, q, Q, B, w = problem[:5]
    lo, hi, tol = problem.lo, problem.hi, problem.tol
    mu, u = codes.shape
    marked = np.zeros(u, dtype=np.bool_)
    new_sizes = np.empty(sizes.shape[1], dtype=sizes.dtype)
    parents = np.empty(nu, dtype=np.intp)
    counts = np.empty(nu, dtype=np.intp)
    points = np.empty((nu, MAX_MOVES), dtype=np.intp)
    targets = np.empty((nu, MAX_MOVES), dtype=np.intp)
    merit = np.empty(nu)
    children = np.empty(mu, dtype=np.intp)
    slots = np.empty(mu, dtype=np.intp)
    saved_codes, saved_sizes = codes.copy(), sizes.copy()
    saved_products = products.copy()
    history = np.empty(64)
    history[0] = S.max()
    changes = 1
    generation = flips = n_swaps = idle = 0
    while generation < limit and idle < patience:
        generation += 1
        for c in range(nu):
            p = rng.integers(0, mu)
            parents[c] = p
            counts[c] = _draw_mutation(
                flip,
                points[c],
                targets[c],
                codes[p],
                sizes[p],
                lo,
                hi,
                marked,
                new_sizes,
                rng,
            )
            gain = _gain_of_moves(
                counts[c],
                points[c],
                targets[c],
                codes[p],
                dense,
                q,
                Q,
                B,
                w,
                products[p],
            )
            merit[c] = S[p] + gain if counts[c] > 0 else -np.inf
        born = _select(merit, S, tol, children, slots)
        if born == 0:
            idle += 1
            continue
        idle = 0
        # A parent may have several children, and may itself be replaced: copy first.
        for s in range(born):
            p = parents[children[s]]
            saved_codes[s], saved_sizes[s] = codes[p], sizes[p]
            saved_products[s] = products[p]
        for s in range(born):
            c, slot = children[s], slots[s]
            codes[slot], sizes[slot] = saved_codes[s], saved_sizes[s]
            products[slot] = saved_products[s]
            S[slot] = merit[c]
            flips += counts[c]
            # In this mode, two moves at once are an exchange.
            n_swaps += flip and counts[c] == 2
            for t in range(counts[c]):
                apply_move(
                    points[c, t],
                    targets[c, t],
                    Q,
                    B,
                    w,
                    codes[slot],
                    sizes[slot],
                    products[slot],
                )
        if S.max() > history[changes - 1] + tol:
            history = _append(history, changes, S.max())
            changes += 1
    return history[:changes], generation * nu, flips, n_swaps, idle < patience


@njit(cache=True, nogil=True)
def walk(problem, codes, sizes, products, S, tenure, patience, limit, rng):
    """Walk by the best move that is not forbidden, up or down, and keep the best.

    A point that moved stays for `tenure` + 0, ..., 9 steps unless moving it beats the
    best partition so far. `codes` ends as the best partition.

    Returns the best S after every change of it, the numbers of steps, moves and
    exchanges, and whether the steps ran out.
    """
    dense, q, Q, B, w = problem[:5]
    lo, hi, tol = problem.lo, problem.hi, problem.tol
    u = codes.shape[0]
    k = sizes.shape[0]
    tabu_until = np.zeros(u, dtype=np.int64)
    best_codes = codes.copy()
    best_S = S
    history = np.empty(64)
    history[0] = S
    changes = 1
    step = idle = moves = n_swaps = 0
    while step < limit and idle < patience:
        step += 1
        best, mover, target = -np.inf, -1, -1
        for i in range(u):
            a = codes[i]
            if sizes[a] <= lo[a]:
                continue
            for b in range(k):
                if b == a or sizes[b] >= hi[b]:
                    continue
                gain = move_gain(i, a, b, dense, q, B, products)
                if tabu_until[i] > step and S + gain <= best_S + tol:
                    continue
                if gain > best + tol:
                    best, mover, target = gain, i, b
        swap_gain, s, t = _best_swap(problem, codes, sizes, products, tabu_until, step)
        if mover < 0 and s < 0:
            idle += 1  # everything is forbidden: let time pass
            continue
        if swap_gain > best + tol:
            a, b = codes[s], codes[t]
            apply_move(s, b, Q, B, w, codes, sizes, products)
            apply_move(t, a, Q, B, w, codes, sizes, products)
            tabu_until[s] = step + 1 + tenure + rng.integers(0, 10)
            tabu_until[t] = step + 1 + tenure + rng.integers(0, 10)
            S += swap_gain
            moves += 2
            n_swaps += 1
        else:
            apply_move(mover, target, Q, B, w, codes, sizes, products)
            tabu_until[mover] = step + 1 + tenure + rng.integers(0, 10)
            S += best
            moves += 1
        if S > best_S + tol:
            best_S = S
            best_codes[:] = codes
            history = _append(history, changes, S)
            changes += 1
            idle = 0
        else:
            idle += 1
    codes[:] = best_codes
    return history[:changes], step, moves, n_swaps, idle < patience
