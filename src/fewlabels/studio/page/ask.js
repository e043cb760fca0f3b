// One row at a time.

import { $, ask, calmly, classBox, classButton, classOf, client, colour, el, newKey, percent, plural, recount, state, tabs, toast } from "./base.js";
import { arrive, cardOf, reason, scrolled } from "./card.js";
import { noteBar } from "./notes.js";
import { zoomFirst } from "./zoom.js";

let card = null; // the question
let opened = null; // a row opened from elsewhere
let busy = false;
let done = false;
let box = null;
let guessed = 0; // when a guess appeared on a card that had none
const queue = []; // keys that came before the next card
const undone = []; // what can be done again
let leave = () => {};
let columns = () => {};
let held = 0; // rows that other tabs show

export const onLeave = (callback) => { leave = callback; };
export const onColumns = (callback) => { columns = callback; };
export const isOpened = () => opened !== null;
const shown = () => opened || card;

export function render(view) {
  if (!shown() && !done) { load(); view.replaceChildren(); return; }
  if (!shown()) { view.replaceChildren(finished()); return; }
  const noted = (next) => { if (opened) opened = next; else card = next; render(view); };
  view.replaceChildren(el("div", { class: "ask", id: "ask" },
    cardOf(shown(), el("span", { class: "why" }, reason(shown(), opened)),
      el("button", { class: "button plain small-button", onclick: columns, title: "Choose which columns are shown" }, "Columns")),
    answers()));
  $("card").append(noteBar(shown(), noted));
}

async function load() {
  try {
    const found = await ask(`api/next?client=${client}`);
    held = found.held || 0;
    show(found.next);
    drain();
  } catch (error) { toast(error.message); }
}

function show(next) {
  card = next;
  done = !next;
  guessed = 0;
  if (state.view === "ask") render($("view"));
}

/** Open any row; the question waits. */
export async function open(row) {
  opened = await ask(`api/card/${row}`);
}

export function close() {
  opened = null;
  if (card && (card.label || card.skipped)) { card = null; done = false; }
}

function answers() {
  const now = shown();
  const shares = new Map(now.guesses.map((g) => [g.label, g.share]));
  const blocked = !state.writes;
  box = classBox((name) => perform("label", name));
  return el("div", { class: "answers" },
    opened ? el("button", { class: "button", id: "back", onclick: () => leave(), "aria-keyshortcuts": "Escape" }, "Back", el("kbd", { "aria-hidden": "true" }, "Esc")) : null,
    guess(now), state.classes.length ? el("div", { class: `classes${state.classes.length > 9 ? " many" : ""}`, role: "group", "aria-label": "Classes" },
      state.classes.map((c, k) => classButton(c, k, { share: shares.get(c.name), onclick: () => perform("label", c.name), disabled: blocked, pressed: now.label ? now.label === c.name : undefined }))) : null,
    blocked ? null : box,
    el("div", { class: "rest" },
      now.label
        ? el("button", { class: "button", onclick: () => perform("clear"), disabled: blocked, "aria-keyshortcuts": "Delete" }, "Remove label", el("kbd", { "aria-hidden": "true" }, "Del"))
        : el("button", { class: "button", onclick: () => perform("skip"), disabled: blocked, "aria-keyshortcuts": "S" }, "Not sure", el("kbd", { "aria-hidden": "true" }, "S")),
      el("button", { class: "button", onclick: () => perform("undo"), disabled: blocked || !state.undoable, "aria-keyshortcuts": "U" }, "Undo", el("kbd", { "aria-hidden": "true" }, "U"))));
}

function guess(now) {
  const best = now.guesses[0];
  if (!best) {
    const named = state.classes.filter((c) => c.count).length > 1;
    return el("div", { class: "panel guess" }, el("h3", {}, "No guess yet"),
      el("p", { class: "small quiet" }, named ? "The first guess is on its way." : state.classes.length ? "A guess will appear here once two classes have labels." : "Type the class of this row below. Guesses start with the second class."));
  }
  return el("div", { class: "panel guess", colour: colour(best.label) },
    el("h3", {}, "Probably"),
    el("div", { class: "line" }, el("span", { class: "name" }, el("i", { class: "swatch" }), el("span", { dir: "auto", id: "guess" }, best.label)),
      el("b", { class: "share" }, percent(best.share, 0))),
    el("div", { class: "bar-share" }, el("i", { "width%": Math.round(100 * best.share) })),
    el("button", { class: "button primary", id: "accept", "data-fresh": guessed > 0, onclick: () => perform("accept"), disabled: !state.writes, "aria-keyshortcuts": "Enter" }, "Accept", el("kbd", { "aria-hidden": "true" }, "Enter")));
}

function finished() {
  const skipped = state.skipped ? ` ${plural(state.skipped, "row")} ${state.skipped === 1 ? "was" : "were"} skipped.` : "";
  if (held) return el("div", { class: "empty" }, el("h2", {}, "No other row is left"), el("p", { class: "quiet" }, `${plural(held, "row")} ${held === 1 ? "is" : "are"} open in another tab.`), el("button", { class: "button", onclick: load }, "Look again"));
  return el("div", { class: "empty" }, el("h2", {}, "All rows are done"), el("p", { class: "quiet" }, `There is nothing left to label.${skipped}`),
    el("button", { class: "button primary", onclick: () => $("open-files").click() }, "Export"));
}

