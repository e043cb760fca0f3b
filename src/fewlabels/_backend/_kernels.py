"""Kernels in Triton, which read rows as halves.

A number of float32 is the sum of two of float16, up to its last bit or two, once the
rows are scaled into the range of float16: three products of halves on the tensor cores
give what one of float32 would, at a multiple of its rate. The first halves alone are as
fine as tf32. Rows lie as (first halves, second halves), padded with zeros to whole
tiles, so that nothing is masked.
"""

# SPDX-License-Identifier: BSD-3-Clause

import triton
import triton.language as tl


@triton.jit
def _loaded(at, D: tl.constexpr, STRICT: tl.constexpr):
    """First and second halves of a tile of rows."""
    first = tl.load(at)
    second = first
    if STRICT:
        second = tl.load(at + D)
    return first, second


@triton.jit
def _added(acc, a, a2, b, b2, STRICT: tl.constexpr):
    """Add the products of rows to a tile, the small parts first."""
    if STRICT:
        acc = tl.dot(a2, tl.trans(b), acc)
        acc = tl.dot(a, tl.trans(b2), acc)
    return tl.dot(a, tl.trans(b), acc)


@triton.jit
def _products(
    a,
    a2,
    a_at,
    b_at,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    STRICT: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """Products of a tile of rows with a tile of others."""
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    if D == CHUNK:
        b, b2 = _loaded(b_at, D, STRICT)
        acc = _added(acc, a, a2, b, b2, STRICT)
    else:
        for k in range(0, D, CHUNK):
            a, a2 = _loaded(a_at + k, D, STRICT)
            b, b2 = _loaded(b_at + k, D, STRICT)
            acc = _added(acc, a, a2, b, b2, STRICT)
    return acc


@triton.jit
def _multiplied(
    total, K, V, start, unit, BN: tl.constexpr, M: tl.constexpr, STRICT: tl.constexpr
):
    """Add the product of a tile of the kernel matrix with its rows of the block."""
    c = tl.arange(0, BN)
    if M == 1:
        total += tl.sum(K * tl.load(V + start + c)[None, :], axis=1)
    else:
        STRIDE: tl.constexpr = M * (2 if STRICT else 1)
        at = V + start * STRIDE + c[:, None] * STRIDE
        v, v2 = _loaded(at + tl.arange(0, M)[None, :], M, STRICT)
        first = K.to(tl.float16)
        part = tl.zeros(total.shape, dtype=tl.float32)
        if STRICT:
            second = (K - first.to(tl.float32)).to(tl.float16)
            part = tl.dot(second, v, part)
            part = tl.dot(first, v2, part)
        part = tl.dot(first, v, part)
        # The factor keeps the sum out of the tensor cores, which cut it off.
        total += part * unit
    return total


@triton.jit
def _stored(out, total, first, part, n_rows, BM: tl.constexpr, M: tl.constexpr):
    """Write the sums of a tile of rows over a part of the columns."""
    rows = part.to(tl.int64) * n_rows + first + tl.arange(0, BM)
    if M == 1:
        tl.store(out + rows, total)
    else:
        tl.store(out + rows[:, None] * M + tl.arange(0, M)[None, :], total)


@triton.jit
def product(
    A,
    B,
    x_squares,
    y_squares,
    V,
    out,
    n_rows,
    n_columns,
    span,
    factor,
    top,
    unit,
    RBF: tl.constexpr,
    DEGREE: tl.constexpr,
    STRICT: tl.constexpr,
    FOLD: tl.constexpr,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    M: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """Product of a kernel matrix of products of rows with a block."""
    STRIDE: tl.constexpr = D * (2 if STRICT else 1)
    first = tl.program_id(0).to(tl.int64) * BM
    part = tl.program_id(1)
    r = tl.arange(0, BM)
    c = tl.arange(0, BN)
    k = tl.arange(0, CHUNK)
    a_at = A + first * STRIDE + (r[:, None] * STRIDE + k[None, :])
    b_at = B + (c[:, None] * STRIDE + k[None, :])
    a, a2 = _loaded(a_at, D, STRICT)
    if RBF and not FOLD:
        x = tl.load(x_squares + first + r)
    if M == 1:
        total = tl.zeros([BM], dtype=tl.float32)
    else:
        total = tl.zeros([BM, M], dtype=tl.float32)
    begin = part.to(tl.int64) * span
    for start in range(part * span, min(part * span + span, n_columns), BN):
        b = b_at + begin * STRIDE
        acc = _products(a, a2, a_at, b, D, CHUNK, STRICT, BM, BN)
        if RBF:
            if FOLD:
                K = tl.exp2(tl.minimum(acc * factor + top, top))
            else:
                y = tl.load(y_squares + start + c)
                K = tl.exp2(tl.minimum(acc * factor - y[None, :] - x[:, None], top))
        else:
            base = acc * factor + top
            K = base
            for _ in tl.static_range(DEGREE - 1):
                K = K * base
        total = _multiplied(total, K, V, begin, unit, BN, M, STRICT)
        begin += BN
    _stored(out, total, first, part, n_rows, BM, M)


@triton.jit
def laplacian(
    X,
    Y,
    V,
    out,
    n_rows,
    n_columns,
    span,
    d,
    top,
    unit,
    STRICT: tl.constexpr,
    M: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """Product of a Laplace kernel matrix with a block; features lie in rows."""
    first = tl.program_id(0).to(tl.int64) * BM
    part = tl.program_id(1)
    r = tl.arange(0, BM)
    c = tl.arange(0, BN)
    if M == 1:
        total = tl.zeros([BM], dtype=tl.float32)
    else:
        total = tl.zeros([BM, M], dtype=tl.float32)
    begin = part.to(tl.int64) * span
    for _ in range(part * span, min(part * span + span, n_columns), BN):
        acc = tl.zeros([BM, BN], dtype=tl.float32)
        x_at = X + first
        y_at = Y + begin
        for _ in range(d):
            acc += tl.abs(tl.load(x_at + r)[:, None] - tl.load(y_at + c)[None, :])
            x_at += n_rows
            y_at += n_columns
        K = tl.exp2(top - acc)
        total = _multiplied(total, K, V, begin, unit, BN, M, STRICT)
        begin += BN
    _stored(out, total, first, part, n_rows, BM, M)


@triton.jit
def nearest_by_slot(
    A,
    B,
    y_squares,
    best,
    n_columns,
    FOLD: tl.constexpr,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """Nearness of the nearest row among those of every slot, a column modulo BN."""
    STRIDE: tl.constexpr = 2 * D
    first = tl.program_id(0).to(tl.int64) * BM
    r = tl.arange(0, BM)
    c = tl.arange(0, BN)
    k = tl.arange(0, CHUNK)
    a_at = A + first * STRIDE + (r[:, None] * STRIDE + k[None, :])
    b_at = B + (c[:, None] * STRIDE + k[None, :])
    a, a2 = _loaded(a_at, D, True)
    most = tl.full([BM, BN], float("-inf"), dtype=tl.float32)
    begin = first * 0
    for start in range(0, n_columns, BN):
        b = b_at + begin * STRIDE
        near = _products(a, a2, a_at, b, D, CHUNK, True, BM, BN)
        begin += BN
        if not FOLD:
            near -= tl.load(y_squares + start + c)[None, :]
        most = tl.maximum(most, near)
    tl.store(best + first * BN + (r[:, None] * BN + c[None, :]), most)


@triton.jit
def _key(near, number):
    """Nearness, turned round so that small is near, above the number of a column."""
    bits = near.to(tl.int32, bitcast=True)
    order = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    return ((-order.to(tl.int64)) << 32) + number.to(tl.int64)


@triton.jit
def collect(
    A,
    B,
    y_squares,
    limits,
    counts,
    keys,
    n_columns,
    FOLD: tl.constexpr,
    ROOM: tl.constexpr,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """Collect keys of the columns that are nearer than the limits of their rows.

    Counts go one beyond the room where there are more.
    """
    STRIDE: tl.constexpr = 2 * D
    first = tl.program_id(0).to(tl.int64) * BM
    r = tl.arange(0, BM)
    c = tl.arange(0, BN)
    k = tl.arange(0, CHUNK)
    a_at = A + first * STRIDE + (r[:, None] * STRIDE + k[None, :])
    b_at = B + (c[:, None] * STRIDE + k[None, :])
    a, a2 = _loaded(a_at, D, True)
    limit = tl.load(limits + first + r)
    count = tl.zeros([BM], dtype=tl.int32)
    begin = first * 0
    for start in range(0, n_columns, BN):
        b = b_at + begin * STRIDE
        near = _products(a, a2, a_at, b, D, CHUNK, True, BM, BN)
        begin += BN
        if not FOLD:
            near -= tl.load(y_squares + start + c)[None, :]
        most = tl.max(near, axis=1)
        hit = (most > limit) & (count <= ROOM)
        if tl.max(tl.where(hit, 1, 0), axis=0) > 0:
            # Nearly always one column of a row, which is what the sum then says.
            marks = tl.where(near > limit[:, None], BN + c[None, :], 0)
            column = tl.sum(marks, axis=1) - BN
            many = hit & (column >= BN)
            hit = hit & (column < BN)
            at = keys + (first + r) * ROOM
            tl.store(at + count, _key(most, start + column), mask=hit & (count < ROOM))
            count += tl.where(hit, 1, 0)
            while tl.max(tl.where(many, 1, 0), axis=0) > 0:
                column = tl.max(tl.where(near == most[:, None], c[None, :], -1), axis=1)
                key = _key(most, start + column)
                tl.store(at + count, key, mask=many & (count < ROOM))
                count += tl.where(many, 1, 0)
                near = tl.where(c[None, :] == column[:, None], float("-inf"), near)
                most = tl.max(near, axis=1)
                many = many & (most > limit) & (count <= ROOM)
    tl.store(counts + first + r, count)


@triton.jit
def matvec(
    A,
    v,
    out,
    n_rows,
    n_columns,
    stride,
    span,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """Product of some rows of a stored matrix with part of a vector."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    part = tl.program_id(1)
    # Rows beyond the last are the last again, so that nothing but columns is masked.
    at = A + tl.minimum(rows, n_rows - 1)[:, None].to(tl.int64) * stride
    total = tl.zeros([BM, BN], dtype=tl.float32)
    for start in range(part * span, min(part * span + span, n_columns), BN):
        c = start + tl.arange(0, BN)
        inside = c < n_columns
        a = tl.load(
            at + c[None, :],
            mask=inside[None, :],
            other=0.0,
            eviction_policy="evict_first",
        )
        total += a * tl.load(v + c, mask=inside, other=0.0)[None, :]
    tl.store(out + part * n_rows + rows, tl.sum(total, axis=1), mask=rows < n_rows)


@triton.jit
def relax(
    indptr,
    indices,
    lengths,
    costs,
    changed,
    n_rows,
    n_columns,
    R: tl.constexpr,
    M: tl.constexpr,
):
    """Let some rows look for shorter ways through their neighbours, in place."""
    rows = tl.program_id(0) * R + tl.arange(0, R)
    columns = tl.program_id(1) * M + tl.arange(0, M)
    inside = rows < n_rows
    wanted = columns < n_columns
    edge = tl.load(indptr + rows, mask=inside, other=0)
    end = tl.load(indptr + rows + 1, mask=inside, other=0)
    at = costs + rows[:, None].to(tl.int64) * n_columns + columns[None, :]
    own = inside[:, None] & wanted[None, :]
    before = tl.load(at, mask=own, other=0.0)
    cost = before
    for step in range(tl.max(end - edge, axis=0)):
        valid = edge + step < end
        through = tl.load(indices + edge + step, mask=valid, other=0)
        length = tl.load(lengths + edge + step, mask=valid, other=0.0)
        theirs = costs + through[:, None].to(tl.int64) * n_columns + columns[None, :]
        far = tl.load(theirs, mask=valid[:, None] & wanted[None, :], other=float("inf"))
        cost = tl.minimum(cost, far + length[:, None])
    shorter = cost < before
    if tl.max(tl.max(shorter.to(tl.int32), axis=1), axis=0) > 0:
        tl.store(at, cost, mask=own & shorter)
        tl.store(changed, 1)


@triton.jit
def climb(
    H,
    codes,
    sizes,
    turns,
    trials,
    busy,
    spent,
    gains,
    Q,
    q,
    lower,
    upper,
    tolerance,
    most,
    u,
    STEPS: tl.constexpr,
    K: tl.constexpr,
    CLASSES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Make the next moves of one local search, in place."""
    run = tl.program_id(0).to(tl.int64)
    tol = tl.load(tolerance)
    limit = tl.load(most)
    turn = tl.load(turns + run)
    trial = tl.load(trials + run)
    works = tl.load(busy + run).to(tl.int32)
    out = tl.load(spent + run).to(tl.int32)
    H += run * (K - 1) * u
    codes += run * u
    classes = tl.arange(0, CLASSES)
    real = classes < K
    size = tl.load(sizes + run * K + classes, mask=real, other=0)
    low = tl.load(lower + classes, mask=real, other=0)
    high = tl.load(upper + classes, mask=real, other=0)
    for step in range(STEPS):
        if works > 0:
            # Classes that may be left, and entered, as bits.
            leave = tl.sum(tl.where(real & (size > low), 1 << classes, 0), axis=0)
            enter = tl.sum(tl.where(real & (size < high), 1 << classes, 0), axis=0)
            waits = tl.zeros((BLOCK,), tl.int64) + u
            for start in range(0, u, BLOCK):
                j = start + tl.arange(0, BLOCK)
                inside = j < u
                code = tl.load(codes + j, mask=inside, other=0)
                own = tl.zeros((BLOCK,), tl.float64)
                for c in tl.static_range(1, K):
                    h = tl.load(H + (c - 1) * u + j, mask=inside, other=0.0)
                    own = tl.where(code == c, h, own)
                base = tl.load(q + j, mask=inside, other=0.0)
                improves = tl.zeros((BLOCK,), tl.int32)
                for c in tl.static_range(K):
                    h = tl.zeros((BLOCK,), tl.float64)
                    if c > 0:
                        h = tl.load(H + (c - 1) * u + j, mask=inside, other=0.0)
                    gain = 4.0 * (h - own + base)
                    better = (gain > tol) & (code != c) & (((enter >> c) & 1) > 0)
                    improves |= better.to(tl.int32)
                may = ((leave >> code.to(tl.int32)) & 1) > 0
                away = j - turn
                away = tl.where(away < 0, away + u, away)
                waits = tl.minimum(
                    waits, tl.where(inside & may & (improves > 0), away, u)
                )
            wait = tl.min(waits, axis=0)
            found = (wait < u).to(tl.int32)
            needed = trial + wait + found
            if needed > limit:
                out = 1
                works = 0
                trial = limit
            else:
                trial = needed
                works = found
            if works > 0:
                i = turn + wait
                i = tl.where(i < u, i, i - u)
                a = tl.load(codes + i)
                own_i = 0.0 * tol
                for c in tl.static_range(1, K):
                    own_i = tl.where(a == c, tl.load(H + (c - 1) * u + i), own_i)
                base_i = tl.load(q + i)
                best = 0.0 * tol
                b = a
                for c in tl.static_range(K):
                    h_i = 0.0 * tol
                    if c > 0:
                        h_i = tl.load(H + (c - 1) * u + i)
                    gain_i = 4.0 * (h_i - own_i + base_i)
                    wins = (gain_i > best + tol) & (a != c) & (((enter >> c) & 1) > 0)
                    best = tl.where(wins, gain_i, best)
                    b = tl.where(wins, c, b)
                # Nobody writes before all have read, and nobody reads before all wrote.
                tl.debug_barrier()
                first = (b == 0).to(tl.float64) - (a == 0).to(tl.float64)
                for start in range(0, u, BLOCK):
                    j = start + tl.arange(0, BLOCK)
                    inside = j < u
                    row = tl.load(Q + i * u + j, mask=inside, other=0.0)
                    for c in tl.static_range(1, K):
                        went = (b == c).to(tl.float64) - (a == c).to(tl.float64)
                        at = H + (c - 1) * u + j
                        h = tl.load(at, mask=inside, other=0.0)
                        tl.store(at, h + (went - first) * row, mask=inside)
                tl.store(codes + i, b)
                tl.store(gains + run * STEPS + step, best)
                tl.debug_barrier()
                size += (classes == b).to(tl.int64) - (classes == a).to(tl.int64)
                turn = tl.where(i + 1 < u, i + 1, 0)
    tl.store(sizes + run * K + classes, size, mask=real)
    tl.store(turns + run, turn)
    tl.store(trials + run, trial)
    tl.store(busy + run, works.to(tl.uint8))
    tl.store(spent + run, out.to(tl.uint8))
