// Who labels: a name asked once, agreement, and disagreements to settle.

import { $, ask, chip, classBox, el, newKey, percent, plural, state, toast } from "./base.js";
import { close, open } from "./dialogs.js";

const KEPT = "fewlabels-name";

export function remembered() { try { return localStorage.getItem(KEPT) || ""; } catch { return ""; } }

/** Ask for a name, once in this browser. */
export function askName(done) {
  if (!state.asks || state.by) { done(); return; }
  state.by = remembered();
  if (state.by) { done(); return; }
  const input = el("input", { class: "find", id: "my-name", type: "text", maxlength: 60, autocomplete: "name", "aria-label": "Your name", dir: "auto" });
  const take = (event) => {
    event.preventDefault();
    const name = input.value.trim().replace(/\s+/g, " ");
    if (!name) return;
    state.by = name;
    try { localStorage.setItem(KEPT, name); } catch { /* asked again next time */ }
    close();
    done();
  };
  open("Who are you?", el("form", { onsubmit: take }, el("p", { class: "quiet" }, "Your name is kept with your labels, so that people can compare theirs."), input,
    el("div", { class: "row end" }, el("button", { class: "button primary", type: "submit" }, "Start labelling"))));
  $("dialog").addEventListener("close", () => { if (!state.by) setTimeout(() => askName(done)); }, { once: true });
  input.focus();
}

const figure = (value) => (value === null ? "–" : value.toFixed(2));

export async function people() {
  let found;
  try { found = await ask("api/people"); } catch (error) { toast(error.message); return; }
  const { agreement: a, names, disputed } = found;
  open("People",
    names.length ? el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Name"), el("th", { class: "n", scope: "col" }, "labels"))),
      el("tbody", {}, names.map((n) => el("tr", {}, el("td", { dir: "auto" }, n.name, n.name === found.me ? el("span", { class: "quiet" }, " (you)") : null), el("td", { class: "n" }, n.labels.toLocaleString("en"))))))
      : el("p", {}, "No label has a name yet. Start with --annotator NAME, or with --ask-name to let the page ask."),
    a ? el("div", {}, el("h3", {}, "Agreement"),
      a.n_shared ? el("p", {}, `${plural(a.n_shared, "row")} ${a.n_shared === 1 ? "was" : "were"} labelled by two people or more; ${percent(a.share, 0)} of them agree. Krippendorff’s alpha is `, el("b", {}, figure(a.krippendorff)),
        a.low === null ? "." : ` (between ${figure(a.low)} and ${figure(a.high)}). 1 is perfect agreement, 0 is chance.`)
        : el("p", {}, "No row was labelled by two people yet. Pass --overlap 0.1 to have every tenth row labelled twice."),
      a.pairs.length ? el("table", {}, el("thead", {}, el("tr", {}, ["Pair", "rows", "agree", "Cohen’s kappa"].map((t, k) => el("th", { scope: "col", class: k ? "n" : null }, t)))),
        el("tbody", {}, a.pairs.map((p) => el("tr", {}, el("td", { dir: "auto" }, `${p.first}, ${p.second}`), el("td", { class: "n" }, String(p.rows)), el("td", { class: "n" }, percent(p.share, 0)), el("td", { class: "n" }, figure(p.kappa)))))) : null) : null,
    disputed.length ? el("h3", { id: "disputes" }, plural(disputed.length, "disagreement")) : null,
    disputed.length ? el("p", {}, "Choose the label that is right. Until then, the majority counts; where there is none, nothing is learned from the row.") : null,
    ...disputed.slice(0, 50).map((d) => dispute(d)));
}

function dispute({ card, said }) {
  const settle = async (label) => {
    try { Object.assign(state, await ask("api/decide", { row: card.row, label, key: newKey() })); await people(); } catch (error) { toast(error.message); }
  };
  const labels = [...new Set(said.map((s) => s.label).filter(Boolean))];
  return el("div", { class: "suspect dispute", "data-row": card.row },
    el("div", {}, el("b", {}, `Row ${card.row + 1} `), el("span", { class: "quiet small", dir: "auto" }, card.cells.filter(Boolean).slice(0, 6).join(" · ").slice(0, 400))),
    el("div", { class: "row" }, labels.map((label) => el("button", { class: "button", disabled: !state.writes, "data-label": label, onclick: () => settle(label) }, chip(label),
      el("span", { class: "quiet small" }, said.filter((s) => s.label === label).map((s) => s.by || "no name").join(", ")))),
    state.writes ? classBox(settle, { label: "Another class for this row" }) : null));
}

export function prepare() { $("open-people").addEventListener("click", people); }
