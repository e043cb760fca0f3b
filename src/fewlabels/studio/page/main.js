// Connects the views: tabs, keys, events from the server.

import { $, ask, calmly, client, el, percent, plural, state, toast } from "./base.js";
import * as question from "./ask.js";
import * as grid from "./grid.js";
import * as map from "./map.js";
import * as quality from "./quality.js";
import * as check from "./check.js";
import * as dialogs from "./dialogs.js";
import * as files from "./files.js";
import { columnsDialog } from "./columns.js";
import * as find from "./find.js";
import * as classes from "./classes.js";
import * as guide from "./guide.js";
import * as people from "./people.js";

const VIEWS = { ask: question, grid, find, map, quality, check };
const problems = new Map();
let came = "ask"; // where a row was opened
let read = ""; // the notice that the person has read

function show(name, focus = false) {
  state.view = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const on = tab.dataset.view === name;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    if (on && focus) tab.focus();
  }
  const view = $("view");
  view.setAttribute("aria-labelledby", `tab-${name}`);
  view.classList.toggle("full", name === "map");
  if (name !== "ask" && question.isOpened()) { question.close(); history.replaceState({}, "", "#"); }
  Promise.resolve(VIEWS[name].render(view)).catch((error) => toast(error.message));
}

function figures() {
  document.title = `${state.labels} labels · ${state.name}`;
  $("table-name").textContent = state.name;
  $("target-name").textContent = `${state.target} · ${plural(state.rows, "row")}`;
  $("n-labels").textContent = state.labels.toLocaleString("en");
  $("n-rows").textContent = state.labels === 1 ? "label" : "labels";
  const error = state.quality?.judgement?.error;
  const known = error && error.value !== null && error.value !== undefined;
  $("error-pill").hidden = !known;
  if (known) {
    $("error-pill").querySelector("b").textContent = percent(error.value);
    $("error-pill").title = `between ${percent(error.low)} and ${percent(error.high)}`;
  }
  const { what = "", share = 0 } = state.status || {};
  const idle = what === "ready";
  $("busy").classList.toggle("on", !idle);
  $("busy").lastElementChild.textContent = idle ? "up to date" : share > 0 && share < 1 ? `${what} ${Math.round(100 * share)} %` : what;
  banner("watch", state.writes === false ? `Another process${state.holder ? ` (${state.holder})` : ""} is labelling this table: you can only watch.` : "", "Take over", takeOver);
  banner("conflicts", state.conflicts ? `The table has changed: ${plural(state.conflicts, "label")} may no longer fit.` : "", "Decide", dialogs.conflicts);
  $("open-people").hidden = !(state.asks || state.me || state.people);
  banner("disputed", state.disputed ? `People disagree on ${plural(state.disputed, "row")}.` : "", "Settle", people.people);
  banner("notice", state.notice === read ? "" : state.notice, "OK", () => { read = state.notice; figures(); });
  banner("failure", state.failure ? `Guesses are not available: ${state.failure} Labels are still saved.` : "");
}

function banner(name, text, action, onclick) {
  if (problems.get(name) === text) return;
  problems.set(name, text);
  document.querySelector(`[data-banner="${name}"]`)?.remove();
  if (text) $("banners").append(el("div", { class: "banner", "data-banner": name }, el("span", { dir: "auto" }, text), action ? el("button", { class: "button", onclick }, action) : null));
}

async function takeOver() {
  try { Object.assign(state, await ask("api/take_over", {})); figures(); show(state.view); } catch (error) { toast(error.message); }
}

