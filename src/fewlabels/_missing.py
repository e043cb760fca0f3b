"""Which labels are missing: one rule for arrays, tables and the labelling page.

A label is missing if it is None, NaN or an empty text. Integers have no such value, so
-1 stands for it. In the cells of a file, NA and the like also count as missing, unless
the column shows that NA is a class.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNLABELED = -1
# What stands for "no value" in text, in lower case, wherever it occurs.
MISSING = frozenset(
    {"", "na", "n/a", "n.a.", "#n/a", "nan", "-nan", "<na>", "null", "#null!", "nil"}
    | {"#ref!", "#value!", "#div/0!", "#name?", "#num!", "n. a."}
    | {"#nv", "#bezug!", "#wert!", "#zahl!", "#n/d", "#valeur!", "#nombre!", "#nom?"}
    | {"#valor!", "#nome?", "#núm!", "#¡ref!", "#¡valor!", "#¡div/0!", "#¿nombre?"}
)
# What people write where there is no number, no date or no label, but what may be a
# category like any other.
PLACEHOLDERS = frozenset(
    {
        "?",
        "??",
        "???",
        "-",
        "--",
        "---",
        "\u2013",
        "\u2014",
        ".",
        "..",
        "...",
        "…",
        "*",
        "n.d.",
    }
    | {"k.a.", "k. a.", "keine angabe", "s/d", "s.d.", "n.v.t.", "n.b.", "n.c.", "nr"}
    | {"k.a", "entfällt", "unbekannt", "fehlt", "n.v.", "n/v", "o.a.", "o. a."}
    | {"inconnu", "non renseigné", "desconhecido", "não informado", "desconocido"}
    | {"00.00.0000", "00/00/0000", "0000-00-00", "0000-00-00 00:00:00"}
    | {"nd", "n/d", "none", "unknown", "missing", "tbd", "tba", "todo", "to do"}
    | {"not available", "not applicable", "not known", "unlabeled", "unlabelled"}
)
# The longest name that looks like a code of a class.
_CODE = 5


def is_empty(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NaT, pandas.NA, empty text or spaces."""
    if value is None:
        return True
    if isinstance(value, str):
        return not value or value.isspace()
    try:
        return bool(value != value)  # NaN and NaT differ from themselves
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # a list of several
        return False


def is_na(value: Any) -> bool:
    """Whether a cell says NA: not available, or North America, or sodium."""
    return isinstance(value, str) and value.strip().lower() == "na"


def seems_missing(value: Any) -> bool:
    """Whether a text says that there is no label, though it may be a class."""
    if not isinstance(value, str):
        return False
    text = value.strip().lower()
    return text in MISSING or text in PLACEHOLDERS or text == str(UNLABELED)


def na_is_a_class(values: Iterable[Any]) -> bool:
    """Whether NA in a column of labels is a class, not a missing label.

    It is a class if other cells are empty, and either all classes are short codes like
    it, or there are at least as many empty cells as cells with NA.

    Examples
    --------
    >>> from fewlabels._missing import na_is_a_class
    >>> na_is_a_class(["EU", "NA", "", "APAC"]), na_is_a_class(["yes", "NA", "no"])
    (True, False)
    """
    values = list(values)
    found = [value.strip() for value in values if is_na(value)]
    n_empty = sum(map(is_empty, values))
    others = {v.strip() for v in values if isinstance(v, str)} - {"", *found}
    if not found or not n_empty or not others:
        return False
    if not all(other[:1].isalpha() for other in others):
        return False  # numbers, dates and signs
    codes = all(
        len(other) <= _CODE and other.isupper() == found[0].isupper()
        for other in others
    )
    return codes or n_empty >= len(found)


def minus_one_marks(numbers: NDArray[Any]) -> bool:
    """Whether -1 stands for "no value" among integers, none of which is missing.

    It does unless other numbers are negative too, or there is only one other number.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels._missing import minus_one_marks
    >>> minus_one_marks(np.array([3, -1, 5])), minus_one_marks(np.array([3, -1, -5]))
    (True, False)
    """
    different = np.unique(numbers)
    return bool(different.size > 2 and different[0] == UNLABELED)
