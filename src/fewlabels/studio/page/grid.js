// Similar rows, labelled together.

import { $, ask, classBox, classButton, client, el, newKey, percent, pictures, plural, state, toast, waiting } from "./base.js";

let shown = null;
let odd = new Set();
let label = null;
let after = 0;
let busy = false;

export function render(view) {
  if (!shown) { load(); view.replaceChildren(); return; }
  if (!shown.ready) { view.replaceChildren(waiting("Finding groups", "Similar rows will appear here in a moment.")); return; }
  if (!shown.cards.length) { view.replaceChildren(waiting("Nothing left to group", "All rows are done.")); return; }
  const kept = shown.cards.length - odd.size;
  const sure = shown.cards.map((c) => c.guesses[0]?.share ?? 0);
  const mean = sure.reduce((a, b) => a + b, 0) / sure.length;
  const guess = shown.cards[0].guesses[0]?.label;
  view.replaceChildren(
    el("div", { class: "grid-head" }, el("div", {}, el("h2", {}, `${plural(shown.cards.length, "row")} that look alike`),
      el("p", {}, guess ? `Probably “${guess}”, with ${percent(mean, 0)} confidence on average. ` : "", "Click the odd ones out, then label the rest together.")),
    el("button", { class: "button", onclick: () => other(1), "aria-keyshortcuts": "N" }, "Another group", el("kbd", { "aria-hidden": "true" }, "N"))),
    el("div", { class: "tiles", role: "group", "aria-label": "Rows; press those that do not belong" }, shown.cards.map(tile)),
    el("div", { class: "panel choose", role: "group", "aria-label": "Label for these rows" },
      state.classes.slice(0, 12).map((c, k) => classButton(c, k, { pressed: c.name === label, onclick: () => { label = c.name; render(view); } })),
      classBox((name) => { label = name; if (!state.classes.some((c) => c.name === name)) toast(`New class: ${name}`); render(view); }),
      el("button", { class: "button primary", id: "label-all", disabled: !label || !kept || !state.writes, onclick: apply, "aria-keyshortcuts": "Enter" },
        label ? `Label ${plural(kept, "row")} as “${label}”` : "Choose a class", el("kbd", { "aria-hidden": "true" }, "Enter"))));
}

function tile(card) {
  const images = pictures(card);
  const best = card.guesses[0];
  const pairs = card.cells.map((text, k) => [state.columns[k], text]).filter(([, text]) => text !== "");
  const short = pairs.filter(([, text]) => text.length <= 60).slice(0, images.length ? 1 : 4);
  const long = pairs.find(([, text]) => text.length > 60);
  const node = el("button", { class: "tile", "aria-pressed": String(odd.has(card.row)), "data-row": card.row, onclick: () => {
    if (odd.has(card.row)) odd.delete(card.row); else odd.add(card.row);
    node.setAttribute("aria-pressed", String(odd.has(card.row)));
    const kept = shown.cards.length - odd.size;
    const button = $("label-all");
    button.disabled = !label || !kept || !state.writes;
    if (label) button.firstChild.textContent = `Label ${plural(kept, "row")} as “${label}”`;
  } },
  el("small", {}, el("span", {}, `Row ${card.row + 1}`), best ? el("span", { class: "number" }, percent(best.share, 0)) : null), images,
  long ? el("span", { class: "text", dir: "auto" }, long[1]) : null,
  (long ? short.slice(0, 1) : short).map(([name, text]) => el("span", { class: "pair" }, el("span", { dir: "auto" }, name), el("b", { dir: "auto" }, text))),
  el("span", { class: "out", "aria-hidden": "true" }, "odd one out"));
  return node;
}

async function load() {
  try {
    shown = await ask(`api/grid?after=${after}`);
    odd = new Set();
    label = shown.cards[0]?.guesses[0]?.label ?? null;
    if (state.view === "grid") render($("view"));
  } catch (error) { toast(error.message); }
}

function other(step) { after += step; shown = null; load(); }

async function apply() {
  if (busy || !label) return;
  busy = true;
  const rows = shown.cards.map((c) => c.row).filter((row) => !odd.has(row));
  try {
    const answer = await ask("api/label", { rows, label, how: "grid", key: newKey(), client, next: false });
    Object.assign(state, answer);
    toast(`${plural(rows.length, "row")} labelled as “${label}”.`);
    if (odd.size) after += 1;
    shown = null;
    load();
    window.scrollTo({ top: 0 });
  } catch (error) { toast(error.message); }
  busy = false;
}

export function forget() { shown = null; }
export function ready() { if (shown && !shown.ready) { shown = null; if (state.view === "grid") load(); } }

export function key(event) {
  if (event.key >= "1" && event.key <= "9") {
    const chosen = state.classes[Number(event.key) - 1];
    if (chosen) { label = chosen.name; render($("view")); }
  } else if (event.key === "n" || event.key === "N") other(1);
  else if (event.key === "/") document.querySelector(".choose input")?.focus();
  else if (event.key === "Enter" && !event.target.closest("button, a")) apply();
  else return false;
  return true;
}
