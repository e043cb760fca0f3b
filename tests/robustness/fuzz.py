"""Run many cases, resumably, and write what came of them into the documentation.

Several machines share the work by `--first` and `--cases`, each with a file of its own
as `--out`; `--merge` adds such files up and writes the page.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import hashlib
import json
import os
import re
import time
import traceback
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import fewlabels
from tests.robustness.cases import METHODS, method_of, run_case
from tests.robustness.methods import EXCEPTIONS
from tests.robustness.solvers import OTHERS

ROOT = Path(__file__).parents[2]
BLOCK = 100
MARKS = ("<!-- fuzz: begin -->", "<!-- fuzz: end -->")
OUTCOMES = ("agree", "alone", "refused", "disagree")
COUNTERS = ("counts", "heard", "refused", "seconds")


def fingerprint():
    """A digest of the library and of the net: what is done counts for these alone."""
    here = Path(__file__).parent
    folders = (Path(fewlabels.__file__).parent, here, here.parent / "reference")
    files = sorted(file for folder in folders for file in folder.rglob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def run_block(seeds):
    """Counts by estimator and outcome, warnings, refusals, seconds and details."""
    found = {name: Counter() for name in COUNTERS} | {"wrong": []}
    for seed in seeds:
        start = time.process_time()
        try:
            report = run_case(seed)
        except Exception as error:
            where = traceback.format_exc().splitlines()[-3].strip()
            found["wrong"].append(
                f"case {seed}: {type(error).__name__}: {error} ({where})"
            )
            found["counts"]["crash|disagree"] += 1
            continue
        found["counts"][f"{report.name}|{report.outcome}"] += 1
        found["counts"][f"{report.name}|warned"] += bool(report.warnings)
        found["seconds"][report.name] += time.process_time() - start
        found["heard"].update({text.split(":")[0][:60] for text in report.warnings})
        if report.outcome == "refused":
            found["refused"][report.detail.split(":")[0][:90]] += 1
        elif report.outcome == "disagree":
            found["wrong"].append(f"case {seed}: {report.detail}")
    return found


def empty(first, methods=None):
    """What is known before the first case."""
    net = " ".join([fingerprint(), *(methods or ())])
    state = {"net": net, "ranges": [[first, first]], "wrong": []}
    return state | {name: {} for name in COUNTERS}


def add(state, found):
    """Add what another block or file has found."""
    for name in COUNTERS:
        state[name] = dict(Counter(state[name]) + Counter(found[name]))
    state["wrong"] += found["wrong"]


def merge(states):
    """Add up the files of several machines, whose cases must not overlap."""
    if len({state["net"] for state in states}) > 1:
        raise SystemExit("These files are of different versions: run one of them anew.")
    total = states[0]
    for state in states[1:]:
        add(total, state)
        total["ranges"] += state["ranges"]
    ranges = []
    for first, last in sorted(total["ranges"]):
        if ranges and first < ranges[-1][1]:
            raise SystemExit(f"Cases {first} to {ranges[-1][1] - 1} are there twice.")
        if ranges and first == ranges[-1][1]:
            ranges[-1][1] = last
        else:
            ranges.append([first, last])
    return total | {"ranges": ranges}


def page(state):
    """The table of the report, below a line that sums it up."""
    counts = Counter(state["counts"])
    ran = ", ".join(f"{first:,} to {last - 1:,}" for first, last in state["ranges"])
    columns = ("cases", "agree", "disagree")
    table = [
        f"| estimator | {' | '.join(columns)} | compared |",
        f"| --- |{' ---: |' * len(columns)} --- |",
    ]
    totals = Counter()
    for name in sorted({key.split("|")[0] for key in counts}, key=str.lower):
        row = {k: counts[f"{name}|{k}"] for k in (*OUTCOMES, "warned")}
        row["cases"] = sum(row[k] for k in OUTCOMES)
        totals.update(row)
        table.append(_line(name, row, columns, _ways(name)))
    table.append(_line("**all**", totals, columns, ""))
    shares = ", ".join(f"{totals[k]:,} {k}" for k in (*OUTCOMES, "warned"))
    lines = [f"Cases {ran}: {shares}.", "", *table]
    if state["wrong"]:
        lines += ["", "Disagreements, with the first case of every kind:", ""]
        lines += [
            f"- {len(found):,}: {text[:160]} (case {min(found):,})"
            for text, found in _kinds(state["wrong"])
        ]
    reasons = defaultdict(list)
    for name, why in sorted(EXCEPTIONS.items()):
        reasons[why].append(name)
    lines += ["", "Not among the cases:", ""]
    lines += [f"- {', '.join(names)}: {why}" for why, names in reasons.items()]
    return "\n".join(lines)


def messages(state):
    """Refusals and warnings, by the beginning of the message."""
    return "\n".join(
        f"{n:7,} {what}: {text}"
        for what in ("refused", "heard")
        for text, n in _falling(_alike(state[what]))
    )


def _kinds(wrong):
    """Cases that disagree, by estimator and way, the most frequent first."""
    kinds = defaultdict(list)
    for line in wrong:
        case, text = re.fullmatch(r"case (\d+): (.*)", line, re.DOTALL).groups()
        kinds[re.sub(r" \([^()]*\):", ":", text, count=1)].append(int(case))
    return sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))


def _ways(name):
    """What is compared, in words."""
    if name in OTHERS:
        return OTHERS[name][1]
    if name not in METHODS:
        return "with exact arithmetic" if name == "certificates" else ""
    return ", ".join(METHODS[name].ways) or "only that an answer comes"


def _alike(counts):
    """Counts of messages that differ in numbers only, added up."""
    total = Counter()
    for text, n in counts.items():
        total[re.sub(r"\d[\d.,]*(e[+-]?\d+)?", "…", text)[:50]] += n
    return total


def _falling(counts):
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _line(name, row, columns, ways):
    numbers = " | ".join(f"{row[k]:,}" for k in columns)
    return f"| {name} | {numbers} | {ways} |"


def write(text, path):
    """Put a report between its marks."""
    before, rest = path.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    path.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")


def run(state, last, jobs, out, methods=None):
    """Run what is missing up to a case, and keep what is done after every block."""
    (span,) = state["ranges"]
    size = BLOCK if methods is None else BLOCK * len(METHODS) // len(methods)
    blocks = [range(a, min(a + size, last)) for a in range(span[1], last, size)]
    seeds = [
        block if methods is None else [s for s in block if method_of(s) in methods]
        for block in blocks
    ]
    pool = ProcessPoolExecutor(jobs) if jobs > 1 else None
    with pool or nullcontext():
        results = pool.map(run_block, seeds) if pool else map(run_block, seeds)
        for block, found in zip(blocks, results, strict=True):
            add(state, found)
            span[1] = block.stop
            part = out.with_suffix(".part")
            part.write_text(json.dumps(state))
            part.replace(out)
            wrong = len(state["wrong"])
            print(f"\r{span[1]:,} of {last:,}, {wrong} wrong", end="", flush=True)
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="first case")
    parser.add_argument("--cases", type=int, default=200_000, help="how many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--out", type=Path, default=ROOT / "build/fuzz.json")
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=[*METHODS, *OTHERS],
        help="only these; writes no page",
    )
    parser.add_argument("--merge", type=Path, nargs="+", help="files to add up")
    parser.add_argument(
        "--page",
        type=Path,
        default=ROOT / "docs/reliability.md",
        help="gets the line that sums all up",
    )
    parser.add_argument(
        "--table", type=Path, default=Path(__file__).parent / "README.md"
    )
    parser.add_argument(
        "--times", action="store_true", help="print time by estimator, and messages"
    )
    options = parser.parse_args()
    if options.merge:
        state = merge([json.loads(file.read_text()) for file in options.merge])
    else:
        state = empty(options.first, options.methods)
        if options.out.exists():
            old = json.loads(options.out.read_text())
            if old["net"] == state["net"] and old["ranges"][0][0] == options.first:
                state = old
        options.out.parent.mkdir(exist_ok=True)
        last = options.first + options.cases
        run(state, last, options.jobs, options.out, options.methods)
    if options.times:
        counts = Counter(state["counts"])
        for name, seconds in _falling(state["seconds"]):
            n = sum(counts[f"{name}|{outcome}"] for outcome in OUTCOMES)
            print(f"{name:42} {n:6,} {seconds:8.1f} s {n / seconds:8.1f} per second")
        print(messages(state))
    if not options.methods and (options.merge or options.first == 0):
        report = page(state)
        write(report, options.table)
        write(report.partition("\n")[0], options.page)
    if state["wrong"]:
        raise SystemExit("\n".join(["These disagree:", *state["wrong"]]))


if __name__ == "__main__":
    main()
