// All rows in two dimensions, on a canvas: 20,000 points move smoothly.

import { $, ask, chip, classBox, classButton, classOf, client, colour, el, newKey, percent, plural, state, tint, toast, waiting } from "./base.js";
import { classes } from "./classes.js";
import { brief, briefLine } from "./columns.js";

const LABELED = 1, SKIPPED = 2, SUSPECT = 4, NONE = 65535;
let points = null;
let codes, sure, marks;
let by = "label";
let tool = "move";
let canvas, context, box;
let scale = 1, shiftX = 0, shiftY = 0;
let lasso = null;
let chosen = [];
let planned = false;
let hovered = -1;
const LEGEND = 14; // classes named in the legend
let openRow = () => {};

export const onOpen = (callback) => { openRow = callback; };

export async function render(view) {
  if (!state.map) {
    points = null;
    view.replaceChildren(waiting("Drawing the map", "Rows are placed once, in the background, so that similar rows are close together.", state.status?.share));
    return;
  }
  canvas = el("canvas", { tabindex: 0, role: "application", "aria-label": "Map of all rows. Arrow keys move, plus and minus zoom. Every row can also be reached in the Ask view." });
  view.replaceChildren(el("div", { class: "panel map", id: "map" }, canvas, tools(), legend(), el("div", { class: "panel tip", hidden: true, id: "tip" }), el("div", { id: "selection" })));
  context = canvas.getContext("2d");
  listen();
  if (!points) {
    const places = await ask("api/map");
    points = new Float32Array(await places.arrayBuffer());
  }
  await colours();
  reset();
  selection();
}

export async function colours() {
  if (state.view !== "map" || !state.map) return;
  const answer = await ask("api/colours");
  const data = await answer.arrayBuffer();
  const n = state.rows;
  codes = new Uint16Array(data, 0, n);
  sure = new Uint8Array(data, 2 * n, n);
  marks = new Uint8Array(data, 3 * n, n);
  $("map")?.querySelector(".legend")?.replaceWith(legend());
  plan();
}

function tools() {
  const segment = (label, pressed, onclick, extra = {}) => el("button", { "aria-pressed": String(pressed), onclick, ...extra }, label);
  const redraw = () => { $("map").querySelector(".map-tools").replaceWith(tools()); $("map").querySelector(".legend").replaceWith(legend()); canvas.classList.toggle("lasso", tool === "lasso"); plan(); };
  return el("div", { class: "map-tools" },
    el("div", { class: "segments", role: "group", "aria-label": "Colour" },
      segment("Classes", by === "label", () => { by = "label"; redraw(); }), segment("Confidence", by === "sure", () => { by = "sure"; redraw(); })),
    el("div", { class: "segments", role: "group", "aria-label": "Tool" },
      segment("Move", tool === "move", () => { tool = "move"; redraw(); }), segment("Lasso", tool === "lasso", () => { tool = "lasso"; redraw(); }, { id: "lasso", "aria-keyshortcuts": "L" })),
    el("div", { class: "segments", role: "group", "aria-label": "Zoom" },
      el("button", { onclick: () => zoom(1.5), "aria-label": "Zoom in" }, "+"), el("button", { onclick: () => zoom(1 / 1.5), "aria-label": "Zoom out" }, "−"), el("button", { onclick: reset }, "Fit")));
}

function legend() {
  if (by === "sure") {
    return el("div", { class: "panel legend", hidden: chosen.length > 0 }, el("div", {}, "Confidence"), el("div", { class: "ramp" }), el("p", {}, "uncertain (left) to certain (right); ringed rows have a label"));
  }
  return el("div", { class: "panel legend", hidden: chosen.length > 0 }, el("ul", {}, state.classes.slice(0, LEGEND).map((c) => el("li", {}, chip(c.name))),
    state.classes.length > LEGEND ? el("li", {}, el("button", { class: "button plain small", id: "all-classes", onclick: classes }, `and ${state.classes.length - LEGEND} more`)) : null),
    el("p", {}, state.classes.length ? "Ringed rows have a label; fainter colours mean less certain guesses." : "Grey: no label and no guess yet."));
}

