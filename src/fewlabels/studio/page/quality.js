// The expected error, and what more labels would do.

import { ask, chip, client, colour, el, newKey, percent, plural, state, svg, toast, waiting } from "./base.js";
import { brief, briefLine } from "./columns.js";

let openRow = () => {};
export const onOpen = (callback) => { openRow = callback; };

export function render(view) {
  const { judgement, curve = [], outlook = {}, suspects = [], seconds } = state.quality;
  if (!judgement) {
    const few = state.classes.filter((c) => c.count).length < 2;
    view.replaceChildren(waiting("No estimate yet", few ? "Label rows of at least two classes." : "The first estimate is on its way.", few ? undefined : state.status?.share));
    return;
  }
  view.replaceChildren(el("div", { class: "quality" },
    el("div", { class: "stack" }, estimate(judgement, curve, outlook, seconds), classes(judgement)),
    el("div", { class: "stack" }, single(judgement), compared(judgement), review(suspects))));
  fill(suspects);
}

/** Show the rows that are named, which the server has to be asked for. */
async function fill(suspects) {
  const places = [...document.querySelectorAll("#view [data-show]")];
  const rows = [...new Set(places.map((node) => Number(node.dataset.show)))].slice(0, 24);
  if (!rows.length) return;
  try {
    const cards = new Map((await ask(`api/cards?rows=${rows.join(",")}`)).map((card) => [card.row, card]));
    for (const node of places) {
      const card = cards.get(Number(node.dataset.show));
      if (card && node.isConnected) node.replaceChildren(...(node.tagName === "SMALL" ? [briefLine(card.cells)] : brief(card, 4)));
    }
    // A label is changed by somebody who has seen the row.
    for (const button of document.querySelectorAll("[data-change]")) button.disabled = !state.writes || !cards.has(Number(button.dataset.change));
  } catch (error) { toast(error.message); }
}

function single(judgement) {
  if (!judgement.single?.length) return null;
  return el("section", { class: "panel", "aria-labelledby": "q-single" }, el("h2", { id: "q-single" }, "Classes with a single label"),
    el("p", { class: "quiet small" }, "Their error cannot be estimated. These rows look most like them:"),
    judgement.single.slice(0, 3).map((s) => el("div", { class: "suspect" }, chip(s.name),
      el("ul", {}, s.rows.map((row) => el("li", {}, el("button", { class: "entry", onclick: () => openRow(row) }, el("span", { class: "what" }, `Row ${row + 1}`, el("small", { dir: "auto", "data-show": row }))))))),
    ),
    judgement.single.length > 3 ? el("p", { class: "quiet small" }, `and ${judgement.single.length - 3} more: ${judgement.single.slice(3).map((s) => s.name).join(", ")}`) : null);
}

function estimate(judgement, curve, outlook, seconds) {
  const { error } = judgement;
  const known = error.value !== null && error.value !== undefined;
  return el("section", { class: "panel", "aria-labelledby": "q-error" },
    el("h2", { id: "q-error" }, "Expected error"),
    el("div", { class: "headline" }, el("b", { id: "error" }, known ? percent(error.value) : "not known yet"),
      known ? el("span", { class: "quiet" }, `between ${percent(error.low)} and ${percent(error.high)}`) : null),
    el("p", { class: "quiet small" }, known ? `of the ${plural(state.rows - judgement.labels, "row")} without a label would get the wrong one; the range is a 90 % interval.` : `${error.note || ""}`),
    known && error.note ? el("p", { class: "quiet small" }, `Note: ${error.note}.`) : null,
    curve.length > 1 ? drawn(curve) : null,
    advice(outlook, seconds));
}

function advice(outlook, seconds) {
  if (outlook.stop) return el("p", { class: "advice stop" }, el("b", {}, "A good moment to stop. "), outlook.stop);
  if (outlook.halve) {
    const minutes = seconds ? Math.max(1, Math.round(outlook.halve * seconds / 60)) : null;
    return el("p", { class: "advice" }, `About ${plural(outlook.halve, "more label", "more labels")} would halve the error`, minutes ? `: roughly ${plural(minutes, "minute")} at your pace.` : ".");
  }
  return el("p", { class: "advice" }, "Keep labelling: a few more labels will show how much additional ones would help.");
}

