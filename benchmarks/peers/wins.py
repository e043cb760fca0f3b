"""Cases in which another library is better or faster."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from collections import defaultdict

from benchmarks.peers.methods import LABELS
from benchmarks.peers.results import OURS, TOLD, Means, problem_of, rows_of, run_of

# What the tables show: smaller differences of errors, in points, are none.
VISIBLE = 0.05
# Errors that differ by less, in points, count as equal where seconds are compared.
EQUAL_ERROR = 0.5
# A relative difference of F below this is rounding.
EQUAL_OBJECTIVE = 1e-7
# One fit is faster than another only by at least this factor: timings are noisy.
FASTER = 2.0


def is_ours(library):
    return library == OURS


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
