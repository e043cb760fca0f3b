// The check: rows drawn at random say how good the predictions are, whatever the model is.

import { $, ask, calmly, chip, classBox, classButton, classOf, client, el, newKey, percent, plural, state, toast, waiting } from "./base.js";
import { arrive, cardOf, scrolled } from "./card.js";

let check = null;
let busy = false;
let early = false; // whether to show the result before all rows are labelled
const queue = [];

export async function render(view) {
  if (!check) { view.replaceChildren(); check = await ask("api/check"); }
  if (state.view === "check") show(view);
}

function show(view) {
  if (!check.drawn) { view.replaceChildren(beginning()); return; }
  if (check.next && !early) { view.replaceChildren(question()); return; }
  view.replaceChildren(result());
}

function drawing(word) {
  const number = el("input", { class: "count-field", type: "number", id: "check-rows", value: 30, min: 1, max: 500, "aria-label": "How many rows" });
  return el("div", { class: "row" }, number, el("button", { class: "button primary", id: "draw", disabled: !state.writes || !check.ready, onclick: () => act("draw", { rows: Number(number.value) || 30 }) }, word));
}

function beginning() {
  return el("section", { class: "panel check-start" }, el("h2", {}, "How many predictions are wrong?"),
    el("p", {}, "Rows are drawn at random from those without a label. You label them without seeing a guess, and learn the share of wrong predictions, with an interval that holds whatever the model is."),
    el("p", { class: "quiet small" }, "Nothing is learned from these rows, unless you say so. They are kept out of all other views, and remembered with the labels."),
    check.ready ? drawing("Draw rows") : el("p", { class: "advice" }, "There is nothing to check yet: label rows of at least two classes first."));
}

function question() {
  const done = check.drawn - check.left;
  const blocked = !state.writes;
  return el("div", { class: "ask", id: "check" },
    cardOf(check.next, el("span", { class: "why" }, `${done + 1} of ${check.drawn} to check`)),
    el("div", { class: "answers" },
      el("div", { class: "panel guess" }, el("h3", {}, "Without a guess"), el("p", { class: "small quiet" }, "Drawn at random: who sees a guess tends to agree."),
        el("div", { class: "bar-share", role: "img", "aria-label": `${done} of ${check.drawn} rows are checked` }, el("i", { "width%": Math.round(100 * done / check.drawn) }))),
      el("div", { class: `classes${state.classes.length > 9 ? " many" : ""}`, role: "group", "aria-label": "Classes" }, state.classes.map((c, k) => classButton(c, k, { onclick: () => answer(c.name), disabled: blocked }))),
      blocked ? null : classBox(answer),
      el("div", { class: "rest" },
        el("button", { class: "button", onclick: () => answer(null), disabled: blocked, "aria-keyshortcuts": "S" }, "Not sure", el("kbd", { "aria-hidden": "true" }, "S")),
        el("button", { class: "button", disabled: !check.known, onclick: () => { early = true; show($("view")); } }, "Result so far"))));
}

const between = (e) => (e.value === null ? `${percent(e.low)} to ${percent(e.high)}` : `${percent(e.value)} (${percent(e.low)} to ${percent(e.high)})`);

function table(title, first, entries, id) {
  return el("section", { class: "panel", "aria-labelledby": id }, el("h2", { id }, title),
    el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, first), el("th", { class: "n", scope: "col" }, "rows"), el("th", { class: "n", scope: "col" }, "checked"), el("th", { class: "n", scope: "col" }, title.startsWith("Class") ? "share" : "wrong"))),
      el("tbody", {}, entries.map(([name, e]) => el("tr", {}, el("td", {}, name), el("td", { class: "n" }, e.rows.toLocaleString("en")), el("td", { class: "n" }, e.checked.toLocaleString("en")), el("td", { class: "n" }, el("span", { class: "share-cell" }, between(e))))))));
}

