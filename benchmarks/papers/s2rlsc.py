"""Reproduce the papers on S2RLSC: tables, figures and the claims about the solver.

    python benchmarks/papers/s2rlsc.py tables     # 003 table 1, 000 tables 2 and 3
    python benchmarks/papers/s2rlsc.py figures    # 003: 5 and 6, 000: 6 to 10
    python benchmarks/papers/s2rlsc.py claims     # optimality, speed, memory
    python benchmarks/papers/s2rlsc.py            # all of it

Tables are resumable: every finished repetition is a line of a CSV file, and a new call
goes on where the last one stopped. The published numbers are read from the folder that
FEWLABELS_PUBLISHED names; the data come from FEWLABELS_DATA. Set-ups whose data are
missing are named and left out.

003 is F. Gieseke et al., "Speedy local search for semi-supervised regularized
least-squares" (2011), 000 their "Efficient recurrent local search strategies for semi-
and unsupervised regularized least-squares classification" (2012).
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
from benchmarks.papers.s2rlsc_claims import claims
from benchmarks.papers.s2rlsc_experiment import METHODS
from benchmarks.papers.s2rlsc_figures import figures
from benchmarks.papers.s2rlsc_tables import REPETITIONS, tables

RESULTS = Path(__file__).parents[1] / "results"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=["tables", "figures", "claims"])
    parser.add_argument(
        "--only", help="rows whose description contains this text, or a figure"
    )
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.part in (None, "claims"):
        claims(options.out)
    if options.part in (None, "tables"):
        tables(options.out, options.only, options.repetitions, options.methods)
    if options.part in (None, "figures"):
        figures(options.out, options.only)


if __name__ == "__main__":
    main()
