"""Opinions of several sources about the classes of rows.

A source is a person, a rule, a language model or another classifier. Whatever form its
opinions have (names, numbers of classes, probabilities), they are read into one: a
distribution over the classes for every row, or nothing where the source abstains.
"""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._labels import Labels, encode_labels, label_array, unlabeled_mask
from fewlabels._words import listed, plural

# Names this similar are taken as misspellings, if no other class is as similar.
SIMILAR = 0.85
# How far from 1 probabilities may add up to be read as probabilities.
SUM_TOLERANCE = 0.02


@dataclass(frozen=True)
class Opinions:
    """What several sources say about the classes of rows.

    It is made by :func:`read_opinions`.

    Attributes
    ----------
    names : list of str
        The sources.
    classes : ndarray of shape (n_classes,)
        The classes.
    votes : ndarray of shape (n_sources, n_rows, n_classes)
        Probabilities of the classes; all zero where a source abstains.
    notes : list of str
        Which names were not those of a class, or were taken for misspellings.

    Examples
    --------
    >>> from fewlabels.opinions import read_opinions
    >>> hints = {"model": ["Spam", None, "ham"], "rule": ["spam", "spam", None]}
    >>> opinions = read_opinions(hints, ["ham", "spam"])
    >>> opinions.speaks
    array([[ True, False,  True],
           [ True,  True, False]])
    >>> opinions.coverage, opinions.conflicts
    (array([0.667, 0.667]), array([0., 0.]))
    """

    names: list[str]
    classes: NDArray[Any]
    votes: NDArray[np.float32]
    notes: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.votes.shape[1]

    @property
    def speaks(self) -> NDArray[np.bool_]:
        """Which sources have an opinion about which rows."""
        return np.asarray(self.votes.any(axis=2))

    @property
    def said(self) -> NDArray[np.intp]:
        """Most probable class of every source and row; -1 where it abstains."""
        return np.where(self.speaks, self.votes.argmax(axis=2), -1)

    @property
    def coverage(self) -> NDArray[np.float64]:
        """Share of the rows that each source has an opinion about."""
        return np.round(self.speaks.mean(axis=1), 3)

    @property
    def conflicts(self) -> NDArray[np.float64]:
        """Share of each source's opinions that another source contradicts."""
        said = self.said
        contradicted = np.zeros(said.shape, dtype=bool)
        for s in range(said.shape[0]):
            other = (said != said[s]) & (said >= 0) & (said[s] >= 0)
            contradicted[s] = other.any(axis=0)
        spoken = np.maximum(self.speaks.sum(axis=1), 1)
        return np.round(contradicted.sum(axis=1) / spoken, 3)

    def about(self, classes: NDArray[Any]) -> "Opinions":
        """Express the opinions in other classes.

        Parameters
        ----------
        classes : array-like of shape (n_classes,)
            The classes; opinions about any others are dropped.

        Returns
        -------
        opinions : Opinions
            The same sources about these classes.
        """
        if np.array_equal(classes, self.classes):
            return self
        known = {_folded(c): k for k, c in enumerate(self.classes.tolist())}
        votes = np.zeros((*self.votes.shape[:2], len(classes)), dtype=np.float32)
        for k, name in enumerate(np.asarray(classes).tolist()):
            if _folded(name) in known:
                votes[:, :, k] = self.votes[:, :, known[_folded(name)]]
        total = votes.sum(axis=2, keepdims=True)
        votes = np.divide(votes, total, out=np.zeros_like(votes), where=total > 0)
        return Opinions(self.names, np.asarray(classes), votes)

    def of(self, rows: NDArray[Any]) -> "Opinions":
        """Select some rows.

        Parameters
        ----------
        rows : ndarray of int or bool
            The rows.

        Returns
        -------
        opinions : Opinions
            Of all sources about these rows.
        """
        return replace(self, votes=self.votes[:, rows])


