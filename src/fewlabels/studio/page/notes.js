// A note and a flag on a row.

import { ask, el, state, toast } from "./base.js";

/** Flag button and note; `changed` gets the card as it is afterwards. */
export function noteBar(card, changed) {
  const note = card.note || { text: "", flag: false };
  const save = async (text, flag) => {
    try {
      const { card: next, ...summary } = await ask("api/note", { row: card.row, text, flag });
      Object.assign(state, summary);
      changed(next);
    } catch (error) { toast(error.message); }
  };
  const input = el("textarea", { class: "note-text", rows: 2, maxlength: 5000, dir: "auto", "aria-label": `Note on row ${card.row + 1}`, placeholder: "Why is this row hard?" });
  input.value = note.text;
  const editor = el("div", { class: "note-edit", hidden: true }, input,
    el("button", { class: "button small", type: "button", onclick: () => save(input.value, note.flag) }, "Save note"));
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save(input.value, note.flag);
    if (event.key === "Escape") { editor.hidden = true; input.blur(); }
  });
  const edit = el("button", { class: "button plain small", type: "button", disabled: !state.writes, onclick: () => { editor.hidden = !editor.hidden; if (!editor.hidden) input.focus(); } }, note.text ? "Edit note" : "Add a note");
  return el("div", { class: "note" },
    el("button", { class: "button plain small flag-button", type: "button", "aria-pressed": String(note.flag), disabled: !state.writes, onclick: () => save(note.text, !note.flag) }, el("span", { "aria-hidden": "true" }, note.flag ? "⚑ " : "⚐ "), note.flag ? "Flagged" : "Flag"),
    edit, note.text ? el("p", { class: "note-said", dir: "auto" }, note.text) : null, editor);
}
