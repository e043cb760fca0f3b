"""Check what the distributions hold, or that a tag names the version.

python tests/check_dist.py dist
python tests/check_dist.py --tag v0.1.0
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import re
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]
LARGEST_WHEEL = 1_500_000  # bytes
LARGEST_FILE = 150_000  # in the wheel: no data
LARGEST_SDIST = 3_000_000
STRAY = re.compile(
    r"__pycache__|\.py[co]$|\.nb[ci]$|(^|/)\.(venv|git|mypy_cache)/|\.npz$"
)


def version() -> str:
    source = (ROOT / "src/fewlabels/__init__.py").read_text(encoding="utf-8")
    return re.search(r'__version__ = "(.+)"', source).group(1)


def sources(*folders: str) -> set[str]:
    """Files of these folders as the working tree has them, caches left out."""
    return {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not STRAY.search(path.relative_to(ROOT).as_posix())
    }


def wheel_faults(path: Path) -> list[str]:
    """What is wrong with a wheel."""
    faults = []
    if not path.name.endswith("-py3-none-any.whl"):
        faults.append("it is not pure")
    if path.stat().st_size > LARGEST_WHEEL:
        faults.append(f"it has {path.stat().st_size} bytes")
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        faults += [
            f"{entry.filename} has {entry.file_size} bytes"
            for entry in archive.infolist()
            if entry.file_size > LARGEST_FILE
        ]
        info = f"fewlabels-{version()}.dist-info"
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        entries = archive.read(f"{info}/entry_points.txt").decode()
    expected = {name.removeprefix("src/") for name in sources("src/fewlabels")}
    inside = {name for name in names if not name.startswith(info)}
    faults += [f"{name} is missing" for name in sorted(expected - inside)]
    faults += [f"{name} does not belong there" for name in sorted(inside - expected)]
    if f"{info}/licenses/LICENSE" not in names:
        faults.append("the licence is missing")
    if "fewlabels = fewlabels.__main__:main" not in entries:
        faults.append("the command is missing")
    links = re.findall(r"\]\((?!https://|#)([^)]*)\)", metadata.get_payload())
    faults += [f"PyPI's page has no {target}" for target in links]
    if metadata["Version"] != version():
        faults.append(f"its version is {metadata['Version']}")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(project["project"]["optional-dependencies"])
    if set(metadata.get_all("Provides-Extra", [])) != extras:
        faults.append("its extras are not those of pyproject.toml")
    return faults


def sdist_faults(path: Path) -> list[str]:
    """What is wrong with a source distribution."""
    faults = []
    if path.stat().st_size > LARGEST_SDIST:
        faults.append(f"it has {path.stat().st_size} bytes")
    with tarfile.open(path) as archive:
        names = {
            name.removeprefix(f"fewlabels-{version()}/") for name in archive.getnames()
        }
    single = {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml"}
    expected = sources("src", "tests", "examples") | single | {"Makefile"}
    faults += [f"{name} is missing" for name in sorted(expected - names)]
    faults += [f"{name} is stray" for name in sorted(names) if STRAY.search(name)]
    return faults


def tag_faults(tag: str, changelog: str) -> list[str]:
    """What keeps a tag from being released."""
    faults = []
    if tag != f"v{version()}":
        faults.append(f"it is not v{version()}, the version of the package")
    newest = re.search(r"^## (.+)$", changelog, flags=re.MULTILINE).group(1)
    if not re.fullmatch(rf"{re.escape(version())} \(\d{{4}}-\d{{2}}-\d{{2}}\)", newest):
        faults.append(
            f"the newest heading of CHANGELOG.md is {newest!r}, without a date"
        )
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--tag")
    options = parser.parse_args()
    if options.tag:
        changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        faults = {options.tag: tag_faults(options.tag, changelog)}
    else:
        (wheel,) = options.folder.glob("*.whl")
        (sdist,) = options.folder.glob("*.tar.gz")
        faults = {wheel.name: wheel_faults(wheel), sdist.name: sdist_faults(sdist)}
    for name, found in faults.items():
        print(f"{name}: {'; '.join(found) or 'as it should be'}")
    sys.exit(any(faults.values()))


if __name__ == "__main__":
    main()
