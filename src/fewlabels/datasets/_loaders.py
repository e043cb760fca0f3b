"""Load the benchmark data sets."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from typing import Any

from fewlabels._params import check_choice
from fewlabels.datasets._bunches import Folder, load
from fewlabels.datasets._registry import REGISTRY, SSL_BOOK


def load_usps(
    *,
    smoothed: bool = False,
    classes: Sequence[int] | None = None,
    data_home: Folder = None,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load the USPS handwritten digits.

    The 9298 digits, training and test part together, as 16 x 16 images with values in
    [-1, 1].

    Parameters
    ----------
    smoothed : bool, default=False
        Whether to load the smoothed version of the same images, with values from 0 to
        255 (uint8), from `usps_smoothed.npz`.
    classes : sequence of int, default=None
        The classes to keep, such as ``(2, 5)``, in the order in which they become
        0, 1 and so on; all of them by default.
    data_home : str or path-like, default=None
        Folder to look for `usps.npz` in first, before ``FEWLABELS_DATA`` and the
        cache.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    download_if_missing : bool, default=True
        Whether to fetch the data from OpenML if no folder has them; of the smoothed
        version no copy on OpenML is known.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the attributes

        - data : ndarray of shape (n_samples, 256)
          The rows.
        - target : ndarray of shape (n_samples,)
          The class of each row, 0 to n_classes - 1.
        - target_names : ndarray of shape (n_classes,)
          The digit of each class.
        - images : ndarray of shape (n_samples, 16, 16)
          The rows as images.
        - is_test : ndarray of shape (n_samples,)
          True in the usual test part, the last 2007 rows.
        - DESCR, source, filename : str
          Description, provenance and the file read.

    (data, target) : tuple if `return_X_y` is True
        The rows and their classes.

    See Also
    --------
    hide_labels : Take most of the labels away.
    load_uspst : Part of these digits, with labelled splits.

    Examples
    --------
    >>> from fewlabels.datasets import load_usps
    >>> X, y = load_usps(classes=(2, 5), return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (1645, 256)
    """
    key = "usps_smoothed" if smoothed else "usps"
    return load(key, data_home, return_X_y, download_if_missing, classes=classes)


