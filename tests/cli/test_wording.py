"""Messages of the library in the words of the commands."""

# SPDX-License-Identifier: BSD-3-Clause

import ast
import re
from pathlib import Path

import pytest

import fewlabels
from fewlabels.cli._commands import commands
from fewlabels.cli._wording import in_options, option_of

SOURCE = Path(fewlabels.__file__).parent
LIBRARY = ("tabular", "preprocessing", "dask", "studio")
OPTIONS = {
    name
    for command in commands.commands.values()
    for parameter in command.params
    for name in parameter.opts
}


def texts():
    """All strings of the library but docstrings, with the names of their files."""
    for package in LIBRARY:
        for path in sorted((SOURCE / package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            nodes = list(ast.walk(tree))
            docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
            for node in nodes:
                if isinstance(node, ast.Constant) and id(node) not in docs:
                    if isinstance(node.value, str):
                        yield path.name, node.value


def test_the_library_names_no_option():
    option = re.compile(r"(?<![\w(-])--?[a-z][a-z-]*\b(?!:)")
    found = [
        (name, text)
        for name, text in texts()
        if any(match in OPTIONS for match in option.findall(text))
    ]
    assert not [pair for pair in found if pair[0] != "_page.py"]


def test_all_parameters_that_messages_name_are_options():
    named = {
        parameter
        for _, text in texts()
        for parameter in re.findall(r"\b(?:[Pp]ass|or) ([a-z_]+)=", text)
    }
    assert len(named) > 8
    known = {option_of(name) for name in named}
    assert known <= OPTIONS


@pytest.mark.parametrize(
    ("message", "worded"),
    [
        ("Else pass markers=['a b', '?'].", "Else pass --marker 'a b' --marker '?'."),
        ("Or pass force=True to replace it.", "Or pass --force to replace it."),
        ("x; pass n_clusters=NUMBER for more.", "x; pass --clusters NUMBER for more."),
        ("pass date=['born=%d.%m.%Y'].", "pass --date born=%d.%m.%Y."),
        ("No column 'a' (given as ignore).", "No column 'a' (given as --ignore)."),
        ("Pass task='classes' now.", "Pass --task classes now."),
        (
            "To use it, pass numeric=[NAME], text=[NAME] or date=[NAME].",
            "To use it, pass --numeric NAME, --text NAME or --date NAME.",
        ),
        (
            "Two kinds (given as numeric and text).",
            "Two kinds (given as --numeric and --text).",
        ),
        ("Rows stay. Pass a larger memory_budget (MiB) for it.", "Rows stay."),
        ("Two (suggest_rows says which).", "Two ('fewlabels ask' says which)."),
        ("A cell holds 'date=x'.", "A cell holds 'date=x'."),
        ("or pass markers=['k.A.'].", "or pass --marker 'k.A.'."),
    ],
)
def test_words(message, worded):
    assert in_options(message) == worded
    assert in_options(worded) == worded
