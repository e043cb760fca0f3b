"""The search for nearest rows, which stores no distances."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from typing import Any

import torch
import triton
import triton.language as tl

from fewlabels._gpu_loops.fits import PADDING
from fewlabels._gpu_loops.halves import (
    CHUNKED_TILES,
    MAX_WHOLE,
    UNITS,
    Tiles,
    as_halves,
    fitting,
    folds,
    launch_options,
    loaded,
    padded,
    products_of_rows,
    row_scale,
    row_width,
    shared_bytes,
)

# Columns that a row can collect in one pass, and how many are expected at most.
ROOM = 256
EXPECTED = 96
# Bytes that a row needs: keys, and how they are sorted.
ROW_BYTES = 4 * 8 * ROOM
# The fastest on an H200 of those that were tried.
NEAREST_TILES = Tiles(128, 64, 4, 3)
# The largest number of float16, a key that is farther than any, the number in a key.
HALF_MAX = 65504.0
FAR = torch.iinfo(torch.int64).max
NUMBER = 0xFFFFFFFF


@triton.jit
def _slot_kernel(
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
    a, a2 = loaded(a_at, D, True)
    most = tl.full([BM, BN], float("-inf"), dtype=tl.float32)
    begin = first * 0
    for start in range(0, n_columns, BN):
        b = b_at + begin * STRIDE
        near = products_of_rows(a, a2, a_at, b, D, CHUNK, True, BM, BN)
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
def _collect_kernel(
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
    a, a2 = loaded(a_at, D, True)
    limit = tl.load(limits + first + r)
    count = tl.zeros([BM], dtype=tl.int32)
    begin = first * 0
    for start in range(0, n_columns, BN):
        b = b_at + begin * STRIDE
        near = products_of_rows(a, a2, a_at, b, D, CHUNK, True, BM, BN)
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


def _sample(n: int, k: int, slots: int) -> int:
    """Columns of the first pass, so that the second finds not too many near ones."""
    # That the nearest of a slot hides others makes the bound a bit looser.
    found = slots * math.log(slots / (slots - k))
    share = max(1, 1 << int(math.log2(EXPECTED / found)))
    while share > 1 and n // share < 16 * slots:
        share //= 2
    return padded(n // share) if share > 1 else padded(n)


def nearest(
    Q: Any, X: Any, k: int, own: bool, rows_at_once: int, tiles: Tiles | None = None
) -> Any:
    """Numbers of about the k nearest rows, in two passes that store no distances.

    The first pass finds, for some of the rows of X, the nearest one in every slot; the
    k-th nearest of these bounds the k-th nearest of all. The second collects the rows
    within the bound, of which there are few. If there are too many of them, then
    their k-th is the next bound, and so forth: rows that are equal to it are known.
    """
    n, d = X.shape
    fold = folds(d)
    # Slots are fair whatever the order of the rows.
    shuffle = torch.Generator(X.device).manual_seed(0)
    order = torch.randperm(n, generator=shuffle, device=X.device)
    shuffled = X[order]
    scale = row_scale(X) if own else row_scale(X, Q)
    y_at = d + len(UNITS) if fold else None
    B = as_halves(shuffled, scale, True, own_at=y_at, far=HALF_MAX * UNITS[0])
    if own and not fold:
        A = B.parts
    else:
        A = as_halves(shuffled if own else Q, scale, True, units_at=y_at).parts
    del shuffled
    n_columns = B.parts.shape[0]
    y_squares = B.squares.float()
    size = tiles or (CHUNKED_TILES if d > MAX_WHOLE else NEAREST_TILES)
    # Every column of a tile is a slot, of which there must be more than neighbours.
    size = fitting(size, d, 0, True, shared_bytes(X.device), least_columns=64)
    width, chunk = row_width(d)
    options = {"FOLD": fold, "D": width, "CHUNK": chunk, **launch_options(size)}

    def collected(rows: Any, limits: Any) -> tuple[Any, Any]:
        counts = torch.empty(rows.shape[0], dtype=torch.int32, device=X.device)
        keys = torch.full((rows.shape[0], ROOM), FAR, device=X.device)
        _collect_kernel[(rows.shape[0] // size.rows,)](
            rows, B.parts, y_squares, limits, counts, keys, n_columns,
            ROOM=ROOM, **options,
        )  # fmt: skip
        return counts, keys

    def best(keys: Any, me: Any) -> Any:
        keys = torch.topk(keys, k + own, dim=1, largest=False).values
        if own:
            keys = torch.where(keys & NUMBER == me[:, None], FAR, keys)
            keys = torch.sort(keys, dim=1).values[:, :k]
        return keys

    found = torch.empty((Q.shape[0], k), dtype=torch.int64, device=X.device)
    step = max(1, rows_at_once // PADDING) * PADDING
    for first in range(0, Q.shape[0], step):
        rows = A[first : first + step]
        n_rows = min(step, Q.shape[0] - first)
        by_slot = X.new_empty((rows.shape[0], size.columns))
        _slot_kernel[(rows.shape[0] // size.rows,)](
            rows, B.parts, y_squares, by_slot, _sample(n, k + own, size.columns),
            **options,
        )  # fmt: skip
        limits = torch.topk(by_slot, k + own, dim=1).values[:, -1]
        del by_slot
        counts, keys = collected(rows, _below(limits))
        me = torch.arange(first, first + n_rows, device=X.device)
        counts, keys = counts[:n_rows], best(keys[:n_rows], me)
        again = torch.nonzero(counts > ROOM)[:, 0]
        while again.shape[0] > 0:
            # What is as near as the k-th found is kept, what is nearer is found again.
            known = keys[again]
            bound = known[:, -1:]
            known = torch.where(known >> 32 == bound >> 32, known, FAR)
            padding = padded(again.shape[0]) - again.shape[0]
            limits = torch.nn.functional.pad(
                _nearness(bound)[:, 0], (0, padding), value=torch.inf
            )
            some = torch.nn.functional.pad(again, (0, padding))
            counts, more = collected(rows[some], limits)
            counts, more = counts[: again.shape[0]], more[: again.shape[0]]
            keys[again] = best(torch.cat([known, more], dim=1), me[again])
            again = again[counts > ROOM]
        # Rows that are not numbers are near to nothing, and get the last one.
        numbers = order[(keys & NUMBER).clamp_(max=n - 1)]
        if own:
            found[order[first : first + n_rows]] = numbers
        else:
            found[first : first + n_rows] = numbers
    return found


def _nearness(keys: Any) -> Any:
    """Nearness that a key was made of."""
    order = (-(keys >> 32)).int()
    return torch.where(order < 0, order ^ 0x7FFFFFFF, order).view(torch.float32)


def _below(values: Any) -> Any:
    """Step to the numbers just below."""
    return torch.nextafter(values, torch.full_like(values, -torch.inf))
