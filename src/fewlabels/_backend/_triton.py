"""Fused kernels for a GPU, written in Triton; plain torch does the same elsewhere."""

# SPDX-License-Identifier: BSD-3-Clause

import math
import os
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import torch
from sklearn.utils.fixes import parse_version

# The first with all that the kernels use.
OLDEST_TRITON = "3.3"
# Smaller problems are as fast in plain torch.
MIN_ENTRIES = 2**24
# Degrees of polynomials that are computed by multiplication.
MAX_DEGREE = 8
# Neighbours that can be told apart by slots.
MAX_NEIGHBORS = 48
# Right-hand sides that are taken at once.
MAX_BLOCK = 128
# Columns of rows that a tile holds whole, beyond which it takes them in chunks.
MAX_WHOLE = 128
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
# Bytes that a row needs in the search for neighbours: keys, and how they are sorted.
NEAREST_BYTES = 4 * 8 * ROOM
# Rounds of shorter paths between two looks at whether there were any.
ROUNDS = 4
# Multiply and add in one step: Triton warns where it is not told, and will not by
# itself in future.
FUSION = {"enable_fp_fusion": True}
# Classes of a local search, and points that it looks at together.
MAX_CLASSES = 31
POINTS = 1024
LOG2_E = math.log2(math.e)
# The largest number of float16, a key that is farther than any, the number in a key.
HALF_MAX = 65504.0
FAR = torch.iinfo(torch.int64).max
NUMBER = 0xFFFFFFFF


@cache
def _can_run(place: torch.device) -> bool:
    """Whether kernels can run on a device: tensor cores, or Triton's interpreter."""
    try:
        if parse_version(version("triton")) < parse_version(OLDEST_TRITON):
            return False
    except PackageNotFoundError:
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


def fits_vector(A: Any, V: Any) -> bool:
    """Whether the product with one vector reads a stored matrix by a kernel."""
    return (
        isinstance(A, torch.Tensor)
        and A.layout == torch.strided
        and A.dtype == V.dtype == torch.float32
        and V.ndim == 2
        and V.shape[1] == 1
        and A.stride(1) == 1
        and A.shape[0] * A.shape[1] >= MIN_ENTRIES
        and _can_run(A.device)
    )


def fits_paths(lengths: Any, costs: Any) -> bool:
    """Whether path lengths are shortened by a fused kernel."""
    return min(*lengths.shape, *costs.shape) > 0 and _can_run(costs.device)


def fits_climb(H: Any) -> bool:
    """Whether local searches move by a fused kernel; bits stand for their classes."""
    return H.shape[1] < MAX_CLASSES and H.shape[2] > 0 and _can_run(H.device)


class Tiles(NamedTuple):
    """Shape of the tiles of a kernel, its warps, and loads under way at a time."""

    rows: int
    columns: int
    warps: int
    stages: int
    registers: int | None = None


# The fastest on an H200 of those that were tried.
STRICT_TILES = Tiles(256, 64, 8, 2)
FAST_TILES = Tiles(128, 64, 4, 3)
BLOCK_TILES = Tiles(128, 128, 8, 2)
LAPLACE_TILES = Tiles(32, 128, 4, 2)
NEAREST_TILES = Tiles(128, 64, 4, 3)
VECTOR_TILES = Tiles(8, 512, 4, 2)
# Rows that do not fit into a tile whole, for which three stages compile slowly.
CHUNKED_TILES = Tiles(128, 128, 8, 2)


