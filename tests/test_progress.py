"""The line that shows how far long work is."""

# SPDX-License-Identifier: BSD-3-Clause

import io

import pytest
from numba import njit

from fewlabels import _progress
from fewlabels._progress import ProgressLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(progress, steps=(0.0, 0.5, 1.0)):
    with ProgressLine(progress, "work") as line:
        for share in steps:
            line.update(share, "so far")


def test_a_callable_gets_every_share():
    shares = []
    run(shares.append)
    assert shares == [0.0, 0.5, 1.0]


def test_a_line_on_request(capsys):
    run(True)
    written = capsys.readouterr().err
    assert "work:   0.0%" in written
    assert "work: 100.0%" in written
    assert written.endswith("\n")
    run(False)
    assert capsys.readouterr().err == ""


def test_auto_waits_and_asks_for_a_terminal(monkeypatch, capsys):
    run("auto")  # no terminal
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    run("auto")  # a terminal, but nothing that takes a while
    assert terminal.getvalue() == ""
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    run("auto")
    assert "100.0%" in terminal.getvalue()


def test_updates_are_rare(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "INTERVAL", 1e6)
    run(True, steps=[0.1] * 100)
    assert capsys.readouterr().err.count("\r") == 1


def test_a_bar_where_there_is_no_name_and_it_can_go(capsys):
    line = ProgressLine(True, None)
    line.clear()
    assert capsys.readouterr().err == ""  # nothing to take away
    line.update(0.5, "so far")
    line.clear()
    _, drawn, blank, rest = capsys.readouterr().err.split("\r")
    assert drawn.rstrip() == "[" + "#" * 15 + "-" * 15 + "]  50%  0 s  so far"
    assert (len(drawn), blank, rest) == (78, " " * 78, "")


def test_a_long_note_stays_on_the_line(capsys):
    ProgressLine(True, "work").update(0.5, "x" * 200)
    assert len(capsys.readouterr().err) == 1 + 78


def test_unknown_progress():
    with pytest.raises(ValueError, match="progress='often' is unknown"):
        ProgressLine("often", "work")


def test_compilation_is_announced(monkeypatch, capsys):
    """A line says so at once, and then what it said before."""
    monkeypatch.setattr(_progress, "INTERVAL", 0.0)
    from fewlabels._loops import trees  # listens from now on

    assert trees.grow_forest is not None

    @njit
    def double(x):
        return 2 * x

    with ProgressLine(True, "work") as line:
        line.update(0.25, "so far")
        assert double(3) == 6
        line.update(0.5, "after")
    written = capsys.readouterr().err.split("\r")
    assert len(written) == 4
    assert "25.0%" in written[1]
    assert "so far" in written[1]
    assert "25.0%" in written[2]
    assert "compiling, once" in written[2]
    assert "compiling" not in written[3]
    with ProgressLine(False, "work"):
        assert double(3.0) == 6.0  # compiled again, for floats
    assert capsys.readouterr().err == ""


def test_the_time_that_is_left():
    line = ProgressLine(False, None)
    assert line._text(0.5, 4.0, "reading").endswith(" 50%  4 s  reading")
    assert line._text(0.25, 20.0, "x").endswith(" 25%  20 s, 60 s left  x")
    assert line._text(0.1, 60.0, "x").endswith(" 10%  60 s, 9 min left  x")
    assert line._text(1.0, 60.0, "x").endswith("100%  60 s  x")