function result() {
  const { report, known, of, missing = report?.missing } = check;
  if (!report) return waiting("No result yet", "Label some of the rows first.");
  const e = report.error;
  return el("div", { class: "quality" },
    el("div", { class: "stack" },
      el("section", { class: "panel", "aria-labelledby": "c-error" }, el("h2", { id: "c-error" }, "Error, as checked"),
        el("div", { class: "headline" }, el("b", { id: "checked-error" }, e.value === null ? "not known yet" : percent(e.value)), el("span", { class: "quiet" }, `between ${percent(e.low)} and ${percent(e.high)}`)),
        el("p", { class: "quiet small" }, `of the ${of.toLocaleString("en")} predictions, by ${plural(known, "row")} that you checked. The interval holds in ${percent(check.level, 0)} of all such checks.`),
        missing ? el("p", { class: "quiet small" }, `${plural(missing, "row")} without an answer count as right for the lower end, and as wrong for the upper end.`) : null,
        state.labels !== check.labels_then ? el("p", { class: "quiet small" }, `This is the error of the predictions made with ${plural(check.labels_then, "label")}; there are ${state.labels.toLocaleString("en")} now.`) : null,
        el("div", { class: "row buttons" },
          check.next ? el("button", { class: "button primary", id: "go-on", onclick: () => { early = false; show($("view")); } }, `Go on: ${plural(check.left, "row")} left`) : null,
          check.can_extend ? el("button", { class: "button", id: "more", disabled: !state.writes || check.next, onclick: () => act("more", {}) }, "Check more rows") : null,
          el("button", { class: "button", id: "learn", disabled: !state.writes || check.learned, onclick: () => act("learn", {}) }, check.learned ? "The model learns from these rows" : "Learn from these rows"))),
      table("Error by predicted class", "Predicted", Object.entries(report.by_class).map(([name, c]) => [chip(name), c]), "c-class")),
    el("div", { class: "stack" },
      table("Error by confidence", "Confidence", report.by_confidence.map((c) => [`${percent(c.least, 0)} to ${percent(c.most, 0)}`, c]), "c-sure"),
      table("Class shares", "Class", Object.entries(report.class_shares).map(([name, c]) => [chip(name), c]), "c-shares"),
      el("section", { class: "panel" }, el("h2", {}, "Another check"), el("p", { class: "quiet small" }, "Draws other rows, for the predictions made now."), drawing("Draw new rows"))));
}

async function act(what, content) {
  if (busy) return;
  busy = true;
  try {
    const answer = await ask(`api/check/${what}`, { ...content, key: newKey(), client });
    if (answer.check) { check = answer.check; Object.assign(state, answer); } else check = answer;
    early = false;
    if (what === "learn") toast("The model learns from these rows from now on.");
    show($("view"));
    arrive(check.next ? `Row ${check.next.row + 1} to check.` : "The check is done.");
  } catch (error) { toast(error.message); }
  busy = false;
}

async function answer(label) {
  if (busy) { if (queue.length < 500) queue.push(label); return; }
  if (!check?.next || early || !state.writes) { queue.length = 0; return; }
  busy = true;
  const { row } = check.next;
  try {
    const saved = await ask("api/check/label", { row, label, key: newKey(), client });
    Object.assign(state, saved);
    check = saved.check;
    busy = false;
    if (state.view === "check") { show($("view")); arrive(`Row ${row + 1}: ${label ?? "not sure"}. Saved. ${check.next ? `Now row ${check.next.row + 1}.` : "The check is done."}`); }
    if (queue.length) answer(queue.shift());
  } catch (error) { busy = false; queue.length = 0; toast(error.message); }
}

/** Labels have changed elsewhere. */
export async function reload() {
  try { check = await ask("api/check"); if (state.view === "check" && !busy) calmly(() => show($("view"))); } catch (error) { toast(error.message); }
}
export function forget() { check = null; }

export function key(event) {
  const chosen = classOf(event.key);
  if (event.target.closest(".count-field")) return false;
  if (chosen) answer(chosen.name);
  else if (event.key === "s" || event.key === "S") answer(null);
  else if (event.key === "/") document.querySelector(".answers input")?.focus();
  else return scrolled(event);
  return true;
}
