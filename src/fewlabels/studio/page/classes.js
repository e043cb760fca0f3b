// Rename, merge, reorder, describe and colour classes; also the legend of all of them.

import { $, ask, colour, el, newKey, plural, state, toast } from "./base.js";
import { close, open } from "./dialogs.js";

let draft = [];

export function classes() {
  draft = state.classes.map((c) => ({ ...c, was: c.name, into: null }));
  show();
}

const hex = (value) => {
  const probe = el("i", { hidden: true });
  probe.style.color = value;
  document.body.append(probe);
  const canvas = el("canvas", { width: 1, height: 1 }).getContext("2d");
  canvas.fillStyle = getComputedStyle(probe).color;
  probe.remove();
  canvas.fillRect(0, 0, 1, 1);
  return `#${[...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v.toString(16).padStart(2, "0")).join("")}`;
};

function show(focus) {
  const kept = draft.filter((c) => c.into === null);
  const move = (c, step) => {
    const at = kept.indexOf(c), other = kept[at + step];
    if (!other) return;
    const a = draft.indexOf(c), b = draft.indexOf(other);
    [draft[a], draft[b]] = [draft[b], draft[a]];
    show(`${step < 0 ? "up" : "down"}-${c.was ?? c.name}`);
  };
  const row = (c, k) => el("li", { class: "class-row", colour: c.colour || colour(state.classes.findIndex((s) => s.name === c.was)) },
    el("span", { class: "order" },
      el("button", { class: "icon", type: "button", "data-focus": `up-${c.was ?? c.name}`, "aria-label": `Move ${c.name} up`, disabled: k === 0, onclick: () => move(c, -1) }, "↑"),
      el("button", { class: "icon", type: "button", "data-focus": `down-${c.was ?? c.name}`, "aria-label": `Move ${c.name} down`, disabled: k === kept.length - 1, onclick: () => move(c, 1) }, "↓")),
    el("input", { type: "color", "aria-label": `Colour of ${c.name}`, value: c.colour || hex(colour(state.classes.findIndex((s) => s.name === c.was))), onchange: (event) => { c.colour = event.target.value; } }),
    el("span", { class: "class-words" },
      el("input", { type: "text", class: "class-name", "aria-label": `Name of ${c.name}`, maxlength: 500, dir: "auto", value: c.name, oninput: (event) => { c.name = event.target.value.trim(); warn(); } }),
      el("input", { type: "text", class: "class-text", "aria-label": `Description of ${c.name}`, maxlength: 2000, dir: "auto", value: c.text || "", placeholder: "What belongs here?", oninput: (event) => { c.text = event.target.value; } })),
    el("span", { class: "number quiet" }, c.count.toLocaleString("en")),
    el("select", { class: "merge", "aria-label": `Merge ${c.name} into another class`, onchange: (event) => { const into = kept.find((o) => o.was === event.target.value); if (into) { c.into = into; show(); } } },
      el("option", { value: "" }, "merge into …"), kept.filter((o) => o !== c && o.was).map((o) => el("option", { value: o.was }, o.was))));
  open("Classes",
    el("p", {}, "The order is that of the keys. A change holds for all labels, and undo takes it back as one."),
    el("ul", { class: "class-list" }, kept.map(row)),
    draft.some((c) => c.into) ? el("p", { class: "quiet small" }, draft.filter((c) => c.into).map((c) => `“${c.was}” (${plural(c.count, "label")}) goes into “${c.into.name}”. `)) : null,
    el("p", { class: "bad", id: "class-warning", role: "alert" }),
    el("div", { class: "row end" },
      el("button", { class: "button", type: "button", onclick: () => { draft.push({ name: "", text: "", colour: "", count: 0, was: null, into: null }); show(); $("dialog-body").querySelector("li:last-child .class-name").focus(); } }, "Add a class"),
      el("button", { class: "button primary", id: "save-classes", type: "button", disabled: !state.writes, onclick: save }, "Save")));
  warn();
  if (focus) $("dialog-body").querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus();
}

function warn() {
  const names = draft.filter((c) => c.into === null).map((c) => c.name);
  const twice = names.find((n, k) => names.indexOf(n) < k);
  const text = names.includes("") ? "Every class needs a name." : twice ? `Two classes are called “${twice}”: merge them instead.` : "";
  $("class-warning").textContent = text;
  $("save-classes").disabled = Boolean(text) || !state.writes;
}

async function save() {
  const end = (c) => (c.into ? end(c.into) : c.name);
  const kept = draft.filter((c) => c.into === null);
  const renames = Object.fromEntries(draft.filter((c) => c.was && end(c) !== c.was).map((c) => [c.was, end(c)]));
  try {
    const { saved, ...summary } = await ask("api/classes", { classes: kept.map(({ name, text, colour: tint }) => ({ name, text: text || "", colour: tint || "" })), renames, key: newKey() });
    Object.assign(state, summary);
    close();
    toast("Classes are saved. Undo takes the change back.");
    document.dispatchEvent(new CustomEvent("classes"));
  } catch (error) { toast(error.message); }
}

export function prepare() { $("open-classes").addEventListener("click", classes); }
