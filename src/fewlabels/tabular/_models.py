"""A model for the rows of a table, and its file."""

# SPDX-License-Identifier: BSD-3-Clause

import io
import json
import os
import platform
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array, issparse

import fewlabels
from fewlabels._words import listed, nearest_name
from fewlabels.automatic import FewLabelsClassifier, FewLabelsRegressor
from fewlabels.preprocessing import (
    ColumnDescription,
    FileError,
    Table,
    TableError,
    TableTransformer,
)
from fewlabels.preprocessing.cells import object_array
from fewlabels.tabular._drift import (
    MovedColumn,
    SeenColumn,
    moved_columns,
    rows_apart,
)
from fewlabels.tabular._notation import with_other_sign
from fewlabels.tabular.files import replacing
from fewlabels.tabular.hints import known_hints

FORMAT = 1
# 90 % of a normal distribution lie within this many standard deviations.
NINE_IN_TEN = 1.645
# Training values that replace each cell of a column that has moved.
DRAWS = 8
# Types that a file may use besides numbers, text and those that skops trusts anyway
# (scikit-learn's estimators and NumPy's types). None of them runs code from the file.
TRUSTED = (
    *FewLabelsClassifier.saved_types(),
    f"{FewLabelsRegressor.__module__}.{FewLabelsRegressor.__qualname__}",
    *TableTransformer.saved_types(),
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
)


