// Search in all rows, and label in the list.

import { $, ask, chip, classBox, classButton, classOf, client, el, newKey, percent, pictures, plural, state, toast } from "./base.js";
import { briefColumns } from "./columns.js";
import { close, open as dialog } from "./dialogs.js";
import { accept } from "./accept.js";
import { noteBar } from "./notes.js";

const WHERE = [
  ["all", "all rows"], ["open", "without a label"], ["labelled", "with a label"], ["skipped", "skipped"], ["flagged", "flagged"],
  ["notes", "with a note"], ["doubtful", "labels to check"], ["disputed", "disputed"], ["accepted", "accepted predictions"],
];
const ORDERS = [["row", "as in the table"], ["unsure", "least certain first"], ["sure", "most certain first"], ["latest", "last changed first"]];
const EMPTY = { text: "", where: "all", label: "", guess: "", low: "", high: "", order: "row", like: null };
let query = { ...EMPTY };
let found = null;
let active = -1;
let asked = 0;
let timer;
let openRow = () => {};
export const onOpen = (callback) => { openRow = callback; };

/** Show rows of a kind, or like another, in this view. */
export function set(changes) { query = { ...EMPTY, ...changes }; found = null; active = -1; }

export function render(view) {
  view.replaceChildren(el("div", { class: "find-view" }, form(), el("div", { id: "found", "aria-live": "off" })));
  list();
  search();
}

function form() {
  const change = (name, value) => { query[name] = value; active = -1; clearTimeout(timer); timer = setTimeout(search, 180); };
  const pick = (name, label, options) => el("label", { class: "field" }, el("span", {}, label),
    el("select", { id: `find-${name}`, onchange: (event) => change(name, event.target.value) }, options.map(([value, text]) => el("option", { value, selected: query[name] === value }, text))));
  const share = (name, label) => el("label", { class: "field" }, el("span", {}, label),
    el("input", { id: `find-${name}`, type: "number", min: 0, max: 100, step: 1, inputmode: "numeric", value: query[name] === "" ? "" : Math.round(100 * query[name]), placeholder: name === "low" ? "0" : "100",
      oninput: (event) => change(name, event.target.value === "" ? "" : Math.min(100, Math.max(0, Number(event.target.value))) / 100) }));
  const classes = [["", "any"], ...state.classes.map((c) => [c.name, c.name])];
  return el("form", { class: "panel find-form", role: "search", onsubmit: (event) => { event.preventDefault(); search(); } },
    el("div", { class: "find-text" },
      el("input", { id: "find-text", class: "find", type: "search", value: query.text, dir: "auto", maxlength: 500, "aria-label": "Search all rows", "aria-describedby": "find-hint",
        placeholder: "Search all rows", oninput: (event) => change("text", event.target.value) }),
      el("p", { class: "quiet small", id: "find-hint" }, "Words, “a phrase”, -without; a column: ", el("code", {}, example()))),
    el("div", { class: "find-fields" }, pick("where", "Rows", WHERE), pick("label", "Label", classes), pick("guess", "Predicted", classes),
      share("low", "Confidence from, %"), share("high", "to, %"), pick("order", "Order", ORDERS)),
    query.like === null ? null : el("p", { class: "like" }, `Like row ${(query.like + 1).toLocaleString("en")}, the most similar first.`,
      el("button", { class: "button small", type: "button", onclick: () => { set({}); render($("view")); } }, "Show all rows")));
}

