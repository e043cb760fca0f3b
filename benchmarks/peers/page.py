"""Render the page of the comparison from the tables that the runs wrote."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from collections import defaultdict
from statistics import mean

from benchmarks.peers import texts
from benchmarks.peers.methods import LABELS
from benchmarks.peers.results import (
    OURS,
    Means,
    label_of,
    of_setting,
    problem_of,
    read,
    rows_of,
    run_of,
    set_of,
    short,
    table,
)
from benchmarks.peers.wins import (
    EQUAL_ERROR,
    EQUAL_OBJECTIVE,
    FASTER,
    better_samplers,
    faster_peers,
    growth_wins,
    peer_wins,
)
from benchmarks.reports.fill import table_of

PICTURE = "peers_growth.png"
# Shown together with methods that have fewer splits.
BESIDE = ("FewLabelsClassifier", "SVC", "poisson")


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
    return [texts.LEAD_TEXT, table(header, rows), texts.AFTER_LEAD]


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
        texts.LABELS_TEXT,
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
        texts.GRID_TEXT,
        splits_in_words(grid, label_of),
        show(grid, "error_unlabeled", ".1f"),
        cut_grids(grid),
        "### Best of grid, new rows",
        "Error of the same settings on rows that the choice did not see.",
        show(grid, "error_test", ".1f"),
        *failures(defaults + grid, label_of),
    ]


def late_section(late, show):
    """Methods with fewer splits, and some of the others for comparison."""
    if not late:
        return []
    return [
        "### Defaults, more libraries",
        texts.LATE_TEXT,
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
        texts.CLUSTERS_TEXT,
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
    parts = ["## One binary problem", texts.PARTITION_TEXT]
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
        texts.GROWTH_TEXT,
        f"![Seconds by the number of rows](../results/{PICTURE})",
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
        texts.ELSEWHERE_TEXT,
        f"Few labels, defaults, unlabelled rows: peers beat `{automatic}`, the method "
        "for those who do not know which to choose.",
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
        "# Compared with other libraries",
        *summary_section(labels),
        *labels_section(labels, late),
        "## MNIST with 10 to 50 labels",
        texts.MNIST_TEXT,
        table_of("peers_mnist_means.csv").rstrip(),
        *clusters_section(results["clusters"]),
        *partition_section(results["partition"]),
        "## Exactness",
        texts.EXACT_TEXT,
        table_of("exact_peers.csv").rstrip(),
        *growth_section(results["growth"]),
        *elsewhere_section({**results, "labels": labels}, late),
        "## How it was run",
        texts.PROTOCOL_TEXT,
        f"Versions: {versions_in_words(everything)}. Finished jobs: {jobs}.",
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"
