"""Facts about each benchmark data set, from `registry.toml`."""

# SPDX-License-Identifier: BSD-3-Clause

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class OpenML:
    """Where OpenML has a data set, and how its form there differs from ours.

    Attributes
    ----------
    data_id : int
        Number of the data set.
    n_train : int
        The rows after the first `n_train` ones are the test rows.
    first_label : int
        The label there that corresponds to our label 0.
    decimals : int or None
        Decimals of the published values.
    """

    data_id: int
    n_train: int
    first_label: int = 0
    decimals: int | None = None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Facts about one data set.

    Attributes
    ----------
    file : str
        Name of its file, ``<name>.npz``.
    title : str
        Its name in prose.
    loader : str
        The call that loads it.
    n_samples, n_features : int
        Shape of the data.
    digest : str
        SHA-256 of the content, see `content_digest` of `_data_files`.
    source : str
        Who published it, and which copy the digest is of.
    dtype : str
        Type of the values.
    n_stored : int or None
        Number of stored values if the data are sparse.
    labels : tuple of int
        The labels in the file, in sorted order; empty if there are none.
    row_arrays : mapping of str to str
        Further arrays with one value per row, and their types.
    n_splits : int
        Number of given labelled splits of each size.
    split_sizes : tuple of int
        Numbers of labelled rows in these splits.
    image_shape : tuple of int or None
        Height and width if a row is an image.
    column_major : bool
        Whether the pixels are stored column by column.
    feature_names : tuple of str
        Names of the columns, if any.
    terms : str
        Licence or terms of use.
    notes : str
        Further remarks for users.
    openml : OpenML or None
        Where OpenML has it.
    """

    file: str
    title: str
    loader: str
    n_samples: int
    n_features: int
    digest: str
    source: str
    dtype: str = "float32"
    n_stored: int | None = None
    labels: tuple[int, ...] = ()
    row_arrays: Mapping[str, str] = field(default_factory=dict)
    n_splits: int = 0
    split_sizes: tuple[int, ...] = ()
    image_shape: tuple[int, int] | None = None
    column_major: bool = False
    feature_names: tuple[str, ...] = ()
    terms: str = "not stated by the source"
    notes: str = ""
    openml: OpenML | None = None

    @property
    def arrays(self) -> dict[str, str]:
        """Names of the arrays in the file, each with its type and shape."""
        n, d, nnz = self.n_samples, self.n_features, self.n_stored
        if nnz is None:
            arrays = {"X": f"{self.dtype} {(n, d)}"}
        else:
            arrays = {
                "X_data": f"{self.dtype} {(nnz,)}",
                "X_indices": f"int32 {(nnz,)}",
                "X_indptr": f"int32 {(n + 1,)}",
                "X_shape": "int64 (2,)",
            }
        if self.labels:
            arrays["y"] = f"int8 {(n,)}"
        for name, dtype in self.row_arrays.items():
            arrays[name] = f"{dtype} {(n,)}"
        for size in self.split_sizes:
            arrays[self.split_array(size)] = f"int16 {(self.n_splits, size)}"
        return arrays

    def split_array(self, n_labeled: int) -> str:
        """Name of the array with the splits of n_labeled rows."""
        return "idx_lab" if len(self.split_sizes) == 1 else f"idx_lab_{n_labeled}"

    @property
    def descr(self) -> str:
        """The text of `DESCR`."""
        facts = {
            "Rows": self.n_samples,
            "Columns": self.n_features,
            "Classes": len(self.labels) or "none",
            "Labelled splits": self.splits_text,
            "Source": self.source,
            "Terms": self.terms,
        }
        lines = [self.title, "", *(f"{key}: {value}" for key, value in facts.items())]
        return "\n".join([*lines, "", self.notes] if self.notes else lines)

    @property
    def splits_text(self) -> str:
        """The splits in words, such as ``10 of 50``."""
        texts = (f"{self.n_splits} of {size}" for size in self.split_sizes)
        return ", ".join(texts) or "none"


# The names of the benchmark sets of the SSL book, and the keys of their entries.
SSL_BOOK = {
    "digit1": "ssl_digit1",
    "usps": "ssl_usps1500",
    "coil2": "ssl_coil2",
    "bci": "ssl_bci",
    "g241c": "ssl_g241c",
    "coil": "ssl_coil6",
    "g241d": "ssl_g241d",
    "text": "ssl_text",
}


def _entry(key: str, facts: dict[str, Any]) -> Entry:
    if "openml" in facts:
        facts["openml"] = OpenML(**facts["openml"])
    frozen: dict[str, Any] = {
        name: tuple(fact) if isinstance(fact, list) else fact
        for name, fact in facts.items()
    }
    return Entry(file=f"{key}.npz", **frozen)


_TEXT = Path(__file__).with_name("registry.toml").read_text(encoding="utf-8")
REGISTRY = {key: _entry(key, facts) for key, facts in tomllib.loads(_TEXT).items()}
