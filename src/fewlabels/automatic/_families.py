"""The families of candidates: the one place that says what each of them is."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """Candidates of one kind.

    Attributes
    ----------
    name : str
        As in the table `candidates_`.
    words : str
        What it builds on, in a sentence.
    short : str
        The same for a cell of a table.
    supervised : bool
        Whether it may be the supervised baseline.
    fallback : int or None
        Where held-out rows say nothing, it has a share in proportion to this power of
        2 / (number of classes); None is no share.
    insures : bool
        Whether it keeps a share where a table has few labels.
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
        # Of many classes few have a cluster of their own, but two often do.
        Family("clusters", "clusters", "clusters", fallback=1),
        Family("graph vectors", *_GRAPH, fallback=0),
        Family("graph filter", *_GRAPH),
        Family("unit filter", *_GRAPH, fallback=0),
        Family("deformed linear", *_SMOOTH),
        Family("deformed rbf", *_SMOOTH),
        Family("geodesic", "paths through the neighbour graph", "paths on the graph"),
    )
}
