"""Reproduce the paper on Laplacian SVMs in the primal: tables, figures and claims.

    python benchmarks/papers/lapsvm.py select     # weights that the print does not show
    python benchmarks/papers/lapsvm.py tables     # tables 3 to 8, 11, 12
    python benchmarks/papers/lapsvm.py figures    # figures 1 to 9
    python benchmarks/papers/lapsvm.py claims     # agreement, speed, memory, scale
    python benchmarks/papers/lapsvm.py            # all of it

Tables are resumable: every finished split is some lines of a CSV file, and a new call
goes on where the last one stopped. The published numbers and parameters are read from
the folder that FEWLABELS_PUBLISHED names; the data come from FEWLABELS_DATA. Data sets
that are missing are named and left out.

The paper is S. Melacci, M. Belkin, "Laplacian support vector machines trained in the
primal", Journal of Machine Learning Research 12 (2011).
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
from benchmarks.papers.lapsvm_claims import claims
from benchmarks.papers.lapsvm_figures import figures
from benchmarks.papers.lapsvm_tables import REPETITIONS, select, tables

RESULTS = Path(__file__).parents[1] / "results"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "part", nargs="?", choices=["select", "tables", "figures", "claims"]
    )
    parser.add_argument("--only", help="the data set or the figure to run")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.part in (None, "claims"):
        claims(options.out)
    if options.part in (None, "select"):
        select(options.out, options.repetitions)
    if options.part in (None, "tables"):
        tables(options.out, options.only, options.repetitions)
    if options.part in (None, "figures"):
        figures(options.out, options.only)


if __name__ == "__main__":
    main()
