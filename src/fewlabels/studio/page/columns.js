// Which columns are shown, and where: fixed for a table, and chosen by the person.

import { $, ask, el, pictures, state, toast } from "./base.js";

/** Columns of a card, in their places: pinned ones first, hidden ones not at all. */
export const shownColumns = () => {
  const shown = state.layout.filter((c) => !c.hidden);
  return [...shown.filter((c) => c.pinned), ...shown.filter((c) => !c.pinned)];
};

/** The columns that tell most, for small views. */
export const briefColumns = (n) => state.brief.slice(0, n).map((place) => state.layout[place]);

/** A row in a few words: pictures, a text, and the columns that tell most. */
export function brief(card, n = 4) {
  const images = pictures(card);
  const columns = briefColumns(images.length ? 2 : n);
  return [...images, ...columns.map((column) => {
    const text = card.cells[column.place];
    return column.text
      ? el("span", { class: "text", dir: "auto", title: column.name }, text || "–")
      : el("span", { class: "pair" }, el("span", { dir: "auto" }, column.name), el("b", { dir: "auto" }, text || "–"));
  })];
}

/** The same in one line. */
export const briefLine = (cells) => briefColumns(4).map((column) => cells[column.place]).filter(Boolean).join(" · ");

/** The dialog in which columns are chosen. */
export function columnsDialog(open, changed) {
  const most = Math.max(...state.layout.map((c) => c.effect || 0), 1e-9);
  const send = async (name, change) => {
    const now = state.layout.map((c) => (c.name === name ? { ...c, ...change } : c));
    try {
      const names = (which) => now.filter((c) => c[which]).map((c) => c.name);
      Object.assign(state, await ask("api/columns", { pinned: names("pinned"), hidden: names("hidden") }));
      changed();
      show();
    } catch (error) { toast(error.message); }
  };
  const list = el("div", { class: "columns", role: "group", "aria-label": "Columns" });
  const show = () => {
    const held = document.activeElement?.dataset?.toggle;
    list.replaceChildren(...[...state.brief, ...state.layout.map((c) => c.place).filter((k) => !state.brief.includes(k))].map((place) => {
      const c = state.layout[place];
      const toggle = (what, word) => el("button", { class: "button plain", "data-toggle": `${what}-${place}`, "aria-pressed": String(Boolean(c[what])), disabled: !state.writes, onclick: () => send(c.name, { [what]: !c[what], ...(what === "hidden" ? { pinned: false } : { hidden: false }) }) }, word);
      return el("div", { class: "column" }, el("span", { class: "name", dir: "auto" }, c.name),
        el("span", { class: "quiet small" }, c.text ? "text" : c.effect === null ? "" : c.useful ? "" : "identifies rows"),
        c.effect === null ? null : el("span", { class: "bar-share", role: "img", "aria-label": `effect on the guesses ${Math.round(100 * c.effect)} of 100` }, el("i", { "width%": Math.round(100 * c.effect / most) })),
        toggle("pinned", "Pin"), toggle("hidden", "Hide"));
    }));
    if (held) list.querySelector(`[data-toggle="${held}"]`)?.focus();
  };
  show();
  open("Columns",
    el("p", {}, "Columns are listed by how much they tell: long texts first, then those with the largest effect on the guesses. The first ones are shown in tiles, in the history and on the map. Pin a column to move it to the front, or hide it; the choice is remembered with the table."),
    list);
}
