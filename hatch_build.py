"""Give the README links that work on PyPI's page, which has no folders beside it.

In a workflow of the public repository they lead to the files of that very commit, and
the project gets its addresses. Anywhere else nobody knows an address: links become
their words, and pictures are left out.
"""

# SPDX-License-Identifier: BSD-3-Clause

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# A link or a picture whose target is a file of the checkout.
RELATIVE = re.compile(r"(!?)\[([^]]*)\]\((?!\w+:|#)([^)]+)\)")


def repository(environment: Mapping[str, str]) -> str | None:
    """Address of the public repository, where a workflow of it is running."""
    if "GITHUB_REPOSITORY" not in environment:
        return None
    server = environment.get("GITHUB_SERVER_URL", "https://github.com")
    return f"{server}/{environment['GITHUB_REPOSITORY']}"


def with_addresses(text: str, environment: Mapping[str, str]) -> str:
    """Rewrite links to files."""
    place = repository(environment)
    tag = environment.get("GITHUB_REF_TYPE") == "tag"
    commit = environment.get("GITHUB_REF_NAME" if tag else "GITHUB_SHA", "HEAD")

    def rewritten(link: re.Match[str]) -> str:
        mark, words, target = link.groups()
        if place is None:
            return "" if mark else words
        kind = "raw" if mark else "blob"
        return f"{mark}[{words}]({place}/{kind}/{commit}/{target})"

    return RELATIVE.sub(rewritten, text)


class ReadmeHook(MetadataHookInterface):
    """What hatchling calls for the fields that pyproject.toml leaves open."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill them in."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_addresses(text, os.environ),
        }
        place = repository(os.environ)
        metadata["urls"] = {} if place is None else {"Source": place}
