"""Try an installed wheel as a new user would, without the checkout.

python tests/check_wheel.py README.md

Runs the README's example, labels the demonstration's table, asks the labelling page for
its first question, and prints the licences of everything that was installed. Run it
with the Python of the environment that has the wheel.
"""

# SPDX-License-Identifier: BSD-3-Clause

import json
import re
import subprocess
import sys
import tempfile
import urllib.request
from importlib.metadata import distributions
from pathlib import Path

COPYLEFT = re.compile(r"\b(A?GPL|GNU (Affero )?General Public)", re.IGNORECASE)
FEWLABELS = [sys.executable, "-m", "fewlabels"]


def readme_example(readme: Path) -> None:
    """Run the first Python example."""
    code = readme.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    exec(code, {})


def first_question(table: Path) -> dict:
    """Start the labelling page and return the first row that it asks for."""
    call = [*FEWLABELS, "studio", str(table), "-t", "cultivar", "--no-browser"]
    page = subprocess.Popen(
        call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        for line in page.stdout:
            if address := re.search(r"http://\S+/", line):
                break
        else:
            raise SystemExit("The labelling page printed no address.")
        with urllib.request.urlopen(f"{address[0]}api/next", timeout=60) as answer:
            return json.load(answer)
    finally:
        page.terminate()
        page.wait(timeout=30)


def licences() -> dict[str, str]:
    """Return the licence of every installed package."""
    found = {}
    for package in distributions():
        fields = package.metadata
        kinds = [
            line.rpartition(" :: ")[2]
            for line in fields.get_all("Classifier") or []
            if line.startswith("License ::")
        ]
        named = fields.get("License-Expression") or ", ".join(kinds)
        named = named or (fields.get("License") or "unknown").splitlines()[0]
        found[fields["Name"]] = named
    return found


def main() -> None:
    """Try everything."""
    readme_example(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        demo = Path(folder) / "demo"
        subprocess.run([*FEWLABELS, "demo", "--output", str(demo)], check=True)
        question = first_question(demo / "wines.csv")
        print("First question of the page:", str(question)[:200])
    subprocess.run([sys.executable, "-m", "pip", "check"], check=True)
    found = licences()
    for name, licence in sorted(found.items(), key=lambda pair: pair[0].lower()):
        print(f"{name:30} {licence[:60]}")
    strict = [n for n, licence in found.items() if COPYLEFT.search(licence)]
    if strict:
        raise SystemExit(f"Packages with a copyleft licence: {', '.join(strict)}")


if __name__ == "__main__":
    main()
