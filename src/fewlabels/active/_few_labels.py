"""Query strategy for FewLabelsClassifier: the effect of a label on its ensemble."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from fewlabels.active._query import Pool, QueryStrategy, fit_model
from fewlabels.active._utilities import downdated, margin, variance_reduction
from fewlabels.automatic import FewLabelsClassifier


class FewLabelsSampling(QueryStrategy):
    r"""Query the rows whose labels the automatic classifier needs most.

    The classifier averages least squares over a bank of kernels, for each of which the
    covariance P of the outputs is known before a label is given. The utility of a label
    of z is the expected reduction of the ensemble's variance, weighted towards rows x
    that the ensemble is uncertain about,

    .. math::
        u(z) = \sum_k w_k \sum_x m(x)^{\,a} \,
        \frac{P_k(x, z)^2}{P_k(z, z) + \rho_k},

    with the weights w of the ensemble, and m(x) the :func:`margin` utility of its
    probabilities, 1 where two classes are equally probable and 0 where one is certain
    (and all of it divided by the sum of these weights).
    An uncertain row that is near many other uncertain rows and far from labels has a
    large utility. A batch is chosen row by row, each given those before it. All this is
    linear algebra on the bank: nothing is refitted.

    Parameters
    ----------
    estimator : FewLabelsClassifier, default=None
        What to fit if no fitted model is passed to `query`.
    focus : float, default=1.0
        The exponent a; 0 counts all rows alike.
    n_members : int, default=12
        How many kernels to use, those of largest weight.
    max_candidates : int, default=500
        Most rows to compare, a random sample of the candidates.
    max_rows : int, default=1500
        Most rows x in the sum, a random sample. If there are no more rows than that,
        the model keeps kernel matrices for the next query: 4 max_rows^2 bytes for each
        kernel that was ever among those of largest weight.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples and of ties.

    Notes
    -----
    `diversity` has no effect here: a chosen row already lowers the utility of those
    near it. Utilities of rows that were not in the sample are NaN.

    The formula was chosen among several by the label curves in the user guide, on the
    data sets shown there.

    References
    ----------
    .. [1] D. A. Cohn, Z. Ghahramani, M. I. Jordan, "Active learning with statistical
       models", JAIR 4 (1996). :doi:`10.1613/jair.295`
    .. [2] M. Ji, J. Han, "A variance minimization criterion to active learning on
       graphs", AISTATS 2012.

    Examples
    --------
    >>> from fewlabels import FewLabelsClassifier
    >>> from fewlabels.active import ActiveLearner, FewLabelsSampling
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> X, y_true = make_moons(200, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=2, random_state=0)
    >>> learner = ActiveLearner(
    ...     FewLabelsClassifier(bank="fast", random_state=0),
    ...     FewLabelsSampling(random_state=0),
    ...     batch_size=2,
    ...     budget=6,
    ... )
    >>> learner = learner.fit(X, y, oracle=lambda rows: y_true[rows])
    >>> bool(learner.score(X, y_true) > 0.95)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        focus: float = 1.0,
        n_members: int = 12,
        max_candidates: int = 500,
        max_rows: int = 1500,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.focus = focus
        self.n_members = n_members
        self.max_candidates = max_candidates
        self.max_rows = max_rows
        self.random_state = random_state

    def _utilities(self, pool: Pool, model: Any) -> NDArray[np.float64]:
        if model is None:
            given = self.estimator
            if given is None:
                given = FewLabelsClassifier(random_state=self.random_state)
            model = fit_model(given, pool.X, pool.y)
        if isinstance(model, Pipeline):
            model = model[-1]
        if not isinstance(model, FewLabelsClassifier):
            raise ValueError(
                f"FewLabelsSampling needs a FewLabelsClassifier, got "
                f"{type(model).__name__}: use UncertaintySampling or another strategy."
            )
        same_rows = model.transduction_.size == pool.y.size
        if not same_rows or not np.array_equal(model.labeled_indices_, pool.labeled):
            raise ValueError(
                "model was fitted to other rows or labels than X and y: fit it again, "
                "or call its refit_labels. Instead of oversample=True, which repeats "
                "rows, use its class_weight='balanced'."
            )
        self._rng = check_random_state(self.random_state)
        n = pool.candidates.size
        self._compared = np.arange(n)
        if n > self.max_candidates:
            drawn = self._rng.choice(n, self.max_candidates, replace=False)
            self._compared = np.sort(drawn)
        asked = pool.candidates[self._compared]
        others = np.setdiff1d(np.arange(pool.y.size), asked)
        if others.size + asked.size > self.max_rows:
            size = max(self.max_rows - asked.size, 0)
            others = self._rng.choice(others, min(size, others.size), replace=False)
        rows = np.concatenate([asked, others])
        self._places = np.arange(asked.size)
        self._groups = model.distinct_rows_[asked]
        self._members = model.members(
            rows, self._places, n_members=self.n_members, max_kept_rows=self.max_rows
        )
        P = model.label_distributions_[rows]
        doubt = margin(P) if model.classes_.size > 1 else np.ones(rows.size)
        self._focused = doubt**self.focus
        if not self._focused.any():
            self._focused = np.ones(rows.size)
        utilities = np.full(n, np.nan)
        utilities[self._compared] = self._gains([m.covariance for m in self._members])
        return utilities

    def __getstate__(self) -> dict[str, Any]:
        # Large data that can be recomputed is not pickled or copied.
        return {k: v for k, v in super().__getstate__().items() if k != "_members"}

    def _gains(self, covariances: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        total = np.zeros(self._places.size)
        for member, P in zip(self._members, covariances, strict=True):
            total += member.weight * variance_reduction(
                P, self._places, alpha=member.ridge, sample_weight=self._focused
            )
        return total

    def _select(
        self,
        pool: Pool,
        utilities: NDArray[np.float64],
        n_queries: int,
        diversity: float,
    ) -> NDArray[np.intp]:
        covariances = [member.covariance for member in self._members]
        gains = utilities[self._compared].copy()
        order = self._rng.permutation(gains.size)
        chosen: list[int] = []
        while True:
            # A copy of a chosen row only if nothing else is left.
            copies = np.isin(self._groups, self._groups[chosen])
            gains[copies] -= 1 + gains.max()
            gains[chosen] = -np.inf
            chosen.append(int(order[gains[order].argmax()]))
            if len(chosen) == min(n_queries, gains.size):
                break
            covariances = [
                downdated(P, self._places, chosen[-1], member.ridge)
                for P, member in zip(covariances, self._members, strict=True)
            ]
            gains = self._gains(covariances)
        found = self._compared[chosen]
        if n_queries > found.size:  # more than were compared
            rest = np.setdiff1d(np.arange(utilities.size), found)
            extra = self._rng.choice(rest, n_queries - found.size, replace=False)
            found = np.concatenate([found, extra])
        return found
