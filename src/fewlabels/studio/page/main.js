// Connects the views: tabs, keys, events from the server.

import { $, ask, client, el, percent, plural, state, toast } from "./base.js";
import * as question from "./ask.js";
import * as grid from "./grid.js";
import * as map from "./map.js";
import * as quality from "./quality.js";
import * as dialogs from "./dialogs.js";
import * as files from "./files.js";

const VIEWS = { ask: question, grid, map, quality };
const problems = new Map();
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
  if (name === "grid") grid.forget();
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
    if (!state.view) show("ask");
  } else if (kind === "labels") {
    const changed = content.classes.length !== state.classes.length || content.writes !== state.writes;
    Object.assign(state, content);
    figures();
    if (changed && state.view === "ask") question.refresh();
    if (state.view === "map") map.colours();
  } else if (kind === "status") { state.status = content; figures(); if (state.view === "map" && !state.map) show("map"); }
  else if (kind === "learned") { state.order = "model"; question.refresh(); if (state.view === "map") map.colours(); }
  else if (kind === "quality") { state.quality = content; figures(); if (state.view === "quality") quality.render($("view")); }
  else if (kind === "map") { state.map = true; if (state.view === "map") show("map"); }
  else if (kind === "grid") { state.grid = true; grid.ready(); }
  else if (kind === "failure") { state.failure = content; figures(); }
  else if (kind === "changed") banner("changed", "The table on the disk has changed. Start fewlabels studio again to read it; all labels are kept.");
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  if (dialogs.isOpen()) return;
  if (event.target.closest("input, textarea, select")) return;
  const go = { a: "ask", g: "grid", m: "map", q: "quality" }[event.key.toLowerCase()];
  if (VIEWS[state.view]?.key?.(event)) event.preventDefault();
  else if (go) show(go);
  else if (event.key === "u" || event.key === "U") question.undo().then(() => show("ask"));
  else if (event.key === "h" || event.key === "H") dialogs.history();
  else if (event.key === "e" || event.key === "E") files.files();
  else if (event.key === "?") dialogs.help();
  else return;
  event.preventDefault();
}

async function openRow(row) {
  try { await question.open(row); show("ask"); $("view").focus({ preventScroll: true }); } catch (error) { toast(error.message); }
}

function start() {
  dialogs.prepare();
  files.prepare();
  for (const part of [map, quality, dialogs]) part.onOpen(openRow);
  const tabs = [...document.querySelectorAll("[role=tab]")];
  tabs.forEach((tab, k) => {
    tab.addEventListener("click", () => show(tab.dataset.view));
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
