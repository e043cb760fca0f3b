"""Write the tables of the reports from the files of results, in place.

A report is plain Markdown, so that it can be read where it lies. Between a line
`<!-- results/NAME.csv -->` and the next `<!-- end -->` stands the table of that file;
`python benchmarks/reports/fill.py` writes all of them anew.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

REPORTS = Path(__file__).parent
RESULTS = REPORTS.parent / "results"
TABLE = re.compile(r"(<!-- results/([\w.-]+\.csv) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    cells = ([str(cell).replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def table_of(name: str) -> str:
    """Return the table of a file of results."""
    with (RESULTS / name).open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return markdown_table(header, rows)


def filled(report: str) -> str:
    """Return the text of a report with the tables of today's results."""
    return TABLE.sub(lambda found: f"{found[1]}\n{table_of(found[2])}\n", report)


def main() -> None:
    """Fill in every report."""
    for path in sorted(REPORTS.glob("*.md")):
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
