"""Results of the runs: reading, means over splits, and tables."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import math
from collections import defaultdict
from statistics import mean

from benchmarks.reports.fill import markdown_table

OURS = "fewlabels"
# What is told the true sizes of the classes is no rival, but an upper bound.
TOLD = ("poisson (true sizes)", "PoissonMBO (true sizes)")
NAMES = {
    "FewLabelsClassifier": "FewLabels",
    "S2RLSClassifier": "S2RLS",
    "LaplacianSVC": "LapSVC",
    "LaplacianRLSClassifier": "LapRLS",
    "HarmonicFunctionClassifier": "Harmonic",
    "SelfTraining(SVC)": "SelfTr.",
    "LabelPropagation": "LabelProp.",
    "LabelSpreading": "LabelSpr.",
    "HistGradientBoosting": "HistGB",
    "laplace": "gl laplace",
    "poisson": "gl poisson",
    "poisson (true sizes)": "gl poisson, told sizes",
    "PoissonMBO (true sizes)": "gl PoissonMBO, told sizes",
    "TriTraining": "sslearn tri-training",
    "DemocraticCoLearning": "sslearn democratic",
    "CleanLearning(SVC)": "cleanlab SVC",
    "NormalizedSpectralClustering": "NormSpectral",
    "NormalizedSpectralClustering, multilevel": "the same, multilevel",
    "NystromSpectralClustering": "Nystrom",
    "SpectralClustering": "sk spectral",
    "spectral": "gl spectral",
}


def read(folder, task):
    path = folder / f"peers_{task}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as handle:
        return list(csv.DictReader(handle))


def table(header, rows):
    """Return a table for the report."""
    rows = list(rows)
    return markdown_table(header, rows).rstrip() if rows else "Not run yet."


def short(status):
    """Say in a cell why there is no figure."""
    if status.startswith("error"):
        return "error"
    if status.startswith("not installed"):
        return "not installed"
    return "no data" if status.startswith("no data") else status


def label_of(line):
    return f"{line['set']}, {line['n_labels']}"


def set_of(line):
    return line["set"]


def problem_of(line):
    return f"{line['set']}, lam {line['lam']}"


def run_of(line):
    return line["method"] + ("" if line["setting"] == "defaults" else " x 10")


def rows_of(line):
    return f"{int(line['n']):,}"


def of_setting(lines, setting):
    return [line for line in lines if line["setting"] == setting]


class Means:
    """Means over the splits of every case and method, and why some are missing."""

    def __init__(self, lines, case, column):
        values = defaultdict(list)
        self.missing = {}
        self.cases, self.methods = {}, {}
        for line in lines:
            key = case(line), line["method"]
            self.cases[key[0]] = None
            self.methods[line["method"]] = line["library"]
            if line["status"] != "ok":
                self.missing[key] = short(line["status"])
            elif line.get(column):
                values[key].append(float(line[column]))
        # A method that failed on a split has no mean: it would be of other splits.
        self.values = {k: mean(v) for k, v in values.items() if k not in self.missing}

    def get(self, case, method, default=None):
        """Return the mean of one method on one case."""
        return self.values.get((case, method), default)

    def best(self, case, library=None):
        """Return the least mean of a case and its method, of some libraries."""
        found = [
            (self.values[case, m], m)
            for m, own in self.methods.items()
            if (case, m) in self.values
            and m not in TOLD
            and (library is None or library(own))
        ]
        return min(found, default=(math.inf, ""))

    def table(self, first, digits):
        """Return cases by methods, the least of a row in bold, and the mean."""
        rows = [self._row(case, digits) for case in self.cases]
        shown = [
            m for m in self.methods if any((c, m) in self.values for c in self.cases)
        ]
        # A method that fails on some cases has no mean: it would be of other cases.
        whole = [m for m in shown if all((c, m) in self.values for c in self.cases)]
        if len(self.cases) > 1 and whole:
            means = {m: mean(self.values[c, m] for c in self.cases) for m in whole}
            rivals = [value for m, value in means.items() if m not in TOLD]
            least = f"{min(rivals, default=math.inf):{digits}}"
            name = f"mean of {len(self.cases)}"
            rows.append([name, *self._cells(means, least, digits, {})])
        return table([first, *(NAMES.get(m, m) for m in self.methods)], rows)

    def _row(self, case, digits):
        found = {m: v for (c, m), v in self.values.items() if c == case}
        why = {m: text for (c, m), text in self.missing.items() if c == case}
        least = f"{self.best(case)[0]:{digits}}"
        return [case, *self._cells(found, least, digits, why)]

    def _cells(self, found, least, digits, why):
        for method in self.methods:
            if method not in found:
                yield why.get(method, "")
                continue
            text = f"{found[method]:{digits}}"
            bold = text == least and method not in TOLD
            yield f"**{text}**" if bold else text