def read_opinions(
    hints: Any, classes: Any = None, *, n_rows: int | None = None
) -> Opinions:
    """Read the opinions of one or several sources.

    Names are matched to classes by their spelling; case, spaces and punctuation at the
    ends do not count, and a name that is close to exactly one class is taken as a
    misspelling of it. Anything else counts as no opinion. `notes` of the result says
    what was not matched.

    Parameters
    ----------
    hints : DataFrame, dict, array-like or Opinions
        The sources. Columns of a frame, and entries of a dictionary, are sources with
        names; an entry with a column for every class holds probabilities. A
        one-dimensional array is a single source. A two-dimensional array of floats
        whose rows add up to 1 is a single source of probabilities, in the order of the
        classes; the columns of any other are sources. A row without an opinion is
        marked like one without a label.
    classes : array-like of shape (n_classes,), default=None
        The classes; everything that any source says when None.
    n_rows : int, default=None
        How many rows there must be.

    Returns
    -------
    opinions : Opinions
        Opinions of all sources.

    Examples
    --------
    >>> from fewlabels.opinions import read_opinions
    >>> hints = {"llm": ["Refund!", "dunno", "order"]}
    >>> opinions = read_opinions(hints, ["order", "refund"])
    >>> opinions.said
    array([[ 1, -1,  0]])
    >>> print(*opinions.notes)
    In the hints 'llm', 'dunno' (1 row) is not the name of a class and counts as no
    opinion.
    """
    if isinstance(hints, Opinions):
        return _checked(hints, n_rows)
    sources = _sources(hints, None if classes is None else len(classes))
    if not sources:
        raise ValueError("hints has no columns: pass one for every source.")
    if classes is None:
        classes = _all_said(sources)
    classes = np.asarray(classes)
    notes: list[str] = []
    lengths = {len(source) for source in sources.values()}
    if len(lengths) > 1:
        raise ValueError(f"The sources in hints differ in length: {sorted(lengths)}.")
    votes = np.stack(
        [_read(name, source, classes, notes) for name, source in sources.items()]
    )
    return _checked(Opinions(list(sources), classes, votes, notes), n_rows)


def _checked(opinions: Opinions, n_rows: int | None) -> Opinions:
    if n_rows is not None and opinions.n_rows != n_rows:
        raise ValueError(
            f"hints has {opinions.n_rows} rows but X has {n_rows}: pass one entry per "
            "row, with None where a source has no opinion."
        )
    return opinions


def _sources(hints: Any, n_classes: int | None) -> dict[str, Any]:
    """Split hints into sources with names."""
    if isinstance(hints, Mapping):
        return {str(name): source for name, source in hints.items()}
    if hasattr(hints, "columns"):  # frames of pandas and polars
        return {str(name): hints[name] for name in hints.columns}
    name = str(getattr(hints, "name", None) or "hint")
    array = hints if hasattr(hints, "dtype") else np.array(list(hints), dtype=object)
    if array.ndim == 1:
        return {name: array}
    if array.ndim == 2:
        array = np.asarray(array)
        if array.shape[1] == n_classes and _are_probabilities(array):
            return {name: array}
        return {f"{name} {k + 1}": array[:, k] for k in range(array.shape[1])}
    raise ValueError(
        "hints must be a frame, a dictionary, or an array of one or two dimensions, "
        f"got {array.ndim}."
    )


def _are_probabilities(array: NDArray[Any]) -> bool:
    try:
        values = array.astype(np.float64)
    except (TypeError, ValueError):
        return False
    if array.dtype.kind not in "fO":
        return False
    known = values[~np.isnan(values).any(axis=1)]
    sums = known.sum(axis=1)
    return bool(
        known.size
        and (known >= 0).all()
        and np.all((np.abs(sums - 1) < SUM_TOLERANCE) | (sums == 0))
    )


