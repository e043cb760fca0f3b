"""Compiled loops where the installation cannot be written, or is used twice at once."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fewlabels

PACKAGE = Path(fewlabels.__file__).parent
# The smallest loop; numba counts how often it was compiled instead of loaded.
CODE = """
import numpy as np
from fewlabels._loops.digests import row_sums
words, sums = np.arange(6, dtype=np.uint64).reshape(3, 2), np.empty((3, 2), np.uint64)
row_sums(words, words[:2], (np.uint64(3), np.uint64(5)), sums)
print(__import__("fewlabels").__file__)
print(sums.tolist(), sum(row_sums.stats.cache_misses.values()))
"""


def start(root, **environment):
    """Run the code with the package that lies in a folder."""
    kept = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, "-c", CODE],
        env={**kept, "PYTHONPATH": str(root), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process, root):
    """What a process found, and how often it compiled."""
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    place, found = out.splitlines()
    assert Path(place).is_relative_to(root)
    sums, misses = found.rsplit(" ", 1)
    return sums, int(misses), errors


@pytest.mark.slow
def test_an_installation_that_cannot_be_written(tmp_path):
    """Numba refuses to cache there; we compile in every process, and say so."""
    shutil.copytree(
        PACKAGE, tmp_path / "fewlabels", ignore=shutil.ignore_patterns("__pycache__")
    )
    # A file in its place stops even a superuser from making the folder.
    (tmp_path / "fewlabels/_loops/__pycache__").touch()
    nowhere = tmp_path / "file"
    nowhere.touch()
    environment = {
        "HOME": str(nowhere / "home"),
        "XDG_CACHE_HOME": str(nowhere / "cache"),
        "LOCALAPPDATA": str(nowhere / "local"),
    }
    sums, _, errors = answer(start(tmp_path, **environment), tmp_path)
    assert "NUMBA_CACHE_DIR" in errors
    # With a folder of its own it is as everywhere.
    environment["NUMBA_CACHE_DIR"] = str(tmp_path / "cache")
    assert answer(start(tmp_path, **environment), tmp_path) == (sums, 1, "")
    assert answer(start(tmp_path, **environment), tmp_path) == (sums, 0, "")


@pytest.mark.slow
def test_processes_that_compile_at_once(tmp_path):
    root = PACKAGE.parent
    together = [start(root, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(3)]
    answers = [answer(process, root) for process in together]
    assert len({sums for sums, _, _ in answers}) == 1
    # What they left behind together is whole.
    later = answer(start(root, NUMBA_CACHE_DIR=str(tmp_path)), root)
    assert later == (answers[0][0], 0, "")


@pytest.mark.slow
def test_a_small_table_waits_for_one_loop_only(tmp_path):
    """The first use after an installation compiles what grows trees, nothing else."""
    pytest.importorskip("click")
    table = tmp_path / "table.csv"
    rows = [f"{i % 7},{i * i % 11},{'ab'[i % 2] if i < 12 else ''}" for i in range(150)]
    table.write_text("\n".join(["u,v,class", *rows]), encoding="utf-8")
    command = [sys.executable, "-m", "fewlabels", "label", str(table), "-t", "class"]
    cache = tmp_path / "cache"
    subprocess.run(
        [*command, "-q", "-o", str(tmp_path / "labelled.csv")],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        timeout=120,
        check=True,
    )
    compiled = {path.name.partition("-")[0] for path in cache.rglob("*.nbi")}
    assert compiled == {"trees._grow"}
