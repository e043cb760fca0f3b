"""What is known of candidates before any label: groups, families, shares."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._candidates import Candidate
from fewlabels.automatic._families import FAMILIES


class Pool(NamedTuple):
    """What is known of the variants of all candidates beforehand.

    Attributes
    ----------
    groups : ndarray of shape (n_variants,)
        Number of the candidate of every variant, in order.
    ridges : ndarray of shape (n_variants,)
        Their ridges; NaN for candidates that have none.
    supervised : ndarray of bool of shape (n_variants,)
        Which ones make no use of unlabelled rows.
    fixed : ndarray of shape (n_variants,)
        Weights where held-out rows say nothing.
    insurance : ndarray of shape (n_variants,)
        Weights of what is mixed in where labels are few, of sum 1 or 0.
    """

    groups: NDArray[np.intp]
    ridges: NDArray[Any]
    supervised: NDArray[np.bool_]
    fixed: NDArray[Any]
    insurance: NDArray[Any]

    @property
    def decades_below(self) -> NDArray[Any]:
        """Decades from the ridge of every variant up to the largest one."""
        decades = np.log10(np.nanmax(self.ridges, initial=0.0) / self.ridges)
        return np.nan_to_num(decades)

    @property
    def smoothest(self) -> int:
        """The last variant of the first supervised candidate; -1 if there is none."""
        known = self.groups[self.supervised]
        return int(np.flatnonzero(self.groups == known[0])[-1]) if known.size else -1

    def shares(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Sum weights over the variants of every candidate."""
        return np.bincount(self.groups, weights)

    def of(self, chosen: NDArray[np.intp]) -> "Pool":
        """Take some candidates."""
        rows = np.isin(self.groups, chosen)
        fixed = self.fixed[rows]
        if not fixed.any():
            fixed = np.ones(fixed.size)
        insurance = self.insurance[rows]
        return Pool(
            np.unique(self.groups[rows], return_inverse=True)[1],
            self.ridges[rows],
            self.supervised[rows],
            fixed / fixed.sum(),
            insurance / (insurance.sum() or 1.0),
        )


def pool_of(
    candidates: list[Candidate], kind: str = "pixels", n_classes: int = 2
) -> Pool:
    """Collect what is known of candidates beforehand."""
    sizes = np.array([c.ridges.size for c in candidates], dtype=np.intp)
    groups = np.repeat(np.arange(sizes.size), sizes)
    ridges = np.concatenate([np.empty(0), *(c.ridges for c in candidates)])
    usual, smooth = (
        np.isnan(ridges) | (ridges == ridge)
        for ridge in (tuned.SUPERVISED_RIDGE, tuned.FIXED_RIDGE)
    )
    families = [FAMILIES[c.family] for c in candidates]
    supervised = np.array([f.supervised for f in families], dtype=bool)[groups]
    insurance = np.zeros(groups.size)
    if kind == "table":
        names = np.array([f.name if f.insures else "" for f in families])[groups]
        insuring = [_even((names == name) & smooth) for name in set(names) - {""}]
        insurance = np.mean(insuring, axis=0) if insuring else insurance
    fallback = _fallback(candidates, n_classes)[groups] * smooth
    parts = np.array([fallback, _even(supervised & usual), insurance])
    fixed = np.array(tuned.FALLBACK_SHARES[kind]) @ parts
    if not fixed.any():
        fixed = _even(usual)
    return Pool(groups, ridges, supervised, fixed / (fixed.sum() or 1.0), insurance)


def _fallback(candidates: list[Candidate], n_classes: int) -> NDArray[np.float64]:
    """Weights, of sum 1 or 0, of candidates that suit classes with a label each.

    Of those made for a number of groups, these have as many as there are classes, up to
    twice as many; or else the next larger number, or the largest.
    """
    weights = np.zeros(len(candidates))
    for family in FAMILIES.values():
        places = [k for k, c in enumerate(candidates) if c.family == family.name]
        if family.fallback is None or not places:
            continue
        groups = np.array([candidates[k].n_groups or n_classes for k in places])
        enough = groups[groups >= n_classes]
        least = enough.min() if enough.size else groups.max()
        suited = (least <= groups) & (groups <= max(least, 2 * n_classes))
        weights[places] = _even(suited) * (2 / n_classes) ** family.fallback
    return weights / (weights.sum() or 1.0)


def _even(chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    return chosen / max(chosen.sum(), 1)
