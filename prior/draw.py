"""Synthetic tables, drawn in batches on the device: the prior of the network.

Every table of a batch has the same numbers of rows, columns and classes, and its own
mechanism. Five kinds of mechanisms take turns: causal networks, clusters and curves,
trees, sums of single effects, and latent classes. Columns are then warped, quantised,
turned into categories or joined as the directions of a text are, copied, made
irrelevant, and given holes, and the classes get shares and wrong labels.
"""

# SPDX-License-Identifier: BSD-3-Clause

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

# Numbers that describe one cell, see `Table.cells`.
CELL_SIZE = 6
CODE_SIZE = 4


@dataclass
class Tables:
    """A batch of tables, labelled rows first.

    Attributes
    ----------
    cells : Tensor of shape (n_tables, n_rows, n_columns, CELL_SIZE)
        A number is (z, rank, 0, 0, 1, 0): standardised, and its rank from -1 to 1. What
        needs several numbers, as a category or a text does, is (code, 0, 1).
    classes : Tensor of int of shape (n_tables, n_rows)
        The classes.
    n_labeled : int
        Number of labelled rows.
    n_context : int
        Rows that others may look at, the labelled ones among them.
    n_classes : int
        Number of classes.
    """

    cells: Tensor
    classes: Tensor
    n_labeled: int
    n_context: int
    n_classes: int


@dataclass(frozen=True)
class Sizes:
    """Numbers of rows, columns, classes, labels and of rows that can be looked at."""

    n_rows: int
    n_columns: int
    n_classes: int
    n_labeled: int
    n_context: int
    per_class: bool


def draw_sizes(rng, max_rows=640, max_columns=100, max_tokens=64):
    """Draw the sizes of a batch; `rng` is NumPy's."""
    n_classes = int(rng.choice([2, 3, 4, 5, 6, 7, 8, 10, 13, 18], p=_CLASS_SHARES))
    n_columns = round(math.exp(rng.uniform(math.log(2), math.log(max_columns))))
    # Two columns are a token, and a row has to fit into a tile of columns.py.
    n_columns = min(n_columns, 2 * (max_tokens - n_classes))
    n_rows = round(math.exp(rng.uniform(math.log(80), math.log(max_rows))))
    # Some rows can never be looked at, as most of a large table.
    n_context = n_rows - 8
    if rng.rand() < 0.4:
        n_context = round(n_rows * rng.uniform(0.3, 0.9))
    return draw_labels(
        Sizes(n_rows, n_columns, n_classes, n_classes, n_context, True), rng
    )


