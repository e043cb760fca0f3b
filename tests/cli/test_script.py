"""The installed command, as a process of its own."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

SCRIPT = Path(sys.executable).parent / "fewlabels"


@pytest.fixture(scope="session")
def command():
    """The console script of this installation, or else the module."""
    if SCRIPT.exists():
        return [str(SCRIPT)]
    return [sys.executable, "-m", "fewlabels"]


def table(n_rows):
    rng = np.random.default_rng(0)
    kinds = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, 3)) + 4 * kinds[:, None]
    lines = ['"x";y;z;name;kind']
    for k, row in enumerate(X):
        label = "ab"[kinds[k]] if k < 12 else "?"
        lines.append(f'{row[0]:.2f};"{row[1]:.3f}"; {row[2]:.1f};"n""{k}\nü";{label}')
    return ("\r\n".join(lines)).encode()


def test_a_pipe(command):
    data = table(60)
    run = subprocess.run(
        [*command, "label", "-", "--target", "kind", "--marker", "?", "--bank", "fast"],
        input=data,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    records, found = data.split(b"\r\n"), run.stdout.split(b"\r\n")
    assert found[0] == records[0] + b";kind_predicted;kind_confidence;kind_source"
    for k, (before, after) in enumerate(zip(records[1:], found[1:], strict=True)):
        assert after.startswith(before + b";" + b"ab"[k % 2 : k % 2 + 1] + b";")
    assert b"60 rows, 12 labels of 2 classes" in run.stderr


@pytest.mark.slow
def test_a_pipe_that_closes(command):
    process = subprocess.Popen(
        [*command, "label", "-", "-t", "kind", "--marker", "?", "--bank", "fast"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()  # as `head` does
    _, errors = process.communicate(table(3000))
    assert b"Traceback" not in errors
    assert process.returncode in (0, 1)


@pytest.mark.slow
def test_exit_codes(command, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,kind\n1,\n2,\n")
    run = subprocess.run(
        [*command, "label", path, "-t", "kind"], capture_output=True, check=False
    )
    assert run.returncode == 1
    assert b"Traceback" not in run.stderr


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run(command, tmp_path, number):
    """A bar appears on a terminal; Ctrl-C is answered at once and leaves nothing."""
    source, out = tmp_path / "t.csv", tmp_path / "out.csv"
    source.write_bytes(table(20_000))
    reader, terminal = os.openpty()
    process = subprocess.Popen(
        [
            *(*command, "label", source, "-t", "kind", "--marker", "?"),
            *("--bank", "thorough", "-o", out),
        ],
        stderr=terminal,
    )
    os.close(terminal)
    seen = b""
    while b"%" not in seen:
        seen += os.read(reader, 1000)
    bar, _, after = seen.partition(b"[")[2].partition(b"]")
    assert bar == b"#" * bar.count(b"#") + b"-" * (30 - bar.count(b"#"))
    assert after.split(b"%")[0].strip().isdigit()
    process.send_signal(number)
    started = perf_counter()
    code = process.wait(timeout=60)
    assert perf_counter() - started < 5  # on the busiest machine
    seen += os.read(reader, 1000)
    os.close(reader)
    assert code == 130
    assert b"Interrupted" in seen
    assert b"Traceback" not in seen
    assert os.listdir(tmp_path) == ["t.csv"]


def test_a_missing_file_is_missed_at_once(tmp_path):
    """Before anything is loaded that could read it."""
    code = (
        "import sys; from fewlabels.cli import commands\n"
        "try: commands(sys.argv[1:], standalone_mode=False)\n"
        "except Exception as error: print(error.exit_code, error.message)\n"
        "print(*sys.modules)"
    )
    for arguments in (["label", "no.csv", "-t", "kind"], ["predict", "no.model", "-"]):
        run = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
        message, modules = run.stdout.splitlines()
        assert message == f"2 Cannot read {arguments[1]}: No such file or directory."
        assert not {"numpy", "fewlabels.tabular"} & set(modules.split())


def test_help_is_quick(command):
    """Help loads neither numpy nor anything that needs it."""
    code = (
        "import sys; from fewlabels.cli import commands; "
        "commands(['label', '--help'], standalone_mode=False); "
        "print(*sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "--target" in run.stdout
    loaded = {name.split(".")[0] for name in run.stdout.split("\n")[-2].split()}
    assert not loaded & {"numpy", "scipy", "sklearn", "pandas", "pyarrow"}


@pytest.mark.slow
def test_the_demo(command, tmp_path):
    started = perf_counter()
    run = subprocess.run(
        [*command, "demo", "-o", tmp_path / "demo"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert perf_counter() - started < 60
    assert sorted(os.listdir(tmp_path / "demo")) == [
        "cultivar.fewlabels",
        "grouped.csv",
        "labelled.csv",
        "new_labelled.csv",
        "new_wines.csv",
        "report.html",
        "wines.csv",
    ]
    assert "Compared with the true cultivars, " in run.stderr
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "fewlabels label " in page  # how to reproduce it
