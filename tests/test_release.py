"""What a release says about itself is said once, or the same everywhere."""

# SPDX-License-Identifier: BSD-3-Clause

import importlib
import json
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import fewlabels
from tests.check_dist import tag_faults, wheel_faults

ROOT = Path(__file__).parents[1]


def text_of(name):
    if not (ROOT / name).exists():
        pytest.skip(f"{name} is not part of this distribution")
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_comes_from_one_place():
    project = tomllib.loads(text_of("pyproject.toml"))
    assert "version" in project["project"]["dynamic"]
    source = ROOT / project["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{fewlabels.__version__}"' in source.read_text()


@pytest.fixture
def hook(monkeypatch):
    """What hatchling runs, without hatchling."""
    text_of("hatch_build.py")
    there = SimpleNamespace(MetadataHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", there)
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.delitem(sys.modules, "hatch_build", raising=False)
    return importlib.import_module("hatch_build")


def test_links_work_on_the_page_of_the_release(hook):
    text = "![a](b/c.png) [d](e.md) [f](https://g) [h](#i)"
    place = "https://github.com/some/one"
    where = {"GITHUB_REPOSITORY": "some/one", "GITHUB_SHA": "5e1f"}
    assert hook.with_addresses(text, where) == (
        f"![a]({place}/raw/5e1f/b/c.png) [d]({place}/blob/5e1f/e.md) [f](https://g) "
        "[h](#i)"
    )
    where |= {"GITHUB_REF_TYPE": "tag", "GITHUB_REF_NAME": "v1"}
    assert hook.with_addresses("[d](e.md)", where) == f"[d]({place}/blob/v1/e.md)"
    # Where there is no repository, nothing leads astray.
    assert hook.with_addresses(text, {}) == " d [f](https://g) [h](#i)"


def test_files_that_the_readme_names_are_there(hook):
    text_of("docs/evidence.md")  # the pages are not part of every distribution
    links = hook.RELATIVE.findall(text_of("README.md"))
    assert [target for _, _, target in links if not (ROOT / target).exists()] == []


def test_the_citation_has_the_version():
    assert f"version: {fewlabels.__version__}\n" in text_of("CITATION.cff")


def test_the_changelog_has_the_version():
    newest = re.search(r"^## (\S+)", text_of("CHANGELOG.md"), flags=re.MULTILINE)
    assert newest.group(1) == fewlabels.__version__


def test_the_conda_recipe_asks_for_the_same():
    recipe = text_of("recipe/recipe.yaml")
    assert f'version: "{fewlabels.__version__}"' in recipe
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + extras["cli"] + extras["plot"]
    # wordllama is not on conda-forge; texts are then compared by words alone.
    left_out = ("fewlabels", "wordllama")
    wanted = {line for line in wanted if not line.startswith(left_out)}
    run = recipe.split("  run:\n")[1].split("\ntests:")[0]
    lines = re.findall(r"- (\S+) (\S+)", run)
    # conda-forge keeps Matplotlib without its graphical toolkit under another name.
    given = {f"{name.removesuffix('-base')}{version}" for name, version in lines}
    assert given == wanted | {"python>=${{"}


def workflow_steps():
    """Commands that the workflows of the public repository run, with their file."""
    if not (ROOT / ".github/workflows").exists():
        pytest.skip("the workflows are not part of this distribution")
    return [
        (path.name, command)
        for path in sorted((ROOT / ".github/workflows").glob("*.yml"))
        for command in re.findall(r"^ +(?:- )?run: (.+)$", path.read_text(), re.M)
    ]


def test_workflows_run_make_targets_alone():
    """Nothing is tested in public only: every step can be run at a desk."""
    targets = set(re.findall(r"^([a-z][a-z -]*):", text_of("Makefile"), re.M))
    targets = {name for line in targets for name in line.split()}
    steps = workflow_steps()
    assert len(steps) >= 10
    words = [command.split() for _, command in steps]
    assert {line[0] for line in words} == {"make"}
    assert {line[1] for line in words} <= targets


def test_workflows_try_every_declared_python():
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    declared = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    workflow = text_of(".github/workflows/tests.yml")
    tried = re.search(r"python: \[(.+)\]", workflow).group(1)
    assert re.findall(r"[\d.]+", tried) == declared
    assert project["requires-python"] == f">={declared[0]}"


@pytest.mark.parametrize(
    ("tag", "heading", "fault"),
    [
        (f"v{fewlabels.__version__}", "(2026-12-01)", None),
        (f"v{fewlabels.__version__}", "(unreleased)", "without a date"),
        ("v99.0", "(2026-12-01)", "the version of the package"),
    ],
)
def test_a_tag_is_checked_before_it_is_published(tag, heading, fault):
    faults = tag_faults(tag, f"# Changelog\n\n## {fewlabels.__version__} {heading}\n")
    assert len(faults) == (fault is not None)
    assert fault is None or fault in faults[0]


def test_a_foreign_file_in_the_wheel_is_found(tmp_path):
    """What `make dist` checks: nothing but the package, and all of it."""
    info = f"fewlabels-{fewlabels.__version__}.dist-info"
    path = tmp_path / f"fewlabels-{fewlabels.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Version: {fewlabels.__version__}\n")
        wheel.writestr(f"{info}/entry_points.txt", "")
        wheel.writestr("fewlabels/__init__.py", "")
        wheel.writestr("fewlabels/secret.npz", "")
    faults = wheel_faults(path)
    assert "fewlabels/secret.npz does not belong there" in faults
    assert "fewlabels/_labels.py is missing" in faults
    assert "the licence is missing" in faults
    assert "the command is missing" in faults
    assert "its extras are not those of pyproject.toml" in faults


def test_the_site_has_a_folder_for_each_version(tmp_path):
    pages = pytest.importorskip("docs.site_versions")
    built, site = tmp_path / "html", tmp_path / "site"
    built.mkdir()
    (built / "index.html").write_text("new")
    assert pages.folder_of("main") == pages.folder_of("v0.1.0rc1") == "dev"
    for ref in ["main", "v0.2.0", "v0.10.0"]:
        pages.put(built, site, pages.folder_of(ref))
    assert pages.versions(site) == ["dev", "0.10.0", "0.2.0"]
    switch = json.loads((site / "switcher.json").read_text())
    assert [row["version"] for row in switch if row["preferred"]] == ["0.10.0"]
    assert "url=0.10.0/index.html" in (site / "index.html").read_text()
    (built / "index.html").write_text("newer")
    pages.put(built, site, "0.2.0")
    assert (site / "0.2.0/index.html").read_text() == "newer"
    assert (site / "dev/index.html").read_text() == "new"


def test_every_extra_is_described():
    extras = tomllib.loads(text_of("pyproject.toml"))["project"][
        "optional-dependencies"
    ]
    page = text_of("docs/install.md")
    assert [name for name in extras if f"`{name}`" not in page] == []
