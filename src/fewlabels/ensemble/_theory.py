"""Sample sizes of probably approximately correct learning."""

# SPDX-License-Identifier: BSD-3-Clause

import math

from fewlabels._params import check_number


def pac_sample_size(n_hypotheses: float, *, epsilon: float, delta: float) -> int:
    r"""Rows after which a consistent hypothesis is probably approximately correct.

    A hypothesis with an error above :math:`\epsilon` predicts m independent rows
    correctly with probability below :math:`(1 - \epsilon)^m \le e^{-\epsilon m}`. With

    .. math:: m \ge \frac{\ln |H| + \ln(1 / \delta)}{\epsilon}

    rows, the chance that a bad hypothesis of the class H looks consistent is at most
    :math:`\delta`.

    Parameters
    ----------
    n_hypotheses : float
        Size of the finite class H, at least 1.
    epsilon : float
        Error that is accepted, between 0 and 1.
    delta : float
        Probability of failure that is accepted, between 0 and 1.

    Returns
    -------
    m : int
        The number of rows.

    References
    ----------
    .. [1] A. Blumer, A. Ehrenfeucht, D. Haussler, M. K. Warmuth, "Occam's razor",
       Information Processing Letters 24 (1987). :doi:`10.1016/0020-0190(87)90114-1`

    Examples
    --------
    Conjunctions of ten Boolean variables, each plain, negated or left out:

    >>> from fewlabels.ensemble import pac_sample_size
    >>> pac_sample_size(3**10, epsilon=0.1, delta=0.05)
    140
    """
    check_number("n_hypotheses", n_hypotheses, 1)
    check_number("epsilon", epsilon, above=0, below=1)
    check_number("delta", delta, above=0, below=1)
    return math.ceil((math.log(n_hypotheses) - math.log(delta)) / epsilon)