function example() {
  const name = state.columns[0] || "column";
  const quoted = /[\s:=<>"]/.test(name) ? `"${name}"` : name;
  return `${quoted}:part, ${quoted}=value, ${quoted}>3`;
}

async function search(start = 0) {
  const turn = ++asked;
  try {
    const answer = await ask("api/search", { ...query, start });
    if (turn !== asked || state.view !== "find") return;
    found = start ? { ...answer, cards: [...found.cards, ...answer.cards] } : answer;
    if (!start) active = -1;
    list();
  } catch (error) { if (turn === asked) toast(error.message); }
}

function list() {
  const holder = $("found");
  if (!holder) return;
  if (!found) { holder.replaceChildren(); return; }
  const rest = found.total - found.cards.length;
  holder.replaceChildren(
    el("div", { class: "found-head" }, el("h2", { id: "found-count", "aria-live": "polite" }, plural(found.total, "row")),
      el("div", { class: "row" },
        found.total && state.writes ? el("button", { class: "button", id: "label-found", onclick: labelAll }, `Label all ${found.total === 1 ? "" : found.total.toLocaleString("en")} …`) : null,
        el("button", { class: "button", id: "accept-found", onclick: () => accept(query.guess), disabled: !state.writes }, "Accept predictions …"))),
    found.cards.length ? el("ul", { class: "found-list panel", "aria-label": "Rows found" }, found.cards.map(item)) : el("p", { class: "empty quiet" }, "No row matches."),
    rest > 0 ? el("button", { class: "button show-more", onclick: () => search(found.cards.length) }, `Show more (${rest.toLocaleString("en")} left)`) : "");
}

function terms() {
  const words = [];
  for (const [, minus, phrase, word] of query.text.matchAll(/(-?)(?:"([^"]*)"|(\S+))/g)) {
    const text = phrase ?? word?.replace(/^[^:=<>]+[:=]/, "");
    if (!minus && text) words.push(text.toLocaleLowerCase());
  }
  return words;
}

/** Text with the words that were searched for marked. */
function marked(text, words) {
  const folded = text.toLocaleLowerCase();
  if (folded.length !== text.length) return [text];
  const parts = [];
  let at = 0;
  while (at < text.length) {
    let next = -1, long = 0;
    for (const word of words) {
      const place = folded.indexOf(word, at);
      if (place >= 0 && (next < 0 || place < next)) { next = place; long = word.length; }
    }
    if (next < 0) break;
    parts.push(text.slice(at, next), el("mark", {}, text.slice(next, next + long)));
    at = next + long;
  }
  return [...parts, text.slice(at)];
}

function snippet(card) {
  const words = terms();
  const hit = words.length ? card.cells.findIndex((t) => words.some((w) => t.toLocaleLowerCase().includes(w))) : -1;
  const told = briefColumns(6);
  const lead = hit >= 0 ? hit : told.find((c) => c.text)?.place ?? -1;
  const others = told.filter((c) => c.place !== lead && card.cells[c.place]).slice(0, lead < 0 ? 5 : 3).map((c) => [c.name, card.cells[c.place]]);
  let text = lead < 0 ? "" : card.cells[lead];
  if (lead >= 0 && text.length > 260) {
    const at = Math.max(0, ...words.map((w) => text.toLocaleLowerCase().indexOf(w)));
    text = `${at > 80 ? "… " : ""}${text.slice(Math.max(0, at - 80), Math.max(0, at - 80) + 260)} …`;
  }
  return el("span", { class: "what" },
    text ? el("span", { class: "lead", dir: "auto" }, marked(text, words)) : null,
    el("small", { dir: "auto" }, others.flatMap(([name, t], k) => [k ? " · " : "", `${name} `, el("b", {}, marked(t.length > 60 ? `${t.slice(0, 60)} …` : t, words))])));
}

function item(card, k) {
  const on = k === active;
  const best = card.guesses[0];
  return el("li", { class: on ? "found on" : "found", "data-row": card.row },
    el("button", { class: "found-row", "aria-expanded": String(on), onclick: () => activate(on ? -1 : k) },
      el("span", { class: "number quiet" }, (card.row + 1).toLocaleString("en")), pictures(card).slice(0, 1), snippet(card),
      card.note?.flag ? el("span", { class: "flag", title: card.note.text || "flagged" }, "⚑", el("span", { class: "visually-hidden" }, "flagged")) : null,
      card.label ? el("span", { class: "said" }, chip(card.label)) : card.skipped ? el("span", { class: "quiet" }, "skipped")
        : best ? el("span", { class: "guessed" }, chip(best.label), el("span", { class: "number quiet" }, percent(best.share, 0))) : el("span", { class: "quiet" }, "–")),
    on ? more(card) : null);
}

function more(card) {
  const cells = card.cells.map((text, k) => el("div", { class: text.length > 60 ? "long" : null }, el("dt", { dir: "auto" }, state.columns[k]), el("dd", { dir: "auto" }, text || "–")));
  return el("div", { class: "found-more" },
    pictures(card).length ? el("div", { class: "pictures" }, pictures(card)) : null,
    el("dl", { class: "cells" }, cells),
    noteBar(card, (next) => replace(next)),
    state.writes ? el("div", { class: "found-classes", role: "group", "aria-label": `Label of row ${card.row + 1}` },
      state.classes.slice(0, 40).map((c, k) => classButton(c, k, { pressed: card.label === c.name, onclick: () => label(card, c.name) })), classBox((name) => label(card, name))) : null,
    el("div", { class: "row" },
      state.writes ? el("button", { class: "button", onclick: () => label(card, null) }, card.label ? "Remove label" : "Not sure") : null,
      el("button", { class: "button", "data-like": card.row, onclick: () => like(card.row) }, "More like this"),
      el("button", { class: "button plain", onclick: () => openRow(card.row) }, "Open")));
}

export function like(row) { set({ like: row }); render($("view")); window.scrollTo({ top: 0 }); }

function activate(k) {
  active = k;
  list();
  const row = document.querySelectorAll(".found-row")[Math.max(k, 0)];
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
}

function replace(card) {
  const k = found.cards.findIndex((c) => c.row === card.row);
  if (k >= 0) { found.cards[k] = card; list(); document.querySelectorAll(".found-row")[k]?.focus({ preventScroll: true }); }
}

async function label(card, name) {
  const body = name ? { do: "label", label: name } : card.label ? { do: "clear" } : { do: "skip" };
  try {
    const { saved, ...summary } = await ask("api/label", { rows: [card.row], how: "find", key: newKey(), seen: card.seen, client, next: false, ...body });
    Object.assign(state, summary);
    const k = found.cards.findIndex((c) => c.row === card.row);
    found.cards[k] = { ...card, label: name, skipped: body.do === "skip", seen: saved };
    $("toast").textContent = `Row ${card.row + 1}: ${name || (body.do === "skip" ? "skipped" : "label removed")}. Saved.`;
    activate(Math.min(k + 1, found.cards.length - 1));
  } catch (error) { toast(error.message); if (error.status === 409) search(); }
}

async function labelAll() {
  let all;
  const where = query.where === "all" ? "open" : query.where; // labels stay, unless rows with labels were asked for
  try { all = await ask("api/search", { ...query, where, ids: true }); } catch (error) { toast(error.message); return; }
  if (!all.total) { toast("All of these rows have a label or were skipped."); return; }
  const apply = async (name) => {
    close();
    try {
      Object.assign(state, await ask("api/label", { rows: all.rows, label: name, how: "find", key: newKey(), client, next: false }));
      toast(`${plural(all.rows.length, "row")} labelled as “${name}”. Undo takes all of them back.`);
      search();
    } catch (error) { toast(error.message); }
  };
  dialog(`Label ${plural(all.total, "row")}`,
    el("p", {}, where === "open" ? "Rows that have a label or were skipped stay as they are. Undo takes all back at once." : "All rows that were found get this label. Undo takes all back at once."),
    el("div", { class: "found-classes" }, state.classes.map((c, k) => classButton(c, k, { onclick: () => apply(c.name) })), classBox(apply)));
}

/** After undo, and when labels come from elsewhere. */
export function reload() { if (state.view === "find") search(); }

export function key(event) {
  if (event.key === "/") { $("find-text").focus(); $("find-text").select(); return true; }
  if (!found?.cards.length) return false;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const step = event.key === "ArrowDown" ? 1 : -1;
    activate(Math.min(found.cards.length - 1, Math.max(0, active + step)));
  } else if (event.key === "Escape" && active >= 0) activate(-1);
  else if (active >= 0 && classOf(event.key) && state.writes) label(found.cards[active], classOf(event.key).name);
  else if (active >= 0 && (event.key === "s" || event.key === "S") && state.writes) label(found.cards[active], null);
  else return false;
  return true;
}
