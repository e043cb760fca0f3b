"""The examples of the user guide run."""

# SPDX-License-Identifier: BSD-3-Clause

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

import fewlabels

DOCS = Path(__file__).parents[1] / "docs"
GUIDES = sorted(path for path in DOCS.glob("*.md") if ">>>" in path.read_text())
# A source distribution has no guides; the README refers to their pictures.
PAGES = [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"] if DOCS.exists() else []
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


def page_text(path):
    """Text of a page without its code blocks."""
    return re.sub(r"^( *)```.*?^\1```", "", path.read_text(), flags=re.DOTALL | re.M)


def resolves(name):
    """Whether a dotted name leads somewhere in fewlabels."""
    found = fewlabels
    for part in name.removeprefix("fewlabels.").split("."):
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_between_pages(path):
    """Pages, pictures, examples and files that a page refers to are there."""
    text = page_text(path)
    targets = set(re.findall(r"\]\(([^)#\s]+)", text))
    targets |= {
        f"{name.split('<')[-1].rstrip('>').strip()}.md"
        for name in re.findall(r"\{doc\}`([^`]+)`", text)
    }
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue  # an address outside
        gallery = re.match(
            r"auto_examples/(?:images/sphx_glr_)?(\w+?)(?:_\d{3}\.png|\.rst)", target
        )
        if gallery:
            name = gallery.group(1)
            source = "README.rst" if name == "index" else f"{name}.py"
            assert (DOCS.parent / "examples" / source).exists(), target
        elif target != "api.md":  # the one page that is not Markdown
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_names_exist(path):
    """What a page says about names of fewlabels is true."""
    text = page_text(path)
    names = set(re.findall(r"`~?(fewlabels(?:\.\w+)+)[`(]", text))
    names |= set(re.findall(r"<(fewlabels(?:\.\w+)+)>`", text))
    names -= {"fewlabels.json"}  # a file
    missing = {name for name in names if not resolves(name)}
    assert missing == set()


def test_the_corrections_name_what_exists():
    page = DOCS / "maths.md"
    if not page.exists():
        pytest.skip("the documentation is not part of this distribution")
    public = set()
    for package in fewlabels._SUBMODULES:
        public |= set(getattr(fewlabels, package).__all__)
    lists = re.findall(r"\((`\w+`(?:,\s+`\w+`)*)\)", page.read_text())
    names = {name for names in lists for name in re.findall(r"\w+", names)}
    assert len(names) > 60
    assert names <= public


def test_every_page_is_in_the_contents():
    if not DOCS.exists():
        pytest.skip("the documentation is not part of this distribution")
    contents = (DOCS / "index.md").read_text().split()
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert pages <= set(contents)


def test_commands_of_the_readme_exist():
    """Every figure of the README has a command, and the command a file."""
    readme = DOCS.parent / "README.md"
    if not (readme.exists() and (DOCS.parent / "benchmarks").exists()):
        pytest.skip("the benchmarks are not part of this distribution")
    scripts = re.findall(r"`python (benchmarks/\S+\.py)", readme.read_text())
    assert len(scripts) >= 5
    assert [name for name in scripts if not (DOCS.parent / name).exists()] == []
