// Pictures in full size.

import { $, el, pictures } from "./base.js";

let scale = 1;

/** Make a picture open in full size. */
export function zoomable(image, card) {
  return el("button", { class: "zoomable", "aria-label": `Enlarge the picture of row ${card.row + 1}`, title: "Enlarge (Z)", onclick: () => open(card, image) }, image);
}

function open(card, image) {
  const place = [...image.closest(".pictures").querySelectorAll(".zoomable")].findIndex((b) => b.contains(image));
  const large = pictures(card)[place];
  const node = large.querySelector?.("img") || large;
  scale = 1;
  const dialog = el("dialog", { id: "zoom", "aria-label": `Picture of row ${card.row + 1}` },
    el("div", { class: "zoom-tools" },
      el("button", { class: "button", onclick: () => resize(1.5), "aria-label": "Larger" }, "+"),
      el("button", { class: "button", onclick: () => resize(1 / 1.5), "aria-label": "Smaller" }, "−"),
      el("button", { class: "button", onclick: () => dialog.close() }, "Close")),
    el("div", { class: "zoom-view", tabindex: 0, role: "group", "aria-label": "Picture; scroll to move" }, large));
  const resize = (factor) => {
    scale = Math.min(12, Math.max(1, scale * factor));
    node.style.width = `${100 * scale}%`;
    node.style.maxHeight = scale > 1 ? "none" : "";
  };
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("wheel", (event) => { if (event.ctrlKey || !event.shiftKey) { event.preventDefault(); resize(Math.exp(-event.deltaY / 400)); } }, { passive: false });
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "+" || event.key === "=") resize(1.5);
    else if (event.key === "-") resize(1 / 1.5);
    else if (event.key.toLowerCase() === "z") dialog.close();
    event.stopPropagation();
  });
  document.body.append(dialog);
  dialog.showModal();
}

/** Open the first picture of the card that is shown. */
export const zoomFirst = () => $("card")?.querySelector(".zoomable")?.click();
