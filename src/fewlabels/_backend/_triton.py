"""Fused kernels for a GPU, written in Triton; plain torch does the same elsewhere."""

# SPDX-License-Identifier: BSD-3-Clause

import importlib.util
import math
import os
from functools import cache
from typing import Any, NamedTuple

import torch

# Smaller problems are as fast in plain torch.
MIN_ENTRIES = 2**24
# Degrees of polynomials that are computed by multiplication.
MAX_DEGREE = 8
# Neighbours that can be told apart by slots.
MAX_NEIGHBORS = 48
# Right-hand sides that are taken at once.
MAX_BLOCK = 128
# Tiles of rows and columns divide this.
PADDING = 256
# Rows are scaled to norms of at most this, so that halves of halves are still numbers.
LARGEST_NORM = 2.0**15
# Entries of kernel matrices are scaled to at most this before they become halves.
LARGEST_ENTRY_BITS = 14
# Columns that a row can collect in one pass, and how many are expected at most.
ROOM = 256
EXPECTED = 96
# Squared norms go into three extra columns, in these units.
UNITS = (2.0**15, 2.0**4, 2.0**-7)
LOG2_E = math.log2(math.e)
FAR = torch.iinfo(torch.int64).max


@cache
def _is_there() -> bool:
    """Whether Triton can be imported, and not only pretend to run."""
    return importlib.util.find_spec("triton") is not None


@cache
def _can_run(place: torch.device) -> bool:
    """Whether kernels can run on a device: tensor cores, or Triton's interpreter."""
    if not _is_there():
        return False
    if place.type != "cuda":
        return os.environ.get("TRITON_INTERPRET") == "1"
    return torch.version.hip is None and torch.cuda.get_device_capability(place) >= (8,)


def fits_product(X: Any, Y: Any, V: Any, kernel: str, degree: float) -> bool:
    """Whether the fused product takes these arrays."""
    return (
        all(A.dtype == torch.float32 for A in (X, Y, V))
        and X.shape[0] * Y.shape[0] >= MIN_ENTRIES
        and (kernel != "polynomial" or degree in range(1, MAX_DEGREE + 1))
        and _can_run(X.device)
    )


def fits_nearest(Q: Any, X: Any, k: int) -> bool:
    """Whether the fused search takes these arrays."""
    return (
        X.dtype == torch.float32
        and k <= MAX_NEIGHBORS
        and X.shape[0] >= 16 * PADDING
        and Q.shape[0] * X.shape[0] >= MIN_ENTRIES
        and _can_run(X.device)
    )


class Tiles(NamedTuple):
    """Shape of the tiles of a kernel, its warps, and loads under way at a time."""

    rows: int
    columns: int
    warps: int
    stages: int
    registers: int | None = None


