"""A transformer for tables with columns of several kinds."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from fewlabels._lazy import refuse_lazy
from fewlabels._rows import has_own_units
from fewlabels._sklearn import (
    Interval,
    StrOptions,
    check_array,
    fit_context,
    validate_data,
)
from fewlabels._words import listed, plural
from fewlabels.embeddings import cached_in
from fewlabels.preprocessing._columns import describe_columns
from fewlabels.preprocessing._description import ColumnDescription
from fewlabels.preprocessing._embeddings import text_embedder
from fewlabels.preprocessing._encoders import (
    CategoryEncoder,
    ColumnEncoder,
    DateEncoder,
    NumberEncoder,
    TagsEncoder,
    VectorEncoder,
)
from fewlabels.preprocessing._errors import TableError
from fewlabels.preprocessing._fields import FieldsEncoder
from fewlabels.preprocessing._missing import by_column, without_values
from fewlabels.preprocessing._pictures import embedded_pictures, with_embedder
from fewlabels.preprocessing._summary import ColumnSummary, TableSample
from fewlabels.preprocessing._table import (
    Table,
    check_names,
    holds_texts,
    refuse_records,
)
from fewlabels.preprocessing._text_encoders import (
    EmbeddedTextEncoder,
    NamesEncoder,
    TextEncoder,
)
from fewlabels.preprocessing.cells import object_array

# Names are less informative than texts: they get fewer directions by this factor.
NAMES_SHARE = 10
# Rounding in files causes correlations of this size between principal components.
CORRELATION = 1e-3

# The only classes that saved models may contain.
ENCODERS = (
    NumberEncoder,
    CategoryEncoder,
    DateEncoder,
    NamesEncoder,
    TextEncoder,
    EmbeddedTextEncoder,
    VectorEncoder,
    TagsEncoder,
    FieldsEncoder,
)


class TableTransformer(TransformerMixin, BaseEstimator):
    r"""Turn a table with mixed columns into numbers on one scale.

    The kind of every column is detected, see :func:`describe_columns`, and each gets
    features of total variance one:

    ==========  =======================================================================
    number      standardised, with long tails compressed by
                :math:`\operatorname{asinh}((x - m) / q)`, m the median and q the
                distance of the quartiles; missing values get the median and a mark
    category    one feature per category, rare ones together, missing ones apart; of
                more than `max_categories` also the leading directions of their spelling
    date        the time, and sine and cosine of year, week and day where they vary
    time        of the day, and its sine and cosine
    tags        one feature for each of the `max_categories` most frequent
    fields      of JSON, each like a column of its own
    text        tf-idf of words and of pieces of words; with other columns its leading
                directions, of variance `text_weight`; with `embed`, also the
                embedding of its meaning, as another view
    vector      lists of numbers, such as embeddings: divided by one factor, so that
                their variance is `text_weight`
    picture     paths of files, file URLs or data URIs: the vectors that a network
                makes of them (extra ``pictures``), as above; paths begin in the folder
                of the table
    ==========  =======================================================================

    Identifiers, constant and empty columns are left out. Numbers share one factor if
    all columns are numbers of one unit: more than 20 of them, none with a standard
    deviation above four times the median of all; or principal components, recognised
    by correlations of zero.

    Parameters
    ----------
    ignore : sequence of str, default=()
        Columns to leave out.
    text, categorical, numeric : sequence of str, default=()
        Columns whose kind is known. Columns of an array are called x0, x1, ...
    date : sequence of str, default=()
        Columns of dates, perhaps with their format: ``"born=%d.%m.%y"``.
    decimal : str or sequence of str, default=()
        The decimal sign, "," or "."; for a single column ``"rent=,"``.
    missing : sequence of str or number, default=()
        Values that mean missing, in all columns or in one: ``"age=-1"``.
    scale : {"auto", "standard", "none"}, default="auto"
        Numbers: "standard" gives each column variance one, "none" leaves their
        proportions as they are (one factor for all), "auto" decides as said above.
    text_weight : float or "auto", default="auto"
        Variance of a column of text; any other column has variance 1. "auto" is the
        square root of the number of other columns.
    embed : bool or str, default=False
        Whether text is also encoded by its meaning, see :func:`embed_texts`: True for
        the default embedder, which needs the extra ``embeddings``; "auto" for the same
        if it is installed; or the name of an embedder, see
        :func:`fewlabels.embeddings.load_embedder`.
    max_categories : int, default=30
        Categories of a column with a feature of their own; the rest share one.
    max_words : int, default=20000
        Size of the vocabulary of a column of text.
    n_topics : int, default=50
        Directions that represent a column of text among others.
    random_state : int, RandomState instance or None, default=0
        Seed of these directions.

    Attributes
    ----------
    columns_ : list of ColumnDescription
        What every column holds, and why it was read that way.
    encoders_ : list of encoders
        One per column that is used.
    feature_columns_ : ndarray of int of shape (n_features,)
        For every feature, the index of its column in `columns_`.
    feature_groups_ : ndarray of int of shape (n_features,) or None
        The same for :class:`~fewlabels.automatic.FewLabelsClassifier`; None where
        columns have no meaning of their own: pixels, components, words of a text.
    feature_views_ : dict of str to ndarray of shape (n_features,), or None
        Weights of the features in each of several descriptions of a row (the words of
        its texts, their meaning, and both), for
        :class:`~fewlabels.automatic.FewLabelsClassifier`; None if there is one only.
    n_features_in_ : int
        Number of columns seen during fit.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns, if `X` had any.

    See Also
    --------
    sklearn.compose.ColumnTransformer : You choose how each column is encoded.
    fewlabels.automatic.FewLabelsClassifier : Follows this, with ``scale="none"``.

    Notes
    -----
    The result is sparse if all columns are text, and dense otherwise.

    Examples
    --------
    >>> from fewlabels.tabular import TableTransformer
    >>> people = {"age": [30, 41, None], "town": ["Oslo", "Rome", "Oslo"]}
    >>> transformer = TableTransformer().fit(people)
    >>> transformer.get_feature_names_out()
    array(['age', 'age missing', 'town=Oslo', 'town=Rome'], dtype=object)
    >>> transformer.transform(people).shape
    (3, 4)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ignore": ["array-like"],
        "text": ["array-like"],
        "categorical": ["array-like"],
        "numeric": ["array-like"],
        "date": ["array-like"],
        "decimal": ["array-like", str],
        "missing": ["array-like", str, Real],
        "scale": [StrOptions({"auto", "standard", "none"})],
        "text_weight": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "embed": ["boolean", str],
        "max_categories": [Interval(Integral, 1, None, closed="left")],
        "max_words": [Interval(Integral, 1, None, closed="left")],
        "n_topics": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        ignore: Any = (),
        text: Any = (),
        categorical: Any = (),
        numeric: Any = (),
        date: Any = (),
        decimal: Any = (),
        missing: Any = (),
        scale: str = "auto",
        text_weight: float | str = "auto",
        embed: bool | str = False,
        max_categories: int = 30,
        max_words: int = 20_000,
        n_topics: int = 50,
        random_state: Any = 0,
    ) -> None:
        self.ignore = ignore
        self.text = text
        self.categorical = categorical
        self.numeric = numeric
        self.date = date
        self.decimal = decimal
        self.missing = missing
        self.scale = scale
        self.text_weight = text_weight
        self.embed = embed
        self.max_categories = max_categories
        self.max_words = max_words
        self.n_topics = n_topics
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Detect what the columns hold, and learn their encoding.

        Parameters
        ----------
        X : Table, DataFrame of pandas or polars, dict, array-like or TableSample
            The table. For a :class:`TableSample` of a larger table, the kinds of
            columns, medians, words and dates are those of the sample; missing values,
            counts of categories, and means, deviations and extremes of numbers are
            those of the larger table.
        y : None
            Not used.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Detect what the columns hold, and encode them.

        Parameters
        ----------
        X : Table, DataFrame of pandas or polars, dict, array-like or TableSample
            The table, see :meth:`fit`.
        y : None
            Not used.

        Returns
        -------
        features : {ndarray, csr_array} of shape (n_rows, n_features)
            The features.
        """
        return self._fit(X)

    @fit_context(prefer_skip_nested_validation=True)
    def _fit(self, X: Any) -> Any:
        sample = X if isinstance(X, TableSample) else TableSample(X, None)
        X, summary, progress = sample
        table = self._table(X, reset=True)
        if by_column(self.missing, table.names, "missing"):
            summary = None  # its counts and means include values that mean missing
        self.columns_ = describe_columns(
            table,
            ignore=self.ignore,
            text=self.text,
            categorical=self.categorical,
            numeric=self.numeric,
            date=self.date,
            decimal=self.decimal,
        )
        self.columns_ = [
            with_embedder(c, table.embed_with) if c.kind == "picture" else c
            for c in self.columns_
        ]
        if summary is not None:
            self.columns_ = [
                _of_whole(column, summary.column(k))
                for k, column in enumerate(self.columns_)
            ]
        for column in self.columns_:
            if column.note:
                warnings.warn(column.note, UserWarning, stacklevel=4)
        columns, embedded = self._embedded(table, progress)
        self.columns_ = [embedded.get(c.name, c) for c in self.columns_]
        used = [column for column in self.columns_ if column.is_used]
        if not used:
            reasons = ", ".join(
                f"{c.name!r} ({c.kind}: {c.reason})" for c in self.columns_[:8]
            )
            n_rows = plural(table.n_rows, "row")
            rows = n_rows if table.n_rows > 1 else "1 sample (row)"
            remedy = "leave fewer out (given as ignore)"
            if table.n_rows == 1:
                remedy = "pass more rows"
            elif any(column.kind != "ignored" for column in self.columns_):
                remedy = (
                    "to use one, pass numeric=[NAME], categorical=[NAME], text=[NAME] "
                    "or date=[NAME]"
                )
            notes = "".join(f" {c.note}" for c in self.columns_ if c.note)
            raise TableError(
                f"No column can be used in {rows}: {reasons}; {remedy}.{notes}"
            )
        heavy = ("text", "vector", "picture")
        n_other = sum(column.kind not in heavy for column in used)
        seed = check_random_state(self.random_state).randint(2**31)
        embedder = None
        if any(column.kind == "text" for column in used):
            embedder = text_embedder(self.embed)
        self.encoders_: list[ColumnEncoder] = []
        blocks = []
        for place, column in zip(self._places(), used, strict=True):
            encoder = self._encoder(column, n_other, len(used), seed)
            if embedder is not None and isinstance(encoder, TextEncoder):
                encoder = EmbeddedTextEncoder(encoder, embedder.name, self.n_topics)
            whole = None if summary is None else summary.column(place)
            with cached_in(table.folder):
                blocks.append(encoder.fit(columns[place], whole))
            self.encoders_.append(encoder)
        alike = self._share_unit(blocks) or len(blocks) == 1
        widths = [block.shape[1] for block in blocks]
        self.feature_columns_ = np.repeat(self._places(), widths)
        self.feature_groups_ = None if alike else self.feature_columns_
        self.feature_views_ = self._views(widths)
        return _joined(blocks)

    def _views(self, widths: list[int]) -> dict[str, NDArray[np.float64]] | None:
        """Combine the views of columns; those without any are the same in all."""
        own = [encoder.views() for encoder in self.encoders_]
        names = dict.fromkeys(name for views in own for name in views)
        parts = list(zip(own, widths, strict=True))
        return {
            name: np.concatenate([views.get(name, np.ones(n)) for views, n in parts])
            for name in names
        } or None

    def _encoder(
        self, column: ColumnDescription, n_other: int, n_used: int, seed: int
    ) -> ColumnEncoder:
        auto = self.text_weight == "auto"
        weight = max(1.0, np.sqrt(n_other)) if auto else float(self.text_weight)
        match column.kind:
            case "number":
                return NumberEncoder(column, compress=self.scale != "none")
            case "category" if column.n_distinct > self.max_categories:
                topics = max(2, self.n_topics // NAMES_SHARE)
                sizes = (self.max_categories, self.max_words, topics)
                return NamesEncoder(column, *sizes, seed)
            case "category":
                return CategoryEncoder(column, self.max_categories)
            case "date" | "time":
                return DateEncoder(column)
            case "vector":
                # In a pair such as 120/80, each number counts as a column.
                pair = column.notation.partition(" ")
                return VectorEncoder(column, float(pair[0]) if pair[2] else weight)
            case "picture":
                return VectorEncoder(column, weight)
            case "tags":
                return TagsEncoder(column, self.max_categories)
            case "fields":
                return FieldsEncoder(column, self.max_categories, seed)
            case _:
                size = None if n_used == 1 else self.n_topics
                return TextEncoder(column, self.max_words, size, weight, seed)

    def _share_unit(self, blocks: list[Any]) -> bool:
        """Give numbers of one unit one factor; return whether there are no others."""
        pairs = [
            (encoder, block)
            for encoder, block in zip(self.encoders_, blocks, strict=True)
            if isinstance(encoder, NumberEncoder)
        ]
        if not pairs or self.scale == "standard":
            return False
        numbers = [encoder for encoder, _ in pairs]
        deviations = np.array([e.deviation for e in numbers if e.deviation > 0])
        if not deviations.size:
            return False
        if self.scale == "auto" and not (
            len(pairs) == len(blocks)
            and not any(e.compressed for e in numbers)
            and (not has_own_units(deviations) or _uncorrelated(blocks))
        ):
            return False
        # Alone, the largest has variance one; among others, they do on average.
        alone = len(pairs) == len(blocks)
        unit = float(deviations.max() if alone else np.sqrt(np.mean(deviations**2)))
        for encoder, block in pairs:
            block[:, 0] *= encoder.unit / unit
            encoder.unit = unit
        return alone

    def transform(self, X: Any) -> Any:
        """Encode the rows of a table.

        Parameters
        ----------
        X : Table, DataFrame of pandas or polars, dict or array-like
            A table with the columns of `fit`.

        Returns
        -------
        features : {ndarray, csr_array} of shape (n_rows, n_features)
            The features.
        """
        check_is_fitted(self)
        table = self._table(X, reset=False)
        columns, _ = self._embedded(table)
        pairs = zip(self.encoders_, self._places(), strict=True)
        with cached_in(table.folder):
            return _joined([e.transform(columns[place]) for e, place in pairs])

    def _embedded(
        self, table: Table, progress: Any = False
    ) -> tuple[list[NDArray[Any]], dict[str, ColumnDescription]]:
        """Replace pictures by their vectors, and describe which of them were read."""
        columns, described = list(table.columns), {}
        for place, column in enumerate(self.columns_):
            if column.kind == "picture":
                found = embedded_pictures(table, column, progress)
                columns[place], described[column.name] = found
        return columns, described

    def _places(self) -> list[int]:
        return [k for k, column in enumerate(self.columns_) if column.is_used]

    def _table(self, X: Any, *, reset: bool) -> Table:
        """Read a table, and check its columns against those of `fit`."""
        refuse_lazy(X)
        if issparse(X):
            raise TypeError(
                "Sparse data was passed, but a dense table is required: sparse rows "
                "need no TableTransformer."
            )
        if not isinstance(X, Table | dict) and not hasattr(X, "columns"):
            X = check_array(_two_axes(X), dtype=None, ensure_all_finite=False)
            validate_data(self, X, reset=reset, skip_check_array=True)
            return without_values(Table.from_frame(X), self.missing)
        if hasattr(X, "columns") and not isinstance(X, Table):
            check_names(X)
        table = without_values(Table.from_frame(X), self.missing)
        if not table.names:
            raise TableError("The table has no column to learn from: add one.")
        if table.n_rows == 0:
            raise TableError("The table has no rows: pass at least one.")
        if hasattr(X, "iloc"):
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset:
            self.n_features_in_ = len(table.names)
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif table.names != list(getattr(self, "feature_names_in_", table.names)):
            known = list(self.feature_names_in_)
            absent = [name for name in known if name not in table.names]
            raise TableError(
                "The columns are not those of fit: "
                + (f"{listed(absent)} missing." if absent else "others, or reordered.")
            )
        return table

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        names : ndarray of str objects
            Such as ``"town=Oslo"``.
        """
        check_is_fitted(self)
        names = [name for encoder in self.encoders_ for name in encoder.names()]
        return np.array(names, dtype=object)

    @staticmethod
    def saved_types() -> tuple[str, ...]:
        """Return the classes of this package that a fitted transformer contains.

        Returns
        -------
        names : tuple of str
            With their modules; they hold data and run no code when loaded.
        """
        kinds = (ColumnDescription, TableTransformer, *ENCODERS)
        return tuple(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _two_axes(X: Any) -> Any:
    """Turn texts into a column, and keep missing values in lists missing."""
    if holds_texts(X):
        return object_array(list(X)).reshape(-1, 1)
    if not isinstance(X, list | tuple):
        return X
    try:
        cells = np.asarray(X)
    except ValueError:  # rows of different lengths
        return X
    refuse_records(cells)
    return np.asarray(X, dtype=object) if cells.dtype.kind in "US" else cells


def _of_whole(column: ColumnDescription, whole: ColumnSummary) -> ColumnDescription:
    """Update the description of a sampled column from all rows."""
    n_distinct = column.n_distinct if whole.counts is None else len(whole.counts)
    return replace(column, n_missing=whole.n_missing, n_distinct=n_distinct)


def _uncorrelated(blocks: list[Any]) -> bool:
    """Whether columns are principal components: uncorrelated to the last digit."""
    values = np.column_stack([block[:, 0] for block in blocks])
    if values.shape[1] < 3 or values.shape[0] <= 2 * values.shape[1]:
        return False
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = np.corrcoef(values, rowvar=False)
    off = correlations[~np.eye(len(correlations), dtype=bool)]
    return bool(np.nanmax(np.abs(off), initial=0.0) < CORRELATION)


def _joined(blocks: list[Any]) -> Any:
    """Concatenate features; sparse if all of them are."""
    if all(issparse(block) for block in blocks):
        return csr_array(hstack(blocks))
    return np.hstack(blocks)
