"""What a person is told: how columns were read, what spoke for a class, what to do."""

# SPDX-License-Identifier: BSD-3-Clause

import json

import numpy as np
import pytest

from tests.cli.test_commands import fewlabels, read, text_of

N = 60


@pytest.fixture
def orders(tmp_path):
    rng = np.random.default_rng(0)
    amounts = rng.lognormal(5, 1, N)
    rows = [["no", "amount", "ordered", "town", "remark", "weight", "vat", "rated"]]
    for k, amount in enumerate(amounts):
        euros = f"{amount:,.2f} €".translate(str.maketrans(",.", ".,"))
        rows.append(
            [
                f"A{k:04d}",
                euros,
                f"{1 + k % 28:02}.{1 + k % 12:02}.2024",
                ("Oslo", "Rome", "Bonn")[k % 3],
                f"something else is said about order {k}",
                "heavy" if k == 7 else f"{1 + k % 5} kg",
                "19 %",
                ("bad" if amount > 150 else "good") if k < 24 else "",
            ]
        )
    path = tmp_path / "orders.csv"
    path.write_text(text_of(rows), encoding="utf-8")
    return path


class TestHowColumnsWereRead:
    def test_in_the_summary(self, orders):
        error = fewlabels("label", orders, "-t", "rated", "--bank", "fast").stderr
        lines = error.splitlines()
        (start,) = (k for k, line in enumerate(lines) if "columns were read" in line)
        kinds = [line.split()[0] for line in lines[start + 1 : start + 6]]
        assert kinds == ["numbers", "dates", "categories", "texts", "left"]
        assert " € -> " in lines[start + 1]
        assert "ordered (01.01.2024 -> 2024-01-01)" in lines[start + 2]
        assert lines[start + 5] == "  left out    no (identifier), vat (constant)"
        assert all(len(line) <= 80 for line in lines[start + 1 : start + 6])
        # Named once.
        assert "Left out, " not in error

    def test_all_columns(self, orders):
        result = fewlabels("columns", orders)
        text = result.stdout
        assert "60 rows, 8 columns." in text
        for part in (
            "number (€)",
            "number (kg)",
            "01.01.2024 -> 2024-01-01",
            "'heavy'",
        ):
            assert part in text
        assert "left out: 60 different values name the rows" in text
        assert "pass --categorical no." in " ".join(text.split())
        assert "pass --numeric, --date, --categorical or --text" in text
        assert max(map(len, text.splitlines()[1:])) <= 88
        assert result.stderr == ""

    def test_corrected(self, orders):
        text = fewlabels("columns", orders, "--text", "town,no").stdout
        assert [line.split()[1] for line in text.splitlines() if line[:3] == "no "] == [
            "text"
        ]
        error = fewlabels("columns", orders, "--numeric", "remark", code=1).stderr
        assert "cannot be read as numbers (given as --numeric)" in error

    def test_as_json(self, orders):
        found = json.loads(fewlabels("columns", orders, "--json", "-q").stdout)
        amount = found["columns"][1]
        assert (amount["name"], amount["unit"]) == ("amount", "€")
        cell, became = amount["examples"][0]
        assert cell.endswith(" €")
        float(became)

    def test_in_the_report(self, orders, tmp_path):
        page = tmp_path / "r.html"
        fewlabels("report", orders, "-t", "rated", "--bank", "fast", "-o", page)
        assert "01.01.2024 -&gt; 2024-01-01" in page.read_text(encoding="utf-8")

    def test_of_wide_tables(self, tmp_path):
        values = np.random.default_rng(0).normal(size=(30, 300))
        path = tmp_path / "wide.csv"
        rows = [[f"measured {k}" for k in range(300)], *values.tolist()]
        path.write_text(text_of(rows))
        error = fewlabels("cluster", path, "-k", 2, "-o", tmp_path / "o.csv").stderr
        (line,) = (line for line in error.splitlines() if line.endswith(" more"))
        assert len(line) <= 80


class TestExplain:
    def test_a_row(self, orders, tmp_path):
        options = ("-t", "rated", "--bank", "fast", "--ignore", "remark")
        out = tmp_path / "o.csv"
        result = fewlabels(
            *("label", orders, *options, "-o", out, "--json"),
            *("--explain", 30, "--explain", 2),
        )
        said = result.stderr
        row = read(out)[29]
        label = row["rated_predicted"]
        sure = float(row["rated_confidence"].replace(",", "."))  # as its other numbers
        assert f"Row 30: {label} {sure:.2f}, " in said
        assert "Row 2 (its label was given): " in said
        for word in (
            "Labelled rows most like it: row ",
            "Methods, with their",
        ):
            assert word in said
        explained = json.loads(result.stdout)["explained"][0]
        # The label is made from the amount, and no other column.
        assert explained["columns"][0][0] == "amount"
        assert sum(share for _, share, _ in explained["families"]) > 0.5

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("-t", "rated", "--explain", 61), "There is no row 61 to explain"),
            (("-t", "amount", "--explain", 1), "Only classes can be explained"),
        ],
    )
    def test_what_cannot_be(self, orders, options, message):
        error = fewlabels("label", orders, *options, "--bank", "fast", code=1).stderr
        assert message in error


class TestAskForANewColumn:
    def test_a_new_name_may_resemble_another(self, tmp_path):
        table = tmp_path / "t.csv"
        table.write_text("Note,Tel\n" + "".join(f"{k},{k % 3}\n" for k in range(30)))
        for name in ("Neu", "Urteil"):
            assert "yet" in fewlabels("ask", table, "-t", name, "-n", 2).stderr
        assert "Did you mean" in fewlabels("ask", table, "-t", "Noet", code=2).stderr

    def test_it_is_begun(self, orders, tmp_path):
        result = fewlabels("ask", orders, "-t", "kind", "-n", 3)
        assert "There is no column 'kind' yet: add it to the table" in result.stderr
        assert len(result.stdout.splitlines()) == 4
        out = tmp_path / "ask.csv"
        result = fewlabels("ask", orders, "-t", "kind", "-n", 3, "-o", out)
        assert "bring the labels back with 'fewlabels merge'" in result.stderr
        rows = read(out)
        assert [row["kind"] for row in rows] == [""] * 3
        # Filled in, they come back.
        for row in rows:
            row["kind"] = "new"
        out.write_text(text_of([list(rows[0]), *(r.values() for r in rows)]))
        merged = tmp_path / "merged.csv"
        fewlabels("merge", orders, out, "-t", "kind", "-o", merged)
        assert sum(row["kind"] == "new" for row in read(merged)) == 3

    def test_a_slip_is_none(self, orders):
        error = fewlabels("ask", orders, "-t", "rate", code=2).stderr
        assert "Did you mean 'rated'?" in error