def load_uspst(
    *,
    data_home: Folder = None,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load USPST: 2007 of the USPS digits, with ten splits of 50 labels.

    Despite its size this is not the test part of USPS: its rows come from all of the
    smoothed USPS digits.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder to look for `uspst.npz` in first, before ``FEWLABELS_DATA`` and the
        cache.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    download_if_missing : bool, default=True
        Without effect: no copy on OpenML is known.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the attributes

        - data : ndarray of shape (2007, 256)
          The rows.
        - target : ndarray of shape (n_samples,)
          The class of each row, 0 to n_classes - 1.
        - target_names : ndarray of shape (n_classes,)
          The digit of each class.
        - images : ndarray of shape (n_samples, 16, 16)
          The rows as images.
        - usps_row : ndarray of shape (n_samples,)
          The row of the same digit in ``load_usps(smoothed=True)``.
        - splits : ndarray of shape (10, 50)
          The labelled rows of each given split.
        - DESCR, source, filename : str
          Description, provenance and the file read.

    (data, target) : tuple if `return_X_y` is True
        The rows and their classes.

    See Also
    --------
    load_usps : All the digits.
    split_labels : Labels of one of the splits, all others missing.

    Examples
    --------
    >>> from fewlabels.datasets import load_uspst
    >>> dataset = load_uspst()  # doctest: +SKIP
    >>> dataset.data.shape  # doctest: +SKIP
    (2007, 256)
    """
    return load("uspst", data_home, return_X_y, download_if_missing)


def load_coil20(
    *,
    classes: Sequence[int] | None = None,
    data_home: Folder = None,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load the COIL-20 objects.

    Twenty objects on a turntable, 72 views of each, as 32 x 32 images with values in
    [0, 1].

    Parameters
    ----------
    classes : sequence of int, default=None
        The classes to keep, such as ``(3, 6)``, in the order in which they become
        0, 1 and so on; all of them by default.
    data_home : str or path-like, default=None
        Folder to look for `coil20.npz` in first, before ``FEWLABELS_DATA`` and the
        cache.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    download_if_missing : bool, default=True
        Without effect: no copy on OpenML is known.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the attributes

        - data : ndarray of shape (n_samples, 1024)
          The rows.
        - target : ndarray of shape (n_samples,)
          The class of each row, 0 to n_classes - 1.
        - target_names : ndarray of shape (n_classes,)
          The number of each object, from 1 to 20.
        - images : ndarray of shape (n_samples, 32, 32)
          The rows as images, upright (the rows hold them column by column).
        - view : ndarray of shape (n_samples,)
          Number of the view, 0 to 71, in steps of 5 degrees.
        - DESCR, source, filename : str
          Description, provenance and the file read.

    (data, target) : tuple if `return_X_y` is True
        The rows and their classes.

    See Also
    --------
    hide_labels : Take most of the labels away.

    Examples
    --------
    >>> from fewlabels.datasets import load_coil20
    >>> X, y = load_coil20(classes=(3, 6), return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (144, 1024)
    """
    return load("coil20", data_home, return_X_y, download_if_missing, classes=classes)


def load_mnist(
    *,
    classes: Sequence[int] | None = None,
    data_home: Folder = None,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load the MNIST handwritten digits.

    The 70000 digits, training and test part together in the original order, as 28 x 28
    images with values from 0 to 255 (uint8).

    Parameters
    ----------
    classes : sequence of int, default=None
        The classes to keep, such as ``(3, 8)``, in the order in which they become
        0, 1 and so on; all of them by default.
    data_home : str or path-like, default=None
        Folder to look for `mnist.npz` in first, before ``FEWLABELS_DATA`` and the
        cache.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    download_if_missing : bool, default=True
        Whether to fetch the data from OpenML if no folder has them.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the attributes

        - data : ndarray of shape (n_samples, 784)
          The rows.
        - target : ndarray of shape (n_samples,)
          The class of each row, 0 to n_classes - 1.
        - target_names : ndarray of shape (n_classes,)
          The digit of each class.
        - images : ndarray of shape (n_samples, 28, 28)
          The rows as images.
        - is_test : ndarray of shape (n_samples,)
          True in the usual test part, the last 10000 rows.
        - DESCR, source, filename : str
          Description, provenance and the file read.

    (data, target) : tuple if `return_X_y` is True
        The rows and their classes.

    See Also
    --------
    hide_labels : Take most of the labels away.

    Examples
    --------
    >>> from fewlabels.datasets import load_mnist
    >>> X, y = load_mnist(classes=(3, 8), return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (13966, 784)
    """
    return load("mnist", data_home, return_X_y, download_if_missing, classes=classes)


def load_g50c(
    *,
    data_home: Folder = None,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load g50c: two Gaussians in 50 dimensions, with ten splits of 50 labels.

    Artificial data in which each class is one Gaussian.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder to look for `g50c.npz` in first, before ``FEWLABELS_DATA`` and the
        cache.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    download_if_missing : bool, default=True
        Without effect: no copy on OpenML is known.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the attributes

        - data : ndarray of shape (550, 50)
          The rows.
        - target : ndarray of shape (n_samples,)
          The class of each row, 0 to n_classes - 1.
        - target_names : ndarray of shape (n_classes,)
          The labels in the file, -1 and 1.
        - splits : ndarray of shape (10, 50)
          The labelled rows of each given split.
        - DESCR, source, filename : str
          Description, provenance and the file read.

    (data, target) : tuple if `return_X_y` is True
        The rows and their classes.

    See Also
    --------
    make_gaussian2c : Similar data of any size.
    split_labels : Labels of one of the splits, all others missing.

    Examples
    --------
    >>> from fewlabels.datasets import load_g50c
    >>> dataset = load_g50c()  # doctest: +SKIP
    >>> dataset.data.shape  # doctest: +SKIP
    (550, 50)
    """
    return load("g50c", data_home, return_X_y, download_if_missing)


def load_g10n(
    *,
    data_home: Folder = None,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load g10n: two Gaussians in 10 dimensions, with ten splits of 50 labels.

    Artificial data in which the classes are not the Gaussians, so that the assumption
    of a gap between the classes misleads.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder to look for `g10n.npz` in first, before ``FEWLABELS_DATA`` and the
        cache.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    download_if_missing : bool, default=True
        Without effect: no copy on OpenML is known.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the attributes

        - data : ndarray of shape (550, 10)
          The rows.
        - target : ndarray of shape (n_samples,)
          The class of each row, 0 to n_classes - 1.
        - target_names : ndarray of shape (n_classes,)
          The labels in the file, -1 and 1.
        - splits : ndarray of shape (10, 50)
          The labelled rows of each given split.
        - DESCR, source, filename : str
          Description, provenance and the file read.

    (data, target) : tuple if `return_X_y` is True
        The rows and their classes.

    See Also
    --------
    make_gaussian4c : Another structure that misleads.
    split_labels : Labels of one of the splits, all others missing.

    Examples
    --------
    >>> from fewlabels.datasets import load_g10n
    >>> dataset = load_g10n()  # doctest: +SKIP
    >>> dataset.data.shape  # doctest: +SKIP
    (550, 10)
    """
    return load("g10n", data_home, return_X_y, download_if_missing)


def load_pcmac(
    *,
    data_home: Folder = None,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load PCMAC: two newsgroups as sparse rows, with ten splits of 50 labels.

    This is the version with 1946 rows and 7511 columns, not the one with 1943 rows and
    3289 columns.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder to look for `pcmac.npz` in first, before ``FEWLABELS_DATA`` and the
        cache.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    download_if_missing : bool, default=True
        Without effect: no copy on OpenML is known.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the attributes

        - data : sparse CSR matrix of shape (1946, 7511)
          The rows.
        - target : ndarray of shape (n_samples,)
          The class of each row, 0 to n_classes - 1.
        - target_names : ndarray of shape (n_classes,)
          The labels in the file, -1 and 1.
        - splits : ndarray of shape (10, 50)
          The labelled rows of each given split.
        - DESCR, source, filename : str
          Description, provenance and the file read.

    (data, target) : tuple if `return_X_y` is True
        The rows and their classes.

    See Also
    --------
    split_labels : Labels of one of the splits, all others missing.

    Examples
    --------
    >>> from fewlabels.datasets import load_pcmac
    >>> dataset = load_pcmac()  # doctest: +SKIP
    >>> dataset.data.shape  # doctest: +SKIP
    (1946, 7511)
    """
    return load("pcmac", data_home, return_X_y, download_if_missing)


def load_ssl_book(
    name: str,
    n_labeled: int = 10,
    *,
    data_home: Folder = None,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load a benchmark of the book *Semi-Supervised Learning*.

    Each of the sets comes with twelve splits of 10 and twelve of 100 labelled rows.

    Parameters
    ----------
    name : {"digit1", "usps", "coil2", "bci", "g241c", "coil", "g241d", "text"}
        The set. All are binary but "coil", which has six classes; "text" is sparse.
    n_labeled : {10, 100}, default=10
        Which of the splits to return.
    data_home : str or path-like, default=None
        Folder to look for the file of the set in first, before ``FEWLABELS_DATA`` and
        the cache.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    download_if_missing : bool, default=True
        Without effect: no copy on OpenML is known.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the attributes

        - data : {ndarray, sparse CSR matrix} of shape (n_samples, n_features)
          The rows.
        - target : ndarray of shape (n_samples,)
          The class of each row, 0 to n_classes - 1.
        - target_names : ndarray of shape (n_classes,)
          The labels in the file, by class.
        - splits : ndarray of shape (12, n_labeled)
          The labelled rows of each given split.
        - DESCR, source, filename : str
          Description, provenance and the file read.

    (data, target) : tuple if `return_X_y` is True
        The rows and their classes.

    See Also
    --------
    split_labels : Labels of one of the splits, all others missing.

    Examples
    --------
    >>> from fewlabels.datasets import load_ssl_book, split_labels
    >>> dataset = load_ssl_book("digit1", n_labeled=100)  # doctest: +SKIP
    >>> dataset.splits.shape  # doctest: +SKIP
    (12, 100)
    >>> y_holes = split_labels(dataset, 0)  # doctest: +SKIP
    """
    check_choice("name", name, SSL_BOOK)
    key = SSL_BOOK[name]
    sizes = REGISTRY[key].split_sizes
    if n_labeled not in sizes:
        raise ValueError(
            f"n_labeled must be one of {sizes}, the splits of the book, got "
            f"{n_labeled!r}; for other numbers use hide_labels."
        )
    return load(key, data_home, return_X_y, download_if_missing, n_labeled=n_labeled)


def load_old_faithful(
    *,
    data_home: Folder = None,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load the eruptions of the Old Faithful geyser.

    Duration of 272 eruptions and the wait until the next one, in minutes: two clusters
    and no labels.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder to look for `faithful.npz` in first, before ``FEWLABELS_DATA`` and the
        cache.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    download_if_missing : bool, default=True
        Without effect: no copy on OpenML is known.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the attributes

        - data : ndarray of shape (272, 2)
          The rows.
        - target : None
          There are no labels.
        - feature_names : list of str
          "eruptions" and "waiting".
        - DESCR, source, filename : str
          Description, provenance and the file read.

    (data, target) : tuple if `return_X_y` is True
        The rows and None.

    Examples
    --------
    >>> from fewlabels.datasets import load_old_faithful
    >>> dataset = load_old_faithful()  # doctest: +SKIP
    >>> dataset.data.shape  # doctest: +SKIP
    (272, 2)
    """
    return load("faithful", data_home, return_X_y, download_if_missing)


def load_facemit(
    *,
    data_home: Folder = None,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load the training part of FACEMIT: faces and non-faces.

    2429 faces and 4548 non-faces as 19 x 19 images with values from 0 to 255 (uint8).
    The 24045 rows of the test part are not available.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder to look for `facemit_train.npz` in first, before ``FEWLABELS_DATA`` and
        the cache.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    download_if_missing : bool, default=True
        Without effect: no copy on OpenML is known.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the attributes

        - data : ndarray of shape (6977, 361)
          The rows.
        - target : ndarray of shape (n_samples,)
          1 for a face, 0 otherwise.
        - target_names : ndarray of shape (n_classes,)
          The labels in the file, by class.
        - images : ndarray of shape (n_samples, 19, 19)
          The rows as images.
        - DESCR, source, filename : str
          Description, provenance and the file read.

    (data, target) : tuple if `return_X_y` is True
        The rows and their classes.

    See Also
    --------
    hide_labels : Take most of the labels away.

    Examples
    --------
    >>> from fewlabels.datasets import load_facemit
    >>> dataset = load_facemit()  # doctest: +SKIP
    >>> dataset.data.shape  # doctest: +SKIP
    (6977, 361)
    """
    return load("facemit_train", data_home, return_X_y, download_if_missing)
