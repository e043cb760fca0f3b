"""Options in a file next to the table."""

# SPDX-License-Identifier: BSD-3-Clause

import openpyxl
import pytest

from tests.cli.test_commands import blob_rows, fewlabels, hidden, text_of


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    rows = hidden(blob_rows(["a", "b"], note=["u", "v"] * 20)[0])
    path.write_text(text_of(rows).replace(",", ";"))
    return path


def options(table, text):
    (table.parent / "fewlabels.toml").write_text(text)


def test_they_are_taken_and_said(table, tmp_path):
    options(
        table,
        'target = "kind"\nignore = ["note", "y"]\nbank = "fast"\nmerge-labels = true\n'
        'seed = 3\nclusters = 4\n[class_shares]\na = 1\n"b" = 2\n',
    )
    page = tmp_path / "r.html"
    result = fewlabels("label", table, "--report", page)
    assert "--target kind" in result.stderr
    for said in ("--ignore note --ignore y", "--bank fast", "--merge-labels"):
        assert said in result.stderr
    assert "--clusters" not in result.stderr  # an option of another command
    assert "1 of 3 columns used" in result.stderr
    assert "a 33.3 %" in result.stderr
    # The report says how to make it again without the file.
    assert "--ignore note --ignore y" in page.read_text()
    assert "From " not in fewlabels("label", table, "--quiet").stderr
    assert "in 4 clusters" in fewlabels("cluster", table).stderr


def test_a_command_says_what_it_does_not_learn_from(table):
    options(table, 'target = "kind"\nbank = "fast"\nrule = ["note = u -> a"]\n')
    result = fewlabels("ask", table, "-n", "2")
    assert "ask does not take --rule of that file" in result.stderr
    assert "does not take" not in fewlabels("label", table).stderr


def test_the_command_wins(table):
    options(table, 'target = "note"\nbank = "fast"\n')
    result = fewlabels("label", table, "-t", "kind")
    assert "From " in result.stderr
    assert "--target" not in result.stderr
    assert "10 labels of 2 classes" in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('taget = "kind"', "there is no option 'taget'. Did you mean 'target'?"),
        ('output = "x.csv"', "'output' works only on the command line."),
        ("force = true", "'force' works only on the command line."),
        ("target = ", "is not TOML: "),
        ("merge-labels = 1", "'merge-labels' needs true or false."),
        ('target = ["a", "b"]', "'target' takes one value only."),
        ("target = true", "'target' needs a text or a number."),
        ('target = "kind"\nseed = -4', "fewlabels.toml are used.)"),
        ('target = "kind"\nbank = "slow"', "fewlabels.toml are used.)"),
    ],
)
def test_mistakes(table, text, message):
    options(table, text)
    error = fewlabels("label", table, "--text", "note", code=2).stderr
    assert message in error


def test_beside_a_workbook(table, tmp_path):
    book = openpyxl.Workbook()
    for line in table.read_text().splitlines():
        book.active.append(line.split(";"))
    book.active.title = "all"
    book.save(tmp_path / "t.xlsx")
    options(table, 'target = "kind"\nbank = "fast"\n')
    out = tmp_path / "o.xlsx"
    error = fewlabels("label", f"{tmp_path / 't.xlsx'}::all", "-o", out).stderr
    assert "--target kind" in error


def test_without_a_table(tmp_path):
    options(tmp_path / "t.csv", "nonsense = 1")
    fewlabels("label", "--help")
    assert "Missing argument" in fewlabels("label", code=2).stderr
    assert (
        "No such file"
        in fewlabels("label", tmp_path / "x/t.csv", "-t", "k", code=2).stderr
    )
