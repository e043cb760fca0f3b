"""Class shares among the unlabelled rows.

Labels drawn at random show how large the classes are; labels drawn class by class do
not, and predictions then lean towards rare classes. Probabilities p(c | x) that are
correct for the class shares of the labels become, for other shares, proportional to
p(c | x) times the ratio of the shares.
"""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._losses import class_outputs

N_STEPS = 10
# Largest number of steps to match given shares, and the tolerance.
MAX_MATCHING = 200
MATCHED = 1e-4


def shares_and_shift(
    outputs: NDArray[Any],
    temperature: float,
    labeled: Labeled,
    prior: Any,
    classes: NDArray[Any],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Class shares among unlabelled rows, and the shift of outputs that yields them.

    Parameters
    ----------
    outputs : ndarray of shape (n_unlabeled, n_targets)
        Outputs for the unlabelled rows.
    temperature : float
        Probabilities are softmax(temperature * outputs).
    labeled : Labeled
        The labelled rows.
    prior : {"auto", "labels", "uniform"}, dict or array-like
        Prior class shares, see :class:`fewlabels.automatic.FewLabelsClassifier`.
    classes : ndarray of shape (n_classes,)
        The classes.

    Returns
    -------
    shares : ndarray of shape (n_classes,)
        The shares.
    shift : ndarray of shape (n_targets,)
        Offset to add to the outputs.
    """
    given = labeled.class_shares(classes.size)
    if classes.size < 2 or not outputs.shape[0]:
        return given, np.zeros(1)
    logits = temperature * class_outputs(outputs)
    if isinstance(prior, str) and prior != "uniform":
        if prior == "labels" or not drawn_by_class(np.bincount(labeled.codes)):
            return given, np.zeros(1)
        shares = estimated_shares(softmax(logits, axis=1), given, labeled.size)
        offsets = np.log(shares / given)
    else:
        shares = known_shares(prior, classes)
        offsets = matching_offsets(logits, shares)
    shift = offsets / temperature
    return shares, (shift[1:] - shift[0]) / 2 if classes.size == 2 else shift


def known_shares(prior: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Class shares given by the user: "uniform", by class, or in class order."""
    if isinstance(prior, str):
        return np.full(classes.size, 1 / classes.size)
    if isinstance(prior, dict):
        absent = [c for c in classes.tolist() if c not in prior]
        if absent:
            raise ValueError(
                f"class_prior has no share for {absent[0]!r}: give one for each of the "
                f"{classes.size} classes."
            )
        prior = [prior[c] for c in classes.tolist()]
    shares = np.asarray(prior, dtype=np.float64)
    if shares.shape != classes.shape:
        raise ValueError(
            f"class_prior must have one share for each of the {classes.size} classes, "
            f"got shape {shares.shape}."
        )
    if not (np.isfinite(shares).all() and (shares > 0).all()):
        raise ValueError(
            "class_prior must be positive for every class that has a label, got "
            f"{shares}."
        )
    return shares / shares.sum()


def drawn_by_class(counts: NDArray[np.intp]) -> bool:
    """Whether labels look as if they had been drawn class by class.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        Labels of each class.

    Returns
    -------
    by_class : bool
        True where most classes have the same number of labels, at least two, and no
        class has more.
    """
    largest = counts.max()
    return bool(largest > 1 and 2 * np.sum(counts == largest) > counts.size)


def estimated_shares(
    p: NDArray[Any], shares: NDArray[Any], n_labeled: int
) -> NDArray[np.float64]:
    """Estimate class shares by expectation-maximisation, shrunk to those of the labels.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
        Probabilities under the class shares of the labels.
    shares : ndarray of shape (n_classes,)
        Class shares of the labels.
    n_labeled : int
        Number of labels.

    Returns
    -------
    estimate : ndarray of shape (n_classes,)
        The shares among the rows.
    """
    pull = tuned.PULL_LABELS * shares.size / n_labeled
    estimate = shares
    for _ in range(N_STEPS):
        q = p * (estimate / shares)
        q /= q.sum(axis=1, keepdims=True)
        estimate = (q.mean(axis=0) + pull * shares) / (1 + pull)
    return estimate


def matching_offsets(logits: NDArray[Any], shares: NDArray[Any]) -> NDArray[np.float64]:
    """Find offsets of the logits that give the classes prescribed shares.

    Parameters
    ----------
    logits : ndarray of shape (n_rows, n_classes)
        Logarithms of probabilities, up to a constant.
    shares : ndarray of shape (n_classes,)
        Positive shares that sum to 1.

    Returns
    -------
    offsets : ndarray of shape (n_classes,)
        Offsets with mean 0.
    """
    offsets = np.zeros(shares.size)
    for _ in range(MAX_MATCHING):
        found = softmax(logits + offsets, axis=1).mean(axis=0)
        if np.abs(found - shares).max() < MATCHED:
            break
        offsets += np.log(shares / np.maximum(found, 1e-12))
    return offsets - offsets.mean()
