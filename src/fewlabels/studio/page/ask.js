// One row at a time.

import { $, ask, chip, classBox, classButton, client, colour, el, newKey, percent, pictures, plural, state, toast } from "./base.js";

const LONG = 60;
let card = null;
let busy = false;
let done = false;
let single = false; // opened from map, history or review: back to the questions afterwards
let box = null;

export const current = () => card;

export function render(view) {
  if (!card && !done) { load(); view.replaceChildren(); return; }
  if (!card) { view.replaceChildren(finished()); return; }
  view.replaceChildren(el("div", { class: "ask", id: "ask" }, shownCard(), answers()));
}

async function load() {
  try {
    show((await ask(`api/next?client=${client}`)).next);
  } catch (error) { toast(error.message); }
}

function show(next) {
  card = next;
  done = !next;
  single = false;
  if (state.view === "ask") render($("view"));
}

/** Open any row. */
export async function open(row) {
  card = await ask(`api/card/${row}`);
  single = true;
  done = false;
}

function shownCard() {
  const why = card.label ? "labelled" : single ? "" : state.order === "model" ? "the model would learn most from it" : "typical of many others";
  const cells = card.cells.map((text, k) => cell(state.columns[k], text));
  const images = pictures(card);
  return el("article", { class: "card", "aria-labelledby": "card-title" },
    el("header", {}, el("h2", { id: "card-title" }, `Row ${(card.row + 1).toLocaleString("en")}`),
      card.label ? el("span", { class: "was quiet" }, "now ", chip(card.label)) : card.skipped ? el("span", { class: "was quiet" }, "skipped") : null,
      el("span", { class: "why" }, why)),
    images.length ? el("div", { class: "pictures" }, images) : null,
    cells.length ? el("dl", { class: "cells" }, cells) : null);
}

function cell(name, text) {
  const long = text.length > LONG || text.includes("\n");
  const empty = text === "";
  return el("div", { class: long ? "long" : null }, el("dt", { dir: "auto" }, name),
    el("dd", { dir: "auto", class: empty ? "none" : null, tabindex: long && text.length > 1500 ? 0 : null }, empty ? "–" : text));
}

function answers() {
  const shares = new Map(card.guesses.map((g) => [g.label, g.share]));
  const blocked = !state.writes;
  box = classBox(answer);
  return el("div", { class: "answers" },
    guess(), state.classes.length ? el("div", { class: "classes", role: "group", "aria-label": "Classes" },
      state.classes.map((c, k) => classButton(c, k, { share: shares.get(c.name), onclick: () => answer(c.name), disabled: blocked, pressed: card.label ? card.label === c.name : undefined }))) : null,
    blocked ? null : box,
    el("div", { class: "rest" },
      el("button", { class: "button", onclick: skip, disabled: blocked, "aria-keyshortcuts": "S" }, card.label ? "Remove label" : "Not sure", el("kbd", { "aria-hidden": "true" }, "S")),
      el("button", { class: "button", onclick: undo, disabled: blocked || !state.undoable, "aria-keyshortcuts": "U" }, "Undo", el("kbd", { "aria-hidden": "true" }, "U"))));
}

function guess() {
  const best = card.guesses[0];
  if (!best) {
    if (state.classes.length > 1) return null;
    return el("div", { class: "panel guess" }, el("h3", {}, "No guess yet"),
      el("p", { class: "small quiet" }, state.classes.length ? "A guess will appear here once two classes have labels." : "Type the class of this row below. Guesses start with the second class."));
  }
  return el("div", { class: "panel guess", colour: colour(best.label) },
    el("h3", {}, "Probably"),
    el("div", { class: "line" }, el("span", { class: "name" }, el("i", { class: "swatch" }), el("span", { dir: "auto", id: "guess" }, best.label)),
      el("b", { class: "number" }, percent(best.share, 0))),
    el("div", { class: "bar-share" }, el("i", { "width%": Math.round(100 * best.share) })),
    el("button", { class: "button primary", id: "accept", onclick: accept, disabled: !state.writes, "aria-keyshortcuts": "Enter" }, "Accept", el("kbd", { "aria-hidden": "true" }, "Enter")));
}

function finished() {
  const skipped = state.skipped ? ` ${plural(state.skipped, "row")} ${state.skipped === 1 ? "was" : "were"} skipped.` : "";
  return el("div", { class: "empty" }, el("h2", {}, "All rows are done"), el("p", { class: "quiet" }, `There is nothing left to label.${skipped}`),
    el("button", { class: "button primary", onclick: () => $("open-files").click() }, "Export"));
}

async function send(body) {
  if (busy || !card || !state.writes) return;
  busy = true;
  $("ask")?.classList.add("busy-now");
  const pressed = performance.now();
  const row = card.row;
  try {
    const answer = await ask("api/label", { rows: [row], how: "card", key: newKey(), seen: card.seen, client, ...body });
    Object.assign(state, pick(answer));
    busy = false;
    show(answer.next);
    const said = body.label ? `${body.label}` : body.do === "clear" ? "label removed" : "skipped";
    $("toast").textContent = `Row ${row + 1}: ${said}. Saved.`; // for screen readers; not shown
    // Time from the key press to the next card, for measurements.
    requestAnimationFrame(() => performance.measure("answer", { start: pressed, end: performance.now() }));
  } catch (error) {
    busy = false;
    $("ask")?.classList.remove("busy-now");
    toast(error.message);
    if (error.status === 409 && error.content?.next) show(error.content.next);
  }
}

const pick = ({ version, labels, skipped, classes, conflicts, writes, notice, undoable }) => ({ version, labels, skipped, classes, conflicts, writes, notice, undoable });

export const answer = (label) => send({ do: "label", label });
const accept = () => card?.guesses[0] && answer(card.guesses[0].label);
const skip = () => send(card?.label ? { do: "clear" } : { do: "skip" });

export async function undo() {
  if (busy || !state.writes) return;
  busy = true;
  try {
    const back = await ask("api/undo", { key: newKey() });
    Object.assign(state, pick(back));
    const { rows, label } = back.undone;
    busy = false;
    show(back.next);
    toast(`Undone: ${label ? `“${label}” of ` : ""}${rows.length === 1 ? `row ${rows[0] + 1}` : plural(rows.length, "row")}.`);
  } catch (error) { busy = false; toast(error.message); }
}

/** Show changed guesses, and leave the rest of the card alone. */
export async function refresh() {
  if (!card || busy || state.view !== "ask") return;
  const row = card.row;
  const focused = document.activeElement;
  if (focused?.closest(".other")) return;
  try {
    const now = await ask(`api/card/${row}`);
    if (!card || card.row !== row || busy) return;
    card = now;
    const held = focused?.dataset?.class;
    document.querySelector(".answers")?.replaceWith(answers());
    if (held !== undefined) document.querySelector(`[data-class="${CSS.escape(held)}"]`)?.focus();
  } catch { /* the next request will show the error */ }
}

export function key(event) {
  if (event.key >= "1" && event.key <= "9") {
    const chosen = state.classes[Number(event.key) - 1];
    if (chosen) answer(chosen.name);
  } else if (event.key === "Enter" && !event.target.closest("button, a")) accept();
  else if (event.key === "s" || event.key === "S") skip();
  else if (event.key === "/") box?.querySelector("input").focus();
  else return false;
  return true;
}
