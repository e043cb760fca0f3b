"""Data sets for experiments with few labels.

Generators draw synthetic data, loaders read the benchmark sets of the literature from
files that the user provides (none are shipped) or from OpenML, and
:func:`hide_labels` turns labelled data into data with few labels. All targets are
0, 1, and so on, because -1 marks an unlabelled row.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels._hide_labels import hide_labels
from fewlabels.datasets._bunches import split_labels
from fewlabels.datasets._generators import make_clock, make_gaussian2c, make_gaussian4c
from fewlabels.datasets._loaders import (
    load_coil20,
    load_facemit,
    load_g10n,
    load_g50c,
    load_mnist,
    load_old_faithful,
    load_pcmac,
    load_ssl_book,
    load_usps,
    load_uspst,
)

__all__ = [
    "hide_labels",
    "load_coil20",
    "load_facemit",
    "load_g10n",
    "load_g50c",
    "load_mnist",
    "load_old_faithful",
    "load_pcmac",
    "load_ssl_book",
    "load_usps",
    "load_uspst",
    "make_clock",
    "make_gaussian2c",
    "make_gaussian4c",
    "split_labels",
]
