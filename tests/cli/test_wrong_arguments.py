"""Every command with every kind of wrong argument: a sentence, in a person's words."""

# SPDX-License-Identifier: BSD-3-Clause

import re
from pathlib import Path

import click
import numpy as np
import openpyxl
import pytest
from click.testing import CliRunner

from fewlabels.cli import commands
from tests.cli.test_commands import text_of

# What no message may show: Python, and names that only code has.
CODE = re.compile(
    r"Traceback|(?<![\w/.'-])(?!\.)[a-z]+(?:_[a-z0-9]+)+(?![\w/.])|"
    r"(?<![\w'%.-])[a-z][a-z_]*=[\w\[('\"]|\bndarray\b|\bdtype\b|\bzero-size\b|<class "
)
# Examples of how to write an option.
ALLOWED = re.compile(
    r"spam=0\.1,ham=0\.9|born=%\S+|--date '?\S+=%\S+|at=%\S+|open_clip:NAME"
)

WRONG = {
    "--target": ["nothing", "Kind", "", "x", "at", "note", "kind,x"],
    "--marker": ["typo", "", "a"],
    "--task": ["both", "numbers"],
    "--class-shares": ["a", "a=1", "a=1,c=2", "a=-1,b=2", "=", "a=x,b=1"],
    "--ignore": ["nothing", "x,y,at,town,note", "", "kind"],
    "--text": ["nothing", "kind", "x"],
    "--categorical": ["nothing", "kind"],
    "--numeric": ["town", "note", "nothing", "kind", "at"],
    "--date": ["x", "town", "at=%m/%d/%y", "at=", "at=%Q", "nothing=%d", "kind"],
    "--scale": ["some"],
    "--text-weight": ["-1", "x", "inf", "0"],
    "--delimiter": ["long", "", ";", '"', "\n"],
    "--encoding": ["utf-99", "utf-16", "ascii", ""],
    "--sheet": ["first", ""],
    "--header-row": ["-1", "x", "7", "9999", "0"],
    "--features": ["missing.npy", "t.csv", "few.npy", "flat.npy"],
    "--batch-rows": ["-1", "x", "3"],
    "--sample-rows": ["1", "x", "200"],
    "--bank": ["slow"],
    "--device": ["tpu", "cuda"],
    "--seed": ["-1", "x", "1.5"],
    "--output": ["nowhere/out.csv", "out.doc", "t.csv", ".", "out.xls"],
    "--report": ["nowhere/r.html", "r.pdf", "t.csv", "."],
    "--min-confidence": ["2", "-1", "x", "nan"],
    "--top": ["0", "x", "99"],
    "--explain": ["0", "x", "999"],
    "--clusters": ["1", "x", "39", "40", "5000"],
    "--number": ["0", "x", "999"],
    "--on": ["nothing", "town", "kind"],
    "--labels-in": ["nothing", "x"],
    "--class": ["", "a,a"],
    "--image": ["0x0", "28", "x", "2x2"],
    "--port": ["-1", "x", "99999"],
    "--scheduler": ["nowhere", "tcp://127.0.0.1:1"],
}
TABLES = (
    *("t.csv", "none.csv", "one.csv", "full.csv", "empty.csv", "head.csv", "row.csv"),
    *("column.csv", "binary.csv", "price.csv", "latin.csv", "twice.csv", "same.csv"),
    *("days.csv", "far.csv", "t.xlsx", "broken.xlsx", "missing.csv", ".", "a.json"),
)
OPTIONS = [
    (name, max(parameter.opts, key=len))
    for name, command in sorted(commands.commands.items())
    if name != "demo"
    for parameter in command.params
    if isinstance(parameter, click.Option) and not parameter.is_flag
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables with all that can be wrong with them."""
    folder = tmp_path_factory.mktemp("wrong")
    rng = np.random.default_rng(0)
    n = 40
    columns = {
        "x": rng.normal(size=n).round(3),
        "y": rng.normal(size=n).round(3),
        "at": [f"2024-{1 + k % 12:02}-{1 + k % 28:02}" for k in range(n)],
        "town": rng.choice(["Oslo", "Rome", "Bonn"], n),
        "note": [f"what is said of the row {k}" for k in range(n)],
        "kind": [*"ababab", *[""] * (n - 6)],
    }

    def write(name, **changed):
        table = {**columns, **changed}
        rows = [list(table), *zip(*table.values(), strict=True)]
        (folder / name).write_text(text_of(rows))
        return rows

    rows = write("t.csv")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append([v.item() if hasattr(v, "item") else v for v in row])
    book.save(folder / "t.xlsx")
    write("none.csv", kind=[""] * n)
    write("one.csv", kind=["a"] * 5 + [""] * (n - 5))
    write("full.csv", kind=["a", "b"] * (n // 2))
    write("price.csv", kind=[f"{v:.3f}" for v in rng.normal(size=30)] + [""] * 10)
    write("days.csv", kind=columns["at"])
    write("same.csv", x=[1] * n, y=[2] * n, at=[""] * n, town=["a"] * n, note=[""] * n)
    write("far.csv", x=np.repeat([0, 1e6, 2e6, 3e6, 4e6], 8) + np.arange(n) % 8)
    (folder / "empty.csv").write_text("")
    (folder / "head.csv").write_text("x,y,kind\n")
    (folder / "row.csv").write_text("x,y,kind\n1,2,a\n")
    (folder / "column.csv").write_text("kind\na\nb\n\n")
    (folder / "twice.csv").write_text("x,x,kind,kind\n1,2,a,b\n2,3,b,a\n3,4,,\n")
    (folder / "binary.csv").write_bytes(rng.bytes(500) + b"\0")
    (folder / "broken.xlsx").write_bytes(b"PK\3\4" + rng.bytes(300))
    (folder / "latin.csv").write_bytes("größe,kind\n1,ä\n2,ö\n3,\n".encode("latin-1"))
    (folder / "a.json").write_text("{not json")
    (folder / "labels.csv").write_text("x,kind\n1,c\n")
    np.save(folder / "few.npy", np.zeros((3, 2)))
    np.save(folder / "flat.npy", np.zeros(n))
    (folder / "no.fewlabels").write_bytes(b"PK\3\4 nothing")
    model = folder / "m.fewlabels"
    run(["fit", str(folder / "t.csv"), "-t", "kind", "-o", str(model), *FAST])
    return folder


FAST = ("--bank", "fast")


def run(arguments):
    result = CliRunner().invoke(commands, arguments, prog_name="fewlabels")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise AssertionError(arguments) from result.exception
    return result


def call(name, folder, table="t.csv", **given):
    """Arguments of a command that would work, but for those that are given."""
    arguments = {"--target": "kind", **given}
    options = {o for p in commands.commands[name].params for o in p.opts}
    first = [str(folder / table)]
    if name == "predict":
        first.insert(0, str(folder / "m.fewlabels"))
    if name == "merge":
        first.append(str(folder / "labels.csv"))
    if name == "studio":
        first.append("--no-browser")
    default = {"fit": "other.fewlabels", "report": "r.html"}
    if name in default and "--output" not in arguments:
        arguments["--output"] = str(folder / default[name])
        first.append("--force")
    if "--bank" in options:
        arguments.setdefault("--bank", "fast")
    kept = {k: v for k, v in arguments.items() if k in options}
    return [name, *first, *(word for pair in kept.items() for word in pair)]


def assert_told_plainly(arguments, folder):
    """Run a command that a person got wrong; its messages are for them."""
    result = run(arguments)
    assert result.exit_code in (0, 1, 2), arguments
    said = result.stderr.replace(str(folder), "").replace(str(Path.cwd()), "")
    found = CODE.search(ALLOWED.sub("", said))
    assert not found, (arguments[0], arguments[2:], found[0], said)
    if result.exit_code:
        assert "Error: " in said, arguments


def starts(name, option, value):
    """The studio waits for a browser where nothing is wrong: only what it refuses."""
    return name == "studio" and (option, value) not in REFUSED_BY_STUDIO


REFUSED_BY_STUDIO = {
    *((option, "nothing") for option in ("--ignore", "--text", "--numeric")),
    *(("--numeric", v) for v in ("town", "note", "kind")),
    *(("--date", v) for v in ("town", "at=%m/%d/%y", "nothing=%d", "kind")),
    *((o, "kind") for o in ("--text", "--categorical")),
    *(("--port", v) for v in WRONG["--port"]),
    *(("--marker", v) for v in ("typo",)),
    *(("--image", v) for v in ("0x0", "28", "x")),
    *(("--features", v) for v in WRONG["--features"]),
    *(("--header-row", v) for v in ("-1", "x", "9999")),
    *(("--delimiter", v) for v in ("long", '"')),
    *(("--encoding", v) for v in ("utf-99",)),
}
COMMANDS = [
    # These do what label does, before they write something else.
    pytest.param(name, marks=pytest.mark.slow) if name in ("fit", "report") else name
    for name in dict.fromkeys(name for name, _ in OPTIONS)
]


@pytest.mark.parametrize("name", COMMANDS)
def test_options(folder, name, monkeypatch):
    monkeypatch.chdir(folder)
    for own, option in OPTIONS:
        for value in WRONG.get(option, ["nonsense"]) if own == name else ():
            if not starts(name, option, value):
                assert_told_plainly(call(name, folder, **{option: value}), folder)


@pytest.mark.parametrize("name", [n for n in COMMANDS if n != "studio"])
def test_tables(folder, name, monkeypatch):
    monkeypatch.chdir(folder)
    for table in TABLES:
        assert_told_plainly(call(name, folder, table), folder)


def test_models_and_labels(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for model in ("no.fewlabels", "t.csv", "missing", ".", "t.xlsx"):
        assert_told_plainly(["predict", model, "t.csv"], folder)
        assert_told_plainly(["merge", "t.csv", model, "-t", "kind"], folder)


@pytest.mark.parametrize("option", ["--delimiter", "--encoding"])
@pytest.mark.parametrize("name", ["label", "ask", "columns", "cluster", "report"])
def test_options_for_text_with_a_workbook(folder, name, option):
    value = {"--delimiter": ";", "--encoding": "cp1252"}[option]
    result = run(call(name, folder, "t.xlsx", **{option: value}))
    assert result.exit_code == 2
    assert f"is not delimited text (given as {option})" in result.stderr


def test_an_encoding_names_its_option(folder):
    error = run(call("label", folder, "latin.csv")).stderr
    assert "pass --encoding cp1252" in error


def test_no_number_of_labels_that_few_labels_cannot_tell(folder):
    error = run(call("label", folder)).stderr
    assert "Next: label more rows" in error
    assert "To halve the error" not in error
