"""The HTML page of a report: its style and its building blocks."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

_STYLE = """
:root { --ink: #1d232b; --quiet: #67727e; --line: #e2e6ea; --own: #1d232b; }
* { box-sizing: border-box; }
body { margin: 0; background: #f5f6f8; color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1000px; margin: 0 auto; padding: 32px 20px 60px; }
h1 { font-size: 27px; margin: 0 0 2px; letter-spacing: -0.01em; }
h2 { font-size: 18px; margin: 0 0 10px; }
h3 { font-size: 15px; margin: 0 0 6px; } table + h3, .scroll + h3 { margin-top: 18px; }
p { margin: 6px 0 10px; }
.quiet, figcaption { color: var(--quiet); font-size: 13px; }
section { background: #fff; border: 1px solid var(--line); border-radius: 10px;
  padding: 20px 24px; margin: 18px 0; }
.tiles { display: grid; gap: 12px; margin: 22px 0 0;
  grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); }
.tile { background: #fff; border: 1px solid var(--line); border-radius: 10px;
  padding: 12px 16px; }
.tile b { display: block; font-size: 23px; font-weight: 650; line-height: 1.25;
  letter-spacing: -0.01em; }
.tile span { color: var(--quiet); font-size: 13px; }
table { margin-top: 8px; border-collapse: collapse; width: 100%; font-size: 13.5px; }
th { text-align: left; color: var(--quiet); font-weight: 600; white-space: nowrap; }
th, td { padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: break-word; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
td.short { white-space: nowrap; }
tr:last-child td { border-bottom: 0; }
tr.off td { color: var(--quiet); }
.scroll { overflow-x: auto; }
.pair { display: grid; gap: 24px;
  grid-template-columns: repeat(auto-fit, minmax(340px, 1fr)); }
figure { margin: 0; }
svg { width: 100%; height: auto; display: block; }
svg text { font: 13px system-ui, sans-serif; fill: var(--ink); }
svg text.quiet { fill: var(--quiet); font-size: 12px; }
svg circle { stroke: #fff; stroke-width: 0.5; }
svg circle.ring { stroke: #111; stroke-width: 1.8; }
svg.small { max-width: 560px; }
.legend { list-style: none; padding: 0; margin: 8px 0 0; display: flex; flex-wrap: wrap;
  gap: 4px 16px; font-size: 13px; }
.legend span { display: inline-block; width: 11px; height: 11px; border-radius: 50%;
  margin-right: 6px; }
.verdict { font-size: 19px; line-height: 1.4; font-weight: 600; margin: 14px 0 0; }
.chip { display: inline-block; width: 10px; height: 10px; border-radius: 50%;
  margin-right: 7px; }
td.long { min-width: 260px; }
.bar { display: grid; grid-template-columns: 170px 1fr 190px; gap: 2px 10px;
  align-items: center; margin: 5px 0; font-size: 13.5px; }
.bar > span { overflow-wrap: anywhere; }
.bar .name { text-align: right; }
.track { position: relative; display: flex; height: 18px; }
.span { position: absolute; top: 7px; height: 4px; border-radius: 2px; }
.point { position: absolute; top: 3px; width: 12px; height: 12px; border-radius: 50%;
  margin-left: -6px; }
.own { font-weight: 650; }
.own .span, .own .point { background: var(--own); }
.base .span, .base .point { background: #67727e; }
.other .span, .other .point { background: #b4bcc4; }
.methods .bar { grid-template-columns: minmax(0, 5fr) minmax(0, 6fr); gap: 2px 22px; }
.methods .track { border-left: 1px solid var(--line); margin: 0 16px; }
.tick { position: absolute; transform: translateX(-50%); color: var(--quiet);
  font-size: 12px; white-space: nowrap; }
.shots { display: flex; flex-wrap: wrap; gap: 10px; margin: 6px 0 16px; }
.shots figure { width: 118px; font-size: 13px; overflow-wrap: anywhere; }
.shots figcaption { line-height: 1.35; margin-top: 3px; }
.shots.first figure:first-child { border-right: 1px solid var(--line); width: 128px;
  padding-right: 9px; }
img.shot { display: block; width: 118px; height: 118px; object-fit: contain;
  background: #f5f6f8; border-radius: 6px; }
td img.shot { width: 84px; height: 84px; }
.note { border-left: 3px solid #e69f00; padding: 2px 0 2px 12px; margin: 8px 0; }
pre { background: #f5f6f8; border: 1px solid var(--line); border-radius: 8px;
  padding: 12px 14px; overflow-x: auto; font-size: 13px; white-space: pre-wrap; }
@media (max-width: 600px) {
  main { padding: 20px 10px 40px; } section { padding: 14px; }
  h1 { font-size: 22px; overflow-wrap: anywhere; } .verdict { font-size: 17px; }
  .tiles { grid-template-columns: 1fr 1fr; } .pair { grid-template-columns: 1fr; }
  .bar, .methods .bar { grid-template-columns: 1fr auto; }
  .bar .name { text-align: left; } .bar .track { grid-row: 2; grid-column: 1 / 3; }
  th { white-space: normal; } th, td { padding-right: 8px; }
  .cards thead { display: none; }
  .cards tr { display: block; padding: 8px 0; border-bottom: 1px solid var(--line); }
  .cards tr:last-child { border-bottom: 0; }
  .cards td, .cards td.n { display: block; border: 0; padding: 1px 0; text-align: left;
    white-space: normal; min-width: 0; }
  .cards td:empty { display: none; }
  .cards td::before { content: attr(data-of) ": "; color: var(--quiet); }
}
@media print { body { background: #fff; } section { break-inside: avoid; } }
"""


def page(
    title: str,
    subtitle: str,
    tiles: str,
    sections: Sequence[str],
    verdict: str = "",
) -> str:
    """Put a page together.

    Parameters
    ----------
    title, subtitle : str
        The heading, not yet escaped.
    tiles : str
        HTML of the figures below it.
    sections : sequence of str
        HTML of the rest.
    verdict : str, default=""
        How good the labels are, in a sentence, not yet escaped.

    Returns
    -------
    html : str
        The page, which loads nothing from elsewhere and runs no script.
    """
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    body = "".join(sections)
    said = f'<p class="verdict">{escape(verdict)}</p>' if verdict else ""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        f'<h1>{escape(title)}</h1><p class="quiet">{escape(subtitle)}</p>{said}'
        f'<div class="tiles">{tiles}</div>{body}</main></body></html>\n'
    )


class Html(str):
    """Text that is markup already."""


def tile(figure: str, caption: str) -> str:
    return (
        f'<div class="tile"><b>{escape(figure)}</b><span>{escape(caption)}</span></div>'
    )


def section(heading: str, content: str) -> str:
    return f"<section><h2>{escape(heading)}</h2>{content}</section>"


def grid(
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    off: Sequence[bool] = (),
    *,
    cards: bool = False,
) -> str:
    """Write a table with right-aligned numbers; on a phone, its rows can be cards."""
    numeric = [
        bool(rows) and all(isinstance(row[k], int | float) for row in rows)
        for k in range(len(head))
    ]
    mark = [' class="n"' if n else "" for n in numeric]
    cells = "".join(
        f"<th{m}>{escape(name)}</th>" for name, m in zip(head, mark, strict=True)
    )
    lines = []
    for k, row in enumerate(rows):
        quiet = ' class="off"' if len(off) > k and off[k] else ""
        texts = [_written(value) for value in row]
        values = "".join(
            f'<td{m or _unbroken(text)} data-of="{escape(name)}">'
            f"{text if isinstance(text, Html) else escape(text)}</td>"
            for text, m, name in zip(texts, mark, head, strict=True)
        )
        lines.append(f"<tr{quiet}>{values}</tr>")
    kind = ' class="cards"' if cards else ""
    return (
        f'<div class="scroll"><table{kind}><thead><tr>{cells}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _unbroken(text: str) -> str:
    if isinstance(text, Html):
        return ""
    return ' class="short"' if len(text) <= 16 else ' class="long"' * (len(text) > 80)


def chip(name: str, color: str) -> Html:
    """Write a class next to its colour."""
    return Html(f'<span class="chip" style="background:{color}"></span>{escape(name)}')


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.2f}"
    return str(value)
