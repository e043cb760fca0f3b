// A row as a card: every column in its own place, whatever the row.

import { $, chip, el, pictures, state } from "./base.js";
import { shownColumns } from "./columns.js";
import { zoomable } from "./zoom.js";

const ADDRESS = /https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]}]/gi;

/** Text with addresses as links, which only lead to the web. */
export function linked(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(ADDRESS)) {
    let href;
    try { href = new URL(found[0]); } catch { continue; }
    if (href.protocol !== "http:" && href.protocol !== "https:") continue;
    parts.push(text.slice(at, found.index), el("a", { href: href.href, target: "_blank", rel: "noopener noreferrer" }, found[0]));
    at = found.index + found[0].length;
  }
  return at ? [...parts, text.slice(at)] : [text];
}

function cell({ name, text: long }, text) {
  const empty = text === "";
  return el("div", { class: long ? "long" : null, "data-column": name }, el("dt", { dir: "auto" }, name),
    el("dd", { dir: "auto", class: empty ? "none" : null }, ...(empty ? ["–"] : linked(text))));
}

/** The card of a row; `extra` stands at the right of its title. */
export function cardOf(card, ...extra) {
  const images = pictures(card).map((image) => zoomable(image, card));
  const columns = shownColumns().map((column) => cell(column, card.cells[column.place]));
  const long = columns.filter((c) => c.className === "long");
  const short = columns.filter((c) => c.className !== "long");
  const body = el("div", { class: "body", tabindex: 0, role: "group", "aria-label": "Cells" },
    images.length ? el("div", { class: "pictures" }, images) : null,
    long.length ? el("dl", { class: "cells texts" }, long) : null,
    short.length ? el("dl", { class: "cells" }, short) : null);
  const more = el("button", { class: "more", tabindex: -1, "aria-hidden": "true", onclick: () => page(body, 1) }, "more ↓");
  const node = el("article", { class: `card${long.length ? " has-text" : ""}`, id: "card", tabindex: -1, "aria-labelledby": "card-title" },
    el("header", {}, el("h2", { id: "card-title" }, `Row ${(card.row + 1).toLocaleString("en")}`),
      card.label ? el("span", { class: "was quiet" }, "now ", chip(card.label)) : card.skipped ? el("span", { class: "was quiet" }, "skipped") : null,
      ...extra),
    body, more);
  const cue = () => { more.hidden = body.scrollHeight - body.clientHeight - body.scrollTop < 8; };
  body.addEventListener("scroll", cue, { passive: true });
  new ResizeObserver(cue).observe(body);
  requestAnimationFrame(cue);
  return node;
}

const page = (body, step) => body.scrollBy({ top: step * Math.max(40, body.clientHeight - 60) });

/** Scroll the card by Space and arrows; whether the key was one of these. */
export function scrolled(event) {
  const body = $("card")?.querySelector(".body");
  const step = { ArrowDown: 48, ArrowUp: -48, PageDown: 0, PageUp: 0, " ": 0 }[event.key];
  if (!body || step === undefined || event.target.closest("button, a, input")) return false;
  // On a narrow screen the page scrolls, as it does by itself.
  if (body.scrollHeight <= body.clientHeight + 1) return false;
  if (step) body.scrollBy({ top: step });
  else page(body, event.key === "PageUp" || (event.key === " " && event.shiftKey) ? -1 : 1);
  return true;
}

/** Read a new card out, and take the focus there. */
export function arrive(words) {
  $("card")?.focus({ preventScroll: true });
  $("spoken").textContent = words;
}

export const reason = (card, opened) => (card.label || opened ? "" : state.order === "model" ? "the model would learn most from it" : "typical of many others");
