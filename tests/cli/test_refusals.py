"""What is refused, and what is left out, with a word on what to do instead."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from tests.cli.test_commands import blob_rows, fewlabels, hidden, iris_rows, text_of


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text_of(hidden(blob_rows(["a", "b"])[0])))
    return path


def written(path, **columns):
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    path.write_text(text_of(rows))
    return path


class TestClusterWithLabels:
    """Labels are no features, whether their column is named or not."""

    @pytest.fixture
    def iris(self, tmp_path):
        path = tmp_path / "iris.csv"
        path.write_text(text_of(iris_rows()))
        return path

    def test_guessed(self, iris):
        plain = fewlabels("cluster", iris, "-k", 3, "--ignore", "species")
        result = fewlabels("cluster", iris, "-k", 3)
        assert result.stdout == plain.stdout
        assert "Column 'species' is left out: it looks like labels, with 3" in (
            result.stderr
        )
        assert "pass --categorical species." in result.stderr
        used = fewlabels("cluster", iris, "-k", 3, "--categorical", "species")
        assert "left out" not in used.stderr
        assert used.stdout != plain.stdout

    def test_named(self, tmp_path):
        """A column without any missing value can only be known by its name."""
        path = tmp_path / "full.csv"
        path.write_text(text_of(iris_rows(per_class=50)))
        plain = fewlabels("cluster", path, "-k", 3, "--ignore", "species")
        result = fewlabels("cluster", path, "-k", 3, "--target", "species")
        assert result.stdout == plain.stdout
        options = ("--target", "species", "--text", "species")
        error = fewlabels("cluster", path, *options, code=1).stderr
        assert "'species' holds the labels" in error
        error = fewlabels("cluster", path, "-t", "spezies", code=2).stderr
        assert "Did you mean 'species'?" in error

    def test_of_an_earlier_run(self, iris, tmp_path):
        out = tmp_path / "out.csv"
        fewlabels("label", iris, "-t", "species", "--bank", "fast", "-o", out)
        result = fewlabels("cluster", out, "-k", 3)
        for name in ("species_predicted", "species_confidence", "species_source"):
            assert f"Column '{name}' is left out: an earlier run" in result.stderr


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            [f"2024-{1 + k % 12:02}-{1 + k:02}" for k in range(25)],
            "holds dates, such as '2024-01-01'",
        ),
        (
            [f"note {k} about the thing {k % 7}" for k in range(25)],
            "holds free text, such as",
        ),
        ([f"X{k:03}" for k in range(25)], "holds a value of its own for nearly every"),
    ],
    ids=["dates", "text", "names"],
)
def test_a_target_without_labels(tmp_path, labels, message):
    x = np.random.default_rng(0).normal(size=40).round(3)
    path = written(tmp_path / "t.csv", x=x, y=x[::-1], kind=[*labels, *[""] * 15])
    for command in ("label", "ask", "report", "fit"):
        out = tmp_path / "out"
        error = fewlabels(command, path, "-t", "kind", "-o", out, code=1).stderr
        assert message in error
        assert "A label is the name of a class that many rows share" in error
        assert "pass --task classes" in error
        assert not out.exists()


def test_a_target_that_somebody_says_is_one(tmp_path):
    days = ["2024-01-01", "2024-06-01", "2024-12-01"]
    x = np.repeat([0.0, 5.0, 10.0], 10) + np.linspace(0, 1, 30).round(3)
    labels = [d for d in days for _ in range(10)]
    path = written(tmp_path / "t.csv", x=x, day=[*labels[:28], "", ""])
    assert "holds dates" in fewlabels("label", path, "-t", "day", code=1).stderr
    options = ("-t", "day", "--task", "classes", "--bank", "fast")
    assert "2024-12-01" in fewlabels("label", path, *options).stdout.splitlines()[-1]


def test_labels_of_one_row_each_may_be_classes(tmp_path):
    path = written(
        tmp_path / "t.csv",
        x=[0, 1, 10, 11, 20, 21],
        kind=["a red one here", "", "a green one here", "", "a blue one here", ""],
    )
    assert "a blue one" in fewlabels("label", path, "-t", "kind").stdout


@pytest.mark.parametrize("name", ["r.pdf", "r.csv", "r.docx"])
def test_a_report_is_a_page(table, tmp_path, name):
    page = tmp_path / name
    for command in (["report", "-o"], ["label", "--report"], ["ask", "--report"]):
        error = fewlabels(command[0], table, "-t", "kind", command[1], page, code=2)
        assert "A report is an HTML page" in error.stderr
        assert "name it r.html" in error.stderr
        assert not page.exists()


class TestMarkers:
    @pytest.mark.parametrize("command", ["label", "ask", "studio", "report"])
    def test_a_mark_that_no_cell_has(self, table, command):
        error = fewlabels(command, table, "-t", "kind", "--marker", "tbd", code=1)
        assert "No cell of 'kind' is 'tbd'" in error.stderr
        assert "(given as --marker)" in error.stderr

    def test_another_case(self, table):
        error = fewlabels("label", table, "-t", "kind", "--marker", "A", code=1).stderr
        assert "Did you mean 'a'?" in error

    def test_signs_that_always_mean_no_label(self, table):
        options = ("-t", "kind", "--marker", "NA", "--bank", "fast")
        assert "10 labels of 2 classes" in fewlabels("label", table, *options).stderr


def test_merging_on_a_key_that_repeats(tmp_path):
    path = written(
        tmp_path / "t.csv", id=[1, 2, 2, 3], x=[4, 5, 6, 7], kind=["", "", "", "a"]
    )
    labels = written(tmp_path / "l.csv", id=[1, 2], kind=["b", "c"])
    arguments = ("merge", path, labels, "-t", "kind", "--on", "id")
    error = fewlabels(*arguments, code=1).stderr
    assert "'id' does not identify a row (given as --on): '2' is in rows 2, 3." in error
    # Keys that no label is for may repeat.
    written(labels, id=[1], kind=["b"])
    assert fewlabels(*arguments).stdout == text_of(
        [["id", "x", "kind"], [1, 4, "b"], [2, 5, ""], [2, 6, ""], [3, 7, "a"]]
    )


def test_merging_on_a_column_that_one_table_lacks(tmp_path):
    path = written(tmp_path / "t.csv", id=[1, 2], x=[4, 5], kind=["", "a"])
    labels = written(tmp_path / "l.csv", Id=[1], kind=["b"])
    arguments = ("merge", path, labels, "-t", "kind", "--on")
    error = fewlabels(*arguments, "idd", code=1).stderr
    assert "The table has no column 'idd' to find its rows by (given as --on)" in error
    assert "Did you mean 'id'?" in error
    error = fewlabels(*arguments, "id", code=1).stderr
    assert "The table with the labels has no column 'id'" in error


def test_a_table_of_labels_alone(tmp_path):
    path = written(tmp_path / "t.csv", kind=["a", "b", "a", "?"])
    error = fewlabels("label", path, "-t", "kind", code=1).stderr
    assert "no column to learn from" in error


@pytest.mark.parametrize("command", ["label", "ask", "cluster", "studio", "report"])
def test_two_kinds_for_a_column(table, command):
    target = () if command == "cluster" else ("-t", "kind")
    options = (*target, "--text", "x", "--numeric", "x")
    error = fewlabels(command, table, *options, code=1).stderr
    assert "only one kind (given as --numeric and --text)" in error


def test_a_studio_for_a_target_with_a_kind(table):
    error = fewlabels("studio", table, "-t", "kind", "--text", "kind", code=1).stderr
    assert "'kind' holds the labels and is never used as a feature" in error