/** Do something now, or when the next card is there: no key is dropped. */
function perform(what, label) {
  if (!state.writes) return;
  if (busy || (!shown() && !done)) { if (queue.length < 500) queue.push([what, label]); return; }
  if (what === "undo") { undo(); return; }
  if (what === "redo") { redo(); return; }
  const now = shown();
  if (!now) return;
  if (what === "accept") {
    // A guess that has only just appeared was not what the key was meant for.
    if (!now.guesses[0] || performance.now() - guessed < 400) return;
    send({ do: "label", label: now.guesses[0].label });
  } else if (what === "label") send({ do: "label", label });
  else if (what === "skip" && !now.label) send({ do: "skip" });
  else if (what === "clear" && now.label) send({ do: "clear" });
}

function drain() {
  while (queue.length && !busy && (shown() || done)) perform(...queue.shift());
}

async function send(body) {
  busy = true;
  $("ask")?.classList.add("busy-now");
  const pressed = performance.now();
  const from = opened;
  const { row, seen } = shown();
  try {
    const answer = await ask("api/label", { rows: [row], how: "card", key: newKey(), seen, client, next: !from, ...body });
    Object.assign(state, pick(answer));
    undone.length = 0;
    busy = false;
    const said = `Row ${row + 1}: ${body.label || (body.do === "clear" ? "label removed" : "skipped")}. Saved.`;
    if (from) {
      if (card?.row === row) card = null;
      toast(said);
      leave(row);
    } else {
      show(answer.next);
      const best = card?.guesses[0];
      arrive(`${said} ${card ? `Now row ${card.row + 1}${best ? `, probably ${best.label}, ${percent(best.share, 0)}` : ""}.` : "All rows are done."}`);
    }
    // Time from the key press to the next card, for measurements.
    requestAnimationFrame(() => performance.measure("answer", { start: pressed, end: performance.now() }));
    drain();
  } catch (error) {
    busy = false;
    queue.length = 0;
    $("ask")?.classList.remove("busy-now");
    toast(error.message);
    if (error.status === 409 && error.content?.next && !from) show(error.content.next);
  }
}

const pick = ({ next, undone: _, saved, ...summary }) => summary;

/** Undo the last thing done in this tab. */
export async function undo() {
  if (busy) { queue.push(["undo"]); return; }
  if (!state.writes) return;
  busy = true;
  try {
    const back = await ask("api/undo", { key: newKey(), tabs });
    Object.assign(state, pick(back));
    const { rows, label } = back.undone;
    undone.push(back.undone);
    busy = false;
    if (state.view === "ask") { opened = null; show(back.next); }
    toast(`Undone: ${label ? `“${label}” of ` : ""}${rows.length === 1 ? `row ${rows[0] + 1}` : plural(rows.length, "row")}.`);
    arrive($("toast").textContent);
    drain();
  } catch (error) { busy = false; queue.length = 0; toast(error.message); }
}

/** Do again what was undone. */
export async function redo() {
  if (busy) { queue.push(["redo"]); return; }
  const last = undone.pop();
  if (!last || !state.writes) { toast("There is nothing to redo."); return; }
  const { rows, label, do: what, how } = last;
  if (what === "classes" || (what === "label" && !label)) { toast("This cannot be redone as one: do it again where it was done."); return; }
  busy = true;
  try {
    const answer = await ask("api/label", { rows, label, do: what, how, key: newKey(), client });
    Object.assign(state, pick(answer));
    busy = false;
    if (state.view === "ask") { opened = null; show(answer.next); }
    toast(`Done again: ${label ? `“${label}” for ` : ""}${rows.length === 1 ? `row ${rows[0] + 1}` : plural(rows.length, "row")}.`);
    drain();
  } catch (error) { busy = false; toast(error.message); }
}

/** Show new classes and counts, and a first guess; a guess that is there stays. */
export async function refresh() {
  const now = shown();
  if (!now || busy || state.view !== "ask") return;
  const known = [...document.querySelectorAll(".answers .class")].map((b) => b.dataset.class).join("\n");
  if (!now.guesses.length && state.order) {
    try {
      const { guesses } = await ask(`api/card/${now.row}`);
      if (shown() !== now || busy) return;
      if (guesses.length) { now.guesses = guesses; guessed = performance.now(); }
    } catch { return; } // the next request will show the error
  }
  const same = known === state.classes.map((c) => c.name).join("\n");
  const stale = $("view").querySelector(".guess h3")?.textContent === "No guess yet" && now.guesses.length;
  calmly(() => {
    if (shown() !== now || busy) return;
    if ((same && !stale) || document.activeElement?.closest(".other")) { recount($("view")); return; }
    const held = document.activeElement?.dataset?.class;
    document.querySelector(".answers")?.replaceWith(answers());
    if (held !== undefined) document.querySelector(`[data-class="${CSS.escape(held)}"]`)?.focus();
  });
}

export function key(event) {
  const chosen = classOf(event.key);
  if (chosen) perform("label", chosen.name);
  else if (event.key === "Enter" && !event.target.closest("button, a")) perform("accept");
  else if (event.key === "s" || event.key === "S") perform("skip");
  else if (event.key === "Delete" || event.key === "Backspace") perform("clear");
  else if (event.key === "Escape" && opened) leave();
  else if (event.key === "z" || event.key === "Z") zoomFirst();
  else if (event.key === "/") box?.querySelector("input").focus();
  else return scrolled(event);
  return true;
}
