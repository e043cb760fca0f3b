"""The one way from a table to a model: read labels, encode columns, choose a bank.

All callers (the commands, the labelling page, batches, clusters of computers, Python)
describe what to do as a :class:`TableSetup` and follow its steps, so that the same
labels always give the same model.
"""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from fewlabels._rows import equal_rows
from fewlabels._words import listed, nearest_name, plural
from fewlabels.automatic import FewLabelsClassifier, FewLabelsRegressor, bank_for
from fewlabels.preprocessing import (
    ColumnDescription,
    Table,
    TableError,
    TableSample,
    TableSummary,
    TableTransformer,
    named_kinds,
)
from fewlabels.tabular._extra_rows import doubtful_rows
from fewlabels.tabular._label_checks import check_markers, check_target_kind
from fewlabels.tabular._near_copies import copied_rows
from fewlabels.tabular._targets import (
    TargetColumn,
    class_text,
    read_target,
    require_classes,
    revealing_columns,
)
from fewlabels.tabular.hints import column_numbers, hint_columns
from fewlabels.tabular.telling import LEFT_OUT

# Features of tables with more rows than this are in single precision.
SINGLE_PRECISION_ROWS = 20_000

__all__ = [
    "EncodedTable",
    "Progress",
    "TableSetup",
    "check_markers",
    "check_target_kind",
    "class_order",
    "class_shares",
    "class_text",
    "distinct_rows",
    "encode",
    "noting",
    "require_classes",
    "silent",
]

Progress = Callable[[float, str], None]


def silent(share: float, what: str) -> None:
    """Tell nobody."""