function reset() {
  box = canvas.getBoundingClientRect();
  let [x0, x1, y0, y1] = [1, 0, 1, 0];
  for (let k = 0; k < points.length; k += 2) {
    x0 = Math.min(x0, points[k]); x1 = Math.max(x1, points[k]);
    y0 = Math.min(y0, points[k + 1]); y1 = Math.max(y1, points[k + 1]);
  }
  // Below the tools, which overlay the map.
  const top = 64, free = [box.width - 48, box.height - top - 24];
  scale = Math.max(100, Math.min(free[0] / Math.max(x1 - x0, 0.01), free[1] / Math.max(y1 - y0, 0.01)));
  shiftX = (box.width - scale * (x0 + x1)) / 2;
  shiftY = top + free[1] / 2 - scale * (1 - (y0 + y1) / 2);
  plan();
}

function zoom(factor, x = box.width / 2, y = box.height / 2) {
  const next = Math.min(Math.max(scale * factor, 60), 60000);
  shiftX = x - (x - shiftX) * next / scale;
  shiftY = y - (y - shiftY) * next / scale;
  scale = next;
  plan();
}

function plan() {
  if (planned || !canvas?.isConnected) return;
  planned = true;
  requestAnimationFrame(() => { planned = false; draw(); });
}

/** A colour as a canvas understands it. */
function resolved(value) {
  canvas.style.color = value;
  const found = getComputedStyle(canvas).color;
  canvas.style.color = "";
  return found;
}

/** A dot drawn once, and stamped many times. */
function stamp(fill, radius, ring, ratio) {
  const side = Math.ceil(2 * (radius + 3) * ratio);
  const node = document.createElement("canvas");
  node.width = node.height = side;
  const c = node.getContext("2d");
  c.scale(ratio, ratio);
  c.beginPath();
  c.arc(side / 2 / ratio, side / 2 / ratio, radius, 0, 7);
  c.fillStyle = fill;
  c.fill();
  if (ring) { c.lineWidth = 1.8; c.strokeStyle = ring; c.stroke(); }
  return node;
}

function draw() {
  if (!codes || !points) return;
  const ratio = window.devicePixelRatio || 1;
  box = canvas.getBoundingClientRect();
  if (canvas.width !== Math.round(box.width * ratio)) { canvas.width = Math.round(box.width * ratio); }
  if (canvas.height !== Math.round(box.height * ratio)) { canvas.height = Math.round(box.height * ratio); }
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  const n = state.rows;
  const crowd = Math.sqrt(scale * scale / n);
  const radius = Math.min(6, Math.max(1.7, crowd / 4));
  const ink = resolved("var(--ink)"), soft = resolved("var(--strong)");
  const fills = Array.from({ length: Math.max(2, state.classes.length) }, (_, k) => resolved(by === "sure" ? tint(k) : colour(k)));
  const stamps = new Map();
  const get = (key, make) => { if (!stamps.has(key)) stamps.set(key, make()); return stamps.get(key); };
  const picked = new Uint8Array(n);
  for (const row of chosen) picked[row] = 1;
  const put = (k, image) => {
    const x = (shiftX + points[2 * k] * scale) * ratio, y = (shiftY + (1 - points[2 * k + 1]) * scale) * ratio, half = image.width / 2;
    if (x > -half && y > -half && x < canvas.width + half && y < canvas.height + half) context.drawImage(image, x - half, y - half);
  };
  const classes = Math.max(state.classes.length, 1);
  const dot = (k, ring, size) => {
    const code = codes[k];
    let fill = soft;
    if (by === "sure" && code !== NONE) {
      const share = sure[k] / 255, low = 1 / classes, t = Math.max(0, (share - low) / (1 - low));
      const step = Math.round(t * 8);
      fill = `color-mix(in srgb, ${t < .5 ? fills[1] : fills[0]} ${Math.round(Math.abs(step - 4) * 25)}%, ${soft})`;
    } else if (code !== NONE) fill = fills[code];
    return get(`${fill}|${ring}|${size}`, () => stamp(fill, size, ring, ratio));
  };
  for (let k = 0; k < n; k++) {
    if (marks[k] & LABELED) continue;
    context.globalAlpha = codes[k] === NONE || by === "sure" ? .8 : .25 + .6 * (sure[k] / 255) ** 2;
    put(k, dot(k, picked[k] ? ink : "", radius));
  }
  context.globalAlpha = 1;
  for (let k = 0; k < n; k++) if (marks[k] & LABELED) put(k, dot(k, ink, Math.max(radius, 3.4)));
  if (lasso?.length) {
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.beginPath();
    lasso.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.strokeStyle = ink; context.lineWidth = 1.5; context.setLineDash([5, 4]); context.stroke(); context.setLineDash([]);
    context.globalAlpha = .08; context.fillStyle = ink; context.fill(); context.globalAlpha = 1;
  }
  state.drawn = (state.drawn || 0) + 1;
}

