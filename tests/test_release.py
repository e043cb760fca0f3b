"""What a release says about itself is said once, or the same everywhere."""

# SPDX-License-Identifier: BSD-3-Clause

import re
import tomllib
from pathlib import Path

import pytest

import fewlabels

ROOT = Path(__file__).parents[1]


def text_of(name):
    if not (ROOT / name).exists():
        pytest.skip(f"{name} is not part of this distribution")
    return (ROOT / name).read_text()


def test_the_version_comes_from_one_place():
    project = tomllib.loads(text_of("pyproject.toml"))
    assert project["project"]["dynamic"] == ["version"]
    source = ROOT / project["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{fewlabels.__version__}"' in source.read_text()


def test_the_citation_has_the_version():
    assert f"version: {fewlabels.__version__}\n" in text_of("CITATION.cff")


def test_the_changelog_has_the_version():
    newest = re.search(r"^## (\S+)", text_of("CHANGELOG.md"), flags=re.MULTILINE)
    assert newest.group(1) == fewlabels.__version__


def test_every_extra_is_described():
    extras = tomllib.loads(text_of("pyproject.toml"))["project"][
        "optional-dependencies"
    ]
    page = text_of("docs/install.md")
    assert [name for name in extras if f"`{name}`" not in page] == []
