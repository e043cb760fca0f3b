"""Render the page of the comparison from the tables that the runs wrote."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import io
import math
from collections import defaultdict
from statistics import mean

from benchmarks.peers.methods import LABELS

OURS = "fewlabels"
# What the tables show: smaller differences of errors, in points, are none.
VISIBLE = 0.05
# Errors that differ by less, in points, count as equal where seconds are compared.
EQUAL_ERROR = 0.5
# A relative difference of F below this is rounding.
EQUAL_OBJECTIVE = 1e-7
# One fit is faster than another only by at least this factor: timings are noisy.
FASTER = 2.0

LEAD_TEXT = """
What one might use instead of fewlabels, on the same rows and labels, with the default
settings of each library. These are means over all sets of [](#few-labels), of the
methods that have a result on each; seconds are those of one fit.
"""
AFTER_LEAD = """
The cases in which another library is better or faster are listed under
[](#where-to-use-something-else), and [](#how-it-was-run) has the conditions.
"""
PROTOCOL_TEXT = """
This page is written by `make peers` (`python benchmarks/peers/run.py`, which needs the
extra `peers` and continues where it stopped), and not edited by hand. Every library
runs on a case in a process of its own, on one thread, and every method in a fork of it.
Seconds are those of one fit with the answers for all training rows, after a fit to
about 80 rows, which loads compiled code. They come from a shared machine: read them as
orders of magnitude. All results are in `benchmarks/results/peers_*.csv`, with the
seconds to import and to warm up, the memory of the fit by itself, the chosen settings
and the warnings. A fit may take two minutes and 8 GiB; a grid is cut after a limit of
its own, 150 seconds here, and grids that were cut are named. The automatic classifier
and S2RLSC were run after the others, on the same cases; so were the Laplacian and
harmonic classifiers under "Few labels", when the default weights of graphs changed, and
on another machine: their seconds and memory cannot be compared. Those weights were
chosen on other splits of half of these sets ([](graphs.md)). Errors of the
automatic classifier under "Few labels", defaults, were measured again later: they are
newer than its seconds and memory, and than its growth and its grid, but for the grid of
g241c, g241d, bci and g50c, and their seconds and memory.

Rows are given as the loaders return them. A cell says so if a method was over its limit
of time or memory, failed, or its library was missing. HistGradientBoosting wants 20
rows in a leaf by default, and so answers with one class if there are fewer than 40
labels. LabelPropagation and LabelSpreading have gamma = 20 by default, which suits rows
in two dimensions and not rows in hundreds: see them under "best of grid". SelfTraining
has no default classifier; it gets an SVC with probabilities. graphlearning has no
default graph; it gets that of its guide, ten neighbours, from scikit-learn's exact
search where rows have more than five features. ModSSC (which needs NumPy below 2.4) and
AutoGluon cannot be installed beside the versions that the others run with.
"""
LABELS_TEXT = """
Mean error in percent; the smallest of each row is bold. A quarter of the unlabelled
rows is held out of training: these are the new rows. Columns up to Harmonic are
fewlabels, those up to HistGB scikit-learn, `gl` is graphlearning, which does not
predict new rows. SVC and HistGB see the labelled rows only. The last row is the mean
over all rows, for methods that have a result in each.
"""
LATE_TEXT = """
Methods that have run on fewer splits, with three from above on the same splits. "Told
sizes" are methods that are given the true shares of the classes: an upper bound, which
is never bold. sslearn's wrappers have their own classifiers, and their answers differ
from run to run although `random_state` is set; cleanlab, made for wrong labels and not
for missing ones, has an SVC and fails if a class has fewer labels than its five folds.
"""
GRID_TEXT = """
The setting with the least error on the unlabelled rows, judged by their TRUE labels,
for fewlabels and for all others alike: what a method could reach, not what anyone would
get. The grids are in `benchmarks/peers/methods.py`, the chosen settings in the CSV
file.
"""
MNIST_TEXT = """
`python benchmarks/peers/mnist.py run`, then `report`: accuracy in percent on all 70,000
digits but the labelled ones, with one, two, three or five labels of every class. The
published figures are those of the authors of Poisson learning, means over 100 draws of
labels (p-Laplace 10). They worked on the codes of a variational autoencoder, which are
not available; ours are on the pixels themselves, and on the codes of an autoencoder of
the same kind, with 400 and 20 units (`benchmarks/mnist_vae.py`). Only the draws are the
same: the first ten of theirs, whose rows have the right number of labels of each class
in our order of the digits. Our figures are means with one standard deviation over the
draws. "True sizes" are methods that are told how many rows each class has
(`class_prior`).

With a single label of every class held-out labels cannot say anything, and the
automatic classifier takes a fixed average; its row on the codes with 10 labels was
measured with an earlier one, which had 83.5 % on the pixels. Codes with 20 columns
are taken for a table, whose average is two thirds supervised: better say
`scale="none"`. On codes of a shorter training (15 epochs; six draws, 2,500 of the
rows) the average has 90.6 % so, and 75.5 % without, and Poisson learning on the same
graphs 88.8 %. On the codes and draws of the table Poisson learning
(`GraphRegularizationClassifier(method="poisson")`, [](graph_labels.md)) has 94.1 %.
From two labels on the two are about equal, and told the sizes, on the codes, the
automatic classifier comes within a point of PoissonMBO.
"""
CLUSTERS_TEXT = """
As many clusters as classes; error in percent after the best matching of clusters and
classes. The first four columns are fewlabels. The spectral clusterings of scikit-learn
and graphlearning do not predict new rows.
"""
PARTITION_TEXT = """
The partition problem of `S2RLSClassifier` (Gaussian kernel, gamma as "scale", two
classes, no bounds on their sizes), given to our searches and, as an Ising model with
the same energies, to the samplers of dwave-samplers. The first table has (F - least F
of the column) / least F, the second the seconds from the kernel matrix to the answer;
those of the samplers include the making of their model. "x 10" is ten restarts or
reads, and for TabuSampler a timeout of 1000 ms instead of its 20 ms.
"""
EXACT_TEXT = """
`python benchmarks/peers/exact.py` gives partition problems without labels to SCIP, with
40 seconds each, and to our exact solvers; [the guide](clustering.md) explains the
columns.
"""
GROWTH_TEXT = """
Two moons (noise 0.1) with ten labels, or none for the clusterings; defaults. A method
that was over a limit is not run with more rows. The power p is that of seconds = c n^p
between the two largest n with more than 0.05 seconds.
"""
ELSEWHERE_TEXT = """
Every row above in which a peer wins, computed from the same files.
"""

PICTURE = "peers_growth.png"
# What is told the true sizes of the classes is no rival, but an upper bound.
TOLD = ("poisson (true sizes)", "PoissonMBO (true sizes)")
# What stands beside methods with fewer splits.
BESIDE = ("FewLabelsClassifier", "SVC", "poisson")
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
    """Return a table for the documentation."""
    rows = list(rows)
    if not rows:
        return "Not run yet."
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    options = ":header-rows: 1\n:class: small\n"
    return f"```{{csv-table}}\n{options}\n{text.getvalue()}```"


def file_table(name):
    """Return a table that another benchmark has written."""
    place = f":file: ../benchmarks/results/{name}\n"
    return f"```{{csv-table}}\n{place}:header-rows: 1\n:class: small\n```"


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


def is_ours(library):
    return library == OURS


def of_setting(lines, setting):
    return [line for line in lines if line["setting"] == setting]


def splits_in_words(lines, case):
    """Say how many splits each case has."""
    found = defaultdict(set)
    for line in lines:
        found[case(line)].add(line["split"])
    groups = defaultdict(list)
    for name, splits in found.items():
        groups[len(splits)].append(name)
    parts = [
        f"{n} split{'s' * (n > 1)}: {'; '.join(names)}"
        for n, names in sorted(groups.items(), reverse=True)
    ]
    return ". ".join(parts) + "." if parts else ""


def versions_in_words(lines):
    found = {}
    for line in lines:
        if line.get("version"):
            found[line["library"]] = line["version"]
    return ", ".join(f"{name} {number}" for name, number in sorted(found.items()))


def failures(lines, case):
    """List the jobs without a result, with the reason in full."""
    found = defaultdict(list)
    for line in lines:
        if line["status"] != "ok":
            found[line["method"], line["status"]].append(case(line))
    rows = [
        [method, status, "; ".join(dict.fromkeys(cases))]
        for (method, status), cases in found.items()
    ]
    if not rows:
        return []
    return ["No result:", table(["method", "status", "cases"], rows)]


def summary_section(lines):
    """Return the means of all methods, the smallest error first."""
    lines = of_setting(lines, "defaults")
    columns = ("error_unlabeled", "error_test", "seconds")
    means = [Means(lines, label_of, column) for column in columns]
    first = means[0]

    def cells(method):
        for found, digits in zip(means, (".1f", ".1f", ".2g"), strict=True):
            values = [found.get(case, method) for case in first.cases]
            yield "" if None in values else f"{mean(values):{digits}}"

    rows = [[m, library, *cells(m)] for m, library in first.methods.items()]
    rows = sorted((row for row in rows if row[2]), key=lambda row: float(row[2]))
    header = ["method", "library", "error, %", "error on new rows, %", "seconds"]
    return [LEAD_TEXT, table(header, rows), AFTER_LEAD]


def apart(lines):
    """Split off the methods with fewer splits; some of the others go with them.

    Means over different splits do not compare.
    """
    defaults = of_setting(lines, "defaults")
    splits = defaultdict(set)
    for line in defaults:
        splits[line["method"]].add(line["split"])
    most = max(map(len, splits.values()), default=0)
    late = {method for method, found in splits.items() if len(found) < most}
    common = set.intersection(*(splits[method] for method in late)) if late else set()
    beside = [
        line
        for line in defaults
        if line["method"] in {*late, *BESIDE} and line["split"] in common
    ]
    return [line for line in lines if line["method"] not in late], beside


def labels_section(lines, late):
    defaults = of_setting(lines, "defaults")
    grid = of_setting(lines, "best of grid")

    def show(found, column, digits):
        return Means(found, label_of, column).table("set, labels", digits)

    return [
        "## Few labels",
        LABELS_TEXT,
        "### Defaults, unlabelled rows",
        splits_in_words(defaults, label_of),
        show(defaults, "error_unlabeled", ".1f"),
        "### Defaults, new rows",
        show(defaults, "error_test", ".1f"),
        *late_section(late, show),
        "### Defaults, seconds",
        show(defaults, "seconds", ".2g"),
        "### Defaults, peak memory",
        "MiB that the process of a method has touched: Python, NumPy, the library, the "
        "rows and the fit.",
        show(defaults, "peak_mib", ".0f"),
        "### Best of grid, unlabelled rows",
        GRID_TEXT,
        splits_in_words(grid, label_of),
        show(grid, "error_unlabeled", ".1f"),
        cut_grids(grid),
        "### Best of grid, new rows",
        "Error of the same settings on rows that the choice did not see.",
        show(grid, "error_test", ".1f"),
        *failures(defaults + grid, label_of),
    ]


def late_section(late, show):
    """Methods with fewer splits, beside some of the others."""
    if not late:
        return []
    return [
        "### Defaults, more libraries",
        LATE_TEXT,
        splits_in_words(late, label_of),
        "Unlabelled rows:",
        show(late, "error_unlabeled", ".1f"),
        "New rows:",
        show(late, "error_test", ".1f"),
        *failures(late, label_of),
    ]


def cut_grids(lines):
    cut = [
        f"{line['method']} on {label_of(line)} ({line['tried']} of {line['grid']})"
        for line in lines
        if line["tried"] and int(line["tried"]) < int(line["grid"])
    ]
    if not cut:
        return ""
    return "Grids that were cut off by the limit on time: " + "; ".join(cut) + "."


def clusters_section(lines):
    defaults = of_setting(lines, "defaults")
    grid = of_setting(lines, "best of grid")

    def show(found, column, digits):
        return Means(found, set_of, column).table("set", digits)

    return [
        "## No labels",
        CLUSTERS_TEXT,
        "### Defaults, training rows",
        splits_in_words(defaults, set_of),
        show(defaults, "error_unlabeled", ".1f"),
        "### Defaults, other rows and cost",
        "Error on new rows:",
        show(defaults, "error_test", ".1f"),
        "Seconds:",
        show(defaults, "seconds", ".2g"),
        "Peak memory, MiB:",
        show(defaults, "peak_mib", ".0f"),
        "### Best of grid, training rows",
        "Chosen by the TRUE classes, for all alike.",
        splits_in_words(grid, set_of),
        show(grid, "error_unlabeled", ".1f"),
        cut_grids(grid),
        *failures(defaults + grid, set_of),
    ]


def problem_of(line):
    return f"{line['set']}, lam {line['lam']}"


def run_of(line):
    return line["method"] + ("" if line["setting"] == "defaults" else " x 10")


def partition_section(lines):
    least = {}
    for line in lines:
        if line["status"] == "ok":
            key = problem_of(line)
            least[key] = min(least.get(key, math.inf), float(line["objective"]))
    excesses, seconds = defaultdict(dict), defaultdict(dict)
    for line in lines:
        key, run = problem_of(line), run_of(line)
        if line["status"] != "ok":
            excesses[key][run] = seconds[key][run] = short(line["status"])
            continue
        excess = (float(line["objective"]) - least[key]) / least[key]
        excesses[key][run] = "**0**" if excess < EQUAL_OBJECTIVE else f"{excess:.1e}"
        seconds[key][run] = f"{float(line['seconds']):.2g}"
    parts = ["## One binary problem", PARTITION_TEXT]
    runs = list(dict.fromkeys(run_of(line) for line in lines))
    for found in (excesses, seconds):
        rows = [[run, *(found[key].get(run, "") for key in found)] for run in runs]
        parts.append(table(["search", *found], rows))
    return parts


def growth_section(lines):
    seconds, memory = defaultdict(dict), defaultdict(dict)
    errors, sizes = defaultdict(dict), {}
    for line in lines:
        n, method = int(line["n"]), line["method"]
        sizes[n] = None
        ok = line["status"] == "ok"
        for found, column, digits in (
            (seconds, "seconds", ".2g"),
            (memory, "peak_mib", ".0f"),
            (errors, "error_unlabeled", ".1f"),
        ):
            text = f"{float(line[column]):{digits}}" if ok else short(line["status"])
            found[method][n] = text
    header = ["method", *(f"{n:,}" for n in sorted(sizes))]

    def rows(found):
        for method, cells in found.items():
            yield [method, *(cells.get(n, "") for n in sorted(sizes))]

    exponents = {method: exponent(cells) for method, cells in seconds.items()}
    return [
        "## Growth",
        GROWTH_TEXT,
        f"![Seconds by the number of rows](../benchmarks/results/{PICTURE})",
        "Seconds:",
        table([*header, "power"], [[*row, exponents[row[0]]] for row in rows(seconds)]),
        "Peak memory, MiB:",
        table(header, rows(memory)),
        "Error on unlabelled rows, percent:",
        table(header, rows(errors)),
    ]


def draw_growth(folder):
    """Draw seconds by the number of rows: ours in solid lines, peers in dashed ones."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.4), layout="constrained")
    kinds = (("ten labels", True), ("no labels", False))
    for ax, (title, kind) in zip(
        figure.subplots(1, 2, sharey=True), kinds, strict=True
    ):
        curves = defaultdict(list)
        for line in read(folder, "growth"):
            if line["status"] == "ok" and (line["method"] in LABELS) == kind:
                point = int(line["n"]), float(line["seconds"])
                curves[line["library"], line["method"]].append(point)
        for number, ((library, method), points) in enumerate(curves.items()):
            style = "o-" if library == OURS else "s--"
            x, y = zip(*sorted(points), strict=True)
            colour = f"C{number % 10}"
            ax.loglog(x, y, style, color=colour, markersize=3, label=method)
        ax.set(title=f"two moons, {title}", xlabel="rows")
        ax.grid(alpha=0.3)
        if curves:
            ax.legend(
                fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2
            )
    figure.axes[0].set_ylabel("seconds of a fit")
    figure.savefig(folder / PICTURE, dpi=110)


def exponent(cells):
    """Return the growth of seconds between the two largest n that say something."""
    points = []
    for n, text in sorted(cells.items()):
        try:
            points.append((n, float(text)))
        except ValueError:
            continue
    points = [(n, s) for n, s in points if s > 0.05][-2:]
    if len(points) < 2:
        return ""
    (n1, s1), (n2, s2) = points
    return f"{math.log(s2 / s1) / math.log(n2 / n1):.1f}"


def peer_wins(lines, case, reference=None, column="error_unlabeled"):
    """Rows in which peers have a smaller error than our reference.

    Without a reference, our best is what a peer has to beat.
    """
    errors = Means(lines, case, column)
    for name in errors.cases:
        best, method = errors.best(name, is_ours)
        ours = errors.get(name, reference) if reference else best
        if ours is None or not method:
            continue
        winners = sorted(
            (errors.get(name, peer), f"{peer} ({library})")
            for peer, library in errors.methods.items()
            if library != OURS
            and peer not in TOLD
            and errors.get(name, peer, math.inf) < ours - VISIBLE
        )
        if winners:
            peers = "; ".join(f"{peer} {value:.1f}" for value, peer in winners)
            own = [f"{ours:.1f}"] if reference else []
            yield [name, peers, *own, f"{method} {best:.1f}"]


def faster_peers(lines, case):
    """Rows in which a peer is as good as our most accurate method, and faster."""
    errors = Means(lines, case, "error_unlabeled")
    seconds = Means(lines, case, "seconds")
    for name in errors.cases:
        best, method = errors.best(name, is_ours)
        if not method:
            continue
        good = {
            m: seconds.get(name, m)
            for m in errors.methods
            if errors.get(name, m, math.inf) <= best + EQUAL_ERROR
        }
        fastest = min(
            (m for m in good if errors.methods[m] == OURS), key=lambda m: good[m]
        )
        for peer, taken in good.items():
            library = errors.methods[peer]
            if library == OURS or peer in TOLD:
                continue
            if taken * FASTER <= good[fastest]:
                yield [
                    name,
                    f"{peer} ({library})",
                    f"{errors.get(name, peer):.1f}",
                    f"{taken:.2g}",
                    fastest,
                    f"{errors.get(name, fastest):.1f}",
                    f"{good[fastest]:.2g}",
                ]


def better_samplers(lines):
    """Problems on which a sampler is better than each of our searches, or faster."""
    found = defaultdict(list)
    for line in lines:
        if line["status"] == "ok":
            found[problem_of(line)].append(line)
    for name, runs in found.items():
        ours = [r for r in runs if r["library"] == OURS]
        if not ours:
            continue
        best = min(float(r["objective"]) for r in ours)
        tolerance = EQUAL_OBJECTIVE * abs(best)
        time = min(
            float(r["seconds"])
            for r in ours
            if float(r["objective"]) <= best + tolerance
        )
        for r in runs:
            if r["library"] == OURS:
                continue
            value, seconds = float(r["objective"]), float(r["seconds"])
            lower = value < best - tolerance
            if lower or (value <= best + tolerance and seconds * FASTER <= time):
                why = "lower F" if lower else "same F, faster"
                excess = f"{(value - best) / best:.1e}"
                row = [name, run_of(r), why, excess]
                yield [*row, f"{seconds:.2g}", f"{time:.2g}"]


def growth_wins(lines):
    """For every n, the peers that are better than our best, or as good and faster."""
    for kind in (True, False):
        some = [line for line in lines if (line["method"] in LABELS) == kind]
        yield from faster_peers(some, rows_of)


def rows_of(line):
    return f"{int(line['n']):,}"


def wins(header, lines, rows):
    """Return a table of rows in which a peer wins, or say that there is none."""
    if not lines:
        return "Not run yet."
    rows = list(rows)
    return table(header, rows) if rows else "None."


def elsewhere_section(results, late):
    defaults = of_setting(results["labels"], "defaults")
    grid = of_setting(results["labels"], "best of grid")
    clusters = of_setting(results["clusters"], "defaults")
    cluster_grid = of_setting(results["clusters"], "best of grid")
    growth = results["growth"]
    automatic = "FewLabelsClassifier"
    best = ["peers that win", "best of fewlabels"]
    beside = ["set, labels", "peers that win", automatic, "best of fewlabels"]
    speed = ["peer", "its error", "its seconds", "ours", "our error", "our seconds"]
    sampler = ["problem", "sampler", "why", "(F - our F) / our F", "its s", "our s"]
    as_good = (
        f"a peer is as good as our best, to {EQUAL_ERROR} points of error, and at "
        f"least {FASTER:g} times faster than the fastest of ours that is as good."
    )

    def errors(first, lines, case, column="error_unlabeled"):
        return wins([first, *best], lines, peer_wins(lines, case, column=column))

    def against_automatic(column):
        rows = peer_wins(defaults, label_of, automatic, column)
        return wins(beside, defaults, rows)

    return [
        "## Where to use something else",
        ELSEWHERE_TEXT,
        f"Few labels, defaults, unlabelled rows: peers beat `{automatic}`, the method "
        "for those who do not know which to take.",
        against_automatic("error_unlabeled"),
        "The same on new rows.",
        against_automatic("error_test"),
        "More libraries, which have run on fewer splits, unlabelled rows.",
        wins(beside, late, peer_wins(late, label_of, automatic)),
        "The same on new rows.",
        wins(beside, late, peer_wins(late, label_of, automatic, "error_test")),
        "Few labels, best of grid, unlabelled rows: peers beat the best of fewlabels.",
        errors("set, labels", grid, label_of),
        "The same on new rows.",
        errors("set, labels", grid, label_of, "error_test"),
        f"Few labels, defaults: {as_good}",
        wins(["set, labels", *speed], defaults, faster_peers(defaults, label_of)),
        "No labels, defaults: peers beat the best of fewlabels.",
        errors("set", clusters, set_of),
        "The same on new rows.",
        errors("set", clusters, set_of, "error_test"),
        "No labels, best of grid: peers beat the best of fewlabels.",
        errors("set", cluster_grid, set_of),
        f"No labels, defaults: {as_good}",
        wins(["set", *speed], clusters, faster_peers(clusters, set_of)),
        "One binary problem: a sampler reaches a lower F than all our searches, or the "
        f"same at least {FASTER:g} times faster than the fastest of ours that reaches "
        "our best.",
        wins(sampler, results["partition"], better_samplers(results["partition"])),
        "Growth on two moons, with ten labels: peers beat the best of fewlabels.",
        errors("rows", [r for r in growth if r["method"] in LABELS], rows_of),
        "Without labels:",
        errors("rows", [r for r in growth if r["method"] not in LABELS], rows_of),
        f"Growth on two moons: {as_good}",
        wins(["rows", *speed], growth, growth_wins(growth)),
    ]


def render(folder):
    """Return the page."""
    tasks = ("labels", "clusters", "partition", "growth")
    results = {task: read(folder, task) for task in tasks}
    everything = [line for lines in results.values() for line in lines]
    labels, late = apart(results["labels"])
    jobs = ", ".join(f"{len(lines)} {task}" for task, lines in results.items())
    parts = [
        "# Beside other libraries",
        *summary_section(labels),
        *labels_section(labels, late),
        "## MNIST with 10 to 50 labels",
        MNIST_TEXT,
        file_table("peers_mnist_means.csv"),
        *clusters_section(results["clusters"]),
        *partition_section(results["partition"]),
        "## Exactness",
        EXACT_TEXT,
        file_table("exact_peers.csv"),
        *growth_section(results["growth"]),
        *elsewhere_section({**results, "labels": labels}, late),
        "## How it was run",
        PROTOCOL_TEXT,
        f"Versions: {versions_in_words(everything)}. Finished jobs: {jobs}.",
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"