@contextmanager
def noting(notes: list[str]) -> Iterator[None]:
    """Collect warnings as notes.

    Parameters
    ----------
    notes : list of str
        Gets every warning once.

    Yields
    ------
    None
        Within the block, no warning is shown.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield
    for message in dict.fromkeys(str(w.message) for w in caught):
        notes.append(message)


@dataclass
class EncodedTable:
    """A table, and its columns as features.

    Attributes
    ----------
    table : Table
        The table.
    transformer : TableTransformer
        From columns to features.
    features : {ndarray, csr_array} of shape (n_rows, n_features)
        The rows as they are learned from.
    notes : list of str
        What the owner of the table should know.
    groups : ndarray of shape (n_rows,) or None
        Rows that are near copies have the same number, and are held out together.
    """

    table: Table
    transformer: TableTransformer
    features: Any
    notes: list[str]
    groups: NDArray[np.intp] | None = None


def encode(
    table: Table,
    encoding: Mapping[str, Any],
    random_state: Any,
    summary: TableSummary | None = None,
    notes: Sequence[str] = (),
    progress: Callable[[float], None] | bool = False,
) -> EncodedTable:
    """Turn the columns of a table into features, in single precision if many rows."""
    found = [*table.notes, *notes]
    transformer = TableTransformer(**encoding, random_state=random_state)
    with noting(found):
        features = transformer.fit_transform(TableSample(table, summary, progress))
    if not issparse(features) and table.n_rows > SINGLE_PRECISION_ROWS:
        features = features.astype(np.float32)
    found += _unused_notes(transformer.columns_)
    return EncodedTable(table, transformer, features, found)


def _unused_notes(columns: Sequence[ColumnDescription]) -> list[str]:
    """List the columns that are left out because they carry no information."""
    notes = []
    for kind in ("identifier", "constant", "empty"):
        names = [column.name for column in columns if column.kind == kind]
        if names:
            what = plural(len(names), f"{kind} column").removeprefix("1 ")
            notes.append(f"{LEFT_OUT}{what}: {listed(names)}.")
    return notes


@dataclass(frozen=True)
class TableSetup:
    """What to learn from a table, and how.

    Attributes
    ----------
    target : str
        The column of labels.
    markers : sequence
        Values that stand for "no label".
    merge_labels : bool
        Whether labels that differ only in case and spaces are one class.
    task : {"auto", "classes", "numbers"}
        Whether to predict classes or numbers.
    class_prior : str or dict
        Shares of the classes among the rows without a label.
    bank : {"auto", "fast", "default", "thorough"}
        How much to try.
    device : {"cpu", "cuda"} or None
        Where to learn.
    random_state : int or RandomState instance
        Seed.
    encoding : dict
        Parameters of :class:`TableTransformer`.
    interval : float
        Coverage of the intervals of predicted numbers.
    hints : sequence of str
        Columns of guesses by other sources, and rules, see
        :mod:`fewlabels.tabular.hints`.
    weight : str or None
        Column with the weights of the labels.
    ordinal : bool, str or sequence
        Whether classes have an order, and which.

    Examples
    --------
    >>> from fewlabels.tabular import Table
    >>> from fewlabels.tabular.setup import TableSetup
    >>> table = Table.from_frame({"size": [1.0, 5.0], "kind": ["a", None]})
    >>> setup = TableSetup.of("kind", numeric=["size"])
    >>> setup.encode(table, setup.read_labels(table)).features.shape
    (2, 1)
    """

    target: str
    markers: Sequence[Any] = ()
    merge_labels: bool = False
    task: str = "auto"
    class_prior: str | Mapping[Any, float] = "auto"
    bank: str = "auto"
    device: str | None = None
    random_state: Any = 0
    encoding: Mapping[str, Any] = field(default_factory=dict)
    interval: float = 0.9
    hints: Sequence[str] = ()
    weight: str | None = None
    ordinal: Any = False

    @classmethod
    def of(cls, target: str, **options: Any) -> "TableSetup":
        """Make a setup, separating parameters of the transformer from all others.

        Parameters
        ----------
        target : str
            The column of labels.
        **options : dict
            Attributes of a setup, and parameters of :class:`TableTransformer`.

        Returns
        -------
        setup : TableSetup
            The setup.
        """
        own = {field.name for field in fields(cls)} & set(options)
        rest = {name: value for name, value in options.items() if name not in own}
        return cls(target, **{name: options[name] for name in own}, encoding=rest)

    def read_labels(self, table: Table) -> TargetColumn:
        """Read the label column.

        Parameters
        ----------
        table : Table
            The table.

        Returns
        -------
        labels : TargetColumn
            The labels.
        """
        check_markers(table, self.target, self.markers)
        labels = read_target(
            table,
            self.target,
            self.markers,
            merge=self.merge_labels,
            task="classes" if self.has_order else self.task,
            decimal=self.encoding.get("decimal", ()),
        )
        labels.notes += doubtful_rows(table)
        return labels

    def encode(
        self,
        table: Table,
        labels: TargetColumn,
        summary: TableSummary | None = None,
        progress: Callable[[float], None] | bool = False,
    ) -> EncodedTable:
        """Turn columns into features, except the labels and columns that leak them.

        Parameters
        ----------
        table : Table
            The table.
        labels : TargetColumn
            The labels.
        summary : TableSummary, default=None
            A summary of all rows of a larger table of which `table` is a sample.
        progress : callable or bool, default=False
            Called with the share of the pictures that are done.

        Returns
        -------
        encoded : EncodedTable
            The features.
        """
        named = named_kinds(table, **self.encoding)
        notes = list(labels.notes)
        apart = self.not_features(table, named)
        kind = named.get(self.target)
        if kind == "ignored":
            notes.append(
                f"{self.target!r} holds the labels and is never used as a feature: "
                "there is no need to leave it out (given as ignore)."
            )
        check_target_kind(self.target, kind)
        revealing = {
            name: why
            for name, why in revealing_columns(table, labels).items()
            if name not in named and name not in apart
        }
        notes += [f"Column {n!r} is left out: {why}." for n, why in revealing.items()]
        ignored = [n for n in self.encoding.get("ignore", ()) if n != self.target]
        signs = self.encoding.get("decimal", ())
        signs = [signs] if isinstance(signs, str) else signs
        signs = [s for s in signs if s.rpartition("=")[0] != self.target]
        encoded = encode(
            table.without([self.target, *apart]),
            {
                "embed": "auto",
                **self.encoding,
                "ignore": [*ignored, *revealing],
                "decimal": signs,
            },
            self.random_state,
            summary,
            notes,
            progress,
        )
        encoded.table = table
        encoded.groups, copies = copied_rows(
            table, encoded.transformer, encoded.features, labels.given
        )
        encoded.notes += copies
        return encoded

    def not_features(self, table: Table, named: Mapping[str, str]) -> list[str]:
        """List the columns of hints and weights, which are never features.

        Parameters
        ----------
        table : Table
            The table.
        named : dict of str to str
            Columns whose kind was given.

        Returns
        -------
        columns : list of str
            Their names.
        """
        apart = hint_columns(self.hints) + ([self.weight] if self.weight else [])
        for name in apart:
            role = "weight" if name == self.weight else "hints"
            table.index(name, role)
            if name == self.target:
                raise TableError(f"{name!r} holds the labels (given as {role}).")
            if name in named:
                raise TableError(
                    f"{name!r} is given as {role} and cannot also be a column of kind "
                    f"{named[name]!r}: leave one of the two out."
                )
        return apart

    def label_weights(
        self, table: Table, labels: TargetColumn
    ) -> NDArray[np.float64] | None:
        """Read the weights of the labels; those of other rows are 1.

        Parameters
        ----------
        table : Table
            The table.
        labels : TargetColumn
            The labels.

        Returns
        -------
        weights : ndarray of shape (n_rows,) or None
            None without a column of weights.
        """
        if self.weight is None:
            return None
        if labels.numbers is not None:
            raise TableError(
                f"{labels.name!r} holds numbers, whose weights are not supported: pass "
                "task='classes', or leave the weights out."
            )
        weights = column_numbers(table, self.weight, "weight")
        wrong = labels.given & ~(np.isfinite(weights) & (weights >= 0))
        if wrong.any():
            row = int(table.row_numbers[np.flatnonzero(wrong)[0]])
            raise TableError(
                f"{self.weight!r} has no weight of 0 or more for {int(wrong.sum())} of "
                f"the labelled rows, such as row {row:,}: fill these cells."
            )
        return np.where(labels.given, weights, 1.0)

    @property
    def has_order(self) -> bool:
        """Whether classes have an order."""
        return self.ordinal is not None and self.ordinal is not False

    def learner(
        self,
        encoded: EncodedTable,
        labels: TargetColumn,
        progress: Callable[[float], None],
        bank: str | None = None,
    ) -> Any:
        """Make the classifier or regressor, not fitted yet.

        Parameters
        ----------
        encoded : EncodedTable
            The table.
        labels : TargetColumn
            Its labels, which decide between the two.
        progress : callable
            Called with the share of the work that is done.
        bank : str, default=None
            Another bank than the one that suits the table.

        Returns
        -------
        learner : FewLabelsClassifier or FewLabelsRegressor
            To be fitted to the features and ``labels.to_learn``.
        """
        kind: Any = FewLabelsClassifier
        if labels.numbers is not None:
            kind = FewLabelsRegressor
        return kind(
            bank=bank or bank_for(self.bank, encoded.table.n_rows),
            scale="unit" if issparse(encoded.features) else "none",
            feature_groups=encoded.transformer.feature_groups_,
            feature_views=encoded.transformer.feature_views_,
            progress=progress,
            device=self.device,
            random_state=self.random_state,
            **class_shares(labels, self.class_prior),
            **({"order": class_order(labels, self.ordinal)} if self.has_order else {}),
        )


def class_shares(
    labels: TargetColumn, prior: str | Mapping[Any, float]
) -> dict[str, Any]:
    """Key class shares by the text of the classes, for the classifier only."""
    if labels.numbers is not None:
        if prior == "auto":
            return {}
        raise TableError(
            f"{labels.name!r} holds numbers, and only classes have shares: leave them "
            "out, or pass task='classes'."
        )
    if not isinstance(prior, Mapping):
        return {"class_prior": prior}
    texts = {value: text for text, value in labels.values.items()}
    shares = {texts.get(key, key): share for key, share in prior.items()}
    known = list(labels.values)
    for name in shares:
        if name not in labels.values:
            near = nearest_name(str(name), known)
            hint = f" Did you mean {near!r}?" if near else ""
            raise TableError(
                f"A class share is given for {str(name)!r}, but {labels.name!r} has no "
                f"such label.{hint} The classes are {listed(known)}."
            )
    absent = [name for name in known if name not in shares]
    if absent:
        raise TableError(
            f"Class shares are missing for {listed(absent)}: give one for each of the "
            f"{plural(len(known), 'class', 'classes')} in {labels.name!r}."
        )
    return {"class_prior": shares}


def class_order(labels: TargetColumn, ordinal: Any) -> list[str]:
    """Put classes in order: by number, or as named.

    Parameters
    ----------
    labels : TargetColumn
        The labels.
    ordinal : True, str or sequence
        Names of the classes, the least first, perhaps in one text with commas; True is
        by number.

    Returns
    -------
    order : list of str
        Texts of the classes, the least first; some may have no label.
    """
    known = list(labels.values)
    if ordinal is True or (isinstance(ordinal, str) and not ordinal.strip()):
        numbers, unread = {}, []
        for text in known:
            try:
                numbers[text] = float(text)
            except ValueError:
                unread.append(text)
        if unread:
            raise TableError(
                f"Labels of {labels.name!r} such as {listed(unread, 3)} are not "
                "numbers: name the classes in order, the least first, as in "
                "'low,medium,high' (given as ordinal)."
            )
        return sorted(known, key=numbers.__getitem__)
    names = ordinal.split(",") if isinstance(ordinal, str) else list(ordinal)
    names = [class_text(name).strip() for name in names]
    folded = {" ".join(text.casefold().split()): text for text in known}
    order = [
        name if name in known else folded.get(" ".join(name.casefold().split()), name)
        for name in names
    ]
    absent = [text for text in known if text not in order]
    if absent or len(set(order)) < len(order):
        what = f"lacks {listed(absent, 5)}" if absent else "names a class twice"
        raise TableError(
            f"The order of the classes of {labels.name!r} {what} (given as ordinal): "
            "name every class once, the least first."
        )
    return order


def distinct_rows(features: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first of every set of equal rows, and the set of every row."""
    copy_of = equal_rows(features)
    _, first = np.unique(copy_of, return_index=True)
    return first, copy_of
