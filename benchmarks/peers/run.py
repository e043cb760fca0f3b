"""Compare fewlabels with its alternatives, and write tables and a page.

    python benchmarks/peers/run.py                      # everything, resumable: hours
    python benchmarks/peers/run.py --splits 1 --limit 20          # a shorter look
    python benchmarks/peers/run.py labels --sets moons,g50c       # a part of it
    python benchmarks/peers/run.py page                 # the page from the tables

Needs the extra 'peers'; rows of libraries that are missing say so, and are run when
they are there. A library on a case is a process of its own, which imports nothing of
another, and every method is a fork of it, so that peak memory is its own; one thread.
Every finished job is a line of benchmarks/results/peers_*.csv, and a new call goes on
where the last one stopped. Data come from the folder that FEWLABELS_DATA names; cases
without data say so.

Tasks: labels (few labels), clusters (none), partition (one binary problem for our
searches and for dwave-samplers), growth (two moons, n from 500 to 100,000). Settings:
"defaults", and "best of grid", where the TRUE labels of the unlabelled rows choose the
best of a grid, for fewlabels and for all others alike: what a method could reach.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tqdm import tqdm

sys.path.append(str(Path(__file__).resolve().parents[2]))
from benchmarks.peers import page
from benchmarks.peers.methods import CLUSTERS, LABELS, PARTITION, TASKS

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
PAGE = HERE.parent / "reports" / "peers.md"

BOOK = ("g241c", "g241d", "digit1", "usps", "bci", "text", "coil", "coil2")
PAIRS = ("USPS 2v5", "USPS 3v8", "USPS 2v7", "USPS 8v0")
LABEL_SETS = [
    ("moons", 10),
    ("Gaussian2C", 26),
    ("Gaussian4C", 26),
    *((name, n_labels) for n_labels in (10, 100) for name in BOOK),
    *((name, 20) for name in PAIRS),
    ("COIL20", 60),
    ("g50c", 50),
    ("pcmac", 50),
]
CLUSTER_SETS = [
    ("moons", 10),
    ("Gaussian2C", 26),
    ("Gaussian4C", 26),
    ("digit1", 10),
    *((name, 20) for name in PAIRS),
    ("COIL20", 60),
    ("g50c", 50),
]
PARTITION_SETS = [
    (name, n_labels, lam)
    for name, n_labels in (
        ("moons", 10),
        ("Gaussian2C", 26),
        ("g50c", 50),
        ("USPS 3v8", 20),
    )
    for lam in (1, 0.001)
]
GROWTH = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)

# What a job's case depends on.
ABOUT = ("task", "set", "n_labels", "split", "lam", "n")
COST = ("seconds", "start_seconds", "peak_mib", "fit_mib")
HOW = ("library", "version", "method", "setting", "status")
MORE = ("tried", "grid", "params", "warnings")
ERRORS = ("error_unlabeled", "error_test")
COLUMNS = {
    "labels": ("set", "n_labels", "split", *HOW, *ERRORS, *COST, *MORE),
    "clusters": ("set", "n_labels", "split", *HOW, *ERRORS, *COST, *MORE),
    "partition": ("set", "n_labels", "lam", *HOW, "objective", *COST, *MORE),
    "growth": ("n", *HOW, *ERRORS, *COST, "warnings"),
}
KEYS = {
    "labels": ("set", "n_labels", "split", "method", "setting"),
    "clusters": ("set", "n_labels", "split", "method", "setting"),
    "partition": ("set", "n_labels", "lam", "method", "setting"),
    "growth": ("n", "method"),
}


def path_of(folder, task):
    return folder / f"peers_{task}.csv"


def key_of(task, line):
    return tuple(str(line[column]) for column in KEYS[task])


def read(folder, task):
    """Return the finished jobs by their keys; a later line counts for an earlier."""
    path = path_of(folder, task)
    if not path.exists():
        return {}
    with path.open(newline="") as handle:
        return {key_of(task, line): line for line in csv.DictReader(handle)}


def is_final(line):
    """Whether a job need not be run again: what was missing may be there now."""
    return not line["status"].startswith(("not installed", "no data"))


def append(folder, task, line):
    path = path_of(folder, task)
    fresh = not path.exists()
    with path.open("a", newline="") as handle:
        writer = csv.DictWriter(
            handle, COLUMNS[task], extrasaction="ignore", lineterminator="\n"
        )
        if fresh:
            writer.writeheader()
        writer.writerow({key: text_of(key, value) for key, value in line.items()})


def text_of(key, value):
    """Four digits, but ten of an objective: its differences count."""
    if isinstance(value, float) and key != "lam":
        return f"{value:.{10 if key == 'objective' else 4}g}"
    return value


def tidy(folder, task):
    """Write every job once, in the order of the plan."""
    lines = read(folder, task)
    if not lines:
        return
    path_of(folder, task).unlink()
    order = {key_of(task, job): i for i, job in enumerate(plan(task, 100))}
    for key in sorted(lines, key=lambda k: order.get(k, len(order))):
        append(folder, task, lines[key])


def plan(task, n_splits, settings=("defaults", "best of grid"), grid_splits=None):
    """Return the jobs of a task, those that matter most first."""
    grid_splits = n_splits if grid_splits is None else grid_splits
    jobs = []
    if task in ("labels", "clusters"):
        sets = LABEL_SETS if task == "labels" else CLUSTER_SETS
        for split in range(n_splits):
            for setting in settings:
                if setting == "best of grid" and split >= grid_splits:
                    continue
                for name, n_labels in sets:
                    for method in TASKS[task]:
                        jobs.append(
                            {
                                "set": name,
                                "n_labels": n_labels,
                                "split": split,
                                "method": method,
                                "setting": setting,
                            }
                        )
    elif task == "partition":
        for name, n_labels, lam in PARTITION_SETS:
            for method in PARTITION:
                for setting in ("defaults", "ten times the effort"):
                    jobs.append(
                        {
                            "set": name,
                            "n_labels": n_labels,
                            "lam": lam,
                            "method": method,
                            "setting": setting,
                        }
                    )
    else:
        for n in GROWTH:
            for method in (*LABELS, *CLUSTERS):
                job = {"n": n, "method": method, "setting": "defaults"}
                jobs.append({**job, "with_labels": method in LABELS})
    return [{"task": task, **job} for job in jobs]


def environment():
    """One thread for everyone."""
    threads = ("OMP", "OPENBLAS", "MKL", "NUMBA")
    return {**os.environ, **{f"{name}_NUM_THREADS": "1" for name in threads}}


class Cases:
    """Files with cases, each made in a process of its own and kept while in use."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.kept = {}

    def path(self, job):
        """Return the file of a job's case, or why there is none."""
        case = {key: job[key] for key in ABOUT if key in job}
        name = json.dumps(case)
        if name not in self.kept:
            for old in self.folder.iterdir():
                old.unlink()
            self.kept = {}
            path = self.folder / "case.npz"
            done = subprocess.run(
                [sys.executable, str(HERE / "cases.py"), name, str(path)],
                capture_output=True,
                text=True,
                env=environment(),
            )
            error = done.stderr.strip().split("\n")[-1]
            self.kept[name] = (path, None) if done.returncode == 0 else (None, error)
        return self.kept[name]