def _all_said(sources: Mapping[str, Any]) -> NDArray[Any]:
    """Collect everything that sources say, as classes."""
    names: dict[str, Any] = {}
    counts: Counter[str] = Counter()
    for source in sources.values():
        if hasattr(source, "columns"):
            said = list(source.columns)
        elif np.ndim(source) == 2:
            raise ValueError(
                "Probabilities without the names of their classes need labels that "
                "name them: pass a frame with a column for every class, or some labels."
            )
        else:
            values = label_array(source)
            said = values[~unlabeled_mask(values)].tolist()
        for value in said:
            key = _folded(value)
            counts[key] += 1
            names.setdefault(key, value)
    if len(names) < 2:
        raise ValueError(
            "The hints name fewer than two classes, and there are no labels: label "
            "some rows, or add hints."
        )
    said = sorted(names.values(), key=lambda v: (isinstance(v, str), v))
    return np.array(said, dtype=object if isinstance(said[-1], str) else None)


def _folded(value: Any) -> str:
    """Write a name so that case, spaces and signs at its ends do not count."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).casefold()
    if isinstance(value, int | float | np.number):
        return repr(float(value))
    text = str(value).casefold().replace("_", " ").replace("-", " ")
    text = " ".join(text.split()).strip(" .,;:!\"'`*")
    try:
        return repr(float(text))
    except ValueError:
        return text or str(value).strip()


def _read(
    name: str, source: Any, classes: NDArray[Any], notes: list[str]
) -> NDArray[np.float32]:
    """Read one source as distributions over the classes, zero where it abstains."""
    if np.ndim(source) == 2 or hasattr(source, "columns"):
        return _read_probabilities(name, source, classes, notes)
    values = label_array(source)
    gone = unlabeled_mask(values)
    votes = np.zeros((values.size, classes.size), dtype=np.float32)
    counted = Counter(values[~gone].tolist())
    places, alike, unknown = _matched(counted, classes)
    for value, taken in alike.items():
        notes.append(
            f"In the hints {name!r}, {value!r} ({plural(counted[value], 'row')}) is "
            f"taken as {str(taken)!r}."
        )
    if unknown:
        n = sum(counted[value] for value in unknown)
        are = "is not the name" if len(unknown) == 1 else "are not names"
        notes.append(
            f"In the hints {name!r}, {listed(unknown, 5)} ({plural(n, 'row')}) {are} "
            f"of a class and count{'s' if len(unknown) == 1 else ''} as no opinion."
        )
    at = np.array(
        [
            -1 if g else places.get(v, -1)
            for v, g in zip(values.tolist(), gone, strict=True)
        ]
    )
    spoken = np.flatnonzero(at >= 0)
    votes[spoken, at[spoken]] = 1
    return votes


def _matched(
    values: Iterable[Any], classes: NDArray[Any]
) -> tuple[dict[Any, int], dict[Any, Any], list[Any]]:
    """Match names to classes: places, misspellings, and names of no class."""
    known = {value: k for k, value in enumerate(classes.tolist())}
    folded = Counter(map(_folded, known))
    by_text = {_folded(v): k for v, k in known.items() if folded[_folded(v)] == 1}
    places: dict[Any, int] = {}
    alike, unknown = {}, []
    for value in values:
        if value in known:
            places[value] = known[value]
        elif _folded(value) in by_text:
            places[value] = by_text[_folded(value)]
        else:
            near = get_close_matches(_folded(value), by_text, n=2, cutoff=SIMILAR)
            if len(near) == 1 and not near[0].replace(".", "").isdigit():
                places[value] = by_text[near[0]]
                alike[value] = classes[places[value]]
            else:
                unknown.append(value)
    return places, alike, unknown


def _read_probabilities(
    name: str, source: Any, classes: NDArray[Any], notes: list[str]
) -> NDArray[np.float32]:
    """Read probabilities, whose columns are classes; rows are scaled to sum to 1."""
    order = np.arange(classes.size)
    if hasattr(source, "columns"):
        columns = list(source.columns)
        places, _, unknown = _matched(columns, classes)
        if unknown:
            notes.append(
                f"In the hints {name!r}, {listed(unknown, 5)} are not names of classes "
                "and are ignored."
            )
        source = np.column_stack([np.asarray(source[c], dtype=float) for c in columns])
        kept = [k for k, c in enumerate(columns) if c in places]
        order = np.array([places[columns[k]] for k in kept], dtype=np.intp)
        source = source[:, kept]
    p = np.nan_to_num(np.asarray(source, dtype=np.float64))
    if p.shape[1] != order.size:
        raise ValueError(
            f"The hints {name!r} have {p.shape[1]} columns, but there are "
            f"{classes.size} classes: pass a probability for each, or a frame whose "
            "columns are named by classes."
        )
    if (p < 0).any() or not np.isfinite(p).all():
        raise ValueError(f"The hints {name!r} hold negative or infinite probabilities.")
    votes = np.zeros((p.shape[0], classes.size), dtype=np.float32)
    total = p.sum(axis=1, keepdims=True)
    votes[:, order] = np.divide(p, total, out=np.zeros_like(p), where=total > 0)
    return votes


def named_sources(hints: Any, names: list[str]) -> Any:
    """Give sources their names and order of before; missing ones abstain.

    Parameters
    ----------
    hints : DataFrame, dict or array-like
        Opinions of some of the sources, with their names; or, without names, of all.
    names : list of str
        The sources.

    Returns
    -------
    hints : dict of str to array-like
        One entry for every source.

    Examples
    --------
    >>> from fewlabels.opinions import named_sources
    >>> named_sources({"b": ["x"]}, ["a", "b"])
    {'a': [None], 'b': ['x']}
    """
    if not isinstance(hints, Mapping) and not hasattr(hints, "columns"):
        if len(names) == 1:
            return {names[0]: hints}
        columns = list(np.asarray(hints, dtype=object).T)
        if len(columns) != len(names):
            raise ValueError(
                f"hints has {len(columns)} columns, but fit had {len(names)} sources: "
                f"{listed(names)}."
            )
        return dict(zip(names, columns, strict=True))
    given = _sources(hints, None)
    unknown = [name for name in given if name not in names]
    if unknown or not given:
        raise ValueError(
            f"hints has {listed(unknown)}, but the sources of fit are {listed(names)}."
        )
    n_rows = len(next(iter(given.values())))
    return {name: given.get(name, [None] * n_rows) for name in names}


def labels_with_hints(y: Any, hints: Any, *, n_rows: int) -> tuple[Labels, Opinions]:
    """Encode labels, of which there may be none, and read opinions about the classes.

    The classes are those of the labels; where there are fewer than two, those that the
    sources name are added.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels, some or all of them missing.
    hints : DataFrame, dict, array-like or Opinions
        The opinions.
    n_rows : int
        How many rows there must be.

    Returns
    -------
    labels : Labels
        The labels.
    opinions : Opinions
        Opinions about their classes; names of no class become warnings.

    Examples
    --------
    >>> from fewlabels.opinions import labels_with_hints
    >>> y, hints = ["a", None, None], ["a", "b", None]
    >>> labels, opinions = labels_with_hints(y, hints, n_rows=3)
    >>> labels.codes, labels.classes
    (array([ 0, -1, -1]), array(['a', 'b'], dtype=object))
    """
    values = label_array(y)
    if values.size != n_rows:
        raise ValueError(
            f"y has {values.size} entries but X has {n_rows} rows: pass one label per "
            "row, with -1, NaN or None for rows without a label."
        )
    given = values[~unlabeled_mask(values)]
    if len(set(given.tolist())) > 1:
        labels = encode_labels(y)
        if isinstance(hints, Opinions):
            opinions = hints.about(labels.classes)
        else:
            opinions = read_opinions(hints, labels.classes, n_rows=n_rows)
    else:
        opinions = read_opinions(hints, n_rows=n_rows)
        known = opinions.classes.tolist()
        places, _, unknown = _matched(set(given.tolist()), opinions.classes)
        if unknown:
            raise ValueError(
                f"The labels are all {listed(unknown)}, which no hint names (they name "
                f"{listed(known, 5)}): label a row of another class, or correct the "
                "spelling."
            )
        codes = np.array([places.get(v, -1) for v in values.tolist()], dtype=np.intp)
        labels = Labels(codes, opinions.classes)
    for note in opinions.notes:
        warnings.warn(note, UserWarning, stacklevel=3)
    return labels, opinions
