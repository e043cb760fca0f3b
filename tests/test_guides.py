"""The examples of the user guide run."""

# SPDX-License-Identifier: BSD-3-Clause

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
GUIDES = sorted(path for path in DOCS.glob("*.md") if ">>>" in path.read_text())
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def test_there_are_guides():
    if not DOCS.exists():
        pytest.skip("the documentation is not part of this distribution")
    assert len(GUIDES) >= 4


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_examples(path):
    result = doctest.testfile(str(path), module_relative=False, optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0
