// History, conflicts and keys.

import { $, ask, chip, el, state, toast } from "./base.js";
import { briefLine } from "./columns.js";

let openRow = () => {};
export const onOpen = (callback) => { openRow = callback; };

export const isOpen = () => $("dialog").open;
export const close = () => $("dialog").close();

export function open(title, ...content) {
  $("dialog-title").textContent = title;
  $("dialog-body").replaceChildren(...content.filter(Boolean));
  if (!isOpen()) $("dialog").showModal();
}

export async function history() {
  let entries;
  try { entries = await ask("api/history"); } catch (error) { toast(error.message); return; }
  const list = el("div");
  const find = el("input", { class: "find", type: "search", placeholder: "Search for a class, row number or cell", "aria-label": "Search the history", dir: "auto" });
  const show = () => {
    const wanted = find.value.trim().toLocaleLowerCase();
    const fits = (e) => !wanted || [e.label || "skipped", String(e.row + 1), ...e.cells].some((t) => t.toLocaleLowerCase().includes(wanted));
    list.replaceChildren(...entries.filter(fits).slice(0, 200).map((e) => el("button", { class: "entry", onclick: () => { close(); openRow(e.row); } },
      el("span", { class: "what" }, `Row ${e.row + 1}`, el("small", { dir: "auto" }, [when(e.time), e.how, ...e.cells.filter(Boolean).slice(0, 4)].join(" · "))),
      e.do === "label" ? chip(e.label) : el("span", { class: "quiet" }, ({ skip: "not sure", check: "check only" })[e.do] || "removed"))));
    if (!list.children.length) list.replaceChildren(el("p", { class: "quiet" }, entries.length ? "Nothing matches." : "Nothing has been labelled here yet."));
  };
  find.addEventListener("input", show);
  show();
  open("History", el("p", {}, "Choose a row to change its label."), find, list);
}

const when = (time) => (time ? new Date(time).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" }) : "");

export async function conflicts() {
  let found;
  try { found = await ask("api/conflicts"); } catch (error) { toast(error.message); return; }
  const show = (entries) => {
    if (!entries.length) { close(); toast("All conflicts are resolved."); return; }
    const decide = async (c, keep) => { try { show(await ask("api/settle", { action: c.action, place: c.place, keep })); } catch (error) { toast(error.message); } };
    const all = async (keep) => { try { show(await ask("api/settle", { action: "", place: 0, keep })); } catch (error) { toast(error.message); } };
    open("The table has changed",
      el("p", {}, "These labels belong to rows that have changed since, or to damaged lines of the file. Decide which ones to keep."),
      entries.length > 1 ? el("div", { class: "row all" },
        el("button", { class: "button", onclick: () => all(true) }, `Keep all that fit a row`), el("button", { class: "button", onclick: () => all(false) }, "Drop all")) : null,
      el("div", {}, entries.slice(0, 200).map((c) => el("div", { class: "suspect" },
        c.kind === "label" ? el("div", {}, `Row ${c.place}: you said `, chip(c.label || "–"), ", the table says ", chip(c.table_label), " now.")
          : c.kind === "line" ? el("div", {}, `Row ${c.place}: a damaged line says `, chip(c.label), el("small", { class: "quiet", dir: "auto" }, `: ${briefLine(c.card.cells)}`))
          : el("div", {}, `Row ${c.place} was labelled `, chip(c.label || "not sure"), ", but its cells have changed", c.card ? el("small", { class: "quiet", dir: "auto" }, `: ${briefLine(c.card.cells)}`) : " (there is no such row)", "."),
        el("div", { class: "row" },
          c.card && c.label ? el("button", { class: "button", onclick: () => decide(c, true) }, "Keep the label") : null,
          el("button", { class: "button", onclick: () => decide(c, false) }, c.kind === "label" ? "Use the table's label" : "Drop the label"))))));
  };
  show(found);
}

const KEYS = [
  [["1", "…", "9"], "label with this class"], [["Enter"], "accept the guess"], [["S"], "not sure: skip the row"], [["/"], "search for a class, or add a new one"],
  [["U"], "undo the last label"], [["H"], "history: change any label"], [["E"], "export and import"],
  [["A"], "Ask"], [["G"], "Many at once"], [["F"], "Find rows"], [["T"], "classes"], [["P"], "guidelines"], [["M"], "Map"], [["Q"], "How good is it"], [["N"], "another group, in Many at once"], [["L"], "lasso, on the map"], [["?"], "this list"],
];

export function help() {
  open("Help and keys", el("dl", { class: "keys" }, KEYS.flatMap(([keys, text]) => [el("dt", {}, keys.map((k) => (k === "…" ? "–" : el("kbd", {}, k)))), el("dd", {}, text)])),
    ...(state.notes?.length ? [el("h3", {}, "About this table"), el("ul", {}, state.notes.map((n) => el("li", { class: "small quiet", dir: "auto" }, n)))] : []),
    el("p", { class: "small" }, el("a", { href: "api.html", target: "_blank", rel: "noopener" }, "HTTP API")));
}

export function prepare() {
  $("dialog-close").addEventListener("click", close);
  $("dialog").addEventListener("click", (event) => { if (event.target === $("dialog")) close(); });
  $("open-history").addEventListener("click", history);
  $("open-help").addEventListener("click", help);
}
