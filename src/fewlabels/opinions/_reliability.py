r"""How far to trust sources of opinions.

If a source s says class k, the truth is class c with the probability
:math:`\Psi_s[k, c]`. Sources are taken as independent given the class, so that opinions
:math:`k_s` give

.. math::
    P(c \mid k) \propto \pi_c \prod_s \frac{\Psi_s[k_s, c]}{\pi_c},

with class shares :math:`\pi`. Unlike a matrix of what is said given the truth, this one
also describes a rule that names a single class and abstains otherwise.

A few labels do not determine a matrix. In the first place, a source has a single
number: that it says k multiplies the odds of k by :math:`e^\theta`,

.. math::
    \Psi_\theta[k, c] \propto \pi_c \exp(\theta\, 1[k = c]),

positive if it is useful, zero if it is not, negative if it misleads. The posterior of
:math:`\theta` is computed on a grid; the average of :math:`\Psi_\theta` over it is the
centre of a Dirichlet prior for the matrix.
"""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import beta

from fewlabels.opinions._opinions import Opinions

# Prior of theta: its mean is log(n_classes + 1), which for balanced classes is an
# accuracy half of the way from chance to certainty; and its standard deviation, which
# with SEVERAL sources or more is learned from them.
SPREAD = 1.5
LEAST_SPREAD = 0.5
SEVERAL = 3
THETAS = np.linspace(-6.0, 8.0, 57)
# What the average over theta is worth in every line of the matrix, in labels.
PRIOR_PER_CLASS = 6.0
# Matrices and class shares are learned from rows with several opinions if most of a
# source's rows have them.
MOSTLY = 0.8
MAX_STEPS = 60
TOLERANCE = 1e-5
LEVEL = 0.9


