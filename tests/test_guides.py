"""The examples of the user guide run."""

# SPDX-License-Identifier: BSD-3-Clause

import doctest
from pathlib import Path

import numpy as np
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


def test_the_first_example():
    """The code of the README runs and scores what it says."""
    readme = DOCS.parent / "README.md"
    if not readme.exists():
        pytest.skip("the README is not part of this distribution")
    code = readme.read_text().split("```python\n")[1].split("```")[0]
    names = {}
    exec(code, names)
    X, y_true = names["X"], names["y_true"]
    model = names["model"]
    assert f"# {model.score(X, y_true):.2f}\n" in code
    alone = np.mean(model.baseline_.predict(X) == y_true)
    assert f"alone: {alone:.2f} right" in code
