"""Put the built pages beside those of other versions, as GitHub Pages serves them.

The site is the branch gh-pages: a folder for each release, `dev` for the main branch,
switcher.json for the switch between them, and a first page that leads to the newest
release. Without --push it is only put together, in build/site.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "docs/_build/html"
SITE = ROOT / "build/site"
FIRST_PAGE = """<!DOCTYPE html>
<meta charset="utf-8">
<title>fewlabels</title>
<meta http-equiv="refresh" content="0; url={folder}/index.html">
<a href="{folder}/index.html">fewlabels</a>
"""


def git(*arguments: str, where: Path = ROOT) -> str:
    """Output of a git command."""
    done = subprocess.run(
        ["git", "-C", str(where), *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def folder_of(ref: str) -> str:
    """Folder of a version: that of a release for its tag, else `dev`."""
    release = re.fullmatch(r"v(\d+\.\d+(\.\d+)?)", ref)
    return release.group(1) if release else "dev"


def versions(site: Path) -> list[str]:
    """Folders of the site, `dev` first and then the newest release."""
    releases = [
        path.name for path in site.iterdir() if re.fullmatch(r"[\d.]+", path.name)
    ]
    releases.sort(key=lambda name: [int(part) for part in name.split(".")])
    return ["dev"] * (site / "dev").exists() + releases[::-1]


def put(built: Path, site: Path, folder: str) -> None:
    """Replace the pages of one version, and write what leads to all of them."""
    site.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(site / folder, ignore_errors=True)
    shutil.copytree(built, site / folder, ignore=shutil.ignore_patterns(".doctrees"))
    names = versions(site)
    newest = next((name for name in names if name != "dev"), "dev")
    switch = [
        {
            "name": f"{name} (stable)" if name == newest != "dev" else name,
            "version": name,
            "url": f"../{name}/",
            "preferred": name == newest,
        }
        for name in names
    ]
    (site / "switcher.json").write_text(json.dumps(switch, indent=1) + "\n")
    (site / "index.html").write_text(FIRST_PAGE.format(folder=newest))
    (site / ".nojekyll").touch()


def check_out() -> None:
    """Check the branch out into the folder of the site, empty where it is new."""
    shutil.rmtree(SITE, ignore_errors=True)
    git("worktree", "prune")
    if git("ls-remote", "--heads", "origin", "gh-pages"):
        git("fetch", "origin", "+gh-pages:gh-pages")
        git("worktree", "add", str(SITE), "gh-pages")
    else:
        git("worktree", "add", "--detach", str(SITE))
        git("checkout", "--orphan", "gh-pages", where=SITE)
        git("rm", "-r", "--quiet", "--force", ".", where=SITE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--push", action="store_true", help="commit and push gh-pages")
    options = parser.parse_args()
    folder = folder_of(os.environ.get("GITHUB_REF_NAME", "main"))
    if options.push:
        check_out()
    put(BUILT, SITE, folder)
    if options.push:
        author = ["-c", "user.name=fewlabels", "-c", "user.email=fewlabels@localhost"]
        git("add", "--all", where=SITE)
        message = f"Pages of {folder} at {git('rev-parse', '--short', 'HEAD')}"
        git(*author, "commit", "--allow-empty", "-m", message, where=SITE)
        git("push", "origin", "gh-pages", where=SITE)
    print(f"{SITE / folder}; versions: {', '.join(versions(SITE))}")


if __name__ == "__main__":
    main()