def _padded(n: int) -> int:
    return -(-n // PADDING) * PADDING


def _width(d: int) -> tuple[int, int]:
    """Columns of padded rows, and of a chunk of them."""
    if d <= 128:
        width = max(16, 1 << (d - 1).bit_length())
        return width, width
    return -(-d // 64) * 64, 64


def _power(value: float) -> int:
    """Exponent of the smallest power of two that is not below a positive number."""
    return math.ceil(math.log2(value)) if 0.0 < value < math.inf else 0


class Halves(NamedTuple):
    """Rows as halves (n, 1 or 2, width), and half of their squared norms."""

    parts: Any
    squares: Any


def _halves(
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
    width, _ = _width(d)
    shape = (_padded(n), 2 if strict else 1, width)
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


def _scale(*arrays: Any) -> float:
    """Power of two that makes norms of rows as large as halves bear."""
    norm = max(float(torch.linalg.vector_norm(A, dim=1).max()) for A in arrays)
    return LARGEST_NORM / 2.0 ** _power(norm)


def _folds(d: int) -> bool:
    """Whether padding leaves room for the squared norms of both sides."""
    return d + 2 * len(UNITS) <= _width(d)[0]


PRODUCT_TILES = Tiles(128, 128, 8, 2)
LAPLACE_TILES = Tiles(64, 64, 4, 2)
NEAREST_TILES = Tiles(128, 64, 4, 3)


def _block(V: Any, rows: int, strict: bool) -> tuple[Any, Any]:
    """Right-hand sides as a kernel reads them, and what they are to be multiplied by."""
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
    fold: bool | None = None,
) -> Any:
    """Multiply a kernel matrix with a block, never storing the matrix."""
    n = X.shape[0]
    launch = _launcher(X, Y, kernel, gamma, degree, coef0, strict, tiles, fold)
    out = torch.empty((n, V.shape[1]), dtype=torch.float32, device=X.device)
    for first in range(0, V.shape[1], MAX_BLOCK):
        block = V[:, first : first + MAX_BLOCK]
        parts, back = _block(block, _padded(Y.shape[0]), strict)
        sums = launch(parts, block.shape[1])
        out[:, first : first + MAX_BLOCK] = sums[:n, : block.shape[1]] * back
    return out


def _launcher(
    X: Any,
    Y: Any,
    kernel: str,
    gamma: float,
    degree: float,
    coef0: float,
    strict: bool,
    tiles: Tiles | None,
    fold: bool | None,
) -> Any:
    """Prepare rows; the answer multiplies a block that is prepared."""
    from fewlabels._backend import _kernels

    d = X.shape[1]
    n_rows, n_columns = _padded(X.shape[0]), _padded(Y.shape[0])
    size = tiles or (LAPLACE_TILES if kernel == "laplacian" else PRODUCT_TILES)
    programs = n_rows // size.rows
    # A few rows share the columns among many programs.
    n_parts = max(1, min(n_columns // (8 * size.columns), 1024 // programs))
    span = -(-n_columns // (n_parts * size.columns)) * size.columns
    n_parts = -(-n_columns // span)
    options: dict[str, Any] = {
        "STRICT": strict,
        "BM": size.rows,
        "BN": size.columns,
        "num_warps": size.warps,
        "num_stages": size.stages,
        "maxnreg": size.registers,
    }
    if kernel == "laplacian":
        sides = []
        for A, rows in ((X, n_rows), (Y, n_columns)):
            turned = torch.zeros((d, rows), dtype=torch.float32, device=A.device)
            turned[:, : A.shape[0]] = A.T * (gamma * LOG2_E)
            sides.append(turned)

        def laplacian(parts: Any, m: int) -> Any:
            M = 1 if m == 1 else parts.shape[-1]
            bits = 0 if m == 1 else LARGEST_ENTRY_BITS
            out = X.new_empty((n_parts, n_rows, M))
            _kernels.laplacian[(programs, n_parts)](
                *sides, parts, out, n_rows, n_columns, span, d, float(bits),
                2.0**-bits, M=M, **options,
            )
            return out.sum(0)

        return laplacian
    fold = kernel == "rbf" and (_folds(d) if fold is None else fold)
    scale = _scale(X, Y)
    if fold:
        A = _halves(X, scale, strict, own_at=d, units_at=d + 3)
        B = _halves(Y, scale, strict, own_at=d + 3, units_at=d)
    else:
        A = _halves(X, scale, strict)
        B = A if Y is X else _halves(Y, scale, strict)
    width, chunk = _width(d)
    if kernel == "rbf":
        factor = 2.0 * gamma * LOG2_E / scale**2
        x_squares, y_squares = (
            (factor * side.squares).float() for side in (A, B)
        )

    def product(parts: Any, m: int) -> Any:
        M = 1 if m == 1 else parts.shape[-1]
        bits = 0 if m == 1 else LARGEST_ENTRY_BITS
        back = 2.0**-bits
        if kernel == "rbf":
            here, top = factor, float(bits)
            squares = (x_squares - bits, y_squares)
        else:
            # The largest power that two rows can have becomes 2 ** bits.
            largest = gamma * (LARGEST_NORM / scale) ** 2 + abs(coef0)
            bits = bits - degree * _power(largest)
            root = 2.0 ** (bits / degree)
            back = 2.0**-bits
            here, top = root * gamma / scale**2, root * coef0
            squares = (parts, parts)
        out = X.new_empty((n_parts, n_rows, M))
        _kernels.product[(programs, n_parts)](
            A.parts, B.parts, *squares, parts, out, n_rows, n_columns, span, here, top,
            back if m > 1 else 1.0,
            KERNEL=0 if kernel == "rbf" else 1, DEGREE=int(degree), FOLD=fold,
            D=width, CHUNK=chunk, M=M, **options,
        )
        out = out.sum(0)
        return out * back if m == 1 and kernel != "rbf" else out

    return product


def _sample(n: int, k: int, slots: int) -> int:
    """Columns of the first pass, so that the second finds not too many near ones."""
    # That the nearest of a slot hides others makes the bound a bit looser.
    found = slots * math.log(slots / (slots - k))
    share = max(1, 1 << int(math.log2(EXPECTED / found)))
    while share > 1 and n // share < 16 * slots:
        share //= 2
    return _padded(n // share) if share > 1 else _padded(n)


def nearest(
    Q: Any,
    X: Any,
    k: int,
    own: bool,
    rows_at_once: int,
    tiles: Tiles | None = None,
    fold: bool | None = None,
    sample: int | None = None,
) -> Any:
    """Numbers of about the k nearest rows, in two passes that store no distances.

    The first pass finds, for some of the rows of X, the nearest one in every slot; the
    k-th nearest of these bounds the k-th nearest of all. The second collects the rows
    within the bound, of which there are few. If there are too many of them, then
    their k-th is the next bound, and so forth: rows that are equal to it are known.
    """
    from fewlabels._backend import _kernels

    n, d = X.shape
    size = tiles or NEAREST_TILES
    fold = _folds(d) if fold is None else fold
    # Slots are fair whatever the order of the rows.
    shuffle = torch.Generator(X.device).manual_seed(0)
    order = torch.randperm(n, generator=shuffle, device=X.device)
    shuffled = X[order]
    scale = _scale(X) if own else _scale(X, Q)
    far = 65504.0 * UNITS[0]
    at = {"own_at": d + 3} if fold else {}
    B = _halves(shuffled, scale, True, far=far, **at)
    if fold:
        A = _halves(shuffled if own else Q, scale, True, units_at=d + 3)
    else:
        A = B if own else _halves(Q, scale, True)
    del shuffled
    y_squares = B.squares.float()
    width, chunk = _width(d)
    options: dict[str, Any] = {
        "FOLD": fold,
        "D": width,
        "CHUNK": chunk,
        "BM": size.rows,
        "BN": size.columns,
        "num_warps": size.warps,
        "num_stages": size.stages,
        "maxnreg": size.registers,
    }
    n_columns = B.parts.shape[0]
    sampled = min(n_columns, sample or _sample(n, k + own, size.columns))
    found = torch.empty((Q.shape[0], k), dtype=torch.int64, device=X.device)

    def collected(parts: Any, limits: Any, me: Any) -> tuple[Any, Any]:
        rows = parts.shape[0]
        counts = torch.zeros(rows, dtype=torch.int32, device=X.device)
        keys = torch.full((rows, ROOM), FAR, device=X.device)
        _kernels.collect[(rows // size.rows,)](
            parts, B.parts, y_squares, limits, me, counts, keys, n_columns,
            ROOM=ROOM, **options,
        )
        return counts, keys

    step = max(1, rows_at_once // PADDING) * PADDING
    for first in range(0, Q.shape[0], step):
        parts = A.parts[first : first + step]
        best = X.new_empty((parts.shape[0], size.columns))
        _kernels.nearest_by_slot[(parts.shape[0] // size.rows,)](
            parts, B.parts, y_squares, best, sampled, **options
        )
        limits = torch.topk(best, k + own, dim=1).values[:, -1]
        del best
        limits = torch.nextafter(limits, limits.new_tensor(-torch.inf))
        me = torch.full((parts.shape[0],), -1, dtype=torch.int32, device=X.device)
        if own:
            torch.arange(first, first + me.shape[0], out=me)
        counts, keys = collected(parts, limits, me)
        keys = torch.topk(keys, k, dim=1, largest=False).values
        rows = min(step, Q.shape[0] - first)
        again = torch.nonzero((counts[:rows] > ROOM) | (counts[:rows] < k))[:, 0]
        while again.shape[0] > 0:
            # What is as near as the k-th found is kept, what is nearer is found again.
            bound = keys[again, -1:]
            limit = torch.where(counts[again] < k, -torch.inf, _nearness(bound)[:, 0])
            kept = torch.where(keys[again] >> 32 == bound >> 32, keys[again], FAR)
            filled = torch.zeros(_padded(again.shape[0]), dtype=torch.int64, device=X.device)
            filled[: again.shape[0]] = again
            limits = limits.new_full(filled.shape, torch.inf)
            limits[: again.shape[0]] = limit
            number, more = collected(parts[filled], limits, me[filled])
            number, more = number[: again.shape[0]], more[: again.shape[0]]
            more = torch.cat([kept, more], dim=1)
            keys[again] = torch.topk(more, k, dim=1, largest=False).values
            counts[again] = number
            again = again[number > ROOM]
        numbers = order[keys[:rows] & 0xFFFFFFFF]
        if own:
            found[order[first : first + rows]] = numbers
        else:
            found[first : first + rows] = numbers
    return found


def _nearness(keys: Any) -> Any:
    """Nearness that a key was made of."""
    order = (-(keys >> 32)).int()
    return torch.where(order < 0, order ^ 0x7FFFFFFF, order).view(torch.float32)


def relax(indptr: Any, indices: Any, lengths: Any, costs: Any) -> Any:
    """Let every row look for shorter ways through its neighbours, once, in place.

    Returns whether any was found, as a tensor of one number.
    """
    from fewlabels._backend import _kernels

    n, m = costs.shape
    changed = torch.zeros(1, dtype=torch.int32, device=costs.device)
    width = min(64, 1 << (m - 1).bit_length())
    rows = max(1, 128 // width)
    _kernels.relax[(-(-n // rows), -(-m // width))](
        indptr, indices, lengths, costs, changed, n, m, R=rows, M=width, num_warps=4
    )
    return changed
