"""Attention over the columns of a row, fused: rows are short, so a tile takes several.

A kernel of a library pads every row to a tile of its own and wants its tokens side by
side. These read tokens where they are, with the rows of a column side by side.
"""

# SPDX-License-Identifier: BSD-3-Clause

import torch
import triton
import triton.language as tl
from torch import Tensor

# Tokens of a tile.
TILE = 64


@triton.jit
def places(n, length, TILE: tl.constexpr):
    """Row in the tile, whether there is one, and number of every token of a tile."""
    token = tl.arange(0, TILE)
    each = TILE // length
    row = token // length
    at = tl.program_id(0) * each + row
    there = (row < each) & (at < n)
    return row, there, (tl.program_id(1) * length + token % length) * n + at


@triton.jit
def shares(q, k, row, there, scale):
    """Weights of the tokens of the same row."""
    scores = tl.dot(q, tl.trans(k)) * scale
    same = (row[:, None] == row[None, :]) & there[None, :]
    scores = tl.where(same, scores, -1e30)
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    return weights / tl.sum(weights, 1)[:, None]


@triton.jit(do_not_specialize=["n", "length"])
def mix(
    qkv, out, n, length, scale,
    HEADS: tl.constexpr, SIZE: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Attention of the rows of one tile."""
    row, there, token = places(n, length, TILE)
    mask = there[:, None]
    part = token[:, None] * (3 * HEADS * SIZE) + tl.arange(0, SIZE)[None, :]
    goal = token[:, None] * (HEADS * SIZE) + tl.arange(0, SIZE)[None, :]
    for head in tl.static_range(HEADS):
        at = qkv + part + head * SIZE
        q = tl.load(at, mask, 0.0)
        k = tl.load(at + HEADS * SIZE, mask, 0.0)
        v = tl.load(at + 2 * HEADS * SIZE, mask, 0.0)
        p = shares(q, k, row, there, scale)
        mixed = tl.dot(p.to(v.dtype), v)
        tl.store(out + goal + head * SIZE, mixed.to(out.dtype.element_ty), mask)


@triton.jit(do_not_specialize=["n", "length"])
def unmix(
    qkv, gradient, out, n, length, scale,
    HEADS: tl.constexpr, SIZE: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Gradient of `mix`, which is computed again."""
    row, there, token = places(n, length, TILE)
    mask = there[:, None]
    part = token[:, None] * (3 * HEADS * SIZE) + tl.arange(0, SIZE)[None, :]
    goal = token[:, None] * (HEADS * SIZE) + tl.arange(0, SIZE)[None, :]
    for head in tl.static_range(HEADS):
        at = qkv + part + head * SIZE
        q = tl.load(at, mask, 0.0)
        k = tl.load(at + HEADS * SIZE, mask, 0.0)
        v = tl.load(at + 2 * HEADS * SIZE, mask, 0.0)
        g = tl.load(gradient + goal + head * SIZE, mask, 0.0)
        p = shares(q, k, row, there, scale)
        dp = tl.dot(g, tl.trans(v))
        ds = p * (dp - tl.sum(p * dp, 1)[:, None]) * scale
        ds, p = ds.to(q.dtype), p.to(q.dtype)
        to = out + part + head * SIZE
        kind = out.dtype.element_ty
        tl.store(to, tl.dot(ds, k).to(kind), mask)
        tl.store(to + HEADS * SIZE, tl.dot(tl.trans(ds), q).to(kind), mask)
        tl.store(to + 2 * HEADS * SIZE, tl.dot(tl.trans(p), g).to(kind), mask)


def launch(kernel, qkv, n_heads, *others):
    B, length, n, size = qkv.shape
    grid = (triton.cdiv(n, TILE // length), B)
    head = size // 3 // n_heads
    kernel[grid](
        qkv, *others, n, length, head**-0.5, HEADS=n_heads, SIZE=head, TILE=TILE
    )


@torch.library.custom_op("prior::fused", mutates_args=())
def fused(qkv: Tensor, n_heads: int) -> Tensor:
    """Mix the columns of every row."""
    out = qkv.new_empty((*qkv.shape[:3], qkv.shape[3] // 3))
    launch(mix, qkv, n_heads, out)
    return out


@torch.library.custom_op("prior::fused_gradient", mutates_args=())
def fused_gradient(qkv: Tensor, gradient: Tensor, n_heads: int) -> Tensor:
    """Differentiate `fused`."""
    out = torch.empty_like(qkv)
    launch(unmix, qkv, n_heads, gradient, out)
    return out


@fused.register_fake
def _(qkv, n_heads):
    return qkv.new_empty((*qkv.shape[:3], qkv.shape[3] // 3))


@fused_gradient.register_fake
def _(qkv, gradient, n_heads):
    return torch.empty_like(qkv)


def _remember(ctx, inputs, output):
    ctx.n_heads = inputs[1]
    ctx.save_for_backward(inputs[0])


def _differentiate(ctx, gradient):
    (qkv,) = ctx.saved_tensors
    return fused_gradient(qkv, gradient.contiguous(), ctx.n_heads), None


fused.register_autograd(_differentiate, setup_context=_remember)