function drawn(curve) {
  const W = 620, H = 230, left = 44, right = 14, top = 10, bottom = 32;
  const last = curve[curve.length - 1].labels, first = curve[0].labels;
  const most = Math.max(...curve.map((p) => p.high), 0.02);
  const peak = Math.min(1, most);
  const x = (n) => left + (W - left - right) * (n - first) / Math.max(last - first, 1);
  const y = (e) => top + (H - top - bottom) * (1 - Math.min(e, peak) / peak);
  const path = (points) => points.map(([a, b], k) => `${k ? "L" : "M"}${a.toFixed(1)},${b.toFixed(1)}`).join("");
  const node = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "curve", role: "img", "aria-label": `Expected error from ${percent(curve[0].value)} at ${first} labels to ${percent(curve[curve.length - 1].value)} at ${last} labels` });
  for (const share of [0, .5, 1]) {
    const at = y(share * peak);
    const text = svg("text", { x: left - 8, y: at + 4, "text-anchor": "end" });
    text.append(percent(share * peak, peak < .1 ? 1 : 0));
    node.append(svg("line", { x1: left, x2: W - right, y1: at, y2: at, class: "grid" }), text);
  }
  const seen = new Set();
  for (const share of [0, .25, .5, .75, 1]) {
    const n = Math.round(first + share * (last - first));
    if (seen.has(n)) continue;
    seen.add(n);
    const text = svg("text", { x: x(n), y: H - 10, "text-anchor": share === 1 ? "end" : share ? "middle" : "start" });
    text.append(share === 1 ? `${n} labels` : String(n));
    node.append(text);
  }
  const band = [...curve.map((p) => [x(p.labels), y(p.high)]), ...[...curve].reverse().map((p) => [x(p.labels), y(p.low)])];
  const end = curve[curve.length - 1];
  node.append(svg("path", { d: `${path(band)}Z`, class: "band" }), svg("path", { d: path(curve.map((p) => [x(p.labels), y(p.value)])), class: "line" }),
    svg("circle", { cx: x(end.labels), cy: y(end.value), r: 5, class: "end" }));
  return node;
}

function classes(judgement) {
  return el("section", { class: "panel", "aria-labelledby": "q-classes" }, el("h2", { id: "q-classes" }, "Class by class"),
    el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Class"), el("th", { class: "n", scope: "col" }, "labels"), el("th", { class: "n", scope: "col" }, "guessed"), el("th", { class: "n", scope: "col" }, "wrong among these"))),
      el("tbody", {}, judgement.classes.map((c) => el("tr", { colour: colour(c.name) }, el("td", {}, chip(c.name)), el("td", { class: "n" }, c.given.toLocaleString("en")), el("td", { class: "n" }, c.predicted.toLocaleString("en")),
        el("td", { class: "n" }, c.wrong === null ? "–" : percent(c.wrong)))))));
}

function compared(judgement) {
  const { baseline, gain } = judgement;
  const known = baseline.value !== null && baseline.value !== undefined;
  const helped = gain.value === null || gain.value === undefined ? "" : gain.low > 0 ? "The rows without a label probably helped." : gain.high < 0 ? "The rows without a label probably hurt." : "There are too few labels to tell whether the rows without a label helped.";
  return el("section", { class: "panel", "aria-labelledby": "q-base" }, el("h2", { id: "q-base" }, "Supervised, with the same labels"),
    el("div", { class: "headline" }, el("b", { class: "lesser" }, known ? percent(baseline.value) : "–")),
    el("p", { class: "quiet small" }, "is the expected error of the best supervised model with the same labels. ", helped));
}

function review(suspects) {
  return el("section", { class: "panel", "aria-labelledby": "q-review" }, el("h2", { id: "q-review" }, "Labels to check"),
    suspects.length ? el("div", {}, suspects.map((s) => el("div", { class: "suspect" },
      el("div", {}, `Row ${s.row + 1} is `, chip(s.label), ", but the other labels say ", chip(s.likely), ` (${Math.round(s.odds)} to 1).`),
      el("div", { class: "brief", "data-show": s.row }),
      el("div", { class: "row" },
        el("button", { class: "button", disabled: true, "data-change": s.row, onclick: () => change(s) }, `Change to “${s.likely}”`),
        el("button", { class: "button plain", onclick: () => openRow(s.row) }, "Look")))))
      : el("p", { class: "quiet small" }, "No label is contradicted by the others, or they say too little to doubt one."));
}

async function change(suspect) {
  try {
    Object.assign(state, await ask("api/label", { rows: [suspect.row], label: suspect.likely, how: "review", key: newKey(), client, next: false }));
    state.quality.suspects = state.quality.suspects.filter((s) => s.row !== suspect.row);
    toast(`Row ${suspect.row + 1} is “${suspect.likely}” now.`);
    render(document.getElementById("view"));
  } catch (error) { toast(error.message); }
}
