"""Write the tables of the reports from the files of results, in place.

A report is plain Markdown, so that it can be read where it lies. Between a line
`<!-- results/NAME.csv -->` and the next `<!-- end -->` stands the table of that file;
`python benchmarks/reports/fill.py` writes all of them anew.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import re
from pathlib import Path

REPORTS = Path(__file__).parent
RESULTS = REPORTS.parent / "results"
TABLE = re.compile(r"(<!-- results/([\w.-]+\.csv) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def markdown_table(path: Path) -> str:
    """Return the lines of a file of results as a table of Markdown."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [[cell.replace("|", "\\|") for cell in row] for row in csv.reader(file)]
    rows.insert(1, ["---"] * len(rows[0]))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def filled(report: str) -> str:
    """Return the text of a report with the tables of today's results."""
    return TABLE.sub(
        lambda found: f"{found[1]}\n{markdown_table(RESULTS / found[2])}\n", report
    )


def main() -> None:
    """Fill in every report."""
    for path in sorted(REPORTS.glob("*.md")):
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
