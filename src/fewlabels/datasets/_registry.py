"""What fewlabels knows about each benchmark data set."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping
from dataclasses import dataclass, field

_DIGITS = tuple(range(10))
_SIGNS = (-1, 1)


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
        What our label 0 is called there.
    decimals : int or None
        Digits after the point that the published values have.
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
        SHA-256 of the content, see :func:`fewlabels.datasets._store.content_digest`.
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
        Height and width where a row is an image.
    column_major : bool
        Whether the pixels are stored column by column.
    feature_names : tuple of str
        Names of the columns, where they have some.
    terms : str
        Licence or terms of use.
    notes : str
        What a user has to know besides.
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


_USPS_TEXT = (
    "Rows 0 to 7290 are the usual training part, the others the test part; is_test "
    "tells them apart."
)
_LDS = (
    "Chapelle and Zien (2005), Semi-supervised classification by low density "
    "separation, AISTATS; {} of github.com/edche/star_svm"
)
_BOOK = (
    "Chapelle, Schoelkopf and Zien (2006), Semi-Supervised Learning, MIT Press, data "
    "set {0}; SSL,set={0},data.mat of github.com/edche/star_svm"
)

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


def _book_entry(
    number: int,
    name: str,
    title: str,
    digest: str,
    *,
    n_samples: int = 1500,
    n_features: int = 241,
    n_stored: int | None = None,
    labels: tuple[int, ...] = _SIGNS,
    notes: str = "",
) -> Entry:
    return Entry(
        file=f"{SSL_BOOK[name]}.npz",
        title=f"{title}, benchmark of the SSL book",
        loader=f'load_ssl_book("{name}")',
        n_samples=n_samples,
        n_features=n_features,
        n_stored=n_stored,
        labels=labels,
        n_splits=12,
        split_sizes=(10, 100),
        digest=digest,
        source=_BOOK.format(number),
        notes=notes,
    )


_ENTRIES = (
    Entry(
        file="usps.npz",
        title="USPS handwritten digits",
        loader="load_usps()",
        n_samples=9298,
        n_features=256,
        labels=_DIGITS,
        row_arrays={"is_test": "bool"},
        image_shape=(16, 16),
        digest="359165eebe191c2bb76f2f3cc200f7760910cff5d508c67c31494da30d44eb10",
        source="Hull (1994); zip.train and zip.test of Hastie, Tibshirani and "
        "Friedman, The Elements of Statistical Learning",
        notes=f"Grey levels in [-1, 1] with three decimals. {_USPS_TEXT}",
        openml=OpenML(data_id=41082, n_train=7291, first_label=1, decimals=3),
    ),
    Entry(
        file="usps_smoothed.npz",
        title="USPS handwritten digits, smoothed",
        loader="load_usps(smoothed=True)",
        n_samples=9298,
        n_features=256,
        dtype="uint8",
        labels=_DIGITS,
        row_arrays={"is_test": "bool"},
        image_shape=(16, 16),
        digest="8c11b10dc5bb390b0616ca58e8d314619bc19aea1ec1f04a9cc58e6df431c6b7",
        source="Hull (1994); usps_all.mat of github.com/hyzhang98/AnchorGAE-torch",
        notes="The digits of load_usps() in the same order, smoothed, as grey levels "
        f"from 0 to 255. {_USPS_TEXT}",
    ),
    Entry(
        file="uspst.npz",
        title="USPST, 2007 digits of USPS with labelled splits",
        loader="load_uspst()",
        n_samples=2007,
        n_features=256,
        labels=_DIGITS,
        row_arrays={"usps_row": "int16"},
        n_splits=10,
        split_sizes=(50,),
        image_shape=(16, 16),
        digest="a80a1aa6cca0597f794ff6e4cdd7a84d66a18e399926e301b2ad46ebc29a131f",
        source=_LDS.format("uspst.mat"),
        notes="Despite its size this is not the test part of USPS: its rows come from "
        "all of load_usps(smoothed=True), at the positions usps_row, quantised to "
        "steps of 1/16. Only 439 of them are test rows there.",
    ),
    Entry(
        file="coil20.npz",
        title="COIL-20 objects",
        loader="load_coil20()",
        n_samples=1440,
        n_features=1024,
        labels=tuple(range(1, 21)),
        row_arrays={"view": "int8"},
        image_shape=(32, 32),
        column_major=True,
        digest="8ac92a3b77c72b74edb104665c8f5624957cb46dbfdcc34cc85dbf60bcc95681",
        source="Nene, Nayar and Murase (1996), Columbia Object Image Library; "
        "COIL20.mat of github.com/farhadabedinzadeh/AutoUFSTool",
        terms="made available by its authors for research purposes",
        notes="72 views of each of 20 objects, 5 degrees apart (view counts them from "
        "0), reduced to 32 x 32 grey levels in [0, 1]. A row holds its image column "
        "by column; images has it upright.",
    ),
    Entry(
        file="mnist.npz",
        title="MNIST handwritten digits",
        loader="load_mnist()",
        n_samples=70000,
        n_features=784,
        dtype="uint8",
        labels=_DIGITS,
        row_arrays={"is_test": "bool"},
        image_shape=(28, 28),
        digest="781e4b17ad787e6e91d479f4710e67d026bfeacef66ac735a67ff59e5968a5cf",
        source="LeCun, Cortes and Burges, The MNIST database; the four IDX files",
        terms="CC BY-SA 3.0",
        notes="Grey levels from 0 to 255. Rows 0 to 59999 are the training part, the "
        "others the test part, both in the original order; is_test tells them apart.",
        openml=OpenML(data_id=554, n_train=60000),
    ),
    Entry(
        file="g50c.npz",
        title="g50c, two Gaussians in 50 dimensions",
        loader="load_g50c()",
        n_samples=550,
        n_features=50,
        labels=_SIGNS,
        n_splits=10,
        split_sizes=(50,),
        digest="935dbb1e645993c796d88dbee352944f9c3afdefa7a6056395c9ba8c50ac9147",
        source=_LDS.format("g50c.mat"),
        notes="Artificial: each class is one Gaussian.",
    ),
    Entry(
        file="g10n.npz",
        title="g10n, two Gaussians in 10 dimensions",
        loader="load_g10n()",
        n_samples=550,
        n_features=10,
        labels=_SIGNS,
        n_splits=10,
        split_sizes=(50,),
        digest="a4474afbf7970289878b9c00d67d45be524d777c4242fdbe36539219d57db64b",
        source=_LDS.format("g10n.mat"),
        notes="Artificial: the classes are not the Gaussians, so that the assumption "
        "of a gap between the classes misleads.",
    ),
    Entry(
        file="pcmac.npz",
        title="PCMAC, two newsgroups (Macintosh and Windows)",
        loader="load_pcmac()",
        n_samples=1946,
        n_features=7511,
        n_stored=106221,
        labels=_SIGNS,
        n_splits=10,
        split_sizes=(50,),
        digest="0099d734d336fb03b9d120520f5d239a9dfeb5ecb73e8555c22be7428031e912",
        source=_LDS.format("text1.mat"),
        notes="Sparse. This is the version with 1946 rows and 7511 columns, not the "
        "one with 1943 rows and 3289 columns.",
    ),
    _book_entry(
        1,
        "digit1",
        "Digit1",
        "c3757598aceab203a1688430defe0f62da3c40881ef8937aa95818fbb6bf17dd",
        notes="Artificial.",
    ),
    _book_entry(
        2,
        "usps",
        "USPS",
        "4e762d8111259f43f8d6d2dc825fa2ad6c1d822264fd2a727a5592c66e7fa30d",
        notes="Imbalanced: 1200 rows against 300. Not to be confused with load_usps().",
    ),
    _book_entry(
        3,
        "coil2",
        "COIL2",
        "17dd5bc207c9cf63fc31e75ae0131323b0d6077cd0451d0ca67e32449c8f850d",
        labels=(0, 1),
    ),
    _book_entry(
        4,
        "bci",
        "BCI",
        "6bbc851da6cfc2e86f0b124a1872dea06247f8b93b98253bc80cce5f8dc9e49e",
        n_samples=400,
        n_features=117,
    ),
    _book_entry(
        5,
        "g241c",
        "g241c",
        "e3da89173725ca63aa19d90b5865a18222cb9aad8d72682fcfc6263a0562178c",
        notes="Artificial.",
    ),
    _book_entry(
        6,
        "coil",
        "COIL",
        "c2dad3e38887329d5d49920597a5deab296292e05e45e147381220aa97a66b4b",
        labels=tuple(range(6)),
    ),
    _book_entry(
        7,
        "g241d",
        "g241d",
        "36f88c9b4b7cf3091b41c39664622b532063ac9defd1b9e1d91ba82e88fda82e",
        notes="Artificial; also known as g241n.",
    ),
    _book_entry(
        9,
        "text",
        "Text",
        "65e71cff113d7a6a502e0a84568f5a848d3c6d11d79c9ae86629b870ba5ae127",
        n_features=11960,
        n_stored=78440,
        notes="Sparse.",
    ),
    Entry(
        file="faithful.npz",
        title="Old Faithful geyser",
        loader="load_old_faithful()",
        n_samples=272,
        n_features=2,
        feature_names=("eruptions", "waiting"),
        digest="d08a158b97e8638d7ea237cef6512e372a9ae4bc54bde173f736d47a48052fc5",
        source="Azzalini and Bowman (1990); `faithful` of R",
        notes="Duration of an eruption and the wait until the next one, in minutes. "
        "There are no labels.",
    ),
    Entry(
        file="facemit_train.npz",
        title="FACEMIT, faces and non-faces (training part)",
        loader="load_facemit()",
        n_samples=6977,
        n_features=361,
        dtype="uint8",
        labels=(0, 1),
        image_shape=(19, 19),
        digest="04531cb01d121a9b94b81c471ecc91e9402b915a42806dce6b43a8469de18e08",
        source="MIT CBCL Face Database 1; training.pkl of "
        "github.com/aparande/FaceDetection",
        notes="Only the training part, 2429 faces (class 1) and 4548 non-faces (class "
        "0), as grey levels from 0 to 255. The 24045 rows of the test part are not "
        "available.",
    ),
)

REGISTRY = {entry.file.removesuffix(".npz"): entry for entry in _ENTRIES}
