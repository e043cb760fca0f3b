"""Properties of candidates known without labels: families and fixed weights."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._candidates import Candidate


@dataclass(frozen=True)
class Family:
    """Candidates of one kind.

    Attributes
    ----------
    name : str
        Name in the table `candidates_`.
    words : str
        What it builds on, worded for a sentence.
    short : str
        The same for a table cell.
    supervised : bool
        Whether it may be the supervised baseline.
    fallback : int or None
        If no rows can be held out, its share is proportional to this power of
        2 / (number of classes); None is no share.
    insures : bool
        Whether it keeps a fixed share on tables with few labels.
    """

    name: str
    words: str
    short: str
    supervised: bool = False
    fallback: int | None = None
    insures: bool = False


_GRAPH = ("the neighbour graph", "neighbour graph")
_SMOOTH = ("functions that are smooth along the neighbour graph", "smooth on the graph")

FAMILIES = {
    family.name: family
    for family in (
        Family("linear", "a linear function", "linear", supervised=True, insures=True),
        Family(
            "rbf",
            "similarity of rows (Gaussian kernels)",
            "similarity of rows",
            supervised=True,
        ),
        Family("column", "single columns", "single columns"),
        Family(
            "forest",
            "decision trees",
            "decision trees",
            supervised=True,
            insures=True,
        ),
        Family(
            "wide forest",
            "decision trees that also see components and the neighbour graph",
            "trees on the graph",
            insures=True,
        ),
        Family("components", "leading principal components", "principal components"),
        # Two classes often form clusters of their own; many classes rarely do.
        Family("clusters", "clusters", "clusters", fallback=1),
        Family("graph vectors", *_GRAPH, fallback=0),
        Family("graph filter", *_GRAPH),
        Family("unit filter", *_GRAPH, fallback=0),
        Family("deformed linear", *_SMOOTH),
        Family("deformed rbf", *_SMOOTH),
        Family("geodesic", "paths through the neighbour graph", "paths on the graph"),
    )
}


class Pool(NamedTuple):
    """Properties of all variants that are known without labels.

    Attributes
    ----------
    candidate_of : ndarray of shape (n_variants,)
        Number of the candidate of every variant, in order.
    ridges : ndarray of shape (n_variants,)
        Their ridges; NaN for candidates without one.
    supervised : ndarray of bool of shape (n_variants,)
        Which ones make no use of unlabelled rows.
    fixed : ndarray of shape (n_variants,)
        Weights to use if no rows can be held out.
    insurance : ndarray of shape (n_variants,)
        Weights of the part mixed in on tables with few labels; they sum to 1 or 0.
    in_first : ndarray of bool of shape (n_variants,)
        Which ones are built on the first view of the rows.
    """

    candidate_of: NDArray[np.intp]
    ridges: NDArray[Any]
    supervised: NDArray[np.bool_]
    fixed: NDArray[Any]
    insurance: NDArray[Any]
    in_first: NDArray[np.bool_]

    @property
    def decades_below(self) -> NDArray[Any]:
        """Decades from the ridge of every variant up to the largest one."""
        decades = np.log10(np.nanmax(self.ridges, initial=0.0) / self.ridges)
        return np.nan_to_num(decades)

    @property
    def smoothest(self) -> int:
        """Last variant of the first supervised candidate; -1 if there is none."""
        known = self.candidate_of[self.supervised]
        return (
            int(np.flatnonzero(self.candidate_of == known[0])[-1]) if known.size else -1
        )

    def per_candidate(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Sum weights over the variants of every candidate."""
        return np.bincount(self.candidate_of, weights)

    def of(self, chosen: NDArray[np.intp]) -> "Pool":
        """Select some candidates."""
        rows = np.isin(self.candidate_of, chosen)
        fixed = self.fixed[rows]
        if not fixed.any():
            fixed = np.ones(fixed.size)
        insurance = self.insurance[rows]
        return Pool(
            np.unique(self.candidate_of[rows], return_inverse=True)[1],
            self.ridges[rows],
            self.supervised[rows],
            fixed / fixed.sum(),
            insurance / (insurance.sum() or 1.0),
            self.in_first[rows],
        )


def pool_of(
    candidates: list[Candidate], kind: str = "pixels", n_classes: int = 2
) -> Pool:
    """Collect the properties of candidates that need no labels."""
    sizes = np.array([c.ridges.size for c in candidates], dtype=np.intp)
    candidate_of = np.repeat(np.arange(sizes.size), sizes)
    ridges = np.concatenate([np.empty(0), *(c.ridges for c in candidates)])
    usual, smooth = (
        np.isnan(ridges) | (ridges == ridge)
        for ridge in (tuned.SUPERVISED_RIDGE, tuned.FIXED_RIDGE)
    )
    families = [FAMILIES[c.family] for c in candidates]
    supervised = np.array([f.supervised for f in families], dtype=bool)[candidate_of]
    insurance = np.zeros(candidate_of.size)
    if kind == "table":
        names = np.array([f.name if f.insures else "" for f in families])[candidate_of]
        insuring = [_even((names == name) & smooth) for name in set(names) - {""}]
        insurance = np.mean(insuring, axis=0) if insuring else insurance
    fallback = _fallback(candidates, n_classes)[candidate_of] * smooth
    parts = np.array([fallback, _even(supervised & usual), insurance])
    fixed = np.array(tuned.FALLBACK_SHARES[kind]) @ parts
    if not fixed.any():
        fixed = _even(usual)
    fixed = fixed / (fixed.sum() or 1.0)
    in_first = np.array([c.view == 0 for c in candidates], dtype=bool)[candidate_of]
    return Pool(candidate_of, ridges, supervised, fixed, insurance, in_first)


def _fallback(candidates: list[Candidate], n_classes: int) -> NDArray[np.float64]:
    """Weights of candidates for classes with one label each; they sum to 1 or 0.

    Candidates built for a number of groups qualify if it is between the number of
    classes and twice that; otherwise those with the next larger number, or the largest.
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
