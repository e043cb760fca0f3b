"""Products with kernel matrices that are never stored, and with stored ones."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from typing import Any

import torch
import triton
import triton.language as tl

from fewlabels._gpu_loops.halves import (
    CHUNKED_TILES,
    LARGEST_NORM,
    MAX_WHOLE,
    UNITS,
    Halves,
    Tiles,
    as_halves,
    exponent,
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

# Right-hand sides that are taken at once.
MAX_BLOCK = 128
# Entries of kernel matrices are scaled to at most this before they become halves.
LARGEST_ENTRY_BITS = 14
LOG2_E = math.log2(math.e)
# The fastest on an H200 of those that were tried.
STRICT_TILES = Tiles(256, 64, 8, 2)
FAST_TILES = Tiles(128, 64, 4, 3)
BLOCK_TILES = Tiles(128, 128, 8, 2)
LAPLACE_TILES = Tiles(32, 128, 4, 2)
VECTOR_TILES = Tiles(8, 512, 4, 2)


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
        v, v2 = loaded(at + tl.arange(0, M)[None, :], M, STRICT)
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
def _product_kernel(
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
    a, a2 = loaded(a_at, D, STRICT)
    if RBF and not FOLD:
        x = tl.load(x_squares + first + r)
    if M == 1:
        total = tl.zeros([BM], dtype=tl.float32)
    else:
        total = tl.zeros([BM, M], dtype=tl.float32)
    begin = part.to(tl.int64) * span
    for start in range(part * span, min(part * span + span, n_columns), BN):
        b = b_at + begin * STRIDE
        acc = products_of_rows(a, a2, a_at, b, D, CHUNK, STRICT, BM, BN)
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
def _laplacian_kernel(
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
def _matvec_kernel(
    A, v, out, n_rows, n_columns, stride, span, BM: tl.constexpr, BN: tl.constexpr
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


def kernel_product(
    X: Any,
    Y: Any,
    V: Any,
    kernel: str,
    gamma: float,
    degree: float,
    coef0: float,
    strict: bool,
    tiles: Tiles | None = None,
) -> Any:
    """Multiply a kernel matrix with a block, never storing the matrix."""
    if kernel == "laplacian":
        multiply = _laplacian(X, Y, gamma, strict, tiles)
    elif kernel == "rbf":
        multiply = _rbf(X, Y, gamma, strict, tiles)
    else:
        multiply = _polynomial(X, Y, gamma, int(degree), coef0, strict, tiles)
    out = torch.empty((X.shape[0], V.shape[1]), dtype=torch.float32, device=X.device)
    for first in range(0, V.shape[1], MAX_BLOCK):
        block = V[:, first : first + MAX_BLOCK]
        parts, back = _block(block, padded(Y.shape[0]), strict)
        sums = multiply(parts)[: X.shape[0], : block.shape[1]]
        out[:, first : first + MAX_BLOCK] = sums * back
    return out


def _block(V: Any, rows: int, strict: bool) -> tuple[Any, Any]:
    """Right-hand sides as a kernel reads them, and factors that undo their scale."""
    n, m = V.shape
    if m == 1:
        flat = torch.zeros(rows, dtype=torch.float32, device=V.device)
        flat[:n] = V[:, 0]
        return flat, 1.0
    width = max(16, 1 << (m - 1).bit_length())
    largest = V.abs().amax(0)
    scale = torch.exp2(LARGEST_ENTRY_BITS - torch.frexp(largest).exponent.float())
    scaled = V * scale
    shape = (rows, 2 if strict else 1, width)
    parts = torch.zeros(shape, dtype=torch.float16, device=V.device)
    parts[:n, 0, :m] = scaled
    if strict:
        parts[:n, 1, :m] = scaled - parts[:n, 0, :m]
    return parts, 1.0 / scale


class _Launch:
    """How a kernel is launched for a block of right-hand sides."""

    def __init__(self, n: int, n_columns: int, parts: Any, strict: bool, size: Tiles):
        n_rows = padded(n)
        # A few rows share the columns among many programs.
        programs = n_rows // size.rows
        n_parts = max(1, min(n_columns // (8 * size.columns), 1024 // programs))
        span = -(-n_columns // (n_parts * size.columns)) * size.columns
        self.sizes = (n_rows, n_columns, span)
        self.grid = (programs, -(-n_columns // span))
        self.width = 1 if parts.ndim == 1 else parts.shape[-1]
        # Numbers become halves where there are several right-hand sides.
        self.bits = 0 if self.width == 1 else LARGEST_ENTRY_BITS
        self.out = torch.empty(
            (self.grid[1], n_rows, self.width), dtype=torch.float32, device=parts.device
        )
        self.options = {"STRICT": strict, "M": self.width, **launch_options(size)}


def _laplacian(X: Any, Y: Any, gamma: float, strict: bool, tiles: Tiles | None) -> Any:
    """Prepare rows; what is returned multiplies a prepared block."""
    d = X.shape[1]
    sides = []
    for A in (X, Y):
        turned = A.new_zeros((d, padded(A.shape[0])))
        turned[:, : A.shape[0]] = A.T * (gamma * LOG2_E)
        sides.append(turned)

    def multiply(parts: Any) -> Any:
        size = tiles or LAPLACE_TILES
        to = _Launch(X.shape[0], sides[1].shape[1], parts, strict, size)
        _laplacian_kernel[to.grid](
            *sides,
            parts,
            to.out,
            *to.sizes,
            d,
            float(to.bits),
            2.0**-to.bits,
            **to.options,
        )
        return to.out.sum(0)

    return multiply


def _rbf(X: Any, Y: Any, gamma: float, strict: bool, tiles: Tiles | None) -> Any:
    """Prepare rows; what is returned multiplies a prepared block."""
    d = X.shape[1]
    scale = row_scale(X, Y)
    factor = 2.0 * gamma * LOG2_E / scale**2
    fold = folds(d)
    x_at, y_at = (d, d + len(UNITS)) if fold else (None, None)
    A = as_halves(X, scale, strict, own_at=x_at, units_at=y_at)
    B = as_halves(Y, scale, strict, own_at=y_at, units_at=x_at)
    x_squares, y_squares = ((factor * side.squares).float() for side in (A, B))

    def multiply(parts: Any) -> Any:
        size = tiles or _product_tiles(d, parts, strict)
        to = _Launch(X.shape[0], B.parts.shape[0], parts, strict, size)
        squares = (x_squares - to.bits, y_squares)
        numbers = (factor, float(to.bits), 2.0**-to.bits)
        _multiply(A, B, squares, parts, to, numbers, d, RBF=True, DEGREE=1, FOLD=fold)
        return to.out.sum(0)

    return multiply


def _polynomial(
    X: Any,
    Y: Any,
    gamma: float,
    degree: int,
    coef0: float,
    strict: bool,
    tiles: Tiles | None,
) -> Any:
    """Prepare rows; what is returned multiplies a prepared block."""
    d = X.shape[1]
    scale = row_scale(X, Y)
    A = as_halves(X, scale, strict)
    B = A if Y is X else as_halves(Y, scale, strict)
    # No two rows have more than this, which becomes 2 ** bits when multiplied.
    largest = exponent(gamma * (LARGEST_NORM / scale) ** 2 + abs(coef0))

    def multiply(parts: Any) -> Any:
        size = tiles or _product_tiles(d, parts, strict)
        to = _Launch(X.shape[0], B.parts.shape[0], parts, strict, size)
        bits = to.bits - degree * largest
        root = 2.0 ** (bits / degree)
        numbers = (root * gamma / scale**2, root * coef0, 2.0**-to.bits)
        squares = (A.squares, B.squares)
        options = {"RBF": False, "DEGREE": degree, "FOLD": False}
        _multiply(A, B, squares, parts, to, numbers, d, **options)
        return to.out.sum(0) * 2.0 ** (to.bits - bits)

    return multiply


def _multiply(
    A: Halves,
    B: Halves,
    squares: tuple[Any, Any],
    parts: Any,
    to: _Launch,
    numbers: tuple[float, float, float],
    d: int,
    **options: Any,
) -> None:
    """Launch the kernel of products of rows."""
    width, chunk = row_width(d)
    _product_kernel[to.grid](
        A.parts,
        B.parts,
        *squares,
        parts,
        to.out,
        *to.sizes,
        *numbers,
        D=width,
        CHUNK=chunk,
        **options,
        **to.options,
    )


def _product_tiles(d: int, parts: Any, strict: bool) -> Tiles:
    """Tiles for some right-hand sides."""
    if d > MAX_WHOLE:
        size = CHUNKED_TILES
    elif parts.ndim > 1:
        size = BLOCK_TILES
    else:
        size = STRICT_TILES if strict else FAST_TILES
    block = 0 if parts.ndim == 1 else parts.shape[-1]
    return fitting(size, d, block, strict, shared_bytes(parts.device))


def matvec(A: Any, V: Any) -> Any:
    """Multiply a stored matrix with one vector, as fast as it can be read."""
    n, n_columns = A.shape
    size = VECTOR_TILES
    # Several programs share a row, so that the last ones to finish have little to do.
    span = -(-n_columns // (4 * size.columns)) * size.columns
    grid = (-(-n // size.rows), -(-n_columns // span))
    out = A.new_empty((grid[1], n))
    _matvec_kernel[grid](
        A, V.contiguous(), out, n, n_columns, A.stride(0), span, **launch_options(size)
    )
    return out.sum(0)[:, None]
