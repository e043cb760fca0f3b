"""Tasks from real tables: one column is what is asked, some of the others are given."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import torch
from draw import (
    MAX_LEVELS,
    classes_of_effects,
    classes_of_trees,
    flags,
    middle_ranks,
    normal,
    standardised,
    uniform,
)

# Columns have to save so much of the error of the largest class to be asked for.
TELLING = 0.1
# Of the columns that a shape of tables asks for, a real one has at least this share.
MIN_SHARE = 0.5
# Share of the tasks whose classes a drawn rule makes.
BY_RULE = 0.25


class RealTables:
    """Tables that :mod:`collect` wrote, on the device.

    Parameters
    ----------
    path : path
        Its file.
    device : device
        Where.
    """

    def __init__(self, path, device):
        with np.load(path) as file:
            n = file["names"].size
            made = [
                [file[f"{part}_{k}"] for part in ("values", "category", "telling")]
                for k in range(n)
            ]
        n_rows = np.array([values.shape[0] for values, *_ in made])
        n_columns = np.array([values.shape[1] for values, *_ in made])
        values = np.zeros((n, n_rows.max(), n_columns.max()), np.float16)
        category = np.zeros((n, n_columns.max()), bool)
        counts = np.zeros((n, n_columns.max(), MAX_LEVELS), np.int32)
        targets = []
        for k, (cells, is_category, telling) in enumerate(made):
            values[k, : n_rows[k], : n_columns[k]] = cells
            category[k, : n_columns[k]] = is_category
            for j in range(n_columns[k]):
                if is_category[j]:
                    found = np.bincount(cells[:, j].astype(int), minlength=MAX_LEVELS)
                    counts[k, j] = found
                    n_classes = int((found >= max(5, 0.005 * n_rows[k])).sum())
                else:
                    n_classes = np.unique(cells[:, j][np.isfinite(cells[:, j])]).size
                if telling[j] > TELLING:
                    # What people ask for is mostly a category.
                    weight = (4 if is_category[j] else 1) * min(1, 2 * telling[j])
                    targets.append((k, j, n_classes, weight))
        self.values = torch.tensor(values, device=device)
        self.category = torch.tensor(category, device=device)
        self.counts = torch.tensor(counts, device=device)
        self.n_rows = torch.tensor(n_rows, device=device)
        self.n_columns = torch.tensor(n_columns, device=device)
        targets = np.array(targets)
        # Every table counts the same, whatever its number of targets.
        total = np.bincount(targets[:, 0].astype(int), targets[:, 3], minlength=n)
        weights = targets[:, 3] / total[targets[:, 0].astype(int)]
        self._places = targets[:, :3].astype(int)
        self._weights, self._n_rows, self._n_columns = weights, n_rows, n_columns
        self._chances = {}
        self.device = device

    def chances(self, sizes):
        """Columns that can be asked for, how often, and how many tables have one."""
        key = sizes.n_rows, sizes.n_columns, sizes.n_classes
        if key not in self._chances:
            table, _, n_classes = self._places.T
            fits = (self._n_rows[table] >= sizes.n_rows) & (
                self._n_columns[table] - 1 >= MIN_SHARE * sizes.n_columns
            )
            fits &= n_classes >= sizes.n_classes
            self._chances[key] = (
                torch.tensor(self._places[fits], device=self.device),
                torch.tensor(self._weights[fits], device=self.device),
                np.unique(table[fits]).size,
            )
        return self._chances[key]

    def share(self, sizes, most):
        """Share of such tables in a batch: less where few of them fit."""
        return most * min(1.0, self.chances(sizes)[2] / 50)

    def draw(self, B, sizes):
        """Draw columns (B, n, F), NaN at holes, which are categories, and classes."""
        places, weights, _ = self.chances(sizes)
        n, F, C = sizes.n_rows, sizes.n_columns, sizes.n_classes
        device = self.device
        table, target, _ = places[torch.multinomial(weights, B, replacement=True)].T
        R, K = self.values.shape[1:]
        # Rows at random, each once.
        key = torch.rand(B, R, device=device)
        there = torch.arange(R, device=device) < self.n_rows[table][:, None]
        rows = key.masked_fill(~there, 2.0).argsort(1)[:, :n]
        # Columns at random, each once; those that are missing come again below.
        key = torch.rand(B, K, device=device)
        there = torch.arange(K, device=device) < self.n_columns[table][:, None]
        there &= torch.arange(K, device=device) != target[:, None]
        order = key.masked_fill(~there, 2.0).argsort(1)
        place = torch.arange(F, device=device).expand(B, F)
        n_own = (self.n_columns[table] - 1)[:, None]
        columns = order.gather(1, place % n_own)
        X = self.values[table[:, None, None], rows[..., None], columns[:, None]].float()
        # A column that comes again says nothing: its rows are mixed.
        mixed = torch.rand(B, n, F, device=device).argsort(1)
        X = torch.where((place >= n_own)[:, None], X.gather(1, mixed), X)
        category = self.category[table[:, None], columns]
        asked = self.values[table[:, None], rows, target[:, None]].float()
        middle = asked.nanmedian(1, keepdim=True).values
        asked = torch.where(asked.isnan(), middle, asked)
        y = torch.where(
            self.category[table, target][:, None],
            self.merged(table, target, asked, C),
            cut_in_order(asked, C),
        )
        # Some of the time, the class is a rule of the columns that are given.
        shown = numeric(X, category)
        made = classes_of_trees if torch.rand(()) < 0.5 else classes_of_effects
        by_rule = flags(BY_RULE, B, 1, device=device)
        return X, category, torch.where(by_rule, made(shown, C), y)

    def merged(self, table, target, level, C):
        """Classes of the levels of a category: the frequent ones, and the rest."""
        counts = self.counts[table, target].float()
        B = counts.shape[0]
        blur = uniform(B, 1, device=self.device, high=1.5)
        key = torch.log(counts + 1e-6) + blur * normal(
            *counts.shape, device=self.device
        )
        # Levels that hardly occur are never a class of their own.
        key = key.masked_fill(counts < 5, -50.0)
        rank = key.argsort(1, descending=True).argsort(1)
        shuffled = torch.rand(B, C, device=self.device).argsort(1)
        rest = torch.randint(0, C, (B, MAX_LEVELS), device=self.device)
        together = flags(0.5, B, 1, device=self.device)
        rest = torch.where(together, torch.full_like(rest, C - 1), rest)
        name = torch.where(rank < C, rank, rest)
        name = shuffled.gather(1, name)
        return name.gather(1, level.long().clamp(0, MAX_LEVELS - 1))


def cut_in_order(value, C):
    """Cut numbers (B, n) into C intervals; equal numbers stay together."""
    B = value.shape[0]
    spread = uniform(B, 1, device=value.device, high=0.8)
    shares = torch.softmax(spread * normal(B, C, device=value.device), 1)
    ends = shares.cumsum(1)[:, :-1].contiguous()
    rank = (middle_ranks(value[..., None])[..., 0] + 1) / 2
    interval = torch.searchsorted(ends, rank.contiguous())
    return torch.rand(B, C, device=value.device).argsort(1).gather(1, interval)


def numeric(X, category):
    """Numbers for categories, too: a random one for every level."""
    B, _, F = X.shape
    values = normal(B, MAX_LEVELS, F, device=X.device)
    levels = X.nan_to_num(0).long().clamp(0, MAX_LEVELS - 1)
    known = X.nan_to_num(0)
    return standardised(torch.where(category[:, None], values.gather(1, levels), known))
