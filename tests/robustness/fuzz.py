"""Run many cases, resumably, and write what came of them into the documentation."""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import collections
import json
import os
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.robustness.cases import run_case

ROOT = Path(__file__).parents[2]
BLOCK = 200
MARKS = ("<!-- fuzz: begin -->", "<!-- fuzz: end -->")


def run_block(first, last):
    """Counts by estimator and outcome, warnings, refusals and details."""
    counts, heard, refused, wrong = (
        collections.Counter(),
        collections.Counter(),
        collections.Counter(),
        [],
    )
    for seed in range(first, last):
        try:
            report = run_case(seed)
        except Exception as error:
            where = traceback.format_exc().splitlines()[-3].strip()
            wrong.append(f"seed {seed}: {type(error).__name__}: {error} ({where})")
            counts["crash|disagree"] += 1
            continue
        counts[f"{report.name}|{report.outcome}"] += 1
        counts[f"{report.name}|warned"] += bool(report.warnings)
        heard.update({text.split(":")[0][:60] for text in report.warnings})
        if report.outcome == "refused":
            refused[report.detail.split(":")[0][:90]] += 1
        elif report.outcome == "disagree":
            wrong.append(report.detail)
    return dict(counts), dict(heard), dict(refused), wrong


def page(state):
    """The table of the report."""
    counts = collections.Counter(state["counts"])
    names = sorted({key.split("|")[0] for key in counts})
    lines = [
        f"Seeds 0 to {state['done'] - 1:,}:",
        "",
        "| estimator | cases | agree | warned | refused | disagree |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    totals = collections.Counter()
    for name in names:
        row = {k: counts[f"{name}|{k}"] for k in ("agree", "warned", "refused")}
        row["disagree"] = counts[f"{name}|disagree"]
        row["cases"] = row["agree"] + row["refused"] + row["disagree"]
        totals.update(row)
        lines.append(_line(name, row))
    lines.append(_line("**all**", totals))
    lines += ["", "Refusals, by the beginning of the message:", ""]
    lines += [f"- {n}: {text}" for text, n in sorted(state["refused"].items())]
    if state["wrong"]:
        lines += ["", "Disagreements:", ""]
        lines += [f"- {text[:200]}" for text in sorted(state["wrong"])[:50]]
    return "\n".join(lines)


def _line(name, row):
    cells = (row[k] for k in ("cases", "agree", "warned", "refused", "disagree"))
    return f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |"


def write(state, path):
    before, rest = path.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    body = f"{MARKS[0]}\n\n{page(state)}\n\n{MARKS[1]}"
    path.write_text(before + body + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--state", type=Path, default=ROOT / "build/fuzz.json")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/reliability.md")
    options = parser.parse_args()
    state = {"done": 0, "counts": {}, "heard": {}, "refused": {}, "wrong": []}
    if options.state.exists():
        state = json.loads(options.state.read_text())
    options.state.parent.mkdir(exist_ok=True)
    firsts = range(state["done"], options.cases, BLOCK)
    lasts = [min(first + BLOCK, options.cases) for first in firsts]
    with ProcessPoolExecutor(options.jobs) as pool:
        blocks = pool.map(run_block, firsts, lasts)
        for last, (counts, heard, refused, wrong) in zip(lasts, blocks, strict=True):
            for name, new in (
                ("counts", counts),
                ("heard", heard),
                ("refused", refused),
            ):
                total = collections.Counter(state[name])
                total.update(new)
                state[name] = dict(total)
            state["wrong"] += wrong
            state["done"] = last
            options.state.write_text(json.dumps(state))
            print(
                f"\r{last:,} of {options.cases:,} cases, {len(state['wrong'])} "
                "disagreements",
                end="",
                flush=True,
            )
    print()
    write(state, options.page)


if __name__ == "__main__":
    main()
