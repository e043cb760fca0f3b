// Shared by all views: elements without HTML strings, requests, state, wording.

export const state = { classes: [], labels: 0, rows: 0, columns: [], layout: [], brief: [], quality: {}, writes: true };

export const client = [...crypto.getRandomValues(new Uint8Array(8))].map((b) => b.toString(16).padStart(2, "0")).join("");

/** Every name that this tab has had since it was opened: undo is for its own labels. */
export const tabs = (() => {
  let known = [];
  try {
    known = JSON.parse(sessionStorage.getItem("tabs") || "[]").slice(-20);
    sessionStorage.setItem("tabs", JSON.stringify([...known, client]));
  } catch { /* storage is forbidden: undo reaches back to the last reload */ }
  return [...known, client];
})();

let pressed = false, late = [];
for (const kind of ["pointerdown", "pointerup", "pointercancel"]) {
  addEventListener(kind, () => {
    pressed = kind === "pointerdown";
    // The click comes after the pointer is released.
    if (!pressed) setTimeout(() => { const run = late; late = []; run.forEach((f) => f()); });
  }, { capture: true });
}
/** Replace part of the page, but never under a pressed button, whose click would be lost. */
export function calmly(change) { if (pressed) late.push(change); else change(); }

let count = 0;
export const newKey = () => `${client}-${Date.now().toString(36)}-${count++}`;

/** Make an element; strings become text, never HTML. */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "colour") node.style.setProperty("--class", value);
    else if (key === "width%") node.style.width = `${value}%`;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";
export function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

export const $ = (id) => document.getElementById(id);

/** Ask the server. Throws an error whose message can be shown. */
export async function ask(path, body) {
  let answer;
  if (state.by && body) body = { by: state.by, ...body };
  else if (state.by) path += `${path.includes("?") ? "&" : "?"}by=${encodeURIComponent(state.by)}`;
  try {
    answer = await fetch(path, body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  } catch {
    throw new Error("The server cannot be reached. Confirmed labels are saved; start fewlabels studio again to continue.");
  }
  if (answer.headers.get("content-type") !== "application/json") {
    if (!answer.ok) throw new Error(await answer.text());
    return answer;
  }
  const content = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(content.error || answer.statusText), { status: answer.status, content });
  return content;
}

let fading;
export function toast(text) {
  const node = $("toast");
  node.textContent = text;
  node.classList.add("on");
  clearTimeout(fading);
  fading = setTimeout(() => node.classList.remove("on"), 2600);
}

/** Colour of a class, by its index. */
export function colour(name) {
  const place = typeof name === "number" ? name : state.classes.findIndex((c) => c.name === name);
  return place < 0 ? "var(--soft)" : state.classes[place]?.colour || tint(place);
}

/** Colours beyond the twelve of the palette: hues of the golden angle, in two lightnesses. */
export function tint(place) {
  if (place < 12) return `var(--c${place})`;
  const hue = Math.round((place * 137.5) % 360), deep = place % 2;
  return `light-dark(oklch(${deep ? .46 : .6} .14 ${hue}), oklch(${deep ? .7 : .84} .12 ${hue}))`;
}