@dataclass
class TableModel:
    """A classifier or regressor for the rows of tables with the same columns.

    It is made by :func:`label_table` and :func:`load_model`.

    Attributes
    ----------
    transformer : TableTransformer
        From columns to features.
    classifier : FewLabelsClassifier or FewLabelsRegressor
        From features to classes, or to numbers where the target is a quantity.
    target : str
        Name of the label column.
    values : dict of str to object
        The classes as they stand in the table.
    about : dict
        Versions, date, number of rows and labels.
    seen : list of SeenColumn
        Summaries of the training columns; without them, new tables are not compared.
    rows : {ndarray, csr_array} or None
        Features of some of its rows.
    """

    transformer: TableTransformer
    classifier: Any
    target: str
    values: dict[str, Any]
    about: dict[str, Any] = field(default_factory=dict)
    seen: list[SeenColumn] = field(default_factory=list)
    rows: Any = None

    @property
    def columns(self) -> list[ColumnDescription]:
        """Descriptions of the columns of the training table."""
        return self.transformer.columns_

    def aligned(self, X: Any) -> Table:
        """Select the columns of the training table, in its order.

        Parameters
        ----------
        X : Table, DataFrame of pandas or polars, dict or array-like
            Another table; further columns do not matter, nor does the order.

        Returns
        -------
        table : Table
            The columns that the transformer knows.

        Raises
        ------
        TableError
            If a column that the model uses is not there.
        """
        table = Table.from_frame(X)
        needed = [column.name for column in self.columns if column.is_used]
        absent = [name for name in needed if name not in table.names]
        if absent:
            others = [name for name in table.names if name not in needed]
            near = {name: nearest_name(name, others) for name in absent}
            hints = [f"{near[n]!r} for {n!r}" for n in absent if near[n]][:3]
            hint = f" Perhaps {', '.join(hints)} under another name?" if hints else ""
            kinds = {column.name: column.kind for column in self.columns}
            if any(kinds[n] == "vector" and n.startswith("features") for n in absent):
                hint += (
                    " It was fitted with a separate file of vectors, one for every "
                    "row: pass features=FILE with those of this table."
                )
            raise TableError(
                f"The table does not fit the model: it has no {listed(absent)}.{hint} "
                f"The model uses {listed(needed)}; the table has {listed(table.names)}."
            )
        nothing = object_array([None] * table.n_rows)
        numbers = with_other_sign(self.columns, table)
        if numbers:
            name, read = next(iter(numbers.items()))
            row = np.flatnonzero(~np.isnan(read))[0]
            warnings.warn(
                "Decimals are written with another sign than when the model was fitted:"
                f" {table[name][row]!r} in {name!r} is read as {read[row]:.10g}.",
                UserWarning,
                stacklevel=2,
            )
        given = {n: table[n] for n in table.names} | numbers
        columns = [given.get(column.name, nothing) for column in self.columns]
        return Table([c.name for c in self.columns], columns, table.source)

    def probabilities(self, features: Any, hints: Any = None) -> NDArray[Any]:
        """Probabilities of classes for encoded rows.

        Parameters
        ----------
        features : {ndarray, csr_array} of shape (n_rows, n_features)
            Rows as the transformer gives them.
        hints : dict of str to array-like, default=None
            What other sources say about them, if the model has learned to use them.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classifier.classes_``.
        """
        if hints:
            return self.classifier.predict_proba(features, hints)
        return self.classifier.predict_proba(features)

    def decide(self, p: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Choose classes by their probabilities.

        Parameters
        ----------
        p : ndarray of shape (n_rows, n_classes)
            Probabilities.

        Returns
        -------
        labels : ndarray of object of shape (n_rows,)
            The classes as they stand in the table.
        confidence : ndarray of shape (n_rows,)
            Their probabilities.
        """
        classes = object_array([self.values[c] for c in self.classifier.classes_])
        chosen = self.classifier.chosen(p)
        return classes[chosen], np.take_along_axis(p, chosen[:, None], axis=1)[:, 0]

    def estimate(
        self, features: Any
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Predict numbers for encoded rows.

        Parameters
        ----------
        features : {ndarray, csr_array} of shape (n_rows, n_features)
            Rows as the transformer gives them.

        Returns
        -------
        numbers : ndarray of shape (n_rows,)
            Predictions.
        low, high : ndarray of shape (n_rows,)
            Ends of 90 % intervals (or of the `interval` with which the table was
            labelled); NaN if there are too few labels to tell.
        """
        level = self.about.get("interval", 0.9)
        numbers, *ends = self.classifier.predict(features, return_interval=level)
        low, high = (np.where(np.isfinite(end), end, np.nan) for end in ends)
        return numbers, low, high

    @property
    def predicts_numbers(self) -> bool:
        """Whether the target is a quantity."""
        return isinstance(self.classifier, FewLabelsRegressor)

    def predict(self, X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Label the rows of another table.

        Parameters
        ----------
        X : Table, DataFrame of pandas or polars, dict or array-like
            A table with the columns that the model uses.

        Returns
        -------
        labels : ndarray of object of shape (n_rows,)
            The classes as they stand in the training table.
        confidence : ndarray of shape (n_rows,)
            The probability of each; for a quantity, half the width of a 90 % interval.
        """
        labels, confidence, _ = self.predictions(X)
        return labels, confidence

    def predictions(
        self,
        X: Any,
        *,
        whole: bool = True,
        strict: bool = False,
        tell: Callable[[MovedColumn], None] | None = None,
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Label the rows of another table, with all probabilities or with intervals.

        If a column has changed since training, there is a warning, and the confidence
        of a row becomes its average over training values of that column.

        Parameters
        ----------
        X : Table, DataFrame of pandas or polars, dict or array-like
            A table with the columns that the model uses.
        whole : bool, default=True
            Whether `X` is a complete table, see :func:`moved_columns`.
        strict : bool, default=False
            Whether to refuse a table unlike the training table.
        tell : callable, default=None
            Called for every column that has moved; None to warn.

        Returns
        -------
        labels, confidence : ndarray of shape (n_rows,)
            See :meth:`predict`.
        more : ndarray of shape (n_rows, n_classes) or (n_rows, 2)
            Probabilities of all classes; for a quantity, both ends of the intervals.
        """
        table = self.aligned(X)
        hints = known_hints(Table.from_frame(X), self.about.get("hints", ()))
        features = self.transformer.transform(table)
        moved = self.moved(table, features, whole=whole)
        if moved and strict:
            raise TableError(
                "The table is refused (given as strict), as it is unlike the one that "
                "the model was fitted to. " + " ".join(m.words for m in moved)
            )
        for column in moved:
            if tell is None:
                warnings.warn(column.words, UserWarning, stacklevel=2)
            else:
                tell(column)
        doubted = self._doubted(features, {m.name for m in moved if m.name})
        if self.predicts_numbers:
            numbers, low, high = self.estimate(features)
            if doubted is not None:
                off = [(self.classifier.predict(F) - numbers) ** 2 for F in doubted]
                more = NINE_IN_TEN**2 * np.mean(off, axis=0)
                low = numbers - np.sqrt((numbers - low) ** 2 + more)
                high = numbers + np.sqrt((high - numbers) ** 2 + more)
            return numbers, (high - low) / 2, np.column_stack([low, high])
        p = self.probabilities(features, hints)
        labels, confidence = self.decide(p)
        if doubted is not None:
            doubt = np.mean([self.probabilities(F, hints) for F in doubted], axis=0)
            chosen = self.classifier.chosen(p)[:, None]
            own = np.take_along_axis(doubt, chosen, axis=1)[:, 0]
            confidence = np.minimum(confidence, own)
        return labels, confidence, p

    def moved(
        self, table: Table, features: Any, *, whole: bool = True
    ) -> list[MovedColumn]:
        """Find the columns that have changed since the model was fitted.

        Parameters
        ----------
        table : Table
            What :meth:`aligned` returned.
        features : {ndarray, csr_array} of shape (n_rows, n_features)
            Its features from the transformer.
        whole : bool, default=True
            Whether it is a complete table.

        Returns
        -------
        moved : list of MovedColumn
            If no column has moved, the result of a test on whole rows.
        """
        found = moved_columns(self.seen, table, whole=whole)
        if not found and whole and self.rows is not None:
            apart = rows_apart(self.rows, features)
            return [] if apart is None else [apart]
        return found

    def _doubted(self, features: Any, names: set[str]) -> list[Any] | None:
        """Give rows values of the training table in the columns that have moved."""
        if not names or self.rows is None:
            return None
        places = [k for k, column in enumerate(self.columns) if column.name in names]
        own = np.isin(self.transformer.feature_columns_, places)
        rng = np.random.default_rng(0)
        n_kept, n_rows = self.rows.shape[0], features.shape[0]
        draws = [rng.integers(n_kept, size=n_rows) for _ in range(DRAWS)]
        return [replaced_features(features, own, self.rows[draw]) for draw in draws]


def replaced_features(features: Any, own: NDArray[np.bool_], others: Any) -> Any:
    """Take some features from other rows."""
    if not issparse(features):
        return np.where(own, others, features)
    keep, take = (diags_array(side.astype(float)) for side in (~own, own))
    return (features @ keep + others @ take).tocsr()


def versions() -> dict[str, str]:
    """Return the versions of the packages that a model is made with.

    Returns
    -------
    versions : dict of str to str
        By name.
    """
    import scipy
    import sklearn

    return {
        "fewlabels": fewlabels.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def save_model(
    model: TableModel, path: str | os.PathLike[str], *, force: bool = False
) -> None:
    """Write a model to a file that holds data and no code.

    The file is a zip archive of ``fewlabels.json``, which describes the model, and
    ``model.skops``. It holds the features of all training rows: treat it as
    confidentially as the table.

    Parameters
    ----------
    model : TableModel
        The model.
    path : path-like
        The file.
    force : bool, default=False
        Whether to replace a file that exists.

    Returns
    -------
    None
        The file is there.

    See Also
    --------
    load_model : Read the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fewlabels.tabular import label_table, load_model, save_model
    >>> data = {"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.2],
    ...         "kind": ["small", None, None, "large", None, None]}
    >>> labelled = label_table(data, "kind")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "kind.fewlabels")
    ...     save_model(labelled.model, path)
    ...     labels, confidence = load_model(path).predict({"size": [1.3, 4.9]})
    >>> list(labels)
    ['small', 'large']
    """
    sio = _skops()
    parts = {"transformer": model.transformer, "classifier": model.classifier.compact()}
    parts["rows"] = model.rows
    about = {
        **model.about,
        "format": FORMAT,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "target": model.target,
        "classes": [[text, _plain(value)] for text, value in model.values.items()],
        "columns": [column.as_dict() for column in model.columns],
        "seen": [column.as_dict() for column in model.seen],
    }
    data = sio.dumps(parts)
    with replacing(path, force=force) as file, zipfile.ZipFile(file, "w") as archive:
        text = json.dumps(about, indent=1, ensure_ascii=False)
        archive.writestr("fewlabels.json", text)
        archive.writestr("model.skops", data, zipfile.ZIP_DEFLATED, 1)


def load_model(path: str | os.PathLike[str]) -> TableModel:
    """Read a model without running any code from the file.

    Parameters
    ----------
    path : path-like
        A file of :func:`save_model`.

    Returns
    -------
    model : TableModel
        The model, for predictions only: labels cannot be added to it.
        ``about["notes"]`` says where versions differ.

    Raises
    ------
    TableError
        If the file is not a model, or uses types that a model does not need.

    Examples
    --------
    >>> from fewlabels.tabular import TableError, load_model
    >>> try:
    ...     load_model("nowhere.fewlabels")
    ... except TableError as error:
    ...     print(error)
    Cannot read nowhere.fewlabels: No such file or directory.
    """
    sio = _skops()
    about, data = _opened(path)
    try:
        untrusted = sio.get_untrusted_types(data=data)
    except Exception as error:
        raise _no_model(path, str(error)) from None
    foreign = sorted(set(untrusted) - set(TRUSTED))
    if foreign:
        raise TableError(
            f"{path} is refused: it uses {listed(foreign)}, which no fewlabels model "
            "needs. Do not use this file."
        )
    try:
        parts = sio.loads(data, trusted=list(TRUSTED))
        transformer, classifier = parts["transformer"], parts["classifier"]
        seen = [SeenColumn(**column) for column in about.pop("seen", [])]
    except Exception as error:
        raise _no_model(path, f"{type(error).__name__}: {error}") from None
    if not isinstance(transformer, TableTransformer) or not isinstance(
        classifier, FewLabelsClassifier | FewLabelsRegressor
    ):
        raise _no_model(path, "it holds something else")
    about["notes"] = _version_notes(about.get("versions", {}))
    values = dict(about["classes"])
    return TableModel(
        transformer, classifier, about["target"], values, about, seen, parts.get("rows")
    )


def _opened(path: str | os.PathLike[str]) -> tuple[dict[str, Any], bytes]:
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror}.") from None
    if content[:2] in (b"\x80\x04", b"\x80\x05", b"\x80\x03", b"\x80\x02"):
        raise TableError(
            f"{path} is refused: it is a pickle, which can run any code when it is "
            "read. Make the model again with save_model."
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            about = json.loads(archive.read("fewlabels.json"))
            data = archive.read("model.skops")
        if about["format"] > FORMAT:
            raise TableError(
                f"{path} was made by fewlabels {about['versions']['fewlabels']}, which "
                "is newer: update fewlabels, or make the model again."
            )
        if not isinstance(about["target"], str):
            raise TypeError("target")
        dict(about["classes"])
    except TableError:
        raise
    except Exception as error:
        raise _no_model(path, f"{type(error).__name__}: {error}") from None
    return about, data


def _no_model(path: str | os.PathLike[str], why: str) -> TableError:
    return TableError(
        f"{path} is not a model of fewlabels, or it is damaged ({why.rstrip('.')}): "
        "make it again with save_model."
    )


def _version_notes(made_with: dict[str, str]) -> list[str]:
    here = versions()
    return [
        f"The model was made with {name} {made_with[name]}, but {here[name]} is "
        "installed: if anything looks wrong, make it again."
        for name in ("fewlabels", "scikit-learn")
        if name in made_with and made_with[name] != here[name]
    ]


def _skops() -> Any:
    try:
        import skops.io as sio
    except ImportError:
        raise ImportError(
            'Saved models need skops: pip install "fewlabels[cli]".'
        ) from None
    return sio


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