def _padded(n: int) -> int:
    return -(-n // PADDING) * PADDING


def _width(d: int) -> tuple[int, int]:
    """Columns of padded rows, and of a chunk of them."""
    if d <= MAX_WHOLE:
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
        parts, back = _block(block, _padded(Y.shape[0]), strict)
        sums = multiply(parts)[: X.shape[0], : block.shape[1]]
        out[:, first : first + MAX_BLOCK] = sums * back
    return out


class _Launch:
    """How a kernel is launched for a block of right-hand sides."""

    def __init__(self, n: int, n_columns: int, parts: Any, strict: bool, size: Tiles):
        n_rows = _padded(n)
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
        self.options = {"STRICT": strict, "M": self.width, **_options(size)}


def _options(size: Tiles) -> dict[str, Any]:
    return {
        "BM": size.rows,
        "BN": size.columns,
        "num_warps": size.warps,
        "num_stages": size.stages,
        "maxnreg": size.registers,
        **FUSION,
    }


def _laplacian(X: Any, Y: Any, gamma: float, strict: bool, tiles: Tiles | None) -> Any:
    """Prepare rows; what is returned multiplies a prepared block."""
    from fewlabels._backend import _kernels

    d = X.shape[1]
    sides = []
    for A in (X, Y):
        turned = A.new_zeros((d, _padded(A.shape[0])))
        turned[:, : A.shape[0]] = A.T * (gamma * LOG2_E)
        sides.append(turned)

    def multiply(parts: Any) -> Any:
        size = tiles or LAPLACE_TILES
        to = _Launch(X.shape[0], sides[1].shape[1], parts, strict, size)
        _kernels.laplacian[to.grid](
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
    scale = _scale(X, Y)
    factor = 2.0 * gamma * LOG2_E / scale**2
    fold = _folds(d)
    x_at, y_at = (d, d + len(UNITS)) if fold else (None, None)
    A = _halves(X, scale, strict, own_at=x_at, units_at=y_at)
    B = _halves(Y, scale, strict, own_at=y_at, units_at=x_at)
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
    scale = _scale(X, Y)
    A = _halves(X, scale, strict)
    B = A if Y is X else _halves(Y, scale, strict)
    # No two rows have more than this, which becomes 2 ** bits when multiplied.
    largest = _power(gamma * (LARGEST_NORM / scale) ** 2 + abs(coef0))

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
    from fewlabels._backend import _kernels

    width, chunk = _width(d)
    _kernels.product[to.grid](
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
    return _fitting(size, d, block, strict, _shared_bytes(parts.device))


def _fitting(
    size: Tiles, d: int, block: int, strict: bool, room: int, least_columns: int = 32
) -> Tiles:
    """Tiles that fit into the memory that the threads of a program share."""
    while _tile_bytes(size, d, block, strict) > room and size.stages > 1:
        if size.stages > 2:
            size = size._replace(stages=size.stages - 1)
        elif size.columns > least_columns:
            size = size._replace(columns=size.columns // 2)
        elif size.rows > 64:
            size = size._replace(rows=size.rows // 2)
        else:
            size = size._replace(stages=1)
    return size


def _tile_bytes(size: Tiles, d: int, block: int, strict: bool) -> int:
    """Memory for tiles of rows, and for all stages of what is loaded in a loop."""
    _, chunk = _width(d)
    numbers = size.rows * chunk * (1 if d <= MAX_WHOLE else size.stages)
    numbers += size.columns * (chunk + block) * size.stages
    return (4 if strict else 2) * numbers


@cache
def _shared_bytes(place: torch.device) -> int:
    """Memory that the threads of a program can share, less what sums need."""
    if place.type != "cuda":
        return 2**17
    properties = torch.cuda.get_device_properties(place)
    # Every card since 2020 has so much; older versions of torch do not tell.
    least = 99 * 2**10
    return int(getattr(properties, "shared_memory_per_block_optin", least)) - 2**12


def matvec(A: Any, V: Any) -> Any:
    """Multiply a stored matrix with one vector, as fast as it can be read."""
    from fewlabels._backend import _kernels

    n, n_columns = A.shape
    size = VECTOR_TILES
    # Several programs share a row, so that the last ones to finish have little to do.
    span = -(-n_columns // (4 * size.columns)) * size.columns
    grid = (-(-n // size.rows), -(-n_columns // span))
    out = A.new_empty((grid[1], n))
    _kernels.matvec[grid](
        A, V.contiguous(), out, n, n_columns, A.stride(0), span, **_options(size)
    )
    return out.sum(0)[:, None]


def _sample(n: int, k: int, slots: int) -> int:
    """Columns of the first pass, so that the second finds not too many near ones."""
    # That the nearest of a slot hides others makes the bound a bit looser.
    found = slots * math.log(slots / (slots - k))
    share = max(1, 1 << int(math.log2(EXPECTED / found)))
    while share > 1 and n // share < 16 * slots:
        share //= 2
    return _padded(n // share) if share > 1 else _padded(n)


def nearest(
    Q: Any, X: Any, k: int, own: bool, rows_at_once: int, tiles: Tiles | None = None
) -> Any:
    """Numbers of about the k nearest rows, in two passes that store no distances.

    The first pass finds, for some of the rows of X, the nearest one in every slot; the
    k-th nearest of these bounds the k-th nearest of all. The second collects the rows
    within the bound, of which there are few. If there are too many of them, then
    their k-th is the next bound, and so forth: rows that are equal to it are known.
    """
    from fewlabels._backend import _kernels

    n, d = X.shape
    fold = _folds(d)
    # Slots are fair whatever the order of the rows.
    shuffle = torch.Generator(X.device).manual_seed(0)
    order = torch.randperm(n, generator=shuffle, device=X.device)
    shuffled = X[order]
    scale = _scale(X) if own else _scale(X, Q)
    y_at = d + len(UNITS) if fold else None
    B = _halves(shuffled, scale, True, own_at=y_at, far=HALF_MAX * UNITS[0])
    if own and not fold:
        A = B.parts
    else:
        A = _halves(shuffled if own else Q, scale, True, units_at=y_at).parts
    del shuffled
    n_columns = B.parts.shape[0]
    y_squares = B.squares.float()
    size = tiles or (CHUNKED_TILES if d > MAX_WHOLE else NEAREST_TILES)
    # Every column of a tile is a slot, of which there must be more than neighbours.
    size = _fitting(size, d, 0, True, _shared_bytes(X.device), least_columns=64)
    width, chunk = _width(d)
    options = {"FOLD": fold, "D": width, "CHUNK": chunk, **_options(size)}

    def collected(rows: Any, limits: Any) -> tuple[Any, Any]:
        counts = torch.empty(rows.shape[0], dtype=torch.int32, device=X.device)
        keys = torch.full((rows.shape[0], ROOM), FAR, device=X.device)
        _kernels.collect[(rows.shape[0] // size.rows,)](
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
        _kernels.nearest_by_slot[(rows.shape[0] // size.rows,)](
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
            padding = _padded(again.shape[0]) - again.shape[0]
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
    from fewlabels._backend import _kernels

    n, m = costs.shape
    changed = torch.zeros(1, dtype=torch.int32, device=costs.device)
    width = min(64, 1 << (m - 1).bit_length())
    rows = max(1, 128 // width)
    _kernels.relax[(-(-n // rows), -(-m // width))](
        indptr, indices, lengths, costs, changed, n, m,
        R=rows, M=width, num_warps=4, **FUSION,
    )  # fmt: skip
    return changed


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
    from fewlabels._backend import _kernels

    runs, others, u = state["H"].shape
    gains = q.new_full((runs, n_moves), torch.nan)
    _kernels.climb[(runs,)](
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