export const percent = (share, digits) => {
  const value = 100 * share;
  return `${value.toFixed(digits ?? (value < 9.95 ? 1 : 0))} %`;
};
export const plural = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many || one + "s"}`;

export function chip(name) {
  return el("span", { class: "chip", colour: colour(name) }, el("i"), el("span", { dir: "auto" }, name));
}

/** The image made of pixel columns, and the images that columns name. */
export function pictures(card) {
  const found = [];
  if (card.pixels) found.push(drawn(card));
  for (const picture of card.pictures) {
    const alt = `${picture.name} of row ${card.row + 1}`;
    found.push(el("figure", {}, el("img", { src: `picture/${card.row}/${picture.place}`, alt, decoding: "async" })));
  }
  return found;
}

function drawn(card) {
  const { width, height, grey } = card.pixels;
  const canvas = el("canvas", { class: "pixels", width, height, role: "img", "aria-label": `Image of row ${card.row + 1}` });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const bytes = Uint8Array.from(atob(grey), (c) => c.charCodeAt(0));
  bytes.forEach((value, k) => image.data.set([value, value, value, 255], 4 * k));
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Box to search for classes and add new ones. */
export function classBox(choose, { label = "Another class" } = {}) {
  const list = el("ul", { role: "listbox", id: `list-${newKey()}`, "aria-label": "Classes", hidden: true });
  const input = el("input", {
    type: "text", role: "combobox", "aria-expanded": "false", "aria-autocomplete": "list", "aria-controls": list.id,
    "aria-label": label, placeholder: state.classes.length ? "Search or new class" : "Name the first class", autocomplete: "off", maxlength: 500, dir: "auto",
  });
  let options = [], at = 0;
  const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); };
  const pick = (name) => { input.value = ""; close(); input.blur(); choose(name); };
  const mark = () => {
    [...list.children].forEach((li, k) => li.setAttribute("aria-selected", String(k === at)));
    const chosen = list.children[at];
    if (chosen) { input.setAttribute("aria-activedescendant", chosen.id); chosen.scrollIntoView({ block: "nearest" }); }
  };
  const show = () => {
    const wanted = input.value.trim();
    const folded = wanted.toLocaleLowerCase();
    options = state.classes.filter((c) => c.name.toLocaleLowerCase().includes(folded)).map((c) => ({ name: c.name, count: c.count }));
    options.sort((a, b) => b.name.toLocaleLowerCase().startsWith(folded) - a.name.toLocaleLowerCase().startsWith(folded));
    options = options.slice(0, 50);
    if (wanted && !state.classes.some((c) => c.name === wanted)) {
      const same = options.length && options[0].name.toLocaleLowerCase() === folded;
      options.splice(same ? 1 : options.length, 0, { name: wanted, fresh: true });
    }
    at = 0;
    list.replaceChildren(...options.map((o, k) => el("li", {
      role: "option", id: `${list.id}-${k}`, onmousedown: (event) => { event.preventDefault(); pick(o.name); },
    }, o.fresh ? el("span", {}, "New class: ", el("b", { dir: "auto" }, o.name)) : chip(o.name))));
    list.hidden = !options.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark();
  };
  input.addEventListener("input", show);
  input.addEventListener("focus", show);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      at = (at + (event.key === "ArrowDown" ? 1 : options.length - 1)) % Math.max(options.length, 1);
      mark();
    } else if (event.key === "Enter" && options[at]) { event.preventDefault(); pick(options[at].name); }
    else if (event.key === "Escape") { event.preventDefault(); input.value = ""; input.blur(); }
    event.stopPropagation();
  });
  return el("div", { class: "other" }, input, el("kbd", { "aria-hidden": "true" }, "/"), list);
}

/** The class that a key stands for. */
export const classOf = (key) => state.classes.find((c) => c.key && c.key === key.toLowerCase());

/** A button for a class. Shares and counts look different, and never share a place. */
export function classButton(entry, place, { share, pressed, onclick, disabled }) {
  return el("button", {
    class: `class${entry.name.length > 22 ? " wide-name" : ""}`, colour: colour(place), "data-class": entry.name, onclick, disabled,
    "aria-pressed": pressed === undefined ? null : String(pressed), "aria-keyshortcuts": entry.key || null,
  },
  el("i", { class: "fill", "width%": share ? Math.round(100 * share) : 0 }),
  entry.key ? el("kbd", { "aria-hidden": "true" }, entry.key.toUpperCase()) : null,
  el("i", { class: "swatch" }), el("span", { class: "name", dir: "auto" }, entry.name),
  el("span", { class: "count" }, plural(entry.count, "label")),
  share ? el("b", { class: "share" }, percent(share, 0)) : null);
}

/** Update counts where they stand, without replacing buttons. */
export function recount(root) {
  for (const button of root?.querySelectorAll(".class[data-class]") || []) {
    const entry = state.classes.find((c) => c.name === button.dataset.class);
    if (entry) button.querySelector(".count").textContent = plural(entry.count, "label");
  }
}

export function waiting(title, text, share) {
  return el("div", { class: "empty" }, el("h2", {}, title), el("p", { class: "quiet" }, text),
    share === undefined ? null : el("div", { class: "bar-share wait" }, el("i", { "width%": Math.round(100 * share) })));
}
