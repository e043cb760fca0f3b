"""Lengths of shortest paths, by rounds."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import torch
import triton
import triton.language as tl

from fewlabels._gpu_loops import FUSION

# Rounds between two looks at whether any path became shorter.
ROUNDS = 4


@triton.jit
def _relax_kernel(
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


def relaxed(indptr: Any, indices: Any, lengths: Any, costs: Any) -> Any:
    """Shorten path lengths, in place, until no row finds a shorter way."""
    while True:
        for _ in range(ROUNDS):
            changed = relax(indptr, indices, lengths, costs)
        if not int(changed):
            return costs


def relax(indptr: Any, indices: Any, lengths: Any, costs: Any) -> Any:
    """Let every row look for shorter ways through its neighbours, once, in place.

    Returns whether any was found, as a tensor of one number.
    """
    n, m = costs.shape
    changed = torch.zeros(1, dtype=torch.int32, device=costs.device)
    width = min(64, 1 << (m - 1).bit_length())
    rows = max(1, 128 // width)
    _relax_kernel[(-(-n // rows), -(-m // width))](
        indptr, indices, lengths, costs, changed, n, m,
        R=rows, M=width, num_warps=4, **FUSION,
    )  # fmt: skip
    return changed