def measure(jobs, cases, memory_gib, limit, grid_limit):
    """Run jobs of one case and one library; yield a line after each."""
    methods = [TASKS[job["task"]][job["method"]] for job in jobs]
    lines = [
        {**job, "library": method.library}
        for job, method in zip(jobs, methods, strict=True)
    ]
    path, error = cases.path(jobs[0])
    if path is None:
        for line in lines:
            yield {**line, "status": f"no data: {error[:120]}"}
        return
    limits = {"memory_gib": memory_gib, "limit": limit, "grid_limit": grid_limit}
    orders = json.dumps([{**job, **limits} for job in jobs])
    finished = 0
    with subprocess.Popen(
        [sys.executable, str(HERE / "worker.py"), orders, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    ) as worker:
        for text in worker.stdout:
            if not text.startswith('{"job"'):  # libraries print, too
                continue
            report = json.loads(text)
            line = lines[report.pop("job")]
            code = report.pop("exit", None)
            line.update(report)
            if code is None:
                continue
            if "seconds" not in line and code == -signal.SIGALRM:
                line["status"] = f"over {limit:g} s"
            elif code != 0 and code != -signal.SIGALRM:
                line["status"] = f"error: exit {code}"
            finished += 1
            yield line
    for line in lines[finished:]:
        yield {**line, "status": f"error: exit {worker.returncode}"}


def grouped(task, jobs):
    """Put jobs of one case and one library together."""
    groups = {}
    for job in jobs:
        library = TASKS[task][job["method"]].library
        case = [job.get(key) for key in ("setting", *ABOUT)]
        groups.setdefault((library, *map(str, case)), []).append(job)
    return groups.values()


def run(task, jobs, folder, memory_gib, limit, grid_limit):
    """Run the jobs that are not done yet."""
    done = read(folder, task)
    jobs = [job for job in jobs if not is_done(done, task, job)]
    bar = tqdm(total=len(jobs), desc=task, unit="job", dynamic_ncols=True)
    with tempfile.TemporaryDirectory() as scratch, bar:
        cases = Cases(scratch)
        for group in grouped(task, jobs):
            if task == "growth":  # not with more rows what was over a limit
                over = {
                    line["method"]
                    for line in done.values()
                    if line["status"] != "ok" and is_final(line)
                }
                bar.update(sum(job["method"] in over for job in group))
                group = [job for job in group if job["method"] not in over]
                if not group:
                    continue
            for line in measure(group, cases, memory_gib, limit, grid_limit):
                append(folder, task, line)
                done[key_of(task, line)] = line
                bar.update()


def is_done(done, task, job):
    line = done.get(key_of(task, job))
    return line is not None and is_final(line)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", help=", ".join((*TASKS, "page")))
    parser.add_argument("--splits", type=int, default=10, help="per set")
    parser.add_argument("--grid-splits", type=int, default=2, help="of them on grids")
    parser.add_argument("--sets", help="only these, separated by commas")
    parser.add_argument("--methods", help="only these, separated by commas")
    parser.add_argument("--settings", default="defaults,best of grid")
    parser.add_argument("--sizes", help="only these n of growth, separated by commas")
    parser.add_argument("--limit", type=float, default=120, help="seconds of one fit")
    parser.add_argument("--grid-limit", type=float, default=600, help="of one grid")
    parser.add_argument("--memory", type=float, default=8, help="GiB of one process")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args(arguments)
    what = given.what or [*TASKS, "page"]
    for name in what:
        if name not in (*TASKS, "page"):
            parser.error(f"{name!r} is unknown; use {', '.join((*TASKS, 'page'))}.")
    given.out.mkdir(parents=True, exist_ok=True)
    for task in [name for name in what if name != "page"]:
        jobs = plan(task, given.splits, given.settings.split(","), given.grid_splits)
        for column, wanted in (
            ("set", given.sets),
            ("method", given.methods),
            ("n", given.sizes),
        ):
            if wanted:
                names = wanted.split(",")
                jobs = [j for j in jobs if str(j.get(column, names[0])) in names]
        run(task, jobs, given.out, given.memory, given.limit, given.grid_limit)
        tidy(given.out, task)
    if "page" in what:
        page.draw_growth(given.out)
        given.page.write_text(page.render(given.out))


if __name__ == "__main__":
    main()