@dataclass(frozen=True)
class Reliability:
    """How far to trust each source, learned by :func:`learn_reliability`.

    Attributes
    ----------
    shares : ndarray of shape (n_classes,)
        Class shares.
    precision : ndarray of shape (n_sources, n_classes, n_classes)
        Probability of the class in the last axis where a source says the class in the
        axis before.
    counts : ndarray of shape (n_sources, n_classes, n_classes)
        Evidence for the matrices: rows by what was said and by class.
    fits : ndarray of shape (n_sources, n_thetas)
        Evidence for theta from rows without a label, and the prior, as logarithms.
    probabilities : ndarray of shape (n_rows, n_classes)
        Of the classes given all opinions, and whatever else is known of the rows.

    Examples
    --------
    >>> from fewlabels.opinions import learn_reliability, read_opinions
    >>> hints = {"a": list("xxyyxy"), "b": list("xxyyyx"), "c": list("xxyyxx")}
    >>> learned = learn_reliability(read_opinions(hints))
    >>> learned.probabilities.argmax(axis=1)
    array([0, 0, 1, 1, 0, 0])
    """

    shares: NDArray[np.float64]
    precision: NDArray[np.float64]
    counts: NDArray[np.float64]
    fits: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    def log_ratios(self, opinions: Opinions) -> NDArray[np.float64]:
        """Sum the evidence of all opinions for every class.

        Parameters
        ----------
        opinions : Opinions
            Opinions of the same sources about any rows.

        Returns
        -------
        ratios : ndarray of shape (n_rows, n_classes)
            The logarithm of P(class | opinions) / P(class), up to a constant for every
            row; zero where all sources abstain.
        """
        total = np.zeros(opinions.votes.shape[1:])
        for votes, precision in zip(opinions.votes, self.precision, strict=True):
            total += _log_ratio(votes, precision, self.shares)
        return total - total.mean(axis=1, keepdims=True)

    def held_out_log_ratios(
        self,
        opinions: Opinions,
        codes: NDArray[np.intp],
        weights: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Sum the evidence for labelled rows, each without its own label.

        Parameters
        ----------
        opinions : Opinions
            Opinions about the labelled rows.
        codes : ndarray of shape (n_rows,)
            Their classes.
        weights : ndarray of shape (n_rows,)
            The weights their labels had.

        Returns
        -------
        ratios : ndarray of shape (n_rows, n_classes)
            See :meth:`log_ratios`.
        """
        total = np.zeros(opinions.votes.shape[1:])
        tilted = _tilted(self.shares)
        for i, (code, weight) in enumerate(zip(codes, weights, strict=True)):
            for s, votes in enumerate(opinions.votes[:, i]):
                if votes.any():
                    counts = self.counts[s].copy()
                    counts[:, code] -= weight * votes
                    counts = np.maximum(counts, 0.0)
                    precision, _ = _estimate(counts, self.fits[s], tilted)
                    total[i] += _log_ratio(votes[None], precision, self.shares)[0]
        return total - total.mean(axis=1, keepdims=True)


def _log_ratio(
    votes: NDArray[Any], precision: NDArray[Any], shares: NDArray[Any]
) -> NDArray[Any]:
    p = votes @ precision
    spoken = np.asarray(votes.any(axis=1))
    return np.where(spoken[:, None], np.log(np.where(p > 0, p, 1.0) / shares), 0.0)


def _tilted(shares: NDArray[Any]) -> NDArray[np.float64]:
    """Matrices of all thetas, of shape (n_thetas, n_classes, n_classes)."""
    powers = THETAS[:, None, None] * np.eye(shares.size)
    return np.asarray(softmax(np.log(shares) + powers, axis=2))


def _estimate(
    counts: NDArray[Any], fit: NDArray[Any], tilted: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Matrix of one source, and the posterior of its theta."""
    posterior = softmax(fit + np.tensordot(np.log(tilted), counts, axes=2))
    usual = np.tensordot(posterior, tilted, axes=1)
    total = counts.sum(axis=1, keepdims=True) + PRIOR_PER_CLASS
    return (counts + PRIOR_PER_CLASS * usual) / total, posterior


def _fit_of_others(
    votes: NDArray[Any], base: NDArray[Any], shares: NDArray[Any]
) -> NDArray[np.float64]:
    r"""Log-likelihood of opinions for every theta, if other evidence gives `base`.

    That a source says k has the likelihood ratio :math:`1 + (e^\theta - 1) 1[c = k]`
    up to the factor :math:`Z_k = 1 + \pi_k (e^\theta - 1)`.
    """
    gain = np.expm1(THETAS)
    inverse = 1 / (1 + np.outer(shares, gain))
    likelihoods = votes @ inverse + gain * ((votes * base) @ inverse)
    return np.asarray(np.log(likelihoods).sum(axis=0))


def _prior(
    posteriors: NDArray[Any], judged: NDArray[np.bool_], n_classes: int
) -> NDArray[np.float64]:
    """Logarithm of the prior of theta, learned from several sources.

    The usual prior counts as one more source.
    """
    mean, spread = np.log(n_classes + 1.0), SPREAD
    if judged.sum() >= SEVERAL:
        found = np.append(posteriors[judged] @ THETAS, mean)
        mean = found.mean()
        squares = np.append((found - mean) ** 2, SPREAD**2)
        spread = max(LEAST_SPREAD, float(np.sqrt(squares.mean())))
    return np.asarray(-0.5 * ((THETAS - mean) / spread) ** 2)


def learn_reliability(
    opinions: Opinions,
    codes: NDArray[np.intp] | None = None,
    weights: NDArray[Any] | None = None,
    *,
    known: NDArray[Any] | None = None,
    most_unlabeled: float = np.inf,
) -> Reliability:
    r"""Learn how far to trust sources, from labels and from how far they agree.

    Iterations in the manner of Dawid and Skene [1]_, in which the classes of labelled
    rows are known. Each source has one number for its overall quality, with a prior
    that three or more sources share, and a matrix drawn towards that quality.

    Parameters
    ----------
    opinions : Opinions
        The opinions about all rows.
    codes : ndarray of shape (n_rows,), default=None
        Class numbers, -1 where unknown; without, all are unknown.
    weights : ndarray of shape (n_rows,), default=None
        Weights of the labels; 1 when None.
    known : ndarray of shape (n_rows, n_classes), default=None
        What is known about the rows without these sources, such as the probabilities
        of a classifier; class shares are then those of `known`. Without, only class
        shares are assumed.
    most_unlabeled : float, default=inf
        Labels that all unlabelled rows of a source count as, at most.

    Returns
    -------
    learned : Reliability
        The sources, and the probabilities of the classes of all rows.

    References
    ----------
    .. [1] Dawid, A. P. and Skene, A. M. "Maximum likelihood estimation of observer
           error-rates using the EM algorithm." Applied Statistics 28 (1979).
           :doi:`10.2307/2346806`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.opinions import learn_reliability, read_opinions
    >>> opinions = read_opinions({"rule": list("aaab"), "model": list("abab")})
    >>> learned = learn_reliability(opinions, np.array([0, 1, -1, -1]))
    >>> bool(learned.precision[1, 0, 0] > learned.precision[0, 0, 0])
    True
    """
    votes = opinions.votes.astype(np.float64)
    _, n_rows, n_classes = votes.shape
    codes = np.full(n_rows, -1) if codes is None else np.asarray(codes)
    w = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
    labeled = codes >= 0
    truth = np.zeros((n_rows, n_classes))
    truth[labeled, codes[labeled]] = 1
    of_labels = np.einsum("snk,nc->skc", votes, truth * w[:, None])
    speaks = opinions.speaks
    spoken = speaks & ~labeled
    each = np.minimum(1.0, most_unlabeled / np.maximum(spoken.sum(axis=1), 1))
    # What a single source says about a row is compared with nothing, and rows with
    # several opinions are no sample of all if they are few: a rule picks them out.
    agreeing = spoken.sum(axis=0) > 1
    typical = (spoken & agreeing).sum(axis=1) >= MOSTLY * np.maximum(
        spoken.sum(axis=1), 1
    )
    # Only in the limit are matrices, and not only qualities, learned from agreement.
    soft = np.where(np.isinf(most_unlabeled) & typical, 1.0, 0.0)
    shares = np.full(n_classes, 1 / n_classes)
    if known is not None:
        shares = np.maximum(known.mean(axis=0), 1e-3)
    elif np.unique(codes[labeled]).size > 1:  # labels of one class tell no shares
        shares = (truth * w[:, None]).sum(axis=0) + 1.0
    else:
        said = votes.sum(axis=0)
        shares = (said / np.maximum(said.sum(axis=1), 1)[:, None]).sum(axis=0) + 1.0
    shares = shares / shares.sum()
    counts, before = of_labels, np.zeros((n_rows, n_classes))
    flat = np.full((votes.shape[0], THETAS.size), 1 / THETAS.size)
    heard = spoken.any(axis=1) | (of_labels.sum(axis=(1, 2)) > 0)
    fits = np.tile(_prior(flat, heard[:0], n_classes), (votes.shape[0], 1))
    for _ in range(MAX_STEPS):
        tilted = _tilted(shares)
        found = [_estimate(c, fit, tilted) for c, fit in zip(counts, fits, strict=True)]
        ratios = np.array(
            [
                _log_ratio(own, precision, shares)
                for own, (precision, _) in zip(votes, found, strict=True)
            ]
        )
        start = np.log(shares) if known is None else np.log(known)
        logits = start + ratios.sum(axis=0)
        q = np.where(labeled[:, None], truth, softmax(logits, axis=1))
        if np.abs(q - before).max(initial=0.0) < TOLERANCE:
            break
        before = q
        prior = _prior(np.array([p for _, p in found]), heard, n_classes)
        for s, rows in enumerate(spoken):
            base = softmax((logits - ratios[s])[rows], axis=1)
            fits[s] = prior + each[s] * _fit_of_others(votes[s, rows], base, shares)
        others = np.einsum("snk,nc->skc", votes[:, agreeing], q[agreeing])
        counts = of_labels + soft[:, None, None] * others
        if known is None and agreeing.sum() >= MOSTLY * spoken.any(axis=0).sum() > 0:
            total = q[agreeing | labeled].sum(axis=0)
            shares = (total + 1.0) / (total + 1.0).sum()
    precision = np.array([matrix for matrix, _ in found])
    return Reliability(shares, precision, counts, fits, q)


@dataclass(frozen=True)
class SourceReport:
    """What is known about one source of opinions.

    Attributes
    ----------
    name : str
        The source.
    coverage : float
        Share of the rows it has an opinion about.
    conflicts : float
        Share of its opinions that another source contradicts.
    n_judged : int
        Labelled rows it has an opinion about.
    n_right : int
        Those of them for which it is right.
    accuracy, low, high : float
        Estimated share of its opinions that are right, with a 90 % interval from the
        labels alone.
    by_class : dict of object to float
        Estimated probability that it is right where it says the class; only classes
        that it names.

    Examples
    --------
    >>> from fewlabels.opinions import SourceReport
    >>> SourceReport("rule", 0.5, 0.1, 10, 9, 0.85, 0.61, 0.99, {"spam": 0.9}).n_right
    9
    """

    name: str
    coverage: float
    conflicts: float
    n_judged: int
    n_right: int
    accuracy: float
    low: float
    high: float
    by_class: dict[Any, float]


def source_reports(
    opinions: Opinions, learned: Reliability, codes: NDArray[np.intp] | None = None
) -> list[SourceReport]:
    """Summarise what is known about every source.

    Parameters
    ----------
    opinions : Opinions
        The opinions.
    learned : Reliability
        What :func:`learn_reliability` found.
    codes : ndarray of shape (n_rows,), default=None
        The labels it learned from, -1 where there is none.

    Returns
    -------
    reports : list of SourceReport
        One for every source.

    Examples
    --------
    >>> from fewlabels.opinions import learn_reliability, read_opinions, source_reports
    >>> opinions = read_opinions({"rule": ["a", None, "b", "a"]})
    >>> (report,) = source_reports(opinions, learn_reliability(opinions))
    >>> report.name, report.coverage, report.n_judged
    ('rule', 0.75, 0)
    """
    said, coverage, conflicts = opinions.said, opinions.coverage, opinions.conflicts
    codes = np.full(opinions.n_rows, -1) if codes is None else codes
    reports = []
    for s, name in enumerate(opinions.names):
        judged = (said[s] >= 0) & (codes >= 0)
        n, right = int(judged.sum()), int(np.sum(said[s][judged] == codes[judged]))
        # The prior of the interval is worth one right and one wrong opinion.
        low, high = beta.ppf(
            [(1 - LEVEL) / 2, (1 + LEVEL) / 2], right + 1, n - right + 1
        )
        shares = opinions.votes[s].sum(axis=0, dtype=np.float64)
        precision = np.diag(learned.precision[s])
        accuracy = float(shares @ precision / (shares.sum() or 1.0))
        named = np.unique(said[s][said[s] >= 0])
        by_class = {
            opinions.classes[k]: float(learned.precision[s, k, k]) for k in named
        }
        reports.append(
            SourceReport(
                name,
                float(coverage[s]),
                float(conflicts[s]),
                n,
                right,
                accuracy,
                float(low),
                float(high),
                by_class,
            )
        )
    return reports
