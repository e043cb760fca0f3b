"""Agreement of annotators: Cohen, Fleiss and Krippendorff, and rows to settle."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import cohen_kappa_score

from fewlabels._labels import UNLABELED, label_array, unlabeled_mask
from fewlabels._words import listed


class Votes(NamedTuple):
    """Opinions of several annotators as class numbers.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, n_annotators)
        Index into `classes`; -1 where an annotator said nothing.
    classes : list
        Everything that was said, sorted.
    names : list of str
        The annotators.
    """

    codes: NDArray[np.intp]
    classes: list[Any]
    names: list[str]

    @property
    def counts(self) -> NDArray[np.intp]:
        """Number of votes for every class, of shape (n_rows, n_classes)."""
        return (self.codes[:, :, None] == np.arange(len(self.classes))).sum(axis=1)


def read_votes(opinions: Any, names: Sequence[str] | None = None) -> Votes:
    """Read opinions, one column per annotator, as class numbers.

    Parameters
    ----------
    opinions : DataFrame, or array-like of shape (n_rows, n_annotators)
        What each annotator said about each row. Missing opinions are marked like
        missing labels: -1 among integers, NaN among floats, None, NaN or an empty text
        among objects.
    names : sequence of str, default=None
        The annotators; column names, or numbers from 1, when None.

    Returns
    -------
    votes : Votes
        The opinions as numbers.
    """
    if isinstance(opinions, Votes):
        return opinions
    if hasattr(opinions, "columns"):
        names = list(map(str, opinions.columns)) if names is None else names
        columns = [label_array(opinions[name]) for name in opinions.columns]
    else:
        table = opinions if hasattr(opinions, "dtype") else _object_rows(opinions)
        if table.ndim != 2:
            raise ValueError(
                "opinions must have one row per item and one column per annotator, "
                f"got an array of shape {table.shape}."
            )
        columns = [label_array(table[:, k]) for k in range(table.shape[1])]
    names = [str(k + 1) for k in range(len(columns))] if names is None else [*names]
    if len(names) != len(columns):
        raise ValueError(
            f"names has {len(names)} entries, but opinions has {len(columns)} columns."
        )
    if not columns:
        raise ValueError("opinions has no columns: pass one for every annotator.")
    return _votes_of(columns, names)


def _votes_of(columns: list[NDArray[Any]], names: list[str]) -> Votes:
    masks = [unlabeled_mask(column) for column in columns]
    said = {
        v
        for column, gone in zip(columns, masks, strict=True)
        for v in column[~gone].tolist()
    }
    classes = _in_order(said)
    number = {c: k for k, c in enumerate(classes)}
    codes = np.full((columns[0].size, len(columns)), UNLABELED, dtype=np.intp)
    for k, (column, gone) in enumerate(zip(columns, masks, strict=True)):
        codes[~gone, k] = [number[v] for v in column[~gone].tolist()]
    return Votes(codes, classes, names)


def _object_rows(rows: Any) -> NDArray[Any]:
    rows = [list(row) for row in rows]
    if len({len(row) for row in rows}) > 1:
        raise ValueError("opinions must have the same number of columns in every row.")
    table = np.asarray(rows)
    return table if table.dtype.kind in "iuf" else np.array(rows, dtype=object)


def _in_order(said: set[Hashable]) -> list[Any]:
    try:
        return sorted(said)
    except TypeError:  # words and numbers
        return sorted(said, key=lambda v: (type(v).__name__, str(v)))


def opinion_table(
    rows: ArrayLike,
    annotators: ArrayLike,
    labels: ArrayLike,
    times: ArrayLike | None = None,
) -> tuple[NDArray[Any], list[str], NDArray[Any]]:
    """Turn a long table of opinions into one column per annotator.

    Parameters
    ----------
    rows, annotators, labels : array-like of shape (n_opinions,)
        Which row each opinion is about, whose it is, and what it says.
    times : array-like of shape (n_opinions,), default=None
        When it was given: of several opinions of one annotator about one row, the
        latest counts. Without times, the last one in the table counts.

    Returns
    -------
    row_names : ndarray of shape (n_rows,)
        The different rows, in the order in which they first occur.
    names : list of str
        The annotators, in the order in which they first occur.
    opinions : ndarray of object of shape (n_rows, n_annotators)
        What each annotator said about each row; None where nothing.

    Examples
    --------
    >>> from fewlabels.model_selection import opinion_table
    >>> rows, names, table = opinion_table([7, 7, 9], ["Ann", "Bo", "Ann"], "xyx")
    >>> names, table.tolist()
    (['Ann', 'Bo'], [['x', 'y'], ['x', None]])
    """
    rows, annotators = (list(np.asarray(v, dtype=object)) for v in (rows, annotators))
    values = label_array(list(labels) if isinstance(labels, str) else labels)
    if not len(rows) == len(annotators) == len(values):
        raise ValueError(
            f"rows, annotators and labels differ in length: {len(rows)}, "
            f"{len(annotators)} and {len(values)}."
        )
    order: Any = range(len(rows))
    if times is not None:
        order = np.argsort(np.asarray(times), kind="stable")
    places = {row: k for k, row in enumerate(dict.fromkeys(rows))}
    people = {name: k for k, name in enumerate(dict.fromkeys(annotators))}
    table = np.full((len(places), len(people)), None, dtype=object)
    gone = unlabeled_mask(values)
    for k in order:
        said = None if gone[k] else values[k]
        table[places[rows[k]], people[annotators[k]]] = said
    return np.array([*places], dtype=object), [str(name) for name in people], table


def cohen_kappa(first: ArrayLike, second: ArrayLike) -> float:
    """Cohen's kappa of two annotators, on the rows that both labelled.

    Parameters
    ----------
    first, second : array-like of shape (n_rows,)
        Their labels; a missing one is marked as everywhere in fewlabels.

    Returns
    -------
    kappa : float
        1 for full agreement, 0 for that of chance; NaN if they share no row, or used a
        single class there.

    See Also
    --------
    krippendorff_alpha : For any number of annotators, and ordered classes.

    References
    ----------
    .. [1] Cohen, J. "A coefficient of agreement for nominal scales." Educational and
           Psychological Measurement 20 (1960). :doi:`10.1177/001316446002000104`

    Examples
    --------
    >>> from fewlabels.model_selection import cohen_kappa
    >>> round(cohen_kappa(list("aabb") + [None], list("aabab")), 2)
    0.5
    """
    columns = [label_array(first), label_array(second)]
    if columns[0].size != columns[1].size:
        raise ValueError(
            "first and second must have one entry per row, got "
            f"{columns[0].size} and {columns[1].size}."
        )
    return _cohen(_votes_of(columns, ["first", "second"]).codes)


def _cohen(codes: NDArray[np.intp]) -> float:
    both = codes[(codes != UNLABELED).all(axis=1)]
    if both.shape[0] == 0 or np.unique(both).size < 2:
        return float("nan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(cohen_kappa_score(both[:, 0], both[:, 1]))


def fleiss_kappa(opinions: Any) -> float:
    """Fleiss' kappa of several annotators.

    Rows with fewer than two opinions say nothing about agreement and are left out. The
    others may have different numbers of opinions, and count the same.

    Parameters
    ----------
    opinions : DataFrame, or array-like of shape (n_rows, n_annotators)
        What each annotator said about each row, with missing opinions marked as
        everywhere in fewlabels.

    Returns
    -------
    kappa : float
        1 for full agreement, 0 for that of chance; NaN if no row has two opinions, or
        all of them are the same class.

    See Also
    --------
    agreement : All measures at once.

    References
    ----------
    .. [1] Fleiss, J. L. "Measuring nominal scale agreement among many raters."
           Psychological Bulletin 76 (1971). :doi:`10.1037/h0031619`

    Examples
    --------
    >>> from fewlabels.model_selection import fleiss_kappa
    >>> fleiss_kappa([["a", "a", "a"], ["b", "b", "b"], ["a", "a", None]])
    1.0
    """
    return _fleiss(read_votes(opinions).counts)


def _fleiss(counts: NDArray[np.intp]) -> float:
    counts = counts[counts.sum(axis=1) > 1]
    if counts.size == 0:
        return float("nan")
    n = counts.sum(axis=1)
    observed = np.mean((counts * (counts - 1)).sum(axis=1) / (n * (n - 1)))
    by_chance = np.sum(np.mean(counts / n[:, None], axis=0) ** 2)
    if by_chance >= 1 - 1e-12:
        return float("nan")
    return float((observed - by_chance) / (1 - by_chance))


def krippendorff_alpha(opinions: Any, level: str = "nominal") -> float:
    r"""Krippendorff's alpha of several annotators, with any opinions missing.

    .. math:: \alpha = 1 - \frac{\text{observed}}{\text{expected disagreement}}

    where both average a squared distance of two opinions: about the same row, and
    about any two rows.

    Parameters
    ----------
    opinions : DataFrame, or array-like of shape (n_rows, n_annotators)
        What each annotator said about each row, with missing opinions marked as
        everywhere in fewlabels.
    level : {"nominal", "ordinal", "interval"}, default="nominal"
        Distance of two classes: equal or not, by the number of opinions in between, or
        by their difference, for which they must be numbers.

    Returns
    -------
    alpha : float
        1 for full agreement, 0 for that of chance; NaN if no row has two opinions, or
        all of them are the same class.

    See Also
    --------
    agreement : All measures at once.

    References
    ----------
    .. [1] Krippendorff, K. "Computing Krippendorff's alpha-reliability." University of
           Pennsylvania (2011).
           https://repository.upenn.edu/handle/20.500.14332/2089

    Examples
    --------
    >>> from fewlabels.model_selection import krippendorff_alpha
    >>> round(krippendorff_alpha([[1, 1], [2, 2], [1, 2]]), 3)
    0.444
    """
    votes = read_votes(opinions)
    return _krippendorff(votes.counts, _distances(votes, level))


def _distances(votes: Votes, level: str) -> NDArray[np.float64]:
    """Squared distances of the classes."""
    if level == "nominal":
        return 1.0 - np.eye(len(votes.classes))
    if level == "interval":
        try:
            at = np.array(votes.classes, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"level='interval' needs numbers, but opinions hold "
                f"{listed(votes.classes, 3)}: use 'ordinal' or 'nominal'."
            ) from None
    elif level == "ordinal":
        counts = votes.counts
        total = counts[counts.sum(axis=1) > 1].sum(axis=0)
        # The opinions from one class to the other, half of those at both ends.
        at = np.cumsum(total) - total / 2
    else:
        raise ValueError(
            f"level must be 'nominal', 'ordinal' or 'interval', got {level!r}."
        )
    return np.asarray((at[:, None] - at) ** 2, dtype=np.float64)


def _krippendorff(counts: NDArray[np.intp], distances: NDArray[Any]) -> float:
    counts = counts[counts.sum(axis=1) > 1]
    n = counts.sum(axis=1)
    total = counts.sum(axis=0)
    expected = total @ distances @ total / max(n.sum() - 1, 1)
    if not expected > 0:
        return float("nan")
    # A class is at distance zero of itself, so pairs of one opinion add nothing.
    observed = np.sum(np.einsum("ij,jk,ik->i", counts, distances, counts) / (n - 1))
    return float(1 - observed / expected)


class PairAgreement(NamedTuple):
    """Agreement of two annotators on the rows that both labelled.

    Attributes
    ----------
    first, second : str
        The annotators.
    n_rows : int
        Rows both labelled.
    share : float
        Share of them with equal labels.
    kappa : float
        Cohen's kappa.

    Examples
    --------
    >>> from fewlabels.model_selection import agreement
    >>> agreement([["a", "a"], ["b", "b"], ["b", "b"]]).pairs
    [PairAgreement(first='1', second='2', n_rows=3, share=1.0, kappa=1.0)]
    """

    first: str
    second: str
    n_rows: int
    share: float
    kappa: float


@dataclass(frozen=True)
class Agreement:
    """How far annotators agree, made by :func:`agreement`.

    Attributes
    ----------
    names : list of str
        The annotators.
    classes : list
        Everything they said.
    n_rows : int
        Rows with at least one opinion.
    n_shared : int
        Rows with at least two; all measures rest on these.
    share : float
        Share of pairs of opinions about the same row that are equal, averaged over
        rows.
    fleiss, krippendorff : float
        Fleiss' kappa and Krippendorff's alpha.
    low, high : float
        90 % interval of Krippendorff's alpha, by resampling rows.
    by_class : dict of object to float
        Krippendorff's alpha for each class against all others.
    pairs : list of PairAgreement
        Cohen's kappa of every two annotators.
    disputed : ndarray of int
        Rows to settle: those with different opinions, the most divided first.
    """

    names: list[str]
    classes: list[Any]
    n_rows: int
    n_shared: int
    share: float
    fleiss: float
    krippendorff: float
    low: float
    high: float
    by_class: dict[Any, float]
    pairs: list[PairAgreement]
    disputed: NDArray[np.intp]


# Samples of rows for the interval of alpha.
N_RESAMPLES = 400


def agreement(
    opinions: Any,
    *,
    names: Sequence[str] | None = None,
    level: str = "nominal",
    random_state: int = 0,
) -> Agreement:
    """Measure how far annotators agree, and find the rows to settle.

    Parameters
    ----------
    opinions : DataFrame, or array-like of shape (n_rows, n_annotators)
        What each annotator said about each row, with missing opinions marked as
        everywhere in fewlabels; :func:`opinion_table` makes it from a long table.
    names : sequence of str, default=None
        The annotators; column names, or numbers from 1, when None.
    level : {"nominal", "ordinal", "interval"}, default="nominal"
        Distance of classes in Krippendorff's alpha.
    random_state : int, default=0
        Seed of the interval.

    Returns
    -------
    found : Agreement
        All measures. NaN where nothing can be said: no two annotators share a row, or
        only one class was used.

    See Also
    --------
    cohen_kappa : Of two annotators.
    fleiss_kappa : Of several.
    krippendorff_alpha : Of several, with missing opinions and ordered classes.

    Examples
    --------
    >>> from fewlabels.model_selection import agreement
    >>> found = agreement([["a", "a"], ["b", "b"], ["a", "b"], ["b", None]])
    >>> found.n_shared, round(found.krippendorff, 2), found.disputed
    (3, 0.44, array([2]))
    """
    votes = read_votes(opinions, names)
    counts = votes.counts
    n = counts.sum(axis=1)
    shared = counts[n > 1]
    distances = _distances(votes, level)
    equal = (shared * (shared - 1)).sum(axis=1) / (n[n > 1] * (n[n > 1] - 1))
    low = high = float("nan")
    if shared.shape[0] > 1:
        rng = np.random.default_rng(random_state)
        drawn = rng.integers(shared.shape[0], size=(N_RESAMPLES, shared.shape[0]))
        found = np.array([_krippendorff(shared[d], distances) for d in drawn])
        if np.isfinite(found).any():
            low, high = (float(v) for v in np.nanquantile(found, [0.05, 0.95]))
    by_class = {}
    for k, name in enumerate(votes.classes):
        binary = np.column_stack([n - counts[:, k], counts[:, k]])
        by_class[name] = _krippendorff(binary, 1.0 - np.eye(2))
    pairs = []
    for a, b in combinations(range(len(votes.names)), 2):
        codes = votes.codes[:, [a, b]]
        codes = codes[(codes != UNLABELED).all(axis=1)]
        if codes.size:
            same = float(np.mean(codes[:, 0] == codes[:, 1]))
            pair = votes.names[a], votes.names[b]
            pairs.append(PairAgreement(*pair, codes.shape[0], same, _cohen(codes)))
    leading = counts.max(axis=1, initial=0)
    divided = np.flatnonzero(leading < n)
    order = np.argsort(leading[divided] / n[divided], kind="stable")
    return Agreement(
        votes.names,
        votes.classes,
        int(np.sum(n > 0)),
        int(shared.shape[0]),
        float(equal.mean()) if equal.size else float("nan"),
        _fleiss(counts),
        _krippendorff(counts, distances),
        low,
        high,
        by_class,
        pairs,
        divided[order],
    )