def draw_labels(sizes, rng):
    """Draw the number of labels, some per class or some at random."""
    per_class = bool(rng.rand() < 0.6)
    if per_class:
        each = int(rng.choice([1, 2, 3, 4, 5, 7, 10, 14, 20], p=_EACH_SHARES))
        n_labeled = each * sizes.n_classes
    else:
        n_labeled = round(math.exp(rng.uniform(math.log(5), math.log(120))))
    n_labeled = max(2, min(n_labeled, sizes.n_rows // 2, sizes.n_context))
    return replace(sizes, n_labeled=n_labeled, per_class=per_class)


_CLASS_SHARES = [0.31, 0.17, 0.12, 0.1, 0.08, 0.06, 0.05, 0.05, 0.03, 0.03]
_EACH_SHARES = [0.06, 0.1, 0.2, 0.12, 0.14, 0.1, 0.16, 0.06, 0.06]


def draw_tables(n_tables, sizes, device, kinds=None, real=None, share=0.4):
    """Draw a batch of tables, an equal part of each kind of mechanism.

    Of ``real`` tables (see :class:`real.RealTables`) there is at most some share.
    """
    n_real = round(n_tables * real.share(sizes, share)) if real else 0
    kinds = list(MECHANISMS) if kinds is None else kinds
    counts = [(n_tables - n_real) // len(kinds)] * len(kinds)
    for k in torch.randperm(len(kinds))[: (n_tables - n_real) % len(kinds)].tolist():
        counts[k] += 1
    columns, classes = [], []
    for kind, count in zip(kinds, counts, strict=True):
        if count:
            made = MECHANISMS[kind](count, sizes, device)
            columns.append(made[0])
            classes.append(made[1])
    y = wrong_labels(torch.cat(classes), sizes.n_classes)
    X, y = labeled_first(torch.cat(columns), y, sizes)
    cells = to_cells(disturb(X))
    if n_real:
        X, category, more = real.draw(n_real, sizes)
        X, more = labeled_first(X, more, sizes)
        cells, y = torch.cat([cells, real_cells(X, category)]), torch.cat([y, more])
    return Tables(cells, y, sizes.n_labeled, sizes.n_context, sizes.n_classes)


# --- chance -----------------------------------------------------------------------


def normal(*shape, device):
    return torch.randn(shape, device=device)


def uniform(*shape, device, low=0.0, high=1.0):
    return low + (high - low) * torch.rand(shape, device=device)


def log_uniform(*shape, device, low, high):
    return torch.exp(
        uniform(*shape, device=device, low=math.log(low), high=math.log(high))
    )


def flags(share, *shape, device):
    return torch.rand(shape, device=device) < share


def integers(low, high, *shape, device):
    """Integers of low <= . < high."""
    return torch.randint(low, high, shape, device=device)


def integer(low, high):
    """One integer for a whole batch, drawn beside the device, which need not wait."""
    return int(torch.randint(low, high, ()))


def standardised(X, dim=1):
    return (X - X.mean(dim, keepdim=True)) / (X.std(dim, keepdim=True) + 1e-6)


def places(X):
    """Place of every row (B, n, ...) in the order of its values."""
    order = X.argsort(1)
    counted = torch.arange(X.shape[1], device=X.device)
    counted = counted.view(-1, *[1] * (X.ndim - 2)).expand(X.shape)
    return torch.empty_like(order).scatter(1, order, counted)


# --- mechanisms -------------------------------------------------------------------

# Levels of a category.
MAX_LEVELS = 64

# Clusters of a class.
GROUPS = (1, 1, 2, 3)

ACTIVATIONS = (
    lambda x: x,
    torch.tanh,
    torch.relu,
    lambda x: torch.sin(2 * x),
    lambda x: x.abs(),
    lambda x: x.square().clamp(max=9),
    lambda x: (x > 0).to(x.dtype),
    lambda x: torch.exp(-x.square()),
)


def activate(X):
    """Apply to every unit an activation of its own."""
    B, _, h = X.shape
    # Tables differ in how many kinds of activations they know.
    kind = integers(0, len(ACTIVATIONS), B, 1, h, device=X.device)
    single = integers(0, len(ACTIVATIONS), B, 1, 1, device=X.device)
    kind = torch.where(flags(0.5, B, 1, 1, device=X.device), single, kind)
    out = torch.zeros_like(X)
    for k, function in enumerate(ACTIVATIONS):
        out = torch.where(kind == k, function(X), out)
    return out


def causes(B, n, q, device):
    """Root causes: normal, uniform, heavy-tailed, or in clumps, scaled unequally."""
    Z = normal(B, n, q, device=device)
    kind = integers(0, 4, B, 1, 1, device=device)
    Z = torch.where(kind == 1, uniform(B, n, q, device=device, low=-1.7, high=1.7), Z)
    tail = log_uniform(B, n, 1, device=device, low=0.4, high=2.5)
    Z = torch.where(kind == 2, Z * tail, Z)
    n_clumps = 6
    which = integers(0, n_clumps, B, n, device=device)
    clumps = 2.5 * normal(B, n_clumps, q, device=device)
    Z = torch.where(kind == 3, Z * 0.5 + pick(clumps, which), Z)
    return Z * log_uniform(B, 1, q, device=device, low=0.3, high=2.0)


def pick(table, index):
    """Rows of a table (B, m, q) by an index (B, n)."""
    return table.gather(1, index[..., None].expand(*index.shape, table.shape[-1]))


def layer(X, width, density):
    """One layer of a causal network: sparse weights, activations, and noise."""
    B, _, h = X.shape
    W = normal(B, h, width, device=X.device)
    W = W * (torch.rand_like(W) < density)
    Z = standardised(torch.bmm(X, W) + 1e-3 * torch.randn_like(X[..., :1]))
    Z = Z + 0.5 * normal(B, 1, width, device=X.device)
    noise = log_uniform(B, 1, 1, device=X.device, low=1e-3, high=0.2)
    Z = activate(Z)
    return Z + noise * torch.randn_like(Z)


def choose_columns(X, n_columns):
    """Random columns of every table, other ones for each."""
    B, _, m = X.shape
    if m < n_columns:
        extra = integers(0, m, B, n_columns - m, device=X.device)
        order = torch.cat([torch.rand(B, m, device=X.device).argsort(1), extra], 1)
    else:
        order = torch.rand(B, m, device=X.device).argsort(1)[:, :n_columns]
    return X.gather(2, order[:, None].expand(B, X.shape[1], n_columns))


def class_shares(B, C, device):
    """Shares of the classes, from equal to very unequal."""
    power = uniform(B, 1, device=device, high=1.6) * flags(0.75, B, 1, device=device)
    return torch.softmax(power * normal(B, C, device=device), 1)


def classes_of_scores(scores):
    """Argmax of scores, with offsets that give classes unequal shares."""
    B, _, C = scores.shape
    scores = standardised(scores)
    shift = torch.log(class_shares(B, C, scores.device) * C + 1e-3)
    size = uniform(B, 1, 1, device=scores.device, low=0.3, high=1.3)
    return (scores + size * shift[:, None]).argmax(2)


def classes_of_intervals(value, C):
    """Cut one number (B, n) into intervals, and give every interval a class."""
    B, n = value.shape
    device = value.device
    n_cuts = C * 2
    # Either one interval per class in order, or twice as many at random.
    shares = class_shares(B, n_cuts, device)
    simple = flags(0.8, B, 1, device=device)
    first = torch.arange(n_cuts, device=device) < C
    shares = torch.where(simple & ~first, torch.zeros_like(shares), shares)
    ends = (shares / shares.sum(1, keepdim=True)).cumsum(1)[:, :-1]
    rank = places(value).to(ends.dtype) / n
    interval = torch.searchsorted(ends.contiguous(), rank.contiguous())
    shuffled = torch.rand(B, C, device=device).argsort(1)
    other = integers(0, C, B, C, device=device)
    return torch.cat([shuffled, other], 1).gather(1, interval)


def network(B, sizes, device):
    """Causal networks: columns are units of a random network, the class another."""
    n, F, C = sizes.n_rows, sizes.n_columns, sizes.n_classes
    q = round(float(log_uniform(1, device="cpu", low=1, high=24)))
    width = int(max(8, min(48, F)))
    depth = min(integer(1, 5), integer(1, 5))
    density = float(log_uniform(1, device="cpu", low=2.0 / width, high=0.8))
    units = [causes(B, n, q, device)]
    for _ in range(depth):
        units.append(layer(units[-1], width, max(density, 1.5 / units[-1].shape[2])))
    # The class comes from the last layer, from an early one, or from the causes.
    which = integer(0, len(units))
    origin = units[which] if torch.rand(()) < 0.5 else units[-1]
    W = normal(B, origin.shape[2], C, device=device)
    W = W * (torch.rand_like(W) < max(0.15, 1.5 / origin.shape[2]))
    scores = torch.bmm(standardised(origin), W)
    temperature = log_uniform(B, 1, 1, device=device, low=0.005, high=0.5)
    scores = standardised(scores) + temperature * gumbel(scores)
    by_cuts = classes_of_intervals(scores[..., 0], C)
    y = torch.where(flags(0.5, B, 1, device=device), classes_of_scores(scores), by_cuts)
    pool = torch.cat(units, 2)
    if torch.rand(()) < 0.3:  # only what the layers made
        pool = torch.cat(units[1:], 2)
    return choose_columns(pool, F), y


def gumbel(like):
    return -torch.log(-torch.log(torch.rand_like(like).clamp(1e-6, 1 - 1e-6)))


def clusters(B, sizes, device):
    """Clusters and curves in few dimensions, seen through a random network."""
    n, F, C = sizes.n_rows, sizes.n_columns, sizes.n_classes
    q = integer(1, 9)
    M = C * GROUPS[integer(0, 4)]
    shares = class_shares(B, M, device)
    which = torch.multinomial(shares, n, replacement=True)
    spread = log_uniform(B, 1, 1, device=device, low=1.5, high=10.0)
    centres = spread * normal(B, M, q, device=device) / math.sqrt(q)
    scale = log_uniform(B, M, q, device=device, low=0.2, high=1.0)
    Z = normal(B, n, q, device=device)
    tail = torch.where(
        flags(0.3, B, 1, 1, device=device),
        log_uniform(B, n, 1, device=device, low=0.4, high=2.0),
        torch.ones(1, device=device),
    )
    Z = Z * pick(scale, which) * tail / math.sqrt(q) + pick(centres, which)
    # Curves: a line through the centre, bent.
    t = uniform(B, n, 1, device=device, low=-1, high=1)
    line = pick(normal(B, M, q, device=device), which)
    bend = pick(normal(B, M, q, device=device), which)
    turn = pick(uniform(B, M, 1, device=device, low=0.5, high=4.0), which)
    curve = 2 * (line * t + bend * torch.cos(turn * t * 2))
    Z = torch.where(flags(0.35, B, 1, 1, device=device), Z + curve, Z)
    # The first C clusters have a class each, the others any.
    order = torch.rand(B, C, device=device).argsort(1)
    more = integers(0, C, B, M - C, device=device)
    y = torch.cat([order, more], 1).gather(1, which)
    seen = see(Z, F, sizes)
    return seen, y


def see(Z, F, sizes):
    """Columns that show few latent numbers: mixed linearly, or through a layer."""
    B, _, q = Z.shape
    device = Z.device
    Z = standardised(Z)
    parts = [Z]
    W = normal(B, q, F, device=device)
    W = W * (torch.rand_like(W) < max(0.3, 1.2 / q))
    parts.append(torch.bmm(Z, W))
    if torch.rand(()) < 0.5:
        hidden = layer(Z, max(8, F), 0.6)
        parts.append(hidden)
    noise = log_uniform(B, 1, 1, device=device, low=0.005, high=0.4)
    X = standardised(choose_columns(torch.cat(parts, 2), F))
    return X + noise * torch.randn_like(X)


def correlated(B, n, F, device, low, high):
    """Columns with causes in common, and with noise of their own of some size."""
    q = integer(1, max(2, F))
    Z = causes(B, n, q, device)
    W = normal(B, q, F, device=device) * flags(
        max(0.2, 1.2 / q), B, q, F, device=device
    )
    own = log_uniform(B, 1, F, device=device, low=low, high=high)
    return standardised(torch.bmm(Z, W)) + own * normal(B, n, F, device=device)


def with_levels(X):
    """Give some columns few values, which are all that the class depends on.

    Values of the levels are at random, or in the order of the intervals.
    """
    B, _, F = X.shape
    share = uniform(B, 1, device=X.device, low=-1.0, high=1.2).clamp(0, 1)
    chosen = torch.rand(B, F, device=X.device) < share
    level = cut(X)
    values = normal(B, MAX_LEVELS, F, device=X.device)
    ordered = flags(0.4, B, 1, F, device=X.device)
    values = torch.where(ordered, values.sort(1).values, values)
    return torch.where(chosen[:, None], values.gather(1, level), standardised(X))


def cut(X):
    """Levels of numbers (B, n, F): intervals, of which several may be one level."""
    B, n, F = X.shape
    device = X.device
    k = log_uniform(B, F, device=device, low=2, high=14).floor()
    k = torch.where(flags(0.2, B, F, device=device), k.square().clamp(max=48), k)
    scattered = flags(0.3, B, F, device=device)
    pieces = torch.where(scattered, (3 * k).clamp(max=MAX_LEVELS), k)
    spread = uniform(B, F, 1, device=device, low=0.3, high=1.6)
    shares = torch.exp(spread * normal(B, F, MAX_LEVELS, device=device))
    shares = shares * (torch.arange(MAX_LEVELS, device=device) < pieces[..., None])
    ends = (shares / shares.sum(2, keepdim=True)).cumsum(2)[..., :-1].contiguous()
    rank = places(X).to(X.dtype).div(n).transpose(1, 2).contiguous()
    piece = torch.searchsorted(ends, rank)  # (B, F, n)
    names = torch.rand(B, F, MAX_LEVELS, device=device) * k[..., None]
    level = torch.where(scattered[..., None], names.long().gather(2, piece), piece)
    return level.transpose(1, 2)


def trees(B, sizes, device):
    """Trees and rules on few columns, which are correlated or not."""
    n, F = sizes.n_rows, sizes.n_columns
    X = with_levels(correlated(B, n, F, device, low=0.1, high=2.0))
    return X, classes_of_trees(X, sizes.n_classes)


def classes_of_trees(X, C):
    """Add up what a few small trees say of every class."""
    B, n, F = X.shape
    device = X.device
    T = integer(1, 6)
    D = min(integer(1, 5), integer(1, 5))
    few = min(integer(1, min(F, 6) + 1), integer(1, min(F, 6) + 1))
    relevant = torch.rand(B, F, device=device).argsort(1)[:, :few]
    nodes = 2**D - 1
    chosen = integers(0, few, B, T * nodes, device=device)
    column = relevant.gather(1, chosen).view(B, T, nodes)
    ranks = middle_ranks(X)
    ends = uniform(B, T, nodes, device=device, low=-0.8, high=0.8)
    at = torch.zeros(B, n, T, dtype=torch.long, device=device)
    for _ in range(D):
        c = column.transpose(1, 2).gather(1, at)
        th = ends.transpose(1, 2).gather(1, at)
        at = 2 * at + 1 + (ranks.gather(2, c) > th)
    leaf = at - nodes
    values = normal(B, 2**D, T, C, device=device)
    score = torch.zeros(B, n, C, device=device)
    for k in range(T):
        score = score + pick(values[:, :, k], leaf[..., k])
    noise = log_uniform(B, 1, 1, device=device, low=0.005, high=0.5)
    score = standardised(score) + noise * gumbel(score)
    return classes_of_scores(score)


def additive(B, sizes, device):
    """Add up effects of single columns, most of them weak, and much chance."""
    n, F = sizes.n_rows, sizes.n_columns
    X = with_levels(correlated(B, n, F, device, low=0.2, high=4.0))
    return X, classes_of_effects(X, sizes.n_classes)


def classes_of_effects(X, C):
    """Add up effects of the columns on every class."""
    B, _, F = X.shape
    device = X.device
    centre = normal(B, 1, F, device=device)
    slope = log_uniform(B, 1, F, device=device, low=0.5, high=4.0)
    kind = integers(0, 6, B, 1, F, device=device)
    effect = torch.where(kind == 3, torch.tanh(slope * (X - centre)), X)
    effect = torch.where(kind == 4, (X - centre).abs(), effect)
    effect = torch.where(kind == 5, (X > centre).to(X.dtype), effect)
    share = uniform(B, 1, 1, device=device, low=0.1)
    relevant = torch.rand(B, F, 1, device=device) < share
    relevant[:, 0] = True
    # Effects of one column on all classes are small or large together.
    size = torch.exp(normal(B, F, 1, device=device)) * relevant
    scores = torch.bmm(standardised(effect), size * normal(B, F, C, device=device))
    chance = log_uniform(B, 1, 1, device=device, low=0.02, high=0.8)
    scores = standardised(scores) + chance * gumbel(scores)
    by_cuts = classes_of_intervals(scores[..., 0], C)
    return torch.where(
        flags(0.5, B, 1, device=device), classes_of_scores(scores), by_cuts
    )


def latent_classes(B, sizes, device):
    """Columns that are independent given a hidden group; groups belong to classes."""
    n, F, C = sizes.n_rows, sizes.n_columns, sizes.n_classes
    M = C * GROUPS[integer(0, 4)]
    which = torch.multinomial(class_shares(B, M, device), n, replacement=True)
    order = torch.rand(B, C, device=device).argsort(1)
    y = torch.cat([order, integers(0, C, B, M - C, device=device)], 1).gather(1, which)
    strength = log_uniform(B, 1, F, device=device, low=0.2, high=4.0)
    share = uniform(B, 1, 1, device=device, low=0.15, high=1.0)
    strength = strength * (torch.rand_like(strength) < share)
    # Some columns depend on the class rather than on the group.
    means = normal(B, M, F, device=device)
    of_class = normal(B, C, F, device=device)
    level = torch.where(
        flags(0.5, B, 1, F, device=device), pick(means, which), pick(of_class, y)
    )
    width = pick(log_uniform(B, M, F, device=device, low=0.6, high=1.6), which)
    return strength * level + width * normal(B, n, F, device=device), y


MECHANISMS = {
    "network": network,
    "clusters": clusters,
    "trees": trees,
    "additive": additive,
    "latent classes": latent_classes,
}


# --- what happens to labels and columns --------------------------------------------


def wrong_labels(y, C):
    """Replace some labels by any class, in a quarter of the tables."""
    B, n = y.shape
    share = uniform(B, 1, device=y.device, high=0.15) * flags(
        0.25, B, 1, device=y.device
    )
    wrong = torch.rand(B, n, device=y.device) < share
    return torch.where(wrong, integers(0, C, B, n, device=y.device), y)


def labeled_first(X, y, sizes):
    """Order the rows, those to be labelled in front."""
    order = labeled_order(y, sizes)
    return X.gather(1, order[..., None].expand(X.shape)), y.gather(1, order)


def labeled_order(y, sizes):
    """Places of the rows in that order."""
    B, n = y.shape
    chance = torch.rand(B, n, device=y.device)
    if not sizes.per_class:
        return chance.argsort(1)
    order = chance.argsort(1)
    mixed = y.gather(1, order)
    hot = torch.nn.functional.one_hot(mixed, sizes.n_classes)
    place = (hot.cumsum(1) * hot).sum(2).to(chance.dtype)  # 1, 2, ... within its class
    key = place + torch.rand(B, n, device=y.device) * 0.5
    picked = key.argsort(1)[:, : sizes.n_labeled]
    rest = torch.rand(B, n, device=y.device)
    rest = rest.scatter(1, picked, -1.0)
    return order.gather(1, rest.argsort(1))


def disturb(X):
    """Make columns irrelevant, copy some, and blur others."""
    B, n, F = X.shape
    device = X.device
    X = standardised(X)
    share = uniform(B, 1, device=device, high=0.6) * flags(0.4, B, 1, device=device)
    idle = torch.rand(B, F, device=device) < share
    idle[:, 0] = False
    mixed = torch.rand(B, n, F, device=device).argsort(1)
    X = torch.where(idle[:, None], X.gather(1, mixed), X)
    share = 0.3 * flags(0.3, B, 1, device=device)
    copied = torch.rand(B, F, device=device) < share
    source = integers(0, F, B, F, device=device)
    source = torch.where(copied, source, torch.arange(F, device=device))
    noise = 0.2 * torch.rand(B, 1, F, device=device) * copied[:, None]
    X = X.gather(2, source[:, None].expand(X.shape))
    X = X + noise * torch.randn_like(X)
    order = torch.rand(B, F, device=device).argsort(1)
    return X.gather(2, order[:, None].expand(X.shape))


def to_cells(X):
    """Turn columns into cells: numbers, some with holes, and what needs several.

    Several numbers describe a category, a number with holes, or four directions of a
    text or a date, which are seen through a random projection.
    """
    B, n, F = X.shape
    device = X.device
    level, n_levels = levels(X)
    found = n_levels <= MAX_LEVELS
    # A table is mostly numbers, mostly categories, or mixed.
    mix = uniform(B, 1, device=device, low=-0.4, high=1.2).clamp(0, 1)
    category = torch.rand(B, F, device=device) < mix
    few = ~category & ~found & flags(0.25, B, F, device=device)
    level = torch.where(found[:, None], level, cut(X))
    X = torch.where(few[:, None], level.to(X.dtype), X)
    joined = joined_columns(X)
    X = warped(X)
    # Holes: the number and a mark, seen through a random projection.
    share = uniform(B, 1, F, device=device, high=0.4)
    holey = ~category & (
        torch.rand(B, F, device=device) < 0.3 * flags(0.3, B, 1, device=device)
    )
    above = (X > X.median(1, keepdim=True).values) | flags(0.5, B, 1, F, device=device)
    hole = (torch.rand(B, n, F, device=device) < share) & above & holey[:, None]
    # Texts are not in most tables; where they are, they may be most of it.
    share = uniform(B, 1, device=device, low=-0.8, high=0.8).clamp(min=0)
    text = torch.rand(B, F, device=device) < share
    number = compressed(X, hole)
    several = several_numbers(number, hole, level, category)
    several = torch.where(text[:, None, :, None], joined, several)
    return joint_cells(number, several, category | holey | text)


def real_cells(X, category):
    """Turn columns of real tables, which have holes, into cells."""
    hole = X.isnan() & ~category[:, None]
    level = X.nan_to_num(0).long().clamp(0, MAX_LEVELS - 1)
    middle = X.nanmedian(1, keepdim=True).values.nan_to_num(0)
    number = standardised(torch.where(X.isnan(), middle, X))
    several = several_numbers(number, hole, level, category)
    return joint_cells(number, several, category | hole.any(1))


def several_numbers(number, hole, level, category):
    """Describe a level by a random code, and a number with holes by a projection."""
    B, n, F = number.shape
    codes = normal(B, MAX_LEVELS, F, CODE_SIZE, device=number.device)
    code = codes.gather(1, level[..., None].expand(B, n, F, CODE_SIZE))
    both = torch.stack([number, standardised(hole.to(number.dtype))], 3)
    turn = normal(B, F, 2, CODE_SIZE, device=number.device)
    marked = torch.einsum("bnfk,bfkc->bnfc", both, turn)
    return torch.where(category[:, None, :, None], code, marked)


def joint_cells(number, several, is_several):
    """Put together numbers with their ranks and what needs several numbers."""
    ranks = middle_ranks(number)
    none = torch.zeros_like(ranks)
    plain = torch.stack([number, ranks, none, none], 3)
    kind = is_several[:, None, :, None].expand(*number.shape, 1)
    values = torch.where(kind, standardised(several), plain).clamp(-6, 6)
    kind = kind.to(number.dtype)
    return torch.cat([values, 1 - kind, kind], 3)


def levels(X):
    """Find the number of every value among those of its column, and how many."""
    ordered, order = X.sort(1)
    new = torch.zeros_like(order)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    place = new.cumsum(1)
    return torch.zeros_like(order).scatter(1, order, place), place[:, -1] + 1


def warped(X):
    """Bend some columns, and let some be the same number for most rows."""
    B, _, F = X.shape
    device = X.device
    bent = flags(0.25, B, 1, F, device=device)
    rate = uniform(B, 1, F, device=device, low=0.3, high=1.2)
    spiky = flags(0.08, B, 1, F, device=device)
    floor = normal(B, 1, F, device=device)
    X = torch.where(spiky, (X - floor).clamp(min=0), X)
    return torch.where(bent, torch.exp(rate * X.clamp(-4, 4)), X)


def joined_columns(X):
    """Join every column with three others, some of them noise, and mix the four."""
    B, n, F = X.shape
    device = X.device
    X = standardised(X)
    noise = normal(B, n, F, device=device)
    threshold = uniform(B, 1, F, device=device, low=-1.5, high=1.5).clamp(min=0)
    parts = []
    for k in range(CODE_SIZE):
        other = integers(0, F, B, 1, F, device=device).expand(X.shape)
        part = X.gather(2, other) if k else X
        idle = flags(0.4 if k else 0.1, B, 1, F, device=device)
        part = torch.where(idle, noise.roll(k, 1), part)
        # Most words are in few texts.
        rare = part.sign() * (part.abs() - threshold).clamp(min=0)
        parts.append(rare)
    turn = normal(B, F, CODE_SIZE, CODE_SIZE, device=device)
    return torch.einsum("bnfk,bfkc->bnfc", torch.stack(parts, 3), turn)


def compressed(X, hole):
    """Median and quartiles of the known numbers, then asinh, then variance one."""
    known = torch.where(hole, torch.full_like(X, torch.nan), X)
    q1, median, q3 = torch.nanquantile(
        known, torch.tensor([0.25, 0.5, 0.75], device=X.device), dim=1, keepdim=True
    )
    width = torch.where(
        q3 > q1, q3 - q1, known.nan_to_num(0).std(1, keepdim=True) + 1e-6
    )
    filled = torch.where(hole, median, X)
    return standardised(torch.asinh((filled - median) / width))


def middle_ranks(X):
    """Ranks from -1 to 1 of every column, the mean of ties."""
    n = X.shape[1]
    Z = X.transpose(1, 2).contiguous()
    ordered = Z.sort(2).values
    low = torch.searchsorted(ordered, Z)
    high = torch.searchsorted(ordered, Z, right=True)
    return ((low + high).to(X.dtype) / n - 1).transpose(1, 2)