function receive({ kind, content }) {
  if (kind === "state") {
    Object.assign(state, content);
    banner("lost", "");
    figures();
    if (!state.view) people.askName(() => show("ask"));
  } else if (kind === "labels") {
    const changed = content.classes.length !== state.classes.length || content.writes !== state.writes;
    Object.assign(state, content);
    figures();
    if (state.view === "ask") question.refresh();
    if (state.view === "grid") { if (changed) calmly(() => grid.reload()); else grid.counts(); }
    if (state.view === "map") map.colours();
  } else if (kind === "status") { state.status = content; figures(); if (state.view === "map" && !state.map) calmly(() => map.render($("view"))); }
  else if (kind === "learned") { state.order = "model"; question.refresh(); if (state.view === "map") map.colours(); }
  else if (kind === "quality") { state.quality = content; figures(); if (state.view === "quality") calmly(() => quality.render($("view"))); }
  else if (kind === "columns") Object.assign(state, content);
  else if (kind === "map") { state.map = true; if (state.view === "map") show("map"); }
  else if (kind === "grid") { state.grid = true; grid.ready(); }
  else if (kind === "failure") { state.failure = content; figures(); grid.failed(); }
  else if (kind === "changed") banner("changed", "The table on the disk has changed. Start fewlabels studio again to read it; all labels are kept.");
}

function key(event) {
  if (event.altKey || event.isComposing || event.repeat) return;
  if (dialogs.isOpen() || $("zoom")) return;
  if (event.target.closest("input, textarea, select")) return;
  const letter = event.key.toLowerCase();
  if (event.ctrlKey || event.metaKey) {
    if (letter === "z" || letter === "y") { event.preventDefault(); again(letter === "y" || event.shiftKey); }
    return;
  }
  const go = { a: "ask", g: "grid", f: "find", m: "map", q: "quality", c: "check" }[letter];
  if (VIEWS[state.view]?.key?.(event)) event.preventDefault();
  else if (go) change(go);
  else if (letter === "u") again(event.shiftKey);
  else if (letter === "h") dialogs.history();
  else if (letter === "e") files.files();
  else if (letter === "t") classes.classes();
  else if (letter === "p") guide.guidelines();
  else if (event.key === "?") dialogs.help();
  else return;
  event.preventDefault();
}

/** Undo or redo, and stay where one is. */
async function again(redo) {
  await (redo ? question.redo() : question.undo());
  figures();
  if (state.view !== "ask") VIEWS[state.view].reload?.();
}

/** Go to a view; the focus goes along, so that its keys work. */
function change(name) {
  if (name === "ask" && question.isOpened()) { question.close(); history.replaceState({}, "", "#"); }
  if (name === "grid") grid.forget();
  if (name === "check") check.forget();
  show(name);
  $("view").focus({ preventScroll: true });
}

async function openRow(row) {
  const from = state.view;
  try {
    const again = question.isOpened();
    await question.open(row);
    if (!again) came = from;
    history[again ? "replaceState" : "pushState"]({ row }, "", `#row-${row + 1}`);
    show("ask");
    $("card")?.focus({ preventScroll: true });
  } catch (error) { toast(error.message); }
}

/** Leave an opened row: back to where it was opened. */
async function travel(event) {
  const { row } = event.state || {};
  if (row !== undefined) { try { await question.open(row); show("ask"); } catch (error) { toast(error.message); } return; }
  if (!question.isOpened()) return;
  question.close();
  show(came);
  $("view").focus({ preventScroll: true });
}

function start() {
  dialogs.prepare();
  for (const part of [files, classes, guide, people]) part.prepare();
  document.addEventListener("classes", () => show(state.view));
  for (const part of [find, grid, map, quality, dialogs]) part.onOpen(openRow);
  history.replaceState({}, "", "#");
  addEventListener("popstate", travel);
  question.onLeave((row) => { if (row !== undefined) grid.drop(row); history.back(); });
  question.onColumns(() => columnsDialog(dialogs.open, () => show(state.view)));
  const tabs = [...document.querySelectorAll("[role=tab]")];
  tabs.forEach((tab, k) => {
    tab.addEventListener("click", () => change(tab.dataset.view));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: tabs.length - 1 }[event.key];
      if (step) { event.preventDefault(); show(tabs[(k + step) % tabs.length].dataset.view, true); }
    });
  });
  document.addEventListener("keydown", key);
  const events = new EventSource(`api/events?client=${client}`);
  events.addEventListener("message", (event) => receive(JSON.parse(event.data)));
  events.addEventListener("error", () => banner("lost", "The connection is lost. Confirmed labels are saved; if this message stays, start fewlabels studio again."));
}

start();