function nearest(x, y, reach = 12) {
  let best = -1, least = reach * reach;
  for (let k = 0; k < state.rows; k++) {
    const dx = shiftX + points[2 * k] * scale - x, dy = shiftY + (1 - points[2 * k + 1]) * scale - y, d = dx * dx + dy * dy;
    if (d < least) { least = d; best = k; }
  }
  return best;
}

function within() {
  const found = [];
  for (let k = 0; k < state.rows; k++) {
    const x = shiftX + points[2 * k] * scale, y = shiftY + (1 - points[2 * k + 1]) * scale;
    let inside = false;
    for (let i = 0, j = lasso.length - 1; i < lasso.length; j = i++) {
      const [xi, yi] = lasso[i], [xj, yj] = lasso[j];
      if (yi > y !== yj > y && x < (xj - xi) * (y - yi) / (yj - yi) + xi) inside = !inside;
    }
    if (inside) found.push(k);
  }
  return found;
}

function listen() {
  const fingers = new Map();
  let moved = 0, spread = 0;
  const at = (event) => { const r = canvas.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, at(event));
    moved = 0;
    if (tool === "lasso" && fingers.size === 1) lasso = [at(event)];
    if (fingers.size === 2) { lasso = null; const [a, b] = [...fingers.values()]; spread = Math.hypot(a[0] - b[0], a[1] - b[1]); }
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    const before = fingers.get(event.pointerId);
    if (!before) { hover(x, y); return; }
    moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
    fingers.set(event.pointerId, [x, y]);
    if (fingers.size === 2) {
      const [a, b] = [...fingers.values()], now = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (spread) zoom(now / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      spread = now;
    } else if (lasso) { lasso.push([x, y]); plan(); }
    else { shiftX += x - before[0]; shiftY += y - before[1]; plan(); }
  });
  const up = (event) => {
    const [x, y] = at(event);
    if (!fingers.delete(event.pointerId)) return;
    if (lasso && lasso.length > 3 && moved > 12) { chosen = within(); lasso = null; selection(); plan(); return; }
    lasso = null;
    if (moved < 6 && event.type === "pointerup") { const row = nearest(x, y); if (row >= 0) openRow(row); }
    plan();
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => { const tip = $("tip"); if (tip) tip.hidden = true; });
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY / 400), ...at(event)); }, { passive: false });
  new ResizeObserver(() => plan()).observe(canvas);
}

