"""The examples of the user guide run."""

# SPDX-License-Identifier: BSD-3-Clause

import doctest
import pkgutil
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import fewlabels
from fewlabels.cli import commands

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
    if "embed_texts" in path.read_text():
        pytest.importorskip("wordllama")
    result = doctest.testfile(str(path), module_relative=False, optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_first_example(capsys):
    """The code of the README runs, prints and scores what it says."""
    readme = DOCS.parent / "README.md"
    if not readme.exists():
        pytest.skip("the README is not part of this distribution")
    code, rest = readme.read_text().split("```python\n")[1].split("```", 1)
    names = {}
    exec(code, names)
    printed = rest.split("```text\n")[1].split("```")[0]
    assert capsys.readouterr().out.split() == printed.split()
    X, y_true, model = names["X"], names["y_true"], names["model"]
    alone = np.mean(model.baseline_.predict(X) == y_true)
    accuracies = f"accurate: {model.score(X, y_true):.2f}; supervised: {alone:.2f}"
    assert accuracies in code


def test_the_names_that_contributors_look_for_exist():
    page = DOCS / "contributing.md"
    if not page.exists():
        pytest.skip("the documentation is not part of this distribution")
    table = page.read_text().split("| question |")[1].split("\n\n")[0]
    names = re.findall(r"`([\w.]+)`", table)
    assert len(names) > 15
    for name in names:
        assert pkgutil.resolve_name(f"fewlabels.{name}")


@pytest.fixture
def networks(monkeypatch):
    """Stand-ins for packages that download networks: embeddings by the letters."""

    class SentenceTransformer:
        def __init__(self, name):
            assert name in {"all-MiniLM-L6-v2", "clip-ViT-B-32"}

        def encode(self, items):
            if isinstance(items[0], str):
                letters = "abcdefghijklmnopqrstuvwxyz"
                return np.array(
                    [[text.lower().count(a) for a in letters] for text in items]
                )
            return np.array([np.asarray(image, float).mean((0, 1)) for image in items])

    def load_dataset(name, split):
        assert (name, split) == ("ag_news", "test")
        words = ["goal match team", "bank shares profit"]
        texts = [f"{words[row % 2]} {chr(97 + row % 7)}" for row in range(60)]
        return {"text": texts, "label": [row % 2 for row in range(60)]}

    for name, member in [
        ("sentence_transformers", SentenceTransformer),
        ("datasets", load_dataset),
    ]:
        module = types.ModuleType(name)
        setattr(module, member.__name__, member)
        monkeypatch.setitem(sys.modules, name, module)


def test_embeddings(networks, tmp_path, monkeypatch, capsys):
    """The blocks for texts, images and data sets run, save for the network."""
    page = DOCS / "embeddings.md"
    if not page.exists():
        pytest.skip("the documentation is not part of this distribution")
    monkeypatch.chdir(tmp_path)
    for name, red in [("cat/1", 255), ("dog/1", 0), ("2", 250), ("3", 5), ("4", 240)]:
        path = tmp_path / "photos" / f"{name}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4), (red, 0, 255 - red)).save(path)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.M)
    whole = [block for block in blocks if ">>>" not in block and "import " in block]
    texts, images, news = whole[1:]  # the first shows the call alone
    names = {}
    exec(texts, names)
    assert names["model"].transduction_.tolist()[0] == "delivery"
    exec(whole[0], names)
    exec(images, names)
    assert names["model"].transduction_.tolist() == ["cat", "dog", "cat", "cat", "dog"]
    assert "cat" in capsys.readouterr().out
    exec(news, names)
    assert "wrong: 0.0" in capsys.readouterr().out


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_commands_exist(path):
    """Commands and options of the command line that a page shows are there."""
    text = path.read_text()
    shown = re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.M)
    shown += re.findall(r"^    (fewlabels .*)$", text, re.M)
    for name, options in re.findall(r"fewlabels ([a-z]+)([^|>\n]*)", "\n".join(shown)):
        command = commands.commands[name]
        known = {option for given in command.params for option in given.opts}
        assert set(re.findall(r" (--?[a-z-]+)", options)) <= known, (name, options)


def page_text(path):
    """Text of a page without its code blocks."""
    return re.sub(r"^( *)```.*?^\1```", "", path.read_text(), flags=re.DOTALL | re.M)


def resolves(name):
    """Whether a dotted name leads somewhere in fewlabels."""
    try:
        pkgutil.resolve_name(name)  # imports modules on the way
    except (AttributeError, ModuleNotFoundError):
        return False
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
    names -= {"fewlabels.json", "fewlabels.toml"}  # files
    missing = {name for name in names if not resolves(name)}
    assert missing == set()


def test_the_corrections_name_what_exists():
    page = DOCS / "maths.md"
    if not page.exists():
        pytest.skip("the documentation is not part of this distribution")
    public = set()
    for package in fewlabels._SUBMODULES:
        public |= set(getattr(fewlabels, package).__all__)
    lists = re.findall(r"\((`\w+`(?:,\s+`\w+`)*)[);]", page.read_text())
    names = {name for names in lists for name in re.findall(r"\w+", names)}
    assert len(names) > 60
    assert names <= public


def test_every_page_is_in_the_contents():
    if not DOCS.exists():
        pytest.skip("the documentation is not part of this distribution")
    trees = [
        tree
        for path in DOCS.glob("*.md")
        for tree in re.findall(r"```\{toctree\}(.*?)```", path.read_text(), re.DOTALL)
    ]
    pages = [path.stem for path in DOCS.glob("*.md") if path.stem != "index"]
    assert sorted(set(pages) - set(" ".join(trees).split())) == []


def test_commands_of_the_evidence_exist():
    """Every table of the evidence has a command, and the command a file."""
    evidence = DOCS / "evidence.md"
    if not (evidence.exists() and (DOCS.parent / "benchmarks").exists()):
        pytest.skip("the benchmarks are not part of this distribution")
    scripts = re.findall(r"`python (benchmarks/\S+\.py)", evidence.read_text())
    assert len(scripts) >= 5
    assert [name for name in scripts if not (DOCS.parent / name).exists()] == []
