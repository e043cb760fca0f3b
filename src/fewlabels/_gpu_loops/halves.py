"""Rows as halves, and tiles of them: what products and the neighbour search share.

A number of float32 is the sum of two of float16, up to its last bit or two, once the
rows are scaled into the range of float16: three products of halves on the tensor cores
give what one of float32 would, at a multiple of its rate. The first halves alone are as
fine as tf32. Rows lie as (first halves, second halves), padded with zeros to whole
tiles, so that nothing is masked.
"""

# SPDX-License-Identifier: BSD-3-Clause

import math
from functools import cache
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

from fewlabels._gpu_loops import FUSION
from fewlabels._gpu_loops.fits import PADDING

# Columns of rows that a tile holds whole, beyond which it takes them in chunks.
MAX_WHOLE = 128
# Rows are scaled to norms of at most this, so that halves of halves are still numbers.
LARGEST_NORM = 2.0**15
# Squared norms go into three extra columns, in these units.
UNITS = (2.0**15, 2.0**4, 2.0**-7)


class Tiles(NamedTuple):
    """Shape of the tiles of a kernel, its warps, and loads under way at a time."""

    rows: int
    columns: int
    warps: int
    stages: int
    registers: int | None = None


# The fastest on an H200 of those that were tried, for rows that do not fit into a tile
# whole; three stages compile slowly.
CHUNKED_TILES = Tiles(128, 128, 8, 2)


def padded(n: int) -> int:
    return -(-n // PADDING) * PADDING


def row_width(d: int) -> tuple[int, int]:
    """Columns of padded rows, and of a chunk of them."""
    if d <= MAX_WHOLE:
        width = max(16, 1 << (d - 1).bit_length())
        return width, width
    return -(-d // 64) * 64, 64


def exponent(value: float) -> int:
    """Exponent of the smallest power of two that is not below a positive number."""
    return math.ceil(math.log2(value)) if 0.0 < value < math.inf else 0


class Halves(NamedTuple):
    """Rows as halves (n, 1 or 2, width), and half of their squared norms."""

    parts: Any
    squares: Any


def as_halves(
    A: Any,
    scale: float,
    strict: bool,
    *,
    own_at: int | None = None,
    units_at: int | None = None,
    far: float = 0.0,
) -> Halves:
    """Split scaled rows into halves; what is padded has squares of `far`.

    Spare columns may hold what makes products of two rows less by half of a squared
    norm: its three pieces, from column `own_at` on, and their units for the others'
    pieces, from column `units_at` on.
    """
    n, d = A.shape
    width, _ = row_width(d)
    shape = (padded(n), 2 if strict else 1, width)
    parts = torch.zeros(shape, dtype=torch.float16, device=A.device)
    scaled = A * scale
    parts[:n, 0, :d] = scaled
    if strict:
        parts[:n, 1, :d] = scaled - parts[:n, 0, :d]
    else:
        scaled = parts[:n, 0, :d].float()
    squares = torch.full((shape[0],), far, dtype=torch.float64, device=A.device)
    norms = torch.linalg.vector_norm(scaled, dim=1, dtype=torch.float64)
    squares[:n] = 0.5 * norms * norms
    rest = squares
    for i, unit in enumerate(UNITS):
        piece = (rest / unit).half()
        rest = rest - piece.double() * unit
        if own_at is not None:
            parts[:, 0, own_at + i] = -piece
        if units_at is not None:
            parts[:, 0, units_at + i] = unit
    return Halves(parts, squares)


def row_scale(*arrays: Any) -> float:
    """Power of two that makes norms of rows as large as halves bear."""
    norm = max(float(torch.linalg.vector_norm(A, dim=1).max()) for A in arrays)
    return LARGEST_NORM / 2.0 ** exponent(norm)


def folds(d: int) -> bool:
    """Whether padding leaves room for the squared norms of both sides."""
    return d + 2 * len(UNITS) <= row_width(d)[0]


def launch_options(size: Tiles) -> dict[str, Any]:
    return {
        "BM": size.rows,
        "BN": size.columns,
        "num_warps": size.warps,
        "num_stages": size.stages,
        "maxnreg": size.registers,
        **FUSION,
    }


def fitting(
    size: Tiles, d: int, block: int, strict: bool, room: int, least_columns: int = 32
) -> Tiles:
    """Tiles that fit into the memory that the threads of a program share."""
    while tile_bytes(size, d, block, strict) > room and size.stages > 1:
        if size.stages > 2:
            size = size._replace(stages=size.stages - 1)
        elif size.columns > least_columns:
            size = size._replace(columns=size.columns // 2)
        elif size.rows > 64:
            size = size._replace(rows=size.rows // 2)
        else:
            size = size._replace(stages=1)
    return size


def tile_bytes(size: Tiles, d: int, block: int, strict: bool) -> int:
    """Memory for tiles of rows, and for all stages of what is loaded in a loop."""
    _, chunk = row_width(d)
    numbers = size.rows * chunk * (1 if d <= MAX_WHOLE else size.stages)
    numbers += size.columns * (chunk + block) * size.stages
    return (4 if strict else 2) * numbers


@cache
def shared_bytes(place: torch.device) -> int:
    """Memory that the threads of a program can share, less what sums need."""
    if place.type != "cuda":
        return 2**17
    properties = torch.cuda.get_device_properties(place)
    # Every card since 2020 has this much; older versions of torch do not tell.
    least = 99 * 2**10
    return int(getattr(properties, "shared_memory_per_block_optin", least)) - 2**12


@triton.jit
def loaded(at, D: tl.constexpr, STRICT: tl.constexpr):
    """First and second halves of a tile of rows."""
    first = tl.load(at)
    second = first
    if STRICT:
        second = tl.load(at + D)
    return first, second


@triton.jit
def added(acc, a, a2, b, b2, STRICT: tl.constexpr):
    """Add the products of rows to a tile, the small parts first."""
    if STRICT:
        acc = tl.dot(a2, tl.trans(b), acc)
        acc = tl.dot(a, tl.trans(b2), acc)
    return tl.dot(a, tl.trans(b), acc)


@triton.jit
def products_of_rows(
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
        b, b2 = loaded(b_at, D, STRICT)
        acc = added(acc, a, a2, b, b2, STRICT)
    else:
        for k in range(0, D, CHUNK):
            a, a2 = loaded(a_at + k, D, STRICT)
            b, b2 = loaded(b_at + k, D, STRICT)
            acc = added(acc, a, a2, b, b2, STRICT)
    return acc
