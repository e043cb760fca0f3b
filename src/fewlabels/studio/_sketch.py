"""Numbers for a table in milliseconds: the first questions, and the first guesses.

The first question cannot wait for scikit-learn to be imported and columns to be
encoded. A sample of rows is sketched and clustered roughly; the engine chooses better
ones as soon as it can. The same sketch of all rows gives guesses until the classifier
is built.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

SAMPLE = 800
# The most numbers in a sketch of all rows: beyond, it would not be quick.
MAX_SKETCH = 20_000_000
# Rows on which the effects of columns are measured.
EFFECT_ROWS = 2000
# Guesses per row, the most probable class first.
N_GUESSES = 3
_WORDS = 32
_ROUNDS = 5
# Weight of the ridge penalty, in units of the mean squared length of a row.
_PENALTY = 0.1
# Shares follow scores between -1 and 1; chosen so that they are rather too modest.
_SHARPNESS = 1.5


def covering_rows(
    columns: Sequence[NDArray[Any]],
    candidates: NDArray[np.intp],
    n_rows: int,
    random_state: int = 0,
) -> list[int]:
    """Choose rows that are typical of many others, the most typical first.

    Parameters
    ----------
    columns : sequence of ndarray
        The table, without its target.
    candidates : ndarray of int
        Rows that may be chosen.
    n_rows : int
        How many.
    random_state : int, default=0
        Seed of sample and centres.

    Returns
    -------
    rows : list of int
        Different rows.
    """
    rng = np.random.default_rng(random_state)
    if candidates.size > SAMPLE:
        candidates = np.sort(rng.choice(candidates, SAMPLE, replace=False))
    Z = np.hstack([np.empty((candidates.size, 0)), *sketches(columns, candidates)])
    if not Z.shape[1]:
        return candidates[:n_rows].tolist()
    centres = Z[_spread(Z, min(n_rows, len(Z)), rng)]
    for _ in range(_ROUNDS):
        nearest = _distances(Z, centres).argmin(axis=1)
        for c in np.unique(nearest):
            centres[c] = Z[nearest == c].mean(axis=0)
    distances = _distances(Z, centres)
    sizes = np.bincount(distances.argmin(axis=1), minlength=len(centres))
    typical = distances.argmin(axis=0)[np.argsort(-sizes, kind="stable")]
    return candidates[list(dict.fromkeys(typical.tolist()))].tolist()


def sketches(
    columns: Sequence[NDArray[Any]], rows: NDArray[np.intp] | slice = slice(None)
) -> list[NDArray[np.float64]]:
    """Sketch each column: a block of shape (n_rows, n_numbers), empty if useless."""
    return [_sketched(column[rows]) for column in columns]


@dataclass
class Guesses:
    """Most probable classes of all rows.

    Attributes
    ----------
    classes : list of str
        The classes.
    codes : ndarray of int16 of shape (n_rows, n_guesses)
        Most probable classes first.
    shares : ndarray of shape (n_rows, n_guesses)
        Their probabilities.
    """

    classes: list[str]
    codes: NDArray[np.int16]
    shares: NDArray[Any]

    @classmethod
    def of(cls, classes: list[str], shares: NDArray[Any]) -> Self:
        """Keep the largest probabilities of each row."""
        codes = np.argsort(-shares, axis=1, kind="stable")[:, :N_GUESSES]
        best = np.take_along_axis(shares, codes, axis=1)
        return cls(classes, codes.astype(np.int16), best)


class SketchModel:
    """Ridge regression on a sketch of all rows: guesses until there are better ones.

    Parameters
    ----------
    columns : sequence of ndarray
        The table, without its target.
    """

    def __init__(self, columns: Sequence[NDArray[Any]]) -> None:
        size = columns[0].size if columns else 0
        blocks: list[NDArray[Any]] = []
        if size * len(columns) <= MAX_SKETCH:
            blocks = [block.astype(np.float32) for block in sketches(columns)]
        self._Z = np.hstack([np.empty((size, 0), dtype=np.float32), *blocks])
        ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
        self._places = [slice(a, b) for a, b in pairwise(ends)]
        self._scale = float((self._Z**2).sum(axis=1).mean()) if size else 0.0

    def guesses(self, labels: Mapping[int, str]) -> Guesses | None:
        """Guess the classes of all rows.

        Parameters
        ----------
        labels : dict of int to str
            Labels by row.

        Returns
        -------
        guesses : Guesses or None
            None with fewer than two classes, or where no column says anything.
        """
        classes = sorted(set(labels.values()))
        if len(classes) < 2 or not self._scale:
            return None
        rows = np.array(list(labels), dtype=np.intp)
        Y = np.array([[name == c for c in classes] for name in labels.values()]) * 2 - 1
        # Classes with few labels count as much as those with many.
        weights = 1 / np.sqrt((Y > 0).sum(axis=0))[(Y > 0).argmax(axis=1)]
        Z = self._Z[rows] * weights[:, None]
        K = Z @ Z.T + np.outer(weights, weights) * self._scale
        K[np.diag_indices(rows.size)] += _PENALTY * self._scale
        duals = np.linalg.solve(K, Y * weights[:, None])
        scores = self._Z @ (Z.T @ duals) + self._scale * (weights @ duals)
        scores = np.exp(_SHARPNESS * (scores - scores.max(axis=1, keepdims=True)))
        return Guesses.of(classes, scores / scores.sum(axis=1, keepdims=True))

    def effects(self, shares: NDArray[Any], random_state: int = 0) -> list[float]:
        """Measure how much of the predictions each column explains by itself.

        Parameters
        ----------
        shares : ndarray of shape (n_rows, n_classes)
            Predicted probabilities.
        random_state : int, default=0
            Seed of the sample of rows.

        Returns
        -------
        effects : list of float
            The coefficient of determination, adjusted for the numbers in the sketch,
            between 0 and 1 for each column; empty if there is no sketch.
        """
        rng = np.random.default_rng(random_state)
        rows = rng.permutation(len(shares))[:EFFECT_ROWS]
        P = shares[rows] - shares[rows].mean(axis=0)
        total, m, found = float((P**2).sum()), rows.size, []
        for place in self._places:
            Z = self._Z[rows, place].astype(float)
            if Z.shape[1] == 1:  # a number may matter without being monotone
                Z = np.hstack([Z, Z**2, Z**3])
            free = m - Z.shape[1] - 1
            if not total or not Z.shape[1] or free < 1:
                found.append(0.0)
                continue
            Q, _ = np.linalg.qr(Z - Z.mean(axis=0))
            left = 1 - float(((Q.T @ P) ** 2).sum()) / total
            found.append(max(0.0, 1 - left * (m - 1) / free))
        return found


def _sketched(values: NDArray[Any]) -> NDArray[np.float64]:
    """Turn a column into numbers, or hashed words, of total variance one."""
    try:
        numbers = np.array([np.nan if v == "" else v for v in values], dtype=float)
    except (TypeError, ValueError):
        return _hashed(values)
    known = np.isfinite(numbers)
    if known.sum() < 2:
        return np.empty((values.size, 0))
    # Ranks, so that outliers and units do not matter.
    ranks = np.full(values.size, 0.5)
    order = np.unique(numbers[known], return_inverse=True)[1]
    if order.max() == 0:
        return np.empty((values.size, 0))
    ranks[known] = order / order.max()
    return ((ranks - ranks.mean()) / (ranks.std() or 1.0))[:, None]


def _hashed(values: NDArray[Any]) -> NDArray[np.float64]:
    texts = ["" if v is None else str(v) for v in values]
    distinct = len(set(texts))
    if distinct == len(texts) and not any(" " in text for text in texts):
        return np.empty((values.size, 0))  # identifiers
    Z = np.zeros((values.size, _WORDS))
    for k, text in enumerate(texts):
        words = text.lower().split() if " " in text else [text]
        for word in words[:200]:
            code = crc32(word.encode("utf-8", "replace"))
            Z[k, code % _WORDS] += 1 if code & 0x10000 else -1
    Z -= Z.mean(axis=0)
    return Z / (np.sqrt((Z**2).sum(axis=1).mean()) or 1.0)


def _distances(Z: NDArray[Any], centres: NDArray[Any]) -> NDArray[Any]:
    squares = (centres**2).sum(axis=1) - 2 * Z @ centres.T
    return squares + (Z**2).sum(axis=1)[:, None]


def _spread(Z: NDArray[Any], k: int, rng: np.random.Generator) -> list[int]:
    """Start as k-means++ does, from the row nearest to the mean."""
    chosen = [int(((Z - Z.mean(axis=0)) ** 2).sum(axis=1).argmin())]
    far = ((Z - Z[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < k:
        total = far.sum()
        if total <= 0:
            break
        chosen.append(int(rng.choice(len(Z), p=far / total)))
        far = np.minimum(far, ((Z - Z[chosen[-1]]) ** 2).sum(axis=1))
    return chosen
