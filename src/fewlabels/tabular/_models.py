"""A model for the rows of a table, and its file."""

# SPDX-License-Identifier: BSD-3-Clause

import io
import json
import os
import platform
import zipfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from fewlabels.tabular.files import replacing

FORMAT = 1
# Nine in ten values of a normal distribution lie within this many standard deviations.
NINE_IN_TEN = 1.645
# What a file may make besides numbers, text and the classes that skops trusts anyway
# (scikit-learn's estimators and NumPy's types). Nothing here runs code of the file.
TRUSTED = (
    *FewLabelsClassifier.saved_types(),
    f"{FewLabelsRegressor.__module__}.{FewLabelsRegressor.__qualname__}",
    *TableTransformer.saved_types(),
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
)


@dataclass
class TableModel:
    """A classifier for the rows of tables with certain columns.

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
    """

    transformer: TableTransformer
    classifier: Any
    target: str
    values: dict[str, Any]
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> list[ColumnDescription]:
        """What the columns of the training table hold."""
        return self.transformer.columns_

    def aligned(self, X: Any) -> Table:
        """Pick the columns of the training table, in its order.

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
            near = {name: nearest_name(name, table.names) for name in absent}
            hints = [f"{near[n]!r} for {n!r}" for n in absent if near[n]][:3]
            hint = f" Perhaps {', '.join(hints)} under another name?" if hints else ""
            kinds = {column.name: column.kind for column in self.columns}
            if any(kinds[n] == "vector" and n.startswith("features") for n in absent):
                hint += (
                    " It was fitted with a vector for every row from a file of its "
                    "own: pass features=FILE with those of this table."
                )
            raise TableError(
                f"The table does not fit the model: it lacks {listed(absent)}.{hint} "
                f"The model uses {listed(needed)}; the table has {listed(table.names)}."
            )
        nothing = object_array([None] * table.n_rows)
        columns = [
            table[column.name] if column.name in table.names else nothing
            for column in self.columns
        ]
        return Table([c.name for c in self.columns], columns, table.source)

    def probabilities(self, features: Any) -> NDArray[Any]:
        """Probabilities of classes for encoded rows.

        Parameters
        ----------
        features : {ndarray, csr_array} of shape (n_rows, n_features)
            Rows as the transformer gives them.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classifier.classes_``.
        """
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
        return classes[p.argmax(axis=1)], p.max(axis=1)

    def estimate(self, features: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Predict numbers for encoded rows.

        Parameters
        ----------
        features : {ndarray, csr_array} of shape (n_rows, n_features)
            Rows as the transformer gives them.

        Returns
        -------
        numbers : ndarray of shape (n_rows,)
            What is expected.
        margins : ndarray of shape (n_rows,)
            How far off it is at most for nine in ten rows, by the error to expect; NaN
            where that is not known.
        """
        numbers = self.classifier.predict(features)
        error = self.classifier.expected_error_
        return numbers, np.full(numbers.size, NINE_IN_TEN * error.value)

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
            The probability of each; where the target is a quantity, how far off it may
            be.
        """
        features = self.transformer.transform(self.aligned(X))
        if self.predicts_numbers:
            return self.estimate(features)
        return self.decide(self.probabilities(features))


def versions() -> dict[str, str]:
    """Versions of what a model is made with.

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

    The file is a zip archive of ``fewlabels.json``, which says what the model is, and
    ``model.skops``. It holds the features of all training rows: what is confidential in
    the table is so in the model.

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
    load_model : The way back.

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
    about = {
        **model.about,
        "format": FORMAT,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "target": model.target,
        "classes": [[text, _plain(value)] for text, value in model.values.items()],
        "columns": [column.as_dict() for column in model.columns],
    }
    data = sio.dumps(parts)
    with replacing(path, force=force) as file, zipfile.ZipFile(file, "w") as archive:
        text = json.dumps(about, indent=1, ensure_ascii=False)
        archive.writestr("fewlabels.json", text)
        archive.writestr("model.skops", data, zipfile.ZIP_DEFLATED, 1)


def load_model(path: str | os.PathLike[str]) -> TableModel:
    """Read a model without running anything that the file brings.

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
        If the file is no model, or asks for anything that a model does not need.

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
            f"{path} is refused: it asks for {listed(foreign)}, which no model of "
            "fewlabels needs. Do not use this file."
        )
    try:
        parts = sio.loads(data, trusted=list(TRUSTED))
        transformer, classifier = parts["transformer"], parts["classifier"]
    except Exception as error:
        raise _no_model(path, f"{type(error).__name__}: {error}") from None
    if not isinstance(transformer, TableTransformer) or not isinstance(
        classifier, FewLabelsClassifier | FewLabelsRegressor
    ):
        raise _no_model(path, "it holds something else")
    about["notes"] = _version_notes(about.get("versions", {}))
    values = dict(about["classes"])
    return TableModel(transformer, classifier, about["target"], values, about)


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
        f"The model was made with {name} {made_with[name]}, this is {here[name]}: if "
        "anything is odd, make it again."
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
