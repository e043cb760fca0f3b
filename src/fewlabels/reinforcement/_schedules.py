"""Step sizes and exploration that change with time."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._params import check_choice, check_number

# The order is that of the codes in fewlabels._loops.reinforcement.
KINDS = ("constant", "power", "linear", "exponential")


@dataclass(frozen=True)
class Schedule:
    r"""A number that changes with the count n = 1, 2, ... of its uses.

    ============= ====================================================================
    constant      start
    power         max(end, start / n ** rate)
    linear        from start to end in rate uses, then end
    exponential   end + (start - end) exp(-(n - 1) / rate)
    ============= ====================================================================

    A step size with kind "power", rate in (0.5, 1] and end = 0 meets the conditions for
    convergence, :math:`\sum \alpha = \infty` and :math:`\sum \alpha^2 < \infty`.

    Parameters
    ----------
    kind : {"constant", "power", "linear", "exponential"}
        The shape.
    start : float
        The value at n = 1.
    end : float, default=0.0
        The least value, or the value that is approached.
    rate : float, default=1.0
        The exponent, or the number of uses that a change takes.

    Examples
    --------
    >>> from fewlabels.reinforcement import Schedule
    >>> epsilon = Schedule("linear", 1.0, end=0.1, rate=9)
    >>> [round(epsilon(n), 3) for n in (1, 2, 10, 1000)]
    [1.0, 0.9, 0.1, 0.1]
    >>> Schedule("power", 1.0, rate=0.5)(4)
    0.5
    """

    kind: str
    start: float
    end: float = 0.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        check_number("rate", self.rate, above=0)
        if self.kind == "power" and self.end > self.start:
            raise ValueError("A power schedule falls: end must not exceed start.")

    def __call__(self, n: int) -> float:
        """Return the value at the n-th use."""
        if self.kind == "power":
            return max(self.end, self.start * math.pow(float(n), -self.rate))
        if self.kind == "linear":
            if n - 1 >= self.rate:
                return self.end
            return self.start + (self.end - self.start) * ((n - 1) / self.rate)
        if self.kind == "exponential":
            decay = math.exp(-(n - 1) / self.rate)
            return self.end + (self.start - self.end) * decay
        return self.start

    def as_array(self) -> NDArray[np.float64]:
        """Write the schedule as four numbers, for compiled loops.

        Returns
        -------
        code : ndarray of shape (4,)
            Number of the kind, start, end and rate.
        """
        code = [KINDS.index(self.kind), self.start, self.end, self.rate]
        return np.array(code, dtype=np.float64)

    def as_dict(self) -> dict[str, Any]:
        """Write the schedule as something that JSON can hold.

        Returns
        -------
        fields : dict
            What the constructor takes.
        """
        return asdict(self)


def as_schedule(value: Any, name: str) -> Schedule:
    """Take a number for a constant schedule; all values must be in [0, 1]."""
    if isinstance(value, Real):
        schedule = Schedule("constant", float(value))
    elif isinstance(value, Schedule):
        schedule = value
    else:
        raise ValueError(f"{name} must be a number or a Schedule, got {value!r}.")
    ends = [schedule.start]
    if schedule.kind != "constant":
        ends.append(schedule.end)
    if not all(0 <= end <= 1 for end in ends):
        raise ValueError(f"{name} must stay in [0, 1], got {value!r}.")
    return schedule
