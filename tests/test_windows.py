"""What fails on Windows only, as far as it can be tried elsewhere."""

# SPDX-License-Identifier: BSD-3-Clause

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from fewlabels.cli import commands
from fewlabels.tabular import read_table

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "docs", "examples", "benchmarks", ".github", "recipe")
MADE = {"__pycache__", "_build", "auto_examples", "generated"}
# Names that Windows keeps for devices, whatever their suffix.
DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
TABLE = "größe,y,kind\n1,2,日本\n1.1,2.1,日本\n1.2,2,\n5,6,été\n5.1,6.2,été\n5.2,6,\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "tä ble.csv"
    path.write_bytes(TABLE.replace("\n", "\r\n").encode())
    return path


def run(*arguments):
    """A command whose terminal knows Western European letters only."""
    runner = CliRunner(charset="cp1252")
    result = runner.invoke(commands, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    return result


def test_json_for_a_terminal_of_windows(table, tmp_path):
    out = tmp_path / "out.csv"
    result = run(
        "label", table, "-t", "kind", "-o", out, "--bank", "fast", "--json", "-q"
    )
    assert json.loads(result.stdout)["classes"] == {"日本": 2, "été": 2}
    lines = out.read_bytes().split(b"\r\n")
    assert lines[1].decode() == "1,2,日本,日本,1.0,given"


def test_a_report_to_a_pipe_of_windows(table):
    """The page declares UTF-8, so that is what goes through the pipe."""
    result = run("report", table, "-t", "kind", "-o", "-", "--bank", "fast")
    page = result.stdout_bytes.decode("utf-8")
    assert '<meta charset="utf-8">' in page
    assert "日本" in page


def test_nothing_is_read_in_the_encoding_of_the_system(table, tmp_path):
    """Python warns wherever a file of text is opened without naming its encoding."""
    code = (
        "import sys, warnings; from fewlabels.cli import commands\n"
        "warnings.filterwarnings('error', '', EncodingWarning, 'fewlabels')\n"
        "commands(sys.argv[1:], standalone_mode=False)"
    )
    out = str(tmp_path / "labels.csv")
    arguments = ["label", str(table), "-t", "kind", "-o", out, "--bank", "fast"]
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-c", code, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={
            **os.environ,
            "LC_ALL": "C",
            "PYTHONUTF8": "0",
            "PYTHONCOERCECLOCALE": "0",
        },
    )
    assert done.returncode == 0, done.stderr
    assert read_table(out).names[0] == "größe"


def test_names_of_files_are_those_of_every_system():
    """None differ by case alone, is a device, or has a sign that is not allowed."""
    paths = [
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if not MADE & set(path.relative_to(ROOT).parts)
    ]
    assert len(paths) > 300
    seen = {}
    for path in paths:
        assert seen.setdefault(path.casefold(), path) == path
        for part in path.split("/"):
            assert not DEVICE.fullmatch(part), path
            assert not re.search(r'[<>:"\\|?*]|[. ]$', part), path
        assert len(path) < 150, path
