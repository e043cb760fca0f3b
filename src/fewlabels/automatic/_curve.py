"""How the error should fall as labels are added."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fewlabels.automatic import _tuned as tuned


@dataclass(frozen=True)
class LearningCurve:
    r"""How the error is expected to fall as labels are added.

    A power law: :math:`e(m) = e(l)\,(l / m)^b`.

    Parameters
    ----------
    n_labels : int
        Number of labels so far.
    error : float
        Expected error with these labels; NaN if unknown.
    exponent : float
        The power b.
    low, high : float
        Interval of about 90 % for the power.

    Examples
    --------
    >>> from fewlabels.automatic import LearningCurve
    >>> curve = LearningCurve(20, 0.2, 0.5, 0.3, 0.8)
    >>> curve.labels_for(0.1)
    80
    >>> round(curve.error_with(80), 3)
    0.1
    """

    n_labels: int
    error: float
    exponent: float
    low: float
    high: float

    def error_with(self, n_labels: int) -> float:
        """Compute the expected error with another number of labels.

        Parameters
        ----------
        n_labels : int
            Number of labels.

        Returns
        -------
        error : float
            Expected error; NaN if the current one is unknown.
        """
        return float(self.error * (self.n_labels / n_labels) ** self.exponent)

    def labels_for(self, error: float) -> int:
        """Compute the number of labels needed for an error, to two digits.

        Parameters
        ----------
        error : float
            The desired error, above 0.

        Returns
        -------
        n_labels : int
            At least the current number.
        """
        if not error > 0:
            raise ValueError(f"error must be above 0, got {error}.")
        return self._labels(error / self.error, self.exponent)

    def halving(self) -> tuple[int, int, int]:
        """Compute the number of labels needed to halve the error.

        Returns
        -------
        expected, least, most : int
            The estimate, and an interval of about 90 %.
        """
        exponents = (self.exponent, self.high, self.low)
        expected, least, most = (self._labels(0.5, b) for b in exponents)
        return expected, least, most

    def _labels(self, ratio: float, exponent: float) -> int:
        n = self.n_labels * max(1.0, (1 / ratio) ** (1 / exponent))
        digits = 10 ** max(0, math.floor(math.log10(n)) - 1)
        return max(self.n_labels, int(digits * round(n / digits)))


def learning_curve(
    n_labels: int,
    error: float,
    wrong: ArrayLike | None = None,
    wrong_with_half: ArrayLike | None = None,
) -> LearningCurve:
    r"""Estimate how the error falls from predictions with all and half the labels.

    The exponent is the base-2 logarithm of the ratio of the two errors, shrunk towards
    0.3 according to its variance: that of paired counts, against a prior of 0.2².

    Parameters
    ----------
    n_labels : int
        Number of labels so far.
    error : float
        Expected error with these labels.
    wrong, wrong_with_half : array-like of bool of shape (l,), default=None
        Which labelled rows were misclassified when held out, by models fitted to all
        other labels and to half of them.

    Returns
    -------
    curve : LearningCurve
        The power law; without predictions, with the usual exponent.

    Examples
    --------
    >>> from fewlabels.automatic import learning_curve
    >>> learning_curve(20, 0.2).exponent
    0.3
    """
    exponent, variance = tuned.USUAL_EXPONENT, tuned.EXPONENT_SPREAD**2
    if wrong is not None and wrong_with_half is not None:
        own, half = np.asarray(wrong, bool), np.asarray(wrong_with_half, bool)
        n_own, n_half = own.sum() + 0.5, half.sum() + 0.5
        noise = ((own != half).sum() + 1.0) / (n_own * n_half) / math.log(2) ** 2
        slope = math.log2(n_half / n_own)
        trust = variance / (variance + noise)
        exponent += trust * (slope - exponent)
        variance *= 1 - trust
    spread = 1.645 * math.sqrt(variance)
    low, middle, high = np.clip(
        [exponent - spread, exponent, exponent + spread],
        tuned.LEAST_EXPONENT,
        tuned.LARGEST_EXPONENT,
    ).tolist()
    return LearningCurve(int(n_labels), float(error), middle, low, high)
