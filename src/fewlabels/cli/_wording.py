"""Reword messages of the library for the command line: parameters become options.

Messages of the library name parameters and functions, always as ``pass name=value``
or ``pass name=value or name=value``. All that a command prints goes through
:func:`in_options`.
"""

# SPDX-License-Identifier: BSD-3-Clause

import ast
import re
import shlex
from typing import Any

# Options whose name differs from their parameter's.
_OPTIONS = {
    "class_prior": "--class-shares",
    "markers": "--marker",
    "n_clusters": "--clusters",
    "people": "--person",
    "store": "--labels",
}
_COMMANDS = {
    "cluster_table": "fewlabels cluster",
    "label_table": "fewlabels label",
    "save_model": "fewlabels fit",
    "suggest_rows": "fewlabels ask",
}
_VALUE = r"""\[[^\]]*\]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\w%]+"""
_PARAMETER = re.compile(rf"\b([a-z_]+)=({_VALUE})")
_ADVICE = re.compile(
    rf"\b[Pp]ass {_PARAMETER.pattern}(?:(?:, | or ){_PARAMETER.pattern})*"
)
# Advice for which there is no option.
_NO_OPTION = re.compile(r" ?Pass a larger memory_budget\b[^.]*\.")
_FUNCTION = re.compile(rf"\b({'|'.join(_COMMANDS)})\b")
_ROLE = re.compile(r"\(given as ([a-z_]+)(?: and ([a-z_]+))?\)")


def in_options(text: str) -> str:
    """Replace parameters and functions in a message by options and commands.

    Parameters
    ----------
    text : str
        A message of the library.

    Returns
    -------
    text : str
        The same for a user of the command line.

    Examples
    --------
    >>> from fewlabels.cli._wording import in_options
    >>> in_options("If they are codes of classes, pass task='classes'.")
    'If they are codes of classes, pass --task classes.'
    """
    text = _NO_OPTION.sub("", text)
    text = _ADVICE.sub(
        lambda advice: _PARAMETER.sub(lambda found: _given(*found.groups()), advice[0]),
        text,
    )
    text = _ROLE.sub(lambda found: f"(given as {_named(*found.groups())})", text)
    return _FUNCTION.sub(lambda found: f"'{_COMMANDS[found[1]]}'", text)


def option_of(parameter: str) -> str:
    """Name the option of a parameter."""
    return _OPTIONS.get(parameter) or "--" + parameter.replace("_", "-")


def _named(*parameters: str | None) -> str:
    """Name the options of one parameter, or of two."""
    return " and ".join(option_of(name) for name in parameters if name)


def _given(parameter: str, value: str) -> str:
    """Write an option with its value as it would be typed."""
    option, meant = option_of(parameter), _literal(value)
    if meant is True:
        return option
    values = meant if isinstance(meant, list) else [meant]
    return " ".join(f"{option} {_quoted(str(v))}" for v in values)


def _quoted(value: str) -> str:
    """Write a value as it would be typed, in quotes if it ends like a sentence."""
    return f"'{value}'" if re.fullmatch(r"[\w.-]*\.", value) else shlex.quote(value)


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except ValueError:  # a placeholder for a value
        return text.strip("[]")
