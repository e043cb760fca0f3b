"""Moves of many local searches for partitions, side by side."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import torch
import triton
import triton.language as tl

from fewlabels._gpu_loops import FUSION

# Points that a search looks at together.
POINTS = 1024


@triton.jit
def _climb_kernel(
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
                # Writes wait for all reads, and reads for all writes.
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


def climb(
    state: dict[str, Any],
    Q: Any,
    q: Any,
    lower: Any,
    upper: Any,
    tol: float,
    max_trials: int,
    n_moves: int,
) -> Any:
    """Make moves of local searches, in place; return what they gain, or NaN."""
    runs, others, u = state["H"].shape
    gains = q.new_full((runs, n_moves), torch.nan)
    _climb_kernel[(runs,)](
        *(state[name] for name in ("H", "codes", "sizes", "turn", "trials")),
        *(state[name].view(torch.uint8) for name in ("busy", "spent")),
        gains,
        Q,
        q,
        lower,
        upper,
        q.new_tensor([tol]),  # a plain number would be rounded to single precision
        lower.new_tensor([max_trials]),
        u,
        STEPS=n_moves,
        K=others + 1,
        CLASSES=1 << others.bit_length(),
        BLOCK=min(POINTS, 1 << (u - 1).bit_length()),
        num_warps=4,
        **FUSION,
    )
    return gains
