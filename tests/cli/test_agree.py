"""fewlabels agree, and hints on the command line."""

# SPDX-License-Identifier: BSD-3-Clause

import json

import pytest
from click.testing import CliRunner

from fewlabels.cli import commands

WIDE = "id,Ann,Bo,Cy\n1,a,a,a\n2,b,b,\n3,a,b,b\n4,a,a,b\n5,,b,b\n6,b,b,b\n"
LONG = (
    "mail,who,label,when\n1,Ann,a,2026-01-01\n1,Bo,a,2026-01-01\n"
    "2,Ann,b,2026-01-02\n2,Bo,b,2026-01-01\n2,Ann,a,2026-01-01\n"
)


def run(tmp_path, text, *arguments):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return CliRunner().invoke(commands, ["agree", str(path), *arguments])


def test_columns_of_annotators(tmp_path):
    names = ["-a", "Ann", "-a", "Bo", "-a", "Cy"]
    done = run(tmp_path, WIDE, *names)
    assert done.exit_code == 0, done.output
    assert "6 rows with labels by 3 annotators, 6 of them by two or more" in done.output
    assert "Krippendorff's alpha:" in done.output
    assert "Rows to settle: 2" in done.output
    assert "row 3: Ann says a, Bo says b, Cy says b" in done.output
    found = json.loads(run(tmp_path, WIDE, *names, "--json").stdout)
    assert [s["row"] for s in found["to_settle"]] == ["3", "4"]
    assert [p["n_rows"] for p in found["pairs"]] == [5, 4, 5]


def test_a_long_table_with_times(tmp_path):
    named = ["--row", "mail", "--who", "who", "--said", "label"]
    without = json.loads(run(tmp_path, LONG, *named, "--json").stdout)
    assert len(without["to_settle"]) == 1  # the last opinion in the file counts
    timed = json.loads(run(tmp_path, LONG, *named, "--time", "when", "--json").stdout)
    assert timed["to_settle"] == []
    assert timed["krippendorff"] == pytest.approx(1.0)


def test_what_is_missing_is_said(tmp_path):
    assert "at least two annotators" in run(tmp_path, WIDE, "-a", "Ann").output
    assert "needs --row, --who and --said" in run(tmp_path, LONG, "--who", "who").output
    assert "Dee" in run(tmp_path, WIDE, "-a", "Ann", "-a", "Dee").output


def test_rules_in_the_options_file(tmp_path):
    cells = [f"{w},{k},{w}" for k, w in enumerate(["refund", "thanks"] * 20)]
    rows = [f"{c},{'ab'[k % 2] if k < 8 else ''}" for k, c in enumerate(cells)]
    (tmp_path / "t.csv").write_text("\n".join(["text,n,copy,kind", *rows]))
    (tmp_path / "fewlabels.toml").write_text(
        "target = 'kind'\nrule = ['contains(text, \"refund\") -> a']\nignore='copy'\n"
    )
    arguments = ["label", str(tmp_path / "t.csv"), "--bank", "fast", "--json"]
    done = CliRunner().invoke(commands, [*arguments, "-o", str(tmp_path / "o.csv")])
    assert done.exit_code == 0, done.output
    (source,) = json.loads(done.stdout)["hints"]
    assert source["coverage"] == 0.5
    assert source["n_right"] == source["n_judged"] == 4
    wrong = CliRunner().invoke(
        commands, ["label", str(tmp_path / "t.csv"), "--rule", "n >> 3 -> a"]
    )
    assert wrong.exit_code != 0
    assert "cannot be read" in wrong.output
