"""Detect columns of identifiers."""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.preprocessing._dates import may_be_date

# Share of distinct values from which a column holds identifiers.
IDENTIFIER_SHARE = 0.9
# Integers that never repeat, though this many equal pairs would be expected by chance,
# are counters.
_EXPECTED_TWINS = 10.0
CALLED_IDENTIFIER = re.compile(
    r"(?i:(^|[\W_])(id|ids|uuid|guid|key|index|idx|rownum|row_?number|serial))$"
    r"|[a-z](ID|Id|UUID|Key|Index)$"
)
_LARGE = 1e9
# Codes with zeros in front have this many digits; 07 is a month, and 0930 a time.
_PADDED = 5
_WORD = re.compile(r"[^\W\d_]{2,}")
_DIGITS = re.compile(r"\d+")
_HEXADECIMAL = re.compile(r"(?i)(?=.*\d)[0-9a-f]{4,}(-?[0-9a-f]{4,})+")
# Account and telephone numbers, which carry no information even if some repeat.
_IBAN = re.compile(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}")
_PHONE = re.compile(r"(?:\+|00?[1-9]|\(\+?\d)[\d \u00a0()/.-]{5,20}\d")
_CALLED_PHONE = re.compile(r"(?i)phone|\btel|telef|mobil|handy|fax|\bfon\b")
# A random token alternates between digits, lower and upper case this often.
_CHANGES = 4
_TOKEN = re.compile(r"[\w+/=-]{8,}")


def counts_rows(name: str, numbers: NDArray[Any]) -> str:
    """Return why integers are not a quantity; empty if they are."""
    n = numbers.size
    if n < 3 or not np.all(np.isfinite(numbers) & (numbers == np.floor(numbers))):
        return ""
    n_distinct = np.unique(numbers).size
    span = float(np.ptp(numbers))
    if n_distinct == n:
        if np.all(np.diff(numbers) == 1):
            return "it counts the rows"
        if n > 20 and n * (n - 1) / 2 > _EXPECTED_TWINS * span:
            return "it numbers the rows"
        if CALLED_IDENTIFIER.search(name.strip()):
            return "all values are different, and so it is called"
    elif n_distinct > IDENTIFIER_SHARE * n and CALLED_IDENTIFIER.search(name.strip()):
        return "nearly all values are different, and so it is called"
    if (
        n_distinct > 0.5 * n
        and np.median(np.abs(numbers)) >= _LARGE
        and name.strip().lower().endswith("id")
    ):
        return "large numbers that hardly repeat, and so it is called"
    return ""


def names_accounts(name: str, distinct: Sequence[Any], n_values: int) -> str:
    """Return the reason if a column holds telephone or account numbers, or nothing."""
    sample = distinct[:100]
    if len(distinct) < max(3, 0.5 * n_values):
        return ""
    if not all(isinstance(v, str) for v in sample):
        return ""
    if all(_IBAN.fullmatch(v.strip()) for v in sample):
        return "account numbers"
    n_phones = sum(_is_phone(v.strip()) for v in sample)
    if n_phones >= IDENTIFIER_SHARE * len(sample):
        marked = sum(not v.strip().isdigit() for v in sample)
        if _CALLED_PHONE.search(name) or marked > 0.5 * len(sample):
            return "telephone numbers"
    return ""


def _is_phone(text: str) -> bool:
    n_digits = sum(sign.isdigit() for sign in text)
    if not _PHONE.fullmatch(text) or not 7 <= n_digits <= 15 or text.count(".") == 1:
        return False
    return not may_be_date(text)


def are_codes(texts: Sequence[str]) -> bool:
    """Whether texts are disguised numbers: A-0001, 3f2a-77b1, user12@example.org."""
    if all(_HEXADECIMAL.fullmatch(text.strip()) for text in texts[:100]):
        return True
    if are_tokens(texts):
        return True
    numbered = [text for text in texts if _DIGITS.search(text)]
    forms = {_DIGITS.sub("0", text) for text in numbered}
    return len(numbered) > 0.5 * len(texts) and len(forms) <= 0.2 * len(numbered)


def are_padded(values: Sequence[Any]) -> bool:
    """Whether all are digits of one length, with zeros in front: 01067 and 80331."""
    if not all(isinstance(v, str) and v.strip().isdecimal() for v in values):
        return False
    widths = {len(v.strip()) for v in values}
    return (
        len(widths) == 1
        and min(widths) >= _PADDED
        and any(v.strip()[0] == "0" for v in values)
    )


def are_tokens(texts: Sequence[str]) -> bool:
    """Whether nearly all texts look random, like keys of a database."""
    return float(np.mean([_is_token(t) for t in texts[:100]])) > IDENTIFIER_SHARE


def _is_token(text: str) -> bool:
    """Whether a text looks random, such as dQw4w9WgXcQ."""
    if not _TOKEN.fullmatch(text):
        return False
    signs = [
        "0" if s.isdigit() else "A" if s.isupper() else "a" for s in text if s.isalnum()
    ]
    return "0" in signs and sum(a != b for a, b in pairwise(signs)) >= _CHANGES


def share_words(texts: Sequence[str]) -> bool:
    """Whether most texts of several words have a word that occurs in another text."""
    words = [set(map(str.lower, _WORD.findall(text))) for text in texts]
    if np.mean([len(found) for found in words]) < 1.5:
        return False
    seen = Counter(word for found in words for word in found)
    return bool(np.mean([any(seen[w] > 1 for w in f) for f in words]) > 0.5)