function hover(x, y) {
  const tip = $("tip");
  const row = points && codes ? nearest(x, y) : -1;
  tip.hidden = row < 0;
  if (row === hovered) return;
  hovered = row;
  if (row < 0) return;
  const name = state.classes[codes[row]]?.name;
  const state_ = marks[row] & LABELED ? "labelled" : marks[row] & SKIPPED ? "skipped" : name ? percent(sure[row] / 255, 0) : "no guess yet";
  tip.replaceChildren(`Row ${row + 1} `, name ? chip(name) : "", ` ${state_}`, marks[row] & SUSPECT ? " · doubtful" : "");
  tip.style.left = `${Math.min(x + 14, Math.max(6, box.width - 300))}px`;
  tip.style.top = `${Math.max(Math.min(y - 40, box.height - 180), 6)}px`;
  // What the row says, once the pointer rests.
  setTimeout(async () => {
    if (hovered !== row || !tip.isConnected) return;
    try {
      const card = await ask(`api/card/${row}`);
      if (hovered === row) tip.append(el("div", { class: "brief" }, brief(card, 3)));
    } catch { /* a hint only */ }
  }, 90);
}

/** List the rows that are selected, as far as they fit. */
async function list(rows, holder) {
  const some = rows.slice(0, 24);
  if (!some.length) return;
  try {
    const cards = await ask(`api/cards?rows=${some.join(",")}`);
    holder.replaceChildren(...cards.map((card) => el("li", {}, el("button", { class: "entry", onclick: () => openRow(card.row) },
      el("span", { class: "what" }, `Row ${card.row + 1}`, el("small", { dir: "auto" }, briefLine(card.cells))), card.guesses[0] ? chip(card.guesses[0].label) : null))),
    ...(rows.length > some.length ? [el("li", { class: "quiet small" }, `and ${(rows.length - some.length).toLocaleString("en")} more`)] : []));
  } catch (error) { toast(error.message); }
}

function selection() {
  const holder = $("selection");
  if (!holder) return;
  const rows = chosen.filter((row) => !(marks[row] & LABELED));
  const kept = chosen.length - rows.length;
  $("map").querySelector(".legend").hidden = chosen.length > 0;
  if (!chosen.length) { holder.replaceChildren(); return; }
  holder.replaceChildren(el("div", { class: "panel selected", role: "group", "aria-label": "Selected rows" },
    el("strong", {}, plural(rows.length, "row"), kept ? el("span", { class: "quiet" }, ` (${kept} already labelled, kept)`) : ""),
    el("ul", { class: "chosen", tabindex: 0, "aria-label": "Selected rows without a label" }),
    el("div", { class: "choices" }, state.classes.map((c, k) => classButton(c, k, { onclick: () => apply(rows, c.name), disabled: !state.writes || !rows.length }))),
    state.writes ? classBox((name) => apply(rows, name)) : null,
    el("button", { class: "button plain", onclick: () => { chosen = []; selection(); plan(); } }, "Cancel", el("kbd", { "aria-hidden": "true" }, "Esc"))));
  list(rows, holder.querySelector(".chosen"));
}

async function apply(rows, label) {
  try {
    Object.assign(state, await ask("api/label", { rows, label, how: "map", key: newKey(), client, next: false }));
    toast(`${plural(rows.length, "row")} labelled as “${label}”.`);
    chosen = [];
    selection();
    await colours();
  } catch (error) { toast(error.message); }
}

export const reload = colours;

export function key(event) {
  const step = 60;
  const named = chosen.length && classOf(event.key);
  if (named) {
    const rows = chosen.filter((row) => !(marks[row] & LABELED));
    if (rows.length && state.writes) apply(rows, named.name);
  } else if (event.key === "/" && chosen.length) document.querySelector(".selected input")?.focus();
  else if (event.key === "+" || event.key === "=") zoom(1.4);
  else if (event.key === "-") zoom(1 / 1.4);
  else if (event.key === "l" || event.key === "L") $("lasso").click();
  else if (event.key === "Escape" && chosen.length) { chosen = []; selection(); plan(); }
  else if (event.key.startsWith("Arrow") && event.target === canvas) {
    shiftX += { ArrowLeft: step, ArrowRight: -step }[event.key] || 0;
    shiftY += { ArrowUp: step, ArrowDown: -step }[event.key] || 0;
    plan();
  } else return false;
  return true;
}
