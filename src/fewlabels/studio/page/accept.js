// Accept all predictions above a confidence, after a look at a random sample.

import { ask, chip, el, newKey, percent, pictures, plural, state, toast } from "./base.js";
import { briefColumns, briefLine } from "./columns.js";
import { close, open } from "./dialogs.js";

let above = 0.95;

export async function accept(guess = "") {
  let sample;
  const wrong = new Set();
  const body = el("div", { class: "accept" });
  const verdict = el("p", { class: "advice", role: "status" });
  const button = el("button", { class: "button primary", id: "accept-all", onclick: apply });
  const slider = el("input", { type: "range", id: "accept-above", min: 50, max: 100, step: 1, value: Math.round(100 * above), "aria-label": "Confidence of at least", oninput: () => { above = slider.value / 100; shown.textContent = `${slider.value} %`; }, onchange: () => draw() });
  const shown = el("output", { for: "accept-above" }, `${Math.round(100 * above)} %`);

  async function draw() {
    try { sample = await ask("api/sample", { above, guess }); } catch (error) { body.replaceChildren(el("p", {}, error.message)); return; }
    wrong.clear();
    show();
  }
  function judge() {
    const n = sample.cards.length, [low, high] = sample.bounds[wrong.size];
    const rest = sample.total - n;
    button.disabled = !sample.total;
    button.textContent = sample.total ? `Accept ${plural(sample.total - wrong.size, "prediction")}` : "Nothing is that certain";
    verdict.replaceChildren(...(n === 0 ? ["No row without a label is predicted with this confidence."] : [
      el("b", {}, `${wrong.size} of ${n} wrong. `),
      rest ? `If you have looked at all of them, the error of the other ${plural(rest, "row")} is between ${percent(low)} and ${percent(high)} (90 % interval); the model expects ${percent(sample.expected)}.` : "These are all there are.",
    ]));
  }
  function show() {
    body.replaceChildren(
      el("p", { class: "chips" }, sample.classes.slice(0, 12).map((c) => el("span", { class: "tag" }, chip(c.name), ` ${c.count.toLocaleString("en")}`)), sample.classes.length > 12 ? el("span", { class: "tag" }, `and ${sample.classes.length - 12} more`) : null),
      el("h3", {}, sample.cards.length ? `${plural(sample.cards.length, "row")} at random: mark those that are wrong` : ""),
      el("ul", { class: "sample" }, sample.cards.map((card) => {
        const node = el("button", { class: "entry", type: "button", "aria-pressed": "false", "data-row": card.row, onclick: () => {
          if (!wrong.delete(card.row)) wrong.add(card.row);
          node.setAttribute("aria-pressed", String(wrong.has(card.row)));
          judge();
        } }, el("span", { class: "what" }, ...lead(card), el("small", { dir: "auto" }, `Row ${card.row + 1} · ${briefLine(card.cells)}`)),
        el("span", { class: "guessed" }, chip(card.guesses[0].label), el("span", { class: "number quiet" }, percent(card.guesses[0].share, 0)), el("span", { class: "out" }, "wrong")));
        return el("li", {}, node);
      })));
    judge();
  }
  async function apply() {
    try {
      const { accepted, ...summary } = await ask("api/accept", { above, guess, wrong: [...wrong], version: sample.version, key: newKey() });
      Object.assign(state, summary);
      close();
      toast(`${plural(accepted, "prediction")} accepted. Undo takes all of them back.`);
    } catch (error) { toast(error.message); if (error.status === 409) draw(); }
  }
  open(guess ? `Accept predictions of “${guess}”` : "Accept predictions",
    el("p", {}, "Accepted rows get the predicted label and are not asked about. The model does not learn from them, so the estimate of the error stays honest."),
    el("label", { class: "slider" }, el("span", {}, "Confidence of at least"), slider, shown),
    body, verdict,
    el("div", { class: "row end" }, el("button", { class: "button", onclick: () => draw() }, "Another sample"), button));
  await draw();
}

const lead = (card) => {
  const column = briefColumns(6).find((c) => c.text);
  return [...pictures(card).slice(0, 1), column ? el("span", { class: "lead", dir: "auto" }, card.cells[column.place]) : null].filter(Boolean);
};
