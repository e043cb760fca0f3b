"""The parts of an automatic classifier: its kernels, and families of candidates."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fewlabels.automatic._bank import KernelBank
from fewlabels.automatic._errors import ErrorEstimate, binomial_interval
from fewlabels.automatic._kernels import BankKernel
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._pool import FAMILIES
from fewlabels.automatic._sources import View

# Kernels that weigh less than this share of the heaviest are left out.
NEGLIGIBLE = 0.01


class Member(NamedTuple):
    """One kernel of the automatic classifier, given the labels so far.

    Attributes
    ----------
    weight : float
        Its share among the members.
    ridge : float
        Noise variance of a label: its heaviest ridge.
    outputs : ndarray of shape (n_rows, n_targets)
        Its outputs for the rows.
    covariance : ndarray of shape (n_rows, n_candidates)
        Posterior covariance between the rows and those that may be labelled next.
    """

    weight: float
    ridge: float
    outputs: NDArray[np.float64]
    covariance: NDArray[np.float64]


class Contribution(NamedTuple):
    """The contribution of one family of candidates to the automatic classifier.

    Attributes
    ----------
    family : str
        Name of the family.
    words : str
        What it builds on.
    name : str
        Its heaviest candidate.
    weight : float
        Its share in the predictions.
    error : ErrorEstimate
        Held-out error of its heaviest candidate on the labelled rows. It is slightly
        optimistic, since the same labels chose the candidate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewlabels import FewLabelsClassifier
    >>> from fewlabels.datasets import hide_labels
    >>> X, y_true = load_iris(return_X_y=True)
    >>> y = hide_labels(y_true, per_class=3, random_state=0)
    >>> model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
    >>> round(sum(part.weight for part in model.contributions()), 6)
    1.0
    """

    family: str
    words: str
    name: str
    weight: float
    error: ErrorEstimate


def members_of(
    bank: KernelBank,
    table: dict[str, NDArray[Any]],
    labeled: Labeled,
    rows: NDArray[np.intp],
    places: NDArray[np.intp],
    *,
    n_members: int,
    max_kept_rows: int,
) -> list[Member]:
    """Return the heaviest kernels, with their posterior covariance."""
    bank.check_whole()
    candidates = bank.candidates
    sizes = np.array([c.ridges.size for c in candidates], dtype=np.intp)
    candidate_of = np.repeat(np.arange(sizes.size), sizes)
    is_kernel = np.array([isinstance(c, BankKernel) for c in candidates], dtype=bool)
    shares = np.bincount(candidate_of, table["weight"]) * is_kernel
    if not shares.any():
        return []
    order = np.argsort(-shares, kind="stable")[:n_members]
    order = order[shares[order] > NEGLIGIBLE * shares.max()]
    J, n_targets = labeled.distinct, labeled.Y.shape[1]
    ends, seen = np.concatenate([J, rows[places]]), np.concatenate([J, rows])
    view = View(batch=seen)
    members = []
    for k in order:
        ridge = float(candidates[k].ridges[table["weight"][candidate_of == k].argmax()])
        if bank.n_rows > max_kept_rows:
            K: NDArray[Any] = bank.kernel_columns(k, ends, view)
        else:
            K = bank.kernel_matrix(k).take(ends, axis=1).take(seen, axis=0)
        A = ((K[: J.size, : J.size] + K[: J.size, : J.size].T) / 2).astype(np.float64)
        A[np.diag_indices_from(A)] += ridge / labeled.importance
        right = np.hstack([labeled.Y, K[: J.size, J.size :]])
        # Exact coefficients, then the large product in the precision of the kernel.
        coefs = linalg.solve(A, right, assume_a="pos").astype(K.dtype)
        fitted = K[J.size :, : J.size] @ coefs
        members.append(
            Member(
                float(shares[k] / shares[order].sum()),
                ridge,
                fitted[:, :n_targets],
                K[J.size :, J.size :] - fitted[:, n_targets:],
            )
        )
    return members


def contributions_of(
    table: dict[str, NDArray[Any]], labeled: Labeled
) -> list[Contribution]:
    """Summarise the table of candidates by family, the heaviest first."""
    found = []
    for family in dict.fromkeys(table["family"]):
        within = np.flatnonzero(table["family"] == family)
        best = within[table["weight"][within].argmax()]
        share = float(table["loo_error"][best])
        if np.isnan(share):
            error = ErrorEstimate(np.nan, 0.0, 1.0, "no rows can be held out")
        else:
            n_groups = np.unique(labeled.group[labeled.testable]).size
            error = ErrorEstimate(share, *binomial_interval(share, n_groups))
        found.append(
            Contribution(
                family,
                FAMILIES[family].short,
                str(table["candidate"][best]),
                float(table["weight"][within].sum()),
                error,
            )
        )
    return sorted(found, key=lambda contribution: -contribution.weight)
