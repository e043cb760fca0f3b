"""Warnings that fewlabels emits; each can be filtered by its category."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings

__all__ = ["DisconnectedGraphWarning", "IgnoredParameterWarning"]


class DisconnectedGraphWarning(UserWarning):
    """A graph is disconnected: predictions for some of its rows are guesses."""


class IgnoredParameterWarning(UserWarning):
    """A parameter was given that has no effect given the others."""


def warn_ignored(parameter: str, reason: str) -> None:
    """Say that a parameter has no effect."""
    warnings.warn(
        f"{parameter} is ignored: {reason}.", IgnoredParameterWarning, stacklevel=4
    )


def warn_not_converged(message: str, stacklevel: int = 3) -> None:
    """Say that an iteration ended before it converged, and what to do."""
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel)
