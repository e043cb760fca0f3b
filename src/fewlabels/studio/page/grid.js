// Similar rows, labelled together.

import { $, ask, classBox, classButton, classOf, client, el, newKey, percent, plural, recount, state, toast, waiting } from "./base.js";
import { brief } from "./columns.js";

let shown = null;
let odd = new Set();
let label = null;
let after = 0;
let busy = false;
let openRow = () => {};
export const onOpen = (callback) => { openRow = callback; };

export function render(view) {
  if (!shown) { load(); view.replaceChildren(); return; }
  if (!shown.ready) {
    view.replaceChildren(state.failure ? waiting("No groups", `They need what the guesses need: ${state.failure}`)
      : waiting("Finding groups", "Similar rows will appear here in a moment.", state.status?.share));
    return;
  }
  if (!shown.cards.length) { view.replaceChildren(waiting("Nothing left to group", "All rows are done.")); return; }
  const sure = shown.cards.map((c) => c.guesses[0]?.share ?? 0);
  const mean = sure.reduce((a, b) => a + b, 0) / sure.length;
  const guess = shown.cards[0].guesses[0]?.label;
  view.replaceChildren(
    el("div", { class: "grid-head" }, el("div", {}, el("h2", {}, `${plural(shown.cards.length, "row")} that look alike`),
      el("p", {}, guess ? `Probably “${guess}”, with ${percent(mean, 0)} confidence on average. ` : "", "Click the odd ones out, then label the rest together.")),
    el("button", { class: "button", onclick: () => other(1), "aria-keyshortcuts": "N" }, "Another group", el("kbd", { "aria-hidden": "true" }, "N"))),
    el("div", { class: "tiles", role: "group", "aria-label": "Rows; press those that do not belong" }, shown.cards.map(tile)),
    el("div", { class: "panel choose", role: "group", "aria-label": "Label for these rows" },
      el("div", { class: "choices" }, state.classes.map((c, k) => classButton(c, k, { pressed: c.name === label, onclick: () => choose(c.name) }))),
      classBox((name) => { if (!state.classes.some((c) => c.name === name)) toast(`New class: ${name}`); choose(name); }),
      el("button", { class: "button primary", id: "label-all", onclick: apply, "aria-keyshortcuts": "Enter" }, "", el("kbd", { "aria-hidden": "true" }, "Enter"))));
  update();
}

function choose(name) { label = name; update(); }

/** Show what is marked and chosen, without replacing anything. */
function update() {
  const kept = shown.cards.length - odd.size;
  for (const node of document.querySelectorAll(".tile")) {
    const out = odd.has(Number(node.dataset.row));
    node.classList.toggle("odd", out);
    node.querySelector(".mark").setAttribute("aria-pressed", String(out));
  }
  for (const button of document.querySelectorAll(".choose .class")) button.setAttribute("aria-pressed", String(button.dataset.class === label));
  const button = $("label-all");
  button.disabled = !label || !kept || !state.writes;
  button.firstChild.textContent = label ? `Label ${plural(kept, "row")} as “${label}”` : "Choose a class";
}

function tile(card) {
  const best = card.guesses[0];
  const mark = () => { if (!odd.delete(card.row)) odd.add(card.row); update(); };
  return el("div", { class: "tile", "data-row": card.row },
    el("button", { class: "mark", "aria-pressed": "false", onclick: mark, ondblclick: () => openRow(card.row) },
      el("small", {}, el("span", {}, `Row ${card.row + 1}`), best ? el("b", { class: "share" }, percent(best.share, 0)) : null),
      brief(card), el("span", { class: "out", "aria-hidden": "true" }, "odd one out")),
    el("button", { class: "open", "aria-label": `Open row ${card.row + 1}`, title: "Open the row", onclick: () => openRow(card.row) }, "⤢"));
}

async function load() {
  try {
    shown = await ask(`api/grid?after=${after}`);
    odd = new Set();
    label = shown.cards[0]?.guesses[0]?.label ?? null;
    if (state.view === "grid") { render($("view")); document.querySelector(".tiles .mark")?.focus({ preventScroll: true }); }
  } catch (error) { toast(error.message); }
}

function other(step) { after += step; shown = null; load(); }

async function apply() {
  if (busy || !label || !shown?.cards?.length || odd.size === shown.cards.length) return;
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

/** Show the group again: labels were given or taken back. */
export function reload() { shown = null; render($("view")); }
export const counts = () => recount(document.querySelector(".choose"));
/** Choose another group the next time, unless a row was only opened from this one. */
export function forget() { shown = null; }
/** Leave out a row that was labelled elsewhere. */
export function drop(row) { if (shown) shown.cards = shown.cards.filter((c) => c.row !== row); odd.delete(row); }
export function ready() { if (shown && !shown.ready) { shown = null; if (state.view === "grid") load(); } }
export function failed() { if (shown && !shown.ready && state.view === "grid") render($("view")); }

export function key(event) {
  const chosen = classOf(event.key);
  if (chosen) { if (shown?.cards?.length) choose(chosen.name); }
  else if (event.key === "n" || event.key === "N") other(1);
  else if (event.key === "/") document.querySelector(".choose input")?.focus();
  // Enter labels, also from a tile that was just marked, and from the class that is chosen; Space marks.
  else if (event.key === "Enter" && (!event.target.closest("button, a") || event.target.closest(".mark, .class[aria-pressed=true]"))) apply();
  else return false;
  return true;
}
